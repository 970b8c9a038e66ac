/* gptq_strip.h - columns of a weight that one thread rounds together; shared by the gptq*.c files
 * only. Columns do not depend on each other, so that the result is the same with any number of
 * threads. */
#ifndef QDQ_GPTQ_STRIP_H
#define QDQ_GPTQ_STRIP_H

#include "quant/weights/gptq_state.h"

enum {
    /* columns */
    QDQ_GPTQ_STRIP = 64,
    /* channels that are computed before others see what changed (B in the paper on GPTQ) */
    QDQ_GPTQ_BATCH = 128
};

/* Of one thread; rows have QDQ_GPTQ_STRIP floats, those of missing columns are 0. */
typedef struct qdq_gptq_strip {
    size_t first, n;
    /* GPTQ: [position], not rounded yet; refinement: [channel], the rounded weights */
    float *w;
    /* [channel]: weights less the rounded ones */
    float *d;
    /* [channel]: of the held-out X'X times d; refinement: d from the last channel to the first */
    float *y;
    /* [QDQ_GPTQ_BATCH]: the paper's E; refinement: of X'X times d */
    float *error;
    /* refinement: [QDQ_GPTQ_BATCH], d as it was, and [QDQ_GPTQ_BATCH][QDQ_GPTQ_BATCH], X'X of a
     * batch */
    float *before, *square;
    /* of qdq_product_add() */
    float *scratch;
    float scales[QDQ_GPTQ_STRIP], low[QDQ_GPTQ_STRIP], high[QDQ_GPTQ_STRIP];
    float factor[QDQ_GPTQ_STRIP], back[QDQ_GPTQ_STRIP];
    int32_t zeros[QDQ_GPTQ_STRIP];
    char letters[QDQ_GPTQ_STRIP];
    uint16_t codes[QDQ_GPTQ_STRIP];
} qdq_gptq_strip;

/* False: out of memory. */
typedef bool qdq_gptq_strip_fn(void *ctx, qdq_gptq_strip *t);

/* Calls `each` for all strips of w, in threads; leaves strips out once `job` is cancelled. */
qdq_status qdq_gptq_strips(const qdq_weight_columns *w, const qdq_job *job, qdq_gptq_strip_fn *each,
                           void *ctx, qdq_error *err);

static inline size_t qdq_gptq_strip_count(const qdq_weight_columns *w)
{
    return (w->n + QDQ_GPTQ_STRIP - 1) / QDQ_GPTQ_STRIP;
}

/* d: the weight's numbers. */
void qdq_gptq_strip_load(const qdq_weight_columns *w, qdq_gptq_strip *t);

/* The scales and zero points of a block, from those of the weight. */
void qdq_gptq_strip_scales(const qdq_weight_columns *w, const float *scales, const int32_t *zeros,
                           size_t block, qdq_gptq_strip *t);

/* What quantized values saturate at: one bit less stays one bit less. */
void qdq_gptq_limits(const qdq_qscheme *s, float *lowest, float *highest);

/* Row x as codes, and back; d less that. */
void qdq_gptq_strip_round(const qdq_weight_columns *w, qdq_gptq_strip *t, const float *x, float *d);

/* t->codes become those of a channel in `out`. */
void qdq_gptq_strip_put(const qdq_weight_columns *w, const qdq_gptq_strip *t, size_t channel,
                        qdq_gptq_result *out);

/* Sum over columns of d' (X'X) d, the squared error of the held-out rows; overwrites y. */
double qdq_gptq_strip_error(const qdq_gptq_group *g, qdq_gptq_strip *t);

#endif /* QDQ_GPTQ_STRIP_H */
