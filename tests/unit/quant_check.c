/* quant_check.c - quantized models against targets: each kind of finding with a model that has it,
 * and one that has not. With an engine: numeric/check_ort.c. */
#include "support/test.h"

/* Findings as "kind node;", errors with a '!' in front. */
static const char *findings(const char *text, const char *target)
{
    static char list[4000];
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(text);
    qdq_target *t = NULL;
    qdq_target_check *r = NULL;

    assert_ok(qdq_target_load(target, &t, &err));
    assert_ok(qdq_model_check_target(m, t, NULL, &r, &err));
    list[0] = '\0';
    for (size_t i = 0; i < r->n; i++) {
        size_t used = strlen(list);

        assert_true(r->findings[i].why[0] != '\0');
        snprintf(list + used, sizeof list - used, "%s%s %s;", r->findings[i].is_error ? "!" : "",
                 r->findings[i].kind, r->findings[i].node);
    }
    assert_false(r->proven);
    qdq_free(r);
    qdq_target_free(t);
    qdq_model_free(m);
    return list;
}

static void assert_finds(const char *want, const char *text)
{
    assert_string_equal(findings(text, "ort-cpu"), want);
}

/* A Conv between Q/DQ: what stands between the parts varies. */
#define CONV(constants, dw, db, behind)                                                            \
    "g (float[1,2,4,4] x) => (float[1,2,4,4] y) <float s = {0.5}, uint8 z = {3}, float t = "       \
    "{0.25}, uint8 u "                                                                             \
    "= {7}, " constants "> {\n"                                                                    \
    "  q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z)\n"                                \
    "  " dw "\n  " db "\n"                                                                         \
    "  [c] c = Conv(d, dw, db)\n"                                                                  \
    "  " behind "\n"                                                                               \
    "}\n"
#define W    "int8[2,2,1,1] w = {1, 2, 3, 4}, float[2] ws = {0.5, 0.25}, int8[2] wz = {0, 0}"
#define B    "int32[2] b = {100, -100}, float[2] bs = {0.25, 0.125}"
#define DW   "dw = DequantizeLinear <axis = 0> (w, ws, wz)"
#define DB   "db = DequantizeLinear <axis = 0> (b, bs)"
#define BACK "e = QuantizeLinear(c, t, u) y = DequantizeLinear(e, t, u)"

/* The same Conv in one branch: it has its weight from around, and stands between Q/DQ of its
 * own. */
#define BRANCH(behind)                                                                             \
    "g (bool c, float[1,2,4,4] x) => (float[1,2,4,4] y) {\n"                                       \
    "  y = If(c) <then_branch = t () => (a) <float s = {0.5}, uint8 z = {3}, float t = {0.25}, "   \
    "uint8 u = "                                                                                   \
    "{7}, " W ", " B "> {\n"                                                                       \
    "    q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z)\n"                              \
    "    " DW " " DB "\n"                                                                          \
    "    [c1] k = Conv(d, dw, db)\n"                                                               \
    "    " behind "\n"                                                                             \
    "  }, else_branch = e () => (b) { [r] b = Relu(x) }>\n"                                        \
    "}\n"

TEST(check_looks_into_the_bodies_of_if)
{
    assert_finds("", BRANCH("g = QuantizeLinear(k, t, u) a = DequantizeLinear(g, t, u)"));
    assert_finds("no-output-q c1;", BRANCH("a = Relu(k)"));
}

TEST(a_complete_conv_has_no_findings)
{
    assert_finds("", CONV(W ", " B, DW, DB, BACK));
    assert_finds("", "g (float[2] x) => (float[2] y) { y = Neg(x) }");
}

TEST(scales_that_are_no_numbers_above_0_are_errors)
{
#define PAIR(scale)                                                                                \
    "g (float[2] x) => (float[2] y) <float s = {" scale "}, uint8 z = {3}> {\n"                    \
    "  [q] q = QuantizeLinear(x, s, z)\n"                                                          \
    "  [d] y = DequantizeLinear(q, s, z)\n"                                                        \
    "}\n"
#define IDLE "useless q;"
    assert_finds("!scale q;!scale d;" IDLE, PAIR("0"));
    assert_finds("!scale q;!scale d;" IDLE, PAIR("-0.5"));
    assert_finds("!scale q;!scale d;" IDLE, PAIR("nan"));
    assert_finds("!scale q;!scale d;" IDLE, PAIR("inf"));
    assert_finds("subnormal-scale q;subnormal-scale d;" IDLE, PAIR("1e-40"));
    assert_finds(IDLE, PAIR("0.5"));
}

