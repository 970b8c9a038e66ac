/* weights.c - quantizes constant tensors. A tensor is a sequence of runs: elements side by side
 * that share one scale, or have one each, side by side too. Runs go in parallel; each writes
 * only its own results, so that the outcome does not depend on the number of threads. */
#include "quant/weights/weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "quant/plan/plan.h"

enum { PIECE = 1 << 16 }; /* elements: below, threads cost more than they bring */

static qdq_status copy_bytes(void *to, qdq_span from, const qdq_cancel *cancel, qdq_error *err)
{
    for (size_t at = 0, n; at < from.size; at += n) {
        n = from.size - at < QDQ_POLL_BYTES ? from.size - at : QDQ_POLL_BYTES;
        QDQ_TRY(qdq_cancel_poll(cancel, err));
        memcpy((char *)to + at, (const char *)from.data + at, n);
    }
    return QDQ_OK;
}

qdq_status qdq_weight_floats(const qdq_tensor *t, qdq_arena *scratch, const float **out,
                             qdq_error *err)
{
    return qdq_weight_floats_until(t, NULL, scratch, out, err);
}

qdq_status qdq_weight_floats_until(const qdq_tensor *t, const qdq_cancel *cancel,
                                   qdq_arena *scratch, const float **out, qdq_error *err)
{
    qdq_span bytes;

    *out = NULL;
    if (t->elem != QDQ_FLOAT)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "tensor '%s': %s, expected float", t->name,
                        qdq_elem_name(t->elem));
    QDQ_TRY(qdq_tensor_data(t, scratch, &bytes, err));
    if ((uintptr_t)bytes.data % sizeof(float) == 0) {
        *out = (const float *)(const void *)bytes.data;
        return QDQ_OK;
    }
    float *copy = qdq_arena_alloc(scratch, bytes.size + sizeof *copy);
    QDQ_NEED(copy != NULL, err);
    QDQ_TRY(copy_bytes(copy, bytes, cancel, err));
    *out = copy;
    return QDQ_OK;
}

qdq_status qdq_weight_grid(const qdq_tensor *t, int axis, int64_t block, qdq_scale_grid *out,
                           qdq_error *err)
{
    qdq_channels ignored;

    QDQ_TRY(qdq_channels_of(t, axis, &ignored, err));
    if (block != 0 && axis < 0)
        return qdq_fail(err, QDQ_E_FORMAT, "tensor '%s': blocks without axis, expected one",
                        t->name);
    *out = qdq_scale_grid_of(t, axis, block);
    return QDQ_OK;
}

/* --- runs ------------------------------------------------------------------------------------- */

typedef struct run {
    /* elements */
    size_t at, n;
    /* of all of them, or of the first one */
    size_t scale;
    /* each has a scale of its own */
    bool one_each;
} run;

static size_t count_of(const qdq_scale_grid *g)
{
    return g->c.outer * g->c.channels * g->c.inner;
}

static size_t run_count(const qdq_scale_grid *g)
{
    if (g->block == 0 && g->c.channels == 1)
        return (count_of(g) + PIECE - 1) / PIECE;
    if (g->c.inner == 1)
        return g->block == 0 ? g->c.outer : g->c.outer * g->n_block;
    return g->c.outer * g->c.channels;
}

static run run_at(const qdq_scale_grid *g, size_t i)
{
    size_t channels = g->c.channels, inner = g->c.inner, left;

    if (g->block == 0 && channels == 1) {
        left = count_of(g) - i * PIECE;
        return (run){i * PIECE, left < PIECE ? left : PIECE, 0, false};
    }
    if (inner == 1 && g->block == 0) /* a row of a matrix with one scale per column */
        return (run){i * channels, channels, 0, true};
    if (inner == 1) {
        size_t first = i % g->n_block * g->block;
        left = channels - first;
        return (run){i / g->n_block * channels + first, left < g->block ? left : g->block, i,
                     false};
    }
    return (run){i * inner, inner, qdq_scale_at(g, i / channels, i % channels, 0), g->block != 0};
}

/* --- ranges ----------------------------------------------------------------------------------- */

/* Widens [*low, *high] to hold x[0..n). True: something is not finite. */
static bool widen_range(const float *x, size_t n, float *low, float *high)
{
    uint64_t bad = 0;
    float least, most;

    if (qdq_minmax(x, n, &least, &most, &bad)) {
        *low = least < *low ? least : *low;
        *high = most > *high ? most : *high;
    }
    return bad > 0;
}

static bool widen_each(const float *x, size_t n, float *low, float *high)
{
    uint32_t bad = 0;

    for (size_t i = 0; i < n; i++) {
        float v = x[i];
        low[i] = v < low[i] ? v : low[i];
        high[i] = v > high[i] ? v : high[i];
        bad |= !(v - v == 0);
    }
    return bad != 0;
}

