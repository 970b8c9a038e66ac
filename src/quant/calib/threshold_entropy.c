/* threshold_entropy.c - the range whose codes lose the least information, after TensorRT's
 * calibrator (S. Migacz, "8-bit inference with TensorRT", GTC 2017) with its gaps closed.
 *
 * For a window of bins, P is what lies in it, and what lies outside is added to its ends: clipping.
 * Q are the same bins after quantization: the window is cut into as many equal groups as there are
 * codes, and each group's mass is spread evenly over its bins that P has something in. The window
 * with the least divergence of P from Q wins:
 *
 *   KL = sum of P/N * log((P/N) / (Q/M))
 *
 * N and M: mass of all, and of the window without what is clipped.
 *
 * Q is constant in a group, so with prefix sums of counts, of count * log(count) and of bins that
 * are not empty a window costs one logarithm per code. What is clipped goes to the outermost bin
 * that is not empty; so only windows that end on such a bin are tried, and the smallest one. The
 * bins beside zero take the count of their neighbours: what is all but zero comes back all but
 * exact, and its mass would hide the rest. */
#include "quant/calib/threshold.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CODES = 256, STEPS = 512, ROUNDS = 2 };

typedef struct profile {
    /* bins */
    size_t n;
    /* the value 0 is the lower edge of this bin */
    size_t zero;
    size_t codes;
    /* n */
    double *count;
    /* n + 1 each: of all bins before */
    double *mass, *information;
    /* the same */
    int32_t *filled;
} profile;

/* log(x) for x > 0, to 1e-10: the compiler vectorizes it, which it does not do with log(). */
static inline double logarithm(double x)
{
    uint64_t bits;
    double mantissa;

    memcpy(&bits, &x, sizeof bits);
    int32_t exponent = (int32_t)(bits >> 52) - 1023;
    bits = (bits & 0x000fffffffffffff) | 0x3ff0000000000000;
    memcpy(&mantissa, &bits, sizeof mantissa); /* 1 to 2 */
    double t = (mantissa - 1.4142135623730951) / (mantissa + 1.4142135623730951),
           t2 = t * t; /* |t| < 0.172 */
    double series =
        1 + t2 * (1 / 3.0 + t2 * (1 / 5.0 + t2 * (1 / 7.0 + t2 * (1 / 9.0 + t2 * (1 / 11.0)))));

    return ((double)exponent + 0.5) * 0.6931471805599453 + 2 * t * series;
}

static double self_information(double count)
{
    return count > 0 ? count * log(count) : 0;
}

/* The bin with something in it that is nearest to an end of a window: what is clipped goes
 * there. */
static size_t first_filled(const profile *p, size_t begin)
{
    while (p->count[begin] == 0)
        begin++;
    return begin;
}

static size_t last_filled(const profile *p, size_t end)
{
    while (p->count[end - 1] == 0)
        end--;
    return end - 1;
}

/* sum of P * log Q */
static double cross_information(const profile *p, size_t begin, size_t end, double below,
                                double above)
{
    double mass[MAX_CODES], density[MAX_CODES], first = 0, last = 0, cross = 0;
    const double per_code = (double)(end - begin) / (double)p->codes;
    size_t at = begin;

    for (size_t j = 0; j < p->codes; j++) {
        size_t next = j + 1 < p->codes ? begin + (size_t)((double)(j + 1) * per_code) : end;
        double filled = (double)(p->filled[next] - p->filled[at]);

        mass[j] = p->mass[next] - p->mass[at];
        density[j] = filled > 0 ? mass[j] / filled : 1; /* log 1 = 0: an empty group says nothing */
        first = first == 0 && filled > 0 ? density[j] : first;
        last = filled > 0 ? density[j] : last;
        at = next;
    }
    for (size_t j = 0; j < p->codes; j++)
        mass[j] *= logarithm(density[j]);
    for (size_t j = 0; j < p->codes; j++)
        cross += mass[j];
    return cross + below * logarithm(first) + above * logarithm(last);
}

/* Divergence for the window from `begin` to before `end`, up to what all windows have in common. */
static double divergence(const profile *p, size_t begin, size_t end)
{
    const double below = p->mass[begin], above = p->mass[p->n] - p->mass[end];
    const double window = p->mass[end] - below;

    if (p->filled[end] == p->filled[begin])
        return INFINITY;
    double first = p->count[first_filled(p, begin)], last = p->count[last_filled(p, end)];
    double information = p->information[end] - p->information[begin];
    if (below > 0)
        information += self_information(first + below) - self_information(first);
    if (above > 0)
        information += self_information(last + above) - self_information(last);
    return (information - cross_information(p, begin, end, below, above)) / p->mass[p->n] +
           log(window);
}

/* --- windows ---------------------------------------------------------------------------------- */

typedef struct window {
    size_t begin, end;
    double kl;
} window;

