/* strategy.h - the method by which a run finds its best placement, as a table of functions. To add
 * one that users can name, write a file or folder that defines qdq_strategy_NAME, and its line in
 * QDQ_TUNE_STRATEGIES (qdq/tune.h). */
#ifndef QDQ_TUNE_STRATEGY_H
#define QDQ_TUNE_STRATEGY_H

#include "report/page.h"
#include "tune/state/tune_state.h"

struct qdq_strategy {
    /* name in reports: NAME */
    const char *name;
    /* It estimates all placements from profiles, so that it needs few builds and few starts. */
    bool by_costs;
    /* It decides group by group, also about halves of decisions, and accepts decisions from an
     * autotune_cache.json. It starts from what users hand in and from the rules alone. */
    bool by_groups;
    /* Whether the strategy supports these options on this engine; called where users named it or
     * none (QDQ_TUNE_AUTO), in region mode, too. An error: no other strategy does. */
    qdq_status (*fits)(qdq_tune_state *t, bool *fits, qdq_error *err);
    /* Searches: reads t->parts.problem and fills t->run.found: before, it is the all-float plan. */
    qdq_status (*run)(qdq_tune_state *t, qdq_error *err);
    /* Sets the numbers of accepted, rejected and undecided proposals in t->out. NULL: every trial
     * counts as one proposal. */
    void (*count)(qdq_tune_state *t);
    /* Adds its section to report.html. NULL: it has none. */
    void (*show)(const qdq_tune_state *t, qdq_buf *page);
};

#endif /* QDQ_TUNE_STRATEGY_H */
