/* compare_match.c - matches values of two models by name. The second model may have a Q and a DQ
 * after the value, or before it if it is a graph output; then the value before the Q is what is
 * compared first. */
#include "quant/compare/compare_match.h"

#include <string.h>

#include "base/fail.h"
#include "ir/edit.h"
#include "ir/graph_check.h"
#include "ir/qdq_node.h"
#include "ir/shape.h"

/* A copy whose values have types, with the shapes of the data where that is possible. */
static qdq_status typed_copy(const qdq_model *m, const qdq_input_shape *shapes, size_t n,
                             const qdq_job *job, qdq_model **out, qdq_error *err)
{
    qdq_error ignored = QDQ_ERROR_INIT;
    qdq_shape_opts infer = {.job = job};

    QDQ_TRY(qdq_model_clone(m, out, err));
    /* Where shapes cannot be fixed, symbolic dimensions count as 1 below: chunks get larger,
     * nothing else. */
    qdq_status st = qdq_model_set_shapes(*out, shapes, n, &ignored);
    if (st == QDQ_E_NOMEM)
        return qdq_nomem(err);
    return st != QDQ_OK ? qdq_model_infer(*out, &infer, err) : QDQ_OK;
}

static qdq_status copy_both(qdq_matching *m, const qdq_model *const model[2],
                            const qdq_named_array *in, size_t n, const qdq_job *job, qdq_error *err)
{
    qdq_input_shape *shapes = qdq_arena_array(&m->arena, n, sizeof *shapes);

    QDQ_NEED(shapes != NULL, err);
    for (size_t i = 0; i < n; i++) {
        shapes[i] = (qdq_input_shape){.name = in[i].name, .rank = in[i].array.rank};
        memcpy(shapes[i].dim, in[i].array.dim, sizeof shapes[i].dim);
    }
    QDQ_TRY(typed_copy(model[0], shapes, n, job, &m->a, err));
    return typed_copy(model[1], shapes, n, job, &m->b, err);
}

/* --- what is the same ------------------------------------------------------------------------- */

static bool is_q(const qdq_node *n)
{
    return n->op == QDQ_OP_QUANTIZELINEAR;
}

static bool is_dq(const qdq_node *n)
{
    return n->op == QDQ_OP_DEQUANTIZELINEAR;
}

static bool is_tensor(const qdq_value *v)
{
    return v->type != NULL && v->type->kind == QDQ_TYPE_TENSOR;
}

static bool is_float(const qdq_value *v)
{
    return is_tensor(v) && qdq_elem_is_float(v->type->elem);
}

static bool may_be_float(const qdq_value *v)
{
    return v->type == NULL || is_float(v) || (is_tensor(v) && v->type->elem == QDQ_UNDEFINED);
}

bool qdq_shapes_differ(const qdq_value *x, const qdq_value *y)
{
    if (!is_tensor(x) || !is_tensor(y) || x->type->rank < 0 || y->type->rank < 0)
        return false;
    if (x->type->rank != y->type->rank)
        return true;
    for (int i = 0; i < x->type->rank; i++)
        if (x->type->dim[i].value >= 0 && y->type->dim[i].value >= 0 &&
            x->type->dim[i].value != y->type->dim[i].value)
            return true;
    return false;
}

/* The value of the first model that y is, or NULL. */
static const qdq_value *find_partner(const qdq_matching *m, const qdq_value *y)
{
    const qdq_value *x = qdq_graph_find(m->a->graph, y->name);

    if (x == NULL || x->producer == NULL || qdq_value_const(x) != NULL ||
        qdq_value_const(y) != NULL)
        return NULL;
    if (!may_be_float(x) || !may_be_float(y) || !(is_float(x) || is_float(y)) ||
        qdq_shapes_differ(x, y))
        return NULL;
    return x;
}

/* Bytes of one sample; 0: not known. */
static size_t bytes_of(const qdq_value *v)
{
    int64_t count = 1;
    size_t bytes;

    if (!is_tensor(v) || v->type->rank < 0)
        return 0;
    for (int i = 0; i < v->type->rank; i++) {
        int64_t dim = v->type->dim[i].value;

        if (dim > 0 && __builtin_mul_overflow(count, dim, &count))
            return SIZE_MAX;
    }
    return qdq_elem_bytes(v->type->elem == QDQ_UNDEFINED ? QDQ_FLOAT : v->type->elem, count, &bytes)
               ? bytes
               : 0;
}

/* The value behind Q and DQ of y, or NULL. */
static const qdq_value *dequantized(const qdq_value *y)
{
    QDQ_FOR_USES (u, y) {
        if (!is_q(u->node) || u->index != 0 || u->node->graph != y->graph)
            continue;
        QDQ_FOR_USES (d, u->node->out[0])
            if (is_dq(d->node) && d->index == 0 && d->node->graph == y->graph)
                return d->node->out[0];
    }
    return NULL;
}

