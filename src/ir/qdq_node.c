/* qdq_node.c - reads the inputs and attributes of QuantizeLinear and DequantizeLinear. Rules:
 * QuantizeLinear and DequantizeLinear of the ONNX operator specification, versions 10 (one
 * scale), 13 (axis), 19 (float8), 21 (blocks, 4 and 16 bits, output_dtype of Q). */
#include "ir/qdq_node.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "base/words.h"

typedef struct reading {
    const qdq_node *n;
    qdq_arena *scratch;
    qdq_params *out;
    const char *why;
} reading;

/* A tensor that cannot be read is a reason; only memory is an error. */
static qdq_status or_reason(reading *r, qdq_status st, const char *why)
{
    if (st == QDQ_OK || st == QDQ_E_NOMEM)
        return st;
    r->why = why;
    return QDQ_OK;
}

static qdq_status read_scale(reading *r, const qdq_tensor *t, qdq_error *err)
{
    float *scale = NULL;

    if (!qdq_elem_is_float(t->elem) || t->count < 1) {
        r->why = "its scale is not a float tensor";
        return QDQ_OK;
    }
    QDQ_TRY(
        or_reason(r, qdq_tensor_floats(t, r->scratch, &scale, err), "its scale cannot be read"));
    if (r->why != NULL)
        return QDQ_OK;
    r->out->scale = scale;
    r->out->scale_elem = t->elem;
    r->out->count = t->count;
    r->out->positive = true;
    for (int64_t i = 0; i < t->count; i++) {
        if (!(scale[i] >= 0) || !isfinite(scale[i]))
            r->why = "its scale is negative or not finite";
        r->out->positive &= scale[i] > 0;
    }
    return QDQ_OK;
}

/* Zero points of float8 codes are floats, and 0. */
static qdq_status read_float_zero(reading *r, const qdq_tensor *t, qdq_error *err)
{
    float *zero = NULL;

    QDQ_TRY(or_reason(r, qdq_tensor_floats(t, r->scratch, &zero, err),
                      "its zero point cannot be read"));
    for (int64_t i = 0; i < t->count && r->why == NULL; i++)
        if (zero[i] != 0)
            r->why = "its zero point is not 0, as that of float codes must be";
    return QDQ_OK;
}

static qdq_status read_zero(reading *r, const qdq_tensor *t, qdq_error *err)
{
    qdq_span bytes = {NULL, 0};
    int32_t *zero;

    if (t->count != r->out->count) {
        r->why = "it has not as many zero points as scales";
        return QDQ_OK;
    }
    zero = qdq_arena_array(r->scratch, (size_t)t->count, sizeof *zero);
    QDQ_NEED(zero != NULL, err);
    r->out->zero = zero;
    if (qdq_elem_is_float(t->elem) && qdq_elem_bits(t->elem) <= 8)
        return read_float_zero(r, t, err);
    if (!qdq_elem_is_int(t->elem) || qdq_elem_bits(t->elem) > 32 || t->elem == QDQ_UINT32 ||
        t->elem == QDQ_BOOL) {
        r->why = "its zero point is of no type for codes";
        return QDQ_OK;
    }
    QDQ_TRY(
        or_reason(r, qdq_tensor_data(t, r->scratch, &bytes, err), "its zero point cannot be read"));
    for (int64_t i = 0; i < t->count && r->why == NULL; i++)
        zero[i] = (int32_t)qdq_elem_int(t->elem, bytes.data, i);
    return QDQ_OK;
}

static qdq_elem codes_of_q(const qdq_node *q)
{
    const qdq_value *zero = qdq_node_in(q, 2);
    int64_t type = qdq_node_int(q, "output_dtype", 0);

    if (zero != NULL)
        return qdq_value_const(zero) != NULL ? qdq_value_const(zero)->elem : QDQ_UNDEFINED;
    if (type != 0)
        return type > 0 && type < QDQ_ELEM_COUNT ? (qdq_elem)type : QDQ_UNDEFINED;
    return QDQ_UINT8;
}

