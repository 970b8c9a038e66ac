/* qat_ort.c - trained quantization on ONNX Runtime: after `optimize` for ort-cpu no
 * BatchNormalization is left and integer kernels run; the accuracy is that of the training; folding
 * into quantized weights changes nothing but the rounding of biases. */
#include <math.h>

#include "numeric/ort_help.h"
#include "support/build.h"
#include "support/qat_form.h"

static qdq_error err;

typedef struct counts {
    size_t conv, requantized, norm, dq;
} counts;

/* Conv, those whose result goes to Q through Relu at most, BatchNormalization, DQ. */
static counts count(const qdq_model *m)
{
    counts c = {0, 0, 0, 0};

    QDQ_FOR_NODES (n, m->graph) {
        c.norm += n->op == QDQ_OP_BATCHNORMALIZATION;
        c.dq += n->op == QDQ_OP_DEQUANTIZELINEAR;
        if (n->op != QDQ_OP_CONV)
            continue;
        c.conv++;
        const qdq_node *reader = qdq_value_only_user(n->out[0]);
        if (reader != NULL && reader->op == QDQ_OP_RELU)
            reader = qdq_value_only_user(reader->out[0]);
        c.requantized += reader != NULL && reader->op == QDQ_OP_QUANTIZELINEAR;
    }
    return c;
}

static qdq_model *optimized(const qdq_model *m, const char *target)
{
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_target *t = NULL;
    qdq_model *copy = NULL;

    assert_ok(qdq_target_load(target, &t, &err));
    assert_ok(qdq_model_clone(m, &copy, &err));
    opts.target = t;
    assert_ok(qdq_model_optimize(copy, &opts, NULL, &err));
    qdq_target_free(t);
    return copy;
}

static double accuracy(const qdq_model *m, const qdq_model *changed)
{
    qdq_data_opts how = QDQ_DATA_OPTS_INIT;
    qdq_compare_result *r = NULL;
    qdq_data *d = NULL;

    how.labels = "label";
    assert_ok(qdq_data_open(test_corpus("digits/digits_test.npz"), m, &how, &d, &err));
    assert_ok(qdq_compare(need_ort(), m, changed, d, NULL, &r, &err));
    double result = r->accuracy_b;
    qdq_free(r);
    qdq_data_close(d);
    return result;
}

/* Both forms in which exporters leave it: with BatchNormalization, and with integers and float
 * biases. */
static qdq_model *trained(bool folded)
{
    qdq_model *m = need_model("digits/digits_qat_bn.onnx");

    if (folded)
        assert_ok(test_fold_qat(m, &err));
    return m;
}

TEST(what_was_trained_runs_in_integer_kernels)
{
    for (int folded = 0; folded < 2; folded++) {
        qdq_model *m = trained(folded), *o = optimized(m, "ort-cpu");
        counts before = count(m), after = count(o);

        assert_int_equal(after.norm, 0);
        assert_int_equal(after.conv, 6);
        assert_true(after.requantized >= 2);
        assert_int_equal(count_kernels(need_ort(), o, "QLinearConv"), after.requantized);
        assert_int_equal(count_kernels(need_ort(), o, "QGemm"), 1);
        assert_int_equal(after.dq, before.dq + 7); /* a bias for each Conv, and one for the Gemm */
        assert_true(accuracy(m, o) >= 0.9933);
        qdq_model_free(o);
        qdq_model_free(m);
    }
}

TEST(for_tensorrt_biases_are_floats)
{
    qdq_model *m = trained(false), *o = optimized(m, "ort-cpu"), *t = optimized(o, "tensorrt");

    assert_int_equal(count(t).dq, count(m).dq);
    QDQ_FOR_NODES (n, t->graph)
        if (n->op == QDQ_OP_CONV)
            assert_int_equal(qdq_value_const(qdq_node_in(n, 2))->elem, QDQ_FLOAT);
    assert_true(accuracy(o, t) >= 0.9933);
    qdq_model_free(t);
    qdq_model_free(o);
    qdq_model_free(m);
}

/* --- made for it ------------------------------------------------------------------------------ */

/* name = DQ of random codes of this shape, scales of this axis in 0.01..0.02 (-1: one), weights of
 * one sign or both */
