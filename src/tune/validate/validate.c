/* validate.c - the way of a validation: starts, all items, halves, neighbours, backward, and the
 * best start once more. A set that brings less than it promised is halved, first between
 * components, then inside one, and the worst half goes on. What is on is tried without a half, what
 * is off with one; of the other half it is often known what it saves, because the whole was
 * measured. Then what halving cannot see: neighbours that pay only together, and what does harm
 * where others are on. */
#include "tune/validate/validate.h"

#include <math.h>
#include <stdlib.h>

#include "base/fail.h"
#include "base/union_find.h"
#include "tune/validate/validate_state.h"

const char *qdq_validate_verdict_name(qdq_validate_verdict v)
{
    static const char *const names[] = {"undecided", "kept", "rejected", "failed"};

    return names[v];
}

/* 0 where nothing is promised. */
static double known_promise(const qdq_validation *v, const qdq_validate_set *s)
{
    const double saves = qdq_validate_promise(v, s);

    return isnan(saves) ? 0 : saves;
}

static const char *move_of(const qdq_validation *v, const qdq_validate_set *s)
{
    static const char *const moves[][2] = {{"a group", "without a group"},
                                           {"several components", "without several components"},
                                           {"a component", "without a component"},
                                           {"half of a component", "without half of a component"}};
    const uint32_t first = v->component[s->item[0]], last = v->component[s->item[s->n - 1]];
    size_t size = 0;

    for (size_t i = 0; i < v->p->n_items; i++)
        size += v->component[i] == first;
    return moves[s->n == 1       ? 0
                 : first != last ? 1
                 : s->n == size  ? 2
                                 : 3][qdq_validate_is_on(v, s)];
}

/* --- sets that wait --------------------------------------------------------------------------- */

static qdq_status push_set(qdq_validation *v, qdq_validate_set s, double urgency, qdq_error *err)
{
    s.urgency = urgency;
    return qdq_allocated(QDQ_PUSH(&v->s.scratch, &v->sets, s), err);
}

/* By what it promises beyond what it is known to save. Where nothing was promised by what was lost,
 * and what is unknown comes last. */
static qdq_status push_short(qdq_validation *v, const qdq_validate_set *s, qdq_error *err)
{
    return push_set(v, *s, isnan(s->saved) ? -INFINITY : known_promise(v, s) - s->saved, err);
}

static qdq_validate_set pop_worst(qdq_validation *v)
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

/* Where a set of two or more is cut: between components, as near to the middle as can be. */
static size_t middle_of(const qdq_validation *v, const qdq_validate_set *s)
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

static void keep_set(qdq_validation *v, const qdq_validate_set *s)
{
    for (size_t i = 0; i < s->n; i++)
        v->mark[s->item[i]].hidden = qdq_validate_doubt(v, s);
    qdq_validate_decide(v, s, QDQ_VALIDATE_KEPT);
    v->good += s->n;
}

/* What a trial of a set means for it: it is decided, or goes on. */
static qdq_status conclude_set(qdq_validation *v, const qdq_validate_set *s, qdq_error *err)
{
    const bool on = qdq_validate_is_on(v, s);

    if (s->n > 1 && (!on || qdq_validate_is_short(v, s)))
        return push_short(v, s, err);
    if (on) {
        keep_set(v, s);
        return QDQ_OK;
    }
    v->mark[s->item[0]].alone = !s->failed;
    v->bad++;
    qdq_validate_decide(v, s, qdq_validate_verdict_of(v, s));
    return QDQ_OK;
}

/* Tries a set, unless it is off and too small to be seen. */
static qdq_status examine_set(qdq_validation *v, qdq_validate_set *s, qdq_error *err)
{
    s->saved = NAN;
    s->variance = 0;
    s->failed = s->unclear = false;
    if (!qdq_validate_is_on(v, s) && !qdq_validate_matters(v, s)) {
        qdq_validate_decide(v, s, QDQ_VALIDATE_UNDECIDED);
        return QDQ_OK;
    }
    QDQ_TRY(qdq_validate_try(v, s, move_of(v, s), (double)s->n, err));
    return v->s.over ? QDQ_OK : conclude_set(v, s, err);
}

/* What the other half saves is the rest, if both are known. A model that fails although its first
 * half can be built has the reason in the other one. */
