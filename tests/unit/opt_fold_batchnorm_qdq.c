/* opt_fold_batchnorm_qdq.c - BatchNormalization into quantized weights: scales take the factor,
 * codes its sign, the bias follows. Numbers are those of convbn 4. */
#include "support/build.h"
#include "support/rewrite.h"

#define FOLD "fold-batchnorm"
#define BOTH "fold-batchnorm,quantize-bias"

/* g: Conv of `in` channels to `out`, data scale xs */
#define HEAD(in, out, xs)                                                                          \
    "g (uint8[1," in ",1,1] xq) => (float[1," out ",1,1] y) <float xs = {" xs "}, uint8 xz = "     \
    "{3}, "
#define X      "> {\n  x = DequantizeLinear(xq, xs, xz)\n"
#define W      "  w = DequantizeLinear(wq, ws)\n"
#define W_AXIS "  w = DequantizeLinear <axis = 0> (wq, ws)\n"
#define BN     "  y = BatchNormalization <epsilon = 0.0> (c, gamma, beta, mu, var)\n}\n"
#define P1(gamma, beta, mu, var)                                                                   \
    ", float[1] gamma = {" gamma "}, float[1] beta = {" beta "}, float[1] mu = {" mu               \
    "}, float[1] var = {" var "}"
#define P2(gamma, beta, mu, var)                                                                   \
    ", float[2] gamma = {" gamma "}, float[2] beta = {" beta "}, float[2] mu = {" mu               \
    "}, float[2] var = {" var "}"
#define P3(gamma, beta, mu, var)                                                                   \
    ", float[3] gamma = {" gamma "}, float[3] beta = {" beta "}, float[3] mu = {" mu               \
    "}, float[3] var = {" var "}"

/* the bias that quantize-bias makes, named after b */
#define BIAS(b, n, codes, scale)                                                                   \
    ", int32[" n "] " b "_quantized = {" codes "}, float" scale ", int32"
#define ONE(b, scale)     " " b "_scale = {" scale "}"
#define MANY(b, n, scale) "[" n "] " b "_scale = {" scale "}"
#define Z1(b)             " " b "_zero_point = {0}"
#define Z2(b)             "[2] " b "_zero_point = {0, 0}"
#define Z3(b)             "[3] " b "_zero_point = {0, 0, 0}"
#define BIAS_DQ(b, axis)                                                                           \
    "  [" b "_DequantizeLinear] " b "_DequantizeLinear_Output = DequantizeLinear" axis "(" b       \
    "_quantized, " b "_scale, " b "_zero_point)\n"
#define Y(op) "  y = " op "(x, w, beta_folded_DequantizeLinear_Output)\n}\n"

/* convbn 4 case 8 */
static void a_dead_channel_keeps_its_scale(void **state)
{
    (void)state;
    assert_becomes(BOTH,
                   HEAD("1", "1", "0.05") "int8[1,1,1,1] wq = {55}, float ws = {0.01}" P1(
                       "0", "0.75", "1", "1") X W "  c = Conv(x, w)\n" BN,
                   HEAD("1", "1", "0.05") "float ws = {0.01}, int8[1,1,1,1] wq_folded = {0}" BIAS(
                       "beta_folded", "1", "1500", ONE("beta_folded", "0.000500000024"))
                       Z1("beta_folded") X
                   "  w = DequantizeLinear(wq_folded, ws)\n" BIAS_DQ("beta_folded", "") Y("Conv"));
    /* a factor that makes the scale vanish is 0, too */
    assert_becomes(FOLD,
                   HEAD("1", "1", "0.05") "int8[1,1,1,1] wq = {55}, float ws = {0.01}" P1(
                       "1e-40", "0.75", "0", "1") X W "  c = Conv(x, w)\n" BN,
                   HEAD("1", "1", "0.05") "float ws = {0.01}, int8[1,1,1,1] wq_folded = {0}" BIAS(
                       "beta_folded", "1", "1500", ONE("beta_folded", "0.000500000024"))
                       Z1("beta_folded") X
                   "  w = DequantizeLinear(wq_folded, ws)\n" BIAS_DQ("beta_folded", "") Y("Conv"));
}

/* convbn 4 case 9; also convbn 4 case 25: all scales are above 0 */
static void a_negative_factor_turns_codes_around(void **state)
{
    (void)state;
    assert_becomes(
        BOTH,
        HEAD("2", "2", "0.05") "int8[2,2,1,1] wq = {10, -20, 30, 40}, float[2] ws = {0.01, "
                               "0.02}" P2("2, -1", "0.5, 0.25", "0.1, -0.2", "0.25, 0.25") X W_AXIS
        "  c = Conv(x, w)\n" BN,
        HEAD("2", "2", "0.05") "int8[2,2,1,1] wq_folded = {10, -20, -30, -40}, "
                               "float[2] ws_folded = {0.0399999991, 0.0399999991}" BIAS(
                                   "beta_folded", "2", "50, -75",
                                   MANY("beta_folded", "2", "0.00200000009, 0.00200000009"))
                                   Z2("beta_folded") X
        "  w = DequantizeLinear <axis = 0> (wq_folded, ws_folded)\n" BIAS_DQ(
            "beta_folded", " <axis = 0> ") Y("Conv"));
}

