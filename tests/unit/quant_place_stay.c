/* quant_place_stay.c - the rules of ort-cpu that leave a node float although it has an 8-bit
 * kernel: each fires, and does not where a condition fails. In the expected lines QDQ(...), QW(...)
 * and QB(...) are what the plan puts into 8 bits. */
#include "support/placed.h"

#include <math.h>

#include "support/test.h"

static void expect_line(test_builder *b, const char *line)
{
    test_placed p = test_place(b);

    if (strstr(p.text, line) == NULL)
        fail_msg("no '%s' in:\n%s", line, p.text);
    test_placed_free(p);
}

static void expect_reason(test_builder *b, const char *node, const char *reason)
{
    test_placed p = test_place(b);

    assert_string_equal(test_reason(p.plan, node), reason);
    test_placed_free(p);
}

/* --- the first Conv --------------------------------------------------------------------------- */

/* x -> c0 -> Relu -> (reader) */
static test_builder first(int64_t in, int64_t out, int64_t k)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, in, 32, 32);
    test_conv(&b, "c0", "x", out, in, k, 1);
    TEST_NODE(&b, "Relu", "r0", "c0");
    return b;
}

static test_builder first_and_conv(int64_t in, int64_t out, int64_t k)
{
    test_builder b = first(in, out, k);

    test_conv(&b, "c1", "r0", 32, out, 3, 1);
    test_output(&b, "c1");
    return b;
}

TEST(short_sums_keep_a_first_conv_float)
{
    test_builder b = first_and_conv(3, 64, 3), more_out = first_and_conv(3, 65, 3),
                 longer = first_and_conv(3, 64, 5);

    expect_reason(&b, "c0",
                  "the first Conv with a small kernel and few channels is slower in 8 bits");
    expect_line(&more_out, "c0: QDQ(x) QW(c0.w) QB(c0.b)\n");
    expect_line(&longer, "c0: QDQ(x) QW(c0.w) QB(c0.b)\n");
}

TEST(a_first_conv_without_a_linear_reader_is_quantized)
{
    test_builder b = first(3, 32, 3);

    TEST_NODE(&b, "GlobalAveragePool", "g", "r0");
    test_output(&b, "g");
    expect_line(&b, "c0: QDQ(x) QW(c0.w) QB(c0.b)\n");
}

/* c0 -> MaxPool -> [Relu] -> c1: a Q behind the pool is pushed in front of it, but not past a
 * Relu. */
static test_builder pooled(bool relu_behind)
{
    const int64_t two[2] = {2, 2};
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 3, 32, 32);
    test_conv(&b, "c0", "x", 64, 3, 3, 1);
    assert_true(qdq_node_set_ints(TEST_NODE(&b, "MaxPool", "mp", "c0"), "kernel_shape", two, 2));
    if (relu_behind)
        TEST_NODE(&b, "Relu", "r", "mp");
    test_conv(&b, "c1", relu_behind ? "r" : "mp", 32, 64, 1, 1);
    test_output(&b, "c1");
    return b;
}

TEST(a_relu_keeps_the_q_behind_the_pool)
{
    test_builder with = pooled(true), without = pooled(false);

    test_assert_placed(&with, "c0: x c0.w c0.b\n"
                              "mp: c0\n"
                              "r: mp\n"
                              "c1: QDQ(r) QW(c1.w) QB(c1.b)\n");
    expect_line(&without, "c0: QDQ(x) QW(c0.w) QB(c0.b)\n");
}

/* --- codes that a float value has for a linear reader ----------------------------------------- */

/* f = HardSwish(c0); c1 reads f, and an Add or Concat too */
static test_builder shared(const char *op)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_conv(&b, "c0", "x", 32, 32, 3, 1);
    TEST_NODE(&b, "HardSwish", "f", "c0");
    test_conv(&b, "c1", "f", 32, 32, 3, 1);
    qdq_node *n = TEST_NODE(&b, op, "j", "f", "c1");
    if (strcmp(op, "Concat") == 0)
        assert_true(qdq_node_set_int(n, "axis", 1));
    test_conv(&b, "c2", "j", 32, strcmp(op, "Concat") == 0 ? 64 : 32, 1, 1);
    test_output(&b, "c2");
    return b;
}

