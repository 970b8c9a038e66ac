/* search_moves.c - moves across units: from some layer on, two neighbours together, one instance
 * alone. */
#include <math.h>
#include <stdlib.h>

#include "base/fail.h"
#include "tune/search/search_state.h"

/* --- cuts ------------------------------------------------------------------------------------- */

typedef struct cutting {
    qdq_search_state *s;
    /* that is cut: the incumbent, or everything where the incumbent is nothing */
    qdq_assign whole;
    bool is_incumbent;
    bool back;
} cutting;

/* Bits in front of this one hold so much of all worth; counted from the back for cuts there. */
static size_t at_share(const cutting *c, double share)
{
    const qdq_search_state *s = c->s;
    const size_t n = s->p->n_bits;
    double sum = 0;

    for (size_t k = 0; k < n; k++) {
        sum += s->float_ns[c->back ? n - 1 - k : k];
        if (sum >= share * s->total_float_ns)
            return k + 1;
    }
    return n;
}

static qdq_status try_cut(cutting *c, size_t k, qdq_tried *out, qdq_error *err)
{
    qdq_search_state *s = c->s;
    const size_t n = s->p->n_bits;

    qdq_assign_take(&s->candidate, &c->whole);
    for (size_t i = 0; i < k; i++)
        qdq_assign_set(&s->candidate, c->back ? n - 1 - i : i, false);
    return qdq_search_try(s, SIZE_MAX, out, err);
}

/* The first operator that is on, then parts that double, as long as they bring something: compared
 * with each other, for the incumbent may be another one altogether. */
static qdq_status climb_cuts(cutting *c, qdq_error *err)
{
    static const double share[] = {1.0 / 32, 1.0 / 16, 1.0 / 8, 1.0 / 4, 1.0 / 2};
    const size_t n = c->s->p->n_bits;
    double best = c->is_incumbent ? c->s->time : INFINITY;
    size_t k = 0, before = 0;
    int worse = 0;

    while (k < n && !qdq_assign_get(&c->whole, c->back ? n - 1 - k : k))
        k++; /* off already */
    k++;
    for (size_t step = 0; step <= sizeof share / sizeof *share && worse < 2 && !c->s->over;
         step++) {
        qdq_tried t;
        size_t here = step == 0 ? k : at_share(c, share[step - 1]);
        if (here <= before || here >= n)
            continue;
        QDQ_TRY(try_cut(c, here, &t, err));
        before = here;
        if (isnan(t.time))
            continue;
        worse = t.time < best * (1 - c->s->opts->test.enter) ? 0 : worse + 1;
        best = fmin(best, t.time);
    }
    return QDQ_OK;
}

static bool take_whole(cutting *c)
{
    qdq_search_state *s = c->s;

    if (!qdq_assign_copy(&c->whole, &s->incumbent, &s->scratch))
        return false;
    c->is_incumbent = qdq_assign_count(&c->whole) > 0;
    if (!c->is_incumbent)
        for (size_t i = 0; i < s->p->n_bits; i++)
            qdq_assign_set(&c->whole, i, qdq_search_allows(s, i));
    return true;
}

qdq_status qdq_search_cuts(qdq_search_state *s, qdq_error *err)
{
    for (int back = 0; back < 2; back++) {
        cutting c = {.s = s, .back = back == 1};
        s->move = c.back ? "all but the last" : "all but the first";
        QDQ_NEED(take_whole(&c), err);
        QDQ_TRY(climb_cuts(&c, err));
    }
    return QDQ_OK;
}

/* --- pairs ------------------------------------------------------------------------------------ */

void qdq_search_flip(qdq_search_state *s, const uint32_t *bit, size_t n)
{
    size_t on = 0, have = 0;

    for (size_t i = 0; i < n; i++)
        if (s->unit_of[bit[i]] != UINT32_MAX) {
            have++;
            on += qdq_assign_get(&s->incumbent, bit[i]);
        }
    for (size_t i = 0; i < n; i++)
        if (s->unit_of[bit[i]] != UINT32_MAX)
            qdq_assign_set(&s->candidate, bit[i], 2 * on <= have);
}

