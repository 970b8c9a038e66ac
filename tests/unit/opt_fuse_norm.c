/* opt_fuse_norm.c - LayerNormalization and RMSNormalization, in the spellings of exporters. */
#include "support/rewrite.h"

#define OPSET(n) "<ir_version: 9, opset_import: [\"\" : " #n "]>\n"

/* Constants that spellings may use; what they leave is taken out. */
#define CONSTANTS                                                                                  \
    "float eps = {1e-05}, float zero = {0}, float one = {1}, float two = {2}, int64 square = "     \
    "{2},\n"                                                                                       \
    " int64[1] last = {-1}, int64[1] last2 = {2}, int64[2] both = {1, -1}"
#define PARAMS "float[4] w = {1, 2, 3, 4}, float[4] b = {5, 6, 7, 8}"

/* The spelling up to n, with axes as attribute (17) or input (18). */
#define MEAN   "m = ReduceMean <axes = [-1]> (x) d = Sub(x, m) "
#define MEAN18 "m = ReduceMean(x, last) d = Sub(x, m) "
#define REST   "v = ReduceMean <axes = [-1]> (p) e = Add(v, eps) s = Sqrt(e) "
#define REST18 "v = ReduceMean(p, last) e = Add(v, eps) s = Sqrt(e) "
#define NORM   MEAN "p = Pow(d, two) " REST "n = Div(d, s) "

static const char *spell(const char *opset, const char *nodes)
{
    static char text[4][3000];
    static int turn;

    turn = (turn + 1) % 4;
    snprintf(text[turn], sizeof text[turn],
             "%sg (float[2,N,4] x) => (float[2,N,4] y) <" CONSTANTS ", " PARAMS "> {\n%s\n}\n",
             opset, nodes);
    return text[turn];
}

static void assert_fuses(const char *rule, const char *opset, const char *const *spellings,
                         size_t n, const char *params, const char *fused)
{
    char pipeline[100], result[2000];

    snprintf(pipeline, sizeof pipeline, "%s,drop-unused", rule);
    snprintf(result, sizeof result, "%sg (float[2,N,4] x) => (float[2,N,4] y) %s {\n%s\n}\n", opset,
             params, fused);
    for (size_t i = 0; i < n; i++)
        assert_becomes(pipeline, spell(opset, spellings[i]), result);
}

/* --- LayerNormalization: spellings ------------------------------------------------------------ */

static void layernorm_is_found_in_every_spelling(void **state)
{
    static const char *const spellings[] = {
        NORM "t = Mul(n, w) y = Add(t, b)",
        NORM "t = Mul(w, n) y = Add(b, t)",
        MEAN "p = Mul(d, d) " REST "n = Div(d, s) t = Mul(n, w) y = Add(t, b)",
        MEAN "p = Pow(d, square) " REST "n = Div(d, s) t = Mul(n, w) y = Add(t, b)",
        MEAN "p = Mul(d, d) " REST "r = Reciprocal(s) n = Mul(d, r) t = Mul(n, w) y = Add(t, b)",
        MEAN "p = Mul(d, d) " REST "r = Div(one, s) n = Mul(r, d) t = Mul(n, w) y = Add(t, b)",
        MEAN "d2 = Sub(x, m) p = Pow(d2, two) " REST "n = Div(d, s) t = Mul(n, w) y = Add(t, b)",
        MEAN "m2 = ReduceMean <axes = [2]> (x) d2 = Sub(x, m2) p = Mul(d2, d2) " REST
             "n = Div(d, s) t = Mul(n, w) y = Add(t, b)",
        "m = ReduceMean <axes = [2], keepdims = 1> (x) d = Sub(x, m) p = Pow(d, two)\n"
        "v = ReduceMean <axes = [2]> (p) e = Add(eps, v) s = Sqrt(e) n = Div(d, s) t = Mul(n, w) y "
        "= Add(t, "
        "b)",
    };

    (void)state;
    assert_fuses("fuse-layernorm", OPSET(17), spellings, QDQ_COUNT(spellings), "<" PARAMS ">",
                 "y = LayerNormalization <axis = -1, epsilon = 1e-05> (x, w, b)");
}

