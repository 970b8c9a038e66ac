/* concat_ort.c - one scale for what a Concat joins, on ONNX Runtime: no accuracy is lost by it, not
 * even where the branches of a wide Concat (GoogLeNet) have ranges far apart. Their codes would
 * become those of the result anyway. */
#include "base/random.h"
#include "numeric/ort_help.h"
#include "quant/plan/plan.h"
#include "support/build.h"

/* name = Conv(x, weights in -factor..factor), 32 channels each, 3x3. */
static void add_branch(test_builder *b, const char *name, uint64_t seed, float factor)
{
    static const int64_t dims[] = {32, 32, 3, 3}, pads[] = {1, 1, 1, 1};
    qdq_random random = qdq_random_new(seed, NULL);
    float w[32 * 32 * 9];
    char weight[8];

    for (size_t i = 0; i < QDQ_COUNT(w); i++)
        w[i] = factor * (float)(2 * qdq_random_uniform(&random) - 1);
    snprintf(weight, sizeof weight, "%s.w", name);
    assert_non_null(qdq_graph_add_init(b->g, weight, qdq_tensor_of_floats(b->m, 4, dims, w)));
    assert_true(qdq_node_set_ints(TEST_NODE(b, "Conv", name, "x", weight), "pads", pads, 4));
}

/* Four branches; each result is `ratio` times as wide as the one before it. */
static qdq_model *inception(float ratio)
{
    static const char *const name[] = {"a", "b", "c", "d"};
    test_builder b = test_build(17);
    float factor = 1;

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    for (size_t i = 0; i < QDQ_COUNT(name); i++, factor *= ratio)
        add_branch(&b, name[i], i, factor);
    assert_true(qdq_node_set_int(TEST_NODE(&b, "Concat", "cc", "a", "b", "c", "d"), "axis", 1));
    test_conv(&b, "e", "cc", 32, 128, 3, 1);
    test_output(&b, "e");
    return test_built(&b);
}

typedef struct result {
    double db;
    /* different ones of the Concat's operands and result */
    size_t scales;
} result;

static result quantized(qdq_engine *e, const qdq_model *m, qdq_data *data, const char *method,
                        bool tied)
{
    static const char untied[] =
        "[{\"op\": \"Conv\", \"kind\": \"linear\", \"axis\": \"0\", \"bias\": 2, \"output\": "
        "\"quantized\","
        " \"rule\": \"c\"}, {\"op\": \"Concat\", \"kind\": \"joint\", \"output\": \"quantized\","
        " \"rule\": \"j\"}]";
    qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;
    qdq_compare_opts copts = QDQ_COMPARE_OPTS_INIT;
    qdq_compare_result *r = NULL;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *t = NULL;
    qdq_plan *plan = NULL;
    qdq_model *q = NULL;
    float seen[5];
    result out = {0};

    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    assert_ok(qdq_target_set(t, "activation.method", method, &err));
    if (!tied)
        assert_ok(qdq_target_set(t, "operators", untied, &err));
    opts.samples = 16;
    assert_ok(qdq_quantize(m, t, e, data, &opts, &plan, &q, &err));
    assert_int_equal(plan->quantized.n, 6);
    for (size_t i = 0; i < plan->tensors.n; i++) {
        const qdq_plan_tensor *p = &plan->tensors.at[i];
        bool is_new = strcmp(p->tensor, "x") != 0 && strcmp(p->tensor, "e") != 0;

        for (size_t k = 0; k < out.scales; k++)
            is_new = is_new && seen[k] != p->qparam.scale;
        if (is_new)
            seen[out.scales++] = p->qparam.scale;
    }
    copts.first = 16;
    copts.count = 16;
    assert_ok(qdq_compare(e, m, q, data, &copts, &r, &err));
    out.db = r->outputs[0].sqnr_db;
    qdq_free(r);
    qdq_plan_free(plan);
    qdq_target_free(t);
    qdq_model_free(q);
    return out;
}

TEST(one_scale_is_as_good_as_five)
{
    static const float ratios[] = {1, 2, 8};
    static const char *const methods[] = {"max", "mse"};
    qdq_engine *e = need_ort();
    qdq_data_opts opts = QDQ_DATA_OPTS_INIT;
    qdq_error err = QDQ_ERROR_INIT;

    opts.max_samples = 32;
    for (size_t i = 0; i < QDQ_COUNT(ratios) * QDQ_COUNT(methods); i++) {
        const char *method = methods[i % QDQ_COUNT(methods)];
        qdq_model *m = inception(ratios[i / QDQ_COUNT(methods)]);
        qdq_data *data = NULL;

        assert_ok(qdq_data_open("random:5", m, &opts, &data, &err));
        result one = quantized(e, m, data, method, true),
               five = quantized(e, m, data, method, false);
        assert_int_equal(one.scales, 1);
        assert_true(five.scales > 1);
        if (one.db < five.db)
            fail_msg("%s, ratio %g: %g dB with one scale, %g dB with %zu", method,
                     (double)ratios[i / QDQ_COUNT(methods)], one.db, five.db, five.scales);
        qdq_data_close(data);
        qdq_model_free(m);
    }
}
