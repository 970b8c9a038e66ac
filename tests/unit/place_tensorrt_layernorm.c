/* place_tensorrt_layernorm.c - Conv -> copy operators -> LayerNormalization on tensorrt. In the
 * lines below a name in QDQ(...) is read through Q/DQ, QW(...) is an 8-bit weight. */
#include "qdq/pass.h"
#include "support/placed.h"

#include "support/test.h"

#define ON "tensorrt"

/* x[1,16,8,8] -> c1 (32 channels) */
static test_builder base(void)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 16, 8, 8);
    test_conv(&b, "c1", "x", 32, 16, 3, 1);
    return b;
}

static qdq_node *layernorm(test_builder *b, const char *x, int64_t channels)
{
    const int64_t dims[] = {channels, 0};

    test_random(b, "gamma", dims);
    test_random(b, "beta", dims);
    return TEST_NODE(b, "LayerNormalization", "ln", x, "gamma", "beta");
}

/* y = ln times [channels, 64] */
static void matmul(test_builder *b, int64_t channels)
{
    const int64_t dims[] = {channels, 64, 0};

    test_random(b, "y.w", dims);
    TEST_NODE(b, "MatMul", "y", "ln", "y.w");
    test_output(b, "y");
}

static void transpose(test_builder *b, const char *name, const char *x)
{
    const int64_t perm[4] = {0, 2, 3, 1};

    assert_true(qdq_node_set_ints(TEST_NODE(b, "Transpose", name, x), "perm", perm, 4));
}

TEST(right_behind_the_convolution)
{
    test_builder b = base();

    layernorm(&b, "c1", 8);
    matmul(&b, 8); /* over 8 elements: it is excluded itself */
    TEST_ASSERT_LINES(&b, ON, NULL, "c1: QDQ(x) QW(c1.w) c1.b", "ln: QDQ(c1) gamma beta");
}

TEST(behind_a_transpose)
{
    test_builder b = base();

    transpose(&b, "t", "c1");
    layernorm(&b, "t", 32);
    matmul(&b, 32);
    TEST_ASSERT_LINES(&b, ON, NULL, "t: c1", "ln: QDQ(t) gamma beta", "y: QDQ(ln) QW(y.w)");
}

/* c1 as [1, 32, 64] -> Transpose t -> LayerNormalization -> MatMul */
static void rows(test_builder *b, const char *x)
{
    const int64_t perm[3] = {0, 2, 1};

    assert_true(qdq_node_set_ints(TEST_NODE(b, "Transpose", "t", x), "perm", perm, 3));
    layernorm(b, "t", 32);
    matmul(b, 32);
}

TEST(behind_a_reshape_to_an_initializer)
{
    test_builder b = base();

    TEST_INTS(&b, "shape", 1, 32, 64);
    TEST_NODE(&b, "Reshape", "r", "c1", "shape");
    rows(&b, "r");
    TEST_ASSERT_LINES(&b, ON, NULL, "r: c1 shape", "t: r", "ln: QDQ(t) gamma beta");
}

TEST(behind_a_reshape_to_a_constant_node)
{
    const int64_t dims[3] = {1, 32, 64};
    test_builder b = base();

    const char *const none[] = {NULL};
    assert_true(qdq_node_set_ints(test_node(&b, "Constant", "shape", none), "value_ints", dims, 3));
    TEST_NODE(&b, "Reshape", "r", "c1", "shape");
    rows(&b, "r");
    TEST_ASSERT_LINES(&b, ON, NULL, "r: c1 shape", "t: r", "ln: QDQ(t) gamma beta");
}

/* The shape of x, its first dim and -1, 64 */
static void computed_shape(test_builder *b, const char *x)
{
    TEST_NODE(b, "Shape", "s", x);
    TEST_INTS(b, "zero", 0);
    TEST_INTS(b, "rest", 32, -1);
    TEST_NODE(b, "Gather", "first", "s", "zero");
    assert_true(qdq_node_set_int(TEST_NODE(b, "Concat", "shape", "first", "rest"), "axis", 0));
}

/* the reference wants all parents to follow a convolution, the shape included */
TEST(behind_a_reshape_to_a_computed_shape)
{
    test_builder b = base();

    computed_shape(&b, "c1");
    TEST_NODE(&b, "Reshape", "r", "c1", "shape");
    rows(&b, "r");
    TEST_ASSERT_LINES(&b, ON, NULL, "s: c1", "first: s zero", "shape: first rest", "r: c1 shape",
                      "t: r", "ln: QDQ(t) gamma beta");
}

