/* smooth_fold.c - follows the channels of an activation back to the constants that scale them:
 * through copies, sums with a constant, and products that mix tokens but no channels. */
#include "quant/weights/smooth_fold.h"

#include <string.h>

#include "base/fail.h"
#include "ir/edit.h"
#include "quant/weights/scaling.h"
#include "quant/weights/weights.h"

/* --- consumers -------------------------------------------------------------------------------- */

static bool is_transposed(const qdq_node *n)
{
    return qdq_node_int(n, "transB", 0) != 0;
}

/* Is it the constant of this node alone? */
static bool is_own(const qdq_value *v)
{
    return v->n_use == 1 && v->n_output == 0;
}

static const char *rejects_reader(const qdq_use *u, const qdq_graph *g, int64_t count)
{
    if (u->node->graph != g)
        return "a node of a subgraph consumes the tensor";
    if (u->index != 0 || !qdq_scaling_reader(u->node, count))
        return "it consumes the tensor, and is not a product of it and a constant matrix";
    return is_own(u->node->in[1].value) ? NULL : "its weight has other consumers";
}

/* --- channels --------------------------------------------------------------------------------- */

enum { MOST_AXES = 3 };

/* Where the channels of a value are: a channel's number has one digit for each of these dims, the
 * first one counts most. */
typedef struct layout {
    const qdq_value *v;
    int n, axis[MOST_AXES];
    int64_t size[MOST_AXES];
    int64_t count;
} layout;

/* -1: not known. */
static int rank_of(const qdq_value *v)
{
    return v != NULL && v->type != NULL && v->type->kind == QDQ_TYPE_TENSOR ? v->type->rank : -1;
}

static bool is_last_dim(const layout *l)
{
    return l->n == 1 && l->axis[0] == rank_of(l->v) - 1;
}

/* Each axis of the result is one of the data. */
static bool through_transpose(layout *l, const qdq_node *n)
{
    const qdq_value *data = qdq_node_in(n, 0);
    const int rank = rank_of(data);
    const int64_t *perm = NULL;
    size_t count = 0;

    if (rank < 0 || rank != rank_of(l->v))
        return false;
    if (!qdq_node_ints(n, "perm", &perm, &count))
        perm = NULL;
    if (perm != NULL && count != (size_t)rank)
        return false;
    for (int i = 0; i < l->n; i++) {
        const int64_t axis = perm != NULL ? perm[l->axis[i]] : rank - 1 - l->axis[i];

        if (axis < 0 || axis >= rank)
            return false;
        l->axis[i] = (int)axis;
    }
    l->v = data;
    return true;
}

/* The channels are the last dims on both sides, so that each row of them stays one. */
static bool through_reshape(layout *l, const qdq_node *n)
{
    const qdq_value *data = qdq_node_in(n, 0);
    const int rank = rank_of(data), from = rank_of(l->v) - l->n;
    int64_t count = 1;
    int first = rank;

    for (int i = 0; i < l->n; i++)
        if (l->axis[i] != from + i)
            return false;
    while (first > 0 && count < l->count && rank - first < MOST_AXES) {
        const int64_t size = data->type->dim[--first].value;

        if (size <= 0 || l->count % size != 0)
            return false;
        count *= size;
    }
    if (count != l->count)
        return false;
    l->n = rank - first;
    for (int i = 0; i < l->n; i++) {
        l->axis[i] = first + i;
        l->size[i] = data->type->dim[first + i].value;
    }
    l->v = data;
    return true;
}

/* Of a product of two activations the columns of the second one are those of the result, and so
 * are matrices of a stack that it does not repeat. */
static bool through_product(layout *l, const qdq_node *n)
{
    const qdq_value *data = qdq_node_in(n, 1);
    const int rank = rank_of(data);

    if (rank < 2 || rank != rank_of(l->v))
        return false;
    for (int i = 0; i < l->n; i++)
        if (l->axis[i] == rank - 2 || data->type->dim[l->axis[i]].value != l->size[i])
            return false;
    l->v = data;
    return true;
}

static void add_part(qdq_smooth_fold *out, qdq_node *n, uint32_t input, int axis)
{
    out->part[out->n++] = (qdq_smooth_part){n, input, axis};
}

static int last_axis(const qdq_node *n, uint32_t input)
{
    return qdq_node_const(n, input)->rank - 1;
}

