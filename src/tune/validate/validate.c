/* validate.c - the way of a validation: starts, all items, halves, neighbours, components, and the
 * best start once more. One move does it all: a set of items is tried without them if they are on,
 * with them if they are off, and its halves wait if one of them may bring something. */
#include "tune/validate/validate.h"

#include <math.h>
#include <stdlib.h>

#include "base/fail.h"
#include "base/union_find.h"
#include "tune/search/search_state.h"

/* Items that are tried together: all of them are on, or all off. */
typedef struct set {
    /* consecutive in the order by component and topological index */
    const uint32_t *item;
    size_t n;
    /* measured saving of the items and its variance, as fractions of the baseline's time; NAN:
     * unknown */
    double saved, variance;
    /* what may be gained by its trial: the set with the most is next */
    double gain;
    /* of its trial, or of that of a set that contains it */
    qdq_validate_decision last;
} set;

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
    /* by item: representative of its component, which links connect */
    uint32_t *component;
    /* by item: what its accepted set may lack of its expected saving; NAN: that was unknown */
    double *hidden;
    /* items that trials rejected */
    size_t bad;
    /* number of trials that took a build */
    unsigned measured;
    /* a decision was not reported yet */
    bool news;
    /* waiting for a trial */
    QDQ_VEC(set) sets;
} validation;

/* --- items ------------------------------------------------------------------------------------ */

const char *qdq_validate_verdict_name(qdq_validate_verdict v)
{
    static const char *const names[] = {"undecided", "kept", "rejected", "failed"};

    return names[v];
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

/* NAN: unknown. */
static double or_zero(double saves)
{
    return isnan(saves) ? 0 : saves;
}

static qdq_status order_items(validation *v, qdq_error *err)
{
    const qdq_validate_problem *p = v->p;
    const size_t n = p->n_items;
    placed *at = qdq_arena_array(&v->s.scratch, n + 1, sizeof *at);
    double *saves = qdq_arena_array(&v->s.scratch, n + 1, sizeof *saves);

    v->order = qdq_arena_array(&v->s.scratch, n + 1, sizeof *v->order);
    v->component = qdq_arena_array(&v->s.scratch, n + 1, sizeof *v->component);
    QDQ_NEED(at != NULL && saves != NULL && v->order != NULL && v->component != NULL, err);
    for (uint32_t i = 0; i < n; i++)
        v->component[i] = i;
    for (size_t k = 0; k < p->n_links; k++)
        qdq_part_join(v->component, p->link[k].item[0], p->link[k].item[1]);
    for (uint32_t i = 0; i < n; i++) {
        v->component[i] = qdq_part_of(v->component, i);
        saves[v->component[i]] += or_zero(p->item[i].saves);
    }
    for (uint32_t i = 0; i < n; i++)
        at[i] = (placed){{-saves[v->component[i]], v->component[i], p->item[i].place}, i};
    qsort(at, n, sizeof *at, by_order);
    for (size_t i = 0; i < n; i++)
        v->order[i] = at[i].item;
    return QDQ_OK;
}

static void turn_item(const validation *v, uint32_t item, bool on, qdq_assign *a)
{
    const qdq_assign *bits = &v->p->item[item].bits;

    for (size_t bit = 0; bit < bits->n; bit++)
        if (qdq_assign_get(bits, bit))
            qdq_assign_set(a, bit, on);
}

/* Is it on in the incumbent? Bits of an item are on together. */
static bool is_on(const validation *v, uint32_t item)
{
    const qdq_assign *bits = &v->p->item[item].bits;
    size_t bit = 0;

    while (bit < bits->n && !qdq_assign_get(bits, bit))
        bit++;
    return bit < bits->n && qdq_assign_get(&v->s.incumbent, bit);
}

static qdq_status report_news(validation *v, qdq_error *err)
{
    const bool news = v->news;

    v->news = false;
    return news && v->p->decided != NULL ? v->p->decided(v->p->decided_ctx, v->out, err) : QDQ_OK;
}

/* --- expected savings ------------------------------------------------------------------------- */

/* NAN: that of one of them is unknown. */
static double expected_of(const validation *v, const set *s)
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

    for (size_t i = 0; i < s->n; i++)
        variance += pow(or_zero(v->p->item[s->item[i]].se), 2);
    return sqrt(variance);
}

/* What may be missing of the expected saving: the shortfall and one standard error. NAN: nothing
 * was expected. */
static double doubt_of(const validation *v, const set *s)
{
    return expected_of(v, s) - s->saved + error_of(v, s);
}

