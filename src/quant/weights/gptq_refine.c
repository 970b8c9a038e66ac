/* gptq_refine.c - refines quantized values and scales after GPTQ. GPTQ rounds each channel once,
 * and never comes back. Here each quantized value moves to the best one while all others stay,
 * channel after channel, and then each scale does, in sweeps until little changes: coordinate
 * descent on the error of the products, as in Behdin et al., "QuantEase: Optimization-based
 * Quantization for Language Models" (arXiv 2309.01885), which leaves the scales as they are.
 * With D = W - Q the error is tr(D'HD), the best change of one element of D is -(HD) / H on the
 * diagonal. AdaRound (Nagel et al., arXiv 2004.10568) and SignRound (Cheng et al., arXiv
 * 2309.05516) learn the same rounding by gradients, in more steps that each cost a sweep:
 * docs/decisions.md. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "quant/weights/gptq_strip.h"
#include "quant/weights/matrix_product.h"

enum {
    STRIP = QDQ_GPTQ_STRIP,
    BATCH = QDQ_GPTQ_BATCH,
    PIECE = 32, /* channels of a batch that see each change at once */
    SWEEPS = 8
};

/* A sweep that brings less than this fraction of what all brought is the last one. */
#define LEAST_SHARE 0.05

/* What all strips share. */
typedef struct refining {
    const qdq_gptq_group *g;
    const qdq_gptq_factor *f;
    const qdq_weight_columns *w;
    /* limits of quantized values */
    float lowest, highest;
    /* scales and values so far */
    qdq_gptq_result *out;
    /* of each strip, added in order whatever thread was first */
    double *error;
} refining;

/* --- H ---------------------------------------------------------------------------------------- */

void qdq_gptq_mirror(const qdq_gptq_group *g, qdq_gptq_factor *f)
{
    enum { TILE = 32 };
    const size_t k = g->k;

#pragma omp parallel for schedule(dynamic) if (k > 256)
    for (size_t first = 0; first < k; first += TILE)
        for (size_t column = 0; column < first + TILE; column += TILE)
            for (size_t r = first; r < k && r < first + TILE; r++)
                for (size_t c = column; c < r && c < column + TILE; c++)
                    f->v[(k - 1 - r) * f->ld + k - 1 - c] = g->h[c * g->ld + r];
    f->is_mirrored = true;
}

/* A thread's sweep over its strip. */
typedef struct sweep {
    const refining *r;
    qdq_gptq_strip *t;
    /* the batch of channels whose rows of HD are in t->error */
    size_t first, n;
    /* of the block that is next: 1 / scale, and limits of whole numbers of steps */
    float per_unit[STRIP], low[STRIP], high[STRIP];
    /* error less than before */
    double won;
} sweep;

/* An element of H among channels of the batch. */
static float h_at(const sweep *s, size_t a, size_t b)
{
    return s->t->square[(a - s->first) * BATCH + b - s->first];
}

/* H of the batch, with the damping that GPTQ had. */
static void take_square(const sweep *s)
{
    float *to = s->t->square;

    for (size_t i = 0; i < s->n; i++) {
        const float *h = s->r->g->h + (s->first + i) * s->r->g->ld + s->first;

        to[i * BATCH + i] = h[i] + s->r->f->added;
        for (size_t q = i + 1; q < s->n; q++)
            to[i * BATCH + q] = to[q * BATCH + i] = h[q];
    }
}

/* Adds H x to t->error: channels [from, first) of x, */
static void add_before(const sweep *s, size_t from, const float *x)
{
    const qdq_gptq_group *g = s->r->g;

    qdq_product_add(&(qdq_product){g->h + from * g->ld + s->first, x + from * STRIP, s->t->error,
                                   g->ld, STRIP, STRIP, s->n, STRIP, s->first - from, 1},
                    s->t->scratch);
}

/* and those of the batch. */
static void add_within(const sweep *s, const float *x)
{
    qdq_product_add(&(qdq_product){s->t->square, x + s->first * STRIP, s->t->error, BATCH, STRIP,
                                   STRIP, s->n, STRIP, s->n, 1},
                    s->t->scratch);
}

static void swap_rows(float *a, float *b)
{
    float row[STRIP];

    memcpy(row, a, sizeof row);
    memcpy(a, b, sizeof row);
    memcpy(b, row, sizeof row);
}

/* The batch becomes [first, first + n). Channels behind it come from the mirrored triangle, last
 * one first. */
