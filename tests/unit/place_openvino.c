/* place_openvino.c - what runs in 8 bits on openvino: its kernels give floats as well as codes, so
 * that a Q stands behind a result where an 8-bit kernel reads it, and only there. */
#include "support/placed.h"
#include "support/test.h"

#define ON "openvino"

/* x[1,3,16,16] -> c1 (16 channels) */
static test_builder base(void)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 3, 16, 16);
    test_conv(&b, "c1", "x", 16, 3, 3, 1);
    return b;
}

static void transpose(test_builder *b, const char *name, const char *x)
{
    const int64_t perm[4] = {0, 2, 3, 1};

    assert_true(qdq_node_set_ints(TEST_NODE(b, "Transpose", name, x), "perm", perm, 4));
}

/* ort-cpu leaves such a first Conv and a depthwise one behind it float. */
TEST(the_first_and_the_depthwise_convolution_run_in_8_bits)
{
    test_builder b = base();

    TEST_NODE(&b, "Relu", "r", "c1");
    test_conv(&b, "dw", "r", 16, 16, 3, 16);
    test_conv(&b, "y", "dw", 32, 16, 1, 1);
    test_output(&b, "y");
    test_assert_placed_on(
        &b, ON, NULL,
        "c1: QDQ(x) QW(c1.w) c1.b\nr: c1\ndw: QDQ(r) QW(dw.w) dw.b\ny: QDQ(dw) QW(y.w) y.b\n");
}

TEST(what_a_float_operator_reads_stays_float)
{
    test_builder b = base();

    transpose(&b, "t", "c1");
    TEST_RANDOM(&b, "gamma", 16);
    TEST_RANDOM(&b, "beta", 16);
    TEST_NODE(&b, "LayerNormalization", "ln", "t", "gamma", "beta");
    TEST_RANDOM(&b, "y.w", 16, 64);
    TEST_NODE(&b, "MatMul", "y", "ln", "y.w");
    test_output(&b, "y");
    TEST_ASSERT_LINES(&b, ON, NULL, "c1: QDQ(x) QW(c1.w) c1.b", "t: c1", "ln: t gamma beta",
                      "y: QDQ(ln) QW(y.w)");
}

/* As behind the projection of an attention: one Q, behind the bias and in front of all that
 * moves. */
TEST(codes_are_moved_to_a_product_of_activations)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 8, 32);
    TEST_RANDOM(&b, "p.w", 32, 64);
    TEST_RANDOM(&b, "p.b", 64);
    TEST_NODE(&b, "MatMul", "p", "x", "p.w");
    TEST_NODE(&b, "Add", "pb", "p.b", "p");
    TEST_INTS(&b, "shape", 16, 32);
    TEST_NODE(&b, "Reshape", "q", "pb", "shape");
    TEST_INTS(&b, "turned", 32, 16);
    TEST_NODE(&b, "Reshape", "k", "pb", "turned");
    TEST_NODE(&b, "MatMul", "y", "q", "k");
    test_output(&b, "y");
    TEST_ASSERT_LINES(&b, ON, NULL, "p: QDQ(x) QW(p.w)", "q: QDQ(pb) shape", "k: QDQ(pb) turned",
                      "y: QDQ(q) QDQ(k)");
}

/* Both operands have codes, since a Conv reads what the shortcut reads, too. */
TEST(a_residual_add_runs_in_8_bits_between_convolutions)
{
    test_builder b = base();

    TEST_NODE(&b, "Relu", "r", "c1");
    test_conv(&b, "c2", "r", 16, 16, 3, 1);
    TEST_NODE(&b, "Add", "s", "c2", "r");
    TEST_NODE(&b, "Relu", "sr", "s");
    test_conv(&b, "y", "sr", 16, 16, 3, 1);
    test_output(&b, "y");
    TEST_ASSERT_LINES(&b, ON, NULL, "c2: QDQ(r) QW(c2.w) c2.b", "s: QDQ(c2) QDQ(r)",
                      "y: QDQ(sr) QW(y.w) y.b");
}

TEST(an_add_that_no_8_bit_kernel_reads_stays_float)
{
    test_builder b = base();

    TEST_NODE(&b, "Relu", "r", "c1");
    test_conv(&b, "c2", "r", 16, 16, 3, 1);
    TEST_NODE(&b, "Add", "s", "c2", "r");
    TEST_NODE(&b, "Exp", "y", "s");
    test_output(&b, "y");
    TEST_ASSERT_LINES(&b, ON, NULL, "c2: QDQ(r) QW(c2.w) c2.b", "s: c2 QDQ(r)", "y: s");
}

