/* quant_strip.c - models without their quantization: what becomes of every form, and what has to
 * stay. */
#include "ir/ir.h"
#include "quant/plan/plan.h"
#include "support/test.h"

#define S    "float s = {0.5}, uint8 z = {3}"
#define BARE "<ir_version: 9, opset_import: [\"\" : 17]>\n"
#define ORT  "<ir_version: 9, opset_import: [\"\" : 17], producer_name: \"onnx.quantize\">\n"

typedef struct recorded_lines {
    char text[2000];
} recorded_lines;

static void record_line(void *ctx, qdq_log_level level, const char *text)
{
    recorded_lines *h = ctx;

    if (level <= QDQ_LOG_WARNING)
        strncat(h->text, text, sizeof h->text - strlen(h->text) - 1);
}

static qdq_model *stripped(const char *text, qdq_bounds bounds, size_t *n_left, recorded_lines *h)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_import_opts opts = QDQ_IMPORT_OPTS_INIT;
    qdq_job job = QDQ_JOB_INIT;
    qdq_model *m = test_model(text), *out = NULL;

    memset(h, 0, sizeof *h);
    job.ctx = h;
    job.log = record_line;
    opts.bounds = bounds;
    opts.job = &job;
    assert_ok(qdq_model_strip(m, &opts, &out, n_left, &err));
    qdq_model_free(m);
    return out;
}

/* Stripped once it is `after`; twice changes nothing. */
static void assert_strips_bounds(const char *before, qdq_bounds bounds, const char *after)
{
    qdq_error err = QDQ_ERROR_INIT;
    recorded_lines h;
    size_t n_left = 9;
    qdq_model *m = stripped(before, bounds, &n_left, &h), *want = test_model(after), *again = NULL;
    char *text = NULL;

    assert_int_equal(n_left, 0);
    assert_string_equal(h.text, "");
    assert_ok(qdq_model_to_text(want, &text, &err));
    test_assert_text(m, text);
    assert_ok(qdq_model_strip(m, NULL, &again, NULL, &err));
    test_assert_text(again, text);
    qdq_free(text);
    qdq_model_free(again);
    qdq_model_free(want);
    qdq_model_free(m);
}

static void assert_strips(const char *before, const char *after)
{
    assert_strips_bounds(before, QDQ_BOUNDS_AUTO, after);
}

/* `part` says why `n` nodes had to stay. */
static void assert_stays(const char *text, size_t n, const char *part)
{
    recorded_lines h;
    size_t n_left = 0;

    qdq_model_free(stripped(text, QDQ_BOUNDS_AUTO, &n_left, &h));
    assert_int_equal(n_left, n);
    if (strstr(h.text, part) == NULL)
        fail_msg("'%s' is not in '%s'", part, h.text);
}

TEST(pairs_of_q_and_dq_go)
{
    assert_strips("g (float[2] x) => (float[2] y) <" S "> {\n"
                  "  q = QuantizeLinear(x, s, z)\n"
                  "  d = DequantizeLinear(q, s, z)\n"
                  "  y = Neg(d)\n"
                  "}\n",
                  "g (float[2] x) => (float[2] y) { y = Neg(x) }");
}

TEST(a_dequantized_graph_output_keeps_its_name)
{
    assert_strips("g (float[2] x) => (float[2] y) <" S "> {\n"
                  "  n = Neg(x)\n"
                  "  q = QuantizeLinear(n, s, z)\n"
                  "  y = DequantizeLinear(q, s, z)\n"
                  "}\n",
                  "g (float[2] x) => (float[2] y) { y = Neg(x) }");
    assert_strips("g (float[2] x) => (float[2] y) <" S "> {\n"
                  "  q = QuantizeLinear(x, s, z)\n"
                  "  y = DequantizeLinear(q, s, z)\n"
                  "}\n",
                  "g (float[2] x) => (float[2] y) { y = Identity(x) }");
}

/* (8 - 3) * 0.5 and so on; int4, blocks, per channel, float8: whatever DQ reads. What had scales of
 * 16 bits is float32. */