static void input_of_ints(test_builder *b, const char *name, int64_t n)
{
    const qdq_dim dim = {n, NULL};

    assert_non_null(qdq_graph_add_input(b->g, name, qdq_type_tensor(b->m, QDQ_INT64, 1, &dim)));
}

TEST(behind_a_reshape_to_a_graph_input)
{
    test_builder b = base();

    input_of_ints(&b, "shape", 3);
    TEST_NODE(&b, "Reshape", "r", "c1", "shape");
    rows(&b, "r");
    TEST_ASSERT_LINES(&b, ON, NULL, "r: c1 shape", "t: r", "ln: QDQ(t) gamma beta");
}

/* the reference does not know Unsqueeze */
static void behind_unsqueeze_and_squeeze(void **state)
{
    for (int is_input = 0; is_input < 2; is_input++) {
        test_builder b = base();

        (void)state;
        if (is_input != 0)
            input_of_ints(&b, "axes", 1);
        else
            TEST_INTS(&b, "axes", 0);
        TEST_NODE(&b, "Unsqueeze", "u", "c1", "axes");
        TEST_NODE(&b, "Squeeze", "q", "u", "axes");
        layernorm(&b, "q", 8);
        TEST_NODE(&b, "Relu", "y", "ln");
        test_output(&b, "y");
        TEST_ASSERT_LINES(&b, ON, NULL, "u: c1 axes", "q: u axes", "ln: QDQ(q) gamma beta");
    }
}

/* c1 -> n Transposes t0, t1, ... -> LayerNormalization */
static test_builder transposes(int n, bool computed)
{
    test_builder b = base();
    char name[16], before[16] = "c1";

    if (computed) {
        const int64_t all[4] = {1, 32, 8, 8};
        computed_shape(&b, "c1");
        test_ints(&b, "all", 4, all);
        TEST_NODE(&b, "Gather", "one", "s", "zero");
        TEST_INTS(&b, "others", 32, 8, 8);
        assert_true(qdq_node_set_int(TEST_NODE(&b, "Concat", "whole", "one", "others"), "axis", 0));
        TEST_NODE(&b, "Reshape", "r", "c1", "whole");
        snprintf(before, sizeof before, "r");
    }
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "t%d", i);
        transpose(&b, name, before);
        snprintf(before, sizeof before, "%s", name);
    }
    TEST_RANDOM(&b, "gamma", 1);
    TEST_NODE(&b, "LayerNormalization", "ln", before, "gamma");
    TEST_NODE(&b, "Relu", "y", "ln");
    test_output(&b, "y");
    return b;
}

TEST(behind_any_number_of_copies_inside_the_kernel)
{
    test_builder b = transposes(15, false);

    TEST_ASSERT_LINES(&b, ON, NULL, "t0: c1", "t14: t13", "ln: QDQ(t14) gamma");
}

/* there is no beta */
TEST(behind_ten_copies_outside_of_it)
{
    test_builder b = transposes(9, true);

    TEST_ASSERT_LINES(&b, ON, NULL, "r: c1 whole", "t8: t7", "ln: QDQ(t8) gamma");
}

TEST(the_eleventh_copy_is_one_too_many)
{
    test_builder b = transposes(10, true);
    const char *lines[] = {"t9: t8", "ln: t9 gamma", NULL};

    test_placed p = test_assert_lines(&b, ON, NULL, lines);
    assert_string_equal(test_reason(p.plan, "ln"), "its data does not come from a linear kernel");
    test_placed_free(p);
}

TEST(in_a_graph_that_branches)
{
    const int64_t back[4] = {0, 3, 1, 2};
    test_builder b = base();

    TEST_NODE(&b, "Relu", "r", "c1");
    transpose(&b, "t", "r");
    layernorm(&b, "t", 32);
    TEST_NODE(&b, "Sigmoid", "s", "r");
    test_conv(&b, "c2", "s", 32, 32, 3, 1);
    assert_true(qdq_node_set_ints(TEST_NODE(&b, "Transpose", "t2", "ln"), "perm", back, 4));
    TEST_NODE(&b, "Add", "a", "c2", "t2");
    test_conv(&b, "y", "a", 32, 32, 3, 1);
    test_output(&b, "y");
    TEST_ASSERT_LINES(&b, ON, NULL, "r: c1", "t: r", "s: r", "ln: QDQ(t) gamma beta",
                      "c2: QDQ(s) QW(c2.w) c2.b", "t2: ln", "a: c2 QDQ(t2)",
                      "y: QDQ(a) QW(y.w) y.b");
}