static void take_batch(sweep *s, size_t first, size_t n)
{
    const size_t behind = s->r->w->k - first - n, ld = s->r->f->ld;
    float *to = s->t->error;

    s->first = first;
    s->n = n;
    take_square(s);
    memset(to, 0, n * STRIP * sizeof *to);
    qdq_product_add(
        &(qdq_product){s->r->f->v + behind, s->t->y, to, ld, STRIP, STRIP, n, STRIP, behind, 1},
        s->t->scratch);
    for (size_t i = 0; i < n / 2; i++)
        swap_rows(to + i * STRIP, to + (n - 1 - i) * STRIP);
    add_before(s, 0, s->t->d);
    add_within(s, s->t->d);
}

/* --- values ----------------------------------------------------------------------------------- */

static void take_block(sweep *s, size_t block)
{
    const refining *r = s->r;

    qdq_gptq_strip_scales(r->w, r->out->scales, r->out->zeros, block, s->t);
    for (size_t j = 0; j < STRIP; j++) {
        s->per_unit[j] = 1 / s->t->scales[j];
        s->low[j] = r->lowest - (float)s->t->zeros[j];
        s->high[j] = r->highest - (float)s->t->zeros[j];
    }
}

/* The nearest whole number of |x| < 2^22. */
static inline float whole(float x)
{
    const float magic = 12582912.0F; /* adding 1.5 * 2^23 leaves no bits behind the point */

    return (x + magic) - magic;
}

/* The rounded weights of channel c are less than before; so are rows [from, end) of HD, which are
 * in the batch. */
static void change_row(const sweep *s, size_t c, const float *less, size_t from, size_t end)
{
    float *d = s->t->d + c * STRIP, *mirror = s->t->y + (s->r->w->k - 1 - c) * STRIP;

    for (size_t j = 0; j < STRIP; j++)
        mirror[j] = d[j] += less[j];
    for (size_t q = from; q < end; q++) {
        const float h = h_at(s, c, q);
        float *to = s->t->error + (q - s->first) * STRIP;

        for (size_t j = 0; j < STRIP; j++)
            to[j] += h * less[j];
    }
}

/* Each value of channel c becomes the best one. */
static void move_row(sweep *s, size_t c, size_t from, size_t end)
{
    const float h = h_at(s, c, c), by = 1 / h, *g = s->t->error + (c - s->first) * STRIP;
    float *w = s->t->w + c * STRIP, less[STRIP], won[STRIP], moved = 0;

    for (size_t j = 0; j < STRIP; j++) {
        float x = (w[j] + g[j] * by) * s->per_unit[j];

        x = x > s->low[j] ? x : s->low[j];
        x = whole(x < s->high[j] ? x : s->high[j]) * s->t->scales[j];
        less[j] = w[j] - x;
        won[j] = -less[j] * (2 * g[j] + less[j] * h);
        w[j] = x;
    }
    for (size_t j = 0; j < STRIP; j++) {
        s->won += (double)won[j];
        moved += fabsf(less[j]);
    }
    if (moved != 0)
        change_row(s, c, less, from, end);
}

/* --- scales ----------------------------------------------------------------------------------- */

/* Of each column of a block: Q'HD and Q'HQ, Q being the rounded weights. */
typedef struct sums {
    double qd[STRIP], qq[STRIP];
} sums;

/* Rows of t->error times those of Q. */
static void add_dots(const sweep *s, size_t from, size_t end, double by, double *to)
{
    for (size_t c = from; c < end; c++) {
        const float *q = s->t->w + c * STRIP, *e = s->t->error + (c - s->first) * STRIP;

        for (size_t j = 0; j < STRIP; j++)
            to[j] += by * (double)q[j] * (double)e[j];
    }
}

/* A block inside of the batch, whose rows of HD are as they should be. */
static void sum_small_block(const sweep *s, size_t from, size_t end, sums *m)
{
    float row[STRIP];

    add_dots(s, from, end, 1, m->qd);
    for (size_t c = from; c < end; c++) {
        memset(row, 0, sizeof row);
        for (size_t q = from; q < end; q++) {
            const float h = h_at(s, c, q), *x = s->t->w + q * STRIP;

            for (size_t j = 0; j < STRIP; j++)
                row[j] += h * x[j];
        }
        for (size_t j = 0; j < STRIP; j++)
            m->qq[j] += (double)s->t->w[c * STRIP + j] * (double)row[j];
    }
}

