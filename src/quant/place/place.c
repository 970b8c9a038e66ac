/* place.c - chooses the ways in which a target wants placement to be done: one for nodes that run
 * on codes, and one for those whose weights alone are quantized, which a target or an override may
 * ask for. And what every way looks at first: nodes in order, what the user allows, the number
 * format of each node, and the Q and DQ that the model has. */
#include "quant/place/place.h"

#include <string.h>

#include "base/fail.h"
#include "base/regexp.h"
#include "ir/graph_check.h"
#include "quant/place/place_joins.h"
#include "quant/place/place_state.h"

/* --- formats ---------------------------------------------------------------------------------- */

/* Gives `o` to the nodes that it fits and that have no other override yet. */
static qdq_status apply_override(const qdq_override *o, const qdq_graph *g, qdq_arena *scratch,
                                 const qdq_format **format, qdq_error *err)
{
    qdq_status st = QDQ_OK;
    qdq_regexp re;

    if (o->node != NULL)
        QDQ_TRY(qdq_regexp_open(o->node, false, &re, err));
    QDQ_FOR_NODES (n, g) {
        bool fits = format[n->id] == NULL && (o->op == NULL || strcmp(o->op, n->type) == 0);

        if (fits && o->node != NULL && st == QDQ_OK)
            st = qdq_regexp_match(&re, qdq_node_label(n, scratch), &fits, err);
        if (st == QDQ_OK && fits)
            format[n->id] = &o->format;
    }
    if (o->node != NULL)
        qdq_regexp_close(&re);
    return st;
}

qdq_status qdq_place_formats(const qdq_graph *g, const qdq_target *t,
                             const qdq_format *const *chosen, qdq_arena *scratch,
                             const qdq_format *const **out, qdq_error *err)
{
    const qdq_format **format =
        qdq_arena_array(scratch, (size_t)g->next_node_id + 1, sizeof *format);

    QDQ_NEED(format != NULL, err);
    QDQ_FOR_NODES (n, g)
        format[n->id] = chosen != NULL ? chosen[n->id] : NULL;
    for (size_t i = 0; i < t->overrides.n; i++)
        QDQ_TRY(apply_override(&t->overrides.at[i], g, scratch, format, err));
    QDQ_FOR_NODES (n, g)
        if (format[n->id] == NULL)
            format[n->id] = &t->format;
    *out = format;
    return QDQ_OK;
}

/* --- the start -------------------------------------------------------------------------------- */

/* As if the user had excluded the node, but silently: the tuner does this many times. */
static void leave_unchosen(qdq_placing *p, const qdq_node *n)
{
    const qdq_target_op *op = qdq_target_find(p->target, n->type);
    bool by_edge = p->target->partitions != NULL && op != NULL && op->kind != QDQ_KIND_LINEAR &&
                   op->kind != QDQ_KIND_TABLE;

    if (qdq_place_unchosen(p, n) != 0 && !by_edge && qdq_state_of(p, n)->reason == NULL)
        qdq_state_of(p, n)->reason = QDQ_PLACE_UNCHOSEN;
}

/* Nodes in order, and which of them the user keeps out. */
static qdq_status list_nodes(qdq_placing *p, qdq_error *err)
{
    const qdq_graph *g = p->model->graph;

    QDQ_TRY(qdq_graph_sorted(g, &p->scratch, &p->order, &p->n_order, err));
    p->node = qdq_place_by_node(p, sizeof *p->node);
    p->value = qdq_arena_array(&p->scratch, g->values.n + 1, sizeof *p->value);
    QDQ_NEED(p->node != NULL && p->value != NULL, err);
    return qdq_place_filter(p, err);
}

qdq_status qdq_place_kept_out(const qdq_model *m, const qdq_place_opts *opts, qdq_arena *scratch,
                              const bool **out, qdq_error *err)
{
    qdq_placing p = {.model = m, .opts = opts, .scratch = QDQ_ARENA_INIT};
    bool *kept = qdq_arena_array(scratch, (size_t)m->graph->next_node_id + 1, sizeof *kept);
    qdq_status st = kept != NULL ? list_nodes(&p, err) : qdq_nomem(err);

    for (size_t i = 0; st == QDQ_OK && i < p.n_order; i++)
        kept[p.order[i]->id] = qdq_state_of(&p, p.order[i])->reason != NULL;
    qdq_arena_free(&p.scratch);
    *out = kept;
    return st;
}

