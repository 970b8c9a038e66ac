/* quant_statistics.c - statistics of parts: merged they are those of one run, bit for bit, and they
 * take the place of samples; what does not fit is rejected. */
#include "support/build.h"
#include "support/parts.h"
#include "support/test.h"

#include "base/file.h"
#include "quant/calib/calib_statistics.h"
#include "quant/target_fit.h"

enum { SAMPLES = 17, ELEMENTS = 64 };

static const qdq_method methods[] = {
    QDQ_METHOD_MAX, QDQ_METHOD_ENTROPY,        QDQ_METHOD_PERCENTILE,
    QDQ_METHOD_MSE, QDQ_METHOD_MOVING_AVERAGE, QDQ_METHOD_AUTO};
static qdq_error err;

static qdq_model *conv_model(int64_t channels)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 4, 4, 4);
    test_conv(&b, "c", "x", channels, 4, 3, 1);
    TEST_NODE(&b, "Relu", "r", "c");
    TEST_NODE(&b, "Identity", "i", "r"); /* goes in cleaning */
    test_conv(&b, "d", "i", channels, channels, 3, 1);
    TEST_NODE(&b, "Add", "a", "d", "r");
    test_output(&b, "a");
    return test_built(&b);
}

/* Samples from number `first` on, of which each is like no other. */
static qdq_data *data_of(const qdq_model *m, size_t first, size_t n)
{
    static float x[2 * SAMPLES][ELEMENTS];
    const qdq_array a = {
        .elem = QDQ_FLOAT, .rank = 4, .dim = {(int64_t)n, 4, 4, 4}, .data = x[first]};
    qdq_named_array in = {"x", a};
    qdq_data_opts o = QDQ_DATA_OPTS_INIT;
    qdq_data *d = NULL;

    in.array.bytes = n * sizeof x[0];
    for (size_t i = 0; i < 2 * SAMPLES; i++)
        for (size_t k = 0; k < ELEMENTS; k++)
            x[i][k] =
                k % 7 == 0 ? 0 : ((float)((i * 31 + k * 17) % 101) - 40) * 0.01F * (float)(i + 1);
    assert_ok(qdq_data_from_arrays(&in, 1, m, &o, &d, &err));
    return d;
}

static test_parts open_parts(void)
{
    qdq_model *m = conv_model(4);
    qdq_target *t = NULL, *fitted = NULL;
    test_parts p = {.model = m, .opts = QDQ_QUANTIZE_OPTS_INIT};

    p.opts.method = QDQ_METHOD_MAX;
    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    assert_ok(
        qdq_engine_open("sim:" QDQ_SOURCE_DIR "/tests/data/sim_basic.json", NULL, &p.engine, &err));
    /* once for all parts, each of which else takes longer to do this than to run its samples */
    assert_ok(qdq_target_fit(m, t, p.opts.cpu, NULL, &fitted, &err));
    if (fitted != NULL)
        qdq_target_free(t);
    p.target = fitted != NULL ? fitted : t;
    p.data = data_of(m, 0, SAMPLES);
    return p;
}

static void close_parts(test_parts *p)
{
    qdq_data_close(p->data);
    qdq_engine_close(p->engine);
    qdq_target_free((qdq_target *)(uintptr_t)p->target);
    qdq_model_free((qdq_model *)(uintptr_t)p->model);
}

/* --- merging ---------------------------------------------------------------------------------- */

static void assert_same_text(const qdq_statistics *a, const qdq_statistics *b)
{
    char *x = test_statistics_text(a), *y = test_statistics_text(b);

    assert_string_equal(x, y);
    qdq_free(x);
    qdq_free(y);
}

TEST(parts_merge_to_the_bytes_of_one_run_in_any_order_and_grouping)
{
    static const size_t sizes[] = {1, 2, 3, 16, 17};
    test_parts p = open_parts();

    for (size_t i = 0; i < QDQ_COUNT(methods); i++) {
        p.opts.method = methods[i];
        qdq_statistics *one = test_collect(&p, 0, 0);
        char *text = test_statistics_text(one);

        for (size_t k = 0; k < QDQ_COUNT(sizes); k++)
            for (int how = TEST_FORWARD; how <= TEST_IN_PAIRS; how++) {
                qdq_statistics *all = test_merge_parts(&p, sizes[k], (test_merging)how);
                char *merged = test_statistics_text(all);

                assert_string_equal(text, merged);
                qdq_free(merged);
                qdq_statistics_free(all);
            }
        qdq_free(text);
        qdq_statistics_free(one);
    }
    close_parts(&p);
}

