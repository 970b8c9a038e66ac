/* opt_fold_batchnorm.c - BatchNormalization, scale and shift into the node before: float weights.
 * The arithmetic is checked by hand here and against the engine in tests/numeric; quantized
 * weights: opt_fold_batchnorm_qdq.c. */
#include "support/rewrite.h"

#define PASS "fold-batchnorm"

/* factors 2 / sqrt(3 + 1) = 1 and 6 / sqrt(8 + 1) = 2 */
#define PARAMS                                                                                     \
    "float[2] s = {2, 6}, float[2] b = {10, 20}, float[2] mean = {1, 2}, float[2] var = {3, 8}"
#define BN                "  y = BatchNormalization <epsilon = 1.0> (c, s, b, mean, var)\n"

#define G(outputs, inits) "g (float[1,1,2,2] x) => (" outputs ") <" inits "> {\n"
#define Y                 "float[1,2,2,2] y"
#define CONV              "  c = Conv(x, w, cb)\n"
#define W                 "float[2,1,1,1] w = {3, 4}"
#define CB                "float[2] cb = {5, 5}"

static void weight_and_bias_take_the_factor(void **state)
{
    (void)state;
    assert_becomes(
        PASS, G(Y, W ", " CB ", " PARAMS) CONV BN "}\n",
        G(Y, "float[2] cb_folded = {14, 26}, float[2,1,1,1] w_folded = {3, 8}") "  y = Conv(x, "
                                                                                "w_folded, "
                                                                                "cb_folded)\n}\n");
}

static void a_conv_without_bias_gets_one(void **state)
{
    (void)state;
    assert_becomes(
        PASS, G(Y, W ", " PARAMS) "  c = Conv(x, w)\n" BN "}\n",
        G(Y, "float[2] b_folded = {9, 16}, float[2,1,1,1] w_folded = {3, 8}") "  y = Conv(x, "
                                                                              "w_folded, "
                                                                              "b_folded)\n}\n");
}

/* Two folds that want the same names: PR 2680 of onnxscript. */
static void a_shared_weight_is_folded_for_each_of_its_readers(void **state)
{
#define BOTH Y ", float[1,2,2,2] z"
    (void)state;
    assert_becomes(
        PASS, G(BOTH, W ", " CB ", " PARAMS) CONV BN "  z = Conv(x, w)\n}\n",
        G(BOTH,
          W ", float[2] cb_folded = {14, 26}, float[2,1,1,1] w_folded = {3, 8}") "  y = Conv(x, "
                                                                                 "w_folded, "
                                                                                 "cb_folded)\n  z "
                                                                                 "= Conv(x, "
                                                                                 "w)\n}\n");
    assert_becomes(PASS,
                   G(BOTH, W ", " CB ", " PARAMS) CONV BN
                   "  d = Conv(x, w, cb)\n  z = BatchNormalization <epsilon = 1.0> (d, b, b, mean, "
                   "var)\n}\n",
                   G(BOTH, "float[2] cb_folded = {14, 26}, float[2,1,1,1] w_folded = {3, 8}, "
                           "float[2] cb_folded_1 = {30, 40}, float[2,1,1,1] w_folded_1 = {15, "
                           "26.666666}") "  y = Conv(x, "
                                         "w_folded, "
                                         "cb_folded)\n  z = "
                                         "Conv(x, "
                                         "w_folded_1, "
                                         "cb_folded_1)\n}"
                                         "\n");
}

static void what_is_read_elsewhere_stays(void **state)
{
    (void)state;
    assert_refused(PASS, G(BOTH, W ", " CB ", " PARAMS) CONV BN "  z = Relu(c)\n}\n",
                   "is read elsewhere");
    assert_refused(PASS, G(Y ", float[1,2,2,2] c", W ", " CB ", " PARAMS) CONV BN "}\n",
                   "is a graph output");
}

