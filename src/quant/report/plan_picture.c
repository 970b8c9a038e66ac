/* plan_picture.c - the nodes and edges of a plan's model, to be drawn. An edge carries codes if
 * the plan gives its reader the quantized form of the tensor. */
#include "quant/report/plan_picture.h"

#include <math.h>

#include "base/fail.h"
#include "base/file.h"
#include "base/map.h"
#include "quant/goal/node_cost.h"
#include "quant/place/place.h"
#include "target/target.h"

typedef struct drawing {
    /* the main one */
    const qdq_graph *graph;
    const qdq_plan *plan;
    /* of the plan; NULL: unknown */
    const qdq_target *target;
    qdq_arena *arena;
    qdq_plan_picture *out;
    /* by graph: its nodes' places in the picture, by id; NULL: it is not drawn */
    uint32_t **of;
    /* label -> const qdq_plan_node * */
    qdq_map quantized;
    /* label -> const qdq_plan_float * */
    qdq_map left;
    /* name -> index + 1 of the first entry of the plan */
    qdq_map tensor;
    /* by entry: index + 1 of the next one of the tensor; 0: none */
    size_t *next;
    /* the same, of weights */
    qdq_map weight;
    size_t *next_weight;
} drawing;

/* --- the plan, by names ----------------------------------------------------------------------- */

/* Puts entry i in front of the list of its tensor. */
static bool chain_entry(qdq_map *first, size_t *next, const char *tensor, size_t i)
{
    qdq_map_value *v = qdq_map_put(first, tensor, NULL);

    if (v == NULL)
        return false;
    next[i] = (size_t)v->num;
    v->num = i + 1;
    return true;
}

static bool index_entries(drawing *d)
{
    const qdq_plan *p = d->plan;

    d->next = qdq_arena_array(d->arena, p->tensors.n + 1, sizeof *d->next);
    d->next_weight = qdq_arena_array(d->arena, p->weights.n + 1, sizeof *d->next_weight);
    if (d->next == NULL || d->next_weight == NULL)
        return false;
    for (size_t i = p->tensors.n; i-- > 0;)
        if (!chain_entry(&d->tensor, d->next, p->tensors.at[i].tensor, i))
            return false;
    for (size_t i = p->weights.n; i-- > 0;)
        if (!chain_entry(&d->weight, d->next_weight, p->weights.at[i].tensor, i))
            return false;
    return true;
}

static bool index_nodes(drawing *d)
{
    const qdq_plan *p = d->plan;
    bool ok = true;

    for (size_t i = 0; i < p->quantized.n && ok; i++)
        ok = qdq_map_set_ptr(&d->quantized, p->quantized.at[i].node, &p->quantized.at[i]);
    for (size_t i = 0; i < p->left_float.n && ok; i++)
        ok = qdq_map_set_ptr(&d->left, p->left_float.at[i].node, &p->left_float.at[i]);
    return ok && index_entries(d);
}

static const qdq_plan_tensor *entry_of(const drawing *d, const char *tensor, const char *label,
                                       uint32_t input)
{
    const qdq_map_value *v = qdq_map_get(&d->tensor, tensor);

    for (size_t i = v != NULL ? (size_t)v->num : 0; i != 0; i = d->next[i - 1]) {
        const qdq_plan_tensor *t = &d->plan->tensors.at[i - 1];
        if (t->all || qdq_edges_have(&t->consumers, label, input))
            return t;
    }
    return NULL;
}

static const qdq_plan_weight *weight_of(const drawing *d, const char *tensor, const char *label,
                                        uint32_t input)
{
    const qdq_map_value *v = qdq_map_get(&d->weight, tensor);

    for (size_t i = v != NULL ? (size_t)v->num : 0; i != 0; i = d->next_weight[i - 1]) {
        const qdq_plan_weight *w = &d->plan->weights.at[i - 1];
        if (qdq_edges_have(&w->consumers, label, input))
            return w;
    }
    return NULL;
}

/* --- nodes ------------------------------------------------------------------------------------ */

static bool is_drawn(const qdq_node *n)
{
    return n->op != QDQ_OP_CONSTANT && n->n_out > 0;
}

