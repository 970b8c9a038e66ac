/* validate_sets.c - which sets of items are tried. A set that brings less than it promised is
 * halved, first between components, then inside one, and the worst half goes on. What is on is
 * tried without a half, what is off with one; of the other half it is often known what it saves,
 * because the whole was measured. Then what halving cannot see: neighbours that pay only together,
 * and what does harm where others are on. */
#include <math.h>
#include <stdlib.h>

#include "base/fail.h"
#include "base/union_find.h"
#include "tune/validate/validate_state.h"

/* --- order ------------------------------------------------------------------------------------ */

static void find_components(qdq_validate_state *v)
{
    for (uint32_t i = 0; i < v->p->n_items; i++) {
        v->component[i] = i;
        v->mark[i].size = 0;
    }
    for (size_t k = 0; k < v->p->n_links; k++)
        qdq_part_join(v->component, v->p->link[k].a, v->p->link[k].b);
    for (uint32_t i = 0; i < v->p->n_items; i++) {
        v->component[i] = qdq_part_of(v->component, i);
        v->mark[v->component[i]].size++;
    }
}

typedef struct placed {
    int known;
    /* of its component */
    double saves;
    uint32_t component, place, item;
} placed;

static int by_order(const void *a, const void *b)
{
    const placed *x = a, *y = b;

    if (x->known != y->known)
        return x->known < y->known ? -1 : 1;
    if (x->saves != y->saves)
        return x->saves > y->saves ? -1 : 1;
    if (x->component != y->component)
        return x->component < y->component ? -1 : 1;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return x->item < y->item ? -1 : 1;
}

static int rank_of_known(const qdq_validate_state *v, uint32_t item)
{
    const qdq_validate_verdict known = v->p->known[item];

    return known == QDQ_VALIDATE_KEPT ? 0 : known == QDQ_VALIDATE_UNDECIDED ? 1 : 2;
}

qdq_status qdq_validate_arrange(qdq_validate_state *v, bool by_known, qdq_error *err)
{
    const size_t n = v->p->n_items;
    placed *at = qdq_arena_array(&v->s.scratch, n + 1, sizeof *at);
    double *saves = qdq_arena_array(&v->s.scratch, n + 1, sizeof *saves);

    v->order = qdq_arena_array(&v->s.scratch, n + 1, sizeof *v->order);
    QDQ_NEED(at != NULL && saves != NULL && v->order != NULL, err);
    find_components(v);
    for (size_t i = 0; i < n; i++)
        saves[v->component[i]] += isnan(v->p->item[i].saves) ? 0 : v->p->item[i].saves;
    for (uint32_t i = 0; i < n; i++)
        at[i] = (placed){by_known ? rank_of_known(v, i) : 0, saves[v->component[i]],
                         v->component[i], v->p->item[i].place, i};
    qsort(at, n, sizeof *at, by_order);
    for (size_t i = 0; i < n; i++)
        v->order[i] = at[i].item;
    return QDQ_OK;
}

/* Where a set of two or more is cut: between components, as near to the middle as can be. */
static size_t middle_of(const qdq_validate_state *v, const qdq_validate_set *s)
{
    const size_t middle = s->n / 2;

    for (size_t d = 0; d <= middle; d++)
        for (int back = 1; back >= 0; back--) {
            const size_t at = back ? middle - d : middle + d;
            if (at >= 1 && at < s->n && v->component[s->item[at - 1]] != v->component[s->item[at]])
                return at;
        }
    return middle;
}

static const char *move_of(const qdq_validate_state *v, const qdq_validate_set *s)
{
    static const char *const moves[][2] = {{"a group", "without a group"},
                                           {"several components", "without several components"},
                                           {"a component", "without a component"},
                                           {"half of a component", "without half of a component"}};
    const uint32_t first = v->component[s->item[0]], last = v->component[s->item[s->n - 1]];
    const int kind = s->n == 1 ? 0 : first != last ? 1 : s->n == v->mark[first].size ? 2 : 3;

    return moves[kind][qdq_validate_is_on(v, s)];
}

