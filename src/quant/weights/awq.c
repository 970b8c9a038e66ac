/* awq.c - activation-aware scales of weights (AWQ): which weights read which activation, and
 * what the plan says of the outcome. */
#include "quant/weights/awq.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "quant/calib/sweep.h"
#include "quant/weights/awq_state.h"
#include "quant/weights/scaling.h"

/* --- groups ----------------------------------------------------------------------------------- */

static qdq_status new_group(qdq_awq_state *a, const qdq_value *x, size_t k, qdq_awq_group **out)
{
    bool is_new;
    qdq_map_value *at = qdq_map_put(&a->by_value, x->name, &is_new);
    qdq_awq_group g = {.x = x, .k = k};

    QDQ_NEED(at != NULL && (!is_new || QDQ_PUSH(&a->scratch, &a->groups, g)), a->err);
    if (is_new)
        at->num = a->groups.n - 1;
    *out = &a->groups.at[at->num];
    return QDQ_OK;
}

static qdq_status add_weight(qdq_awq_state *a, qdq_plan_weight *w, const qdq_value *x,
                             const qdq_tensor *t)
{
    qdq_weight_columns weight;
    qdq_awq_group *g = NULL;

    QDQ_TRY(qdq_weight_columns_of(w, t, &weight, a->err));
    QDQ_TRY(new_group(a, x, weight.k, &g));
    if (w->method != QDQ_WEIGHT_AWQ_CLIP)
        g->alpha_step = g->alpha_step == 0 ? w->awq.alpha : fmin(g->alpha_step, w->awq.alpha);
    return qdq_allocated(QDQ_PUSH(&a->scratch, &g->weights, weight), a->err);
}

static qdq_status find_groups(qdq_awq_state *a)
{
    qdq_map nodes = QDQ_MAP_INIT;
    qdq_status st =
        qdq_allocated(qdq_graph_map_labels(a->q->m->graph, &a->scratch, &nodes), a->err);

    for (size_t i = 0; i < a->q->plan->weights.n && st == QDQ_OK; i++) {
        qdq_plan_weight *w = &a->q->plan->weights.at[i];
        const qdq_value *v = qdq_graph_find(a->q->m->graph, w->tensor), *x;
        const qdq_tensor *t = qdq_value_const(v);

        if (!qdq_weight_method_is_awq(w->method) || w->scales != NULL || w->clip != NULL)
            continue;
        x = qdq_weight_activation(&nodes, w, t);
        if (x != NULL)
            st = add_weight(a, w, x, t);
    }
    qdq_map_free(&nodes);
    return st;
}

/* --- into the plan ---------------------------------------------------------------------------- */

/* The operator whose constants can take the division, since nothing else reads what it gives; or
 * NULL. */
static const qdq_node *fold_into(const qdq_awq_group *g, size_t n_reader)
{
    const qdq_node *n = g->x->producer;
    uint32_t inputs[2];

    return n != NULL && n->graph == g->x->graph && n->out[0] == g->x && g->x->n_output == 0 &&
                   g->x->n_use == n_reader && qdq_scaling_inputs(n, (int64_t)g->k, inputs) > 0
               ? n
               : NULL;
}

static qdq_status write_scaling(qdq_awq_state *a, const qdq_awq_group *g)
{
    qdq_plan *p = a->q->plan;
    qdq_plan_scaling c = {.tensor = qdq_arena_strdup(&p->arena, g->x->name), .n_scales = g->k};
    float *scales = qdq_arena_array(&p->arena, g->k + 1, sizeof *scales);
    bool ok = scales != NULL && c.tensor != NULL;

    for (size_t i = 0; i < g->weights.n; i++) {
        const qdq_edges *readers = &g->weights.at[i].entry->consumers;

        for (size_t k = 0; k < readers->n && ok; k++)
            ok = qdq_plan_add_edge(p, &c.consumers, readers->at[k].node, 0);
    }
    const qdq_node *fold = fold_into(g, c.consumers.n);
    if (ok && fold != NULL)
        ok = (c.fold = qdq_arena_strdup(&p->arena, qdq_node_label(fold, &a->scratch))) != NULL;
    QDQ_NEED(ok, a->err);
    memcpy(scales, g->s, g->k * sizeof *scales);
    c.scales = scales;
    return qdq_allocated(QDQ_PUSH(&p->arena, &p->scalings, c), a->err);
}

static qdq_status clip_weights(qdq_awq_state *a, const qdq_awq_group *g,
                               const qdq_weight_columns *w)
{
    size_t n = w->n * w->n_block;
    char *letters = qdq_arena_array(&a->q->plan->arena, n + 1, 1);

    QDQ_NEED(letters != NULL && qdq_awq_search_clip(g, w, letters), a->err);
    if (strspn(letters, "A") == n) /* all of every range */
        return QDQ_OK;
    w->entry->clip = letters;
    w->entry->clip_step = w->entry->awq.clip;
    w->entry->n_scales = n;
    return QDQ_OK;
}

static qdq_status search_group(qdq_awq_state *a, qdq_awq_group *g, qdq_arena *floats)
{
    for (size_t k = 0; k < g->weights.n; k++)
        QDQ_TRY(qdq_weight_columns_load(&g->weights.at[k], floats, a->err));
    if (g->alpha_step != 0 && !qdq_awq_search_scales(g, &a->scratch))
        return qdq_nomem(a->err);
    if (g->s != NULL)
        QDQ_TRY(write_scaling(a, g));
    for (size_t k = 0; k < g->weights.n; k++)
        if (g->weights.at[k].entry->method != QDQ_WEIGHT_AWQ_LITE)
            QDQ_TRY(clip_weights(a, g, &g->weights.at[k]));
    return QDQ_OK;
}

/* The numbers of one group's weights are in memory at a time. */
static qdq_status search_groups(qdq_awq_state *a)
{
    for (size_t i = 0; i < a->groups.n; i++) {
        qdq_awq_group *g = &a->groups.at[i];
        qdq_arena floats = QDQ_ARENA_INIT;

        QDQ_TRY(qdq_job_poll(a->q->opts->job, a->err));
        const qdq_status st = search_group(a, g, &floats);
        for (size_t k = 0; k < g->weights.n; k++)
            qdq_weight_columns_unload(&g->weights.at[k], &floats);
        QDQ_TRY(st);
        qdq_job_progress(a->q->opts->job, "weights", i + 1, a->groups.n);
    }
    return QDQ_OK;
}

static bool has_awq(const qdq_plan *p)
{
    for (size_t i = 0; i < p->weights.n; i++)
        if (qdq_weight_method_is_awq(p->weights.at[i].method))
            return true;
    return false;
}

qdq_status qdq_awq(const qdq_quantizing *q, qdq_error *err)
{
    qdq_awq_state a = {.q = q, .err = err};

    if (!has_awq(q->plan))
        return QDQ_OK;
    if (!qdq_has_real_samples(q, "weights are rounded as they are: awq"))
        return QDQ_OK;
    qdq_status st = find_groups(&a);
    if (st == QDQ_OK && a.groups.n > 0)
        st = qdq_awq_collect(&a);
    if (st == QDQ_OK)
        st = search_groups(&a);
    qdq_map_free(&a.by_value);
    qdq_arena_free(&a.scratch);
    return st;
}
