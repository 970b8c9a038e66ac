/* tune_express.c - the placements of other tools' files in our space: imported, said edge by edge, applied and imported again, they are
 * the same on every edge, with the same types, shared scales, and scales. Of the files in tests/data/peers, and of such that are made
 * here in the style of each tool for a block with a Transpose, a LayerNormalization and a residual Add. */
#include <math.h>

#include "support/build.h"
#include "support/spaced.h"
#include "tune/baseline/baseline.h"
#include "tune/space/space_edges.h"

static qdq_error err;

typedef struct peer {
    const char *file, *target;
    qdq_tune_unsaid unsaid; /* what no placement of the target says */
} peer;

/* The plan of a file in the names of the cleaned model. *memory: what it needs. */
static qdq_plan *import(const qdq_model *file, const qdq_model *clean, qdq_plan **memory)
{
    qdq_model *stripped;
    qdq_plan *placed;

    assert_ok(qdq_plan_import(file, NULL, memory, &stripped, &err));
    assert_ok(qdq_baseline_rename(*memory, stripped, clean, &placed, &err));
    qdq_model_free(stripped);
    return placed;
}

static void expect_unsaid(const char *what, const qdq_tune_unsaid *found, const qdq_tune_unsaid *want)
{
    if (found->edges != want->edges || found->types != want->types || found->scales != want->scales ||
        found->weights != want->weights)
        fail_msg("%s: %u edges, %u types, %u shared scales, %u scales of weights; expected %u, %u, %u, %u",
                 what, found->edges, found->types, found->scales, found->weights, want->edges, want->types,
                 want->scales, want->weights);
}

/* Scales that calibration found for this placement are those that come back: within a step of the highest code. */
static void expect_scales(const char *what, const qdq_plan *written, const qdq_plan *read)
{
    for (size_t i = 0; i < written->tensors.n; i++)
        for (size_t k = 0; k < read->tensors.n; k++) {
            const qdq_plan_tensor *a = &written->tensors.at[i], *b = &read->tensors.at[k];
            if (strcmp(a->tensor, b->tensor) == 0 && a->qparam.type == b->qparam.type && a->all == b->all &&
                !(fabsf(a->qparam.scale - b->qparam.scale) <= a->qparam.scale / 127))
                fail_msg("%s: %s: scale %g, came back as %g", what, a->tensor, (double)a->qparam.scale,
                         (double)b->qparam.scale);
        }
}

/* Import, express, apply, import again. */
static void go_round(const char *what, qdq_model *given, const qdq_model *file, const char *target,
                     const qdq_tune_unsaid *want)
{
    static const qdq_tune_unsaid nothing;
    test_space t = test_space_open(given, target);
    qdq_plan *memory, *memory2, *placed = import(file, t.clean, &memory), *said, *again;
    qdq_tune_unsaid found;
    qdq_model *applied;
    qdq_assign a;
    size_t missed;

    assert_ok(qdq_space_express(t.s, placed, t.head, t.engine, NULL, &t.opts, &t.known, &t.arena, &a, &missed,
                                &err));
    said = test_space_plan(&t, &a);
    assert_ok(qdq_plans_differ(t.clean, placed, said, &found, &err));
    expect_unsaid(what, &found, want);
    applied = test_space_applied(&t, said);
    again = import(applied, t.clean, &memory2);
    assert_ok(qdq_plans_differ(t.clean, said, again, &found, &err));
    expect_unsaid("applied and imported again", &found, &nothing);
    expect_scales(what, said, again);
    qdq_plan_free(again);
    qdq_plan_free(memory2);
    qdq_model_free(applied);
    qdq_plan_free(said);
    qdq_plan_free(placed);
    qdq_plan_free(memory);
    test_space_close(&t);
}

static qdq_model *load(const char *name)
{
    char path[500];
    qdq_model *m;

    snprintf(path, sizeof path, QDQ_SOURCE_DIR "/tests/data/peers/%s.onnx", name);
    assert_ok(qdq_model_load(path, NULL, &m, &err));
    return m;
}

/* NNCF and ONNX Runtime do not give unsigned codes where OpenVINO's target does, and the other way round. For ONNX Runtime cleaning
 * moves a Relu behind a MaxPool: the tensor between them, which shares the scale, is gone. */
