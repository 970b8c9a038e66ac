/* calib_state.h - the state of calibration: calib.c observes, and calib_scales.c computes
 * scales. */
#ifndef QDQ_CALIB_STATE_H
#define QDQ_CALIB_STATE_H

#include "base/map.h"
#include "quant/calib/calib.h"
#include "quant/calib/observer.h"

/* A tensor to calibrate. */
typedef struct qdq_calib_slot {
    const char *name;
    /* type of its quantized values, and their format, as in qdq_plan_tensor */
    qdq_elem type;
    const qdq_format *form;
    /* how its range is chosen */
    qdq_method method;
    /* channels of the last dimension that are not observed; ascending */
    const int64_t *without;
    size_t n_without;
    /* slot with the range of its group; itself if it is in no group */
    size_t leader;
    /* NULL: the cache has its range, and for a leader also those of the observed members */
    qdq_observer *observer;
    /* observers of the samples outside of each fold; NULL: no folds, or a constant */
    qdq_observer **fold;
    bool cached;
    /* an earlier plan's samples are in the observers, which get no others */
    bool seen;
    /* no entry uses its scale: its range is compared with those that it is joined with */
    bool watched;
    /* an operand of a join that is measured now; then: */
    bool joined;
    /* its range without its group, with 0; 0 to 0: no values */
    qdq_range own;
    /* of a leader: no value of its group is below 0 */
    bool non_negative;
    /* of a leader: too few values to tell how far they go on either side of 0 */
    bool has_few;
    qdq_range range;
    /* method that found the range */
    qdq_method used;
} qdq_calib_slot;

typedef struct qdq_calibration {
    const qdq_quantizing *q;
    qdq_method method;
    double percentile;
    qdq_arena scratch;
    QDQ_VEC(qdq_calib_slot) slots;
    /* tensor name to index of its slot */
    qdq_map by_name;
    /* tensor name to index of the first of its plan->means */
    qdq_map means;
    /* number of samples, and of those before the held-out ones */
    size_t n_samples, n_fit;
    /* 0: no cross-validation */
    unsigned n_folds;
} qdq_calibration;

/* Number of the first of n samples that are held out, by which a method is chosen; n: none. */
size_t qdq_calib_fit_count(qdq_method method, size_t n);

/* The slot of a tensor, or NULL. */
qdq_calib_slot *qdq_calib_find(const qdq_calibration *c, const char *tensor);

/* Computes scales from statistics: merges groups, searches ranges, fills the plan. */
qdq_status qdq_calib_scales(qdq_calibration *c, qdq_calib_names *empty, qdq_error *err);

#endif /* QDQ_CALIB_STATE_H */
