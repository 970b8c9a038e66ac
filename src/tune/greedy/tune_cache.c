/* tune_cache.c - autotune_cache.json of a run: rewritten after each group that was measured in
 * isolation and after each decision, for people, for Model-Optimizer's users, and for a run that
 * has lost its store. Of the file that the run began with (tune_cache_read.c reads it) greedy takes
 * samples and decisions of this run, and schemes of another one. */
#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "target/target.h"
#include "tune/cache/autotune_cache.h"
#include "tune/candidate/tune_files.h"
#include "tune/candidate/tune_names.h"
#include "tune/greedy/greedy.h"
#include "tune/problem/tune_cache_read.h"
#include "tune/space/space_forms.h"
#include "tune/space/space_partial.h"

/* --- groups ----------------------------------------------------------------------------------- */

typedef struct exporting {
    qdq_tune_state *t;
    qdq_autotune_cache c;
    /* what is kept, with halves or without */
    const qdq_assign *incumbent;
} exporting;

static void add_tensor(const qdq_node *n, uint32_t input, const char **at, size_t *count)
{
    const qdq_value *v = input < n->n_in ? qdq_node_in(n, input) : NULL;

    if (v != NULL)
        at[(*count)++] = v->name;
}

/* Tensors of a group that have codes in an assignment: 32 for each decision at most. */
static qdq_status list_tensors(exporting *x, const qdq_choices *c, size_t instance,
                               const qdq_assign *a, qdq_cached_group *out, qdq_error *err)
{
    const qdq_space *s = x->t->task.space;
    const char **at = qdq_arena_array(&x->c.arena, 32 * c->n + 1, sizeof *at);

    QDQ_NEED(at != NULL, err);
    for (size_t k = 0; k < c->n; k++) {
        const uint32_t group = c->choice[k].group[instance];
        const qdq_space_part part =
            group != QDQ_NO_GROUP ? qdq_space_get_part(s, a, group) : QDQ_PART_NONE;
        if (part == QDQ_PART_NONE)
            continue;
        const qdq_target_op *op = qdq_target_find(s->target, s->group[group].node->type);
        for (uint32_t i = 0; i < 32; i++) {
            const bool is_weight =
                s->group[group].linear && op != NULL && i == (uint32_t)op->weight;
            if ((s->group[group].inputs >> i & 1) != 0 &&
                (part == QDQ_PART_FULL || is_weight == (part == QDQ_PART_WEIGHT)))
                add_tensor(s->group[group].node, i, at, &out->n_tensors);
        }
    }
    out->tensor = at;
    return QDQ_OK;
}

/* Has the best placement an operator of the group in another format than the target's? */
static bool is_other_form(const exporting *x, const qdq_fusion *f)
{
    const qdq_space *s = x->t->task.space;

    for (size_t i = 0; i < f->n; i++)
        if (qdq_space_form_of(s, x->incumbent, f->node[i]) != QDQ_NO_FORM)
            return true;
    return false;
}

/* Of mincut: by profiles of the whole model. */
static qdq_status fill_by_bits(exporting *x, uint32_t unit, uint32_t instance, qdq_cached_group *g,
                               qdq_error *err)
{
    const qdq_fusion *f = &x->t->parts.fusions->at[g->id];
    qdq_tune_candidate *best;

    QDQ_TRY(qdq_tune_candidate_of(x->t, x->incumbent, &best, err));
    QDQ_TRY(list_tensors(x, &x->t->parts.choices[unit], instance, x->incumbent, g, err));
    g->scheme = g->n_tensors > 0 ? "full" : "baseline";
    g->what = g->n_tensors > 0      ? "as minimum cuts placed it"
              : is_other_form(x, f) ? qdq_space_forms_name(x->t->task.space)
                                    : "without Q/DQ";
    g->base_compute_ms =
        qdq_tune_kernels_ms(x->t->run.base->times, f->node, f->n, x->t->parts.problem.base_ns);
    g->best_compute_ms = qdq_tune_kernels_ms(best->times, f->node, f->n,
                                             x->t->parts.problem.base_ns * (1 - x->t->run.saved));
    return QDQ_OK;
}

