/* tune_express.c - the placements of other tools' files in our space: imported, said edge by edge,
 * applied and imported again, they are the same on every edge, with the same types, shared scales,
 * and scales. Of the files in tests/data/peers, and of such that are made here in the style of each
 * tool for a block with a Transpose, a LayerNormalization and a residual Add. */
#include <math.h>

#include "support/build.h"
#include "support/spaced.h"
#include "tune/baseline/baseline.h"
#include "tune/space/space_edges.h"
#include "tune/space/space_formats.h"

static qdq_error err;

typedef struct peer {
    const char *file, *target;
} peer;

/* The plan of a file in the names of the cleaned model. *memory: what it needs. */
static qdq_plan *import(const qdq_model *file, const qdq_model *clean, qdq_plan **memory,
                        size_t *gone)
{
    qdq_model *stripped;
    qdq_plan *placed;

    assert_ok(qdq_plan_import(file, NULL, memory, &stripped, &err));
    assert_ok(qdq_baseline_rename(*memory, stripped, clean, &placed, gone, &err));
    qdq_model_free(stripped);
    return placed;
}

static void expect_said(const char *what, const qdq_tune_not_expressed *found)
{
    if (found->edges + found->types + found->scales + found->weights > 0)
        fail_msg("%s: %u edges, %u types, %u shared scales, %u scales of weights", what,
                 found->edges, found->types, found->scales, found->weights);
}

/* Of the highest code by a step or more, or with another zero point. */
static bool differ(const qdq_qparam *a, const qdq_qparam *b)
{
    return !(fabsf(a->scale - b->scale) <= a->scale / 127) || a->zero_point != b->zero_point;
}

static bool share_edges(const qdq_edges *a, const qdq_edges *b)
{
    for (size_t i = 0; i < a->n; i++)
        if (qdq_edges_have(b, a->at[i].node, a->at[i].input))
            return true;
    return false;
}

/* Scales that are given, or follow from the numbers in the same way. */
static bool have_other_scales(const qdq_plan_weight *a, const qdq_plan_weight *b)
{
    if (a->n_scales != b->n_scales || a->asymmetric != b->asymmetric || a->reduced != b->reduced ||
        a->pow2 != b->pow2)
        return true;
    for (size_t i = 0; i < a->n_scales && a->scales != NULL; i++)
        if (a->scales[i] != b->scales[i])
            return true;
    return false;
}

static size_t count_other_scales(const qdq_plan *one, const qdq_plan *other, bool weights)
{
    size_t n = 0;

    for (size_t i = 0; i < one->tensors.n; i++)
        for (size_t k = 0; k < other->tensors.n; k++) {
            const qdq_plan_tensor *a = &one->tensors.at[i], *b = &other->tensors.at[k];
            n += strcmp(a->tensor, b->tensor) == 0 && a->all == b->all &&
                 (a->all || share_edges(&a->consumers, &b->consumers)) &&
                 differ(&a->qparam, &b->qparam);
        }
    for (size_t i = 0; i < one->weights.n && weights; i++)
        for (size_t k = 0; k < other->weights.n; k++)
            n += share_edges(&one->weights.at[i].consumers, &other->weights.at[k].consumers) &&
                 have_other_scales(&one->weights.at[i], &other->weights.at[k]);
    return n;
}

/* What came of a file. */
typedef struct round_trip {
    /* entries of the imported plan */
    size_t tensors, weights;
    /* entries with other scales than the file has */
    size_t gone, scales;
    qdq_tune_not_expressed not_expressed;
    /* in what the applied plan, imported again, differs from the first one */
    qdq_tune_not_expressed again;
    size_t scales_again;
} round_trip;

/* Import, express, apply, import again. */
static round_trip go(qdq_model *given, const qdq_model *file, const char *target)
{
    test_space t = test_space_open(given, target);
    qdq_plan *memory, *memory2, *placed, *said, *again;
    round_trip r;
    qdq_model *applied;
    qdq_assign a;
    size_t gone;

    placed = import(file, t.clean, &memory, &r.gone);
    r.tensors = placed->tensors.n;
    r.weights = placed->weights.n;
    assert_ok(qdq_space_add_formats(t.s, placed, &err));
    assert_ok(qdq_space_express(t.s, placed,
                                &(qdq_space_scaling){t.head, t.engine, NULL, &t.opts, &t.known, 0},
                                &t.arena, &a, &err));
    said = test_space_plan(&t, &a);
    assert_ok(qdq_plans_differ(t.s, placed, said, &r.not_expressed, &err));
    r.scales = count_other_scales(placed, said, true);
    applied = test_space_applied(&t, said);
    again = import(applied, t.clean, &memory2, &gone);
    assert_ok(qdq_plans_differ(t.s, said, again, &r.again, &err));
    r.scales_again = count_other_scales(said, again, false);
    qdq_plan_free(again);
    qdq_plan_free(memory2);
    qdq_model_free(applied);
    qdq_plan_free(said);
    qdq_plan_free(placed);
    qdq_plan_free(memory);
    test_space_close(&t);
    return r;
}

