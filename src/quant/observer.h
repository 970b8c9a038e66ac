/* observer.h - streaming statistics of one tensor: values come in pieces of any size, a range comes out. Memory
 * does not grow with the data; histograms fit behind the same four functions. */
#ifndef QDQ_OBSERVER_H
#define QDQ_OBSERVER_H

#include "qdq/quant.h"

typedef struct qdq_observer qdq_observer;

qdq_observer *qdq_observer_new(qdq_method method); /* NULL: out of memory */
void qdq_observer_free(qdq_observer *o);

/* One sample. Values that are not finite are counted and left out. */
void qdq_observer_add(qdq_observer *o, const float *x, size_t n);
uint64_t qdq_observer_nonfinite(const qdq_observer *o);

/* False if no finite value was seen. */
bool qdq_observer_range(const qdq_observer *o, double *low, double *high);

#endif /* QDQ_OBSERVER_H */