static void add_weight(test_builder *b, const char *name, const int64_t *dim, int rank, int axis,
                       qdq_elem type)
{
    char codes[40], scale[40], zero[40];
    void *data;
    int64_t n = axis < 0 ? 1 : dim[axis];

    snprintf(codes, sizeof codes, "%s.q", name);
    snprintf(scale, sizeof scale, "%s.s", name);
    snprintf(zero, sizeof zero, "%s.z", name);
    qdq_tensor *t = qdq_tensor_new(b->m, type, rank, dim, &data);
    for (size_t i = 0; i < t->bytes.size; i++)
        /* all codes, the lowest included */
        ((unsigned char *)data)[i] = (unsigned char)(i * 37 + 11);
    qdq_graph_add_init(b->g, codes, t);
    t = qdq_tensor_new(b->m, QDQ_FLOAT, axis < 0 ? 0 : 1, &n, &data);
    for (int64_t i = 0; i < n; i++)
        ((float *)data)[i] = 0.01F + 0.01F * (float)i / (float)n;
    qdq_graph_add_init(b->g, scale, t);
    t = qdq_tensor_new(b->m, type, axis < 0 ? 0 : 1, &n, &data);
    memset(data, type == QDQ_UINT8 ? 120 : 0, t->bytes.size);
    qdq_graph_add_init(b->g, zero, t);
    qdq_node *dq = TEST_NODE(b, "DequantizeLinear", name, codes, scale, zero);
    if (axis >= 0)
        qdq_node_set_int(dq, "axis", axis);
}

/* BatchNormalization whose factors have both signs, and one that is 0. */
static void add_norm(test_builder *b, const char *name, const char *x, int64_t channels)
{
    static const char *const parts[] = {"gamma", "beta", "mean", "var"};
    char p[4][40];

    for (int k = 0; k < 4; k++) {
        void *data;
        qdq_tensor *t = qdq_tensor_new(b->m, QDQ_FLOAT, 1, &channels, &data);

        snprintf(p[k], sizeof p[k], "%s.%s", name, parts[k]);
        for (int64_t i = 0; i < channels; i++) {
            double at = sin((double)(i * 7 + k * 3 + 1));
            ((float *)data)[i] = (float)(k == 3 ? 1.5 + at : k == 0 && i == 3 ? 0 : 2 * at);
        }
        qdq_graph_add_init(b->g, p[k], t);
    }
    TEST_NODE(b, "BatchNormalization", name, x, p[0], p[1], p[2], p[3]);
}

/* Conv (of one scale, per channel, per channel with zero point), depthwise, ConvTranspose: each
 * fits behind the one before. */
static const struct {
    const char *op, *name, *w;
    int64_t dim[4], in;
    int axis;
    qdq_elem type;
    int64_t group, channels;
} layers[] = {
    {"Conv", "a", "a.w", {8, 3, 3, 3}, 3, -1, QDQ_INT8, 1, 8},
    {"Conv", "b", "b.w", {16, 8, 1, 1}, 8, 0, QDQ_INT8, 1, 16},
    {"Conv", "c", "c.w", {16, 1, 3, 3}, 16, 0, QDQ_INT8, 16, 16},
    {"Conv", "d", "d.w", {8, 16, 1, 1}, 16, 0, QDQ_UINT8, 1, 8},
    {"ConvTranspose", "e", "e.w", {8, 6, 2, 2}, 8, 1, QDQ_INT8, 1, 6},
};

static void add_scales(test_builder *b, float x_scale, float y_scale)
{
    const int64_t one = 1;
    void *data;

    qdq_graph_add_init(b->g, "s", qdq_tensor_of_floats(b->m, 0, &one, &x_scale));
    qdq_graph_add_init(b->g, "z", qdq_tensor_new(b->m, QDQ_UINT8, 0, &one, &data));
    *(unsigned char *)data = 100;
    qdq_graph_add_init(b->g, "ys", qdq_tensor_of_floats(b->m, 0, &one, &y_scale));
}

/* name = BatchNormalization(op(DQ(Q(x)), DQ(codes))) */
static void add_layer(test_builder *b, size_t i, const char *x)
{
    char c[40], d[40], q[40];

    snprintf(q, sizeof q, "%s.xq", layers[i].name);
    snprintf(d, sizeof d, "%s.xd", layers[i].name);
    snprintf(c, sizeof c, "%s.c", layers[i].name);
    add_weight(b, layers[i].w, layers[i].dim, 4, layers[i].axis, layers[i].type);
    TEST_NODE(b, "QuantizeLinear", q, x, "s", "z");
    TEST_NODE(b, "DequantizeLinear", d, q, "s", "z");
    qdq_node *n = TEST_NODE(b, layers[i].op, c, d, layers[i].w);
    qdq_node_set_int(n, "group", layers[i].group);
    add_norm(b, layers[i].name, c, layers[i].channels);
}

