/* ort_traps.c - what ONNX Runtime makes of Q/DQ: the facts that the target ort-cpu is built on,
 * each as a small model and the kernels that its profile shows. A row names the place in the
 * reference document that says so. When a new release fails a row, the target's data is to be
 * looked at, not only the row. */
#include <math.h>

#include "base/buf.h"
#include "numeric/ort_help.h"

static qdq_error err;

typedef struct trap {
    /* what is found out */
    const char *name;
    /* onnxruntime.md */
    const char *ref;
    const char *in, *out;
    const char *body;
    /* kernels that are executed, and that are not; separated by spaces */
    const char *has, *lacks;
    /* part of the message with which the model does not load */
    const char *fails;
    /* releases 1.since to 1.until; 0: any */
    unsigned since, until;
    /* 0: 17 */
    int opset;
    qdq_opt_level level;
    bool fake_quant;
} trap;

/* --- pieces of models ------------------------------------------------------------------------- */

#define X8     "float[1,8,16,16] x"
#define Y8     "float[1,8,16,16] y"
#define Y8HALF "float[1,8,8,8] y"

/* o = Q(i) and o = D(i): uint8, zero point 128; the others name zero point and scale. */
#define QZ(o, i, z, s) o " = QuantizeLinear(" i ", " s ", " z ")\n"
#define DZ(o, i, z, s) o " = DequantizeLinear(" i ", " s ", " z ")\n"
#define Q(o, i)        QZ(o, i, "z", "s")
#define D(o, i)        DZ(o, i, "z", "s")
#define XQ             Q("xq", "x") D("xd", "xq")
#define WD             DZ("wd", "w", "zs", "sw")
#define YQ(t)          Q("yq", t) D("y", "yq")
#define CONV(o, in)    o " = Conv<kernel_shape = [3,3], pads = [1,1,1,1]>(" in ")\n"
#define POOL(o, i)     o " = MaxPool<kernel_shape = [2,2], strides = [2,2]>(" i ")\n"

/* A chain with a tensor that is read twice, all of it with one zero point. */
#define FAN(z)                                                                                     \
    QZ("xq", "x", z, "s")                                                                          \
    DZ("xd", "xq", z, "s")                                                                         \
    WD CONV("t", "xd, wd") QZ("tq", "t", z, "s") DZ("td", "tq", z, "s") CONV("u", "td, wd")        \
        QZ("uq", "u", z, "s") DZ("ud", "uq", z, "s") "v = Add(ud, td)\n" QZ("vq", "v", z, "s")     \
            DZ("y", "vq", z, "s")

#define MM_SHAPE(shape) .in = "float[" shape ",16] x", .out = "float[" shape ",16] y"
#define MM              XQ DZ("wd", "mw", "zs", "sw") "t = MatMul(xd, wd)\n"

/* A Conv that runs in 8 bits, and one that stays float. */
#define CONV8  .has = "QLinearConv", .lacks = "Conv"
#define CONV32 .has = "Conv", .lacks = "QLinearConv"

