/* control_flow.c - plans the subgraphs of If, Loop and Scan and adds their entries to the plan. */
#include "quant/control_flow/control_flow.h"

#include <string.h>

#include "base/fail.h"
#include "ir/edit.h"

enum { MAX_DEPTH = 8, MAX_CONTROLS = 256 };

/* --- names ------------------------------------------------------------------------------------ */

static qdq_status name_apart(qdq_graph *g, qdq_map *names, qdq_error *err)
{
    for (size_t i = 0; i < g->values.n; i++) {
        qdq_value *v = g->values.at[i];
        bool is_new = true;

        if (v->dead)
            continue;
        QDQ_NEED(qdq_map_put(names, v->name, &is_new) != NULL, err);
        if (is_new)
            continue;
        const char *name = qdq_graph_unique_name(g->model->graph, v->name);
        QDQ_NEED(name != NULL && qdq_map_put(names, name, NULL) != NULL &&
                     qdq_value_rename(v, name),
                 err);
    }
    return QDQ_OK;
}

qdq_status qdq_control_flow_name_apart(qdq_model *m, qdq_error *err)
{
    qdq_map names = QDQ_MAP_INIT;
    qdq_status st = QDQ_OK;

    if (m->graphs.n > 1)
        QDQ_FOR_GRAPHS (g, m)
            if (st == QDQ_OK && !qdq_graph_in_function(g))
                st = name_apart(g, &names, err);
    qdq_map_free(&names);
    return st;
}

/* --- left float ------------------------------------------------------------------------------- */

static bool computes_floats(const qdq_node *n)
{
    const qdq_value *out = qdq_node_out(n, 0);

    return out != NULL && !qdq_node_is_qdq(n) &&
           (out->type == NULL || out->type->elem == QDQ_FLOAT || out->type->elem == QDQ_FLOAT16);
}

static qdq_status leave_graph(const qdq_graph *g, const char *reason, qdq_plan *p, qdq_error *err)
{
    QDQ_FOR_NODES (n, g) {
        const qdq_plan_float entry = {qdq_node_label(n, &p->arena), n->type, reason};

        if (computes_floats(n))
            QDQ_NEED(qdq_plan_add_left_float(p, entry), err);
    }
    return QDQ_OK;
}

/* All nodes of a body, and of bodies inside. */
static qdq_status leave_body(const qdq_body *b, const qdq_node *control, const char *why,
                             qdq_plan *p, qdq_error *err)
{
    const char *reason = qdq_arena_printf(&p->arena, "inside %s: %s", control->type, why);

    QDQ_NEED(reason != NULL, err);
    QDQ_FOR_GRAPHS (g, b->model)
        QDQ_TRY(leave_graph(g, reason, p, err));
    return QDQ_OK;
}

qdq_status qdq_control_flow_leave(const qdq_quantizing *q, const char *why, qdq_error *err)
{
    QDQ_FOR_GRAPHS (g, q->m) {
        if (g->owner == NULL || qdq_graph_in_function(g))
            continue;
        const char *reason =
            qdq_arena_printf(&q->plan->arena, "inside %s: %s", g->owner->type, why);

        QDQ_NEED(reason != NULL, err);
        QDQ_TRY(leave_graph(g, reason, q->plan, err));
    }
    return QDQ_OK;
}

/* --- joining ---------------------------------------------------------------------------------- */

/* A value that the body captures has the scale that it has outside, so that codes inside are those
 * outside. The first n_outside entries are from there: those behind them are of other bodies, which
 * other samples may have reached. */
static void share_scale(const qdq_plan *p, size_t n_outside, qdq_plan_tensor *t)
{
    for (size_t i = 0; i < n_outside; i++)
        if (qdq_plan_same_form(&p->tensors.at[i], t) &&
            strcmp(p->tensors.at[i].tensor, t->tensor) == 0) {
            t->qparam = p->tensors.at[i].qparam;
            return;
        }
}

