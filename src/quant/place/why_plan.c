/* why_plan.c - the beginning and the end of an answer to "why": is there what is asked about, and
 * what does the plan say of it. The rules between speak for themselves (why.h). */
#include <inttypes.h>
#include <string.h>

#include "base/fail.h"
#include "base/suggest.h"
#include "quant/place/place_fused.h"
#include "quant/place/why.h"
#include "quant/plan/plan.h"

/* --- is it there? ----------------------------------------------------------------------------- */

typedef QDQ_VEC(const char *) names;

/* Labels of nodes and names of tensors of all graphs. */
static bool collect_names(const qdq_model *m, qdq_arena *scratch, names *out)
{
    for (size_t i = 0; i < m->graphs.n; i++) {
        const qdq_graph *g = m->graphs.at[i];

        if (g->dead)
            continue;
        QDQ_FOR_NODES (n, g)
            if (!QDQ_PUSH(scratch, out, qdq_node_label(n, scratch)))
                return false;
        for (size_t k = 0; k < g->values.n; k++)
            if (!g->values.at[k]->dead && !QDQ_PUSH(scratch, out, g->values.at[k]->name))
                return false;
    }
    return true;
}

static const char *near_name(const char *about, const names *all)
{
    const char *near = qdq_suggest(about, all->at, all->n);

    for (size_t i = 0; i < all->n && near == NULL; i++)
        if (strstr(all->at[i], about) != NULL)
            near = all->at[i];
    return near;
}

static qdq_status nothing_there(const qdq_why *w, const qdq_model *cleaned, qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    names all = {NULL, 0, 0};
    qdq_status st;

    if (!collect_names(cleaned, &scratch, &all)) {
        st = qdq_nomem(err);
    } else {
        const char *near = near_name(w->about, &all), *first = all.n > 0 ? all.at[0] : "";

        st = near != NULL
                 ? qdq_fail(err, QDQ_E_USAGE,
                            "found no node and no tensor '%s', did you mean '%s'?", w->about, near)
                 : qdq_fail(err, QDQ_E_USAGE,
                            "found no node and no tensor '%s'; expected a name like '%s': "
                            "'qdq copy MODEL -o MODEL.onnxtxt' lists all",
                            w->about, first);
    }
    qdq_arena_free(&scratch);
    return st;
}

/* The result of a node that cleaning took out may still be there, from another node. */
static const char *heir_of(const char *about, const qdq_model *m, const qdq_model *cleaned,
                           qdq_arena *scratch)
{
    QDQ_FOR_NODES (n, m->graph) {
        qdq_arena_mark mark = qdq_arena_get_mark(scratch);
        bool same = strcmp(qdq_node_label(n, scratch), about) == 0;

        qdq_arena_reset(scratch, mark);
        if (!same)
            continue;
        const qdq_node *heir = qdq_place_maker(cleaned, n);
        return heir != NULL ? qdq_node_label(heir, scratch) : NULL;
    }
    return NULL;
}

qdq_status qdq_why_look(qdq_why *w, const qdq_model *m, const qdq_model *cleaned, qdq_error *err)
{
    if (w == NULL)
        return QDQ_OK;
    qdq_why before = {.about = w->about};
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_status st = QDQ_OK;

    qdq_why_find(w, cleaned);
    qdq_why_find(&before, m);
    if (!w->found && !before.found) {
        st = nothing_there(w, cleaned, err);
    } else if (!w->found) {
        const char *heir = heir_of(w->about, m, cleaned, &scratch);

        st = heir != NULL
                 ? qdq_fail(err, QDQ_E_USAGE,
                            "'%s' is not left after cleaning: '%s' took its place", w->about, heir)
                 : qdq_fail(err, QDQ_E_USAGE, "'%s' is not left after cleaning", w->about);
    }
    qdq_why_clear(&before);
    qdq_arena_free(&scratch);
    return st;
}

/* --- what came of it -------------------------------------------------------------------------- */

static const qdq_plan_node *find_quantized(const qdq_plan *p, const char *node)
{
    for (size_t i = 0; i < p->quantized.n; i++)
        if (strcmp(p->quantized.at[i].node, node) == 0)
            return &p->quantized.at[i];
    return NULL;
}

static const qdq_plan_float *find_float(const qdq_plan *p, const char *node)
{
    for (size_t i = 0; i < p->left_float.n; i++)
        if (strcmp(p->left_float.at[i].node, node) == 0)
            return &p->left_float.at[i];
    return NULL;
}

