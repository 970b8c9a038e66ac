/* tune_options.c - what users may ask of a tuning run, each with its effect: in which precision it
 * tunes, when it calibrates, and what it refuses. */
#include <math.h>
#include <unistd.h>

#include "ir/ir.h"
#include "support/npy_file.h"
#include "support/tuned.h"

static qdq_error err;
static qdq_model *model;

#define OPS                                                                                        \
    "\"Gemm\": {\"float_us\": 100, \"int8_us\": 30}, \"Cast\": {\"float_us\": 15}, \"Relu\": "     \
    "{\"float_us\": 1}"

/* Three Gemm with biases and Relu. */
static qdq_model *gemms(void)
{
    static char text[20000];
    size_t at = (size_t)snprintf(text, sizeof text, "g (float[1,8] x) => (float[1,8] y)<");

    for (int w = 0; w < 3; w++) {
        at += (size_t)snprintf(text + at, sizeof text - at, "%sfloat[8,8] w%d = {",
                               w > 0 ? ", " : "", w);
        for (int i = 0; i < 64; i++)
            at += (size_t)snprintf(text + at, sizeof text - at, "%s%.3f", i > 0 ? ", " : "",
                                   ((i * 37 + w * 11) % 101 - 50) / 100.0);
        at += (size_t)snprintf(text + at, sizeof text - at,
                               "}, float[8] b%d = {0.1, 0.2, -0.1, 0.3, -0.2, 0.4, 0.5, -0.5}", w);
    }
    snprintf(
        text + at, sizeof text - at,
        "> { [fc0] h0 = Gemm(x, w0, b0) r0 = Relu(h0) [fc1] h1 = Gemm(r0, w1, b1) r1 = Relu(h1)"
        " [fc2] h2 = Gemm(r1, w2, b2) y = Tanh(h2) }");
    return test_model(text);
}

static int make(void **state)
{
    (void)state;
    model = gemms();
    return 0;
}

static int drop(void **state)
{
    (void)state;
    qdq_model_free(model);
    return 0;
}

/* ort-cpu for sim, with one key changed; NULL: none. */
static qdq_target *target(const char *key, const char *value)
{
    qdq_target *t;

    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    assert_ok(qdq_target_set(t, "engine", "sim", &err));
    if (key != NULL)
        assert_ok(qdq_target_set(t, key, value, &err));
    return t;
}

/* Eight samples that are none of random:SEED. */
static qdq_data *samples(void)
{
    float x[8][8];
    qdq_data *d;

    for (int i = 0; i < 64; i++)
        x[i / 8][i % 8] = (float)((i * 29) % 64 - 20) / 16;
    assert_ok(qdq_data_open(test_npy_file("samples.npy", TEST_HEADER("<f4", "(8, 8)"), x, sizeof x),
                            model, NULL, &d, &err));
    return d;
}

/* --- the precision that ships ----------------------------------------------------------------- */

typedef struct types {
    /* of the type; the three biases are equal, and shared */
    size_t weights, scales;
    /* weights of another float type */
    size_t others;
} types;

static types count_types(const char *path, qdq_elem want)
{
    types t = {0};
    qdq_model *m;

    assert_ok(qdq_model_load(path, NULL, &m, &err));
    QDQ_FOR_INITS(v, m->graph)
    {
        bool is_float = v->init->elem == QDQ_FLOAT || v->init->elem == QDQ_FLOAT16 ||
                        v->init->elem == QDQ_BFLOAT16;
        if (!is_float)
            continue;
        if (v->init->count < 8)
            t.scales += v->init->elem == want;
        else if (v->init->elem == want)
            t.weights++;
        else
            t.others++;
    }
    qdq_model_free(m);
    return t;
}

typedef struct hearing {
    /* of the baseline, as the search saw it */
    double search_ms;
    size_t calibrations, in_search;
    /* samples that a comparison ran on, outside of workers */
    uint64_t judged;
    bool searching;
} hearing;

static void look(void *ctx, const qdq_tune_live *now)
{
    hearing *h = ctx;

    h->searching = strcmp(now->phase, "control") == 0 || strcmp(now->phase, "start") == 0 ||
                   strcmp(now->phase, "regions") == 0 || strcmp(now->phase, "exceptions") == 0;
    if (h->searching && now->baseline_ms > 0)
        h->search_ms = now->baseline_ms;
}

static void record_progress(void *ctx, const char *stage, uint64_t done, uint64_t total)
{
    hearing *h = ctx;

    if (strcmp(stage, "compare") == 0)
        h->judged = total;
    if (strcmp(stage, "calibrate") != 0 || done != 1)
        return;
    h->calibrations++;
    h->in_search += h->searching;
}

