/* tune_final_pairs.c - how many fresh pairs the final measurement takes. */
#include "support/tuned.h"

static qdq_error err;

static qdq_model *product(const char *nodes)
{
    static char text[8000];

    snprintf(text, sizeof text,
             "g (float[8,8] x) => (float[8,8] y) <float[8,8] a = {%s}, float s = {0.02}, uint8 z = "
             "{128}> { %s }",
             test_tuned_weights(), nodes);
    return test_model(text);
}

/* Samples of a run with a file whose product is slower in 8 bits. The noise is such that 24 pairs
 * leave a wide interval. */
static uint64_t count_samples(const char *folder)
{
    qdq_tune_opts o =
        test_tuned_opts(test_tuned_costs("\"MatMul\": {\"float_us\": 300, \"int8_us\": 900}",
                                         "\"outlier_rate\": 0.5, \"outlier_factor\": 1.4"));
    qdq_model *m = product("y = MatMul(x, a)"),
              *given = product("q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z)"
                               " y = MatMul(d, a)");
    const qdq_model *baselines[] = {given, NULL};
    qdq_tune_result r;

    o.preset = QDQ_TUNE_QUICK;
    o.qdq_baselines = baselines;
    assert_ok(test_tuned_run(m, folder, &o, &r, &err));
    assert_int_equal(r.verdict, QDQ_TUNED_FLOAT);
    qdq_model_free(given);
    qdq_model_free(m);
    return test_tuned_samples(folder);
}

TEST(a_file_that_is_slower_for_sure_gets_no_further_pairs)
{
    /* 24 pairs; with 96 further ones there are 267 samples */
    assert_true(count_samples(test_path("slower")) < 200);
}
