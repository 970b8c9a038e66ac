/* baseline_unsaid.c - two plans edge by edge: what an imported one has and that of the space has
 * not, and the other way round. */
#include "tune/baseline/baseline.h"
#include "tune/space/space_cover.h"

/* What a plan says of an input of a node. */
typedef struct edge {
    /* an activation; else */
    const qdq_plan_tensor *tensor;
    /* a constant; else floats */
    const qdq_plan_weight *weight;
} edge;

typedef struct side {
    const qdq_plan *p;
    qdq_cover cover;
} side;

static edge edge_at(const side *x, const qdq_node *n, uint32_t input)
{
    const qdq_value *v = qdq_node_in(n, input);
    const size_t weight = qdq_cover_weight(&x->cover, n, input),
                 tensor = v != NULL ? qdq_cover_tensor(&x->cover, v->name, n, input) : 0;

    return weight > 0   ? (edge){.weight = &x->p->weights.at[weight - 1]}
           : tensor > 0 ? (edge){.tensor = &x->p->tensors.at[tensor - 1]}
                        : (edge){0};
}

static bool has_codes(edge e)
{
    return e.tensor != NULL || e.weight != NULL;
}

/* --- in what they differ ---------------------------------------------------------------------- */

static qdq_elem type_of(edge e)
{
    return e.tensor != NULL ? e.tensor->qparam.type : e.weight->type;
}

static void compare_edge(edge a, edge b, qdq_tune_not_expressed *out)
{
    if (has_codes(a) != has_codes(b) || (a.tensor == NULL) != (b.tensor == NULL)) {
        out->edges++;
        return;
    }
    if (!has_codes(a))
        return;
    out->types += type_of(a) != type_of(b);
    if (a.weight != NULL)
        out->weights += a.weight->axis != b.weight->axis || a.weight->block != b.weight->block;
}

static bool is_shared(edge a, edge b)
{
    return a.tensor->qparam.scale == b.tensor->qparam.scale &&
           a.tensor->qparam.zero_point == b.tensor->qparam.zero_point;
}

/* Of two tensors of an operator, if both plans give both codes. */
static void compare_pair(const edge a[2], const edge b[2], qdq_tune_not_expressed *out)
{
    if (a[0].tensor != NULL && a[1].tensor != NULL && b[0].tensor != NULL && b[1].tensor != NULL)
        out->scales += is_shared(a[0], a[1]) != is_shared(b[0], b[1]);
}

/* The first reader of a node's result that has codes in both. */
static const qdq_use *find_reader(const side *a, const side *b, const qdq_node *n)
{
    const qdq_value *v = qdq_node_out(n, 0);

    if (v != NULL)
        QDQ_FOR_USES (u, v)
            if (u->node->graph == n->graph && has_codes(edge_at(a, u->node, u->index)) &&
                has_codes(edge_at(b, u->node, u->index)))
                return u;
    return NULL;
}

static void compare_node(const side *a, const side *b, const qdq_node *n,
                         qdq_tune_not_expressed *out)
{
    const qdq_use *reader = find_reader(a, b, n);
    edge of_a[2] = {{0}}, of_b[2] = {{0}}; /* of the first activation; of what it goes with */
    bool found = false;

    for (uint32_t i = 0; i < n->n_in; i++) {
        of_a[1] = edge_at(a, n, i);
        of_b[1] = edge_at(b, n, i);
        compare_edge(of_a[1], of_b[1], out);
        if (found) {
            compare_pair(of_a, of_b, out);
        } else if (of_a[1].tensor != NULL && has_codes(of_b[1])) {
            found = true;
            of_a[0] = of_a[1];
            of_b[0] = of_b[1];
        }
    }
    if (!found || reader == NULL)
        return;
    of_a[1] = edge_at(a, reader->node, reader->index);
    of_b[1] = edge_at(b, reader->node, reader->index);
    compare_pair(of_a, of_b, out);
}

qdq_status qdq_plans_differ(const qdq_space *s, const qdq_plan *imported, const qdq_plan *expressed,
                            qdq_tune_not_expressed *out, qdq_error *err)
{
    side a = {.p = imported}, b = {.p = expressed};
    qdq_status st = qdq_cover_open(&a.cover, s, imported, err);

    *out = (qdq_tune_not_expressed){0};
    if (st == QDQ_OK)
        st = qdq_cover_open(&b.cover, s, expressed, err);
    out->edges = st == QDQ_OK ? (unsigned)(a.cover.unknown + b.cover.unknown) : 0;
    QDQ_FOR_NODES (n, s->clean->graph)
        if (st == QDQ_OK)
            compare_node(&a, &b, n, out);
    qdq_cover_free(&a.cover);
    qdq_cover_free(&b.cover);
    return st;
}