static void go_round(const char *what, qdq_model *given, const qdq_model *file, const char *target)
{
    const round_trip r = go(given, file, target);

    expect_said(what, &r.not_expressed);
    expect_said("applied and imported again", &r.again);
    if (r.scales + r.scales_again > 0)
        fail_msg("%s: %zu other scales, %zu when applied", what, r.scales, r.scales_again);
}

static qdq_model *load(const char *name)
{
    char path[500];
    qdq_model *m;

    snprintf(path, sizeof path, QDQ_SOURCE_DIR "/tests/data/peers/%s.onnx", name);
    assert_ok(qdq_model_load(path, NULL, &m, &err));
    return m;
}

/* Types of each are not those of the target: NNCF and ONNX Runtime do not give unsigned codes where
 * OpenVINO's target does. */
static const peer peers[] = {
    {"ort_qdq", "ort-cpu"}, {"ort_qoperator", "ort-cpu"}, {"ort_qdq", "openvino"},
    {"nncf", "openvino"},   {"modelopt", "tensorrt"},     {"modelopt_fp16", "tensorrt"},
};

TEST(files_of_other_tools_are_said_edge_by_edge)
{
    for (size_t i = 0; i < QDQ_COUNT(peers); i++) {
        qdq_model *file = load(peers[i].file);
        char what[100];

        snprintf(what, sizeof what, "%s for %s", peers[i].file, peers[i].target);
        go_round(what, load("small"), file, peers[i].target);
        qdq_model_free(file);
    }
}

/* --- a block ---------------------------------------------------------------------------------- */

/* As in ConvNeXt: the channels are last for two products, and first for the convolution and the
 * Add. */
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
    /* "tensor" for all readers, "tensor>node:input" for one; "+": unsigned codes from 0 */
    const char *tensors;
    /* "weight node axis" */
    const char *weights;
} style;

