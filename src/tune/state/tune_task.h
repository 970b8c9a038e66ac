/* tune_task.h - the task of a run: the model, the target, the samples, and the space of
 * placements. */
#ifndef QDQ_TUNE_TASK_H
#define QDQ_TUNE_TASK_H

#include "quant/calib/scales.h"
#include "quant/quantize_steps.h"
#include "qdq/tune.h"
#include "tune/space/space.h"

/* A model on a target, and what follows from both before an engine is used. */
typedef struct qdq_tune_task {
    const qdq_model *m;
    /* the caller's target, and the same with the model's precision */
    const qdq_target *asked, *target;
    qdq_data *data;
    qdq_quantize_opts quantize;
    /* correct biases of the written model */
    bool correct;
    /* a plan without entries, which all plans of the clean model copy */
    qdq_plan *head;
    /* the plan without Q/DQ, in the final precision */
    qdq_plan *nothing;
    char nothing_name[33];
    /* the baseline was converted to that precision, and differs from the input */
    bool converted;
    qdq_model *clean;
    qdq_scales scales;
    /* plan of the target's rules */
    qdq_plan *rules;
    char rules_name[33];
    qdq_space *space;
    /* random samples that evaluate, if the user gave none */
    qdq_data *random;
    /* qdq_tune_sample_shapes() was asked: shapes of a sample, or the steps of a sequence have other
     * ones each */
    bool knows_shapes, steps_grow;
    const qdq_input_shape *sample_shapes;
    size_t n_sample_shapes;
} qdq_tune_task;

#endif /* QDQ_TUNE_TASK_H */
