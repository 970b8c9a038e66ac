/* tune_group_plan.c - the plan of a whole model on one of its groups: the same edges carry Q/DQ in
 * both, and no others. */
#include "tune/isolate/group_plan.h"

#include "ir/shape.h"
#include "quant/quantize_steps.h"
#include "support/isolated.h"
#include "support/layers.h"
#include "support/spelled.h"
#include "support/test.h"

static qdq_error err;

/* --- what an edge carries --------------------------------------------------------------------- */

typedef struct pair {
    /* that is quantized; NULL: the edge is float */
    const char *tensor;
    float scale;
} pair;

static const char *name_before(const qdq_value *v)
{
    static char name[100];
    size_t n = strlen(v->name);
    const char ending[] = "_QuantizeLinear_Input"; /* what was an output of the model */

    if (n > strlen(ending) && strcmp(v->name + n - strlen(ending), ending) == 0)
        n -= strlen(ending);
    snprintf(name, sizeof name, "%.*s", (int)n, v->name);
    return name;
}

static pair carried(const qdq_node *n, uint32_t input)
{
    const qdq_value *v = qdq_node_in(n, input);
    const qdq_node *dq = v != NULL ? v->producer : NULL;
    double scale;

    if (dq == NULL || dq->op != QDQ_OP_DEQUANTIZELINEAR)
        return (pair){NULL, 0};
    const qdq_value *codes = qdq_node_in(dq, 0);
    if (!qdq_tensor_scalar(qdq_value_const(qdq_node_in(dq, 1)), &scale))
        scale = -1; /* one for each channel */
    if (codes->producer != NULL && codes->producer->op == QDQ_OP_QUANTIZELINEAR)
        codes = qdq_node_in(codes->producer, 0);
    return (pair){name_before(codes), (float)scale};
}

static void assert_same_edge(const char *label, const qdq_node *a, const qdq_node *b,
                             uint32_t input)
{
    char first[100];
    pair x = carried(a, input);

    snprintf(first, sizeof first, "%s", x.tensor != NULL ? x.tensor : "float");
    pair y = carried(b, input);
    if (strcmp(first, y.tensor != NULL ? y.tensor : "float") != 0 || x.scale != y.scale)
        fail_msg("input %u of %s: %s in the group, %s in the whole model", (unsigned)input, label,
                 first, y.tensor != NULL ? y.tensor : "float");
}

static const qdq_node *node_of(const qdq_model *m, const char *label)
{
    qdq_map labels = QDQ_MAP_INIT;
    qdq_arena scratch = QDQ_ARENA_INIT;

    assert_true(qdq_graph_map_labels(m->graph, &scratch, &labels));
    const qdq_map_value *v = qdq_map_get(&labels, label);
    const qdq_node *n = v != NULL ? v->ptr : NULL;
    qdq_map_free(&labels);
    qdq_arena_free(&scratch);
    if (n == NULL)
        fail_msg("no node is called '%s'", label);
    return n;
}

/* Own nodes carry the same; nothing but what the group gives is quantized for the halo. */
static void assert_placed_alike(const qdq_fusions *f, uint32_t group, const qdq_group_model *g,
                                const qdq_model *part, const qdq_model *whole)
{
    qdq_arena scratch = QDQ_ARENA_INIT;

    QDQ_FOR_NODES (n, f->g.g) {
        if (!test_is_in_part(f, g->model, n))
            continue;
        const char *label = qdq_node_label(n, &scratch);
        const qdq_node *a = node_of(part, label), *b = node_of(whole, label);
        for (uint32_t k = 0; k < a->n_in; k++) {
            const qdq_value *v = qdq_node_in(n, k);
            if (v == NULL)
                continue;
            if (f->of[n->id] == group)
                assert_same_edge(label, a, b, k);
            else if (v->producer == NULL || f->of[v->producer->id] != group)
                assert_null(carried(a, k).tensor);
        }
    }
    qdq_arena_free(&scratch);
}

/* --- the network ------------------------------------------------------------------------------ */