static qdq_status start_placing(qdq_placing *p, qdq_error *err)
{
    QDQ_TRY(list_nodes(p, err));
    QDQ_FOR_PLACED (n, p)
        leave_unchosen(p, n);
    QDQ_TRY(qdq_place_keep_apart(p, err));
    QDQ_TRY(qdq_place_formats(p->model->graph, p->target, p->opts != NULL ? p->opts->formats : NULL,
                              &p->scratch, &p->format, err));
    return qdq_place_find(p, err);
}

void qdq_place_leave_weights(qdq_placing *p)
{
    QDQ_FOR_PLACED (n, p)
        if (qdq_format_weight_only(qdq_place_format(p, n)))
            qdq_state_of(p, n)->reason = "its weight alone may be quantized";
}

/* --- the ways --------------------------------------------------------------------------------- */

static qdq_status place_by(qdq_place_way *way, const qdq_model *m, const qdq_target *t,
                           const qdq_place_opts *opts, qdq_plan *plan, qdq_error *err)
{
    qdq_placing p = {.model = m, .target = t, .opts = opts, .scratch = QDQ_ARENA_INIT};
    qdq_status st = start_placing(&p, err);

    if (st == QDQ_OK)
        st = way(&p, plan, err);
    if (st == QDQ_OK && way != qdq_place_weights)
        st = qdq_place_find_joins(&p, plan, err);
    qdq_map_free(&p.finite);
    qdq_arena_free(&p.scratch);
    return st;
}

/* Is there a node that the target or the caller gives such a format? */
static bool has_weights_alone(const qdq_model *m, const qdq_target *t, const qdq_place_opts *opts)
{
    if (opts->formats != NULL)
        QDQ_FOR_NODES (n, m->graph)
            if (opts->formats[n->id] != NULL && qdq_format_weight_only(opts->formats[n->id]))
                return true;
    for (size_t i = 0; i < t->overrides.n; i++)
        if (qdq_format_weight_only(&t->overrides.at[i].format))
            return true;
    return false;
}

qdq_status qdq_place(const qdq_model *m, const qdq_target *t, const qdq_place_opts *opts,
                     qdq_plan *plan, qdq_error *err)
{
    qdq_place_opts again = opts != NULL ? *opts : (qdq_place_opts){0};
    qdq_place_way *way = t->partitions != NULL ? qdq_place_partitions : qdq_place_chains;

    qdq_why_find(again.why, m);
    if (qdq_format_weight_only(&t->format))
        return place_by(qdq_place_weights, m, t, opts, plan, err);
    QDQ_TRY(place_by(way, m, t, opts, plan, err));
    if (!has_weights_alone(m, t, &again))
        return QDQ_OK;
    again.job = NULL; /* what fits no node has been told */
    return place_by(qdq_place_weights, m, t, &again, plan, err);
}

/* --- names of rules --------------------------------------------------------------------------- */

/* Partitions name their filters by operator, frozen paths by reason. */
static const char *rule_of_partitions(const qdq_partitions *p, const char *op, const char *reason)
{
    for (size_t i = 0; i < p->frozen.n; i++)
        if (p->frozen.at[i].reason != NULL && strcmp(p->frozen.at[i].reason, reason) == 0)
            return p->frozen.at[i].rule;
    if (strcmp(op, "Conv") == 0)
        return p->conv.rule;
    return strcmp(op, "MatMul") == 0 || strcmp(op, "Gemm") == 0 ? p->gemm.rule : NULL;
}

const char *qdq_place_rule_against(const qdq_target *t, const char *op, const char *reason)
{
    const qdq_target_op *on = qdq_target_find(t, op), *off = qdq_target_find_off(t, op);

    if (on == NULL)
        return off != NULL ? off->rule : NULL;
    for (size_t i = 0; i < t->stay.n; i++)
        if (strcmp(t->stay.at[i].op, op) == 0 && strcmp(t->stay.at[i].reason, reason) == 0)
            return t->stay.at[i].rule;
    if (on->only_between && strcmp(reason, QDQ_PLACE_UNREAD) == 0)
        return on->rule;
    return t->partitions != NULL ? rule_of_partitions(t->partitions, op, reason) : NULL;
}