TEST(constants_become_float_again)
{
    assert_strips("g (float[2] x) => (float[2] y) <" S ", uint8[2] w_quantized = {8, 1}> {\n"
                  "  d = DequantizeLinear(w_quantized, s, z)\n"
                  "  y = Add(x, d)\n"
                  "}\n",
                  "g (float[2] x) => (float[2] y) <float[2] w = {2.5, -1}> { y = Add(x, w) }");
    assert_strips(
        "g (float[2,2] x) => (float[2,2] y) <int8[2,2] w = {1, 2, 3, 4}, float[2] t = {0.5, 2}> {\n"
        "  d = DequantizeLinear <axis = 1> (w, t)\n"
        "  y = Add(x, d)\n"
        "}\n",
        "g (float[2,2] x) => (float[2,2] y) <float[2,2] w_1 = {0.5, 4, 1.5, 8}> { y = Add(x, w_1) "
        "}");
    assert_strips("<ir_version: 10, opset_import: [\"\" : 21]>\n"
                  "g (float[4,1] x) => (float[4,1] y) <int4[4,1] w = {1, -2, 3, -4}, float[2,1] t "
                  "= {0.5, 2}> {\n"
                  "  d = DequantizeLinear <axis = 0, block_size = 2> (w, t)\n"
                  "  y = Add(x, d)\n"
                  "}\n",
                  "<ir_version: 10, opset_import: [\"\" : 21]>\n"
                  "g (float[4,1] x) => (float[4,1] y) <float[4,1] w_1 = {0.5, -1, 6, -8}> { y = "
                  "Add(x, w_1) }");
    assert_strips(
        "<ir_version: 10, opset_import: [\"\" : 21]>\n"
        "g (float16[2] x) => (float16[2] y) <float8e4m3fn[2] w = {56, 192}, float16 t = {0.5}> {\n"
        "  d = DequantizeLinear(w, t)\n"
        "  y = Add(x, d)\n"
        "}\n",
        "<ir_version: 10, opset_import: [\"\" : 21]>\n"
        "g (float16[2] x) => (float16[2] y) <float[2] w_1 = {0.5, -1}> {\n"
        "  x_1 = Cast <to = 1> (x)\n"
        "  y_1 = Add(x_1, w_1)\n"
        "  y = Cast <to = 10> (y_1)\n"
        "}\n");
}

#define NEWEST "<ir_version: 13, opset_import: [\"\" : 25]>\n"

/* 2 bits and float4, whole and in blocks, and more of them than fill a byte */
TEST(constants_of_2_bits_and_float4_become_float_again)
{
    assert_strips(NEWEST "g (float[5] x) => (float[5] y) <int2[5] w = {-2, -1, 0, 1, 1}, "
                         "float t = {0.5}> {\n"
                         "  d = DequantizeLinear(w, t)\n"
                         "  y = Add(x, d)\n"
                         "}\n",
                  NEWEST "g (float[5] x) => (float[5] y) <float[5] w_1 = {-1, -0.5, 0, 0.5, 0.5}> "
                         "{ y = Add(x, w_1) }");
    assert_strips(NEWEST "g (float[3,2] x) => (float[3,2] y) <uint2[3,2] w = {0, 1, 2, 3, 3, 2}, "
                         "float[2,2] t = {1, 2, 0.5, 4}, uint2[2,2] z = {1, 0, 3, 2}> {\n"
                         "  d = DequantizeLinear <axis = 0, block_size = 2> (w, t, z)\n"
                         "  y = Add(x, d)\n"
                         "}\n",
                  NEWEST
                  "g (float[3,2] x) => (float[3,2] y) <float[3,2] w_1 = {-1, 2, 1, 6, 0, 0}> "
                  "{ y = Add(x, w_1) }");
    assert_strips(NEWEST "g (float[3] x) => (float[3] y) <float4e2m1[3] w = {-6.0, 0.5, 3.0}, "
                         "float t = {0.25}> {\n"
                         "  d = DequantizeLinear(w, t)\n"
                         "  y = Add(x, d)\n"
                         "}\n",
                  NEWEST "g (float[3] x) => (float[3] y) <float[3] w_1 = {-1.5, 0.125, 0.75}> "
                         "{ y = Add(x, w_1) }");
}

/* The type of scales was taken for that of the result: negative numbers became the smallest power
 * of two. */
