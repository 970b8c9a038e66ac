/* linear.h - Conv, ConvTranspose, Gemm and MatMul as fold-batchnorm and quantize-bias see them:
 * where the output channels of the weight are, what quantizes it, what the bias is; and how both
 * are replaced. Whatever is replaced is replaced for one node: a weight, DQ or bias that others
 * read stays as it is for them. */
#ifndef QDQ_LINEAR_H
#define QDQ_LINEAR_H

#include "ir/qdq_node.h"
#include "opt/opt.h"

typedef struct qdq_linear {
    qdq_node *node;
    /* constant: floats (behind Q, if there is one), or codes */
    const qdq_tensor *weight;
    /* of the weight, along which its output channels lie */
    int axis;
    /* ConvTranspose: output channels that share one index of the axis; else 1 */
    int64_t group;
    /* of the output: group times the dim of the axis */
    int64_t channels;
    /* of the output, whose channels are dim 1 */
    int rank;
    /* NULL: floats without Q/DQ; q NULL: stored codes */
    qdq_node *dq, *q;
    /* of dq, if there is one */
    qdq_params params;
} qdq_linear;

/* *is false: no such node, or its weight is no constant, and nothing is to be said about it. Else
 * *why NULL, or what is wrong with it for passes. */
qdq_status qdq_linear_read(qdq_opt *o, qdq_node *n, qdq_linear *out, bool *is, const char **why,
                           qdq_error *err);

/* The output channel that element [outer, k, ...] of the weight, seen by l->axis, belongs to. */
static inline size_t qdq_linear_channel(const qdq_linear *l, const qdq_channels *c, size_t outer,
                                        size_t k)
{
    return outer / (c->outer / (size_t)l->group) * c->channels + k;
}

/* --- constants -------------------------------------------------------------------------------- */

/* The tensor whose elements, in order, `v` has: a constant, or one behind operators that only
 * change its shape or convert it to float. NULL: not known. Its shape may be another one than that
 * of `v`. */
const qdq_tensor *qdq_const_elements(const qdq_value *v);

/* A known value that, added to [N, channels, ...] of this rank, is one number per channel and
 * changes no shape: *out has `channels` numbers in the scratch arena. NULL: it is no such value. */
qdq_status qdq_per_channel(qdq_opt *o, const qdq_value *v, int rank, int64_t channels, double **out,
                           qdq_error *err);
/* The same where the channels are another dim. */
qdq_status qdq_per_channel_at(qdq_opt *o, const qdq_value *v, int rank, int axis, int64_t channels,
                              double **out, qdq_error *err);

/* --- bias ------------------------------------------------------------------------------------- */

typedef struct qdq_bias {
    /* one for each channel, Gemm's beta included; zeros where there is none */
    double *value;
    /* NULL: floats, or none */
    qdq_node *dq;
    /* behind dq */
    const qdq_tensor *codes;
    /* of dq */
    qdq_params params;
} qdq_bias;

/* The bias `v` (NULL: none) of l; beta is that of Gemm. *why: not known, or not one number per
 * channel. */
qdq_status qdq_bias_read(qdq_opt *o, const qdq_linear *l, const qdq_value *v, qdq_bias *out,
                         const char **why, qdq_error *err);

/* `b` becomes the bias of Conv, ConvTranspose or Gemm, whose beta becomes 1. */
qdq_status qdq_bias_set(const qdq_linear *l, qdq_value *b, qdq_error *err);

/* v, and the DQ that alone made it, go if nothing reads them. */
void qdq_linear_drop(qdq_value *v);

/* --- weights ---------------------------------------------------------------------------------- */

/* What happens to the codes with one scale: new = round((code - zero) * ratio) + new_zero. */
typedef struct qdq_recode {
    double ratio;
    int32_t zero, new_zero;
    /* what one code is worth, sign included, and what it is worth afterwards */
    double unit, new_unit;
} qdq_recode;

/* A change of a weight: worked out first, applied when there is permission. */
typedef struct qdq_weight_change {
    /* of float weights: one for each channel */
    const double *factor;
    /* of quantized ones: */
    /* as they are, packed */
    const void *codes;
    qdq_scale_grid grid;
    /* n_recode of them, by grid */
    qdq_recode *recode;
    size_t n_recode;
    /* n_scale of them, */
    float *scale;
    /* zero points of the scales; NULL: none, as before */
    int32_t *zero;
    int64_t n_scale;
    /* along this axis; -1: one */
    int axis;
    /* some code changes */
    bool recodes;
    /* of weights whose codes were rounded again; found by qdq_weight_apply */
    double max_error, rms_error;
} qdq_weight_change;

enum {
    /* a lowest code that has no negative becomes the highest */
    QDQ_WEIGHT_CLIP = 1,
    /* ... is a reason; without either, its channel gets a slightly larger scale */
    QDQ_WEIGHT_SKIP = 2,
    /* one scale stays one scale, though codes must be rounded again for it */
    QDQ_WEIGHT_ONE_SCALE = 4
};

/* Weights times factor[channel]: scales take the size of the factor, codes its sign. */
qdq_status qdq_weight_scale(qdq_opt *o, const qdq_linear *l, const double *factor, unsigned policy,
                            qdq_weight_change *out, const char **why, qdq_error *err);

/* Quantized weights times alpha > 0, with scale i not below least[i]. */
qdq_status qdq_weight_raise(qdq_opt *o, const qdq_linear *l, double alpha, const double *least,
                            qdq_weight_change *out, const char **why, qdq_error *err);

qdq_status qdq_weight_apply(qdq_opt *o, qdq_linear *l, qdq_weight_change *c, qdq_error *err);

/* The codes of a quantized weight, packed; in place, or in the scratch arena. */
qdq_status qdq_weight_codes_of(qdq_opt *o, const qdq_linear *l, const void **codes,
                               const char **why, qdq_error *err);

/* The elements of a float weight: where they lie, if they are floats, else converted in the scratch
 * arena. */
qdq_status qdq_linear_floats(qdq_opt *o, const qdq_tensor *t, const float **out, qdq_error *err);

/* Codes of x after the definition of QuantizeLinear, computed in float as engines do: packed, in
 * `memory`. *why: a type or a number that this is not defined for. */
qdq_status qdq_quantize_constant(const qdq_node *q, const qdq_tensor *x, qdq_arena *memory,
                                 qdq_elem *type, void **codes, const char **why, qdq_error *err);

#endif /* QDQ_LINEAR_H */
