/* cache_import.c - what an autotune_cache.json says of groups: samples and decisions of this run,
 * schemes of another one. */
#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "tune/greedy/greedy.h"
#include "tune/problem/tune_cache_read.h"

static void import_group(const qdq_tune_state *t, const qdq_cached_group *g, qdq_tune_kind *k)
{
    const bool by_layers = isfinite(g->base_compute_ms) && isfinite(g->best_compute_ms);
    const double none = by_layers ? g->base_compute_ms : g->base_ms,
                 best = by_layers ? g->best_compute_ms : g->best_ms;

    if (k->settled || g->in_progress || !qdq_tune_is_cached_group(t, g, k->group) ||
        !isfinite(none) || !isfinite(best))
        return;
    for (size_t s = 0; s < k->n_schemes && !k->settled; s++) {
        if (!qdq_tune_names_scheme(g->scheme, k->scheme[s].what->kind))
            continue;
        k->settled = true;
        k->best = k->proposed = s;
        k->scheme[s].none_us = none * 1e3;
        k->scheme[s].boundary_us = by_layers && g->best_ms > best ? (g->best_ms - best) * 1e3 : 0;
        k->scheme[s].saved = (qdq_saving){
            .mean_us = (none - best) * 1e3, .groups = (double)k->n, .qualifies = s != 0};
    }
}

void qdq_tune_import_cache(const qdq_tune_state *t, qdq_tune_kinds *kinds)
{
    size_t n = 0;

    if (t->parts.cached == NULL || t->parts.cached_is_mine) /* then its samples are in the store */
        return;
    for (size_t i = 0; i < t->parts.cached->groups.n; i++)
        for (size_t k = 0; k < kinds->n; k++)
            import_group(t, &t->parts.cached->groups.at[i], &kinds->at[k]);
    for (size_t k = 0; k < kinds->n; k++)
        n += kinds->at[k].settled;
    qdq_job_log(t->job, QDQ_LOG_INFO,
                QDQ_AUTOTUNE_CACHE
                ": has %zu of %zu classes of groups, which are not measured in isolation",
                n, kinds->n);
}

static qdq_validate_verdict verdict_of(const qdq_cached_decision *d)
{
    for (int v = QDQ_VALIDATE_UNDECIDED; v <= QDQ_VALIDATE_FAILED; v++)
        if (d->verdict != NULL &&
            strcmp(d->verdict, qdq_validate_verdict_name((qdq_validate_verdict)v)) == 0)
            return (qdq_validate_verdict)v;
    return d->kept             ? QDQ_VALIDATE_KEPT
           : d->reason != NULL ? QDQ_VALIDATE_FAILED
                               : QDQ_VALIDATE_REJECTED;
}

qdq_status qdq_tune_take_decisions(qdq_tune_state *t, qdq_tune_greedy *g, qdq_error *err)
{
    const qdq_autotune_cache *c = t->parts.cached;
    qdq_validate_verdict *known = qdq_arena_array(&t->arena, g->problem.n_items + 1, sizeof *known);

    if (c == NULL || !t->parts.cached_is_mine || c->decisions.n == 0)
        return QDQ_OK;
    QDQ_NEED(known != NULL, err);
    for (size_t i = 0; i < g->problem.n_items; i++)
        for (size_t d = 0; d < c->decisions.n; d++)
            if (c->decisions.at[d].group == g->problem.item[i].place)
                known[i] = verdict_of(&c->decisions.at[d]);
    g->problem.known = known;
    if (c->next >= 0)
        qdq_job_log(t->job, QDQ_LOG_INFO,
                    QDQ_AUTOTUNE_CACHE ": %zu of %zu groups are decided; resuming with group %lld",
                    c->decisions.n, c->candidates.n, (long long)c->next);
    return QDQ_OK;
}
