/* tune_final_validation.h - the state of the final validation, and its measurements; also for
 * baselines and for the Pareto front. */
#ifndef QDQ_TUNE_FINAL_VALIDATION_H
#define QDQ_TUNE_FINAL_VALIDATION_H

#include "tune/state/tune_state.h"

typedef struct qdq_final_validation {
    /* written NULL: the search ended with the input */
    qdq_tune_candidate *input, *rules, *written;
    /* shapes with the dims in the other state; NULL: none */
    const qdq_tune_shapes *other;
    /* results against the input */
    qdq_test_result of_rules, of_written;
    bool rules_ok, written_ok;
    /* the written model is the rules' plan */
    bool same;
    /* the chosen model; NULL: the input */
    qdq_tune_candidate *shipped;
    qdq_test_result of_shipped;
} qdq_final_validation;

/* Measures the gain of b against a with new pairs, with its interval. *ok false: one of them
 * failed. Sets t->run.cut if the time ended. */
qdq_status qdq_final_measure(qdq_tune_state *t, qdq_tune_candidate *a, qdq_tune_candidate *b,
                             qdq_test_result *r, bool *ok, qdq_error *err);

/* Sets *out: whether the model file `path`, called `name`, is not slower than the input with the
 * dims in the other state. Slower means that the whole interval of its speedup is below 1. If the
 * engine does not run the input with these dims, *out is true. Fills t->out->other_dims. */
qdq_status qdq_final_keeps_up(qdq_tune_state *t, const qdq_final_validation *g, const char *name,
                              const char *path, bool *out, qdq_error *err);

/* Sets the times of the result on one scale: the input as timed here, and fractions of it from
 * pairs. NULL: not measured, or the input. */
void qdq_final_set_times(qdq_tune_state *t, const qdq_test_result *of_shipped,
                         const qdq_test_result *of_rules);

/* Measures the written model with new pairs against the input and the rules' plan. The fastest one
 * becomes model.onnx. */
qdq_status qdq_tune_validate_final(qdq_tune_state *t, qdq_error *err);

/* --- final_baseline.c: baselines with Q/DQ ---------------------------------------------------- */

/* During the final validation: measures baselines in pairs with the input. */
qdq_status qdq_baselines_measure(qdq_tune_state *t, const qdq_final_validation *g, qdq_error *err);

/* After the choice of the final validation: the fastest valid baseline becomes model.onnx, unless
 * the chosen model is faster. A baseline without pairs here counts with its times before the
 * search. */
qdq_status qdq_baselines_decide(qdq_tune_state *t, const qdq_final_validation *g, qdq_error *err);

/* --- pareto.c --------------------------------------------------------------------------------- */

/* After the final validation: writes DIR/pareto and fills out->pareto, if the options ask for
 * it. */
qdq_status qdq_tune_find_front(qdq_tune_state *t, qdq_error *err);

#endif /* QDQ_TUNE_FINAL_VALIDATION_H */
