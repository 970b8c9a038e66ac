/* tune_task.h - what is tuned: the model, the target, the samples, and the space of placements. */
#ifndef QDQ_TUNE_TASK_H
#define QDQ_TUNE_TASK_H

#include "quant/calib/scales.h"
#include "quant/quantize_steps.h"
#include "qdq/tune.h"
#include "tune/space/space.h"

/* A model on a target, and all that follows from both before an engine is asked. */
typedef struct qdq_tune_task {
    const qdq_model *m;
    /* as it was given; with the precision that the model has */
    const qdq_target *asked, *target;
    qdq_data *data;
    qdq_quantize_opts quantize;
    /* biases are corrected, once it is known what is shipped */
    bool correct;
    /* empty: what all plans of the clean model begin with */
    qdq_plan *head;
    /* the plan without Q/DQ, in the precision that ships */
    qdq_plan *nothing;
    char nothing_name[33];
    /* to that precision: the baseline is not the model as it was given */
    bool converted;
    qdq_model *clean;
    qdq_scales scales;
    qdq_plan *rules; /* the plan of the target's rules */
    char rules_name[33];
    qdq_space *space;
    /* evaluation samples, where users gave none */
    qdq_data *random;
} qdq_tune_task;

#endif /* QDQ_TUNE_TASK_H */
