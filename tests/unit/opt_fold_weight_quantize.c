/* opt_fold_weight_quantize.c - constants before Q become codes, as the engine would compute
 * them. */
#include "support/rewrite.h"

#define PASS     "fold-weight-quantize"
#define G(inits) "g (float[2,2] x) => (float[2,2] y) <" inits "> {\n"
#define Q(q)     "  q = QuantizeLinear" q "\n"
#define DQ       "  d = DequantizeLinear(q, s, z)\n  y = MatMul(x, d)\n}\n"
#define W        "float[2,2] w = {0.05, -0.15, 0.25, 1}"

/* optimizer 10 case 3: quotients 0.5, -1.5, 2.5, 10 go to the even number; DQ stays, the floats
 * go */
static void codes_are_rounded_half_to_even(void **state)
{
    (void)state;
    assert_becomes(
        PASS, G(W ", float s = {0.1}, int8 z = {0}") Q("(w, s, z)") DQ,
        G("float s = {0.1}, int8 z = {0}, int8[2,2] w_quantized = {0, -2, 2, 10}") "  d = "
                                                                                   "DequantizeLinea"
                                                                                   "r(w_"
                                                                                   "quantized, s, "
                                                                                   "z)\n  y = "
                                                                                   "MatMul(x, "
                                                                                   "d)\n}\n");
}

static void all_types_saturate(void **state)
{
    static const struct {
        const char *type, *zero, *codes;
    } cases[] = {
        {"int8", "0", "-128, 127, 2, -100"},
        {"uint8", "128", "0, 255, 130, 28"},
        {"int16", "0", "-32768, 32767, 2, -100"},
        {"uint16", "1000", "0, 65535, 1002, 900"},
        {"int4", "0", "-8, 7, 2, -8"},
        {"uint4", "8", "0, 15, 10, 0"},
    };
    char before[400], after[400];

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        snprintf(before, sizeof before,
                 G("float[2,2] w = {-1e30, inf, 1, -50}, float s = {0.5}, %s z = {%s}")
                     Q("(w, s, z)") DQ,
                 cases[i].type, cases[i].zero);
        snprintf(after, sizeof after,
                 G("float s = {0.5}, %s z = {%s}, %s[2,2] w_quantized = {%s}") "  d = "
                                                                               "DequantizeLinear(w_"
                                                                               "quantized, s, "
                                                                               "z)\n  y = "
                                                                               "MatMul(x, d)\n}\n",
                 cases[i].type, cases[i].zero, cases[i].type, cases[i].codes);
        assert_becomes(PASS, before, after);
    }
}

static void scales_may_be_per_channel_or_per_block(void **state)
{
    (void)state;
    assert_becomes(PASS,
                   G("float[2,2] w = {1, 2, 3, 4}, float[2] s = {1, 0.5}, int8[2] z = {0, 1}")
                       Q("<axis = 0> (w, s, z)") "  d = DequantizeLinear <axis = 0> (q, s, z)\n  y "
                                                 "= MatMul(x, d)\n}\n",
                   G("float[2] s = {1, 0.5}, int8[2] z = {0, 1}, int8[2,2] w_quantized = {1, 2, 7, "
                     "9}") "  d = "
                           "DequantizeLinea"
                           "r <axis = 0> "
                           "(w_quantized, "
                           "s, z)\n  y = "
                           "MatMul(x, "
                           "d)\n}\n");
    assert_becomes(
        PASS,
        G("float[2,2] w = {1, 2, 3, 4}, float[2] s = {1, 0.5}")
            Q("(w, s)") "  d = DequantizeLinear(q, s)\n  y = MatMul(x, d)\n}\n",
        G("float[2] s = {1, 0.5}, uint8[2,2] w_quantized = {1, 4, 3, 8}") "  d = "
                                                                          "DequantizeLinear(w_"
                                                                          "quantized, "
                                                                          "s)\n  y = MatMul(x, "
                                                                          "d)\n}\n");
    assert_becomes(
        PASS,
        G("float[3,2] w = {1, 2, 3, 4, 5, 6}, float[2,2] s = {1, 0.5, 0.25, 2}, float[2,3] v = {1, "
          "2, 3, 4, "
          "5, 6}")
            Q("<axis = 0, block_size = 2, output_dtype = 22> (w, s)") "  d = DequantizeLinear "
                                                                      "<axis = "
                                                                      "0, block_size = 2> (q, s)\n "
                                                                      " y "
                                                                      "= MatMul(v, d)\n}\n",
        G("float[2,2] s = {1, 0.5, 0.25, 2}, float[2,3] v = {1, 2, 3, 4, 5, 6}, int4[3,2] "
          "w_quantized = {1, "
          "4, 3, 7, 7, 3}") "  d = DequantizeLinear <axis = 0, block_size = 2> (w_quantized, s)\n  "
                            "y = "
                            "MatMul(v, d)\n}\n");
}