static void what_is_not_constant_stays(void **state)
{
    (void)state;
    assert_refused(PASS,
                   "g (float[1,1,2,2] x, float[2,1,1,1] w) => (y) <" CB ", " PARAMS "> {\n" CONV BN
                   "}\n",
                   "the weight before it is not constant");
    assert_refused(PASS,
                   "g (float[1,1,2,2] x, float[2] cb) => (y) <" W ", " PARAMS "> {\n" CONV BN "}\n",
                   "its bias is computed");
    assert_refused(
        PASS,
        "g (float[1,1,2,2] x, float[2] s) => (y) <" W ", " CB
        ", float[2] b = {1, 1}, float[2] mean = {1, 1}, float[2] var = {1, 1}> {\n" CONV BN "}\n",
        "its parameters are not constants");
    /* inputs with a default are the caller's */
    assert_refused(
        PASS,
        "g (float[1,1,2,2] x, float[2] s = {1, 1}) => (y) <" W ", " CB
        ", float[2] b = {1, 1}, float[2] mean = {1, 1}, float[2] var = {1, 1}> {\n" CONV BN "}\n",
        "its parameters are not constants");
}

/* optimizer 10 case 28, and how older opsets say the same */
static void what_trains_stays(void **state)
{
#define OLD(version, graph) "<ir_version: 3, opset_import: [\"\" : " version "]>\n" graph
    (void)state;
    assert_refused(PASS,
                   G(Y, W ", " CB ", " PARAMS) CONV
                   "  y, m, v = BatchNormalization <training_mode = 1> (c, s, b, mean, var)\n}\n",
                   "it trains");
    assert_refused(PASS,
                   G("y, m", W ", " CB ", " PARAMS) CONV
                   "  y, m = BatchNormalization <training_mode = 0> (c, s, b, mean, var)\n}\n",
                   "it trains: it has more than one output");
    assert_refused(PASS,
                   OLD("9", G(Y, W ", " CB ", " PARAMS) CONV
                       "  y, m, v = BatchNormalization(c, s, b, mean, var)\n}\n"),
                   "it trains: it has more than one output");
    assert_refused(PASS, OLD("6", G(Y, W ", " CB ", " PARAMS) CONV BN "}\n"), "it trains");
    assert_refused(PASS,
                   OLD("8", G(Y, W ", " CB ", " PARAMS) CONV
                       "  y = BatchNormalization <spatial = 0> (c, s, b, mean, var)\n}\n"),
                   "it is not per channel");
    assert_becomes(
        PASS,
        OLD("6", G(Y, W ", " CB ", " PARAMS) CONV
            "  y = BatchNormalization <epsilon = 1.0, is_test = 1> (c, s, b, mean, var)\n}\n"),
        "<ir_version: 4, opset_import: [\"\" : 6]>\n" G(
            Y,
            "float[2] cb_folded = {14, 26}, float[2,1,1,1] w_folded = {3, 8}") "  y = Conv(x, "
                                                                               "w_folded, "
                                                                               "cb_folded)\n}\n");
}

static void numbers_that_are_none_stay(void **state)
{
    static const struct {
        const char *inits, *why;
    } cases[] = {
        {W ", " CB ", float[2] s = {1, 1}, float[2] b = {1, 1}, float[2] mean = {1, 1}, float[2] "
           "var = {-1, 1}",
         "a variance is not above 0"},
        {W ", " CB ", float[2] s = {nan, 1}, float[2] b = {1, 1}, float[2] mean = {1, 1}, float[2] "
           "var = {1, 1}",
         "its parameters are not finite"},
        {W ", " CB ", float[2] s = {1, 1}, float[2] b = {1, 1}, float[2] mean = {1, inf}, float[2] "
           "var = {1, 1}",
         "its parameters are not finite"},
        {W ", " CB ", float[2] s = {3e38, 1}, float[2] b = {1, 1}, float[2] mean = {5, 1}, "
           "float[2] var = {3, 1}",
         "a weight would not be finite"},
        {"float[2,1,1,1] w = {0, 4}, float[2] cb = {3e38, 1}, float[2] s = {5, 1}, float[2] b = "
         "{1, 1}, "
         "float[2] mean = {1, 1}, float[2] var = {3, 1}",
         "a factor or a bias would not be finite"},
        {"float[2,1,1,1] w = {nan, 4}, " CB ", " PARAMS, "a weight would not be finite"},
        {W ", float[3] cb = {1, 2, 3}, " PARAMS, "its bias is not one number per channel"},
        {W ", " CB
           ", float[1] s = {1}, float[2] b = {1, 1}, float[2] mean = {1, 1}, float[2] var = {1, 1}",
         "constants of one number per channel"},
        {"float[0,1,1,1] w = {}, " CB ", " PARAMS, "its weight is empty"},
        {"float[2] w = {1, 2}, " CB ", " PARAMS, "less than two dims"},
        {"double[2,1,1,1] w = {1, 2}, double[2] cb = {1, 2}, " PARAMS, "not of type float"},
    };
    char text[800];

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        snprintf(text, sizeof text, "g (float[1,1,2,2] x) => (y) <%s> {\n" CONV BN "}\n",
                 cases[i].inits);
        assert_refused(PASS, text, cases[i].why);
    }
}

