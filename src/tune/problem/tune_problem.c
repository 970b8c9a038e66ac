/* tune_problem.c - from a model to the search's problem: regions of one pattern are decided
 * together, and what is known beforehand is tried first. */
#include "tune/problem/tune_problem.h"

#include <fnmatch.h>
#include <string.h>

#include "base/fail.h"
#include "tune/accuracy/accuracy.h"
#include "tune/baseline/baseline.h"
#include "tune/problem/tune_cache_read.h"
#include "tune/problem/tune_known.h"
#include "tune/space/space_partial.h"
#include "tune/state/strategy.h"
#include "tune/state/units.h"

enum { FILTER_FILE_MAX = 1 << 20 };

/* --- which regions the user wants ------------------------------------------------------------- */

static qdq_status read_filter(qdq_tune_state *t, qdq_error *err)
{
    char *text = NULL, *rest = NULL;
    size_t size;

    if (t->details->node_filter == NULL)
        return QDQ_OK;
    QDQ_TRY(qdq_read_file(t->details->node_filter, FILTER_FILE_MAX, &text, &size, err));
    qdq_status st = QDQ_OK;
    for (char *line = strtok_r(text, "\n", &rest); line != NULL && st == QDQ_OK;
         line = strtok_r(NULL, "\n", &rest)) {
        line += strspn(line, " \t\r");
        line[strcspn(line, "\r")] = '\0';
        if (*line == '\0' || *line == '#')
            continue;
        const char *copy = qdq_arena_strdup(&t->arena, line);
        if (copy == NULL || !QDQ_PUSH(&t->arena, &t->parts.filter, copy))
            st = qdq_nomem(err);
    }
    qdq_free(text);
    if (st == QDQ_OK && t->parts.filter.n == 0)
        return qdq_fail(err, QDQ_E_USAGE, "%s: no wildcard in it: expected one a line",
                        t->details->node_filter);
    return st;
}

static bool is_wanted(const qdq_tune_state *t, const qdq_pattern *p)
{
    if (t->parts.filter.n == 0)
        return true;
    for (size_t i = 0; i < p->n_instances; i++)
        for (size_t k = 0; k < p->n_nodes; k++)
            for (size_t f = 0; f < t->parts.filter.n; f++) {
                const char *name = p->instance[i].node[k]->name;
                if (name != NULL && fnmatch(t->parts.filter.at[f], name, 0) == 0)
                    return true;
            }
    return false;
}

/* --- units ------------------------------------------------------------------------------------ */

/* What a baseline has in most instances of the pattern, and, where they do not agree, what any of
 * them has. */
static qdq_status seed_imported(qdq_tune_state *t, size_t index, const qdq_assign *imported,
                                qdq_assign *seed, qdq_search_unit *u, qdq_error *err)
{
    const qdq_pattern *p = &t->parts.patterns->pattern[index];
    const qdq_choices *c = &t->parts.choices[index];
    qdq_assign *vote = &seed[u->n_seeds], *any = &seed[u->n_seeds + 1];

    if (c->n == 0)
        return QDQ_OK;
    QDQ_NEED(qdq_assign_new(vote, c->n, &t->arena) && qdq_assign_new(any, c->n, &t->arena), err);
    qdq_choices_vote(c, p, imported, vote);
    qdq_choices_union(c, p, imported, any);
    u->n_seeds += qdq_assign_equal(vote, any) ? 1 : 2;
    return QDQ_OK;
}

/* What caches know, and what was imported behind it. */
static qdq_status seed_unit(qdq_tune_state *t, size_t index, qdq_search_unit *u, qdq_error *err)
{
    qdq_assign *known;
    size_t n = 0;

    if (t->parts.regions != NULL)
        QDQ_TRY(qdq_tune_find_seeds(t, index, &known, &n, err));
    qdq_assign *seed = qdq_arena_array(&t->arena, n + 2 * t->parts.n_baselines + 1, sizeof *seed);
    QDQ_NEED(seed != NULL, err);
    for (size_t i = 0; i < n; i++)
        seed[i] = known[i];
    u->seed = seed;
    u->n_seeds = u->n_cached = n;
    for (size_t i = 0; i < t->parts.n_baselines; i++)
        QDQ_TRY(seed_imported(t, index, &t->parts.baselines[i].placement, seed, u, err));
    return QDQ_OK;
}

static qdq_status make_unit(qdq_tune_state *t, size_t index, qdq_search_unit *u, qdq_error *err)
{
    const qdq_pattern *p = &t->parts.patterns->pattern[index];
    const qdq_choices *c = &t->parts.choices[index];
    qdq_search_choice *choice = qdq_arena_array(&t->arena, c->n + 1, sizeof *choice);

    QDQ_NEED(choice != NULL, err);
    for (size_t k = 0; k < c->n; k++)
        choice[k] = (qdq_search_choice){.bit = c->choice[k].group,
                                        .float_ns = c->choice[k].cost_ns,
                                        .linear = c->choice[k].linear};
    *u = (qdq_search_unit){
        .name = p->signature, .choice = choice, .n_choices = c->n, .n_instances = p->n_instances};
    return seed_unit(t, index, u, err);
}

