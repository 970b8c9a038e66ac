/* place_tied.c - operators that copy codes where their operands and their result have one scale, as
 * Concat does, and else compute new codes. One range for all of them costs nothing where the
 * operand is read by such an operator only: its numbers would get the coarser codes of the result
 * anyway, after their own. What has other readers keeps its own range (DenseNet: all of a block
 * would have one scale, its widest). */
#include "base/fail.h"
#include "quant/place/place_state.h"

/* --- groups: trees of values that grow together, as in Tarjan's union-find -------------------- */

bool qdq_groups_start(qdq_groups *s, qdq_placing *p)
{
    s->graph = p->model->graph;
    s->next = qdq_arena_array(&p->scratch, s->graph->values.n + 1, sizeof *s->next);
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
        QDQ_NEED(t->group != NULL, err);
    }
    return QDQ_OK;
}

/* --- tying ------------------------------------------------------------------------------------ */

typedef struct tying {
    const qdq_placing *p;
    qdq_groups groups;
    /* by value id: only such operators read it */
    bool *joined;
} tying;

/* The value whose scale v has. */
static const qdq_value *origin_of(const qdq_placing *p, const qdq_value *v)
{
    return p->value[v->id].carries ? p->value[v->id].like : v;
}

/* Does the model give v a scale? */
static bool is_known(const qdq_placing *p, const qdq_value *v)
{
    if (p->value[v->id].carries)
        return p->value[v->id].source != NULL;
    return qdq_place_found(p, v) != NULL || qdq_place_source(p, v) != NULL;
}

static bool is_tied(const qdq_placing *p, const qdq_node *n)
{
    const qdq_node_state *s = qdq_state_of(p, n);

    return s->eight && s->rule->tied && s->result != NULL && !is_known(p, s->result) &&
           qdq_elem_bits(qdq_place_codes_into(p, n)) == 8;
}

static bool is_joining(const tying *t, const qdq_use *u)
{
    const qdq_node_state *s = qdq_state_of(t->p, u->node);

    if (!s->eight || s->rule->kind != QDQ_KIND_PASS)
        return is_tied(t->p, u->node);
    for (uint32_t i = 0; i < u->node->n_out; i++)
        if (u->node->out[i] != NULL && !t->joined[u->node->out[i]->id])
            return false;
    return u->index == s->rule->data;
}

static bool is_joined(const tying *t, const qdq_value *v)
{
    if (v->n_output > 0)
        return false;
    QDQ_FOR_USES (u, v)
        if (u->node->graph != t->p->model->graph || !is_joining(t, u))
            return false;
    return true;
}

/* Readers first, since operators that move codes hand it back. */
static void find_joined(tying *t)
{
    const qdq_graph *g = t->p->model->graph;

    for (size_t i = t->p->n_order; i-- > 0;)
        for (uint32_t k = 0; k < t->p->order[i]->n_out; k++)
            if (t->p->order[i]->out[k] != NULL)
                t->joined[t->p->order[i]->out[k]->id] = is_joined(t, t->p->order[i]->out[k]);
    for (size_t i = 0; i < g->values.n; i++)
        if (!g->values.at[i]->dead && g->values.at[i]->producer == NULL)
            t->joined[g->values.at[i]->id] = is_joined(t, g->values.at[i]);
}

static void tie_operands(tying *t, const qdq_node *n)
{
    const qdq_node_state *s = qdq_state_of(t->p, n);

    for (uint32_t i = 0; i < n->n_in; i++) {
        const qdq_value *v = n->in[i].value != NULL ? origin_of(t->p, n->in[i].value) : NULL;

        if (v == NULL || v->graph != n->graph || is_known(t->p, v))
            continue;
        qdq_why_say(qdq_place_listener(t->p), n, "tied", t->joined[v->id],
                    t->joined[v->id] ? "'%s' and '%s' share one scale: codes are copied"
                                     : "'%s' is not only read here: its scale is not that of '%s'",
                    v->name, s->result->name);
        if (t->joined[v->id])
            qdq_groups_tie(&t->groups, v, s->result);
    }
}

qdq_status qdq_place_tie(qdq_placing *p, qdq_plan *plan, qdq_error *err)
{
    tying t = {.p = p};
    bool any = false;

    for (size_t i = 0; i < p->n_order && !any; i++)
        any = is_tied(p, p->order[i]);
    if (!any)
        return QDQ_OK;
    t.joined = qdq_arena_array(&p->scratch, p->model->graph->values.n + 1, sizeof *t.joined);
    QDQ_NEED(t.joined != NULL && qdq_groups_start(&t.groups, p), err);
    find_joined(&t);
    QDQ_FOR_PLACED (n, p)
        if (is_tied(p, n))
            tie_operands(&t, n);
    return qdq_groups_name(&t.groups, plan, err);
}