static qdq_status halve_set(qdq_validation *v, const qdq_validate_set *whole, qdq_error *err)
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
    if ((isnan(whole->saved) && !first.failed) ||
        (!isnan(rest.saved) && qdq_validate_is_short(v, &rest)))
        return push_short(v, &rest, err);
    if (!qdq_validate_is_on(v, &rest) || isnan(rest.saved))
        return examine_set(v, &rest, err);
    keep_set(v, &rest);
    return QDQ_OK;
}

/* Where every fifth is bad, halving costs more than trying all: single items from now on, those
 * first that promise most. */
static qdq_status go_one_by_one(qdq_validation *v, qdq_error *err)
{
    enum { SOME = 3, ONE_IN = 5 };
    const size_t n = v->sets.n;

    if (v->linear || v->bad < SOME || ONE_IN * v->bad <= v->good + v->bad)
        return QDQ_OK;
    v->linear = true;
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < v->sets.at[k].n; i++) {
            qdq_validate_set one = v->sets.at[k];
            one.item += i;
            one.n = 1;
            QDQ_TRY(push_set(v, one, known_promise(v, &one), err));
        }
    v->sets.n -= n;
    memmove(v->sets.at, v->sets.at + n, v->sets.n * sizeof *v->sets.at);
    return QDQ_OK;
}

/* Continues after the trial of a set, which is on if it was accepted. A set with a shortfall is
 * halved until it is decided, or the budget is used up. */
static qdq_status follow_halves(qdq_validation *v, const qdq_validate_set *s, qdq_error *err)
{
    QDQ_TRY(conclude_set(v, s, err));
    while (v->sets.n > 0 && !v->s.over) {
        QDQ_TRY(go_one_by_one(v, err));
        qdq_validate_set next = pop_worst(v);
        QDQ_TRY(next.n > 1 ? halve_set(v, &next, err) : examine_set(v, &next, err));
    }
    return QDQ_OK;
}

/* --- neighbours ------------------------------------------------------------------------------- */

static bool was_rejected(const qdq_validation *v, uint32_t item)
{
    return !v->mark[item].on && v->mark[item].alone;
}

/* Links between two that were rejected alone, those first that promise most. At most as many as
 * there are such items: in a dense graph that would be half of their square. */
static qdq_status try_neighbours(qdq_validation *v, qdq_error *err)
{
    uint32_t *both = qdq_arena_array(&v->s.scratch, 2 * v->p->n_links + 1, sizeof *both);
    size_t n = 0;

    QDQ_NEED(both != NULL, err);
    v->sets.n = 0;
    for (uint32_t i = 0; i < v->p->n_items; i++)
        n += was_rejected(v, i);
    for (size_t k = 0; k < v->p->n_links; k++, both += 2) {
        const qdq_validate_set s = {.item = both, .n = 2};
        both[0] = v->p->link[k].a;
        both[1] = v->p->link[k].b;
        if (both[0] != both[1] && was_rejected(v, both[0]) && was_rejected(v, both[1]) &&
            qdq_validate_matters(v, &s))
            QDQ_TRY(push_set(v, s, known_promise(v, &s), err));
    }
    n = n < v->sets.n ? n : v->sets.n;
    for (size_t i = 0; i < n && !v->s.over; i++) {
        qdq_validate_set s = pop_worst(v);
        if (v->mark[s.item[0]].on || v->mark[s.item[1]].on)
            continue; /* with another neighbour */
        QDQ_TRY(qdq_validate_try(v, &s, "two neighbours", 2 * (double)n, err));
        if (qdq_validate_is_on(v, &s))
            qdq_validate_decide(v, &s, QDQ_VALIDATE_KEPT);
    }
    return QDQ_OK;
}

/* --- backward --------------------------------------------------------------------------------- */

/* What a set may do harm by is what the set that it was kept in may lack, and more than it promised
 * itself. Without a promise anything is possible. */
static double possible_loss(const qdq_validation *v, const qdq_validate_set *s)
{
    double hidden = 0;

    for (size_t i = 0; i < s->n; i++)
        hidden = fmax(hidden, v->mark[s->item[i]].hidden);
    const double harm = hidden - qdq_validate_promise(v, s);
    return isnan(harm) ? INFINITY : harm;
}