TEST(a_summary_says_what_is_there_and_what_is_missing)
{
    test_parts p = open_parts();
    qdq_statistics *s = test_collect(&p, 2, 3);
    const qdq_statistics_summary *sum = qdq_statistics_get_summary(s);

    assert_int_equal(strlen(sum->model), 32);
    assert_string_equal(sum->target, "ort-cpu");
    assert_int_equal(strlen(sum->target_sha256), 64);
    assert_int_equal(sum->method, QDQ_METHOD_MAX);
    assert_int_equal(sum->n_samples, 6);
    assert_int_equal(sum->n_missing, 11);
    assert_int_equal(sum->n_sources, 1);
    assert_int_equal(sum->n_tensors, 5);
    assert_ok(qdq_statistics_check_model(s, p.model, &err));
    qdq_model *other = conv_model(8);
    assert_fails(QDQ_E_USAGE, "statistics of the model",
                 qdq_statistics_check_model(s, other, &err));
    qdq_model_free(other);
    qdq_statistics_free(s);
    close_parts(&p);
}

/* --- in place of samples ---------------------------------------------------------------------- */

static const char *save(const qdq_statistics *s)
{
    const char *path = test_path("all.json");

    assert_ok(qdq_statistics_save(s, path, true, &err));
    return path;
}

static char *plan_text(const test_parts *p, qdq_data *data, const char *cache)
{
    qdq_quantize_opts o = p->opts;
    qdq_plan *plan = NULL;
    char *text = NULL;

    o.cache = cache;
    assert_ok(qdq_plan_make(p->model, p->target, p->engine, data, &o, &plan, &err));
    assert_ok(qdq_plan_to_text(plan, &text, &err));
    qdq_plan_free(plan);
    return text;
}

static void assert_same_plan(const test_parts *p, qdq_data *whole, qdq_data *with,
                             const char *cache)
{
    char *a = plan_text(p, whole, NULL), *b = plan_text(p, with, cache);

    assert_string_equal(a, b);
    qdq_free(a);
    qdq_free(b);
}

TEST(plans_of_statistics_are_those_of_the_samples)
{
    test_parts p = open_parts();

    for (size_t i = 0; i < QDQ_COUNT(methods); i++) {
        p.opts.method = methods[i];
        qdq_statistics *all = test_merge_parts(&p, 3, TEST_BACKWARD);
        const char *cache = save(all);

        assert_same_plan(&p, p.data, NULL, cache); /* without data */
        qdq_data *other = data_of(p.model, SAMPLES, 3);
        assert_same_plan(&p, p.data, other, cache); /* which calibrate nothing */
        qdq_data_close(other);
        qdq_statistics_free(all);
    }
    close_parts(&p);
}

/* Samples of two files: the order of these is unknown, and does not matter. */
TEST(shards_merge_to_the_plan_of_all_their_samples)
{
    test_parts p = open_parts();

    for (size_t i = 0; i < 4; i++) {
        test_parts q = p;
        qdq_data *whole = data_of(p.model, 0, 2 * SAMPLES);

        p.opts.method = q.opts.method = methods[i];
        q.data = data_of(p.model, SAMPLES, SAMPLES);
        qdq_statistics *a = test_collect(&p, 0, 0), *b = test_collect(&q, 0, 0),
                       *c = test_collect(&q, 0, 0);
        assert_ok(qdq_statistics_merge(a, b, &err));
        assert_int_equal(qdq_statistics_get_summary(a)->n_sources, 2);
        assert_same_plan(&p, whole, NULL, save(a));
        qdq_statistics *d = test_collect(&p, 0, 0);
        assert_ok(qdq_statistics_merge(c, d, &err));
        assert_same_text(a, c);
        qdq_data_close(whole);
        qdq_data_close(q.data);
        qdq_statistics_free(a);
        qdq_statistics_free(b);
        qdq_statistics_free(c);
        qdq_statistics_free(d);
    }
    close_parts(&p);
}

TEST(the_samples_option_bounds_all_parts)
{
    test_parts p = open_parts();

    p.opts.samples = 9;
    p.opts.method = QDQ_METHOD_AUTO;
    qdq_statistics *one = test_collect(&p, 0, 0), *all = test_merge_parts(&p, 4, TEST_FORWARD);
    assert_int_equal(qdq_statistics_get_summary(all)->n_samples, 9);
    assert_same_text(one, all);
    qdq_statistics_free(one);
    qdq_statistics_free(all);
    close_parts(&p);
}

/* --- what does not fit ------------------------------------------------------------------------ */

