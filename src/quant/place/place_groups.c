/* place_groups.c - see the header. Groups are trees of values that grow together, as in Tarjan's
 * union-find. */
#include "quant/place/place_groups.h"

#include "base/fail.h"

bool qdq_groups_start(qdq_groups *s, const qdq_graph *g, qdq_arena *arena)
{
    s->graph = g;
    s->next = qdq_arena_array(arena, g->values.n + 1, sizeof *s->next);
    return s->next != NULL;
}

/* The value that stands for all of the group of value id. */
static uint32_t root_of(const qdq_groups *s, uint32_t id)
{
    while (s->next[id] != id + 1) {
        uint32_t up = s->next[id] - 1;

        s->next[id] = s->next[up]; /* halves the way for the next who asks */
        id = up;
    }
    return id;
}

void qdq_groups_tie(qdq_groups *s, const qdq_value *a, const qdq_value *b)
{
    if (s->next[a->id] == 0)
        s->next[a->id] = a->id + 1;
    if (s->next[b->id] == 0)
        s->next[b->id] = b->id + 1;
    uint32_t x = root_of(s, a->id), y = root_of(s, b->id);
    if (x < y)
        s->next[y] = x + 1;
    else
        s->next[x] = y + 1;
}

qdq_status qdq_groups_name(const qdq_groups *s, qdq_plan *plan, qdq_error *err)
{
    for (size_t i = 0; i < plan->tensors.n; i++) {
        qdq_plan_tensor *t = &plan->tensors.at[i];
        const qdq_value *v = qdq_graph_find(s->graph, t->like != NULL ? t->like : t->tensor);

        if (v == NULL || s->next[v->id] == 0 || t->known)
            continue;
        t->group = qdq_arena_strdup(&plan->arena, s->graph->values.at[root_of(s, v->id)]->name);
        if (t->group == NULL)
            return qdq_nomem(err);
    }
    return QDQ_OK;
}