TEST(halves_without_the_other_are_found)
{
    assert_finds("unpaired-q q;",
                 "g (float[2] x) => (uint8[2] q) <float s = {0.5}, uint8 z = {3}> {\n"
                 "  [q] q = QuantizeLinear(x, s, z)\n"
                 "}\n");
    assert_finds("unpaired-q q;",
                 "g (float[2] x) => (float[2] y) <float s = {0.5}, uint8 z = {3}> {\n"
                 "  [q] q = QuantizeLinear(x, s, z)\n"
                 "  y = Neg(x)\n"
                 "}\n");
    assert_finds("unpaired-q q;",
                 "g (float[2] x) => (float[2] y) <float s = {0.5}, uint8 z = {3}> {\n"
                 "  [q] q = QuantizeLinear(x, s, z)\n"
                 "  y = Cast <to = 1> (q)\n"
                 "}\n");
    assert_finds("unpaired-dq d;",
                 "g (uint8[2] x) => (float[2] y) <float s = {0.5}, uint8 z = {3}> {\n"
                 "  [d] y = DequantizeLinear(x, s, z)\n"
                 "}\n");
}

TEST(q_and_dq_of_one_pair_should_agree)
{
    assert_finds(
        "pair-scales d;" IDLE,
        "g (float[2] x) => (float[2] y) <float s = {0.5}, uint8 z = {3}, float t = {0.25}> {\n"
        "  [q] q = QuantizeLinear(x, s, z)\n"
        "  [d] y = DequantizeLinear(q, t, z)\n"
        "}\n");
    assert_finds(IDLE, "<ir_version: 9, opset_import: [\"\" : 19]>\n"
                       "g (float16[2] x) => (float16[2] y) <float16 s = {0.5}, float16 t = {0.5}, "
                       "uint8 z = {3}> {\n"
                       "  [q] q = QuantizeLinear(x, s, z)\n"
                       "  [d] y = DequantizeLinear(q, t, z)\n"
                       "}\n");
}

/* ... in bodies of If, too */
TEST(numbers_inside_subgraphs_are_looked_at)
{
    assert_finds("!scale q;!scale d;useless q;",
                 "g (bool c, float[2] x) => (float[2] y) <float s = {0}, uint8 z = {3}> {\n"
                 "  y = If <then_branch = a () => (float[2] p) {\n"
                 "    [q] q = QuantizeLinear(x, s, z)\n"
                 "    [d] p = DequantizeLinear(q, s, z)\n"
                 "  }, else_branch = b () => (float[2] r) { r = Neg(x) }> (c)\n"
                 "}\n");
}

TEST(types_and_zero_points_are_those_of_the_target)
{
    static const char uint8[] =
        "g (float[1,2,4,4] x) => (float[1,2,4,4] y) <float s = {0.5}, uint8 z = {3}, "
        "float[2,2,1,1] w = {1, 2, 3, 4}> {\n"
        "  [q] q = QuantizeLinear(x, s, z)\n"
        "  d = DequantizeLinear(q, s, z)\n"
        "  y = Relu(d)\n"
        "}\n";
    static const char shifted[] =
        "g (float[1,2,4,4] x) => (float[1,2,4,4] y) <float s = {0.5}, int8 z = {3}> {\n"
        "  [q] q = QuantizeLinear(x, s, z)\n"
        "  d = DequantizeLinear(q, s, z)\n"
        "  y = Relu(d)\n"
        "}\n";
    static const char centred[] =
        "g (float[1,2,4,4] x) => (float[1,2,4,4] y) <float s = {0.5}, int8 z = {0}> {\n"
        "  [q] q = QuantizeLinear(x, s, z)\n"
        "  d = DequantizeLinear(q, s, z)\n"
        "  y = Relu(d)\n"
        "}\n";

    assert_string_equal(findings(uint8, "tensorrt"), "type q;" IDLE);
    assert_string_equal(findings(shifted, "tensorrt"), "zero-point q;" IDLE);
    assert_string_equal(findings(centred, "tensorrt"), IDLE);
    assert_string_equal(findings(uint8, "ort-cpu"), IDLE);
}

