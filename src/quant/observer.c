/* observer.c - the methods differ only in how a sample's bounds join those of the samples before. */
#include "quant/observer.h"

#include <math.h>
#include <stdlib.h>

#include "target/qparam.h"

struct qdq_observer {
    qdq_method method;
    uint64_t n_nonfinite;
    bool any;
    double low, high;
};

/* ptq 4.4: weight of the newest sample */
static const double newest = 0.01;

qdq_observer *qdq_observer_new(qdq_method method)
{
    qdq_observer *o = calloc(1, sizeof *o);

    if (o != NULL)
        o->method = method;
    return o;
}

void qdq_observer_free(qdq_observer *o)
{
    free(o);
}

void qdq_observer_add(qdq_observer *o, const float *x, size_t n)
{
    float low, high;
    uint64_t bad;
    bool finite = qdq_minmax(x, n, &low, &high, &bad);

    o->n_nonfinite += bad;
    if (!finite)
        return;
    if (!o->any) {
        o->low = (double)low;
        o->high = (double)high;
        o->any = true;
        return;
    }
    if (o->method == QDQ_METHOD_MOVING_AVERAGE) {
        o->low += newest * ((double)low - o->low);
        o->high += newest * ((double)high - o->high);
        return;
    }
    o->low = fmin(o->low, (double)low);
    o->high = fmax(o->high, (double)high);
}

uint64_t qdq_observer_nonfinite(const qdq_observer *o)
{
    return o->n_nonfinite;
}

bool qdq_observer_range(const qdq_observer *o, double *low, double *high)
{
    *low = o->low;
    *high = o->high;
    return o->any;
}
