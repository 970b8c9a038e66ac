/* place_joins.c - decides which joins share one scale. A Concat of boxes (to 640) and scores (to
 * 1) with one uint8 scale has 54 dB over all, and every score is 0. What moves such a tensor on
 * moves the join on; what takes it apart again (Slice, Split, Gather) ends it. */
#include "quant/place/place_joins.h"

#include "base/fail.h"
#include "quant/place/place_state.h"

/* Data inputs of an operator that the target lists; all inputs of one that it does not. */
static uint32_t data_inputs(const qdq_target_op *rule)
{
    return rule != NULL ? rule->inputs : QDQ_INPUTS_ALL;
}

static bool has_many(uint32_t inputs)
{
    return (inputs & (inputs - 1)) != 0;
}

/* Does n make one tensor, with one scale, of several? */
static bool joins_tensors(const qdq_placing *p, const qdq_node *n)
{
    const qdq_target_op *rule = qdq_target_find(p->target, n->type);

    if (n->domain[0] != '\0')
        return false;
    if (n->op == QDQ_OP_CONCAT)
        return true;
    return rule != NULL && (rule->tied || (rule->kind == QDQ_KIND_PASS && has_many(rule->inputs)));
}

/* Does n hand on all of what it reads? Then returns the input that it is; else UINT32_MAX. */
static uint32_t moved_input(const qdq_placing *p, const qdq_node *n)
{
    const qdq_target_op *rule = qdq_target_find(p->target, n->type);

    if (n->domain[0] != '\0' || rule == NULL || rule->kind != QDQ_KIND_PASS ||
        has_many(rule->inputs) || n->op == QDQ_OP_SLICE || n->op == QDQ_OP_SPLIT ||
        n->op == QDQ_OP_GATHER || n->op == QDQ_OP_GATHERELEMENTS || n->op == QDQ_OP_GATHERND)
        return UINT32_MAX;
    return rule->data;
}

static bool is_data(uint32_t inputs, uint32_t i)
{
    return inputs == QDQ_INPUTS_ALL || (i < 32 && (inputs >> i & 1) != 0);
}

/* --- rejected joins --------------------------------------------------------------------------- */

/* What is said of n, which reads v, a joined tensor. NULL: out of memory. */
static const char *reader_reason(const qdq_placing *p, const qdq_value *v)
{
    return qdq_arena_printf((qdq_arena *)&p->scratch,
                            "it would read '%s' as quantized values, which %s", v->name,
                            p->value[v->id].apart);
}

static bool keep_out(qdq_placing *p, const qdq_node *n, const char *reason)
{
    qdq_node_state *s = qdq_state_of(p, n);

    if (reason == NULL)
        return false;
    if (s->reason == NULL)
        s->reason = reason;
    qdq_why_say(qdq_place_listener(p), n, "join-range", true, "%s: it stays float", reason);
    return true;
}

/* The reason of a value that n reads and hands on, or that an 8-bit kernel of n would read. */
static bool keep_reader(qdq_placing *p, const qdq_node *n)
{
    const qdq_target_op *rule = qdq_target_find(p->target, n->type);
    bool hands_on = joins_tensors(p, n) || moved_input(p, n) != UINT32_MAX;

    if (n->domain[0] != '\0' || (rule == NULL && !hands_on))
        return true;
    for (uint32_t i = 0; i < n->n_in; i++) {
        const qdq_value *v = n->in[i].value;

        if (v == NULL || v->graph != n->graph || p->value[v->id].apart == NULL)
            continue;
        if (hands_on && !is_data(data_inputs(rule), i))
            continue;
        if (!hands_on && rule->kind == QDQ_KIND_PASS) /* takes it apart */
            continue;
        for (uint32_t k = 0; k < n->n_out && hands_on; k++)
            if (n->out[k] != NULL)
                p->value[n->out[k]->id].apart = p->value[v->id].apart;
        return keep_out(p, n, reader_reason(p, v));
    }
    return true;
}

qdq_status qdq_place_keep_apart(qdq_placing *p, qdq_error *err)
{
    const qdq_aparts *list = p->opts != NULL ? p->opts->apart : NULL;
    qdq_map by_label = QDQ_MAP_INIT;
    bool ok = true;

    for (size_t i = 0; list != NULL && i < list->n && ok; i++)
        ok = qdq_map_set_ptr(&by_label, list->at[i].node, list->at[i].why);
    for (size_t i = 0; i < p->n_order && ok && by_label.n_live > 0; i++) {
        const qdq_node *n = p->order[i];
        const char *why = qdq_map_get_ptr(&by_label, qdq_node_label(n, &p->scratch));

        ok = why != NULL ? keep_out(p, n, why) : keep_reader(p, n);
        if (why != NULL && qdq_node_out(n, 0) != NULL)
            p->value[n->out[0]->id].apart = why;
    }
    qdq_map_free(&by_label);
    return qdq_allocated(ok, err);
}