static const qdq_tune_kind *kind_of(const qdq_tune_state *t, uint32_t unit, uint32_t instance)
{
    for (size_t i = 0; t->run.greedy != NULL && i < t->run.greedy->kinds.n; i++) {
        const qdq_tune_kind *k = &t->run.greedy->kinds.at[i];
        for (size_t j = 0; k->unit == unit && j < k->n; j++)
            if (k->at[j] == instance)
                return k;
    }
    return NULL;
}

/* Its schemes are still measured. */
static bool is_in_progress(const qdq_tune_greedy *g, const qdq_tune_kind *k)
{
    return !g->kinds.measured && !k->settled && k->why == NULL;
}

/* The scheme of a group, as far as is known. Once groups are merged, one that was not proposed
 * stays float. */
static size_t scheme_of(const qdq_tune_greedy *g, const qdq_tune_kind *k, int64_t group)
{
    bool chosen = g->problem.item == NULL;

    if (k->why != NULL || is_in_progress(g, k))
        return k->why != NULL ? 0 : k->best;
    for (size_t i = 0; i < g->problem.n_items && !chosen; i++)
        chosen = g->problem.item[i].place == group;
    return chosen ? k->proposed : 0;
}

/* Time of the group without Q/DQ, beside this scheme or another one; NAN: unknown. */
static double none_us_of(const qdq_tune_kind *k, size_t scheme)
{
    for (size_t i = 0; i < k->n_schemes && !(k->scheme[scheme].none_us > 0); i++)
        scheme = i;
    return k->why == NULL && scheme < k->n_schemes && k->scheme[scheme].none_us > 0
               ? k->scheme[scheme].none_us
               : NAN;
}

/* Of greedy: by what was measured in isolation. */
static qdq_status fill_by_kind(exporting *x, const qdq_tune_kind *k, uint32_t instance,
                               qdq_cached_group *g, qdq_error *err)
{
    const qdq_tune_greedy *greedy = x->t->run.greedy;
    const size_t scheme = scheme_of(greedy, k, g->id);
    const qdq_tune_scheme *with = scheme != 0 ? &k->scheme[scheme] : NULL;
    const double none = none_us_of(k, scheme) * 1e-3,
                 best = with != NULL ? none - with->saved.mean_us * 1e-3 : none;
    qdq_assign a;

    QDQ_NEED(qdq_assign_new(&a, qdq_space_scheme_bits(x->t->task.space), &x->c.arena), err);
    qdq_tune_apply_scheme(x->t, k, scheme, instance, &a);
    QDQ_TRY(list_tensors(x, &x->t->parts.choices[k->unit], instance, &a, g, err));
    g->scheme = with != NULL ? qdq_scheme_kind_names[with->what->kind] : "baseline";
    g->in_progress = is_in_progress(greedy, k);
    g->what = k->why != NULL          ? k->why
              : g->in_progress        ? "is being measured"
              : with == NULL          ? "does not pay next to its neighbours"
              : with->saved.qualifies ? "saves time in isolation"
                                      : "pays next to its neighbours";
    g->base_ms = none;
    g->best_ms = with != NULL ? best + with->boundary_us * 1e-3 : best;
    if (greedy->kinds.by_layers) {
        g->base_compute_ms = none;
        g->best_compute_ms = best;
    }
    return QDQ_OK;
}

static qdq_status add_group(exporting *x, uint32_t unit, uint32_t instance, qdq_error *err)
{
    const uint32_t id = x->t->parts.keys->at[unit].instance[instance].group;
    const qdq_tune_kind *k = kind_of(x->t, unit, instance);
    qdq_cached_group g = {.id = id,
                          .layer = x->t->parts.fusions->at[id].layer,
                          .scheme = "",
                          .what = "",
                          .base_ms = NAN,
                          .best_ms = NAN,
                          .base_compute_ms = NAN,
                          .best_compute_ms = NAN};

    QDQ_TRY(k != NULL ? fill_by_kind(x, k, instance, &g, err)
                      : fill_by_bits(x, unit, instance, &g, err));
    return qdq_allocated(QDQ_PUSH(&x->c.arena, &x->c.groups, g), err);
}

static qdq_status add_groups(exporting *x, qdq_error *err)
{
    for (uint32_t u = 0; u < x->t->parts.keys->n; u++)
        for (uint32_t i = 0; i < x->t->parts.keys->at[u].n_instances; i++)
            if (qdq_tune_has_decision(x->t, u, i))
                QDQ_TRY(add_group(x, u, i, err));
    return QDQ_OK;
}