TEST(a_residual_add_shares_the_codes_of_the_conv_beside_it)
{
    test_builder add = shared("Add"), concat = shared("Concat");

    expect_line(&add, "j: QDQ(f) QDQ(c1)\n");
    expect_line(&concat, "j: QDQ(f) QDQ(c1)\n");
}

TEST(codes_that_only_a_float_conv_would_have_read_are_not_shared)
{
    const char *const exclude[] = {"^c1$", NULL};
    const qdq_place_opts opts = {.exclude = exclude};
    test_builder b = shared("Add");
    test_placed p = test_place_with(&b, &opts);

    assert_non_null(strstr(p.text, "j: f c1\n"));
    test_placed_free(p);
}

TEST(two_operands_that_are_float_do_not_share)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    TEST_NODE(&b, "HardSwish", "f", "x");
    TEST_NODE(&b, "Tanh", "g", "x");
    test_conv(&b, "c1", "f", 32, 32, 3, 1);
    test_conv(&b, "c2", "g", 32, 32, 3, 1);
    TEST_NODE(&b, "Add", "a", "f", "g");
    test_output(&b, "c1");
    test_output(&b, "c2");
    test_output(&b, "a");
    expect_line(&b, "a: f g\n");
}

/* --- groups ----------------------------------------------------------------------------------- */

static test_builder grouped(int64_t channels, int64_t group)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_conv(&b, "c0", "x", channels, 32, 1, 1);
    test_conv(&b, "g", "c0", channels, channels, 3, group);
    test_conv(&b, "c1", "g", 32, channels, 1, 1);
    test_output(&b, "c1");
    return b;
}

TEST(groups_of_few_channels_stay_float)
{
    test_builder four = grouped(64, 16), eight = grouped(64, 8), depthwise = grouped(64, 64);

    expect_reason(&four, "g", "a Conv in groups of few channels is slower in 8 bits");
    expect_line(&eight, "g: QDQ(c0) QW(g.w) QB(g.b)\n");
    expect_line(&depthwise, "g: QDQ(c0) QW(g.w) QB(g.b)\n");
}

/* --- alone ------------------------------------------------------------------------------------ */

static test_builder between(int64_t in, int64_t out, int64_t k, int64_t group, const char *reader)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, in, 16, 16);
    TEST_NODE(&b, "Tanh", "t", "x");
    test_conv(&b, "c", "t", out, in, k, group);
    if (reader == NULL)
        test_conv(&b, "last", "c", 32, out, 1, 1);
    else
        TEST_NODE(&b, reader, "last", "c");
    test_output(&b, "last");
    return b;
}

TEST(a_depthwise_conv_between_floats_stays_float)
{
    test_builder alone = between(64, 64, 7, 64, "Tanh"), read = between(64, 64, 7, 64, NULL),
                 dense = between(64, 64, 7, 1, "Tanh");

    test_assert_placed(&alone, "t: x\n"
                               "c: t c.w c.b\n"
                               "last: c\n");
    expect_line(&read, "c: QDQ(t) QW(c.w) QB(c.b)\n");
    expect_line(&dense, "c: QDQ(t) QW(c.w) QB(c.b)\n");
}

/* A pass-through operator between 8 bits and float is taken back first, and the Conv then has no
 * reader, either. */
TEST(a_transpose_behind_it_is_no_reader)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 64, 16, 16);
    TEST_NODE(&b, "Tanh", "t", "x");
    test_conv(&b, "c", "t", 64, 64, 7, 64);
    TEST_NODE(&b, "Relu", "r", "c");
    TEST_NODE(&b, "Transpose", "p", "r");
    TEST_NODE(&b, "Tanh", "last", "p");
    test_output(&b, "last");
    test_placed p = test_place(&b);
    assert_string_equal(p.text, "t: x\n"
                                "c: t c.w c.b\n"
                                "r: c\n"
                                "p: r\n"
                                "last: p\n");
    assert_string_equal(test_reason(p.plan, "c"),
                        "a depthwise Conv between float operators is slower in 8 bits");
    assert_int_equal(p.plan->tensors.n + p.plan->weights.n + p.plan->biases.n, 0);
    test_placed_free(p);
}

