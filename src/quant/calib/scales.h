/* scales.h - scales that were found once, for the next plan of the same model: what a changed
 * placement asks for again is neither calibrated nor searched again. */
#ifndef QDQ_SCALES_H
#define QDQ_SCALES_H

#include "base/map.h"
#include "quant/plan/plan.h"

/* What was found for weights, which a smoothed model has others of by the same names. Its numbers
 * are in the arena of the scales that it was in. */
typedef struct qdq_weight_finds {
    /* weight and form -> its `clip` */
    qdq_map clips;
    /* weight and form -> what GPTQ made of it */
    qdq_map rounded;
    /* of these, each a reference */
    QDQ_VEC(qdq_mapping *) numbers;
} qdq_weight_finds;

typedef struct qdq_scales {
    qdq_arena arena;
    /* type, and whose range decides, with those that share it -> qdq_qparam, with its folds */
    qdq_map by_use;
    /* of each; 0: none */
    unsigned n_folds;
    qdq_weight_finds weights;
    /* tensor, axis, channels -> qdq_plan_mean */
    qdq_map means;
    /* result -> qdq_plan_join */
    qdq_map joins;
} qdq_scales;

/* Fills the scales of `plan` that are there; calibration leaves them alone then. Tensors that share
 * one range find it where just these shared one before. */
qdq_status qdq_scales_give(const qdq_scales *s, qdq_plan *plan, qdq_error *err);

/* The same for the joins that it has; keeping them is a step of its own, as rejected joins are
 * placed again. */
void qdq_scales_give_joins(const qdq_scales *s, qdq_plan *plan);
qdq_status qdq_scales_keep_joins(qdq_scales *s, const qdq_plan *plan, qdq_error *err);

/* The same for the means of channels that it asks for. */
qdq_status qdq_scales_give_means(const qdq_scales *s, qdq_plan *plan, qdq_error *err);

/* Of a calibrated plan: keeps what was not found in the model, and makes it look as if all of it
 * had just been calibrated. */
qdq_status qdq_scales_keep(qdq_scales *s, qdq_plan *plan, qdq_error *err);

/* The same for the clips of weights that are searched by the squared error. */
qdq_status qdq_scales_give_clips(const qdq_scales *s, qdq_plan *plan, qdq_error *err);
qdq_status qdq_scales_keep_clips(qdq_scales *s, const qdq_plan *plan, qdq_error *err);

/* The same for the codes of GPTQ, also where it found none; before and after it runs. */
qdq_status qdq_scales_give_codes(const qdq_scales *s, qdq_plan *plan, qdq_error *err);
qdq_status qdq_scales_keep_codes(qdq_scales *s, const qdq_plan *plan, qdq_error *err);

void qdq_weight_finds_free(qdq_weight_finds *s);
void qdq_scales_free(qdq_scales *s);

#endif /* QDQ_SCALES_H */
