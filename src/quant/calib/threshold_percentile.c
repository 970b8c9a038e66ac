/* threshold_percentile.c - ranges that are read off a histogram: all of it, or all but the
 * outermost values. */
#include "quant/calib/threshold.h"

#include <math.h>

qdq_range qdq_threshold_max(const qdq_histogram *h)
{
    return (qdq_range){(double)h->low, (double)h->high};
}

/* Bin i counted from zero outwards: of one side, or of both. */
static double bin_of(const qdq_histogram *h, size_t k, bool up, bool down)
{
    return (double)(up ? h->bin[QDQ_HISTOGRAM_SIDE + k] : 0) +
           (double)(down ? h->bin[QDQ_HISTOGRAM_SIDE - 1 - k] : 0);
}

/* The magnitude beyond which `rest` values lie, of one side or of both. */
static double magnitude_before(const qdq_histogram *h, double rest, bool up, bool down)
{
    for (size_t k = QDQ_HISTOGRAM_SIDE; k-- > 0;) {
        double n = bin_of(h, k, up, down);

        if (n > rest)
            return ((double)k + 1 - rest / n) * qdq_histogram_width(h);
        rest -= n;
    }
    return 0;
}

qdq_range qdq_threshold_percentile(const qdq_histogram *h, const qdq_qscheme *s, double percent)
{
    double rest = (double)h->count * (100 - percent) / 100;

    if (s->symmetric) {
        double magnitude = fmin(magnitude_before(h, rest, true, true), qdq_histogram_amax(h));
        return (qdq_range){-magnitude, magnitude};
    }
    return (qdq_range){fmax(-magnitude_before(h, rest / 2, false, true), fmin((double)h->low, 0)),
                       fmin(magnitude_before(h, rest / 2, true, false), fmax((double)h->high, 0))};
}