static const trap traps[] = {
    /* Conv */
    {.name = "a Conv between DQ and Q runs in 8 bits",
     .ref = "4.8",
     .body = XQ WD CONV("t", "xd, wd") YQ("t"),
     CONV8},
    {.name = "a Conv without a Q behind it is float, and its weight is dequantized in every run",
     .ref = "0 (8), 4.8",
     .body = XQ WD CONV("y", "xd, wd"),
     .has = "Conv DequantizeLinear",
     .lacks = "QLinearConv"},
    {.name = "a Conv with nothing but its weight quantized is float",
     .ref = "0 (8)",
     .body = WD CONV("y", "x, wd"),
     .has = "Conv DequantizeLinear"},
    {.name = "a Conv whose result is an output as well is float",
     .ref = "3.1, 4.2",
     .out = "float[1,8,16,16] y, float[1,8,16,16] t",
     .body = XQ WD CONV("t", "xd, wd") YQ("t"),
     CONV32},
    {.name = "a Conv whose result has two Q of unlike scales is float",
     .ref = "4.2",
     .out = "float[1,8,16,16] y, float[1,8,16,16] y2",
     .body = XQ WD CONV("t", "xd, wd") YQ("t") QZ("q2", "t", "z", "s2") DZ("y2", "q2", "z", "s2"),
     CONV32},
    {.name = "a Conv whose result has two equal Q runs in 8 bits",
     .ref = "4.1 (CSE)",
     .out = "float[1,8,16,16] y, float[1,8,16,16] y2",
     .body = XQ WD CONV("t", "xd, wd") YQ("t") QZ("q2", "t", "z", "s1") DZ("y2", "q2", "z", "s1"),
     CONV8},
    {.name = "a Conv whose weight goes through Q and DQ runs in 8 bits",
     .ref = "4.1 (constant folding)",
     .body = XQ QZ("wq", "fw", "zs", "sw") DZ("wd", "wq", "zs", "sw") CONV("t", "xd, wd") YQ("t"),
     CONV8},
    {.name = "a scale that is computed from constants is one",
     .ref = "4.1 (constant folding)",
     .body = "sc = Abs(s)\n" QZ("xq", "x", "z", "sc") DZ("xd", "xq", "z", "sc")
         WD CONV("t", "xd, wd") YQ("t"),
     CONV8},
    {.name = "BatchNormalization that is not folded keeps the Conv float",
     .ref = "4.8",
     .body =
         XQ WD CONV("t", "xd, wd") "n = BatchNormalization(t, ones, zeros, zeros, ones)\n" YQ("n"),
     .has = "Conv BatchNormalization",
     .lacks = "QLinearConv"},
    {.name = "one weight's DQ may serve two Conv",
     .ref = "4.2",
     .body = XQ WD CONV("t", "xd, wd") Q("tq", "t") D("td", "tq") CONV("u", "td, wd") YQ("u"),
     CONV8},

    /* bias */
    {.name = "an int32 bias behind DQ is taken in",
     .ref = "0 (7)",
     .body = XQ WD DZ("bd", "b", "zi", "sb") CONV("t", "xd, wd, bd") YQ("t"),
     .has = "QLinearConv"},
    {.name = "a bias of the wrong scale is taken in all the same, up to 1.26 at least",
     .ref = "0 (7)",
     .body = XQ WD DZ("bd", "b", "zi", "sbad") CONV("t", "xd, wd, bd") YQ("t"),
     .has = "QLinearConv",
     .until = 26},
    {.name = "a bias whose scale is off by some percent keeps the Conv float, from 1.30 on at the "
             "latest",
     .ref = "0 (7) is older",
     .body = XQ WD DZ("bd", "b", "zi", "sbad") CONV("t", "xd, wd, bd") YQ("t"),
     CONV32,
     .since = 30},
    {.name = "a float bias keeps the Conv float before 1.21",
     .ref = "0 (7)",
     .body = XQ WD CONV("t", "xd, wd, fb") YQ("t"),
     CONV32,
     .until = 20},
    {.name = "a float bias is quantized by the engine from 1.21 on",
     .ref = "0 (7), 4.4 WeightBiasQuantization",
     .body = XQ WD CONV("t", "xd, wd, fb") YQ("t"),
     CONV8,
     .since = 21},
    {.name = "float weights between DQ and Q are quantized by the engine from 1.22 on",
     .ref = "4.4 WeightBiasQuantization, 7",
     .body = XQ CONV("t", "xd, fw") YQ("t"),
     CONV8,
     .since = 22},
    {.name = "no Q behind it leaves a Conv with float weights float",
     .ref = "4.4",
     .body = XQ CONV("y", "xd, fw"),
     CONV32},
    {.name = "no DQ before it leaves a Conv with float weights float",
     .ref = "4.4",
     .body = CONV("t", "x, fw") YQ("t"),
     CONV32},

    /* Relu, Clip */
    {.name = "a Relu goes when the zero point is the type's least",
     .ref = "4.2",
     .body = XQ WD CONV("t", "xd, wd") "r = Relu(t)\n" QZ("yq", "r", "z0", "s")
         DZ("y", "yq", "z0", "s"),
     .has = "QLinearConv",
     .lacks = "Conv FusedConv Relu"},
    {.name = "a Relu before another zero point keeps the Conv float",
     .ref = "4.2",
     .body = XQ WD CONV("t", "xd, wd") "r = Relu(t)\n" YQ("r"),
     .has = "FusedConv",
     .lacks = "QLinearConv"},
    {.name = "symmetric int8 behind a Relu keeps the Conv float",
     .ref = "4.2",
     .body = QZ("xq", "x", "zs", "s") DZ("xd", "xq", "zs", "s")
         WD CONV("t", "xd, wd") "r = Relu(t)\n" QZ("yq", "r", "zs", "s") DZ("y", "yq", "zs", "s"),
     .has = "FusedConv",
     .lacks = "QLinearConv"},
    {.name = "a Clip goes when it clips nothing that Q does not",
     .ref = "4.2",
     .body = XQ WD CONV("t", "xd, wd") "r = Clip(t, c0, c6)\n" QZ("yq", "r", "z0", "s6")
         DZ("y", "yq", "z0", "s6"),
     .has = "QLinearConv",
     .lacks = "Conv FusedConv Clip"},
    {.name = "a Clip narrower than Q's range keeps the Conv float",
     .ref = "4.2",
     .body = XQ WD CONV("t", "xd, wd") "r = Clip(t, c0, c6)\n" QZ("yq", "r", "z0", "s2")
         DZ("y", "yq", "z0", "s2"),
     .has = "FusedConv",
     .lacks = "QLinearConv"},
    {.name = "scales of rank 1 keep a Clip",
     .ref = "0 (6)",
     .body = XQ WD CONV("t", "xd, wd") "r = Clip(t, c0, c6)\n" QZ("yq", "r", "z0r1", "s6r1")
         DZ("y", "yq", "z0r1", "s6r1"),
     .has = "FusedConv",
     .lacks = "QLinearConv"},

    /* signs */
    {.name = "a uint8 tensor may be read twice",
     .ref = "0 (4), 4.5",
     .body = FAN("z"),
     .has = "QLinearConv QLinearAdd",
     .lacks = "Conv Add"},
    {.name = "an int8 tensor that is read twice leaves float kernels on x86",
     .ref = "0 (4), 4.5",
     .body = FAN("zs"),
     .has = "Conv Add",
     .lacks = "QLinearConv QLinearAdd"},
    {.name = "an int8 chain without branches becomes uint8 on x86",
     .ref = "4.5",
     .body = QZ("xq", "x", "zs", "s") DZ("xd", "xq", "zs", "s") WD CONV("t", "xd, wd")
         QZ("yq", "t", "zs", "s") DZ("y", "yq", "zs", "s"),
     CONV8},
    {.name = "an int8 graph input behind DQ leaves float kernels on x86",
     .ref = "4.5",
     .in = "int8[1,8,16,16] x",
     .body = DZ("xd", "x", "zs", "s") WD CONV("t", "xd, wd") QZ("yq", "t", "zs", "s")
         DZ("y", "yq", "zs", "s"),
     CONV32},
    {.name = "a uint8 graph input behind DQ does not",
     .ref = "4.2, 4.5",
     .in = "uint8[1,8,16,16] x",
     .body = DZ("xd", "x", "z", "s") WD CONV("t", "xd, wd") YQ("t"),
     CONV8},
    {.name = "int8 without zero points leaves float kernels on x86",
     .ref = "0 (6), 4.5",
     .body = "xq = QuantizeLinear<output_dtype = 3>(x, s)\n xd = DequantizeLinear(xq, s)\n" WD CONV(
         "t",
         "xd, wd") "yq = QuantizeLinear<output_dtype = 3>(t, s)\n y = DequantizeLinear(yq, s)\n",
     CONV32,
     .opset = 21,
     .since = 18},
    {.name = "a constant of Add must be of the activations' type",
     .ref = "4.5, 7",
     .body = XQ DZ("cd", "cs", "zs", "s") "t = Add(xd, cd)\n" YQ("t"),
     .has = "Add",
     .lacks = "QLinearAdd"},
    {.name = "a uint8 constant of Add is taken in",
     .ref = "4.5",
     .body = XQ DZ("cd", "cu", "z", "s") "t = Add(xd, cd)\n" YQ("t"),
     .has = "QLinearAdd",
     .lacks = "Add"},
    {.name = "Sub has no 8-bit kernel",
     .ref = "4.3",
     .body = XQ DZ("cd", "cu", "z", "s") "t = Sub(xd, cd)\n" YQ("t"),
     .has = "Sub"},

    /* residuals and pass-through operators */
    {.name = "a residual Add needs a Q on both of its inputs",
     .ref = "4.8",
     .body = XQ WD CONV("t", "xd, wd") "v = Add(t, xd)\n" YQ("v"),
     .has = "Conv Add",
     .lacks = "QLinearConv QLinearAdd"},
    {.name = "a residual Add with Q on both inputs runs in 8 bits",
     .ref = "4.8",
     .body = XQ WD CONV("t", "xd, wd") Q("tq", "t") D("td", "tq") "v = Add(td, xd)\n" YQ("v"),
     .has = "QLinearConv QLinearAdd",
     .lacks = "Conv Add"},
    {.name = "a Q moves up through MaxPool and Relu to the Conv",
     .ref = "4.4 QDQPropagation",
     .out = Y8HALF,
     .body = XQ WD CONV("t", "xd, wd") "r = Relu(t)\n" POOL("p", "r") QZ("yq", "p", "z0", "s")
         DZ("y", "yq", "z0", "s"),
     .has = "QLinearConv",
     .lacks = "Conv FusedConv MaxPool"},
    {.name = "MaxPool between equal parameters runs on integers",
     .ref = "4.3",
     .out = Y8HALF,
     .body = XQ WD CONV("t", "xd, wd") Q("tq", "t") D("td", "tq") POOL("p", "td") YQ("p"),
     .has = "QLinearConv NhwcMaxPool",
     .lacks = "MaxPool"},
    {.name = "missing zero points keep MaxPool float",
     .ref = "0 (6)",
     .out = Y8HALF,
     .body = XQ WD
         CONV("t", "xd, wd") "tq = QuantizeLinear(t, s)\n td = DequantizeLinear(tq, s)\n" POOL(
             "p", "td") "yq = QuantizeLinear(p, s)\n y = DequantizeLinear(yq, s)\n",
     .has = "MaxPool"},
    {.name = "MaxPool of opset 22 is float in 1.21 to 1.27",
     .ref = "7",
     .out = Y8HALF,
     .body = XQ WD CONV("t", "xd, wd") Q("tq", "t") D("td", "tq") POOL("p", "td") YQ("p"),
     .has = "MaxPool",
     .opset = 22,
     .since = 21,
     .until = 27},

    /* MatMul */
    {.name = "MatMul with a Q behind it is QLinearMatMul",
     .ref = "4.8",
     MM_SHAPE("1,4"),
     .body = MM YQ("t"),
     .has = "QLinearMatMul",
     .lacks = "MatMul"},
    {.name = "MatMul without a Q behind it computes in 8 bits, too",
     .ref = "4.8",
     MM_SHAPE("1,4"),
     .body = XQ DZ("wd", "mw", "zs", "sw") "y = MatMul(xd, wd)\n",
     .has = "MatMulIntegerToFloat",
     .lacks = "MatMul"},
    {.name = "MatMul and Add of a float bias, static, become a float Gemm from 1.22 on",
     .ref = "0 (9)",
     MM_SHAPE("1,4"),
     .body = MM "y = Add(t, mfb)\n",
     .has = "Gemm DequantizeLinear",
     .lacks = "QGemm MatMulIntegerToFloat",
     .since = 22},
    {.name = "the same with a dynamic shape stays in 8 bits",
     .ref = "0 (9), 7",
     MM_SHAPE("N,M"),
     .body = MM "y = Add(t, mfb)\n",
     .has = "MatMulIntegerToFloat Add",
     .lacks = "Gemm"},
    {.name = "and so does a static one whose bias has as many dims as the product",
     .ref = "no Gemm is made of it",
     MM_SHAPE("1,4"),
     .body = MM "y = Add(t, mwb)\n",
     .has = "MatMulIntegerToFloat Add",
     .lacks = "Gemm"},
    {.name = "that bias with a dynamic shape",
     .ref = "no Gemm is made of it",
     MM_SHAPE("N,M"),
     .body = MM "y = Add(t, mwb)\n",
     .has = "MatMulIntegerToFloat Add",
     .lacks = "Gemm"},
    {.name = "a Q behind the Add gives QGemm from 1.21 on",
     .ref = "0 (9)",
     MM_SHAPE("1,4"),
     .body = MM "v = Add(t, mfb)\n" YQ("v"),
     .has = "QGemm",
     .lacks = "Gemm",
     .since = 21},
    {.name = "an int32 bias behind DQ gives QGemm without a Q",
     .ref = "0 (9)",
     MM_SHAPE("1,4"),
     .body = MM DZ("bd", "mb", "zi", "sb") "y = Add(t, bd)\n",
     .has = "QGemm",
     .lacks = "Gemm",
     .since = 21},
    {.name =
         "a MatMul with nothing but its weight quantized dequantizes it in every run before 1.25",
     .ref = "0 (8), 4.7",
     MM_SHAPE("1,4"),
     .body = DZ("wd", "mw", "zs", "sw") "y = MatMul(x, wd)\n",
     .has = "DequantizeLinear MatMul",
     .until = 24},
    {.name = "and becomes MatMulNBits from 1.25 on",
     .ref = "4.7",
     MM_SHAPE("1,4"),
     .body = DZ("wd", "mw", "zs", "sw") "y = MatMul(x, wd)\n",
     .has = "MatMulNBits",
     .lacks = "DequantizeLinear",
     .since = 25},

    /* levels and options */
    {.name = "below EXTENDED everything is float",
     .ref = "4.1",
     .body = XQ WD CONV("t", "xd, wd") YQ("t"),
     .has = "Conv QuantizeLinear DequantizeLinear",
     .lacks = "QLinearConv",
     .level = QDQ_LEVEL_BASIC},
    {.name = "EXTENDED fuses",
     .ref = "4.1",
     .body = XQ WD CONV("t", "xd, wd") YQ("t"),
     .has = "QLinearConv",
     .level = QDQ_LEVEL_EXTENDED},
    {.name = "fake_quant computes in float",
     .ref = "1.5 session.disable_quant_qdq",
     .body = XQ WD CONV("t", "xd, wd") YQ("t"),
     .has = "Conv QuantizeLinear DequantizeLinear",
     .lacks = "QLinearConv",
     .fake_quant = true},

    /* what does not load */
    {.name = "float8 around MatMul does not load",
     .ref = "0 (10)",
     MM_SHAPE("4"),
     .body = QZ("xq", "x", "z8", "s") DZ("xd", "xq", "z8", "s") QZ("wq", "mfw", "z8", "s")
         DZ("wd", "wq", "z8", "s") "t = MatMul(xd, wd)\n" QZ("yq", "t", "z8", "s")
             DZ("y", "yq", "z8", "s"),
     .fails = "float8e4m3fn",
     .opset = 19},
    {.name = "float8 around MatMul runs with fake_quant",
     .ref = "0 (10)",
     MM_SHAPE("4"),
     .body = QZ("xq", "x", "z8", "s") DZ("xd", "xq", "z8", "s") QZ("wq", "mfw", "z8", "s")
         DZ("wd", "wq", "z8", "s") "t = MatMul(xd, wd)\n" QZ("yq", "t", "z8", "s")
             DZ("y", "yq", "z8", "s"),
     .has = "MatMul",
     .opset = 19,
     .fake_quant = true},
    {.name = "nothing can be quantized to int32: a bias must be stored so",
     .ref = "7",
     .body = QZ("xq", "x", "zi", "s") DZ("y", "xq", "zi", "s"),
     .fails = "tensor(int32)"},
    {.name = "opset 23 does not load in 1.23: there is no kernel of QuantizeLinear",
     .ref = "1.1, 7",
     .body = XQ WD CONV("t", "xd, wd") YQ("t"),
     .fails = "QuantizeLinear(23)",
     .opset = 23,
     .since = 23,
     .until = 23},
};

