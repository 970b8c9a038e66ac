/* tune_states.c - tuning of models with states: whole sequences calibrate and evaluate, and shapes
 * that grow are not fixed. Numbers are those of ONNX Runtime; shapes are seen on sim. */
#include <math.h>
#include <unistd.h>

#include "qdq/compare.h"
#include "support/opened_data.h"
#include "support/tuned.h"

static const qdq_state t_to_s = {"t", "s"};
static const char *const mask[] = {"m", NULL};

/* `shape` of the state, and how it changes. */
static qdq_model *model_with(const char *inputs, const char *state)
{
    static char text[4000];

    snprintf(text, sizeof text,
             "<ir_version: 8, opset_import: [\"\" : 17]>\n"
             "g (%s) => (float[B,C] t, float[B,8] y) <float[8,8] w = {%s}>"
             "{ h = MatMul(x, w) r = Relu(h) g = MatMul(r, w) y = Relu(g) %s }",
             inputs, test_tuned_weights(), state);
    return test_model(text);
}

static qdq_model *lstm_like(void)
{
    return model_with("float[B,8] x, float[B,8] s", "t = Add(s, y)");
}

static qdq_model *cache_like(void)
{
    return model_with("float[B,8] x, float[B,total] m, float[B,past] s",
                      "c = Concat<axis = 1>(s, y) t = Mul(c, m)");
}

static qdq_data *sequences(const qdq_model *m, size_t steps, bool has_mask)
{
    enum { RUNS = 48 };
    static float numbers[RUNS * 8];
    const qdq_named_array x = named("x", QDQ_FLOAT, numbers, 2, RUNS, 8);
    qdq_data_opts opts = QDQ_DATA_OPTS_INIT;
    qdq_data *d = NULL;

    for (size_t i = 0; i < QDQ_COUNT(numbers); i++)
        numbers[i] = sinf((float)i * 1.7F);
    opts.states = &t_to_s;
    opts.n_states = 1;
    opts.steps = steps;
    opts.masks = has_mask ? mask : NULL;
    assert_ok(qdq_data_from_arrays(&x, 1, m, &opts, &d, &err));
    return d;
}

static qdq_goal_opts goal_of(double min_sqnr)
{
    qdq_goal_opts goal = QDQ_GOAL_OPTS_INIT;

    goal.min_sqnr = min_sqnr;
    goal.first = 4;
    goal.count = 3;
    return goal;
}

/* Without a goal: what sim computes of other states are other numbers. */
static qdq_status tune_on_sim(const qdq_model *m, qdq_data *d, const char *folder,
                              qdq_tune_result *r)
{
    const qdq_goal_opts goal = goal_of(0);
    qdq_tune_opts o = test_tuned_opts(test_tuned_costs(TEST_TUNED_OPS, NULL));

    o.goal = &goal;
    test_tuned_details(&o)->keep_finished = true;
    return test_tuned_run_on(m, d, NULL, folder, &o, r, &err);
}

/* What the rules' plan reaches, of a goal that nothing reaches: it is not timed. */
static double tuned_db(const qdq_model *m, const qdq_target *t, qdq_data *d, const char *folder)
{
    const qdq_goal_opts goal = goal_of(150);
    qdq_quantize_opts quantize = QDQ_QUANTIZE_OPTS_INIT;
    qdq_tune_opts o = test_tuned_opts("ort");
    qdq_tune_result *r = NULL;
    double db = NAN;

    quantize.samples = 4;
    o.quantize = &quantize;
    o.goal = &goal;
    o.preset = QDQ_TUNE_QUICK;
    o.trials = 1;
    assert_ok(qdq_autotune(m, t, d, folder, &o, &r, &err));
    assert_int_equal(r->verdict, QDQ_TUNED_FLOAT);
    assert_int_equal(sscanf(r->rules_why, "outputs: SQNR %lf dB", &db), 1);
    qdq_free(r);
    return db;
}