static void axes_are_an_input_since_opset_18(void **state)
{
    static const char *const spellings[] = {
        MEAN18 "p = Mul(d, d) " REST18 "n = Div(d, s) t = Mul(n, w) y = Add(t, b)",
        "m = ReduceMean(x, last2) d = Sub(x, m) p = Mul(d, d) " REST18
        "n = Div(d, s) t = Mul(n, w) y = Add(t, b)",
    };

    (void)state;
    assert_fuses("fuse-layernorm", OPSET(18), spellings, QDQ_COUNT(spellings), "<" PARAMS ">",
                 "y = LayerNormalization <axis = -1, epsilon = 1e-05> (x, w, b)");
}

static void scale_and_bias_may_be_missing(void **state)
{
    static const char *const scaled[] = {NORM "y = Mul(n, w)"};
    static const char *const plain[] = {MEAN "p = Pow(d, two) " REST "y = Div(d, s)"};
    static const char *const biased[] = {NORM "y = Add(n, b)"};

    (void)state;
    assert_fuses("fuse-layernorm", OPSET(17), scaled, 1, "<float[4] w = {1, 2, 3, 4}>",
                 "y = LayerNormalization <axis = -1, epsilon = 1e-05> (x, w)");
    assert_fuses("fuse-layernorm", OPSET(17), plain, 1, "<float[4] y_scale = {1, 1, 1, 1}>",
                 "y = LayerNormalization <axis = -1, epsilon = 1e-05> (x, y_scale)");
    assert_fuses("fuse-layernorm", OPSET(17), biased, 1,
                 "<float[4] b = {5, 6, 7, 8}, float[4] y_scale = {1, 1, 1, 1}>",
                 "y = LayerNormalization <axis = -1, epsilon = 1e-05> (x, y_scale, b)");
}

static void factors_of_another_shape_stay_behind_it(void **state)
{
    static const char *const shapes[] = {"float w = {2}", "float[1] w = {2}",
                                         "float[1,1,1,4] w = {1, 2, 3, 4}",
                                         "float[1,2,4] w = {1, 2, 3, 4, 5, 6, 7, 8}"};
    static const char *const outputs[] = {"float[2,2,4]", "float[2,2,4]", "float[1,2,2,4]",
                                          "float[2,2,4]"};

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(shapes); i++) {
        char before[1000], after[1000];

        snprintf(before, sizeof before,
                 "g (float[2,2,4] x) => (%s y) <float eps = {1e-05}, float two = {2}, %s> {\n" NORM
                 "y = Mul(n, w)\n}\n",
                 outputs[i], shapes[i]);
        snprintf(
            after, sizeof after,
            "g (float[2,2,4] x) => (%s y) <%s, float[4] n_scale = {1, 1, 1, 1}> {\n"
            "n = LayerNormalization <axis = -1, epsilon = 1e-05> (x, n_scale) y = Mul(n, w)\n}\n",
            outputs[i], shapes[i]);
        assert_becomes("fuse-layernorm,drop-unused", before, after);
    }
}

static void a_bias_of_another_shape_stays_behind_it(void **state)
{
    (void)state;
    assert_becomes(
        "fuse-layernorm,drop-unused",
        "g (float[2,4] x, float[4] b) => (float[2,4] y) <float eps = {1e-05}, float two = {2},\n"
        "float[4] w = {1, 2, 3, 4}> {\n" NORM "t = Mul(n, w) y = Add(t, b)\n}\n",
        "g (float[2,4] x, float[4] b) => (float[2,4] y) <float[4] w = {1, 2, 3, 4}> {\n"
        "t = LayerNormalization <axis = -1, epsilon = 1e-05> (x, w) y = Add(t, b)\n}\n");
}

