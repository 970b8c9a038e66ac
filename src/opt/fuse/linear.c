/* linear.c - what a linear node is made of. Changes nothing but the bias. */
#include "opt/fuse/linear.h"

#include <math.h>

#include "base/fail.h"

enum { MAX_STEPS = 64 }; /* of a chain of shape operators: longer ones are not looked through */

/* --- constants -------------------------------------------------------------------------------- */

static bool keeps_elements(const qdq_node *n)
{
    /* constants are read as float whatever their type: any other cast would be lost */
    if (n->op == QDQ_OP_CAST)
        return qdq_node_int(n, "to", 0) == QDQ_FLOAT;
    return QDQ_OP_IS_IN(n->op, QDQ_OP_IDENTITY, QDQ_OP_RESHAPE, QDQ_OP_FLATTEN, QDQ_OP_SQUEEZE,
                        QDQ_OP_UNSQUEEZE);
}

const qdq_tensor *qdq_const_elements(const qdq_value *v)
{
    for (int step = 0; v != NULL && step < MAX_STEPS; step++) {
        if (qdq_value_const(v) != NULL)
            return qdq_value_const(v);
        if (v->producer == NULL || !keeps_elements(v->producer))
            return NULL;
        v = qdq_node_in(v->producer, 0);
    }
    return NULL;
}

/* Elements as doubles; NULL if they cannot be read. */
static qdq_status read_doubles(qdq_opt *o, const qdq_tensor *t, double **out, qdq_error *err)
{
    float *x = NULL;
    qdq_status st = qdq_tensor_floats(t, &o->scratch, &x, err);

    *out = NULL;
    if (st != QDQ_OK)
        return st == QDQ_E_NOMEM ? st : QDQ_OK;
    *out = qdq_arena_array(&o->scratch, (size_t)t->count + 1, sizeof **out);
    QDQ_NEED(*out != NULL, err);
    for (int64_t i = 0; i < t->count; i++)
        (*out)[i] = (double)x[i];
    return QDQ_OK;
}

/* Rank and dims of a known value: those of its data, or what is proven where operators stand
 * between. */
static qdq_status known_dims(qdq_opt *o, const qdq_value *v, const qdq_tensor *t, int *rank,
                             int64_t *dim, qdq_error *err)
{
    const qdq_facts *facts;
    const qdq_type *type = NULL;

    *rank = -1;
    if (qdq_value_const(v) == t && t->rank <= QDQ_MAX_RANK) {
        *rank = t->rank;
        for (int i = 0; i < t->rank; i++)
            dim[i] = t->dim[i];
        return QDQ_OK;
    }
    QDQ_TRY(qdq_opt_facts(o, &facts, err));
    type = qdq_facts_type(facts, v);
    if (type == NULL || type->kind != QDQ_TYPE_TENSOR || type->rank < 0 ||
        type->rank > QDQ_MAX_RANK)
        return QDQ_OK;
    for (int i = 0; i < type->rank; i++) {
        if (type->dim[i].value < 0)
            return QDQ_OK;
        dim[i] = type->dim[i].value;
    }
    *rank = type->rank;
    return QDQ_OK;
}

qdq_status qdq_per_channel(qdq_opt *o, const qdq_value *v, int rank, int64_t channels, double **out,
                           qdq_error *err)
{
    return qdq_per_channel_at(o, v, rank, 1, channels, out, err);
}

qdq_status qdq_per_channel_at(qdq_opt *o, const qdq_value *v, int rank, int axis, int64_t channels,
                              double **out, qdq_error *err)
{
    const qdq_tensor *t = v != NULL ? qdq_const_elements(v) : NULL;
    int64_t dim[QDQ_MAX_RANK];
    double *x;
    int own;

    *out = NULL;
    if (t == NULL || (t->count != 1 && t->count != channels) || channels < 1)
        return QDQ_OK;
    QDQ_TRY(known_dims(o, v, t, &own, dim, err));
    if (own < 0 || own > rank)
        return QDQ_OK;
    for (int i = 0; i < own; i++)
        /* aligned at the last dim, as broadcasting does */
        if (dim[i] != 1 && i + rank - own != axis)
            return QDQ_OK;
    QDQ_TRY(read_doubles(o, t, &x, err));
    if (x == NULL || t->count == channels) {
        *out = x;
        return QDQ_OK;
    }
    *out = qdq_arena_array(&o->scratch, (size_t)channels, sizeof **out);
    QDQ_NEED(*out != NULL, err);
    for (int64_t c = 0; c < channels; c++)
        (*out)[c] = x[0];
    return QDQ_OK;
}

