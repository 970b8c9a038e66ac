/* cmd_quantize_args.c - the options of quantize, one table for each theme, and what they mean together. */
#include <string.h>

#include "base/fail.h"
#include "cli/cmd_quantize.h"

static const cli_opt plan_opts[] = {
    {.name = "plan",
     .kind = CLI_FILE,
     .offset = CLI_AT(quantize_args, plan),
     .what = "FILE",
     .help = "apply this plan instead of making one"},
    {.name = "force-plan",
     .kind = CLI_FLAG,
     .offset = CLI_AT(quantize_args, force_plan),
     .help = "apply it even if it was made for another model"},
    {.name = "plan-out",
     .kind = CLI_FILE,
     .offset = CLI_AT(quantize_args, plan_out),
     .what = "FILE",
     .help = "write the plan here"},
    {.name = "dry-run",
     .kind = CLI_FLAG,
     .offset = CLI_AT(quantize_args, dry_run),
     .help = "print the plan, or the answer to --why, and write nothing"},
    {.name = "why",
     .kind = CLI_TEXT,
     .offset = CLI_AT(quantize_args, why),
     .what = "NAME",
     .help = "print every rule that looked at this node or tensor, and what followed"},
    CLI_END,
};

static const cli_opt what_opts[] = {
    {.letter = 'T',
     .name = "target",
     .kind = CLI_TEXT,
     .offset = CLI_AT(quantize_args, target),
     .what = "NAME",
     .help = "rules of an engine, or a FILE with them; default: ort-cpu; 'qdq targets'"},
    {.letter = 'x',
     .name = "exclude",
     .kind = CLI_LIST,
     .offset = CLI_AT(quantize_args, exclude),
     .what = "REGEX",
     .help = "leave nodes float whose name, or Op@output, it matches; repeatable"},
    {.letter = 'i',
     .name = "include",
     .kind = CLI_LIST,
     .offset = CLI_AT(quantize_args, include),
     .what = "REGEX",
     .help = "quantize only nodes that it matches; repeatable"},
    {.name = "op-types",
     .kind = CLI_NAMES,
     .offset = CLI_AT(quantize_args, op_types),
     .what = "A,B",
     .help = "quantize these operators alone"},
    {.name = "exclude-op-types",
     .kind = CLI_NAMES,
     .offset = CLI_AT(quantize_args, exclude_op_types),
     .what = "A,B",
     .help = "leave these operators float"},
    {.name = "optimize",
     .kind = CLI_FLAG,
     .offset = CLI_AT(quantize_args, optimize),
     .help = "run the passes of the group 'quantize' first",
     .init = "on"},
    CLI_END,
};

/* By qdq_method. */
static const char *const methods[] = {
    "default", "max", "entropy", "entropy-compat", "percentile", "mse", "moving-average", "auto", NULL};

static const cli_opt calibration_opts[] = {
    {.letter = 'c',
     .name = "calib",
     .kind = CLI_FILE,
     .offset = CLI_AT(quantize_args, calib),
     .what = "DATA",
     .help = ".npz, .npy, a folder of them, of images or of test_data_set_N, or random:SEED"},
    {.letter = 'n',
     .name = "samples",
     .kind = CLI_WHOLE,
     .offset = CLI_AT(quantize_args, samples),
     .what = "N",
     .help = "calibrate on the first N; default: all but those held back, of random 8",
     .min = 1,
     .max = 1000000000},
    {.name = "method",
     .kind = CLI_CHOICE,
     .offset = CLI_AT(quantize_args, method),
     .what = "NAME",
     .help = "from values to ranges; default: the target's, which is max unless it says so",
     .choices = methods},
    {.name = "percentile",
     .kind = CLI_REAL,
     .offset = CLI_AT(quantize_args, percentile),
     .what = "P",
     .help = "with --method percentile: so many percent of the values stay inside",
     .init = "99.999"},
    {.name = "equalize",
     .kind = CLI_FLAG,
     .offset = CLI_AT(quantize_args, equalize),
     .help = "give channels between two Conv the same range in both weights first, where that helps"},
    {.name = "bias-correction",
     .kind = CLI_FLAG,
     .offset = CLI_AT(quantize_args, bias_correction),
     .help = "take off biases what rounding the weights adds to the mean of a channel"},
    {.name = "cache",
     .kind = CLI_FILE,
     .offset = CLI_AT(quantize_args, cache),
     .what = "FILE",
     .help = "take ranges from a calibration cache, TensorRT's or ours; calibrate what it lacks"},
    {.name = "cache-out",
     .kind = CLI_FILE,
     .offset = CLI_AT(quantize_args, cache_out),
     .what = "FILE",
     .help = "write the ranges: X.json in our form, else in TensorRT's"},
    {.name = "memory",
     .kind = CLI_SIZE,
     .offset = CLI_AT(quantize_args, memory),
     .what = "SIZE",
     .help = "bound on activations that are observed at once",
     .init = "256MiB"},
    {.letter = 't',
     .name = "threads",
     .kind = CLI_WHOLE,
     .offset = CLI_AT(quantize_args, threads),
     .what = "N",
     .help = "threads of the engine; 0: all processors. Last digits of scales depend on it",
     .init = "0",
     .min = 0,
     .max = 1024},
    CLI_END,
};

