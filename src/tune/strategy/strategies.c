/* strategies.c - the list of strategies, and the one that tries units one after the other. */
#include "tune/strategy/strategies.h"

#include "base/fail.h"
#include "tune/trial/tune_trials.h"

#define STRATEGY(name) extern const qdq_strategy qdq_strategy_##name;
#include "tune/strategy/strategies.def"
#undef STRATEGY

qdq_status qdq_tune_choose_strategy(qdq_tune_state *t, qdq_error *err)
{
    static const qdq_strategy *const all[] = {
#define STRATEGY(name) &qdq_strategy_##name,
#include "tune/strategy/strategies.def"
#undef STRATEGY
    };
    bool fits = false;

    for (size_t i = 0; i < QDQ_COUNT(all) && !fits; i++) {
        t->strategy = all[i];
        QDQ_TRY(all[i]->fits(t, &fits, err));
    }
    return QDQ_OK;
}

static qdq_status trials_fit(qdq_tune_state *t, bool *fits, qdq_error *err)
{
    (void)t;
    (void)err;
    *fits = true;
    return QDQ_OK;
}

static qdq_status run_trials(qdq_tune_state *t, qdq_error *err)
{
    const qdq_search_ops ops = qdq_tune_search_ops(t);

    return qdq_search_run(&t->parts.problem, &t->run.search_opts, &ops, &t->arena, &t->run.found,
                          err);
}

const qdq_strategy qdq_strategy_trials = {.name = "trials", .fits = trials_fit, .run = run_trials};
