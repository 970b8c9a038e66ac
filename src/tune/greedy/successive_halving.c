/* successive_halving.c - the best scheme of each kind, by successive halving (K. Jamieson, A.
 * Talwalkar, Non-stochastic Best Arm Identification and Hyperparameter Optimization, 2016): all
 * schemes a little, the better half longer, the winner on samples of its own, since the best of
 * several is best by luck, too. */
#include <math.h>
#include <stdlib.h>

#include "base/fail.h"
#include "tune/greedy/group_classes.h"
#include "tune/state/tune_progress.h"

enum { FIRST_LOOK = 1, SECOND_LOOK = 4, FRESH_LEAST = 3, FRESH_MOST = 6 };

/* The noise of a kernel's time from session to session, as a share of it: three samples may agree
 * by chance. */
static const double least_noise = 0.01;

typedef struct list {
    QDQ_VEC(qdq_tune_entry) of;
    qdq_arena scratch;
} list;

static bool add(list *l, qdq_tune_kind *k, size_t scheme)
{
    return QDQ_PUSH(&l->scratch, &l->of, ((qdq_tune_entry){k, &k->scheme[scheme]}));
}

/* --- what samples say ------------------------------------------------------------------------- */

static void forget(qdq_tune_kind *k)
{
    for (size_t i = 0; i < k->n_schemes; i++)
        k->scheme[i].samples.n = 0;
}

