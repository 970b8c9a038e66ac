/* compare_sessions.c - which sessions are open at the same time: the weights of two models in
 * memory cost as much as both. */
#include "engine/engine_ops.h"
#include "ir/edit.h"
#include "quant/compare/reference_outputs.h"
#include "support/npy_file.h"

static qdq_error err;

/* Of the engine sim, with a look at what is open. */
static struct {
    qdq_engine_ops ops;
    const qdq_engine_ops *sim;
    const qdq_session *first;
    unsigned open, opened, most_beside_first;
} seen;

/* The first model is named "a". */
static qdq_status open_seen(qdq_session *s, const qdq_model *m, const qdq_session_opts *opts,
                            qdq_error *to)
{
    seen.open++;
    seen.opened++;
    if (strcmp(m->graph->name, "a") == 0)
        seen.first = s;
    if (seen.first != NULL && seen.open - 1 > seen.most_beside_first)
        seen.most_beside_first = seen.open - 1;
    return seen.sim->session_open(s, m, opts, to);
}

static void close_seen(qdq_session *s)
{
    seen.open--;
    if (s == seen.first)
        seen.first = NULL;
    seen.sim->session_close(s);
}

static qdq_engine *open_engine(const char *spec)
{
    qdq_engine *e = NULL;

    assert_ok(qdq_engine_open(spec, NULL, &e, &err));
    memset(&seen, 0, sizeof seen);
    seen.sim = e->ops;
    seen.ops = *e->ops;
    seen.ops.session_open = open_seen;
    seen.ops.session_close = close_seen;
    e->ops = &seen.ops;
    return e;
}

#define MODEL(name) name " (float[N,2] x) => (float[N,2] y) { y = Neg(x) }"

typedef struct setting {
    qdq_engine *e;
    qdq_model *a, *b;
    qdq_data *d;
} setting;

static setting set_up_on(const char *engine)
{
    setting s = {open_engine(engine), test_model(MODEL("a")), test_model(MODEL("b")), NULL};

    assert_ok(qdq_data_open("random:3", s.a, NULL, &s.d, &err));
    return s;
}

static setting set_up(void)
{
    return set_up_on("sim:" QDQ_SOURCE_DIR "/tests/data/sim_basic.json");
}

static void tear_down(setting *s)
{
    assert_int_equal(seen.open, 0);
    qdq_data_close(s->d);
    qdq_model_free(s->a);
    qdq_model_free(s->b);
    qdq_engine_close(s->e);
}

static void compare(setting *s, qdq_reference_outputs *kept)
{
    qdq_compare_result *r = NULL;

    assert_ok(qdq_compare_keeping(&(qdq_comparison){s->e, s->a, s->d, NULL, kept}, s->b, &r, &err));
    assert_int_equal(r->samples, qdq_data_count(s->d));
    assert_true(r->worst_db > 200);
    qdq_free(r);
}

TEST(a_model_whose_outputs_are_kept_is_closed_before_the_other_one_is_opened)
{
    qdq_reference_outputs kept = {.limit = 1 << 20};
    setting s = set_up();

    compare(&s, &kept);
    assert_int_equal(seen.opened, 2);
    assert_int_equal(seen.most_beside_first, 0);
    assert_true(kept.is_complete);
    compare(&s, &kept);
    assert_int_equal(seen.opened, 3);
    qdq_reference_outputs_free(&kept);
    tear_down(&s);
}

/* --- the pass over the first model alone -------------------------------------------------------
 */

typedef struct watching {
    unsigned reference, compare;
} watching;

static void watch_progress(void *ctx, const char *stage, uint64_t done, uint64_t total)
{
    watching *w = ctx;

    assert_true(done >= 1 && done <= total);
    w->reference += strcmp(stage, "reference") == 0;
    w->compare += strcmp(stage, "compare") == 0;
}

TEST(the_pass_over_the_first_model_shows_its_progress)
{
    qdq_reference_outputs kept = {.limit = 1 << 20};
    qdq_compare_opts o = QDQ_COMPARE_OPTS_INIT;
    qdq_job job = QDQ_JOB_INIT;
    qdq_compare_result *r = NULL;
    setting s = set_up();
    watching w = {0};

    job.progress = watch_progress;
    job.ctx = &w;
    o.job = &job;
    assert_ok(qdq_compare_keeping(&(qdq_comparison){s.e, s.a, s.d, &o, &kept}, s.b, &r, &err));
    assert_int_equal(w.reference, qdq_data_count(s.d));
    assert_int_equal(w.compare, qdq_data_count(s.d));
    qdq_free(r);
    qdq_reference_outputs_free(&kept);
    tear_down(&s);
}

/* Of a model that does not say how many classes it has: found where it is, not after all samples.
 */
