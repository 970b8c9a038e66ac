/* Finding the change to blame: judges that look at the structure of the model know which one it
 * is. */
#include "ir/edit.h"
#include "ir/graph_check.h"
#include "support/test.h"

static qdq_error err;

/* --- the verifier, which can be told to insist on a value ------------------------------------- */

static const char *insisted_on;

qdq_status __real_qdq_model_verify(const qdq_model *m, qdq_error *e);
qdq_status __wrap_qdq_model_verify(const qdq_model *m, qdq_error *e);

qdq_status __wrap_qdq_model_verify(const qdq_model *m, qdq_error *e)
{
    if (insisted_on != NULL && qdq_graph_find(m->graph, insisted_on) == NULL)
        return qdq_fail(e, QDQ_E_FORMAT, "'%s' is defined nowhere", insisted_on);
    return __real_qdq_model_verify(m, e);
}

/* --- judges ----------------------------------------------------------------------------------- */

typedef struct evaluation_state {
    /* a model without this value is bad; NULL: none is */
    const char *needed;
    bool always;
    int calls;
} evaluation_state;

static qdq_status check_model(void *ctx, const qdq_model *m, bool *bad, char *why, size_t why_size,
                              qdq_error *e)
{
    evaluation_state *j = ctx;

    (void)e;
    j->calls++;
    assert_false(*bad);
    assert_int_equal(why[0], '\0');
    *bad = j->always || (j->needed != NULL && qdq_graph_find(m->graph, j->needed) == NULL);
    if (*bad)
        snprintf(why, why_size, "'%s' is gone", j->always ? "everything" : j->needed);
    return QDQ_OK;
}

static qdq_bisect_result bisect(const char *text, const char *passes, evaluation_state *j)
{
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_model *m = test_model(text);
    qdq_bisect_result *r;
    char *before, *after;

    opts.passes = passes;
    assert_ok(qdq_model_to_text(m, &before, &err));
    assert_ok(qdq_model_bisect(m, &opts, check_model, j, &r, &err));
    assert_ok(qdq_model_to_text(m, &after, &err));
    assert_string_equal(before, after);
    qdq_free(before);
    qdq_free(after);
    qdq_model_free(m);
    test_keep(r);
    return *r;
}

TEST(a_pipeline_that_does_no_harm_is_judged_once)
{
    evaluation_state j = {0};
    qdq_bisect_result r = bisect(test_graph_text("six"), "drop-identity", &j);

    assert_false(r.found);
    assert_int_equal(r.changes, 6);
    assert_int_equal(r.number, 0);
    assert_string_equal(r.pass, "");
    assert_int_equal(j.calls, 1);
}

TEST(every_change_can_be_found)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f"};

    for (size_t i = 0; i < QDQ_COUNT(names); i++) {
        evaluation_state j = {.needed = names[i]};
        qdq_bisect_result r = bisect(test_graph_text("six"), "drop-identity", &j);
        char why[20];

        assert_true(r.found);
        assert_int_equal(r.number, i + 1);
        assert_int_equal(r.changes, 6);
        assert_string_equal(r.pass, "drop-identity");
        assert_non_null(strstr(r.where, names[i]));
        snprintf(why, sizeof why, "'%s' is gone", names[i]);
        assert_string_equal(r.why, why);
        assert_true(j.calls <= 5); /* all, none, and log2(6) */
    }
}

TEST(the_pass_is_named_among_several)
{
    evaluation_state j = {.needed = "dead"};
    qdq_bisect_result r =
        bisect(test_graph_text(__func__), "lift-constants,drop-identity,drop-unused", &j);

    assert_true(r.found);
    assert_string_equal(r.pass, "drop-unused");
    assert_string_equal(r.where, "useless");
}

TEST(a_change_that_the_verifier_refuses_is_found_without_a_judge)
{
    evaluation_state j = {0};

    insisted_on = "c";
    qdq_bisect_result r = bisect(test_graph_text("six"), "drop-identity", &j);
    insisted_on = NULL;
    assert_true(r.found);
    assert_int_equal(r.number, 3);
    assert_int_equal(r.changes, 6);
    assert_string_equal(r.pass, "drop-identity");
    assert_string_equal(r.why, "after pass 'drop-identity': 'c' is defined nowhere");
}

