/* cmd_targets.c - the target descriptions, and the list of passes: what the rules are made of. */
#include "base/fail.h"
#include "cli/cli.h"
#include "cli/cli_json.h"
#include "qdq/pass.h"
#include "qdq/quant.h"

static const cli_group groups[] = {{"options", cli_common_opts, 0}, {NULL, NULL, 0}};

typedef const char *(*list_fn)(size_t i, const char **help);

static qdq_status print_list(cli *c, list_fn list, qdq_error *err)
{
    cli_table table = {.arena = &c->arena, .columns = "ll"};
    cli_json j = {false};
    json_t *root = json_array();
    const char *help = NULL;
    const char *name;

    for (size_t i = 0; (name = list(i, &help)) != NULL; i++) {
        json_t *entry = json_object();
        cli_json_set(&j, entry, "name", json_string(name));
        cli_json_set(&j, entry, "help", json_string(help));
        cli_json_add(&j, root, entry);
        cli_cell(&table, "%s", name);
        cli_cell(&table, "%s", help);
    }
    if (c->json)
        return cli_json_print(&j, root, err);
    json_decref(root);
    return cli_table_print(&table, stdout, err);
}

static qdq_status run_targets(cli *c, const void *args, qdq_error *err)
{
    qdq_target *target = NULL;

    (void)args;
    if (c->n_operands == 0)
        return print_list(c, qdq_target_name, err);
    QDQ_TRY(qdq_target_load(c->operand[0], &target, err));
    fputs(qdq_target_text(target), stdout); /* JSON already */
    qdq_target_free(target);
    return QDQ_OK;
}

static qdq_status run_passes(cli *c, const void *args, qdq_error *err)
{
    (void)args;
    return print_list(c, qdq_pass_name, err);
}

const cli_command cmd_targets = {
    .name = "targets",
    .synopsis = "[NAME] [options]",
    .operands = "at most one NAME",
    .min_operands = 0,
    .max_operands = 1,
    .summary = "list targets, or print the description of one",
    .about =
        "Lists the targets: what an engine can run in 8 bits, as data. With a name, prints its description,\n"
        "which can be changed and given to 'qdq quantize --target FILE'. A file is checked and printed.",
    .json = "[{ \"name\", \"help\" }]; with a name: the description, which is JSON with and without --json",
    .example = "qdq targets ort-cpu > my-target.json",
    .groups = groups,
    .args_size = sizeof(cli_common),
    .run = run_targets,
};

const cli_command cmd_passes = {
    .name = "passes",
    .synopsis = "[options]",
    .operands = "none",
    .min_operands = 0,
    .max_operands = 0,
    .summary = "list the passes that clean a model before placement",
    .about = "Lists the passes. Those that quantization runs are recorded in the plan.",
    .json = "[{ \"name\", \"help\" }]",
    .example = "qdq passes",
    .groups = groups,
    .args_size = sizeof(cli_common),
    .run = run_passes,
};