/* Every `every`-th window, the largest first: it wins among equals. */
static void search_end(const profile *p, size_t least, int32_t every, window *w)
{
    size_t begin = w->begin, largest = w->end;
    int32_t seen = 0;

    for (size_t end = largest; end >= least && end >= begin + p->codes; end--) {
        bool smallest = end == least || end == begin + p->codes;
        if (!smallest && (p->count[end - 1] == 0 || seen++ % every != 0))
            continue;
        double kl = divergence(p, begin, end);
        if (kl < w->kl) {
            w->kl = kl;
            w->end = end;
        }
    }
}

static void search_begin(const profile *p, size_t most, int32_t every, window *w)
{
    size_t end = w->end, largest = w->begin;
    int32_t seen = 0;

    for (size_t begin = largest; begin <= most && begin + p->codes <= end; begin++) {
        bool smallest = begin == most || begin + p->codes == end;
        if (!smallest && (p->count[begin] == 0 || seen++ % every != 0))
            continue;
        double kl = divergence(p, begin, end);
        if (kl < w->kl) {
            w->kl = kl;
            w->begin = begin;
        }
    }
}

static int32_t stride(const profile *p, size_t begin, size_t end)
{
    return 1 + (p->filled[end] - p->filled[begin]) / STEPS;
}

/* One side given the other, each from all that was seen. */
static void search_both(const profile *p, window *w)
{
    const window all = *w;
    window best = *w;

    for (int round = 0; round < ROUNDS; round++) {
        w->end = all.end;
        w->kl = INFINITY;
        search_end(p, p->zero + 1, stride(p, p->zero, all.end), w);
        w->begin = all.begin;
        w->kl = INFINITY;
        search_begin(p, p->zero - 1, stride(p, all.begin, p->zero), w);
        if (!(w->kl < best.kl))
            break;
        best = *w;
    }
    *w = best;
}

/* False: all of it. */
static bool search_window(const profile *p, window *w)
{
    for (w->begin = 0; w->begin < p->zero && p->count[w->begin] == 0;)
        w->begin++;
    for (w->end = p->n; w->end > p->zero && p->count[w->end - 1] == 0;)
        w->end--;
    w->kl = INFINITY;
    if (w->end < w->begin + p->codes)
        return false;
    if (w->begin == p->zero)
        search_end(p, p->zero + 1, 1, w);
    else if (w->end == p->zero)
        search_begin(p, p->zero - 1, 1, w);
    else
        search_both(p, w);
    return w->kl < INFINITY;
}

/* --- profile ---------------------------------------------------------------------------------- */

/* Symmetric: the bins of magnitudes. */
static bool profile_make(const qdq_histogram *h, bool symmetric, size_t codes, profile *p)
{
    p->n = symmetric ? QDQ_HISTOGRAM_SIDE : QDQ_HISTOGRAM_BINS;
    p->zero = symmetric ? 0 : QDQ_HISTOGRAM_SIDE;
    p->codes = codes;
    p->count = calloc(4 * (p->n + 1), sizeof *p->count);
    if (p->count == NULL)
        return false;
    p->mass = p->count + p->n + 1;
    p->information = p->mass + p->n + 1;
    p->filled = (int32_t *)(void *)(p->information + p->n + 1);
    for (size_t i = 0; i < p->n; i++)
        p->count[i] = symmetric ? (double)h->bin[QDQ_HISTOGRAM_SIDE + i] +
                                      (double)h->bin[QDQ_HISTOGRAM_SIDE - 1 - i]
                                : (double)h->bin[i];
    p->count[p->zero] = p->count[p->zero + 1];
    if (!symmetric)
        p->count[p->zero - 1] = p->count[p->zero - 2];
    for (size_t i = 0; i < p->n; i++) {
        p->mass[i + 1] = p->mass[i] + p->count[i];
        p->information[i + 1] = p->information[i] + self_information(p->count[i]);
        p->filled[i + 1] = p->filled[i] + (p->count[i] > 0);
    }
    return true;
}

bool qdq_threshold_entropy(const qdq_histogram *h, const qdq_qscheme *s, qdq_range *out)
{
    const double width = qdq_histogram_width(h), amax = qdq_histogram_amax(h);
    int32_t lowest, highest;
    profile p;
    window w;

    *out = qdq_threshold_max(h);
    if (!qdq_qscheme_codes(s, &lowest, &highest))
        return true; /* a floating type: a wide range costs it nothing */
    int32_t codes = s->symmetric ? (highest - lowest + 2) / 2 : highest - lowest + 1;
    if (codes > MAX_CODES)
        return true; /* more codes than bins to choose among */
    if (!profile_make(h, s->symmetric, (size_t)codes, &p))
        return false;
    if (search_window(&p, &w)) {
        double high = ((double)(w.end - p.zero) + 0.5) * width;
        double low = s->symmetric       ? -high
                     : w.begin < p.zero ? -((double)(p.zero - w.begin) + 0.5) * width
                                        : 0;
        *out = s->symmetric ? (qdq_range){-fmin(high, amax), fmin(high, amax)}
                            : (qdq_range){fmax(low, fmin((double)h->low, 0)),
                                          fmin(high, fmax((double)h->high, 0))};
    }
    free(p.count);
    return true;
}