TEST(scales_of_a_weight_along_the_wrong_dim_are_an_error)
{
    assert_finds("!weight-axis c;not-fused c;",
                 CONV(W ", " B, "dw = DequantizeLinear <axis = 1> (w, ws, wz)", DB, BACK));
}

TEST(a_bias_of_another_scale_is_an_error)
{
    assert_finds("!bias-scale c;",
                 CONV(W ", int32[2] b = {100, -100}, float[2] bs = {0.25, 0.130}", DW, DB, BACK));
    assert_finds("",
                 CONV(W ", int32[2] b = {100, -100}, float[2] bs = {0.25, 0.1251}", DW, DB, BACK));
}

TEST(a_bias_beyond_int32_is_an_error)
{
    assert_finds(
        "!bias-overflow c;",
        CONV(W ", int32[2] b = {100, 2147483647}, float[2] bs = {0.25, 0.125}", DW, DB, BACK));
    assert_finds(
        "!bias-overflow c;float-bias c;",
        CONV("int8[2,2,1,1] w = {1, 2, 3, 4}, float[2] ws = {0.5, 1e-9}, int8[2] wz = {0, 0}, "
             "float[2] db = {1, 5}",
             DW, "", BACK));
    assert_finds("float-bias c;", CONV(W ", float[2] db = {1, 5}", DW, "", BACK));
}

TEST(a_float_weight_between_q_and_dq_is_found)
{
    assert_finds("float-weight c;",
                 CONV("float[2,2,1,1] dw = {1, 2, 3, 4}, float[2] db = {1, 5}", "", "", BACK));
}

TEST(float_data_in_front_of_a_quantized_weight_is_found)
{
    assert_finds("float-data c;", "g (float[1,2,4,4] x) => (float[1,2,4,4] y) <" W
                                  ", float[2] db = {1, 2}, float t = {0.25}, uint8 u = {7}> {\n"
                                  "  " DW "\n"
                                  "  n = Neg(x) [c] c = Conv(n, dw, db)\n"
                                  "  " BACK "\n"
                                  "}\n");
    assert_finds(
        "float-data m;",
        "g (float[2,2] x, float[2,2] v) => (float[2,2] y) <float s = {0.5}, uint8 z = {3}> {\n"
        "  q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z)\n"
        "  [m] y = MatMul(d, v)\n"
        "}\n");
}

TEST(a_conv_needs_q_alone_behind_it)
{
    assert_finds("no-output-q c;", CONV(W ", " B, DW, DB, "y = Neg(c)"));
    assert_finds("shared-result c;",
                 CONV(W ", " B, DW, DB,
                      "e = QuantizeLinear(c, t, u) f = DequantizeLinear(e, t, u) y = Sub(f, c)"));
    assert_finds(
        "shared-result c;",
        "g (float[1,2,4,4] x) => (float[1,2,4,4] c, float[1,2,4,4] y) <float s = {0.5}, uint8 z = "
        "{3}, float t = "
        "{0.25}, uint8 u = {7}, " W ", " B "> {\n"
        "  q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z)\n"
        "  " DW "\n  " DB "\n"
        "  [c] c = Conv(d, dw, db)\n"
        "  e = QuantizeLinear(c, t, u) f = DequantizeLinear(e, t, u) y = Neg(f)\n"
        "}\n");
}

TEST(a_relu_that_codes_do_not_replace_is_found)
{
    assert_finds("bounds c;",
                 CONV(W ", " B, DW, DB,
                      "r = Relu(c) e = QuantizeLinear(r, t, u) y = DequantizeLinear(e, t, u)"));
    assert_finds("", CONV(W ", " B ", uint8 o = {0}", DW, DB,
                          "r = Relu(c) e = QuantizeLinear(r, t, o) y = DequantizeLinear(e, t, o)"));
    assert_finds(
        "bounds c;",
        CONV(W ", " B ", uint8 o = {0}, float low = {0}, float high = {6}", DW, DB,
             "r = Clip(c, low, high) e = QuantizeLinear(r, t, o) y = DequantizeLinear(e, t, o)"));
    assert_finds(
        "",
        CONV(W ", " B ", uint8 o = {0}, float low = {0}, float high = {63.75}", DW, DB,
             "r = Clip(c, low, high) e = QuantizeLinear(r, t, o) y = DequantizeLinear(e, t, o)"));
}