/* The harm that an item of a measured set may do: what the set lacks of its expected saving. The
 * least that a harmful item takes with it is its own expected saving, and harm that can be seen: so
 * expectations that are all a little too high are not followed down to single items. Where nothing
 * is expected: what the set itself loses. */
static double harm_of(const validation *v, const set *s)
{
    const double doubt = doubt_of(v, s);
    double least = INFINITY;

    for (size_t i = 0; i < s->n; i++)
        least = fmin(least, v->p->item[s->item[i]].saves);
    return isnan(doubt) ? sqrt(s->variance) - s->saved : doubt - least;
}

static bool is_visible(const validation *v, double harm)
{
    return harm >= v->asked->test.enter * v->s.time;
}

/* Does one of the items do harm, as far as the set tells? */
static bool is_short(const validation *v, const set *s)
{
    return expected_of(v, s) - s->saved > 3 * error_of(v, s) && is_visible(v, harm_of(v, s));
}

/* Could it be told from noise if the items saved what is expected? */
static bool matters(const validation *v, const set *s)
{
    const double saves = expected_of(v, s);

    return isnan(saves) || qdq_search_matters(&v->s, saves);
}

static void decide_items(validation *v, const set *s, qdq_validate_verdict verdict)
{
    v->news |= s->n > 0;
    for (size_t i = 0; i < s->n; i++) {
        v->hidden[s->item[i]] = doubt_of(v, s);
        v->out->item[s->item[i]] = s->last;
        v->out->item[s->item[i]].verdict = verdict;
    }
}

/* --- one trial -------------------------------------------------------------------------------- */

/* Where a set is cut: between components, as near to the middle as can be. */
static size_t middle_of(const validation *v, const set *s)
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

/* The words for a trial of a set, with or without it. */
static const char *move_of(const validation *v, const set *s, bool without)
{
    static const char *const moves[][2] = {{"a group", "without a group"},
                                           {"several components", "without several components"},
                                           {"a component", "without a component"},
                                           {"half of a component", "without half of a component"}};
    const uint32_t first = v->component[s->item[0]], last = v->component[s->item[s->n - 1]];
    size_t size = 0;

    for (size_t i = 0; i < v->p->n_items; i++)
        size += v->component[i] == first;
    return moves[s->n == 1 ? 0 : first != last ? 1 : s->n == size ? 2 : 3][without];
}

/* What a set saves is compared with what is expected, and says what the rest of a larger set saves:
 * then it is to be known as well as can be. Pairs are cheap next to builds. */