/* --- models from them ------------------------------------------------------------------------- */

/* ", TYPE NAME = {...}" of n numbers between -100 and 100, divided by `div`. */
static void add_numbers(qdq_buf *b, const char *declaration, int n, int low, double div)
{
    unsigned state = 12345;

    qdq_buf_printf(b, ", %s = {", declaration);
    for (int i = 0; i < n; i++) {
        state = state * 1103515245u + 12345u;
        int x = low + (int)(state >> 16) % 200;
        if (div > 1)
            qdq_buf_printf(b, "%s%g", i > 0 ? ", " : "", x / div);
        else
            qdq_buf_printf(b, "%s%d", i > 0 ? ", " : "", x);
    }
    qdq_buf_puts(b, "}");
}

static qdq_model *trap_model(const trap *t)
{
    qdq_buf b = QDQ_BUF_INIT(1 << 20);
    int opset = t->opset > 0 ? t->opset : 17;

    qdq_buf_printf(&b, "<ir_version: %d, opset_import: [\"\" : %d]>\ng (%s) => (%s)\n<",
                   opset > 22   ? 11
                   : opset > 20 ? 10
                                : 9,
                   opset, t->in != NULL ? t->in : X8, t->out != NULL ? t->out : Y8);
    qdq_buf_puts(
        &b, "float s = {0.02}, float s1 = {0.02}, float s2 = {0.03}, float s6 = {0.0235}, float[1] "
            "s6r1 = {0.0235},"
            "float sw = {0.001}, float sb = {0.00002}, float sbad = {0.002},"
            "uint8 z = {128}, uint8 z0 = {0}, uint8[1] z0r1 = {0}, int8 zs = {0}, int32 zi = {0},"
            "float c0 = {0}, float c6 = {6}, float[8] ones = {1,1,1,1,1,1,1,1},"
            "float[8] zeros = {0,0,0,0,0,0,0,1}");
    if (opset >= 19)
        qdq_buf_puts(&b, ", float8e4m3fn z8 = {0}");
    add_numbers(&b, "int8[8,8,3,3] w", 576, -100, 1);
    add_numbers(&b, "float[8,8,3,3] fw", 576, -100, 1000);
    add_numbers(&b, "int32[8] b", 8, -100, 1);
    add_numbers(&b, "float[8] fb", 8, -100, 1000);
    add_numbers(&b, "int8[16,16] mw", 256, -100, 1);
    add_numbers(&b, "float[16,16] mfw", 256, -100, 1000);
    add_numbers(&b, "int32[16] mb", 16, -100, 1);
    add_numbers(&b, "float[16] mfb", 16, -100, 1000);
    add_numbers(&b, "float[1,1,16] mwb", 16, -100, 1000);
    add_numbers(&b, "int8[8,1,1] cs", 8, -100, 1);
    add_numbers(&b, "uint8[8,1,1] cu", 8, 0, 1);
    qdq_buf_printf(&b, ">\n{\n%s}\n", t->body);
    assert_false(b.failed);
    qdq_model *m = test_model(b.data);
    qdq_buf_free(&b);
    return m;
}