/* in the reference the Relu reads the Q/DQ, too, which splits it from the convolution */
TEST(other_readers_read_what_they_read)
{
    test_builder b = base();

    layernorm(&b, "c1", 8);
    TEST_NODE(&b, "Relu", "r", "c1");
    test_conv(&b, "c2", "r", 32, 32, 3, 1);
    TEST_NODE(&b, "Add", "a", "c2", "ln");
    test_conv(&b, "y", "a", 32, 32, 3, 1);
    test_output(&b, "y");
    TEST_ASSERT_LINES(&b, ON, NULL, "ln: QDQ(c1) gamma beta", "r: c1", "c2: QDQ(r) QW(c2.w) c2.b",
                      "a: c2 QDQ(ln)");
}

TEST(the_convolution_has_one_pair_for_two_readers)
{
    const char *lines[] = {"ln: QDQ(c1) gamma beta", "a: c2 QDQ(c1)", "c2: QDQ(ln) QW(c2.w) c2.b",
                           NULL};
    test_builder b = base();
    size_t pairs = 0;

    layernorm(&b, "c1", 8);
    test_conv(&b, "c2", "ln", 32, 32, 3, 1);
    TEST_NODE(&b, "Add", "a", "c2", "c1");
    test_conv(&b, "y", "a", 32, 32, 3, 1);
    test_output(&b, "y");
    test_placed p = test_assert_lines(&b, ON, NULL, lines);
    for (size_t i = 0; i < p.plan->tensors.n; i++)
        pairs += strcmp(p.plan->tensors.at[i].tensor, "c1") == 0;
    assert_int_equal(pairs, 1);
    test_placed_free(p);
}

static test_builder elsewhere(int kind)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    if (kind == 0) {
        layernorm(&b, "x", 8);
        test_conv(&b, "y", "ln", 32, 32, 3, 1);
        test_output(&b, "y");
        return b;
    }
    test_conv(&b, "c1", "x", 32, 32, 3, 1);
    if (kind == 1) {
        const int64_t axis = 3;
        assert_true(qdq_node_set_ints(TEST_NODE(&b, "ReduceMean", "m", "c1"), "axes", &axis, 1));
        layernorm(&b, "m", 1);
        test_conv(&b, "y", "ln", 32, 32, 1, 1);
        test_output(&b, "y");
        return b;
    }
    TEST_NODE(&b, "GlobalAveragePool", "g", "c1");
    TEST_NODE(&b, "Flatten", "f", "g");
    layernorm(&b, "f", 32);
    matmul(&b, 32);
    return b;
}

TEST(data_that_is_no_kernels_stays_float)
{
    test_builder b = elsewhere(0);

    TEST_ASSERT_LINES(&b, ON, NULL, "ln: x gamma beta");
    b = elsewhere(1);
    TEST_ASSERT_LINES(&b, ON, NULL, "ln: m gamma beta", "m: c1");
    b = elsewhere(2);
    TEST_ASSERT_LINES(&b, ON, NULL, "ln: f gamma beta", "g: QDQ(c1)", "y: ln y.w");
}

static test_placed place_changed(test_builder *b, const char *key, const char *value)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *t = NULL;
    test_placed p = {test_built(b), qdq_plan_new(), NULL};

    assert_ok(qdq_target_load(ON, &t, &err));
    assert_ok(qdq_target_set(t, key, value, &err));
    assert_ok(qdq_place(p.m, t, NULL, p.plan, &err));
    qdq_target_free(t);
    return p;
}

static bool is_read_through_qdq(const test_placed *p, const char *tensor, const char *node)
{
    for (size_t i = 0; i < p->plan->tensors.n; i++)
        if (strcmp(p->plan->tensors.at[i].tensor, tensor) == 0 &&
            (p->plan->tensors.at[i].all ||
             qdq_edges_have(&p->plan->tensors.at[i].consumers, node, 0)))
            return true;
    return false;
}

/* layernorm-input: any takes them all, off none. */
TEST(the_target_says_which_layernorms_count)
{
    for (int kind = 0; kind < 3; kind++) {
        const char *data[] = {"x", "m", "f"};
        test_builder b = elsewhere(kind);
        test_placed p = place_changed(&b, "layernorm-input", "any");

        assert_true(is_read_through_qdq(&p, data[kind], "ln"));
        test_placed_free(p);
    }
    test_builder b = base();
    layernorm(&b, "c1", 8);
    TEST_NODE(&b, "Relu", "y", "ln");
    test_output(&b, "y");
    test_placed p = place_changed(&b, "layernorm-input", "off");
    assert_false(is_read_through_qdq(&p, "c1", "ln"));
    assert_string_equal(
        test_reason(p.plan, "ln"),
        "the target leaves the input of LayerNormalization float (layernorm-input)");
    test_placed_free(p);
}

