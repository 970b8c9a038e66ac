/* tune_presets.c - presets as a table, and which options go together. */
#include "tune/state/tune_presets.h"

#include <string.h>

#include "base/fail.h"
#include "tune/state/strategy.h"

typedef struct preset {
    const char *name;
    unsigned schemes, exhaustive, stale, max_pairs, max_builds;
    double patience_s, least_s;
} preset;

/* docs/autotune.md shows this table. By qdq_tune_preset. */
static const preset presets[] = {
    {"default", 8, 2, 3, 20, 40, 10, 2},
    {"quick", 4, 1, 2, 12, 16, 3, 0},
    {"extensive", 32, 5, 6, 40, 0, 60, 5},
};

/* By qdq_tune_strategy. */
#define STRATEGY(MEMBER, name) #name,
static const char *const strategies[] = {"auto", QDQ_TUNE_STRATEGIES(STRATEGY)};
#undef STRATEGY

const char *qdq_tune_preset_name(qdq_tune_preset p)
{
    return presets[p].name;
}

/* Least builds in subgraph mode. The final validation builds the input, the rules' model and the
 * written one; with open dims also the first and the last with the other dims. The search builds
 * the model without Q/DQ, its layers, the model with all Q/DQ, and a candidate. Both build each
 * baseline. */
enum { OF_FINAL = 3, OF_OTHER_DIMS = 2, LEAST_BUILDS = OF_FINAL + 4, OF_BASELINE = 2 };

static unsigned count_baselines(const qdq_tune_opts *o)
{
    unsigned n = 0;

    while (o->qdq_baselines != NULL && n <= QDQ_TUNE_MOST_BASELINES && o->qdq_baselines[n] != NULL)
        n++;
    return n;
}

/* Excludes NaN. */
static qdq_status check_range(const char *name, double x, double end, qdq_error *err)
{
    return x >= 0 && x < end
               ? QDQ_OK
               : qdq_fail(err, QDQ_E_USAGE, "found %s %g, expected 0 or more and less than %g",
                          name, x, end);
}

/* Rejects what cannot be measured. */
static qdq_status check_formats(const char *engine, const qdq_target *t, qdq_error *err)
{
    const bool is_ort =
        engine == NULL || strcmp(engine, "ort") == 0 || strncmp(engine, "ort:", 4) == 0;
    const char *type = qdq_elem_name(t->format.activation.type);

    if (qdq_format_dynamic(&t->format))
        return qdq_fail(err, QDQ_E_UNSUPPORTED,
                        "found a target that quantizes activations while the model runs, expected "
                        "one with a type of activations, where this form is tried: there is no "
                        "placement to tune");
    if (is_ort && strncmp(type, "float8", 6) == 0)
        return qdq_fail(
            err, QDQ_E_UNSUPPORTED,
            "engine %s has no kernels for activations in %s: Q/DQ would only cost it time, and "
            "nothing could be found out by measuring (quantize places fp8 by rules)",
            engine != NULL ? engine : "ort", type);
    return QDQ_OK;
}

bool qdq_autotune_takes(const qdq_target *t, const char *engine)
{
    return check_formats(engine, t, NULL) == QDQ_OK;
}

static qdq_status wrong_mode(const char *option, const char *mode, qdq_error *err)
{
    return qdq_fail(err, QDQ_E_USAGE, "found %s, which is of %s mode alone", option, mode);
}

bool qdq_tune_wants_greedy(const qdq_tune_opts *o)
{
    return o->mode == QDQ_TUNE_SUBGRAPH &&
           (o->strategy == QDQ_TUNE_GREEDY ||
            /* the only meaning that validate_whole can have */
            (o->strategy == QDQ_TUNE_AUTO && o->details->validate_whole));
}