static bool was_executed(const qdq_layer *l, size_t n, const char *op, size_t size)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(l[i].op) == size && memcmp(l[i].op, op, size) == 0)
            return true;
    return false;
}

static void check_kernels(const trap *t, const char *ops, bool want, const qdq_layer *l, size_t n)
{
    for (const char *op = ops; op != NULL && *op != '\0';) {
        size_t size = strcspn(op, " ");
        if (was_executed(l, n, op, size) != want) {
            fprintf(stderr, "executed:");
            for (size_t i = 0; i < n; i++)
                fprintf(stderr, " %s", l[i].op);
            fail_msg("%s (onnxruntime.md %s): kernel %.*s %s", t->name, t->ref, (int)size, op,
                     want ? "was not executed" : "was executed");
        }
        op += size + (op[size] == ' ');
    }
}

static void prove(void **state)
{
    const trap *t = *state;
    qdq_engine *e = need_ort();
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    qdq_named_array *in;
    qdq_session *s;
    qdq_layer *l;
    size_t n_in, n;
    unsigned minor = ort_minor(e);

    if (minor < t->since || (t->until > 0 && minor > t->until))
        return; /* another row holds for this release */
    qdq_model *m = trap_model(t);
    opts.profile = true;
    opts.level = t->level;
    opts.fake_quant = t->fake_quant;
    if (t->fails != NULL) {
        assert_fails(QDQ_E_ENGINE, t->fails, qdq_session_open(e, m, &opts, &s, &err));
    } else {
        assert_ok(qdq_session_open(e, m, &opts, &s, &err));
        assert_ok(qdq_random_inputs(s, 1, &in, &n_in, &err));
        assert_ok(qdq_session_profile(s, in, n_in, 1, &l, &n, &err));
        check_kernels(t, t->has, true, l, n);
        check_kernels(t, t->lacks, false, l, n);
        qdq_free(l);
        qdq_free(in);
        qdq_session_close(s);
    }
    qdq_model_free(m);
}