/* Only the bias would change, but it is computed from floats: of doubles and integers it would lose
 * digits. */
static void a_shift_behind_weights_of_other_types_stays(void **state)
{
    static const char *const types[] = {"double", "int32"};
    char text[300];

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(types); i++) {
        snprintf(text, sizeof text,
                 "g (%s[N,2] x) => (%s[N,2] y) <%s[2,2] w = {1, 2, 3, 4}, %s[2] b = {1073741825, "
                 "5}, %s[2] k = "
                 "{3, 7}> { c = Gemm(x, w, b) y = Add(c, k) }",
                 types[i], types[i], types[i], types[i], types[i]);
        assert_kept(PASS, text);
    }
}

static void behind_another_operator_it_stays(void **state)
{
    (void)state;
    assert_kept(PASS, "g (float[1,2,2,2] x) => (" Y ") <" PARAMS "> {\n  c = Relu(x)\n" BN "}\n");
    assert_kept(PASS, "g (float[1,2,2,2] c) => (" Y ") <" PARAMS "> {\n" BN "}\n");
}

/* float16 weights with float statistics: the weight stays float16. */
static void weights_keep_their_type(void **state)
{
    (void)state;
    assert_becomes(
        PASS,
        "g (float16[1,1,2,2] x) => (float16[1,2,2,2] y) <float16[2,1,1,1] w = {3.0, 4.0}, "
        "float16[2] s = {2.0, 6.0}, float16[2] b = {10.0, 20.0}, float[2] mean = {1, 2}, "
        "float[2] var = {3, 8}> {\n  c = Conv(x, w)\n" BN "}\n",
        "g (float16[1,1,2,2] x) => (float16[1,2,2,2] y) <float16[2] b_folded = {9.0, 16.0}, "
        "float16[2,1,1,1] w_folded = {3.0, 8.0}> {\n  y = Conv(x, w_folded, b_folded)\n}\n");
    assert_refused(
        PASS,
        "g (float16[1,1,2,2] x) => (float16[1,2,2,2] y) <float16[2,1,1,1] w = {3.0, 60000.0}, "
        "float16[2] s = {2.0, 6.0}, float16[2] b = {10.0, 20.0}, float[2] mean = {1, 2}, "
        "float[2] var = {3, 8}> {\n  c = Conv(x, w)\n" BN "}\n",
        "a weight would not be finite");
}

/* Output channel c of a grouped ConvTranspose is index c % (channels / group) of its group's part
 * of the weight: onnxscript issue 2867. */