TEST(a_group_is_quantized_as_in_the_whole_model)
{
    test_isolated s = test_isolate(test_isolated_network(1), NULL);
    qdq_plan *all = test_isolated_plan(&s);
    qdq_model *whole, *part;
    size_t linear = 0;

    assert_ok(qdq_model_clone(s.clean, &whole, &err));
    assert_ok(qdq_quantize_finish(whole, all, NULL, NULL, &err));
    for (uint32_t i = 0; i < s.f->n; i++) {
        qdq_group_model *g = test_isolated_group(&s, i);
        assert_ok(qdq_group_plan_apply(s.f, i, g, all, NULL, &part, &err));
        assert_placed_alike(s.f, i, g, part, whole);
        linear += s.f->at[i].linear;
        qdq_model_free(part);
        qdq_group_model_free(g);
    }
    assert_int_equal(linear, 8);
    qdq_model_free(whole);
    qdq_plan_free(all);
    test_isolated_free(&s);
}

/* With its own decisions alone, too, and then nothing is quantized but for it. */
TEST(what_one_group_wants_is_there_alone)
{
    test_isolated s = test_isolate(test_isolated_network(1), NULL);
    qdq_model *whole, *part;

    for (uint32_t i = 0; i < s.f->n; i++) {
        qdq_plan *p = test_isolated_plan_of(&s, i);
        qdq_group_model *g = test_isolated_group(&s, i);
        assert_ok(qdq_model_clone(s.clean, &whole, &err));
        assert_ok(qdq_quantize_finish(whole, p, NULL, NULL, &err));
        assert_ok(qdq_group_plan_apply(s.f, i, g, p, NULL, &part, &err));
        assert_placed_alike(s.f, i, g, part, whole);
        assert_int_equal(test_count_nodes(part, QDQ_OP_QUANTIZELINEAR),
                         test_count_nodes(whole, QDQ_OP_QUANTIZELINEAR));
        assert_int_equal(test_count_nodes(part, QDQ_OP_DEQUANTIZELINEAR),
                         test_count_nodes(whole, QDQ_OP_DEQUANTIZELINEAR));
        if (s.f->at[i].linear > 0)
            assert_true(test_count_nodes(part, QDQ_OP_QUANTIZELINEAR) >= 1);
        qdq_model_free(part);
        qdq_model_free(whole);
        qdq_group_model_free(g);
        qdq_plan_free(p);
    }
    test_isolated_free(&s);
}

/* --- plans that tests write ------------------------------------------------------------------- */

typedef struct small {
    qdq_model *m;
    qdq_fusions *f;
    qdq_shape_range *range;
    qdq_plan *p;
} small;

/* Entries as in a plan's file. */
static small open_small(const char *model, test_layers l, const char *entries)
{
    small s = {.m = test_model(model)};
    char text[3000];

    snprintf(text, sizeof text,
             "{\"qdq_plan\": 1, \"model\": \"0\", \"target\": \"\", \"created_by\": \"\", "
             "\"clean\": \"\", "
             "\"opset\": 0, \"placement_only\": false, %s, \"left_float\": []}",
             entries);
    assert_ok(qdq_plan_parse(text, strlen(text), "plan", &s.p, &err));
    assert_ok(qdq_model_infer(s.m, NULL, &err));
    assert_ok(qdq_fusions_find(s.m, l.at, l.n, NULL, &s.f, &err));
    assert_ok(qdq_shape_range_open(s.m, NULL, &s.range, &err));
    test_layers_free(&l);
    return s;
}

static void close_small(small *s)
{
    qdq_shape_range_close(s->range);
    qdq_fusions_free(s->f);
    qdq_plan_free(s->p);
    qdq_model_free(s->m);
}

static qdq_model *apply(const small *s, uint32_t group, bool halo)
{
    const qdq_group_model_opts o = {.halo = halo, .range = s->range};
    qdq_group_model *g;
    qdq_model *part, *whole;

    assert_ok(qdq_group_model_make(s->f, group, &o, &g, &err));
    assert_non_null(g->model);
    assert_ok(qdq_group_plan_apply(s->f, group, g, s->p, NULL, &part, &err));
    assert_ok(qdq_model_clone(s->m, &whole, &err));
    assert_ok(qdq_quantize_finish(whole, s->p, NULL, NULL, &err));
    assert_placed_alike(s->f, group, g, part, whole);
    qdq_model_free(whole);
    qdq_group_model_free(g);
    return part;
}

static const char *reads(const qdq_model *m, const char *output)
{
    return qdq_node_in(qdq_graph_find(m->graph, output)->producer, 0)->name;
}

#define TENSOR(name, consumers)                                                                    \
    "{\"tensor\": \"" name "\", " consumers                                                        \
    "\"type\": \"int8\", \"scale\": 0.1, \"zero_point\": 0, \"rule\": \"\", \"origin\": \"\"}"
