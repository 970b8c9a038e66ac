/* quant_insert.c - plans into graphs: numbers, caches, and what needs large or damaged weights.
 * More of them are in text/insert. */
#include <math.h>

#include "quant/insert/insert.h"
#include "support/placed.h"
#include "support/test.h"

TEST(a_chain_of_convs_reads_codes_everywhere)
{
    test_builder b = test_two_convs();
    qdq_model *m = test_built(&b);
    qdq_plan *p = test_plan_by_rules(m);
    qdq_model *q = test_inserted(m, p);

    const qdq_value *w = qdq_graph_find(q->graph, "c0.w_quantized");
    assert_non_null(w);
    assert_int_equal(w->init->elem, QDQ_INT8);
    assert_null(qdq_graph_find(q->graph, "c0.w"));
    const qdq_node *dq = w->first->node;
    assert_int_equal(dq->op, QDQ_OP_DEQUANTIZELINEAR);
    assert_int_equal(qdq_node_int(dq, "axis", -9), 0);
    assert_int_equal(dq->in[1].value->init->rank, 1);
    assert_int_equal(dq->in[2].value->init->elem, QDQ_INT8); /* zero points are explicit */

    const qdq_node *quantize = qdq_graph_find(q->graph, "r0")->first->node;
    assert_string_equal(quantize->name, "r0_QuantizeLinear");
    assert_int_equal(quantize->in[1].value->init->rank, 0); /* per-tensor scales have rank 0, too */
    assert_int_equal(quantize->in[2].value->init->rank, 0);
    assert_int_equal(quantize->in[2].value->init->elem, QDQ_UINT8);
    assert_null(qdq_node_attr(quantize, "axis"));

    const qdq_value *bias = qdq_graph_find(q->graph, "c0.b_quantized");
    assert_int_equal(bias->init->elem, QDQ_INT32);
    assert_int_equal(bias->first->node->n_in, 2); /* int32 codes need no zero point */
    qdq_plan_free(p);
    qdq_model_free(q);
    qdq_model_free(m);
}

TEST(a_graph_output_keeps_its_name)
{
    test_builder b = test_two_convs();
    qdq_model *m = test_built(&b);
    qdq_plan *p = test_plan_by_rules(m);
    qdq_model *q = test_inserted(m, p);

    assert_int_equal(q->graph->outputs.n, 1);
    const qdq_value *out = q->graph->outputs.at[0];
    assert_string_equal(out->name, "c1");
    assert_int_equal(out->producer->op, QDQ_OP_DEQUANTIZELINEAR);
    assert_string_equal(qdq_graph_find(q->graph, "c1_QuantizeLinear_Input")->producer->name, "c1");
    qdq_plan_free(p);
    qdq_model_free(q);
    qdq_model_free(m);
}

TEST(bias_scale_is_activation_times_weight)
{
    test_builder b = test_two_convs();
    qdq_model *m = test_built(&b);
    qdq_plan *p = test_plan_by_rules(m);
    qdq_model *q = test_inserted(m, p);
    float sx, sw, sb;

    const qdq_node *conv = qdq_graph_find(q->graph, "r0")->producer;
    conv = qdq_node_in(conv, 0)->producer;
    memcpy(&sx, conv->in[0].value->producer->in[1].value->init->bytes.data, sizeof sx);
    for (size_t i = 0; i < 8; i++) {
        memcpy(&sw, conv->in[1].value->producer->in[1].value->init->bytes.data + i * sizeof sw,
               sizeof sw);
        memcpy(&sb, conv->in[2].value->producer->in[1].value->init->bytes.data + i * sizeof sb,
               sizeof sb);
        /* the kernel ignores sb: any other value is silently wrong (0.7) */
        assert_true(sb == sx * sw);
    }
    qdq_plan_free(p);
    qdq_model_free(q);
    qdq_model_free(m);
}