static void groups_of_convtranspose_have_their_own_factors(void **state)
{
#define FOUR                                                                                       \
    "float[4] s = {1, 2, 3, 4}, float[4] b = {0, 0, 0, 1}, float[4] mean = {0, 0, 0, 0}, "         \
    "float[4] var = "                                                                              \
    "{1, 1, 1, 1}"
#define BN4 "  y = BatchNormalization <epsilon = 0.0> (c, s, b, mean, var)\n}\n"
    (void)state;
    assert_becomes(
        PASS,
        "g (float[1,2,1,1] x) => (float[1,4,1,1] y) <float[2,2,1,1] w = {1, 10, 100, 1000}, " FOUR
        "> {\n  c = ConvTranspose <group = 2> (x, w)\n" BN4,
        "g (float[1,2,1,1] x) => (float[1,4,1,1] y) <float[4] b_folded = {0, 0, 0, 1}, "
        "float[2,2,1,1] w_folded = {1, 20, 300, 4000}> {\n"
        "  y = ConvTranspose <group = 2> (x, w_folded, b_folded)\n}\n");
    assert_refused(
        PASS,
        "g (float[1,2,1,1] x) => (float[1,4,1,1] y) <float[2,2,1,1] w = {1, 10, 100, 1000}, " FOUR
        "> {\n  c = ConvTranspose <group = 4> (x, w)\n" BN4,
        "its groups do not divide");
    assert_refused(
        PASS,
        "g (float[1,2,1,1] x) => (float[1,4,1,1] y) <float[2,2,1,1] w = {1, 10, 100, 1000}, " FOUR
        "> {\n  c = ConvTranspose <group = 0> (x, w)\n" BN4,
        "its groups do not divide");
}

/* optimizer 10 case 29, and the other ways to say Gemm */
static void gemm_takes_beta_into_the_bias(void **state)
{
#define ONE "float[1] s = {1}, float[1] h = {0}, float[1] var = {1}"
#define BN1 "  y = BatchNormalization <epsilon = 0.0> (c, s, h, h, var)\n}\n"
#define X1  "g (float[1,1] x) => (float[1,1] y) <"
#define X2  "g (float[1,2] x) => (float[1,2] y) <"
    (void)state;
    assert_becomes(PASS,
                   X1 "float[1,1] w = {3}, float[1] b = {2}, " ONE
                      "> {\n  c = Gemm <beta = 0.5> (x, w, b)\n" BN1,
                   X1 "float[1,1] w = {3}, float[1] b_folded = {1}> {\n  y = Gemm <beta = 1.0> (x, "
                      "w, b_folded)\n}\n");
    assert_becomes(PASS,
                   X2 "float[2,2] w = {1, 2, 3, 4}, " PARAMS "> {\n  c = Gemm(x, w)\n" BN "}\n",
                   X2 "float[2] b_folded = {9, 16}, float[2,2] w_folded = {1, 4, 3, 8}> {\n"
                      "  y = Gemm(x, w_folded, b_folded)\n}\n");
    assert_becomes(PASS,
                   X2 "float[2,2] w = {1, 2, 3, 4}, float[1,2] cb = {5, 5}, " PARAMS
                      "> {\n  c = Gemm <alpha = 2.0, transB = 1> (x, w, cb)\n" BN "}\n",
                   X2 "float[2] cb_folded = {14, 26}, float[2,2] w_folded = {1, 2, 6, 8}> {\n"
                      "  y = Gemm <alpha = 2.0, transB = 1> (x, w_folded, cb_folded)\n}\n");
    assert_becomes(PASS,
                   X2 "float[2,2] w = {1, 2, 3, 4}, float cb = {5}, " PARAMS
                      "> {\n  c = Gemm(x, w, cb)\n" BN "}\n",
                   X2 "float[2] cb_folded = {14, 26}, float[2,2] w_folded = {1, 4, 3, 8}> {\n"
                      "  y = Gemm(x, w_folded, cb_folded)\n}\n");
    assert_refused(PASS,
                   X2 "float[2,2] w = {1, 2, 3, 4}, float[2,1] cb = {5, 6}, " PARAMS
                      "> {\n  c = Gemm(x, w, cb)\n" BN "}\n",
                   "its bias is not one number per channel");
    assert_refused(PASS,
                   X2 "float[2,1,2] w = {1, 2, 3, 4}, " PARAMS "> {\n  c = Gemm(x, w)\n" BN "}\n",
                   "its weight is no matrix");
}