static void conclude_node(qdq_why *w, const qdq_plan *p, const qdq_node *n, const char *label)
{
    const qdq_plan_node *eight = find_quantized(p, label);
    const qdq_plan_float *left = eight == NULL ? find_float(p, label) : NULL;

    if (eight != NULL)
        qdq_why_say(w, n, "plan", true, "quantized%s",
                    eight->preserved ? ", as the model had it before" : "");
    else if (left != NULL)
        qdq_why_say(w, n, "plan", false, "stays float: %s", left->reason);
    else
        qdq_why_say(
            w, n, "plan", false,
            "no entry of its own: fused into another node, or nothing that computes on floats");
}

static void conclude_tensor(qdq_why *w, const qdq_node *n, const qdq_plan_tensor *t)
{
    const qdq_qparam *q = &t->qparam;
    int32_t low, high;

    if (!(q->scale > 0))
        qdq_why_say(w, n, "plan", true, "tensor '%s': %s, not calibrated (rule %s)", t->tensor,
                    qdq_elem_name(q->type), t->rule);
    else if (qdq_elem_code_limits(q->type, &low, &high))
        qdq_why_say(
            w, n, "plan", true,
            "tensor '%s': %s, scale %.6g, zero point %d, range %.6g to %.6g (rule %s, origin %s)",
            t->tensor, qdq_elem_name(q->type), (double)q->scale, (int)q->zero_point,
            (double)q->scale * (low - q->zero_point), (double)q->scale * (high - q->zero_point),
            t->rule, t->origin);
    else
        qdq_why_say(w, n, "plan", true, "tensor '%s': %s, scale %.6g (rule %s, origin %s)",
                    t->tensor, qdq_elem_name(q->type), (double)q->scale, t->rule, t->origin);
}

static void conclude_weight(qdq_why *w, const qdq_node *n, const qdq_plan_weight *x)
{
    const char *type = qdq_elem_name(x->type);

    if (x->block > 0)
        qdq_why_say(w, n, "plan", true,
                    "weight '%s': %s, a scale per %" PRId64 " indices of axis %d (rule %s)",
                    x->tensor, type, x->block, x->axis, x->rule);
    else if (x->axis >= 0)
        qdq_why_say(w, n, "plan", true, "weight '%s': %s, a scale per channel of axis %d (rule %s)",
                    x->tensor, type, x->axis, x->rule);
    else
        qdq_why_say(w, n, "plan", true, "weight '%s': %s, one scale (rule %s)", x->tensor, type,
                    x->rule);
}

/* What of the plan is on the edges of n, and on its results. */
static void conclude_edges(qdq_why *w, const qdq_plan *p, const qdq_node *n, const char *label)
{
    for (size_t k = 0; k < p->tensors.n; k++) {
        const qdq_plan_tensor *t = &p->tensors.at[k];
        bool touches = false;

        for (uint32_t i = 0; i < n->n_in && !touches; i++)
            touches = n->in[i].value != NULL && strcmp(n->in[i].value->name, t->tensor) == 0 &&
                      (t->all || qdq_edges_have(&t->consumers, label, i));
        for (uint32_t i = 0; i < n->n_out && !touches; i++)
            touches = n->out[i] != NULL && strcmp(n->out[i]->name, t->tensor) == 0;
        if (touches)
            conclude_tensor(w, n, t);
    }
    for (size_t k = 0; k < p->weights.n; k++)
        for (uint32_t i = 0; i < n->n_in; i++)
            if (qdq_edges_have(&p->weights.at[k].consumers, label, i))
                conclude_weight(w, n, &p->weights.at[k]);
    for (size_t k = 0; k < p->biases.n; k++)
        if (strcmp(p->biases.at[k].consumer.node, label) == 0)
            qdq_why_say(w, n, "plan", true, "bias '%s': int32 (rule %s)", p->biases.at[k].tensor,
                        p->biases.at[k].rule);
}

static void conclude_about(qdq_why *w, const qdq_plan *p, const qdq_node *n, qdq_arena *scratch)
{
    const char *label = qdq_node_label(n, scratch);

    if (qdq_node_is_qdq(n))
        return;
    conclude_node(w, p, n, label);
    conclude_edges(w, p, n, label);
}

/* The nodes that are asked about: few, and each is looked for in the whole plan. */
qdq_status qdq_why_conclude(qdq_why *w, const qdq_model *cleaned, const qdq_plan *p, qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;

    if (w == NULL)
        return QDQ_OK;
    for (size_t i = 0; i < cleaned->graphs.n; i++) {
        if (cleaned->graphs.at[i]->dead)
            continue;
        QDQ_FOR_NODES (n, cleaned->graphs.at[i])
            if (qdq_why_matches(w, n))
                conclude_about(w, p, n, &scratch);
    }
    qdq_arena_free(&scratch);
    return w->no_memory ? qdq_nomem(err) : QDQ_OK;
}
