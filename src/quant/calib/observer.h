/* observer.h - streaming statistics of one tensor: reads values in pieces of any size, and finds a
 * range. Memory does not grow with the data. */
#ifndef QDQ_OBSERVER_H
#define QDQ_OBSERVER_H

#include "qdq/quant.h"
#include "quant/calib/threshold.h"

typedef struct qdq_observer qdq_observer;

/* `percentile` is for the methods that use it. NULL: out of memory. */
qdq_observer *qdq_observer_new(qdq_method method, double percentile);
void qdq_observer_free(qdq_observer *o);

/* Adds one sample. Values that are not finite are counted and left out. False: out of memory. */
bool qdq_observer_add(qdq_observer *o, const float *x, size_t n);
/* The same for a held-out sample, by which QDQ_METHOD_AUTO chooses; other methods treat it as any
 * other. */
bool qdq_observer_add_held_back(qdq_observer *o, const float *x, size_t n);

/* The state of an observer that saw the values elsewhere (calib_statistics.h), is
 * restored by these: */
/* the bounds of one sample, in the order of the samples */
void qdq_observer_add_bounds(qdq_observer *o, double low, double high);
void qdq_observer_add_nonfinite(qdq_observer *o, uint64_t n);
/* the histogram of its samples, or of held-out ones; NULL: the method has none */
qdq_histogram *qdq_observer_histogram(qdq_observer *o, bool held_out);

/* Merges `other`, of the same method, so that the range is that of both. False: out of memory. */
bool qdq_observer_pool(qdq_observer *o, const qdq_observer *other);

uint64_t qdq_observer_nonfinite(const qdq_observer *o);
/* No finite value was added, so that there is no range. */
bool qdq_observer_empty(const qdq_observer *o);
/* How many finite values were added; SIZE_MAX: the method counts none. */
size_t qdq_observer_count(const qdq_observer *o);
/* The smallest value of an observer that is not empty. */
double qdq_observer_low(const qdq_observer *o);
/* Why there is no range although there are values; NULL: there is one. */
const char *qdq_observer_refusal(const qdq_observer *o);

/* The range for quantized values of scheme `s`. False: out of memory. May be called for several
 * observers at once. `used` (may be NULL) is set to the method that found it, which QDQ_METHOD_AUTO
 * chose. */
bool qdq_observer_range(const qdq_observer *o, const qdq_qscheme *s, qdq_range *out,
                        qdq_method *used);

#endif /* QDQ_OBSERVER_H */
