/* opt_fuse_activation.c - Gelu, HardSwish, HardSigmoid and Swish, in the spellings of exporters. */
#include "support/rewrite.h"

#define OPSET(n) "<ir_version: 9, opset_import: [\"\" : " #n "]>\n"

/* Constants that spellings may use; what they leave is taken out. */
#define FLOATS                                                                                     \
    "<float half = {0.5}, float one = {1}, float two = {2}, float three = {3}, float six = {6}, "  \
    "float zero "                                                                                  \
    "= {0},\n"                                                                                     \
    " float root = {1.4142135}, float inverse_root = {0.70710677}, float k = {0.7978846}, float "  \
    "c = "                                                                                         \
    "{0.044715},\n"                                                                                \
    " float kc = {0.035677407}, float sixth = {0.16666667}, int64 cube = {3}, float fast = "       \
    "{1.702}>"

static const char *spell(const char *opset, const char *nodes)
{
    static char text[4][2000];
    static int turn;

    turn = (turn + 1) % 4;
    snprintf(text[turn], sizeof text[turn],
             "%sg (float[2,N] x) => (float[2,N] y) " FLOATS " {\n%s\n}\n", opset, nodes);
    return text[turn];
}

static const char *result(const char *opset, const char *nodes)
{
    static char text[2000];

    snprintf(text, sizeof text, "%sg (float[2,N] x) => (float[2,N] y) {\n%s\n}\n", opset, nodes);
    return text;
}

static void assert_fuses(const char *rule, const char *opset, const char *const *spellings,
                         size_t n, const char *fused)
{
    char pipeline[100];

    snprintf(pipeline, sizeof pipeline, "%s,drop-unused", rule);
    for (size_t i = 0; i < n; i++)
        assert_becomes(pipeline, spell(opset, spellings[i]), result(opset, fused));
}

/* The nodes stay as they are, silently or for a reason. */
static void assert_stays(const char *rule, const char *opset, const char *nodes, const char *why)
{
    if (why == NULL)
        assert_kept(rule, spell(opset, nodes));
    else
        assert_refused(rule, spell(opset, nodes), why);
}

/* --- Gelu ------------------------------------------------------------------------------------- */

static void gelu_with_erf_is_found_in_every_spelling(void **state)
{
    static const char *const spellings[] = {
        "a = Div(x, root) e = Erf(a) s = Add(e, one) p = Mul(x, s) y = Mul(p, half)",
        "a = Mul(x, inverse_root) e = Erf(a) s = Add(one, e) p = Mul(s, x) y = Mul(half, p)",
        "h = Mul(x, half) a = Div(x, root) e = Erf(a) s = Add(e, one) y = Mul(h, s)",
        "h = Div(x, two) a = Div(x, root) e = Erf(a) s = Add(e, one) y = Mul(s, h)",
        "a = Div(x, root) e = Erf(a) s = Add(e, one) p = Mul(s, half) y = Mul(x, p)",
        "a = Div(x, root) e = Erf(a) s = Add(e, one) p = Mul(x, s) y = Div(p, two)",
        "a = Div(x, root) e = Erf(a) h = Mul(e, half) s = Add(h, half) y = Mul(x, s)",
    };

    (void)state;
    assert_fuses("fuse-gelu", OPSET(20), spellings, QDQ_COUNT(spellings), "y = Gelu(x)");
}

