/* observer.c - one struct for each method behind a table of functions. */
#include "quant/observer.h"

#include <math.h>
#include <stdlib.h>

#include "target/qparam.h"

typedef struct methods {
    void (*add)(qdq_observer *, const float *x, size_t n);
    bool (*range)(const qdq_observer *, double *low, double *high);
} methods;

struct qdq_observer {
    const methods *do_;
    uint64_t n_nonfinite;
    bool any;
    double low, high;
};

/* ptq 4.4: weight of the newest sample */
static const double newest = 0.01;

static void add_minmax(qdq_observer *o, const float *x, size_t n)
{
    float low, high;
    uint64_t bad;
    bool finite = qdq_minmax(x, n, &low, &high, &bad);

    o->n_nonfinite += bad;
    if (!finite)
        return;
    o->low = o->any ? fmin(o->low, (double)low) : (double)low;
    o->high = o->any ? fmax(o->high, (double)high) : (double)high;
    o->any = true;
}

static void add_moving_average(qdq_observer *o, const float *x, size_t n)
{
    float low, high;
    uint64_t bad;
    bool finite = qdq_minmax(x, n, &low, &high, &bad);

    o->n_nonfinite += bad;
    if (!finite)
        return;
    o->low = o->any ? o->low + newest * ((double)low - o->low) : (double)low;
    o->high = o->any ? o->high + newest * ((double)high - o->high) : (double)high;
    o->any = true;
}

static bool bounds(const qdq_observer *o, double *low, double *high)
{
    *low = o->low;
    *high = o->high;
    return o->any;
}

static const methods minmax = {add_minmax, bounds};
static const methods moving_average = {add_moving_average, bounds};

qdq_observer *qdq_observer_new(qdq_method method)
{
    qdq_observer *o = calloc(1, sizeof *o);

    if (o == NULL)
        return NULL;
    switch (method) {
    case QDQ_METHOD_MINMAX:
        o->do_ = &minmax;
        break;
    case QDQ_METHOD_MOVING_AVERAGE:
        o->do_ = &moving_average;
        break;
    }
    return o;
}

void qdq_observer_free(qdq_observer *o)
{
    free(o);
}

void qdq_observer_add(qdq_observer *o, const float *x, size_t n)
{
    o->do_->add(o, x, n);
}

uint64_t qdq_observer_nonfinite(const qdq_observer *o)
{
    return o->n_nonfinite;
}

bool qdq_observer_range(const qdq_observer *o, double *low, double *high)
{
    return o->do_->range(o, low, high);
}
