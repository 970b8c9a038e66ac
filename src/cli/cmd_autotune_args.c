/* cmd_autotune_args.c - the options of autotune, one table for each theme, and what they mean
 * together. What it shares with quantize is in cli_quant.c. */
#include "cli/cmd_autotune.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"

static const char *const modes[] = {"region", "subgraph", NULL}; /* by qdq_tune_mode */
/* by qdq_tune_strategy */
static const char *const strategies[] = {"auto", "mincut", "greedy", NULL};
static const char *const types[] = {"target", "int8", "uint8", "fp8", NULL};
static const char *const accepts[] = {"sequential", "strict", NULL};

static const cli_opt output_opts[] = {
    {.letter = 'o',
     .name = "output",
     .kind = CLI_FILE,
     .offset = CLI_AT(autotune_args, output),
     .what = "DIR",
     .help = "write results to DIR; resume its unfinished run"},
    {.letter = 'f',
     .name = "force",
     .kind = CLI_FLAG,
     .offset = CLI_AT(autotune_args, force),
     .help = "overwrite other files, and the result of another run"},
    {.name = "restart",
     .kind = CLI_FLAG,
     .offset = CLI_AT(autotune_args, restart),
     .help = "ignore earlier measurements and start over"},
    {.name = "keep-models",
     .kind = CLI_FLAG,
     .offset = CLI_AT(autotune_args, keep_models),
     .help = "keep candidates in DIR/region_models, groups in DIR/subgraphs"},
    {.name = "external-data",
     .kind = CLI_CHOICE,
     .offset = CLI_AT(autotune_args, external),
     .what = "WHEN",
     .help = "store weights in MODEL.HASH.data; auto: like the input",
     .init = "auto",
     .choices = cli_external_choices},
    {.name = "store",
     .kind = CLI_FILE,
     .offset = CLI_AT(autotune_args, store),
     .what = "FILE",
     .help = "store shareable measurements in FILE; default: DIR/tune.db"},
    {.name = "status",
     .kind = CLI_FILE,
     .offset = CLI_AT(autotune_args, status),
     .what = "DIR",
     .help = "report the state of the run in DIR and exit"},
    CLI_END,
};

static const cli_opt search_opts[] = {
    {.name = "mode",
     .kind = CLI_CHOICE,
     .offset = CLI_AT(autotune_args, mode),
     .what = "MODE",
     .help = "tune equivalent regions, or the fusion groups of the engine",
     .init = "region",
     .choices = modes},
    {.name = "preset",
     .kind = CLI_CHOICE,
     .offset = CLI_AT(autotune_args, preset),
     .what = "PRESET",
     .help = "set the effort, see docs/autotune.md; options override it",
     .init = "default",
     .choices = cli_tune_presets},
    {.name = "schemes-per-region",
     .kind = CLI_WHOLE,
     .offset = CLI_AT(autotune_args, schemes),
     .what = "N",
     .help = "try at most N placements per pattern; default: the preset's",
     .min = 1,
     .max = 1000000},
    {.name = "max-mutations",
     .kind = CLI_WHOLE,
     .offset = CLI_AT(autotune_args, mutations),
     .what = "N",
     .help = "mutate at most N decisions of a pattern at once",
     .init = "3",
     .min = 1,
     .max = 1000000},
    {.name = "max-attempts",
     .kind = CLI_WHOLE,
     .offset = CLI_AT(autotune_args, attempts),
     .what = "N",
     .help = "draw at most N mutations per pattern",
     .init = "100",
     .min = 1,
     .max = 1000000},
    {.name = "time",
     .kind = CLI_TIME,
     .offset = CLI_AT(autotune_args, time_s),
     .what = "TIME",
     .help = "stop searching after this time: 90s, 10m, 1.5h"},
    {.name = "trials",
     .kind = CLI_WHOLE,
     .offset = CLI_AT(autotune_args, trials),
     .what = "N",
     .help = "stop searching after N comparisons",
     .min = 1,
     .max = 1000000000},
    {.name = "max-builds",
     .kind = CLI_WHOLE,
     .offset = CLI_AT(autotune_args, builds),
     .what = "N",
     .help = "stop searching after N engine builds; default: the preset's",
     .min = 1,
     .max = 1000000000},
    {.name = "min-gain",
     .kind = CLI_TEXT,
     .offset = CLI_AT(autotune_args, min_gain),
     .what = "PERCENT",
     .help = "reject candidates with a smaller gain; default: 0.3%"},
    {.name = "accept",
     .kind = CLI_CHOICE,
     .offset = CLI_AT(autotune_args, accept),
     .what = "HOW",
     .help = "choose when a comparison ends; strict: after all its pairs",
     .init = "sequential",
     .choices = accepts},
    {.name = "seed",
     .kind = CLI_WHOLE,
     .offset = CLI_AT(autotune_args, seed),
     .what = "N",
     .help = "seed the random choices",
     .init = "0",
     .min = 0,
     .max = INT64_MAX},
    {.name = "type",
     .kind = CLI_CHOICE,
     .offset = CLI_AT(autotune_args, type),
     .what = "TYPE",
     .help = "set types of activations and weights, like --format",
     .init = "target",
     .choices = types},
    CLI_END,
};

