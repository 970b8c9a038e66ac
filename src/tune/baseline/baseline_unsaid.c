/* baseline_unsaid.c - two plans edge by edge: what an imported one has and that of the space has
 * not, and the other way round. */
#include "base/fail.h"
#include "tune/baseline/baseline.h"

/* What a plan says of an input of a node. */
typedef struct edge {
    const qdq_plan_tensor *tensor; /* an activation; else */
    const qdq_plan_weight *weight; /* a constant */
} edge;

typedef struct edges {
    qdq_arena arena;
    qdq_map map;    /* node id and input -> edge */
    size_t unknown; /* inputs of nodes that the model does not have */
} edges;

static uint64_t key_of(const qdq_node *n, uint32_t input)
{
    return (uint64_t)n->id << 32 | input;
}

static const edge *get(const edges *x, const qdq_node *n, uint32_t input)
{
    const qdq_map_value *v = qdq_map_get_int(&x->map, key_of(n, input));

    return v != NULL ? v->ptr : NULL;
}

static qdq_status put(edges *x, const qdq_node *n, uint32_t input, edge e, qdq_error *err)
{
    edge *own = qdq_arena_alloc(&x->arena, sizeof *own);
    qdq_map_value *v = own != NULL ? qdq_map_put_int(&x->map, key_of(n, input), NULL) : NULL;

    if (v == NULL)
        return qdq_nomem(err);
    *own = e;
    v->ptr = own;
    return QDQ_OK;
}

static qdq_status put_list(edges *x, const qdq_map *labels, const qdq_edges *list, edge e,
                           qdq_error *err)
{
    for (size_t i = 0; i < list->n; i++) {
        const qdq_map_value *n = qdq_map_get(labels, list->at[i].node);

        if (n == NULL)
            x->unknown++;
        else
            QDQ_TRY(put(x, n->ptr, list->at[i].input, e, err));
    }
    return QDQ_OK;
}

/* All readers of a tensor. */
static qdq_status put_readers(edges *x, const qdq_graph *g, const qdq_plan_tensor *t,
                              qdq_error *err)
{
    const qdq_value *v = qdq_graph_find(g, t->tensor);

    if (v == NULL) {
        x->unknown++;
        return QDQ_OK;
    }
    QDQ_FOR_USES (u, v)
        if (u->node->graph == g)
            QDQ_TRY(put(x, u->node, u->index, (edge){.tensor = t}, err));
    return QDQ_OK;
}

static qdq_status collect(edges *x, const qdq_graph *g, const qdq_map *labels, const qdq_plan *p,
                          qdq_error *err)
{
    for (size_t i = 0; i < p->tensors.n; i++) {
        const qdq_plan_tensor *t = &p->tensors.at[i];
        if (t->all)
            QDQ_TRY(put_readers(x, g, t, err));
        QDQ_TRY(put_list(x, labels, &t->consumers, (edge){.tensor = t}, err));
    }
    for (size_t i = 0; i < p->weights.n; i++) {
        const qdq_plan_weight *w = &p->weights.at[i];
        QDQ_TRY(put_list(x, labels, &w->consumers, (edge){.weight = w}, err));
    }
    return QDQ_OK;
}

/* --- in what they differ ---------------------------------------------------------------------- */

static qdq_elem type_of(const edge *e)
{
    return e->tensor != NULL ? e->tensor->qparam.type : e->weight->type;
}

static void compare_edge(const edge *a, const edge *b, qdq_tune_unsaid *out)
{
    if (a == NULL && b == NULL)
        return;
    if (a == NULL || b == NULL || (a->tensor == NULL) != (b->tensor == NULL)) {
        out->edges++;
        return;
    }
    out->types += type_of(a) != type_of(b);
    if (a->weight != NULL)
        out->weights += a->weight->axis != b->weight->axis || a->weight->block != b->weight->block;
}

static bool is_shared(const edge *a, const edge *b)
{
    return a->tensor->qparam.scale == b->tensor->qparam.scale &&
           a->tensor->qparam.zero_point == b->tensor->qparam.zero_point;
}

/* Of two tensors of an operator, if both plans give both codes. */
static void compare_pair(const edge *a1, const edge *a2, const edge *b1, const edge *b2,
                         qdq_tune_unsaid *out)
{
    const edge *all[] = {a1, a2, b1, b2};

    for (size_t i = 0; i < QDQ_COUNT(all); i++)
        if (all[i] == NULL || all[i]->tensor == NULL)
            return;
    out->scales += is_shared(a1, a2) != is_shared(b1, b2);
}

/* The first reader of a node's result that has codes in both. */
static const qdq_use *find_reader(const edges *a, const edges *b, const qdq_node *n)
{
    const qdq_value *v = qdq_node_out(n, 0);

    if (v != NULL)
        QDQ_FOR_USES (u, v)
            if (u->node->graph == n->graph && get(a, u->node, u->index) != NULL &&
                get(b, u->node, u->index) != NULL)
                return u;
    return NULL;
}

static void compare_node(const edges *a, const edges *b, const qdq_node *n, qdq_tune_unsaid *out)
{
    const qdq_use *reader = find_reader(a, b, n);
    uint32_t first = n->n_in;

    for (uint32_t i = 0; i < n->n_in; i++) {
        compare_edge(get(a, n, i), get(b, n, i), out);
        if (first == n->n_in && get(a, n, i) != NULL && get(b, n, i) != NULL &&
            get(a, n, i)->tensor != NULL)
            first = i;
        else if (first < n->n_in)
            compare_pair(get(a, n, first), get(a, n, i), get(b, n, first), get(b, n, i), out);
    }
    if (first < n->n_in && reader != NULL)
        compare_pair(get(a, n, first), get(a, reader->node, reader->index), get(b, n, first),
                     get(b, reader->node, reader->index), out);
}

qdq_status qdq_plans_differ(const qdq_model *clean, const qdq_plan *imported, const qdq_plan *said,
                            qdq_tune_unsaid *out, qdq_error *err)
{
    edges a = {.arena = QDQ_ARENA_INIT}, b = {.arena = QDQ_ARENA_INIT};
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_map labels = QDQ_MAP_INIT;

    *out = (qdq_tune_unsaid){0};
    qdq_status st = qdq_graph_map_labels(clean->graph, &scratch, &labels) ? QDQ_OK : qdq_nomem(err);
    if (st == QDQ_OK)
        st = collect(&a, clean->graph, &labels, imported, err);
    if (st == QDQ_OK)
        st = collect(&b, clean->graph, &labels, said, err);
    out->edges = st == QDQ_OK ? (unsigned)(a.unknown + b.unknown) : 0;
    QDQ_FOR_NODES (n, clean->graph)
        if (st == QDQ_OK)
            compare_node(&a, &b, n, out);
    qdq_map_free(&a.map);
    qdq_map_free(&b.map);
    qdq_map_free(&labels);
    qdq_arena_free(&a.arena);
    qdq_arena_free(&b.arena);
    qdq_arena_free(&scratch);
    return st;
}
