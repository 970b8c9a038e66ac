/* space_cover.c - which inputs a plan gives codes: its entries, found by the edges that they name.
 */
#include "tune/space/space_cover.h"

#include <string.h>

#include "base/fail.h"
#include "base/words.h"

enum { RUNS_FRESH = 1, RUNS_KEPT = 2 };
enum { READ_BY_SOME = 1, READ_BY_ALL = 2 };

static uint64_t key_of(const qdq_node *n, uint32_t input)
{
    return (uint64_t)n->id << 32 | input;
}

/* Names that the model does not have are another body's, or another model's. */
static bool note_edges(qdq_cover *c, const qdq_space *s, qdq_map *map, const qdq_edges *edges,
                       size_t index)
{
    for (size_t i = 0; i < edges->n; i++) {
        const qdq_node *n = qdq_space_node(s, edges->at[i].node);
        const uint32_t input = edges->at[i].input;

        if (n == NULL) {
            c->unknown++;
            continue;
        }
        qdq_map_value *v = qdq_map_put_int(map, key_of(n, input), NULL);
        if (v == NULL)
            return false;
        v->num = index + 1;
        if (input < 32)
            c->edges[n->id] |= (uint32_t)1 << input;
    }
    return true;
}

static bool read_tensor(qdq_cover *c, const qdq_space *s, const qdq_plan_tensor *t, size_t index)
{
    const qdq_value *v = qdq_graph_find(s->clean->graph, t->tensor);
    qdq_map_value *at = t->all ? qdq_map_put(&c->all, t->tensor, NULL) : NULL;

    if (v != NULL)
        c->readers[v->id] |= t->all ? READ_BY_ALL | READ_BY_SOME : READ_BY_SOME;
    if (t->all && at == NULL)
        return false;
    if (t->all)
        at->num = index + 1;
    c->unknown += t->all && v == NULL;
    return note_edges(c, s, &c->tensor, &t->consumers, index);
}

static bool read_plan(qdq_cover *c, const qdq_space *s, const qdq_plan *p)
{
    for (size_t i = 0; i < p->tensors.n; i++)
        if (!read_tensor(c, s, &p->tensors.at[i], i))
            return false;
    for (size_t i = 0; i < p->weights.n; i++)
        if (!note_edges(c, s, &c->weight, &p->weights.at[i].consumers, i))
            return false;
    for (size_t i = 0; i < p->quantized.n; i++) {
        const qdq_node *n = qdq_space_node(s, p->quantized.at[i].node);
        if (n != NULL)
            c->runs[n->id] = p->quantized.at[i].preserved ? RUNS_KEPT : RUNS_FRESH;
    }
    return true;
}

qdq_status qdq_cover_open(qdq_cover *c, const qdq_space *s, const qdq_plan *p, qdq_error *err)
{
    const qdq_graph *g = s->clean->graph;

    *c = (qdq_cover){.target = s->target,
                     .arena = QDQ_ARENA_INIT,
                     .says_who_runs = p->quantized.n + p->left_float.n > 0};
    c->edges = qdq_arena_array(&c->arena, (size_t)g->next_node_id + 1, sizeof *c->edges);
    c->runs = qdq_arena_array(&c->arena, (size_t)g->next_node_id + 1, sizeof *c->runs);
    c->readers = qdq_arena_array(&c->arena, g->values.n + 1, sizeof *c->readers);
    return c->edges != NULL && c->runs != NULL && c->readers != NULL && read_plan(c, s, p)
               ? QDQ_OK
               : qdq_nomem(err);
}

void qdq_cover_free(qdq_cover *c)
{
    qdq_map_free(&c->tensor);
    qdq_map_free(&c->weight);
    qdq_map_free(&c->all);
    qdq_arena_free(&c->arena);
}

size_t qdq_cover_tensor(const qdq_cover *c, const char *tensor, const qdq_node *n, uint32_t input)
{
    const qdq_map_value *v = n != NULL ? qdq_map_get_int(&c->tensor, key_of(n, input)) : NULL;

    v = v != NULL ? v : qdq_map_get(&c->all, tensor);
    return v != NULL ? (size_t)v->num : 0;
}

size_t qdq_cover_weight(const qdq_cover *c, const qdq_node *n, uint32_t input)
{
    const qdq_map_value *v = qdq_map_get_int(&c->weight, key_of(n, input));

    return v != NULL ? (size_t)v->num : 0;
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

bool qdq_space_is_only_entry(const qdq_plan *p, const qdq_plan_tensor *e)
{
    for (size_t i = 0; i < p->tensors.n; i++)
        if (&p->tensors.at[i] != e && strcmp(p->tensors.at[i].tensor, e->tensor) == 0)
            return false;
    return true;
}

/* The kernel gives codes: there is an entry of its result, or of what is left of it behind
 * operators that fuse. */
static bool gives_codes(const qdq_cover *c, const qdq_node *n, const qdq_target_op *op)
{
    for (const qdq_value *v = qdq_node_out(n, 0); v != NULL;) {
        const qdq_node *next = qdq_value_only_user(v);

        if (c->readers[v->id] != 0 || (next != NULL && next->op == QDQ_OP_QUANTIZELINEAR))
            return true;
        v = next != NULL && qdq_word_is_in(next->type, op->epilogue) ? qdq_node_out(next, 0) : NULL;
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