/* --- promises --------------------------------------------------------------------------------- */

/* Standard error of what the set lacks. */
static double error_of(const qdq_validate_state *v, const qdq_validate_set *s)
{
    double variance = s->variance;

    for (size_t i = 0; i < s->n; i++) {
        const double se = v->p->item[s->item[i]].se;
        variance += isnan(se) ? 0 : se * se;
    }
    return sqrt(variance);
}

/* What may be missing of the promise: its shortfall and one standard error. NAN: nothing was
 * promised. */
static double doubt_of(const qdq_validate_state *v, const qdq_validate_set *s)
{
    return qdq_validate_expected_saving(v, s) - s->saved + error_of(v, s);
}

/* Does the set fall short of its promise, and by enough that one of the items may do harm that can
 * be seen? The least that a harmful item takes with it is its own promise, and harm that can be
 * seen: a set that lacks less than both has none. So promises that are all a little too high are
 * not followed down to single items. */
static bool is_short(const qdq_validate_state *v, const qdq_validate_set *s)
{
    double least = INFINITY;

    for (size_t i = 0; i < s->n; i++)
        least = fmin(least, v->p->item[s->item[i]].saves);
    return qdq_validate_expected_saving(v, s) - s->saved > 3 * error_of(v, s) &&
           doubt_of(v, s) > least + v->asked->test.enter * v->s.time;
}

/* Could it be told from noise if the items kept their promise? */
static bool matters(const qdq_validate_state *v, const qdq_validate_set *s)
{
    const double saves = qdq_validate_expected_saving(v, s);

    return isnan(saves) || qdq_search_matters(&v->s, saves);
}

/* 0 where it is not known. */
static double known_saving(const qdq_validate_state *v, const qdq_validate_set *s)
{
    const double saves = qdq_validate_expected_saving(v, s);

    return isnan(saves) ? 0 : saves;
}

/* --- sets that wait --------------------------------------------------------------------------- */

static qdq_status push_set(qdq_validate_state *v, qdq_validate_set s, double urgency,
                           qdq_error *err)
{
    s.urgency = urgency;
    return qdq_allocated(QDQ_PUSH(&v->s.scratch, &v->sets, s), err);
}

/* By what it promises beyond what it is known to save. Where nothing was promised by what was lost,
 * and what is unknown comes last. */
static qdq_status push_short(qdq_validate_state *v, const qdq_validate_set *s, qdq_error *err)
{
    return push_set(v, *s, isnan(s->saved) ? -INFINITY : known_saving(v, s) - s->saved, err);
}

static qdq_status push_expected_saving(qdq_validate_state *v, qdq_validate_set s, qdq_error *err)
{
    return push_set(v, s, known_saving(v, &s), err);
}

static qdq_validate_set pop_worst(qdq_validate_state *v)
{
    size_t worst = 0;

    for (size_t i = 1; i < v->sets.n; i++)
        if (v->sets.at[i].urgency > v->sets.at[worst].urgency)
            worst = i;
    const qdq_validate_set s = v->sets.at[worst];
    v->sets.at[worst] = v->sets.at[--v->sets.n];
    return s;
}

/* --- halves ----------------------------------------------------------------------------------- */

static void keep_set(qdq_validate_state *v, const qdq_validate_set *s)
{
    for (size_t i = 0; i < s->n; i++)
        v->mark[s->item[i]].hidden = doubt_of(v, s);
    qdq_validate_decide(v, s, QDQ_VALIDATE_KEPT);
    v->good += s->n;
}

/* What a trial of a set means for it: it is decided, or goes on. */
static qdq_status conclude_set(qdq_validate_state *v, const qdq_validate_set *s, qdq_error *err)
{
    const bool is_on = qdq_validate_is_on(v, s);

    if (s->n > 1 && (!is_on || is_short(v, s)))
        return push_short(v, s, err);
    if (is_on) {
        keep_set(v, s);
        return QDQ_OK;
    }
    v->mark[s->item[0]].alone = !s->failed;
    v->bad++;
    qdq_validate_decide(v, s, qdq_validate_verdict_of(v, s));
    return QDQ_OK;
}

