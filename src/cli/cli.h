/* cli.h - what a running command has: memory, terminal, cancel flag, operands. */
#ifndef QDQ_CLI_H
#define QDQ_CLI_H

#include "base/arena.h"
#include "cli/cli_args.h"
#include "cli/cli_ui.h"
#include "qdq/status.h"

typedef struct cli_file {
    const char *path;
    /* that names it, or "MODEL" */
    const char *option;
    cli_use use;
} cli_file;

struct cli {
    /* lives as long as the process */
    qdq_arena arena;
    cli_ui ui;
    qdq_cancel *cancel;
    /* log, progress and cancel, for the library */
    qdq_job job;
    const char *const *operand;
    size_t n_operands;
    /* that the command line names (cli_files.h) */
    QDQ_VEC(cli_file) files;
    bool json;
    /* file that stands for the target that was named; NULL: none (cli_installed.h) */
    const char *installed;
    /* what the host of --host is; NULL: none, or not asked yet (cli_host.h) */
    const struct qdq_host_info *host;
    bool stdin_taken;
    /* set by a command whose answer is no: exit 1 */
    bool negative;
};

/* What main prints its list from and hands to the documentation; ends with NULL. */
extern const cli_command *const cli_commands[];

extern const cli_command cmd_autotune, cmd_bench, cmd_bug, cmd_calibrate, cmd_check, cmd_compare,
    cmd_copy, cmd_docs, cmd_engines, cmd_extract, cmd_import, cmd_inspect, cmd_optimize, cmd_passes,
    cmd_quantize, cmd_stores, cmd_strip, cmd_targets;

/* Runs the command line, prints the error if there is one, closes the standard output, and returns
 * the exit code. Once in a process, but for tests, which open descriptor 1 again. */
int cli_run(int argc, char *const *argv);

/* 0 to 5, 6, 70, 130: docs/cli.md. */
int cli_exit_code(qdq_status st);

/* The meaning of the exit codes, one for each line of the table: 0 past the end with *what NULL. */
int cli_exit_meaning(size_t i, const char **what);

#endif /* QDQ_CLI_H */