/* --- decisions -------------------------------------------------------------------------------- */

/* A group is decided about once it is kept, or was tried alone or with others and rejected. */
static qdq_status add_decisions(exporting *x, qdq_error *err)
{
    const qdq_tune_greedy *g = x->t->run.greedy;

    for (size_t i = 0; i < g->problem.n_items; i++) {
        const int64_t group = g->problem.item[i].place;
        const qdq_validate_decision *of = g->result.item != NULL ? &g->result.item[i] : NULL;
        QDQ_NEED(QDQ_PUSH(&x->c.arena, &x->c.candidates, group), err);
        if (of == NULL || of->move == NULL) {
            x->c.next = x->c.next < 0 ? group : x->c.next;
            continue;
        }
        const bool failed = of->verdict == QDQ_VALIDATE_FAILED;
        const qdq_cached_decision d = {.group = group,
                                       .accepted = of->verdict == QDQ_VALIDATE_KEPT,
                                       .ms = of->time * x->t->parts.problem.base_ns * 1e-6,
                                       .reason =
                                           failed ? "a model with it could not be built" : NULL,
                                       .verdict = qdq_validate_verdict_name(of->verdict)};
        QDQ_NEED(QDQ_PUSH(&x->c.arena, &x->c.decisions, d), err);
    }
    return QDQ_OK;
}

/* --- the file --------------------------------------------------------------------------------- */

static qdq_status fill_cache(exporting *x, bool completed, qdq_error *err)
{
    const qdq_tune_state *t = x->t;

    x->c.model = t->task.m->path;
    x->c.fingerprint = t->tools.fingerprint;
    x->c.run = t->tools.run.id;
    x->c.base_ms = t->parts.problem.base_ns * 1e-6;
    x->c.current_ms = x->c.base_ms * (1 - t->run.saved);
    x->c.completed =
        completed && (t->run.greedy == NULL || !t->run.greedy->result.search.ended_early);
    QDQ_TRY(add_groups(x, err));
    if (t->run.greedy == NULL)
        return QDQ_OK;
    for (size_t i = 0; i < t->run.greedy->kinds.samples.n; i++)
        QDQ_NEED(QDQ_PUSH(&x->c.arena, &x->c.samples, t->run.greedy->kinds.samples.at[i]), err);
    return add_decisions(x, err);
}

qdq_status qdq_tune_write_cache(qdq_tune_state *t, const qdq_assign *incumbent, bool completed,
                                qdq_error *err)
{
    exporting x = {.t = t, .incumbent = incumbent};
    const char *path = qdq_tune_path(t, QDQ_AUTOTUNE_CACHE);

    QDQ_NEED(path != NULL, err);
    qdq_autotune_cache_init(&x.c);
    qdq_status st = fill_cache(&x, completed, err);
    if (st == QDQ_OK)
        st = qdq_autotune_cache_write(&x.c, path, err);
    qdq_autotune_cache_free(&x.c);
    return st;
}

/* --- what the run began with ------------------------------------------------------------------ */

static void import_group(const qdq_tune_state *t, const qdq_cached_group *g, qdq_tune_kind *k)
{
    const bool by_layers = isfinite(g->base_compute_ms) && isfinite(g->best_compute_ms);
    const double none = by_layers ? g->base_compute_ms : g->base_ms,
                 best = by_layers ? g->best_compute_ms : g->best_ms;

    if (k->settled || g->in_progress || !qdq_tune_is_cached_group(t, g, k->group) ||
        !isfinite(none) || !isfinite(best))
        return;
    for (size_t i = 0; i < k->n_schemes && !k->settled; i++) {
        qdq_tune_scheme *s = &k->scheme[i];
        if (!qdq_tune_names_scheme(g->scheme, s->what->kind))
            continue;
        k->settled = true;
        k->best = k->proposed = i;
        s->none_us = none * 1e3;
        s->boundary_us = by_layers && g->best_ms > best ? (g->best_ms - best) * 1e3 : 0;
        s->saved = (qdq_saving){
            .mean_us = (none - best) * 1e3, .groups = (double)k->n, .qualifies = i != 0};
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
    return d->accepted         ? QDQ_VALIDATE_KEPT
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