/* convbn 4 cases 10 and 11 */
static void the_bias_follows(void **state)
{
    (void)state;
    assert_becomes(
        BOTH,
        HEAD("1", "1", "0.03") "int8[1,1,1,1] wq = {55}, float ws = {0.0125}" P1("1.5", "-0.1",
                                                                                 "0.3", "2") X W
        "  c = Conv(x, w)\n  y = BatchNormalization(c, gamma, beta, mu, var)\n}\n",
        HEAD("1", "1", "0.03") "int8[1,1,1,1] wq = {55}, float ws_folded = {0.0132582188}" BIAS(
            "beta_folded", "1", "-1051", ONE("beta_folded", "0.000397746568")) Z1("beta_folded") X
        "  w = DequantizeLinear(wq, ws_folded)\n" BIAS_DQ("beta_folded", "") Y("Conv"));
    /* codes stay codes, without quantize-bias */
    assert_becomes(
        FOLD,
        HEAD("1", "1", "0.1") "int8[1,1,1,1] wq = {55}, float ws = {0.02}, int32[1] bq = {1500}, "
                              "float bs = {0.002}" P1("0.5", "0.25", "1", "1") X W
        "  b = DequantizeLinear(bq, bs)\n  c = Conv(x, w, b)\n" BN,
        HEAD("1", "1", "0.1") "int8[1,1,1,1] wq = {55}, float ws_folded = {0.01}" BIAS(
            "b_folded", "1", "1250", ONE("b_folded", "0.00100000005")) Z1("b_folded") X
        "  w = DequantizeLinear(wq, ws_folded)\n" BIAS_DQ(
            "b_folded", "") "  y = Conv(x, w, b_folded_DequantizeLinear_Output)\n}\n");
}

/* convbn 4 case 12: factors of 1 leave scales and codes alone, the lowest code included */
static void depthwise(void **state)
{
    (void)state;
    assert_becomes(
        BOTH,
        HEAD("3", "3", "0.04") "int8[3,1,1,1] wq = {55, -128, 3}, float[3] ws = {0.01, 0.005, "
                               "0.02}" P3("1, 2, 0.5", "0, 0.1, -0.2", "0.2, 0, -0.4", "1, 4, 0.25")
                                   X W_AXIS "  c = Conv <group = 3> (x, w)\n" BN,
        HEAD("3", "3", "0.04") "int8[3,1,1,1] wq = {55, -128, 3}, float[3] ws = {0.01, 0.005, "
                               "0.02}" BIAS("beta_folded", "3", "-500, 500, 250",
                                            MANY("beta_folded", "3", "0.0004, 0.0002, 0.0008"))
                                   Z3("beta_folded") X W_AXIS BIAS_DQ("beta_folded", " <axis = 0> ")
                                       Y("Conv <group = 3>"));
}

/* convbn 4 case 13 */
static void convtranspose(void **state)
{
#define W_1 "  w = DequantizeLinear <axis = 1> (wq, ws)\n"
#define GROUPS(factors)                                                                            \
    HEAD("2", "4", "0.02")                                                                         \
    "int8[2,2,1,1] wq = {55, 66, 77, 88}, float[2] ws = {0.01, 0.03}, float[4] gamma = {" factors  \
    "}, float[4] beta = {0, 0, 0, 4}, float[4] mu = {0, 0, 0, 0}, float[4] var = {1, 1, 1, 1}" X   \
        W_1 "  c = ConvTranspose <group = 2> (x, w)\n" BN
    (void)state;
    assert_becomes(
        BOTH,
        HEAD("1", "2", "0.02") "int8[1,2,1,1] wq = {55, 66}, float[2] ws = {0.01, 0.03}" P2(
            "0.5, -1.5", "0.12, -0.06", "0, 0", "1, 1") X W_1 "  c = ConvTranspose(x, w)\n" BN,
        HEAD("1", "2", "0.02") "int8[1,2,1,1] wq_folded = {55, -66}, float[2] ws_folded = {0.005, "
                               "0.044999998}" BIAS("beta_folded", "2", "1200, -67",
                                                   MANY("beta_folded", "2", "0.0001, 0.0008999999"))
                                   Z2("beta_folded") X
        "  w = DequantizeLinear <axis = 1> (wq_folded, ws_folded)\n" BIAS_DQ(
            "beta_folded", " <axis = 0> ") Y("ConvTranspose"));
    assert_refused(FOLD, GROUPS("0.5, -1.5, 0.5, -2"),
                   "its groups share scales, but have different factors");
    assert_becomes(
        FOLD, GROUPS("0.5, 2, 0.5, 2"),
        HEAD("2", "4", "0.02") "int8[2,2,1,1] wq = {55, 66, 77, 88}, float[2] ws_folded = "
                               "{0.005, 0.06}" BIAS(
                                   "beta_folded", "4", "0, 0, 0, 3333",
                                   MANY("beta_folded", "4",
                                        "0.0001, 0.0011999999, 0.0001, "
                                        "0.0011999999")) "[4] "
                                                         "beta_folded_zero_"
                                                         "point = {0, 0, 0, "
                                                         "0}" X "  w = "
                                                         "DequantizeLinear "
                                                         "<axis = 1> (wq, "
                                                         "ws_folded)"
                                                         "\n" BIAS_DQ("beta_folded", " <axis = 0> ")
                                                             Y("ConvTranspose "
                                                               "<group = 2>"));
}