/* The data itself decides; where nothing is known of it, the zero point, which has the same
 * type. */
static qdq_elem codes_of(const qdq_node *n)
{
    const qdq_value *x = qdq_node_in(n, 0);
    const qdq_tensor *zero = qdq_node_const(n, 2);

    if (n->op == QDQ_OP_QUANTIZELINEAR)
        return codes_of_q(n);
    if (qdq_value_const(x) != NULL)
        return qdq_value_const(x)->elem;
    if (x != NULL && x->producer != NULL && x->producer->op == QDQ_OP_QUANTIZELINEAR)
        return codes_of_q(x->producer);
    if (zero != NULL)
        return zero->elem;
    return qdq_value_elem(x);
}

/* Blocks: the scales have the rank of the data, and its dims but for the axis. */
static bool are_blocks(const qdq_tensor *scale, const qdq_tensor *data, int axis, int64_t block)
{
    if (scale->rank != data->rank || block < 1)
        return false;
    for (int i = 0; i < data->rank; i++) {
        int64_t d = data->dim[i];

        if (scale->dim[i] != (i == axis ? d / block + (d % block != 0) : d))
            return false;
    }
    return true;
}

/* The axis counts only where there are several scales, or blocks. ONNX: 1 if it is not given,
 * negative ones count from behind. */
static void read_axis(reading *r, const qdq_tensor *scale, const qdq_tensor *data)
{
    int64_t axis = qdq_node_int(r->n, "axis", 1), block = qdq_node_int(r->n, "block_size", 0);

    r->out->axis = -1;
    if (block == 0 && scale->rank == 0)
        return;
    if (data == NULL) {
        r->why = scale->count == 1 && block == 0
                     ? NULL
                     : "it has several scales for data of unknown shape";
        return;
    }
    axis += axis < 0 ? data->rank : 0;
    bool inside = axis >= 0 && axis < data->rank;
    if (block != 0) {
        if (!inside || !are_blocks(scale, data, (int)axis, block))
            r->why = "its scales do not fit its blocks";
        r->out->axis = (int)axis;
        r->out->block = block;
    } else if (inside && scale->rank == 1 && data->dim[axis] == scale->count) {
        r->out->axis = (int)axis;
    } else if (scale->count != 1) { /* a list of one scale is one scale */
        r->why = "it has not one scale for each channel of its axis";
    }
}

static qdq_status read_params(reading *r, const qdq_tensor *data, qdq_error *err)
{
    const qdq_tensor *scale = qdq_node_const(r->n, 1), *zero = qdq_node_const(r->n, 2);

    if (!qdq_node_is_qdq(r->n))
        r->why = "it is no QuantizeLinear or DequantizeLinear";
    else if (scale == NULL)
        r->why = "its scale is computed";
    else if (qdq_node_in(r->n, 2) != NULL && zero == NULL)
        r->why = "its zero point is computed";
    if (r->why != NULL)
        return QDQ_OK;
    r->out->codes = codes_of(r->n);
    QDQ_TRY(read_scale(r, scale, err));
    if (r->why == NULL)
        read_axis(r, scale, data);
    if (r->why == NULL && zero != NULL)
        QDQ_TRY(read_zero(r, zero, err));
    if (r->why == NULL && zero != NULL && r->out->codes != zero->elem)
        r->why = "its zero point is of another type than its codes";
    return QDQ_OK;
}

qdq_status qdq_params_read(const qdq_node *n, const qdq_tensor *quantized, qdq_arena *scratch,
                           qdq_params *out, const char **why, qdq_error *err)
{
    reading r = {n, scratch, out, NULL};

    *out = (qdq_params){.codes = QDQ_UNDEFINED, .axis = -1};
    qdq_status st = read_params(&r, quantized, err);
    *why = r.why;
    return st;
}