static void gelu_with_tanh_is_found_in_every_spelling(void **state)
{
    static const char *const spellings[] = {
        "a = Pow(x, three) b = Mul(c, a) d = Add(x, b) e = Mul(d, k) t = Tanh(e) f = Add(one, t)\n"
        "h = Mul(half, x) y = Mul(h, f)",
        "a = Pow(x, cube) b = Mul(a, c) d = Add(b, x) e = Mul(k, d) t = Tanh(e) f = Add(t, one)\n"
        "p = Mul(x, f) y = Mul(p, half)",
        "q = Mul(x, x) a = Mul(x, q) b = Mul(a, c) d = Add(x, b) e = Mul(d, k) t = Tanh(e) f = "
        "Add(t, one)\n"
        "g = Mul(f, half) y = Mul(x, g)",
        "v = Mul(x, k) w = Mul(c, x) q = Mul(w, x) r = Add(one, q) e = Mul(v, r) t = Tanh(e) f = "
        "Add(t, "
        "one)\n"
        "h = Mul(x, half) y = Mul(h, f)",
        "q = Mul(x, x) r = Mul(q, kc) s = Add(r, k) e = Mul(x, s) t = Tanh(e) f = Add(t, one)\n"
        "h = Mul(x, half) y = Mul(h, f)",
    };

    (void)state;
    assert_fuses("fuse-gelu", OPSET(20), spellings, QDQ_COUNT(spellings),
                 "y = Gelu <approximate = \"tanh\"> (x)");
}

#define ERF "a = Div(x, root) e = Erf(a) s = Add(e, one) p = Mul(x, s) y = Mul(p, half)"

static void gelu_needs_its_opset(void **state)
{
    (void)state;
    assert_stays("fuse-gelu", OPSET(19), ERF, NULL);
}

static void gelu_with_other_constants_stays(void **state)
{
    static const char *const others[] = {
        "a = Div(x, two) e = Erf(a) s = Add(e, one) p = Mul(x, s) y = Mul(p, half)",
        "a = Mul(x, root) e = Erf(a) s = Add(e, one) p = Mul(x, s) y = Mul(p, half)",
        "a = Div(root, x) e = Erf(a) s = Add(e, one) p = Mul(x, s) y = Mul(p, half)",
        "a = Div(x, root) e = Erf(a) s = Add(e, half) p = Mul(x, s) y = Mul(p, half)",
        "a = Div(x, root) e = Erf(a) s = Sub(e, one) p = Mul(x, s) y = Mul(p, half)",
        "a = Div(x, root) e = Erf(a) s = Add(e, one) p = Mul(x, s) y = Mul(p, two)",
        "a = Div(x, root) e = Erf(a) s = Add(e, one) p = Mul(x, s) y = Div(half, p)",
        "a = Div(x, root) e = Erf(a) s = Add(e, one) p = Div(s, x) y = Mul(p, half)",
        "a = Div(x, root) e = Erf(a) s = Add(e, one) p = Pow(s, x) y = Mul(p, half)",
        "a = Div(x, zero) e = Erf(a) s = Add(e, one) p = Mul(x, s) y = Mul(p, half)",
        "a = Div(x, root) e = Erf(a) s = Add(e, e) p = Mul(x, s) y = Mul(p, half)",
        "a = Div(x, root) e = Erf(a) s = Mul(e, e) p = Mul(x, s) y = Mul(p, half)",
        "a = Div(x, root) e = Erf(a) s = Add(e, one) p = Mul(x, s) q = Mul(p, x) y = Mul(q, half)",
        "a = Div(x, root) z = Neg(x) e = Erf(a) s = Add(e, one) p = Mul(z, s) y = Mul(p, half)",
        ("a = Pow(x, two) b = Mul(c, a) d = Add(x, b) e = Mul(d, k) t = Tanh(e) f = Add(one, t)\n"
         "h = Mul(half, x) y = Mul(h, f)"),
        "y = Erf(x)",
        "a = Div(x, root) y = Erf(a)",
    };

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(others); i++)
        assert_stays("fuse-gelu", OPSET(20), others[i], NULL);
}

