/* check_groups.c - executed layers that read codes and give floats: a QuantizeLinear behind them is
 * missing, or is not fused. Knows the layers as engines report them, and no engine. */
#include "base/fail.h"
#include "base/map.h"
#include "base/pack.h"
#include "base/vec.h"
#include "base/words.h"
#include "ir/ir.h"
#include "qdq/check.h"

typedef struct finder {
    const qdq_graph *graph;
    qdq_arena arena;
    /* -> node */
    qdq_map labels;
    /* by node id: the layer that is being looked at has it, if this is its number plus one */
    uint32_t *in;
    QDQ_VEC(qdq_layer_finding) found;
} finder;

static bool is_mixed(const qdq_layer *g)
{
    return !g->conversion && QDQ_WORD_IS_IN(g->in_type, "u8", "i8", "f8") &&
           QDQ_WORD_IS_IN(g->out_type, "f32", "f16", "bf16", "f64");
}

typedef struct readers {
    /* the first of each outside of the layer */
    const qdq_node *quantizer, *other;
} readers;

static readers find_readers(const finder *f, const qdq_value *v, size_t group)
{
    readers r = {0};

    for (const qdq_use *u = v->first; u != NULL; u = u->next) {
        const qdq_node *n = u->node;
        if (n->graph == f->graph && f->in[n->id] == group + 1)
            continue;
        if (n->op == QDQ_OP_QUANTIZELINEAR)
            r.quantizer = r.quantizer != NULL ? r.quantizer : n;
        else
            r.other = r.other != NULL ? r.other : n;
    }
    return r;
}

static qdq_status add_finding(finder *f, size_t group, const char *node, const char *tensor,
                              const char *why, qdq_error *err)
{
    qdq_layer_finding found = {group, node, tensor, why};

    return qdq_allocated(why != NULL && QDQ_PUSH(&f->arena, &f->found, found), err);
}

static qdq_status check_value(finder *f, const qdq_layer *g, size_t group, const qdq_value *v,
                              qdq_error *err)
{
    const readers r = find_readers(f, v, group);
    const char *why;

    if (r.quantizer == NULL && r.other == NULL) /* of the layer alone, or for the caller */
        return QDQ_OK;
    if (r.quantizer == NULL)
        why = qdq_arena_printf(&f->arena, "reads %s and gives %s: no QuantizeLinear behind '%s'",
                               g->in_type, g->out_type, v->name);
    else if (r.other != NULL)
        why = qdq_arena_printf(
            &f->arena,
            "reads %s and gives %s: '%s' goes into a QuantizeLinear, but into '%s' in float",
            g->in_type, g->out_type, v->name, qdq_node_label(r.other, &f->arena));
    else
        why = qdq_arena_printf(
            &f->arena, "reads %s and gives %s: the QuantizeLinear behind '%s' is not taken in",
            g->in_type, g->out_type, v->name);
    return add_finding(f, group, qdq_node_label(v->producer, &f->arena), v->name, why, err);
}

static qdq_status check_group(finder *f, const qdq_layer *g, size_t group, qdq_error *err)
{
    size_t known = 0;

    for (size_t k = 0; k < g->n_nodes; k++) {
        const qdq_node *n = qdq_map_get_ptr(&f->labels, g->node[k]);
        known += n != NULL;
        if (n != NULL && n->op == QDQ_OP_MATMULINTEGER)
            return QDQ_OK; /* its data is quantized at run time: floats are what it gives */
        if (n != NULL)
            f->in[n->id] = (uint32_t)group + 1;
    }
    if (known == 0)
        return add_finding(f, group, "", "",
                           qdq_arena_printf(&f->arena,
                                            "reads %s and gives %s: unknown which tensor",
                                            g->in_type, g->out_type),
                           err);
    for (size_t k = 0; k < g->n_nodes; k++) {
        const qdq_node *n = qdq_map_get_ptr(&f->labels, g->node[k]);
        for (uint32_t i = 0; n != NULL && i < n->n_out; i++)
            if (n->out[i] != NULL)
                QDQ_TRY(check_value(f, g, group, n->out[i], err));
    }
    return QDQ_OK;
}

static void pack_finding(qdq_pack *p, void *to)
{
    qdq_layer_finding *f = to;

    f->node = qdq_pack_string(p, f->node);
    f->tensor = qdq_pack_string(p, f->tensor);
    f->why = qdq_pack_string(p, f->why);
}

qdq_status qdq_layers_check(const qdq_model *m, const qdq_layer *g, size_t n,
                            qdq_layer_finding **out, size_t *n_out, qdq_error *err)
{
    finder f = {.graph = m->graph};
    qdq_status st = QDQ_OK;

    *out = NULL;
    *n_out = 0;
    f.in = qdq_arena_array(&f.arena, (size_t)m->graph->next_node_id + 1, sizeof *f.in);
    if (f.in == NULL || !qdq_graph_map_labels(m->graph, &f.arena, &f.labels))
        st = qdq_nomem(err);
    for (size_t i = 0; st == QDQ_OK && i < n; i++)
        if (is_mixed(&g[i]))
            st = check_group(&f, &g[i], i, err);
    if (st == QDQ_OK) {
        *out = qdq_pack_list(f.found.at, f.found.n, sizeof **out, pack_finding);
        *n_out = *out != NULL ? f.found.n : 0;
        st = qdq_allocated(*out != NULL, err);
    }
    qdq_map_free(&f.labels);
    qdq_arena_free(&f.arena);
    return st;
}
