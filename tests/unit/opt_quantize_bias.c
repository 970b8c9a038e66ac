/* opt_quantize_bias.c - the bias between Q/DQ: what becomes of graphs, what stays and why. */
#include "support/rewrite.h"

#define PASS "quantize-bias"

/* --- what it makes of graphs ------------------------------------------------------------------ */

#define BIAS_DQ(b, axis)                                                                           \
    "  [" b "_DequantizeLinear] " b "_DequantizeLinear_Output = DequantizeLinear" axis "(" b       \
    "_quantized, " b "_scale, " b "_zero_point)\n"

#define GEMM(bias)                                                                                 \
    "g (uint8[4,1] xq) => (float[4,2] y) <float xs = {0.1}, uint8 xz = {3}, int8[1,2] wq = {1, "   \
    "2}, "                                                                                         \
    "float[2] ws = {0.02, 0.04}, " bias "> {\n  x = DequantizeLinear(xq, xs, xz)\n"                \
    "  w = DequantizeLinear <axis = 1> (wq, ws)\n"
#define GEMM_AFTER(ws, bs)                                                                         \
    "g (uint8[4,1] xq) => (float[4,2] y) <float xs = {0.1}, uint8 xz = {3}, int8[1,2] wq = {1, "   \
    "2}, "                                                                                         \
    "float[2] " ws ", int32[2] b_quantized = {250, -375}, float[2] b_scale = " bs ", "             \
    "int32[2] b_zero_point = {0, 0}> {\n  x = DequantizeLinear(xq, xs, xz)\n"

/* convbn 4 cases 14 and 15 */
static void gemm_takes_alpha_and_beta_into_scales(void **state)
{
    const char *beta =
        GEMM_AFTER("ws = {0.02, 0.04}",
                   "{0.002, 0.004}") "  w = DequantizeLinear <axis = 1> (wq, "
                                     "ws)\n" BIAS_DQ("b", " <axis = 0> ") "  y = Gemm <beta = 1.0> "
                                                                          "(x, w, "
                                                                          "b_DequantizeLinear_"
                                                                          "Output)\n}\n";

    (void)state;
    assert_becomes(PASS, GEMM("float[2] b = {1, -3}") "  y = Gemm <beta = 0.5> (x, w, b)\n}\n",
                   beta);
    assert_becomes(PASS, GEMM("float[1,2] b = {1, -3}") "  y = Gemm <beta = 0.5> (x, w, b)\n}\n",
                   beta);
    assert_becomes(PASS, GEMM("float[2] b = {1, -3}") "  y = Gemm <alpha = 2.0> (x, w, b)\n}\n",
                   GEMM_AFTER("ws_folded = {0.04, 0.08}",
                              "{0.004, 0.008}") "  w = DequantizeLinear <axis = 1> (wq, "
                                                "ws_folded)\n" BIAS_DQ(
                                                    "b", " <axis = 0> ") "  y = Gemm <alpha = "
                                                                         "1.0> (x, w, "
                                                                         "b_DequantizeLinear_"
                                                                         "Output)\n}\n");
    assert_refused(
        PASS,
        GEMM("float[4,2] b = {1, -3, 1, 1, 1, 1, 1, 1}") "  y = Gemm <beta = 0.5> (x, w, b)\n}\n",
        "its bias is not one number per channel");
    assert_refused(PASS, GEMM("float[4,1] b = {1, -3, 1, 1}") "  y = Gemm(x, w, b)\n}\n",
                   "its bias is not one number per channel");
    assert_refused(PASS, GEMM("float[2,1] b = {1, -3}") "  y = Gemm(x, w, b)\n}\n",
                   "its bias is not one number per channel");
    assert_refused(PASS, GEMM("float[2] b = {1, -3}") "  y = Gemm <alpha = -1.0> (x, w, b)\n}\n",
                   "its alpha is not above 0");
    assert_refused(PASS, GEMM("float[2] b = {1, -3}") "  y = Gemm <alpha = nan> (x, w, b)\n}\n",
                   "its alpha is not above 0");
    assert_refused(PASS, GEMM("float[2] b = {1, -3}") "  y = Gemm <beta = inf> (x, w, b)\n}\n",
                   "its bias is not finite");
    assert_kept(PASS, GEMM("float[2] b = {1, -3}") "  y = Gemm(x, w)\n}\n");
}