static void the_result_may_be_read_and_multiplied_further(void **state)
{
    (void)state;
    assert_becomes(
        "fuse-gelu,drop-unused",
        OPSET(
            20) "g (float[2] x) => (float[2] y, float[2] z) <float half = {0.5}, float one = {1},\n"
                "float root = {1.4142135}> {\n"
                "  a = Div(x, root) e = Erf(a) s = Add(e, one) p = Mul(x, s) y = Mul(p, half)\n"
                "  q = Mul(y, half) z = Mul(q, y)\n"
                "}\n",
        OPSET(20) "g (float[2] x) => (float[2] y, float[2] z) <float half = {0.5}> {\n"
                  "  y = Gelu(x)\n"
                  "  q = Mul(y, half) z = Mul(q, y)\n"
                  "}\n");
}

static void x_may_be_computed_by_the_same_operators(void **state)
{
    (void)state;
    assert_becomes(
        "fuse-gelu,drop-unused",
        OPSET(
            20) "g (float[2] u, float[2] b) => (float[2] y) <float half = {0.5}, float one = {1},\n"
                "float root = {1.4142135}> {\n"
                "  v = Mul(u, half) x = Add(v, b)\n"
                "  a = Div(x, root) e = Erf(a) s = Add(e, one) p = Mul(x, s) y = Mul(p, half)\n"
                "}\n",
        OPSET(20) "g (float[2] u, float[2] b) => (float[2] y) <float half = {0.5}> {\n"
                  "  v = Mul(u, half) x = Add(v, b)\n"
                  "  y = Gelu(x)\n"
                  "}\n");
}

static void values_inside_that_are_read_elsewhere_keep_it(void **state)
{
    static const char *const readers[] = {"a", "e", "s", "p"};

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(readers); i++) {
        char text[1000], output[1000];

        snprintf(text, sizeof text,
                 OPSET(20) "g (float[2] x) => (float[2] y, float[2] z) <float half = {0.5}, float "
                           "one = {1},\n"
                           "float root = {1.4142135}> {\n  " ERF "\n  z = Neg(%s)\n}\n",
                 readers[i]);
        snprintf(output, sizeof output,
                 OPSET(20) "g (float[2] x) => (float[2] y, float[2] %s) <float half = {0.5}, float "
                           "one = {1},\n"
                           "float root = {1.4142135}> {\n  " ERF "\n}\n",
                 readers[i]);
        assert_refused("fuse-gelu", text, "read elsewhere");
        assert_refused("fuse-gelu", output, "read elsewhere");
    }
}

static void gelu_of_other_types_stays(void **state)
{
    (void)state;
    assert_refused(
        "fuse-gelu",
        OPSET(20) "g (double[2] x) => (double[2] y) <double half = {0.5}, double one = {1},\n"
                  "double root = {1.4142135623730951}> {\n  " ERF "\n}\n",
        "the element type is not float");
    /* sqrt(2) as float16 is off by more than a millionth */
    assert_kept(
        "fuse-gelu",
        OPSET(20) "g (float16[2] x) => (float16[2] y) <float16 half = {0.5}, float16 one = {1.0},\n"
                  "float16 root = {1.4142135}> {\n  " ERF "\n}\n");
}

static void constants_that_add_dimensions_keep_it(void **state)
{
    (void)state;
    assert_refused(
        "fuse-gelu",
        OPSET(20) "g (float[2] x) => (float[1,2] y) <float[1,1] half = {0.5}, float one = {1},\n"
                  "float root = {1.4142135}> {\n  " ERF "\n}\n",
        "more dimensions");
    assert_refused(
        "fuse-gelu",
        OPSET(20) "g (float[] x) => (float[] y) <float[1] half = {0.5}, float one = {1},\n"
                  "float root = {1.4142135}> {\n  " ERF "\n}\n",
        "more dimensions");
    assert_becomes(
        "fuse-gelu,drop-unused",
        OPSET(20) "g (float[2,3] x) => (float[2,3] y) <float[1,1] half = {0.5}, float one = {1},\n"
                  "float root = {1.4142135}> {\n  " ERF "\n}\n",
        OPSET(20) "g (float[2,3] x) => (float[2,3] y) {\n  y = Gelu(x)\n}\n");
}