/* What stands between the node and BatchNormalization, or behind it, or without it. */
static void constants_per_channel_are_folded_along(void **state)
{
    const char *after = G(
        Y,
        "float[2] b_folded = {9, 16}, float[2,1,1,1] w_folded = {3, 8}") "  y = Conv(x, w_folded, "
                                                                         "b_folded)\n}\n";
    (void)state;
    assert_becomes(
        PASS,
        G(Y, W ", " PARAMS
               ", float two = {2}, float[2,1,1] half = {0.5, 0.5}") "  k = Conv(x, w)\n"
                                                                    "  d = Div(k, half)\n  c = "
                                                                    "Div(d, two)\n" BN "}\n",
        after);
    assert_becomes(PASS,
                   G(Y, W ", float[1,2,1,1] f = {1, 2}, float[2,1,1] g = {10, 18}, float[1] one = "
                          "{1}, float two = "
                          "{2}") "  k = Conv(x, w)\n  l = Mul(f, k)\n  m = Add(l, g)\n  n = Sub(m, "
                                 "one)\n  y = Mul(n, "
                                 "one)\n}\n",
                   G(Y, "float two = {2}, float[2] w_bias = {9, 17}, float[2,1,1,1] w_folded = {3, "
                        "8}") "  y = Conv(x, "
                              "w_folded, "
                              "w_bias)\n}\n");
    /* an Add changes the bias only: the weight is not copied */
    assert_becomes(PASS, G(Y, W ", " CB ", float[2,1,1] k = {1, 2}") CONV "  y = Add(c, k)\n}\n",
                   G(Y, W ", float[2] cb_folded = {6, 7}") "  y = Conv(x, w, cb_folded)\n}\n");
}

static void constants_of_another_shape_stay(void **state)
{
    static const char *const kept[] = {
        /* along the last axis */
        G(Y, W ", " CB ", float[2] k = {1, 2}") CONV "  y = Add(c, k)\n}\n",
        G(Y, W ", " CB ", float[2,2,2] k = {1, 2, 3, 4, 5, 6, 7, 8}") CONV "  y = Add(c, k)\n}\n",
        G(Y, W ", " CB ", float[1,1,1,1,1] k = {1}") CONV "  y = Add(c, k)\n}\n", /* a dim more */
        G(Y, W ", " CB ", float[3,1,1] k = {1, 2, 3}") CONV "  y = Mul(c, k)\n}\n",
        G(Y, W ", " CB ", float k = {1}") CONV "  y = Div(k, c)\n}\n",
        G(Y, W ", " CB ", float k = {1}") CONV "  y = Sub(k, c)\n}\n",
        G(Y, W ", " CB) CONV "  y = Add(c, c)\n}\n",
        G(Y, W ", " CB) CONV "  y = Add(c, x)\n}\n",
        "<ir_version: 3, opset_import: [\"\" : 6]>\n" G(Y, W ", " CB ", float[2] k = {1, 2}") CONV
        "  y = Add <broadcast = 1, axis = 1> (c, k)\n}\n",
    };

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(kept); i++)
        assert_kept(PASS, kept[i]);
    assert_refused(PASS, G(Y, W ", " CB ", float k = {0}") CONV "  y = Div(c, k)\n}\n",
                   "a factor or a bias would not be finite");
}

static void parameters_behind_shape_operators_are_seen(void **state)
{
    (void)state;
    assert_becomes(
        PASS ",drop-unused",
        G(Y,
          W ", float[1,2] s2 = {2, 6}, double[2] b2 = {10, 20}, float[2] mean = {1, 2}, "
            "float[2] var = {3, 8}, int64[1] k = {-1}") "  c = Conv(x, w)\n  s = Reshape(s2, k)\n"
                                                        "  b = Cast <to = 1> (b2)\n" BN "}\n",
        G(Y, "float[2] b_folded = {9, 16}, float[2,1,1,1] w_folded = {3, 8}") "  y = Conv(x, "
                                                                              "w_folded, "
                                                                              "b_folded)\n}\n");
    assert_refused(
        PASS,
        G(Y, W ", float[2] s = {2, 6}, float[2] b2 = {10, 20}, float[2] mean = {1, 2}, "
               "float[2] var = {3, 8}") "  c = Conv(x, w)\n  b = Cast <to = 10> (b2)\n" BN "}\n",
        "its parameters are not constants");
}

