/* cmd_quantize_args.c - the options of quantize, one table for each theme, and what they mean
 * together. */
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
     .help = "apply a plan that was made for another model"},
    {.name = "plan-out",
     .kind = CLI_FILE,
     .offset = CLI_AT(quantize_args, plan_out),
     .what = "FILE",
     .help = "write the plan to FILE"},
    {.name = "dry-run",
     .kind = CLI_FLAG,
     .offset = CLI_AT(quantize_args, dry_run),
     .help = "print what would be quantized, and write nothing"},
    {.name = "why",
     .kind = CLI_TEXT,
     .offset = CLI_AT(quantize_args, why),
     .what = "NAME",
     .help = "print every rule for this node or tensor, and its verdict"},
    CLI_END,
};

static const cli_opt threads_opts[] = {
    {.letter = 't',
     .name = "threads",
     .kind = CLI_WHOLE,
     .offset = CLI_AT(quantize_args, threads),
     .what = "N",
     .help = "run with N threads; 0: all; affects last digits of scales",
     .init = "0",
     .min = 0,
     .max = 1024},
    {.name = "bench",
     .kind = CLI_FLAG,
     .offset = CLI_AT(quantize_args, bench),
     .help = "time the written model against the input",
     .init = "on"},
    CLI_END,
};

static const cli_opt goal_opts[] = {
    {.name = "report",
     .kind = CLI_FILE,
     .offset = CLI_AT(quantize_args, report),
     .what = "FILE",
     .help = "write an HTML page: latency, accuracy, layers, ranges, boundaries"},
    {.name = "overlay",
     .kind = CLI_FILE,
     .offset = CLI_AT(quantize_args, overlay),
     .what = "FILE",
     .help = "write formats and times of nodes for Model Explorer"},
    {.name = "metadata",
     .kind = CLI_FLAG,
     .offset = CLI_AT(quantize_args, metadata),
     .help = "note formats and rules in node metadata, for Netron"},
    {.name = "times",
     .kind = CLI_FILE,
     .offset = CLI_AT(quantize_args, times),
     .what = "PLAN",
     .help = "take times of a goal search from PLAN instead of a clock"},
    {.name = "best-effort",
     .kind = CLI_FLAG,
     .offset = CLI_AT(quantize_args, best_effort),
     .help = "write the nearest model if the goal is missed"},
    CLI_END,
};

const cli_group cmd_quantize_groups[] = {
    {"output", cli_output_opts, CLI_AT(quantize_args, out)},
    {"plan", plan_opts, 0},
    {"tuning", cmd_quantize_tune_opts, 0},
    {"what is quantized", cli_quant_what_opts, CLI_AT(quantize_args, quant)},
    {"", cli_quant_clean_opts, CLI_AT(quantize_args, quant)},
    {"constant folding", cli_fold_opts, CLI_AT(quantize_args, quant.fold)},
    {"", cli_quant_growth_opts, CLI_AT(quantize_args, quant)},
    {"formats", cli_format_opts, CLI_AT(quantize_args, quant.format)},
    {"calibration", cli_quant_calibration_opts, CLI_AT(quantize_args, quant)},
    {"", threads_opts, 0},
    {"accuracy", cli_quant_accuracy_opts, CLI_AT(quantize_args, quant)},
    {"", goal_opts, 0},
    {"data", cli_data_opts, CLI_AT(quantize_args, quant.data)},
    {"shapes", cli_shape_opts, CLI_AT(quantize_args, quant.shape)},
    {"", cli_set_shape_opts, CLI_AT(quantize_args, quant.set_shape)},
    {"engine", cli_engine_opts, CLI_AT(quantize_args, engine)},
    {"", cli_trtexec_opts, CLI_AT(quantize_args, engine)},
    {"options", cli_common_opts, 0},
    {NULL, NULL, 0},
};

qdq_status cmd_quantize_check(const struct quantize_args *a, qdq_error *err)
{
    const char *clash = cli_quant_choice(&a->quant);

    if (clash == NULL && a->why != NULL)
        clash = "--why";
    if (a->plan != NULL && clash != NULL)
        return qdq_fail(err, QDQ_E_USAGE, "--plan: conflicts with %s; expected one of them", clash);
    if (a->plan == NULL && a->force_plan)
        return qdq_fail(err, QDQ_E_USAGE, "found --force-plan without --plan");
    QDQ_TRY(cmd_quantize_tune_check(a, err));
    return cli_quant_check(&a->quant, err);
}
