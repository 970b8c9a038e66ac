/* search_units.c - the schemes of a unit: what others found out, the plain ones, all of them where
 * they are few, and changes of the best one. */
#include <math.h>
#include <stdlib.h>

#include "base/fail.h"
#include "tune/search/search_state.h"

void qdq_search_set(qdq_search_state *s, const qdq_search_unit *u, size_t instance,
                    const qdq_assign *mask)
{
    for (size_t c = 0; c < u->n_choices; c++)
        for (size_t i = 0; i < u->n_instances; i++)
            if ((instance == SIZE_MAX || i == instance) && u->choice[c].bit[i] != UINT32_MAX)
                qdq_assign_set(&s->candidate, u->choice[c].bit[i], qdq_assign_get(mask, c));
}

void qdq_search_mask(const qdq_search_state *s, const qdq_search_unit *u, size_t instance,
                     qdq_assign *mask)
{
    for (size_t c = 0; c < u->n_choices; c++) {
        size_t on = 0, have = 0;
        for (size_t i = 0; i < u->n_instances; i++)
            if ((instance == SIZE_MAX || i == instance) && u->choice[c].bit[i] != UINT32_MAX) {
                have++;
                on += qdq_assign_get(&s->incumbent, u->choice[c].bit[i]);
            }
        qdq_assign_set(mask, c, 2 * on > have);
    }
}

/* --- one unit --------------------------------------------------------------------------------- */

typedef struct unit_search {
    qdq_search_state *s;
    const qdq_search_unit *u;
    size_t index;
    /* that is tried; that the incumbent has */
    qdq_assign mask, now;
    /* masks that were tried, by hash */
    qdq_map seen;
    unsigned stale;
    /* changes of the best, at most */
    unsigned allotted;
    /* something was kept */
    bool found;
} unit_search;

/* What caches propose takes nothing from what would be tried without them. */
static bool is_enough(const unit_search *x)
{
    const qdq_search_unit_result *r = &x->s->out->unit[x->index];

    return x->s->over || r->tried - r->of_caches >= x->s->opts->schemes_per_unit;
}

static bool has_enough_changes(const unit_search *x)
{
    return is_enough(x) || x->s->out->unit[x->index].changes >= x->allotted ||
           x->stale >= x->s->opts->stale;
}

/* Tries x->mask in all instances. */
static qdq_status try_mask(unit_search *x, qdq_error *err)
{
    qdq_search_state *s = x->s;
    qdq_assign_hash h = qdq_assign_get_hash(&x->mask);
    bool is_new;
    qdq_tried t;

    if (is_enough(x))
        return QDQ_OK;
    QDQ_NEED(qdq_map_put_int(&x->seen, h.low, &is_new) != NULL, err);
    if (!is_new)
        return QDQ_OK;
    qdq_search_reset(s);
    qdq_search_set(s, x->u, SIZE_MAX, &x->mask);
    QDQ_TRY(qdq_search_try(s, x->index, &t, err));
    s->out->unit[x->index].tried += t.measured;
    x->stale = t.accepted ? 0 : x->stale + t.measured;
    if (t.accepted) {
        x->found = true;
        qdq_search_mask(s, x->u, SIZE_MAX, &x->now);
    }
    return QDQ_OK;
}

static void fill_mask(unit_search *x, bool on, bool linear_only)
{
    for (size_t c = 0; c < x->u->n_choices; c++)
        qdq_assign_set(&x->mask, c, on && (!linear_only || x->u->choice[c].linear));
}

static qdq_status try_seeds(unit_search *x, qdq_error *err)
{
    qdq_search_unit_result *r = &x->s->out->unit[x->index];

    for (size_t i = 0; i < x->u->n_seeds; i++) {
        const bool cached = i < x->u->n_cached;
        const unsigned before = r->tried, builds = qdq_search_builds(x->s);
        if (cached && r->of_caches >= x->s->opts->schemes_per_unit)
            continue;
        qdq_assign_take(&x->mask, &x->u->seed[i]);
        QDQ_TRY(try_mask(x, err));
        if (!cached)
            continue;
        r->of_caches += r->tried - before;
        x->s->of_seeds += qdq_search_builds(x->s) - builds;
    }
    x->stale = 0;
    return QDQ_OK;
}

static qdq_status try_plain(unit_search *x, qdq_error *err)
{
    fill_mask(x, true, true);
    QDQ_TRY(try_mask(x, err));
    fill_mask(x, true, false);
    QDQ_TRY(try_mask(x, err));
    fill_mask(x, false, false);
    return try_mask(x, err);
}

static qdq_status try_all(unit_search *x, qdq_error *err)
{
    for (unsigned bits = 0; bits < 1u << x->u->n_choices; bits++) {
        for (size_t c = 0; c < x->u->n_choices; c++)
            qdq_assign_set(&x->mask, c, (bits >> c & 1) != 0);
        QDQ_TRY(try_mask(x, err));
    }
    return QDQ_OK;
}

/* The best of what was tried, with changes: x->mask. */
static qdq_status try_change(unit_search *x, qdq_error *err)
{
    qdq_search_unit_result *out = &x->s->out->unit[x->index];
    const unsigned before = out->tried;

    QDQ_TRY(try_mask(x, err));
    out->changes += out->tried - before;
    return QDQ_OK;
}