static void constants_with_ones_in_front_are_reshaped(void **state)
{
    (void)state;
    assert_becomes("fuse-layernorm,drop-unused",
                   "g (float[2,4] x) => (float[2,4] y) <float eps = {1e-05}, float two = {2},\n"
                   "float[1,4] w = {1, 2, 3, 4}, float[4] b = {5, 6, 7, 8}> {\n" NORM
                   "t = Mul(n, w) y = Add(t, b)\n}\n",
                   "g (float[2,4] x) => (float[2,4] y) <float[4] b = {5, 6, 7, 8}, float[4] w_1 = "
                   "{1, 2, 3, 4}> {\n"
                   "y = LayerNormalization <axis = -1, epsilon = 1e-05> (x, w_1, b)\n}\n");
}

static void several_axes_at_the_end_are_one_norm(void **state)
{
    (void)state;
    assert_becomes("fuse-layernorm,drop-unused",
                   "g (float[N,2,2] x) => (float[N,2,2] y) <float eps = {1e-05}, float two = {2},\n"
                   "float[2,2] w = {1, 2, 3, 4}, float[2] b = {5, 6}> {\n"
                   "m = ReduceMean <axes = [-1, 1]> (x) d = Sub(x, m) p = Pow(d, two) v = "
                   "ReduceMean <axes = [1, 2]> "
                   "(p)\n"
                   "e = Add(v, eps) s = Sqrt(e) n = Div(d, s) t = Mul(n, w) y = Add(t, b)\n}\n",
                   "g (float[N,2,2] x) => (float[N,2,2] y) <float[2,2] w = {1, 2, 3, 4}, float[2] "
                   "b = {5, 6}> {\n"
                   "t = LayerNormalization <axis = -2, epsilon = 1e-05> (x, w) y = Add(t, b)\n}\n");
}

static void double_keeps_its_precision(void **state)
{
    (void)state;
    assert_becomes(
        "fuse-layernorm,drop-unused",
        "g (double[2,2] x) => (double[2,2] y) <double eps = {0.0001}, double two = {2},\n"
        "double[2] w = {1, 2}> {\n" NORM "y = Mul(n, w)\n}\n",
        "g (double[2,2] x) => (double[2,2] y) <double[2] w = {1, 2}> {\n"
        "y = LayerNormalization <axis = -1, epsilon = 0.0001, stash_type = 11> (x, w)\n}\n");
}

/* --- LayerNormalization: between casts -------------------------------------------------------- */

#define HALF_HEAD                                                                                  \
    "g (float16[2,2] h) => (float16[2,2] y) <float eps = {1e-05}, float two = {2},\n"              \
    "float16[2] w = {1.0, 2.0}, float16[2] b = {3.0, 4.0}> {\n x = Cast <to = 1> (h) "

static void half_precision_between_casts_is_one_norm(void **state)
{
    (void)state;
    assert_becomes("fuse-layernorm,drop-unused",
                   HALF_HEAD NORM "c = Cast <to = 10> (n) t = Mul(c, w) y = Add(t, b)\n}\n",
                   "g (float16[2,2] h) => (float16[2,2] y) <float16[2] w = {1.0, 2.0}, float16[2] "
                   "b = {3.0, 4.0}> {\n"
                   "y = LayerNormalization <axis = -1, epsilon = 1e-05> (h, w, b)\n}\n");
}