TEST(patches_of_a_picture_stay_float_where_nothing_else_is_in_8_bits)
{
    test_builder small = between(3, 96, 4, 1, "Tanh"), large = between(3, 96, 5, 1, "Tanh"),
                 read = between(3, 96, 4, 1, NULL);

    expect_reason(
        &small, "c",
        "a Conv with few channels and a small kernel between float operators is slower in 8 bits");
    expect_line(&large, "c: QDQ(t) QW(c.w) QB(c.b)\n");
    expect_line(&read, "c: QDQ(t) QW(c.w) QB(c.b)\n");
}

/* --- matrices --------------------------------------------------------------------------------- */

static test_builder matrix(const char *op, int64_t rows, int64_t columns)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 8, rows);
    TEST_NODE(&b, "Tanh", "t", "x");
    TEST_RANDOM(&b, "w", rows, columns);
    TEST_NODE(&b, op, "m", "t", "w");
    test_output(&b, "m");
    return b;
}

/* with the limits of this engine */
TEST(small_matrices_stay_float)
{
    for (int i = 0; i < 2; i++) {
        const char *op = i == 0 ? "MatMul" : "Gemm";
        test_builder small = matrix(op, 32, 32), larger = matrix(op, 32, 33);

        expect_reason(&small, "m", "the product with a small matrix is slower in 8 bits");
        expect_line(&larger, "m: QDQ(t) QW(w)\n");
    }
}

TEST(a_small_matrix_reads_codes_that_are_there)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_conv(&b, "c", "x", 32, 32, 3, 1);
    TEST_NODE(&b, "GlobalAveragePool", "g", "c");
    TEST_NODE(&b, "Flatten", "f", "g");
    TEST_RANDOM(&b, "w", 32, 10);
    TEST_NODE(&b, "Gemm", "m", "f", "w");
    test_output(&b, "m");
    expect_line(&b, "m: QDQ(f) QW(w)\n");
}

/* --- products of activations ------------------------------------------------------------------ */

static test_builder product(int64_t rows, int64_t sum, const char *op)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, rows, sum);
    TEST_INPUT(&b, "y", 1, sum, rows);
    TEST_NODE(&b, op, "s", "x");
    TEST_NODE(&b, "MatMul", "m", "s", "y");
    test_output(&b, "m");
    return b;
}

TEST(products_stay_float_where_they_are_small_or_read_a_softmax)
{
    test_builder small = product(200, 100, "Tanh"), large = product(400, 64, "Tanh"),
                 probabilities = product(400, 64, "Softmax");

    expect_reason(&small, "m", "a small product of two activations is slower in 8 bits");
    expect_line(&large, "m: QDQ(s) QDQ(y)\n");
    expect_reason(&probabilities, "m",
                  "8 bits are too few for small probabilities, and gain little here");
}

TEST(a_product_of_unknown_size_is_quantized)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(
        "g (float[1,N,64] x, float[1,64,N] y) => (float[1,N,N] m) {\n  m = MatMul(x, y)\n}\n");
    qdq_target *t = NULL;
    qdq_plan *plan = qdq_plan_new();

    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    assert_non_null(plan);
    assert_ok(qdq_place(m, t, NULL, plan, &err));
    assert_int_equal(plan->quantized.n, 1);
    qdq_plan_free(plan);
    qdq_target_free(t);
    qdq_model_free(m);
}

/* --- who asks for it -------------------------------------------------------------------------- */

TEST(what_the_user_names_is_quantized_all_the_same)
{
    const char *const names[] = {"^m$", NULL}, *const types[] = {"MatMul", NULL};
    const qdq_place_opts by_name = {.include = names}, by_type = {.op_types = types};

    for (int i = 0; i < 2; i++) {
        test_builder b = matrix("MatMul", 8, 8);
        test_placed p = test_place_with(&b, i == 0 ? &by_name : &by_type);

        assert_non_null(strstr(p.text, "m: QDQ(t) QW(w)\n"));
        test_placed_free(p);
    }
}