TEST(a_pass_that_breaks_the_model_is_a_defect_that_is_named)
{
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;

    for (int each = 0; each < 2; each++) {
        qdq_model *m = test_graph("six");

        opts.passes = "lift-constants,drop-identity";
        opts.verify_each = each == 1;
        insisted_on = "c";
        assert_fails(QDQ_E_BUG,
                     each == 1
                         ? "after pass 'drop-identity': 'c' is defined nowhere"
                         : "after passes 'lift-constants,drop-identity': 'c' is defined nowhere",
                     qdq_model_optimize(m, &opts, NULL, &err));
        insisted_on = NULL;
        qdq_model_free(m);
    }
}

TEST(a_model_that_is_bad_from_the_start_is_change_zero)
{
    evaluation_state j = {.always = true};
    qdq_bisect_result r = bisect(test_graph_text("six"), "drop-identity", &j);

    assert_true(r.found);
    assert_int_equal(r.number, 0);
    assert_string_equal(r.pass, "");
    assert_string_equal(r.where, "");
    assert_string_equal(r.why, "'everything' is gone");
    assert_int_equal(j.calls, 2);
}

TEST(a_pipeline_without_changes_is_judged_all_the_same)
{
    evaluation_state j = {.needed = "nowhere"};
    qdq_bisect_result r = bisect(test_graph_text("six"), "", &j);

    assert_true(r.found);
    assert_int_equal(r.number, 0);
    assert_int_equal(r.changes, 0);
}

TEST(only_as_many_changes_as_are_asked_for_are_looked_at)
{
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_model *m = test_graph("six");
    evaluation_state j = {.needed = "d"};
    qdq_bisect_result *r;

    opts.passes = "drop-identity";
    opts.max_applications = 3;
    assert_ok(qdq_model_bisect(m, &opts, check_model, &j, &r, &err));
    assert_false(r->found);
    assert_int_equal(r->changes, 3);
    qdq_free(r);
    opts.max_applications = 4;
    assert_ok(qdq_model_bisect(m, &opts, check_model, &j, &r, &err));
    assert_true(r->found);
    assert_int_equal(r->number, 4);
    qdq_free(r);
    qdq_model_free(m);
}

static qdq_status no_engine(void *ctx, const qdq_model *m, bool *bad, char *why, size_t why_size,
                            qdq_error *e)
{
    int *calls = ctx;

    (void)m;
    (void)why;
    (void)why_size;
    *bad = true;
    return --*calls < 0 ? qdq_fail(e, QDQ_E_ENGINE, "the engine went away") : QDQ_OK;
}

TEST(a_judge_that_fails_ends_the_search)
{
    qdq_model *m = test_graph("six");
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_bisect_result *r;

    opts.passes = "drop-identity";
    for (int after = 0; after < 2; after++) {
        int calls = after;

        assert_fails(QDQ_E_ENGINE, "the engine went away",
                     qdq_model_bisect(m, &opts, no_engine, &calls, &r, &err));
        assert_null(r);
    }
    qdq_model_free(m);
}

TEST(mistakes_in_the_pipeline_are_errors_and_no_finding)
{
    qdq_model *m = test_graph("six");
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    evaluation_state j = {0};
    qdq_bisect_result *r;

    opts.passes = "nothing";
    assert_fails(QDQ_E_USAGE, "'nothing' is not a pass",
                 qdq_model_bisect(m, &opts, check_model, &j, &r, &err));
    assert_int_equal(j.calls, 0);
    qdq_model_free(m);
}

static void stop(void *ctx, const char *stage, uint64_t done, uint64_t total)
{
    assert_string_equal(stage, "bisect");
    assert_true(done < total);
    if (done == 2)
        qdq_cancel_set(ctx);
}

TEST(a_search_can_be_interrupted)
{
    qdq_model *m = test_graph("six");
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_job job = QDQ_JOB_INIT;
    qdq_cancel *cancel = qdq_cancel_new();
    evaluation_state j = {.needed = "c"};
    qdq_bisect_result *r;

    job.ctx = cancel;
    job.progress = stop;
    job.cancel = cancel;
    opts.passes = "drop-identity";
    opts.job = &job;
    assert_fails(QDQ_E_INTERRUPTED, "interrupted",
                 qdq_model_bisect(m, &opts, check_model, &j, &r, &err));
    qdq_cancel_free(cancel);
    qdq_model_free(m);
}