static void casts_that_others_need_stay_around_a_norm_in_float(void **state)
{
    (void)state;
    assert_becomes(
        "fuse-layernorm,drop-unused",
        "g (float16[2,2] h) => (float16[2,2] y, float[2,2] o) <float eps = {1e-05}, float two = "
        "{2}> {\n"
        "x = Cast <to = 1> (h) o = Neg(x) " NORM "y = Cast <to = 10> (n)\n}\n",
        "g (float16[2,2] h) => (float16[2,2] y, float[2,2] o) <float[2] n_scale = {1, 1}> {\n"
        "x = Cast <to = 1> (h) o = Neg(x) n = LayerNormalization <axis = -1, epsilon = 1e-05> (x, "
        "n_scale)\n"
        "y = Cast <to = 10> (n)\n}\n");
    assert_becomes(
        "fuse-layernorm,drop-unused",
        "g (float16[2,2] h) => (bfloat16[2,2] y) <float eps = {1e-05}, float two = {2}> {\n"
        "x = Cast <to = 1> (h) " NORM "y = Cast <to = 16> (n)\n}\n",
        "g (float16[2,2] h) => (bfloat16[2,2] y) <float[2] n_scale = {1, 1}> {\n"
        "x = Cast <to = 1> (h) n = LayerNormalization <axis = -1, epsilon = 1e-05> (x, n_scale)\n"
        "y = Cast <to = 16> (n)\n}\n");
}

/* --- LayerNormalization: what is none --------------------------------------------------------- */

static void layernorm_needs_its_opset(void **state)
{
    (void)state;
    assert_refused("fuse-layernorm", spell(OPSET(16), NORM "t = Mul(n, w) y = Add(t, b)"),
                   "needs opset 17");
    assert_kept("fuse-layernorm", spell(OPSET(16), MEAN "p = Mul(d, x) " REST "y = Div(d, s)"));
}

static void other_arithmetic_stays(void **state)
{
    static const char *const others[] = {
        MEAN "p = Pow(d, zero) " REST "y = Div(d, s)",
        MEAN "p = Mul(d, x) " REST "y = Div(d, s)",
        MEAN "p = Mul(x, x) " REST "y = Div(d, s)",
        MEAN "p = Add(d, d) " REST "y = Div(d, s)",
        MEAN "p = Mul(d, d) " REST "y = Div(s, d)",
        MEAN "p = Mul(d, d) " REST "r = Div(two, s) y = Mul(d, r)",
        MEAN "p = Mul(d, d) " REST "r = Div(x, s) y = Mul(d, r)",
        MEAN "p = Mul(d, d) v = ReduceMean <axes = [-1]> (p) s = Sqrt(v) y = Div(d, s)",
        MEAN "p = Mul(d, d) v = ReduceSum(p, last) e = Add(v, eps) s = Sqrt(e) y = Div(d, s)",
        "m = ReduceMax <axes = [-1]> (x) d = Sub(x, m) p = Mul(d, d) " REST "y = Div(d, s)",
        "m = ReduceMean <axes = [-1]> (x) d = Sub(m, x) p = Mul(d, d) " REST "y = Div(d, s)",
        "z = Neg(x) m = ReduceMean <axes = [-1]> (z) d = Sub(x, m) p = Mul(d, d) " REST
        "y = Div(d, s)",
        MEAN
        "p = Mul(d, d) v = ReduceMean <axes = [-1]> (p) e = Add(v, x) s = Sqrt(e) y = Div(d, s)",
        MEAN "d2 = Sub(x, eps) p = Mul(d2, d2) " REST "y = Div(d, s)",
        MEAN "z = Neg(d) p = Mul(z, z) " REST "y = Div(d, s)",
    };

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(others); i++)
        assert_kept("fuse-layernorm", spell(OPSET(17), others[i]));
}