/* The kernel never looks at the scale of a bias, so a wrong one is no error but another result. */
TEST(a_bias_of_the_wrong_scale_changes_the_result_silently)
{
    static const trap right = {MM_SHAPE("4"),
                               .body = MM DZ("bd", "mb", "zi", "sb") "y = Add(t, bd)\n"};
    static const trap wrong = {MM_SHAPE("4"),
                               .body = MM DZ("bd", "mb", "zi", "sbad") "y = Add(t, bd)\n"};
    qdq_session_opts as_written = QDQ_SESSION_OPTS_INIT;
    qdq_engine *e = need_ort();
    qdq_model *r = trap_model(&right), *w = trap_model(&wrong);
    static kept r8, r32, w8, w32;
    float off_right = 0, off_wrong = 0;

    as_written.level = QDQ_LEVEL_NONE;
    run_model(e, r, NULL, &r8);
    run_model(e, r, &as_written, &r32);
    run_model(e, w, NULL, &w8);
    run_model(e, w, &as_written, &w32);
    for (size_t i = 0; i < 64; i++) {
        off_right = fmaxf(off_right, fabsf(kept_float(&r8, i) - kept_float(&r32, i)));
        off_wrong = fmaxf(off_wrong, fabsf(kept_float(&w8, i) - kept_float(&w32, i)));
    }
    assert_true(off_right < 1e-3f);
    assert_true(off_wrong > 0.1f);
    qdq_model_free(r);
    qdq_model_free(w);
}

int main(void)
{
    static struct CMUnitTest tests[QDQ_COUNT(traps) + 1];

    for (size_t i = 0; i < QDQ_COUNT(traps); i++)
        tests[i] = (struct CMUnitTest){traps[i].name, prove, NULL, NULL, (void *)&traps[i]};
    tests[QDQ_COUNT(traps)] =
        (struct CMUnitTest)cmocka_unit_test(a_bias_of_the_wrong_scale_changes_the_result_silently);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