static void constants_that_callers_may_override_keep_it(void **state)
{
    (void)state;
    assert_kept(
        "fuse-gelu",
        OPSET(20) "g (float[2] x, float root = {1.4142135}) => (float[2] y) <float half = {0.5},\n"
                  "float one = {1}> {\n  " ERF "\n}\n");
}

static void quantization_inside_keeps_it(void **state)
{
    (void)state;
    assert_kept("fuse-gelu",
                OPSET(20) "g (float[2] x) => (float[2] y) <float half = {0.5}, float one = {1},\n"
                          "float root = {1.4142135}, float scale = {0.1}, uint8 z = {128}> {\n"
                          "  a = Div(x, root) e0 = Erf(a)\n"
                          "  q = QuantizeLinear(e0, scale, z) e = DequantizeLinear(q, scale, z)\n"
                          "  s = Add(e, one) p = Mul(x, s) y = Mul(p, half)\n"
                          "}\n");
}

static void quantization_around_it_stays(void **state)
{
    (void)state;
    assert_becomes(
        "fuse-gelu,drop-unused",
        OPSET(20) "g (uint8[2] q) => (uint8[2] r) <float half = {0.5}, float one = {1},\n"
                  "float root = {1.4142135}, float scale = {0.1}, uint8 z = {128}> {\n"
                  "  x = DequantizeLinear(q, scale, z)\n  " ERF
                  "\n  r = QuantizeLinear(y, scale, z)\n"
                  "}\n",
        OPSET(20) "g (uint8[2] q) => (uint8[2] r) <float scale = {0.1}, uint8 z = {128}> {\n"
                  "  x = DequantizeLinear(q, scale, z)\n"
                  "  y = Gelu(x)\n"
                  "  r = QuantizeLinear(y, scale, z)\n"
                  "}\n");
}

static void bodies_of_subgraphs_have_gelu_too(void **state)
{
    (void)state;
    assert_becomes(
        "fuse-gelu,drop-unused",
        OPSET(20) "g (bool b, float[2] x) => (float[2] o) <float half = {0.5}, float one = {1},\n"
                  "float root = {1.4142135}> {\n"
                  "  o = If (b) <then_branch = t () => (float[2] y) {\n" ERF "\n},\n"
                  "              else_branch = f () => (float[2] n) { n = Neg(x) }>\n"
                  "}\n",
        OPSET(20) "g (bool b, float[2] x) => (float[2] o) {\n"
                  "  o = If (b) <then_branch = t () => (float[2] y) { y = Gelu(x) },\n"
                  "              else_branch = f () => (float[2] n) { n = Neg(x) }>\n"
                  "}\n");
}

static void a_value_that_a_subgraph_reads_keeps_it(void **state)
{
    (void)state;
    assert_refused(
        "fuse-gelu",
        OPSET(20) "g (bool b, float[2] x) => (float[2] y, float[2] o) <float half = {0.5},\n"
                  "float one = {1}, float root = {1.4142135}> {\n  " ERF "\n"
                  "  o = If (b) <then_branch = t () => (float[2] p1) { p1 = Neg(p) },\n"
                  "              else_branch = f () => (float[2] n) { n = Neg(x) }>\n"
                  "}\n",
        "read elsewhere");
}