/* Numbers of schemes, the best first; "none" is not among them. */
static void rank(const qdq_tune_kind *k, size_t *order)
{
    for (size_t i = 1; i < k->n_schemes; i++) {
        size_t at = i - 1;
        for (; at > 0 &&
               qdq_tune_mean_saved(&k->scheme[order[at - 1]]) < qdq_tune_mean_saved(&k->scheme[i]);
             at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

/* --- halving ---------------------------------------------------------------------------------- */

static qdq_status sit(qdq_tune_state *t, qdq_tune_kinds *all, list *l, unsigned amount,
                      const char *label, qdq_error *err)
{
    qdq_tune_show(t, "groups apart");
    return l->of.n > 0 ? qdq_tune_sit(t, all, l->of.at, l->of.n, amount, label, err) : QDQ_OK;
}

static bool is_measured(const qdq_tune_kind *k)
{
    return k->why == NULL && !k->settled && k->n_schemes > 1;
}

static qdq_status first_look(qdq_tune_state *t, qdq_tune_kinds *all, list *l, qdq_error *err)
{
    for (size_t i = 0; i < all->n; i++)
        for (size_t s = 1; is_measured(&all->at[i]) && s < all->at[i].n_schemes; s++)
            if (!add(l, &all->at[i], s))
                return qdq_nomem(err);
    return sit(t, all, l, FIRST_LOOK, "first look", err);
}

/* What the engine takes with no scheme at all stays float, and says why. */
static void leave_refused(const qdq_tune_state *t, qdq_tune_kinds *all)
{
    for (size_t i = 0; i < all->n; i++) {
        qdq_tune_kind *k = &all->at[i];
        size_t s = 1;
        while (s < k->n_schemes && k->scheme[s].failed != NULL)
            s++;
        if (!is_measured(k) || s < k->n_schemes)
            continue;
        k->why = k->scheme[1].failed;
        all->n_skipped++;
        qdq_job_log(t->job, QDQ_LOG_INFO, "group %u cannot be measured apart: %s",
                    (unsigned)k->group, k->why);
    }
}

/* What the group takes without Q/DQ, though it may have no winner; and what the best saves, until
 * that is measured afresh. */
static void remember_none(qdq_tune_kind *k)
{
    size_t best;

    qdq_tune_kind_so_far(k, &best, &k->none_us, &k->saved.mean_us);
}

/* Of full, which may be wanted for its neighbours' sake. */
static void remember_full(qdq_tune_kind *k)
{
    k->full_us = NAN;
    for (size_t i = 1; i < k->n_schemes; i++) {
        const qdq_tune_scheme *s = &k->scheme[i];
        if (s->what->kind != QDQ_SCHEME_FULL || s->failed != NULL || s->samples.n == 0)
            continue;
        k->full_us = qdq_tune_mean_saved(s);
        k->full_border_us = s->samples.at[0].border_us;
        k->full_none_us = s->samples.at[0].none_us;
    }
}

/* The better half, if there is something to choose from. */
static qdq_status second_look(qdq_tune_state *t, qdq_tune_kinds *all, list *l, qdq_error *err)
{
    for (size_t i = 0; i < all->n; i++) {
        qdq_tune_kind *k = &all->at[i];
        size_t *order = qdq_arena_array(&l->scratch, k->n_schemes + 1, sizeof *order);
        if (order == NULL)
            return qdq_nomem(err);
        if (!is_measured(k))
            continue;
        remember_full(k);
        remember_none(k);
        rank(k, order);
        k->best = order[0];
        if (k->n_schemes <= 2)
            continue;
        forget(k);
        for (size_t s = 0; s < k->n_schemes / 2; s++)
            if (!add(l, k, order[s]))
                return qdq_nomem(err);
    }
    QDQ_TRY(sit(t, all, l, SECOND_LOOK, "second look", err));
    for (size_t i = 0; i < l->of.n; i++) {
        qdq_tune_kind *k = l->of.at[i].kind;
        const size_t s = (size_t)(l->of.at[i].scheme - k->scheme);
        if (qdq_tune_mean_saved(&k->scheme[s]) > qdq_tune_mean_saved(&k->scheme[k->best]))
            k->best = s;
    }
    return QDQ_OK;
}

/* --- the winner, afresh ----------------------------------------------------------------------- */

static qdq_status sum_up(qdq_tune_kind *k, qdq_error *err)
{
    const qdq_tune_scheme *s = &k->scheme[k->best];
    double *us = malloc((s->samples.n + 1) * sizeof *us), border = 0, none = 0;

    if (us == NULL)
        return qdq_nomem(err);
    for (size_t i = 0; i < s->samples.n; i++) {
        us[i] = qdq_tune_saved_us(&s->samples.at[i]);
        none += s->samples.at[i].none_us / (double)s->samples.n;
        border += s->samples.at[i].border_us / (double)s->samples.n;
    }
    k->saved.groups = (double)k->n;
    qdq_saving_of(us, s->samples.n, least_noise * none, &k->saved);
    k->none_us = none;
    k->border_us = border;
    free(us);
    return QDQ_OK;
}

static bool has_winner(const qdq_tune_kind *k)
{
    return k->best != 0 && !k->settled;
}

static qdq_status take_fresh(qdq_tune_state *t, qdq_tune_kinds *all, list *l, qdq_error *err)
{
    static const char *const label[FRESH_MOST] = {"fresh 1", "fresh 2", "fresh 3",
                                                  "fresh 4", "fresh 5", "fresh 6"};
    const double model_us = t->parts.problem.base_ns * 1e-3;

    for (unsigned n = 0; n < FRESH_MOST; n++) {
        l->of.n = 0;
        for (size_t i = 0; i < all->n; i++) {
            qdq_tune_kind *k = &all->at[i];
            if (!has_winner(k) || (n >= FRESH_LEAST && qdq_saving_is_clear(&k->saved, model_us)))
                continue;
            if (!add(l, k, k->best))
                return qdq_nomem(err);
        }
        QDQ_TRY(sit(t, all, l, SECOND_LOOK, label[n], err));
        for (size_t i = 0; i < l->of.n; i++)
            QDQ_TRY(sum_up(l->of.at[i].kind, err));
    }
    return QDQ_OK;
}

/* What did not save anything before has no winner. */
static void drop_losers(qdq_tune_kinds *all)
{
    for (size_t i = 0; i < all->n; i++) {
        qdq_tune_kind *k = &all->at[i];
        if (k->settled)
            continue;
        if (k->best != 0 && !(qdq_tune_mean_saved(&k->scheme[k->best]) > 0))
            k->best = 0;
        forget(k);
    }
}

static qdq_status qualify(const qdq_tune_state *t, qdq_tune_kinds *all, qdq_error *err)
{
    qdq_saving *s = calloc(all->n + 1, sizeof *s);
    size_t n = 0;

    if (s == NULL)
        return qdq_nomem(err);
    for (size_t i = 0; i < all->n; i++)
        if (has_winner(&all->at[i]))
            s[n++] = all->at[i].saved;
    qdq_status st = qdq_savings_qualify(s, n, t->parts.problem.base_ns * 1e-3, err);
    n = 0;
    for (size_t i = 0; i < all->n && st == QDQ_OK; i++)
        if (has_winner(&all->at[i]))
            all->at[i].saved = s[n++];
    free(s);
    return st;
}

/* What does not pay alone may pay beside its neighbours. */
static void propose(qdq_tune_kind *k)
{
    if (k->settled)
        return;
    k->proposed = k->best != 0 && k->saved.qualifies ? k->best : 0;
    if (k->proposed != 0 || !is_measured(k) || isnan(k->full_us))
        return;
    for (size_t i = 1; i < k->n_schemes && k->proposed == 0; i++)
        if (k->scheme[i].what->kind == QDQ_SCHEME_FULL)
            k->proposed = i;
    k->saved = (qdq_saving){.mean_us = k->full_us, .se_us = INFINITY, .groups = (double)k->n};
    k->border_us = k->full_border_us;
    k->none_us = k->full_none_us;
}

static qdq_status isolate(qdq_tune_state *t, qdq_tune_kinds *all, list *l, qdq_error *err)
{
    QDQ_TRY(first_look(t, all, l, err));
    leave_refused(t, all);
    l->of.n = 0;
    QDQ_TRY(second_look(t, all, l, err));
    drop_losers(all);
    QDQ_TRY(take_fresh(t, all, l, err));
    QDQ_TRY(qualify(t, all, err));
    for (size_t i = 0; i < all->n; i++)
        propose(&all->at[i]);
    all->measured = true;
    return QDQ_OK;
}

qdq_status qdq_tune_isolate(qdq_tune_state *t, qdq_tune_kinds *all, qdq_error *err)
{
    list l = {.scratch = QDQ_ARENA_INIT};
    qdq_status st = isolate(t, all, &l, err);

    qdq_arena_free(&l.scratch);
    return st;
}
