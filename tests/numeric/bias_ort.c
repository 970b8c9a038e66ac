/* bias_ort.c - what becomes of a bias that int32 cannot hold at the scale of activation times
 * weight. Three ways out are measured on ONNX Runtime: the node in float, the bias in float, a
 * larger scale for the weight. */
#include <math.h>

#include "numeric/ort_help.h"
#include "quant/plan/plan.h"

/* Activation 0.5, weight 7.843e-10 (that of channel 1), bias 5. */
#define FRONT                                                                                      \
    "<ir_version: 9, opset_import: [\"\" : 17]>\n"                                                 \
    "g (float[1,1,4,4] x) => (float[1,2,4,4] y) <float s = {0.5}, uint8 z = {128}, float t = "     \
    "{0.0625}, "                                                                                   \
    "uint8 u = {128}, int8[2,1,1,1] w = {127, 127}, float[2] ws = {0.0078125, 7.843e-10}, "        \
    "int8[2] wz = {0, "                                                                            \
    "0},\n"
#define CONV                                                                                       \
    "  xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z) wd = DequantizeLinear <axis "  \
    "= 0> (w, "                                                                                    \
    "ws, wz)\n"
#define OUT " c = Conv(xd, wd, b) cq = QuantizeLinear(c, t, u) y = DequantizeLinear(cq, t, u)\n}\n"

/* Channel 1 is 5 everywhere. How far off is it, in steps of the output? */
static double off(qdq_engine *e, const char *text)
{
    static kept k;
    qdq_model *m = test_model(text);
    double most = 0;

    run_model(e, m, NULL, &k);
    assert_int_equal(count_kernels(e, m, "QLinearConv"), 1);
    for (size_t i = 16; i < 32; i++)
        most = fmax(most, fabs((double)kept_float(&k, i) - 5));
    qdq_model_free(m);
    return most / 0.0625;
}

/* The engine quantizes a float bias by itself where it finds a Q behind, and clips it. */
TEST(a_float_bias_in_front_of_q_is_clipped_by_the_engine)
{
    qdq_engine *e = need_ort();

    assert_true(off(e, FRONT "float[2] b = {0.5, 5}> {\n" CONV OUT) > 30);
}

TEST(codes_are_clipped_too)
{
    qdq_engine *e = need_ort();

    assert_true(
        off(e, FRONT
            "int32[2] bq = {128, 2147483647}, float[2] bs = {0.00390625, 3.9215e-10}> {\n" CONV
            "  b = DequantizeLinear <axis = 0> (bq, bs)" OUT) > 30);
}

/* 5 / 2^31 / 0.5 is the scale, and the channel's weight, which adds 1e-7 times x to 5, has codes of
 * 21 instead of 127. */
TEST(a_larger_scale_of_the_channel_is_exact)
{
    qdq_engine *e = need_ort();

    assert_true(off(e, test_graph_text(__func__)) < 1);
}

/* --- what quantize does ----------------------------------------------------------------------- */

static qdq_model *small_weights(void)
{
    return test_graph(__func__);
}

static void count_runs(void *ctx, const char *what, uint64_t done, uint64_t total)
{
    (void)total;
    *(int *)ctx += done == 1 && strcmp(what, "calibrate") == 0;
}

/* *runs: over the samples, one for each plan that was calibrated. */
static qdq_plan *planned(qdq_engine *e, const char *per_channel, int *runs, kept *want, kept *have)
{
    qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;
    qdq_job job = QDQ_JOB_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = small_weights(), *q = NULL;
    qdq_target *t = NULL;
    qdq_plan *p = NULL;

    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    assert_ok(qdq_target_set(t, "weight.per_channel", per_channel, &err));
    assert_ok(qdq_target_set(t, "stay_float", "[]", &err));
    *runs = 0;
    job.progress = count_runs;
    job.ctx = runs;
    opts.job = &job;
    assert_ok(qdq_quantize(m, t, e, NULL, &opts, &p, &q, &err));
    run_model(e, m, NULL, want);
    run_model(e, q, NULL, have);
    qdq_target_free(t);
    qdq_model_free(q);
    qdq_model_free(m);
    return p;
}

static const char *reason_of(const qdq_plan *p, const char *node)
{
    for (size_t i = 0; i < p->left_float.n; i++)
        if (strcmp(p->left_float.at[i].node, node) == 0)
            return p->left_float.at[i].reason;
    return "";
}

TEST(a_channel_of_its_own_scale_makes_room_and_the_node_runs_in_8_bits)
{
    static kept want, have;
    qdq_engine *e = need_ort();
    int runs;
    qdq_plan *p = planned(e, "true", &runs, &want, &have);

    assert_int_equal(runs, 1); /* the first plan shows nothing to leave out */
    assert_string_equal(reason_of(p, "second"), "");
    assert_int_equal(p->biases.n, 1);
    for (size_t i = 0; i < 64; i++) /* 5, within what one step of the two outputs is */
        assert_true(fabs((double)kept_float(&have, i) - (double)kept_float(&want, i)) < 0.05);
    qdq_plan_free(p);
}

TEST(with_one_scale_for_all_channels_the_node_stays_float)
{
    static kept want, have;
    qdq_engine *e = need_ort();
    int runs;
    qdq_plan *p = planned(e, "false", &runs, &want, &have);

    assert_int_equal(runs,
                     2); /* the second plan leaves out what the first one showed, and ends it */
    assert_string_equal(reason_of(p, "second"),
                        "int32 cannot hold its bias beside one scale of its weight");
    assert_int_equal(p->biases.n, 0);
    assert_int_equal(p->weights.n, 1); /* v, which two Conv read */
    for (size_t i = 0; i < 64; i++)
        assert_true(fabs((double)kept_float(&have, i) - (double)kept_float(&want, i)) < 0.05);
    qdq_plan_free(p);
}