#define MATMUL(rows, bias)                                                                         \
    "g (uint8[" rows ",1] xq) => (y) <float xs = {0.02}, uint8 xz = {3}, int8[1,1] wq = {1}, "     \
    "float ws = {0.01}, float" bias "> {\n"                                                        \
    "  x = DequantizeLinear(xq, xs, xz)\n  w = DequantizeLinear(wq, ws)\n  t = MatMul(x, w)\n"

/* convbn 4 case 16 */
static void matmul_and_add_become_gemm(void **state)
{
    const char *after =
        "g (uint8[N,1] xq) => (y) <float xs = {0.02}, uint8 xz = {3}, int8[1,1] wq = {1}, float ws "
        "= {0.01}, "
        "int32[1] b_quantized = {1500}, float b_scale = {0.000199999995}, int32 b_zero_point = "
        "{0}> {\n"
        "  x = DequantizeLinear(xq, xs, xz)\n  w = DequantizeLinear(wq, ws)\n" BIAS_DQ(
            "b", "") "  y = Gemm(x, w, b_DequantizeLinear_Output)\n}\n";

    (void)state;
    assert_becomes(PASS, MATMUL("N", "[1] b = {0.3}") "  y = Add(t, b)\n}\n", after);
    assert_becomes(PASS, MATMUL("N", " b = {0.3}") "  y = Add(b, t)\n}\n", after);
    assert_kept(
        PASS,
        MATMUL("N", "[1] b = {0.3}") "  tq = QuantizeLinear(t, xs, xz)\n"
                                     "  td = DequantizeLinear(tq, xs, xz)\n  y = Add(td, b)\n}\n");
    assert_kept(PASS, MATMUL("N", "[1] b = {0.3}") "  y = Mul(t, b)\n}\n");
    assert_kept(PASS, MATMUL("N", "[1] b = {0.3}") "  s = Add(t, b)\n  y = Add(s, t)\n}\n");
    assert_refused(PASS, MATMUL("2,N", "[1] b = {0.3}") "  y = Add(t, b)\n}\n",
                   "not known to be a matrix");
    assert_refused(PASS, MATMUL("N", "[2,1] b = {1, 2}") "  y = Add(t, b)\n}\n",
                   "not one number per channel");
    assert_refused(PASS, MATMUL("N", "[1,1,1] b = {1}") "  y = Add(t, b)\n}\n",
                   "not one number per channel");
    assert_refused(PASS, MATMUL("N", "[1] b = {0.3}") "  c = Relu(b)\n  y = Add(t, c)\n}\n",
                   "its bias is computed");
}

#define CONV(out, weight, bias)                                                                    \
    "g (uint8[1,1,1,1] xq) => (float[1," out                                                       \
    ",1,1] y) <float xs = {0.02}, uint8 xz = {3}, " weight ", " bias "> {\n"                       \
    "  x = DequantizeLinear(xq, xs, xz)\n"
#define ONE    "int8[1,1,1,1] wq = {1}, float ws = {0.01}"
#define W_DQ   "  w = DequantizeLinear(wq, ws)\n"
#define Y_CONV "  y = Conv(x, w, b)\n}\n"

