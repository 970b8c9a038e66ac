/* Do two models compute the same? What each type of output allows, and who is to blame when one
 * does not run. */
#include "support/npy_file.h"

static qdq_error err;

/* Output y has a range of 6: from 0, because nothing is below, to 6. */
static const float data[] = {1, 2, 4, 3, 5, 6};

static const char *samples(void)
{
    return test_npy_file("x.npy", TEST_HEADER("<f4", "(3, 2)"), data, sizeof data);
}

/* One question with all that it takes; `compared` is freed. */
/* For its text alone. */
static void hold(qdq_same_result *r)
{
    qdq_free(r->compared);
    r->compared = NULL;
    test_keep(r);
}

static qdq_same_result ask(const char *a, const char *b, double tolerance)
{
    qdq_model *m = test_model(a), *n = test_model(b);
    qdq_engine *e = need_ort();
    qdq_same_result *r;
    qdq_data *d = NULL;

    assert_ok(qdq_data_open(samples(), m, NULL, &d, &err));
    assert_ok(qdq_compare_same(e, m, n, d, NULL, tolerance, &r, &err));
    assert_true(r->same == (r->why[0] == '\0'));
    hold(r);
    qdq_data_close(d);
    qdq_model_free(m);
    qdq_model_free(n);
    return *r;
}

#define assert_same(a, b, tolerance)                                                               \
    do {                                                                                           \
        qdq_same_result r_ = ask(a, b, tolerance);                                                 \
        if (!r_.same)                                                                              \
            fail_msg("not the same: %s", r_.why);                                                  \
    } while (0)

#define assert_other(reason, a, b, tolerance)                                                      \
    do {                                                                                           \
        qdq_same_result r_ = ask(a, b, tolerance);                                                 \
        if (strstr(r_.why, reason) == NULL)                                                        \
            fail_msg("want '%s', got '%s'", reason, r_.why);                                       \
    } while (0)

#define HEAD     "<ir_version: 10, opset_import: [\"\" : 21]> "

#define PLAIN(c) HEAD "g (float[N,2] x) => (float[N,2] y) <float[1] c = {" c "}> { y = Add(x, c) }"
#define CAST(to, type, c)                                                                          \
    HEAD "g (float[N,2] x) => (" type "[N,2] y) <float[1] c = {" c                                 \
         "}> { s = Add(x, c) y = Cast<to = " to ">(s) }"
#define WIDE(n)                                                                                    \
    HEAD "g (float[N,2] x) => (int64[1] y, float[N,2] z) <int64[1] c = {" n "}> "                  \
         "{ y = Identity(c) z = Relu(x) }"
#define QUANTIZED(c)                                                                               \
    HEAD "g (float[N,2] x) => (float[N,2] y) <float[1] c = {" c                                    \
         "}, float s = {0.01}, uint16 z = {0}> "                                                   \
         "{ t = Add(x, c) q = QuantizeLinear(t, s, z) y = DequantizeLinear(q, s, z) }"

TEST(floats_may_be_apart_by_a_share_of_the_range)
{
    assert_same(PLAIN("0"), PLAIN("0"), 0);
    assert_same(PLAIN("0"), PLAIN("4e-5"), 0);
    assert_other("output 'y': found a difference of 0.0001", PLAIN("0"), PLAIN("1e-4"), 0);
    assert_other("1.67e-05 of its range, expected at most 1e-05", PLAIN("0"), PLAIN("1e-4"), 0);
}

TEST(a_tolerance_of_the_caller_goes_before_ours)
{
    assert_same(PLAIN("0"), PLAIN("1e-4"), 1e-4);
    assert_other("expected at most 1e-06", PLAIN("0"), PLAIN("4e-5"), 1e-6);
    assert_other("expected at most 1e-06", QUANTIZED("0"), QUANTIZED("0.05"), 1e-6);
}

TEST(floats_of_16_bits_may_be_further_apart)
{
    assert_same(CAST("10", "float16", "0"), CAST("10", "float16", "0.05"), 0);
    assert_other("expected at most 0.01", CAST("10", "float16", "0"), CAST("10", "float16", "0.1"),
                 0);
}

TEST(integers_of_8_bits_may_be_one_step_apart)
{
    assert_same(CAST("3", "int8", "0"), CAST("3", "int8", "1"), 0);
    assert_other("found 6 of 6 elements that differ, by up to 2, expected one step at most",
                 CAST("2", "uint8", "0"), CAST("2", "uint8", "2"), 0);
}

TEST(other_integers_must_be_equal_whatever_the_tolerance)
{
    assert_same(CAST("6", "int32", "0"), CAST("6", "int32", "0"), 0);
    assert_other("expected none", CAST("6", "int32", "0"), CAST("6", "int32", "1"), 0.5);
    assert_other("found 3 of 3 elements that differ", WIDE("9007199254740993"),
                 WIDE("9007199254740992"), 0);
    assert_other("expected none", CAST("9", "bool", "-1"), CAST("9", "bool", "0"), 0);
}

