/* cmd_quantize_args.c - the options of quantize, one table for each theme, and what they mean
 * together. */
#include "base/fail.h"
#include "cli/cmd_quantize.h"

#define ARGS quantize_args
#include "cli/cli_tables.def"
#include "cli/cmd_quantize.def"

const cli_group cmd_quantize_groups[] = {
    {"output", cli_output_opts, CLI_AT(quantize_args, out)},
    {"plan", plan_opts, 0},
    {"tuning", tune_opts, 0},
    {"what is quantized", cli_quant_what_opts, CLI_AT(quantize_args, quant)},
    {"", cli_quant_clean_opts, CLI_AT(quantize_args, quant)},
    {"constant folding", cli_fold_opts, CLI_AT(quantize_args, quant.fold)},
    {"", cli_fold_growth_opts, CLI_AT(quantize_args, quant.fold)},
    {"formats", cli_format_opts, CLI_AT(quantize_args, quant.format)},
    {"calibration", cli_quant_calibration_opts, CLI_AT(quantize_args, quant)},
    {"", channel_opts, 0},
    {"", threads_opts, 0},
    {"accuracy", cli_quant_accuracy_opts, CLI_AT(quantize_args, quant)},
    {"", goal_opts, 0},
    {"data", cli_data_opts, CLI_AT(quantize_args, quant.data)},
    {"", cli_state_opts, CLI_AT(quantize_args, quant.state)},
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

    if (clash == NULL && a->float_channels != QDQ_FLOAT_CHANNELS_AUTO)
        clash = "--float-channels";
    if (clash == NULL && a->smooth != QDQ_SMOOTH_AUTO)
        clash = "--smooth";
    if (clash == NULL && a->why != NULL)
        clash = "--why";
    if (a->plan != NULL && clash != NULL)
        return qdq_fail(err, QDQ_E_USAGE, "--plan: conflicts with %s; expected one of them", clash);
    if (a->plan == NULL && a->force_plan)
        return qdq_fail(err, QDQ_E_USAGE, "found --force-plan without --plan");
    QDQ_TRY(cmd_quantize_tune_check(a, err));
    return cli_quant_check(&a->quant, err);
}