static size_t put_tensors(const style *s, char *text, size_t size)
{
    char list[500], *rest = NULL;
    size_t n = 0, i = 0;

    snprintf(list, sizeof list, "%s", s->tensors);
    for (char *word = strtok_r(list, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest), i++) {
        const bool from_zero = *word == '+';
        char tensor[40], node[40];
        unsigned input;

        word += from_zero;
        n += (size_t)snprintf(text + n, size - n, "%s{", i > 0 ? ", " : "");
        if (sscanf(word, "%39[^>]>%39[^:]:%u", tensor, node, &input) == 3)
            n += (size_t)snprintf(text + n, size - n, "\"consumers\": [[\"%s\", %u]], ", node,
                                  input);
        n += (size_t)snprintf(
            text + n, size - n,
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
    for (char *word = strtok_r(list, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest), i++) {
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
    size_t n = (size_t)snprintf(
        text, sizeof text,
        "{\"qdq_plan\": 1, \"model\": \"any\", \"target\": \"\", \"created_by\": \"a "
        "test\", \"clean\": \"\", \"opset\": 0, \"placement_only\": false, \"tensors\": [");
    qdq_model *out;
    qdq_plan *p;

    n += put_tensors(s, text + n, sizeof text - n);
    n += (size_t)snprintf(text + n, sizeof text - n, "], \"weights\": [");
    n += put_weights(s, text + n, sizeof text - n);
    snprintf(text + n, sizeof text - n,
             "], \"biases\": [], \"quantized\": [], \"left_float\": []}");
    assert_ok(qdq_plan_parse(text, strlen(text), s->name, &p, &err));
    assert_ok(qdq_plan_apply(p, of, true, NULL, &out, &err));
    qdq_plan_free(p);
    return out;
}

#define ALL_WEIGHTS "stem.w>stem:0 dw.w>dw:0 w1>m1:1 w2>m2:1 head.w>head:0"

static const style styles[] = {
    /* all that an operator in its list reads and gives, for all readers */
    {"ONNX Runtime", "ort-cpu", "uint8", "codes", 128, "x stem dw ln r m2 t2 s head", ALL_WEIGHTS},
    /* what linear operators and Add read, weights as floats in front of Q/DQ */
    {"NNCF", "openvino", "int8", "float", 0, "x>stem:0 stem ln>m1:0 +r>m2:0 t2>s:0 s>head:0",
     ALL_WEIGHTS},
    /* Q behind the Transpose, in front of the Add, and in front of LayerNormalization */
    {"Model-Optimizer", "tensorrt", "int8", "codes", 0,
     "x>stem:0 stem>dw:0 stem>s:1 t1>ln:0 ln>m1:0 r>m2:0 t2>s:0 s>head:0", ALL_WEIGHTS},
    /* asymmetric codes for an engine whose target has symmetric ones, and constants that no kernel
       wants */
    {"ONNX Runtime for another engine", "openvino", "uint8", "codes", 117,
     "x stem dw>t1:0 ln r m2 t2 s head", ALL_WEIGHTS " g>ln:0"},
    {"Model-Optimizer for another engine", "openvino", "int8", "codes", 0,
     "x>stem:0 stem>dw:0 stem>s:1 t1>ln:0 ln>m1:0 +r>m2:0 t2>s:0 s>head:0", ALL_WEIGHTS},
};

TEST(files_in_the_styles_of_other_tools_are_said_edge_by_edge)
{
    for (size_t i = 0; i < QDQ_COUNT(styles); i++) {
        qdq_model *m = block(), *file = write(m, &styles[i]);

        go_round(styles[i].name, m, file, styles[i].target);
        qdq_model_free(file);
    }
}

/* Tools take their own names, and drop a Relu that codes make needless. */
TEST(names_of_other_tools_are_no_other_placement)
{
    static const char *const hyperedge =
        "g (float[1,4] x) => (float[1,4] y) <float[4,4] w = {1, 2, 3, "
        "4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7}>"
        "{ [fc] h = MatMul(x, w) [act] r = Relu(h) [out] y = Tanh(r) }";
    static const char *const other =
        "g (float[1,4] x) => (float[1,4] y) <float[4,4] weight = {1, 2, 3, 4, "
        "5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7}>"
        "{ [n1] a = MatMul(x, weight) [n2] b = Clip(a) [n3] y = Tanh(b) }";
    qdq_model *m = test_model(hyperedge), *file = test_model(other);
    qdq_plan *memory, *renamed;
    qdq_model *coded;
    size_t gone;

    const style s = {"other names", "ort-cpu", "uint8", "codes", 128, "x b", "weight>n1:1"};
    coded = write(file, &s);
    renamed = import(coded, m, &memory, &gone);
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

/* What cleaning drops, folds or writes the other way round is still in the tool's file. */
TEST(nodes_that_cleaning_drops_are_counted_and_what_they_read_is_found)
{
    static const char *const hyperedge =
        "g (float[1,2] x) => (float[1,2] y) <float[2,2] w = {1, 2, 3, 4}, float[2] c = {1, 2}, "
        "float[2] k = "
        "{3, 4}>"
        "{ [fc] h = MatMul(x, w) [scale] m = Mul(h, c) [sum] a = Add(m, k) [out] y = Tanh(a) }";
    static const char *const other =
        "g (float[1,2] x) => (float[1,2] y) <float[2,2] w = {1, 2, 3, 4}, "
        "float[2] none = {0, 0}, float[2] c = {1, 2}, "
        "float[2] k = {3, 4}> { [fc] h = MatMul(x, w) [shift] s = Add(none, h) "
        "[scale] m = Mul(c, s) [t] kt = "
        "Identity(k) [sum] a = Add(m, kt) [out] y = Tanh(a) }";
    qdq_model *m = test_model(hyperedge), *of = test_model(other), *file;
    qdq_plan *memory, *renamed;
    size_t gone;

    const style s = {"a file", "ort-cpu", "uint8", "codes", 128, "x h s m", "w>fc:0"};
    file = write(of, &s);
    renamed = import(file, m, &memory, &gone);
    assert_int_equal(gone, 1); /* what `shift` reads */
    assert_int_equal(renamed->tensors.n, 3);
    assert_string_equal(renamed->tensors.at[0].tensor, "m");
    assert_string_equal(renamed->tensors.at[1].tensor, "h");
    assert_string_equal(renamed->tensors.at[2].tensor, "x");
    qdq_plan_free(renamed);
    qdq_plan_free(memory);
    qdq_model_free(file);
    qdq_model_free(of);
    qdq_model_free(m);
}

TEST(unnamed_nodes_that_a_tool_named_are_found_by_their_results)
{
    static const char *const hyperedge =
        "g (float[1,2] x) => (float[1,2] y) <float[2,2] v = {1, 2, 3, "
        "4}, float[2,2] w = {4, 3, 2, 1}>"
        "{ b = MatMul(x, w) a = MatMul(x, v) [s] y = Add(a, b) }";
    static const char *const other =
        "g (float[1,2] x) => (float[1,2] y) <float[2,2] v2 = {1, 2, 3, 4}, float[2,2] w2 = {4, 3, "
        "2, 1}>"
        "{ [n0] a = MatMul(x, v2) [n1] b = MatMul(x, w2) [s] y = Add(a, b) }";
    qdq_model *m = test_model(hyperedge), *of = test_model(other), *file;
    qdq_plan *memory, *renamed;
    size_t gone;

    const style s = {"named", "ort-cpu", "uint8", "codes", 128, "x>n0:0", "v2>n0:0"};
    file = write(of, &s);
    renamed = import(file, m, &memory, &gone);
    assert_int_equal(gone, 0);
    assert_int_equal(renamed->tensors.n, 1);
    assert_string_equal(renamed->tensors.at[0].consumers.at[0].node, "MatMul@a");
    qdq_plan_free(renamed);
    qdq_plan_free(memory);
    qdq_model_free(file);
    qdq_model_free(of);
    qdq_model_free(m);
}

/* With a Reshape around it, as ONNX Runtime has it. */
TEST(a_product_and_an_add_that_a_tool_made_a_gemm_are_found)
{
    static const char *const hyperedge =
        "g (float[1,3,2] x) => (float[1,3,2] y) <float[2,2] w = {1, 2, 3, 4}, float[2] c = {1, 2}>"
        "{ [fc] h = MatMul(x, w) [shift] s = Add(h, c) [out] y = Tanh(s) }";
    static const char *const other =
        "g (float[1,3,2] x) => (float[1,3,2] y) <float[2,2] w = {1, 2, 3, 4}, "
        "float[2] c = {1, 2}, int64[2] flat = {3, 2}, "
        "int64[3] back = {1, 3, 2}> { [r1] f = Reshape(x, flat) [n] g = Gemm(f, "
        "w, c) [r2] s = Reshape(g, back) "
        "[out] y = Tanh(s) }";
    static const style s = {"a Gemm", "ort-cpu", "uint8", "codes", 128, "f s", "w>n:0"};
    qdq_model *m = test_model(hyperedge), *of = test_model(other), *file = write(of, &s);
    qdq_plan *memory, *renamed;
    size_t gone;

    renamed = import(file, m, &memory, &gone);
    assert_int_equal(gone, 0);
    assert_int_equal(renamed->tensors.n, 2);
    assert_string_equal(renamed->tensors.at[0].tensor, "x");
    assert_string_equal(renamed->tensors.at[1].tensor, "s");
    assert_string_equal(renamed->weights.at[0].consumers.at[0].node, "fc");
    qdq_plan_free(renamed);
    qdq_plan_free(memory);
    qdq_model_free(file);
    qdq_model_free(of);
    qdq_model_free(m);
}

/* The second operand of such a product is no weight: half of the group is an input alone. */
TEST(one_operand_of_a_product_of_activations_is_said)
{
    static const char *const hyperedge =
        "g (float[1,4,4] x) => (float[1,4,4] y) <float[4,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, "
        "3, 4, 5, "
        "6, 7}>"
        "{ [fc] h = MatMul(x, w) [sm] s = Softmax(h) [av] p = MatMul(s, h) [out] y = Tanh(p) }";
    static const style s = {"a product", "openvino", "uint8", "codes", 3, "x s>av:0", "w>fc:1"};
    qdq_model *m = test_model(hyperedge), *file = write(m, &s);

    go_round(s.name, m, file, s.target);
    qdq_model_free(file);
}

/* For the table in docs/benchmarks.md: TARGET MODEL FILE. */
static int measure(char **name)
{
    qdq_model *m, *file;

    if (qdq_model_load(name[2], NULL, &m, &err) != QDQ_OK ||
        qdq_model_load(name[3], NULL, &file, &err) != QDQ_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    const round_trip r = go(m, file, name[1]);
    qdq_model_free(file);
    printf(
        "%zu activations, %zu constants, %zu edges gone: %u edges, %u types, %u shared scales, %zu "
        "scales, %u constants; "
        "applied: %u\n",
        r.tensors, r.weights, r.gone, r.not_expressed.edges, r.not_expressed.types,
        r.not_expressed.scales, r.scales, r.not_expressed.weights,
        r.again.edges + r.again.types + r.again.scales + r.again.weights +
            (unsigned)r.scales_again);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_other_tools_are_said_edge_by_edge),
        cmocka_unit_test(files_in_the_styles_of_other_tools_are_said_edge_by_edge),
        cmocka_unit_test(names_of_other_tools_are_no_other_placement),
        cmocka_unit_test(nodes_that_cleaning_drops_are_counted_and_what_they_read_is_found),
        cmocka_unit_test(unnamed_nodes_that_a_tool_named_are_found_by_their_results),
        cmocka_unit_test(a_product_and_an_add_that_a_tool_made_a_gemm_are_found),
        cmocka_unit_test(one_operand_of_a_product_of_activations_is_said),
    };

    return argc == 4 ? measure(argv) : cmocka_run_group_tests(tests, NULL, NULL);
}