/* Channel 0 of c0 is next to nothing, but for its bias. */
static qdq_model *nearly_dead(void)
{
    test_builder b = test_two_convs();
    qdq_model *m = test_built(&b);
    float *w = (float *)(uintptr_t)qdq_graph_find(m->graph, "c0.w")->init->bytes.data;
    float *bias = (float *)(uintptr_t)qdq_graph_find(m->graph, "c0.b")->init->bytes.data;

    for (int i = 0; i < 8 * 9; i++)
        w[i] = 1e-12f;
    bias[0] = 5;
    return m;
}

TEST(a_nearly_dead_channel_makes_room_for_its_bias)
{
    qdq_model *m = nearly_dead();
    int32_t code;

    qdq_plan *p = test_plan_by_rules(m);
    qdq_model *q = test_inserted(m, p);
    memcpy(&code, qdq_graph_find(q->graph, "c0.b_quantized")->init->bytes.data, sizeof code);
    assert_true(code > 2000000000 && code < INT32_MAX); /* near the end of int32, and not clipped */
    qdq_plan_free(p);
    qdq_model_free(q);
    qdq_model_free(m);
}

/* A scale that is enlarged for its bias stays a power of two. */
TEST(room_for_a_bias_beside_powers_of_two)
{
    qdq_model *m = nearly_dead();
    float scale[8];
    int exponent;
    int32_t code;

    qdq_plan *p = test_plan_by_rules(m);
    for (size_t i = 0; i < p->weights.n; i++)
        p->weights.at[i].pow2 = true;
    qdq_model *q = test_inserted(m, p);
    memcpy(&code, qdq_graph_find(q->graph, "c0.b_quantized")->init->bytes.data, sizeof code);
    assert_true(code > 1000000000 &&
                code < INT32_MAX); /* not clipped, and within a factor of two of the end */
    memcpy(scale, qdq_graph_find(q->graph, "c0.w_scale")->init->bytes.data, sizeof scale);
    for (int i = 0; i < 8; i++)
        assert_true(frexpf(scale[i], &exponent) == 0.5f);
    qdq_plan_free(p);
    qdq_model_free(q);
    qdq_model_free(m);
}

TEST(a_weight_with_nan_is_refused_with_its_channel)
{
    test_builder b = test_two_convs();
    qdq_model *m = test_built(&b);
    qdq_error err = QDQ_ERROR_INIT;

    /* placement would leave the layer float: this is a plan for other weights */
    qdq_plan *p = test_plan_by_rules(m);
    ((float *)(uintptr_t)qdq_graph_find(m->graph, "c0.w")->init->bytes.data)[72 * 3] = NAN;
    assert_fails(QDQ_E_FORMAT, "weight 'c0.w': channel 3 holds NaN or infinity",
                 qdq_insert(m, p, NULL, NULL, &err));
    qdq_plan_free(p);
    qdq_model_free(m);
}

TEST(a_bias_with_nan_is_refused)
{
    test_builder b = test_two_convs();
    qdq_model *m = test_built(&b);
    qdq_error err = QDQ_ERROR_INIT;
    qdq_plan *p = test_plan_by_rules(m);

    ((float *)(uintptr_t)qdq_graph_find(m->graph, "c0.b")->init->bytes.data)[3] = NAN;
    assert_fails(QDQ_E_FORMAT, "bias 'c0.b': it holds NaN or infinity",
                 qdq_insert(m, p, NULL, NULL, &err));
    qdq_plan_free(p);
    qdq_model_free(m);
}

/* The scales of the DQ that input 2 of `node` reads. */
static const float *bias_scales(const qdq_model *m, const char *node)
{
    const qdq_node *dq = qdq_graph_find(m->graph, node)->producer->in[2].value->producer;

    assert_int_equal(dq->op, QDQ_OP_DEQUANTIZELINEAR);
    return (const float *)(const void *)dq->in[1].value->init->bytes.data;
}