static void functions_have_gelu_too(void **state)
{
    (void)state;
    assert_becomes(
        "fuse-gelu,drop-unused",
        "<ir_version: 9, opset_import: [\"\" : 20, \"acme\" : 1]>\n"
        "g (float[2] x) => (float[2] y) { y = acme.F(x) }\n"
        "<domain: \"acme\", opset_import: [\"\" : 20]>\n"
        "F (x) => (y) { half = Constant <value_float = 0.5> () one = Constant <value = float {1}> "
        "()\n"
        "  root = Constant <value = float {1.4142135}> () other = Constant <value = float {0.5}> "
        "()\n"
        "  a = Div(x, root) e = Erf(a) s = Add(e, one) p = Mul(x, s) y = Mul(p, other) }\n",
        "<ir_version: 9, opset_import: [\"\" : 20, \"acme\" : 1]>\n"
        "g (float[2] x) => (float[2] y) { y = acme.F(x) }\n"
        "<domain: \"acme\", opset_import: [\"\" : 20]>\n"
        "F (x) => (y) { y = Gelu(x) }\n");
}

static void arithmetic_that_doubles_at_every_step_is_no_trap(void **state)
{
    char text[20000] = OPSET(20) "g (float[2] x) => (float[2] y) {\n  v0 = Add(x, x)\n";

    (void)state;
    for (int i = 1; i < 100; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "  v%d = Mul(v%d, v%d)\n", i,
                 i - 1, i - 1);
    snprintf(text + strlen(text), sizeof text - strlen(text),
             "  e = Erf(v99)\n  v100 = Add(e, v99)\n");
    for (int i = 101; i < 200; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "  v%d = Add(v%d, v%d)\n", i,
                 i - 1, i - 1);
    snprintf(text + strlen(text), sizeof text - strlen(text), "  y = Neg(v199)\n}\n");
    assert_kept("fuse-gelu", text);
}

/* --- HardSwish and HardSigmoid ---------------------------------------------------------------- */

static void hardswish_is_found_in_every_spelling(void **state)
{
    static const char *const spellings[] = {
        "a = Add(x, three) t = Clip(a, zero, six) p = Mul(x, t) y = Div(p, six)",
        "a = Add(three, x) t = Clip(a, zero, six) p = Mul(t, x) y = Mul(p, sixth)",
        "a = Add(x, three) t = Clip(a, zero, six) p = Div(t, six) y = Mul(x, p)",
        "a = Add(x, three) t = Clip(a, zero, six) p = Mul(sixth, t) y = Mul(p, x)",
        "t = HardSigmoid <alpha = 0.16666667, beta = 0.5> (x) y = Mul(x, t)",
        "t = HardSigmoid <alpha = 0.1666667> (x) y = Mul(t, x)",
    };

    (void)state;
    assert_fuses("fuse-hardswish", OPSET(14), spellings, QDQ_COUNT(spellings), "y = HardSwish(x)");
}

static void other_hard_functions_stay(void **state)
{
    static const char *const others[] = {
        "a = Add(x, two) t = Clip(a, zero, six) p = Mul(x, t) y = Div(p, six)",
        "a = Add(x, three) t = Clip(a, zero, three) p = Mul(x, t) y = Div(p, six)",
        "a = Add(x, three) t = Clip(a, one, six) p = Mul(x, t) y = Div(p, six)",
        "a = Add(x, three) t = Clip(a, zero) p = Mul(x, t) y = Div(p, six)",
        "a = Add(x, three) t = Clip(a, \"\", six) p = Mul(x, t) y = Div(p, six)",
        "a = Add(x, three) t = Clip(a, zero, six) p = Mul(x, t) y = Div(p, three)",
        "a = Add(x, three) t = Clip(a, zero, six) p = Mul(a, t) y = Div(p, six)",
        "t = HardSigmoid (x) y = Mul(x, t)",
        "t = HardSigmoid <alpha = 0.16666667, beta = 0.4> (x) y = Mul(x, t)",
        "z = Neg(x) t = HardSigmoid <alpha = 0.16666667> (z) y = Mul(x, t)",
    };

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(others); i++)
        assert_stays("fuse-hardswish,fuse-hardsigmoid", OPSET(14), others[i], NULL);
}

static void hardswish_needs_its_opset(void **state)
{
    (void)state;
    assert_stays("fuse-hardswish", OPSET(13),
                 "t = HardSigmoid <alpha = 0.16666667> (x) y = Mul(x, t)", NULL);
}