TEST(a_wrong_label_ends_the_pass_over_the_first_model)
{
    static const int64_t label[] = {0, 2, 0, 0};
    static const float x[4][2] = {{1, 2}, {3, 4}, {5, 6}, {7, 8}};
    const test_array arrays[] = {{"x", TEST_HEADER("<f4", "(4, 2)"), x, sizeof x},
                                 {"label", TEST_HEADER("<i8", "(4,)"), label, sizeof label}};
    qdq_reference_outputs kept = {.limit = 1 << 20};
    qdq_compare_opts o = QDQ_COMPARE_OPTS_INIT;
    qdq_data_opts how = QDQ_DATA_OPTS_INIT;
    qdq_job job = QDQ_JOB_INIT;
    qdq_compare_result *r = NULL;
    setting s = set_up();
    watching w = {0};

    qdq_data_close(s.d);
    qdq_model_free(s.a);
    qdq_model_free(s.b);
    s.a = test_model("a (float[N,2] x) => (float[N,C] y) { y = Neg(x) }");
    s.b = test_model("b (float[N,2] x) => (float[N,C] y) { y = Neg(x) }");
    how.labels = "label";
    assert_ok(qdq_data_open(test_npz_file("wrong.npz", false, arrays, 2), s.a, &how, &s.d, &err));
    job.progress = watch_progress;
    job.ctx = &w;
    o.job = &job;
    assert_fails(QDQ_E_FORMAT, "sample 1: its label is 2, expected 0 to 1",
                 qdq_compare_keeping(&(qdq_comparison){s.e, s.a, s.d, &o, &kept}, s.b, &r, &err));
    assert_int_equal(w.reference, 1);
    assert_int_equal(seen.opened, 1);
    qdq_reference_outputs_free(&kept);
    tear_down(&s);
}

/* --- limits ------------------------------------------------------------------------------------
 */

/* One sample takes 8 bytes. */
TEST(outputs_beyond_the_limit_let_both_models_run_in_turns)
{
    qdq_reference_outputs kept = {.limit = 20};
    setting s = set_up();

    compare(&s, &kept);
    assert_true(kept.is_over);
    assert_int_equal(seen.most_beside_first, 1);
    qdq_reference_outputs_free(&kept);
    tear_down(&s);
}

TEST(the_original_is_closed_before_the_engine_is_checked)
{
    qdq_verify_opts o = QDQ_VERIFY_OPTS_INIT;
    qdq_verify_result *r = NULL;
    setting s = set_up();

    o.original = s.a;
    assert_ok(qdq_verify_engine(s.b, s.e, s.d, &o, &r, &err));
    assert_int_equal(r->verdict, QDQ_VERIFY_RIGHT);
    assert_int_equal(seen.opened, 3);
    assert_int_equal(seen.most_beside_first, 0);
    qdq_free(r);
    tear_down(&s);
}

/* --- more samples confirm a refusal ------------------------------------------------------------
 */

static void add_constant_output(qdq_model *m, int64_t bytes)
{
    void *data;
    qdq_tensor *t = qdq_tensor_new(m, QDQ_BOOL, 1, &bytes, &data);

    assert_non_null(t);
    qdq_value *v = qdq_graph_add_init(m->graph, "constant", t);
    assert_true(v != NULL && qdq_graph_add_output(m->graph, v));
}

/* A second sample is looked at, since the engine computes Neg wrongly. */
static void check_twice(int64_t bytes)
{
    static const char costs[] =
        "{\"qdq_sim\": 1, \"wrong\": [{\"op\": \"Neg\", \"float\": true, \"times\": 0.0001}]}";
    qdq_verify_opts o = QDQ_VERIFY_OPTS_INIT;
    qdq_verify_result *r = NULL;

    setting s = set_up_on(test_sim_spec(costs));
    add_constant_output(s.a, bytes);
    add_constant_output(s.b, bytes);
    o.original = s.a;
    o.count = o.confirm = 1;
    o.no_search = true;
    assert_ok(qdq_verify_engine(s.b, s.e, s.d, &o, &r, &err));
    assert_int_equal(r->verdict, QDQ_VERIFY_WRONG);
    assert_int_equal(r->samples, 2);
    qdq_free(r);
    tear_down(&s);
}

TEST(the_others_are_closed_where_the_original_runs_on_more_samples)
{
    check_twice(10);
    assert_int_equal(seen.opened, 6);
    assert_int_equal(seen.most_beside_first, 0);
}

/* 64 MiB are kept. */
TEST(an_original_with_large_outputs_is_opened_once_for_all_samples)
{
    check_twice((64 << 20) + 1);
    assert_int_equal(seen.opened, 3);
    assert_int_equal(seen.most_beside_first, 2);
}