static qdq_tune_result run(const char *folder, const qdq_target *t, qdq_data *data,
                           qdq_tune_opts *o, hearing *h)
{
    qdq_job job = QDQ_JOB_INIT;
    qdq_quantize_opts quantize = QDQ_QUANTIZE_OPTS_INIT;
    const qdq_goal_opts goal = test_tuned_two_forms(o);
    qdq_tune_opts own;
    qdq_tune_result *r;

    job.ctx = h;
    job.progress = record_progress;
    if (o->quantize != NULL)
        quantize = *o->quantize;
    quantize.job = &job;
    o->quantize = &quantize;
    o->job = &job;
    o->live = look;
    own = *o;
    own.goal = &goal;
    assert_ok(qdq_autotune(model, t, data, folder, &own, &r, &err));
    test_keep(r);
    return *r;
}

/* W13b: what is measured is what ships. */
TEST(with_rest_the_model_is_converted_before_it_is_tuned)
{
    static const struct {
        const char *value;
        qdq_elem type;
    } rests[] = {{"float16", QDQ_FLOAT16}, {"bfloat16", QDQ_BFLOAT16}};
    qdq_target *plain = target(NULL, NULL);
    qdq_data *data = samples();
    hearing without = {0};

    for (size_t i = 0; i < 2; i++) {
        qdq_tune_opts o = test_tuned_opts(test_tuned_costs(OPS, NULL));
        qdq_target *t = target("rest.type", rests[i].value);
        const char *folder = test_path("rest%zu", i);
        char path[4300];
        hearing h = {0};
        qdq_tune_result r = run(folder, t, data, &o, &h);

        assert_int_equal(r.verdict, QDQ_TUNED);
        snprintf(path, sizeof path, "%s/baseline.onnx", folder);
        types of_baseline = count_types(path, rests[i].type);
        assert_true(of_baseline.weights == 4 && of_baseline.others == 0);
        snprintf(path, sizeof path, "%s/model.onnx", folder);
        assert_true(count_types(path, rests[i].type).scales > 0);
        assert_int_equal(count_types(path, rests[i].type).others, 0);
        /* Two Cast more than the float32 model, in the search and in the final validation. */
        o = test_tuned_opts(test_tuned_costs(OPS, NULL));
        run(test_path("plain%zu", i), plain, data, &o, &without);
        assert_true(h.search_ms > without.search_ms + 0.02);
        assert_true(fabs(h.search_ms / r.baseline_ms - 1) < 0.03);
        qdq_target_free(t);
    }
    qdq_data_close(data);
    qdq_target_free(plain);
}

TEST(where_nothing_pays_the_converted_model_is_written)
{
    qdq_tune_opts o =
        test_tuned_opts(test_tuned_costs("\"Gemm\": {\"float_us\": 100, \"int8_us\": 110}", NULL));
    qdq_target *t = target("rest.type", "float16");
    const char *folder = test_path("rest_float");
    hearing h = {0};
    qdq_tune_result r = run(folder, t, NULL, &o, &h);

    assert_int_equal(r.verdict, QDQ_TUNED_FLOAT);
    assert_true(test_tuned_has(folder, "plan.json", "\"type\": \"float16\""));
    assert_true(test_tuned_has(folder, "plan.json", "\"left_float\": []"));
    assert_int_equal(count_types(test_path("rest_float/model.onnx"), QDQ_FLOAT16).weights, 4);
    qdq_target_free(t);
}

TEST(a_goal_that_the_precision_alone_misses_is_said_at_once)
{
    qdq_tune_opts o = test_tuned_opts(
        test_tuned_costs(OPS, "\"fail\": [{\"at\": \"run\", \"nth\": 2, \"outputs\": \"wrong\"}]"));
    qdq_goal_opts goal = QDQ_GOAL_OPTS_INIT;
    qdq_target *t = target("rest.type", "float16");
    qdq_tune_result *r;

    goal.min_sqnr = 30;
    o.goal = &goal;
    assert_fails(QDQ_E_GOAL, "in the precision that ships, without any Q/DQ",
                 qdq_autotune(model, t, NULL, test_path("rest_goal"), &o, &r, &err));
    assert_true(r != NULL && strcmp(r->mode, "region") == 0);
    qdq_free(r);
    qdq_target_free(t);
}

TEST(what_stays_float32_is_settled_in_one_calibration)
{
    qdq_tune_opts o = test_tuned_opts(test_tuned_costs(OPS, NULL));
    qdq_target *t = target("rest.type", "float16");
    qdq_data *data = samples();
    hearing h = {0};

    run(test_path("rest_once"), t, data, &o, &h);
    assert_int_equal(h.in_search, 0);
    /* scales; those of single edges; magnitudes of what float16 might not hold */
    assert_int_equal(h.calibrations, 3);
    qdq_data_close(data);
    qdq_target_free(t);
}

