/* successive_halving.c - the best scheme of each kind, by successive halving (K. Jamieson, A.
 * Talwalkar, Non-stochastic Best Arm Identification and Hyperparameter Optimization, 2016): all
 * schemes a little, the better half longer, the winner on samples of its own, since the best of
 * several is best by luck, too. */
#include <math.h>

#include "base/fail.h"
#include "tune/greedy/group_classes.h"
#include "tune/state/tune_progress.h"

static const qdq_tune_look looks[] = {{1, "first look"}, {4, "second look"}, {4, "fresh 1"},
                                      {4, "fresh 2"},    {4, "fresh 3"},     {4, "fresh 4"},
                                      {4, "fresh 5"},    {4, "fresh 6"}};
/* Samples of the looks up to the first fresh one are not added to those before. */
enum { FIRST_LOOK, SECOND_LOOK, FRESH_LOOK, FRESH_LEAST = 3 };

typedef struct halving {
    qdq_tune_state *t;
    qdq_tune_kinds *all;
    /* of the whole model, without Q/DQ */
    double model_us;
    /* schemes that are looked at */
    QDQ_VEC(qdq_tune_entry) of;
    qdq_arena scratch;
    qdq_error *err;
} halving;

/* --- halving ---------------------------------------------------------------------------------- */

static bool is_in_better_half(const qdq_tune_kind *k, size_t scheme)
{
    const double saved = k->scheme[scheme].saved.mean_us;
    size_t better = 0;

    for (size_t i = 1; i < k->n_schemes; i++) {
        const double other = k->scheme[i].saved.mean_us;
        better += other > saved || (other == saved && i < scheme);
    }
    return better < k->n_schemes / 2;
}

/* All schemes; the better half, if there is something to choose from; the winner, at last until it
 * is clear what it saves. */
static bool is_looked_at(const halving *h, const qdq_tune_kind *k, size_t scheme, size_t look)
{
    if (look == FIRST_LOOK)
        return true;
    if (look == SECOND_LOOK)
        return k->n_schemes > 2 && is_in_better_half(k, scheme);
    return scheme == k->best && (look < FRESH_LOOK + FRESH_LEAST ||
                                 !qdq_saving_is_clear(&k->scheme[scheme].saved, h->model_us));
}

static qdq_status take_look(halving *h, size_t look)
{
    h->of.n = 0;
    for (size_t i = 0; i < h->all->n; i++) {
        qdq_tune_kind *k = &h->all->at[i];
        for (size_t s = 1; qdq_tune_is_measured(k) && s < k->n_schemes; s++)
            if (is_looked_at(h, k, s, look))
                QDQ_NEED(QDQ_PUSH(&h->scratch, &h->of, ((qdq_tune_entry){k, &k->scheme[s]})),
                         h->err);
    }
    for (size_t i = 0; i < h->of.n && look <= FRESH_LOOK; i++) {
        h->of.at[i].scheme->samples.n = 0;
        h->of.at[i].scheme->saved.se_us = INFINITY;
        if (look < FRESH_LOOK) /* it is found among these */
            h->of.at[i].kind->best = 0;
    }
    qdq_tune_show(h->t, "groups apart");
    return h->of.n > 0 ? qdq_tune_sample(h->t, h->all, h->of.at, h->of.n, &looks[look], h->err)
                       : QDQ_OK;
}

/* What the engine takes with no scheme at all stays float, and says why. */
static void leave_refused(halving *h, qdq_tune_kind *k)
{
    size_t s = 1;

    while (s < k->n_schemes && k->scheme[s].failed != NULL)
        s++;
    if (qdq_tune_is_measured(k) && s == k->n_schemes)
        qdq_tune_skip_kind(h->t, h->all, k, k->scheme[1].failed);
}

/* --- winners ---------------------------------------------------------------------------------- */

static bool has_winner(const qdq_tune_kind *k)
{
    return k->best != 0 && !k->settled;
}

static qdq_status qualify_winners(halving *h)
{
    qdq_saving **s = qdq_arena_array(&h->scratch, h->all->n + 1, sizeof *s);
    size_t n = 0;

    QDQ_NEED(s != NULL, h->err);
    for (size_t i = 0; i < h->all->n; i++)
        if (has_winner(&h->all->at[i]))
            s[n++] = &h->all->at[i].scheme[h->all->at[i].best].saved;
    return qdq_savings_qualify(s, n, h->model_us, h->err);
}

/* What does not pay alone may pay beside its neighbours: then full. */
static void propose_scheme(qdq_tune_kind *k)
{
    if (has_winner(k) && k->scheme[k->best].saved.qualifies)
        k->proposed = k->best;
    for (size_t i = 1; qdq_tune_is_measured(k) && i < k->n_schemes && k->proposed == 0; i++)
        if (k->scheme[i].what->kind == QDQ_SCHEME_FULL && k->scheme[i].none_us > 0) {
            k->proposed = i;
            k->scheme[i].saved.se_us = INFINITY;
        }
}

static qdq_status halve_kinds(halving *h)
{
    for (size_t i = 0; i < QDQ_COUNT(looks); i++) {
        QDQ_TRY(take_look(h, i));
        for (size_t k = 0; k < h->all->n && i == FIRST_LOOK; k++)
            leave_refused(h, &h->all->at[k]);
    }
    QDQ_TRY(qualify_winners(h));
    for (size_t i = 0; i < h->all->n; i++)
        propose_scheme(&h->all->at[i]);
    h->all->measured = true;
    return QDQ_OK;
}

qdq_status qdq_tune_isolate(qdq_tune_state *t, qdq_tune_kinds *all, qdq_error *err)
{
    halving h = {.t = t,
                 .all = all,
                 .model_us = t->parts.problem.base_ns * 1e-3,
                 .scratch = QDQ_ARENA_INIT,
                 .err = err};
    qdq_status st = halve_kinds(&h);

    qdq_arena_free(&h.scratch);
    return st;
}
