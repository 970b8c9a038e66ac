/* exist_alloc.c - every allocation of reading quantization that is there fails once: strip, import,
 * check against a target, encodings. */
#include "support/alloc_fail.h"

#include "qdq/quant.h"

/* Operators on codes, dynamic quantization, a Relu that codes stand for, a body, constants of all
 * kinds, what stays. */
static const char model_text[] =
    "<ir_version: 9, opset_import: [\"\" : 17, \"com.microsoft\" : 1], producer_name: "
    "\"onnx.quantize\">\n"
    "g (float[1,2,4,4] x, bool k, uint8[2] raw) => (float[1,2,4,4] y, float[1,2,4,4] v, float[2] "
    "o, "
    "float[1,2,4,4] n) <\n"
    "  float s = {0.5}, uint8 z = {0}, int8[2,2,1,1] w_quantized = {1, 2, 3, 4}, float[2] ws = "
    "{0.5, 0.25}, "
    "int8[2] wz = "
    "{0, 0},\n"
    "  int32[2] b = {5, 6}, float[2] bs = {0.25, 0.125}, float[2] fb = {1, 2}, int8[4,4] m = {1, "
    "2, 3, 4, 5, "
    "6, 7, 8, 9, 10, "
    "11, 12, 13, 14, 15, 16}> {\n"
    "  q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z)\n"
    "  dw = DequantizeLinear <axis = 0> (w_quantized, ws, wz) db = DequantizeLinear <axis = 0> (b, "
    "bs)\n"
    "  c = Conv(d, dw, db) e = QuantizeLinear(c, s, z)\n"
    "  a_quantized = com.microsoft.QLinearAdd(e, s, z, e, s, z, s, z) y = "
    "DequantizeLinear(a_quantized, s, "
    "z)\n"
    "  t, ts, tz = DynamicQuantizeLinear(x) i = MatMulInteger(t, m, tz) f = Cast <to = 1> (i)\n"
    "  both = Mul(ts, s) n = Mul(f, both)\n"
    "  v = If <then_branch = p () => (float[1,2,4,4] g1) {\n"
    "    h = QuantizeLinear(x, s, z) g1 = DequantizeLinear(h, s, z)\n"
    "  }, else_branch = r () => (float[1,2,4,4] g2) { g2 = Neg(x) }> (k)\n"
    "  o = DequantizeLinear(raw, s, z)\n"
    "}\n";

/* Weights inside of operators: a scale below 0, zero points, biases of both forms, a table. */
static const char nbits_text[] =
    "<ir_version: 9, opset_import: [\"\" : 21, \"com.microsoft\" : 1]>\n"
    "g (float[3,4] x, float[1,3,4] x3, int64[2] i) => (float[3,2] y, float[1,3,2] u, float[2,2] t) "
    "<\n"
    "  uint8[2,1,8] w_quantized = {121, 138, 255, 255, 255, 255, 255, 255, 187, 240, 0, 0, 0, 0, "
    "0, 0},\n"
    "  float[2] s = {1, -0.5}, uint8[2,1] z = {9, 7}, float[2] b = {5, 6}, int4[2,2] t_Q4 = {1, "
    "-8, 7, 0},\n"
    "  float[2,1] ts = {1, 0.5}> {\n"
    "  [\"n\"] y = com.microsoft.MatMulNBits <K = 4, N = 2, block_size = 16> (x, w_quantized, s, "
    "z, \"\", "
    "b)\n"
    "  [\"o\"] u = com.microsoft.MatMulNBits <K = 4, N = 2, block_size = 16> (x3, w_quantized, s, "
    "\"\", "
    "\"\", b)\n"
    "  t = com.microsoft.GatherBlockQuantized <block_size = 16> (t_Q4, i, ts)\n"
    "}\n";

/* Two directions, with scales for rows and for directions; and one that stays. */
static const char lstm_text[] =
    "<ir_version: 9, opset_import: [\"\" : 17, \"com.microsoft\" : 1]>\n"
    "g (float[3,2,1] x, int8[1,1,4] v) => (y, z) <\n"
    "  int8[2,1,4] w_quantized = {1, 2, 3, 4, 5, 6, 7, 8}, float[2,4] ws = {1, 2, 3, 4, 5, 6, 7, "
    "8}, int8[2,4] wz = {0, 0, 0, 0, 0, 0, 0, 0}, float[2] rs = {1, 2}, int8[2] rz = {0, 0}, "
    "float[1] s = {1}, int8[1] n = {0}> {\n"
    "  [\"a_quant\"] y = com.microsoft.DynamicQuantizeLSTM <hidden_size = 1, direction = "
    "\"bidirectional\"> (x, w_quantized, w_quantized, \"\", \"\", \"\", \"\", \"\", ws, wz, rs, "
    "rz)\n"
    "  z = com.microsoft.DynamicQuantizeLSTM <hidden_size = 1> (x, v, v, \"\", \"\", \"\", \"\", "
    "\"\", s, n, s, n)\n"
    "}\n";

static qdq_status strip(void *ctx, qdq_error *err)
{
    qdq_model *m = NULL, *out = NULL;
    size_t n_left;
    qdq_status st = qdq_model_from_text(ctx, "t", &m, err);

    if (st == QDQ_OK)
        st = qdq_model_strip(m, NULL, &out, &n_left, err);
    qdq_model_free(out);
    qdq_model_free(m);
    return st;
}

