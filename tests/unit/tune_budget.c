/* tune_budget.c - the time and the builds that a run has left, from what its worker took so far. */
#include "tune/state/tune_budget.h"

#include "base/clock.h"
#include "support/test.h"
#include "tune/state/strategy.h"
#include "tune/state/tune_presets.h"
#include "tune/state/units.h"
#include "tune/worker_client/worker_client_inner.h"

/* A run of 100 s whose builds take 10 s: the final validation needs three of them. */
typedef struct setting {
    qdq_tune_opts opts;
    qdq_tune_details details;
    qdq_goal_opts goal;
    qdq_target *target;
    qdq_worker_client worker_client;
    qdq_strategy strategy;
    qdq_tune_state t;
} setting;

static qdq_error err;

static setting *begin(setting *s)
{
    *s = (setting){.opts = QDQ_TUNE_OPTS_INIT,
                   .details = QDQ_TUNE_DETAILS_INIT,
                   .goal = QDQ_GOAL_OPTS_INIT,
                   .worker_client = {.build_s = 10}};
    assert_ok(qdq_target_load("ort-cpu", &s->target, &err));
    s->worker_client.client.info.capabilities = QDQ_CAN_RUN | QDQ_CAN_TIME | QDQ_CAN_PROFILE;
    s->goal.min_sqnr = 0;
    s->opts.time_s = 100;
    s->opts.goal = &s->goal;
    s->t = (qdq_tune_state){.opts = &s->opts,
                            .details = &s->details,
                            .units = qdq_tune_units_of(QDQ_TUNE_REGION),
                            .strategy = &s->strategy,
                            .task.m = test_model("g (float[4] x) => (float[4] y) { y = Relu(x) }"),
                            .task.target = s->target,
                            .tools.worker_client = &s->worker_client,
                            .run.forms_due = true};
    return s;
}

static void end(setting *s)
{
    qdq_model_free((qdq_model *)(uintptr_t)s->t.task.m);
    qdq_target_free(s->target);
}

/* Is the search over with that much time left? */
static bool ends_with(setting *s, double left_s)
{
    s->t.run.budget_from = qdq_clock_seconds() + left_s - s->opts.time_s;
    return qdq_tune_time_is_up(&s->t);
}

TEST(time_is_reserved_for_other_formats_that_are_still_to_be_tried)
{
    setting s;

    assert_false(ends_with(begin(&s), 62)); /* half of all at most */
    s.worker_client.build_s = 5;
    assert_true(ends_with(&s, 29)); /* six builds */
    s.t.run.forms_due = false;
    assert_false(ends_with(&s, 29));
    end(&s);
}

TEST(no_time_is_reserved_for_other_formats_that_have_no_build_left)
{
    setting s;

    begin(&s)->worker_client.build_s = 5;
    s.opts.max_builds = 40;
    assert_true(ends_with(&s, 29));
    s.t.run.builds = 40;
    assert_false(ends_with(&s, 29));
    s.opts.max_builds = 0;
    s.opts.trials = 3;
    s.t.run.builds = 0;
    assert_true(ends_with(&s, 29));
    s.t.run.found.trials = 3;
    assert_false(ends_with(&s, 29));
    end(&s);
}

TEST(without_profiles_other_formats_need_one_build)
{
    setting s;

    begin(&s)->worker_client.build_s = 5;
    s.worker_client.client.info.capabilities = QDQ_CAN_TIME;
    assert_false(ends_with(&s, 23)); /* four builds */
    assert_true(ends_with(&s, 19));
    end(&s);
}

TEST(builds_and_trials_bound_each_step_of_a_run)
{
    static const qdq_tune_stage stages[] = {QDQ_STAGE_SEARCH, QDQ_STAGE_EDGES, QDQ_STAGE_TYPES,
                                            QDQ_STAGE_FORMS};
    setting s;

    begin(&s)->opts.time_s = 0;
    for (size_t i = 0; i < QDQ_COUNT(stages); i++) {
        const unsigned most = qdq_tune_max_builds_until(&s.t, stages[i]);

        assert_true(i == 0 || most >= qdq_tune_max_builds_until(&s.t, stages[i - 1]));
        s.t.run.builds = most - 1;
        assert_true(qdq_tune_has_builds(&s.t, stages[i], 1));
        assert_false(qdq_tune_has_builds(&s.t, stages[i], 2));
        s.opts.trials = s.t.run.found.trials = 2;
        assert_false(qdq_tune_has_builds(&s.t, stages[i], 1));
        s.opts.trials = s.t.run.found.trials = 0;
    }
    end(&s);
}
