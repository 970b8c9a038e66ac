/* cmd_passes.c - the list of passes: what pipelines are made of. */
#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "cli/cli.h"
#include "cli/cli_docs.h"
#include "cli/cli_json.h"
#include "qdq/pass.h"

static const cli_group groups[] = {{"options", cli_common_opts, 0}, {NULL, NULL, 0}};

typedef struct lists {
    /* "a,b" */
    char *of_default, *of_quantize;
} lists;

/* The smallest group that has the pass, "" for those that must be named. */
static const char *group_of(const lists *l, const char *name)
{
    if (qdq_text_lists(l->of_default, ",", name, strlen(name)))
        return "default";
    return qdq_text_lists(l->of_quantize, ",", name, strlen(name)) ? "quantize" : "";
}

static qdq_status print_list(cli *c, const lists *l, qdq_error *err)
{
    cli_table table = {.arena = &c->arena, .columns = "lll"};
    qdq_json_doc d = {0};
    qdq_json_out root = qdq_json_list(&d);
    const char *help = NULL;
    const char *name;

    for (size_t i = 0; (name = qdq_pass_name(i, &help)) != NULL; i++) {
        const char *group = group_of(l, name);

        qdq_json_out entry = qdq_json_put_object(root, NULL);
        qdq_json_put_text(entry, "name", name);
        qdq_json_put_some(entry, "group", group);
        qdq_json_put_text(entry, "help", help);
        CLI_CELLS(&table, name, group[0] != '\0' ? group : "-", help);
    }
    if (c->json)
        return cli_json_print(&d, err);
    qdq_json_drop(&d);
    return cli_table_print(&table, stdout, err);
}

static qdq_status open_lists(lists *l, qdq_error *err)
{
    *l = (lists){NULL, NULL};
    QDQ_TRY(qdq_pass_pipeline("default", NULL, &l->of_default, err));
    return qdq_pass_pipeline("quantize", NULL, &l->of_quantize, err);
}

static void close_lists(lists *l)
{
    qdq_free(l->of_default);
    qdq_free(l->of_quantize);
}

static qdq_status run_passes(cli *c, const void *args, qdq_error *err)
{
    lists l;

    (void)args;
    qdq_status st = open_lists(&l, err);
    if (st == QDQ_OK)
        st = print_list(c, &l, err);
    close_lists(&l);
    return st;
}

void cli_docs_passes(qdq_buf *out)
{
    const char *help, *name;
    lists l;

    out->failed = open_lists(&l, NULL) != QDQ_OK || out->failed;
    qdq_buf_puts(out, "# Passes\n\nMade by `qdq __docs passes` from `src/opt/passes.def`: do not "
                      "edit. In the order in which groups run\nthem; what a group is, and what may "
                      "touch Q/DQ: [optimizer.md](optimizer.md).\n\n"
                      "| pass | group | what it does |\n|---|---|---|\n");
    for (size_t i = 0; !out->failed && (name = qdq_pass_name(i, &help)) != NULL; i++)
        qdq_buf_printf(out, "| `%s` | %s | %s |\n", name, group_of(&l, name), help);
    close_lists(&l);
}

const cli_command cmd_passes = {
    .name = "passes",
    .synopsis = "[options]",
    .operands = "none",
    .min_operands = 0,
    .max_operands = 0,
    .summary = "list the passes that optimize models",
    .about =
        "Lists the passes in the order in which groups run them. A group is a name for several of "
        "them:\n"
        "    default     what 'qdq optimize' runs; a target may add some of the others to it\n"
        "    quantize    the same and more: what 'qdq quantize' runs before it places anything\n"
        "    rules       the rewrite rules in default\n"
        "A pass without a group runs where it is named. A pipeline is text, names with commas "
        "between:\n"
        "    name:word+word    a pass with arguments\n"
        "    -name             takes a pass out of what stands before it\n"
        "Plans record the pipeline with its groups spelled out.",
    .json = "[{ \"name\", \"group\": \"default\", \"quantize\" or null, \"help\" }]",
    .example = "qdq passes",
    .groups = groups,
    .args_size = sizeof(cli_common),
    .run = run_passes,
};