/* convbn 4 case 17 */
static void a_shared_bias_becomes_two(void **state)
{
#define SHARED(more)                                                                               \
    "g (uint8[1,1,1,1] xq) => (float[1,2,1,1] y, float[1,2,1,1] z) <float xs = {0.02}, uint8 xz "  \
    "= {3}, "                                                                                      \
    "float us = {0.05}, int8[2,1,1,1] wq = {1, 2}, float ws = {0.01}, " more "> {\n"               \
    "  x = DequantizeLinear(xq, xs, xz)\n  u = DequantizeLinear(xq, us, xz)\n  w = "               \
    "DequantizeLinear(wq, "                                                                        \
    "ws)\n"
    (void)state;
    assert_becomes(
        PASS, SHARED("float[2] b = {0.3, -0.12}") "  y = Conv(x, w, b)\n  z = Conv(u, w, b)\n}\n",
        SHARED("int32[2] b_quantized = {1500, -600}, float b_scale = {0.0002}, int32 b_zero_point "
               "= {0}, "
               "int32[2] b_quantized_1 = {600, -240}, float b_scale_1 = {0.0005}, int32 "
               "b_zero_point_1 = {0}")
            BIAS_DQ("b", "") "  y = Conv(x, w, b_DequantizeLinear_Output)\n"
                             "  [b_DequantizeLinear_1] b_DequantizeLinear_Output_1 = "
                             "DequantizeLinear(b_quantized_1, b_scale_1, "
                             "b_zero_point_1)\n  z = Conv(u, w, b_DequantizeLinear_Output_1)\n}\n");
}

#define REPAIRED(b, code)                                                                          \
    "int32[1] " b "_quantized = {" code "}, float " b "_scale = {0.000199999995}, int32 " b        \
    "_zero_point = {0}"
#define REPAIRED_CONV(b) W_DQ BIAS_DQ(b, "") "  y = Conv(x, w, " b "_DequantizeLinear_Output)\n}\n"

/* convbn 4 case 18, and the other ways in which a bias can be codes already */
static void a_bias_of_codes_is_repaired_if_its_scale_is_another(void **state)
{
#define CODES(bias, node) CONV("1", ONE, bias) W_DQ node Y_CONV
    (void)state;
    assert_becomes(
        PASS, CODES("int32[1] k = {250}, float ks = {0.001}", "  b = DequantizeLinear(k, ks)\n"),
        CONV("1", ONE, REPAIRED("k", "1250")) REPAIRED_CONV("k"));
    assert_becomes(PASS,
                   CODES("int8[1] k = {25}, float ks = {0.01}", "  b = DequantizeLinear(k, ks)\n"),
                   CONV("1", ONE, REPAIRED("k", "1250")) REPAIRED_CONV("k"));
    assert_becomes(PASS,
                   CODES("int32[1] k = {255}, float ks = {0.001}, int32 kz = {5}",
                         "  b = DequantizeLinear(k, ks, kz)\n"),
                   CONV("1", ONE, REPAIRED("k", "1250")) REPAIRED_CONV("k"));
    assert_becomes(PASS,
                   CODES("float[1] k = {0.25}, float ks = {0.01}, int8 kz = {0}",
                         "  q = QuantizeLinear(k, ks, kz)\n  b = DequantizeLinear(q, ks, kz)\n"),
                   CONV("1", ONE, REPAIRED("q", "1250")) REPAIRED_CONV("q"));
    /* right within 1e-5, with or without a zero point, as scalar or list */
    assert_kept(PASS, CODES("int32[1] k = {250}, float ks = {0.000200001}",
                            "  b = DequantizeLinear(k, ks)\n"));
    assert_kept(PASS, CODES("int32[1] k = {250}, float[1] ks = {0.0002}, int32[1] kz = {0}",
                            "  b = DequantizeLinear <axis = 0> (k, ks, kz)\n"));
    assert_refused(
        PASS,
        "g (uint8[1,1,1,1] xq, int32[1] k) => (y) <float xs = {0.02}, uint8 xz = {3}, " ONE
        "> {\n  x = DequantizeLinear(xq, xs, xz)\n" W_DQ "  b = DequantizeLinear(k, ws)\n" Y_CONV,
        "its bias is computed");
    assert_refused(PASS, CODES("int32[1] k = {250}", "  b = DequantizeLinear(k, x)\n"),
                   "its scale is computed");
    assert_refused(PASS, CODES("float8e4m3fn[1] k = {1.0}", "  b = DequantizeLinear(k, ws)\n"),
                   "codes that are no integers");
}