static void set_test(validation *v, const set *s, double split)
{
    qdq_test_opts *o = &v->opts.test;

    *o = v->asked->test;
    o->alpha /= split;
    if (s->n > 1 && !isnan(expected_of(v, s))) {
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
    const bool without = is_on(v, s->item[0]);
    const double before = v->s.time;
    qdq_tried t;

    QDQ_TRY(report_news(v, err));
    set_test(v, s, without ? 1 : split);
    qdq_search_reset(&v->s);
    for (size_t i = 0; i < s->n; i++)
        turn_item(v, s->item[i], !without, &v->s.candidate);
    v->s.move = move != NULL ? move : move_of(v, s, without);
    QDQ_TRY(qdq_search_try(&v->s, SIZE_MAX, &t, err));
    v->measured += t.measured;
    if (isnan(t.time)) /* the budget is over */
        return QDQ_OK;
    const bool failed = !isfinite(t.time),
               unclear = t.measured && !without && t.result.verdict == QDQ_VERDICT_UNDECIDED;
    /* what is known was measured about as well as the last */
    const double se = before * (t.measured ? t.result.sd / sqrt(t.result.pairs) : v->s.noise);
    s->last = (qdq_validate_decision){.verdict = t.accepted != without ? QDQ_VALIDATE_KEPT
                                                 : failed              ? QDQ_VALIDATE_FAILED
                                                 : unclear             ? QDQ_VALIDATE_UNDECIDED
                                                                       : QDQ_VALIDATE_REJECTED,
                                      .move = v->s.move,
                                      .time = failed ? NAN : t.time};
    s->saved = without ? s->last.time - before : before - s->last.time;
    s->variance = se * se;
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

/* --- sets that wait --------------------------------------------------------------------------- */

static qdq_status push_set(validation *v, set s, double gain, qdq_error *err)
{
    s.gain = gain;
    return qdq_allocated(QDQ_PUSH(&v->s.scratch, &v->sets, s), err);
}

static set pop_best(validation *v)
{
    size_t best = 0;

    for (size_t i = 1; i < v->sets.n; i++)
        if (v->sets.at[i].gain > v->sets.at[best].gain)
            best = i;
    const set s = v->sets.at[best];
    v->sets.at[best] = v->sets.at[--v->sets.n];
    return s;
}

/* --- halves ----------------------------------------------------------------------------------- */

/* What is known of a set's saving decides about it, or it waits to be halved. */
static qdq_status conclude_set(validation *v, const set *s, qdq_error *err)
{
    const bool on = is_on(v, s->item[0]);

    if (s->n > 1 && (!on || is_short(v, s)))
        return push_set(v, *s, on ? harm_of(v, s) : or_zero(expected_of(v, s)), err);
    v->bad += !on;
    decide_items(v, s, s->last.verdict);
    return QDQ_OK;
}

/* Tries a set, unless it is off and too small to be seen. */
static qdq_status examine_set(validation *v, set *s, qdq_error *err)
{
    s->saved = s->variance = NAN;
    if (!is_on(v, s->item[0]) && !matters(v, s)) {
        s->last.time = NAN;
        decide_items(v, s, QDQ_VALIDATE_UNDECIDED);
        return QDQ_OK;
    }
    QDQ_TRY(try_set(v, s, NULL, (double)s->n, err));
    return v->s.over ? QDQ_OK : conclude_set(v, s, err);
}

/* What the other half saves is the rest, unless that was inferred too often; a single item that may
 * change is tried in any case. */
static qdq_status halve_set(validation *v, const set *whole, qdq_error *err)
{
    enum { WORSE = 4 };
    set first = *whole, rest = *whole;

    first.n = middle_of(v, whole);
    rest.item += first.n;
    rest.n -= first.n;
    QDQ_TRY(examine_set(v, &first, err));
    if (v->s.over)
        return QDQ_OK;
    rest.saved = whole->saved - first.saved;
    rest.variance = whole->variance + first.variance;
    const bool known = !isnan(rest.saved) && rest.variance <= WORSE * first.variance,
               harmless = is_on(v, rest.item[0]) && !is_visible(v, harm_of(v, &rest));
    return known && (harmless || (rest.n > 1 && is_short(v, &rest))) ? conclude_set(v, &rest, err)
                                                                     : examine_set(v, &rest, err);
}

/* Goes on until no set waits, or the budget is used up; `bounded`: or the bound of validate.h. */
static qdq_status follow_sets(validation *v, bool bounded, qdq_error *err)
{
    while (v->sets.n > 0 && !v->s.over && (!bounded || has_builds_left(v))) {
        set next = pop_best(v);
        QDQ_TRY(isnan(next.saved) && is_on(v, next.item[0]) ? examine_set(v, &next, err)
                                                            : halve_set(v, &next, err));
    }
    return QDQ_OK;
}

/* --- neighbours ------------------------------------------------------------------------------- */

/* It was tried alone, and rejected. */
static bool was_refused(const validation *v, uint32_t item)
{
    return !is_on(v, item) && isfinite(v->out->item[item].time);
}

/* Links between two that were rejected alone, the largest expected saving first. At most as many as
 * there are such items: in a dense graph that would be half of their square. */
static qdq_status try_neighbours(validation *v, qdq_error *err)
{
    size_t n = 0;

    v->sets.n = 0;
    for (uint32_t i = 0; i < v->p->n_items; i++)
        n += was_refused(v, i);
    for (size_t k = 0; k < v->p->n_links; k++) {
        const set s = {.item = v->p->link[k].item, .n = 2};
        if (s.item[0] != s.item[1] && was_refused(v, s.item[0]) && was_refused(v, s.item[1]) &&
            matters(v, &s))
            QDQ_TRY(push_set(v, s, or_zero(expected_of(v, &s)), err));
    }
    n = n < v->sets.n ? n : v->sets.n;
    for (size_t i = 0; i < n && !v->s.over; i++) {
        set s = pop_best(v);
        if (is_on(v, s.item[0]) || is_on(v, s.item[1]))
            continue; /* with another neighbour */
        QDQ_TRY(try_set(v, &s, "two neighbours", 2 * (double)n, err));
        if (is_on(v, s.item[0]))
            decide_items(v, &s, QDQ_VALIDATE_KEPT);
    }
    return QDQ_OK;
}

/* --- components ------------------------------------------------------------------------------- */

/* Items of each component that are on wait for a trial without them, if they may do harm: by what
 * the sets that they were accepted in lack, and more than is expected of themselves. Where nothing
 * is expected anything is possible. */
static qdq_status push_components(validation *v, qdq_error *err)
{
    uint32_t *item = qdq_arena_array(&v->s.scratch, v->p->n_items + 1, sizeof *item);
    size_t n = 0;

    QDQ_NEED(item != NULL, err);
    v->sets.n = 0;
    for (size_t i = 0; i < v->p->n_items; i++)
        if (is_on(v, v->order[i]))
            item[n++] = v->order[i];
    for (size_t first = 0, end; first < n; first = end) {
        set s = {.item = &item[first], .saved = NAN};
        double hidden = 0;
        for (end = first; end < n && v->component[item[end]] == v->component[item[first]]; end++)
            hidden = fmax(hidden, v->hidden[item[end]]);
        s.n = end - first;
        const double harm = hidden - expected_of(v, &s);
        if (isnan(harm) || is_visible(v, harm))
            QDQ_TRY(push_set(v, s, isnan(harm) ? INFINITY : harm, err));
    }
    return QDQ_OK;
}

/* --- all items -------------------------------------------------------------------------------- */

/* Those with this verdict of an earlier run, in order. */
static set list_known(const validation *v, qdq_validate_verdict verdict, uint32_t *to)
{
    set s = {.item = to};

    for (size_t i = 0; i < v->p->n_items; i++)
        if (v->p->known[v->order[i]] == verdict)
            to[s.n++] = v->order[i];
    return s;
}

/* Takes decisions of an earlier run: those that it kept are measured together, and if they stay the
 * others stand. *open: what is still to be decided. */
static qdq_status take_known(validation *v, set *open, qdq_error *err)
{
    uint32_t *item = qdq_arena_array(&v->s.scratch, v->p->n_items + 1, sizeof *item);

    QDQ_NEED(item != NULL, err);
    set kept = list_known(v, QDQ_VALIDATE_KEPT, item);
    if (kept.n > 0)
        QDQ_TRY(try_set(v, &kept, QDQ_VALIDATE_KNOWN, (double)kept.n, err));
    if (v->s.over || (kept.n > 0 && !is_on(v, kept.item[0])))
        return QDQ_OK;
    decide_items(v, &kept, QDQ_VALIDATE_KEPT);
    item += kept.n;
    for (int verdict = QDQ_VALIDATE_REJECTED; verdict <= QDQ_VALIDATE_FAILED; verdict++) {
        set off = list_known(v, (qdq_validate_verdict)verdict, item);
        off.last = (qdq_validate_decision){.move = QDQ_VALIDATE_KNOWN, .time = NAN};
        decide_items(v, &off, (qdq_validate_verdict)verdict);
        v->bad += off.n;
    }
    *open = list_known(v, QDQ_VALIDATE_UNDECIDED, item);
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
        decide_items(v, &open, open.last.verdict);
        return QDQ_OK;
    }
    if (open.n > 0)
        QDQ_TRY(conclude_set(v, &open, err));
    QDQ_TRY(follow_sets(v, false, err));
    QDQ_TRY(try_neighbours(v, err));
    QDQ_TRY(push_components(v, err));
    return follow_sets(v, true, err);
}

/* --- the whole -------------------------------------------------------------------------------- */

static qdq_status prepare_items(validation *v, qdq_error *err)
{
    const qdq_assign *base = &v->p->search->start[0];

    QDQ_TRY(order_items(v, err));
    v->out->item = qdq_arena_array(v->s.arena, v->p->n_items + 1, sizeof *v->out->item);
    v->hidden = qdq_arena_array(&v->s.scratch, v->p->n_items + 1, sizeof *v->hidden);
    QDQ_NEED(v->out->item != NULL && v->hidden != NULL &&
                 qdq_assign_copy(&v->out->raw, base, v->s.arena) &&
                 qdq_assign_copy(&v->out->merged, base, v->s.arena),
             err);
    for (uint32_t i = 0; i < v->p->n_items; i++) {
        v->out->item[i].time = NAN;
        turn_item(v, i, true, &v->out->raw);
    }
    return QDQ_OK;
}

static void count_items(validation *v)
{
    qdq_validate_result *out = v->out;
    size_t *const by_verdict[] = {&out->undecided, &out->accepted, &out->rejected, &out->failed};

    for (uint32_t i = 0; i < v->p->n_items; i++) {
        if (is_on(v, i))
            out->item[i].verdict = QDQ_VALIDATE_KEPT;
        else if (out->item[i].verdict == QDQ_VALIDATE_KEPT)
            out->item[i].verdict = QDQ_VALIDATE_UNDECIDED;
        ++*by_verdict[out->item[i].verdict];
    }
}

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
    count_items(v);
    QDQ_TRY(report_news(v, err));
    qdq_assign_take(&v->out->merged, &v->s.incumbent);
    QDQ_TRY(choose_best(v, &start, time, err));
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