static const cli_opt filter_opts[] = {
    {.name = "node-filter",
     .kind = CLI_FILE,
     .offset = CLI_AT(autotune_args, node_filter),
     .what = "FILE",
     .help = "tune only regions or groups with a node that FILE matches"},
    CLI_END,
};

static const cli_opt subgraph_opts[] = {
    {.name = "strategy",
     .kind = CLI_CHOICE,
     .offset = CLI_AT(autotune_args, strategy),
     .what = "HOW",
     .help = "choose by minimum cuts, or isolated groups; auto: mincut if able",
     .init = "auto",
     .choices = strategies},
    {.name = "layer-info",
     .kind = CLI_FILE,
     .offset = CLI_AT(autotune_args, layer_info),
     .what = "FILE",
     .help = "read the engine's layers of the float model from FILE"},
    {.name = "pareto",
     .kind = CLI_WHOLE,
     .offset = CLI_AT(autotune_args, pareto),
     .what = "N",
     .help = "also write N models between speed and accuracy; needs mincut",
     .min = 2,
     .max = QDQ_TUNE_MOST_POINTS},
    {.name = "incremental-validation",
     .kind = CLI_FLAG,
     .offset = CLI_AT(autotune_args, incremental),
     .help = "validate merged groups part by part (greedy)",
     .init = "on"},
    CLI_END,
};

static const cli_opt known_opts[] = {
    {.name = "pattern-cache",
     .kind = CLI_LIST,
     .offset = CLI_AT(autotune_args, pattern_caches),
     .what = "FILE",
     .help = "try schemes from a patterns.yaml; repeatable, first ones win"},
    {.name = "pattern-cache-distance",
     .kind = CLI_WHOLE,
     .offset = CLI_AT(autotune_args, cache_distance),
     .what = "N",
     .help = "try cached schemes that differ in at least N points",
     .init = "4",
     .min = 0,
     .max = 1000000},
    {.name = "pattern-cache-entries",
     .kind = CLI_WHOLE,
     .offset = CLI_AT(autotune_args, cache_entries),
     .what = "N",
     .help = "keep at most N schemes per cached pattern; 0: all",
     .init = "32",
     .min = 0,
     .max = 1000000},
    {.name = "pool-share",
     .kind = CLI_TEXT,
     .offset = CLI_AT(autotune_args, pool_share),
     .what = "PERCENT",
     .help = "try this fraction of a pattern's cached schemes; default: 10%"},
    {.name = "pool-least",
     .kind = CLI_WHOLE,
     .offset = CLI_AT(autotune_args, pool_least),
     .what = "N",
     .help = "try at least N cached schemes, if available",
     .init = "10",
     .min = 1,
     .max = 1000000},
    {.name = "qdq-baseline",
     .kind = CLI_LIST,
     .offset = CLI_AT(autotune_args, qdq_baselines),
     .what = "FILE",
     .help = "time this Q/DQ model; write it if nothing is faster; repeatable"},
    CLI_END,
};

static const cli_opt measure_opts[] = {
    {.letter = 't',
     .name = "threads",
     .kind = CLI_WHOLE,
     .offset = CLI_AT(autotune_args, threads),
     .what = "N",
     .help = "time with N threads of the engine; 0: all processors",
     .init = "1",
     .min = 0,
     .max = 1024},
    {.name = "calib-threads",
     .kind = CLI_WHOLE,
     .offset = CLI_AT(autotune_args, calib_threads),
     .what = "N",
     .help = "calibrate with N threads of the engine; 0: all processors",
     .init = "0",
     .min = 0,
     .max = 1024},
    {.name = "warmup-runs",
     .kind = CLI_WHOLE,
     .offset = CLI_AT(autotune_args, warmup_runs),
     .what = "N",
     .help = "run a model N times before its first timing",
     .init = "2",
     .min = 1,
     .max = 1000000},
    {.name = "timing-runs",
     .kind = CLI_WHOLE,
     .offset = CLI_AT(autotune_args, timing_runs),
     .what = "N",
     .help = "time at least N runs per sample; it lasts 5 ms in any case",
     .init = "1",
     .min = 1,
     .max = 1000000},
    {.name = "worker",
     .kind = CLI_FILE,
     .offset = CLI_AT(autotune_args, engine.worker),
     .what = "FILE",
     .help = "run engines in this program; default: qdq-worker next to qdq"},
    CLI_END,
};

