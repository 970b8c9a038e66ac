/* quantize_half.c - models in 16 bits as they come: targets whose rest follows the model quantize
 * them in their own type, on ort-cpu they stay float and the reason says the way out. Run on ONNX
 * Runtime. */
#include "numeric/ort_help.h"
#include "qdq/compare.h"
#include "qdq/goal.h"
#include "quant/plan/plan.h"

/* Two layers of 32 channels in `type`, one of them behind a Relu. */
static qdq_model *layers(const char *type)
{
    static const char form[] = "<ir_version: 9, opset_import: [\"\" : 17]>\n"
                               "graph (%s[1,32,8,8] x) => (%s[1,32,8,8] y) <%s[1,1,1,1] k = "
                               "{0.125}, int64[4] s = {32, 32, 3, 3}> "
                               "{\n"
                               "[\"e\"] e = Expand(k, s)\n [\"a\"] a = Conv<pads = [1, 1, 1, "
                               "1]>(x, e)\n [\"r\"] r = Relu(a)\n"
                               "[\"y\"] y = Conv<pads = [1, 1, 1, 1]>(r, e)\n}";
    char text[sizeof form + 40];

    snprintf(text, sizeof text, form, type, type, type);
    return test_model(text);
}

typedef struct made {
    qdq_plan *plan;
    qdq_model *model;
} made;

static qdq_target *target_of(const char *name)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *t = NULL;

    assert_ok(qdq_target_load(name, &t, &err));
    return t;
}

static qdq_data *some_data(const qdq_model *m)
{
    qdq_data_opts opts = QDQ_DATA_OPTS_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_data *data = NULL;

    opts.max_samples = 8;
    assert_ok(qdq_data_open("random:3", m, &opts, &data, &err));
    return data;
}

static made quantized(qdq_engine *e, const qdq_model *m, const char *target)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *t = target_of(target);
    qdq_data *data = some_data(m);
    made r;

    assert_ok(qdq_quantize(m, t, e, data, NULL, &r.plan, &r.model, &err));
    qdq_data_close(data);
    qdq_target_free(t);
    return r;
}

static void free_made(made r)
{
    qdq_plan_free(r.plan);
    qdq_model_free(r.model);
}

static double sqnr_of(qdq_engine *e, const qdq_model *a, const qdq_model *b)
{
    qdq_compare_result *r = NULL;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_data *data = some_data(a);

    assert_ok(qdq_compare(e, a, b, data, NULL, &r, &err));
    double db = r->outputs[0].sqnr_db;
    qdq_free(r);
    qdq_data_close(data);
    return db;
}

static void expect_same(const qdq_model *a, const qdq_model *b)
{
    qdq_error err = QDQ_ERROR_INIT;
    char *x, *y;

    assert_ok(qdq_model_to_text(a, &x, &err));
    assert_ok(qdq_model_to_text(b, &y, &err));
    assert_string_equal(x, y);
    qdq_free(x);
    qdq_free(y);
}

/* Applying the plan gives the same model: what it was made with is in it. */
TEST(a_target_that_follows_takes_the_type_of_the_model)
{
    static const struct {
        const char *target, *type;
        qdq_elem elem;
        double least;
    } cases[] = {
        {"tensorrt", "float16", QDQ_FLOAT16, 30},
        {"tensorrt-fp8", "float16", QDQ_FLOAT16, 22},
        {"tensorrt", "bfloat16", QDQ_BFLOAT16, 30},
    };
    qdq_engine *e = need_ort();
    qdq_error err = QDQ_ERROR_INIT;

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        qdq_model *m = layers(cases[i].type), *again = NULL;
        made r = quantized(e, m, cases[i].target);
        qdq_io io;

        assert_int_equal(r.plan->quantized.n, 2);
        assert_int_equal(r.plan->half.type, cases[i].elem);
        assert_true(r.plan->half.widened);
        for (size_t k = 0; k < r.plan->left_float.n; k++)
            /* the copy's borders are no loss */
            assert_string_not_equal(r.plan->left_float.at[k].op, "Cast");
        assert_true(qdq_model_input(r.model, 0, &io) && io.elem == cases[i].elem);
        assert_true(qdq_model_output(r.model, 0, &io) && io.elem == cases[i].elem);
        double db = sqnr_of(e, m, r.model);
        if (!(db > cases[i].least))
            fail_msg("%s, %s: %g dB", cases[i].target, cases[i].type, db);
        assert_ok(qdq_plan_apply(r.plan, m, false, NULL, &again, &err));
        expect_same(r.model, again);
        free_made(r);
        qdq_model_free(again);
        qdq_model_free(m);
    }
}

