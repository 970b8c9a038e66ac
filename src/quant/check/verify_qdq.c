/* verify_qdq.c - QuantizeLinear and DequantizeLinear on known tensors, as ONNX defines them: 8 and
 * 16 bits, int32 on the way back, one scale or one for each channel. */

#include "base/fail.h"
#include "quant/check/verify_state.h"
#include "target/qparam.h"

/* How the elements lie: `outer` times `channels` times `inner`. */
typedef struct layout {
    int64_t outer, channels, inner;
} layout;

static bool is_code(qdq_elem e)
{
    return e == QDQ_INT8 || e == QDQ_UINT8 || e == QDQ_INT16 || e == QDQ_UINT16;
}

static bool find_layout(const qdq_node *n, const qdq_const *x, const qdq_const *scale, layout *l)
{
    int64_t axis = qdq_node_int(n, "axis", 1);

    *l = (layout){1, 1, x->count};
    if (scale->count == 1)
        return true;
    axis += axis < 0 ? x->rank : 0;
    if (scale->rank != 1 || axis < 0 || axis >= x->rank || x->dim[axis] != scale->count)
        return false;
    *l = (layout){1, scale->count, 1};
    for (int i = 0; i < axis; i++)
        l->outer *= x->dim[i];
    for (int i = (int)axis + 1; i < x->rank; i++)
        l->inner *= x->dim[i];
    return true;
}

static qdq_qparam param(qdq_elem type, const qdq_const *scale, const qdq_const *zero,
                        int64_t channel)
{
    return (qdq_qparam){
        .type = type,
        .scale = qdq_elem_float(scale->elem, scale->data, channel),
        .zero_point = zero != NULL ? (int32_t)qdq_elem_int(zero->elem, zero->data, channel) : 0};
}

static void biases(const qdq_qparam *p, const char *from, int64_t n, float *to)
{
    for (int64_t i = 0; i < n; i++)
        to[i] =
            (float)((double)(qdq_elem_int(QDQ_INT32, from, i) - p->zero_point) * (double)p->scale);
}

static void convert_runs(const layout *l, qdq_elem type, bool to_codes, const qdq_const *const *in,
                         char *to)
{
    const size_t from_size = to_codes            ? sizeof(float)
                             : type == QDQ_INT32 ? sizeof(int32_t)
                                                 : qdq_code_size(type);
    const size_t to_size = to_codes ? qdq_code_size(type) : sizeof(float);
    const char *from = in[0]->data;

    for (int64_t k = 0; k < l->outer * l->channels; k++) {
        const qdq_qparam p = param(type, in[1], in[2], k % l->channels);

        if (to_codes)
            qdq_quantize_floats(&p, (const float *)(const void *)from, (size_t)l->inner, to);
        else if (type == QDQ_INT32)
            biases(&p, from, l->inner, (float *)(void *)to);
        else
            qdq_dequantize_floats(&p, from, (size_t)l->inner, (float *)(void *)to);
        from += (size_t)l->inner * from_size;
        to += (size_t)l->inner * to_size;
    }
}

bool qdq_verify_converts(const qdq_node *n)
{
    return qdq_node_is_qdq(n) && n->domain[0] == '\0';
}

qdq_status qdq_verify_convert(const qdq_node *n, const qdq_const *const *in, qdq_arena *memory,
                              qdq_const *out, const char **why, qdq_error *err)
{
    const bool to_codes = n->op == QDQ_OP_QUANTIZELINEAR;
    layout l;

    if (in[0] == NULL || in[1] == NULL || in[1]->elem != QDQ_FLOAT ||
        qdq_node_int(n, "block_size", 0) != 0 || !find_layout(n, in[0], in[1], &l) ||
        (in[2] != NULL && in[2]->count != in[1]->count)) {
        *why = "scales of another form than one float, or one for each channel";
        return QDQ_OK;
    }
    const qdq_elem type = !to_codes ? in[0]->elem : in[2] != NULL ? in[2]->elem : QDQ_UINT8;
    if (to_codes ? in[0]->elem != QDQ_FLOAT || !is_code(type)
                 : !is_code(type) && type != QDQ_INT32) {
        *why = "types other than float and integers of 8 or 16 bits";
        return QDQ_OK;
    }
    const size_t bytes = (size_t)in[0]->count * (to_codes ? qdq_code_size(type) : sizeof(float));
    char *data = qdq_arena_alloc(memory, bytes + 1);
    QDQ_NEED(data != NULL, err);
    *out = *in[0];
    out->elem = to_codes ? type : QDQ_FLOAT;
    out->data = data;
    out->bytes = bytes;
    convert_runs(&l, type, to_codes, in, data);
    return QDQ_OK;
}