TEST(constants_with_scales_of_powers_of_two_become_the_type_that_dq_says)
{
    assert_strips(NEWEST "g (float[2,2] x) => (float[2,2] y) "
                         "<float4e2m1[2,2] w = {-6.0, 0.5, 3.0, -1.0}, "
                         "float8e8m0[1,2] t = {0.5, 2.0}> {\n"
                         "  d = DequantizeLinear <axis = 0, block_size = 2, output_dtype = 1> "
                         "(w, t)\n"
                         "  y = Add(x, d)\n"
                         "}\n",
                  NEWEST "g (float[2,2] x) => (float[2,2] y) <float[2,2] w_1 = {-3, 1, 1.5, -2}> "
                         "{ y = Add(x, w_1) }");
    assert_strips(NEWEST "g (float16[2] x) => (float16[2] y) <int2[2] w = {-2, 1}, "
                         "float t = {0.5}> {\n"
                         "  d = DequantizeLinear <output_dtype = 10> (w, t)\n"
                         "  y = Add(x, d)\n"
                         "}\n",
                  NEWEST "g (float16[2] x) => (float16[2] y) <float16[2] w_1 = {-1.0, 0.5}> "
                         "{ y = Add(x, w_1) }");
    assert_stays(NEWEST "g () => (y) <int2[2] w = {-2, 1}, float8e8m0 t = {0.5}> {\n"
                        "  d = DequantizeLinear(w, t)\n"
                        "  y = Neg(d)\n"
                        "}\n",
                 1, "no float type of 16 bits or more");
}

TEST(a_pair_that_converts_to_another_type_stays)
{
    assert_strips(NEWEST "g (float[2] x) => (float[2] y) <float8e8m0 t = {0.5}> {\n"
                         "  n = Neg(x)\n"
                         "  q = QuantizeLinear <output_dtype = 26> (n, t)\n"
                         "  d = DequantizeLinear <output_dtype = 1> (q, t)\n"
                         "  y = Neg(d)\n"
                         "}\n",
                  NEWEST "g (float[2] x) => (float[2] y) { n = Neg(x) y = Neg(n) }");
    assert_stays(NEWEST "g (float[2] x) => (float16[2] y) <float t = {0.5}> {\n"
                        "  n = Neg(x)\n"
                        "  q = QuantizeLinear <output_dtype = 26> (n, t)\n"
                        "  y = DequantizeLinear <output_dtype = 10> (q, t)\n"
                        "}\n",
                 2, "not of the type that the QuantizeLinear before it reads");
}

TEST(weights_that_are_floats_behind_q_are_those_floats)
{
    assert_strips("g (float[2] x) => (float[2] y) <" S ", float[2] w = {0.3, 0.7}> {\n"
                  "  q = QuantizeLinear(w, s, z)\n"
                  "  d = DequantizeLinear(q, s, z)\n"
                  "  y = Add(x, d)\n"
                  "}\n",
                  "g (float[2] x) => (float[2] y) <float[2] w = {0.3, 0.7}> { y = Add(x, w) }");
}

TEST(computed_scales_go_with_what_computed_them)
{
    assert_strips("g (float[2] x, float a) => (float[2] y) <uint8 z = {3}> {\n"
                  "  s = Abs(a)\n"
                  "  q = QuantizeLinear(x, s, z)\n"
                  "  d = DequantizeLinear(q, s, z)\n"
                  "  y = Neg(d)\n"
                  "}\n",
                  "g (float[2] x, float a) => (float[2] y) { y = Neg(x) }");
    assert_strips(
        "g (float[2,2] x) => (float[2,2] y) <int8[2,2] w = {1, 2, 3, 4}, float ws = {0.5}> {\n"
        "  a, as, az = DynamicQuantizeLinear(x)\n"
        "  i = MatMulInteger(a, w, az)\n"
        "  f = Cast <to = 1> (i)\n"
        "  s = Mul(as, ws)\n"
        "  y = Mul(f, s)\n"
        "}\n",
        "g (float[2,2] x) => (float[2,2] y) <float[2,2] w_1 = {0.5, 1, 1.5, 2}> { y = MatMul(x, "
        "w_1) }");
}

TEST(operators_on_codes_become_float_operators)
{
    assert_strips("g (float[1,1,2,2] x) => (float[1,1,2,2] y) <" S
                  ", int8[1,1,1,1] w = {2}, float ws = {0.25}, "
                  "int8 wz = {0}, int32[1] b = {16}> {\n"
                  "  x_quantized = QuantizeLinear(x, s, z)\n"
                  "  [c_quant] c_quantized = QLinearConv(x_quantized, s, z, w, ws, wz, s, z, b)\n"
                  "  t = MaxPool <kernel_shape = [1, 1]> (c_quantized)\n"
                  "  y = DequantizeLinear(t, s, z)\n"
                  "}\n",
                  "g (float[1,1,2,2] x) => (float[1,1,2,2] y) <float[1,1,1,1] w_1 = {0.5}, "
                  "float[1] b_1 = {2}> {\n"
                  "  [c] c = Conv(x, w_1, b_1)\n"
                  "  y = MaxPool <kernel_shape = [1, 1]> (c)\n"
                  "}\n");
}

