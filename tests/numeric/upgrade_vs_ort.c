/* A model raised to a later opset gives the numbers that it gave: both run on ONNX Runtime with the same random
 * input. Tolerance: 1e-5 of the output's range. */
#include "support/test.h"

#include <math.h>

#include "ir/ir.h"

enum { MAX_OUTPUTS = 8 };
static const double tolerance = 1e-5;

/* The outputs of one run, copied. */
typedef struct outputs {
    qdq_array at[MAX_OUTPUTS];
    size_t n;
} outputs;

static qdq_status keep(void *ctx, const char *name, const qdq_array *a, qdq_error *err)
{
    outputs *out = ctx;

    (void)name;
    (void)err;
    assert_true(out->n < MAX_OUTPUTS);
    qdq_array *copy = &out->at[out->n++];
    *copy = *a;
    copy->data = malloc(a->bytes > 0 ? a->bytes : 1);
    assert_non_null(copy->data);
    memcpy(copy->data, a->data, a->bytes);
    return QDQ_OK;
}

static void free_outputs(outputs *out)
{
    for (size_t i = 0; i < out->n; i++)
        free(out->at[i].data);
}

/* Runs without graph optimizations: what is compared is the model, not what the engine makes of it. */
static void run(const qdq_model *m, const char *what, outputs *out)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    qdq_session *s = NULL;
    qdq_named_array *in = NULL;
    size_t n;

    opts.level = QDQ_LEVEL_NONE;
    out->n = 0;
    if (qdq_session_open(test_ort(), m, &opts, &s, &err) != QDQ_OK)
        fail_msg("%s: %s", what, err.text);
    assert_ok(qdq_random_inputs(s, 7, &in, &n, &err));
    if (qdq_session_run(s, in, n, keep, out, &err) != QDQ_OK)
        fail_msg("%s: %s", what, err.text);
    qdq_free(in);
    qdq_session_close(s);
}

static void assert_same(const outputs *a, const outputs *b, const char *what)
{
    assert_int_equal(a->n, b->n);
    for (size_t k = 0; k < a->n; k++) {
        const qdq_array *x = &a->at[k], *y = &b->at[k];
        int64_t count = qdq_array_count(x);
        double range = 0, worst = 0;

        if (x->elem != y->elem || x->rank != y->rank ||
            memcmp(x->dim, y->dim, (size_t)x->rank * sizeof *x->dim) != 0)
            fail_msg("%s: output %zu has another type or shape", what, k);
        assert_true(count > 0);
        if (x->elem != QDQ_FLOAT) {
            if (memcmp(x->data, y->data, x->bytes) != 0)
                fail_msg("%s: output %zu differs", what, k);
            continue;
        }
        for (int64_t i = 0; i < count; i++) {
            range = fmax(range, fabs((double)((const float *)x->data)[i]));
            worst =
                fmax(worst, fabs((double)((const float *)x->data)[i] - (double)((const float *)y->data)[i]));
        }
        if (!(worst <= tolerance * range))
            fail_msg("%s: output %zu is off by %g in a range of %g", what, k, worst, range);
    }
}

static void assert_keeps_its_numbers(qdq_model *m, const char *what, const int *opsets, size_t n)
{
    qdq_error err = QDQ_ERROR_INIT;
    outputs before, after;

    run(m, what, &before);
    for (size_t i = 0; i < n; i++) {
        char step[4200];
        qdq_model *raised = NULL;

        snprintf(step, sizeof step, "%s, raised to %d", what, opsets[i]);
        assert_ok(qdq_model_clone(m, &raised, &err));
        assert_ok(qdq_model_set_opset(raised, opsets[i], &err));
        run(raised, step, &after);
        assert_same(&before, &after, step);
        free_outputs(&after);
        qdq_model_free(raised);
    }
    free_outputs(&before);
}

/* --- operators --------------------------------------------------------------------------------------------------- */

