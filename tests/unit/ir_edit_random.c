/* ir_edit_random.c - random edits: use lists, names and order stay right. */
#include "support/test.h"

#include "base/random.h"
#include "ir/edit.h"
#include "ir/graph_check.h"

/* --- random edits ----------------------------------------------------------------------------- */

typedef struct walk {
    qdq_model *m;
    qdq_random random;
} walk;

static size_t below(walk *w, size_t n)
{
    return (size_t)(qdq_random_u64(&w->random) % n);
}

/* Inputs and initializers can be read anywhere without making a cycle. */
static qdq_value *any_source(walk *w)
{
    for (;;) {
        qdq_value *v = w->m->graph->values.at[below(w, w->m->graph->values.n)];

        if (!v->dead && v->producer == NULL)
            return v;
    }
}

static qdq_value *any_value(walk *w)
{
    for (;;) {
        qdq_value *v = w->m->graph->values.at[below(w, w->m->graph->values.n)];

        if (!v->dead)
            return v;
    }
}

static qdq_node *any_node(walk *w)
{
    for (int tries = 0; tries < 50; tries++) {
        qdq_value *v = any_value(w);

        if (v->producer != NULL)
            return v->producer;
    }
    return NULL;
}

static void add_random_node(walk *w)
{
    qdq_graph *g = w->m->graph;
    const char *outs[] = {qdq_graph_unique_name(g, "t"),
                          below(w, 3) ? NULL : qdq_graph_unique_name(g, "s")};
    qdq_value *in[3] = {any_value(w), below(w, 4) ? any_value(w) : NULL, any_source(w)};
    qdq_node *n = qdq_graph_add_node(g, NULL, "", "Op", below(w, 2) ? "same" : "", 3, 2, outs);

    for (uint32_t i = 0; i < 3; i++)
        qdq_node_set_in(n, i, in[i]);
}

static void add_random_body(walk *w)
{
    qdq_graph *g = w->m->graph;
    const char *outs[] = {qdq_graph_unique_name(g, "if")}, *inner[1];
    qdq_value *captured = any_value(w);
    qdq_node *n = qdq_graph_add_node(g, NULL, "", "If", "", 0, 1, outs), *body_node;
    qdq_graph *body = qdq_graph_new(w->m, n, "body");
    qdq_attr *a = qdq_arena_alloc(&w->m->arena, sizeof *a);

    inner[0] = qdq_graph_unique_name(body, "t");
    body_node = qdq_graph_add_node(body, NULL, "", "Neg", "", 1, 1, inner);
    qdq_node_set_in(body_node, 0, captured);
    assert_true(qdq_graph_add_output(body, body_node->out[0]));
    *a = (qdq_attr){.name = "then_branch", .type = QDQ_ATTR_GRAPH, .count = 1, .v.g = body};
    assert_true(qdq_node_set_attr(n, a));
}

static void remove_random_node(walk *w)
{
    qdq_node *n = any_node(w);

    if (n == NULL)
        return;
    for (uint32_t i = 0; i < n->n_out; i++)
        if (n->out[i] != NULL && !qdq_value_replace(n->out[i], any_source(w)))
            return; /* an output */
    qdq_node_remove(n);
}

static void random_edit(walk *w)
{
    static const int64_t ints[] = {1, 2, 3};
    qdq_node *n = any_node(w);
    qdq_value *v = any_value(w);

    switch (below(w, 12)) {
    case 0:
    case 1:
    case 2:
        add_random_node(w);
        break;
    case 3:
        add_random_body(w);
        break;
    case 4:
    case 5:
        remove_random_node(w);
        break;
    case 6:
        if (n != NULL && n->n_in > 0)
            qdq_node_set_in(n, (uint32_t)below(w, n->n_in), below(w, 3) ? any_source(w) : NULL);
        break;
    case 7:
        if (n != NULL) {
            assert_true(qdq_node_append_in(n, any_source(w)));
            if (below(w, 2))
                qdq_node_set_in(n, n->n_in - 1, NULL);
            qdq_node_trim_in(n);
        }
        break;
    case 8:
        assert_true(qdq_value_rename(v, qdq_graph_unique_name(w->m->graph, "renamed")));
        break;
    case 9:
        if (n != NULL)
            assert_true(qdq_node_set_ints(n, below(w, 2) ? "p" : "q", ints, below(w, 4)));
        break;
    case 10:
        if (v->producer == NULL && v->n_use == 0 && v->n_output == 0 && !v->is_input)
            qdq_value_remove(v);
        else
            qdq_graph_add_init(w->m->graph, qdq_graph_unique_name(w->m->graph, "w"),
                               qdq_tensor_of_ints(w->m, 0, NULL, ints));
        break;
    default:
        if (n != NULL)
            qdq_node_move_before(n, below(w, 2) ? NULL : any_node(w));
        break;
    }
}

/* Now and then the walk goes on with a clone, after the original: both must say the same, and
 * sorting must end in an order that needs no more sorting. */
static void swap_for_clone(walk *w)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *copy = NULL;
    char *before, *after;
    uint64_t edits;

    assert_ok(qdq_graph_sort(w->m->graph, &err));
    edits = w->m->graph->edits;
    assert_ok(qdq_graph_sort(w->m->graph, &err));
    assert_int_equal(edits, w->m->graph->edits);
    before = test_text_of(w->m);
    assert_ok(qdq_model_clone(w->m, &copy, &err));
    qdq_model_free(w->m);
    w->m = copy;
    after = test_text_of(copy);
    assert_string_equal(before, after);
    qdq_free(before);
    qdq_free(after);
}

TEST(random_edits_leave_a_sound_model)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        walk w = {test_model("g (float x, float z) => (float y) <float k = {1}> { y = Add(x, z) }"),
                  qdq_random_new(seed, "edits")};

        for (int i = 0; i < 400; i++) {
            qdq_error err = QDQ_ERROR_INIT;

            random_edit(&w);
            if (qdq_model_verify(w.m, &err) != QDQ_OK)
                fail_msg("seed %d, edit %d: %s", (int)seed, i, err.text);
            if (i % 100 == 99)
                swap_for_clone(&w);
        }
        qdq_model_free(w.m);
    }
}
