/* observer.c - which statistics a method needs, and what it makes of them. */
#include "quant/calib/observer.h"

#include <math.h>
#include <stdlib.h>

#include "quant/calib/calib_statistics.h"
#include "quant/calib/threshold_compat.h"

struct qdq_observer {
    qdq_method method;
    double percentile;
    uint64_t n_nonfinite;
    bool any;
    /* max, moving average; and what pooling leaves of entropy-compat */
    qdq_range bounds;
    /* NULL where the method needs none */
    qdq_histogram *histogram, *held_back;
    qdq_compat compat;
    bool pooled;
};

/* weight of the newest sample */
static const double newest = 0.01;

static qdq_histogram *histogram_new(void)
{
    qdq_histogram *h = malloc(sizeof *h);

    if (h != NULL)
        qdq_histogram_init(h);
    return h;
}

qdq_observer *qdq_observer_new(qdq_method method, double percentile)
{
    qdq_observer *o = calloc(1, sizeof *o);

    if (o == NULL)
        return NULL;
    o->method = method;
    o->percentile = percentile;
    o->compat = qdq_compat_new(QDQ_COMPAT_BINS);
    if (qdq_method_has_histogram(method))
        o->histogram = histogram_new();
    if (method == QDQ_METHOD_AUTO)
        o->held_back = histogram_new();
    if ((qdq_method_has_histogram(method) && o->histogram == NULL) ||
        (method == QDQ_METHOD_AUTO && o->held_back == NULL)) {
        qdq_observer_free(o);
        return NULL;
    }
    return o;
}

void qdq_observer_free(qdq_observer *o)
{
    if (o == NULL)
        return;
    free(o->histogram);
    free(o->held_back);
    qdq_compat_free(&o->compat);
    free(o);
}

/* --- adding ----------------------------------------------------------------------------------- */

void qdq_observer_add_bounds(qdq_observer *o, double low, double high)
{
    if (!o->any) {
        o->bounds = (qdq_range){low, high};
    } else if (o->method == QDQ_METHOD_MOVING_AVERAGE && !o->pooled) {
        o->bounds.low += newest * (low - o->bounds.low);
        o->bounds.high += newest * (high - o->bounds.high);
    } else {
        o->bounds.low = fmin(o->bounds.low, low);
        o->bounds.high = fmax(o->bounds.high, high);
    }
    o->any = true;
}

void qdq_observer_add_nonfinite(qdq_observer *o, uint64_t n)
{
    o->n_nonfinite += n;
}

qdq_histogram *qdq_observer_histogram(qdq_observer *o, bool held_out)
{
    return held_out ? o->held_back : o->histogram;
}

/* Values that are not finite would be bins of their own to NumPy; here they are left out. */
static bool add_compat(qdq_observer *o, const float *x, size_t n, uint64_t bad)
{
    if (bad == 0)
        return qdq_compat_add(&o->compat, x, n);
    float *finite = malloc(n * sizeof *finite);
    size_t kept = 0;

    if (finite == NULL)
        return false;
    for (size_t i = 0; i < n; i++)
        if (isfinite(x[i]))
            finite[kept++] = x[i];
    bool ok = qdq_compat_add(&o->compat, finite, kept);
    free(finite);
    return ok;
}

bool qdq_observer_add(qdq_observer *o, const float *x, size_t n)
{
    float low, high;
    uint64_t bad;

    if (o->histogram != NULL) {
        qdq_histogram_add(o->histogram, x, n);
        return true;
    }
    bool finite = qdq_minmax(x, n, &low, &high, &bad);
    o->n_nonfinite += bad;
    if (!finite)
        return true;
    /* -0 becomes 0: which zero came first must not show */
    qdq_observer_add_bounds(o, (double)(low + 0.0F), (double)(high + 0.0F));
    return o->method != QDQ_METHOD_ENTROPY_COMPAT || add_compat(o, x, n, bad);
}

bool qdq_observer_add_held_back(qdq_observer *o, const float *x, size_t n)
{
    if (o->held_back == NULL)
        return qdq_observer_add(o, x, n);
    qdq_histogram_add(o->held_back, x, n);
    return true;
}

/* --- pooling ---------------------------------------------------------------------------------- */

/* The searched range takes the place of the counts: bins of two widths cannot be added. */
static bool settle_compat(qdq_observer *o)
{
    qdq_range r;

    if (o->compat.bin == NULL || o->compat.too_wide || o->pooled)
        return true;
    if (!qdq_compat_range(&o->compat, QDQ_COMPAT_CODES, NULL, &r))
        return false;
    o->bounds = r;
    return true;
}

