/* validate_trial.c - one set of items, added or taken away: what it saves, and whether that is what
 * it promised. */
#include <math.h>

#include "base/fail.h"
#include "tune/validate/validate_state.h"

/* --- items ------------------------------------------------------------------------------------ */

void qdq_validate_turn(qdq_validation *v, const qdq_validate_set *s, bool on)
{
    for (size_t i = 0; i < s->n; i++)
        v->mark[s->item[i]].on = on;
}

void qdq_validate_merge(const qdq_validation *v, qdq_assign *a)
{
    qdq_assign_take(a, qdq_validate_base(v));
    for (size_t i = 0; i < v->p->n_items; i++)
        for (size_t bit = 0; v->mark[i].on && bit < a->n; bit++)
            if (qdq_assign_get(&v->p->item[i].bits, bit))
                qdq_assign_set(a, bit, true);
}

void qdq_validate_decide(qdq_validation *v, const qdq_validate_set *s, qdq_validate_verdict verdict)
{
    v->news = true;
    for (size_t i = 0; i < s->n; i++)
        v->out->item[s->item[i]] = (qdq_validate_decision){verdict, s->move, s->time};
}

qdq_status qdq_validate_report(qdq_validation *v, qdq_error *err)
{
    const bool news = v->news;

    v->news = false;
    return news && v->p->decided != NULL ? v->p->decided(v->p->decided_ctx, v->out, err) : QDQ_OK;
}

/* --- promises --------------------------------------------------------------------------------- */

double qdq_validate_promise(const qdq_validation *v, const qdq_validate_set *s)
{
    double saves = 0;

    for (size_t i = 0; i < s->n; i++)
        saves += v->p->item[s->item[i]].saves;
    return saves;
}

/* Standard error of what the set lacks. */
static double error_of(const qdq_validation *v, const qdq_validate_set *s)
{
    double variance = s->variance;

    for (size_t i = 0; i < s->n; i++) {
        const double se = v->p->item[s->item[i]].se;
        variance += isnan(se) ? 0 : se * se;
    }
    return sqrt(variance);
}

double qdq_validate_doubt(const qdq_validation *v, const qdq_validate_set *s)
{
    return qdq_validate_promise(v, s) - s->saved + error_of(v, s);
}

/* The least that a harmful item takes with it is its own promise, and harm that can be
 * seen: a set that lacks less than both has none. So promises that are all a little too high are
 * not followed down to single items. */
bool qdq_validate_is_short(const qdq_validation *v, const qdq_validate_set *s)
{
    double least = INFINITY;

    for (size_t i = 0; i < s->n; i++)
        least = fmin(least, v->p->item[s->item[i]].saves);
    return qdq_validate_promise(v, s) - s->saved > 3 * error_of(v, s) &&
           qdq_validate_doubt(v, s) > least + v->asked->test.enter * v->s.time;
}

bool qdq_validate_matters(const qdq_validation *v, const qdq_validate_set *s)
{
    const double saves = qdq_validate_promise(v, s);

    return isnan(saves) || qdq_search_matters(&v->s, saves);
}

/* --- one trial -------------------------------------------------------------------------------- */

/* What a set saves is compared with what it promises, and says what the rest of a larger set saves:
 * then it is to be known as well as can be. Pairs are cheap beside builds. */
static void set_test(qdq_validation *v, const qdq_validate_set *s, double split)
{
    qdq_test_opts *o = &v->opts.test;

    *o = v->asked->test;
    o->alpha /= split;
    if (s->n > 1 && !isnan(qdq_validate_promise(v, s))) {
        o->pilot = o->max_pairs;
        o->precision = fmin(o->precision > 0 ? o->precision : INFINITY, o->enter / 2);
    }
}

qdq_status qdq_validate_try(qdq_validation *v, qdq_validate_set *s, const char *move, double split,
                            qdq_error *err)
{
    const bool without = qdq_validate_is_on(v, s);
    const double before = v->s.time;
    qdq_tried t;

    QDQ_TRY(qdq_validate_report(v, err));
    set_test(v, s, without ? 1 : split);
    qdq_validate_turn(v, s, !without);
    qdq_validate_merge(v, &v->s.candidate);
    v->s.move = move;
    QDQ_TRY(qdq_search_try(&v->s, SIZE_MAX, &t, err));
    if (!t.kept)
        qdq_validate_turn(v, s, without);
    v->measured += t.measured;
    if (isnan(t.time)) /* the budget is over */
        return QDQ_OK;
    /* what is known was measured about as well as the last */
    const double se = before * (t.measured ? t.result.sd / sqrt(t.result.pairs) : v->s.noise);
    s->move = move;
    s->failed = !isfinite(t.time);
    s->unclear = t.measured && !s->failed && !without && t.result.verdict == QDQ_VERDICT_UNDECIDED;
    s->time = s->failed ? NAN : t.time;
    s->saved = without ? s->time - before : before - s->time;
    s->variance = se * se;
    return QDQ_OK;
}

qdq_validate_verdict qdq_validate_verdict_of(const qdq_validation *v, const qdq_validate_set *s)
{
    return qdq_validate_is_on(v, s) ? QDQ_VALIDATE_KEPT
           : s->failed              ? QDQ_VALIDATE_FAILED
           : s->unclear             ? QDQ_VALIDATE_UNDECIDED
                                    : QDQ_VALIDATE_REJECTED;
}
