/* threshold_mse.c - the range with the least squared error, found by trying: every candidate is put
 * through the codes that will be used, so that any type of codes works alike. Every value counts as
 * the middle of its bin. */
#include "quant/calib/threshold.h"

#include <math.h>
#include <stdlib.h>

/* Candidates are powers of a ratio of the largest bound: down to 2^-OCTAVES of it, then around the
 * best. */
enum { OCTAVES = 8, COARSE = 8, FINE = 16, ROUNDS = 3 };

typedef struct samples {
    const qdq_qscheme *scheme;
    size_t n;
    /* n each */
    float *value, *restored;
    double *weight;
    /* room for the widest */
    int16_t *code;
} samples;

static bool samples_make(const qdq_histogram *h, const qdq_qscheme *s, samples *x)
{
    double width = qdq_histogram_width(h);
    size_t n = 0;

    *x = (samples){.scheme = s};
    for (size_t i = 0; i < QDQ_HISTOGRAM_BINS; i++)
        n += h->bin[i] > 0;
    char *block = malloc((n + 1) * (2 * sizeof *x->value + sizeof *x->weight + sizeof *x->code));
    if (block == NULL)
        return false;
    x->weight = (double *)(void *)block;
    x->value = (float *)(void *)(x->weight + n);
    x->restored = x->value + n;
    x->code = (int16_t *)(void *)(x->restored + n);
    for (size_t i = 0; i < QDQ_HISTOGRAM_BINS; i++) {
        if (h->bin[i] == 0)
            continue;
        double middle = ((double)i - QDQ_HISTOGRAM_SIDE + 0.5) * width;
        x->value[x->n] = (float)fmax((double)h->low, fmin((double)h->high, middle));
        x->weight[x->n++] = (double)h->bin[i];
    }
    return true;
}

static void samples_free(samples *x)
{
    free(x->weight);
}

static double error_of(samples *x, qdq_range r)
{
    double sum = 0;
    qdq_qparam p;

    if (!qdq_qparam_from_range(x->scheme, r.low, r.high, &p))
        return INFINITY;
    qdq_quantize_floats(&p, x->value, x->n, x->code);
    qdq_dequantize_floats(&p, x->code, x->n, x->restored);
    for (size_t i = 0; i < x->n; i++) {
        double off = (double)x->value[i] - (double)x->restored[i];
        sum += x->weight[i] * off * off;
    }
    return sum;
}

typedef struct search {
    samples *x;
    /* what is varied; the second follows with the other sign, or is NULL */
    double *bound[2];
    qdq_range *range;
    /* of *range */
    double error;
} search;

/* Tries largest * 2^(-i / steps) for i from `first` to `last`, and leaves the best: the larger one
 * of equals. What is clipped only grows on the way down: where the error is twice the least so far,
 * more than half of it is from clipping, and no smaller bound can win. */
static void try_bounds(search *s, double largest, double steps, int first, int last)
{
    double best = *s->bound[0];

    for (int i = first; i <= last; i++) {
        double bound = i > 0 ? largest * exp2(-i / steps) : largest;

        *s->bound[0] = bound;
        if (s->bound[1] != NULL)
            *s->bound[1] = -bound;
        double error = error_of(s->x, *s->range);
        if (error < s->error) {
            s->error = error;
            best = bound;
        } else if (error > 2 * s->error) {
            break;
        }
    }
    *s->bound[0] = best;
    if (s->bound[1] != NULL)
        *s->bound[1] = -best;
}

static void search_bound(search *s, double largest)
{
    if (largest == 0)
        return;
    try_bounds(s, largest, COARSE, 0, OCTAVES * COARSE);
    double at = log2(largest / *s->bound[0]) * COARSE * FINE;
    int middle = (int)nearbyint(at);
    int first = middle > FINE ? middle - FINE + 1 : 0;
    try_bounds(s, largest, (double)COARSE * FINE, first, middle + FINE - 1);
}

static qdq_range best_symmetric(const qdq_histogram *h, samples *x)
{
    qdq_range r = {-qdq_histogram_amax(h), qdq_histogram_amax(h)};
    search s = {x, {&r.high, &r.low}, &r, error_of(x, r)};

    search_bound(&s, r.high);
    return r;
}

/* One bound, then the other given the first, as long as that helps. */
static qdq_range best_asymmetric(const qdq_histogram *h, samples *x)
{
    const qdq_range all = {fmin((double)h->low, 0), fmax((double)h->high, 0)};
    qdq_range r = all;
    double error = error_of(x, r);

    for (int round = 0; round < ROUNDS; round++) {
        double before = error;
        search high = {x, {&r.high, NULL}, &r, error};
        search_bound(&high, all.high);
        search low = {x, {&r.low, NULL}, &r, high.error};
        search_bound(&low, all.low);
        error = low.error;
        if (all.low == 0 || all.high == 0 || error >= before)
            break;
    }
    return r;
}

bool qdq_threshold_mse(const qdq_histogram *h, const qdq_qscheme *s, qdq_range *out)
{
    samples x;

    if (!samples_make(h, s, &x))
        return false;
    *out = s->symmetric ? best_symmetric(h, &x) : best_asymmetric(h, &x);
    samples_free(&x);
    return true;
}

bool qdq_threshold_error(const qdq_histogram *h, const qdq_qscheme *s, qdq_range r, double *error)
{
    samples x;

    if (!samples_make(h, s, &x))
        return false;
    *error = error_of(&x, r);
    samples_free(&x);
    return true;
}