/* --- calibration ------------------------------------------------------------------------------ */

TEST(biases_are_corrected_once_the_search_is_over)
{
    qdq_tune_opts o = test_tuned_opts(test_tuned_costs(OPS, NULL)), plain = o;
    qdq_quantize_opts quantize = QDQ_QUANTIZE_OPTS_INIT;
    qdq_target *t = target(NULL, NULL);
    qdq_data *data = samples();
    hearing h = {0}, without = {0};
    qdq_model *applied, *written;
    qdq_plan *p;

    quantize.bias_correction = QDQ_BIAS_CORRECTION_ON;
    o.quantize = &quantize;
    qdq_tune_result r = run(test_path("corrected"), t, data, &o, &h);
    qdq_tune_result r2 = run(test_path("plain"), t, data, &plain, &without);
    char *with = test_tuned_file(test_path("corrected"), "plan.json"),
         *none = test_tuned_file(test_path("plain"), "plan.json");

    assert_int_equal(h.in_search, 0);
    assert_int_equal(without.calibrations, 2); /* of decisions, and of single edges */
    assert_true(h.calibrations > 2 && h.calibrations <= 4);
    assert_int_equal(r.builds, r2.builds);
    assert_non_null(strstr(with, "\"corrections\""));
    assert_null(strstr(none, "\"corrections\""));

    /* and the model has what the plan says */
    assert_ok(qdq_plan_load(test_path("corrected/plan.json"), &p, &err));
    assert_ok(qdq_plan_apply(p, model, false, NULL, &applied, &err));
    assert_ok(qdq_model_load(test_path("corrected/model.onnx"), NULL, &written, &err));
    char *a = NULL, *b = NULL;
    assert_ok(qdq_model_to_text(applied, &a, &err));
    assert_ok(qdq_model_to_text(written, &b, &err));
    assert_string_equal(a, b);
    qdq_free(a);
    qdq_free(b);
    qdq_free(with);
    qdq_free(none);
    qdq_model_free(applied);
    qdq_model_free(written);
    qdq_plan_free(p);
    qdq_data_close(data);
    qdq_target_free(t);
}

/* --- a goal ----------------------------------------------------------------------------------- */

TEST(what_is_shipped_is_judged_on_all_samples_that_judge)
{
    qdq_tune_opts o = test_tuned_opts(test_tuned_costs(OPS, "\"error\": 0.01"));
    qdq_goal_opts goal = QDQ_GOAL_OPTS_INIT;
    qdq_target *t = target(NULL, NULL);
    qdq_data *data = samples();
    hearing h = {0}, without = {0};

    o.goal = &goal; /* none: without this there is the default one */
    run(test_path("unjudged"), t, data, &o, &without);
    assert_int_equal(without.judged, 0);
    o = test_tuned_opts(o.engine);
    goal.min_sqnr = 10;
    goal.first = 3;
    o.goal = &goal;
    qdq_tune_result r = run(test_path("judged"), t, data, &o, &h);
    assert_int_equal(r.verdict, QDQ_TUNED);
    assert_int_equal(h.judged, 5);
    qdq_data_close(data);
    qdq_target_free(t);
}

/* With the sixth of eight samples the rules' model goes wrong, which four samples do not show. The
 * imported placement is slower, but faster than the given model. */
TEST(what_was_found_is_shipped_where_the_rules_are_faster_and_miss_the_goal)
{
    static const char *const exclude[] = {"=fc2", NULL};
    const char *engine = test_tuned_costs(
        OPS,
        "\"fail\": [{\"at\": \"run\", \"node\": \"fc2\", \"nth\": 6, \"outputs\": \"wrong\"}]");
    qdq_tune_opts o = test_tuned_opts(engine);
    qdq_quantize_opts quantize = QDQ_QUANTIZE_OPTS_INIT;
    qdq_goal_opts goal = QDQ_GOAL_OPTS_INIT;
    qdq_target *t = target("stay_float", "[]");
    qdq_data *data = samples();
    hearing h = {0};
    qdq_model *partial;

    quantize.exclude = exclude;
    o.quantize = &quantize;
    run(test_path("partial"), t, data, &o, &h);
    assert_ok(qdq_model_load(test_path("partial/model.onnx"), NULL, &partial, &err));
    o = test_tuned_opts(engine);
    goal.min_sqnr = 10;
    o.goal = &goal;
    partial = test_tuned_other_weight(partial);
    const qdq_model *const baselines[] = {partial, NULL};
    o.qdq_baselines = baselines;
    o.trials = 1;
    qdq_tune_result r = run(test_path("second_best"), t, data, &o, &h);
    assert_int_equal(r.verdict, QDQ_TUNED);
    assert_true(r.ci_low > 1 && isnan(r.rules_ms));
    qdq_model_free(partial);
    qdq_data_close(data);
    qdq_target_free(t);
}

