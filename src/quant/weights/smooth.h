/* smooth.h - activations in 8 bits whose channels differ are divided by one number per channel, and
 * the weights of their products multiplied by it: both lose less in 8 bits. After Xiao et al.,
 * "SmoothQuant: Accurate and Efficient Post-Training Quantization for Large Language Models", ICML
 * 2023: s = max|x|^a / max|w|^(1 - a), with an exponent a for each activation that samples which
 * had no part in s choose. */
#ifndef QDQ_SMOOTH_H
#define QDQ_SMOOTH_H

#include "quant/calib/quantizing.h"

/* What became of an activation; texts in the arena of the list. */
typedef struct qdq_smooth_note {
    const qdq_value *x;
    bool is_smoothed;
    const char *text;
} qdq_smooth_note;

typedef struct qdq_smooth_notes {
    qdq_arena arena;
    QDQ_VEC(qdq_smooth_note) list;
} qdq_smooth_notes;

/* Asked before samples run: are these activations, n of 1 or more, worth it? *why_not: no. It stays
 * NULL where they are, and its text has to live until the search is over. */
typedef struct qdq_smooth_ask {
    qdq_status (*fn)(void *ctx, const qdq_value *const *x, size_t n, const char **why_not,
                     qdq_error *err);
    void *ctx;
} qdq_smooth_ask;

/* Searches for all data of products in the placed plan q->plan, in one sweep over the samples.
 * Appends to out->smoothings, by name, and to *notes. With float channels on, channels that
 * products will compute in float are left as they are. `ask` NULL: they are worth it. */
qdq_status qdq_smooth_search(const qdq_quantizing *q, const qdq_smooth_ask *ask, qdq_plan *out,
                             qdq_smooth_notes *notes, qdq_error *err);

#endif /* QDQ_SMOOTH_H */
