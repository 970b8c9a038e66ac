/* cmd_targets.c - the target descriptions: what placement is made of. */
#include "base/fail.h"
#include "cli/cli.h"
#include "cli/cli_json.h"
#include "qdq/quant.h"

static const cli_group groups[] = {{"options", cli_common_opts, 0}, {NULL, NULL, 0}};

static qdq_status list_targets(cli *c, qdq_error *err)
{
    cli_table table = {.arena = &c->arena, .columns = "ll"};
    cli_json j = {false};
    json_t *root = json_array();
    const char *help = NULL;
    const char *name;

    for (size_t i = 0; (name = qdq_target_name(i, &help)) != NULL; i++) {
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
        return list_targets(c, err);
    QDQ_TRY(qdq_target_load(c->operand[0], &target, err));
    fputs(qdq_target_text(target), stdout); /* JSON already */
    qdq_target_free(target);
    return QDQ_OK;
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
