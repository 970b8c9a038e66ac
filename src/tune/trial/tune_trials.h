/* tune_trials.h - compares two candidates in pairs. */
#ifndef QDQ_TUNE_TRIALS_H
#define QDQ_TUNE_TRIALS_H

#include "tune/state/tune_state.h"

/* Tests b against a; `nth` counts tests of the same two. Stored samples are reused. *failed: one of
 * them crashed. */
qdq_status qdq_tune_compare(qdq_tune_state *t, qdq_tune_candidate *a, qdq_tune_candidate *b,
                            unsigned nth, const qdq_test_opts *test, qdq_test_result *out,
                            bool *failed, qdq_error *err);

/* Runs a new A/A test. */
qdq_status qdq_tune_aa_test(qdq_tune_state *t, qdq_tune_candidate *c, qdq_error *err);

/* The operations of this run for a search. */
qdq_search_ops qdq_tune_search_ops(qdq_tune_state *t);

typedef qdq_tried qdq_tune_tried;

/* One trial of a step after the search: measures `candidate` against `incumbent`, counts and
 * reports it. t->run.found.predicted_ns follows accepted candidates; the caller updates
 * t->run.found.best. If the budget is used up, the trial has failed, and t->run.found.ended_early
 * is set. */
qdq_status qdq_tune_try(qdq_tune_state *t, qdq_search_phase phase, const char *move,
                        const qdq_assign *incumbent, const qdq_assign *candidate,
                        qdq_tune_tried *out, qdq_error *err);

/* The same against t->run.found.best, which an accepted candidate replaces. */
qdq_status qdq_tune_try_for_best(qdq_tune_state *t, qdq_search_phase phase, const char *move,
                                 const qdq_assign *candidate, qdq_tune_tried *out, qdq_error *err);

#endif /* QDQ_TUNE_TRIALS_H */
