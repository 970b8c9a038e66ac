/* engine_layer_nodes.c - what engines call their layers, told to nodes: names with endings, several
 * in one text, and the nodes between tensors. */
#include "engine/layer_nodes.h"
#include "support/test.h"

static qdq_error err;

typedef struct indexed {
    qdq_model *m;
    qdq_arena arena;
    qdq_layer_index x;
} indexed;

static void open_network(indexed *i)
{
    const char *p = strstr(test_graph_text("network"), "{0}, int8[4");
    char zeros[100] = "{0", text[2000];

    for (int k = 1; k < 16; k++)
        strcat(zeros, ", 0");
    strcat(zeros, "}");
    assert_non_null(p);
    snprintf(text, sizeof text, "%.*s%s, int8[4,4,1,1] wq = %s%s",
             (int)(p - test_graph_text("network")), test_graph_text("network"), zeros, zeros,
             strstr(p, ", float s"));
    *i = (indexed){.m = test_model(text)};
    assert_ok(qdq_layer_index_make(&i->x, i->m->graph, &i->arena, &err));
}

static void close_network(indexed *i)
{
    qdq_layer_index_free(&i->x);
    qdq_arena_free(&i->arena);
    qdq_model_free(i->m);
}

/* "x + y | x": labels. */
static const char *labels(indexed *i, const qdq_node *const *node, size_t n)
{
    static char text[400];

    text[0] = '\0';
    for (size_t k = 0; k < n; k++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", k > 0 ? " | " : "",
                 qdq_node_label(node[k], &i->arena));
    return text;
}

static const char *owner(indexed *i, const char *name)
{
    char *own = qdq_arena_strdup(&i->arena, name);
    qdq_layer_owner o = qdq_layer_find_ending(&i->x, own);

    return o.node != NULL ? labels(i, &o.node, 1) : o.value != NULL ? o.value->name : "nobody";
}

TEST(names_are_of_nodes_or_of_tensors_with_endings)
{
    indexed i;

    open_network(&i);
    assert_string_equal(owner(&i, "last"), "last");
    assert_string_equal(owner(&i, "b"), "a,b");
    assert_string_equal(owner(&i, "x"), "x"); /* a node's name before a tensor's */
    assert_string_equal(owner(&i, "w"), "w"); /* a tensor that nobody gives */
    assert_string_equal(owner(&i, "b_nchwc"), "a,b");
    assert_string_equal(owner(&i, "b_pre_q"), "a,b");
    assert_string_equal(owner(&i, "last_token_12"), "last");
    assert_string_equal(owner(&i, "wd/duplicated_token_3"), "DequantizeLinear@wd");
    assert_string_equal(owner(&i, "last/MatMulAddFusion"), "last");
    assert_string_equal(
        owner(&i, "last/MatmulTransposeFusion//MatMulScaleFusion//MatmulTransposeFusion/"), "last");
    assert_string_equal(owner(&i, "_token_12"), "nobody");
    assert_string_equal(owner(&i, "/Fusion"), "nobody");
    assert_string_equal(owner(&i, "Fusion/"), "nobody");
    assert_string_equal(owner(&i, ""), "nobody");
    close_network(&i);
}

TEST(a_text_of_several_names_is_taken_apart_by_the_longest)
{
    static const char *const plus[] = {" + ", NULL}, *const comma[] = {",", NULL};
    indexed i;
    qdq_layer_names l = {0};

    open_network(&i);
    assert_ok(qdq_layer_split(&i.x, "x + y + last + nobody", plus, &i.arena, &l, &err));
    assert_int_equal(l.known.n, 2);
    assert_string_equal(l.known.at[0].node->name,
                        "x + y"); /* one node is called so; not Relu x and tensor y */
    assert_string_equal(l.known.at[1].node->name, "last");
    assert_int_equal(l.n_unknown, 1);
    l = (qdq_layer_names){0};
    assert_ok(qdq_layer_split(&i.x, "a,b,last,,", comma, &i.arena, &l, &err));
    assert_int_equal(l.known.n, 2);
    assert_string_equal(l.known.at[0].node->name, "a,b");
    assert_int_equal(l.n_unknown, 0);
    l = (qdq_layer_names){0};
    assert_ok(qdq_layer_split(&i.x, "", comma, &i.arena, &l, &err));
    /* beginnings are no names */
    assert_ok(qdq_layer_split(&i.x, "lastly,xx,la", comma, &i.arena, &l, &err));
    assert_true(l.known.n == 0 && l.n_unknown == 3);
    close_network(&i);
}

static const char *slice(indexed *i, const char *to, const char *given)
{
    bool *mark = qdq_arena_array(&i->arena, i->m->graph->values.n, sizeof *mark);
    const qdq_value *v = qdq_graph_find(i->m->graph, to);
    qdq_layer_node_list nodes = {0};

    if (given != NULL)
        mark[qdq_graph_find(i->m->graph, given)->id] = true;
    assert_ok(qdq_layer_slice(&i->x, &v, 1, mark, &i->arena, &nodes, &err));
    return labels(i, nodes.at, nodes.n);
}

TEST(a_slice_is_what_lies_between_tensors)
{
    indexed i;

    open_network(&i);
    assert_string_equal(slice(&i, "y", "r"),
                        "a,b | Add@c | last"); /* the Identity of a constant is no part */
    assert_string_equal(slice(&i, "r", NULL),
                        "DequantizeLinear@wd | x + y | x"); /* what dequantizes one is */
    assert_string_equal(slice(&i, "y", "y"),
                        "DequantizeLinear@wd | x + y | x | a,b | Add@c | last");
    assert_string_equal(slice(&i, "x", NULL), "");
    close_network(&i);
}

TEST(kernels_are_cores_or_conversions)
{
    indexed i;

    open_network(&i);
    const qdq_node *conv = qdq_graph_find(i.m->graph, "a")->producer;
    const qdq_node *last = qdq_graph_find(i.m->graph, "y")->producer;
    const qdq_node *dq = qdq_graph_find(i.m->graph, "wd")->producer;
    bool *named = qdq_arena_array(&i.arena, i.m->graph->next_node_id + 1, sizeof *named);
    assert_true(qdq_layer_is_core("QLinearConv", conv) && !qdq_layer_is_core("QLinearConv", last));
    assert_true(qdq_layer_is_conversion("DequantizeLinear", NULL));
    assert_false(qdq_layer_is_conversion("DequantizeLinear", dq)); /* the model has it */
    assert_false(qdq_layer_is_conversion("Conv", NULL));
    assert_string_equal(qdq_layer_core("FusedConv", last, named)->name, "a,b");
    named[qdq_graph_find(i.m->graph, "b")->producer->id] = true;
    assert_ptr_equal(qdq_layer_core("FusedConv", last, named), conv);
    assert_null(qdq_layer_core("Gemm", last, named));
    close_network(&i);
}
