/* validate.c - the way of a validation: starts, all items, halves, neighbours, backward, and the
 * best start once more. A set that brings less than it promised is halved, first between
 * components, then inside one, and the worst half goes on. What is on is tried without a half, what
 * is off with one; of the other half it is often known what it saves, because the whole was
 * measured. Then what halving cannot see: neighbours that pay only together, and what does harm
 * where others are on. */
#include "tune/validate/validate.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "tune/search/search_state.h"
#include "tune/validate/validate_items.h"

/* Items that are tried together: all of them are on, or all off. */
typedef struct set {
    /* consecutive in the order by component and topological index */
    const uint32_t *item;
    size_t n;
    /* saving of the items and its variance, as fractions of the baseline's time: measured, or the
     * remainder of a larger set; NAN: unknown */
    double saved, variance;
    /* waiting sets with the highest value are first */
    double urgency;
    /* of the last trial of the set, or of a set that contains it: as in a decision */
    const char *move;
    double time;
    /* result of its own trial; unclear: the pairs were undecided */
    bool failed, unclear;
} set;

/* State of an item. */
typedef struct mark {
    bool on;
    /* it was tried alone, and rejected */
    bool alone;
    /* possible shortfall that its accepted set hides */
    double hidden;
} mark;

typedef struct validation {
    const qdq_validate_problem *p;
    const qdq_search_opts *asked;
    qdq_validate_result *out;
    /* options with the error rates of a trial */
    qdq_search_opts opts;
    /* the caller's, without known times and profiles */
    qdq_search_ops ops;
    qdq_search_state s;
    /* items by component, the largest saving first, then by topological index */
    uint32_t *order;
    /* by item */
    mark *mark;
    /* by item: representative of its component, which links connect */
    uint32_t *component;
    /* numbers of items that trials accepted and rejected */
    size_t good, bad;
    /* number of trials that took a build */
    unsigned measured;
    /* items are tried one by one from now on */
    bool linear;
    /* a decision was not reported yet */
    bool news;
    /* waiting for a trial */
    QDQ_VEC(set) sets;
} validation;

/* --- items ------------------------------------------------------------------------------------ */

static bool is_on(const validation *v, const set *s)
{
    return v->mark[s->item[0]].on;
}

static void turn_items(validation *v, const set *s, bool on)
{
    for (size_t i = 0; i < s->n; i++)
        v->mark[s->item[i]].on = on;
}

/* The baseline with all items that are on. */
static void merge_items(const validation *v, qdq_assign *a)
{
    qdq_assign_take(a, &v->p->search->start[0]);
    for (size_t i = 0; i < v->p->n_items; i++)
        for (size_t bit = 0; v->mark[i].on && bit < a->n; bit++)
            if (qdq_assign_get(&v->p->item[i].bits, bit))
                qdq_assign_set(a, bit, true);
}

static void decide_items(validation *v, const set *s, qdq_validate_verdict verdict)
{
    v->news = true;
    for (size_t i = 0; i < s->n; i++)
        v->out->item[s->item[i]] = (qdq_validate_decision){verdict, s->move, s->time};
}

static qdq_status report_news(validation *v, qdq_error *err)
{
    const bool news = v->news;

    v->news = false;
    return news && v->p->decided != NULL ? v->p->decided(v->p->decided_ctx, v->out, err) : QDQ_OK;
}

/* --- promises --------------------------------------------------------------------------------- */

/* NAN: nothing is promised of one of them. */
static double promise_of(const validation *v, const set *s)
{
    double saves = 0;

    for (size_t i = 0; i < s->n; i++)
        saves += v->p->item[s->item[i]].saves;
    return saves;
}

/* Standard error of what the set lacks. */
static double error_of(const validation *v, const set *s)
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
static double doubt_of(const validation *v, const set *s)
{
    return promise_of(v, s) - s->saved + error_of(v, s);
}

/* Does the set fall short of its promise, and by enough that one of the items may do harm that can
 * be seen? The least that a harmful item takes with it is its own promise, and harm that can be
 * seen: a set that lacks less than both has none. So promises that are all a little too high are
 * not followed down to single items. */