#define ROWS(ws)                                                                                   \
    HEAD("2", "3", "0.02")                                                                         \
    "int8[3,2,1,1] wq = {127, -64, 127, -64, 99, 3}, float ws = {0.008}" P3(                       \
        "0.5, 2, 1.25", "0.4, -0.8, 0.11", "0, 0, 0", "1, 1, 1") X W "  c = Conv(x, w)\n" BN

/* convbn 4 case 20 */
static void one_scale_becomes_one_per_channel(void **state)
{
    (void)state;
    assert_becomes(
        BOTH, ROWS(),
        HEAD("2", "3",
             "0.02") "int8[3,2,1,1] wq = {127, -64, 127, -64, 99, 3}, "
                     "float[3] ws_folded = {0.00400000019, 0.0160000008, 0.0100000007}" BIAS(
                         "beta_folded", "3", "5000, -2500, 550",
                         MANY("beta_folded", "3", "8.0000005e-05, 0.00032000002, 0.00020000001"))
                         Z3("beta_folded") X
        "  w = DequantizeLinear <axis = 0> (wq, ws_folded)\n" BIAS_DQ("beta_folded", " <axis = 0> ")
            Y("Conv"));
    assert_becomes(
        "fold-batchnorm:requant-per-tensor,quantize-bias", ROWS(),
        HEAD("2", "3",
             "0.02") "int8[3,2,1,1] wq_folded = {32, -16, 127, -64, 62, 2}, float ws_folded = "
                     "{0.0160000008}" BIAS("beta_folded", "3", "1250, -2500, 344",
                                           ONE("beta_folded", "0.00032000002")) Z1("beta_folded") X
        "  w = DequantizeLinear(wq_folded, ws_folded)\n" BIAS_DQ("beta_folded", "") Y("Conv"));
    /* one factor for all: still one scale */
    assert_becomes(
        FOLD,
        HEAD("1", "2", "0.02") "int8[2,1,1,1] wq = {1, 2}, float ws = {0.5}, int8 wz = {0}" P2(
            "2, 2", "0, 0", "0, 0", "1, 1") X
        "  w = DequantizeLinear(wq, ws, wz)\n  c = Conv(x, w)\n" BN,
        HEAD("1", "2", "0.02") "int8[2,1,1,1] wq = {1, 2}, int8 wz = {0}, float ws_folded = "
                               "{1}" BIAS("beta_folded", "2", "0, 0", ONE("beta_folded", "0.02"))
                                   Z1("beta_folded") X
        "  w = DequantizeLinear(wq, ws_folded, wz)\n" BIAS_DQ("beta_folded", "") Y("Conv"));
    /* a zero point becomes as many */
    assert_becomes(
        FOLD,
        HEAD("1", "2", "0.02") "int8[2,1,1,1] wq = {1, 2}, float ws = {0.5}, int8 wz = {0}" P2(
            "2, 4", "0, 0", "0, 0", "1, 1") X
        "  w = DequantizeLinear(wq, ws, wz)\n  c = Conv(x, w)\n" BN,
        HEAD("1", "2",
             "0.02") "int8[2,1,1,1] wq = {1, 2}, int8[2] wz_folded = {0, 0}, float[2] ws_folded = "
                     "{1, 2}" BIAS("beta_folded", "2", "0, 0",
                                   MANY("beta_folded", "2", "0.02, 0.04")) Z2("beta_folded") X
        "  w = DequantizeLinear <axis = 0> (wq, ws_folded, wz_folded)\n" BIAS_DQ(
            "beta_folded", " <axis = 0> ") Y("Conv"));
    assert_refused(
        FOLD,
        "<ir_version: 7, opset_import: [\"\" : 12]>\n" HEAD(
            "1", "2", "0.02") "int8[2,1,1,1] wq = {1, 2}, float ws = {0.5}" P2("2, 4", "0, 0",
                                                                               "0, 0", "1, 1") X W
        "  c = Conv(x, w)\n" BN,
        "scales per channel need opset 13");
    assert_refused("fold-batchnorm:requant-per-tensor",
                   HEAD("1", "2", "0.02") "uint8[2,1,1,1] wq = {1, 2}, float ws = {0.5}" P2(
                       "2, 4", "0, 0", "0, 0", "1, 1") X W "  c = Conv(x, w)\n" BN,
                   "its codes have no sign");
}