/* c1 without bias, read by a Conv and by an Add. */
static test_builder read_twice(int64_t batch)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", batch, 3, 16, 16);
    TEST_RANDOM(&b, "c1.w", 16, 3, 1, 1);
    TEST_NODE(&b, "Conv", "c1", "x", "c1.w");
    TEST_RANDOM(&b, "c2.w", 16, 16, 1, 1);
    TEST_NODE(&b, "Conv", "c2", "c1", "c2.w");
    TEST_NODE(&b, "Add", "y", "c2", "c1");
    test_output(&b, "y");
    return b;
}

#define IN_8_BITS "c1: QDQ(x) QW(c1.w)"
#define IN_FLOAT  "c1: x c1.w"

static void expect_c1(int64_t batch, const qdq_place_opts *opts, const char *want)
{
    test_builder b = read_twice(batch);

    TEST_ASSERT_LINES(&b, ON, opts, want);
}

TEST(a_form_that_an_engine_computes_wrongly_stays_float)
{
    static const char *const c2[] = {"^c2$", NULL}, *const c1[] = {"^c1$", NULL};
    const qdq_engine_info wrong = {.name = "openvino", .version = "2026.4.1"},
                          later = {.name = "openvino", .version = "2026.40.0"},
                          other = {.name = "ort", .version = "1.31.1"};
    const qdq_place_opts both = {0}, without = {.exclude = c2},
                         at_wrong = {.exclude = c2, .engine = &wrong},
                         at_later = {.exclude = c2, .engine = &later},
                         at_other = {.exclude = c2, .engine = &other}, asked = {.include = c1};

    expect_c1(1, &without, IN_8_BITS); /* no open dims */
    expect_c1(-1, &both, IN_8_BITS);   /* the reader is in 8 bits */
    expect_c1(-1, &without, IN_FLOAT);
    expect_c1(-1, &at_wrong, IN_FLOAT);
    expect_c1(-1, &at_later, IN_8_BITS);
    expect_c1(-1, &at_other, IN_FLOAT); /* nobody knows which version will run it */
    expect_c1(-1, &asked, IN_FLOAT);
    test_builder b = read_twice(-1);
    test_placed p = test_assert_lines(&b, ON, &without, (const char *const[]){IN_FLOAT, NULL});
    assert_non_null(strstr(test_reason(p.plan, "c1"), "OpenVINO 2026.4 computes it wrongly"));
    test_placed_free(p);
}

TEST(a_bias_or_a_single_reader_makes_another_form)
{
    static const char *const c2[] = {"^c2$", NULL};
    static const float zeros[16];
    const int64_t channels = 16;
    const qdq_place_opts without = {.exclude = c2};
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", -1, 3, 16, 16);
    test_conv(&b, "c1", "x", 16, 3, 1, 1);
    test_conv(&b, "c2", "c1", 16, 16, 1, 1);
    TEST_NODE(&b, "Add", "y", "c2", "c1");
    test_output(&b, "y");
    TEST_ASSERT_LINES(&b, ON, &without, "c1: QDQ(x) QW(c1.w) c1.b");
    b = test_build(17);
    TEST_INPUT(&b, "x", -1, 3, 16, 16);
    TEST_RANDOM(&b, "c1.w", 16, 3, 1, 1);
    assert_non_null(
        qdq_graph_add_init(b.g, "c1.b", qdq_tensor_of_floats(b.m, 1, &channels, zeros)));
    TEST_NODE(&b, "Conv", "c1", "x", "c1.w", "c1.b");
    test_conv(&b, "c2", "c1", 16, 16, 1, 1);
    TEST_NODE(&b, "Add", "y", "c2", "c1");
    test_output(&b, "y");
    TEST_ASSERT_LINES(&b, ON, &without, "c1: x c1.w c1.b");
    b = test_build(17);
    TEST_INPUT(&b, "x", -1, 3, 16, 16);
    TEST_RANDOM(&b, "c1.w", 16, 3, 1, 1);
    TEST_NODE(&b, "Conv", "c1", "x", "c1.w");
    test_conv(&b, "c2", "c1", 16, 16, 1, 1);
    test_output(&b, "c2");
    TEST_ASSERT_LINES(&b, ON, &without, IN_8_BITS);
}