/* What it gives, or where that is not known, reads. */
static qdq_elem format_of(const qdq_node *n)
{
    qdq_elem e = qdq_value_elem(qdq_node_out(n, 0));

    for (uint32_t i = 0; e == QDQ_UNDEFINED && i < n->n_in; i++)
        e = qdq_value_elem(n->in[i].value);
    return e;
}

/* The rule of a target's table for n. An input's entry has the rule of the consumer for which it
 * was made first. NULL: this table has no say. */
static const char *own_rule(const drawing *d, const qdq_node *n, const qdq_plan_tensor *t)
{
    const qdq_target_op *op = NULL;

    if (d->target != NULL && d->target->partitions == NULL && strcmp(t->origin, "rule") == 0)
        op = qdq_target_find(d->target, n->type);
    return op != NULL ? op->rule : NULL;
}

/* Type, rule and weight of the inputs that n reads as codes. */
static void look_at_inputs(const drawing *d, const qdq_node *n, qdq_picture_node *out,
                           qdq_elem *codes, const char **rule)
{
    for (uint32_t i = 0; i < n->n_in; i++) {
        const qdq_value *v = n->in[i].value;
        if (v == NULL)
            continue;
        const qdq_plan_tensor *t = entry_of(d, v->name, out->name, i);
        const qdq_plan_weight *w = weight_of(d, v->name, out->name, i);
        if (t != NULL && *codes == QDQ_UNDEFINED) {
            const char *own = own_rule(d, n, t);

            *codes = t->qparam.type;
            *rule = *rule != NULL ? *rule : own != NULL ? own : t->rule;
        }
        if (w != NULL && out->weight == QDQ_UNDEFINED) {
            out->weight = w->type;
            *rule = w->rule; /* its own, not that of another reader of the tensor */
        }
    }
}

static qdq_picture_node describe_node(const drawing *d, const qdq_node *n, const char *label)
{
    const qdq_value *y = qdq_node_out(n, 0);
    const qdq_plan_node *q = NULL;
    const qdq_plan_float *f = NULL;
    qdq_picture_node out = {.name = label != NULL ? label : n->type,
                            .op = n->type,
                            .input = format_of(n),
                            .given_us = NAN,
                            .chosen_us = NAN,
                            .price = QDQ_PICTURE_NO_PRICE};
    qdq_elem codes = QDQ_UNDEFINED;
    const char *rule = NULL;

    out.key = n->name[0] != '\0' && qdq_node_has_own_name(n) ? n->name
              : y != NULL                                    ? y->name
                                                             : out.name;
    out.chosen = out.input;
    look_at_inputs(d, n, &out, &codes, &rule);
    q = qdq_map_get_ptr(&d->quantized, out.name);
    f = qdq_map_get_ptr(&d->left, out.name);
    if (q != NULL) {
        out.chosen = codes != QDQ_UNDEFINED        ? codes
                     : out.weight != QDQ_UNDEFINED ? out.weight
                                                   : QDQ_INT8;
        out.why = q->preserved ? "it was in 8 bits before" : rule;
        if (q->preserved)
            out.input = out.chosen;
    } else {
        if (f != NULL)
            out.why = f->reason;
        if (qdq_plan_has_half(d->plan) && out.input == QDQ_FLOAT)
            out.chosen = d->plan->half.type;
    }
    return out;
}

static bool draw_graph(drawing *d, const qdq_graph *g, uint32_t within, const char *body,
                       int depth);

static bool draw_subgraphs(drawing *d, const qdq_node *n, uint32_t within, int depth)
{
    for (uint32_t i = 0; i < n->n_attr; i++) {
        const qdq_attr *a = n->attr[i];
        const size_t count = a->type == QDQ_ATTR_GRAPH    ? 1
                             : a->type == QDQ_ATTR_GRAPHS ? a->count
                                                          : 0;
        for (size_t k = 0; k < count && depth < QDQ_MAX_NESTING; k++) {
            const qdq_graph *g = a->type == QDQ_ATTR_GRAPH ? a->v.g : a->v.graphs[k];
            if (g != NULL && !draw_graph(d, g, within, a->name, depth + 1))
                return false;
        }
    }
    return true;
}

