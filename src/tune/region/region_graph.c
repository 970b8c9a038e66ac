/* region_graph.c - which nodes take part, who reads whom, and where branches meet. */
#include "tune/region/region_graph.h"

#include <stdlib.h>

#include "base/fail.h"

bool qdq_region_is_const(const qdq_value *v)
{
    return qdq_value_const(v) != NULL || v->sparse != NULL;
}

bool qdq_region_is_backbone(const qdq_node *n)
{
    return QDQ_OP_IS_IN(n->op, QDQ_OP_CONV, QDQ_OP_CONVTRANSPOSE, QDQ_OP_GEMM, QDQ_OP_MATMUL,
                        QDQ_OP_AVERAGEPOOL, QDQ_OP_MAXPOOL, QDQ_OP_GLOBALAVERAGEPOOL,
                        QDQ_OP_GLOBALMAXPOOL, QDQ_OP_RESIZE);
}

bool qdq_region_is_fusible(const qdq_node *n)
{
    return QDQ_OP_IS_IN(n->op, QDQ_OP_ADD, QDQ_OP_SUB, QDQ_OP_MUL, QDQ_OP_SUM, QDQ_OP_RELU,
                        QDQ_OP_LEAKYRELU, QDQ_OP_PRELU, QDQ_OP_SIGMOID, QDQ_OP_TANH, QDQ_OP_GELU,
                        QDQ_OP_HARDSWISH, QDQ_OP_HARDSIGMOID, QDQ_OP_IDENTITY, QDQ_OP_DROPOUT);
}