static void ignore(void *ctx, qdq_log_level level, const char *text)
{
    (void)ctx;
    (void)level;
    (void)text;
}

static qdq_status import(void *ctx, qdq_error *err)
{
    qdq_import_opts opts = QDQ_IMPORT_OPTS_INIT;
    qdq_job job = QDQ_JOB_INIT;
    qdq_model *m = NULL, *out = NULL;
    qdq_plan *p = NULL;
    qdq_status st = qdq_model_from_text(ctx, "t", &m, err);

    job.log = ignore;
    opts.job = &job;
    if (st == QDQ_OK)
        st = qdq_plan_import(m, &opts, &p, &out, err);
    qdq_plan_free(p);
    qdq_model_free(out);
    qdq_model_free(m);
    return st;
}

static qdq_status check(void *ctx, qdq_error *err)
{
    qdq_model *m = NULL;
    qdq_target *t = NULL;
    qdq_target_check *r = NULL;
    qdq_status st = qdq_model_from_text(model_text, "t", &m, err);

    if (st == QDQ_OK)
        st = qdq_target_load(ctx, &t, err);
    if (st == QDQ_OK)
        st = qdq_model_check_target(m, t, NULL, &r, err);
    qdq_free(r);
    qdq_target_free(t);
    qdq_model_free(m);
    return st;
}

static qdq_status check_on_sim(void *ctx, qdq_error *err)
{
    qdq_check_opts opts = QDQ_CHECK_OPTS_INIT;
    qdq_model *m = NULL;
    qdq_target *t = NULL;
    qdq_target_check *r = NULL;
    qdq_status st = qdq_model_from_text(ctx, "t", &m, err);

    if (st == QDQ_OK)
        st = qdq_target_load("ort-cpu", &t, err);
    if (st == QDQ_OK)
        st = qdq_engine_open("sim:" QDQ_SOURCE_DIR "/tests/data/sim_basic.json", NULL, &opts.engine,
                             err);
    if (st == QDQ_OK)
        st = qdq_model_check_target(m, t, &opts, &r, err);
    qdq_free(r);
    qdq_engine_close(opts.engine);
    qdq_target_free(t);
    qdq_model_free(m);
    return st;
}

static qdq_status encodings(void *ctx, qdq_error *err)
{
    static const char text[] =
        "{\"activation_encodings\": {\"x\": [{\"bitwidth\": 8, \"offset\": -3, "
        "\"scale\": 0.5}], \"nowhere\": [{\"bitwidth\": "
        "8, \"offset\": 0, \"scale\": 1}]}, \"param_encodings\": {\"w\": "
        "[{\"bitwidth\": 8, \"is_symmetric\": \"True\", "
        "\"offset\": -128, \"scale\": 0.5}], \"b\": [{\"bitwidth\": 32, "
        "\"is_symmetric\": \"True\", \"offset\": "
        "-2147483648, \"scale\": 0.5}]}}";
    qdq_model *m = NULL;
    qdq_plan *p = NULL;
    qdq_status st = qdq_model_from_text(ctx, "t", &m, err);

    if (st == QDQ_OK)
        st = qdq_plan_parse_encodings(text, sizeof text - 1, "e", m, NULL, &p, err);
    qdq_plan_free(p);
    qdq_model_free(m);
    return st;
}

TEST(strip_survives_every_allocation_failure)
{
    assert_true(test_every_alloc_fails(strip, (void *)(uintptr_t)model_text) > 1);
    assert_true(test_every_alloc_fails(strip, (void *)(uintptr_t)nbits_text) > 1);
    assert_true(test_every_alloc_fails(strip, (void *)(uintptr_t)lstm_text) > 1);
}

TEST(import_survives_every_allocation_failure)
{
    assert_true(test_every_alloc_fails(import, (void *)(uintptr_t)model_text) > 1);
    assert_true(test_every_alloc_fails(import, (void *)(uintptr_t)nbits_text) > 1);
    assert_true(test_every_alloc_fails(import, (void *)(uintptr_t)lstm_text) > 1);
}

TEST(check_survives_every_allocation_failure)
{
    assert_true(test_every_alloc_fails(check, (char[]){"ort-cpu"}) > 1);
    assert_true(test_every_alloc_fails(check, (char[]){"tensorrt"}) > 1);
}

TEST(a_proof_survives_every_allocation_failure)
{
    static const char small[] =
        "<ir_version: 9, opset_import: [\"\" : 17]>\n"
        "g (float[2] x) => (float[2] y) <float s = {0.5}, uint8 z = {3}> {\n"
        "  q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) y = Sigmoid(d)\n"
        "}\n";

    assert_true(test_every_alloc_fails(check_on_sim, (void *)(uintptr_t)small) > 1);
}

TEST(encodings_survive_every_allocation_failure)
{
    static const char small[] =
        "<ir_version: 9, opset_import: [\"\" : 17]>\n"
        "g (float[1,1,2,2] x) => (float[1,1,2,2] y) <float[1,1,1,1] w = {1}, float[1] b = {2}> {\n"
        "  y = Conv(x, w, b)\n"
        "}\n";

    assert_true(test_every_alloc_fails(encodings, (void *)(uintptr_t)small) > 1);
}