static void assert_refused(const test_parts *p, const char *part, qdq_data *data,
                           const qdq_calibrate_opts *o)
{
    qdq_statistics *s = NULL;

    assert_fails(QDQ_E_USAGE, part,
                 qdq_statistics_collect(p->model, p->target, p->engine, data, o, &s, &err));
    assert_null(s);
}

TEST(what_cannot_be_collected_is_an_error)
{
    static const size_t parts[][2] = {{0, 3}, {4, 3}, {1, 0}};
    test_parts p = open_parts();
    qdq_data_opts dopts = QDQ_DATA_OPTS_INIT;
    qdq_calibrate_opts o = QDQ_CALIBRATE_OPTS_INIT;
    qdq_data *random = NULL;

    o.quantize = &p.opts;
    for (size_t i = 0; i < QDQ_COUNT(parts); i++) {
        o.part = parts[i][0];
        o.n_parts = parts[i][1];
        assert_refused(&p, "expected 1 to", p.data, &o);
    }
    o.part = o.n_parts = 18;
    assert_refused(&p, "part 18 of 18: no sample, as there are 17", p.data, &o);
    o.part = o.n_parts = 0;
    assert_refused(&p, "found no data", NULL, &o);
    assert_ok(qdq_data_open("random:1", p.model, &dopts, &random, &err));
    assert_refused(&p, "random numbers", random, &o);
    p.opts.method = QDQ_METHOD_ENTROPY_COMPAT;
    assert_refused(&p, "bins depend on the first sample", p.data, &o);
    p.opts.method = QDQ_METHOD_MAX;
    p.opts.cache = "x";
    assert_refused(&p, "found a cache", p.data, &o);
    qdq_data_close(random);
    close_parts(&p);
}

TEST(a_run_that_is_interrupted_gives_nothing)
{
    test_parts p = open_parts();
    qdq_cancel *cancel = qdq_cancel_new();
    const qdq_job job = {.size = sizeof job, .cancel = cancel};
    const qdq_calibrate_opts o = {.size = sizeof o, .quantize = &p.opts};
    qdq_statistics *s = NULL;

    assert_non_null(cancel);
    qdq_cancel_set(cancel);
    p.opts.job = &job;
    assert_fails(QDQ_E_INTERRUPTED, "",
                 qdq_statistics_collect(p.model, p.target, p.engine, p.data, &o, &s, &err));
    assert_null(s);
    qdq_cancel_free(cancel);
    p.opts.job = NULL;
    close_parts(&p);
}

static void assert_no_merge(const char *part, qdq_statistics *a, qdq_statistics *b)
{
    char *before = test_statistics_text(a);

    assert_fails(QDQ_E_USAGE, part, qdq_statistics_merge(a, b, &err));
    char *after = test_statistics_text(a);
    assert_string_equal(before, after);
    qdq_free(before);
    qdq_free(after);
    qdq_statistics_free(a);
    qdq_statistics_free(b);
}

/* As read from a file of this name. */
static qdq_statistics *named(qdq_statistics *s, const char *name)
{
    char *text = test_statistics_text(s);
    qdq_statistics *out = NULL;

    assert_ok(qdq_statistics_parse(text, strlen(text), name, &out, &err));
    qdq_free(text);
    qdq_statistics_free(s);
    return out;
}

TEST(parts_that_do_not_belong_together_are_named)
{
    test_parts p = open_parts(), q = p;
    qdq_target *other = NULL;

    q.opts.method = QDQ_METHOD_MSE;
    assert_no_merge("b.json: found method mse, expected max, that of a.json",
                    named(test_collect(&p, 1, 2), "a.json"),
                    named(test_collect(&q, 2, 2), "b.json"));
    q = p;
    assert_ok(qdq_target_load("tensorrt", &other, &err));
    q.target = other;
    assert_no_merge("found target tensorrt, expected ort-cpu", test_collect(&p, 1, 2),
                    test_collect(&q, 2, 2));
    qdq_target_free(other);
    assert_ok(qdq_target_load("ort-cpu", &other, &err));
    assert_ok(qdq_target_set(other, "activation.type", "int16", &err));
    q.target = other;
    assert_no_merge("found a target with SHA-256", test_collect(&p, 1, 2), test_collect(&q, 2, 2));
    qdq_target_free(other);
    q = p;
    q.opts.passes = QDQ_PASSES_MINIMAL;
    qdq_model *m = conv_model(8);
    q.model = m;
    assert_no_merge("found the model", test_collect(&p, 1, 2), test_collect(&q, 2, 2));
    qdq_model_free(m);
    close_parts(&p);
}

