/* awq_search.c - searches the scales and ranges of AWQ. The error of a product is that of X *
 * (W' - W), X rows of the activation and W' what the codes give back, divided by the scales
 * again; with quantized data it is that of X' * (W' - W) + (X' - X) * W. It is computed for a
 * block of input channels and a strip of columns at a time; strips go in parallel, and are
 * summed in order. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "quant/weights/awq_state.h"
#include "quant/weights/weights.h"

/* Channels are scaled only if that takes more than three tenths of the error away: less is chance
 * where other layers follow (docs/decisions.md), and may cost a Mul. */
#define WORTH 0.7

/* 0.5 / 0.05 is not quite 10 */
#define SLACK 1e-6

enum { STRIP = 32 };

/* Of one thread: `block` rows of a strip. */
typedef struct strip {
    /* [block][STRIP] */
    float *w, *back;
    uint16_t *codes;
    float low[STRIP], high[STRIP], scales[STRIP];
    int32_t zeros[STRIP];
    /* error of each kept row */
    float y[QDQ_AWQ_ROWS * STRIP];
} strip;

static strip *new_strip(const qdq_weight_columns *w)
{
    size_t n = w->block * STRIP;
    strip *t = calloc(1, sizeof *t + n * (2 * sizeof(float) + sizeof(uint16_t)));

    if (t == NULL)
        return NULL;
    t->w = (float *)(void *)(t + 1);
    t->back = t->w + n;
    t->codes = (uint16_t *)(void *)(t->back + n);
    return t;
}

static size_t strip_count(const qdq_weight_columns *w)
{
    return (w->n + STRIP - 1) / STRIP;
}

/* Columns first .. first + n of a block, times s; columns that are missing are 0. */
static void load_block(strip *t, const qdq_weight_columns *w, const float *s, size_t block,
                       size_t first, size_t n)
{
    size_t rows = qdq_weight_block_rows(w, block);

    for (size_t j = 0; j < STRIP; j++)
        t->low[j] = t->high[j] = 0;
    for (size_t i = 0; i < rows; i++) {
        size_t k = block * w->block + i;
        float by = s != NULL ? s[k] : 1;
        float *row = t->w + i * STRIP;

        for (size_t j = 0; j < STRIP; j++)
            row[j] = j < n ? w->w[k * w->step_k + (first + j) * w->step_n] * by : 0;
        for (size_t j = 0; j < STRIP; j++) {
            t->low[j] = row[j] < t->low[j] ? row[j] : t->low[j];
            t->high[j] = row[j] > t->high[j] ? row[j] : t->high[j];
        }
    }
}

/* Adds the product of the kept rows `x` less `than` (NULL: 0) and a block of a strip to t->y. */
static void add_product(strip *t, const float *x, const float *than, const float *w,
                        const qdq_awq_group *g, size_t first, size_t rows)
{
    for (size_t r = 0; r < g->n_kept; r++) {
        const size_t at = r * g->k + first;
        float *y = t->y + r * STRIP;

        for (size_t i = 0; i < rows; i++) {
            const float by = than != NULL ? x[at + i] - than[at + i] : x[at + i];

            for (size_t j = 0; j < STRIP; j++)
                y[j] += by * w[i * STRIP + j];
        }
    }
}

