/* halves_ort.c - models with the weight alone or the activation alone of linear operators in 8
 * bits, run by ONNX Runtime: they compute what the float model does, but for what codes lose, and
 * what the decoded weights say, where they are all there is. */
#include <math.h>

#include "numeric/ort_help.h"
#include "support/build.h"
#include "support/placed.h"
#include "support/spaced.h"

/* One operator of each form that has a constant weight; "y" is the result. */
typedef struct form {
    const char *name;
    qdq_model *(*build)(void);
    /* of the weight's scales; -1: one scale */
    int axis;
} form;

static qdq_model *conv(void)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 16, 9, 9);
    test_conv(&b, "y", "x", 24, 16, 3, 1);
    test_output(&b, "y");
    return test_built(&b);
}

static qdq_model *depthwise(void)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 16, 9, 9);
    test_conv(&b, "y", "x", 16, 16, 3, 16);
    test_output(&b, "y");
    return test_built(&b);
}

static qdq_model *matmul(void)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 7, 40);
    TEST_RANDOM(&b, "w", 40, 24);
    TEST_NODE(&b, "MatMul", "y", "x", "w");
    test_output(&b, "y");
    return test_built(&b);
}

static qdq_model *batched(void)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 3, 7, 40);
    TEST_RANDOM(&b, "w", 3, 40, 24);
    TEST_NODE(&b, "MatMul", "y", "x", "w");
    test_output(&b, "y");
    return test_built(&b);
}

static qdq_model *gemm_of(bool transposed)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 7, 40);
    if (transposed)
        TEST_RANDOM(&b, "w", 24, 40);
    else
        TEST_RANDOM(&b, "w", 40, 24);
    TEST_RANDOM(&b, "c", 24);
    assert_true(qdq_node_set_int(TEST_NODE(&b, "Gemm", "y", "x", "w", "c"), "transB", transposed));
    test_output(&b, "y");
    return test_built(&b);
}

static qdq_model *gemm(void)
{
    return gemm_of(false);
}

static qdq_model *gemm_transposed(void)
{
    return gemm_of(true);
}

static const form forms[] = {{"Conv", conv, 0},     {"depthwise Conv", depthwise, 0},
                             {"MatMul", matmul, 1}, {"batched MatMul", batched, -1},
                             {"Gemm", gemm, 1},     {"Gemm with transB", gemm_transposed, 0}};

static void run(qdq_engine *e, const qdq_model *m, qdq_opt_level level, kept *out)
{
    qdq_session_opts so = QDQ_SESSION_OPTS_INIT;

    so.level = level;
    run_model(e, m, &so, out);
}

/* Weights in -1..1 with a scale for each channel lose 0.4 %; 0.7 % where ONNX Runtime (1.31) makes
 * MatMulNBits of a DQ of 8 bits and its MatMul, which rounds the activation, too. Activations in
 * normal(0,1) lose 1 %. With a wrong axis or zero point it is a multiple of that. */
static void expect_part(qdq_engine *e, const form *f, const char *target, const char *part,
                        double within)
{
    static kept want, have;
    test_space t = test_space_open_with(f->build(), target, (const char *const[]){NULL}, e);
    qdq_assign a = test_space_parts(&t, part);
    qdq_plan *p = test_space_plan(&t, &a);
    qdq_model *m = test_space_applied(&t, p);

    if (p->weights.n > 0)
        assert_int_equal(p->weights.at[0].axis, f->axis);
    assert_int_equal(p->weights.n + p->tensors.n > 0, 1);
    run(e, t.m, QDQ_LEVEL_NONE, &want);
    for (int all = 0; all < 2; all++) {
        run(e, m, all == 0 ? QDQ_LEVEL_NONE : QDQ_LEVEL_ALL, &have);
        expect_near(f->name, &want, &have, within);
    }
    qdq_model_free(m);
    qdq_plan_free(p);
    test_space_close(&t);
}

TEST(every_form_runs_with_half_of_it_in_8_bits)
{
    static const char *const targets[] = {"ort-cpu", "tensorrt"};
    qdq_engine *e = need_ort();

    for (size_t i = 0; i < QDQ_COUNT(forms); i++)
        for (size_t t = 0; t < QDQ_COUNT(targets); t++) {
            expect_part(e, &forms[i], targets[t], "y:weight", 0.01);
            expect_part(e, &forms[i], targets[t], "y:activation", 0.02);
            if (!test_saturates()) /* the targets are as they are, for processors with VNNI */
                expect_part(e, &forms[i], targets[t], "y:full", 0.02);
        }
}

/* x and w are read inside, too, where the target's rules put both into 8 bits: those entries are
 * for nodes of the branch. */
TEST(what_a_body_reads_in_8_bits_too_keeps_an_entry_of_its_own)
{
    static const char *const bare[] = {"stay_float", "[]", NULL};
    static kept want, have;
    qdq_engine *e = need_ort();
    test_space t = test_space_open_with(test_graph(__func__), "ort-cpu", bare, e);
    qdq_assign a = test_space_parts(&t, "h:activation k:weight");
    qdq_plan *p = test_space_plan(&t, &a);
    qdq_model *m = test_space_applied(&t, p);

    assert_int_equal(p->tensors.n, 2);
    assert_int_equal(p->weights.n, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(p->tensors.at[i].tensor, "x");
        assert_string_equal(p->weights.at[i].tensor, "w");
        assert_int_equal(p->tensors.at[i].consumers.n, 1);
        assert_int_equal(p->weights.at[i].consumers.n, 1);
    }
    assert_string_equal(p->tensors.at[0].consumers.at[0].node, "m0");
    assert_string_equal(p->tensors.at[1].consumers.at[0].node, "m1");
    assert_string_equal(p->weights.at[0].consumers.at[0].node, "m1");
    assert_string_equal(p->weights.at[1].consumers.at[0].node, "m2");
    test_assert_plan_replays(p, t.m, m);
    run(e, t.m, QDQ_LEVEL_NONE, &want);
    run(e, m, QDQ_LEVEL_ALL, &have);
    expect_near("If", &want, &have, 0.02);
    qdq_model_free(m);
    qdq_plan_free(p);
    test_space_close(&t);
}

/* The logarithm of numbers below 0. */
TEST(an_activation_that_has_no_value_stays_as_it_is)
{
    test_builder b = test_build(17);
    qdq_engine *e = need_ort();

    TEST_INPUT(&b, "x", 7, 16);
    TEST_NODE(&b, "Abs", "a", "x");
    TEST_NODE(&b, "Neg", "n", "a");
    TEST_NODE(&b, "Log", "l", "n");
    TEST_RANDOM(&b, "w", 16, 24);
    TEST_RANDOM(&b, "v", 16, 24);
    TEST_NODE(&b, "MatMul", "p", "l", "w");
    TEST_NODE(&b, "MatMul", "q", "x", "v");
    test_output(&b, "p");
    test_output(&b, "q");
    test_space t = test_space_open_with(test_built(&b), "ort-cpu", (const char *const[]){NULL}, e);
    qdq_assign parts = test_space_parts(&t, "p:activation q:activation");
    qdq_plan *p = test_space_plan(&t, &parts);
    assert_int_equal(p->tensors.n, 1);
    assert_string_equal(p->tensors.at[0].tensor, "x");
    for (size_t i = 0; i < p->left_float.n; i++)
        if (strcmp(p->left_float.at[i].op, "MatMul") == 0)
            assert_int_equal(
                strcmp(p->left_float.at[i].reason, "only its activation is quantized") == 0,
                strcmp(p->left_float.at[i].node, "q") == 0);
    qdq_plan_free(p);
    test_space_close(&t);
}
