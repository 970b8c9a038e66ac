/* opt_alloc.c - every allocation of every pass fails once: no crash, no leak, a message; what is
 * left of the model can be freed. Each pass runs over models that have something for it. */
#include "ir/ir.h"
#include "support/alloc_fail.h"

#define HEAD "<ir_version: 9, opset_import: [\"\" : 17, \"my\" : 1, \"your\" : 1]>\n"

/* Constants, identities, equal nodes, equal constants, unused things, shared names, an input with
 * data. */
static const char plain[] =
    HEAD "g (float[2] x, float[2] d = {1, 2}) => (float[2] y, float[2] z) <\n"
         "  float[2] w = {1, 2}, float[2] v = {1, 2}, float s = {0.5}, uint8 p = {0}, float[2] u = "
         "{1, 1}> {\n"
         "  c = Constant <value = float[2] {3, 4}> ()\n"
         "  [same] i = Identity(x)\n"
         "  [same] a = Add(i, w)\n"
         "  b = Add(x, v)\n"
         "  r = Mul(a, c)\n"
         "  t = Mul(b, c)\n"
         "  dead = Neg(t)\n"
         "  q = QuantizeLinear(r, s, p)\n"
         "  f = DequantizeLinear(q, s, p)\n"
         "  y = Add(f, t)\n"
         "  z = Sub(f, d)\n"
         "}\n";

/* Functions in functions, calls in bodies, an If that is known, constants of bodies. */
static const char nested[] =
    HEAD "g (bool c, float[2] x) => (float[2] y) <bool yes = {1}> {\n"
         "  k = If <then_branch = t1 () => (float[2] a) <float[2] w = {1, 2}> {\n"
         "    a = Add(x, w)\n"
         "  }, else_branch = e1 () => (float[2] b) {\n"
         "    b = Neg(x)\n"
         "  }> (yes)\n"
         "  y = If <then_branch = t2 () => (float[2] a) <float[2] w = {1, 2}> {\n"
         "    h = my.F <alpha = 2.5> (c, k)\n"
         "    a = Add(h, w)\n"
         "  }, else_branch = e2 () => (float[2] b) {\n"
         "    b = my.F(c, k)\n"
         "  }> (c)\n"
         "}\n"
         "<domain: \"my\", opset_import: [\"\" : 17, \"my\" : 1]>\n"
         "F <alpha> (d, u) => (v) {\n"
         "  yes = Constant <value = bool {1}> ()\n"
         "  t = my.G(u)\n"
         "  s = If <then_branch = p () => (float[2] a) <float[2] w = {1, 2}> {\n"
         "    a = Add(t, w)\n"
         "  }, else_branch = q () => (float[2] b) {\n"
         "    b = Elu <alpha: float = @alpha> (u)\n"
         "  }> (d)\n"
         "  v = If <then_branch = p () => (float[2] a) <float[2] w = {1, 2}> {\n"
         "    a = Add(s, w)\n"
         "  }, else_branch = q () => (float[2] b) {\n"
         "    b = Neg(s)\n"
         "  }> (yes)\n"
         "}\n"
         "<domain: \"my\", opset_import: [\"\" : 17, \"third\" : 1]>\n"
         "G (a) => (b) {\n"
         "  t = third.Op(a)\n"
         "  b = Neg(t)\n"
         "}\n"
         "<domain: \"my\", opset_import: [\"\" : 17]>\n"
         "Unused (a) => (b) {\n"
         "  b = Neg(a)\n"
         "}\n";

