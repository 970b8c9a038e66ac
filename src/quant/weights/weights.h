/* weights.h - constant tensors as codes: ranges, scales and codes of one scale, a scale per
 * channel, or blocks. */
#ifndef QDQ_WEIGHTS_H
#define QDQ_WEIGHTS_H

#include "ir/qdq_node.h"
#include "target/qparam.h"

/* The float32 elements of t, aligned: in place if they lie so, else in `scratch`. */
qdq_status qdq_weight_floats(const qdq_tensor *t, qdq_arena *scratch, const float **out,
                             qdq_error *err);
/* The same, and QDQ_E_INTERRUPTED soon after `cancel` (may be NULL) is set. */
qdq_status qdq_weight_floats_until(const qdq_tensor *t, const qdq_cancel *cancel,
                                   qdq_arena *scratch, const float **out, qdq_error *err);

/* Where the scales of a tensor are. QDQ_E_FORMAT if it has no such axis. */
qdq_status qdq_weight_grid(const qdq_tensor *t, int axis, int64_t block, qdq_scale_grid *out,
                           qdq_error *err);

/* Smallest and largest element for each scale, 0 included. One that is not finite is
 * QDQ_E_FORMAT. `cancel` may be NULL. */
qdq_status qdq_weight_ranges(const float *w, const qdq_scale_grid *g, const qdq_cancel *cancel,
                             float *low, float *high, qdq_error *err);

/* Scale and zero point for each of n ranges; `factor` (NULL: 1) times the range is what codes span.
 * The scale of a range that is only 0 is 1; of 4-bit codes 1e-5, as the tools that invented them
 * write it. */
qdq_status qdq_weight_scales(const qdq_qscheme *s, const float *low, const float *high,
                             const float *factor, size_t n, float *scales, int32_t *zeros,
                             qdq_error *err);

/* How the numbers of a tensor are quantized. */
typedef struct qdq_weight_params {
    qdq_elem type;
    const float *scales;
    /* NULL: 0 */
    const int32_t *zeros;
    /* NULL: never */
    const qdq_cancel *cancel;
} qdq_weight_params;

/* The quantized values of w as a tensor stores them, and back. QDQ_E_NOMEM, QDQ_E_INTERRUPTED. */
qdq_status qdq_weight_codes(const float *w, const qdq_scale_grid *g, const qdq_weight_params *p,
                            void *packed, qdq_error *err);
qdq_status qdq_weight_decode(const void *packed, const qdq_scale_grid *g,
                             const qdq_weight_params *p, float *w, qdq_error *err);

/* The part of the range that a letter of QDQ_CLIP_LETTERS stands for. */
float qdq_clip_factor(char letter, double step);

#endif /* QDQ_WEIGHTS_H */