TEST(samples_count_once)
{
    test_parts p = open_parts(), q = p;

    assert_no_merge("b.json: sample 2 is in a.json, too", named(test_collect(&p, 1, 2), "a.json"),
                    named(test_collect(&p, 3, 3), "b.json"));
    assert_no_merge("a.json: sample 0 is in a.json, too", named(test_collect(&p, 0, 0), "a.json"),
                    named(test_collect(&p, 0, 0), "a.json"));
    q.opts.samples = 4;
    assert_no_merge("the first 4 of the same data, expected the first 17", test_collect(&p, 1, 2),
                    test_collect(&q, 2, 2));
    /* after a merge, the file that has the sample is named, not the first one */
    qdq_statistics *a = named(test_collect(&p, 1, 3), "a.json"),
                   *b = named(test_collect(&p, 2, 3), "b.json");
    assert_ok(qdq_statistics_merge(a, b, &err));
    qdq_statistics_free(b);
    assert_no_merge("c.json: sample 1 is in b.json, too", a,
                    named(test_collect(&p, 2, 3), "c.json"));
    close_parts(&p);
}

TEST(moving_average_needs_one_order_of_samples)
{
    test_parts p = open_parts();

    p.opts.method = QDQ_METHOD_MOVING_AVERAGE;
    test_parts q = p;
    q.data = data_of(p.model, SAMPLES, SAMPLES);
    assert_no_merge("moving-average depends on the order of samples", test_collect(&p, 0, 0),
                    test_collect(&q, 0, 0));
    qdq_data_close(q.data);
    close_parts(&p);
}

static void assert_not_used(const test_parts *p, const char *cache, const char *part)
{
    qdq_quantize_opts o = p->opts;
    qdq_plan *plan = NULL;

    o.cache = cache;
    assert_fails(QDQ_E_USAGE, part,
                 qdq_plan_make(p->model, p->target, p->engine, NULL, &o, &plan, &err));
    assert_null(plan);
}

TEST(statistics_of_something_else_are_not_used)
{
    test_parts p = open_parts(), q = p;
    qdq_statistics *s = test_collect(&p, 0, 0);
    const char *cache = save(s);
    qdq_target *other = NULL;

    q.opts.method = QDQ_METHOD_ENTROPY;
    assert_not_used(&q, cache, "statistics for method max, expected entropy");
    q = p;
    q.opts.passes = QDQ_PASSES_MINIMAL;
    assert_not_used(&q, cache, "cleaned");
    q = p;
    qdq_model *m = conv_model(8);
    q.model = m;
    assert_not_used(&q, cache, "statistics for the model");
    qdq_model_free(m);
    q = p;
    assert_ok(qdq_target_load("tensorrt", &other, &err));
    q.target = other;
    assert_not_used(&q, cache, "statistics for target ort-cpu, expected tensorrt");
    qdq_target_free(other);
    assert_ok(qdq_target_load("ort-cpu", &other, &err));
    assert_ok(qdq_target_set(other, "weight.method", "mse", &err));
    q.target = other;
    assert_not_used(&q, cache, "statistics for a target with SHA-256");
    qdq_target_free(other);
    qdq_statistics_free(s);
    close_parts(&p);
}

TEST(what_needs_samples_is_an_error)
{
    test_parts p = open_parts(), q = p;
    qdq_statistics *s = test_collect(&p, 0, 0);
    const char *cache = save(s);
    qdq_target *other = NULL;

    q.opts.bias_correction = QDQ_BIAS_CORRECTION_ON;
    assert_not_used(&q, cache, "the correction of biases needs samples");
    q = p;
    q.opts.float_channels = QDQ_FLOAT_CHANNELS_ON;
    assert_not_used(&q, cache, "the choice of float channels needs samples");
    q = p;
    q.opts.smooth = QDQ_SMOOTH_ON;
    assert_not_used(&q, cache, "smoothing needs samples");
    qdq_statistics_free(s);
    q = p;
    assert_ok(qdq_target_load("ort-cpu", &other, &err));
    assert_ok(qdq_target_set(other, "weight.method", "gptq", &err));
    q.target = other;
    s = test_collect(&q, 0, 0);
    assert_not_used(&q, save(s), "rounding weights by AWQ or GPTQ needs samples");
    qdq_target_free(other);
    qdq_statistics_free(s);
    close_parts(&p);
}

static void keep_warnings(void *ctx, qdq_log_level level, const char *line)
{
    char *text = ctx;

    if (level == QDQ_LOG_WARNING)
        snprintf(text + strlen(text), 1000 - strlen(text), "%s\n", line);
}

