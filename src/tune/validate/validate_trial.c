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
        if (v->on[i])
            set_bits(a, &v->p->item[i].bits);
}

static void flip(qdq_validate_state *v, const uint32_t *item, size_t n)
{
    for (size_t i = 0; i < n; i++)
        v->on[item[i]] = !v->on[item[i]];
}

/* --- promises --------------------------------------------------------------------------------- */

qdq_validate_promise qdq_validate_sum(const qdq_validate_state *v, const uint32_t *item, size_t n)
{
    qdq_validate_promise p = {.least = INFINITY};

    for (size_t i = 0; i < n; i++) {
        const qdq_validate_item *one = &v->p->item[item[i]];
        p.saves += one->saves;
        p.variance += isnan(one->se) ? 0 : one->se * one->se;
        p.least = fmin(p.least, one->saves);
    }
    return p;
}

double qdq_validate_doubt(const qdq_validate_promise *p, double saved, double variance)
{
    return p->saves - saved + sqrt(p->variance + variance);
}

/* The least that a harmful item takes with it is its own promise, and harm that can be seen: a set
 * that lacks less than both has none. So promises that are all a little too high are not followed
 * down to single items. */
bool qdq_validate_is_short(const qdq_validate_state *v, const qdq_validate_promise *p, double saved,
                           double variance)
{
    const double lacks = p->saves - saved, errors = 3 * sqrt(p->variance + variance);

    return lacks > errors &&
           qdq_validate_doubt(p, saved, variance) > p->least + v->asked->test.enter * v->s.time;
}

bool qdq_validate_matters(const qdq_validate_state *v, const qdq_validate_promise *p)
{
    return isnan(p->saves) || qdq_search_matters(&v->s, p->saves);
}

/* --- trials ----------------------------------------------------------------------------------- */

/* A start that was kept has been measured already: it is the incumbent again, if it is faster than
 * this one. */
static qdq_status recall(qdq_validate_state *v, qdq_tried *t, qdq_error *err)
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

static qdq_status add_trial(qdq_validate_state *v, const qdq_validate_trial *t,
                            qdq_validate_seen *out, qdq_error *err)
{
    uint32_t *item = qdq_arena_array(v->s.arena, t->n_items, sizeof *item);

    if (item == NULL || !QDQ_PUSH(v->s.arena, &v->trials, *t))
        return qdq_nomem(err);
    for (size_t i = 0; i < t->n_items; i++)
        item[i] = t->item[i];
    out->trial = v->trials.n - 1;
    v->trials.at[out->trial].item = item;
    v->out->trial = v->trials.at;
    v->out->n_trials = v->trials.n;
    return QDQ_OK;
}

/* `before`: the time of the incumbent. What is known was measured about as well as the last. */
static void tell(const qdq_validate_state *v, const qdq_tried *t, double before,
                 qdq_validate_trial *trial, qdq_validate_seen *out)
{
    const qdq_test_result *r = &t->result;
    const double sign = trial->without ? -1 : 1,
                 se = before * (t->measured ? r->sd / sqrt(r->pairs) : v->s.noise);

    out->kept = trial->kept = t->kept;
    out->failed = trial->failed = !isfinite(t->time);
    out->unclear = t->measured && !out->failed && r->verdict == QDQ_VERDICT_UNDECIDED;
    trial->time = out->failed ? NAN : t->time;
    out->saved = trial->saved = out->failed ? NAN : sign * (before - t->time);
    out->variance = se * se;
    trial->low = trial->high = NAN;
    if (t->measured && !out->failed) {
        trial->low = before * (trial->without ? -r->ci_high : r->ci_low);
        trial->high = before * (trial->without ? -r->ci_low : r->ci_high);
        trial->pairs = r->pairs;
    }
}

qdq_status qdq_validate_try(qdq_validate_state *v, const uint32_t *item, size_t n, const char *move,
                            double split, qdq_validate_seen *out, qdq_error *err)
{
    qdq_validate_trial trial = {
        .move = move, .item = item, .n_items = n, .without = v->on[item[0]]};
    const double before = v->s.time;
    qdq_tried t;

    *out = (qdq_validate_seen){.saved = NAN, .trial = SIZE_MAX};
    QDQ_TRY(qdq_validate_tell(v, err));
    v->s.move = move;
    trial.promised = qdq_validate_sum(v, item, n).saves;
    set_test(v, &trial, split);
    flip(v, item, n);
    qdq_validate_merge(v, &v->s.candidate);
    QDQ_TRY(qdq_search_try(&v->s, SIZE_MAX, &t, err));
    QDQ_TRY(recall(v, &t, err));
    if (!t.kept)
        flip(v, item, n);
    v->measured += t.measured;
    if (isnan(t.time))
        return QDQ_OK;
    tell(v, &t, before, &trial, out);
    return add_trial(v, &trial, out, err);
}

/* --- decisions -------------------------------------------------------------------------------- */

qdq_status qdq_validate_tell(qdq_validate_state *v, qdq_error *err)
{
    const qdq_validate_problem *p = v->p;
    const bool news = v->news;

    v->news = false;
    return news && p->decided != NULL ? p->decided(p->decided_ctx, v->out, err) : QDQ_OK;
}

void qdq_validate_decide(qdq_validate_state *v, const uint32_t *item, size_t n,
                         qdq_validate_verdict verdict, size_t trial)
{
    v->news = true;
    for (size_t i = 0; i < n; i++)
        v->out->item[item[i]] = (qdq_validate_decision){.verdict = verdict, .trial = trial};
}
