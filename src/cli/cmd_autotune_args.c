/* cmd_autotune_args.c - the options of autotune, one table for each theme, and what they mean
 * together. What it shares with quantize is in cli_quant.c. */
#include "cli/cmd_autotune.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/fail.h"
#include "cli/cli_values.h"

static const char *const modes[] = {"region", "subgraph", NULL}; /* by qdq_tune_mode */
#define STRATEGY(MEMBER, name) #name,
static const char *const strategies[] = {"auto", QDQ_TUNE_STRATEGIES(STRATEGY) NULL};
#undef STRATEGY
static const char *const types[] = {"target", "int8", "uint8", "fp8", NULL};

#define ARGS autotune_args
#include "cli/cli_tables.def"
#include "cli/cmd_autotune.def"

const cli_group cmd_autotune_groups[] = {
    {"output", output_opts, 0},
    {"search", search_opts, 0},
    {"", mutation_opts, 0},
    {"", limit_opts, 0},
    {"regions", cli_region_opts, CLI_AT(autotune_args, regions)},
    {"", filter_opts, 0},
    {"--mode subgraph", subgraph_opts, 0},
    {"what is known already", known_opts, 0},
    {"", baseline_opts, 0},
    {"measuring", measure_opts, 0},
    {"what is quantized", cli_quant_what_opts, CLI_AT(autotune_args, quant)},
    {"", cli_quant_clean_opts, CLI_AT(autotune_args, quant)},
    {"constant folding", cli_fold_opts, CLI_AT(autotune_args, quant.fold)},
    {"", cli_fold_growth_opts, CLI_AT(autotune_args, quant.fold)},
    {"formats", cli_format_opts, CLI_AT(autotune_args, quant.format)},
    {"calibration", cli_quant_calibration_opts, CLI_AT(autotune_args, quant)},
    {"accuracy", cli_quant_accuracy_opts, CLI_AT(autotune_args, quant)},
    {"", report_opts, 0},
    {"data", cli_data_opts, CLI_AT(autotune_args, quant.data)},
    {"", cli_state_opts, CLI_AT(autotune_args, quant.state)},
    {"shapes", cli_shape_opts, CLI_AT(autotune_args, quant.shape)},
    {"", cli_set_shape_opts, CLI_AT(autotune_args, quant.set_shape)},
    {"", cli_range_opts, CLI_AT(autotune_args, range)},
    {"engine", cli_engine_opts, CLI_AT(autotune_args, engine)},
    {"", cli_trtexec_opts, CLI_AT(autotune_args, engine)},
    {"options", cli_common_opts, 0},
    {NULL, NULL, 0},
};

/* --- what they mean together ------------------------------------------------------------------ */

/* What would be found out after minutes of calibration is said at once. */
static qdq_status check_readable(const char *path, qdq_error *err)
{
    int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;

    if (path == NULL)
        return QDQ_OK;
    if (fd < 0)
        return qdq_fail_errno(err, QDQ_E_IO, errno, "%s", path);
    close(fd);
    return QDQ_OK;
}

static qdq_status check_status(const struct autotune_args *a, size_t n_models, qdq_error *err)
{
    if (n_models > 0)
        return qdq_fail(err, QDQ_E_USAGE, "found --status and a model: expected one of them");
    if (a->output != NULL)
        return qdq_fail(err, QDQ_E_USAGE, "found --status and --output: expected one of them");
    return QDQ_OK;
}

static qdq_status check_evaluation(const struct autotune_args *a, qdq_error *err)
{
    const char *evaluating = cli_quant_evaluation(&a->quant);

    if (evaluating != NULL && !a->quant.sqnr)
        return qdq_fail(err, QDQ_E_USAGE, "%s: needs held-out samples; conflicts with --no-sqnr",
                        evaluating);
    return QDQ_OK;
}

/* An option that was given, and that means nothing in this mode; NULL: there is none. */
static const char *of_other_mode(const struct autotune_args *a)
{
    if (a->mode == QDQ_TUNE_REGION)
        return cli_first_given(subgraph_opts, a);
    const char *given = cli_first_given(cli_region_opts, &a->regions);

    if (given == NULL)
        given = cli_first_given(mutation_opts, a);
    return given != NULL ? given : cli_first_given(known_opts, a);
}

static qdq_status check_mode(const struct autotune_args *a, qdq_error *err)
{
    const char *other = of_other_mode(a);

    if (other != NULL)
        return qdq_fail(err, QDQ_E_USAGE, "found %s with --mode %s, where there are no %s", other,
                        modes[a->mode], a->mode == QDQ_TUNE_REGION ? "fusion groups" : "regions");
    const int strategy = a->incremental ? a->strategy : QDQ_TUNE_GREEDY;
    if (a->pareto > 0 && strategy != QDQ_TUNE_AUTO && strategy != QDQ_TUNE_MINCUT)
        return qdq_fail(err, QDQ_E_USAGE,
                        "found --pareto with %s, expected --strategy mincut, which finds the front",
                        strategies[strategy]);
    if (!a->incremental && a->strategy != QDQ_TUNE_AUTO && a->strategy != QDQ_TUNE_GREEDY)
        return qdq_fail(err, QDQ_E_USAGE,
                        "found --no-incremental-validation with --strategy %s, which merges no "
                        "groups",
                        strategies[a->strategy]);
    return QDQ_OK;
}

