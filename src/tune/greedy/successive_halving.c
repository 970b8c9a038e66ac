/* successive_halving.c - the best scheme of each kind, by successive halving (K. Jamieson, A.
 * Talwalkar, Non-stochastic Best Arm Identification and Hyperparameter Optimization, 2016): all
 * schemes a little, the better half longer, the winner on samples of its own, since the best of
 * several is best by luck, too. */
#include <math.h>

#include "base/fail.h"
#include "tune/greedy/group_classes.h"
#include "tune/state/tune_progress.h"

enum { FIRST_LOOK = 1, SECOND_LOOK = 4, FRESH_LEAST = 3, FRESH_MOST = 6 };

/* The noise of a kernel's time from session to session, as a share of it: three samples may agree
 * by chance. */
static const double least_noise = 0.01;

typedef struct halving {
    qdq_tune_state *t;
    qdq_tune_kinds *all;
    /* that are looked at next, or were last */
    QDQ_VEC(qdq_tune_entry) of;
    qdq_arena scratch;
    qdq_error *err;
} halving;

/* --- what samples say ------------------------------------------------------------------------- */

static void forget_samples(qdq_tune_kind *k)
{
    for (size_t i = 0; i < k->n_schemes; i++)
        k->scheme[i].samples.n = 0;
}

/* Numbers of schemes, the best first; "none" is not among them. */
static void rank_schemes(const qdq_tune_kind *k, size_t *order)
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

static bool is_measured(const qdq_tune_kind *k)
{
    return k->why == NULL && !k->settled && k->n_schemes > 1;
}

/* --- halving ---------------------------------------------------------------------------------- */

static qdq_status add_entry(halving *h, qdq_tune_kind *k, size_t scheme)
{
    return qdq_allocated(QDQ_PUSH(&h->scratch, &h->of, ((qdq_tune_entry){k, &k->scheme[scheme]})),
                         h->err);
}

static qdq_status take_looks(halving *h, unsigned amount, const char *label)
{
    qdq_tune_show(h->t, "groups apart");
    return h->of.n > 0 ? qdq_tune_sample(h->t, h->all, h->of.at, h->of.n, amount, label, h->err)
                       : QDQ_OK;
}

/* What the engine takes with no scheme at all stays float, and says why. */
static void leave_refused(halving *h, qdq_tune_kind *k)
{
    size_t s = 1;

    while (s < k->n_schemes && k->scheme[s].failed != NULL)
        s++;
    if (!is_measured(k) || s < k->n_schemes)
        return;
    k->why = k->scheme[1].failed;
    h->all->n_skipped++;
    qdq_job_log(h->t->job, QDQ_LOG_INFO, "group %u: cannot be measured in isolation: %s",
                (unsigned)k->group, k->why);
}

static qdq_status first_look(halving *h)
{
    for (size_t i = 0; i < h->all->n; i++)
        for (size_t s = 1; is_measured(&h->all->at[i]) && s < h->all->at[i].n_schemes; s++)
            QDQ_TRY(add_entry(h, &h->all->at[i], s));
    QDQ_TRY(take_looks(h, FIRST_LOOK, "first look"));
    for (size_t i = 0; i < h->all->n; i++)
        leave_refused(h, &h->all->at[i]);
    return QDQ_OK;
}

/* What the group takes without Q/DQ, though it may have no winner; what the best saves, until that
 * is measured afresh; and full, which may be wanted for its neighbours' sake. */
static void remember_first(qdq_tune_kind *k)
{
    size_t best;

    k->full_us = NAN;
    for (size_t i = 1; i < k->n_schemes; i++) {
        const qdq_tune_scheme *s = &k->scheme[i];
        if (s->what->kind != QDQ_SCHEME_FULL || s->failed != NULL || s->samples.n == 0)
            continue;
        k->full_us = qdq_tune_mean_saved(s);
        k->full_boundary_us = s->samples.at[0].boundary_us;
        k->full_none_us = s->samples.at[0].none_us;
    }
    qdq_tune_kind_so_far(k, &best, &k->none_us, &k->saved.mean_us);
}