static qdq_model *normalized_everywhere(void)
{
    test_builder b = test_build(17);

    add_scales(&b, 0.05F, 0.05F);
    TEST_INPUT(&b, "in", 1, 3, 8, 8);
    for (size_t i = 0; i < QDQ_COUNT(layers); i++) {
        add_layer(&b, i, i == 0 ? "in" : layers[i - 1].name);
        test_output(&b, layers[i].name);
    }
    return test_built(&b);
}

TEST(folding_changes_no_more_than_rounding)
{
    qdq_model *m = normalized_everywhere(), *o = NULL;
    qdq_data_opts how = QDQ_DATA_OPTS_INIT;
    qdq_compare_result *r = NULL;
    qdq_data *d = NULL;

    assert_ok(qdq_model_clone(m, &o, &err));
    assert_ok(qdq_model_run_passes(o, "fold-batchnorm,quantize-bias,drop-unused", &err));
    assert_int_equal(count(o).norm, 0);
    assert_int_equal(count(o).dq, count(m).dq + 5);
    assert_ok(qdq_data_open("random:5", m, &how, &d, &err));
    assert_ok(qdq_compare(need_ort(), m, o, d, NULL, &r, &err));
    /* weights with -128 under a factor below 0 are rounded again */
    for (size_t i = 0; i < r->n_outputs; i++)
        if (!(r->outputs[i].sqnr_db > 35))
            fail_msg("%s: %.1f dB", r->outputs[i].name, r->outputs[i].sqnr_db);
    qdq_free(r);
    qdq_data_close(d);
    qdq_model_free(o);
    qdq_model_free(m);
}

static void quiet_lowest(qdq_model *m)
{
    QDQ_FOR_INITS(v, m->graph)
    for (int64_t i = 0; v->init->elem == QDQ_INT8 && i < v->init->count; i++)
        if (qdq_elem_int(QDQ_INT8, v->init->bytes.data, i) == -128)
            ((int8_t *)(uintptr_t)v->init->bytes.data)[i] = 127;
}

/* Against the graph before, codes are a step off at most, and hardly ever: a bias is rounded by at
 * most half of s_x * s_w, here 3 to 6 in 10,000 of an output step, which is how often a code can go
 * the other way. */
TEST(codes_of_a_folded_layer_hardly_ever_differ)
{
    static kept before, after;

    if (test_saturates()) { /* sums of what the pass has not folded yet are others */
        print_message("skipped: this processor adds products of int8 with saturation\n");
        return;
    }
    for (size_t i = 0; i < QDQ_COUNT(layers); i++) {
        const int64_t dims[5] = {1, layers[i].in, 48, 48, 0};
        const float step = 1;
        test_builder b = test_build(17);
        size_t off = 0, n;

        add_scales(&b, 0.03F, step);
        test_input(&b, "in", dims);
        add_layer(&b, i, "in");
        TEST_NODE(&b, "QuantizeLinear", "yq", layers[i].name, "ys", "z");
        TEST_NODE(&b, "DequantizeLinear", "y", "yq", "ys", "z");
        test_output(&b, "y");
        qdq_model *m = test_built(&b);
        quiet_lowest(m);
        run_model(need_ort(), m, NULL, &before);
        assert_ok(qdq_model_run_passes(m, "fold-batchnorm,quantize-bias,drop-unused", &err));
        assert_int_equal(count(m).norm, 0);
        run_model(need_ort(), m, NULL, &after);
        assert_int_equal(before.size, after.size);
        n = after.size / sizeof(float);
        for (size_t k = 0; k < n; k++) {
            float steps = fabsf(kept_float(&before, k) - kept_float(&after, k)) / step;
            assert_true(steps < 1.5F);
            off += steps > 0.5F;
        }
        if (off * 10000 > 6 * n)
            fail_msg("%s: %zu of %zu codes differ", layers[i].name, off, n);
        qdq_model_free(m);
    }
}

/* a negative factor, end to end */
TEST(a_negative_factor_computes_what_it_did)
{
    const char *text = test_graph_text(__func__);
    static kept k;
    qdq_model *m = test_model(text);

    for (int i = 0; i < 2; i++) {
        run_model(need_ort(), m, NULL, &k);
        assert_true(fabsf(kept_float(&k, 0) - 0.68F) < 1e-6F &&
                    fabsf(kept_float(&k, 1) - 0.11F) < 1e-6F);
        assert_ok(qdq_model_run_passes(m, "fold-batchnorm,quantize-bias", &err));
    }
    qdq_model_free(m);
}
