/* calib_state.h - what calibration knows while it runs: calib.c observes, calib_scales.c makes
 * scales of that. */
#ifndef QDQ_CALIB_STATE_H
#define QDQ_CALIB_STATE_H

#include "base/map.h"
#include "quant/calib/calib.h"
#include "quant/calib/observer.h"

/* A tensor whose range decides. */
typedef struct qdq_calib_slot {
    const char *name;
    qdq_elem type; /* of the codes */
    size_t leader; /* the slot with the range of its group; itself, if it is in none */
    /* NULL: a cache has its range, and for a leader then the observed members' as well */
    qdq_observer *observer;
    /* Likewise of the samples outside each fold; NULL: no folds, or a constant. */
    qdq_observer **fold;
    bool cached;
    /* no entry has its scale: its own range is compared with those that it is joined with */
    bool watched;
    bool joined;       /* an operand of a join that is measured now; then: */
    qdq_range own;     /* its range without its group, 0 included; 0 to 0: nothing seen */
    bool non_negative; /* of a leader: nothing that was seen of its group is below 0 */
    qdq_range range;
    qdq_method used; /* method that found it */
} qdq_calib_slot;

typedef struct qdq_calibration {
    const qdq_quantizing *q;
    qdq_method method;
    double percentile;
    qdq_arena scratch;
    QDQ_VEC(qdq_calib_slot) slots;
    qdq_map by_name;         /* tensor name -> index of its slot */
    qdq_map means;           /* the same -> index of the first of its plan->means */
    size_t n_samples, n_fit; /* all, and those in front of the ones held back */
    unsigned n_folds;        /* 0: no cross-validation */
} qdq_calibration;

/* The slot of a tensor, or NULL. */
qdq_calib_slot *qdq_calib_find(const qdq_calibration *c, const char *tensor);

/* From statistics to scales: pools groups, searches ranges, fills the plan. */
qdq_status qdq_calib_scales(qdq_calibration *c, qdq_calib_names *empty, qdq_error *err);

#endif /* QDQ_CALIB_STATE_H */