TEST(bodies_and_functions_are_stripped_too)
{
    assert_strips("<ir_version: 9, opset_import: [\"\" : 17, \"my\" : 1]>\n"
                  "g (bool c, float[2] x) => (float[2] y) <" S "> {\n"
                  "  q = QuantizeLinear(x, s, z)\n"
                  "  r = If <then_branch = a () => (float[2] p) <uint8[2] w_quantized = {8, 1}> {\n"
                  "    d = DequantizeLinear(q, s, z)\n"
                  "    v = DequantizeLinear(w_quantized, s, z)\n"
                  "    p = Add(d, v)\n"
                  "  }, else_branch = b () => (float[2] o) {\n"
                  "    k = QuantizeLinear(x, s, z)\n"
                  "    l = DequantizeLinear(k, s, z)\n"
                  "    o = Neg(l)\n"
                  "  }> (c)\n"
                  "  y = my.F(r)\n"
                  "}\n"
                  "<domain: \"my\", opset_import: [\"\" : 17]>\n"
                  "F (u) => (v) {\n"
                  "  s = Constant <value = float {0.5}> ()\n"
                  "  w = Constant <value = int8 {3}> ()\n"
                  "  d = DequantizeLinear(w, s)\n"
                  "  v = Mul(u, d)\n"
                  "}\n",
                  "<ir_version: 9, opset_import: [\"\" : 17, \"my\" : 1]>\n"
                  "g (bool c, float[2] x) => (float[2] y) {\n"
                  "  r = If <then_branch = a () => (float[2] p) <float[2] w = {2.5, -1}> {\n"
                  "    p = Add(x, w)\n"
                  "  }, else_branch = b () => (float[2] o) {\n"
                  "    o = Neg(x)\n"
                  "  }> (c)\n"
                  "  y = my.F(r)\n"
                  "}\n"
                  "<domain: \"my\", opset_import: [\"\" : 17]>\n"
                  "F (u) => (v) {\n"
                  "  w_1 = Constant <value = float {1.5}> ()\n"
                  "  v = Mul(u, w_1)\n"
                  "}\n");
}

TEST(what_is_no_pair_stays_and_is_said)
{
    assert_stays("g (uint8[2] x) => (float[2] y) <" S "> { y = DequantizeLinear(x, s, z) }", 1,
                 "DequantizeLinear 'DequantizeLinear@y' stays: its codes are an input");
    assert_stays("g (float[2] x) => (uint8[2] y) <" S "> { y = QuantizeLinear(x, s, z) }", 1,
                 "its codes are an output");
    assert_stays("g (float[2] x) => (float[2] y) <" S ", float t = {0.25}> {\n"
                 "  q = QuantizeLinear(x, s, z)\n"
                 "  y = DequantizeLinear(q, t, z)\n"
                 "}\n",
                 2, "another one than that of the QuantizeLinear before it");
    assert_stays("g (float[2] x) => (y) <" S "> {\n"
                 "  q = QuantizeLinear(x, s, z)\n"
                 "  y = Cast <to = 1> (q)\n"
                 "}\n",
                 1, "something else than DequantizeLinear reads its codes");
    assert_stays("g (float[2] x) => (y) <" S "> {\n"
                 "  q = my.Codes(x)\n"
                 "  y = DequantizeLinear(q, s, z)\n"
                 "}\n",
                 1, "do not come from a QuantizeLinear");
    assert_stays("g (float[2,2] x, uint8[2,2] w) => (y) { y = com.microsoft.MatMulNBits <K = 2, N "
                 "= 2> (x, w, w) }",
                 1, "it computes on codes");
    assert_stays("g (uint8[2] x) => (y) <" S "> { y = com.microsoft.QLinearSigmoid <a = 1> (x) }",
                 1, "a scale is missing");
}

TEST(constants_that_cannot_be_read_stay)
{
    assert_stays("g (float[2] x) => (y) <int8[2] w = {1, 2}, float s = {-0.5}> {\n"
                 "  d = DequantizeLinear(w, s)\n"
                 "  y = Add(x, d)\n"
                 "}\n",
                 1, "negative or not finite");
    assert_stays("g (float[2] x, float s) => (y) <int8[2] w = {1, 2}> {\n"
                 "  d = DequantizeLinear(w, s)\n"
                 "  y = Add(x, d)\n"
                 "}\n",
                 1, "its scale is computed");
}

