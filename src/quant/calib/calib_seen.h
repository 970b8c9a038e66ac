/* calib_seen.h - what tensors that share a range were seen to hold, for the next plan of the same
 * model and samples, in which they may share it with others: samples need not run again for that.
 */
#ifndef QDQ_CALIB_SEEN_H
#define QDQ_CALIB_SEEN_H

#include "quant/calib/calib_state.h"

typedef struct qdq_seen {
    qdq_arena arena;
    /* tensor -> its observers */
    qdq_map by_tensor;
    /* of all tensors; beyond a limit no more are kept, and samples run again for these */
    size_t n_observers;
} qdq_seen;

void qdq_seen_free(qdq_seen *s);

/* The new observers of a slot get what an earlier plan kept; s->seen says whether it kept any. */
qdq_status qdq_calib_take_seen(const qdq_calibration *c, qdq_calib_slot *s, qdq_error *err);

/* Keeps copies of the observers of all groups, after the last sample and before
 * qdq_calib_close_folds(). */
qdq_status qdq_calib_keep_seen(const qdq_calibration *c, qdq_error *err);

#endif /* QDQ_CALIB_SEEN_H */
