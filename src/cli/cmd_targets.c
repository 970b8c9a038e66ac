/* cmd_targets.c - the target descriptions: what placement is made of. */
#include "cli/cmd_targets.h"

#include "base/fail.h"
#include "cli/cli_json.h"
#include "cli/cli_text.h"
#include "qdq/quant.h"

#define ARGS targets_args
#include "cli/cli_tables.def"
#include "cli/cmd_targets.def"

static const cli_group groups[] = {
    {"targets", options, 0},
    {"engine", engine_opts, 0},
    {"", cli_engine_opts + 1, CLI_AT(targets_args, engine)}, /* with another default of --engine */
    {"options", cli_common_opts, 0},
    {NULL, NULL, 0},
};

static qdq_status list_targets(cli *c, qdq_error *err)
{
    cli_table table = {.arena = &c->arena, .columns = "ll"};
    qdq_json_doc d = {0};
    qdq_json_out root = qdq_json_list(&d);
    const char *help = NULL;
    const char *name;

    for (size_t i = 0; (name = qdq_target_name(i, &help)) != NULL; i++) {
        qdq_json_out entry = qdq_json_put_object(root, NULL);
        qdq_json_put_text(entry, "name", name);
        qdq_json_put_text(entry, "help", help);
        CLI_CELLS(&table, name, help);
    }
    if (c->json)
        return cli_json_print(&d, err);
    qdq_json_drop(&d);
    return cli_table_print(&table, stdout, err);
}

static qdq_status check_args(const cli *c, const struct targets_args *a, qdq_error *err)
{
    if (!a->measure && a->engine.host != NULL)
        return qdq_fail(err, QDQ_E_USAGE, "found --host without --measure");
    if (!a->measure && (a->output != NULL || a->install))
        return qdq_fail(err, QDQ_E_USAGE, "found %s without --measure",
                        a->install ? "--install" : "--output");
    if (a->compare && (a->measure || c->n_operands != 2))
        return qdq_fail(err, QDQ_E_USAGE, "--compare: found %s; expected two targets",
                        a->measure           ? "--measure"
                        : c->n_operands == 1 ? "one target"
                                             : "no target");
    if (!a->compare && c->n_operands > 1)
        return qdq_fail(err, QDQ_E_USAGE, "unexpected argument '%s': expected at most one NAME",
                        c->operand[1]);
    if (a->measure && c->n_operands != 1)
        return qdq_fail(err, QDQ_E_USAGE, "--measure: found no NAME; expected a target");
    return QDQ_OK;
}

static qdq_status run_targets(cli *c, const void *args, qdq_error *err)
{
    const struct targets_args *a = args;
    qdq_target *target = NULL;

    QDQ_TRY(check_args(c, a, err));
    if (a->compare)
        return cmd_targets_compare(c, err);
    if (a->measure)
        return cmd_targets_measure(c, a, err);
    if (c->n_operands == 0)
        return list_targets(c, err);
    QDQ_TRY(qdq_target_load(c->operand[0], &target, err));
    cli_text_set_mode(CLI_TEXT_JSON);
    fputs(qdq_target_text(target), stdout);
    qdq_target_free(target);
    return QDQ_OK;
}

const cli_command cmd_targets = {
    .name = "targets",
    .synopsis = "[NAME] [options] | --compare A B",
    .operands = "at most two targets",
    .min_operands = 0,
    .max_operands = 2,
    .summary = "list targets, print, measure or compare their rules",
    .about =
        "Lists the targets: what an engine runs in 8 bits, as data. With a name, prints its\n"
        "description, which can be changed and passed to 'qdq quantize --target FILE'. A file is\n"
        "checked and printed.\n"
        "\n"
        "--measure builds the probes of NAME (docs/targets.md, 'Measured rules') with each rule\n"
        "and without it, times them on the target's engine in interleaved pairs, and writes a\n"
        "target whose rules hold on this machine: kept, switched off, or with a measured\n"
        "threshold, each with its figures. An undecided rule stays unchanged. Ctrl-C keeps\n"
        "finished probes. On a busy machine, where the 95 % interval of an A/A test is wider than\n"
        "3 %, it exits with 5 and writes nothing.\n"
        "\n"
        "--install writes into $XDG_CONFIG_HOME/qdq/targets (default: ~/.config/qdq/targets), by\n"
        "engine, version and processor. Other commands then use this file for --target NAME where\n"
        "all three match, and report it; '--target builtin:NAME' is the target without it.\n"
        "\n"
        "--compare prints the keys that differ in two targets, names or files, and their\n"
        "measurements.",
    .json = "[{ \"name\", \"help\" }]; with a name: the description, which is JSON with and "
            "without --json;\n"
            "with --measure: { \"target\", \"engine\", \"version\", \"processor\", \"output\", "
            "\"seconds\", \"builds\",\n"
            "\"control\": [low, high], \"probes\": [{ \"op\", \"rule\", \"probe\", \"key\", "
            "\"before\", \"after\", \"verdict\",\n"
            "\"factor\", \"interval\", \"at\", \"pairs\" }] }; a verdict of null has \"why\" in "
            "place of figures;\n"
            "with --compare: [{ \"place\", \"key\", \"a\", \"b\", \"figures_a\", \"figures_b\" }]",
    .example = "qdq targets ort-cpu > my-target.json\nqdq targets ort-cpu --measure -o "
               "measured.json\nqdq targets --compare ort-cpu measured.json",
    .common = "compare measure output install force time engine json help",
    .groups = groups,
    .args_size = sizeof(struct targets_args),
    .run = run_targets,
};
