/* tuned_setting.h - a tuning run on the sim engine, with a network and a target of the test's own.
 */
#ifndef QDQ_TUNED_SETTING_H
#define QDQ_TUNED_SETTING_H

#include "support/tuned.h"

static qdq_error err;

static const qdq_tune_mode modes[] = {QDQ_TUNE_REGION, QDQ_TUNE_SUBGRAPH};

typedef struct setting {
    const char *ops, *more;
    qdq_model *(*model)(void);
    const char *target;
    /* key of the target and its value; NULL: none */
    const char *key, *value;
    const char *engine;
    qdq_goal_opts goal;
    qdq_tune_opts o;
} setting;

static inline qdq_status try_run(setting *s, const char *folder, qdq_tune_result *out)
{
    qdq_model *m = s->model();
    qdq_tune_result *r = NULL;
    qdq_target *t;

    s->o.engine = s->o.engine != NULL ? s->o.engine : test_tuned_costs(s->ops, s->more);
    s->o.goal = &s->goal;
    assert_ok(qdq_target_load(s->target, &t, &err));
    assert_ok(qdq_target_set(t, "engine", s->engine, &err));
    if (s->key != NULL)
        assert_ok(qdq_target_set(t, s->key, s->value, &err));
    const qdq_status st = qdq_autotune(m, t, NULL, folder, &s->o, &r, &err);
    test_keep(r);
    if (r != NULL)
        *out = *r;
    qdq_target_free(t);
    qdq_model_free(m);
    return st;
}

static inline qdq_tune_result run(setting *s, const char *folder)
{
    qdq_tune_result r = {.mode = NULL};

    assert_ok(try_run(s, folder, &r));
    return r;
}

/* Cancels runs after ever more of the things that they show, by `step`, resumes each, and compares
 * its plan with that of a whole run; until a run ends before. Returns the number of these things.
 */
static inline unsigned interrupted(setting *s, unsigned step)
{
    unsigned n = 0;

    run(s, test_path("whole%d", s->o.mode));
    for (bool ended = false; !ended && n < 60; n += step) {
        const char *folder = test_path("parts%d_%u", s->o.mode, n);
        test_tuned_stop stop;
        qdq_tune_result r;
        setting part = *s;
        test_tuned_stop_in(&stop, NULL, n + 2, &part.o);
        ended = try_run(&part, folder, &r) == QDQ_OK;
        if (!ended)
            run(s, folder);
        test_tuned_same(test_path("whole%d", s->o.mode), folder, "plan.json");
        qdq_cancel_free(stop.cancel);
    }
    return n;
}

#endif /* QDQ_TUNED_SETTING_H */