TEST(int8_data_with_two_readers_is_found)
{
#define INT8(second)                                                                               \
    "g (float[1,2,4,4] x) => (float[1,2,4,4] y, float[1,2,4,4] v) <float s = {0.5}, int8 z = "     \
    "{0}, " W ", " B "> {\n"                                                                       \
    "  q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z)\n"                                \
    "  " DW "\n  " DB "\n"                                                                         \
    "  [c] c = Conv(d, dw, db) e = QuantizeLinear(c, s, z) y = DequantizeLinear(e, s, z)\n"        \
    "  v = Neg(" second ")\n"                                                                      \
    "}\n"
    assert_finds("int8-shared c;", INT8("d"));
    assert_finds("", INT8("x"));
}

TEST(operators_that_move_codes_want_one_scale)
{
    static const char same[] =
        "g (float[1,2,4,4] x) => (float[1,2,4,4] y) <float s = {0.5}, uint8 z = {3}, float t = "
        "{0.25}, " W "> {\n"
        "  q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z)\n"
        "  [m] m = MaxPool <kernel_shape = [1, 1]> (d)\n"
        "  mq = QuantizeLinear(m, s, z) md = DequantizeLinear(mq, s, z)\n"
        "  " DW "\n"
        "  [c] c = Conv(md, dw) e = QuantizeLinear(c, t, z) y = DequantizeLinear(e, t, z)\n"
        "}\n";
    static const char other[] =
        "g (float[1,2,4,4] x) => (float[1,2,4,4] y) <float s = {0.5}, uint8 z = {3}, float t = "
        "{0.25}, " W "> {\n"
        "  q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z)\n"
        "  [m] m = MaxPool <kernel_shape = [1, 1]> (d)\n"
        "  mq = QuantizeLinear(m, t, z) md = DequantizeLinear(mq, t, z)\n"
        "  " DW "\n"
        "  [c] c = Conv(md, dw) e = QuantizeLinear(c, t, z) y = DequantizeLinear(e, t, z)\n"
        "}\n";
    static const char concat[] =
        "g (float[2] x, float[2] v) => (float[4] y) <float s = {0.5}, float t = {0.25}, int8 z = "
        "{0}> {\n"
        "  q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z)\n"
        "  r = QuantizeLinear(v, t, z) e = DequantizeLinear(r, t, z)\n"
        "  [k] y = Concat <axis = 0> (d, e)\n"
        "}\n";

    assert_finds("", same);
    assert_finds("tied-scales m;", other);
    assert_non_null(strstr(findings(concat, "tensorrt"), "tied-scales k;"));
    assert_null(strstr(findings(concat, "ort-cpu"), "tied-scales"));
}

/* Conv, what stands between it and another one, and Q/DQ as both kernels need them: `d` is the
 * first one's result behind its pair, `m` what the second one's pair reads. */
#define BETWEEN(nodes)                                                                             \
    CONV(W ", " B ", float r = {1.4142135}, float one = {1}, float half = {0.5}, int8 n = {5}",    \
         DW, DB,                                                                                   \
         "e = QuantizeLinear(c, t, u) f = DequantizeLinear(e, t, u) " nodes                        \
         " o = QuantizeLinear(m, s, z) p = DequantizeLinear(o, s, z) k = Conv(p, dw, db) "         \
         "l = QuantizeLinear(k, t, u) y = DequantizeLinear(l, t, u)")

/* "not-fused m: an input is not in 8 bits", although both Convs need the Q/DQ around it */
TEST(a_mul_of_a_gelu_between_convs_in_8_bits_is_no_finding)
{
    static const char ends[] = BETWEEN("a = Div(f, r) v = Erf(a) g = Add(v, one) h = Mul(g, half) "
                                       "[m] m = Mul(f, h)"),
                      begins[] = BETWEEN("a = Div(f, r) v = Erf(a) g = Add(v, one) "
                                         "[h] h = Mul(f, g) m = Mul(h, half)"),
                      halved[] = BETWEEN("a = Div(f, r) v = Erf(a) g = Add(v, one) "
                                         "[h] h = Mul(f, half) m = Mul(h, g)"),
                      tanh[] = BETWEEN("[h] h = Mul(f, half) a = Tanh(f) g = Add(a, one) "
                                       "m = Mul(h, g)");
    const char *const target[] = {"ort-cpu", "ort-arm"};

    for (size_t i = 0; i < QDQ_COUNT(target); i++) {
        assert_string_equal(findings(ends, target[i]), "");
        assert_string_equal(findings(begins, target[i]), "");
        assert_string_equal(findings(halved, target[i]), "");
        assert_string_equal(findings(tanh, target[i]), "");
    }
}