/* A channel is a row in each of `outer` matrices. */
static bool ranges_of_channels(const float *w, const qdq_scale_grid *g, const qdq_cancel *cancel,
                               float *low, float *high)
{
    bool bad = false;

#pragma omp parallel for schedule(static) reduction(|| : bad) if (count_of(g) > PIECE)
    for (size_t k = 0; k < g->c.channels; k++)
        for (size_t o = 0; o < g->c.outer && !qdq_cancel_is_set(cancel); o++)
            bad = widen_range(w + (o * g->c.channels + k) * g->c.inner, g->c.inner, &low[k],
                              &high[k]) ||
                  bad;
    return bad;
}

/* A channel is a column: walked row by row, each thread has some columns. */
static bool ranges_of_columns(const float *w, const qdq_scale_grid *g, const qdq_cancel *cancel,
                              float *low, float *high)
{
    const size_t width = 512, channels = g->c.channels;
    bool bad = false;

#pragma omp parallel for schedule(static) reduction(|| : bad) if (count_of(g) > PIECE)
    for (size_t first = 0; first < channels; first += width) {
        size_t n = channels - first < width ? channels - first : width;
        for (size_t o = 0; o < g->c.outer && !qdq_cancel_is_set(cancel); o++)
            bad = widen_each(w + o * channels + first, n, low + first, high + first) || bad;
    }
    return bad;
}

/* The runs of one block lie `inner` apart, or the block is one run. */
static bool ranges_of_blocks(const float *w, const qdq_scale_grid *g, const qdq_cancel *cancel,
                             float *low, float *high)
{
    bool bad = false;

#pragma omp parallel for schedule(static) reduction(|| : bad) if (count_of(g) > PIECE)
    for (size_t b = 0; b < g->c.outer * g->n_block; b++) {
        size_t first = b % g->n_block * g->block, end = first + g->block, o = b / g->n_block;
        for (size_t k = first; k < end && k < g->c.channels && !qdq_cancel_is_set(cancel); k++) {
            const float *x = w + (o * g->c.channels + k) * g->c.inner;
            bad = widen_each(x, g->c.inner, low + b * g->c.inner, high + b * g->c.inner) || bad;
        }
    }
    return bad;
}

static bool ranges_of_rows(const float *w, const qdq_scale_grid *g, const qdq_cancel *cancel,
                           float *low, float *high)
{
    bool bad = false;

#pragma omp parallel for schedule(static) reduction(|| : bad) if (count_of(g) > PIECE)
    for (size_t i = 0; i < run_count(g); i++) {
        run r = run_at(g, i);
        if (!qdq_cancel_is_set(cancel))
            bad = widen_range(w + r.at, r.n, &low[i], &high[i]) || bad;
    }
    return bad;
}

qdq_status qdq_weight_ranges(const float *w, const qdq_scale_grid *g, const qdq_cancel *cancel,
                             float *low, float *high, qdq_error *err)
{
    bool bad;

    QDQ_TRY(qdq_cancel_poll(cancel, err));
    for (size_t i = 0; i < qdq_scale_count(g); i++)
        low[i] = high[i] = 0;
    if (g->block != 0)
        bad = g->c.inner == 1 ? ranges_of_rows(w, g, cancel, low, high)
                              : ranges_of_blocks(w, g, cancel, low, high);
    else if (g->c.inner == 1 && g->c.outer > 1)
        bad = ranges_of_columns(w, g, cancel, low, high);
    else
        bad = ranges_of_channels(w, g, cancel, low, high);
    QDQ_TRY(qdq_cancel_poll(cancel, err));
    for (size_t i = 0; bad && i < count_of(g); i++)
        if (!isfinite(w[i]))
            return qdq_fail(err, QDQ_E_FORMAT,
                            "channel %zu holds NaN or infinity, expected finite weights",
                            i / g->c.inner % g->c.channels);
    return QDQ_OK;
}

/* --- scales ----------------------------------------------------------------------------------- */

qdq_status qdq_weight_scales(const qdq_qscheme *s, const float *low, const float *high,
                             const float *factor, size_t n, float *scales, int32_t *zeros,
                             qdq_error *err)
{
    bool fits = true, four_bits = qdq_elem_bits(s->type) == 4;

#pragma omp parallel for schedule(static) reduction(&& : fits) if (n > PIECE)
    for (size_t i = 0; i < n; i++) {
        double f = factor != NULL ? (double)factor[i] : 1;
        qdq_qparam p = {s->type, 1, 0};

        fits = qdq_qparam_from_range(s, (double)low[i] * f, (double)high[i] * f, &p) && fits;
        scales[i] = four_bits && low[i] == high[i] && !s->pow2 ? 1e-5F : p.scale;
        zeros[i] = p.zero_point;
    }
    return fits ? QDQ_OK
                : qdq_fail(err, QDQ_E_UNSUPPORTED, "no codes for weights of type %s",
                           qdq_elem_name(s->type));
}