bool qdq_observer_pool(qdq_observer *o, const qdq_observer *other)
{
    qdq_range r;

    if (o->histogram != NULL) {
        qdq_histogram_merge(o->histogram, other->histogram);
        if (o->held_back != NULL)
            qdq_histogram_merge(o->held_back, other->held_back);
        return true;
    }
    o->n_nonfinite += other->n_nonfinite;
    if (!other->any)
        return true;
    if (!settle_compat(o) || !qdq_observer_range(other, NULL, &r, NULL))
        return false;
    o->pooled = true;
    o->compat.too_wide = o->compat.too_wide || other->compat.too_wide;
    qdq_observer_add_bounds(o, r.low, r.high);
    return true;
}

/* --- asking ----------------------------------------------------------------------------------- */

uint64_t qdq_observer_nonfinite(const qdq_observer *o)
{
    return o->n_nonfinite + (o->histogram != NULL ? o->histogram->n_nonfinite : 0) +
           (o->held_back != NULL ? o->held_back->n_nonfinite : 0);
}

bool qdq_observer_empty(const qdq_observer *o)
{
    return !o->any && (o->histogram == NULL || o->histogram->count == 0) &&
           (o->held_back == NULL || o->held_back->count == 0);
}

size_t qdq_observer_count(const qdq_observer *o)
{
    if (o->histogram == NULL)
        return SIZE_MAX;
    return o->histogram->count + (o->held_back != NULL ? o->held_back->count : 0);
}

double qdq_observer_low(const qdq_observer *o)
{
    double low = o->any ? o->bounds.low : INFINITY;

    if (o->histogram != NULL && o->histogram->count > 0)
        low = fmin(low, (double)o->histogram->low);
    if (o->held_back != NULL && o->held_back->count > 0)
        low = fmin(low, (double)o->held_back->low);
    return low;
}

const char *qdq_observer_refusal(const qdq_observer *o)
{
    return o->compat.too_wide ? "entropy-compat has bins of the first sample's width, and later "
                                "ones are more than 100 times as large: expected another method"
                              : NULL;
}

static bool range_by(const qdq_observer *o, const qdq_histogram *h, qdq_method m,
                     const qdq_qscheme *s, qdq_range *out)
{
    if (m == QDQ_METHOD_ENTROPY)
        return qdq_threshold_entropy(h, s, out);
    if (m == QDQ_METHOD_MSE)
        return qdq_threshold_mse(h, s, out);
    *out = m == QDQ_METHOD_PERCENTILE ? qdq_threshold_percentile(h, s, o->percentile)
                                      : qdq_threshold_max(h);
    return true;
}

/* Held-out values evaluate ranges found without them: no run of the model is needed. The earliest
 * of equals is taken, and applied to all the data. */
static bool choose_range(const qdq_observer *o, const qdq_qscheme *s, const qdq_histogram *all,
                         qdq_range *out, qdq_method *used)
{
    static const qdq_method methods[] = {QDQ_METHOD_MAX, QDQ_METHOD_PERCENTILE, QDQ_METHOD_ENTROPY,
                                         QDQ_METHOD_MSE};
    const qdq_histogram *found = o->histogram->count > 0 ? o->histogram : all;
    const qdq_histogram *held_out = o->held_back->count > 0 ? o->held_back : all;
    double least = INFINITY;

    *used = QDQ_METHOD_MAX;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        double error;

        if (!range_by(o, found, methods[i], s, out) ||
            !qdq_threshold_error(held_out, s, *out, &error))
            return false;
        if (error < least) {
            least = error;
            *used = methods[i];
        }
    }
    return range_by(o, all, *used, s, out);
}

bool qdq_observer_range(const qdq_observer *o, const qdq_qscheme *s, qdq_range *out,
                        qdq_method *used)
{
    qdq_method unused;

    used = used != NULL ? used : &unused;
    *used = o->method;
    *out = o->bounds;
    if (o->method == QDQ_METHOD_ENTROPY_COMPAT && !o->pooled && o->compat.bin != NULL)
        return qdq_compat_range(&o->compat, QDQ_COMPAT_CODES, NULL, out);
    if (o->method != QDQ_METHOD_AUTO)
        return o->histogram == NULL || range_by(o, o->histogram, o->method, s, out);
    qdq_histogram *all = histogram_new();
    if (all == NULL)
        return false;
    qdq_histogram_merge(all, o->histogram);
    qdq_histogram_merge(all, o->held_back);
    bool ok = choose_range(o, s, all, out, used);
    free(all);
    return ok;
}
