/* tune_budget.h - time and builds that are left. */
#ifndef QDQ_TUNE_BUDGET_H
#define QDQ_TUNE_BUDGET_H

#include "tune/state/tune_state.h"

/* Has the search no time left? What the guard and the writing take is kept for them, from the first
 * measured build on. */
bool qdq_tune_time_is_up(const qdq_tune_state *t);

/* Seconds of the budget that are left, below 0 after its end; INFINITY: there is none. */
double qdq_tune_left_s(const qdq_tune_state *t);

/* How long the guard takes, once pairs have shown that something is faster: to evaluate, to verify,
 * and with other dims. */
double qdq_tune_after_pairs_s(const qdq_tune_state *t);

/* Did a candidate fail only because its time was up? Then it may be tried again. */
bool qdq_tune_was_cut(const qdq_tune_state *t, qdq_tune_candidate *c);

/* From now on the lab lets nothing run longer than there is time: that of the search, or in the
 * guard the whole budget. */
void qdq_tune_set_deadline(const qdq_tune_state *t, qdq_worker_client *lab);

/* What is done between the two with the job t->tools.timed ends with QDQ_E_INTERRUPTED when its
 * time is up: that of the search, or in the guard the whole budget. qdq_tune_end_timed() then sets
 * *cut, and returns QDQ_OK. */
void qdq_tune_begin_timed(qdq_tune_state *t);
qdq_status qdq_tune_end_timed(qdq_tune_state *t, qdq_status st, bool *cut);

/* Are time and builds left for these, of `most` in all? 0: builds have no limit. */
bool qdq_tune_has_builds(const qdq_tune_state *t, unsigned builds, unsigned most);

#endif /* QDQ_TUNE_BUDGET_H */
