/* quantize_bias_range.c - int32 codes of a bias, and what to do with one that does not fit.
 *
 *     scale = float(x_scale * weight_scale),  code = round_half_even(bias / scale)
 *
 * Kernels start the accumulator at the code, so a code must leave room for what is added to it. If
 * it does not (a channel that BatchNormalization has all but switched off: its weights are 1e-9,
 * its bias is not), the channel's weight scale is raised until it does; by definition the weights
 * hardly matter there. The factor of 1.0001 is that of ONNX Runtime's tool since its PR 22020. All
 * arithmetic is double: in float, the largest int32 rounds up to 2^31, and quotients above 2^24
 * have no last digit. */
#include "opt/qdq/quantize_bias.h"

#include <float.h>
#include <math.h>

#include "target/qparam.h"

#define HEADROOM 1.0001

double qdq_bias_room(double accumulator)
{
    return INT32_MAX - fmin(accumulator, INT32_MAX / 2);
}

/* A product that float stores as 0, or with few bits, or not at all. */
static bool is_unusable(float scale)
{
    return !(scale >= FLT_MIN) || !isfinite(scale);
}

static float product(const qdq_bias_codes *b, double weight)
{
    return (float)(b->x_scale * weight);
}

/* The scales that channel c's bias needs. */
static void demand(qdq_bias_codes *b, int64_t c)
{
    int64_t i = c % b->n_scale;
    float scale = product(b, b->weight[i]);
    double size = fabs(b->bias[c]), need = 0;

    if (is_unusable(scale))
        need = (double)FLT_MIN * HEADROOM / b->x_scale;
    if (is_unusable(scale) || size / (double)scale > b->max_code[c])
        need = fmax(need, size * HEADROOM / (b->x_scale * b->max_code[c]));
    b->raises |= need > b->least[i];
    b->least[i] = fmax(b->least[i], need);
}

static void encode(qdq_bias_codes *b, int64_t c)
{
    float scale = b->scale[c % b->n_scale];
    int32_t code = qdq_quantize_bias(b->bias[c], scale);

    if (code == INT32_MIN && (b->policy & QDQ_BIAS_SYMMETRIC) != 0)
        code = -INT32_MAX;
    b->code[c] = code;
    double error = fabs(b->bias[c] - (double)code * (double)scale);
    if (error > 0.75 * (double)scale) { /* more than rounding */
        b->saturated++;
        b->largest_error = fmax(b->largest_error, error);
    }
}

/* Without raising, a scale that is unusable is replaced by one that is good for a bias of 0
 * only. */
static void keep_scales(qdq_bias_codes *b)
{
    for (int64_t i = 0; i < b->n_scale; i++) {
        bool zero = true;

        b->least[i] = 0;
        b->scale[i] = product(b, b->weight[i]);
        for (int64_t c = i; c < b->channels; c += b->n_scale)
            zero &= b->bias[c] == 0;
        if (is_unusable(b->scale[i]))
            b->scale[i] = zero ? (float)b->x_scale : FLT_MIN;
    }
    b->raises = false;
}

const char *qdq_bias_encode(qdq_bias_codes *b)
{
    for (int64_t c = 0; c < b->channels; c++)
        demand(b, c);
    if (b->raises && (b->policy & QDQ_BIAS_SKIP) != 0)
        return "its bias does not fit into int32 at the scale of data times weight";
    if (b->raises && (b->policy & QDQ_BIAS_SATURATE) != 0)
        keep_scales(b);
    else
        for (int64_t i = 0; i < b->n_scale; i++)
            b->scale[i] = product(b, (double)(float)fmax(b->weight[i], b->least[i]));
    for (int64_t i = 0; i < b->n_scale; i++)
        if (is_unusable(b->scale[i]))
            return "the scale of data times weight is not a normal float";
    for (int64_t c = 0; c < b->channels; c++)
        encode(b, c);
    return NULL;
}
