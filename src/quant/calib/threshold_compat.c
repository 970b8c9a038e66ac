/* threshold_compat.c - entropy calibration as ONNX Runtime's tool computes it. Arithmetic is in
 * float where NumPy's is, step by step, so that values fall into the same bins. */
#include "quant/calib/threshold_compat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

qdq_compat qdq_compat_new(size_t bins)
{
    return (qdq_compat){.first_bins = bins};
}

void qdq_compat_free(qdq_compat *c)
{
    free(c->bin);
    c->bin = NULL;
}

/* --- counting --------------------------------------------------------------------------------- */

/* numpy.linspace(-t, t, n + 1)[i]; an empty range is made -0.5 to 0.5, as numpy.histogram does */
static float edge(float t, size_t n, size_t i)
{
    float last = t > 0 ? t : 0.5f, step = (last + last) / (float)n;

    return i == n ? last : (float)i * step - last;
}

/* numpy.histogram: a guess, then corrected by the edges beside it. */
static void count_values(uint64_t *bin, size_t n_bins, float t, const float *x, size_t n)
{
    const float last = t > 0 ? t : 0.5f;

    for (size_t i = 0; i < n; i++) {
        size_t at = (size_t)((x[i] + last) / (last + last) * (float)n_bins);
        at = at < n_bins ? at : n_bins - 1;
        if (x[i] < edge(t, n_bins, at) && at > 0)
            at--;
        else if (at + 1 < n_bins && x[i] >= edge(t, n_bins, at + 1))
            at++;
        bin[at]++;
    }
}

/* numpy.floor_divide for a, b > 0 */
static float floor_divide(float a, float b)
{
    float rest = fmodf(a, b), quotient = (a - rest) / b, floored = floorf(quotient);

    return quotient - floored > 0.5f ? floored + 1 : floored;
}

/* Bins are added at both ends until `t` lies inside. */
static bool widen_bins(qdq_compat *c, float t)
{
    float stride = 2 * c->threshold / (float)c->n_bins;
    float added = floor_divide(t - c->threshold, stride) + 1;

    if (!(added <= 0.5f * (float)QDQ_COMPAT_MAX_BINS)) {
        c->too_wide = true;
        return true;
    }
    size_t side = (size_t)added, n = c->n_bins + 2 * side;
    if (n > QDQ_COMPAT_MAX_BINS) {
        c->too_wide = true;
        return true;
    }
    uint64_t *bin = calloc(n, sizeof *bin);
    if (bin == NULL)
        return false;
    memcpy(bin + side, c->bin, c->n_bins * sizeof *bin);
    free(c->bin);
    c->bin = bin;
    c->n_bins = n;
    c->threshold += (float)side * stride;
    return true;
}

bool qdq_compat_add(qdq_compat *c, const float *x, size_t n)
{
    float low, high;
    uint64_t bad;

    if (c->too_wide || !qdq_minmax(x, n, &low, &high, &bad))
        return true;
    float t = fmaxf(fabsf(low), fabsf(high));
    if (c->bin == NULL) {
        c->bin = calloc(c->first_bins, sizeof *c->bin);
        if (c->bin == NULL)
            return false;
        c->n_bins = c->first_bins;
        c->threshold = t;
        c->low = low;
        c->high = high;
    }
    c->low = fminf(c->low, low);
    c->high = fmaxf(c->high, high);
    if (t > c->threshold && c->threshold == 0)
        c->threshold = t; /* what was counted as zeros stays in the middle */
    else if (t > c->threshold && !widen_bins(c, t))
        return false;
    if (!c->too_wide)
        count_values(c->bin, c->n_bins, c->threshold, x, n);
    return true;
}

/* --- searching -------------------------------------------------------------------------------- */

/* The slice [begin, end) of the bins; p and q have room for all. */
typedef struct window {
    const qdq_compat *c;
    size_t begin, end, codes;
    double *p, *q;
} window;

static double sum_of(const uint64_t *bin, size_t begin, size_t end)
{
    double sum = 0;

    for (size_t i = begin; i < end; i++)
        sum += (double)bin[i];
    return sum;
}

/* P: the slice, and what lies outside at its ends. */
static void set_p(const window *w)
{
    for (size_t i = w->begin; i < w->end; i++)
        w->p[i - w->begin] = (double)w->c->bin[i];
    w->p[0] += sum_of(w->c->bin, 0, w->begin);
    w->p[w->end - w->begin - 1] += sum_of(w->c->bin, w->end, w->c->n_bins);
}

/* Q: the mass of each group in each of its bins, the empty ones included, divided by the number of
 * those that are not empty and cut to a whole number. The rest behind the last group stays 0,
 * though its mass went into that. */
static void set_q(const window *w)
{
    size_t n = w->end - w->begin, size = n / w->codes;

    memset(w->q, 0, n * sizeof *w->q);
    for (size_t j = 0; j < w->codes; j++) {
        size_t begin = j * size, end = begin + size, filled = 0;
        double mass =
            sum_of(w->c->bin, w->begin + begin, j + 1 < w->codes ? w->begin + end : w->end);

        for (size_t i = begin; i < end; i++)
            filled += w->p[i] != 0;
        for (size_t i = begin; i < end && filled > 0; i++)
            w->q[i] = trunc(mass / (double)filled);
    }
}

/* False where ONNX Runtime stops with an assertion, or gives up. */
static bool smooth(double *p, size_t n)
{
    const double epsilon = 1e-4;
    size_t zeros = 0;

    for (size_t i = 0; i < n; i++)
        zeros += p[i] == 0;
    if (zeros == n)
        return false;
    double less = epsilon * (double)zeros / (double)(n - zeros);
    for (size_t i = 0; i < n; i++)
        p[i] = p[i] == 0 ? epsilon : p[i] - less;
    return less < 1;
}

static double divergence(const window *w)
{
    size_t n = w->end - w->begin;
    double sum_p = 0, sum_q = 0, kl = 0;

    set_p(w);
    set_q(w);
    if (!smooth(w->p, n) || !smooth(w->q, n))
        return INFINITY;
    for (size_t i = 0; i < n; i++) {
        sum_p += w->p[i];
        sum_q += w->q[i];
    }
    for (size_t i = 0; i < n; i++)
        kl += w->p[i] / sum_p * log(w->p[i] / sum_p / (w->q[i] / sum_q));
    return kl;
}

bool qdq_compat_range(const qdq_compat *c, size_t codes, double *kl, qdq_range *out)
{
    const size_t middle = c->n_bins / 2;
    window w = {c, 0, 0, codes, NULL, NULL};
    double least = INFINITY;

    *out = (qdq_range){(double)c->low, (double)c->high};
    w.p = malloc(2 * (c->n_bins + 1) * sizeof *w.p);
    if (w.p == NULL)
        return false;
    w.q = w.p + c->n_bins + 1;
    for (size_t i = codes / 2; i <= middle; i++) {
        w.begin = middle - i;
        w.end = middle + i + 1 < c->n_bins ? middle + i + 1 : c->n_bins;
        double d = divergence(&w);
        if (kl != NULL)
            kl[i - codes / 2] = d;
        if (d >= least && i > codes / 2)
            continue;
        least = d;
        out->low = fmax((double)c->low, (double)edge(c->threshold, c->n_bins, w.begin));
        out->high = fmin((double)c->high, (double)edge(c->threshold, c->n_bins, w.end));
    }
    free(w.p);
    return true;
}
