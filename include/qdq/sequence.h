/* qdq/sequence.h - times models whose outputs are fed back (qdq_data_opts.states), step by step. */
#ifndef QDQ_SEQUENCE_H
#define QDQ_SEQUENCE_H

#include "data.h"
#include "engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A model and its session; borrowed. */
typedef struct qdq_sequence_model {
    qdq_session *session;
    const qdq_model *model;
    /* the model that the data were opened for: inputs are converted where `model` reads floats of
     * another width, or quantized values; NULL: the same */
    const qdq_model *data_model;
} qdq_sequence_model;

/* As qdq_bench(), with the first sequence of `data` in place of one run: a sample is one sequence,
 * or several until it lasts opts->min_sample_ms. Each step is timed with the states that the model
 * itself returned at the step before; the copies of these are not timed. Times in `out` are those
 * of one step, the mean over the steps of a sequence; `runs` counts steps. opts->warmup counts
 * sequences (0: 1); opts->inputs and opts->seed have no effect. Data without states have sequences
 * of one step.
 *
 * Errors: those of qdq_bench(); QDQ_E_UNSUPPORTED: an engine computes no outputs, which states
 * need; QDQ_E_FORMAT: a model has no output for a state. */
QDQ_API QDQ_MUST_USE qdq_status qdq_bench_sequence(const qdq_sequence_model *models, size_t n,
                                                   qdq_data *data, const qdq_bench_opts *opts,
                                                   qdq_bench_model *out, qdq_error *err);

#ifdef __cplusplus
}
#endif
#endif /* QDQ_SEQUENCE_H */