/* catches rules that ask whether any parent follows a convolution */
TEST(a_shape_from_the_convolution_is_no_data_from_it)
{
    test_builder b = base();

    TEST_INPUT(&b, "z", 1, 16, 16, 8);
    TEST_NODE(&b, "Shape", "s", "c1");
    TEST_NODE(&b, "Relu", "rz", "z");
    TEST_NODE(&b, "Reshape", "r", "rz", "s");
    layernorm(&b, "r", 8);
    test_conv(&b, "y", "ln", 32, 32, 3, 1);
    test_conv(&b, "y2", "c1", 32, 32, 3, 1);
    test_output(&b, "y");
    test_output(&b, "y2");
    TEST_ASSERT_LINES(&b, ON, NULL, "ln: r gamma beta", "s: c1", "y2: QDQ(c1) QW(y2.w) y2.b");
}

static void all_data_of_a_concat_must_follow(void **state)
{
    for (int other = 0; other < 2; other++) {
        test_builder b = base();

        (void)state;
        if (other == 0) {
            test_conv(&b, "o", "x", 32, 16, 3, 1);
        } else {
            TEST_INPUT(&b, "z", 1, 32, 8, 8);
            TEST_NODE(&b, "Relu", "o", "z");
        }
        assert_true(qdq_node_set_int(TEST_NODE(&b, "Concat", "cc", "c1", "o"), "axis", 1));
        layernorm(&b, "cc", 8);
        test_conv(&b, "y", "ln", 32, 64, 3, 1);
        test_output(&b, "y");
        TEST_ASSERT_LINES(&b, ON, NULL, other == 0 ? "ln: QDQ(cc) gamma beta" : "ln: cc gamma beta",
                          "cc: c1 o");
    }
}

/* excluded by the user, or by its shape */
TEST(behind_a_convolution_that_stays_float)
{
    const char *exclude[] = {"c1", NULL};
    const qdq_place_opts opts = {.exclude = exclude};
    test_builder b = base();

    layernorm(&b, "c1", 8);
    test_conv(&b, "y", "ln", 32, 32, 3, 1);
    test_output(&b, "y");
    TEST_ASSERT_LINES(&b, ON, &opts, "c1: x c1.w c1.b", "ln: c1 gamma beta");
    b = test_build(17);
    TEST_INPUT(&b, "x", 1, 8, 8, 8);
    TEST_NODE(&b, "Relu", "r", "x");
    test_conv(&b, "c1", "r", 8, 8, 3, 1);
    layernorm(&b, "c1", 8);
    TEST_NODE(&b, "Relu", "y", "ln");
    test_output(&b, "y");
    TEST_ASSERT_LINES(&b, ON, NULL, "c1: r c1.w c1.b", "ln: c1 gamma beta");
}

TEST(as_a_graph_output_it_stays_float)
{
    const char *lines[] = {"ln: c1 gamma beta", NULL};
    test_builder b = base();

    layernorm(&b, "c1", 8);
    test_output(&b, "ln");
    test_placed p = test_assert_lines(&b, ON, NULL, lines);
    assert_string_equal(test_reason(p.plan, "ln"), "its result is a graph output");
    test_placed_free(p);
}

TEST(behind_a_pointwise_epilogue)
{
    const char *const ops[] = {"Cast", "Sigmoid", "Softmax"};

    for (size_t i = 0; i < 3; i++) {
        test_builder b = base();
        qdq_node *n = TEST_NODE(&b, ops[i], "e", "c1");

        if (i == 0)
            assert_true(qdq_node_set_int(n, "to", QDQ_FLOAT));
        layernorm(&b, "e", 8);
        test_conv(&b, "y", "ln", 32, 32, 3, 1);
        test_output(&b, "y");
        TEST_ASSERT_LINES(&b, ON, NULL, "e: c1", "ln: QDQ(e) gamma beta");
    }
}

TEST(behind_a_matmul_with_bias)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 64, 32);
    TEST_RANDOM(&b, "w", 32, 32);
    TEST_RANDOM(&b, "bias", 32);
    TEST_NODE(&b, "MatMul", "m", "x", "w");
    TEST_NODE(&b, "Add", "a", "m", "bias");
    layernorm(&b, "a", 32);
    matmul(&b, 32);
    TEST_ASSERT_LINES(&b, ON, NULL, "m: QDQ(x) QW(w)", "a: m bias", "ln: QDQ(a) gamma beta",
                      "y: QDQ(ln) QW(y.w)");
}