#define LOWEST(type, codes, zero, scale)                                                           \
    HEAD("4", "1", "0.02")                                                                         \
    type "[1,4,1,1] wq = {" codes "}, float ws = {0.5}, " type " wz = {" zero "}"
#define LOWEST_BN                                                                                  \
    P1("-1", "4", "0", "1") X "  w = DequantizeLinear(wq, ws, wz)\n  c = Conv(x, w)\n" BN
#define TURNED(in, inits, w, code, scale)                                                          \
    HEAD(in, "1", "0.02")                                                                          \
    inits BIAS("beta_folded", "1", code, ONE("beta_folded", scale)) Z1("beta_folded") X            \
        "  w = DequantizeLinear(" w ")\n" BIAS_DQ("beta_folded", "") Y("Conv")

/* convbn 4 case 21 */
static void the_lowest_code_has_no_negative(void **state)
{
    (void)state;
    assert_becomes(FOLD, LOWEST("int8", "-128, 127, -1, 64", "0", "0.5") LOWEST_BN,
                   TURNED("4",
                          "int8 wz = {0}, int8[1,4,1,1] wq_folded = {127, -126, 1, -64}, "
                          "float ws_folded = {0.503937}",
                          "wq_folded, ws_folded, wz", "397", "0.01007874"));
    assert_becomes("fold-batchnorm:clip", LOWEST("int8", "-128, 127, -1, 64", "0", "0.5") LOWEST_BN,
                   TURNED("4",
                          "float ws = {0.5}, int8 wz = {0}, "
                          "int8[1,4,1,1] wq_folded = {127, -127, 1, -64}",
                          "wq_folded, ws, wz", "400", "0.01"));
    assert_refused("fold-batchnorm:skip", LOWEST("int8", "-128, 127, -1, 64", "0", "0.5") LOWEST_BN,
                   "a factor below 0 meets the lowest code");
    assert_becomes(FOLD, LOWEST("int8", "-127, 127, -1, 64", "0", "0.5") LOWEST_BN,
                   TURNED("4",
                          "float ws = {0.5}, int8 wz = {0}, "
                          "int8[1,4,1,1] wq_folded = {127, -127, 1, -64}",
                          "wq_folded, ws, wz", "400", "0.01"));
    assert_becomes(FOLD, LOWEST("int8", "-128, 127, -1, 64", "5", "0.5") LOWEST_BN,
                   TURNED("4",
                          "float ws = {0.5}, "
                          "int8[1,4,1,1] wq_folded = {127, -128, 0, -65}, int8 wz_folded = {-6}",
                          "wq_folded, ws, wz_folded", "400", "0.01"));
    assert_becomes(
        FOLD,
        HEAD("5", "1",
             "0.02") "uint8[1,5,1,1] wq = {0, 255, 127, 128, 200}, float ws = {0.5}, uint8 wz = "
                     "{128}" LOWEST_BN,
        TURNED("5",
               "float ws = {0.5}, uint8[1,5,1,1] wq_folded = {255, 0, 128, 127, 55}, uint8 "
               "wz_folded = {127}",
               "wq_folded, ws, wz_folded", "400", "0.01"));
    /* without a zero point: uint8 gets one */
    assert_becomes(
        FOLD,
        HEAD("1", "1", "0.02") "uint8[1,1,1,1] wq = {55}, float ws = {0.5}" P1("-1", "4", "0", "1")
            X W "  c = Conv(x, w)\n" BN,
        TURNED("1",
               "float ws = {0.5}, uint8[1,1,1,1] wq_folded = {200}, uint8 ws_zero_point = {255}",
               "wq_folded, ws, ws_zero_point", "400", "0.01"));
    assert_becomes(FOLD,
                   HEAD("4", "1", "0.02") "int4[1,4,1,1] wq = {-8, 7, -1, 4}, float ws = {0.5}" P1(
                       "-1", "4", "0", "1") X W "  c = Conv(x, w)\n" BN,
                   TURNED("4",
                          "int4[1,4,1,1] wq_folded = {7, -6, 1, -4}, float ws_folded = {0.5714286}",
                          "wq_folded, ws_folded", "350", "0.011428571"));
    /* float8 codes take factors above 0; one that makes a scale vanish would need other codes */
    assert_becomes(
        FOLD,
        HEAD("1", "1", "0.02") "float8e4m3fn[1,1,1,1] wq = {1.0}, float ws = {0.5}" P1(
            "2", "4", "0", "1") X W "  c = Conv(x, w)\n" BN,
        HEAD("1", "1",
             "0.02") "float8e4m3fn[1,1,1,1] wq = {1.0}, float[1] beta_folded = {4}, float "
                     "ws_folded = {1}" X
                     "  w = DequantizeLinear(wq, ws_folded)\n  y = Conv(x, w, beta_folded)\n}\n");
    assert_refused(
        FOLD,
        HEAD("1", "2", "0.02") "float8e4m3fn[2,1,1,1] wq = {1.0, 1.0}, float[2] ws = {0.5, 0.5}" P2(
            "1e-40, 2", "4, 4", "0, 0", "1, 1") X W_AXIS "  c = Conv(x, w)\n" BN,
        "its codes are no integers");
    assert_refused(FOLD,
                   HEAD("1", "1", "0.02") "float8e4m3fn[1,1,1,1] wq = {1.0}, float ws = {0.5}" P1(
                       "-1", "4", "0", "1") X W "  c = Conv(x, w)\n" BN,
                   "its codes are no integers");
}

