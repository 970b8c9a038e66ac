/* validate_trial.c - one set of items, added or taken away: what it saves, and whether that is what
 * it promised. */
#include <math.h>

#include "base/fail.h"
#include "tune/validate/validate_state.h"

/* --- assignments ------------------------------------------------------------------------------ */

static void set_bits(qdq_assign *a, const qdq_assign *bits)
{
    for (size_t i = 0; i < a->n; i++)
        if (qdq_assign_get(bits, i))
            qdq_assign_set(a, i, true);
}

void qdq_validate_merge(const qdq_validate_state *v, qdq_assign *a)
{
    qdq_assign_take(a, v->base);
    for (size_t i = 0; i < v->p->n_items; i++)
        if (v->mark[i].on)
            set_bits(a, &v->p->item[i].bits);
}

void qdq_validate_turn(qdq_validate_state *v, const uint32_t *item, size_t n, bool on)
{
    for (size_t i = 0; i < n; i++)
        v->mark[item[i]].on = on;
}

/* --- promises --------------------------------------------------------------------------------- */

double qdq_validate_expected_saving(const qdq_validate_state *v, const qdq_validate_set *s)
{
    double saves = 0;

    for (size_t i = 0; i < s->n; i++)
        saves += v->p->item[s->item[i]].saves;
    return saves;
}

/* --- trials ----------------------------------------------------------------------------------- */

/* A start that was kept has been measured already: it is the incumbent again, if it is faster than
 * this one. */
static qdq_status recall_start(qdq_validate_state *v, qdq_tried *t, qdq_error *err)
{
    bool was_kept;

    if (t->measured || !(t->time < v->s.time * (1 - v->asked->test.enter)))
        return QDQ_OK;
    QDQ_TRY(qdq_search_is_kept_start(&v->s, &was_kept, err));
    if (was_kept) {
        qdq_assign_take(&v->s.incumbent, &v->s.candidate);
        v->s.time = t->time;
        t->kept = true;
    }
    return QDQ_OK;
}

/* What a set saves is compared with what it promises, and says what the rest of a larger set saves:
 * then it is to be known as well as can be. Pairs are cheap beside builds. */
static void set_test(qdq_validate_state *v, const qdq_validate_trial *t, double split)
{
    qdq_test_opts *o = &v->opts.test;

    *o = v->asked->test;
    if (!t->without)
        o->alpha /= split;
    if (t->n_items > 1 && !isnan(t->promised)) {
        o->pilot = o->max_pairs;
        o->precision = fmin(o->precision > 0 ? o->precision : INFINITY, o->enter / 2);
    }
}

/* `before`: the time of the incumbent. What is known was measured about as well as the last. */
static void fill_trial(const qdq_validate_state *v, const qdq_tried *t, double before,
                       qdq_validate_trial *trial, qdq_validate_set *s)
{
    const qdq_test_result *r = &t->result;
    const double sign = trial->without ? -1 : 1,
                 se = before * (t->measured ? r->sd / sqrt(r->pairs) : v->s.noise);

    s->kept = trial->kept = t->kept;
    s->failed = trial->failed = !isfinite(t->time);
    s->unclear =
        t->measured && !s->failed && !trial->without && r->verdict == QDQ_VERDICT_UNDECIDED;
    trial->time = s->failed ? NAN : t->time;
    s->saved = trial->saved = s->failed ? NAN : sign * (before - t->time);
    s->variance = se * se;
    s->trial = v->trials.n;
    trial->low = trial->high = NAN;
    if (t->measured && !s->failed) {
        trial->low = before * (trial->without ? -r->ci_high : r->ci_low);
        trial->high = before * (trial->without ? -r->ci_low : r->ci_high);
        trial->pairs = r->pairs;
    }
}

/* With a copy of its items. */
static qdq_status add_trial(qdq_validate_state *v, qdq_validate_trial t, qdq_error *err)
{
    uint32_t *item = qdq_arena_array(v->s.arena, t.n_items, sizeof *item);

    for (size_t i = 0; item != NULL && i < t.n_items; i++)
        item[i] = t.item[i];
    t.item = item;
    QDQ_NEED(item != NULL && QDQ_PUSH(v->s.arena, &v->trials, t), err);
    v->out->trial = v->trials.at;
    v->out->n_trials = v->trials.n;
    return QDQ_OK;
}

qdq_status qdq_validate_try(qdq_validate_state *v, qdq_validate_set *s, const char *move,
                            double split, qdq_error *err)
{
    qdq_validate_trial trial = {.move = move,
                                .item = s->item,
                                .n_items = s->n,
                                .without = qdq_validate_is_on(v, s),
                                .promised = qdq_validate_expected_saving(v, s)};
    const double before = v->s.time;
    qdq_tried t;

    QDQ_TRY(qdq_validate_report(v, err));
    v->s.move = move;
    set_test(v, &trial, split);
    qdq_validate_turn(v, s->item, s->n, !trial.without);
    qdq_validate_merge(v, &v->s.candidate);
    QDQ_TRY(qdq_search_try(&v->s, SIZE_MAX, &t, err));
    QDQ_TRY(recall_start(v, &t, err));
    if (!t.kept)
        qdq_validate_turn(v, s->item, s->n, trial.without);
    v->measured += t.measured;
    if (isnan(t.time)) /* the budget is over */
        return QDQ_OK;
    fill_trial(v, &t, before, &trial, s);
    return add_trial(v, trial, err);
}

/* --- decisions -------------------------------------------------------------------------------- */

qdq_status qdq_validate_report(qdq_validate_state *v, qdq_error *err)
{
    const qdq_validate_problem *p = v->p;
    const bool news = v->news;

    v->news = false;
    return news && p->decided != NULL ? p->decided(p->decided_ctx, v->out, err) : QDQ_OK;
}

void qdq_validate_decide(qdq_validate_state *v, const qdq_validate_set *s,
                         qdq_validate_verdict verdict)
{
    v->news = true;
    for (size_t i = 0; i < s->n; i++)
        v->out->item[s->item[i]] = (qdq_validate_decision){.verdict = verdict, .trial = s->trial};
}

qdq_validate_verdict qdq_validate_verdict_of(const qdq_validate_state *v, const qdq_validate_set *s)
{
    return qdq_validate_is_on(v, s) ? QDQ_VALIDATE_KEPT
           : s->failed              ? QDQ_VALIDATE_FAILED
           : s->unclear             ? QDQ_VALIDATE_UNDECIDED
                                    : QDQ_VALIDATE_REJECTED;
}