/* A sum with a constant row: the other operand is divided, too. */
static bool through_add(layout *l, qdq_node *n, qdq_smooth_fold *out)
{
    for (uint32_t i = 0; i < 2 && is_last_dim(l) && out->n == 0; i++) {
        const qdq_value *other = qdq_node_in(n, 1 - i);
        const int rank = rank_of(other);

        if (!qdq_scaling_is_row(qdq_node_in(n, i), l->count) || qdq_value_const(other) != NULL ||
            rank < 1 || other->type->dim[rank - 1].value != l->count)
            continue;
        add_part(out, n, i, last_axis(n, i));
        *l = (layout){other, 1, {rank - 1}, {l->count}, l->count};
        return true;
    }
    return false;
}

/* --- sources ---------------------------------------------------------------------------------- */

/* The columns of the weight of a product, and its bias. */
static const char *end_at_product(const layout *l, qdq_node *n, qdq_smooth_fold *out)
{
    const qdq_tensor *t = qdq_node_const(n, 1);
    const int axis = n->op == QDQ_OP_GEMM && is_transposed(n) ? 0 : 1;
    const qdq_value *bias = n->op == QDQ_OP_GEMM ? qdq_node_in(n, 2) : NULL;

    if (!is_last_dim(l) || t->elem != QDQ_FLOAT || t->rank != 2 || t->dim[axis] != l->count)
        return "its columns are not the channels";
    if (!is_own(n->in[1].value))
        return "its weight has other consumers";
    if (bias != NULL && !qdq_scaling_is_row(bias, l->count))
        return "its bias is not one constant for each channel";
    add_part(out, n, 1, axis);
    if (bias != NULL)
        add_part(out, n, 2, last_axis(n, 2));
    return NULL;
}

/* Gain and bias of a normalization, or the constant of a Mul. */
static const char *end_at_gain(const layout *l, qdq_node *n, qdq_smooth_fold *out)
{
    uint32_t inputs[2];
    const uint32_t n_in = is_last_dim(l) ? qdq_scaling_inputs(n, l->count, inputs) : 0;

    if (n_in == 0 || n->out[0] != l->v)
        return "it has no constants with one number for each channel";
    for (uint32_t i = 0; i < n_in; i++)
        add_part(out, n, inputs[i], last_axis(n, inputs[i]));
    return NULL;
}

static bool is_product(const qdq_node *n)
{
    return (n->op == QDQ_OP_MATMUL || n->op == QDQ_OP_GEMM) && qdq_node_const(n, 1) != NULL;
}

/* Goes on to what n computes from; false: n does not pass channels on as they are. */
static bool go_through(layout *l, qdq_node *n, qdq_smooth_fold *out)
{
    if (n->op == QDQ_OP_IDENTITY) {
        l->v = qdq_node_in(n, 0);
        return true;
    }
    if (n->op == QDQ_OP_TRANSPOSE)
        return through_transpose(l, n);
    if (n->op == QDQ_OP_RESHAPE)
        return rank_of(qdq_node_in(n, 0)) >= 0 && rank_of(l->v) >= 0 && through_reshape(l, n);
    if (n->op == QDQ_OP_MATMUL)
        return qdq_node_const(n, 0) == NULL && through_product(l, n);
    return n->op == QDQ_OP_ADD && through_add(l, n, out);
}

static bool reject(qdq_smooth_fold *out, const qdq_node *n, const char *reason)
{
    out->n = 0;
    out->node = n;
    out->reason = reason;
    return false;
}

bool qdq_smooth_find_fold(const qdq_value *x, int64_t count, qdq_smooth_fold *out)
{
    layout l = {x, 1, {rank_of(x) - 1}, {count}, count};

    *out = (qdq_smooth_fold){0};
    if (rank_of(x) < 1)
        return reject(out, x->producer, "the rank of its result is unknown");
    for (const qdq_use *u = x->first; u != NULL; u = u->next) {
        const char *reason = rejects_reader(u, x->graph, count);

        if (reason != NULL)
            return reject(out, u->node, reason);
    }
    for (;;) {
        qdq_node *n = l.v->producer;

        if (n == NULL || n->graph != x->graph)
            return reject(out, NULL, "it is an input of the graph");
        if (l.v->n_output > 0)
            return reject(out, n, "its result is a graph output");
        if (l.v != x && l.v->n_use != 1)
            return reject(out, n, "its result has other consumers");
        if (out->n_divided == QDQ_SMOOTH_STEPS)
            return reject(out, n, "it is too far from constants");
        out->divided[out->n_divided++] = l.v;
        if (is_product(n)) {
            const char *reason = end_at_product(&l, n, out);
            return reason == NULL || reject(out, n, reason);
        }
        if (go_through(&l, n, out) && l.v != NULL)
            continue;
        const char *reason = end_at_gain(&l, n, out);
        return reason == NULL || reject(out, n, reason);
    }
}