static qdq_status make_units(qdq_tune_state *t, qdq_error *err)
{
    qdq_search_unit *unit = qdq_arena_array(&t->arena, t->parts.patterns->n + 1, sizeof *unit);

    t->parts.choices =
        qdq_arena_array(&t->arena, t->parts.patterns->n + 1, sizeof *t->parts.choices);
    QDQ_NEED(unit != NULL && t->parts.choices != NULL, err);
    for (size_t i = 0; i < t->parts.patterns->n; i++) {
        const qdq_pattern *p = &t->parts.patterns->pattern[i];
        QDQ_TRY(qdq_choices_find(p, t->task.space, &t->arena, &t->parts.choices[i], err));
        unit[i] = (qdq_search_unit){.name = p->signature};
        if (is_wanted(t, p))
            QDQ_TRY(make_unit(t, i, &unit[i], err));
    }
    t->parts.problem.unit = unit;
    t->parts.problem.n_units = t->parts.patterns->n;
    return QDQ_OK;
}

/* --- boundaries ------------------------------------------------------------------------------- */

/* What composites decide, beyond what is in their parts. */
static qdq_status make_boundaries(qdq_tune_state *t, qdq_error *err)
{
    qdq_boundaries found;
    qdq_search_boundary *boundary;

    QDQ_TRY(qdq_boundaries_find(t->parts.patterns, t->task.space, &t->arena, &found, err));
    boundary = qdq_arena_array(&t->arena, found.n + 1, sizeof *boundary);
    QDQ_NEED(boundary != NULL, err);
    for (size_t i = 0; i < found.n; i++)
        boundary[i] = (qdq_search_boundary){found.at[i].group, found.at[i].n_groups};
    t->parts.problem.boundary = boundary;
    t->parts.problem.n_boundaries = found.n;
    return QDQ_OK;
}

/* --- starts ----------------------------------------------------------------------------------- */

enum { MAX_STARTS = 9 + QDQ_TUNE_MOST_BASELINES };

typedef struct starts {
    qdq_assign assign[MAX_STARTS];
    const char *name[MAX_STARTS];
    size_t n;
} starts;

static qdq_status add_start(qdq_tune_state *t, starts *s, const char *name, qdq_error *err)
{
    s->name[s->n] = name;
    return qdq_allocated(qdq_assign_new(&s->assign[s->n++], t->parts.problem.n_bits, &t->arena),
                         err);
}

static qdq_status copy_start(qdq_tune_state *t, starts *s, const char *name, const qdq_assign *from,
                             qdq_error *err)
{
    QDQ_TRY(add_start(t, s, name, err));
    for (size_t i = 0; i < from->n; i++)
        qdq_assign_set(&s->assign[s->n - 1], i, qdq_assign_get(from, i));
    return QDQ_OK;
}

/* The best scheme that the caches know of each pattern, in all its instances. */
static bool apply_seeds(qdq_tune_state *t, qdq_assign *a)
{
    bool any = false;

    for (size_t u = 0; u < t->parts.problem.n_units; u++)
        if (t->parts.problem.unit[u].n_cached > 0) {
            qdq_choices_apply(&t->parts.choices[u], &t->parts.patterns->pattern[u], SIZE_MAX,
                              &t->parts.problem.unit[u].seed[0], a);
            any = true;
        }
    return any;
}

/* Each pattern's best in all its instances, and this model's best. */
static qdq_status add_cached_starts(qdq_tune_state *t, starts *s, qdq_error *err)
{
    bool found = false;

    QDQ_TRY(add_start(t, s, "cached", err));
    s->n -= !apply_seeds(t, &s->assign[s->n - 1]);
    if (t->parts.regions == NULL)
        return QDQ_OK;
    QDQ_TRY(add_start(t, s, "cached", err));
    QDQ_TRY(qdq_tune_find_placement(t, &s->assign[s->n - 1], &found, err));
    s->n -= !found;
    return QDQ_OK;
}

/* Adds the boundary points of the best scheme that the caches know of a pattern. */
static qdq_status apply_boundary(qdq_tune_state *t, size_t pattern, qdq_assign *a,
                                 qdq_boundary_points *sum, qdq_error *err)
{
    const qdq_pattern_schemes *known = qdq_tune_best_entry(t, pattern);
    const qdq_pattern *p = &t->parts.patterns->pattern[pattern];
    qdq_boundary_points b;

    if (known == NULL || !is_wanted(t, p))
        return QDQ_OK;
    QDQ_TRY(qdq_scheme_boundary(&known->schemes.at[0], p, t->task.space, &t->arena, &b, err));
    for (size_t i = 0; i < b.n_groups; i++)
        qdq_assign_set(a, b.group[i], true);
    sum->n_groups += b.n_groups;
    sum->n_points += b.n_points;
    sum->n_lost += b.n_lost;
    return QDQ_OK;
}