TEST(a_mul_of_x_times_sigmoid_in_float_between_convs_in_8_bits_is_no_finding)
{
    assert_finds("", BETWEEN("a = HardSigmoid(f) [m] m = Mul(f, a)"));
    assert_finds("", BETWEEN("v = Neg(f) a = Sigmoid(v) [m] m = Mul(f, a)"));
}

/* ... but where Q/DQ are there for it alone, it is one. */
TEST(a_float_mul_whose_q_and_dq_serve_no_kernel_is_not_fused)
{
    /* after it */
    assert_finds("not-fused m;",
                 CONV(W ", " B, DW, DB,
                      "e = QuantizeLinear(c, t, u) f = DequantizeLinear(e, t, u) a = Erf(f) "
                      "[m] m = Mul(f, a) o = QuantizeLinear(m, s, z) p = DequantizeLinear(o, s, z) "
                      "y = Neg(p)"));
    /* before it */
    assert_finds("not-fused m;", BETWEEN("v = Neg(f) [i] i = QuantizeLinear(v, t, u) "
                                         "j = DequantizeLinear(i, t, u) a = Erf(f) "
                                         "[m] m = Mul(j, a)"));
    assert_finds("not-fused m;", BETWEEN("a = DequantizeLinear(n, half) [m] m = Mul(f, a)"));
    /* two of them, with a pair between that only they see */
    assert_finds("not-fused h;not-fused m;",
                 BETWEEN("a = Erf(f) [h] h = Mul(f, a) i = QuantizeLinear(h, t, u) "
                         "j = DequantizeLinear(i, t, u) [m] m = Mul(j, a)"));
}

TEST(a_node_without_kernel_for_its_attributes_is_not_fused)
{
    assert_finds("not-fused m;", "g (float[2,2] x) => (float[2,2] y) <float s = {0.5}, uint8 z = "
                                 "{3}, int8[2,2] w = {1, 2, 3, "
                                 "4}, float ws = {0.5}, int8 wz = {0}> {\n"
                                 "  q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) dw = "
                                 "DequantizeLinear(w, ws, wz)\n"
                                 "  [m] y = Gemm <alpha = 2.0> (d, dw)\n"
                                 "}\n");
}

TEST(a_constant_that_is_dequantized_for_float_readers_is_found)
{
    assert_finds(
        "constant n;",
        "g (float[2] x) => (float[2] y) <int8[2] w = {1, 2}, float ws = {0.5}, int8 wz = {0}> {\n"
        "  dw = DequantizeLinear(w, ws, wz)\n"
        "  [n] y = Sub(x, dw)\n"
        "}\n");
}

TEST(cost_counts_what_is_converted_for_nothing)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(CONV(W ", " B, DW, DB, "y = Neg(c)"));
    qdq_target *t = NULL;
    qdq_target_check *r = NULL;

    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    assert_ok(qdq_model_check_target(m, t, NULL, &r, &err));
    assert_int_equal(r->n, 1);
    assert_int_equal(r->findings[0].converted, 32 + 4 + 2);
    assert_int_equal(r->converted, 38);
    assert_int_equal(r->n_quantizers, 4);
    assert_int_equal(r->n_unfused, 1);
    qdq_free(r);
    qdq_target_free(t);
    qdq_model_free(m);
}

TEST(kinds_have_names_and_help)
{
    const char *help = NULL;
    size_t n = 0;

    while (qdq_check_kind(n, &help) != NULL && help != NULL)
        n++;
    assert_int_equal(n, 23);
    assert_null(help);
}

TEST(operators_on_codes_are_checked_as_q_and_dq)
{
    assert_finds("", "g (float[2] x) => (float[2] y) <float s = {0.5}, uint8 z = {3}> {\n"
                     "  q = QuantizeLinear(x, s, z)\n"
                     "  a = com.microsoft.QLinearAdd(q, s, z, q, s, z, s, z)\n"
                     "  y = DequantizeLinear(a, s, z)\n"
                     "}\n");
}