/* The better half, if there is something to choose from. */
static qdq_status second_look(halving *h)
{
    h->of.n = 0;
    for (size_t i = 0; i < h->all->n; i++) {
        qdq_tune_kind *k = &h->all->at[i];
        size_t *order = qdq_arena_array(&h->scratch, k->n_schemes + 1, sizeof *order);
        QDQ_NEED(order != NULL, h->err);
        if (!is_measured(k))
            continue;
        remember_first(k);
        rank_schemes(k, order);
        k->best = order[0];
        if (k->n_schemes <= 2)
            continue;
        forget_samples(k);
        for (size_t s = 0; s < k->n_schemes / 2; s++)
            QDQ_TRY(add_entry(h, k, order[s]));
    }
    QDQ_TRY(take_looks(h, SECOND_LOOK, "second look"));
    for (size_t i = 0; i < h->of.n; i++) {
        qdq_tune_kind *k = h->of.at[i].kind;
        if (qdq_tune_mean_saved(h->of.at[i].scheme) > qdq_tune_mean_saved(&k->scheme[k->best]))
            k->best = (size_t)(h->of.at[i].scheme - k->scheme);
    }
    return QDQ_OK;
}

/* --- the winner, afresh ----------------------------------------------------------------------- */

static qdq_status sum_up(halving *h, qdq_tune_kind *k)
{
    const qdq_tune_scheme *s = &k->scheme[k->best];
    const double n = (double)s->samples.n;
    double *us = qdq_arena_array(&h->scratch, s->samples.n + 1, sizeof *us);

    QDQ_NEED(us != NULL, h->err);
    k->none_us = k->boundary_us = 0;
    for (size_t i = 0; i < s->samples.n; i++) {
        us[i] = qdq_tune_saved_us(&s->samples.at[i]);
        k->none_us += s->samples.at[i].none_us / n;
        k->boundary_us += s->samples.at[i].boundary_us / n;
    }
    k->saved.groups = (double)k->n;
    qdq_saving_of(us, s->samples.n, least_noise * k->none_us, &k->saved);
    return QDQ_OK;
}

static bool has_winner(const qdq_tune_kind *k)
{
    return k->best != 0 && !k->settled;
}

static qdq_status take_fresh(halving *h)
{
    static const char *const label[FRESH_MOST] = {"fresh 1", "fresh 2", "fresh 3",
                                                  "fresh 4", "fresh 5", "fresh 6"};
    const double model_us = h->t->parts.problem.base_ns * 1e-3;

    for (unsigned n = 0; n < FRESH_MOST; n++) {
        h->of.n = 0;
        for (size_t i = 0; i < h->all->n; i++) {
            qdq_tune_kind *k = &h->all->at[i];
            if (has_winner(k) && (n < FRESH_LEAST || !qdq_saving_is_clear(&k->saved, model_us)))
                QDQ_TRY(add_entry(h, k, k->best));
        }
        QDQ_TRY(take_looks(h, SECOND_LOOK, label[n]));
        for (size_t i = 0; i < h->of.n; i++)
            QDQ_TRY(sum_up(h, h->of.at[i].kind));
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
        forget_samples(k);
    }
}

static qdq_status qualify_winners(halving *h)
{
    qdq_saving *s = qdq_arena_array(&h->scratch, h->all->n + 1, sizeof *s);
    size_t n = 0;

    QDQ_NEED(s != NULL, h->err);
    for (size_t i = 0; i < h->all->n; i++)
        if (has_winner(&h->all->at[i]))
            s[n++] = h->all->at[i].saved;
    QDQ_TRY(qdq_savings_qualify(s, n, h->t->parts.problem.base_ns * 1e-3, h->err));
    n = 0;
    for (size_t i = 0; i < h->all->n; i++)
        if (has_winner(&h->all->at[i]))
            h->all->at[i].saved = s[n++];
    return QDQ_OK;
}

/* What does not pay alone may pay beside its neighbours. */
static void propose_scheme(qdq_tune_kind *k)
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
    k->boundary_us = k->full_boundary_us;
    k->none_us = k->full_none_us;
}

static qdq_status halve_kinds(halving *h)
{
    QDQ_TRY(first_look(h));
    QDQ_TRY(second_look(h));
    drop_losers(h->all);
    QDQ_TRY(take_fresh(h));
    QDQ_TRY(qualify_winners(h));
    for (size_t i = 0; i < h->all->n; i++)
        propose_scheme(&h->all->at[i]);
    h->all->measured = true;
    return QDQ_OK;
}

qdq_status qdq_tune_isolate(qdq_tune_state *t, qdq_tune_kinds *all, qdq_error *err)
{
    halving h = {.t = t, .all = all, .scratch = QDQ_ARENA_INIT, .err = err};
    qdq_status st = halve_kinds(&h);

    qdq_arena_free(&h.scratch);
    return st;
}