/* --- Relu and Clip that the range of codes stood for ------------------------------------------ */

#define CLIPPED(scale, producer)                                                                   \
    "g (float[1,1,2,2] x) => (float[1,1,2,2] y) <float s = {" scale                                \
    "}, uint8 z = {0}, float[1,1,1,1] w = {1}> {\n"                                                \
    "  c = " producer "\n"                                                                         \
    "  e = QuantizeLinear(c, s, z)\n"                                                              \
    "  y = DequantizeLinear(e, s, z)\n"                                                            \
    "}\n"

TEST(a_relu_that_onnx_runtimes_tool_took_out_comes_back)
{
    assert_strips(ORT CLIPPED("0.5", "Conv(x, w)"),
                  ORT "g (float[1,1,2,2] x) => (float[1,1,2,2] y) <float[1,1,1,1] w = {1}> {\n"
                      "  c = Conv(x, w)\n"
                      "  [c_Relu] y = Relu(c)\n"
                      "}\n");
    assert_strips(
        ORT CLIPPED("0.023529412", "Conv(x, w)"), ORT
        "g (float[1,1,2,2] x) => (float[1,1,2,2] y) <float[1,1,1,1] w = {1}, float clip_min = {0}, "
        "float clip_max = {6}> {\n"
        "  c = Conv(x, w)\n"
        "  [c_Clip] y = Clip(c, clip_min, clip_max)\n"
        "}\n");
}

TEST(no_relu_comes_where_it_would_do_nothing_or_was_never_missing)
{
    static const char plain[] =
        "g (float[1,1,2,2] x) => (float[1,1,2,2] y) <float[1,1,1,1] w = {1}> { y = Conv(x, w) }";

    assert_strips(BARE CLIPPED("0.5", "Conv(x, w)"), plain); /* of another tool */
    assert_strips_bounds(
        ORT CLIPPED("0.5", "Conv(x, w)"), QDQ_BOUNDS_LEAVE,
        ORT
        "g (float[1,1,2,2] x) => (float[1,1,2,2] y) <float[1,1,1,1] w = {1}> { y = Conv(x, w) }");
    assert_strips(
        ORT CLIPPED("0.5", "Sigmoid(x)"), ORT
        "g (float[1,1,2,2] x) => (float[1,1,2,2] y) <float[1,1,1,1] w = {1}> { y = Sigmoid(x) }");
    assert_strips_bounds(BARE CLIPPED("0.5", "Conv(x, w)"), QDQ_BOUNDS_RESTORE,
                         "g (float[1,1,2,2] x) => (float[1,1,2,2] y) <float[1,1,1,1] w = {1}> {\n"
                         "  c = Conv(x, w)\n"
                         "  [c_Relu] y = Relu(c)\n"
                         "}\n");
}

/* --- import ----------------------------------------------------------------------------------- */

/* What is imported is for the stripped model: whoever strips gets the model that the plan is
 * for. */
TEST(a_plan_is_for_the_model_that_strip_gives)
{
    static const char text[] = "g (float[1,1,2,2] x) => (float[1,1,2,2] y) <" S
                               ", float t = {0.25}, uint8 u = {9}, uint8[1] b = {8}, "
                               "int8[1,1,1,1] w = {2}, int8 wz = {0}> {\n"
                               "  q = QuantizeLinear(x, s, z)\n"
                               "  d = DequantizeLinear(q, s, z)\n"
                               "  dw = DequantizeLinear(w, t, wz)\n"
                               "  db = DequantizeLinear(b, t, u)\n"
                               "  c = Conv(d, dw)\n"
                               "  y = Add(c, db)\n"
                               "}\n";
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(text), *out = NULL, *again = NULL;
    qdq_plan *p = NULL, *second = NULL;
    char *want = NULL, *have = NULL;

    assert_ok(qdq_plan_import(m, NULL, &p, NULL, &err));
    assert_int_equal(p->tensors.n, 1);
    assert_int_equal(p->weights.n, 2);
    assert_ok(qdq_model_strip(m, NULL, &out, NULL, &err));
    assert_ok(qdq_plan_apply(p, out, false, NULL, &again, &err));
    assert_ok(qdq_plan_import(again, NULL, &second, NULL, &err));
    assert_ok(qdq_plan_to_text(p, &want, &err));
    assert_ok(qdq_plan_to_text(second, &have, &err));
    assert_string_equal(strstr(have, "\"tensors\""), strstr(want, "\"tensors\""));
    qdq_free(want);
    qdq_free(have);
    qdq_plan_free(p);
    qdq_plan_free(second);
    qdq_model_free(out);
    qdq_model_free(again);
    qdq_model_free(m);
}