static void other_axes_are_refused(void **state)
{
    static const char *const others[] = {
        "m = ReduceMean <axes = [1]> (x) d = Sub(x, m) p = Mul(d, d) v = ReduceMean <axes = [1]> "
        "(p)",
        "m = ReduceMean <axes = [0, 2]> (x) d = Sub(x, m) p = Mul(d, d) v = ReduceMean <axes = [0, "
        "2]> (p)",
        "m = ReduceMean <axes = [-1]> (x) d = Sub(x, m) p = Mul(d, d) v = ReduceMean <axes = [1, "
        "2]> (p)",
        "m = ReduceMean <axes = [1, 2]> (x) d = Sub(x, m) p = Mul(d, d) v = ReduceMean <axes = "
        "[-1]> (p)",
        "m = ReduceMean (x) d = Sub(x, m) p = Mul(d, d) v = ReduceMean (p)",
        "m = ReduceMean <axes = [1]> (x) d = Sub(x, m) p = Mul(d, d) v = ReduceMean <keepdims = 0> "
        "(p)",
    };

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(others); i++) {
        char text[1000];

        snprintf(text, sizeof text,
                 "g (float[4,4,4] x) => (float[4,4,4] y) <float eps = {1e-05}> {\n%s\n"
                 "e = Add(v, eps) s = Sqrt(e) y = Div(d, s)\n}\n",
                 others[i]);
        assert_refused("fuse-layernorm", text, "not over the last axes");
    }
    assert_refused(
        "fuse-layernorm",
        OPSET(18) "g (float[4,4] x, int64[1] axes) => (float[4,4] y) <float eps = {1e-05}> {\n"
                  "m = ReduceMean(x, axes) d = Sub(x, m) p = Mul(d, d) v = ReduceMean(p, axes)\n"
                  "e = Add(v, eps) s = Sqrt(e) y = Div(d, s)\n}\n",
        "not over the last axes");
}

static void an_epsilon_that_is_not_positive_is_refused(void **state)
{
    static const char *const values[] = {"0", "-1e-05", "nan", "inf", "1e-42"};

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(values); i++) {
        char text[1000];

        snprintf(text, sizeof text,
                 "g (float[4,4] x) => (float[4,4] y) <float eps = {%s}, float two = {2}> {\n" MEAN
                 "p = Pow(d, two) " REST "y = Div(d, s)\n}\n",
                 values[i]);
        assert_refused("fuse-layernorm", text, "epsilon is not a positive float");
    }
    assert_kept("fuse-layernorm",
                "g (float[4,4] x) => (float[4,4] y) <float[4] eps = {1, 1, 1, 1}> {\n" MEAN
                "p = Mul(d, d) " REST "y = Div(d, s)\n}\n");
    assert_kept("fuse-layernorm", "g (float[4,4] x, float eps = {1e-05}) => (float[4,4] y) {\n" MEAN
                                  "p = Mul(d, d) " REST "y = Div(d, s)\n}\n");
}

static void unknown_shapes_are_refused(void **state)
{
    static const char *const shapes[] = {"float[2,N]", "float[]", "float[2,?]", "float[2,0]"};

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(shapes); i++) {
        char text[1000];

        snprintf(text, sizeof text,
                 "g (%s x) => (%s y) <float eps = {1e-05}> {\n" MEAN "p = Mul(d, d) " REST
                 "y = Div(d, s)\n}\n",
                 shapes[i], shapes[i]);
        assert_refused("fuse-layernorm", text, "is not proven");
    }
}

static void other_types_are_refused(void **state)
{
    (void)state;
    assert_refused("fuse-layernorm",
                   "g (float16[2,4] x) => (float16[2,4] y) <float16 eps = {0.001}> {\n" MEAN
                   "p = Mul(d, d) " REST "y = Div(d, s)\n}\n",
                   "neither float nor double");
}

static void constants_with_more_dimensions_are_refused(void **state)
{
    (void)state;
    assert_refused("fuse-layernorm",
                   "g (float[2,4] x) => (float[1,2,4] y) <float[1,1,1] eps = {1e-05}> {\n" MEAN
                   "p = Mul(d, d) " REST "y = Div(d, s)\n}\n",
                   "more dimensions");
    assert_refused("fuse-layernorm",
                   "g (float[2,4] x) => (float[1,2,4] y) <float eps = {1e-05}, float[1,1,1] one = "
                   "{1}> {\n" MEAN "p = Mul(d, d) " REST "r = Div(one, s) y = Mul(d, r)\n}\n",
                   "more dimensions");
}