float qdq_clip_factor(char letter, double step)
{
    return (float)(1 - step * (double)(strchr(QDQ_CLIP_LETTERS, letter) - QDQ_CLIP_LETTERS));
}

/* --- codes ------------------------------------------------------------------------------------ */

/* A run, its zero point (NULL: none) and its scale as that of a whole tensor. */
typedef struct scaled_run {
    run at;
    const int32_t *zero;
    qdq_qparam one;
} scaled_run;

static scaled_run scaled_run_at(const qdq_scale_grid *g, const qdq_weight_params *p, size_t i)
{
    const run r = run_at(g, i);
    const int32_t *zero = p->zeros != NULL ? p->zeros + r.scale : NULL;

    return (scaled_run){r, zero, {p->type, p->scales[r.scale], zero != NULL ? *zero : 0}};
}

static void quantize_runs(const float *w, const qdq_scale_grid *g, const qdq_weight_params *p,
                          char *codes)
{
    size_t size = qdq_code_size(p->type);

#pragma omp parallel for schedule(static) if (count_of(g) > PIECE)
    for (size_t i = 0; i < run_count(g); i++) {
        const scaled_run s = scaled_run_at(g, p, i);
        const run r = s.at;

        if (qdq_cancel_is_set(p->cancel))
            continue;
        if (r.one_each)
            qdq_quantize_row(p->type, p->scales + r.scale, s.zero, w + r.at, r.n,
                             codes + r.at * size);
        else
            qdq_quantize_floats(&s.one, w + r.at, r.n, codes + r.at * size);
    }
}

static void dequantize_runs(const char *codes, const qdq_scale_grid *g, const qdq_weight_params *p,
                            float *w)
{
    size_t size = qdq_code_size(p->type);

#pragma omp parallel for schedule(static) if (count_of(g) > PIECE)
    for (size_t i = 0; i < run_count(g); i++) {
        const scaled_run s = scaled_run_at(g, p, i);
        const run r = s.at;

        if (qdq_cancel_is_set(p->cancel))
            continue;
        if (r.one_each)
            qdq_dequantize_row(p->type, p->scales + r.scale, s.zero, codes + r.at * size, r.n,
                               w + r.at);
        else
            qdq_dequantize_floats(&s.one, codes + r.at * size, r.n, w + r.at);
    }
}

/* The bytes of a tensor, and one byte or more for each number: piece by piece. */
static qdq_status pack_codes(const char *codes, size_t count, const qdq_weight_params *p,
                             char *packed, qdq_error *err)
{
    for (size_t at = 0; at < count; at += QDQ_POLL_BYTES) { /* even: 4 bits end with a byte */
        QDQ_TRY(qdq_cancel_poll(p->cancel, err));
        qdq_pack_codes(p->type, codes + at * qdq_code_size(p->type),
                       count - at < QDQ_POLL_BYTES ? count - at : QDQ_POLL_BYTES,
                       packed + at * qdq_elem_bits(p->type) / 8);
    }
    return QDQ_OK;
}

static qdq_status unpack_codes(const char *packed, size_t count, const qdq_weight_params *p,
                               char *codes, qdq_error *err)
{
    for (size_t at = 0; at < count; at += QDQ_POLL_BYTES) {
        QDQ_TRY(qdq_cancel_poll(p->cancel, err));
        qdq_unpack_codes(p->type, packed + at * qdq_elem_bits(p->type) / 8,
                         count - at < QDQ_POLL_BYTES ? count - at : QDQ_POLL_BYTES,
                         codes + at * qdq_code_size(p->type));
    }
    return QDQ_OK;
}

qdq_status qdq_weight_codes(const float *w, const qdq_scale_grid *g, const qdq_weight_params *p,
                            void *packed, qdq_error *err)
{
    bool pack = qdq_elem_bits(p->type) < 8;
    char *codes = pack ? malloc(count_of(g) + 1) : packed;

    QDQ_NEED(codes != NULL, err);
    quantize_runs(w, g, p, codes);
    qdq_status st = qdq_cancel_poll(p->cancel, err);
    if (pack && st == QDQ_OK)
        st = pack_codes(codes, count_of(g), p, packed, err);
    if (pack)
        free(codes);
    return st;
}

qdq_status qdq_weight_decode(const void *packed, const qdq_scale_grid *g,
                             const qdq_weight_params *p, float *w, qdq_error *err)
{
    size_t count = count_of(g);
    /* aligned, which bytes of a file need not be */
    char *codes = malloc(count * qdq_code_size(p->type) + 1);

    QDQ_NEED(codes != NULL, err);
    qdq_status st = unpack_codes(packed, count, p, codes, err);
    if (st == QDQ_OK) {
        dequantize_runs(codes, g, p, w);
        st = qdq_cancel_poll(p->cancel, err);
    }
    free(codes);
    return st;
}
