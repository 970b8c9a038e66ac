/* greedy.h - the results of the strategy greedy, for the report and for autotune_cache.json. */
#ifndef QDQ_TUNE_GREEDY_H
#define QDQ_TUNE_GREEDY_H

#include "base/json_write.h"
#include "report/page.h"
#include "tune/greedy/group_classes.h"
#include "tune/validate/validate.h"

/* t->run.greedy, of the strategy (state/strategy.h) that measures schemes of groups in isolation,
 * merges and validates them. */
typedef struct qdq_tune_greedy {
    qdq_tune_kinds kinds;
    /* `place` of an item is its fusion group; NULL: no items yet */
    qdq_validate_problem problem;
    /* by item */
    const qdq_tune_kind **kind;
    qdq_validate_result result;
} qdq_tune_greedy;

/* Reads decisions from this run's autotune_cache.json into g->problem, if its tune.db is missing.
 */
qdq_status qdq_tune_take_decisions(qdq_tune_state *t, qdq_tune_greedy *g, qdq_error *err);

/* Takes what the autotune_cache.json that the run began with has of them: samples of its own,
 * schemes of another one. */
void qdq_tune_import_cache(const qdq_tune_state *t, qdq_tune_kinds *k);

/* Writes autotune_cache.json with the current state. */
qdq_status qdq_tune_write_cache(qdq_tune_state *t, const qdq_assign *incumbent, bool completed,
                                qdq_error *err);

/* Write sections of report.json and report.html; the latter only for this strategy. Defined in
 * greedy_report.c. */
void qdq_tune_put_greedy(const qdq_tune_state *t, qdq_json_out report);
void qdq_tune_show_kinds(const qdq_tune_state *t, qdq_buf *b);

#endif /* QDQ_TUNE_GREEDY_H */
