/* float_channels.h - activations with few channels whose values are far larger than all others
 * (massive activations of transformers): products compute these channels in float, so that the
 * range of the others has steps of its own. After LLM.int8() (Dettmers et al., 2022), with channels
 * that samples choose once. */
#ifndef QDQ_FLOAT_CHANNELS_H
#define QDQ_FLOAT_CHANNELS_H

#include "quant/calib/quantizing.h"

/* Channels of one tensor; texts and numbers in the arena of the plan. */
typedef struct qdq_outliers {
    const char *tensor;
    /* ascending */
    const int64_t *channels;
    size_t n;
} qdq_outliers;

typedef QDQ_VEC(qdq_outliers) qdq_outlier_list;

/* Requests from calibration the largest magnitude of each channel of the tensors in question. */
qdq_status qdq_float_channels_want(const qdq_quantizing *q, qdq_error *err);

/* Appends the tensors of the calibrated plan that have such channels and are not in the list. */
qdq_status qdq_float_channels_find(const qdq_quantizing *q, qdq_outlier_list *list, qdq_error *err);

/* Adds entries for the listed tensors to the placed plan. */
qdq_status qdq_float_channels_place(const qdq_quantizing *q, const qdq_outlier_list *list,
                                    qdq_error *err);

/* The channels of `most`, the largest magnitudes of n channels, that stand out, ascending. Returns
 * their number; 0: none, or too many. `sorted` has room for n numbers. */
size_t qdq_outliers_of(const float *most, size_t n, float *sorted, int64_t *channels);

#endif /* QDQ_FLOAT_CHANNELS_H */