static void hardsigmoid_is_found_in_every_spelling(void **state)
{
    static const char *const spellings[] = {
        "a = Add(x, three) t = Clip(a, zero, six) y = Div(t, six)",
        "a = Add(three, x) t = Clip(a, zero, six) y = Mul(t, sixth)",
    };

    (void)state;
    assert_fuses("fuse-hardsigmoid", OPSET(14), spellings, QDQ_COUNT(spellings),
                 "y = HardSigmoid <alpha = 0.16666667, beta = 0.5> (x)");
}

static void bounds_were_attributes_once(void **state)
{
    (void)state;
    assert_becomes(
        "fuse-hardsigmoid,drop-unused",
        spell(OPSET(9), "a = Add(x, three) t = Clip <min = 0.0, max = 6.0> (a) y = Div(t, six)"),
        result(OPSET(9), "y = HardSigmoid <alpha = 0.16666667, beta = 0.5> (x)"));
    assert_stays("fuse-hardsigmoid", OPSET(9),
                 "a = Add(x, three) t = Clip <max = 6.0> (a) y = Div(t, six)", NULL);
    assert_stays("fuse-hardsigmoid", OPSET(6),
                 "a = Add(x, three) t = Clip <min = 0.0, max = 6.0> (a) y = Div(t, six)", NULL);
}

static void hardsigmoid_is_found_inside_of_hardswish(void **state)
{
    static const char *const spellings[] = {
        "a = Add(x, three) t = Clip(a, zero, six) p = Mul(x, t) y = Div(p, six)",
        "a = Add(three, x) t = Clip(a, zero, six) p = Mul(t, x) y = Mul(sixth, p)",
    };
    static const char *const inside[] = {
        "a = Add(x, three) t = Clip(a, zero, six) p = Div(t, six) y = Mul(x, p)",
        "a = Add(x, three) t = Clip(a, zero, six) p = Mul(t, sixth) y = Mul(x, p)",
    };

    (void)state;
    assert_fuses("fuse-hardsigmoid", OPSET(13), spellings, QDQ_COUNT(spellings),
                 "y_1 = HardSigmoid <alpha = 0.16666667, beta = 0.5> (x) y = Mul(x, y_1)");
    assert_fuses("fuse-hardsigmoid", OPSET(13), inside, QDQ_COUNT(inside),
                 "p = HardSigmoid <alpha = 0.16666667, beta = 0.5> (x) y = Mul(x, p)");
    assert_fuses("fuse-hardsigmoid,fuse-hardswish", OPSET(14), spellings, QDQ_COUNT(spellings),
                 "y = HardSwish(x)");
    assert_fuses("fuse-hardswish,fuse-hardsigmoid", OPSET(14), spellings, QDQ_COUNT(spellings),
                 "y = HardSwish(x)");
}

static void hardsigmoid_that_is_read_inside_stays(void **state)
{
    (void)state;
    assert_refused(
        "fuse-hardsigmoid",
        "g (float[2] x) => (float[2] y, float[2] t) <float three = {3}, float zero = {0}, float "
        "six = {6}> {\n"
        "  a = Add(x, three) t = Clip(a, zero, six) y = Div(t, six)\n"
        "}\n",
        "read elsewhere");
    assert_refused("fuse-hardswish",
                   "g (double[2] x) => (double[2] y) <double three = {3}, double zero = {0}, "
                   "double six = {6}> {\n"
                   "  a = Add(x, three) t = Clip(a, zero, six) p = Mul(x, t) y = Div(p, six)\n"
                   "}\n",
                   "the element type is not float");
}

