/* search_boundaries.c - deltas at the boundaries of composites. Units decide about the nodes in
 * them; a tensor that several of them read is worth codes only if all take them. */
#include <math.h>
#include <stdlib.h>

#include "base/fail.h"
#include "tune/search/search_state.h"

/* What one unit has there, it has tried itself. */
static bool is_open(const qdq_search_state *s, const qdq_search_boundary *b)
{
    uint32_t first = UINT32_MAX;
    bool several = false;

    for (size_t i = 0; i < b->n_bits; i++) {
        uint32_t unit = s->unit_of[b->bit[i]];
        if (unit == UINT32_MAX)
            continue;
        several = several || (first != UINT32_MAX && unit != first);
        first = unit;
    }
    return several;
}

static double bound_of(const qdq_search_state *s, const qdq_search_boundary *b)
{
    double sum = 0;

    for (size_t i = 0; i < b->n_bits; i++)
        sum += fmax(s->bound[b->bit[i]], 0);
    return sum;
}

static size_t rank_boundaries(const qdq_search_state *s, qdq_search_ranked *out)
{
    size_t n = 0;

    for (size_t i = 0; i < s->p->n_boundaries; i++) {
        double bound = bound_of(s, &s->p->boundary[i]);
        if (qdq_search_matters(s, bound) && is_open(s, &s->p->boundary[i]))
            out[n++] = (qdq_search_ranked){i, bound};
    }
    qdq_search_rank(out, n);
    return n;
}

qdq_status qdq_search_boundaries(qdq_search_state *s, qdq_error *err)
{
    qdq_search_ranked *order = calloc(s->p->n_boundaries + 1, sizeof *order);
    qdq_status st = order != NULL ? QDQ_OK : qdq_nomem(err);
    size_t n = st == QDQ_OK ? rank_boundaries(s, order) : 0;
    unsigned stale = 0;

    for (size_t i = 0; i < n && st == QDQ_OK && !s->over && stale < s->opts->stale; i++) {
        const qdq_search_boundary *b = &s->p->boundary[order[i].index];
        qdq_tried t;
        qdq_search_reset(s);
        qdq_search_flip(s, b->bit, b->n_bits);
        st = qdq_search_try(s, SIZE_MAX, &t, err);
        stale = t.accepted ? 0 : stale + t.measured;
    }
    free(order);
    return st;
}