/* What exporters make of norms, activations and Gemm. */
static const char composites[] =
    "<ir_version: 10, opset_import: [\"\" : 24]>\n"
    "g (float[2,4] x) => (float[2,4] y, float[2,4] z) <\n"
    "  float eps = {1e-05}, float two = {2}, float half = {0.5}, float one = {1}, float root = "
    "{1.4142135},\n"
    "  float three = {3}, float zero = {0}, float six = {6}, float k = {1.702}, int64[1] last = "
    "{-1},\n"
    "  float[1,4] w = {1, 2, 3, 4}, float[4,4] v = {1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6, 5, 4, 3, "
    "2}> {\n"
    "  m = ReduceMean(x, last) d = Sub(x, m) p = Pow(d, two) u = ReduceMean(p, last)\n"
    "  e = Add(u, eps) s = Sqrt(e) n = Div(d, s) l = Mul(n, w)\n"
    "  p2 = Mul(l, l) u2 = ReduceMean(p2, last) e2 = Add(u2, eps) s2 = Sqrt(e2) r = Div(l, s2)\n"
    "  a = Div(r, root) f = Erf(a) g = Add(f, one) h = Mul(r, g) i = Mul(h, half)\n"
    "  b = Add(i, three) c = Clip(b, zero, six) o = Mul(i, c) j = Div(o, six)\n"
    "  q = Mul(j, k) t = Sigmoid(q) swish = Mul(j, t)\n"
    "  vt = Transpose(v) product = MatMul(swish, vt) y = Add(product, w) z = Gemm(x, vt, w)\n"
    "}\n";

/* What training leaves: BatchNormalization behind quantized weights of every form, and biases of
 * every form. */
static const char trained[] = HEAD
    "g (float[1,2,2,2] x) => (y, z, u, v, t) <\n"
    "  float s = {0.5}, uint8 p = {3}, float[2,2,1,1] w = {1, -2, 3, 4}, int8[2,2,1,1] k = {-128, "
    "2, 3, 4},\n"
    "  float[2] ks = {0.5, 1e-30}, int8[2] kz = {0, 0}, int8 kp = {5}, float[2] g = {2, -1}, "
    "float[2] b = "
    "{1, 2},\n"
    "  float[2] n = {1, 1}, int32[2] c = {7, 9}, int64[1] all = {-1}, int8[2,2] m = {1, 2, 3, 4}, "
    "float h = "
    "{2}> {\n"
    "  q = QuantizeLinear(x, s, p) d = DequantizeLinear(q, s, p)\n"
    "  wq = QuantizeLinear <axis = 0> (w, ks, kz) wd = DequantizeLinear <axis = 0> (wq, ks, kz)\n"
    "  c1 = Conv(d, wd) y = BatchNormalization(c1, g, b, n, n)\n"
    "  kd = DequantizeLinear(k, s, kp) cd = DequantizeLinear(c, s) c2 = Conv(d, kd, cd)\n"
    "  z = BatchNormalization(c2, g, b, n, n)\n"
    "  c3 = Conv(d, kd, b) e = Mul(c3, h) u = Add(e, h)\n"
    "  f = Reshape(d, all) f2 = Unsqueeze(f, all) md = DequantizeLinear(m, s) mm = MatMul(f2, md)\n"
    "  br = Reshape(b, all) v = Add(mm, br)\n"
    "  t = Gemm <alpha = 0.5, beta = 2.0> (f2, md, n)\n"
    "}\n";

/* Operators on codes, and what a quantizer leaves between them. */
static const char on_codes[] =
    "<ir_version: 9, opset_import: [\"\" : 17, \"com.microsoft\" : 1]>\n"
    "g (float[1,2,2,2] x, float[1] e) => (y, p, m, o) <float s = {0.5}, uint8 z = {3}, "
    "int8[2,2,1,1] k = {1, "
    "2, 3, 4}, "
    "float[2] ks = {0.5, 0.25}, int8[2] kz = {0, 0}, int32[2] b = {5, 6}, int8[2,2] w = {1, 2, 3, "
    "4}> {\n"
    "  q = com.microsoft.QuantizeLinear(x, s, z)\n"
    "  [c_quant] c_quantized = QLinearConv(q, s, z, k, ks, kz, s, z, b)\n"
    "  d = QLinearConv(q, e, z, k, ks, kz, s, z, b)\n"
    "  t = Transpose(c_quantized)\n"
    "  y = com.microsoft.QLinearSigmoid(t, s, \"\", s)\n"
    "  p = com.microsoft.QLinearConcat <axis = 1> (s, z, c_quantized, s, z, d, s, z)\n"
    "  a, as, az = DynamicQuantizeLinear(x) i = MatMulInteger(a, w, az) f = Cast <to = 1> (i)\n"
    "  both = Mul(as, s) [m_quant] m = Mul(f, both)\n"
    "  o = com.microsoft.QLinearSoftmax <axis = 1, opset = 11> (q, s, z, s, z)\n"
    "}\n";