/* convbn 4 case 22: what training with simulated folding leaves */
static void a_factor_that_is_divided_away_changes_the_bias_only(void **state)
{
#define QAT(f, more)                                                                               \
    HEAD("1", "1", "0.05")                                                                         \
    "int8[1,1,1,1] wq = {55}, float ws = {0.01}, float f = {" f                                    \
    "}, float[1,1,1] b0 = {0.2}" P1("0.8", "0.1", "0.5", "1") X W more                             \
        "  d = Div(c, f)\n  e = Add(b0, d)\n"                                                      \
        "  y = BatchNormalization <epsilon = 0.0> (e, gamma, beta, mu, var)\n}\n"
    const char *after = HEAD("1", "1", "0.05") "int8[1,1,1,1] wq = {55}, float ws = {0.01}" BIAS(
        "beta_folded", "1", "-280", ONE("beta_folded", "0.0005")) Z1("beta_folded")
        X W BIAS_DQ("beta_folded", "") Y("Conv");
    (void)state;
    assert_becomes(BOTH, QAT("0.8", "  c = Conv(x, w)\n"), after);
    assert_becomes(
        FOLD, QAT("0.808", "  c = Conv(x, w)\n"),
        HEAD("1", "1", "0.05") "int8[1,1,1,1] wq = {55}, float ws_folded = {0.0099009899}" BIAS(
            "beta_folded", "1", "-283", ONE("beta_folded", "0.000495049520")) Z1("beta_folded") X
        "  w = DequantizeLinear(wq, ws_folded)\n" BIAS_DQ("beta_folded", "") Y("Conv"));
    /* form E of convbn 2.1: through Q and DQ on demand, and only there */
#define BETWEEN                                                                                    \
    "  k = Conv(x, w)\n  kq = QuantizeLinear(k, xs, xz)\n  c = DequantizeLinear(kq, xs, xz)\n"
    assert_refused(FOLD, QAT("0.8", BETWEEN), "quantized between");
    assert_refused(FOLD ":through-qdq", QAT("0.808", BETWEEN),
                   "quantized between, and its factor is not 1");
    assert_becomes(
        FOLD ":through-qdq", QAT("0.8", BETWEEN),
        HEAD("1", "1", "0.05") "int8[1,1,1,1] wq = {55}, float ws = {0.01}" BIAS(
            "beta_folded", "1", "-280", ONE("beta_folded", "0.0005")) Z1("beta_folded")
            X W BIAS_DQ(
                "beta_folded",
                "") "  k = Conv(x, w, beta_folded_DequantizeLinear_Output)\n"
                    "  kq = QuantizeLinear(k, xs, xz)\n  y = DequantizeLinear(kq, xs, xz)\n}\n");
    /* an Add of a constant behind Q and DQ is nobody's remains */
    assert_kept(FOLD ":through-qdq",
                HEAD("1", "1",
                     "0.05") "int8[1,1,1,1] wq = {55}, float ws = {0.01}, float f = {3}" X W BETWEEN
                             "  y = Add(c, f)\n}\n");
}

/* convbn 4 case 23 */
static void what_may_not_be_moved_stays(void **state)
{
#define STAY(outputs, nodes)                                                                       \
    "g (uint8[1,1,1,1] xq) => (" outputs                                                           \
    ") <float xs = {0.05}, uint8 xz = {3}, int8[1,1,1,1] wq = {55}, float ws = {0.01}" P1(         \
        "0.8", "0.1", "0.5", "1") X W nodes
    (void)state;
    assert_refused(FOLD, STAY("y", BETWEEN BN), "quantized between");
    assert_refused(FOLD,
                   STAY("y", "  c = Conv(x, w)\n  y = BatchNormalization <training_mode = 1> (c, "
                             "gamma, beta, mu, var)\n}\n"),
                   "it trains");
    assert_refused(FOLD, STAY("y, c", "  c = Conv(x, w)\n" BN),
                   "what it normalizes is a graph output");
    assert_refused(FOLD, STAY("y, z", "  c = Conv(x, w)\n  z = Relu(c)\n" BN),
                   "what it normalizes is read elsewhere");
    assert_refused(FOLD ":float", STAY("y", "  c = Conv(x, w)\n" BN),
                   "the weight before it is quantized");
}