/* convbn 4 case 19 */
static void a_bias_behind_shape_operators_is_seen(void **state)
{
#define FOUR(more)                                                                                 \
    "g (uint8[1,1,1,1] xq) => (float[1,4,1,1] y) <float xs = {0.02}, uint8 xz = {3}, "             \
    "int8[4,1,1,1] wq = {1, 1, 1, 1}, float ws = {0.005}" more                                     \
    "> {\n  x = DequantizeLinear(xq, xs, xz)\n" W_DQ
    (void)state;
    assert_becomes(
        PASS ",drop-unused",
        FOUR("") "  k = Constant <value = float[2,2] {0.5, -0.25, 0, 1.2345}> ()\n"
                 "  s = Constant <value = int64[1] {-1}> ()\n"
                 "  r = Reshape(k, s)\n  b = Identity(r)\n" Y_CONV,
        FOUR(", int32[4] b_quantized = {5000, -2500, 0, 12345}, float b_scale = {9.99999975e-05}, "
             "int32 b_zero_point = {0}")
            BIAS_DQ("b", "") "  y = Conv(x, w, b_DequantizeLinear_Output)\n}\n");
    assert_refused(
        PASS,
        "g (uint8[1,1,1,1] xq, float[1] b = {0.25}) => (y) <float xs = {0.02}, uint8 xz = {3}, " ONE
        "> {\n  x = DequantizeLinear(xq, xs, xz)\n" W_DQ Y_CONV,
        "its bias is computed");
}

static void data_may_come_through_operators_that_move_it(void **state)
{
#define MOVED(w, b)                                                                                \
    "g (uint8[1,1] xq) => (y) <float xs = {0.02}, uint8 xz = {3}, int64[4] s = {1, 1, 1, 1}, " ONE \
    ", " b "> {\n  d = DequantizeLinear(xq, xs, xz)\n  t = Transpose(d)\n  x = Reshape(t, s)\n" w
    (void)state;
    assert_becomes(PASS, MOVED(W_DQ, "float[1] b = {0.3}") Y_CONV,
                   MOVED("", REPAIRED("b", "1500")) REPAIRED_CONV("b"));
}

/* The groups of a ConvTranspose share the scales of the weight: each output channel has one of its
 * own. */
static void grouped_convtranspose_repeats_the_scales(void **state)
{
#define TRANSPOSED(more)                                                                           \
    "g (uint8[1,2,1,1] xq) => (y) <float xs = {0.5}, uint8 xz = {3}, int8[2,2,1,1] wq = {1, 2, "   \
    "3, 4}, "                                                                                      \
    "float[2] ws = {0.5, 0.25}, " more                                                             \
    "> {\n  x = DequantizeLinear(xq, xs, xz)\n  w = DequantizeLinear(wq, ws)\n"
    (void)state;
    assert_becomes(
        PASS,
        TRANSPOSED("float[4] b = {1, 1, 2, 2}") "  y = ConvTranspose <group = 2> (x, w, b)\n}\n",
        TRANSPOSED(
            "int32[4] b_quantized = {4, 8, 8, 16}, float[4] b_scale = {0.25, 0.125, 0.25, 0.125}, "
            "int32[4] b_zero_point = {0, 0, 0, 0}")
            BIAS_DQ("b", " <axis = 0> ") "  y = ConvTranspose <group = 2> (x, w, "
                                         "b_DequantizeLinear_Output)\n}\n");
    assert_refused(
        PASS,
        TRANSPOSED("float[4] b = {1, 1, 2, 2}") "  y = ConvTranspose <group = 3> (x, w, b)\n}\n",
        "its groups do not divide");
    assert_refused(PASS,
                   TRANSPOSED("float[4] b = {1, 1, 2, 2}") "  y = ConvTranspose <group = "
                                                           "9223372036854775807> (x, w, b)\n}\n",
                   "its groups do not divide");
}

