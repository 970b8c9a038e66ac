/* quant_weaknesses.c - what the reference does badly and no test of a single file shows. */
#include <math.h>
#include <stdio.h>

#include "ir/ir.h"
#include "qdq/model.h"
#include "quant/calib/threshold.h"
#include "quant/insert/insert.h"
#include "support/build.h"
#include "support/placed.h"
#include "support/test.h"

/* 2^60 ways from the product on, none of which leads to a Softmax: a search that forgets what it
 * saw takes years. */
TEST(paths_through_what_is_read_twice_take_no_time)
{
    test_builder b = test_build(17);
    char name[16], last[16] = "q";
    double begin = test_cpu_seconds();

    TEST_INPUT(&b, "x", 2, 64, 64);
    TEST_INPUT(&b, "z", 2, 64, 64);
    TEST_NODE(&b, "MatMul", "q", "x", "z");
    for (int i = 0; i < 60; i++) {
        snprintf(name, sizeof name, "a%d", i);
        TEST_NODE(&b, i % 2 == 0 ? "Add" : "Mul", name, last, last);
        snprintf(last, sizeof last, "a%d", i);
    }
    TEST_NODE(&b, "MatMul", "y", last, "z");
    test_output(&b, "y");
    test_placed p = test_place_on(&b, "tensorrt", NULL);
    assert_true(test_cpu_seconds() - begin < 2);
    test_placed_free(p);
}

/* Plain rounding to 4 bits with floats behind Q and DQ: both nodes say where the blocks are. */
TEST(q_and_dq_of_blocks_have_axis_and_block_size)
{
    static const char text[] =
        "{\"qdq_plan\": 1, \"weights\": [{\"tensor\": \"w\", \"consumers\": [[\"y\", 1]], "
        "\"axis\": 0, \"type\": \"int4\", \"block\": 16, \"store\": \"float\"}]}";
    qdq_error err = QDQ_ERROR_INIT;
    test_builder b = test_build(21);
    qdq_plan *p = NULL;

    TEST_INPUT(&b, "x", 2, 64);
    TEST_RANDOM(&b, "w", 64, 48);
    TEST_NODE(&b, "MatMul", "y", "x", "w");
    test_output(&b, "y");
    qdq_model *m = test_built(&b);
    assert_ok(qdq_plan_parse(text, strlen(text), "plan", &p, &err));
    assert_ok(qdq_insert(m, p, NULL, NULL, &err));
    const qdq_node *dq = qdq_graph_find(m->graph, "y")->producer->in[1].value->producer;
    const qdq_node *q = dq->in[0].value->producer;
    assert_int_equal(q->op, QDQ_OP_QUANTIZELINEAR);
    for (int i = 0; i < 2; i++) {
        const qdq_node *n = i == 0 ? q : dq;
        const qdq_tensor *scale = qdq_value_const(n->in[1].value);

        assert_int_equal(qdq_node_int(n, "axis", -9), 0);
        assert_int_equal(qdq_node_int(n, "block_size", -9), 16);
        assert_true(scale->rank == 2 && scale->dim[0] == 4 && scale->dim[1] == 48);
    }
    qdq_plan_free(p);
    qdq_model_free(m);
}

/* No path has rules by name of its own, and scales of int4 are amax / 7. */
TEST(the_head_is_quantized_like_any_layer_on_every_target)
{
    static const char *const targets[] = {"int4", "ort-cpu-int4"};
    const double sevenths = 0.7;
    qdq_qparam param;
    const qdq_qscheme scheme = {.type = QDQ_INT4, .symmetric = true};

    for (size_t i = 0; i < QDQ_COUNT(targets); i++) {
        test_builder b = test_build(21);

        TEST_INPUT(&b, "x", 2, 64);
        TEST_RANDOM(&b, "w", 64, 64);
        TEST_RANDOM(&b, "head.w", 64, 48);
        TEST_NODE(&b, "MatMul", "/model/proj", "x", "w");
        TEST_NODE(&b, "MatMul", "/lm_head/MatMul", "/model/proj", "head.w");
        test_output(&b, "/lm_head/MatMul");
        test_placed p = test_place_on(&b, targets[i], NULL);
        assert_int_equal(p.plan->weights.n, 2);
        assert_int_equal(p.plan->left_float.n, 0);
        test_placed_free(p);
    }
    assert_true(qdq_qparam_from_range(&scheme, -sevenths, 0.3, &param));
    assert_true(fabs((double)param.scale - sevenths / 7) < 1e-7);
}

/* A range that grows by thirty decades is as many bins as before, and a search costs
 * milliseconds. */
TEST(histograms_stay_small_and_searches_cheap)
{
    const qdq_qscheme scheme = {.type = QDQ_INT8, .symmetric = true};
    float x[1000];
    double begin = test_cpu_seconds();

    for (int round = 0; round < 20; round++) {
        qdq_histogram h;
        qdq_range r;

        qdq_histogram_init(&h);
        for (int decade = -20; decade < 10; decade++) {
            for (size_t i = 0; i < QDQ_COUNT(x); i++)
                x[i] = (float)(pow(10, decade) * cos((double)i));
            qdq_histogram_add(&h, x, QDQ_COUNT(x));
        }
        assert_true(qdq_threshold_entropy(&h, &scheme, &r));
        assert_true(r.high > 0 && r.high <= qdq_histogram_amax(&h));
    }
    assert_true(test_cpu_seconds() - begin <
                2); /* 0.1 s here; Python's KL over bins of the first width never ends */
}