/* "All readers" of a captured value are those in this body. */
static qdq_status list_readers(qdq_plan *sub, qdq_plan_tensor *t, const qdq_model *body,
                               qdq_error *err)
{
    const qdq_value *v = qdq_graph_find(body->graph, t->tensor);

    if (!t->all || v == NULL)
        return QDQ_OK;
    t->all = false;
    t->consumers.n = 0;
    QDQ_FOR_USES (u, v) {
        const char *label = qdq_node_label(u->node, &sub->arena);

        if (u->node->graph == body->graph &&
            !qdq_plan_add_edge(sub, &t->consumers, label, u->index))
            return qdq_nomem(err);
    }
    return QDQ_OK;
}

static bool is_captured(const qdq_body *b, const char *tensor)
{
    return qdq_graph_find(b->graph, tensor) == NULL;
}

static qdq_status join_plan(qdq_plan *p, size_t n_outside, qdq_plan *sub, const qdq_body *b,
                            qdq_error *err)
{
    for (size_t i = 0; i < sub->tensors.n; i++) {
        qdq_plan_tensor *t = &sub->tensors.at[i];

        t->like = NULL;
        if (qdq_graph_find(b->model->graph, t->tensor) == NULL || !is_captured(b, t->tensor))
            continue;
        QDQ_TRY(list_readers(sub, t, b->model, err));
        share_scale(p, n_outside, t);
    }
    return qdq_allocated(qdq_plan_absorb(p, sub), err);
}

/* --- planning --------------------------------------------------------------------------------- */

typedef struct planning {
    /* of the graph around */
    const qdq_quantizing *q;
    qdq_plan_fn plan;
    int depth;
    /* tensors of q->plan that are of the graph around */
    size_t n_outside;
    qdq_error *err;
} planning;

static qdq_status plan_body(const planning *pl, const qdq_body *b, const qdq_node *control)
{
    qdq_quantizing inner = *pl->q;

    if (b->why != NULL)
        return leave_body(b, control, b->why, pl->q->plan, pl->err);
    if (pl->depth >= MAX_DEPTH)
        return leave_body(b, control, "bodies this deep are not run", pl->q->plan, pl->err);
    inner.m = b->model;
    inner.data = b->data;
    inner.basis.recorded = b->inside;
    inner.plan = qdq_plan_new();
    QDQ_NEED(inner.plan != NULL, pl->err);
    qdq_status st = pl->plan(&inner, pl->depth + 1, pl->err);
    if (st == QDQ_OK)
        st = join_plan(pl->q->plan, pl->n_outside, inner.plan, b, pl->err);
    qdq_plan_free(inner.plan);
    return st;
}

static qdq_status plan_subgraphs(const planning *pl, const qdq_node *control)
{
    qdq_body_list own = {0};
    const qdq_body_list *bodies = &own;
    qdq_status st = qdq_recorded_get(pl->q, control, &own, &bodies, pl->err);

    for (size_t i = 0; i < bodies->n && st == QDQ_OK; i++)
        st = plan_body(pl, &bodies->at[i], control);
    qdq_control_flow_free(&own);
    return st;
}

static bool has_graphs(const qdq_node *n)
{
    size_t k = 0;

    for (uint32_t i = 0; i < n->n_attr && k == 0; i++)
        qdq_attr_graphs(n->attr[i], &k);
    return k > 0;
}

qdq_status qdq_control_flow_plan(const qdq_quantizing *q, qdq_plan_fn plan, int depth,
                                 qdq_error *err)
{
    const planning pl = {q, plan, depth, q->plan->tensors.n, err};
    size_t n_control = 0;

    QDQ_FOR_NODES (n, q->m->graph) {
        if (!has_graphs(n))
            continue;
        if (++n_control > MAX_CONTROLS) {
            qdq_job_log(q->opts->job, QDQ_LOG_WARNING,
                        "more than %d nodes with bodies: those behind them stay float",
                        MAX_CONTROLS);
            return QDQ_OK;
        }
        QDQ_TRY(plan_subgraphs(&pl, n));
    }
    return QDQ_OK;
}