/* Data is float by design, so that nothing next to the weight is to be fused: what `quantize -T
 * int4` writes. */
TEST(a_weight_in_codes_is_all_that_a_target_of_weights_alone_wants)
{
    static const char text[] = "<ir_version: 10, opset_import: [\"\" : 21]>\n"
                               "g (float[2,4] x, int64[2] i) => (float[2,2] y, float[2,4] z) "
                               "<int4[4,2] w = {1, 2, 3, 4, 5, 6, 7, "
                               "-8}, "
                               "float[2,2] s = {0.5, 0.25, 0.5, 0.25}, int4[4,4] t = {1, 2, 3, 4, "
                               "5, 6, 7, 1, 1, 2, 3, 4, 5, 6, 7, "
                               "1}, "
                               "float[4,2] u = {1, 1, 1, 1, 1, 1, 1, 1}> {\n"
                               "  [dw] dw = DequantizeLinear <axis = 0, block_size = 2> (w, s)\n"
                               "  [m] y = MatMul(x, dw)\n"
                               "  dt = DequantizeLinear <axis = 1, block_size = 2> (t, u)\n"
                               "  [e] z = Gather(dt, i)\n"
                               "}\n";
    const char *const target[] = {"int4", "ort-cpu-int4"};

    for (size_t i = 0; i < QDQ_COUNT(target); i++) {
        qdq_error err = QDQ_ERROR_INIT;
        qdq_model *m = test_model(text);
        qdq_target *t = NULL;
        qdq_target_check *r = NULL;

        assert_string_equal(findings(text, target[i]), "");
        assert_ok(qdq_target_load(target[i], &t, &err));
        assert_ok(qdq_model_check_target(m, t, NULL, &r, &err));
        assert_int_equal(r->n_weights, 2);
        assert_int_equal(r->n_fused, 0);
        assert_int_equal(r->n_unfused, 0);
        assert_int_equal(r->converted, 0);
        qdq_free(r);
        qdq_target_free(t);
        qdq_model_free(m);
    }
    assert_string_equal(findings(text, "ort-cpu"), "not-fused m;not-fused e;");
}

/* What `quantize -T ort-cpu-int4` writes: no node next to them is to be fused, and the product of
 * two blocks counts once. Another target knows no such operators. */
TEST(weights_inside_matmulnbits_are_what_ort_cpu_int4_wants)
{
    static const char text[] =
        "<ir_version: 10, opset_import: [\"\" : 21, \"com.microsoft\" : 1]>\n"
        "g (float[3,4] x, int64[2] i, bool k) => (float[3,2] y, float[2,2] z, float[3,2] v) <"
        "uint8[2,1,8] w = {121, 138, 0, 0, 0, 0, 0, 0, 187, 240, 0, 0, 0, 0, 0, 0}, "
        "float[2] s = {1, 0.5}, float[2] b = {5, 6}, int4[2,2] t = {1, -8, 7, 0}, "
        "float[2,1] ts = {1, 1}> {\n"
        "  [m] y = com.microsoft.MatMulNBits <K = 4, N = 2, block_size = 16> "
        "(x, w, s, \"\", \"\", b)\n"
        "  [e] z = com.microsoft.GatherBlockQuantized <block_size = 16> (t, i, ts)\n"
        "  v = If <then_branch = p () => (float[3,2] a) {\n"
        "    a = com.microsoft.MatMulNBits <K = 4, N = 2, block_size = 16> (x, w, s)\n"
        "  }, else_branch = q () => (float[3,2] c) { c = Neg(y) }> (k)\n"
        "}\n";
    static const struct {
        const char *target;
        size_t n_weights;
    } of[] = {{"ort-cpu-int4", 3}, {"int4", 0}, {"ort-cpu", 0}};

    for (size_t i = 0; i < QDQ_COUNT(of); i++) {
        qdq_error err = QDQ_ERROR_INIT;
        qdq_model *m = test_model(text);
        qdq_target *t = NULL;
        qdq_target_check *r = NULL;

        assert_string_equal(findings(text, of[i].target), "");
        assert_ok(qdq_target_load(of[i].target, &t, &err));
        assert_ok(qdq_model_check_target(m, t, NULL, &r, &err));
        assert_int_equal(r->n_weights, of[i].n_weights);
        assert_int_equal(r->n_quantizers, 0);
        qdq_free(r);
        qdq_target_free(t);
        qdq_model_free(m);
    }
}

