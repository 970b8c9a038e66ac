/* space_cover.c - see the header. */
#include "tune/space/space_cover.h"

#include <string.h>

#include "base/fail.h"

enum { RUNS_FRESH = 1, RUNS_KEPT = 2 };
enum { READ_BY_SOME = 1, READ_BY_ALL = 2 };

static void note_edges(qdq_cover *c, const qdq_map *labels, const qdq_edges *edges)
{
    for (size_t i = 0; i < edges->n; i++) {
        const qdq_map_value *v = qdq_map_get(labels, edges->at[i].node);

        if (v != NULL && edges->at[i].input < 32)
            c->edges[((const qdq_node *)v->ptr)->id] |= (uint32_t)1 << edges->at[i].input;
    }
}

/* Names that the model does not have are another body's, or another model's. */
static void read_plan(qdq_cover *c, const qdq_graph *g, const qdq_map *labels, const qdq_plan *p)
{
    for (size_t i = 0; i < p->tensors.n; i++) {
        const qdq_plan_tensor *e = &p->tensors.at[i];
        const qdq_value *v = qdq_graph_find(g, e->tensor);

        if (v != NULL)
            c->readers[v->id] |= e->all ? READ_BY_ALL | READ_BY_SOME : READ_BY_SOME;
        note_edges(c, labels, &e->consumers);
    }
    for (size_t i = 0; i < p->weights.n; i++)
        note_edges(c, labels, &p->weights.at[i].consumers);
    for (size_t i = 0; i < p->quantized.n; i++) {
        const qdq_map_value *v = qdq_map_get(labels, p->quantized.at[i].node);

        if (v != NULL)
            c->runs[((const qdq_node *)v->ptr)->id] =
                p->quantized.at[i].kept ? RUNS_KEPT : RUNS_FRESH;
    }
}

qdq_status qdq_cover_open(qdq_cover *c, const qdq_model *clean, const qdq_map *labels,
                          const qdq_target *t, const qdq_plan *p, qdq_error *err)
{
    const qdq_graph *g = clean->graph;

    *c = (qdq_cover){.target = t,
                     .arena = QDQ_ARENA_INIT,
                     .says_who_runs = p->quantized.n + p->left_float.n > 0};
    c->edges = qdq_arena_array(&c->arena, (size_t)g->next_node_id + 1, sizeof *c->edges);
    c->runs = qdq_arena_array(&c->arena, (size_t)g->next_node_id + 1, sizeof *c->runs);
    c->readers = qdq_arena_array(&c->arena, g->values.n + 1, sizeof *c->readers);
    if (c->edges == NULL || c->runs == NULL || c->readers == NULL)
        return qdq_nomem(err);
    read_plan(c, g, labels, p);
    return QDQ_OK;
}

void qdq_cover_free(qdq_cover *c)
{
    qdq_arena_free(&c->arena);
}

/* Values of graphs around have ids of their own: the graph that is placed has none around it. */
qdq_covered qdq_cover_input(const qdq_cover *c, const qdq_node *n, uint32_t input)
{
    const qdq_value *v = qdq_node_in(n, input);

    if (v == NULL)
        return QDQ_COVERED_NOT;
    if ((c->edges[n->id] >> input & 1) != 0 || (c->readers[v->id] & READ_BY_ALL) != 0)
        return QDQ_COVERED_BY_PLAN;
    return v->producer != NULL && v->producer->op == QDQ_OP_DEQUANTIZELINEAR ? QDQ_COVERED_BEFORE
                                                                             : QDQ_COVERED_NOT;
}

static bool is_in(const char *const *list, const char *word)
{
    for (size_t i = 0; list != NULL && list[i] != NULL; i++)
        if (strcmp(list[i], word) == 0)
            return true;
    return false;
}

/* The kernel gives codes: there is an entry of its result, or of what is left of it behind
 * operators that fuse. */
static bool gives_codes(const qdq_cover *c, const qdq_node *n, const qdq_target_op *op)
{
    for (const qdq_value *v = qdq_node_out(n, 0); v != NULL;) {
        const qdq_node *next = qdq_value_only_user(v);

        if (c->readers[v->id] != 0 || (next != NULL && next->op == QDQ_OP_QUANTIZELINEAR))
            return true;
        v = next != NULL && is_in(op->epilogue, next->type) ? qdq_node_out(next, 0) : NULL;
    }
    return false;
}

bool qdq_cover_runs(const qdq_cover *c, const qdq_node *n)
{
    const qdq_target_op *op = qdq_target_find(c->target, n->type);

    if (c->says_who_runs)
        return c->runs[n->id] != 0;
    return op != NULL && (!op->quantize_output || gives_codes(c, n, op));
}

bool qdq_cover_is_fresh(const qdq_cover *c, const qdq_node *n)
{
    return c->runs[n->id] == RUNS_FRESH;
}