bool qdq_params_equal(const qdq_params *a, const qdq_params *b)
{
    if (a->codes != b->codes || a->scale_elem != b->scale_elem || a->count != b->count ||
        a->axis != b->axis || a->block != b->block ||
        memcmp(a->scale, b->scale, (size_t)a->count * sizeof *a->scale) != 0)
        return false;
    for (int64_t i = 0; i < a->count; i++)
        if (qdq_params_zero(a, i) != qdq_params_zero(b, i))
            return false;
    return true;
}

qdq_status qdq_channels_of(const qdq_tensor *t, int axis, qdq_channels *out, qdq_error *err)
{
    *out = (qdq_channels){1, 1, (size_t)t->count};
    if (axis < 0)
        return QDQ_OK;
    if (axis >= t->rank)
        return qdq_fail(err, QDQ_E_FORMAT, "tensor '%s': axis %d, but its rank is %d", t->name,
                        axis, t->rank);
    out->inner = 1;
    for (int i = 0; i < t->rank; i++) {
        if (i < axis)
            out->outer *= (size_t)t->dim[i];
        else if (i > axis)
            out->inner *= (size_t)t->dim[i];
    }
    out->channels = (size_t)t->dim[axis];
    if (t->count == 0) /* the other dims may be anything then, and their product wrap */
        out->outer = out->inner = 0;
    return QDQ_OK;
}

qdq_scale_grid qdq_scale_grid_of(const qdq_tensor *t, int axis, int64_t block)
{
    qdq_scale_grid g = {{1, 1, (size_t)t->count}, (size_t)block, 0};

    (void)qdq_channels_of(t, axis, &g.c, NULL);
    if (g.block != 0)
        g.n_block = g.c.channels / g.block + (g.c.channels % g.block != 0);
    return g;
}

const qdq_node *qdq_bias_linear(const qdq_node *reader, uint32_t input)
{
    if (reader->op != QDQ_OP_ADD)
        return reader;
    const qdq_value *other = input < 2 ? qdq_node_in(reader, 1 - input) : NULL;
    return other != NULL ? other->producer : NULL;
}

bool qdq_node_is_contrib(const qdq_node *n, const char *type)
{
    return strcmp(n->domain, "com.microsoft") == 0 && strcmp(n->type, type) == 0;
}

bool qdq_node_is_qoperator(const qdq_node *n)
{
    if (QDQ_OP_IS_IN(n->op, QDQ_OP_QLINEARCONV, QDQ_OP_QLINEARMATMUL, QDQ_OP_CONVINTEGER,
                     QDQ_OP_MATMULINTEGER))
        return true;
    return strcmp(n->domain, "com.microsoft") == 0 &&
           QDQ_TEXT_BEGINS(n->type, "QLinear", "QGemm", "QAttention", "QEmbed", "QMoE", "QOrdered",
                           "DynamicQuantize", "MatMulInteger", "MatMulNBits", "MatMulBnb4",
                           "MatMulFpQ4", "GatherBlockQuantized", "QuantizeLinear",
                           "DequantizeLinear");
}

bool qdq_node_is_known_contrib(const qdq_node *n)
{
    return strcmp(n->domain, "com.microsoft") == 0 &&
           QDQ_WORD_IS_IN(n->type, "MatMulNBits", "GatherBlockQuantized", "DynamicQuantizeLSTM",
                          "QuantizeLinear", "DequantizeLinear", "QGemm", "QLinearAdd", "QLinearMul",
                          "QLinearConcat", "QLinearAveragePool", "QLinearGlobalAveragePool",
                          "QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax", "QLinearWhere");
}

bool qdq_model_has_qdq(const qdq_model *m)
{
    QDQ_FOR_GRAPHS (g, m)
        QDQ_FOR_NODES (n, g)
            if (qdq_node_is_qdq(n))
                return true;
    return false;
}