static bool is_short(const validation *v, const set *s)
{
    double least = INFINITY;

    for (size_t i = 0; i < s->n; i++)
        least = fmin(least, v->p->item[s->item[i]].saves);
    return promise_of(v, s) - s->saved > 3 * error_of(v, s) &&
           doubt_of(v, s) > least + v->asked->test.enter * v->s.time;
}

/* Could it be told from noise if the items kept their promise? */
static bool matters(const validation *v, const set *s)
{
    const double saves = promise_of(v, s);

    return isnan(saves) || qdq_search_matters(&v->s, saves);
}

/* --- one trial -------------------------------------------------------------------------------- */

/* What a set saves is compared with what it promises, and says what the rest of a larger set saves:
 * then it is to be known as well as can be. Pairs are cheap beside builds. */
static void set_test(validation *v, const set *s, double split)
{
    qdq_test_opts *o = &v->opts.test;

    *o = v->asked->test;
    o->alpha /= split;
    if (s->n > 1 && !isnan(promise_of(v, s))) {
        o->pilot = o->max_pairs;
        o->precision = fmin(o->precision > 0 ? o->precision : INFINITY, o->enter / 2);
    }
}

/* Measures the incumbent with the items, or without them if they are on, and makes the change if it
 * is accepted. `move` NULL: the usual words for it. `split`: number of such trials that share the
 * error rate of false acceptance. If the budget is used up (v->s.over), nothing is measured, and *s
 * is unchanged. */
static qdq_status try_set(validation *v, set *s, const char *move, double split, qdq_error *err)
{
    const bool without = is_on(v, s);
    const double before = v->s.time;
    qdq_tried t;

    QDQ_TRY(report_news(v, err));
    set_test(v, s, without ? 1 : split);
    turn_items(v, s, !without);
    merge_items(v, &v->s.candidate);
    v->s.move = move != NULL ? move : qdq_validate_move(v->p, v->component, s->item, s->n, without);
    QDQ_TRY(qdq_search_try(&v->s, SIZE_MAX, &t, err));
    if (!t.kept)
        turn_items(v, s, without);
    v->measured += t.measured;
    if (isnan(t.time)) /* the budget is over */
        return QDQ_OK;
    /* what is known was measured about as well as the last */
    const double se = before * (t.measured ? t.result.sd / sqrt(t.result.pairs) : v->s.noise);
    s->move = v->s.move;
    s->failed = !isfinite(t.time);
    s->unclear = t.measured && !s->failed && !without && t.result.verdict == QDQ_VERDICT_UNDECIDED;
    s->time = s->failed ? NAN : t.time;
    s->saved = without ? s->time - before : before - s->time;
    s->variance = se * se;
    return QDQ_OK;
}

static qdq_validate_verdict verdict_of(const validation *v, const set *s)
{
    return is_on(v, s)  ? QDQ_VALIDATE_KEPT
           : s->failed  ? QDQ_VALIDATE_FAILED
           : s->unclear ? QDQ_VALIDATE_UNDECIDED
                        : QDQ_VALIDATE_REJECTED;
}

/* 0 where nothing is promised. */
static double known_promise(const validation *v, const set *s)
{
    const double saves = promise_of(v, s);

    return isnan(saves) ? 0 : saves;
}

/* --- sets that wait --------------------------------------------------------------------------- */

static qdq_status push_set(validation *v, set s, double urgency, qdq_error *err)
{
    s.urgency = urgency;
    return qdq_allocated(QDQ_PUSH(&v->s.scratch, &v->sets, s), err);
}

/* By what it promises beyond what it is known to save. Where nothing was promised by what was lost,
 * and what is unknown comes last. */
static qdq_status push_short(validation *v, const set *s, qdq_error *err)
{
    return push_set(v, *s, isnan(s->saved) ? -INFINITY : known_promise(v, s) - s->saved, err);
}

static set pop_worst(validation *v)
{
    size_t worst = 0;

    for (size_t i = 1; i < v->sets.n; i++)
        if (v->sets.at[i].urgency > v->sets.at[worst].urgency)
            worst = i;
    const set s = v->sets.at[worst];
    v->sets.at[worst] = v->sets.at[--v->sets.n];
    return s;
}