static int by_place(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

void qdq_region_sort_places(uint32_t *place, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (place[i - 1] > place[i]) {
            qsort(place, n, sizeof *place, by_place);
            return;
        }
}

const qdq_node *qdq_region_reader(const qdq_graph *g, const qdq_use *u)
{
    return qdq_node_within(g, u->node);
}

bool qdq_region_has_subgraphs(const qdq_node *n)
{
    for (uint32_t i = 0; i < n->n_attr; i++)
        if (n->attr[i]->type == QDQ_ATTR_GRAPH || n->attr[i]->type == QDQ_ATTR_GRAPHS)
            return true;
    return false;
}

qdq_status qdq_region_reads(const qdq_node *n, qdq_arena *arena, qdq_region_values *out,
                            qdq_error *err)
{
    qdq_graph_list bodies = {0};

    for (uint32_t i = 0; i < n->n_in; i++)
        QDQ_NEED(QDQ_PUSH(arena, out, qdq_node_in(n, i)), err);
    if (!qdq_region_has_subgraphs(n))
        return QDQ_OK;
    QDQ_NEED(qdq_node_push_graphs(n, arena, &bodies), err);
    for (size_t b = 0; b < bodies.n; b++) {
        QDQ_FOR_NODES (inner, bodies.at[b]) {
            for (uint32_t i = 0; i < inner->n_in; i++) {
                const qdq_value *v = qdq_node_in(inner, i);
                if (v != NULL && v->graph == n->graph && !QDQ_PUSH(arena, out, v))
                    return qdq_nomem(err);
            }
            QDQ_NEED(qdq_node_push_graphs(inner, arena, &bodies), err);
        }
        for (size_t i = 0; i < bodies.at[b]->outputs.n; i++) {
            const qdq_value *v = bodies.at[b]->outputs.at[i];
            if (v->graph == n->graph && !QDQ_PUSH(arena, out, v))
                return qdq_nomem(err);
        }
    }
    return QDQ_OK;
}

/* --- what takes part -------------------------------------------------------------------------- */

typedef enum kind { DATA, CONSTANT, SHAPES } kind;

/* Numbers along one axis at most, as shapes, axes and ranges are. */
static bool small(const qdq_value *v)
{
    return v == NULL || (v->type != NULL && v->type->kind == QDQ_TYPE_TENSOR &&
                         v->type->rank >= 0 && v->type->rank <= 1);
}

static kind kind_of(const qdq_node *n, const uint8_t *kinds)
{
    size_t shapes = 0, data = 0;

    if (n->op == QDQ_OP_CONSTANT)
        return CONSTANT;
    if (n->op == QDQ_OP_SHAPE || n->op == QDQ_OP_SIZE)
        return SHAPES;
    if (n->n_in == 0 || qdq_region_has_subgraphs(n) ||
        (qdq_op_get_info(n->op)->flags & QDQ_OP_PURE) == 0)
        return DATA;
    for (uint32_t i = 0; i < n->n_in; i++) {
        const qdq_value *v = qdq_node_in(n, i);
        if (v == NULL || qdq_region_is_const(v))
            continue;
        kind k =
            v->producer != NULL && v->producer->graph == n->graph ? kinds[v->producer->id] : DATA;
        shapes += k == SHAPES;
        data += k == DATA;
    }
    if (data > 0 || shapes == 0)
        return data > 0 ? DATA : CONSTANT;
    for (uint32_t i = 0; i < n->n_out; i++)
        if (!small(qdq_node_out(n, i)))
            return DATA;
    return SHAPES;
}

static qdq_status find_nodes(const qdq_graph *g, qdq_arena *arena, qdq_region_graph *out,
                             qdq_error *err)
{
    uint8_t *kinds = qdq_arena_alloc(arena, (size_t)g->next_node_id + 1);

    out->node = qdq_arena_array(arena, (size_t)g->n_node + 1, sizeof(const qdq_node *));
    out->place = qdq_arena_array(arena, (size_t)g->next_node_id + 1, sizeof *out->place);
    QDQ_NEED(kinds != NULL && out->node != NULL && out->place != NULL, err);
    for (uint32_t i = 0; i <= g->next_node_id; i++)
        out->place[i] = QDQ_NO_PLACE;
    QDQ_FOR_NODES (n, g) {
        kinds[n->id] = (uint8_t)kind_of(n, kinds);
        if (kinds[n->id] != DATA)
            continue;
        out->place[n->id] = out->n;
        out->node[out->n++] = n;
    }
    return QDQ_OK;
}

/* --- who reads whom --------------------------------------------------------------------------- */

static qdq_status find_readers(qdq_region_graph *g, qdq_arena *arena, qdq_error *err)
{
    QDQ_VEC(uint32_t) edges = {0};
    uint32_t *seen = qdq_arena_array(arena, (size_t)g->n + 1, sizeof *seen);

    g->first_reader = qdq_arena_array(arena, (size_t)g->n + 1, sizeof *g->first_reader);
    QDQ_NEED(seen != NULL && g->first_reader != NULL, err);
    for (uint32_t i = 0; i < g->n; i++) {
        const qdq_node *n = g->node[i];
        g->first_reader[i] = (uint32_t)edges.n;
        for (uint32_t k = 0; k < n->n_out; k++) {
            if (n->out[k] == NULL)
                continue;
            QDQ_FOR_USES (u, n->out[k]) {
                const qdq_node *reader = qdq_region_reader(g->g, u);
                uint32_t r = reader != NULL ? g->place[reader->id] : QDQ_NO_PLACE;
                if (r == QDQ_NO_PLACE || seen[r] == i + 1)
                    continue;
                if (r <= i)
                    return qdq_fail(
                        err, QDQ_E_FORMAT,
                        "node '%s': reads '%s', which a later node makes: the graph is not sorted",
                        reader->name, n->out[k]->name);
                seen[r] = i + 1;
                QDQ_NEED(QDQ_PUSH(arena, &edges, r), err);
            }
        }
    }
    g->first_reader[g->n] = (uint32_t)edges.n;
    g->reader = edges.at;
    return QDQ_OK;
}

static qdq_status find_sources(qdq_region_graph *g, qdq_arena *arena, qdq_error *err)
{
    uint32_t n_edges = g->first_reader[g->n];
    uint32_t *next = qdq_arena_array(arena, (size_t)g->n + 1, sizeof *next);

    g->first_source = qdq_arena_array(arena, (size_t)g->n + 1, sizeof *g->first_source);
    g->source = qdq_arena_array(arena, (size_t)n_edges + 1, sizeof *g->source);
    QDQ_NEED(next != NULL && g->first_source != NULL && g->source != NULL, err);
    for (uint32_t e = 0; e < n_edges; e++)
        g->first_source[g->reader[e] + 1]++;
    for (uint32_t i = 0; i < g->n; i++) {
        g->first_source[i + 1] += g->first_source[i];
        next[i] = g->first_source[i];
    }
    for (uint32_t i = 0; i < g->n; i++)
        for (uint32_t e = g->first_reader[i]; e < g->first_reader[i + 1]; e++)
            g->source[next[g->reader[e]]++] = i;
    return QDQ_OK;
}

/* --- where branches meet ---------------------------------------------------------------------- */

uint32_t qdq_region_meet(const qdq_region_graph *g, uint32_t a, uint32_t b)
{
    while (g->depth[a] != g->depth[b]) {
        uint32_t *deep = g->depth[a] > g->depth[b] ? &a : &b;
        uint32_t goal = g->depth[a] > g->depth[b] ? g->depth[b] : g->depth[a];
        *deep = g->depth[g->jump[*deep]] >= goal ? g->jump[*deep] : g->meet[*deep];
    }
    /* Equally deep nodes jump equally far. */
    while (a != b) {
        bool far = g->jump[a] != g->jump[b];
        a = far ? g->jump[a] : g->meet[a];
        b = far ? g->jump[b] : g->meet[b];
    }
    return a;
}

/* The graph has no cycles, so that all readers are in the tree before the node that they read.
 * Jumps double in length as in a skew-binary number: an ancestor is found in logarithmic time,
 * however long the graph is. */
static qdq_status find_meets(qdq_region_graph *g, qdq_arena *arena, qdq_error *err)
{
    g->meet = qdq_arena_array(arena, (size_t)g->n + 1, sizeof *g->meet);
    g->jump = qdq_arena_array(arena, (size_t)g->n + 1, sizeof *g->jump);
    g->depth = qdq_arena_array(arena, (size_t)g->n + 1, sizeof *g->depth);
    QDQ_NEED(g->meet != NULL && g->jump != NULL && g->depth != NULL, err);
    g->meet[g->n] = g->jump[g->n] = g->n;
    for (uint32_t i = g->n; i-- > 0;) {
        uint32_t m = g->n;
        for (uint32_t e = g->first_reader[i]; e < g->first_reader[i + 1]; e++)
            m = e == g->first_reader[i] ? g->reader[e] : qdq_region_meet(g, m, g->reader[e]);
        uint32_t j = g->jump[m];
        g->meet[i] = m;
        g->depth[i] = g->depth[m] + 1;
        g->jump[i] =
            g->depth[m] - g->depth[j] == g->depth[j] - g->depth[g->jump[j]] ? g->jump[j] : m;
    }
    return QDQ_OK;
}

qdq_status qdq_region_graph_new(const qdq_graph *g, qdq_arena *arena, qdq_region_graph *out,
                                qdq_error *err)
{
    *out = (qdq_region_graph){.g = g};
    QDQ_TRY(find_nodes(g, arena, out, err));
    QDQ_TRY(find_readers(out, arena, err));
    QDQ_TRY(find_sources(out, arena, err));
    return find_meets(out, arena, err);
}