static qdq_status check_mode(const qdq_tune_opts *o, qdq_error *err)
{
    const qdq_tune_details *d = o->details;
    const bool caches = o->pattern_caches != NULL && o->pattern_caches[0] != NULL;
    const bool regions = d->regions->builder != QDQ_REGIONS_AUTO ||
                         d->regions->max_region_size > 0 || d->regions->min_refine_size > 0;

    if ((unsigned)o->mode > QDQ_TUNE_SUBGRAPH)
        return qdq_fail(err, QDQ_E_USAGE, "found mode %d, expected 0 (region) or 1 (subgraph)",
                        (int)o->mode);
    if ((unsigned)o->strategy >= QDQ_COUNT(strategies))
        return qdq_fail(err, QDQ_E_USAGE, "found strategy %d, expected 0 to %zu", (int)o->strategy,
                        QDQ_COUNT(strategies) - 1);
    if (d->pareto == 1 || d->pareto > QDQ_TUNE_MOST_POINTS)
        return qdq_fail(err, QDQ_E_USAGE, "pareto: found %u models, expected 2 to %d", d->pareto,
                        QDQ_TUNE_MOST_POINTS);
    if (o->mode == QDQ_TUNE_REGION)
        return d->pareto > 0                  ? wrong_mode("pareto", "subgraph", err)
               : o->strategy != QDQ_TUNE_AUTO ? wrong_mode("a strategy", "subgraph", err)
               : d->layer_info != NULL        ? wrong_mode("layer information", "subgraph", err)
               : d->validate_whole            ? wrong_mode("validation as a whole", "subgraph", err)
                                              : QDQ_OK;
    if (d->validate_whole && !qdq_tune_wants_greedy(o))
        return qdq_fail(err, QDQ_E_USAGE,
                        "found strategy %s with validation as a whole: only greedy merges groups",
                        strategies[o->strategy]);
    const qdq_tune_strategy strategy = d->validate_whole ? QDQ_TUNE_GREEDY : o->strategy;
    if (d->pareto > 0 && strategy != QDQ_TUNE_AUTO && strategy != QDQ_TUNE_MINCUT)
        return qdq_fail(err, QDQ_E_USAGE, "strategy %s: found pareto, expected strategy mincut",
                        strategies[strategy]);
    const unsigned least = LEAST_BUILDS + OF_BASELINE * count_baselines(o);
    if (o->max_builds > 0 && o->max_builds < least)
        return qdq_fail(
            err, QDQ_E_USAGE,
            "found %u builds, expected at least %u in subgraph mode: of the model "
            "without Q/DQ, two for layers, of a candidate, and %d of the final validation%s",
            o->max_builds, least, OF_FINAL,
            least > LEAST_BUILDS ? ", and two of each baseline with Q/DQ" : "");
    return caches    ? wrong_mode("a pattern cache, whose patterns are of regions", "region", err)
           : regions ? wrong_mode("an option of regions", "region", err)
                     : QDQ_OK;
}

qdq_status qdq_tune_check(const qdq_tune_opts *o, const qdq_target *t, qdq_error *err)
{
    const qdq_tune_details *d = o->details;
    /* seconds, below what the store's clock can hold */
    const double ever = 1e12;

    QDQ_TRY(check_formats(o->engine, t, err));
    QDQ_TRY(check_mode(o, err));
    if ((unsigned)o->preset >= QDQ_COUNT(presets))
        return qdq_fail(err, QDQ_E_USAGE, "found preset %d, expected 0 to %zu", (int)o->preset,
                        QDQ_COUNT(presets) - 1);
    if ((unsigned)d->regions->builder > QDQ_REGIONS_NAMES)
        return qdq_fail(err, QDQ_E_USAGE, "found region builder %d, expected 0 to %d",
                        (int)d->regions->builder, (int)QDQ_REGIONS_NAMES);
    if (count_baselines(o) > QDQ_TUNE_MOST_BASELINES)
        return qdq_fail(err, QDQ_E_USAGE, "qdq_baselines: found more than %d models",
                        QDQ_TUNE_MOST_BASELINES);
    if (o->quantize != NULL && o->quantize->float_channels == QDQ_FLOAT_CHANNELS_ON)
        return qdq_fail(err, QDQ_E_USAGE,
                        "found float_channels on, expected auto or off: placements are tuned with "
                        "all channels in 8 bits");
    if (o->quantize != NULL && o->quantize->smooth == QDQ_SMOOTH_ON)
        return qdq_fail(err, QDQ_E_USAGE,
                        "found smooth on, expected auto or off: placements are tuned with "
                        "activations as they are");
    if (o->threads < 0)
        return qdq_fail(err, QDQ_E_USAGE, "found %d threads, expected 0 or more", o->threads);
    QDQ_TRY(check_range("min_gain", o->min_gain, 0.5, err));
    QDQ_TRY(check_range("pool_fraction", d->pool_fraction, 1 + 1e-9, err));
    return check_range("time_s", o->time_s, ever, err);
}

/* Builds left for the search, at least those of the shortest one. */
static unsigned builds_of_search(unsigned all, unsigned of_final, unsigned of_other_dims)
{
    const unsigned least = LEAST_BUILDS - OF_FINAL, left = all > of_final ? all - of_final : 1;

    if (all == 0)
        return 0; /* no bound */
    return left > least + of_other_dims ? left - of_other_dims : left < least ? left : least;
}

enum { OF_CUTS = 12, OF_TYPES = 2 };

/* Share of other types of activations in the builds of a search, by preset. Those for other
 * processors have what is left over. */
static unsigned of_types(const qdq_tune_state *t)
{
    const qdq_target *target = t->task.target;

    return target->others.n > 0 && !target->others.at[0].elsewhere ? OF_TYPES : 0;
}

bool qdq_tune_tries_unlikely(const qdq_tune_state *t)
{
    return t->opts->max_builds > 0 || presets[t->opts->preset].max_builds == 0;
}