static void attributes_of_a_function_that_callers_set_keep_it(void **state)
{
    (void)state;
    assert_kept("fuse-hardswish",
                "<ir_version: 9, opset_import: [\"\" : 17, \"acme\" : 1]>\n"
                "g (float[2] x) => (float[2] y) { y = acme.F <b = 0.25> (x) }\n"
                "<domain: \"acme\", opset_import: [\"\" : 17]>\n"
                "F <b> (x) => (y) { t = HardSigmoid <alpha = 0.16666667, beta: float = @b> (x)\n"
                "  y = Mul(x, t) }\n");
}

/* --- Swish ------------------------------------------------------------------------------------ */

static void swish_is_found_with_and_without_a_factor(void **state)
{
    static const char *const silu[] = {"t = Sigmoid(x) y = Mul(x, t)",
                                       "t = Sigmoid(x) y = Mul(t, x)"};
    static const char *const quick[] = {"a = Mul(x, fast) t = Sigmoid(a) y = Mul(x, t)",
                                        "a = Mul(fast, x) t = Sigmoid(a) y = Mul(t, x)"};

    (void)state;
    assert_fuses("fuse-silu", OPSET(24), silu, QDQ_COUNT(silu), "y = Swish(x)");
    assert_fuses("fuse-silu", OPSET(24), quick, QDQ_COUNT(quick), "y = Swish <alpha = 1.702> (x)");
}

static void swish_of_something_else_stays(void **state)
{
    (void)state;
    assert_stays("fuse-silu", OPSET(23), "t = Sigmoid(x) y = Mul(x, t)", NULL);
    assert_stays("fuse-silu", OPSET(24), "t = Sigmoid(x) y = Mul(t, t)", NULL);
    assert_stays("fuse-silu", OPSET(24), "a = Mul(x, zero) t = Sigmoid(a) y = Mul(x, t)", NULL);
    assert_stays("fuse-silu", OPSET(24), "a = Add(x, one) t = Sigmoid(a) y = Mul(x, t)", NULL);
    assert_refused(
        "fuse-silu",
        OPSET(24) "g (float[2] x) => (float[2] y, float[2] t) { t = Sigmoid(x) y = Mul(x, t) }\n",
        "read elsewhere");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gelu_with_erf_is_found_in_every_spelling),
        cmocka_unit_test(gelu_with_tanh_is_found_in_every_spelling),
        cmocka_unit_test(gelu_needs_its_opset),
        cmocka_unit_test(gelu_with_other_constants_stays),
        cmocka_unit_test(the_result_may_be_read_and_multiplied_further),
        cmocka_unit_test(x_may_be_computed_by_the_same_operators),
        cmocka_unit_test(values_inside_that_are_read_elsewhere_keep_it),
        cmocka_unit_test(gelu_of_other_types_stays),
        cmocka_unit_test(constants_that_add_dimensions_keep_it),
        cmocka_unit_test(constants_that_callers_may_override_keep_it),
        cmocka_unit_test(quantization_inside_keeps_it),
        cmocka_unit_test(quantization_around_it_stays),
        cmocka_unit_test(bodies_of_subgraphs_have_gelu_too),
        cmocka_unit_test(a_value_that_a_subgraph_reads_keeps_it),
        cmocka_unit_test(functions_have_gelu_too),
        cmocka_unit_test(arithmetic_that_doubles_at_every_step_is_no_trap),
        cmocka_unit_test(hardswish_is_found_in_every_spelling),
        cmocka_unit_test(other_hard_functions_stay),
        cmocka_unit_test(hardswish_needs_its_opset),
        cmocka_unit_test(hardsigmoid_is_found_in_every_spelling),
        cmocka_unit_test(bounds_were_attributes_once),
        cmocka_unit_test(hardsigmoid_is_found_inside_of_hardswish),
        cmocka_unit_test(hardsigmoid_that_is_read_inside_stays),
        cmocka_unit_test(attributes_of_a_function_that_callers_set_keep_it),
        cmocka_unit_test(swish_is_found_with_and_without_a_factor),
        cmocka_unit_test(swish_of_something_else_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