/* Adds the error of a block to t->y, with `part` of the range. */
static void add_error(strip *t, const qdq_awq_group *g, const qdq_weight_columns *w, const float *s,
                      size_t block, float part)
{
    size_t rows = qdq_weight_block_rows(w, block), first = block * w->block;
    float parts[STRIP];

    for (size_t j = 0; j < STRIP; j++)
        parts[j] = part;
    (void)qdq_weight_scales(&w->scheme, t->low, t->high, parts, STRIP, t->scales, t->zeros, NULL);
    for (size_t i = 0; i < rows; i++) {
        float *row = t->w + i * STRIP, *back = t->back + i * STRIP;
        float by = s != NULL ? 1 / s[first + i] : 1;

        qdq_quantize_row(w->scheme.type, t->scales, t->zeros, row, STRIP, t->codes);
        qdq_dequantize_row(w->scheme.type, t->scales, t->zeros, t->codes, STRIP, back);
        for (size_t j = 0; j < STRIP; j++)
            back[j] = (back[j] - row[j]) * by;
    }
    add_product(t, g->row_back != NULL ? g->row_back : g->row, NULL, t->back, g, first, rows);
    if (g->row_back == NULL)
        return;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < STRIP; j++)
            t->w[i * STRIP + j] *= s != NULL ? 1 / s[first + i] : 1;
    add_product(t, g->row_back, g->row, t->w, g, first, rows);
}

/* The squared error of column j. */
static double error_of(const strip *t, const qdq_awq_group *g, size_t j)
{
    double sum = 0;

    for (size_t r = 0; r < g->n_kept; r++)
        sum += (double)t->y[r * STRIP + j] * (double)t->y[r * STRIP + j];
    return sum;
}

/* What is done with the columns first .. first + n, a strip. Strips go in parallel: what it writes
 * is its own. */
typedef void visit_strip(strip *t, const qdq_awq_group *g, const qdq_weight_columns *w,
                         size_t first, size_t n, void *ctx);

/* False: out of memory. */
static bool each_strip(const qdq_awq_group *g, const qdq_weight_columns *w, visit_strip *visit,
                       void *ctx)
{
    size_t strips = strip_count(w);
    bool ok = true;

#pragma omp parallel reduction(&& : ok) if (strips > 1)
    {
        strip *t = new_strip(w);

        ok = t != NULL;
#pragma omp for schedule(static)
        for (size_t c = 0; c < strips; c++) {
            size_t first = c * STRIP, left = w->n - first;

            if (t != NULL)
                visit(t, g, w, first, left < STRIP ? left : STRIP, ctx);
        }
        free(t);
    }
    return ok;
}

/* --- scales of channels ----------------------------------------------------------------------- */

typedef struct scaled {
    /* of the channels; NULL: 1 */
    const float *s;
    /* of each strip, to be added in order whatever thread was first */
    double *sums;
} scaled;

static void sum_errors(strip *t, const qdq_awq_group *g, const qdq_weight_columns *w, size_t first,
                       size_t n, void *ctx)
{
    const scaled *by = ctx;

    memset(t->y, 0, sizeof t->y);
    for (size_t b = 0; b < w->n_block; b++) {
        load_block(t, w, by->s, b, first, n);
        add_error(t, g, w, by->s, b, 1);
    }
    for (size_t j = 0; j < n; j++)
        by->sums[first / STRIP] += error_of(t, g, j);
}

double qdq_awq_error(const qdq_awq_group *g, const qdq_weight_columns *w, const float *s)
{
    size_t strips = strip_count(w);
    scaled by = {s, calloc(strips + 1, sizeof *by.sums)};
    bool ok = by.sums != NULL && each_strip(g, w, sum_errors, &by);
    double sum = 0;

    for (size_t c = 0; ok && c < strips; c++)
        sum += by.sums[c];
    free(by.sums);
    return ok ? sum : -1;
}

/* Adds the mean over columns of |w| / (largest of its block), for each channel. */
static bool add_weight_scale(const qdq_weight_columns *w, double *scale)
{
    float *most = calloc(w->n + 1, sizeof *most);

    if (most == NULL)
        return false;
    for (size_t b = 0; b < w->n_block; b++) {
        size_t first = b * w->block, end = first + qdq_weight_block_rows(w, b);

        memset(most, 0, w->n * sizeof *most);
        for (size_t k = first; k < end; k++)
            for (size_t j = 0; j < w->n; j++)
                most[j] = fmaxf(most[j], fabsf(w->w[k * w->step_k + j * w->step_n]));
        for (size_t k = first; k < end; k++) {
            double sum = 0;
            for (size_t j = 0; j < w->n; j++)
                sum += most[j] > 0
                           ? fabs((double)w->w[k * w->step_k + j * w->step_n]) / (double)most[j]
                           : 0;
            scale[k] += sum / (double)w->n;
        }
    }
    free(most);
    return true;
}