/* --- what is refused -------------------------------------------------------------------------- */

static void expect_refusal(qdq_tune_opts o, const char *says)
{
    qdq_target *t = target(NULL, NULL);
    const char *folder = test_path("refused");
    qdq_tune_result *r;

    assert_fails(QDQ_E_USAGE, says, qdq_autotune(model, t, NULL, folder, &o, &r, &err));
    qdq_free(r);
    assert_int_not_equal(access(folder, F_OK), 0);
    qdq_target_free(t);
}

TEST(options_out_of_range_are_refused_before_anything_is_made)
{
    const qdq_tune_opts good = test_tuned_opts(test_tuned_costs(OPS, NULL));
    qdq_region_opts regions = QDQ_REGION_OPTS_INIT;
    qdq_quantize_opts in_float = QDQ_QUANTIZE_OPTS_INIT, smoothed = QDQ_QUANTIZE_OPTS_INIT;
    qdq_tune_opts o;

#define EXPECT(field, value, says) (o = good, o.field = (value), expect_refusal(o, says))
#define EXPECT_DETAIL(field, value, says)                                                          \
    (o = good, test_tuned_details(&o)->field = (value), expect_refusal(o, says))
    EXPECT(min_gain, (double)NAN, "found min_gain nan, expected 0 or more and less than 0.5");
    EXPECT(min_gain, -0.1, "found min_gain -0.1");
    EXPECT(min_gain, 0.5, "found min_gain 0.5");
    EXPECT_DETAIL(pool_fraction, (double)NAN, "found pool_fraction nan");
    EXPECT_DETAIL(pool_fraction, 1.5, "found pool_fraction 1.5");
    EXPECT_DETAIL(pool_fraction, -1, "found pool_fraction -1");
    EXPECT(time_s, (double)NAN, "found time_s nan");
    EXPECT(time_s, (double)INFINITY, "found time_s inf");
    EXPECT(time_s, -1, "found time_s -1");
    EXPECT(threads, -1, "found -1 threads, expected 0 or more");
    EXPECT(preset, (qdq_tune_preset)3, "found preset 3, expected 0 to 2");
    EXPECT(mode, (qdq_tune_mode)2, "found mode 2, expected 0 (region) or 1 (subgraph)");
    in_float.float_channels = QDQ_FLOAT_CHANNELS_ON;
    EXPECT(quantize, &in_float, "found float_channels on, expected auto or off");
    smoothed.smooth = QDQ_SMOOTH_ON;
    EXPECT(quantize, &smoothed, "found smooth on, expected auto or off");
    regions.builder = (qdq_region_builder)3;
    EXPECT_DETAIL(regions, &regions, "found region builder 3, expected 0 to 2");
#undef EXPECT
#undef EXPECT_DETAIL
}

TEST(what_the_engine_has_no_kernels_for_is_refused)
{
    static const char *const named[] = {"tensorrt-fp8", "ort-cpu"};
    static const char *const says[] = {"engine ort has no kernels for activations in float8e4m3fn",
                                       "quantizes activations while the model runs"};
    static const qdq_target_change dynamic[] = {
        {"activation.type", "float"}, {"weight.store", "dynamic"}, {"bias.type", "float"}};
    qdq_tune_opts o = QDQ_TUNE_OPTS_INIT;

    for (int i = 0; i < 2; i++) {
        qdq_target *t;
        assert_ok(qdq_target_load(named[i], &t, &err));
        if (i == 1)
            assert_ok(qdq_target_set_all(t, dynamic, QDQ_COUNT(dynamic), &err));
        assert_fails(QDQ_E_UNSUPPORTED, says[i],
                     qdq_autotune(model, t, NULL, test_path("no_kernels"), &o, NULL, &err));
        assert_int_not_equal(access(test_path("no_kernels"), F_OK), 0);
        qdq_target_free(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_rest_the_model_is_converted_before_it_is_tuned),
        cmocka_unit_test(where_nothing_pays_the_converted_model_is_written),
        cmocka_unit_test(a_goal_that_the_precision_alone_misses_is_said_at_once),
        cmocka_unit_test(what_stays_float32_is_settled_in_one_calibration),
        cmocka_unit_test(biases_are_corrected_once_the_search_is_over),
        cmocka_unit_test(what_is_shipped_is_judged_on_all_samples_that_judge),
        cmocka_unit_test(what_was_found_is_shipped_where_the_rules_are_faster_and_miss_the_goal),
        cmocka_unit_test(options_out_of_range_are_refused_before_anything_is_made),
        cmocka_unit_test(what_the_engine_has_no_kernels_for_is_refused),
    };

    return cmocka_run_group_tests(tests, make, drop);
}