/* ... of data it wants none, and a constant that no rule names is no weight. */
TEST(quantized_data_is_found_where_weights_alone_are_to_be)
{
    assert_string_equal(
        findings("g (float[2,2] x) => (float[2,2] y) <float s = {0.5}, uint8 z = {3}, "
                 "int8[2,2] w = {1, 2, 3, 4}, float ws = {0.5}, int8 wz = {0}> {\n"
                 "  [q] q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z)\n"
                 "  dw = DequantizeLinear(w, ws, wz)\n"
                 "  [m] y = MatMul(d, dw)\n"
                 "}\n",
                 "int4"),
        "type q;");
    assert_string_equal(findings("g (float[2] x) => (float[2] y) <int8[2] w = {1, 2}, float ws = "
                                 "{0.5}, int8 wz = {0}> {\n"
                                 "  dw = DequantizeLinear(w, ws, wz)\n"
                                 "  [n] y = Sub(x, dw)\n"
                                 "}\n",
                                 "int4"),
                        "constant n;");
}

/* An override of weights alone counts for its node only. */
TEST(an_override_of_weights_alone_is_heard)
{
    static const char text[] = "g (float[2,2] x) => (float[2,2] z) <int8[2,2] w = {1, 2, 3, 4}, "
                               "float ws = {0.5}, int8 wz = {0}> {\n"
                               "  dw = DequantizeLinear(w, ws, wz)\n"
                               "  [m] y = MatMul(x, dw)\n"
                               "  dv = DequantizeLinear(w, ws, wz)\n"
                               "  [n] z = MatMul(y, dv)\n"
                               "}\n";
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(text);
    qdq_target *t = NULL;
    qdq_target_check *r = NULL;

    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    assert_ok(qdq_target_set(t, "overrides",
                             "[{\"node\": \"^m$\", \"activation\": {\"type\": \"float\"}}]", &err));
    assert_ok(qdq_model_check_target(m, t, NULL, &r, &err));
    assert_int_equal(r->n, 1);
    assert_string_equal(r->findings[0].node, "n");
    assert_int_equal(r->n_weights, 1);
    qdq_free(r);
    qdq_target_free(t);
    qdq_model_free(m);
}

TEST(a_target_without_rules_is_refused)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model("g (float[2] x) => (float[2] y) { y = Neg(x) }");
    qdq_target *t = NULL;
    qdq_target_check *r = NULL;

    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    assert_ok(qdq_target_set(t, "operators", "[]", &err));
    assert_fails(QDQ_E_UNSUPPORTED, "has no rules", qdq_model_check_target(m, t, NULL, &r, &err));
    assert_null(r);
    qdq_target_free(t);
    qdq_model_free(m);
}

/* MatMul and Add between DQ and floats, with this input, bias and rest. */
#define ADDED(dims, bias, behind)                                                                  \
    "g (float[" dims ",2] x) => (float[" dims                                                      \
    ",2] y) <float s = {0.5}, uint8 z = {3}, int8[2,2] w = {1, 2, 3, 4}, "                         \
    "float[2] ws = {0.5, 0.25}, int8[2] wz = {0, 0}, " bias "> {\n"                                \
    "  q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z)\n"                                \
    "  dw = DequantizeLinear <axis = 1> (w, ws, wz)\n"                                             \
    "  [m] p = MatMul(d, dw) [a] t = Add(p, c)\n"                                                  \
    "  " behind "\n}\n"

TEST(a_bias_that_makes_a_float_gemm_once_shapes_are_fixed_is_found)
{
    assert_finds("slow-if-fixed m;", ADDED("N,3", "float[2] c = {5, 6}", "y = Neg(t)"));
    assert_finds("", ADDED("N,3", "float[1,1,2] c = {5, 6}", "y = Neg(t)"));
    assert_finds("", ADDED("N,3", "float[1,2] c = {5, 6}", "y = Neg(t)"));
    assert_null(strstr(findings(ADDED("N,3", "float[2] c = {5, 6}", "y = Neg(t)"), "openvino"),
                       "slow-if-fixed"));
}