/* By node id; NULL: out of memory. */
static const char **label_nodes(const drawing *d, const qdq_graph *g)
{
    const char **label = qdq_arena_array(d->arena, (size_t)g->next_node_id + 1, sizeof *label);
    qdq_map labels = QDQ_MAP_INIT;
    const bool ok = label != NULL && qdq_graph_map_labels(g, d->arena, &labels);

    for (size_t i = 0; i < labels.n_entry && ok; i++)
        if (labels.entry[i].live)
            label[((const qdq_node *)labels.entry[i].value.ptr)->id] = labels.entry[i].key;
    qdq_map_free(&labels);
    return ok ? label : NULL;
}

/* Bodies follow the node that has them. */
static bool draw_graph(drawing *d, const qdq_graph *g, uint32_t within, const char *body, int depth)
{
    qdq_picture *p = &d->out->picture;
    uint32_t *of = qdq_arena_array(d->arena, (size_t)g->next_node_id + 1, sizeof *of);
    const char **label = label_nodes(d, g);

    d->of[g->index] = of;
    if (of == NULL || label == NULL)
        return false;
    for (uint32_t i = 0; i <= g->next_node_id; i++)
        of[i] = QDQ_PICTURE_OUTSIDE;
    QDQ_FOR_NODES (n, g) {
        if (!is_drawn(n))
            continue;
        of[n->id] = (uint32_t)p->n_nodes;
        d->out->node[p->n_nodes] = n;
        p->node[p->n_nodes] = describe_node(d, n, label[n->id]);
        p->node[p->n_nodes].within = within;
        p->node[p->n_nodes].body = body;
        p->n_nodes++;
        if (!draw_subgraphs(d, n, (uint32_t)p->n_nodes, depth))
            return false;
    }
    return true;
}

static bool draw_nodes(drawing *d)
{
    const qdq_model *m = d->graph->model;
    size_t n_nodes = 0;

    for (size_t i = 0; i < m->graphs.n; i++)
        n_nodes += m->graphs.at[i]->n_node;
    d->of = qdq_arena_array(d->arena, m->graphs.n + 1, sizeof *d->of);
    d->out->picture.node = qdq_arena_array(d->arena, n_nodes + 1, sizeof *d->out->picture.node);
    d->out->node = qdq_arena_array(d->arena, n_nodes + 1, sizeof *d->out->node);
    if (d->of == NULL || d->out->picture.node == NULL || d->out->node == NULL ||
        !draw_graph(d, d->graph, 0, NULL, 0))
        return false;
    d->out->of = d->of[d->graph->index];
    return true;
}

/* --- edges ------------------------------------------------------------------------------------ */

/* The place of who gives v, which may be in a graph around. */
static uint32_t place_of(const drawing *d, const qdq_value *v)
{
    return v->producer != NULL ? d->of[v->graph->index][v->producer->id] : QDQ_PICTURE_OUTSIDE;
}

/* A constant's readers see no flow. */
static bool flows(const drawing *d, const qdq_value *v)
{
    if (v == NULL || d->of[v->graph->index] == NULL || qdq_value_const(v) != NULL)
        return false;
    return v->producer != NULL ? place_of(d, v) != QDQ_PICTURE_OUTSIDE : v->is_input;
}

static void add_edge(drawing *d, const qdq_value *v, uint32_t to, uint32_t input,
                     const qdq_plan_tensor *t)
{
    qdq_picture *p = &d->out->picture;

    d->out->value[p->n_edges] = v;
    d->out->input[p->n_edges] = input;
    p->edge[p->n_edges++] =
        (qdq_picture_edge){.from = place_of(d, v),
                           .to = to,
                           .tensor = v->name,
                           .format = t != NULL ? t->qparam.type : qdq_value_elem(v),
                           .coded = t != NULL,
                           .scale = t != NULL ? (double)t->qparam.scale : 0,
                           .convert_us = NAN,
                           .why = t != NULL ? t->rule : NULL,
                           .joint = to != QDQ_PICTURE_OUTSIDE && p->node[to].why != NULL,
                           .price = QDQ_PICTURE_NO_PRICE};
}

