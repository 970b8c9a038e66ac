/* tune_cache.c - autotune_cache.json of a run: written anew after every decision, for people and for Model-Optimizer's users; and
 * read where a run begins in a folder that has such a file and no store: then its schemes are proposed without being measured
 * apart. What is shipped is measured in any case. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/set_aside.h"
#include "target/target.h"
#include "tune/cache/autotune_cache.h"
#include "tune/space/space_halves.h"
#include "tune/greedy/greedy.h"

static const char file_name[] = "autotune_cache.json";

/* --- out ---------------------------------------------------------------------------------------------------------------- */

typedef struct exporting {
    qdq_tuning *t;
    qdq_autotune_cache c;
    const qdq_assign *incumbent; /* what is kept, with halves or without */
} exporting;

static void add_tensor(const qdq_node *n, uint32_t input, const char **at, size_t *count)
{
    const qdq_value *v = input < n->n_in ? qdq_node_in(n, input) : NULL;

    if (v != NULL)
        at[(*count)++] = v->name;
}

/* Tensors of a group that have codes in an assignment: 32 for each decision at most. */
static qdq_status list_tensors(exporting *x, const qdq_choices *c, size_t instance, const qdq_assign *a,
                               qdq_cached_group *out, qdq_error *err)
{
    const qdq_space *s = x->t->space;
    const char **at = qdq_arena_array(&x->c.arena, 32 * c->n + 1, sizeof *at);

    if (at == NULL)
        return qdq_nomem(err);
    for (size_t k = 0; k < c->n; k++) {
        const uint32_t group = c->choice[k].group[instance];
        const qdq_space_part part = group != QDQ_NO_GROUP ? qdq_space_get_part(s, a, group) : QDQ_PART_NONE;
        if (part == QDQ_PART_NONE)
            continue;
        const qdq_target_op *op = qdq_target_find(s->target, s->group[group].node->type);
        for (uint32_t i = 0; i < 32; i++) {
            const bool is_weight = s->group[group].linear && op != NULL && i == (uint32_t)op->weight;
            if ((s->group[group].inputs >> i & 1) != 0 &&
                (part == QDQ_PART_FULL || is_weight == (part == QDQ_PART_WEIGHT)))
                add_tensor(s->group[group].node, i, at, &out->n_tensors);
        }
    }
    out->tensor = at;
    return QDQ_OK;
}

/* What the kernels of a group take in a model of so many ns; NAN: no profile says it. */
static double kernels_ms(const qdq_fusion *f, const qdq_tune_times *times, double model_ns)
{
    double us = 0;

    if (times == NULL || !times->is_known)
        return NAN;
    for (uint32_t i = 0; i < f->n; i++)
        us += times->own[f->node[i]->id];
    return us / times->sum * model_ns * 1e-6;
}

/* Of mincut: by profiles of the whole model. */
static qdq_status fill_by_bits(exporting *x, uint32_t unit, uint32_t instance, qdq_cached_group *g,
                               qdq_error *err)
{
    const qdq_fusion *f = &x->t->fusions->at[g->id];
    qdq_tune_candidate *best;

    QDQ_TRY(qdq_tune_candidate_of(x->t, x->incumbent, &best, err));
    QDQ_TRY(list_tensors(x, &x->t->choices[unit], instance, x->incumbent, g, err));
    g->scheme = g->n_tensors > 0 ? "full" : "baseline";
    g->what = g->n_tensors > 0 ? "as minimum cuts placed it" : "without Q/DQ";
    g->base_compute_ms = kernels_ms(f, x->t->base->times, x->t->problem.base_ns);
    g->best_compute_ms = kernels_ms(f, best->times, x->t->problem.base_ns * (1 - x->t->saved));
    return QDQ_OK;
}

static const qdq_tune_kind *kind_of(const qdq_tuning *t, uint32_t unit, uint32_t instance)
{
    for (size_t i = 0; t->greedy != NULL && i < t->greedy->kinds.n; i++) {
        const qdq_tune_kind *k = &t->greedy->kinds.at[i];
        for (size_t j = 0; k->unit == unit && j < k->n; j++)
            if (k->at[j] == instance)
                return k;
    }
    return NULL;
}

/* The scheme of a group that was proposed; 0: it was not, and stays float. */
static size_t scheme_of(const qdq_tuning *t, const qdq_tune_kind *k, uint32_t group)
{
    for (size_t i = 0; i < t->greedy->problem.n_items; i++)
        if (t->greedy->group[i] == group)
            return k->proposed;
    return 0;
}