/* One choice otherwise, the dearest first; what is found is built upon. */
static qdq_status try_single(unit_search *x, qdq_error *err)
{
    const qdq_search_unit *u = x->u;
    bool *done = calloc(u->n_choices + 1, sizeof *done);
    qdq_status st = done != NULL ? QDQ_OK : qdq_nomem(err);

    for (size_t k = 0; k < u->n_choices && st == QDQ_OK && !has_enough_changes(x); k++) {
        size_t best = SIZE_MAX;
        for (size_t c = 0; c < u->n_choices; c++)
            if (!done[c] && (best == SIZE_MAX || qdq_search_choice_bound(x->s, u, c) >
                                                     qdq_search_choice_bound(x->s, u, best)))
                best = c;
        done[best] = true;
        if (!qdq_search_matters(x->s, qdq_search_choice_bound(x->s, u, best)))
            break;
        qdq_assign_take(&x->mask, &x->now);
        qdq_assign_set(&x->mask, best, !qdq_assign_get(&x->mask, best));
        st = try_change(x, err);
    }
    free(done);
    return st;
}

/* Some choices of the best otherwise, at random. */
static qdq_status try_mutations(unit_search *x, qdq_error *err)
{
    const unsigned attempts = x->s->opts->attempts > 0 ? x->s->opts->attempts : 100;
    qdq_random random = qdq_random_new(x->s->opts->seed, x->u->name);

    x->stale = 0;
    for (unsigned k = 0; k < attempts && !has_enough_changes(x); k++) {
        unsigned flips = 1 + (unsigned)(qdq_random_u64(&random) %
                                        (x->s->opts->mutations > 0 ? x->s->opts->mutations : 1));
        qdq_assign_take(&x->mask, &x->now);
        for (unsigned i = 0; i < flips; i++) {
            size_t c = (size_t)(qdq_random_u64(&random) % x->u->n_choices);
            qdq_assign_set(&x->mask, c, !qdq_assign_get(&x->mask, c));
        }
        QDQ_TRY(try_change(x, err));
    }
    return QDQ_OK;
}

static qdq_status explore_unit(unit_search *x, qdq_error *err)
{
    const size_t many = 4;

    QDQ_TRY(try_seeds(x, err));
    QDQ_TRY(try_plain(x, err));
    if (x->u->n_choices <= x->s->opts->exhaustive)
        return try_all(x, err);
    x->stale = 0;
    QDQ_TRY(try_single(x, err));
    /* Where each change of one alone is a loss, so are most of two: they are worth a trial where
     * there are many. */
    return x->found || x->u->n_choices > many ? try_mutations(x, err) : QDQ_OK;
}

double qdq_search_unit_bound(const qdq_search_state *s, const qdq_search_unit *u)
{
    double sum = 0;

    for (size_t c = 0; c < u->n_choices; c++)
        sum += qdq_search_choice_bound(s, u, c);
    return sum;
}

/* The unit that may save most has as many changes as a unit may have candidates, any other in
 * proportion. */
static unsigned allotment(const qdq_search_state *s, double bound, double most)
{
    return (unsigned)fmax(ceil(s->opts->schemes_per_unit * bound / most), 1);
}

/* `most`: what the unit may save that may save most. */
static qdq_status search_unit(qdq_search_state *s, size_t index, double most, qdq_error *err)
{
    unit_search x = {.s = s, .u = &s->p->unit[index], .index = index};
    qdq_search_unit_result *out = &s->out->unit[index];

    if (x.u->n_choices == 0)
        return QDQ_OK;
    const double bound = qdq_search_unit_bound(s, x.u);
    if (!qdq_search_matters(s, bound)) {
        out->skipped = out->tried == 0;
        return QDQ_OK;
    }
    x.allotted = allotment(s, bound, fmax(bound, most));
    QDQ_NEED(qdq_assign_new(&x.mask, x.u->n_choices, &s->scratch) &&
                 qdq_assign_new(&x.now, x.u->n_choices, &s->scratch),
             err);
    qdq_search_mask(s, x.u, SIZE_MAX, &x.now);
    qdq_status st = explore_unit(&x, err);
    qdq_map_free(&x.seen);
    return st;
}

/* --- all units -------------------------------------------------------------------------------- */

qdq_status qdq_search_units(qdq_search_state *s, qdq_error *err)
{
    const size_t n = s->p->n_units;
    qdq_search_ranked *order = calloc(n + 1, sizeof *order);
    qdq_status st = order != NULL ? QDQ_OK : qdq_nomem(err);

    for (size_t i = 0; i < n && st == QDQ_OK; i++)
        order[i] = (qdq_search_ranked){i, qdq_search_unit_bound(s, &s->p->unit[i])};
    if (st == QDQ_OK)
        qdq_search_rank(order, n);
    for (size_t i = 0; i < n && st == QDQ_OK && !s->over; i++)
        st = search_unit(s, order[i].index, order[0].bound, err);
    free(order);
    return st;
}