TEST(operators_that_the_user_names_are_all_that_is_quantized)
{
    const char *types[] = {"Conv", NULL};
    const qdq_place_opts opts = {.op_types = types};
    test_builder b = base();

    layernorm(&b, "c1", 8);
    test_conv(&b, "y", "ln", 32, 32, 3, 1);
    test_output(&b, "y");
    TEST_ASSERT_LINES(&b, ON, &opts, "c1: QDQ(x) QW(c1.w) c1.b", "ln: c1 gamma beta",
                      "y: QDQ(ln) QW(y.w) y.b");
}

static qdq_value *number(test_builder *b, const char *name, float x)
{
    return qdq_graph_add_init(b->g, name, qdq_tensor_of_floats(b->m, 0, NULL, &x));
}

static qdq_node *mean(test_builder *b, const char *name, const char *x)
{
    const int64_t last = -1;
    qdq_node *n = TEST_NODE(b, "ReduceMean", name, x);

    assert_true(qdq_node_set_ints(n, "axes", &last, 1));
    return n;
}

/* c1 -> the nodes that exporters write before opset 17 */
static test_builder arithmetic(void)
{
    test_builder b = base();

    assert_true(number(&b, "two", 2) != NULL && number(&b, "eps", 1e-5f) != NULL);
    TEST_RANDOM(&b, "gamma", 8);
    TEST_RANDOM(&b, "beta", 8);
    mean(&b, "m", "c1");
    TEST_NODE(&b, "Sub", "s", "c1", "m");
    TEST_NODE(&b, "Pow", "p", "s", "two");
    mean(&b, "v", "p");
    TEST_NODE(&b, "Add", "e", "v", "eps");
    TEST_NODE(&b, "Sqrt", "q", "e");
    TEST_NODE(&b, "Div", "d", "s", "q");
    TEST_NODE(&b, "Mul", "g", "d", "gamma");
    TEST_NODE(&b, "Add", "ln", "g", "beta");
    TEST_NODE(&b, "Relu", "y", "ln");
    test_output(&b, "y");
    return b;
}

TEST(its_arithmetic_is_in_no_kernel)
{
    const char *lines[] = {"m: c1", "s: c1 m", "d: s q", "g: d gamma", "ln: g beta", NULL};
    test_builder b = arithmetic();

    test_placed p = test_assert_lines(&b, ON, NULL, lines);
    assert_string_equal(test_reason(p.plan, "ln"),
                        "part of a LayerNormalization, which computes in float");
    assert_string_equal(test_reason(p.plan, "m"),
                        "part of a LayerNormalization, which computes in float");
    test_placed_free(p);
}

/* A pass of the target: so that the rule sees it. */
TEST(its_arithmetic_is_fused_before)
{
    test_builder b = arithmetic();
    qdq_error err = QDQ_ERROR_INIT;

    assert_ok(qdq_model_run_passes(b.m, "fuse-layernorm", &err));
    test_placed p = test_place_on(&b, ON, NULL);
    assert_non_null(strstr(p.text, "QDQ(c1) gamma beta\n"));
    test_placed_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_behind_the_convolution),
        cmocka_unit_test(behind_a_transpose),
        cmocka_unit_test(behind_a_reshape_to_an_initializer),
        cmocka_unit_test(behind_a_reshape_to_a_constant_node),
        cmocka_unit_test(behind_a_reshape_to_a_computed_shape),
        cmocka_unit_test(behind_a_reshape_to_a_graph_input),
        cmocka_unit_test(behind_unsqueeze_and_squeeze),
        cmocka_unit_test(behind_any_number_of_copies_inside_the_kernel),
        cmocka_unit_test(behind_ten_copies_outside_of_it),
        cmocka_unit_test(the_eleventh_copy_is_one_too_many),
        cmocka_unit_test(in_a_graph_that_branches),
        cmocka_unit_test(other_readers_read_what_they_read),
        cmocka_unit_test(the_convolution_has_one_pair_for_two_readers),
        cmocka_unit_test(data_that_is_no_kernels_stays_float),
        cmocka_unit_test(the_target_says_which_layernorms_count),
        cmocka_unit_test(a_shape_from_the_convolution_is_no_data_from_it),
        cmocka_unit_test(all_data_of_a_concat_must_follow),
        cmocka_unit_test(behind_a_convolution_that_stays_float),
        cmocka_unit_test(as_a_graph_output_it_stays_float),
        cmocka_unit_test(behind_a_pointwise_epilogue),
        cmocka_unit_test(behind_a_matmul_with_bias),
        cmocka_unit_test(operators_that_the_user_names_are_all_that_is_quantized),
        cmocka_unit_test(its_arithmetic_is_in_no_kernel),
        cmocka_unit_test(its_arithmetic_is_fused_before),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