/* s = act^alpha / w^(1 - alpha), within four decades, its middle at 1. */
static void scales_for(const qdq_awq_group *g, const double *act, const double *weight,
                       double alpha, float *s)
{
    double least = DBL_MAX, most = 0;

    for (size_t k = 0; k < g->k; k++) {
        double x = pow(act[k], alpha) / (pow(weight[k], 1 - alpha) + 1e-12);

        x = fmax(1e-4, fmin(1e4, x));
        least = fmin(least, x);
        most = fmax(most, x);
        s[k] = (float)x;
    }
    for (size_t k = 0; k < g->k; k++)
        s[k] = (float)((double)s[k] / sqrt(least * most));
}

static double error_of_group(const qdq_awq_group *g, const float *s)
{
    double sum = 0;

    for (size_t i = 0; i < g->weights.n; i++) {
        double error = qdq_awq_error(g, &g->weights.at[i], s);

        if (error < 0)
            return -1;
        sum += error;
    }
    return sum;
}

bool qdq_awq_search_scales(qdq_awq_group *g, qdq_arena *arena)
{
    double *act = qdq_arena_array(arena, g->k + 1, sizeof *act);
    double *weight = qdq_arena_array(arena, g->k + 1, sizeof *weight);
    float *s = qdq_arena_array(arena, g->k + 1, sizeof *s),
          *best = qdq_arena_array(arena, g->k + 1, sizeof *best);
    double least = WORTH * error_of_group(g, NULL);

    if (act == NULL || weight == NULL || s == NULL || best == NULL || least < 0)
        return false;
    for (size_t k = 0; k < g->k; k++)
        act[k] = g->n_row > 0 ? g->sum[k] / (double)g->n_row : 1;
    for (size_t i = 0; i < g->weights.n; i++)
        if (!add_weight_scale(&g->weights.at[i], weight))
            return false;
    for (size_t k = 0; k < g->k; k++)
        weight[k] /= (double)g->weights.n;
    for (int i = 0; i <= (int)(1 / g->alpha_step + SLACK); i++) {
        scales_for(g, act, weight, fmin(1, i * g->alpha_step), s);
        double error = error_of_group(g, s);

        if (error < 0)
            return false;
        if (error < least) {
            least = error;
            memcpy(best, s, g->k * sizeof *s);
            g->s = best;
        }
    }
    return true;
}

/* --- parts of the range ----------------------------------------------------------------------- */

static void clip_strip(strip *t, const qdq_awq_group *g, const qdq_weight_columns *w, size_t first,
                       size_t n, void *ctx)
{
    const qdq_awq_steps *steps = &w->entry->awq;
    /* what is clipped of a reduced scheme would have the bit that kernels have no room for */
    const int last = w->scheme.reduced ? 0 : (int)((1 - steps->clip_lowest) / steps->clip + SLACK);
    char *letters = ctx;
    double least[STRIP];

    for (size_t b = 0; b < w->n_block; b++) {
        load_block(t, w, g->s, b, first, n);
        for (int c = 0; c <= last; c++) {
            memset(t->y, 0, sizeof t->y);
            add_error(t, g, w, g->s, b, (float)(1 - c * steps->clip));
            for (size_t j = 0; j < n; j++) {
                double error = error_of(t, g, j);

                if (c > 0 && error >= least[j])
                    continue;
                least[j] = error;
                letters[qdq_weight_scale_at(w, b, first + j)] = QDQ_CLIP_LETTERS[c];
            }
        }
    }
}

bool qdq_awq_search_clip(const qdq_awq_group *g, const qdq_weight_columns *w, char *letters)
{
    return each_strip(g, w, clip_strip, letters);
}