qdq_status cmd_autotune_check(const struct autotune_args *a, size_t n_models, qdq_error *err)
{
    autotune_opts scratch;

    if (a->status != NULL)
        return check_status(a, n_models, err);
    if (n_models == 0)
        return qdq_fail(err, QDQ_E_USAGE, "found 0 arguments, expected MODEL");
    if (a->output == NULL)
        return qdq_fail(err, QDQ_E_USAGE, "--output: missing; expected -o DIR");
    QDQ_TRY(check_mode(a, err));
    QDQ_TRY(cli_quant_check(&a->quant, err));
    QDQ_TRY(check_evaluation(a, err));
    QDQ_TRY(cmd_autotune_fill(a, &scratch, err));
    QDQ_TRY(check_readable(a->node_filter, err));
    for (size_t i = 0; i < a->qdq_baselines.n; i++)
        QDQ_TRY(check_readable(a->qdq_baselines.at[i], err));
    if (a->qdq_baselines.n > QDQ_TUNE_MOST_BASELINES)
        return qdq_fail(err, QDQ_E_USAGE, "found --qdq-baseline %zu times, expected at most %d",
                        a->qdq_baselines.n, QDQ_TUNE_MOST_BASELINES);
    QDQ_TRY(check_readable(a->layer_info, err));
    for (size_t i = 0; i < a->pattern_caches.n; i++)
        QDQ_TRY(check_readable(a->pattern_caches.at[i], err));
    return QDQ_OK;
}

qdq_status cmd_autotune_format(const struct autotune_args *a, cli_format_args *out, qdq_error *err)
{
    *out = a->quant.format;
    if (a->type == 0)
        return QDQ_OK;
    if (out->preset != 0)
        return qdq_fail(err, QDQ_E_USAGE, "found --type and --format, expected one of them");
    return cli_format_preset(types[a->type], out, err);
}

static qdq_status fill_shares(const struct autotune_args *a, autotune_opts *to, qdq_error *err)
{
    double *share = &to->details.pool_fraction, *gain = &to->tune.min_gain;

    if (a->pool_share != NULL) {
        QDQ_TRY(cli_percent_read("--pool-share", a->pool_share, share, err));
        if (*share == 0)
            return qdq_fail(err, QDQ_E_USAGE, "--pool-share: found '%s', expected more than 0%%",
                            a->pool_share);
    }
    if (a->min_gain == NULL)
        return QDQ_OK;
    QDQ_TRY(cli_percent_read("--min-gain", a->min_gain, gain, err));
    return *gain > 0 && *gain < 0.5
               ? QDQ_OK
               : qdq_fail(err, QDQ_E_USAGE,
                          "--min-gain: found '%s', expected more than 0%% and less than 50%%",
                          a->min_gain);
}

static void fill_details(const struct autotune_args *a, qdq_tune_details *d)
{
    d->node_filter = a->node_filter;
    d->schemes_per_region = (unsigned)a->schemes;
    d->max_mutations = (unsigned)a->mutations;
    d->max_attempts = (unsigned)a->attempts;
    d->strict = a->accept == 1;
    d->validate_whole = !a->incremental;
    d->pareto = (unsigned)a->pareto;
    d->layer_info = a->layer_info;
    d->warmup_runs = (unsigned)a->warmup_runs;
    d->timing_runs = (unsigned)a->timing_runs;
    d->pool_min = (unsigned)a->pool_least;
    d->pattern_cache_distance = (unsigned)a->cache_distance;
    d->pattern_cache_entries = (unsigned)a->cache_entries;
    d->keep_models = a->keep_models;
    d->keep_finished = !a->force;
    d->metadata = a->metadata;
    d->store = a->store;
    d->overlay = a->overlay;
}

qdq_status cmd_autotune_fill(const struct autotune_args *a, autotune_opts *to, qdq_error *err)
{
    qdq_tune_opts *o = &to->tune;

    *to = (autotune_opts){QDQ_TUNE_OPTS_INIT, QDQ_TUNE_DETAILS_INIT, QDQ_REGION_OPTS_INIT};
    o->mode = (qdq_tune_mode)a->mode;
    o->strategy = (qdq_tune_strategy)a->strategy;
    o->preset = (qdq_tune_preset)a->preset;
    o->external = (qdq_external)a->external;
    o->pattern_caches = a->pattern_caches.at;
    o->time_s = a->time_s;
    o->seed = (uint64_t)a->seed;
    o->trials = (unsigned)a->trials;
    o->max_builds = (unsigned)a->builds;
    o->threads = cli_threads(a->threads);
    o->restart = a->restart;
    fill_details(a, &to->details);
    if (o->mode == QDQ_TUNE_REGION)
        cli_regions_fill(&a->regions, &to->regions);
    to->details.regions = &to->regions;
    o->details = &to->details;
    return fill_shares(a, to, err);
}
