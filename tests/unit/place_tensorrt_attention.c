/* place_tensorrt_attention.c - attentions and the MLP of transformers on tensorrt, and which
 * attentions stay float. In the lines below a name in QDQ(...) is read through Q/DQ, QW(...) is an
 * 8-bit weight. */
#include "support/placed.h"

#include "support/test.h"

#define ON "tensorrt"

enum { DIV = 1, CONST_MASK = 2, MASK = 4 };

/* name = MatMul(x, name.w) + name.b, 64 wide */
static void linear(test_builder *b, const char *name, const char *x)
{
    char matmul[32], w[32], bias[32];

    snprintf(matmul, sizeof matmul, "%s.m", name);
    snprintf(w, sizeof w, "%s.w", name);
    snprintf(bias, sizeof bias, "%s.b", name);
    TEST_RANDOM(b, w, 64, 64);
    TEST_RANDOM(b, bias, 64);
    TEST_NODE(b, "MatMul", matmul, x, w);
    TEST_NODE(b, "Add", name, matmul, bias);
}

/* name = the projection of x as [1, 4, rows, 16], or with the last two turned */
static void heads(test_builder *b, const char *name, const char *x, bool turned)
{
    const int64_t perm[2][4] = {{0, 2, 1, 3}, {0, 2, 3, 1}};
    char linears[32], reshaped[32];

    snprintf(linears, sizeof linears, "%s.l", name);
    snprintf(reshaped, sizeof reshaped, "%s.r", name);
    linear(b, linears, x);
    TEST_NODE(b, "Reshape", reshaped, linears, "split");
    assert_true(
        qdq_node_set_ints(TEST_NODE(b, "Transpose", name, reshaped), "perm", perm[turned], 4));
}

static const char *scores(test_builder *b, int64_t rows, int what)
{
    const char *at = "bmm1";

    TEST_NODE(b, "MatMul", "bmm1", "q", "k");
    if ((what & DIV) != 0) {
        TEST_RANDOM(b, "eight", 1);
        TEST_NODE(b, "Div", "div", at, "eight");
        at = "div";
    }
    if ((what & (CONST_MASK | MASK)) != 0) {
        const int64_t dims[] = {1, 1, rows, rows, 0};

        if ((what & MASK) != 0)
            test_input(b, "mask", dims);
        else
            test_random(b, "mask", dims);
        TEST_NODE(b, "Add", "masked", at, "mask");
        at = "masked";
    }
    return at;
}

static test_builder attention(int64_t rows, int what)
{
    const int64_t dims[] = {1, rows, 64, 0}, perm[4] = {0, 2, 1, 3};
    test_builder b = test_build(17);

    test_input(&b, "x", dims);
    TEST_INTS(&b, "split", 1, rows, 4, 16);
    TEST_INTS(&b, "join", 1, rows, 64);
    heads(&b, "q", "x", false);
    heads(&b, "k", "x", true);
    heads(&b, "v", "x", false);
    TEST_NODE(&b, "Softmax", "softmax", scores(&b, rows, what));
    TEST_NODE(&b, "MatMul", "bmm2", "softmax", "v");
    assert_true(qdq_node_set_ints(TEST_NODE(&b, "Transpose", "back", "bmm2"), "perm", perm, 4));
    TEST_NODE(&b, "Reshape", "joined", "back", "join");
    linear(&b, "o", "joined");
    TEST_NODE(&b, "Add", "sum", "x", "o");
    TEST_RANDOM(&b, "gamma", 64);
    TEST_NODE(&b, "LayerNormalization", "ln", "sum", "gamma");
    TEST_RANDOM(&b, "y.w", 64, 64);
    TEST_NODE(&b, "MatMul", "y", "ln", "y.w");
    test_output(&b, "y");
    return b;
}

#define AROUND                                                                                     \
    "q.l.m: QDQ(x) QW(q.l.w)", "q.l: q.l.m q.l.b", "q: q.r", "o.m: QDQ(joined) QW(o.w)",           \
        "sum: QDQ(x) QDQ(o)", "ln: sum gamma", "y: QDQ(ln) QW(y.w)"

TEST(both_products_of_an_attention_read_codes)
{
    test_builder b = attention(64, DIV | CONST_MASK);

    TEST_ASSERT_LINES(&b, ON, NULL, AROUND, "bmm1: QDQ(q) QDQ(k)", "div: bmm1 eight",
                      "masked: div mask", "softmax: masked", "bmm2: QDQ(softmax) QDQ(v)");
}

TEST(a_mask_right_behind_the_first_product_keeps_it_float)
{
    test_builder b = attention(64, MASK);
    const char *lines[] = {AROUND, "bmm1: q k", "masked: bmm1 mask", "bmm2: softmax v", NULL};

    test_placed p = test_assert_lines(&b, ON, NULL, lines);
    assert_string_equal(
        test_reason(p.plan, "bmm1"),
        "attention with a mask right behind its first product: the engine fuses it in float");
    test_placed_free(p);
}

