/* calib_folds.h - ranges without some of the samples, for cross-validation, from the same pass over
 * the data.
 *
 * Fold k of n has the samples from k * count / n to (k + 1) * count / n, so that neighbours, which
 * are often similar, stay together; where samples belong together, folds end between two groups or
 * files (qdq_data_fold_first()). */
#ifndef QDQ_CALIB_FOLDS_H
#define QDQ_CALIB_FOLDS_H

#include "quant/calib/calib_state.h"

/* The fold of a sample; 0 without folds. */
unsigned qdq_calib_fold_of(const qdq_calibration *c, size_t sample);

/* Is what two sets of samples give together known from what each of them gives? */
bool qdq_calib_adds_up(const qdq_calibration *c);

/* Makes observers for each fold of a slot. False: out of memory. */
bool qdq_calib_begin_folds(const qdq_calibration *c, qdq_calib_slot *s);

/* Adds values of one sample. False: out of memory. */
bool qdq_calib_observe(const qdq_calibration *c, qdq_calib_slot *s, size_t sample, const float *x,
                       size_t n);

/* After the last sample: the observer of fold k becomes that of all samples outside of the fold. */
qdq_status qdq_calib_close_folds(qdq_calibration *c, qdq_error *err);

void qdq_calib_free_folds(const qdq_calibration *c, qdq_calib_slot *s);

#endif /* QDQ_CALIB_FOLDS_H */