/* --- halves ----------------------------------------------------------------------------------- */

static void keep_set(validation *v, const set *s)
{
    for (size_t i = 0; i < s->n; i++)
        v->mark[s->item[i]].hidden = doubt_of(v, s);
    decide_items(v, s, QDQ_VALIDATE_KEPT);
    v->good += s->n;
}

/* What a trial of a set means for it: it is decided, or goes on. */
static qdq_status conclude_set(validation *v, const set *s, qdq_error *err)
{
    const bool on = is_on(v, s);

    if (s->n > 1 && (!on || is_short(v, s)))
        return push_short(v, s, err);
    if (on) {
        keep_set(v, s);
        return QDQ_OK;
    }
    v->mark[s->item[0]].alone = !s->failed;
    v->bad++;
    decide_items(v, s, verdict_of(v, s));
    return QDQ_OK;
}

/* Tries a set, unless it is off and too small to be seen. */
static qdq_status examine_set(validation *v, set *s, qdq_error *err)
{
    s->saved = NAN;
    s->variance = 0;
    s->failed = s->unclear = false;
    if (!is_on(v, s) && !matters(v, s)) {
        decide_items(v, s, QDQ_VALIDATE_UNDECIDED);
        return QDQ_OK;
    }
    QDQ_TRY(try_set(v, s, NULL, (double)s->n, err));
    return v->s.over ? QDQ_OK : conclude_set(v, s, err);
}

/* What the other half saves is the rest, if both are known. A model that fails although its first
 * half can be built has the reason in the other one. */
static qdq_status halve_set(validation *v, const set *whole, qdq_error *err)
{
    enum { WORSE = 4 };
    set first = *whole, rest = *whole;

    first.n = qdq_validate_middle(v->component, whole->item, whole->n);
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
    if (!is_on(v, &rest) || isnan(rest.saved))
        return examine_set(v, &rest, err);
    keep_set(v, &rest);
    return QDQ_OK;
}

/* Where every fifth is bad, halving costs more than trying all: single items from now on, those
 * first that promise most. */
static qdq_status go_one_by_one(validation *v, qdq_error *err)
{
    enum { SOME = 3, ONE_IN = 5 };
    const size_t n = v->sets.n;

    if (v->linear || v->bad < SOME || ONE_IN * v->bad <= v->good + v->bad)
        return QDQ_OK;
    v->linear = true;
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < v->sets.at[k].n; i++) {
            set one = v->sets.at[k];
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
static qdq_status follow_halves(validation *v, const set *s, qdq_error *err)
{
    QDQ_TRY(conclude_set(v, s, err));
    while (v->sets.n > 0 && !v->s.over) {
        QDQ_TRY(go_one_by_one(v, err));
        set next = pop_worst(v);
        QDQ_TRY(next.n > 1 ? halve_set(v, &next, err) : examine_set(v, &next, err));
    }
    return QDQ_OK;
}

/* --- neighbours ------------------------------------------------------------------------------- */

/* Links between two that were rejected alone, those first that promise most. At most as many as
 * there are such items: in a dense graph that would be half of their square. */
static qdq_status try_neighbours(validation *v, qdq_error *err)
{
    uint32_t *both = qdq_arena_array(&v->s.scratch, 2 * v->p->n_links + 1, sizeof *both);
    size_t n = 0;

    QDQ_NEED(both != NULL, err);
    v->sets.n = 0;
    for (uint32_t i = 0; i < v->p->n_items; i++)
        n += v->mark[i].alone && !v->mark[i].on;
    for (size_t k = 0; k < v->p->n_links; k++, both += 2) {
        const set s = {.item = both, .n = 2};
        both[0] = v->p->link[k].a;
        both[1] = v->p->link[k].b;
        if (both[0] != both[1] && v->mark[both[0]].alone && !v->mark[both[0]].on &&
            v->mark[both[1]].alone && !v->mark[both[1]].on && matters(v, &s))
            QDQ_TRY(push_set(v, s, known_promise(v, &s), err));
    }
    n = n < v->sets.n ? n : v->sets.n;
    for (size_t i = 0; i < n && !v->s.over; i++) {
        set s = pop_worst(v);
        if (v->mark[s.item[0]].on || v->mark[s.item[1]].on)
            continue; /* with another neighbour */
        QDQ_TRY(try_set(v, &s, "two neighbours", 2 * (double)n, err));
        if (is_on(v, &s))
            decide_items(v, &s, QDQ_VALIDATE_KEPT);
    }
    return QDQ_OK;
}

/* --- backward --------------------------------------------------------------------------------- */

/* What a set may do harm by is what the set that it was kept in may lack, and more than it promised
 * itself. Without a promise anything is possible. */
static double possible_loss(const validation *v, const set *s)
{
    double hidden = 0;

    for (size_t i = 0; i < s->n; i++)
        hidden = fmax(hidden, v->mark[s->item[i]].hidden);
    const double harm = hidden - promise_of(v, s);
    return isnan(harm) ? INFINITY : harm;
}

/* Items of each component that are on wait for a trial without them. */
static qdq_status push_components(validation *v, qdq_error *err)
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
            const set s = {.item = &item[first], .n = i - first};
            QDQ_TRY(push_set(v, s, possible_loss(v, &s), err));
            first = i;
        }
    return QDQ_OK;
}