static bool draw_edges(drawing *d)
{
    qdq_picture *p = &d->out->picture;
    size_t most = d->graph->outputs.n;

    for (size_t i = 0; i < p->n_nodes; i++)
        most += d->out->node[i]->n_in;
    p->edge = qdq_arena_array(d->arena, most + 1, sizeof *p->edge);
    d->out->value = qdq_arena_array(d->arena, most + 1, sizeof *d->out->value);
    d->out->input = qdq_arena_array(d->arena, most + 1, sizeof *d->out->input);
    if (p->edge == NULL || d->out->value == NULL || d->out->input == NULL)
        return false;
    for (size_t i = 0; i < p->n_nodes; i++) {
        const qdq_node *n = d->out->node[i];
        for (uint32_t k = 0; k < n->n_in; k++)
            if (flows(d, n->in[k].value))
                add_edge(d, n->in[k].value, (uint32_t)i, k,
                         entry_of(d, n->in[k].value->name, p->node[i].name, k));
    }
    for (size_t i = 0; i < d->graph->outputs.n; i++)
        if (flows(d, d->graph->outputs.at[i]))
            add_edge(d, d->graph->outputs.at[i], QDQ_PICTURE_OUTSIDE, (uint32_t)i, NULL);
    return true;
}

qdq_status qdq_plan_picture_make(const qdq_model *clean, const qdq_plan *p, const qdq_target *t,
                                 qdq_arena *arena, qdq_plan_picture *out, qdq_error *err)
{
    drawing d = {.graph = clean->graph, .plan = p, .target = t, .arena = arena, .out = out};

    *out = (qdq_plan_picture){.picture.graph = clean->graph->name};
    const bool ok = index_nodes(&d) && draw_nodes(&d) && draw_edges(&d);

    qdq_map_free(&d.quantized);
    qdq_map_free(&d.left);
    qdq_map_free(&d.tensor);
    qdq_map_free(&d.weight);
    return qdq_allocated(ok, err);
}

void qdq_plan_picture_name(qdq_plan_picture *x)
{
    for (size_t i = 0; i < x->picture.n_nodes; i++)
        x->picture.node[i].key = x->picture.node[i].name;
}

/* --- rules of a target ------------------------------------------------------------------------ */

/* The rule by which `by` was decided; NULL: none. */
static const char *rule_of(const qdq_target *t, const qdq_node *n, const qdq_picture_node *by,
                           bool coded)
{
    const qdq_target_op *op = qdq_target_find(t, n->type);

    if (!coded)
        return qdq_place_rule_against(t, n->type, by->why);
    return op != NULL ? op->rule : NULL;
}

qdq_status qdq_plan_picture_quote(qdq_plan_picture *x, size_t i, const qdq_picture_node *by,
                                  const qdq_target *t, qdq_arena *arena, qdq_error *err)
{
    const qdq_node *n = x->node[i];
    const bool coded = by->chosen != by->input;

    if (by->why == NULL || n->domain[0] != '\0')
        return QDQ_OK;
    const char *rule = rule_of(t, n, by, coded);
    const qdq_measured *m = qdq_target_figures(t, n->type, coded ? NULL : by->why);
    const char *figures = m != NULL ? qdq_measured_text(m, arena) : "no figures";
    if (rule == NULL && m == NULL)
        return QDQ_OK;
    if (figures != NULL)
        x->picture.node[i].price.figures = qdq_arena_printf(
            arena, "%s%s%s", rule != NULL ? rule : "", rule != NULL ? ": " : "", figures);
    return qdq_allocated(x->picture.node[i].price.figures != NULL, err);
}

/* --- layers ----------------------------------------------------------------------------------- */

static bool is_coded(const qdq_picture_node *n)
{
    return n->chosen != n->input && qdq_elem_bits(n->chosen) <= 8;
}

/* Block -> index of its first quantized node. */
static bool find_coded(const qdq_picture *p, qdq_map *coded)
{
    for (size_t i = 0; i < p->n_nodes; i++) {
        if (p->node[i].block == NULL || !is_coded(&p->node[i]))
            continue;
        if (!qdq_map_set_first(coded, p->node[i].block, i))
            return false;
    }
    return true;
}