/* Items of each component that are on wait for a trial without them. */
static qdq_status push_components(qdq_validation *v, qdq_error *err)
{
    uint32_t *item = qdq_arena_array(&v->s.scratch, v->p->n_items + 1, sizeof *item);
    size_t n = 0, first = 0;

    QDQ_NEED(item != NULL, err);
    v->sets.n = 0;
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
static bool has_builds_left(const qdq_validation *v)
{
    const double most = 4 + 2 * log2((double)v->p->n_items) * (double)(v->bad + 1);
    /* the base, and one that comes last: against the best start */
    const unsigned used = 2 + v->measured;

    return most >= used + 1;
}

/* Removes accepted sets that may be harmful, while builds are left; then their halves, as far as
 * taking one away may have gained something. */
static qdq_status go_backward(qdq_validation *v, qdq_error *err)
{
    QDQ_TRY(push_components(v, err));
    while (v->sets.n > 0 && has_builds_left(v)) {
        qdq_validate_set s = pop_worst(v);
        if (!(s.urgency >= v->asked->test.enter * v->s.time)) /* it could not be seen */
            return QDQ_OK;
        QDQ_TRY(qdq_validate_try(v, &s, move_of(v, &s), 1, err));
        if (v->s.over)
            return QDQ_OK;
        if (!qdq_validate_is_on(v, &s)) {
            qdq_validate_decide(v, &s, QDQ_VALIDATE_REJECTED);
            v->bad++;
        } else if (s.n > 1) {
            const size_t m = s.n / 2;
            const double gain = sqrt(s.variance) - s.saved;
            QDQ_TRY(push_set(v, (qdq_validate_set){.item = s.item, .n = m}, gain, err));
            QDQ_TRY(push_set(v, (qdq_validate_set){.item = s.item + m, .n = s.n - m}, gain, err));
        }
    }
    return QDQ_OK;
}

/* --- all items -------------------------------------------------------------------------------- */

/* Items of an earlier run's verdict, behind the n that are in `to`. */
static size_t list_known(const qdq_validation *v, qdq_validate_verdict verdict, uint32_t *to,
                         size_t n)
{
    for (size_t i = 0; i < v->p->n_items; i++)
        if (v->p->known[v->order[i]] == verdict)
            to[n++] = v->order[i];
    return n;
}

/* Takes decisions of an earlier run: those that it kept are measured together, and if they stay the
 * others stand. *open: what is still to be decided. */
static qdq_status take_known(qdq_validation *v, qdq_validate_set *open, qdq_error *err)
{
    uint32_t *item = qdq_arena_array(&v->s.scratch, v->p->n_items + 1, sizeof *item);

    QDQ_NEED(item != NULL, err);
    qdq_validate_set kept = {.item = item, .n = list_known(v, QDQ_VALIDATE_KEPT, item, 0)};
    if (kept.n > 0)
        QDQ_TRY(qdq_validate_try(v, &kept, QDQ_VALIDATE_KNOWN, (double)kept.n, err));
    if (v->s.over || (kept.n > 0 && !qdq_validate_is_on(v, &kept)))
        return QDQ_OK;
    *open = (qdq_validate_set){.item = item + kept.n};
    open->n = list_known(v, QDQ_VALIDATE_UNDECIDED, item, kept.n) - kept.n;
    for (uint32_t i = 0; i < v->p->n_items; i++) {
        const qdq_validate_verdict known = v->p->known[i];
        const bool is_kept = known == QDQ_VALIDATE_KEPT;
        const qdq_validate_set one = {
            .item = &i, .n = 1, .move = QDQ_VALIDATE_KNOWN, .time = is_kept ? kept.time : NAN};
        if (known == QDQ_VALIDATE_UNDECIDED)
            continue;
        qdq_validate_decide(v, &one, known);
        *(is_kept ? &v->good : &v->bad) += 1;
    }
    return QDQ_OK;
}

/* All together, or nothing; or in parts, where not all is as it should be. */
static qdq_status settle_open(qdq_validation *v, qdq_validate_set *open, qdq_error *err)
{
    if (open->n == 0)
        return QDQ_OK;
    QDQ_TRY(qdq_validate_try(v, open, open->n == v->p->n_items ? "all groups" : "the other groups",
                             (double)open->n, err));
    if (v->s.over)
        return QDQ_OK;
    if (v->p->incremental)
        return follow_halves(v, open, err);
    qdq_validate_decide(v, open, qdq_validate_verdict_of(v, open));
    return QDQ_OK;
}

static qdq_status settle_items(qdq_validation *v, qdq_error *err)
{
    qdq_validate_set open = {.item = v->order, .n = v->p->n_items};

    if (qdq_assign_equal(&v->out->raw, qdq_validate_base(v))) { /* they are all in it */
        qdq_validate_turn(v, &open, true);
        return QDQ_OK;
    }
    if (v->p->known != NULL && v->p->incremental)
        QDQ_TRY(take_known(v, &open, err));
    if (!v->s.over)
        QDQ_TRY(settle_open(v, &open, err));
    if (!v->s.over && v->p->incremental)
        QDQ_TRY(try_neighbours(v, err));
    return v->s.over || !v->p->incremental ? QDQ_OK : go_backward(v, err);
}

/* --- begin ------------------------------------------------------------------------------------ */

static qdq_status check_item(const qdq_validate_problem *p, size_t i, qdq_assign *seen,
                             qdq_error *err)
{
    const qdq_assign *bits = &p->item[i].bits;

    if (bits->n != p->search->n_bits)
        return qdq_fail(err, QDQ_E_USAGE, "item %zu: found %zu bits, expected %zu", i, bits->n,
                        p->search->n_bits);
    for (size_t k = 0; k < bits->n; k++) {
        if (!qdq_assign_get(bits, k))
            continue;
        if (qdq_assign_get(seen, k))
            return qdq_fail(err, QDQ_E_USAGE, "item %zu: bit %zu is another item's, too", i, k);
        qdq_assign_set(seen, k, true);
    }
    return QDQ_OK;
}

static qdq_status check_problem(qdq_validation *v, qdq_error *err)
{
    const qdq_validate_problem *p = v->p;
    qdq_assign seen;

    if (p->base >= p->search->n_starts)
        return qdq_fail(err, QDQ_E_USAGE, "the base is start %zu: expected one of %zu", p->base,
                        p->search->n_starts);
    for (size_t i = 0; i < p->n_links; i++)
        if (p->link[i].a >= p->n_items || p->link[i].b >= p->n_items)
            return qdq_fail(err, QDQ_E_USAGE,
                            "link %zu: between items %u and %u, expected less than %zu", i,
                            (unsigned)p->link[i].a, (unsigned)p->link[i].b, p->n_items);
    QDQ_NEED(qdq_assign_new(&seen, p->search->n_bits, &v->s.scratch), err);
    for (size_t i = 0; i < p->n_items; i++)
        QDQ_TRY(check_item(p, i, &seen, err));
    return QDQ_OK;
}

typedef struct placed {
    /* what its component saves, less than none; its component; its place */
    double key[3];
    uint32_t item;
} placed;

static int by_order(const void *a, const void *b)
{
    const placed *x = a, *y = b;

    for (size_t i = 0; i < QDQ_COUNT(x->key); i++)
        if (x->key[i] != y->key[i])
            return x->key[i] < y->key[i] ? -1 : 1;
    return x->item < y->item ? -1 : 1;
}

static qdq_status order_items(qdq_validation *v, qdq_error *err)
{
    const size_t n = v->p->n_items;
    placed *at = qdq_arena_array(&v->s.scratch, n + 1, sizeof *at);
    double *saves = qdq_arena_array(&v->s.scratch, n + 1, sizeof *saves);

    v->order = qdq_arena_array(&v->s.scratch, n + 1, sizeof *v->order);
    v->component = qdq_arena_array(&v->s.scratch, n + 1, sizeof *v->component);
    QDQ_NEED(at != NULL && saves != NULL && v->order != NULL && v->component != NULL, err);
    for (uint32_t i = 0; i < n; i++)
        v->component[i] = i;
    for (size_t k = 0; k < v->p->n_links; k++)
        qdq_part_join(v->component, v->p->link[k].a, v->p->link[k].b);
    for (uint32_t i = 0; i < n; i++) {
        v->component[i] = qdq_part_of(v->component, i);
        saves[v->component[i]] += isnan(v->p->item[i].saves) ? 0 : v->p->item[i].saves;
    }
    for (uint32_t i = 0; i < n; i++)
        at[i] = (placed){{-saves[v->component[i]], v->component[i], v->p->item[i].place}, i};
    qsort(at, n, sizeof *at, by_order);
    for (size_t i = 0; i < n; i++)
        v->order[i] = at[i].item;
    return QDQ_OK;
}

static qdq_status prepare_items(qdq_validation *v, qdq_error *err)
{
    const size_t n = v->p->n_items;
    qdq_validate_result *out = v->out;

    QDQ_TRY(check_problem(v, err));
    QDQ_TRY(order_items(v, err));
    v->mark = qdq_arena_array(&v->s.scratch, n + 1, sizeof *v->mark);
    out->item = qdq_arena_array(v->s.arena, n + 1, sizeof *out->item);
    QDQ_NEED(v->mark != NULL && out->item != NULL &&
                 qdq_assign_copy(&out->raw, qdq_validate_base(v), v->s.arena) &&
                 qdq_assign_copy(&out->merged, qdq_validate_base(v), v->s.arena),
             err);
    for (size_t i = 0; i < n; i++) {
        v->mark[i] = (qdq_validate_mark){.on = true, .hidden = NAN};
        out->item[i].time = NAN;
    }
    qdq_validate_merge(v, &out->raw);
    for (size_t i = 0; i < n; i++)
        v->mark[i].on = false;
    return QDQ_OK;
}

/* --- the whole -------------------------------------------------------------------------------- */

/* What was merged against the best start, unless it is known to be slower. What is added to the
 * base has won against it. Once the budget is over nothing is measured any more: then the faster
 * one by what is known of both. */
static qdq_status choose_best(qdq_validation *v, const qdq_assign *start, double time,
                              qdq_error *err)
{
    const bool has_won =
        qdq_assign_equal(start, qdq_validate_base(v)) || qdq_assign_equal(start, &v->s.incumbent);
    qdq_tried ignored;

    if (has_won || (v->s.over && v->s.time < time))
        return QDQ_OK;
    qdq_assign_take(&v->s.candidate, &v->out->merged);
    qdq_assign_take(&v->s.incumbent, start);
    v->s.time = time;
    v->s.move = "merged groups";
    v->opts.test = v->asked->test;
    return qdq_search_try(&v->s, SIZE_MAX, &ignored, err);
}

/* Items are added to the base, whatever start is faster. */
static qdq_status validate_items(qdq_validation *v, qdq_error *err)
{
    const double time = v->s.time;
    qdq_assign start;

    QDQ_NEED(qdq_assign_copy(&start, &v->s.incumbent, &v->s.scratch), err);
    QDQ_TRY(qdq_search_known_time(&v->s, qdq_validate_base(v), &v->s.time, err));
    qdq_assign_take(&v->s.incumbent, qdq_validate_base(v));
    v->s.phase = QDQ_PHASE_INTERACTIONS;
    if (!isnan(v->s.time) && v->p->n_items > 0 && !v->s.over)
        QDQ_TRY(settle_items(v, err));
    QDQ_TRY(qdq_validate_report(v, err));
    qdq_validate_merge(v, &v->out->merged);
    return choose_best(v, &start, time, err);
}

static void count_items(qdq_validation *v)
{
    qdq_validate_result *out = v->out;
    size_t *const by_verdict[] = {&out->undecided, &out->kept, &out->rejected, &out->failed};

    for (size_t i = 0; i < v->p->n_items; i++) {
        if (v->mark[i].on)
            out->item[i].verdict = QDQ_VALIDATE_KEPT;
        else if (out->item[i].verdict == QDQ_VALIDATE_KEPT)
            out->item[i].verdict = QDQ_VALIDATE_UNDECIDED;
        ++*by_verdict[out->item[i].verdict];
    }
}

static qdq_status run_validation(qdq_validation *v, qdq_error *err)
{
    QDQ_TRY(prepare_items(v, err));
    QDQ_TRY(qdq_search_begin(&v->s, err));
    QDQ_TRY(validate_items(v, err));
    count_items(v);
    return qdq_search_finish(&v->s, err);
}

qdq_status qdq_validate_run(const qdq_validate_problem *p, const qdq_search_opts *opts,
                            const qdq_search_ops *ops, qdq_arena *arena, qdq_validate_result *out,
                            qdq_error *err)
{
    qdq_validation v = {.p = p, .asked = opts, .out = out, .opts = *opts, .ops = *ops};

    *out = (qdq_validate_result){0};
    v.ops.known_share = NULL;
    v.ops.profile = NULL;
    v.s = (qdq_search_state){
        .p = p->search, .opts = &v.opts, .ops = &v.ops, .arena = arena, .out = &out->search};
    qdq_status st = run_validation(&v, err);
    qdq_search_free(&v.s);
    return st;
}