/* The value before DQ and Q that make y, or y. */
static const qdq_value *before_qdq(const qdq_value *y)
{
    const qdq_value *codes = is_dq(y->producer) ? qdq_node_in(y->producer, 0) : NULL;

    if (codes == NULL || codes->producer == NULL || !is_q(codes->producer))
        return y;
    const qdq_value *raw = qdq_node_in(codes->producer, 0);
    return raw != NULL && raw->producer != NULL ? raw : y;
}

static const qdq_node *product_of(const qdq_value *v)
{
    const qdq_node *n = v != NULL ? v->producer : NULL;

    return n != NULL && (n->op == QDQ_OP_MATMUL || n->op == QDQ_OP_GEMM) ? n : NULL;
}

/* The product in 8 bits, with or without a bias, whose float channels n adds, as insert_channels.c
 * writes it: the layer that the float model has. Else n. */
static const qdq_node *without_channels(const qdq_node *n)
{
    if (n->op != QDQ_OP_ADD)
        return n;
    const qdq_node *channels = product_of(qdq_node_in(n, 1)), *product = product_of(n->in[0].value);
    const qdq_value *x = channels != NULL ? qdq_node_in(channels, 0) : NULL, *y = qdq_node_in(n, 0);

    if (x == NULL || x->producer == NULL || x->producer->op != QDQ_OP_GATHER || y == NULL)
        return n;
    for (uint32_t i = 0; product == NULL && y->producer != NULL && i < 2; i++)
        if (y->producer->op == QDQ_OP_ADD)
            product = product_of(qdq_node_in(y->producer, i));
    return product != NULL ? product : n;
}

static qdq_status add_match(qdq_matching *m, const qdq_value *x, const qdq_value *y, bool quantized,
                            qdq_error *err)
{
    const qdq_value *raw = before_qdq(y), *read = raw != y ? y : dequantized(y);
    const qdq_value *codes = qdq_node_in(raw->producer, 0);
    /* of codes that an operator gives, the operator */
    const qdq_node *by = is_dq(raw->producer) && codes != NULL && codes->producer != NULL
                             ? codes->producer
                             : raw->producer;
    qdq_match v = {.name = y->name, .of_a = y->name, .raw = raw->name, .quantized = quantized};

    v.read = read != NULL ? read->name : NULL;
    by = without_channels(by);
    v.node = qdq_node_label(by, &m->arena);
    v.op = by->type;
    v.elem = is_float(y) ? y->type->elem : x->type->elem;
    v.bytes = bytes_of(y) > 0 ? bytes_of(y) : bytes_of(x);
    return qdq_allocated(QDQ_PUSH(&m->arena, &m->values, v), err);
}

/* --- walking ---------------------------------------------------------------------------------- */

/* Of a value of b; touched: Q or DQ in front, up to the next matched value. */
enum { MATCHED = 1, TOUCHED = 2 };

/* Does Q or DQ stand in the layer that node n ends, or does n quantize by itself? Bodies are taken
 * as if it did when they exist at all. */
static bool is_touched(const qdq_node *n, const unsigned char *state)
{
    if (is_q(n) || is_dq(n) || n->op == QDQ_OP_DYNAMICQUANTIZELINEAR || qdq_node_is_qoperator(n))
        return true;
    for (uint32_t i = 0; i < n->n_attr; i++)
        if (n->attr[i]->type == QDQ_ATTR_GRAPH || n->attr[i]->type == QDQ_ATTR_GRAPHS)
            return true;
    for (uint32_t i = 0; i < n->n_in; i++)
        if (n->in[i].value != NULL && n->in[i].value->graph == n->graph &&
            state[n->in[i].value->id] == TOUCHED)
            return true;
    return false;
}

static qdq_status walk_b(qdq_matching *m, qdq_error *err)
{
    qdq_graph *g = m->b->graph;
    unsigned char *state = qdq_arena_array(&m->arena, g->values.n + 1, 1);
    qdq_node **order;
    size_t n;

    QDQ_NEED(state != NULL, err);
    QDQ_TRY(qdq_graph_sorted(g, &m->arena, &order, &n, err));
    for (size_t i = 0; i < n; i++) {
        bool touched = is_touched(order[i], state);

        for (uint32_t k = 0; k < order[i]->n_out; k++) {
            const qdq_value *y = order[i]->out[k], *x = y != NULL ? find_partner(m, y) : NULL;

            if (x != NULL)
                QDQ_TRY(add_match(m, x, y, touched, err));
            if (y != NULL)
                state[y->id] = x != NULL ? MATCHED : touched ? TOUCHED : 0;
        }
    }
    return QDQ_OK;
}