#define WEIGHT(name, consumers)                                                                    \
    "{\"tensor\": \"" name "\", \"consumers\": [" consumers                                        \
    "], \"axis\": 1, \"type\": \"int8\", \"method\": \"absmax\", \"block\": null, \"rule\": "      \
    "\"\", "                                                                                       \
    "\"origin\": \"\"}"
#define BIAS(name, consumer, activation, weight)                                                   \
    "{\"tensor\": \"" name "\", \"consumer\": " consumer                                           \
    ", \"type\": \"int32\", \"activation\": \"" activation "\", \"weight\": \"" weight             \
    "\", \"rule\": \"\", \"origin\": \"\"}"

TEST(a_shared_tensor_is_quantized_for_the_groups_own_readers)
{
    small s = open_small(
        test_graph_text(__func__), TEST_LAYERS("relu r", "gemm a", "gemm b", "erf e"),
        "\"tensors\": [" TENSOR(
            "x",
            "\"consumers\": [[\"a\", 0], [\"b\", 0]], ") "], "
                                                         "\"weights\": [" WEIGHT(
                                                             "w",
                                                             "[\"a\", 1], [\"b\", 1]") "], "
                                                                                       "\"biases\":"
                                                                                       " [], "
                                                                                       "\"quantized"
                                                                                       "\": []");
    qdq_model *a = apply(&s, 1, true), *e = apply(&s, 3, true), *r = apply(&s, 0, true);

    assert_string_equal(reads(a, "y"), "x_DequantizeLinear_Output");
    assert_int_equal(test_count_nodes(a, QDQ_OP_QUANTIZELINEAR), 1);
    assert_int_equal(test_count_nodes(a, QDQ_OP_DEQUANTIZELINEAR), 2);
    assert_string_equal(reads(e, "e"), "x");
    assert_int_equal(test_count_nodes(e, QDQ_OP_QUANTIZELINEAR), 0);
    assert_int_equal(test_count_nodes(r, QDQ_OP_DEQUANTIZELINEAR),
                     0); /* its readers' wish, not its own */
    qdq_model_free(r);
    qdq_model_free(e);
    qdq_model_free(a);
    close_small(&s);
}

/* u is given as codes if its group computes in 8 bits, else its reader's Q is none of its
 * business. */
TEST(what_all_readers_get_belongs_to_who_gives_it_in_codes)
{
    static const char *const quantized[] = {"{\"node\": \"a\", \"op\": \"MatMul\"}",
                                            "{\"node\": \"c\", \"op\": \"MatMul\"}"};
    static const size_t want[][2] = {{1, 1}, {0, 1}}; /* Q in the first group, in the second */

    for (int i = 0; i < 2; i++) {
        char entries[1000];
        snprintf(entries, sizeof entries,
                 "\"tensors\": [" TENSOR(
                     "u", "") "], \"weights\": [], \"biases\": [], \"quantized\": [%s]",
                 quantized[i]);
        small s = open_small(test_graph_text("pair_of_products"), TEST_LAYERS("gemm a+b", "gemm c"),
                             entries);
        for (uint32_t k = 0; k < 2; k++) {
            qdq_model *part = apply(&s, k, true);
            assert_int_equal(test_count_nodes(part, QDQ_OP_QUANTIZELINEAR), want[i][k]);
            qdq_model_free(part);
        }
        close_small(&s);
    }
}

/* An output of the whole model keeps its name. */
TEST(an_output_in_codes_keeps_its_name)
{
    small s = open_small(
        test_graph_text("pair_of_products"), TEST_LAYERS("gemm a+b", "gemm c"),
        "\"tensors\": [" TENSOR("y", "") "], \"weights\": [], \"biases\": [], \"quantized\": []");
    qdq_model *part = apply(&s, 1, true);

    assert_string_equal(part->graph->outputs.at[0]->name, "y");
    assert_int_equal(part->graph->outputs.at[0]->producer->op, QDQ_OP_DEQUANTIZELINEAR);
    qdq_model_free(part);
    close_small(&s);
}

