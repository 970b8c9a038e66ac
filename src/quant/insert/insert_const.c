/* insert_const.c - biases of a plan: float initializer -> int32 initializer with scale activation *
 * weight, DQ. Either scale of a bias is that of an entry of the plan, or that of a DQ which the
 * model has already. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "target/existing_qdq.h"
#include "quant/insert/insert_state.h"
#include "quant/weights/half_numbers.h"

/* What the scale of a bias is made of. */
typedef struct bias_scale {
    float activation;
    /* scales: one, or one per channel */
    const float *weight;
    size_t n;
    /* pow2: of the weight */
    bool per_channel, pow2;
    /* the same, if they may be enlarged; else NULL */
    float *enlargeable;
} bias_scale;

static bool have_reader(const qdq_inserter *in, const qdq_edges *edges, const qdq_node *n)
{
    for (size_t i = 0; i < edges->n; i++)
        if (qdq_insert_find_node(in, edges->at[i].node) == n)
            return true;
    return false;
}

/* Plans are sorted, so entries of one tensor lie side by side, the one for all readers first. Where
 * there are several, with other scales for other readers, the bias follows the one that its linear
 * node reads. */
#define ENTRY_OF(list, first, linear, for_all, out)                                                \
    do {                                                                                           \
        size_t first_ = (first), i_ = first_;                                                      \
        while (i_ + 1 < (list).n &&                                                                \
               strcmp((list).at[i_ + 1].tensor, (list).at[first_].tensor) == 0 &&                  \
               !have_reader(in, &(list).at[i_].consumers, (linear)))                               \
            i_++;                                                                                  \
        (out) = (for_all) && !have_reader(in, &(list).at[i_].consumers, (linear)) ? first_ : i_;   \
    } while (0)

/* The DQ of the model that a plan may name instead of an entry of its own; NULL: none. */
static const qdq_node *dq_in_model(const qdq_inserter *in, const char *tensor)
{
    const qdq_value *v = qdq_insert_find_value(in, tensor);

    return v != NULL && v->producer != NULL && v->producer->op == QDQ_OP_DEQUANTIZELINEAR
               ? v->producer
               : NULL;
}

/* The scale of an activation behind a DQ of the model; 0: there is none that is known. */
static qdq_status activation_in_model(qdq_inserter *in, const char *tensor, float *scale)
{
    const qdq_node *dq = dq_in_model(in, tensor);
    qdq_found found = {0};
    qdq_qparam param;

    if (dq != NULL)
        QDQ_TRY(qdq_found_read(dq, &in->scratch, &found, in->err));
    *scale = qdq_found_qparam(&found, &param) ? param.scale : 0;
    return QDQ_OK;
}

static qdq_status weight_scale(qdq_inserter *in, const qdq_plan_bias *b, const qdq_node *linear,
                               bias_scale *s)
{
    const qdq_map_value *known = qdq_map_get(&in->weights, b->weight);
    qdq_found found;
    size_t i;

    if (known == NULL) {
        QDQ_TRY(qdq_found_read(dq_in_model(in, b->weight), &in->scratch, &found, in->err));
        s->weight = found.params.scale;
        s->n = (size_t)found.params.count;
        s->per_channel = found.axis >= 0;
        return QDQ_OK;
    }
    ENTRY_OF(in->plan->weights, known->num, linear, false, i);
    s->weight = in->weight[i].scales;
    s->n = qdq_scale_count(&in->weight[i].grid);
    s->per_channel = in->plan->weights.at[i].axis >= 0;
    if (in->plan->weights.at[i].block != 0)
        return qdq_fail(in->err, QDQ_E_FORMAT,
                        "its weight '%s' is in blocks, expected one scale or one per channel",
                        b->weight);
    if (in->plan->weights.at[i].scales == NULL)
        s->enlargeable = in->weight[i].scales;
    s->pow2 = in->plan->weights.at[i].pow2;
    return QDQ_OK;
}

static qdq_status scale_of_bias(qdq_inserter *in, const qdq_plan_bias *b, bias_scale *s)
{
    const qdq_node *reader = qdq_insert_find_node(in, b->consumer.node);
    const qdq_node *linear = qdq_bias_linear(reader, b->consumer.input);
    const qdq_map_value *known = qdq_map_get(&in->tensors, b->activation);
    size_t i;

    *s = (bias_scale){0};
    linear = linear != NULL ? linear : reader;
    if (known != NULL) {
        ENTRY_OF(in->plan->tensors, known->num, linear, in->plan->tensors.at[known->num].all, i);
        s->activation = in->plan->tensors.at[i].qparam.scale;
    } else {
        QDQ_TRY(activation_in_model(in, b->activation, &s->activation));
    }
    return weight_scale(in, b, linear, s);
}