/* `bit` has room for all bits. */
static void flip_unit(qdq_search_state *s, size_t unit, uint32_t *bit)
{
    size_t n = 0;

    for (uint32_t i = 0; i < s->p->n_bits; i++)
        if (s->unit_of[i] == unit)
            bit[n++] = i;
    qdq_search_flip(s, bit, n);
}

typedef struct neighbours {
    uint32_t a, b;
    double bound;
} neighbours;

static int by_pair_bound(const void *x, const void *y)
{
    const neighbours *p = x, *q = y;

    if (p->bound != q->bound)
        return p->bound > q->bound ? -1 : 1;
    return p->a != q->a ? (p->a < q->a ? -1 : 1) : p->b < q->b ? -1 : 1;
}

/* Bits that follow each other in the graph's order and are of different units. */
static size_t find_pairs(const qdq_search_state *s, neighbours *out)
{
    size_t n = 0;

    for (size_t i = 1; i < s->p->n_bits; i++) {
        uint32_t a = s->unit_of[i - 1], b = s->unit_of[i];
        bool known = a == b || a == UINT32_MAX || b == UINT32_MAX;
        for (size_t k = 0; k < n && !known; k++)
            known = (out[k].a == a && out[k].b == b) || (out[k].a == b && out[k].b == a);
        if (!known)
            out[n++] = (neighbours){a, b, fmax(s->bound[i - 1], 0) + fmax(s->bound[i], 0)};
    }
    qsort(out, n, sizeof *out, by_pair_bound);
    return n;
}

qdq_status qdq_search_pairs(qdq_search_state *s, qdq_error *err)
{
    neighbours *pair = calloc(s->p->n_bits + 1, sizeof *pair);
    uint32_t *bit = calloc(s->p->n_bits + 1, sizeof *bit);
    qdq_status st = pair != NULL && bit != NULL ? QDQ_OK : qdq_nomem(err);
    size_t n = st == QDQ_OK ? find_pairs(s, pair) : 0;
    unsigned stale = 0;

    for (size_t i = 0; i < n && st == QDQ_OK && !s->over && stale < s->opts->stale; i++) {
        qdq_tried t;
        if (!qdq_search_matters(s, pair[i].bound))
            break;
        qdq_search_reset(s);
        flip_unit(s, pair[i].a, bit);
        flip_unit(s, pair[i].b, bit);
        st = qdq_search_try(s, SIZE_MAX, &t, err);
        stale = t.accepted ? 0 : stale + t.measured;
    }
    free(pair);
    free(bit);
    return st;
}

/* --- exceptions ------------------------------------------------------------------------------- */

static qdq_status except_instances(qdq_search_state *s, size_t index, qdq_error *err)
{
    const qdq_search_unit *u = &s->p->unit[index];
    qdq_assign mask;
    unsigned stale = 0;

    QDQ_NEED(qdq_assign_new(&mask, u->n_choices, &s->scratch), err);
    for (size_t i = 0; i < u->n_instances && !s->over && stale < s->opts->stale; i++) {
        qdq_tried t;
        qdq_search_mask(s, u, i, &mask);
        bool on = qdq_assign_count(&mask) == 0;
        for (size_t c = 0; c < u->n_choices; c++)
            qdq_assign_set(&mask, c, on);
        qdq_search_reset(s);
        qdq_search_set(s, u, i, &mask);
        QDQ_TRY(qdq_search_try(s, index, &t, err));
        stale = t.accepted ? 0 : stale + t.measured;
    }
    return QDQ_OK;
}

qdq_status qdq_search_exceptions(qdq_search_state *s, qdq_error *err)
{
    for (size_t u = 0; u < s->p->n_units && !s->over; u++) {
        const qdq_search_unit *unit = &s->p->unit[u];
        if (unit->n_instances > 1 &&
            qdq_search_matters(s, qdq_search_unit_bound(s, unit) / (double)unit->n_instances))
            QDQ_TRY(except_instances(s, u, err));
    }
    return QDQ_OK;
}