/* The best schemes once more, with their points at boundaries of regions: those of composites come
 * behind what the parts chose. */
static qdq_status add_boundary_start(qdq_tune_state *t, starts *s, qdq_error *err)
{
    qdq_boundary_points sum = {0};

    if (t->parts.regions == NULL || t->parts.known.patterns.n == 0)
        return QDQ_OK;
    QDQ_TRY(add_start(t, s, "cached boundaries", err));
    (void)apply_seeds(t, &s->assign[s->n - 1]);
    for (size_t i = 0; i < t->parts.patterns->n; i++)
        QDQ_TRY(apply_boundary(t, i, &s->assign[s->n - 1], &sum, err));
    s->n -= sum.n_groups == 0;
    if (sum.n_lost > 0)
        qdq_job_log(t->job, QDQ_LOG_WARNING,
                    "pattern caches: found %zu of %zu points at boundaries of regions without an "
                    "operator that could be quantized; they are left out",
                    sum.n_lost, sum.n_points);
    return QDQ_OK;
}

static qdq_status add_linear_start(qdq_tune_state *t, starts *s, qdq_error *err)
{
    QDQ_TRY(add_start(t, s, "linear", err));
    for (size_t i = 0; i < t->task.space->n_groups; i++)
        qdq_assign_set(&s->assign[s->n - 1], i, t->task.space->group[i].linear);
    return QDQ_OK;
}

/* A file that was given needs builds, too, and its placement is the better start. Profiles price
 * everything all the same. */
static bool has_builds_for_plain(const qdq_tune_state *t)
{
    return !t->strategy->by_costs || t->parts.n_baselines == 0 ||
           t->run.search_opts.max_builds == 0;
}

/* What an autotune_cache.json placed. The strategy greedy takes its groups one by one. */
static qdq_status add_file_start(qdq_tune_state *t, starts *s, qdq_error *err)
{
    if (t->parts.cached == NULL || t->strategy->by_groups)
        return QDQ_OK;
    QDQ_TRY(add_start(t, s, QDQ_AUTOTUNE_CACHE, err));
    s->n -= !qdq_tune_cached_start(t, &s->assign[s->n - 1]);
    return QDQ_OK;
}

/* What the rules decide, everything, and all linear operators without others: profiles of single
 * layers do not always tell what an Add costs that the engine fuses in float (4 % of MobileNetV2 on
 * OpenVINO). */
static qdq_status add_plain_starts(qdq_tune_state *t, starts *s, qdq_error *err)
{
    QDQ_TRY(add_file_start(t, s, err));
    QDQ_TRY(copy_start(t, s, "rules", &t->task.space->rules, err));
    if (!has_builds_for_plain(t))
        return QDQ_OK;
    if (!t->strategy->by_costs)
        QDQ_TRY(add_linear_start(t, s, err));
    QDQ_TRY(add_start(t, s, "everything", err));
    for (size_t i = 0; i < t->task.space->n_groups; i++)
        qdq_assign_set(&s->assign[s->n - 1], i, true);
    /* last: a small budget is better spent on costs */
    return t->strategy->by_costs ? add_linear_start(t, s, err) : QDQ_OK;
}

/* What is left of the rules' plan when layers go back to float for the goal. */
static qdq_status add_goal_start(qdq_tune_state *t, starts *s, qdq_error *err)
{
    QDQ_TRY(qdq_tune_find_goal_start(t, &t->task.space->rules, &t->parts.reached,
                                     &t->parts.has_reached, err));
    if (!t->parts.has_reached)
        return QDQ_OK;
    return copy_start(t, s, "goal", &t->parts.reached, err);
}

/* With a filter, nothing but the choices of wanted patterns is ever on. */
static qdq_status keep_to_filter(qdq_tune_state *t, starts *s, qdq_error *err)
{
    qdq_assign *allowed = qdq_arena_alloc(&t->arena, sizeof *allowed);

    if (t->parts.filter.n == 0)
        return QDQ_OK;
    QDQ_NEED(allowed != NULL && qdq_assign_new(allowed, t->task.space->n_groups, &t->arena), err);
    for (size_t u = 0; u < t->parts.problem.n_units; u++) {
        const qdq_search_unit *unit = &t->parts.problem.unit[u];
        for (size_t c = 0; c < unit->n_choices; c++)
            for (size_t i = 0; i < unit->n_instances; i++)
                if (unit->choice[c].bit[i] != UINT32_MAX)
                    qdq_assign_set(allowed, unit->choice[c].bit[i], true);
    }
    for (size_t i = 0; i < s->n; i++)
        for (size_t bit = 0; bit < t->task.space->n_groups; bit++)
            if (!qdq_assign_get(allowed, bit))
                qdq_assign_set(&s->assign[i], bit, false);
    t->parts.problem.allowed = allowed;
    return QDQ_OK;
}