/* The raised scale is the node's own: another reader of the DQ keeps the weights that it had. */
static void raising_is_done_on_a_copy_of_a_shared_weight(void **state)
{
#define TWO(more, w) CONV("1", "int8[1,1,1,1] wq = {100}, float ws = {1e-12}", more) w
    (void)state;
    assert_becomes(
        PASS,
        "g (uint8[1,1,1,1] xq) => (float[1,1,1,1] y, float[1,1,1,1] z) <float xs = {0.02}, uint8 "
        "xz = {3}, "
        "int8[1,1,1,1] wq = {100}, float ws = {1e-12}, float[1] b = {1}> {\n"
        "  x = DequantizeLinear(xq, xs, xz)\n  w = DequantizeLinear(wq, ws)\n  z = Conv(x, "
        "w)\n" Y_CONV,
        "g (uint8[1,1,1,1] xq) => (float[1,1,1,1] y, float[1,1,1,1] z) <float xs = {0.02}, uint8 "
        "xz = {3}, "
        "int8[1,1,1,1] wq = {100}, float ws = {1e-12}, int8[1,1,1,1] wq_folded = {0}, "
        "float ws_folded = {2.3285667e-08}, int32[1] b_quantized = {2147243803}, float b_scale = "
        "{4.657133e-10}, "
        "int32 b_zero_point = {0}> {\n"
        "  x = DequantizeLinear(xq, xs, xz)\n  w = DequantizeLinear(wq, ws)\n  z = Conv(x, w)\n"
        "  w_1 = DequantizeLinear(wq_folded, ws_folded)\n" BIAS_DQ(
            "b", "") "  y = Conv(x, w_1, b_DequantizeLinear_Output)\n}\n");
}

static void skip_leaves_a_bias_that_does_not_fit(void **state)
{
    (void)state;
    assert_refused(PASS ":skip",
                   CONV("1", "int8[1,1,1,1] wq = {1}, float ws = {1e-12}", "float[1] b = {1}")
                       W_DQ Y_CONV,
                   "its bias does not fit into int32");
}

/* Products that float cannot hold; a scale of 0 is a weight of 0. */
static void tiny_scales_are_raised(void **state)
{
    (void)state;
    assert_becomes(
        PASS, CONV("1", "int8[1,1,1,1] wq = {7}, float ws = {0}", "float[1] b = {0}") W_DQ Y_CONV,
        CONV("1", "int8[1,1,1,1] wq_folded = {0}, float ws_folded = {5.8780596e-37}",
             "int32[1] b_quantized = {0}, float b_scale = {1.1756119e-38}, int32 b_zero_point = "
             "{0}") "  w = DequantizeLinear(wq_folded, ws_folded)\n" BIAS_DQ("b",
                                                                             "") "  y = Conv(x, w, "
                                                                                 "b_"
                                                                                 "DequantizeLinear_"
                                                                                 "Output)\n}\n");
}

static void zeros_for_a_conv_without_bias_on_demand(void **state)
{
    (void)state;
    assert_kept(PASS, CONV("1", ONE, "float unused = {0}") W_DQ "  y = Conv(x, w)\n}\n");
    assert_becomes(
        PASS ":zero-bias", CONV("1", ONE, "float unused = {0}") W_DQ "  y = Conv(x, w)\n}\n",
        CONV("1", ONE,
             "float unused = {0}, int32[1] y_bias_quantized = {0}, "
             "float y_bias_scale = {0.0002}, int32 y_bias_zero_point = {0}")
            W_DQ BIAS_DQ("y_bias", "") "  y = Conv(x, w, y_bias_DequantizeLinear_Output)\n}\n");
}

