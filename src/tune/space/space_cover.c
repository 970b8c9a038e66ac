/* space_cover.c - see the header. */
#include "tune/space/space_cover.h"

#include <string.h>

#include "base/fail.h"

static qdq_status note(qdq_map *map, const char *key, uint64_t num, qdq_error *err)
{
    qdq_map_value *v = qdq_map_put(map, key, NULL);

    if (v == NULL)
        return qdq_nomem(err);
    v->num = num;
    return QDQ_OK;
}

static const char *edge_key(qdq_cover *c, const char *node, uint32_t input)
{
    return qdq_arena_printf(&c->arena, "%u %s", (unsigned)input, node);
}

static qdq_status note_edges(qdq_cover *c, const qdq_edges *edges, qdq_error *err)
{
    for (size_t i = 0; i < edges->n; i++) {
        const char *key = edge_key(c, edges->at[i].node, edges->at[i].input);

        if (key == NULL)
            return qdq_nomem(err);
        QDQ_TRY(note(&c->edges, key, 1, err));
    }
    return QDQ_OK;
}

qdq_status qdq_cover_open(qdq_cover *c, const qdq_model *clean, const qdq_target *t, const qdq_plan *p,
                          qdq_error *err)
{
    *c = (qdq_cover){.clean = clean, .target = t, .arena = QDQ_ARENA_INIT};
    for (size_t i = 0; i < p->tensors.n; i++) {
        const qdq_plan_tensor *e = &p->tensors.at[i];

        QDQ_TRY(note(&c->some, e->tensor, 1, err));
        if (e->all)
            QDQ_TRY(note(&c->all, e->tensor, 1, err));
        QDQ_TRY(note_edges(c, &e->consumers, err));
    }
    for (size_t i = 0; i < p->weights.n; i++)
        QDQ_TRY(note_edges(c, &p->weights.at[i].consumers, err));
    for (size_t i = 0; i < p->quantized.n; i++)
        QDQ_TRY(note(&c->quantized, p->quantized.at[i].node, p->quantized.at[i].kept, err));
    return QDQ_OK;
}

void qdq_cover_free(qdq_cover *c)
{
    qdq_map_free(&c->all);
    qdq_map_free(&c->some);
    qdq_map_free(&c->edges);
    qdq_map_free(&c->quantized);
    qdq_arena_free(&c->arena);
}

qdq_covered qdq_cover_input(qdq_cover *c, const qdq_node *n, uint32_t input)
{
    const qdq_value *v = qdq_node_in(n, input);
    qdq_arena_mark mark = qdq_arena_get_mark(&c->arena);

    if (v == NULL)
        return QDQ_COVERED_NOT;
    const char *key = edge_key(c, qdq_node_label(n, &c->arena), input);
    bool by_plan =
        qdq_map_get(&c->all, v->name) != NULL || (key != NULL && qdq_map_get(&c->edges, key) != NULL);
    qdq_arena_reset(&c->arena, mark);
    if (by_plan)
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

/* The kernel gives codes: there is an entry of its result, or of what is left of it behind operators that fuse. */
static bool gives_codes(const qdq_cover *c, const qdq_node *n, const qdq_target_op *op)
{
    for (const qdq_value *v = qdq_node_out(n, 0); v != NULL;) {
        const qdq_node *next = qdq_value_only_user(v);

        if (qdq_map_get(&c->some, v->name) != NULL || (next != NULL && next->op == QDQ_OP_QUANTIZELINEAR))
            return true;
        v = next != NULL && is_in(op->epilogue, next->type) ? qdq_node_out(next, 0) : NULL;
    }
    return false;
}

static const qdq_map_value *entry_of(qdq_cover *c, const qdq_node *n)
{
    qdq_arena_mark mark = qdq_arena_get_mark(&c->arena);
    const qdq_map_value *v = qdq_map_get(&c->quantized, qdq_node_label(n, &c->arena));

    qdq_arena_reset(&c->arena, mark);
    return v;
}

bool qdq_cover_runs(qdq_cover *c, const qdq_node *n)
{
    const qdq_target_op *op = qdq_target_find(c->target, n->type);

    if (c->quantized.n_live > 0)
        return entry_of(c, n) != NULL;
    return op != NULL && (!op->quantize_output || gives_codes(c, n, op));
}

bool qdq_cover_is_fresh(qdq_cover *c, const qdq_node *n)
{
    const qdq_map_value *v = entry_of(c, n);

    return v != NULL && v->num == 0;
}