TEST(nan_is_the_same_as_nan_and_as_nothing_else)
{
    static const char root[] = HEAD "g (float[N,2] x) => (float[N,2] y) { t = Neg(x) y = Sqrt(t) }";

    assert_same(root, root, 0);
    assert_other("output 'y': found NaN or infinity", root, PLAIN("0"), 0);
    assert_other("output 'y': found NaN or infinity", PLAIN("0"), root, 1);
}

TEST(what_is_zero_everywhere_must_stay_zero)
{
    static const char zero[] = HEAD "g (float[N,2] x) => (float[N,2] y) { y = Sub(x, x) }";

    assert_same(zero, zero, 0);
    assert_false(ask(zero, zero, 0).proven);
    assert_true(ask(PLAIN("0"), PLAIN("0"), 0).proven);
    assert_other("found a difference of 1, inf of its range", zero,
                 HEAD "g (float[N,2] x) => (float[N,2] y) { y = Div(x, x) }", 0);
}

TEST(a_rounding_that_tips_is_allowed_where_there_is_quantization)
{
    /* one step of 0.01 everywhere: 91 against 6 * 0.0001, 51.8 dB */
    assert_same(QUANTIZED("0"), QUANTIZED("0.01"), 0);
    assert_other("output 'y': found SQNR 37.8 dB, expected at least 40 dB", QUANTIZED("0"),
                 QUANTIZED("0.05"), 0);
}

TEST(outputs_must_be_the_same_in_name_number_and_shape)
{
    static const char y[] = HEAD "g (float[N,2] x) => (float[N,2] y) { y = Relu(x) }";

    assert_other("output 0: expected 'y', found z", y,
                 HEAD "g (float[N,2] x) => (float[N,2] z) { z = Relu(x) }", 0);
    assert_other("output 1: expected 'z', found none",
                 HEAD "g (float[N,2] x) => (float[N,2] y, float[N,2] z) { y = Relu(x) z = Neg(x) }",
                 y, 0);
    assert_other("output 'y' is [1, 2] in the first model, [2, 1] in the second", y,
                 HEAD "g (float[N,2] x) => (float[2,N] y) { y = Transpose(x) }", 0);
}

TEST(a_model_that_does_not_run_any_more_is_not_the_same)
{
    const char *custom = test_graph_text(__func__);

    assert_other("second model: ", PLAIN("0"), custom, 0);
    qdq_model *m = test_model(custom);
    qdq_engine *e = test_ort();
    qdq_data *d = NULL;
    qdq_same_result *r;

    assert_ok(qdq_data_open(samples(), m, NULL, &d, &err));
    assert_fails(QDQ_E_ENGINE, "first model: ", qdq_compare_same(e, m, m, d, NULL, 0, &r, &err));
    assert_null(r);
    qdq_data_close(d);
    qdq_model_free(m);
}

TEST(a_range_that_the_data_do_not_have_is_an_error)
{
    qdq_model *m = test_model(PLAIN("0"));
    qdq_compare_opts opts = QDQ_COMPARE_OPTS_INIT;
    qdq_data *d = NULL;
    qdq_same_result *r;

    opts.first = 3;
    assert_ok(qdq_data_open(samples(), m, NULL, &d, &err));
    assert_fails(QDQ_E_USAGE, "samples 3 to 3, the data have 3",
                 qdq_compare_same(test_ort(), m, m, d, &opts, 0, &r, &err));
    qdq_data_close(d);
    qdq_model_free(m);
}

/* The sim engine gives y the same numbers whatever computes it, but for what it computes
 * wrongly: 1.0001 times, and as it is written without optimizations. */
static qdq_same_result ask_sim(double times)
{
    qdq_model *m = test_model("g (float[N,2] x) => (float[N,2] y) { y = Neg(x) }"),
              *n = test_model("g (float[N,2] x) => (float[N,2] y) { y = Abs(x) }");
    char json[300];
    qdq_same_result *r;
    qdq_data *d = NULL;

    snprintf(json, sizeof json,
             "{\"qdq_sim\": 1, \"wrong\": [{\"op\": \"Neg\", \"float\": true, \"times\": 1.0001}, "
             "{\"op\": \"Abs\", \"float\": true, \"times\": %g}]}",
             times);
    qdq_engine *e = test_sim(json);
    assert_ok(qdq_data_open("random:1", m, NULL, &d, &err));
    assert_ok(qdq_compare_same(e, m, n, d, NULL, 0, &r, &err));
    hold(r);
    qdq_data_close(d);
    qdq_engine_close(e);
    qdq_model_free(m);
    qdq_model_free(n);
    return *r;
}

TEST(models_may_be_apart_as_far_as_the_engine_is_from_itself)
{
    assert_true(ask_sim(1).same); /* 1e-4, as the engine with and without optimizations */
    assert_string_equal(ask_sim(1).why, "");
    const qdq_same_result r = ask_sim(1.001); /* ten times as much */
    assert_false(r.same);
    assert_non_null(strstr(r.why, "expected at most 0.0001"));
}
