/* step_inputs.h - what a model reads at one step of a sequence, as if it ran alone: for times,
 * profiles and checks of single runs. */
#ifndef QDQ_STEP_INPUTS_H
#define QDQ_STEP_INPUTS_H

#include "base/arena.h"
#include "qdq/data.h"
#include "qdq/engine.h"

typedef struct qdq_step_request {
    qdq_engine *engine;
    /* runs the steps before; and the model that the data are for */
    const qdq_model *m, *of;
    /* threads and shapes of these runs; NULL: defaults */
    const qdq_session_opts *opts;
    qdq_data *data;
    size_t sample, step;
    const qdq_job *job;
} qdq_step_request;

/* The step whose time stands for those of all: in the middle, where a cache has half of its length.
 * Without states the only one. */
size_t qdq_step_to_time(const qdq_data *d);

/* Arrays in the types of r->m. States are what r->m returned at the step before, without
 * optimizations of the engine. *in lives in `memory`, or until the data are read again. */
qdq_status qdq_step_inputs(const qdq_step_request *r, qdq_arena *memory, const qdq_named_array **in,
                           size_t *n, qdq_error *err);

/* Do shapes differ from step to step, as those of a cache that grows? Runs the first step. */
qdq_status qdq_steps_grow(const qdq_step_request *r, bool *grow, qdq_error *err);

#endif /* QDQ_STEP_INPUTS_H */