const char *qdq_smooth_name(const qdq_value *v, qdq_arena *scratch)
{
    const char *wanted = qdq_arena_printf(scratch, "%s_smoothed", v->name);

    return wanted != NULL ? qdq_graph_unique_name(v->graph, wanted) : NULL;
}

/* --- edits ------------------------------------------------------------------------------------ */

typedef struct editor {
    qdq_model *m;
    const qdq_plan_smoothing *s;
    qdq_arena scratch;
    qdq_error *err;
} editor;

/* Elements of a constant times or over the numbers of their index along the axis. Constants that
 * others consume are copied. */
static qdq_status scale_constant(editor *e, const qdq_smooth_part *p, bool divides)
{
    qdq_value *old = p->node->in[p->input].value;
    const qdq_tensor *t = qdq_value_const(old);
    const int64_t n = t->dim[p->axis];
    int64_t inner = 1;
    const float *from;
    void *data;

    for (int i = p->axis + 1; i < t->rank; i++)
        inner *= t->dim[i];
    QDQ_TRY(qdq_weight_floats(t, &e->scratch, &from, e->err));
    qdq_tensor *fresh = qdq_tensor_new(e->m, QDQ_FLOAT, t->rank, t->dim, &data);
    QDQ_NEED(fresh != NULL, e->err);
    float *to = data;
    for (int64_t i = 0; i < t->count; i++) {
        const float by = e->s->scales[i / inner % n];

        to[i] = divides ? from[i] / by : from[i] * by;
    }
    if (is_own(old) && old->init != NULL)
        return qdq_allocated(qdq_value_set_init(old, fresh), e->err);
    const char *name = qdq_smooth_name(old, &e->scratch);
    qdq_value *v = name != NULL ? qdq_graph_add_init(p->node->graph, name, fresh) : NULL;
    QDQ_NEED(v != NULL, e->err);
    qdq_node_set_in(p->node, p->input, v);
    qdq_value_remove_if_unused(old);
    return QDQ_OK;
}

/* A node without a name keeps its label, which has the name of its result. */
static qdq_status rename_divided(editor *e, qdq_value *v, const char *name)
{
    qdq_node *n = v->producer;

    if (!qdq_node_has_own_name(n))
        QDQ_NEED(qdq_node_set_name(n, qdq_node_label(n, &e->scratch)), e->err);
    return qdq_allocated(name != NULL && qdq_value_rename(v, name), e->err);
}

static qdq_status rename_all(editor *e, const qdq_smooth_fold *fold)
{
    if (qdq_graph_find(e->m->graph, e->s->smoothed) != NULL)
        return qdq_fail(e->err, QDQ_E_FORMAT, "smoothing of '%s': the model has a tensor '%s'",
                        e->s->tensor, e->s->smoothed);
    for (size_t i = 0; i < fold->n_divided; i++) {
        qdq_value *v = (qdq_value *)fold->divided[i];

        QDQ_TRY(rename_divided(e, v, i == 0 ? e->s->smoothed : qdq_smooth_name(v, &e->scratch)));
    }
    return QDQ_OK;
}

static qdq_status apply_entry(editor *e)
{
    const qdq_value *x = qdq_graph_find(e->m->graph, e->s->tensor);
    qdq_smooth_fold fold;

    if (x == NULL)
        return qdq_fail(e->err, QDQ_E_FORMAT,
                        "the plan names what the model does not have: "
                        "tensor '%s'",
                        e->s->tensor);
    if (!qdq_smooth_find_fold(x, (int64_t)e->s->n_scales, &fold))
        return qdq_fail(e->err, QDQ_E_FORMAT, "smoothing of '%s': %s%s%s%s", e->s->tensor,
                        fold.node != NULL ? "node '" : "",
                        fold.node != NULL ? qdq_node_label(fold.node, &e->scratch) : "",
                        fold.node != NULL ? "': " : "", fold.reason);
    for (const qdq_use *u = x->first; u != NULL; u = u->next) {
        const qdq_smooth_part rows = {u->node, 1, is_transposed(u->node) ? 1 : 0};

        QDQ_TRY(scale_constant(e, &rows, false));
    }
    for (size_t i = 0; i < fold.n; i++)
        QDQ_TRY(scale_constant(e, &fold.part[i], true));
    return rename_all(e, &fold);
}

qdq_status qdq_smooth_apply(qdq_model *m, const qdq_plan *p, qdq_error *err)
{
    editor e = {.m = m, .err = err};
    qdq_status st = QDQ_OK;

    for (size_t i = 0; i < p->smoothings.n && st == QDQ_OK; i++) {
        e.s = &p->smoothings.at[i];
        st = apply_entry(&e);
        qdq_arena_free(&e.scratch);
    }
    return st;
}