/* One square matrix with scales of its rows for one Gemm and of its columns for the other. */
TEST(a_bias_follows_the_weight_entry_that_its_gemm_reads)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 4, 40);
    TEST_RANDOM(&b, "w", 40, 40);
    TEST_RANDOM(&b, "b", 40);
    TEST_NODE(&b, "Gemm", "columns", "x", "w", "b");
    assert_true(qdq_node_set_int(TEST_NODE(&b, "Gemm", "rows", "x", "w", "b"), "transB", 1));
    test_output(&b, "columns");
    test_output(&b, "rows");
    qdq_model *m = test_built(&b);
    qdq_plan *p = test_plan_by_rules(m);
    assert_int_equal(p->weights.n, 2);
    qdq_model *q = test_inserted(m, p);
    static const char *const names[] = {"columns", "rows"};
    for (int k = 0; k < 2; k++) {
        const qdq_node *dq = qdq_graph_find(q->graph, names[k])->producer->in[1].value->producer;
        const float *w = (const float *)(const void *)dq->in[1].value->init->bytes.data;

        for (int i = 0; i < 40; i++)
            assert_true(bias_scales(q, names[k])[i] == p->tensors.at[0].qparam.scale * w[i]);
    }
    qdq_model_free(q);
    qdq_plan_free(p);
    qdq_model_free(m);
}

/* A model of which another tool has quantized the activations only. */
TEST(a_bias_behind_a_dq_of_the_model_takes_its_scale)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 4, 4);
    test_scalar(&b, "s", 0.5f);
    TEST_NODE(&b, "QuantizeLinear", "q", "x", "s");
    TEST_NODE(&b, "DequantizeLinear", "dq", "q", "s");
    test_conv(&b, "c", "dq", 40, 32, 3, 1);
    test_output(&b, "c");
    qdq_model *m = test_built(&b);
    qdq_plan *p = test_plan_by_rules(m);
    assert_int_equal(p->biases.n, 1);
    qdq_model *out = test_inserted(m, p);
    const float *w =
        (const float *)(const void *)qdq_graph_find(out->graph, "c.w_scale")->init->bytes.data;
    const float *c =
        (const float *)(const void *)qdq_graph_find(out->graph, "c.b_scale")->init->bytes.data;
    assert_true(c[39] == 0.5f * w[39]);
    qdq_model_free(out);
    qdq_plan_free(p);
    qdq_model_free(m);
}

TEST(the_same_plan_gives_the_same_bytes)
{
    test_builder b = test_two_convs();
    qdq_model *m = test_built(&b);
    qdq_plan *p = test_plan_by_rules(m);
    qdq_model *first = test_inserted(m, p), *second = test_inserted(m, p);
    qdq_error err = QDQ_ERROR_INIT;
    void *one = NULL, *two = NULL;
    size_t n_one, n_two;

    assert_ok(qdq_model_to_bytes(first, NULL, &one, &n_one, &err));
    assert_ok(qdq_model_to_bytes(second, NULL, &two, &n_two, &err));
    assert_int_equal(n_one, n_two);
    assert_memory_equal(one, two, n_one);
    qdq_free(one);
    qdq_free(two);
    qdq_plan_free(p);
    qdq_model_free(first);
    qdq_model_free(second);
    qdq_model_free(m);
}

TEST(a_second_insertion_does_not_quantize_weights_again)
{
    test_builder b = test_two_convs();
    qdq_model *m = test_built(&b);
    qdq_plan *p = test_plan_by_rules(m);
    qdq_model *alone = test_inserted(m, p), *q[2];
    qdq_insert_cache cache = {0};
    qdq_error err = QDQ_ERROR_INIT;

    for (int i = 0; i < 2; i++) {
        assert_ok(qdq_model_clone(m, &q[i], &err));
        assert_ok(qdq_insert(q[i], p, &cache, NULL, &err));
    }
    const qdq_span expected = qdq_graph_find(alone->graph, "c0.w_quantized")->init->bytes,
                   first = qdq_graph_find(q[0]->graph, "c0.w_quantized")->init->bytes,
                   second = qdq_graph_find(q[1]->graph, "c0.w_quantized")->init->bytes;
    qdq_insert_cache_free(&cache);
    assert_ptr_equal(first.data, second.data);
    assert_int_equal(second.size, expected.size);
    assert_memory_equal(second.data, expected.data, expected.size);
    for (int i = 0; i < 2; i++)
        qdq_model_free(q[i]);
    qdq_model_free(alone);
    qdq_plan_free(p);
    qdq_model_free(m);
}