/* Tries a set, unless it is off and too small to be seen. */
static qdq_status examine_set(qdq_validate_state *v, qdq_validate_set *s, qdq_error *err)
{
    const size_t whole = s->trial;

    *s = (qdq_validate_set){.item = s->item, .n = s->n, .saved = NAN, .trial = whole};
    if (!qdq_validate_is_on(v, s) && !matters(v, s)) {
        qdq_validate_decide(v, s, QDQ_VALIDATE_UNDECIDED);
        return QDQ_OK;
    }
    QDQ_TRY(qdq_validate_try(v, s, move_of(v, s), (double)s->n, err));
    return v->s.over ? QDQ_OK : conclude_set(v, s, err);
}

/* What the other half saves is the rest, if both are known. A model that fails although its first
 * half can be built has the reason in the other one. */
static qdq_status halve_set(qdq_validate_state *v, const qdq_validate_set *whole, qdq_error *err)
{
    enum { WORSE = 4 };
    qdq_validate_set first = *whole, rest = *whole;

    first.n = middle_of(v, whole);
    rest.item += first.n;
    rest.n -= first.n;
    QDQ_TRY(examine_set(v, &first, err));
    if (v->s.over)
        return QDQ_OK;
    rest.saved = whole->saved - first.saved;
    rest.variance = whole->variance + first.variance;
    if (rest.variance > WORSE * first.variance)
        rest.saved = NAN; /* inferred too often: to be measured */
    if ((isnan(whole->saved) && !first.failed) || (!isnan(rest.saved) && is_short(v, &rest)))
        return push_short(v, &rest, err);
    if (!qdq_validate_is_on(v, &rest) || isnan(rest.saved))
        return examine_set(v, &rest, err);
    keep_set(v, &rest);
    return QDQ_OK;
}

/* Halving costs more than trying all where every fifth is bad. */
static bool is_hopeless(const qdq_validate_state *v)
{
    enum { SOME = 3, ONE_IN = 5 };

    return v->bad >= SOME && ONE_IN * v->bad > v->good + v->bad;
}

/* Single items from now on, those first that promise most. */
static qdq_status go_one_by_one(qdq_validate_state *v, qdq_error *err)
{
    const qdq_validate_sets sets = v->sets;

    v->out->linear = true;
    v->sets = (qdq_validate_sets){0};
    for (size_t k = 0; k < sets.n; k++)
        for (size_t i = 0; i < sets.at[k].n; i++) {
            const qdq_validate_set one = {
                .item = &sets.at[k].item[i], .n = 1, .saved = NAN, .trial = sets.at[k].trial};
            QDQ_TRY(push_expected_saving(v, one, err));
        }
    return QDQ_OK;
}

qdq_status qdq_validate_halve(qdq_validate_state *v, const qdq_validate_set *s, qdq_error *err)
{
    QDQ_TRY(conclude_set(v, s, err));
    while (v->sets.n > 0 && !v->s.over) {
        if (!v->out->linear && is_hopeless(v))
            QDQ_TRY(go_one_by_one(v, err));
        qdq_validate_set next = pop_worst(v);
        QDQ_TRY(next.n > 1 ? halve_set(v, &next, err) : examine_set(v, &next, err));
    }
    return QDQ_OK;
}

/* --- neighbours ------------------------------------------------------------------------------- */

static bool was_rejected(const qdq_validate_state *v, uint32_t item)
{
    return !v->mark[item].on && v->mark[item].alone;
}

/* Links between two that were rejected, those first that promise most. At most as many as there are
 * such items: in a dense graph that would be half of their square. */
