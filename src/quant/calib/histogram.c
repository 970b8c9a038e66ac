/* histogram.c - counts the values of a tensor in bins. The loop that finds the bins vectorizes;
 * the one that counts is left with one increment per value. */
#include "quant/calib/histogram.h"

#include <math.h>
#include <string.h>

#include "target/qparam.h"

enum {
    SIDE_BITS = 12,       /* SIDE = 2^12 */
    LEAST_EXPONENT = -96, /* below it values are as good as zero, and 1 / width stays a float */
    PIECE = 2048
};

void qdq_histogram_init(qdq_histogram *h)
{
    memset(h, 0, sizeof *h);
    h->exponent = LEAST_EXPONENT;
}

double qdq_histogram_width(const qdq_histogram *h)
{
    return ldexp(1, h->exponent - SIDE_BITS);
}

double qdq_histogram_amax(const qdq_histogram *h)
{
    return h->count == 0 ? 0 : fmax(fabs((double)h->low), fabs((double)h->high));
}

uint64_t qdq_histogram_zeros(const qdq_histogram *h)
{
    return h->bin[QDQ_HISTOGRAM_BINS];
}

/* T becomes 2^exponent, if it is less. */
static void grow_to(qdq_histogram *h, int exponent)
{
    int shift = exponent - h->exponent;

    if (shift <= 0)
        return;
    h->exponent = exponent;
    shift = shift < SIDE_BITS ? shift : SIDE_BITS;
    for (size_t k = 0; k < QDQ_HISTOGRAM_SIDE; k++) {
        uint64_t *up = &h->bin[QDQ_HISTOGRAM_SIDE], *down = up - 1, n_up = up[k],
                 n_down = *(down - k);

        up[k] = 0;
        up[k >> shift] += n_up;
        *(down - k) = 0;
        *(down - (k >> shift)) += n_down;
    }
}

static int exponent_above(float magnitude)
{
    int exponent;

    frexp((double)magnitude, &exponent);
    /* of 0 it is 0, and pieces of zeros must not widen the bins of others */
    return magnitude > 0 && exponent > LEAST_EXPONENT ? exponent : LEAST_EXPONENT;
}

int qdq_histogram_exponent(float low, float high)
{
    return exponent_above(fmaxf(fabsf(low), fabsf(high)));
}

size_t qdq_histogram_bin(int exponent, float x)
{
    const size_t k = (size_t)ldexp(fabs((double)x), SIDE_BITS - exponent);

    return x < 0 ? QDQ_HISTOGRAM_SIDE - 1 - k : QDQ_HISTOGRAM_SIDE + k;
}

static void widen_bounds(qdq_histogram *h, float low, float high)
{
    low += 0.0f; /* -0 becomes 0: which zero came first must not show */
    high += 0.0f;
    h->low = h->count == 0 || low < h->low ? low : h->low;
    h->high = h->count == 0 || high > h->high ? high : h->high;
    grow_to(h, qdq_histogram_exponent(low, high));
}

/* Finite values alone. */
static void count_values(qdq_histogram *h, const float *x, size_t n)
{
    const float per_width = (float)(1 / qdq_histogram_width(h));
    uint16_t index[PIECE];

    for (size_t i = 0; i < n; i++) {
        int32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        int32_t k = (int32_t)(fabsf(x[i]) * per_width);
        int32_t at = QDQ_HISTOGRAM_SIDE + (k ^ (bits >> 31)); /* negative: SIDE - 1 - k */
        int32_t zero = QDQ_HISTOGRAM_BINS + (int32_t)(i % QDQ_HISTOGRAM_ZEROS);
        index[i] = (uint16_t)((bits & 0x7fffffff) != 0 ? at : zero);
    }
    for (size_t i = 0; i < n; i++)
        h->bin[index[i]]++;
    h->count += n;
}

static size_t keep_finite(const float *x, size_t n, float *out)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++)
        if (isfinite(x[i]))
            out[kept++] = x[i];
    return kept;
}

void qdq_histogram_add(qdq_histogram *h, const float *x, size_t n)
{
    float finite[PIECE];

    for (size_t at = 0; at < n; at += PIECE) {
        size_t size = n - at < PIECE ? n - at : PIECE;
        const float *piece = x + at;
        float low, high;
        uint64_t bad;

        bool any = qdq_minmax(piece, size, &low, &high, &bad);
        h->n_nonfinite += bad;
        if (!any)
            continue;
        if (bad > 0) {
            size = keep_finite(piece, size, finite);
            piece = finite;
        }
        widen_bounds(h, low, high);
        count_values(h, piece, size);
    }
    /* into the first: the split of the data must not show */
    for (size_t i = 1; i < QDQ_HISTOGRAM_ZEROS; i++) {
        h->bin[QDQ_HISTOGRAM_BINS] += h->bin[QDQ_HISTOGRAM_BINS + i];
        h->bin[QDQ_HISTOGRAM_BINS + i] = 0;
    }
}

void qdq_histogram_merge(qdq_histogram *h, const qdq_histogram *other)
{
    h->n_nonfinite += other->n_nonfinite;
    if (other->count == 0)
        return;
    widen_bounds(h, other->low, other->high);
    h->count += other->count;
    int shift = h->exponent - other->exponent;
    shift = shift < SIDE_BITS ? shift : SIDE_BITS;
    for (size_t k = 0; k < QDQ_HISTOGRAM_SIDE; k++) {
        h->bin[QDQ_HISTOGRAM_SIDE + (k >> shift)] += other->bin[QDQ_HISTOGRAM_SIDE + k];
        h->bin[QDQ_HISTOGRAM_SIDE - 1 - (k >> shift)] += other->bin[QDQ_HISTOGRAM_SIDE - 1 - k];
    }
    h->bin[QDQ_HISTOGRAM_BINS] += other->bin[QDQ_HISTOGRAM_BINS];
}
