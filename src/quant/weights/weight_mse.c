/* weight_mse.c - see the header. Scales are searched in parallel, each on a copy of its own weights side by side, with
 * the functions that make the codes in the end: what is found holds for every type of codes. */
#include "quant/weights/weight_mse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "quant/weights/weights.h"

enum { STEPS = sizeof QDQ_CLIP_LETTERS - 1, LANES = 8 };

/* --- one scale ------------------------------------------------------------------------------------------------------ */

static size_t most_elements(const qdq_scale_grid *g)
{
    return g->block == 0 ? g->c.outer * g->c.inner : g->block;
}

/* The elements of scale i, in a row. Gives how many. */
static size_t gather(const float *w, const qdq_scale_grid *g, size_t i, float *x)
{
    const qdq_channels *c = &g->c;
    size_t n = 0;

    if (g->block == 0 && c->inner == 1) {
        for (; n < c->outer; n++)
            x[n] = w[n * c->channels + i];
        return n;
    }
    if (g->block == 0) {
        for (size_t o = 0; o < c->outer; o++, n += c->inner)
            memcpy(x + n, w + (o * c->channels + i) * c->inner, c->inner * sizeof *x);
        return n;
    }
    size_t inner = i % c->inner, first = i / c->inner % g->n_block * g->block, o = i / c->inner / g->n_block;
    for (size_t k = first; k < first + g->block && k < c->channels; k++)
        x[n++] = w[(o * c->channels + k) * c->inner + inner];
    return n;
}

static double error_of(const qdq_qscheme *s, double low, double high, const float *x, size_t n,
                       float *restored, void *codes)
{
    double sum[LANES] = {0}, all = 0; /* sums that do not wait for each other */
    qdq_qparam p;

    if (!qdq_qparam_from_range(s, low, high, &p))
        return INFINITY;
    qdq_quantize_floats(&p, x, n, codes);
    qdq_dequantize_floats(&p, codes, n, restored);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t k = 0; k < LANES; k++) {
            double off = (double)x[i + k] - (double)restored[i + k];
            sum[k] += off * off;
        }
    for (; i < n; i++) {
        double off = (double)x[i] - (double)restored[i];
        sum[0] += off * off;
    }
    for (size_t k = 0; k < LANES; k++)
        all += sum[k];
    return all;
}

/* What is clipped only grows: from twice the least error on, no further step can win (as in threshold_mse.c). */
static char search(const qdq_qscheme *s, double low, double high, const float *x, size_t n, float *restored,
                   void *codes)
{
    double least = INFINITY;
    int best = 0;

    for (int k = 0; k < STEPS; k++) {
        double part = 1 - k * QDQ_WEIGHT_MSE_STEP;
        double error = error_of(s, low * part, high * part, x, n, restored, codes);

        if (error < least) {
            least = error;
            best = k;
        } else if (error > 2 * least) {
            break;
        }
    }
    return QDQ_CLIP_LETTERS[best];
}

/* --- all scales ------------------------------------------------------------------------------------------------------- */

bool qdq_weight_mse_letters(const float *w, const qdq_scale_grid *g, const qdq_qscheme *s, const float *low,
                            const float *high, char *letters)
{
    const size_t most = most_elements(g) + 1, scales = qdq_scale_count(g);
    bool ok = true;

#pragma omp parallel reduction(&& : ok) if (scales > 1)
    {
        float *x = malloc(most * 2 * sizeof *x + most * sizeof(int32_t));

        ok = x != NULL;
#pragma omp for schedule(static)
        for (size_t i = 0; i < scales; i++) {
            if (x == NULL)
                continue;
            size_t n = gather(w, g, i, x);
            letters[i] = search(s, (double)low[i], (double)high[i], x, n, x + most, (void *)(x + 2 * most));
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
    return v != NULL ? qdq_value_const(v) : NULL;
}

static qdq_status search_weight(const qdq_model *m, qdq_plan *p, qdq_plan_weight *w, qdq_arena *scratch,
                                qdq_error *err)
{
    const qdq_qscheme scheme = {w->type, !w->asymmetric, w->reduced, QDQ_FLOAT};
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
    if (low == NULL || high == NULL || letters == NULL)
        return qdq_nomem(err);
    QDQ_TRY(qdq_weight_ranges(floats, &grid, low, high, err));
    if (!qdq_weight_mse_letters(floats, &grid, &scheme, low, high, letters))
        return qdq_nomem(err);
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

        if (w->method != QDQ_WEIGHT_MSE || w->scales != NULL || w->clip != NULL)
            continue;
        st = search_weight(m, p, w, &scratch, err);
        if (st != QDQ_OK)
            st = qdq_within(err, st, "weight '%s'", w->tensor);
        qdq_arena_free(&scratch);
    }
    return st;
}