static double compared_db(const qdq_model *m, const qdq_target *t, qdq_data *d)
{
    qdq_compare_opts of = QDQ_COMPARE_OPTS_INIT;
    qdq_quantize_opts quantize = QDQ_QUANTIZE_OPTS_INIT;
    qdq_compare_result *r = NULL;
    qdq_model *q = NULL;
    qdq_plan *p = NULL;

    quantize.samples = 4;
    of.first = 4;
    of.count = 3;
    assert_ok(qdq_quantize(m, t, test_ort(), d, &quantize, &p, &q, &err));
    assert_ok(qdq_compare(test_ort(), m, q, d, &of, &r, &err));
    const double db = r->bound_db;
    qdq_free(r);
    qdq_plan_free(p);
    qdq_model_free(q);
    return db;
}

TEST(accuracy_is_that_of_whole_sequences)
{
    qdq_model *m = model_with("float[1,8] x, float[1,8] s", "t = Add(s, y)");
    qdq_target *t = NULL;
    double db[2] = {0, 0};

    assert_ok(qdq_target_load(QDQ_SOURCE_DIR "/tests/data/ort_cpu_bare.json", &t, &err));
    for (size_t k = 0; k < 2 && test_ort() != NULL; k++) {
        const size_t steps = k == 0 ? 1 : 6;
        qdq_data *d = sequences(m, steps, false);

        db[k] = tuned_db(m, t, d, test_path("steps%zu", steps));
        assert_float_equal(db[k], compared_db(m, t, d), 0.006); /* two digits */
        qdq_data_close(d);
    }
    if (test_ort() != NULL) {
        assert_true(fabs(db[0] - db[1]) > 0.1);
        assert_true(test_tuned_has(test_path("steps6"), "report.json", "\"steps\": 6"));
        assert_true(test_tuned_has(test_path("steps6"), "report.json", "\"timed_step\": 4"));
        assert_true(test_tuned_has(test_path("steps6"), "report.html", "Times of step 4 of 6."));
    }
    qdq_target_free(t);
    qdq_model_free(m);
}

TEST(other_steps_are_another_run)
{
    const char *folder = test_path("other");
    qdq_model *m = lstm_like();
    qdq_data *d = sequences(m, 2, false);
    qdq_tune_result r;

    assert_ok(tune_on_sim(m, d, folder, &r));
    assert_int_equal(r.verdict, QDQ_TUNED);
    const uint64_t samples = test_tuned_samples(folder);
    assert_ok(tune_on_sim(m, d, folder, &r)); /* the same measures nothing */
    assert_true(r.resumed);
    assert_int_equal(test_tuned_samples(folder), samples);
    qdq_data_close(d);
    d = sequences(m, 3, false);
    assert_fails(QDQ_E_IO, "holds the result of a run with", tune_on_sim(m, d, folder, &r));
    assert_non_null(strstr(err.text, "steps"));
    qdq_data_close(d);
    qdq_model_free(m);
}

TEST(shapes_that_grow_are_not_fixed)
{
    qdq_model *m = cache_like();
    qdq_data *d = sequences(m, 3, true);
    qdq_tune_result r;

    assert_ok(tune_on_sim(m, d, test_path("grows"), &r));
    assert_int_equal(r.verdict, QDQ_TUNED);
    assert_int_equal(r.dims, QDQ_DIMS_OPEN);
    assert_false(r.other_dims.measured);
    assert_string_equal(r.other_dims.why, "shapes grow from step to step");
    qdq_data_close(d);
    qdq_model_free(m);
    m = lstm_like(); /* only the batch is open */
    d = sequences(m, 3, false);
    assert_ok(tune_on_sim(m, d, test_path("stays"), &r));
    assert_true(r.other_dims.measured);
    qdq_data_close(d);
    qdq_model_free(m);
}

/* Samples of the process that runs the engine are cut by their number, not along each row. */
TEST(a_cache_whose_first_dim_grows_is_timed)
{
    qdq_model *m = test_tuned_graph(__func__);
    qdq_data *d = sequences(m, 5, false);
    qdq_tune_result r;

    assert_ok(tune_on_sim(m, d, test_path("first"), &r));
    assert_int_equal(r.verdict, QDQ_TUNED);
    qdq_data_close(d);
    qdq_model_free(m);
}

TEST(a_cache_that_is_still_empty_is_timed)
{
    qdq_model *m = cache_like();
    qdq_data *d = sequences(m, 1, true);
    qdq_tune_result r;

    assert_ok(tune_on_sim(m, d, test_path("empty"), &r));
    assert_int_equal(r.verdict, QDQ_TUNED);
    qdq_data_close(d);
    qdq_model_free(m);
}
