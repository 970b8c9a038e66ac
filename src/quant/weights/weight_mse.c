/* weight_mse.c - searches the range of a weight with the least squared error. Scales are
 * searched in parallel, each on its own weights side by side: every step costs a walk over all
 * of them, so that the walk is all that counts. */
#include "quant/weights/weight_mse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "ir/pages.h"
#include "quant/weights/weights.h"

enum {
    STEPS = sizeof QDQ_CLIP_LETTERS - 1,
    LANES = 16,   /* sums that do not wait for each other */
    PIECE = 1024, /* elements: as many as a float sums up with enough digits */
    COLUMNS = 16  /* that are taken out of a matrix at once: a cache line of each row */
};

/* --- one scale -------------------------------------------------------------------------------- */

/* How far v is from the nearest whole number between the two. */
static inline float distance(float v, float lowest, float highest)
{
    const float magic = 12582912.0F; /* adding 1.5 * 2^23 leaves no bits behind the point */
    float in = v > lowest ? v : lowest;

    in = in < highest ? in : highest;
    return v - ((in + magic) - magic);
}

/* Squared distances to the nearest code, in steps. A product with 1 / scale instead of a quotient
 * may give the other one of two codes that are equally near: that changes no sum. */
static double distances(const float *x, size_t n, float per_unit, float lowest, float highest)
{
    float sum[LANES] = {0}, all = 0;
    size_t i = 0;

    for (; i + LANES <= n; i += LANES)
#pragma omp simd
        for (size_t k = 0; k < LANES; k++) {
            float off = distance(x[i + k] * per_unit, lowest, highest);
            sum[k] += off * off;
        }
    for (; i < n; i++) {
        float off = distance(x[i] * per_unit, lowest, highest);
        sum[0] += off * off;
    }
    for (size_t k = 0; k < LANES; k++)
        all += sum[k];
    return (double)all;
}

/* With the functions that make the codes in the end: holds for every type of codes. */
static double error_by_codes(const qdq_qparam *p, const float *x, size_t n)
{
    float restored[PIECE];
    int32_t codes[PIECE]; /* room for the widest */
    double sum = 0;

    qdq_quantize_floats(p, x, n, codes);
    qdq_dequantize_floats(p, codes, n, restored);
    for (size_t i = 0; i < n; i++) {
        double off = (double)x[i] - (double)restored[i];
        sum += off * off;
    }
    return sum;
}

static double error_of(const qdq_qscheme *s, double low, double high, const float *x, size_t n)
{
    int32_t lowest = 0, highest = 0;
    double sum = 0;
    qdq_qparam p;

    if (!qdq_qparam_from_range(s, low, high, &p))
        return INFINITY;
    const float per_unit = 1 / p.scale;
    const bool quick = qdq_elem_code_limits(p.type, &lowest, &highest) && isfinite(per_unit);
    const float from = (float)(lowest - p.zero_point), to = (float)(highest - p.zero_point);
    for (size_t i = 0; i < n; i += PIECE) {
        size_t piece = n - i < PIECE ? n - i : PIECE;
        sum +=
            quick ? distances(x + i, piece, per_unit, from, to) : error_by_codes(&p, x + i, piece);
    }
    return quick ? sum * (double)p.scale * (double)p.scale : sum;
}

/* What is clipped only grows: from twice the least error on, no further step can win (as in
 * threshold_mse.c). */
static char search_clip(const qdq_qscheme *s, double low, double high, const float *x, size_t n)
{
    double least = INFINITY;
    int best = 0;

    for (int k = 0; k < STEPS; k++) {
        double part = 1 - k * QDQ_WEIGHT_MSE_STEP;
        double error = error_of(s, low * part, high * part, x, n);

        if (error < least) {
            least = error;
            best = k;
        } else if (error > 2 * least) {
            break;
        }
    }
    return QDQ_CLIP_LETTERS[best];
}

/* --- all scales ------------------------------------------------------------------------------- */

typedef struct weight {
    const float *w;
    const qdq_scale_grid *g;
    const qdq_qscheme *s;
    const float *low, *high;
    char *letters;
} weight;

/* Do scales that follow each other belong to columns of a matrix? Then its rows are as long as
 * there are columns. */
static bool is_columns(const qdq_scale_grid *g)
{
    return g->block == 0 ? g->c.inner == 1 : g->c.inner > 1;
}

static size_t row_size(const qdq_scale_grid *g)
{
    return g->block == 0 ? g->c.channels : g->c.inner;
}

/* Elements of the block that scale i is for. */
static size_t block_size(const qdq_scale_grid *g, size_t i)
{
    size_t left = g->c.channels - i / g->c.inner % g->n_block * g->block;

    return left < g->block ? left : g->block;
}

/* Where the first element of scale i is. */
static const float *first_of(const weight *m, size_t i)
{
    const qdq_scale_grid *g = m->g;

    if (g->block == 0)
        return m->w + i * g->c.inner;
    size_t block = i / g->c.inner;
    return m->w +
           (block / g->n_block * g->c.channels + block % g->n_block * g->block) * g->c.inner +
           i % g->c.inner;
}

