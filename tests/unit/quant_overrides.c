/* quant_overrides.c - several formats in one model: uint8, int16, float8 and int4 weights side by
 * side. */
#include <stdio.h>

#include "ir/graph_check.h"
#include "quant/insert/insert.h"
#include "support/build.h"
#include "support/placed.h"
#include "support/test.h"

/* c8 (uint8) -> c16 (int16) -> c8b (uint8) -> flat -> f8 (float8) -> w4 (int4 weight alone) */
static qdq_model *network(void)
{
    test_builder b = test_build(21);

    TEST_INPUT(&b, "x", 1, 8, 4, 4);
    test_conv(&b, "c8", "x", 8, 8, 3, 1);
    test_conv(&b, "c16", "c8", 8, 8, 3, 1);
    test_conv(&b, "c8b", "c16", 8, 8, 3, 1);
    TEST_INTS(&b, "shape", 8, 16);
    TEST_NODE(&b, "Reshape", "flat", "c8b", "shape");
    TEST_RANDOM(&b, "f8.w", 16, 32);
    TEST_RANDOM(&b, "w4.w", 32, 10);
    TEST_NODE(&b, "MatMul", "f8", "flat", "f8.w");
    TEST_NODE(&b, "MatMul", "w4", "f8", "w4.w");
    test_output(&b, "w4");
    return test_built(&b);
}

static const char overrides[] =
    "[{\"node\": \"^c16$\", \"activation\": {\"type\": \"int16\", \"symmetric\": true}},"
    " {\"node\": \"^f8$\", \"activation\": {\"type\": \"float8e4m3fn\"}, \"weight\": {\"type\": "
    "\"float8e4m3fn\"}},"
    " {\"node\": \"^w4$\", \"activation\": {\"type\": \"float\"}, \"weight\": {\"type\": \"int4\", "
    "\"block\": 16}}]";

static qdq_plan *planned(const qdq_model *m)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *t = NULL;
    qdq_plan *p = qdq_plan_new();

    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    assert_ok(qdq_target_set(t, "overrides", overrides, &err));
    assert_ok(qdq_place(m, t, NULL, p, &err));
    qdq_target_free(t);
    for (size_t i = 0; i < p->tensors.n; i++) {
        qdq_elem type = p->tensors.at[i].qparam.type;

        p->tensors.at[i].qparam.scale = 0.01f * (float)(i + 1);
        p->tensors.at[i].qparam.zero_point = type == QDQ_UINT8 ? 7 : 0;
    }
    p->model = p->clean = p->created_by = p->target = "";
    assert_true(qdq_plan_finish(p));
    return p;
}

static size_t entries(const qdq_plan *p, const char *tensor, qdq_elem type)
{
    size_t n = 0;

    for (size_t i = 0; i < p->tensors.n; i++)
        n += strcmp(p->tensors.at[i].tensor, tensor) == 0 && p->tensors.at[i].qparam.type == type;
    return n;
}

TEST(each_node_reads_its_own_format)
{
    qdq_model *m = network();
    qdq_plan *p = planned(m);

    assert_int_equal(entries(p, "x", QDQ_UINT8), 1);
    assert_int_equal(entries(p, "c8", QDQ_UINT8), 1);
    assert_int_equal(entries(p, "c8", QDQ_INT16), 1); /* on top, for c16 */
    assert_int_equal(entries(p, "c16", QDQ_INT16), 1);
    assert_int_equal(entries(p, "c16", QDQ_UINT8), 1);
    assert_int_equal(entries(p, "flat", QDQ_FLOAT8E4M3FN), 1);
    assert_int_equal(p->weights.n, 5);
    for (size_t i = 0; i < p->weights.n; i++) {
        const qdq_plan_weight *w = &p->weights.at[i];
        qdq_elem want = strcmp(w->tensor, "f8.w") == 0   ? QDQ_FLOAT8E4M3FN
                        : strcmp(w->tensor, "w4.w") == 0 ? QDQ_INT4
                                                         : QDQ_INT8;
        assert_int_equal(w->type, want);
    }
    for (size_t i = 0; i < p->biases.n; i++) /* none beside float8 */
        assert_int_equal(p->biases.at[i].tensor[0], 'c');
    assert_string_equal(test_reason(p, "w4"), "(not left float)");
    qdq_plan_free(p);
    qdq_model_free(m);
}

TEST(what_stands_on_top_is_quantized_once_more)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = network(), *stripped = NULL;
    qdq_plan *p = planned(m), *again = NULL;

    assert_ok(qdq_insert(m, p, NULL, NULL, &err));
    assert_ok(qdq_model_verify(m, &err));
    const qdq_node *dq = qdq_graph_find(m->graph, "c16")->producer->in[0].value->producer;
    const qdq_node *q = dq->in[0].value->producer;
    assert_int_equal(q->in[2].value->init->elem, QDQ_INT16);
    const qdq_node *below = q->in[0].value->producer; /* c8 itself has one reader: its own Q */
    assert_int_equal(below->op, QDQ_OP_DEQUANTIZELINEAR);
    assert_int_equal(below->in[2].value->init->elem, QDQ_UINT8);
    assert_int_equal(qdq_graph_find(m->graph, "c8")->n_use, 1);
    assert_ok(qdq_plan_import(m, NULL, &again, &stripped, &err));
    char *want = test_plan_essence(p), *have = test_plan_essence(again);
    assert_string_equal(have, want);
    qdq_free(want);
    qdq_free(have);
    qdq_plan_free(p);
    qdq_plan_free(again);
    qdq_model_free(m);
    qdq_model_free(stripped);
}

/* The bias of c8b follows the scale that c8b reads, not that of the entry for all. */
TEST(biases_follow_the_scale_that_their_node_reads)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = network();
    qdq_plan *p = planned(m);
    float activation = 0;

    for (size_t i = 0; i < p->tensors.n; i++)
        if (strcmp(p->tensors.at[i].tensor, "c16") == 0 &&
            p->tensors.at[i].qparam.type == QDQ_UINT8)
            activation = p->tensors.at[i].qparam.scale;
    assert_ok(qdq_insert(m, p, NULL, NULL, &err));
    const qdq_node *conv =
        qdq_graph_find(m->graph, "c8b_QuantizeLinear_Output")->producer->in[0].value->producer;
    const qdq_tensor *weight = conv->in[1].value->producer->in[1].value->init;
    const qdq_tensor *bias = conv->in[2].value->producer->in[1].value->init;
    float w = qdq_elem_float(QDQ_FLOAT, weight->bytes.data, 0);
    assert_true(qdq_elem_float(QDQ_FLOAT, bias->bytes.data, 0) == activation * w);
    qdq_plan_free(p);
    qdq_model_free(m);
}