/* --- what is left alone ----------------------------------------------------------------------- */

static void floats_are_no_candidates(void **state)
{
    (void)state;
    assert_kept(PASS, "g (float[1,1,1,1] x) => (y) <float[1,1,1,1] w = {1}, float[1] b = {1}> {\n  "
                      "y = Conv(x, w, b)\n}\n");
    assert_kept(PASS, "g (float[1,1,1,1] x) => (y) <" ONE ", float[1] b = {1}> {\n" W_DQ Y_CONV);
    assert_kept(PASS, CONV("1", "float[1,1,1,1] w = {1}", "float[1] b = {1}") Y_CONV);
}

static void what_speaks_against_it_is_said(void **state)
{
    static const struct {
        const char *weight, *bias, *why;
    } cases[] = {
        /* convbn 4 case 28 */
        {"int8[1,2,1,1] wq = {1, 2}, float[2] ws = {0.1, 0.2}", "float[1] b = {1}",
         "scales per input channel"},
        {"int8[1,2,1,1] wq = {1, 2}, float[1,1,1,1] ws = {0.1}", "float[1] b = {1}", "blocked"},
        {"int8[1,1,1,1] wq = {1}, float ws = {-0.1}", "float[1] b = {1}", "negative or not finite"},
        {"int8[1,1,1,1] wq = {1}, float ws = {nan}", "float[1] b = {1}", "negative or not finite"},
        {"int8[1,1,1,1] wq = {1}, float16 ws = {0.1}", "float[1] b = {1}", "not of type float"},
        {"float8e4m3fn[1,1,1,1] wq = {1.0}, float ws = {0.1}", "float[1] b = {1}",
         "no integers of up to 16 bits"},
        {"int8[0,1,1,1] wq = {}, float ws = {0.1}", "float[1] b = {1}", "its weight is empty"},
        {"int8[1] wq = {1}, float ws = {0.1}", "float[1] b = {1}", "less than two dims"},
        {ONE, "float[3] b = {1, 2, 3}", "not one number per channel"},
        {ONE, "float[1] b = {nan}", "not finite"},
        {ONE, "float[1] b = {inf}", "not finite"},
    };

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        char text[600];

        snprintf(text, sizeof text,
                 CONV("1", "%s", "%s") "  w = DequantizeLinear%s(wq, ws)\n" Y_CONV, cases[i].weight,
                 cases[i].bias,
                 strstr(cases[i].weight, "[1,1,1,1] ws") != NULL ? " <block_size = 2> " : " ");
        assert_refused(PASS, text, cases[i].why);
    }
    assert_refused(PASS,
                   "g (uint8[1,1,1,1] xq) => (y) <float xs = {0}, " ONE ", float[1] b = {1}> {\n"
                   "  x = DequantizeLinear(xq, xs)\n" W_DQ Y_CONV,
                   "its data has not one scale above 0");
    assert_refused(PASS,
                   "g (uint8[1,1,1,1] xq) => (y) <float xs = {3e38}, int8[1,1,1,1] wq = {1}, float "
                   "ws = {3e38}, "
                   "float[1] b = {1}> {\n  x = DequantizeLinear(xq, xs)\n" W_DQ Y_CONV,
                   "no normal float");
    assert_refused(
        PASS,
        "<ir_version: 7, opset_import: [\"\" : 12]> g (uint8[1,1,1,1] xq) => (y) <float xs = "
        "{0.1}, "
        "int8[2,1,1,1] wq = {1, 2}, float[2] ws = {0.1, 0.2}, float[2] b = {1, 2}> {\n"
        "  x = DequantizeLinear(xq, xs)\n  w = DequantizeLinear <axis = 0> (wq, ws)\n" Y_CONV,
        "opset 13");
    assert_refused(PASS,
                   "g (int32[1,1,1,1] xq) => (y) <float xs = {0.1}, " ONE ", float[1] b = {1}> {\n"
                   "  x = DequantizeLinear(xq, xs)\n" W_DQ Y_CONV,
                   "no integers of up to 16 bits");
}