static void values_inside_that_are_read_elsewhere_are_refused(void **state)
{
    static const char *const inside[] = {"m", "d", "p", "v", "e", "s"};

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(inside); i++) {
        char text[1000];

        snprintf(text, sizeof text,
                 "g (float[4,4] x) => (float[4,4] y, float[4,?] z) <float eps = {1e-05}> {\n" MEAN
                 "p = Mul(d, d) " REST "y = Div(d, s) z = Neg(%s)\n}\n",
                 inside[i]);
        assert_refused("fuse-layernorm", text, "read elsewhere");
        snprintf(text, sizeof text,
                 "g (float[4,4] x) => (float[4,4] y, float[4,?] %s) <float eps = {1e-05}> {\n" MEAN
                 "p = Mul(d, d) " REST "y = Div(d, s)\n}\n",
                 inside[i]);
        assert_refused("fuse-layernorm", text, "read elsewhere");
    }
}

static void results_that_are_read_twice_are_taken_as_far_as_they_go(void **state)
{
    (void)state;
    assert_becomes("fuse-layernorm,drop-unused",
                   "g (float[4,4] x) => (float[4,4] y, float[4,4] t) <float eps = {1e-05}, float "
                   "two = {2},\n" PARAMS "> {\n" NORM "t = Mul(n, w) y = Add(t, b)\n}\n",
                   "g (float[4,4] x) => (float[4,4] y, float[4,4] t) <" PARAMS "> {\n"
                   "t = LayerNormalization <axis = -1, epsilon = 1e-05> (x, w) y = Add(t, b)\n}\n");
    assert_becomes(
        "fuse-layernorm,drop-unused",
        "g (float[4,4] x) => (float[4,4] y) <float eps = {1e-05}, float two = {2}> {\n" NORM
        "y = Mul(n, n)\n}\n",
        "g (float[4,4] x) => (float[4,4] y) <float[4] n_scale = {1, 1, 1, 1}> {\n"
        "n = LayerNormalization <axis = -1, epsilon = 1e-05> (x, n_scale) y = Mul(n, n)\n}\n");
}

static void a_large_scale_of_ones_is_refused(void **state)
{
    (void)state;
    assert_refused("fuse-layernorm",
                   "g (float[1,1000000] x) => (float[1,1000000] y) <float eps = {1e-05}> {\n" MEAN
                   "p = Mul(d, d) " REST "y = Div(d, s)\n}\n",
                   "larger than the limit");
    assert_refused(
        "fuse-layernorm",
        "g (float[1,9000000000000000000] x) => (float[1,9000000000000000000] y) <float eps = "
        "{1e-05}> {\n" MEAN "p = Mul(d, d) " REST "y = Div(d, s)\n}\n",
        "");
}

static void quantization_inside_keeps_it(void **state)
{
    (void)state;
    assert_kept("fuse-layernorm",
                "g (float[4,4] x) => (float[4,4] y) <float eps = {1e-05}, float s0 = {0.1}, uint8 "
                "z = {128}> {\n"
                "m = ReduceMean <axes = [-1]> (x) d0 = Sub(x, m) q = QuantizeLinear(d0, s0, z)\n"
                "d = DequantizeLinear(q, s0, z) p = Mul(d, d) " REST "y = Div(d, s)\n}\n");
    assert_refused(
        "fuse-layernorm",
        "g (float[4,4] x) => (float[4,4] y, uint8[4,4] q) <float eps = {1e-05}, float s0 = {0.1},\n"
        "uint8 z = {128}> {\n" MEAN "p = Mul(d, d) " REST
        "y = Div(d, s) q = QuantizeLinear(d, s0, z)\n}\n",
        "read elsewhere");
}