/* convbn 4 case 28, and other scales that no factor fits into */
static void scales_that_are_not_per_output_channel_stay(void **state)
{
    static const struct {
        const char *inits, *dq, *why;
    } cases[] = {
        {"int8[2,2,1,1] wq = {1, 2, 3, 4}, float[2] ws = {0.5, 0.25}", "(wq, ws)",
         "scales per input channel"},
        {"int8[2,2,1,1] wq = {1, 2, 3, 4}, float16[2] ws = {0.5, 0.25}", "<axis = 0> (wq, ws)",
         "not of type float"},
        {"int8[2,2,1,1] wq = {1, 2, 3, 4}, float[2] ws = {0.5, inf}", "<axis = 0> (wq, ws)",
         "not finite"},
        {"int8[2,2,1,1] wq = {1, 2, 3, 4}, float[3] ws = {0.5, 1, 2}", "<axis = 0> (wq, ws)",
         "not one scale for each"},
        {"int8[2,2,1,1] wq = {1, 2, 3, 4}, float[2] ws = {0.5, 1}", "<axis = 7> (wq, ws)",
         "not one scale for each"},
        {"int8[2,2,1,1] wq = {1, 2, 3, 4}, float[2] ws = {3e38, 1}", "<axis = 0> (wq, ws)",
         "would not be finite"},
        {"int8[2,2,1,1] wq = {1, 2, 3, 4}, float[1,2,1,1] ws = {0.5, 1}",
         "<axis = 0, block_size = 2> (wq, ws)", "channels that share a block"},
    };
    char text[1000];

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        snprintf(text, sizeof text,
                 HEAD("2", "2", "0.02") "%s" P2("2, 4", "0, 0", "0, 0", "1, 1") X
                 "  w = DequantizeLinear %s\n  c = Conv(x, w)\n" BN,
                 cases[i].inits, cases[i].dq);
        assert_refused(FOLD, text, cases[i].why);
    }
}

/* A float bias would make the node a float one, so that it stays as it was. */
static void without_scales_for_a_bias_nothing_is_folded(void **state)
{
    (void)state;
    assert_refused(
        FOLD,
        "g (uint8[1,1,1,1] xq, float xs) => (float[1,1,1,1] y) <uint8 xz = {3}, int8[1,1,1,1] wq "
        "= {55}, float ws = "
        "{0.5}" P1("2", "4", "0", "1") X W "  c = Conv(x, w)\n" BN,
        "its scale is computed");
    assert_refused(
        FOLD,
        "g (uint8[1,2,1,1] xq) => (float[1,1,1,1] y) <float[2] xs = {1, 2}, uint8[2] xz = {3, 4}, "
        "int8[1,2,1,1] wq = "
        "{5, 6}, float ws = {0.5}" P1("2", "4", "0", "1") X W "  c = Conv(x, w)\n" BN,
        "it has several scales for data of unknown shape");
    /* float data: no kernel adds codes */
    assert_becomes(
        FOLD,
        "g (float[1,1,1,1] x) => (float[1,1,1,1] y) <int8[1,1,1,1] wq = {55}, float ws = {0.5}" P1(
            "2", "4", "0", "1") "> {\n" W "  c = Conv(x, w)\n" BN,
        "g (float[1,1,1,1] x) => (float[1,1,1,1] y) <int8[1,1,1,1] wq = {55}, float[1] beta_folded "
        "= {4}, "
        "float "
        "ws_folded = {1}> {\n  w = DequantizeLinear(wq, ws_folded)\n  y = Conv(x, w, "
        "beta_folded)\n}\n");
}

static void blocks_take_the_factor_of_their_channels(void **state)
{
    (void)state;
    /* blocks of input channels: a scale for each output channel and block */
    assert_becomes(
        FOLD,
        HEAD("4", "2",
             "0.02") "int8[2,4,1,1] wq = {1, 2, 3, 4, 5, 6, 7, 8}, float[2,2,1,1] ws = {1, 2, 3, "
                     "4}" P2("2, -1", "0, 0", "0, 0", "1, 1") X
        "  w = DequantizeLinear <axis = 1, block_size = 2> (wq, ws)\n  c = Conv(x, w)\n" BN,
        HEAD("4", "2", "0.02") "float[2] beta_folded = {0, 0}, int8[2,4,1,1] wq_folded = {1, 2, 3, "
                               "4, -5, -6, -7, -8}, "
                               "float[2,2,1,1] ws_folded = {2, 4, 3, 4}" X
                               "  w = DequantizeLinear <axis = 1, block_size = 2> (wq_folded, "
                               "ws_folded)\n  y = "
                               "Conv(x, w, beta_folded)\n}\n");
    /* blocks of output channels whose factors agree */
    assert_becomes(
        FOLD,
        HEAD("2", "3", "0.02") "int8[3,2,1,1] wq = {1, 2, 3, 4, 5, 6}, float[2,2,1,1] ws = {1, 2, "
                               "3, 4}" P3("2, 2, 4", "0, 0, 0", "0, 0, 0", "1, 1, 1") X
        "  w = DequantizeLinear <axis = 0, block_size = 2> (wq, ws)\n"
        "  c = Conv(x, w)\n" BN,
        HEAD("2", "3",
             "0.02") "int8[3,2,1,1] wq = {1, 2, 3, 4, 5, 6}, float[3] beta_folded = {0, 0, 0}, "
                     "float[2,2,1,1] ws_folded = {2, 4, 12, 16}" X
                     "  w = DequantizeLinear <axis = 0, block_size = 2> (wq, ws_folded)\n  y = "
                     "Conv(x, w, beta_folded)\n}\n");
}