static const struct {
    int opset;
    const char *graph;
} operators[] = {
    {7, "g (float[3,4] x) => (float[3,4] y) { y = Clip <min = -0.5, max = 0.25> (x) }"},
    {7, "g (float[3,4] x) => (float[3,4] y) { y = Clip <max = 0.25> (x) }"},
    {7, "g (float[2,3] x) => (float[3,5] y) { y = Pad <pads = [0, 1, 1, 1], value = 2.5> (x) }"},
    {7, "g (float[3,3] x) => (float[5,5] y) { y = Pad <pads = [1, 1, 1, 1], mode = \"reflect\"> (x) }"},
    {7, "g (float[3,4] x) => (float[1,2] y) { y = Slice <starts = [1, -3], ends = [2, 3]> (x) }"},
    {7, "g (float[3,4] x) => (float[3,2] y) { y = Slice <starts = [1], ends = [3], axes = [1]> (x) }"},
    {7, "g (float[1,3,1] x) => (float[3] y, float[1,3] z) { y = Squeeze(x) z = Squeeze <axes = [2]> (x) }"},
    {7, "g (float[3] x) => (float[1,3,1] y) { y = Unsqueeze <axes = [0, 2]> (x) }"},
    {7,
     "g (float[2,3,4] x) => (float[2,1,4] a, float[1,1,1] b, float[3] c) {\n"
     "  a = ReduceSum <axes = [1]> (x) b = ReduceMean(x) c = ReduceMax <axes = [0, 2], keepdims = 0> (x) }"},
    {7, "g (float[2,3,4] x) => (float[2,3,1] a, float[2,3,1] b, float[2,3,1] c, float[2,3,1] d) {\n"
        "  a = ReduceMin <axes = [2]> (x) b = ReduceL2 <axes = [2]> (x) c = ReduceProd <axes = [2]> (x)\n"
        "  d = ReduceLogSumExp <axes = [2]> (x) }"},
    {7, "g (float[2,6] x) => (float[2,1] a, float[2,5] b) { a, b = Split <axis = 1, split = [1, 5]> (x) }"},
    {7, "g (float[2,6] x) => (float[2,3] a, float[2,3] b) { a, b = Split <axis = 1> (x) }"},
    {7, "g (float[3,5] x) => (float[3,2] y, int64[3,2] i) { y, i = TopK <k = 2> (x) }"},
    {7, "g (float[3,5] x) => (float[3,5] y) { y = Dropout <ratio = 0.5> (x) }"},
    {7, "g (float[2,3,4] x) => (float[2,3,4] a, float[2,3,4] b, float[2,3,4] c, float[2,3,4] d) {\n"
        "  a = Softmax(x) b = Softmax <axis = 0> (x) c = Softmax <axis = 2> (x) d = LogSoftmax(x) }"},
    {7, "g (float[N,3,1,1] x) => (float[N,3,1,1] y) { y = Softmax(x) }"},
    {7, "g (float[N,3,M] x) => (float[N,3,M] y) { y = Softmax(x) }"},
    {11, "g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax <axis = -2> (x) }"},
    {7, "g (float[2,3,4] x) => (float[2,3,4] y) { y = Hardmax(x) }"},
    {7, "g (float[1,2,3,4] x) => (float[1,2,6,12] y) {\n"
        "  y = Upsample <mode = \"nearest\", scales = [1.0, 1.0, 2.0, 3.0]> (x) }"},
    {7, "g (float[1,2,3,4] x) => (float[1,2,6,10] y) {\n"
        "  y = Upsample <mode = \"nearest\", scales = [1.0, 1.0, 2.0, 2.5]> (x) }"},
    {7, "g (float[1,2,3,4] x) => (float[1,2,6,12] y) {\n"
        "  y = Upsample <mode = \"linear\", scales = [1.0, 1.0, 2.0, 3.0]> (x) }"},
    {10,
     "g (float[1,2,3,4] x) => (float[1,2,6,10] y) <float[4] s = {1.0, 1.0, 2.0, 2.5}> { y = Resize(x, s) }"},
    {10,
     "g (float[1,2,5,7] x) => (float[1,2,3,3] y) <float[4] s = {1.0, 1.0, 0.6, 0.5}> { y = Resize(x, s) }"},
    {10, "g (float[1,2,5,7] x) => (float[1,2,3,3] y) <float[4] s = {1.0, 1.0, 0.6, 0.5}>\n"
         "{ y = Resize <mode = \"linear\"> (x, s) }"},
    {10, "g (float[1,2,3,4] x) => (float[1,2,7,8] y) <float[4] s = {1.0, 1.0, 2.4, 2.0}>\n"
         "{ y = Resize <mode = \"linear\"> (x, s) }"},
    {11, "g (float[1,2,3,4] x) => (float[1,2,5,9] y) <float[0] none = {}, int64[4] size = {1, 2, 5, 9}>\n"
         "{ y = Resize <coordinate_transformation_mode = \"half_pixel\", mode = \"cubic\"> (x, none, none, "
         "size) }"},
    {7,
     "g (float[1,2,3] x, float[2] s, float[2] b, float[2] m) => (float[1,2,3] y) <float[2] v = {1.5, 0.5}>\n"
     "{ y = BatchNormalization <epsilon = 0.01> (x, s, b, m, v) }"},
    {9, "g (float[3,2] x, int64[1,2] i, float[1,2] u) => (float[3,2] y) { y = Scatter(x, i, u) }"},
    {10,
     "g (float[1,1,6,6] x) => (float[1,1,2,2] y) <float[1,4] r = {0.5, 0.5, 4.0, 4.0}, int64[1] b = {0}>\n"
     "{ y = RoiAlign <output_height = 2, output_width = 2> (x, r, b) }"},
    {16, "g (float[1,1,4,4] x, float[1,2,2,2] p) => (float[1,1,2,2] y) { y = GridSample(x, p) }"},
    {17, "g (float[1,4,6,1] x) => (float[1,4,6,2] y) { y = DFT(x) }"},
    {7, "g (float[1,2,4] x, float[2,1,3] w) => (float[1,1,8] y) {\n"
        "  y = ConvTranspose <strides = [2], pads = [1, 1], output_padding = [1]> (x, w) }"},
    {7, "g (float[1,2,4,4] x, float[3,2,3,3] w) => (float[1,3,4,4] y) { y = Conv <auto_pad = \"SAME_UPPER\"> "
        "(x, w) }"},
    {7, "g (float[1,2,5,5] x) => (float[1,2,2,2] a, float[1,2,3,3] b) {\n"
        "  a = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x)\n"
        "  b = AveragePool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (x) }"},
    {7, "g (float[1,8,2,2] x) => (float[1,2,4,4] y) { y = DepthToSpace <blocksize = 2> (x) }"},
    {10, "g (float[2,3] x) => (float[2,3] y) <float s = {0.1}, uint8 z = {7}> {\n"
         "  q = QuantizeLinear(x, s, z) y = DequantizeLinear(q, s, z) }"},
};