static qdq_status make_starts(qdq_tune_state *t, qdq_error *err)
{
    starts *s = qdq_arena_alloc(&t->arena, sizeof *s);

    QDQ_NEED(s != NULL, err);
    *s = (starts){0};
    QDQ_TRY(add_start(t, s, "nothing", err));
    if (t->parts.settled == NULL) /* else it was tried before */
        QDQ_TRY(add_cached_starts(t, s, err));
    t->parts.problem.n_cached_starts = s->n - 1;
    for (size_t i = 0; i < t->parts.n_baselines; i++)
        QDQ_TRY(copy_start(t, s, "imported", &t->parts.baselines[i].placement, err));
    QDQ_TRY(add_plain_starts(t, s, err));
    if (!t->strategy->by_costs && !t->strategy->by_groups)
        QDQ_TRY(add_goal_start(t, s, err));
    if (t->parts.settled == NULL)
        QDQ_TRY(add_boundary_start(t, s, err));
    QDQ_TRY(keep_to_filter(t, s, err));
    t->parts.problem.start = s->assign;
    t->parts.problem.start_name = s->name;
    t->parts.problem.n_starts = s->n;
    return QDQ_OK;
}

/* --- what users hand in ----------------------------------------------------------------------- */

static qdq_status load_caches(qdq_tune_state *t, qdq_error *err)
{
    t->parts.thin = qdq_tune_new_cache(t, false);
    t->parts.known.max_entries = t->parts.known.minimum_distance = 0;
    for (size_t i = 0; t->opts->pattern_caches != NULL && t->opts->pattern_caches[i] != NULL; i++) {
        qdq_pattern_cache one = QDQ_PATTERN_CACHE_INIT;
        qdq_status st = qdq_pattern_cache_load(t->opts->pattern_caches[i], t->job, &one, err);
        if (st == QDQ_OK)
            st = qdq_pattern_cache_merge(&t->parts.known, &one, true, err);
        qdq_pattern_cache_free(&one);
        QDQ_TRY(st);
    }
    return qdq_pattern_cache_merge(&t->parts.thin, &t->parts.known, true, err);
}

/* --- all of it -------------------------------------------------------------------------------- */

qdq_status qdq_tune_read(qdq_tune_state *t, qdq_error *err)
{
    QDQ_TRY(load_caches(t, err));
    QDQ_TRY(qdq_baselines_read(t, err));
    QDQ_TRY(read_filter(t, err));
    return t->units->read(t, err);
}

qdq_status qdq_tune_read_regions(qdq_tune_state *t, qdq_error *err)
{
    QDQ_TRY(qdq_regions_find(t->task.clean, t->details->regions, &t->parts.regions, err));
    return qdq_patterns_find(t->parts.regions, &t->parts.patterns, err);
}

/* The result of a search that finds nothing: the all-float plan, with no choice of any pattern. */
static qdq_status begin_result(qdq_tune_state *t, qdq_error *err)
{
    const qdq_search_problem *p = &t->parts.problem;
    qdq_search_result *r = &t->run.found;

    *r = (qdq_search_result){.predicted_ns = p->base_ns};
    r->unit = qdq_arena_array(&t->arena, p->n_units + 1, sizeof *r->unit);
    QDQ_NEED(r->unit != NULL && qdq_assign_copy(&r->best, &p->start[0], &t->arena), err);
    for (size_t u = 0; u < p->n_units; u++)
        QDQ_NEED(qdq_assign_new(&r->unit[u].best, t->parts.choices[u].n, &t->arena), err);
    return QDQ_OK;
}

qdq_status qdq_tune_build_problem(qdq_tune_state *t, qdq_error *err)
{
    t->parts.problem.n_bits =
        t->strategy->by_groups ? qdq_space_scheme_bits(t->task.space) : t->task.space->n_groups;
    QDQ_TRY(make_units(t, err));
    if (t->parts.regions != NULL)
        QDQ_TRY(make_boundaries(t, err));
    QDQ_TRY(make_starts(t, err));
    if (t->parts.settled == NULL)
        QDQ_TRY(qdq_tune_find_others(t, err));
    if (t->strategy->by_groups) /* "linear" and "everything" are what groups were found by */
        t->parts.problem.n_starts -= 2;
    return begin_result(t, err);
}
