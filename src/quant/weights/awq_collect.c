/* awq_collect.c - collects activations for AWQ. Of an activation are kept: the mean of |x| for
 * each channel, and a sample of rows: those whose lot is low enough, the limit halved whenever
 * there are too many. The lot depends on the number of the row alone. */
#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "base/random.h"
#include "quant/calib/sweep.h"
#include "quant/weights/awq_state.h"

/* Half of the rows go. */
static void thin_rows(qdq_awq_group *g)
{
    size_t n = 0;

    g->limit /= 2;
    for (size_t i = 0; i < g->n_kept; i++) {
        if (g->lot[i] > g->limit)
            continue;
        memmove(g->row + n * g->k, g->row + i * g->k, g->k * sizeof *g->row);
        g->lot[n++] = g->lot[i];
    }
    g->n_kept = n;
}

static bool begin_group(qdq_awq_group *g, qdq_arena *arena)
{
    if (g->row != NULL)
        return true;
    g->row = qdq_arena_array(arena, QDQ_AWQ_ROWS * g->k + 1, sizeof *g->row);
    g->sum = qdq_arena_array(arena, g->k + 1, sizeof *g->sum);
    g->low = qdq_arena_array(arena, g->k + 1, sizeof *g->low);
    g->high = qdq_arena_array(arena, g->k + 1, sizeof *g->high);
    g->limit = UINT64_MAX;
    return g->row != NULL && g->sum != NULL && g->low != NULL && g->high != NULL;
}

bool qdq_awq_add_rows(qdq_awq_group *g, qdq_arena *arena, const float *x, size_t n_row)
{
    if (!begin_group(g, arena))
        return false;
    for (size_t i = 0; i < n_row; i++, g->n_row++) {
        const float *row = x + i * g->k;
        /* rows at regular distances may all be one token */
        uint64_t lot = qdq_random_nth_seed(1, g->n_row);

        while (lot <= g->limit && g->n_kept == QDQ_AWQ_ROWS)
            thin_rows(g);
        bool keep = lot <= g->limit;
        for (size_t k = 0; k < g->k; k++) {
            float v = isfinite(row[k]) ? row[k] : 0;

            g->sum[k] += fabs((double)v);
            g->low[k] = v < g->low[k] ? v : g->low[k];
            g->high[k] = v > g->high[k] ? v : g->high[k];
            if (keep)
                g->row[g->n_kept * g->k + k] = v;
        }
        if (keep)
            g->lot[g->n_kept++] = lot;
    }
    return true;
}

static qdq_status observe_rows(void *ctx, size_t sample, const char *name, const qdq_array *x,
                               qdq_error *err)
{
    qdq_awq_state *a = ctx;
    const qdq_map_value *at = qdq_map_get(&a->by_value, name);
    const size_t turn = a->n_turns > 1 ? sample % a->n_turns : 0;
    qdq_awq_group *g = at != NULL ? &a->groups.at[at->num + turn] : NULL;

    if (g == NULL)
        return QDQ_OK;
    if (x->elem != QDQ_FLOAT || x->rank < 1 || (size_t)x->dim[x->rank - 1] != g->k)
        return qdq_fail(err, QDQ_E_FORMAT, "tensor '%s': its rows do not have %zu floats", name,
                        g->k);
    return qdq_allocated(
        qdq_awq_add_rows(g, &a->scratch, x->data, (size_t)qdq_array_count(x) / g->k), err);
}

qdq_status qdq_awq_collect(qdq_awq_state *a)
{
    const qdq_value **values = qdq_arena_array(&a->scratch, a->groups.n + 1, sizeof *values);
    size_t n = 0;

    for (size_t i = 0; i < a->groups.n && values != NULL; i += a->n_turns > 1 ? a->n_turns : 1)
        if (a->groups.at[i].x->producer != NULL)
            values[n++] = a->groups.at[i].x;
    return values != NULL ? qdq_sweep(a->q, "weights", values, observe_rows, a, a->err)
                          : qdq_nomem(a->err);
}