/* Form B of convbn 2.1: the codes are those of the training, whatever the factor. 0.25 / 0.1 = 2.5
 * is a tie: times 3 it would not be. */
static void a_float_weight_before_q_is_quantized_as_it_was_trained(void **state)
{
#define FORM_B(q) "  wq = QuantizeLinear(wf, ws, wz)\n  w = DequantizeLinear(wq, ws, wz)\n"
    (void)state;
    assert_becomes(
        FOLD,
        HEAD("4", "1", "0.02") "float[1,4,1,1] wf = {0.05, -0.15, 0.25, 1}, float ws = {0.1}, int8 "
                               "wz = {0}" P1("3", "0", "0", "1") X FORM_B() "  c = Conv(x, w)\n" BN,
        HEAD("4", "1",
             "0.02") "int8 wz = {0}, int8[1,4,1,1] wf_quantized = {0, -2, 2, 10}, float ws_folded "
                     "= {0.3}" BIAS("beta_folded", "1", "0", ONE("beta_folded", "0.006"))
                         Z1("beta_folded") X
        "  w = DequantizeLinear(wf_quantized, ws_folded, wz)\n" BIAS_DQ("beta_folded", "")
            Y("Conv"));
    assert_refused(FOLD,
                   HEAD("4", "1", "0.02") "float[1,4,1,1] wf = {nan, -0.15, 0.25, 1}, float ws = "
                                          "{0.1}, int8 wz = {0}" P1("3", "0", "0", "1")
                                              X FORM_B() "  c = Conv(x, w)\n" BN,
                   "its input holds NaN");
    assert_refused(FOLD,
                   HEAD("1", "1", "0.02") "float[1,1,1,1] wf = {1}, float ws = {0.1}, int8 wz = "
                                          "{0}, uint8 uz = {0}" P1("3", "0", "0", "1") X
                   "  wq = QuantizeLinear(wf, ws, uz)\n  w = DequantizeLinear(wq, ws, uz)\n"
                   "  k = Relu(ws)\n  c = Conv(x, v)\n  v = DequantizeLinear(wq, k, uz)\n" BN,
                   "its scale is computed");
}

/* convbn 2.2, 9: the other reader keeps codes, scale and DQ. */
static void a_shared_weight_is_scaled_for_one_reader(void **state)
{
#define SHARE                                                                                      \
    "g (uint8[1,1,1,1] xq) => (float[1,1,1,1] y, float[1,1,1,1] z) <float xs = {0.02}, uint8 xz "  \
    "= {3}, "                                                                                      \
    "int8[1,1,1,1] wq = {55}, float ws = {0.5}"
    (void)state;
    assert_becomes(
        FOLD,
        SHARE P1("3", "0", "0", "1") X
        "  [wdq] w = DequantizeLinear(wq, ws)\n  z = Conv(x, w)\n  c = Conv(x, w)\n" BN,
        SHARE ", float ws_folded = {1.5}" BIAS("beta_folded", "1", "0", ONE("beta_folded", "0.03"))
            Z1("beta_folded") X
        "  [wdq] w = DequantizeLinear(wq, ws)\n  z = Conv(x, w)\n"
        "  [wdq_1] w_1 = DequantizeLinear(wq, ws_folded)\n" BIAS_DQ(
            "beta_folded", "") "  y = Conv(x, w_1, beta_folded_DequantizeLinear_Output)\n}\n");
}