static const peer peers[] = {
    {"ort_qdq", "ort-cpu", {.scales = 1}}, {"ort_qoperator", "ort-cpu", {.scales = 1}},
    {"ort_qdq", "openvino", {.types = 5}}, {"nncf", "openvino", {.types = 2}},
    {"modelopt", "tensorrt", {0}},         {"modelopt_fp16", "tensorrt", {0}},
};

static void files_of_other_tools_are_said_edge_by_edge(void **state)
{
    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(peers); i++) {
        qdq_model *file = load(peers[i].file);
        char what[100];

        snprintf(what, sizeof what, "%s for %s", peers[i].file, peers[i].target);
        go_round(what, load("small"), file, peers[i].target, &peers[i].unsaid);
        qdq_model_free(file);
    }
}

/* --- a block ------------------------------------------------------------------------------------------------------------ */

/* As in ConvNeXt: the channels are last for two products, and first for the convolution and the Add. */
static qdq_model *block(void)
{
    test_builder b = test_build(17);
    const int64_t there[] = {0, 2, 3, 1}, back[] = {0, 3, 1, 2};

    TEST_INPUT(&b, "x", 1, 16, 8, 8);
    test_conv(&b, "stem", "x", 16, 16, 1, 1);
    test_conv(&b, "dw", "stem", 16, 16, 7, 16);
    assert_true(qdq_node_set_ints(TEST_NODE(&b, "Transpose", "t1", "dw"), "perm", there, 4));
    TEST_RANDOM(&b, "g", 16);
    TEST_RANDOM(&b, "be", 16);
    TEST_NODE(&b, "LayerNormalization", "ln", "t1", "g", "be");
    TEST_RANDOM(&b, "w1", 16, 64);
    TEST_NODE(&b, "MatMul", "m1", "ln", "w1");
    TEST_NODE(&b, "Relu", "r", "m1");
    TEST_RANDOM(&b, "w2", 64, 16);
    TEST_NODE(&b, "MatMul", "m2", "r", "w2");
    assert_true(qdq_node_set_ints(TEST_NODE(&b, "Transpose", "t2", "m2"), "perm", back, 4));
    TEST_NODE(&b, "Add", "s", "t2", "stem");
    test_conv(&b, "head", "s", 16, 16, 1, 1);
    TEST_NODE(&b, "Softmax", "y", "head");
    test_output(&b, "y");
    return test_built(&b);
}

typedef struct style {
    const char *name, *target, *type, *store;
    int zero;
    const char
        *tensors; /* "tensor" for all readers, "tensor>node:input" for one; "+": unsigned codes from 0 */
    const char *weights; /* "weight node axis" */
    qdq_tune_unsaid unsaid;
} style;

static size_t put_tensors(const style *s, char *text, size_t size)
{
    char list[500], *rest = NULL;
    size_t n = 0, i = 0;

    snprintf(list, sizeof list, "%s", s->tensors);
    for (char *word = strtok_r(list, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest), i++) {
        const bool from_zero = *word == '+';
        char tensor[40], node[40];
        unsigned input;

        word += from_zero;
        n += (size_t)snprintf(text + n, size - n, "%s{", i > 0 ? ", " : "");
        if (sscanf(word, "%39[^>]>%39[^:]:%u", tensor, node, &input) == 3)
            n += (size_t)snprintf(text + n, size - n, "\"consumers\": [[\"%s\", %u]], ", node, input);
        n += (size_t)snprintf(text + n, size - n,
                              "\"tensor\": \"%s\", \"type\": \"%s\", \"scale\": 0.%02zu, \"zero_point\": %d, "
                              "\"rule\": \"\", \"origin\": \"rule\"}",
                              tensor, from_zero ? "uint8" : s->type, i + 11, from_zero ? 0 : s->zero);
    }
    return n;
}

static size_t put_weights(const style *s, char *text, size_t size)
{
    char list[500], *rest = NULL;
    size_t n = 0, i = 0;

    snprintf(list, sizeof list, "%s", s->weights);
    for (char *word = strtok_r(list, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest), i++) {
        char tensor[40], node[40];
        int axis;

        assert_int_equal(sscanf(word, "%39[^>]>%39[^:]:%d", tensor, node, &axis), 3);
        n += (size_t)snprintf(
            text + n, size - n,
            "%s{\"tensor\": \"%s\", \"consumers\": [[\"%s\", 1]], \"axis\": %d, \"type\": "
            "\"int8\", \"method\": \"absmax\", \"block\": null, \"store\": \"%s\", \"rule\": \"\", "
            "\"origin\": \"rule\"}",
            i > 0 ? ", " : "", tensor, node, axis, s->store);
    }
    return n;
}