TEST(weights_alone_follow_too)
{
    qdq_engine *e = need_ort();
    qdq_model *m = test_graph(__func__);

    made r = quantized(e, m, "int4");
    assert_int_equal(r.plan->weights.n, 1);
    assert_int_equal(r.plan->half.type, QDQ_FLOAT16);
    assert_true(sqnr_of(e, m, r.model) > 20);
    free_made(r);
    qdq_model_free(m);
}

TEST(ort_cpu_says_the_way_out)
{
    qdq_engine *e = need_ort();
    qdq_model *m = layers("float16"), *b = layers("bfloat16");
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *t = target_of("ort-cpu");
    qdq_plan *plan = NULL;

    made r = quantized(e, m, "ort-cpu");
    assert_int_equal(r.plan->quantized.n, 0);
    assert_string_equal(
        r.plan->left_float.at[0].reason,
        "float16, and scales are float32 on this target: convert the model to float32, or take "
        "--rest fp16");
    free_made(r);
    assert_ok(qdq_plan_make(b, t, e, NULL, NULL, &plan, &err));
    assert_int_equal(plan->quantized.n, 0);
    assert_non_null(strstr(plan->left_float.at[0].reason, "or take --rest bf16"));
    qdq_plan_free(plan);
    qdq_target_free(t);
    qdq_model_free(m);
    qdq_model_free(b);
}

static void expect_float(const char *nodes)
{
    qdq_engine *e = need_ort();
    char text[1000];

    snprintf(
        text, sizeof text,
        "<ir_version: 9, opset_import: [\"\" : 17]>\n"
        "graph (float[1,32] x) => (float[1,32] y) <float16 h = {2.0}, bfloat16 b = {2.0}> {\n%s}",
        nodes);
    qdq_model *m = test_model(text);
    qdq_target *t = target_of("tensorrt");
    qdq_error err = QDQ_ERROR_INIT;
    qdq_plan *plan = NULL;
    assert_ok(qdq_plan_make(m, t, e, NULL, NULL, &plan, &err));
    assert_int_equal(plan->half.type, QDQ_FLOAT);
    assert_false(plan->half.widened);
    qdq_plan_free(plan);
    qdq_target_free(t);
    qdq_model_free(m);
}

TEST(most_floats_decide)
{
    expect_float("p = Exp(x) q = Neg(p) c = Cast<to = 10>(q) d = Mul(c, h) y = Cast<to = 1>(d)\n");
}

TEST(two_types_of_16_bits_stay_apart)
{
    expect_float("c = Cast<to = 10>(x) d = Mul(c, h) f = Cast<to = 16>(d) g = Mul(f, b) y = "
                 "Cast<to = 1>(g)\n");
}

/* Layers go back to float in the model's own type, and the last plan still applies. */
TEST(a_goal_keeps_the_type)
{
    qdq_engine *e = need_ort();
    qdq_error err = QDQ_ERROR_INIT;
    qdq_goal_opts goal = QDQ_GOAL_OPTS_INIT;
    qdq_model *m = layers("float16"), *out = NULL, *again = NULL;
    qdq_target *t = target_of("tensorrt");
    qdq_data *data = some_data(m);
    qdq_goal_result *result = NULL;
    qdq_plan *plan = NULL;
    made all = quantized(e, m, "tensorrt");

    goal.min_sqnr = sqnr_of(e, m, all.model) + 1;
    assert_ok(qdq_quantize_goal(m, t, e, data, NULL, &goal, &plan, &out, &result, &err));
    assert_true(plan->quantized.n < 2);
    assert_true(plan->half.widened && plan->half.type == QDQ_FLOAT16);
    assert_ok(qdq_plan_apply(plan, m, false, NULL, &again, &err));
    expect_same(out, again);
    qdq_goal_result_free(result);
    qdq_plan_free(plan);
    qdq_model_free(out);
    qdq_model_free(again);
    qdq_data_close(data);
    qdq_target_free(t);
    free_made(all);
    qdq_model_free(m);
}

/* The engine has no bfloat16 kernels: layers are compared in a copy, as outputs are. */
TEST(layers_of_what_the_engine_refuses_are_compared_in_a_copy)
{
    qdq_engine *e = need_ort();
    qdq_error err = QDQ_ERROR_INIT;
    qdq_compare_layers_result *r = NULL;
    qdq_model *m = layers("bfloat16");
    made q = quantized(e, m, "tensorrt");
    qdq_data *data = some_data(m);

    assert_ok(qdq_compare_layers(e, m, q.model, data, NULL, &r, &err));
    assert_true(r->n_layers >= 2);
    size_t n = 0;
    for (size_t i = 0; i < r->n_layers; i++)
        if (r->layers[i].quantized) {
            assert_true(r->layers[i].introduced.sqnr_db > 25);
            n++;
        }
    assert_int_equal(n, 2);
    qdq_free(r);
    qdq_data_close(data);
    free_made(q);
    qdq_model_free(m);
}
