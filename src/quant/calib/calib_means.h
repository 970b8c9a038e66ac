/* calib_means.h - means of channels that corrections of biases need, from the runs of
 * calibration. */
#ifndef QDQ_CALIB_MEANS_H
#define QDQ_CALIB_MEANS_H

#include "base/map.h"
#include "qdq/engine.h"
#include "quant/plan/plan.h"

/* Requests a mean, of each fold and of all samples, once. `index` is that of qdq_means_index().
 * False: out of memory. */
bool qdq_means_want(qdq_plan *p, qdq_map *index, const char *tensor, int axis, size_t n,
                    unsigned folds);

/* Maps names of tensors to the first of their means. */
qdq_status qdq_means_index(qdq_plan *p, qdq_map *index, qdq_error *err);
const qdq_plan_mean *qdq_means_find(const qdq_plan *p, const qdq_map *index, const char *tensor,
                                    int axis, size_t n);

/* Whether the tensor has a requested mean that no earlier plan had. */
bool qdq_means_missing(const qdq_plan *p, const char *tensor, const qdq_map *index);

/* The mean of each channel over all samples outside of fold `without`; over all samples if
 * `without` is at least the number of folds. */
void qdq_means_get(const qdq_plan_mean *m, size_t without, double *mean);

/* Adds a sample of the tensor in a fold, without values that are not finite. */
qdq_status qdq_means_add(qdq_plan *p, const qdq_map *index, const char *tensor, unsigned fold,
                         const qdq_array *a, qdq_error *err);

#endif /* QDQ_CALIB_MEANS_H */