/* The bound of validate.h, with what was bad so far. */
static bool has_builds_left(const validation *v)
{
    const double most = 4 + 2 * log2((double)v->p->n_items) * (double)(v->bad + 1);
    /* the base, and one that comes last: against the best start */
    const unsigned used = 2 + v->measured;

    return most >= used + 1;
}

/* Removes accepted sets that may be harmful, while builds are left; then their halves, as far as
 * taking one away may have gained something. */
static qdq_status go_backward(validation *v, qdq_error *err)
{
    QDQ_TRY(push_components(v, err));
    while (v->sets.n > 0 && has_builds_left(v)) {
        set s = pop_worst(v);
        if (!(s.urgency >= v->asked->test.enter * v->s.time)) /* it could not be seen */
            return QDQ_OK;
        QDQ_TRY(try_set(v, &s, NULL, 1, err));
        if (v->s.over)
            return QDQ_OK;
        if (!is_on(v, &s)) {
            decide_items(v, &s, QDQ_VALIDATE_REJECTED);
            v->bad++;
        } else if (s.n > 1) {
            const size_t m = s.n / 2;
            const double gain = sqrt(s.variance) - s.saved;
            QDQ_TRY(push_set(v, (set){.item = s.item, .n = m}, gain, err));
            QDQ_TRY(push_set(v, (set){.item = s.item + m, .n = s.n - m}, gain, err));
        }
    }
    return QDQ_OK;
}

/* --- all items -------------------------------------------------------------------------------- */

/* Takes decisions of an earlier run: those that it kept are measured together, and if they stay the
 * others stand. *open: what is still to be decided. */
static qdq_status take_known(validation *v, set *open, qdq_error *err)
{
    uint32_t *item = qdq_arena_array(&v->s.scratch, v->p->n_items + 1, sizeof *item);

    QDQ_NEED(item != NULL, err);
    set kept = {.item = item, .n = qdq_validate_list(v->p, v->order, QDQ_VALIDATE_KEPT, item)};
    if (kept.n > 0)
        QDQ_TRY(try_set(v, &kept, QDQ_VALIDATE_KNOWN, (double)kept.n, err));
    if (v->s.over || (kept.n > 0 && !is_on(v, &kept)))
        return QDQ_OK;
    *open = (set){.item = item + kept.n};
    open->n = qdq_validate_list(v->p, v->order, QDQ_VALIDATE_UNDECIDED, item + kept.n);
    for (uint32_t i = 0; i < v->p->n_items; i++) {
        const qdq_validate_verdict known = v->p->known[i];
        const bool is_kept = known == QDQ_VALIDATE_KEPT;
        const set one = {
            .item = &i, .n = 1, .move = QDQ_VALIDATE_KNOWN, .time = is_kept ? kept.time : NAN};
        if (known == QDQ_VALIDATE_UNDECIDED)
            continue;
        decide_items(v, &one, known);
        *(is_kept ? &v->good : &v->bad) += 1;
    }
    return QDQ_OK;
}

