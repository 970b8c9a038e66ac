/* dynamic_ort.c - products whose data is quantized at run time, on ONNX Runtime: the kernels that
 * it makes of them, and what they compute, also of empty, equal and constant data. */
#include <math.h>

#include "numeric/ort_help.h"
#include "support/build.h"

enum { K = 96, N = 112, ROWS = 5 };

/* x [n, K] -> MatMul u, Gemm v + c, transB; Tanh(x) -> MatMul w. */
static qdq_model *products(void)
{
    test_builder b = test_build(17);
    const qdq_dim dim[] = {{-1, "n"}, {K, NULL}};

    assert_non_null(qdq_graph_add_input(b.g, "x", qdq_type_tensor(b.m, QDQ_FLOAT, 2, dim)));
    TEST_RANDOM(&b, "u", K, N);
    TEST_RANDOM(&b, "v", N, K);
    TEST_RANDOM(&b, "c", N);
    TEST_RANDOM(&b, "w", K, N);
    TEST_NODE(&b, "MatMul", "y", "x", "u");
    assert_true(qdq_node_set_int(TEST_NODE(&b, "Gemm", "z", "x", "v", "c"), "transB", 1));
    TEST_NODE(&b, "Tanh", "t", "x");
    TEST_NODE(&b, "MatMul", "a", "t", "w");
    test_output(&b, "y");
    test_output(&b, "z");
    test_output(&b, "a");
    return test_built(&b);
}

static qdq_model *dynamic(qdq_engine *e, const qdq_model *m, const char *key, const char *value)
{
    const qdq_target_change changes[] = {{"activation.type", "float"},
                                         {"weight.store", "dynamic"},
                                         {"bias.type", "float"},
                                         {key, value}};
    qdq_error err = QDQ_ERROR_INIT;
    qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;
    qdq_target *t = NULL;
    qdq_plan *p = NULL;
    qdq_model *q = NULL;

    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    assert_ok(qdq_target_set_all(t, changes, QDQ_COUNT(changes), &err));
    assert_ok(qdq_quantize(m, t, e, NULL, &opts, &p, &q, &err));
    assert_int_equal(qdq_plan_get_summary(p)->n_dynamic, 3);
    qdq_plan_free(p);
    qdq_target_free(t);
    return q;
}

static const kept *run_on(qdq_engine *e, const qdq_model *m, qdq_opt_level level, float *x,
                          int64_t rows)
{
    static kept k;
    qdq_session_opts so = QDQ_SESSION_OPTS_INIT;
    const qdq_named_array in = {"x",
                                {.elem = QDQ_FLOAT,
                                 .rank = 2,
                                 .dim = {rows, K},
                                 .data = x,
                                 .bytes = (size_t)(rows * K) * sizeof *x}};

    so.level = level;
    run_on_one(e, m, &so, &in, &k);
    return &k;
}

static void fill(float *x, float first, float step)
{
    for (int i = 0; i < ROWS * K; i++)
        x[i] = first + step * sinf((float)i);
}

TEST(onnx_runtime_has_one_kernel_for_each_product_and_quantizes_shared_data_once)
{
    qdq_engine *e = need_ort();
    qdq_model *m = products();

    for (int i = 0; i < 2; i++) {
        qdq_model *q = dynamic(e, m, "weight.type", i == 0 ? "int8" : "uint8");

        assert_int_equal(count_kernels(e, q, "DynamicQuantizeMatMul"), 1);
        assert_int_equal(count_kernels(e, q, "MatMulIntegerToFloat"), 2);
        assert_int_equal(count_kernels(e, q, "DynamicQuantizeLinear"), 1);
        assert_int_equal(count_kernels(e, q, "Cast"), 0);
        assert_int_equal(count_kernels(e, q, "Mul"), 0);
        assert_int_equal(count_kernels(e, q, "Add"), 0);
        qdq_model_free(q);
    }
    qdq_model_free(m);
}

/* 8 bits of data and weights: 1 % of noise at most; fused or not. */
TEST(results_are_those_of_the_float_model_up_to_rounding)
{
    static const char *const formats[][2] = {{"weight.type", "int8"},
                                             {"weight.type", "uint8"},
                                             {"weight.per_channel", "false"},
                                             {"weight.symmetric", "false"},
                                             {"weight.reduced", "true"}};
    qdq_engine *e = need_ort();
    qdq_model *m = products();
    float x[ROWS * K];

    fill(x, 0.25F, 1);
    const kept want = *run_on(e, m, QDQ_LEVEL_ALL, x, ROWS);
    for (size_t i = 0; i < QDQ_COUNT(formats); i++) {
        qdq_model *q = dynamic(e, m, formats[i][0], formats[i][1]);
        const kept apart = *run_on(e, q, QDQ_LEVEL_NONE, x, ROWS);

        assert_true(error_of(&want, &apart) < 0.02);
        assert_true(error_of(&apart, run_on(e, q, QDQ_LEVEL_ALL, x, ROWS)) < 1e-3);
        qdq_model_free(q);
    }
    qdq_model_free(m);
}

TEST(empty_batches_and_data_of_one_value_are_no_special_case)
{
    qdq_engine *e = need_ort();
    qdq_model *m = products(), *q = dynamic(e, m, "weight.type", "int8");
    float x[ROWS * K];

    fill(x, 0, 0); /* the scale is 0 or 1: whatever it is, nothing is NaN */
    assert_true(error_of(&(kept){.size = 0}, run_on(e, q, QDQ_LEVEL_ALL, x, 0)) == 0);
    for (int value = -1; value <= 1; value++) {
        fill(x, (float)value, 0);
        const kept want = *run_on(e, m, QDQ_LEVEL_ALL, x, ROWS);
        assert_true(error_of(&want, run_on(e, q, QDQ_LEVEL_ALL, x, ROWS)) < 0.02);
    }
    qdq_model_free(m);
    qdq_model_free(q);
}

/* DynamicQuantizeLinear, DequantizeLinear and a float product of the same quantized values. */
TEST(a_product_gives_equal_numbers_as_an_operator_and_between_q_and_dq)
{
    qdq_engine *e = need_ort();
    qdq_model *m = products();
    float x[ROWS * K];

    fill(x, 0.25F, 1);
    for (int i = 0; i < 2; i++) {
        qdq_error err = QDQ_ERROR_INIT;
        qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
        qdq_model *q = dynamic(e, m, "weight.type", i == 0 ? "int8" : "uint8"), *between = NULL;
        const kept operators = *run_on(e, q, QDQ_LEVEL_NONE, x, ROWS);

        opts.passes = "qoperator-to-qdq";
        assert_ok(qdq_model_clone(q, &between, &err));
        assert_ok(qdq_model_optimize(between, &opts, NULL, &err));
        QDQ_FOR_NODES (n, between->graph)
            assert_true(n->op != QDQ_OP_MATMULINTEGER);
        /* float sums of K products of up to 255 * 127 steps */
        assert_true(error_of(&operators, run_on(e, between, QDQ_LEVEL_NONE, x, ROWS)) < 1e-5);
        qdq_model_free(q);
        qdq_model_free(between);
    }
    qdq_model_free(m);
}