bool qdq_plan_picture_fuse(qdq_plan_picture *x)
{
    qdq_picture *p = &x->picture;
    qdq_map coded = QDQ_MAP_INIT;
    const bool ok = find_coded(p, &coded);

    for (size_t i = 0; i < p->n_nodes && ok; i++) {
        qdq_picture_node *n = &p->node[i];
        const qdq_map_value *v =
            n->block != NULL && !is_coded(n) ? qdq_map_get(&coded, n->block) : NULL;
        if (v != NULL)
            n->chosen = p->node[v->num].chosen;
    }
    for (size_t i = 0; i < p->n_edges && ok; i++) {
        qdq_picture_edge *e = &p->edge[i];
        if (e->coded || e->from == QDQ_PICTURE_OUTSIDE || e->to == QDQ_PICTURE_OUTSIDE)
            continue;
        e->coded = is_coded(&p->node[e->from]) && is_coded(&p->node[e->to]);
        if (e->coded)
            e->format = p->node[e->to].chosen;
    }
    qdq_map_free(&coded);
    return ok;
}

/* --- times ------------------------------------------------------------------------------------ */

/* The node of the main graph that node i is in, or is. */
static size_t outermost(const qdq_picture *p, size_t i)
{
    while (p->node[i].within != 0)
        i = p->node[i].within - 1;
    return i;
}

static double estimate_of(const qdq_plan_picture *x, size_t i, bool chosen)
{
    return qdq_node_time(x->node[i], chosen && qdq_elem_bits(x->picture.node[i].chosen) == 8);
}

bool qdq_plan_picture_divide(qdq_plan_picture *x, qdq_arena *arena)
{
    qdq_picture *p = &x->picture;
    double(*all)[2] = qdq_arena_array(arena, p->n_nodes + 1, sizeof *all);

    if (all == NULL)
        return false;
    for (size_t i = 0; i < p->n_nodes; i++)
        for (int k = 0; k < 2; k++)
            all[outermost(p, i)][k] += estimate_of(x, i, k == 1);
    for (size_t i = p->n_nodes; i-- > 0;) { /* a node of the main graph after those in it */
        const size_t of = outermost(p, i);
        qdq_picture_node *n = &p->node[i];
        if (all[of][0] > 0)
            n->given_us = p->node[of].given_us * estimate_of(x, i, false) / all[of][0];
        if (all[of][1] > 0)
            n->chosen_us = p->node[of].chosen_us * estimate_of(x, i, true) / all[of][1];
    }
    return true;
}

void qdq_plan_picture_estimate(qdq_plan_picture *x)
{
    qdq_picture *p = &x->picture;
    double all = 0;

    for (size_t i = 0; i < p->n_nodes; i++)
        all += qdq_node_time(x->node[i], false);
    for (size_t i = 0; i < p->n_nodes && all > 0; i++) {
        qdq_picture_node *n = &p->node[i];
        const bool coded = qdq_elem_bits(n->chosen) == 8;
        const double given = qdq_node_time(x->node[i], false) / all * 100;
        const double eight = qdq_node_time(x->node[i], true) / all * 100;

        n->given_us = given;
        n->chosen_us = coded ? eight : given;
        if (n->why != NULL && eight != given)
            n->price =
                (qdq_picture_price){QDQ_PRICE_ESTIMATED, given - eight, NAN, NULL, NULL, NULL};
    }
    p->relative = true;
    p->times =
        "Nothing was timed: widths are estimates from shapes, in percent of the input model.";
}

/* --- a file ----------------------------------------------------------------------------------- */

enum { OVERLAY_BYTES = 64 << 20 };

qdq_status qdq_report_overlay(const qdq_picture *p, const char *path, bool allow_overwrite,
                              qdq_error *err)
{
    qdq_buf b = QDQ_BUF_INIT(OVERLAY_BYTES);

    qdq_picture_overlay(&b, p);
    qdq_status st =
        b.failed ? qdq_nomem(err) : qdq_write_file(path, allow_overwrite, b.data, b.size, err);
    qdq_buf_free(&b);
    return st;
}