TEST(a_part_that_was_not_merged_is_reported)
{
    char log[1000] = "";
    const qdq_job job = {.size = sizeof job, .log = keep_warnings, .ctx = log};
    test_parts p = open_parts();
    qdq_statistics *s = test_collect(&p, 1, 3);

    p.opts.job = &job;
    char *text = plan_text(&p, NULL, save(s));
    assert_non_null(strstr(log, "11 of 17 samples are missing"));
    qdq_free(text);
    qdq_statistics_free(s);
    close_parts(&p);
}

TEST(nodes_in_subgraphs_stay_float_and_are_reported)
{
    char log[1000] = "";
    const qdq_job job = {.size = sizeof job, .log = keep_warnings, .ctx = log};
    test_parts p = open_parts(), q = p;
    qdq_model *m = test_graph(__func__);
    static float x[2][ELEMENTS] = {{1, -2}, {3, 4}};
    static bool yes[2] = {true, false};
    const qdq_named_array in[] = {
        {"x", {.elem = QDQ_FLOAT, .rank = 4, .dim = {2, 4, 4, 4}, .data = x, .bytes = sizeof x}},
        {"c", {.elem = QDQ_BOOL, .rank = 1, .dim = {2}, .data = yes, .bytes = sizeof yes}}};
    qdq_data_opts o = QDQ_DATA_OPTS_INIT;

    q.model = m;
    q.opts.job = &job;
    assert_ok(qdq_data_from_arrays(in, 2, m, &o, &q.data, &err));
    qdq_statistics *s = test_collect(&q, 0, 0);
    assert_non_null(strstr(log, "no statistics of subgraphs"));
    log[0] = '\0';
    char *text = plan_text(&q, NULL, save(s));
    assert_non_null(strstr(log, "nodes inside If, Loop and Scan stay float"));
    assert_non_null(strstr(text, "inside If: statistics have no samples of it"));

    qdq_free(text);
    qdq_statistics_free(s);
    qdq_data_close(q.data);
    qdq_model_free(m);
    close_parts(&p);
}

/* Steps have numbers of their own, by which bounds are ordered. */
TEST(sequences_calibrate_in_parts)
{
    test_parts p = open_parts(), q = p;
    qdq_model *m = test_graph(__func__);
    static float x[12][2] = {{1, 2}, {-3, 4},  {5, -6}, {0, 1}, {7, 1}, {2, 9},
                             {1, 1}, {-8, 11}, {3, 3},  {4, 0}, {6, 2}, {1, -9}};
    const qdq_named_array in = {
        "x", {.elem = QDQ_FLOAT, .rank = 2, .dim = {12, 2}, .data = x, .bytes = sizeof x}};
    const qdq_state sum = {"t", "s"};
    qdq_data_opts o = QDQ_DATA_OPTS_INIT;

    o.states = &sum;
    o.n_states = 1;
    o.steps = 3;
    q.model = m;
    assert_ok(qdq_data_from_arrays(&in, 1, m, &o, &q.data, &err));
    for (size_t i = 0; i < QDQ_COUNT(methods); i++) {
        q.opts.method = methods[i];
        qdq_statistics *one = test_collect(&q, 0, 0), *all = test_merge_parts(&q, 3, TEST_BACKWARD);

        assert_int_equal(qdq_statistics_get_summary(one)->n_samples, 4);
        assert_same_text(one, all);
        assert_same_plan(&q, q.data, NULL, save(all));
        qdq_statistics_free(one);
        qdq_statistics_free(all);
    }
    qdq_data_close(q.data);
    qdq_model_free(m);
    close_parts(&p);
}

/* --- files ------------------------------------------------------------------------------------ */

TEST(a_file_is_written_whole_and_replaced_when_asked)
{
    test_parts p = open_parts();
    const char *path = test_path("once.json");
    qdq_statistics *s = test_collect(&p, 1, 2), *again = NULL;

    assert_ok(qdq_statistics_save(s, path, false, &err));
    assert_fails(QDQ_E_IO, "exists", qdq_statistics_save(s, path, false, &err));
    assert_ok(qdq_statistics_save(s, path, true, &err));
    assert_ok(qdq_statistics_load(path, &again, &err));
    assert_same_text(s, again);
    qdq_statistics_free(again);
    assert_fails(QDQ_E_IO, "cannot open", qdq_statistics_load(test_path("no.json"), &again, &err));
    qdq_statistics_free(s);
    close_parts(&p);
}
