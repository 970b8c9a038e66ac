/* observer.h - streaming statistics of one tensor: values come in pieces of any size, a range comes
 * out. Memory does not grow with the data. */
#ifndef QDQ_OBSERVER_H
#define QDQ_OBSERVER_H

#include "qdq/quant.h"
#include "quant/calib/threshold.h"

typedef struct qdq_observer qdq_observer;

/* `percentile` is for the methods that ask for it. NULL: out of memory. */
qdq_observer *qdq_observer_new(qdq_method method, double percentile);
void qdq_observer_free(qdq_observer *o);

/* One sample. Values that are not finite are counted and left out. False: out of memory. */
bool qdq_observer_add(qdq_observer *o, const float *x, size_t n);
/* The same with a sample that QDQ_METHOD_AUTO chooses by; others take it like any other. */
bool qdq_observer_add_held_back(qdq_observer *o, const float *x, size_t n);

/* From now on the range is that of both together: `other` has the same method. False: out of
 * memory. */
bool qdq_observer_pool(qdq_observer *o, const qdq_observer *other);

uint64_t qdq_observer_nonfinite(const qdq_observer *o);
bool qdq_observer_empty(const qdq_observer *o); /* no finite value was seen: there is no range */
double qdq_observer_low(const qdq_observer *o); /* of one that is not empty: the smallest value */
/* Why there is no range although there are values; NULL: there is one. */
const char *qdq_observer_refusal(const qdq_observer *o);

/* The range for codes of `s`. False: out of memory. Several observers may be asked at once. `used`
 * (may be NULL) is the method that it was found with: what QDQ_METHOD_AUTO chose. */
bool qdq_observer_range(const qdq_observer *o, const qdq_qscheme *s, qdq_range *out,
                        qdq_method *used);

#endif /* QDQ_OBSERVER_H */