static void operators_keep_their_numbers_at_every_opset(void **state)
{
    qdq_error err = QDQ_ERROR_INIT;

    (void)state;
    if (test_ort() == NULL) {
        test_missing("ONNX Runtime");
        return;
    }
    for (size_t i = 0; i < QDQ_COUNT(operators); i++) {
        int opsets[21];
        size_t n = 0;
        char text[1000];
        qdq_model *m = NULL;

        snprintf(text, sizeof text, "<ir_version: 3, opset_import: [\"\" : %d]>\n%s", operators[i].opset,
                 operators[i].graph);
        for (int opset = operators[i].opset + 1; opset <= 21; opset++)
            opsets[n++] = opset;
        assert_ok(qdq_model_from_text(text, "test", &m, &err));
        m->ir_version = operators[i].opset < 9 ? 4 : 8; /* constants that are no inputs */
        assert_keeps_its_numbers(m, operators[i].graph, opsets, n);
        qdq_model_free(m);
    }
}

static void subgraphs_and_functions_keep_their_numbers(void **state)
{
    static const char *const models[] = {
        "<ir_version: 8, opset_import: [\"\" : 11]>\n"
        "g (float[1,2] x) => (float[2] y) {\n"
        "  s = ReduceSum <keepdims = 0> (x)\n"
        "  zero = Constant <value = float {0}> ()\n"
        "  c = Greater(s, zero)\n"
        "  y = If (c) <then_branch = a () => (float[2] p) { p = Squeeze <axes = [0]> (x) },\n"
        "              else_branch = b () => (float[2] q) { q = ReduceMean <axes = [0], keepdims = 0> (x) "
        "}>\n"
        "}",
        "<ir_version: 8, opset_import: [\"\" : 11, \"acme\" : 1]>\n"
        "g (float[2,3,4] x) => (float[2,3,4] y) { y = acme.F(x) }\n"
        "<domain: \"acme\", opset_import: [\"\" : 11]>\n"
        "F (x) => (y) { t = Softmax(x) m = ReduceMean <axes = [2]> (t) y = Sub(t, m) }"};
    static const int opsets[] = {12, 13, 17, 18, 21};
    qdq_error err = QDQ_ERROR_INIT;

    (void)state;
    if (test_ort() == NULL) {
        test_missing("ONNX Runtime");
        return;
    }
    for (size_t i = 0; i < QDQ_COUNT(models); i++) {
        qdq_model *m = NULL;

        assert_ok(qdq_model_from_text(models[i], "test", &m, &err));
        assert_keeps_its_numbers(m, models[i], opsets, QDQ_COUNT(opsets));
        qdq_model_free(m);
    }
}

/* --- models -------------------------------------------------------------------------------------------------------- */

static void models_of_the_corpus_keep_their_numbers(void **state)
{
    static const char *const names[] = {"real/mnist.onnx",        "real/ultraface_rfb320.onnx",
                                        "digits/digits_cnn.onnx", "digits/digits_cnn_bn.onnx",
                                        "digits/digits_vit.onnx", "digits/digits_convnext.onnx"};
    static const int opsets[] = {13, 21};
    qdq_error err = QDQ_ERROR_INIT;

    (void)state;
    if (test_ort() == NULL) {
        test_missing("ONNX Runtime");
        return;
    }
    for (size_t i = 0; i < QDQ_COUNT(names); i++) {
        const char *path = test_corpus(names[i]);
        qdq_model *m = NULL;

        if (path == NULL) {
            test_missing(names[i]);
            return;
        }
        assert_ok(qdq_model_load(path, NULL, &m, &err));
        size_t first = qdq_model_opset_of(m, "") > opsets[0];
        assert_keeps_its_numbers(m, path, opsets + first, QDQ_COUNT(opsets) - first);
        qdq_model_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_keep_their_numbers_at_every_opset),
        cmocka_unit_test(subgraphs_and_functions_keep_their_numbers),
        cmocka_unit_test(models_of_the_corpus_keep_their_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
