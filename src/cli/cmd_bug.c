/* cmd_bug.c - `qdq __bug`: what a defect looks like to a script. Nothing else can provoke it on
 * purpose. */
#include "base/fail.h"
#include "cli/cli.h"

static const cli_group groups[] = {{"options", cli_common_opts, 0}, {NULL, NULL, 0}};

static qdq_status run_bug(cli *c, const void *args, qdq_error *err)
{
    (void)c;
    (void)args;
    return qdq_fail(err, QDQ_E_BUG, "__bug: a defect that was asked for");
}

const cli_command cmd_bug = {
    .name = "__bug",
    .synopsis = "",
    .operands = "none",
    .summary = "fail as a defect does",
    .about = "Fails as a defect in qdq does: tests of exit code 70.",
    .example = "qdq __bug",
    .groups = groups,
    .args_size = sizeof(cli_common),
    .run = run_bug,
    .hidden = true,
};
