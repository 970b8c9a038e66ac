/* sim_wrong.c - marks values that are wrong on request, with their factor, and all that follows. */
#include "engine/sim/sim_wrong.h"

#include <string.h>

#include "engine/sim/sim_cost.h"
#include "target/qparam.h"

void qdq_sim_wrong_read(const qdq_json_place *p, qdq_sim_wrong *w)
{
    QDQ_JSON_KNOWN(p, "op", "node", "read_by", "float", "open", "fixed", "times", "codes",
                   "weight");
    *w = (qdq_sim_wrong){.weight = qdq_json_bool(p, "weight"),
                         .in_float = qdq_json_bool(p, "float"),
                         .open = qdq_json_bool(p, "open"),
                         .fixed = qdq_json_bool(p, "fixed")};
    w->op = qdq_json_has(p, "op") ? qdq_json_text(p, "op", NULL) : NULL;
    w->node = qdq_json_has(p, "node") ? qdq_json_text(p, "node", NULL) : NULL;
    w->read_by = qdq_json_has(p, "read_by") ? qdq_json_text(p, "read_by", NULL) : NULL;
    if (qdq_json_has(p, "codes"))
        w->codes = qdq_elem_from_name(qdq_json_text(p, "codes", ""));
    if (w->codes != QDQ_UNDEFINED && (w->in_float || !qdq_elem_is_code(w->codes)))
        qdq_json_wrong(p, "codes", "a type of codes, beside \"float\": false");
    if (w->weight && (w->in_float || w->codes != QDQ_UNDEFINED))
        qdq_json_wrong(p, "weight", "false beside \"float\" and \"codes\"");
    w->times = qdq_json_number(p, "times", 0, 1e9, 0);
    if (w->op == NULL && w->node == NULL)
        qdq_json_fail(p, "neither 'op' nor 'node'");
}

static bool is_read_by(const qdq_node *n, const char *op)
{
    for (uint32_t i = 0; i < n->n_out; i++)
        for (const qdq_use *u = n->out[i] != NULL ? n->out[i]->first : NULL; u != NULL; u = u->next)
            if (strcmp(u->node->type, op) == 0)
                return true;
    return false;
}

static bool fits(const qdq_sim_wrong *w, const qdq_sim_layer *l, bool is_open, qdq_arena *arena)
{
    const bool runs = w->weight ? l->has_weight : l->is_int8 == !w->in_float;

    return runs && (!w->open || is_open) && !(w->fixed && is_open) &&
           (w->codes == QDQ_UNDEFINED || qdq_sim_input_codes(l->node) == w->codes) &&
           (w->op == NULL || strcmp(w->op, l->node->type) == 0) &&
           (w->node == NULL || strcmp(w->node, qdq_node_label(l->node, arena)) == 0) &&
           (w->read_by == NULL || is_read_by(l->node, w->read_by));
}

/* What the node makes wrong by itself. */
static void mark(const qdq_sim_wrong *w, size_t n, const qdq_sim_layer *l, bool is_open,
                 qdq_arena *arena, double *factor)
{
    for (size_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < l->node->n_out && fits(&w[i], l, is_open, arena); k++)
            if (l->node->out[k] != NULL)
                factor[l->node->out[k]->id] = w[i].times;
}

/* Nodes stand in order: what they read is known. */
static void spread(const qdq_node *n, double *factor)
{
    double from = 1;

    for (uint32_t i = 0; i < n->n_in; i++)
        if (qdq_node_in(n, i) != NULL && factor[qdq_node_in(n, i)->id] != 1)
            from = factor[qdq_node_in(n, i)->id];
    for (uint32_t k = 0; k < n->n_out; k++)
        if (n->out[k] != NULL && factor[n->out[k]->id] == 1)
            factor[n->out[k]->id] = from;
}

const double *qdq_sim_wrong_values(const qdq_sim_wrong *w, size_t n, const qdq_graph *g,
                                   const qdq_sim_estimate *e, bool is_open, qdq_arena *arena)
{
    double *factor = qdq_arena_array(arena, g->values.n + 1, sizeof *factor);

    if (factor == NULL)
        return NULL;
    for (size_t i = 0; i < g->values.n; i++)
        factor[i] = 1;
    for (size_t i = 0; i < e->layers.n; i++)
        mark(w, n, &e->layers.at[i], is_open, arena, factor);
    QDQ_FOR_NODES (node, g)
        spread(node, factor);
    return factor;
}