/* --- the node --------------------------------------------------------------------------------- */

static bool has_reference(const qdq_node *n)
{
    for (uint32_t i = 0; i < n->n_attr; i++)
        if (n->attr[i]->ref != NULL)
            return true;
    return false;
}

/* Where the output channels of the weight are. NULL: known. */
static const char *find_channels(qdq_linear *l)
{
    const qdq_tensor *w = l->weight;
    const qdq_node *n = l->node;

    l->group = 1;
    l->rank = w->rank;
    if (w->count < 1 || w->rank < 2)
        return "its weight is empty, or has less than two dims";
    switch ((int)n->op) {
    case QDQ_OP_CONV:
        l->axis = 0;
        break;
    case QDQ_OP_CONVTRANSPOSE:
        l->axis = 1;
        l->group = qdq_node_int(n, "group", 1);
        if (l->group < 1 || w->dim[0] % l->group != 0)
            return "its groups do not divide its input channels";
        break;
    default: /* Gemm, MatMul */
        l->axis = n->op == QDQ_OP_GEMM && qdq_node_int(n, "transB", 0) != 0 ? 0 : 1;
        if (w->rank != 2)
            return "its weight is not a matrix";
    }
    l->channels = l->group * w->dim[l->axis]; /* at most count: the groups divide another dim */
    if (l->dq == NULL && w->elem != QDQ_FLOAT && w->elem != QDQ_FLOAT16 && w->elem != QDQ_BFLOAT16)
        /* nor can its bias be read */
        return "its weight is not of type float, float16 or bfloat16";
    return NULL;
}

qdq_status qdq_linear_read(qdq_opt *o, qdq_node *n, qdq_linear *out, bool *is, const char **why,
                           qdq_error *err)
{
    qdq_value *w = qdq_node_in(n, 1);
    qdq_node *p = w != NULL ? w->producer : NULL;

    *out = (qdq_linear){.node = n};
    *why = NULL;
    *is = false;
    if (!qdq_op_is_linear(n->op) || w == NULL || qdq_node_in(n, 0) == NULL ||
        qdq_node_out(n, 0) == NULL)
        return QDQ_OK;
    out->weight = qdq_value_const(w);
    if (out->weight == NULL && p != NULL && p->op == QDQ_OP_DEQUANTIZELINEAR &&
        qdq_node_in(p, 0) != NULL) {
        qdq_value *codes = p->in[0].value;

        out->dq = p;
        out->weight = qdq_value_const(codes);
        if (out->weight == NULL && codes->producer != NULL &&
            codes->producer->op == QDQ_OP_QUANTIZELINEAR &&
            qdq_node_in(codes->producer, 0) != NULL) {
            out->q = codes->producer;
            out->weight = qdq_value_const(out->q->in[0].value);
        }
    }
    if (out->weight == NULL)
        return QDQ_OK;
    *is = true;
    *why = has_reference(n) ? "an attribute of it is set by the caller of the function"
                            : find_channels(out);
    if (*why != NULL || out->dq == NULL)
        return QDQ_OK;
    QDQ_TRY(qdq_params_read(out->dq, out->weight, &o->scratch, &out->params, why, err));
    return QDQ_OK;
}

/* --- bias ------------------------------------------------------------------------------------- */

/* [channels], or [1, channels] as Gemm may have it. */
static bool is_row(const qdq_tensor *t, int64_t channels)
{
    return t->count == channels && (t->rank == 0 || t->dim[t->rank - 1] == channels);
}