static void unknown_arguments_are_refused(void **state)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model("g (float x) => (float y) {\n  y = Relu(x)\n}\n");

    (void)state;
    assert_fails(QDQ_E_USAGE, "pass 'quantize-bias': argument 'int16': it takes no such",
                 qdq_model_run_passes(m, PASS ":skip+int16", &err));
    assert_ok(qdq_model_run_passes(m, PASS ":int32+symmetric", &err));
    qdq_model_free(m);
}

static void inside_a_subgraph_and_a_function(void **state)
{
    (void)state;
    assert_becomes(PASS,
                   "g (bool c, uint8[1,1,1,1] xq) => (y) <float xs = {0.02}, uint8 xz = {3}, " ONE
                   ", float[1] b = {0.3}> {\n"
                   "  x = DequantizeLinear(xq, xs, xz)\n" W_DQ
                   "  y = If(c) <then_branch = t () => (p) { p = Conv(x, w, "
                   "b) }, else_branch = e () => (q) { q = Relu(x) }>\n}\n",
                   "g (bool c, uint8[1,1,1,1] xq) => (y) <float xs = {0.02}, uint8 xz = {3}, " ONE
                   "> {\n"
                   "  x = DequantizeLinear(xq, xs, xz)\n" W_DQ
                   "  y = If(c) <then_branch = t () => (p) <" REPAIRED("b", "1500") "> {\n" BIAS_DQ(
                       "b", "") "  p = Conv(x, w, b_DequantizeLinear_Output) }, "
                                "else_branch = e () => (q) { q = Relu(x) }>\n}\n");
    assert_becomes(
        PASS ",drop-unused",
        "<ir_version: 8, opset_import: [\"\" : 17, \"d\" : 1]>\n"
        "g (uint8[1,1,1,1] xq) => (y) {\n  y = d.f(xq)\n}\n"
        "<domain: \"d\", opset_import: [\"\" : 17]> f (xq) => (y) {\n"
        "  xs = Constant <value = float {0.02}> ()\n  xz = Constant <value = uint8 {3}> ()\n  wq = "
        "Constant "
        "<value = int8[1,1,1,1] {1}> ()\n"
        "  ws = Constant <value = float {0.01}> ()\n  b = Constant <value = float[1] {0.3}> ()\n"
        "  x = DequantizeLinear(xq, xs, xz)\n" W_DQ Y_CONV,
        "<ir_version: 8, opset_import: [\"\" : 17, \"d\" : 1]>\n"
        "g (uint8[1,1,1,1] xq) => (y) {\n  y = d.f(xq)\n}\n"
        "<domain: \"d\", opset_import: [\"\" : 17]> f (xq) => (y) {\n"
        "  xs = Constant <value = float {0.02}> ()\n  xz = Constant <value = uint8 {3}> ()\n  wq = "
        "Constant "
        "<value = int8[1,1,1,1] {1}> ()\n"
        "  ws = Constant <value = float {0.01}> ()\n  x = DequantizeLinear(xq, xs, xz)\n" W_DQ
        "  b_quantized = Constant <value = int32[1] {1500}> ()\n"
        "  b_scale = Constant <value = float {0.0002}> ()\n  b_zero_point = Constant <value = "
        "int32 {0}> "
        "()\n" BIAS_DQ("b", "") "  y = Conv(x, w, b_DequantizeLinear_Output)\n}\n");
}

/* --- float ------------------------------------------------------------------------------------ */