/* The scale that one reader's DQ has is that reader's business. */
static void all_readers_get_the_codes(void **state)
{
    (void)state;
    assert_becomes(PASS,
                   "g (float[2,2] x) => (y, v) <" W ", float s = {0.1}, int8 z = {0}> {\n" Q(
                       "(w, s, z)") "  d = DequantizeLinear(q, s, z)\n  y = MatMul(x, d)\n  e = "
                                    "DequantizeLinear(q, s, z)\n  v = MatMul(w, e)\n}\n",
                   "g (float[2,2] x) => (y, v) <" W
                   ", float s = {0.1}, int8 z = {0}, int8[2,2] w_quantized = {0, -2, 2, 10}> {\n"
                   "  d = DequantizeLinear(w_quantized, s, z)\n  y = MatMul(x, d)\n  e = "
                   "DequantizeLinear(w_quantized, s, z)\n"
                   "  v = MatMul(w, e)\n}\n");
}

static void what_is_no_constant_or_no_number_stays(void **state)
{
    static const struct {
        const char *inits, *q, *why;
    } cases[] = {
        {W ", float s = {0}, int8 z = {0}", "(w, s, z)", "a scale of it is 0"},
        {W ", float s = {-1}, int8 z = {0}", "(w, s, z)", "negative"},
        {"float[2,2] w = {nan, 1, 2, 3}, float s = {1}, int8 z = {0}", "(w, s, z)",
         "its input holds NaN"},
        {"float16[2,2] w = {1.0, 1.0, 2.0, 3.0}, float16 s = {1.0}, int8 z = {0}", "(w, s, z)",
         "does not divide floats"},
        {W ", float s = {1}, float8e4m3fn z = {0}", "(w, s, z)", "no integers of 4, 8 or 16 bits"},
        {W ", float s = {1}, int8[2] z = {0, 0}", "(w, s, z)", "not as many zero points"},
        {W ", float[3] s = {1, 2, 3}, int8[3] z = {0, 0, 0}", "(w, s, z)",
         "not one scale for each channel"},
        {W ", float s = {1}, int8 z = {0}", "<precision = 10> (w, s, z)", "does not divide floats"},
    };
    char text[400];

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        snprintf(text, sizeof text, G("%s") "  q = QuantizeLinear %s\n" DQ, cases[i].inits,
                 cases[i].q);
        assert_refused(PASS, text, cases[i].why);
    }
    assert_refused(PASS,
                   "g () => (q) <" W ", float s = {1}, int8 z = {0}> {\n" Q(
                       "(w, s, z)") "  d = DequantizeLinear(q, s, z)\n}\n",
                   "its codes are a graph output");
    assert_kept(PASS, "g (float[2,2] w) => (d) <float s = {1}, int8 z = {0}> {\n" Q(
                          "(w, s, z)") "  d = DequantizeLinear(q, s, z)\n}\n");
    assert_kept(PASS, "g (float[2,2] w = {1, 2, 3, 4}) => (d) <float s = {1}, int8 z = {0}> {\n" Q(
                          "(w, s, z)") "  d = DequantizeLinear(q, s, z)\n}\n");
}

static void it_is_off_in_default_and_on_before_placement(void **state)
{
    qdq_error err = QDQ_ERROR_INIT;
    char *text = NULL;

    (void)state;
    assert_ok(qdq_pass_pipeline("default", NULL, &text, &err));
    assert_null(strstr(text, PASS));
    qdq_free(text);
    assert_ok(qdq_pass_pipeline("quantize", NULL, &text, &err));
    assert_non_null(strstr(text, PASS));
    qdq_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_are_rounded_half_to_even),
        cmocka_unit_test(all_types_saturate),
        cmocka_unit_test(scales_may_be_per_channel_or_per_block),
        cmocka_unit_test(all_readers_get_the_codes),
        cmocka_unit_test(what_is_no_constant_or_no_number_stays),
        cmocka_unit_test(it_is_off_in_default_and_on_before_placement),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