/* Codes behind DQ, (code - zero) * scale; also of a constant that Q and DQ follow. */
static qdq_status read_codes(qdq_opt *o, const qdq_linear *l, qdq_bias *b, const char **why,
                             qdq_error *err)
{
    const qdq_value *v = qdq_node_in(b->dq, 0);
    const qdq_node *q = v != NULL ? v->producer : NULL;
    qdq_span bytes = {NULL, 0};
    void *computed;
    qdq_elem type;

    b->codes = qdq_value_const(v);
    if (b->codes == NULL && q != NULL && q->op == QDQ_OP_QUANTIZELINEAR &&
        qdq_node_in(q, 0) != NULL)
        b->codes = qdq_value_const(q->in[0].value);
    else
        q = NULL;
    *why = b->codes == NULL ? "its bias is computed" : NULL;
    if (*why == NULL && !is_row(b->codes, l->channels))
        *why = "its bias is not one number per channel";
    if (*why == NULL)
        QDQ_TRY(qdq_params_read(b->dq, b->codes, &o->scratch, &b->params, why, err));
    if (*why == NULL &&
        (b->params.block != 0 || (b->params.count != 1 && b->params.count != l->channels)))
        *why = "its bias has not one scale, or one per channel";
    if (*why == NULL && q != NULL) {
        QDQ_TRY(qdq_quantize_constant(q, b->codes, &o->scratch, &type, &computed, why, err));
        bytes.data = computed;
    } else if (*why == NULL) {
        type = b->codes->elem;
        qdq_status st = qdq_tensor_data(b->codes, &o->scratch, &bytes, err);
        if (st != QDQ_OK && st != QDQ_E_NOMEM)
            *why = "its bias cannot be read";
        else
            QDQ_TRY(st);
    }
    if (*why == NULL && !qdq_elem_is_int(type))
        *why = "its bias has codes that are no integers";
    for (int64_t c = 0; c < l->channels && *why == NULL; c++) {
        int64_t i = b->params.count > 1 ? c : 0;

        b->value[c] = (double)(qdq_elem_int(type, bytes.data, c) - qdq_params_zero(&b->params, i)) *
                      (double)b->params.scale[i];
    }
    return QDQ_OK;
}

/* Gemm's C may have any shape that broadcasts; that of the others is [channels], whatever rank the
 * output has. */
static qdq_status read_floats(qdq_opt *o, const qdq_linear *l, const qdq_value *v, qdq_bias *b,
                              const char **why, qdq_error *err)
{
    const qdq_tensor *t = qdq_const_elements(v);
    double *x = NULL;

    if (t == NULL) {
        *why = "its bias is computed";
        return QDQ_OK;
    }
    if (l->node->op == QDQ_OP_GEMM || l->node->op == QDQ_OP_MATMUL)
        QDQ_TRY(qdq_per_channel(o, v, l->rank, l->channels, &x, err));
    else if (t->count == l->channels)
        QDQ_TRY(read_doubles(o, t, &x, err));
    if (x == NULL)
        *why = "its bias is not one number per channel";
    else
        b->value = x;
    return QDQ_OK;
}

qdq_status qdq_bias_read(qdq_opt *o, const qdq_linear *l, const qdq_value *v, qdq_bias *out,
                         const char **why, qdq_error *err)
{
    double beta = l->node->op == QDQ_OP_GEMM ? (double)qdq_node_float(l->node, "beta", 1) : 1;

    *out = (qdq_bias){.value = qdq_arena_array(&o->scratch, (size_t)l->channels, sizeof(double))};
    *why = NULL;
    QDQ_NEED(out->value != NULL, err);
    if (v == NULL)
        return QDQ_OK;
    if (v->producer != NULL && v->producer->op == QDQ_OP_DEQUANTIZELINEAR) {
        out->dq = v->producer;
        QDQ_TRY(read_codes(o, l, out, why, err));
    } else {
        QDQ_TRY(read_floats(o, l, v, out, why, err));
    }
    for (int64_t c = 0; c < l->channels && *why == NULL; c++) {
        out->value[c] *= beta;
        if (!isfinite(out->value[c]))
            *why = "its bias is not finite";
    }
    return QDQ_OK;
}

void qdq_linear_drop(qdq_value *v)
{
    while (v != NULL && v->n_use == 0 && v->n_output == 0) {
        qdq_node *n = v->producer;
        qdq_value *data = n != NULL ? qdq_node_in(n, 0) : NULL;

        if (n == NULL) {
            qdq_value_remove_if_unused(v);
            return;
        }
        if (!qdq_node_is_qdq(n) || n->n_out != 1)
            return;
        for (uint32_t i = n->n_in; i-- > 0;) {
            qdq_value *in = n->in[i].value;

            qdq_node_set_in(n, i, NULL);
            if (in != NULL && in != data)
                qdq_value_remove_if_unused(in);
        }
        qdq_node_remove(n);
        v = data; /* Q before DQ, or the constant */
    }
}

qdq_status qdq_bias_set(const qdq_linear *l, qdq_value *b, qdq_error *err)
{
    qdq_node *n = l->node;
    qdq_value *old = qdq_node_in(n, 2);

    if (n->n_in > 2)
        qdq_node_set_in(n, 2, b);
    else if (!qdq_node_append_in(n, b))
        return qdq_nomem(err);
    if (n->op == QDQ_OP_GEMM && qdq_node_attr(n, "beta") != NULL &&
        !qdq_node_set_float(n, "beta", 1))
        return qdq_nomem(err);
    if (old != NULL && old != b)
        qdq_linear_drop(old);
    return QDQ_OK;
}