/* All builds before the final validation but those of the steps after the search. */
static unsigned builds_before_final(const qdq_tune_state *t, bool cuts)
{
    const qdq_tune_opts *o = t->opts;
    const unsigned n = count_baselines(o), of_preset = presets[o->preset].max_builds;
    const unsigned beyond =
        /* the first cut takes the build of a start (tune_problem.c) */
        cuts && n > 0 ? n - 1 : n;
    const unsigned usual =
        of_preset > 0 ? (cuts ? OF_CUTS : of_preset) - of_types(t) + OF_BASELINE * beyond : 0;

    /* presets count builds with the dims of the search; the user's limit counts all builds */
    return o->max_builds > 0 ? builds_of_search(o->max_builds, OF_FINAL + n,
                                                qdq_model_is_open(t->task.m) ? OF_OTHER_DIMS : 0)
                             : builds_of_search(usual, OF_FINAL + n, 0);
}

/* Decisions about weights alone do not depend on each other, so that two profiles settle them: the
 * search needs the model without Q/DQ and with all, both profiles, and what is fastest by these. */
enum { OF_DECISIONS = 5, OF_WEIGHTS = 6 };

static bool has_weights_alone(const qdq_tune_state *t)
{
    return qdq_format_weight_only(&t->task.target->format);
}

unsigned qdq_tune_max_builds(const qdq_tune_state *t, bool cuts)
{
    const unsigned all = builds_before_final(t, cuts),
                   few = OF_DECISIONS + OF_BASELINE * count_baselines(t->opts);

    if (!has_weights_alone(t) || all <= few)
        return all;
    /* a user's bound is for both */
    return t->opts->max_builds > 0 && all > few + OF_WEIGHTS ? all - OF_WEIGHTS : few;
}

unsigned qdq_tune_max_builds_until(const qdq_tune_state *t, qdq_tune_stage stage)
{
    enum { OF_EDGES = 2, OF_DYNAMIC = 3 };
    const bool alone = has_weights_alone(t);
    unsigned most = qdq_tune_max_builds(t, t->strategy->by_costs);

    if (t->opts->max_builds > 0)
        return stage == QDQ_STAGE_FORMS ? builds_before_final(t, t->strategy->by_costs) : most;
    if (most == 0)
        return 0;
    most += stage >= QDQ_STAGE_EDGES && !alone ? OF_EDGES : 0;
    most += stage >= QDQ_STAGE_TYPES ? of_types(t) : 0;
    return most + (stage < QDQ_STAGE_FORMS ? 0 : alone ? OF_WEIGHTS : OF_DYNAMIC);
}

unsigned qdq_tune_sample_runs(const qdq_tune_opts *o)
{
    return o->details->timing_runs > 0 ? o->details->timing_runs : 1;
}

/* A duration in the unit of pairs, ns of one run. 0 for an engine that is a program: it starts
 * again for each time, which takes far longer than the times that it reports. */
static double in_pairs(const qdq_tune_state *t, double seconds)
{
    const bool tells =
        (qdq_worker_client_engine(t->tools.worker_client)->capabilities & QDQ_CAN_RUN) != 0;

    return tells ? seconds * 1e9 / qdq_tune_sample_runs(t->opts) : 0;
}

void qdq_tune_settings(qdq_tune_state *t)
{
    const qdq_tune_opts *o = t->opts;
    const qdq_tune_details *d = t->details;
    const preset *p = &presets[o->preset];

    t->run.test = (qdq_test_opts)QDQ_TEST_OPTS_INIT;
    t->run.test.max_pairs = p->max_pairs;
    t->run.test.patience_ns = in_pairs(t, p->patience_s);
    t->run.test.least_ns = in_pairs(t, p->least_s);
    t->run.test.strict = d->strict;
    if (o->min_gain > 0) {
        t->run.test.enter = o->min_gain;
        t->run.test.gain = 2 * o->min_gain;
    }
    t->run.search_opts = (qdq_search_opts){
        .test = t->run.test,
        .schemes_per_unit = d->schemes_per_region > 0 ? d->schemes_per_region : p->schemes,
        .exhaustive = p->exhaustive,
        .mutations = d->max_mutations > 0 ? d->max_mutations : 3,
        .attempts = d->max_attempts > 0 ? d->max_attempts : 100,
        .stale = p->stale,
        .max_trials = o->trials,
        .max_builds =
            qdq_tune_max_builds(t, o->mode == QDQ_TUNE_SUBGRAPH && !qdq_tune_wants_greedy(o)),
        .seeds_beyond = o->max_builds == 0,
        .seed = o->seed};
}

bool qdq_tune_has_goal(const qdq_tune_state *t)
{
    const qdq_goal_opts *g = t->opts->goal;

    return g != NULL &&
           (g->max_drop >= 0 || g->min_sqnr != 0 || g->metric != NULL || g->min_agreement > 0);
}