/* Float values that operators make, other than Q/DQ and what stands before a matched output's. */
static qdq_status list_unmatched(qdq_matching *m, const qdq_model *of, const qdq_map *known,
                                 qdq_text_vec *list, qdq_error *err)
{
    QDQ_FOR_NODES (n, of->graph) {
        if (is_q(n) || is_dq(n))
            continue;
        for (uint32_t k = 0; k < n->n_out; k++) {
            const qdq_value *v = n->out[k];

            if (v == NULL || !is_float(v) || qdq_value_const(v) != NULL ||
                qdq_map_get(known, v->name) != NULL)
                continue;
            QDQ_NEED(QDQ_PUSH(&m->arena, list, v->name), err);
        }
    }
    return QDQ_OK;
}

static qdq_status find_unmatched(qdq_matching *m, qdq_error *err)
{
    qdq_map known = QDQ_MAP_INIT;
    qdq_status st = QDQ_OK;

    for (size_t i = 0; i < m->values.n && st == QDQ_OK; i++)
        if (qdq_map_put(&known, m->values.at[i].name, NULL) == NULL ||
            qdq_map_put(&known, m->values.at[i].raw, NULL) == NULL)
            st = qdq_nomem(err);
    if (st == QDQ_OK)
        st = list_unmatched(m, m->a, &known, &m->only_a, err);
    if (st == QDQ_OK)
        st = list_unmatched(m, m->b, &known, &m->only_b, err);
    qdq_map_free(&known);
    return st;
}

/* --- the cut ---------------------------------------------------------------------------------- */

/* Another sample may have other shapes than the one that gave them: engines believe what is
 * declared. */
static void open_dims(qdq_dim *dim)
{
    for (int i = 0; i < QDQ_MAX_RANK; i++)
        dim[i] = (qdq_dim){-1, NULL};
}

static qdq_status cut_at(qdq_matching *m, qdq_match *v, qdq_error *err)
{
    qdq_graph *g = m->cut->graph;
    qdq_value *y = qdq_graph_find(g, v->name);
    const int rank = is_tensor(y) && y->type->rank <= QDQ_MAX_RANK ? y->type->rank : -1;
    qdq_dim dim[QDQ_MAX_RANK];

    open_dims(dim);
    const qdq_type *type = qdq_type_tensor(m->cut, v->elem, rank, dim);
    const char *name = qdq_graph_unique_name(g, v->name);
    qdq_value *in = type != NULL && name != NULL ? qdq_graph_add_input(g, name, type) : NULL;
    QDQ_NEED(in != NULL, err);
    QDQ_FOR_USES (u, y)
        qdq_node_set_in(u->node, u->index, in);
    v->fed = in->name;
    return QDQ_OK;
}

static qdq_status open_shapes(qdq_model *m, qdq_error *err)
{
    qdq_dim dim[QDQ_MAX_RANK];

    open_dims(dim);
    QDQ_FOR_GRAPHS (g, m)
        for (size_t i = 0; i < g->values.n; i++) {
            qdq_value *v = g->values.at[i];

            if (v->dead || v->init != NULL || v->sparse != NULL || !is_tensor(v) ||
                v->type->rank > QDQ_MAX_RANK)
                continue;
            const qdq_type *type = qdq_type_tensor(m, v->type->elem, v->type->rank, dim);
            QDQ_NEED(type != NULL, err);
            qdq_value_set_type(v, type);
        }
    return QDQ_OK;
}

qdq_status qdq_match_models(const qdq_model *const model[2], const qdq_named_array *in, size_t n,
                            const qdq_job *job, qdq_matching *out, qdq_error *err)
{
    *out = (qdq_matching){.arena = QDQ_ARENA_INIT};
    QDQ_TRY(copy_both(out, model, in, n, job, err));
    QDQ_TRY(walk_b(out, err));
    QDQ_TRY(find_unmatched(out, err));
    QDQ_TRY(qdq_model_clone(out->b, &out->cut, err));
    QDQ_TRY(open_shapes(out->cut, err));
    for (size_t i = 0; i < out->values.n; i++)
        QDQ_TRY(cut_at(out, &out->values.at[i], err));
    return QDQ_OK;
}

void qdq_matching_free(qdq_matching *m)
{
    qdq_model_free(m->a);
    qdq_model_free(m->b);
    qdq_model_free(m->cut);
    for (size_t i = 0; i < m->values.n; i++) {
        qdq_slices_free(&m->values.at[i].value_slices);
        qdq_slices_free(&m->values.at[i].own_slices);
    }
    qdq_arena_free(&m->arena);
}

bool qdq_match_fits(const qdq_match *v, size_t n, size_t *bytes)
{
    const size_t most = (size_t)128 << 20, more = v->bytes < most ? v->bytes : most;

    if (n > 0 && (v->bytes > most || more > most - *bytes))
        return false;
    *bytes += more;
    return true;
}