static void inside_a_subgraph_the_outer_weight_stays(void **state)
{
    (void)state;
    assert_becomes(
        FOLD,
        "g (bool q, uint8[1,1,1,1] xq) => (r) <float xs = {0.02}, uint8 xz = {3}, int8[1,1,1,1] "
        "wq = {55}, float ws = {0.5}" P1("-3", "0", "0", "1") X W
        "  r = If (q) <then_branch = t () => (y) {\n  c = Conv(x, w)\n  y = BatchNormalization "
        "<epsilon = 0.0> "
        "(c, gamma, beta, mu, var)\n  }, else_branch = e () => (z) { z = Conv(x, w) }>\n}\n",
        "g (bool q, uint8[1,1,1,1] xq) => (r) <float xs = {0.02}, uint8 xz = {3}, int8[1,1,1,1] "
        "wq = {55}, float ws = {0.5}" X W "  r = If (q) <then_branch = t () => (y) <int8[1,1,1,1] "
        "wq_folded = {-55}, float ws_folded = {1.5}" BIAS("beta_folded", "1", "0",
                                                          ONE("beta_folded", "0.03"))
            Z1("beta_folded") "> {\n  w_1 = DequantizeLinear(wq_folded, ws_folded)\n" BIAS_DQ(
                "beta_folded", "") "  y = Conv(x, w_1, beta_folded_DequantizeLinear_Output)\n"
                                   "  }, else_branch = e () => (z) { z = Conv(x, w) }>\n}\n");
}

/* convbn 4 cases 26 and 27: weights large and small stay behind DQ, and inputs stay what they
 * are. */
static void no_weight_becomes_float_and_no_initializer_an_input(void **state)
{
    qdq_error err = QDQ_ERROR_INIT;

    (void)state;
    for (int64_t size = 4; size <= 512; size *= 128) {
        test_builder b = test_build(17);
        const int64_t shape[4] = {size, size, 3, 3}, one = 1;
        const float scale = 0.01F;
        void *data;

        qdq_tensor *t = qdq_tensor_new(b.m, QDQ_INT8, 4, shape, &data);
        memset(data, 5, t->bytes.size);
        qdq_graph_add_init(b.g, "wq", t);
        qdq_graph_add_init(b.g, "s", qdq_tensor_of_floats(b.m, 0, &one, &scale));
        TEST_INPUT(&b, "in", 1, size, 3, 3);
        TEST_RANDOM(&b, "p", size);
        TEST_RANDOM(&b, "var", size);
        TEST_NODE(&b, "QuantizeLinear", "xq", "in", "s");
        TEST_NODE(&b, "DequantizeLinear", "x", "xq", "s");
        TEST_NODE(&b, "DequantizeLinear", "w", "wq", "s");
        TEST_NODE(&b, "Conv", "c", "x", "w");
        qdq_node_set_float(TEST_NODE(&b, "BatchNormalization", "y", "c", "p", "p", "p", "var"),
                           "epsilon", 2);
        test_output(&b, "y");
        qdq_model *m = test_built(&b);
        assert_ok(qdq_model_run_passes(m, BOTH ",drop-unused", &err));
        size_t n_dq = 0;
        QDQ_FOR_NODES (n, m->graph) {
            n_dq += n->op == QDQ_OP_DEQUANTIZELINEAR;
            assert_int_not_equal(n->op, QDQ_OP_BATCHNORMALIZATION);
        }
        assert_int_equal(n_dq, 3); /* data, weight, and the new bias */
        QDQ_FOR_INITS(v, m->graph)
        assert_true(v->init->elem != QDQ_FLOAT || v->init->count <= size);
        assert_int_equal(m->graph->inputs.n, 1);
        assert_string_equal(m->graph->inputs.at[0]->name, "in");
        assert_string_equal(m->graph->outputs.at[0]->name, "y");
        qdq_model_free(m);
    }
}

static void unknown_arguments_are_refused(void **state)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model("g (float x) => (float y) {\n  y = Relu(x)\n}\n");

    (void)state;
    assert_fails(QDQ_E_USAGE, "pass 'fold-batchnorm': argument 'clips': it takes no such",
                 qdq_model_run_passes(m, FOLD ":clip+clips", &err));
    qdq_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dead_channel_keeps_its_scale),
        cmocka_unit_test(a_negative_factor_turns_codes_around),
        cmocka_unit_test(the_bias_follows),
        cmocka_unit_test(depthwise),
        cmocka_unit_test(convtranspose),
        cmocka_unit_test(one_scale_becomes_one_per_channel),
        cmocka_unit_test(the_lowest_code_has_no_negative),
        cmocka_unit_test(a_factor_that_is_divided_away_changes_the_bias_only),
        cmocka_unit_test(what_may_not_be_moved_stays),
        cmocka_unit_test(scales_that_are_not_per_output_channel_stay),
        cmocka_unit_test(without_scales_for_a_bias_nothing_is_folded),
        cmocka_unit_test(blocks_take_the_factor_of_their_channels),
        cmocka_unit_test(a_float_weight_before_q_is_quantized_as_it_was_trained),
        cmocka_unit_test(a_shared_weight_is_scaled_for_one_reader),
        cmocka_unit_test(inside_a_subgraph_the_outer_weight_stays),
        cmocka_unit_test(no_weight_becomes_float_and_no_initializer_an_input),
        cmocka_unit_test(unknown_arguments_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