qdq_status qdq_insert_check_bias(qdq_inserter *in, size_t index, qdq_buf *list)
{
    const qdq_plan_bias *b = &in->plan->biases.at[index];
    const qdq_node *w = dq_in_model(in, b->weight);
    qdq_found found = {0};
    float scale = 1;

    if (qdq_map_get(&in->tensors, b->activation) == NULL)
        QDQ_TRY(activation_in_model(in, b->activation, &scale));
    if (scale == 0)
        qdq_buf_printf(list, " scale of '%s' (for bias '%s');", b->activation, b->tensor);
    if (qdq_map_get(&in->weights, b->weight) != NULL)
        return QDQ_OK;
    if (w != NULL)
        QDQ_TRY(qdq_found_read(w, &in->scratch, &found, in->err));
    if (!found.known)
        qdq_buf_printf(list, " scales of '%s' (for bias '%s');", b->weight, b->tensor);
    return QDQ_OK;
}

static qdq_status bias_floats(qdq_inserter *in, const qdq_plan_bias *b, const bias_scale *s,
                              const qdq_tensor **t, const float **out)
{
    /* what the reader has now: a correction may have copied it */
    *t = qdq_node_const(qdq_insert_find_node(in, b->consumer.node), b->consumer.input);
    if (s->per_channel && ((*t)->rank != 1 || (size_t)(*t)->count != s->n))
        return qdq_fail(in->err, QDQ_E_FORMAT,
                        "expected one number for each of the %zu channels of weight '%s'", s->n,
                        b->weight);
    QDQ_TRY(qdq_weight_floats(*t, &in->scratch, out, in->err));
    if (qdq_absmax(*out, (size_t)(*t)->count) < 0)
        return qdq_fail(in->err, QDQ_E_FORMAT, "it holds NaN or infinity, expected finite numbers");
    return QDQ_OK;
}

/* A channel whose bias does not fit into int32 at scale activation * weight gets a larger weight
 * scale: the 8-bit kernels clip such a bias silently. Scales that the plan gives are the user's,
 * and stay, as those of the model do. */
qdq_status qdq_insert_room(qdq_inserter *in, size_t index)
{
    const qdq_plan_bias *b = &in->plan->biases.at[index];
    const qdq_tensor *t;
    const float *bias;
    bias_scale s;

    QDQ_TRY(scale_of_bias(in, b, &s));
    if (s.enlargeable == NULL)
        return QDQ_OK;
    QDQ_TRY(bias_floats(in, b, &s, &t, &bias));
    for (int64_t i = 0; i < t->count; i++) {
        float *scale = &s.enlargeable[s.per_channel ? i : 0];
        double least = qdq_bias_scale_min(bias[i]) / (double)s.activation;

        if ((double)*scale < least) {
            double wide =
                fmin(s.pow2 ? qdq_power_of_two(least) : least, s.pow2 ? 0x1p127 : (double)FLT_MAX);
            *scale = qdq_half_round_up((float)wide, in->plan->half.type);
        }
    }
    return QDQ_OK;
}

qdq_status qdq_insert_bias(qdq_inserter *in, size_t index)
{
    const qdq_plan_bias *b = &in->plan->biases.at[index];
    qdq_node *reader = qdq_insert_find_node(in, b->consumer.node);
    const qdq_tensor *t;
    const float *bias;
    qdq_value *dequantized;
    bias_scale s;
    void *data;

    in->g = reader->graph;
    QDQ_TRY(scale_of_bias(in, b, &s));
    QDQ_TRY(bias_floats(in, b, &s, &t, &bias));
    float *scales = qdq_arena_array(&in->scratch, s.n, sizeof *scales);
    qdq_tensor *codes = qdq_tensor_new(in->m, QDQ_INT32, t->rank, t->dim, &data);
    QDQ_NEED(scales != NULL && codes != NULL, in->err);
    for (size_t i = 0; i < s.n; i++)
        scales[i] = s.activation * s.weight[i];
    for (int64_t i = 0; i < t->count; i++) {
        int32_t code = qdq_quantize_bias(bias[i], scales[s.per_channel ? i : 0]);
        memcpy((char *)data + i * (int64_t)sizeof code, &code, sizeof code);
    }
    qdq_scale_form form = qdq_one_scale;
    if (s.per_channel)
        form = (qdq_scale_form){0, 0, 1, {(int64_t)s.n}};
    const qdq_quantizer q = {
        .base = b->tensor,
        .form = &form,
        .input = {qdq_insert_constant(in, in->g, b->tensor, "_quantized", codes),
                  qdq_insert_scales(in, b->tensor, &form, scales), NULL}};
    QDQ_NEED(q.input[0] != NULL && q.input[1] != NULL, in->err);
    QDQ_TRY(qdq_insert_back(in, reader, &q, codes, &dequantized));
    qdq_value *was = qdq_node_in(reader, b->consumer.input);
    qdq_node_set_in(reader, b->consumer.input, dequantized);
    if (was != qdq_insert_find_value(in, b->tensor))
        qdq_value_remove_if_unused(was); /* a corrected copy */
    return QDQ_OK;
}