/* Of greedy: by what was measured apart. */
static qdq_status fill_by_kind(exporting *x, const qdq_tune_kind *k, uint32_t instance, qdq_cached_group *g,
                               qdq_error *err)
{
    const size_t scheme = scheme_of(x->t, k, (uint32_t)g->id);
    const double none = scheme != 0 ? k->none_us * 1e-3 : NAN, best = none - k->saved.mean_us * 1e-3;
    qdq_assign a;

    if (!qdq_assign_new(&a, qdq_space_scheme_bits(x->t->space), &x->c.arena))
        return qdq_nomem(err);
    qdq_tune_apply_scheme(x->t, k, scheme, instance, &a);
    QDQ_TRY(list_tensors(x, &x->t->choices[k->unit], instance, &a, g, err));
    g->scheme = scheme != 0 ? qdq_scheme_kind_names[k->scheme[scheme].what->kind] : "baseline";
    g->what = k->why != NULL       ? k->why
              : scheme == 0        ? "does not pay beside its neighbours"
              : k->saved.qualifies ? "saves time apart"
                                   : "pays beside its neighbours";
    g->base_ms = none;
    g->best_ms = best + k->border_us * 1e-3;
    if (x->t->greedy->kinds.by_layers) {
        g->base_compute_ms = none;
        g->best_compute_ms = best;
    }
    return QDQ_OK;
}

static qdq_status add_group(exporting *x, uint32_t unit, uint32_t instance, qdq_error *err)
{
    const uint32_t id = x->t->keys->at[unit].instance[instance].group;
    const qdq_tune_kind *k = kind_of(x->t, unit, instance);
    qdq_cached_group g = {.id = id,
                          .layer = x->t->fusions->at[id].layer,
                          .scheme = "",
                          .what = "",
                          .base_ms = NAN,
                          .best_ms = NAN,
                          .base_compute_ms = NAN,
                          .best_compute_ms = NAN};

    QDQ_TRY(k != NULL ? fill_by_kind(x, k, instance, &g, err) : fill_by_bits(x, unit, instance, &g, err));
    return QDQ_PUSH(&x->c.arena, &x->c.groups, g) ? QDQ_OK : qdq_nomem(err);
}

static qdq_status add_groups(exporting *x, qdq_error *err)
{
    for (uint32_t u = 0; u < x->t->keys->n; u++)
        for (uint32_t i = 0; i < x->t->keys->at[u].n_instances; i++)
            if (qdq_tune_has_decision(x->t, u, i))
                QDQ_TRY(add_group(x, u, i, err));
    return QDQ_OK;
}

/* A group is decided about once it is kept, or was tried alone or with others and refused. */
static qdq_status add_decisions(exporting *x, qdq_error *err)
{
    const qdq_tune_greedy *g = x->t->greedy;
    const qdq_validate_result *r = &g->result;
    const double base_ms = x->t->problem.base_ns * 1e-6;

    for (size_t i = 0; i < g->problem.n_items; i++) {
        if (!QDQ_PUSH(&x->c.arena, &x->c.candidates, (int64_t)g->group[i]))
            return qdq_nomem(err);
        if (r->item == NULL || r->item[i].trial == SIZE_MAX || r->item[i].trial >= r->n_trials)
            continue;
        const qdq_validate_trial *trial = &r->trial[r->item[i].trial];
        const bool kept = r->item[i].verdict == QDQ_VALIDATE_KEPT;
        const qdq_cached_decision d = {.group = g->group[i],
                                       .kept = kept,
                                       .ms = trial->failed ? NAN : trial->time * base_ms,
                                       .reason = trial->failed ? "a model with it could not be built" : NULL};
        if (!QDQ_PUSH(&x->c.arena, &x->c.decisions, d))
            return qdq_nomem(err);
    }
    return QDQ_OK;
}

static qdq_status fill(exporting *x, bool completed, qdq_error *err)
{
    const qdq_tuning *t = x->t;

    x->c.model = t->m->path;
    x->c.base_ms = t->problem.base_ns * 1e-6;
    x->c.current_ms = x->c.base_ms * (1 - t->saved);
    x->c.completed = completed;
    QDQ_TRY(add_groups(x, err));
    return t->greedy != NULL ? add_decisions(x, err) : QDQ_OK;
}

qdq_status qdq_tune_write_cache(qdq_tuning *t, const qdq_assign *incumbent, bool completed, qdq_error *err)
{
    exporting x = {.t = t, .incumbent = incumbent};
    const char *path = qdq_tune_path(t, file_name);

    if (path == NULL)
        return qdq_nomem(err);
    qdq_autotune_cache_init(&x.c);
    qdq_status st = fill(&x, completed, err);
    if (st == QDQ_OK)
        st = qdq_autotune_cache_write(&x.c, path, err);
    qdq_autotune_cache_free(&x.c);
    return st;
}