static void quantization_around_it_stays(void **state)
{
    (void)state;
    assert_becomes("fuse-layernorm,drop-unused",
                   "g (uint8[4,4] q) => (uint8[4,4] r) <float eps = {1e-05}, float two = {2}, "
                   "float s0 = {0.1}, uint8 z "
                   "= {128},\n" PARAMS "> {\n  x = DequantizeLinear(q, s0, z) " NORM
                   "t = Mul(n, w) y = Add(t, b) r = QuantizeLinear(y, s0, z)\n}\n",
                   "g (uint8[4,4] q) => (uint8[4,4] r) <float s0 = {0.1}, uint8 z = {128}, " PARAMS
                   "> {\n"
                   "x = DequantizeLinear(q, s0, z) y = LayerNormalization <axis = -1, epsilon = "
                   "1e-05> (x, w, b)\n"
                   "r = QuantizeLinear(y, s0, z)\n}\n");
}

static void bodies_of_subgraphs_have_norms_too(void **state)
{
    (void)state;
    assert_becomes(
        "fuse-layernorm,drop-unused",
        "g (bool c, float[2,4] x) => (float[2,4] o) <float eps = {1e-05}, float two = {2}, " PARAMS
        "> {\n"
        "  o = If (c) <then_branch = t () => (float[2,4] y) {\n" NORM
        "t = Mul(n, w) y = Add(t, b)\n},\n"
        "              else_branch = f () => (float[2,4] neg) { neg = Neg(x) }>\n}\n",
        "g (bool c, float[2,4] x) => (float[2,4] o) <" PARAMS "> {\n"
        "  o = If (c) <then_branch = t () => (float[2,4] y) {\n"
        "    y = LayerNormalization <axis = -1, epsilon = 1e-05> (x, w, b) },\n"
        "              else_branch = f () => (float[2,4] neg) { neg = Neg(x) }>\n}\n");
}

static void functions_know_no_shapes_and_keep_it(void **state)
{
    (void)state;
    assert_refused("fuse-layernorm",
                   "<ir_version: 9, opset_import: [\"\" : 17, \"acme\" : 1]>\n"
                   "g (float[2,4] x) => (float[2,4] y) { y = acme.F(x) }\n"
                   "<domain: \"acme\", opset_import: [\"\" : 17]>\n"
                   "F (x) => (y) { eps = Constant <value = float {1e-05}> () " MEAN
                   "p = Mul(d, d) " REST "y = Div(d, s) }\n",
                   "not proven");
}

/* --- RMSNormalization ------------------------------------------------------------------------- */

static void rmsnorm_is_found_in_every_spelling(void **state)
{
    static const char *const spellings[] = {
        "p = Pow(x, two) " REST18 "r = Reciprocal(s) n = Mul(x, r) y = Mul(w, n)",
        "p = Mul(x, x) " REST18 "r = Div(one, s) n = Mul(x, r) y = Mul(n, w)",
        "p = Pow(x, square) " REST18 "n = Div(x, s) y = Mul(n, w)",
    };
    static const char *const plain[] = {"p = Pow(x, two) " REST18
                                        "r = Reciprocal(s) y = Mul(x, r)"};

    (void)state;
    assert_fuses("fuse-rmsnorm", OPSET(23), spellings, QDQ_COUNT(spellings),
                 "<float[4] w = {1, 2, 3, 4}>",
                 "y = RMSNormalization <axis = -1, epsilon = 1e-05> (x, w)");
    assert_fuses("fuse-rmsnorm", OPSET(23), plain, 1, "<float[4] y_scale = {1, 1, 1, 1}>",
                 "y = RMSNormalization <axis = -1, epsilon = 1e-05> (x, y_scale)");
}

static void rmsnorm_has_no_bias(void **state)
{
    static const char *const biased[] = {
        "p = Pow(x, two) " REST18 "r = Reciprocal(s) n = Mul(x, r) t = Mul(n, w) y = Add(t, b)"};

    (void)state;
    assert_fuses("fuse-rmsnorm", OPSET(23), biased, 1, "<" PARAMS ">",
                 "t = RMSNormalization <axis = -1, epsilon = 1e-05> (x, w) y = Add(t, b)");
}