/* with Div between, the products stay as they are without it, and the mask is added in float */
TEST(a_mask_behind_the_scaling_is_added_in_float)
{
    test_builder b = attention(64, DIV | MASK);
    const char *lines[] = {AROUND, "bmm1: QDQ(q) QDQ(k)", "masked: div mask",
                           "bmm2: QDQ(softmax) QDQ(v)", NULL};

    test_placed p = test_assert_lines(&b, ON, NULL, lines);
    assert_string_equal(test_reason(p.plan, "masked"),
                        "the mask of an attention is added in float");
    test_placed_free(p);
}

static test_placed place_with_key(test_builder *b, const char *key, const char *value)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *t = NULL;
    test_placed p = {test_built(b), qdq_plan_new(), NULL};

    assert_ok(qdq_target_load(ON, &t, &err));
    if (key != NULL)
        assert_ok(qdq_target_set(t, key, value, &err));
    assert_ok(qdq_place(p.m, t, NULL, p.plan, &err));
    qdq_target_free(t);
    return p;
}

/* the length is that of the rows which Softmax sees */
TEST(a_long_attention_stays_float)
{
    static const char reason[] =
        "an attention over this many positions has no faster kernel in 8 bits";
    test_builder b = attention(513, DIV);
    test_placed p = place_with_key(&b, NULL, NULL);

    assert_string_equal(test_reason(p.plan, "bmm1"), reason);
    assert_string_equal(test_reason(p.plan, "bmm2"), "its attention stays float");
    assert_string_equal(test_reason(p.plan, "o.m"), "(not left float)");
    test_placed_free(p);
    b = attention(512, DIV);
    p = place_with_key(&b, NULL, NULL);
    assert_string_equal(test_reason(p.plan, "bmm1"), "(not left float)");
    test_placed_free(p);
}

TEST(attentions_can_be_switched_off)
{
    test_builder b = attention(64, DIV);
    test_placed p = place_with_key(&b, "disable_mha_qdq", "true");

    assert_string_equal(test_reason(p.plan, "bmm1"),
                        "attentions stay float on this target (disable_mha_qdq)");
    assert_string_equal(test_reason(p.plan, "bmm2"),
                        "attentions stay float on this target (disable_mha_qdq)");
    test_placed_free(p);
}

/* What fp8 asks for: heads of a size, and a form that the engine has a kernel for. */
TEST(the_size_of_heads_and_the_form_may_count)
{
    static const char *const head[] = {"partitions.attention_filter.head_min", "17",
                                       "partitions.attention_filter.head_max", "15"};
    static const char form[] = "partitions.attention_filter.fused";

    for (int i = 0; i < 4; i += 2) {
        test_builder b = attention(64, DIV);
        test_placed p = place_with_key(&b, head[i], head[i + 1]);

        assert_string_equal(test_reason(p.plan, "bmm1"),
                            "an attention with heads of this size has no faster kernel in 8 bits");
        test_placed_free(p);
    }
    for (int i = 0; i < 2; i++) {
        test_builder b = attention(64, i == 0 ? DIV : 0);
        test_placed p = place_with_key(&b, form, "Softmax Div MatMul");

        assert_string_equal(test_reason(p.plan, "bmm1"),
                            i == 0 ? "(not left float)"
                                   : "the engine has no fused kernel for this form of attention");
        assert_string_equal(test_reason(p.plan, "bmm2"), test_reason(p.plan, "bmm1"));
        test_placed_free(p);
    }
}

TEST(the_mlp_of_a_vision_transformer)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 64, 64);
    linear(&b, "h", "x");
    TEST_RANDOM(&b, "gamma", 64);
    TEST_RANDOM(&b, "s", 1);
    TEST_NODE(&b, "LayerNormalization", "ln1", "h", "gamma");
    linear(&b, "f", "ln1");
    TEST_NODE(&b, "Div", "d", "f", "s");
    TEST_NODE(&b, "Erf", "e", "d");
    TEST_NODE(&b, "Add", "p", "e", "s");
    TEST_NODE(&b, "Mul", "fp", "f", "p");
    TEST_NODE(&b, "Mul", "gelu", "fp", "s");
    linear(&b, "g", "gelu");
    TEST_NODE(&b, "Add", "sum", "h", "g");
    TEST_NODE(&b, "LayerNormalization", "ln2", "sum", "gamma");
    TEST_RANDOM(&b, "y.w", 64, 64);
    TEST_NODE(&b, "MatMul", "y", "ln2", "y.w");
    test_output(&b, "y");
    TEST_ASSERT_LINES(&b, ON, NULL, "h: h.m h.b", "ln1: QDQ(h) gamma", "f.m: QDQ(ln1) QW(f.w)",
                      "f: f.m f.b", "d: f s", "e: d", "p: e s", "fp: f p", "gelu: fp s",
                      "g.m: QDQ(gelu) QW(g.w)", "sum: QDQ(h) QDQ(g)", "ln2: sum gamma",
                      "y: QDQ(ln2) QW(y.w)");
}