static void inside_a_subgraph_and_a_function(void **state)
{
    (void)state;
    assert_becomes(
        PASS,
        "g (bool q, float[1,1,2,2] x) => (r) <" W ", " CB ", " PARAMS "> {\n"
        "  r = If (q) <then_branch = t () => (" Y ") {\n" CONV BN "    }, else_branch = e () => "
        "(float[1,2,2,2] z) {\n      z = Conv (x, w)\n    }>\n}\n",
        "g (bool q, float[1,1,2,2] x) => (r) <" W "> {\n"
        "  r = If (q) <then_branch = t () => (" Y ") <float[2] cb_folded = {14, 26}, "
        "float[2,1,1,1] w_folded = {3, 8}> {\n  y = Conv(x, w_folded, cb_folded)\n    }, "
        "else_branch = e () => (float[1,2,2,2] z) {\n      z = Conv (x, w)\n    }>\n}\n");
    assert_becomes(
        PASS ",drop-unused",
        "<ir_version: 8, opset_import: [\"\" : 17, \"d\" : 1]>\n"
        "g (float[1,1,1,1] x) => (y) {\n  y = d.f(x)\n}\n"
        "<domain: \"d\", opset_import: [\"\" : 17]> f (x) => (y) {\n"
        "  w = Constant <value = float[1,1,1,1] {3}> ()\n  s = Constant <value = float[1] {2}> ()\n"
        "  v = Constant <value = float[1] {1}> ()\n  c = Conv(x, w)\n"
        "  y = BatchNormalization <epsilon = 0.0> (c, s, v, v, v)\n}\n",
        "<ir_version: 8, opset_import: [\"\" : 17, \"d\" : 1]>\n"
        "g (float[1,1,1,1] x) => (y) {\n  y = d.f(x)\n}\n"
        "<domain: \"d\", opset_import: [\"\" : 17]> f (x) => (y) {\n"
        "  v_folded = Constant <value = float[1] {-1}> ()\n"
        "  w_folded = Constant <value = float[1,1,1,1] {6}> ()\n"
        "  y = Conv(x, w_folded, v_folded)\n}\n");
    assert_refused(
        PASS,
        "<ir_version: 8, opset_import: [\"\" : 17, \"d\" : 1]>\n"
        "g (float[1,1,1,1] x) => (y) {\n  y = d.f <e = 1.0> (x)\n}\n"
        "<domain: \"d\", opset_import: [\"\" : 17]> f <e> (x) => (y) {\n"
        "  w = Constant <value = float[1,1,1,1] {3}> ()\n  v = Constant <value = float[1] {1}> ()\n"
        "  c = Conv(x, w)\n  y = BatchNormalization <epsilon: float = @e> (c, v, v, v, v)\n}\n",
        "set by the caller of the function");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weight_and_bias_take_the_factor),
        cmocka_unit_test(a_conv_without_bias_gets_one),
        cmocka_unit_test(a_shared_weight_is_folded_for_each_of_its_readers),
        cmocka_unit_test(what_is_read_elsewhere_stays),
        cmocka_unit_test(what_is_not_constant_stays),
        cmocka_unit_test(what_trains_stays),
        cmocka_unit_test(numbers_that_are_none_stay),
        cmocka_unit_test(a_shift_behind_weights_of_other_types_stays),
        cmocka_unit_test(behind_another_operator_it_stays),
        cmocka_unit_test(weights_keep_their_type),
        cmocka_unit_test(groups_of_convtranspose_have_their_own_factors),
        cmocka_unit_test(gemm_takes_beta_into_the_bias),
        cmocka_unit_test(constants_per_channel_are_folded_along),
        cmocka_unit_test(constants_of_another_shape_stay),
        cmocka_unit_test(parameters_behind_shape_operators_are_seen),
        cmocka_unit_test(inside_a_subgraph_and_a_function),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