/* --- in ----------------------------------------------------------------------------------------------------------------- */

/* Names differ from version to version of Model-Optimizer: what they speak of does not. */
static bool names_scheme(const char *name, qdq_scheme_kind kind)
{
    static const char *const word[] = {
        [QDQ_SCHEME_NONE] = "baseline",      [QDQ_SCHEME_FULL] = "full",
        [QDQ_SCHEME_WEIGHT_ONLY] = "weight", [QDQ_SCHEME_ACTIVATION_ONLY] = "activation",
        [QDQ_SCHEME_SKIP_SMALL] = "skip",    [QDQ_SCHEME_RULES] = "rules"};

    return strstr(name, word[kind]) != NULL;
}

static void import_group(const qdq_tuning *t, const qdq_cached_group *g, qdq_tune_kind *k)
{
    const bool by_layers = isfinite(g->base_compute_ms) && isfinite(g->best_compute_ms);
    const double none = by_layers ? g->base_compute_ms : g->base_ms,
                 best = by_layers ? g->best_compute_ms : g->best_ms;

    if (k->settled || strcmp(g->layer, t->fusions->at[k->group].layer) != 0 || g->layer[0] == '\0' ||
        !isfinite(none) || !isfinite(best))
        return;
    for (size_t s = 0; s < k->n_schemes && !k->settled; s++) {
        if (!names_scheme(g->scheme, k->scheme[s].what->kind))
            continue;
        k->settled = true;
        k->best = k->proposed = s;
        k->none_us = none * 1e3;
        k->border_us = by_layers && g->best_ms > best ? (g->best_ms - best) * 1e3 : 0;
        k->saved = (qdq_saving){.mean_us = (none - best) * 1e3, .groups = (double)k->n, .qualifies = s != 0};
    }
}

static qdq_status set_aside(const qdq_tuning *t, const char *path, const char *why, qdq_error *err)
{
    char *kept;

    QDQ_TRY(qdq_set_aside(path, &kept, err));
    qdq_job_log(t->job, QDQ_LOG_WARNING, "%s: it is kept as %s, and not used", why, kept);
    qdq_free(kept);
    return QDQ_OK;
}

/* What the file says when a run begins beside it: a run that goes on has to see the same, so its text is kept in the store. */
static qdq_status read_file(qdq_tuning *t, qdq_autotune_cache *out, qdq_error *err)
{
    enum { MOST = 1 << 28 };
    const char *path = qdq_tune_path(t, file_name);
    const bool first = !t->run.resumed && t->run.id == 1;
    qdq_error why = QDQ_ERROR_INIT;
    char *text;
    size_t size;

    if (path == NULL)
        return qdq_nomem(err);
    if (!first || access(path, F_OK) != 0)
        return QDQ_OK;
    QDQ_TRY(qdq_read_file(path, MOST, &text, &size, err));
    qdq_status st = qdq_autotune_cache_parse(text, size, path, out, &why);
    const bool is_bad = st == QDQ_E_FORMAT;
    if (st == QDQ_OK)
        st = qdq_tune_store_value_put(t->store, &t->run, file_name, text, err);
    else
        st = is_bad ? set_aside(t, path, why.text, err) : qdq_fail(err, st, "%s", why.text);
    qdq_free(text);
    if (is_bad)
        qdq_autotune_cache_free(
            out); /* what stands before the mistake counts no more than what is behind it */
    return st;
}

static qdq_status read_known(qdq_tuning *t, qdq_autotune_cache *out, qdq_error *err)
{
    char *text;

    QDQ_TRY(qdq_tune_store_value_get(t->store, &t->run, file_name, &text, err));
    if (text == NULL)
        return read_file(t, out, err);
    qdq_status st = qdq_autotune_cache_parse(text, strlen(text), file_name, out, err);
    qdq_free(text);
    return st;
}

qdq_status qdq_tune_import_cache(qdq_tuning *t, qdq_tune_kinds *kinds, qdq_error *err)
{
    qdq_autotune_cache c;
    size_t n = 0;

    qdq_autotune_cache_init(&c);
    qdq_status st = read_known(t, &c, err);
    const bool found = st == QDQ_OK && c.groups.n > 0;
    for (size_t i = 0; found && i < c.groups.n; i++)
        for (size_t k = 0; k < kinds->n; k++)
            import_group(t, &c.groups.at[i], &kinds->at[k]);
    qdq_autotune_cache_free(&c);
    for (size_t k = 0; k < kinds->n; k++)
        n += kinds->at[k].settled;
    if (found)
        qdq_job_log(t->job, QDQ_LOG_INFO,
                    "%s: knows %zu of %zu kinds of groups, which are not measured apart", file_name, n,
                    kinds->n);
    return st;
}