static void rmsnorm_between_casts_is_one_norm(void **state)
{
    (void)state;
    assert_becomes(
        "fuse-rmsnorm,drop-unused",
        OPSET(23) "g (float16[2,2] h) => (float16[2,2] y) <float eps = {1e-05}, float two = {2},\n"
                  "float16[2] w = {1.0, 2.0}, int64[1] last = {-1}> {\n x = Cast <to = 1> (h) p = "
                  "Pow(x, two) " REST18
                  "r = Reciprocal(s) n = Mul(x, r) c = Cast <to = 10> (n) y = Mul(w, c)\n}\n",
        OPSET(23) "g (float16[2,2] h) => (float16[2,2] y) <float16[2] w = {1.0, 2.0}> {\n"
                  "y = RMSNormalization <axis = -1, epsilon = 1e-05> (h, w)\n}\n");
}

static void each_norm_is_left_to_its_rule(void **state)
{
    static const char *const centred[] = {MEAN18 "p = Mul(d, d) " REST18
                                                 "n = Div(d, s) t = Mul(n, w) y = Add(t, b)"};

    (void)state;
    assert_kept("fuse-rmsnorm", spell(OPSET(23), centred[0]));
    assert_kept("fuse-layernorm",
                spell(OPSET(23), "p = Mul(x, x) " REST18 "n = Div(x, s) y = Mul(n, w)"));
    assert_kept("fuse-rmsnorm",
                spell(OPSET(22), "p = Mul(x, x) " REST18 "n = Div(x, s) y = Mul(n, w)"));
    assert_fuses("fuse-rmsnorm,fuse-layernorm", OPSET(23), centred, 1, "<" PARAMS ">",
                 "y = LayerNormalization <axis = -1, epsilon = 1e-05> (x, w, b)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layernorm_is_found_in_every_spelling),
        cmocka_unit_test(axes_are_an_input_since_opset_18),
        cmocka_unit_test(scale_and_bias_may_be_missing),
        cmocka_unit_test(factors_of_another_shape_stay_behind_it),
        cmocka_unit_test(a_bias_of_another_shape_stays_behind_it),
        cmocka_unit_test(constants_with_ones_in_front_are_reshaped),
        cmocka_unit_test(several_axes_at_the_end_are_one_norm),
        cmocka_unit_test(double_keeps_its_precision),
        cmocka_unit_test(half_precision_between_casts_is_one_norm),
        cmocka_unit_test(casts_that_others_need_stay_around_a_norm_in_float),
        cmocka_unit_test(layernorm_needs_its_opset),
        cmocka_unit_test(other_arithmetic_stays),
        cmocka_unit_test(other_axes_are_refused),
        cmocka_unit_test(an_epsilon_that_is_not_positive_is_refused),
        cmocka_unit_test(unknown_shapes_are_refused),
        cmocka_unit_test(other_types_are_refused),
        cmocka_unit_test(constants_with_more_dimensions_are_refused),
        cmocka_unit_test(values_inside_that_are_read_elsewhere_are_refused),
        cmocka_unit_test(results_that_are_read_twice_are_taken_as_far_as_they_go),
        cmocka_unit_test(a_large_scale_of_ones_is_refused),
        cmocka_unit_test(quantization_inside_keeps_it),
        cmocka_unit_test(quantization_around_it_stays),
        cmocka_unit_test(bodies_of_subgraphs_have_norms_too),
        cmocka_unit_test(functions_know_no_shapes_and_keep_it),
        cmocka_unit_test(rmsnorm_is_found_in_every_spelling),
        cmocka_unit_test(rmsnorm_has_no_bias),
        cmocka_unit_test(rmsnorm_between_casts_is_one_norm),
        cmocka_unit_test(each_norm_is_left_to_its_rule),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
