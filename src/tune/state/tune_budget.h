/* tune_budget.h - the remaining time and builds of a run. */
#ifndef QDQ_TUNE_BUDGET_H
#define QDQ_TUNE_BUDGET_H

#include "tune/state/tune_presets.h"
#include "tune/state/tune_state.h"

/* Whether the search has used up its time. From the first measured build on, the time of the final
 * validation and of writing is reserved. */
bool qdq_tune_time_is_up(const qdq_tune_state *t);

/* Seconds left of the whole budget; below 0 after its end; INFINITY: no budget. */
double qdq_tune_left_s(const qdq_tune_state *t);

/* Seconds that the final validation takes after its pairs have shown a faster model: evaluation,
 * verification, and pairs with the other dims. */
double qdq_tune_after_pairs_s(const qdq_tune_state *t);

/* Whether a candidate failed only because the time ended. It may then be tried again. */
bool qdq_tune_was_cut(const qdq_tune_state *t, qdq_tune_candidate *c);

/* Limits each later call of `worker_client` to the time that is left: that of the search, or in the
 * final validation the whole budget. */
void qdq_tune_set_deadline(const qdq_tune_state *t, qdq_worker_client *worker_client);

/* Between these two calls, work with the job t->tools.timed ends with QDQ_E_INTERRUPTED at the end
 * of the time (as in qdq_tune_set_deadline()). qdq_tune_end_timed() then sets *cut, and returns
 * QDQ_OK. */
void qdq_tune_begin_timed(qdq_tune_state *t);
qdq_status qdq_tune_end_timed(qdq_tune_state *t, qdq_status st, bool *cut);

/* Whether time, a trial and `builds` more builds are left in this step of the run. */
bool qdq_tune_has_builds(const qdq_tune_state *t, qdq_tune_stage stage, unsigned builds);

/* Whether the engine of the run reports times of layers. */
bool qdq_tune_can_profile(const qdq_tune_state *t);

#endif /* QDQ_TUNE_BUDGET_H */