/* n scales from i on: columns, each put in a row of its own in x. */
static void search_columns(const weight *m, size_t i, size_t n, float *x)
{
    const size_t rows = m->g->block == 0 ? m->g->c.outer : block_size(m->g, i);
    const size_t pitch = rows + LANES; /* not a power of two, which a cache would hold few of */
    const float *from = first_of(m, i);

    for (size_t r = 0; r < rows; r++, from += row_size(m->g))
        for (size_t k = 0; k < n; k++)
            x[k * pitch + r] = from[k];
    for (size_t k = 0; k < n; k++)
        m->letters[i + k] =
            search_clip(m->s, (double)m->low[i + k], (double)m->high[i + k], x + k * pitch, rows);
}

/* Scale i: one run of elements, or one in each of `outer` matrices, which are put together in x. */
static void search_runs(const weight *m, size_t i, float *x)
{
    const qdq_channels *c = &m->g->c;
    const float *from = first_of(m, i);
    size_t n = m->g->block == 0 ? c->inner : block_size(m->g, i);

    if (m->g->block == 0 && c->outer > 1) {
        for (size_t o = 0; o < c->outer; o++)
            memcpy(x + o * n, from + o * c->channels * n, n * sizeof *x);
        from = x;
        n *= c->outer;
    }
    m->letters[i] = search_clip(m->s, (double)m->low[i], (double)m->high[i], from, n);
}

/* The elements that a thread needs room for. */
static size_t room(const qdq_scale_grid *g)
{
    size_t rows = g->block == 0 ? g->c.outer : g->block;

    return is_columns(g)                     ? COLUMNS * (rows + LANES)
           : g->block == 0 && g->c.outer > 1 ? rows * g->c.inner
                                             : 1;
}

bool qdq_weight_mse_letters(const float *w, const qdq_scale_grid *g, const qdq_qscheme *s,
                            const float *low, const float *high, char *letters)
{
    const weight m = {w, g, s, low, high, letters};
    const size_t row = is_columns(g) ? row_size(g) : 1, at_once = is_columns(g) ? COLUMNS : 1;
    const size_t per_row = (row + at_once - 1) / at_once, scales = qdq_scale_count(g);
    const size_t n = row > 0 ? scales / row * per_row : 0;
    bool ok = true;

    if (s->reduced) { /* what is clipped would have the bit that kernels have no room for */
        memset(letters, QDQ_CLIP_LETTERS[0], scales);
        return true;
    }
#pragma omp parallel reduction(&& : ok) if (n > 1)
    {
        float *x = malloc((room(g) + 1) * sizeof *x);

        ok = x != NULL;
#pragma omp for schedule(static)
        for (size_t k = 0; k < n; k++) {
            size_t first = k % per_row * at_once, i = k / per_row * row + first;
            size_t left = row - first;

            if (x != NULL && is_columns(g))
                search_columns(&m, i, left < at_once ? left : at_once, x);
            else if (x != NULL)
                search_runs(&m, i, x);
        }
        free(x);
    }
    return ok;
}

/* A constant of the main graph, else of a body. */
static const qdq_tensor *find_constant(const qdq_model *m, const char *name)
{
    const qdq_value *v = qdq_graph_find(m->graph, name);

    for (size_t i = 0; i < m->graphs.n && v == NULL; i++)
        v = qdq_graph_find(m->graphs.at[i], name);
    return qdq_value_const(v);
}

static qdq_status search_weight(const qdq_model *m, qdq_plan *p, qdq_plan_weight *w,
                                qdq_arena *scratch, qdq_error *err)
{
    const qdq_qscheme scheme = qdq_plan_scheme(w);
    const qdq_tensor *t = find_constant(m, w->tensor);
    const float *floats;
    qdq_scale_grid grid;

    if (t == NULL)
        return qdq_fail(err, QDQ_E_BUG, "the model has no such constant");
    QDQ_TRY(qdq_weight_grid(t, w->axis, w->block, &grid, err));
    QDQ_TRY(qdq_weight_floats(t, scratch, &floats, err));
    size_t n = qdq_scale_count(&grid);
    float *low = qdq_arena_array(scratch, n + 1, sizeof *low);
    float *high = qdq_arena_array(scratch, n + 1, sizeof *high);
    char *letters = qdq_arena_array(&p->arena, n + 1, 1);
    QDQ_NEED(low != NULL && high != NULL && letters != NULL, err);
    QDQ_TRY(qdq_weight_ranges(floats, &grid, NULL, low, high, err));
    QDQ_NEED(qdq_weight_mse_letters(floats, &grid, &scheme, low, high, letters), err);
    qdq_tensor_rest(t);
    w->clip = letters;
    w->clip_step = QDQ_WEIGHT_MSE_STEP;
    w->n_scales = n;
    return QDQ_OK;
}

qdq_status qdq_weight_mse_search(const qdq_model *m, qdq_plan *p, qdq_error *err)
{
    qdq_status st = QDQ_OK;

    for (size_t i = 0; i < p->weights.n && st == QDQ_OK; i++) {
        qdq_plan_weight *w = &p->weights.at[i];
        qdq_arena scratch = QDQ_ARENA_INIT;

        if (!qdq_weight_method_is_mse(w->method) || w->scales != NULL || w->clip != NULL)
            continue;
        st = search_weight(m, p, w, &scratch, err);
        if (st != QDQ_OK)
            st = qdq_within(err, st, "weight '%s'", w->tensor);
        qdq_arena_free(&scratch);
    }
    return st;
}