/* A block of several batches: the rows of HD are computed again, now that values have moved. */
static void sum_large_block(sweep *s, size_t from, size_t end, sums *m)
{
    float *e = s->t->error;

    for (size_t first = from; first < end; first += s->n) {
        const size_t n = end - first < BATCH ? end - first : BATCH;

        take_batch(s, first, n);
        add_dots(s, first, first + n, 1, m->qd);
        memset(e, 0, n * STRIP * sizeof *e);
        add_before(s, from, s->t->w);
        add_dots(s, first, first + n, 2, m->qq); /* H is symmetric */
        memset(e, 0, n * STRIP * sizeof *e);
        add_within(s, s->t->w);
        add_dots(s, first, first + n, 1, m->qq);
    }
}

/* The best scale of each column, where it is better as its type stores it. False: all stay. */
static bool choose_scales(sweep *s, size_t block, const sums *m)
{
    const qdq_weight_columns *w = s->r->w;
    bool any = false;

    for (size_t j = 0; j < s->t->n; j++) {
        const double old = (double)s->t->scales[j], qd = m->qd[j], qq = m->qq[j];

        if (!(qq > 0) || !(qd > -qq))
            continue;
        const float scale = qdq_qscheme_scale(&w->scheme, old * (1 + qd / qq));
        const double grown = (double)scale / old - 1, won = grown * (2 * qd - grown * qq);
        if (!(won > 0) || !isfinite(scale))
            continue;
        s->r->out->scales[qdq_weight_scale_at(w, block, s->t->first + j)] = scale;
        s->won += won;
        any = true;
    }
    return any;
}

/* Rows of HD behind the block are still needed up to `last`. */
static void improve_scales(sweep *s, size_t block, size_t last)
{
    const size_t from = block * s->r->w->block;
    const size_t end = from + qdq_weight_block_rows(s->r->w, block);
    float old[STRIP], less[STRIP];
    sums m = {{0}, {0}};

    if (s->r->w->block > BATCH)
        sum_large_block(s, from, end, &m);
    else
        sum_small_block(s, from, end, &m);
    if (!choose_scales(s, block, &m))
        return;
    memcpy(old, s->per_unit, sizeof old);
    take_block(s, block);
    for (size_t c = from; c < end; c++) {
        float *w = s->t->w + c * STRIP;

        for (size_t j = 0; j < STRIP; j++) {
            const float x = whole(w[j] * old[j]) * s->t->scales[j];

            less[j] = w[j] - x;
            w[j] = x;
        }
        change_row(s, c, less, end, last);
    }
}

/* --- all of it -------------------------------------------------------------------------------- */

/* Whole blocks, or part of one. */
static size_t batch_at(const qdq_weight_columns *w, size_t first)
{
    const size_t left = w->k - first, rest = w->block - first % w->block;
    size_t n = w->block <= BATCH ? BATCH / w->block * w->block : rest < BATCH ? rest : BATCH;

    return n < left ? n : left;
}

/* Of a batch that ends at `end`: whole blocks, or part of one. */
static size_t piece_at(const qdq_weight_columns *w, size_t first, size_t end)
{
    const size_t left = end - first, rest = w->block - first % w->block;
    size_t n = w->block <= PIECE ? PIECE / w->block * w->block : rest < PIECE ? rest : PIECE;

    return n < left ? n : left;
}

/* Adds to rows [from, end) of HD what changed of D in channels [first, first + n). */
static void spread(const sweep *s, size_t first, size_t n, size_t from, size_t end)
{
    const float *square = s->t->square + (first - s->first) * BATCH + from - s->first;

    if (from < end)
        qdq_product_add(&(qdq_product){square, s->t->before,
                                       s->t->error + (from - s->first) * STRIP, BATCH, STRIP, STRIP,
                                       end - from, STRIP, n, 1},
                        s->t->scratch);
}

/* Channels [first, end) of the batch, of the same block or of several whole ones. */
static void sweep_piece(sweep *s, size_t first, size_t end)
{
    const qdq_weight_columns *w = s->r->w;
    const size_t n = end - first, batch_end = s->first + s->n;
    float *before = s->t->before, *d = s->t->d + first * STRIP;
    size_t from = first, block_end = end;

    memcpy(before, d, n * STRIP * sizeof *d);
    for (size_t c = first; c < end; c++) {
        const size_t block = c / w->block;

        from = block * w->block;
        block_end = from + qdq_weight_block_rows(w, block);
        if (c == first || c == from)
            take_block(s, block);
        move_row(s, c, w->block > BATCH ? c + 1 : from > first ? from : first, end);
        if (c + 1 == block_end && w->block <= PIECE)
            improve_scales(s, block, end);
    }
    for (size_t i = 0; i < n * STRIP; i++)
        before[i] = d[i] - before[i];
    if (w->block > PIECE && w->block <= BATCH)
        spread(s, first, n, from, first);
    spread(s, first, n, end, batch_end);
    if (w->block > PIECE && block_end == end)
        improve_scales(s, from / w->block, w->block <= BATCH ? batch_end : end);
}