/* All together, or nothing; or in parts, where not all is as it should be. */
static qdq_status settle_items(validation *v, qdq_error *err)
{
    set open = {.item = v->order, .n = v->p->n_items};

    if (v->p->known != NULL && v->p->incremental)
        QDQ_TRY(take_known(v, &open, err));
    if (open.n > 0 && !v->s.over)
        QDQ_TRY(try_set(v, &open, open.n == v->p->n_items ? "all groups" : "the other groups",
                        (double)open.n, err));
    if (v->s.over)
        return QDQ_OK;
    if (!v->p->incremental) {
        decide_items(v, &open, verdict_of(v, &open));
        return QDQ_OK;
    }
    if (open.n > 0)
        QDQ_TRY(follow_halves(v, &open, err));
    QDQ_TRY(try_neighbours(v, err));
    return v->s.over ? QDQ_OK : go_backward(v, err);
}

/* --- begin ------------------------------------------------------------------------------------ */

static qdq_status prepare_items(validation *v, qdq_error *err)
{
    const size_t n = v->p->n_items;
    qdq_validate_result *out = v->out;

    QDQ_TRY(qdq_validate_order(v->p, &v->s.scratch, &v->order, &v->component, err));
    v->mark = qdq_arena_array(&v->s.scratch, n + 1, sizeof *v->mark);
    out->item = qdq_arena_array(v->s.arena, n + 1, sizeof *out->item);
    QDQ_NEED(v->mark != NULL && out->item != NULL &&
                 qdq_assign_copy(&out->raw, &v->p->search->start[0], v->s.arena) &&
                 qdq_assign_copy(&out->merged, &v->p->search->start[0], v->s.arena),
             err);
    for (size_t i = 0; i < n; i++) {
        v->mark[i] = (mark){.on = true, .hidden = NAN};
        out->item[i].time = NAN;
    }
    merge_items(v, &out->raw);
    for (size_t i = 0; i < n; i++)
        v->mark[i].on = false;
    return QDQ_OK;
}

/* --- the whole -------------------------------------------------------------------------------- */

/* What was merged against the best start, unless it is known to be slower. What is added to the
 * baseline has won against it. Once the budget is over nothing is measured any more: then the
 * faster one by what is known of both. */
static qdq_status choose_best(validation *v, const qdq_assign *start, double time, qdq_error *err)
{
    const bool has_won = qdq_assign_count(start) == 0 || qdq_assign_equal(start, &v->s.incumbent);
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

static void count_items(validation *v)
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

/* Items are added to the baseline, whatever start is faster. */
static qdq_status run_validation(validation *v, qdq_error *err)
{
    qdq_assign start;

    QDQ_TRY(prepare_items(v, err));
    QDQ_TRY(qdq_search_begin(&v->s, err));
    const double time = v->s.time;
    QDQ_NEED(qdq_assign_copy(&start, &v->s.incumbent, &v->s.scratch), err);
    qdq_assign_take(&v->s.incumbent, &v->p->search->start[0]);
    v->s.time = 1;
    v->s.phase = QDQ_PHASE_INTERACTIONS;
    if (v->p->n_items > 0 && !v->s.over)
        QDQ_TRY(settle_items(v, err));
    QDQ_TRY(report_news(v, err));
    merge_items(v, &v->out->merged);
    QDQ_TRY(choose_best(v, &start, time, err));
    count_items(v);
    return qdq_search_finish(&v->s, err);
}

qdq_status qdq_validate_run(const qdq_validate_problem *p, const qdq_search_opts *opts,
                            const qdq_search_ops *ops, qdq_arena *arena, qdq_validate_result *out,
                            qdq_error *err)
{
    validation v = {.p = p, .asked = opts, .out = out, .opts = *opts, .ops = *ops};

    *out = (qdq_validate_result){0};
    v.ops.known_share = NULL;
    v.ops.profile = NULL;
    v.s = (qdq_search_state){
        .p = p->search, .opts = &v.opts, .ops = &v.ops, .arena = arena, .out = &out->search};
    qdq_status st = run_validation(&v, err);
    qdq_search_free(&v.s);
    return st;
}