/* The file that a tool would write of the block. */
static qdq_model *write(const qdq_model *of, const style *s)
{
    static char text[12000];
    size_t n =
        (size_t)snprintf(text, sizeof text,
                         "{\"qdq_plan\": 1, \"model\": \"any\", \"target\": \"\", \"created_by\": \"a "
                         "test\", \"clean\": \"\", \"opset\": 0, \"placement_only\": false, \"tensors\": [");
    qdq_model *out;
    qdq_plan *p;

    n += put_tensors(s, text + n, sizeof text - n);
    n += (size_t)snprintf(text + n, sizeof text - n, "], \"weights\": [");
    n += put_weights(s, text + n, sizeof text - n);
    snprintf(text + n, sizeof text - n, "], \"biases\": [], \"quantized\": [], \"left_float\": []}");
    assert_ok(qdq_plan_parse(text, strlen(text), s->name, &p, &err));
    assert_ok(qdq_plan_apply(p, of, true, &out, &err));
    qdq_plan_free(p);
    return out;
}

#define ALL_WEIGHTS "stem.w>stem:0 dw.w>dw:0 w1>m1:1 w2>m2:1 head.w>head:0"

static const style styles[] = {
    /* all that an operator in its list reads and gives, for all readers */
    {"ONNX Runtime", "ort-cpu", "uint8", "codes", 128, "x stem dw ln r m2 t2 s head", ALL_WEIGHTS, {0}},
    /* what linear operators and Add read, weights as floats in front of Q/DQ */
    {"NNCF",
     "openvino",
     "int8",
     "float",
     0,
     "x>stem:0 stem ln>m1:0 +r>m2:0 t2>s:0 s>head:0",
     ALL_WEIGHTS,
     {0}},
    /* Q behind the Transpose, in front of the Add, and in front of LayerNormalization */
    {"Model-Optimizer",
     "tensorrt",
     "int8",
     "codes",
     0,
     "x>stem:0 stem>dw:0 stem>s:1 t1>ln:0 ln>m1:0 r>m2:0 t2>s:0 s>head:0",
     ALL_WEIGHTS,
     {0}},
    {"Model-Optimizer for another engine",
     "openvino",
     "int8",
     "codes",
     0,
     "x>stem:0 stem>dw:0 stem>s:1 t1>ln:0 ln>m1:0 +r>m2:0 t2>s:0 s>head:0",
     ALL_WEIGHTS,
     {0}},
};

static void files_in_the_styles_of_other_tools_are_said_edge_by_edge(void **state)
{
    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(styles); i++) {
        qdq_model *m = block(), *file = write(m, &styles[i]);

        go_round(styles[i].name, m, file, styles[i].target, &styles[i].unsaid);
        qdq_model_free(file);
    }
}

/* Tools take their own names, and drop a Relu that codes make needless. */
static void names_of_other_tools_are_no_other_placement(void **state)
{
    static const char *const net =
        "g (float[1,4] x) => (float[1,4] y) <float[4,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7}>"
        "{ [fc] h = MatMul(x, w) [act] r = Relu(h) [out] y = Tanh(r) }";
    static const char *const other = "g (float[1,4] x) => (float[1,4] y) <float[4,4] weight = {1, 2, 3, 4, "
                                     "5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7}>"
                                     "{ [n1] a = MatMul(x, weight) [n2] b = Clip(a) [n3] y = Tanh(b) }";
    qdq_model *m = test_model(net), *file = test_model(other);
    qdq_plan *memory, *renamed;
    qdq_model *coded;

    (void)state;
    const style s = {"other names", "ort-cpu", "uint8", "codes", 128, "x b", "weight>n1:1", {0}};
    coded = write(file, &s);
    renamed = import(coded, m, &memory);
    assert_int_equal(renamed->tensors.n, 2);
    assert_string_equal(renamed->tensors.at[0].tensor, "r");
    assert_string_equal(renamed->tensors.at[1].tensor, "x");
    assert_string_equal(renamed->weights.at[0].consumers.at[0].node, "fc");
    qdq_plan_free(renamed);
    qdq_plan_free(memory);
    qdq_model_free(coded);
    qdq_model_free(file);
    qdq_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_other_tools_are_said_edge_by_edge),
        cmocka_unit_test(files_in_the_styles_of_other_tools_are_said_edge_by_edge),
        cmocka_unit_test(names_of_other_tools_are_no_other_placement),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