static const cli_opt report_opts[] = {
    {.name = "report",
     .kind = CLI_FILE,
     .offset = CLI_AT(autotune_args, report),
     .what = "FILE",
     .help = "write the page of quantize --report for the result"},
    {.name = "overlay",
     .kind = CLI_FILE,
     .offset = CLI_AT(autotune_args, overlay),
     .what = "FILE",
     .help = "write formats and times of nodes for Model Explorer"},
    {.name = "metadata",
     .kind = CLI_FLAG,
     .offset = CLI_AT(autotune_args, metadata),
     .help = "note formats and rules in node metadata, for Netron"},
    CLI_END,
};

const cli_group cmd_autotune_groups[] = {
    {"output", output_opts, 0},
    {"search", search_opts, 0},
    {"regions", cli_region_opts, CLI_AT(autotune_args, regions)},
    {"", filter_opts, 0},
    {"--mode subgraph", subgraph_opts, 0},
    {"what is known already", known_opts, 0},
    {"measuring", measure_opts, 0},
    {"what is quantized", cli_quant_what_opts, CLI_AT(autotune_args, quant)},
    {"", cli_quant_clean_opts, CLI_AT(autotune_args, quant)},
    {"constant folding", cli_fold_opts, CLI_AT(autotune_args, quant.fold)},
    {"", cli_quant_growth_opts, CLI_AT(autotune_args, quant)},
    {"formats", cli_format_opts, CLI_AT(autotune_args, quant.format)},
    {"calibration", cli_quant_calibration_opts, CLI_AT(autotune_args, quant)},
    {"accuracy", cli_quant_accuracy_opts, CLI_AT(autotune_args, quant)},
    {"", report_opts, 0},
    {"data", cli_data_opts, CLI_AT(autotune_args, quant.data)},
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

static qdq_status check_judging(const struct autotune_args *a, qdq_error *err)
{
    const char *judging = cli_quant_judging(&a->quant);

    if (judging != NULL && !a->quant.sqnr)
        return qdq_fail(err, QDQ_E_USAGE, "%s: needs held-out samples; conflicts with --no-sqnr",
                        judging);
    return QDQ_OK;
}

/* An option that was given, and that means nothing in this mode; NULL: there is none. One that says
 * its default is one that was not given. */
static const char *only_for_regions(const struct autotune_args *a)
{
    const char *regions = cli_regions_given(&a->regions);

    return regions != NULL           ? regions
           : a->mutations != 3       ? "--max-mutations"
           : a->attempts != 100      ? "--max-attempts"
           : a->pattern_caches.n > 0 ? "--pattern-cache"
           : a->cache_distance != 4  ? "--pattern-cache-distance"
           : a->cache_entries != 32  ? "--pattern-cache-entries"
           : a->pool_share != NULL   ? "--pool-share"
           : a->pool_least != 10     ? "--pool-least"
                                     : NULL;
}

static qdq_status check_mode(const struct autotune_args *a, qdq_error *err)
{
    const bool by_region = a->mode == QDQ_TUNE_REGION;
    const char *other = by_region ? (a->strategy != QDQ_TUNE_AUTO ? "--strategy"
                                     : a->layer_info != NULL      ? "--layer-info"
                                     : a->pareto > 0              ? "--pareto"
                                     : !a->incremental            ? "--no-incremental-validation"
                                                                  : NULL)
                                  : only_for_regions(a);

    if (other != NULL)
        return qdq_fail(err, QDQ_E_USAGE, "found %s with --mode %s, where there are no %s", other,
                        modes[a->mode], by_region ? "fusion groups" : "regions");
    if (a->pareto > 0 && (!a->incremental || a->strategy == QDQ_TUNE_GREEDY))
        return qdq_fail(
            err, QDQ_E_USAGE,
            "found --pareto with greedy, expected --strategy mincut, which finds the front");
    return !a->incremental && a->strategy == QDQ_TUNE_MINCUT
               ? qdq_fail(err, QDQ_E_USAGE,
                          "found --no-incremental-validation with --strategy mincut, which merges "
                          "no groups")
               : QDQ_OK;
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
    QDQ_TRY(check_judging(a, err));
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
    double *share = &to->details.pool_share, *gain = &to->tune.min_gain;

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
    d->pool_least = (unsigned)a->pool_least;
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