/* convbn 4 case 25 */
static void engines_that_add_floats_get_floats(void **state)
{
    (void)state;
    assert_kept(PASS ":float", CONV("1", ONE, "float[1] b = {0.5}") W_DQ Y_CONV);
    assert_becomes(
        PASS ":float",
        FOUR(", int32[4] bq = {5000, -2500, 0, 12345}, float bs = {9.99999975e-05}") "  b = "
                                                                                     "DequantizeLin"
                                                                                     "ear(bq, "
                                                                                     "bs)\n" Y_CONV,
        FOUR(", float[4] bq_float = {0.5, -0.25, 0, 1.2344999}") "  y = Conv(x, w, bq_float)\n}\n");
    assert_becomes(
        PASS ":float",
        GEMM("int32[2] bq = {3, 4}, float[2] bs = {0.5, 0.25}, int32[2] bz = {1, 0}") "  b = "
                                                                                      "DequantizeLi"
                                                                                      "near "
                                                                                      "<axis = 0> "
                                                                                      "(bq, bs, "
                                                                                      "bz)\n  y = "
                                                                                      "Gemm <beta "
                                                                                      "= 0.5> (x, "
                                                                                      "w, b)\n}\n",
        GEMM("float[2] bq_float = {1, 1}") "  y = Gemm <beta = 0.5> (x, w, bq_float)\n}\n");
    assert_becomes(
        PASS ":float",
        "g (float[2,2] x, float[2,2] w) => (y) <int32[2] bq = {3, 4}, float bs = {0.5}> {\n"
        "  b = DequantizeLinear(bq, bs)\n  t = MatMul(x, w)\n  y = Add(b, t)\n}\n",
        "g (float[2,2] x, float[2,2] w) => (y) <float[2] bq_float = {1.5, 2}> {\n"
        "  t = MatMul(x, w)\n  y = Add(bq_float, t)\n}\n");
    /* no bias; codes of eight bits, which the engine takes; a scale that is computed */
    assert_kept(PASS ":float", "g (float[2] x) => (y) <int32[2] bq = {3, 4}, float bs = {0.5}> {\n"
                               "  b = DequantizeLinear(bq, bs)\n  y = Add(b, x)\n}\n");
    assert_kept(PASS ":float",
                CONV("1", ONE, "int8[1] bq = {3}") W_DQ "  b = DequantizeLinear(bq, ws)\n" Y_CONV);
    assert_refused(PASS ":float",
                   CONV("1", ONE, "int32[1] bq = {3}") W_DQ
                   "  b = DequantizeLinear(bq, x)\n" Y_CONV,
                   "its scale is computed");
    assert_refused(PASS ":float",
                   CONV("1", ONE, "int32[1] bq = {3}, float16 bs = {0.5}") W_DQ
                   "  b = DequantizeLinear(bq, bs)\n" Y_CONV,
                   "its bias is not of type float");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gemm_takes_alpha_and_beta_into_scales),
        cmocka_unit_test(matmul_and_add_become_gemm),
        cmocka_unit_test(a_shared_bias_becomes_two),
        cmocka_unit_test(a_bias_of_codes_is_repaired_if_its_scale_is_another),
        cmocka_unit_test(a_bias_behind_shape_operators_is_seen),
        cmocka_unit_test(data_may_come_through_operators_that_move_it),
        cmocka_unit_test(grouped_convtranspose_repeats_the_scales),
        cmocka_unit_test(raising_is_done_on_a_copy_of_a_shared_weight),
        cmocka_unit_test(skip_leaves_a_bias_that_does_not_fit),
        cmocka_unit_test(tiny_scales_are_raised),
        cmocka_unit_test(zeros_for_a_conv_without_bias_on_demand),
        cmocka_unit_test(floats_are_no_candidates),
        cmocka_unit_test(what_speaks_against_it_is_said),
        cmocka_unit_test(unknown_arguments_are_refused),
        cmocka_unit_test(inside_a_subgraph_and_a_function),
        cmocka_unit_test(engines_that_add_floats_get_floats),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
