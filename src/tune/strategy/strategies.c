/* strategies.c - which strategy a run follows, and the one that tries units one after the other. */
#include "tune/strategy/strategies.h"

#include "base/fail.h"
#include "tune/state/tune_presets.h"
#include "tune/trial/tune_trials.h"

/* --- the list --------------------------------------------------------------------------------- */

#define STRATEGY(MEMBER, name) extern const qdq_strategy qdq_strategy_##name;
QDQ_TUNE_STRATEGIES(STRATEGY)
#undef STRATEGY

qdq_status qdq_tune_choose_strategy(qdq_tune_state *t, qdq_error *err)
{
#define STRATEGY(MEMBER, name) [QDQ_TUNE_##MEMBER] = &qdq_strategy_##name,
    static const qdq_strategy *const all[] = {QDQ_TUNE_STRATEGIES(STRATEGY)};
#undef STRATEGY
    const size_t named = t->opts->strategy;
    bool fits = false;

    for (size_t i = QDQ_TUNE_AUTO + 1; i < QDQ_COUNT(all) && !fits; i++) {
        if (named != QDQ_TUNE_AUTO && i != named)
            continue;
        t->strategy = all[i];
        QDQ_TRY(all[i]->fits(t, &fits, err));
    }
    if (!fits)
        t->strategy = &qdq_strategy_trials;
    t->run.search_opts.max_builds = qdq_tune_max_builds(t, t->strategy->by_costs);
    return QDQ_OK;
}

/* --- units one by one ------------------------------------------------------------------------- */

static qdq_status run_trials(qdq_tune_state *t, qdq_error *err)
{
    const qdq_search_ops ops = qdq_tune_search_ops(t);

    return qdq_search_run(&t->parts.problem, &t->run.search_opts, &ops, &t->arena, &t->run.found,
                          err);
}

const qdq_strategy qdq_strategy_trials = {.name = "trials", .run = run_trials};
