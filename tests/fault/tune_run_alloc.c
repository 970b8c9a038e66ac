/* tune_run_alloc.c - allocations of whole tuning runs fail, those of a sample: the run says so,
 * what it leaves is whole, and the next one goes on from there. The worker is another program,
 * which has memory. */
#include "support/alloc_fail.h"

#include <unistd.h>

#include "support/tuned.h"

#ifdef QDQ_ARENA_MALLOC
enum { SAMPLES = 12 };
#else
enum { SAMPLES = 40 };
#endif

typedef struct tried {
    const qdq_model *m;
    const char *folder;
    qdq_tune_opts opts;
} tried;

static const char *in_folder(const tried *t, const char *name)
{
    static char path[4300];

    snprintf(path, sizeof path, "%s/%s", t->folder, name);
    return path;
}

/* All that it wrote can be read. */
static void expect_whole(const tried *t)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = NULL;
    qdq_plan *p = NULL;
    char *status = NULL;

    if (access(in_folder(t, "model.onnx"), F_OK) == 0)
        assert_ok(qdq_model_load(in_folder(t, "model.onnx"), NULL, &m, &err));
    if (access(in_folder(t, "plan.json"), F_OK) == 0)
        assert_ok(qdq_plan_load(in_folder(t, "plan.json"), &p, &err));
    if (access(in_folder(t, ".run"), F_OK) == 0)
        assert_ok(qdq_tune_status(t->folder, &status, &err));
    qdq_free(status);
    qdq_plan_free(p);
    qdq_model_free(m);
}

static qdq_status tune(void *ctx, qdq_error *err)
{
    const tried *t = ctx;
    qdq_tune_result r;
    qdq_status st = test_tuned_run(t->m, t->folder, &t->opts, &r, err);

    test_let_allocs_be(true);
    expect_whole(t);
    test_let_allocs_be(false);
    return st;
}

static char *tune_and_read(tried *t, const char *folder)
{
    qdq_error err = QDQ_ERROR_INIT;

    t->folder = folder;
    assert_ok(tune(t, &err));
    return test_tuned_file(folder, "plan.json");
}

static void survive(qdq_tune_mode mode, qdq_tune_strategy strategy, const qdq_goal_opts *goal,
                    const qdq_model *const *baselines, const char *name)
{
    qdq_model *m = test_tuned_model();
    char *folder = strdup(test_path("%s", name)), *calm = strdup(test_path("%s-calm", name));
    tried t = {.m = m, .folder = folder};

    t.opts = test_tuned_opts(test_tuned_costs(TEST_TUNED_OPS, "\"error\": 0.01"));
    t.opts.mode = mode;
    t.opts.strategy = strategy;
    t.opts.goal = goal;
    t.opts.qdq_baselines = baselines;
    test_tuned_details(&t.opts)->pareto = goal != NULL ? 3 : 0;
    t.opts.restart = true; /* all is measured each time */
    unsigned long all = test_some_allocs_fail(tune, &t, SAMPLES);
    print_message("%lu allocations\n", all);
    assert_true(all > 1000);
    t.opts.restart = false;
    char *mine = tune_and_read(&t, folder), *want = tune_and_read(&t, calm);
    assert_string_equal(mine, want);
    qdq_free(mine);
    qdq_free(want);
    free(folder);
    free(calm);
    qdq_model_free(m);
}

TEST(a_run_survives_allocation_failures)
{
    survive(QDQ_TUNE_REGION, QDQ_TUNE_AUTO, NULL, NULL, "by_region");
}

TEST(so_does_one_by_groups)
{
    survive(QDQ_TUNE_SUBGRAPH, QDQ_TUNE_AUTO, NULL, NULL, "by_group");
}

TEST(so_does_one_by_groups_apart)
{
    survive(QDQ_TUNE_SUBGRAPH, QDQ_TUNE_GREEDY, NULL, NULL, "apart");
}

/* Two in 8 bits have a lower bound of 27 dB, all of them 20. */
TEST(so_does_one_under_a_goal_with_a_front)
{
    qdq_goal_opts goal = QDQ_GOAL_OPTS_INIT;

    goal.min_sqnr = 25;
    survive(QDQ_TUNE_SUBGRAPH, QDQ_TUNE_AUTO, &goal, NULL, "by_goal");
}

/* A slower one: of equal models, noise says which is left. */
TEST(so_does_one_with_a_baseline)
{
    static const char *const exclude[] = {"=MatMul@h2", "=MatMul@h3", NULL};
    qdq_error err = QDQ_ERROR_INIT;
    qdq_quantize_opts quantize = QDQ_QUANTIZE_OPTS_INIT;
    qdq_tune_opts o = test_tuned_opts(test_tuned_costs(TEST_TUNED_OPS, NULL));
    qdq_model *m = test_tuned_model(), *b;
    qdq_tune_result r;

    quantize.exclude = exclude;
    o.quantize = &quantize;
    assert_ok(test_tuned_run(m, test_path("before"), &o, &r, &err));
    assert_ok(qdq_model_load(test_path("before/model.onnx"), NULL, &b, &err));
    const qdq_model *const baselines[] = {b, NULL};
    survive(QDQ_TUNE_REGION, QDQ_TUNE_AUTO, NULL, baselines, "by_file");
    qdq_model_free(b);
    qdq_model_free(m);
}