static void run_sweep(sweep *s)
{
    const size_t k = s->r->w->k;

    for (size_t first = 0, n; first < k; first += n) {
        n = batch_at(s->r->w, first);
        take_batch(s, first, n);
        for (size_t c = first, m; c < first + n; c += m) {
            m = piece_at(s->r->w, c, first + n);
            sweep_piece(s, c, c + m);
        }
    }
}

/* Q and D of the values so far. */
static void load_values(const refining *r, qdq_gptq_strip *t)
{
    const qdq_weight_columns *w = r->w;
    const size_t size = qdq_code_size(w->scheme.type);

    qdq_gptq_strip_load(w, t);
    memset(t->codes, 0, sizeof t->codes);
    for (size_t c = 0; c < w->k; c++) {
        float *d = t->d + c * STRIP, *q = t->w + c * STRIP;

        if (c % w->block == 0)
            qdq_gptq_strip_scales(w, r->out->scales, r->out->zeros, c / w->block, t);
        for (size_t j = 0; j < t->n; j++)
            memcpy((char *)t->codes + j * size,
                   r->out->codes + (c * w->step_k + (t->first + j) * w->step_n) * size, size);
        qdq_dequantize_row(w->scheme.type, t->scales, t->zeros, t->codes, STRIP, q);
        for (size_t j = 0; j < STRIP; j++) {
            q[j] = j < t->n ? q[j] : 0;
            d[j] -= q[j];
        }
        memcpy(t->y + (w->k - 1 - c) * STRIP, d, STRIP * sizeof *d);
    }
}

/* Their codes, and the error of the held-out rows. */
static void write_values(const refining *r, qdq_gptq_strip *t)
{
    const qdq_weight_columns *w = r->w;

    qdq_gptq_strip_load(w, t);
    for (size_t c = 0; c < w->k; c++) {
        if (c % w->block == 0)
            qdq_gptq_strip_scales(w, r->out->scales, r->out->zeros, c / w->block, t);
        qdq_gptq_strip_round(w, t, t->w + c * STRIP, t->d + c * STRIP);
        qdq_gptq_strip_put(w, t, c, r->out);
    }
    r->error[t->first / STRIP] = qdq_gptq_strip_error(r->g, t);
}

static bool refine_strip(void *ctx, qdq_gptq_strip *t)
{
    const refining *r = ctx;
    sweep s = {.r = r, .t = t};
    double all = 0;

    load_values(r, t);
    for (int i = 0; i < SWEEPS; i++) {
        s.won = 0;
        run_sweep(&s);
        all += s.won;
        if (!(s.won > LEAST_SHARE * all))
            break;
    }
    write_values(r, t);
    return true;
}

static qdq_status refine(refining *r, const qdq_gptq_result *from, const qdq_job *job,
                         qdq_error *err)
{
    const qdq_weight_columns *w = r->w;
    const size_t n = w->n * w->n_block, strips = qdq_gptq_strip_count(w);

    QDQ_NEED(qdq_gptq_result_new(w, r->out) && r->error != NULL, err);
    memcpy(r->out->scales, from->scales, n * sizeof *from->scales);
    memcpy(r->out->zeros, from->zeros, n * sizeof *from->zeros);
    memcpy(r->out->codes, from->codes, w->k * w->n * qdq_code_size(w->scheme.type));
    QDQ_TRY(qdq_gptq_strips(w, job, refine_strip, r, err));
    for (size_t i = 0; i < strips; i++)
        r->out->error += r->error[i];
    r->out->nearest = from->nearest;
    return QDQ_OK;
}

qdq_status qdq_gptq_refine(const qdq_gptq_group *g, const qdq_gptq_factor *f,
                           const qdq_weight_columns *w, const qdq_job *job, qdq_gptq_result *r,
                           qdq_error *err)
{
    qdq_gptq_result better = {0};
    refining x = {.g = g, .f = f, .w = w, .out = &better};

    qdq_gptq_limits(&w->scheme, &x.lowest, &x.highest);
    x.error = calloc(qdq_gptq_strip_count(w) + 1, sizeof *x.error);
    qdq_status st = refine(&x, r, job, err);
    if (st == QDQ_OK && qdq_gptq_gain(r->error, better.error) >= QDQ_GPTQ_LEAST_GAIN_DB) {
        const qdq_gptq_result worse = *r;

        *r = better;
        better = worse;
    }
    qdq_gptq_result_free(&better);
    free(x.error);
    return st;
}