/* --- joins of a plan -------------------------------------------------------------------------- */

typedef struct search {
    qdq_placing *p;
    qdq_plan *plan;
    const qdq_value **stack;
    size_t n;
    /* by value id */
    bool *seen;
} search;

static void look_at(search *s, const qdq_value *v, const qdq_graph *g)
{
    if (v == NULL || v->graph != g || s->seen[v->id])
        return;
    s->seen[v->id] = true;
    s->stack[s->n++] = v;
}

static bool add_join(search *s, const qdq_node *n)
{
    qdq_arena *arena = &s->plan->arena;
    uint32_t data = data_inputs(qdq_target_find(s->p->target, n->type));
    const char **names = qdq_arena_array(arena, n->n_in + 1, sizeof *names);
    qdq_plan_join join = {.node = qdq_arena_strdup(arena, qdq_node_label(n, &s->p->scratch)),
                          .operands = names};

    join.result = qdq_arena_strdup(arena, qdq_node_out(n, 0)->name);
    if (names == NULL || join.node == NULL || join.result == NULL)
        return false;
    for (uint32_t i = 0; i < n->n_in; i++) {
        const qdq_value *v = n->in[i].value;

        if (v == NULL || v->graph != n->graph || !is_data(data, i) || !qdq_place_is_float(v))
            continue;
        names[join.n_operands] = qdq_arena_strdup(arena, v->name);
        if (names[join.n_operands++] == NULL)
            return false;
    }
    return join.n_operands < 2 || QDQ_PUSH(arena, &s->plan->joins, join);
}

static bool look_behind(search *s, const qdq_value *v)
{
    const qdq_node *n = v->producer;

    if (n == NULL || n->graph != v->graph)
        return true;
    if (moved_input(s->p, n) != UINT32_MAX)
        look_at(s, qdq_node_in(n, moved_input(s->p, n)), v->graph);
    if (!joins_tensors(s->p, n))
        return true;
    for (uint32_t i = 0; i < n->n_in; i++)
        if (is_data(data_inputs(qdq_target_find(s->p->target, n->type)), i))
            look_at(s, n->in[i].value, v->graph);
    return add_join(s, n);
}

qdq_status qdq_place_find_joins(qdq_placing *p, qdq_plan *plan, qdq_error *err)
{
    const qdq_graph *g = p->model->graph;
    search s = {.p = p, .plan = plan};
    bool ok = true;

    if (p->target->join_factor_max == 0)
        return QDQ_OK;
    s.stack = qdq_arena_array(&p->scratch, g->values.n + 1, sizeof *s.stack);
    s.seen = qdq_arena_array(&p->scratch, g->values.n + 1, sizeof *s.seen);
    QDQ_NEED(s.stack != NULL && s.seen != NULL, err);
    for (size_t i = 0; i < plan->tensors.n; i++)
        if (!plan->tensors.at[i].known)
            look_at(&s, qdq_graph_find(g, plan->tensors.at[i].tensor), g);
    while (s.n > 0 && ok)
        ok = look_behind(&s, s.stack[--s.n]);
    return qdq_allocated(ok, err);
}

qdq_status qdq_find_apart(const qdq_target *t, qdq_plan *plan, qdq_aparts *out, qdq_error *err)
{
    qdq_apart *list = qdq_arena_array(&plan->arena, out->n + plan->joins.n + 1, sizeof *list);

    QDQ_NEED(list != NULL, err);
    if (out->n > 0)
        memcpy(list, out->at, out->n * sizeof *list);
    out->at = list;
    for (size_t i = 0; i < plan->joins.n; i++) {
        const qdq_plan_join *j = &plan->joins.at[i];

        if (t->join_factor_max == 0 || j->factor <= t->join_factor_max)
            continue;
        const char *why = qdq_arena_printf(
            &plan->arena,
            "joins ranges that differ by %.3g times ('%s', '%s'), at most %g share a scale",
            j->factor, j->wide, j->narrow, t->join_factor_max);
        QDQ_NEED(why != NULL, err);
        list[out->n++] = (qdq_apart){j->node, why};
    }
    return QDQ_OK;
}
