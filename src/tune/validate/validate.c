/* validate.c - the way of a validation: starts, all items, halves, neighbours, backward, and the
 * best start once more. */
#include "tune/validate/validate.h"

#include <math.h>

#include "base/fail.h"
#include "tune/validate/validate_state.h"

const char *qdq_validate_verdict_name(qdq_validate_verdict v)
{
    static const char *const names[] = {"undecided", "kept", "rejected", "failed"};

    return names[v];
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

static qdq_status check_problem(qdq_validate_state *v, qdq_error *err)
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

static qdq_status prepare_items(qdq_validate_state *v, qdq_error *err)
{
    const size_t n = v->p->n_items;
    qdq_validate_result *out = v->out;

    QDQ_TRY(check_problem(v, err));
    v->base = &v->p->search->start[v->p->base];
    v->mark = qdq_arena_array(&v->s.scratch, n + 1, sizeof *v->mark);
    v->component = qdq_arena_array(&v->s.scratch, n + 1, sizeof *v->component);
    out->item = qdq_arena_array(v->s.arena, n + 1, sizeof *out->item);
    QDQ_NEED(v->mark != NULL && v->component != NULL && out->item != NULL &&
                 qdq_assign_copy(&out->raw, v->base, v->s.arena) &&
                 qdq_assign_copy(&out->merged, v->base, v->s.arena),
             err);
    for (size_t i = 0; i < n; i++) {
        v->mark[i].hidden = NAN;
        out->item[i].trial = SIZE_MAX;
    }
    QDQ_TRY(qdq_validate_arrange(v, false, err));
    qdq_validate_turn(v, v->order, n, true);
    qdq_validate_merge(v, &out->raw);
    qdq_validate_turn(v, v->order, n, false);
    return QDQ_OK;
}

/* --- items ------------------------------------------------------------------------------------ */

/* Takes decisions of an earlier run: those that it kept are measured together, and if they stay the
 * others stand. *open: what is still to be decided. */
static qdq_status take_known(qdq_validate_state *v, qdq_validate_set *open, qdq_error *err)
{
    qdq_validate_set kept = {.kept = true, .trial = SIZE_MAX};
    size_t n_open = 0;

    QDQ_TRY(qdq_validate_arrange(v, true, err));
    kept.item = v->order;
    for (size_t i = 0; i < v->p->n_items; i++) {
        kept.n += v->p->known[i] == QDQ_VALIDATE_KEPT;
        n_open += v->p->known[i] == QDQ_VALIDATE_UNDECIDED;
    }
    if (kept.n > 0)
        QDQ_TRY(qdq_validate_try(v, &kept, "known groups", (double)kept.n, err));
    if (v->s.over || !kept.kept) {
        QDQ_TRY(qdq_validate_arrange(v, false, err));
        open->item = v->order;
        return QDQ_OK;
    }
    *open = (qdq_validate_set){.item = v->order + kept.n, .n = n_open};
    for (size_t i = 0; i < v->p->n_items; i++) {
        const qdq_validate_verdict known = v->p->known[v->order[i]];
        const qdq_validate_set one = {
            .item = &v->order[i], .n = 1, .trial = i < kept.n ? kept.trial : SIZE_MAX};
        if (known == QDQ_VALIDATE_UNDECIDED)
            continue;
        qdq_validate_decide(v, &one, known);
        v->out->item[v->order[i]].known = true;
        *(known == QDQ_VALIDATE_KEPT ? &v->good : &v->bad) += 1;
    }
    return QDQ_OK;
}

/* All together, or nothing; or in parts, where not all is as it should be. */
static qdq_status settle_open(qdq_validate_state *v, qdq_validate_set *open, qdq_error *err)
{
    if (open->n == 0)
        return QDQ_OK;
    QDQ_TRY(qdq_validate_try(v, open, open->n == v->p->n_items ? "all groups" : "the other groups",
                             (double)open->n, err));
    if (v->s.over)
        return QDQ_OK;
    if (v->p->incremental)
        return qdq_validate_halve(v, open, err);
    qdq_validate_decide(v, open, qdq_validate_verdict_of(v, open));
    return QDQ_OK;
}

static qdq_status settle_items(qdq_validate_state *v, qdq_error *err)
{
    qdq_validate_set open = {.item = v->order, .n = v->p->n_items};

    if (qdq_assign_equal(&v->out->raw, v->base)) { /* they are all in it */
        qdq_validate_turn(v, v->order, v->p->n_items, true);
        return QDQ_OK;
    }
    if (v->p->known != NULL && v->p->incremental)
        QDQ_TRY(take_known(v, &open, err));
    if (!v->s.over)
        QDQ_TRY(settle_open(v, &open, err));
    if (!v->s.over && v->p->incremental)
        QDQ_TRY(qdq_validate_pairs(v, err));
    return v->s.over || !v->p->incremental ? QDQ_OK : qdq_validate_backward(v, err);
}

/* Items are added to the base, whatever start is faster. The time is NAN if it cannot be had. */
static qdq_status go_to_base(qdq_validate_state *v, qdq_error *err)
{
    double time;

    QDQ_TRY(qdq_search_known_time(&v->s, v->base, &time, err));
    qdq_assign_take(&v->s.incumbent, v->base);
    v->s.time = time;
    return QDQ_OK;
}

/* --- end -------------------------------------------------------------------------------------- */

/* What was merged against the best start, unless it is known to be slower. What is added to the
 * base has won against it. Once the budget is over nothing is measured any more: then the faster
 * one by what is known of both. */
static qdq_status choose_best(qdq_validate_state *v, const qdq_assign *start, double time,
                              qdq_error *err)
{
    const bool has_won =
        qdq_assign_equal(start, v->base) || qdq_assign_equal(start, &v->s.incumbent);
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

static void count_items(qdq_validate_state *v)
{
    qdq_validate_result *out = v->out;
    size_t by_verdict[4] = {0};

    for (size_t i = 0; i < v->p->n_items; i++) {
        if (v->mark[i].on)
            out->item[i].verdict = QDQ_VALIDATE_KEPT;
        else if (out->item[i].verdict == QDQ_VALIDATE_KEPT)
            out->item[i].verdict = QDQ_VALIDATE_UNDECIDED;
        by_verdict[out->item[i].verdict]++;
    }
    out->kept = by_verdict[QDQ_VALIDATE_KEPT];
    out->rejected = by_verdict[QDQ_VALIDATE_REJECTED];
    out->failed = by_verdict[QDQ_VALIDATE_FAILED];
    out->undecided = by_verdict[QDQ_VALIDATE_UNDECIDED];
    out->builds = qdq_search_builds(&v->s);
}

/* --- the whole -------------------------------------------------------------------------------- */

static qdq_status merge_items(qdq_validate_state *v, qdq_error *err)
{
    const double time = v->s.time;
    qdq_assign start;

    QDQ_NEED(qdq_assign_copy(&start, &v->s.incumbent, &v->s.scratch), err);
    QDQ_TRY(go_to_base(v, err));
    v->s.phase = QDQ_PHASE_INTERACTIONS;
    if (!isnan(v->s.time) && v->p->n_items > 0 && !v->s.over)
        QDQ_TRY(settle_items(v, err));
    QDQ_TRY(qdq_validate_report(v, err));
    qdq_validate_merge(v, &v->out->merged);
    return choose_best(v, &start, time, err);
}

static qdq_status run_validation(qdq_validate_state *v, qdq_error *err)
{
    QDQ_TRY(prepare_items(v, err));
    QDQ_TRY(qdq_search_begin(&v->s, err));
    QDQ_TRY(merge_items(v, err));
    count_items(v);
    return qdq_search_finish(&v->s, err);
}

qdq_status qdq_validate_run(const qdq_validate_problem *p, const qdq_search_opts *opts,
                            const qdq_search_ops *ops, qdq_arena *arena, qdq_validate_result *out,
                            qdq_error *err)
{
    qdq_validate_state v = {.p = p, .asked = opts, .out = out, .opts = *opts, .ops = *ops};

    *out = (qdq_validate_result){0};
    v.ops.known_share = NULL;
    v.ops.profile = NULL;
    v.s = (qdq_search_state){
        .p = p->search, .opts = &v.opts, .ops = &v.ops, .arena = arena, .out = &out->search};
    qdq_status st = run_validation(&v, err);
    qdq_search_free(&v.s);
    return st;
}