/* The plan has nothing of what follows, and the caller hears why. */
static void assert_unsaid(const char *text, const char *part)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_import_opts opts = QDQ_IMPORT_OPTS_INIT;
    qdq_job job = QDQ_JOB_INIT;
    qdq_model *m = test_model(text);
    qdq_plan *p = NULL;
    recorded_lines h = {""};

    job.ctx = &h;
    job.log = record_line;
    opts.job = &job;
    assert_ok(qdq_plan_import(m, &opts, &p, NULL, &err));
    if (strstr(h.text, part) == NULL)
        fail_msg("'%s' is not in '%s'", part, h.text);
    qdq_plan_free(p);
    qdq_model_free(m);
}

TEST(what_a_plan_cannot_say_is_listed_with_the_reason)
{
    assert_unsaid("g (float[2] x, float s) => (float[2] y) {\n"
                  "  q = QuantizeLinear(x, s)\n"
                  "  [d] y = DequantizeLinear(q, s)\n"
                  "}\n",
                  "DequantizeLinear 'd' is not in the plan: its scale is computed");
    assert_unsaid("g (float[2] x) => (y) <int8[2] w = {1, 2}, float t = {0}> {\n"
                  "  d = DequantizeLinear(w, t)\n"
                  "  y = Add(x, d)\n"
                  "}\n",
                  "its scale is 0");
    assert_unsaid("g (float[2] x) => (y) <int32[2] w = {1, 2}, float t = {0.5}> {\n"
                  "  d = DequantizeLinear(w, t)\n"
                  "  y = Add(x, d)\n"
                  "}\n",
                  "not that of an activation times that of a weight");
    assert_unsaid("g (float[2] x, bool c) => (y) <" S "> {\n"
                  "  y = If <then_branch = a () => (float[2] p) {\n"
                  "    q = QuantizeLinear(x, s, z)\n"
                  "    p = DequantizeLinear(q, s, z)\n"
                  "  }, else_branch = b () => (float[2] o) { o = Neg(x) }> (c)\n"
                  "}\n",
                  "a plan cannot name what reads it");
}

/* The tensor between two pairs goes away with the first. */
TEST(the_second_of_two_pairs_stands_on_top_of_the_first)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model("g (float[2] x) => (float[2] y) <" S ", float t = {0.25}> {\n"
                              "  q = QuantizeLinear(x, s, z)\n"
                              "  d = DequantizeLinear(q, s, z)\n"
                              "  r = QuantizeLinear(d, t, z)\n"
                              "  e = DequantizeLinear(r, t, z)\n"
                              "  [n] y = Neg(e)\n"
                              "}\n");
    qdq_plan *p = NULL;

    assert_ok(qdq_plan_import(m, NULL, &p, NULL, &err));
    assert_int_equal(p->tensors.n, 2);
    for (size_t i = 0; i < 2; i++)
        assert_string_equal(p->tensors.at[i].tensor, "x");
    assert_true(p->tensors.at[0].all && !p->tensors.at[1].all);
    assert_string_equal(p->tensors.at[1].consumers.at[0].node, "n");
    qdq_plan_free(p);
    qdq_model_free(m);
}

/* The only reader of the weight's DQ is a Q that goes, too. */
TEST(a_weight_whose_reader_is_gone_is_no_entry)
{
    static const char text[] = "g (float[2] x) => (float[2] y) <float s = {0.5}, float t = {0.25}, "
                               "uint8 z = {3}, int8[2] w = "
                               "{1, 2}, int8 wz = {0}> {\n"
                               "  d = DequantizeLinear(w, s, wz) q = QuantizeLinear(d, t, z) e = "
                               "DequantizeLinear(q, t, z)\n"
                               "  y = Add(x, e)\n"
                               "}\n";
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(text), *stripped = NULL, *q = NULL;
    qdq_plan *p = NULL;

    assert_ok(qdq_plan_import(m, NULL, &p, &stripped, &err));
    for (size_t i = 0; i < p->weights.n; i++)
        assert_true(p->weights.at[i].consumers.n > 0);
    assert_ok(qdq_plan_apply(p, stripped, false, NULL, &q, &err));
    qdq_model_free(q);
    qdq_model_free(stripped);
    qdq_plan_free(p);
    qdq_model_free(m);
}
