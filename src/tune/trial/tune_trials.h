/* tune_trials.h - two candidates in pairs. */
#ifndef QDQ_TUNE_TRIALS_H
#define QDQ_TUNE_TRIALS_H

#include "tune/state/tune_state.h"

/* A test between two; the `nth` of them. Samples that the store has are taken from there. *failed:
 * a leg died. */
qdq_status qdq_tune_compare(qdq_tune_state *t, qdq_tune_candidate *a, qdq_tune_candidate *b,
                            unsigned nth, const qdq_test_opts *test, qdq_test_result *out,
                            bool *failed, qdq_error *err);

/* Runs a new A/A test. */
qdq_status qdq_tune_control(qdq_tune_state *t, qdq_tune_candidate *c, qdq_error *err);

/* The search's eyes. */
qdq_search_ops qdq_tune_search_ops(qdq_tune_state *t);

typedef qdq_tried qdq_tune_tried;

/* One trial of a phase behind the search: measures `candidate` beside `incumbent`, counts and
 * reports it. t->run.found.predicted_ns follows what is kept, t->run.found.best is the caller's.
 * Where the budget is used up: failed, and t->run.found.ended_early. */
qdq_status qdq_tune_try(qdq_tune_state *t, qdq_search_phase phase, const char *move,
                        const qdq_assign *incumbent, const qdq_assign *candidate,
                        qdq_tune_tried *out, qdq_error *err);

/* The same against t->run.found.best, which the candidate becomes where it is kept. */
qdq_status qdq_tune_try_for_best(qdq_tune_state *t, qdq_search_phase phase, const char *move,
                                 const qdq_assign *candidate, qdq_tune_tried *out, qdq_error *err);

#endif /* QDQ_TUNE_TRIALS_H */
