/* tune_state.h - the state of a run of the tuner, for the folders from state/ on. */
#ifndef QDQ_TUNE_STATE_H
#define QDQ_TUNE_STATE_H

#include "tune/state/tune_outcome.h"
#include "tune/state/tune_parts.h"
#include "tune/state/tune_run.h"
#include "tune/state/tune_task.h"
#include "tune/state/tune_tools.h"

typedef struct qdq_tune_units qdq_tune_units; /* units.h */
typedef struct qdq_strategy qdq_strategy;     /* strategy.h */

typedef struct qdq_tune_state {
    /* a run has set their goal */
    const qdq_tune_opts *opts;
    /* of opts; never NULL */
    const qdq_tune_details *details;
    const qdq_job *job;
    qdq_arena arena;
    const qdq_tune_units *units;
    const qdq_strategy *strategy;
    qdq_tune_result *out;
    qdq_tune_task task;
    qdq_tune_tools tools;
    qdq_tune_parts parts;
    qdq_tune_run run;
    qdq_tune_outcome outcome;
} qdq_tune_state;

#endif /* QDQ_TUNE_STATE_H */
