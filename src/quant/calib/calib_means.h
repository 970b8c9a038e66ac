/* calib_means.h - the means of channels that corrections of biases ask for: gathered in the runs of
 * calibration. */
#ifndef QDQ_CALIB_MEANS_H
#define QDQ_CALIB_MEANS_H

#include "base/map.h"
#include "qdq/engine.h"
#include "quant/plan/plan.h"

/* Asks for one, of each fold and of all; the same one is there only once. `index` is as of
 * qdq_means_index(). False: out of memory. */
bool qdq_means_want(qdq_plan *p, qdq_map *index, const char *tensor, int axis, size_t n,
                    unsigned folds);

/* Names of tensors -> the first of their means. */
qdq_status qdq_means_index(qdq_plan *p, qdq_map *index, qdq_error *err);
const qdq_plan_mean *qdq_means_find(const qdq_plan *p, const qdq_map *index, const char *tensor,
                                    int axis, size_t n);

/* Is there a mean of the tensor that no plan before this one had? */
bool qdq_means_missing(const qdq_plan *p, const char *tensor, const qdq_map *index);

/* The mean of each channel over all samples outside a fold; `without` at least the number of rows:
 * over all. */
void qdq_means_get(const qdq_plan_mean *m, size_t without, double *mean);

/* A sample of the tensor, of a fold. Values that are not finite are left out. */
qdq_status qdq_means_add(qdq_plan *p, const qdq_map *index, const char *tensor, unsigned fold,
                         const qdq_array *a, qdq_error *err);

#endif /* QDQ_CALIB_MEANS_H */
