/* strategy.h - how a run finds its best placement, as a table of functions. To add one: a file or
 * folder that defines qdq_strategy_NAME, and its line in strategy/strategies.def. */
#ifndef QDQ_TUNE_STRATEGY_H
#define QDQ_TUNE_STRATEGY_H

#include "report/page.h"
#include "tune/state/tune_state.h"

struct qdq_strategy {
    const char *name; /* as in reports */
    /* It prices all placements by profiles: it needs few builds, and few starts. */
    bool by_costs;
    /* It decides group by group, also about those of an autotune_cache.json. */
    bool by_groups;
    /* Can it do what the options ask for, on this engine? An error: nothing else will do. */
    qdq_status (*fits)(qdq_tune_state *t, bool *fits, qdq_error *err);
    /* From t->parts.problem to t->run.found. */
    qdq_status (*run)(qdq_tune_state *t, qdq_error *err);
    /* NULL where all trials count alike: what was kept, rejected and undecided, into t->out. */
    void (*count)(qdq_tune_state *t);
    /* NULL: nothing more in report.html. */
    void (*show)(const qdq_tune_state *t, qdq_buf *page);
};

#endif /* QDQ_TUNE_STRATEGY_H */