static const cli_opt accuracy_opts[] = {
    {.name = "sqnr",
     .kind = CLI_FLAG,
     .offset = CLI_AT(quantize_args, sqnr),
     .help = "hold samples back and measure the outputs on them",
     .init = "on"},
    {.name = "min-sqnr",
     .kind = CLI_REAL,
     .offset = CLI_AT(quantize_args, min_sqnr),
     .what = "DB",
     .help = "layers go back to float until every output has so much"},
    {.name = "max-drop",
     .kind = CLI_TEXT,
     .offset = CLI_AT(quantize_args, max_drop),
     .what = "PERCENT",
     .help = "likewise until the accuracy is no more points below float's, as 0.5%; needs --labels"},
    {.name = "labels",
     .kind = CLI_TEXT,
     .offset = CLI_AT(quantize_args, labels),
     .what = "KEY",
     .help = "labels: array of the .npz that judges, or FILE.npy, FILE.npz:KEY; gives the accuracy"},
    {.name = "eval",
     .kind = CLI_FILE,
     .offset = CLI_AT(quantize_args, eval),
     .what = "DATA",
     .help = "judge on this instead of holding samples back"},
    {.name = "report",
     .kind = CLI_FILE,
     .offset = CLI_AT(quantize_args, report),
     .what = "FILE",
     .help = "write a page of HTML: latency, accuracy, every layer, ranges, borders"},
    {.name = "best-effort",
     .kind = CLI_FLAG,
     .offset = CLI_AT(quantize_args, best_effort),
     .help = "write what came nearest to a goal that was not reached"},
    CLI_END,
};

const cli_group cmd_quantize_groups[] = {
    {"output", cli_output_opts, CLI_AT(quantize_args, out)},
    {"plan", plan_opts, 0},
    {"what is quantized", what_opts, 0},
    {"formats", cli_format_opts, CLI_AT(quantize_args, format)},
    {"calibration", calibration_opts, 0},
    {"accuracy", accuracy_opts, 0},
    {"data", cli_data_opts, CLI_AT(quantize_args, data)},
    {"shapes", cli_shape_opts, CLI_AT(quantize_args, shape)},
    {"engine", cli_engine_opts, CLI_AT(quantize_args, engine)},
    {"options", cli_common_opts, 0},
    {NULL, NULL, 0},
};

/* The option that says how a plan is to be made, if one is given. */
static const char *choice_of_plan(const struct quantize_args *a)
{
    if (a->target != NULL)
        return "--target";
    if (a->exclude.n > 0)
        return "--exclude";
    if (a->include.n > 0)
        return "--include";
    if (a->op_types.n > 0)
        return "--op-types";
    if (a->exclude_op_types.n > 0)
        return "--exclude-op-types";
    if (!a->optimize)
        return "--no-optimize";
    if (a->why != NULL)
        return "--why";
    if (a->method != 0)
        return "--method";
    if (a->cache != NULL)
        return "--cache";
    if (a->equalize)
        return "--equalize";
    if (a->bias_correction)
        return "--bias-correction";
    return cli_format_given(&a->format);
}

/* A target of one's own may say 'percentile' itself. */
static bool takes_percentile(const struct quantize_args *a)
{
    bool is_file = a->target != NULL && strpbrk(a->target, "/.") != NULL;

    return a->method == QDQ_METHOD_PERCENTILE || a->method == QDQ_METHOD_AUTO ||
           (a->method == QDQ_METHOD_DEFAULT && (is_file || a->format.set.n > 0));
}

qdq_status cmd_quantize_check(const struct quantize_args *a, qdq_error *err)
{
    const char *clash = choice_of_plan(a);

    if (a->plan != NULL && clash != NULL)
        return qdq_fail(err, QDQ_E_USAGE, "found --plan and %s: a plan is applied as it is", clash);
    if (a->plan == NULL && a->force_plan)
        return qdq_fail(err, QDQ_E_USAGE, "found --force-plan without --plan");
    if (!(a->percentile > 50 && a->percentile <= 100))
        return qdq_fail(err, QDQ_E_USAGE, "--percentile: found %g, expected more than 50 and at most 100",
                        a->percentile);
    if (a->percentile != 99.999 && !takes_percentile(a))
        return qdq_fail(err, QDQ_E_USAGE, "found --percentile without --method percentile or auto");
    return QDQ_OK;
}