typedef struct job {
    const char *text, *pass;
} job;

static qdq_status optimize(void *ctx, qdq_error *err)
{
    const job *j = ctx;
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_optimize_report *report = NULL;
    qdq_model *m = NULL;
    qdq_status st = qdq_model_from_text(j->text, "t", &m, err);

    opts.passes = j->pass;
    if (st == QDQ_OK)
        st = qdq_model_optimize(m, &opts, &report, err);
    qdq_optimize_report_free(report);
    qdq_model_free(m);
    return st;
}

TEST(every_pass_survives_every_failure)
{
    static const char *const texts[] = {plain, nested, composites, trained, on_codes};
    const char *pass;

    for (size_t i = 0; (pass = qdq_pass_name(i, NULL)) != NULL; i++)
        for (size_t k = 0; k < QDQ_COUNT(texts); k++) {
            job j = {texts[k], pass};
            assert_true(test_every_alloc_fails(optimize, &j) > 1);
        }
}

/* The arguments of these passes lead to other code. */
TEST(arguments_of_passes_survive_every_failure)
{
    static const char *const passes[] = {"quantize-bias:float", "quantize-bias:zero-bias+saturate",
                                         "fold-batchnorm:requant-per-tensor",
                                         "fold-batchnorm,fold-weight-quantize,quantize-bias"};

    for (size_t i = 0; i < QDQ_COUNT(passes); i++) {
        job j = {trained, passes[i]};
        assert_true(test_every_alloc_fails(optimize, &j) > 1);
    }
}

TEST(the_whole_pipeline_survives_every_failure)
{
    job j = {nested, "default"};

    assert_true(test_every_alloc_fails(optimize, &j) > 1);
}

/* Data in typed fields are decoded where they are asked for. */
static qdq_status merge_decoded(void *ctx, qdq_error *err)
{
    static const unsigned char fields[] = {4 << 3 | 2, 8, 0, 0, 0x40, 0x40, 0, 0, 0x80, 0x40};
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_model *m = NULL;
    qdq_status st = qdq_model_from_text(ctx, "t", &m, err);

    opts.passes = "merge-equal";
    if (st == QDQ_OK) {
        QDQ_FOR_NODES (n, m->graph)
            if (n->op == QDQ_OP_CONSTANT) {
                qdq_tensor *t = (qdq_tensor *)(uintptr_t)qdq_node_attr(n, "value")->v.t;

                t->storage = QDQ_STORE_WIRE;
                t->wire = (qdq_span){fields, sizeof fields};
            }
        st = qdq_model_optimize(m, &opts, NULL, err);
    }
    if (st == QDQ_OK)
        assert_int_equal(m->graph->n_node, 3);
    qdq_model_free(m);
    return st;
}

/* It must not take nodes that it could not compare for different ones. */
TEST(merging_fails_where_it_lacks_memory_to_compare)
{
    char text[] = HEAD "g (float[2] x) => (float[2] y, float[2] z) {\n"
                       "  a = Constant <value = float[2] {3, 4}> ()\n"
                       "  b = Constant <value = float[2] {3, 4}> ()\n"
                       "  y = Add(x, a)\n"
                       "  z = Mul(x, b)\n"
                       "}\n";

    assert_true(test_every_alloc_fails(merge_decoded, text) > 1);
}
