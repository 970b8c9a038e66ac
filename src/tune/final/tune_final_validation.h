/* tune_final_validation.h - what the guard knows while it decides, and how it measures; with models
 * that were given, and the front. */
#ifndef QDQ_TUNE_FINAL_VALIDATION_H
#define QDQ_TUNE_FINAL_VALIDATION_H

#include "tune/state/tune_state.h"

typedef struct qdq_final_validation {
    /* written NULL: the search ended with what was given */
    qdq_tune_candidate *input, *rules, *written;
    /* of inputs, where users may run the model in another way; NULL: there is none */
    const qdq_tune_shapes *other;
    qdq_test_result of_rules, of_written; /* against the input */
    bool rules_ok, written_ok;
    bool same;                   /* is what was written the rules' plan? */
    qdq_tune_candidate *shipped; /* what was chosen; NULL: the input */
    qdq_test_result of_shipped;
} qdq_final_validation;

/* How much faster b is than a, in fresh pairs, with its interval. *ok: both lived. t->run.cut:
 * there was no time. */
qdq_status qdq_final_measure(qdq_tune_state *t, qdq_tune_candidate *a, qdq_tune_candidate *b,
                             qdq_test_result *r, bool *ok, qdq_error *err);

/* Is the model file `path`, which is called `name`, not slower than the input with the other dims,
 * either? Slower is what has its whole interval below 1. An input that the engine does not take
 * like that is nothing to be slower than. Tells t->out->other_dims. */
qdq_status qdq_final_keeps_up(qdq_tune_state *t, const qdq_final_validation *g, const char *name,
                              const char *path, bool *out, qdq_error *err);

/* Times of the result: everything in one scale, what was given, as it was timed here, and shares of
 * that from pairs. NULL: not measured, or the input. */
void qdq_final_set_times(qdq_tune_state *t, const qdq_test_result *of_shipped,
                         const qdq_test_result *of_rules);

/* Fresh pairs of what was written against the input and against the rules' plan: the best becomes
 * model.onnx. */
qdq_status qdq_tune_validate_final(qdq_tune_state *t, qdq_error *err);

/* --- final_baseline.c: models with Q/DQ that were given --------------------------------------- */

/* In the guard: pairs with the input. */
qdq_status qdq_baselines_measure(qdq_tune_state *t, const qdq_final_validation *g, qdq_error *err);

/* After the guard chose among its own: the fastest that may ship becomes model.onnx, unless what
 * was chosen beats it. One for which the guard had no time counts with what was measured before the
 * search. */
qdq_status qdq_baselines_decide(qdq_tune_state *t, const qdq_final_validation *g, qdq_error *err);

/* --- pareto.c --------------------------------------------------------------------------------- */

/* After the guard: DIR/pareto, and out->pareto, if users want them. */
qdq_status qdq_tune_find_front(qdq_tune_state *t, qdq_error *err);

#endif /* QDQ_TUNE_FINAL_VALIDATION_H */