/* The bias of a product that another group computes has no scale in this one. */
TEST(a_bias_comes_with_its_product)
{
    static const char entries[] =
        "\"tensors\": [" TENSOR("x", "\"consumers\": [[\"a\", 0]], ") "], \"weights\": [" WEIGHT(
            "w", "[\"a\", 1]") "], \"biases\": [" BIAS("b", "[\"b\", 1]", "x",
                                                       "w") "], \"quantized\": []";
    small one =
        open_small(test_graph_text("pair_of_products"), TEST_LAYERS("gemm a+b", "gemm c"), entries);
    small two = open_small(test_graph_text("pair_of_products"),
                           TEST_LAYERS("gemm a", "add b", "gemm c"), entries);
    const qdq_group_model_opts o = {.halo = true, .range = two.range};
    qdq_model *with = apply(&one, 0, true), *without;
    qdq_group_model *g;

    assert_int_equal(test_count_nodes(with, QDQ_OP_DEQUANTIZELINEAR), 3);
    assert_ok(qdq_group_model_make(two.f, 1, &o, &g, &err));
    assert_ok(qdq_group_plan_apply(two.f, 1, g, two.p, NULL, &without, &err));
    assert_int_equal(test_count_nodes(without, QDQ_OP_DEQUANTIZELINEAR), 0);
    qdq_model_free(without);
    qdq_group_model_free(g);
    qdq_model_free(with);
    close_small(&two);
    close_small(&one);
}

/* Two nodes are called n: neither has a label of that name, not even where the other one is
 * missing. */
TEST(nodes_are_called_as_in_the_whole_model)
{
    small s = open_small(
        test_graph_text(__func__),
        TEST_LAYERS("gemm MatMul@t+Relu@u", "abs Abs@v", "gemm MatMul@y"),
        "\"tensors\": [" TENSOR(
            "x",
            "\"consumers\": [[\"MatMul@t\", 0]], ") "], "
                                                    "\"weights\": [" WEIGHT(
                                                        "w",
                                                        "[\"MatMul@t\", 1]") "], \"biases\": [], "
                                                                             "\"quantized\": []");
    qdq_model *part = apply(&s, 0, true);

    assert_string_equal(qdq_graph_find(part->graph, "t")->producer->name, "MatMul@t");
    assert_string_equal(qdq_graph_find(part->graph, "u")->producer->name, "Relu@u");
    assert_string_equal(reads(part, "t"), "x_DequantizeLinear_Output");
    qdq_model_free(part);
    close_small(&s);
}

/* Tensors inside are float16, and so is the border of a part; what stays float32 does so if it is
 * there. */
TEST(the_rest_is_converted_as_in_the_whole_model)
{
    small s = open_small(
        test_graph_text("pair_of_products"), TEST_LAYERS("gemm a+b", "gemm c"),
        "\"rest\": {\"type\": \"float16\", \"keep\": [{\"node\": \"c\", \"op\": \"MatMul\", "
        "\"reason\": \"\"}]}, \"tensors\": [], \"weights\": [], \"biases\": [], \"quantized\": []");
    qdq_model *alone = apply(&s, 0, false), *kept = apply(&s, 1, false);

    assert_int_equal(alone->graph->inputs.at[0]->type->elem, QDQ_FLOAT16);
    assert_int_equal(test_count_nodes(alone, QDQ_OP_CAST), 0);
    assert_int_equal(kept->graph->inputs.at[0]->type->elem, QDQ_FLOAT16);
    assert_int_equal(test_count_nodes(kept, QDQ_OP_CAST), 1); /* y is not a tensor inside */
    qdq_model_free(kept);
    qdq_model_free(alone);
    close_small(&s);
}

TEST(without_a_plan_the_part_is_as_it_was)
{
    small s = open_small(test_graph_text("pair_of_products"), TEST_LAYERS("gemm a+b", "gemm c"),
                         "\"tensors\": [], \"weights\": [], \"biases\": [], \"quantized\": []");
    const qdq_group_model_opts o = {.halo = true, .range = s.range};
    qdq_group_model *g;
    qdq_model *part;
    char *a, *b;

    assert_ok(qdq_group_model_make(s.f, 0, &o, &g, &err));
    assert_ok(qdq_group_plan_apply(s.f, 0, g, NULL, NULL, &part, &err));
    assert_ok(qdq_model_to_text(part, &a, &err));
    assert_ok(qdq_model_to_text(g->model, &b, &err));
    assert_string_equal(a, b);
    qdq_free(a);
    qdq_free(b);
    qdq_model_free(part);
    qdq_group_model_free(g);
    close_small(&s);
}
