/* greedy.h - what the strategy greedy found out, for the report and for autotune_cache.json. */
#ifndef QDQ_TUNE_GREEDY_H
#define QDQ_TUNE_GREEDY_H

#include "base/json_write.h"
#include "report/page.h"
#include "tune/greedy/group_classes.h"
#include "tune/validate/validate.h"

typedef struct qdq_tune_greedy {
    qdq_tune_kinds kinds;
    qdq_validate_problem problem; /* the place of an item is its fusion group; NULL: no items yet */
    const qdq_tune_kind **kind;   /* by item */
    qdq_validate_result result;
} qdq_tune_greedy;

/* The strategy (state/strategy.h) puts schemes of groups apart, merged and validated, into
 * t->run.found and t->run.greedy. */
void qdq_tune_greedy_free(qdq_tune_state *t);

/* Decisions of this run's autotune_cache.json, where its tune.db is gone, into g->problem.
 * cache_import.c */
qdq_status qdq_tune_take_decisions(qdq_tune_state *t, qdq_tune_greedy *g, qdq_error *err);

/* It as things stand. */
qdq_status qdq_tune_write_cache(qdq_tune_state *t, const qdq_assign *incumbent, bool completed,
                                qdq_error *err);

/* Into report.json and report.html; the latter only if that was the strategy. greedy_report.c */
void qdq_tune_put_greedy(const qdq_tune_state *t, qdq_json_out report);
void qdq_tune_show_kinds(const qdq_tune_state *t, qdq_buf *b);

#endif /* QDQ_TUNE_GREEDY_H */