qdq_status qdq_validate_pairs(qdq_validate_state *v, qdq_error *err)
{
    uint32_t *both = qdq_arena_array(&v->s.scratch, 2 * v->p->n_links + 1, sizeof *both);
    size_t n = 0;

    QDQ_NEED(both != NULL, err);
    for (uint32_t i = 0; i < v->p->n_items; i++)
        n += was_rejected(v, i);
    for (size_t k = 0; k < v->p->n_links; k++, both += 2) {
        const qdq_validate_set s = {.item = both, .n = 2};
        both[0] = v->p->link[k].a;
        both[1] = v->p->link[k].b;
        if (both[0] != both[1] && was_rejected(v, both[0]) && was_rejected(v, both[1]) &&
            matters(v, &s))
            QDQ_TRY(push_expected_saving(v, s, err));
    }
    n = n < v->sets.n ? n : v->sets.n;
    for (size_t i = 0; i < n && !v->s.over; i++) {
        qdq_validate_set s = pop_worst(v);
        if (v->mark[s.item[0]].on || v->mark[s.item[1]].on)
            continue; /* with another neighbour */
        QDQ_TRY(qdq_validate_try(v, &s, "two neighbours", 2 * (double)n, err));
        if (s.kept)
            qdq_validate_decide(v, &s, QDQ_VALIDATE_KEPT);
    }
    v->sets.n = 0;
    return QDQ_OK;
}

/* --- backward --------------------------------------------------------------------------------- */

/* What a set may do harm by is what the set that it was kept in may lack, and more than it promised
 * itself. Without a promise anything is possible. */
static double possible_loss(const qdq_validate_state *v, const qdq_validate_set *s)
{
    double hidden = 0;

    for (size_t i = 0; i < s->n; i++)
        hidden = fmax(hidden, v->mark[s->item[i]].hidden);
    const double harm = hidden - qdq_validate_expected_saving(v, s);
    return isnan(harm) ? INFINITY : harm;
}

/* Items of each component that are on wait for a trial without them. */
static qdq_status push_components(qdq_validate_state *v, qdq_error *err)
{
    uint32_t *item = qdq_arena_array(&v->s.scratch, v->p->n_items + 1, sizeof *item);
    size_t n = 0, first = 0;

    QDQ_NEED(item != NULL, err);
    QDQ_TRY(qdq_validate_arrange(v, false, err));
    for (size_t i = 0; i < v->p->n_items; i++)
        if (v->mark[v->order[i]].on)
            item[n++] = v->order[i];
    for (size_t i = 1; i <= n; i++)
        if (i == n || v->component[item[i]] != v->component[item[first]]) {
            const qdq_validate_set s = {.item = &item[first], .n = i - first};
            QDQ_TRY(push_set(v, s, possible_loss(v, &s), err));
            first = i;
        }
    return QDQ_OK;
}

/* The bound of validate.h, with what was bad so far. */
static bool has_builds_left(const qdq_validate_state *v)
{
    const double most = 4 + 2 * log2((double)v->p->n_items) * (double)(v->bad + 1);
    /* the base, and one that comes last: against the best start */
    const unsigned used = 2 + v->measured;

    return most >= used + 1;
}

/* Its halves are next, as far as taking it away may have gained something. */
static qdq_status try_without(qdq_validate_state *v, qdq_validate_set *s, qdq_error *err)
{
    QDQ_TRY(qdq_validate_try(v, s, move_of(v, s), 1, err));
    if (v->s.over)
        return QDQ_OK;
    if (s->kept) {
        qdq_validate_decide(v, s, QDQ_VALIDATE_REJECTED);
        v->bad++;
    } else if (s->n > 1) {
        const size_t m = s->n / 2;
        const double gain = sqrt(s->variance) - s->saved;
        QDQ_TRY(push_set(v, (qdq_validate_set){.item = s->item, .n = m}, gain, err));
        return push_set(v, (qdq_validate_set){.item = s->item + m, .n = s->n - m}, gain, err);
    }
    return QDQ_OK;
}

qdq_status qdq_validate_backward(qdq_validate_state *v, qdq_error *err)
{
    QDQ_TRY(push_components(v, err));
    while (v->sets.n > 0 && !v->s.over && has_builds_left(v)) {
        qdq_validate_set s = pop_worst(v);
        if (!(s.urgency >= v->asked->test.enter * v->s.time)) /* it could not be seen */
            return QDQ_OK;
        QDQ_TRY(try_without(v, &s, err));
    }
    return QDQ_OK;
}
