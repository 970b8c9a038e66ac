/* cli_args.h - what is made from option tables: parsing and --help; cli_docs.c adds the manual, the
 * man page and shell completion. */
#ifndef QDQ_CLI_ARGS_H
#define QDQ_CLI_ARGS_H

#include "cli/cli_opt.h"

typedef struct cli_parsed {
    /* cmd->args_size bytes */
    void *args;
    const char *const *operand;
    size_t n_operands;
} cli_parsed;

/* Parses the arguments behind the command's name. Text points into argv or the arena. With --help
 * the operands are not counted. */
qdq_status cli_parse(const cli_command *cmd, int argc, char *const *argv, qdq_arena *arena,
                     cli_parsed *out, qdq_error *err);

/* The help of a command: its common options, or `all` and the JSON that it prints. */
void cli_help(const cli_command *cmd, bool all, qdq_buf *out);

/* "-o, --output FILE", "    --[no-]sqnr": as in help and manual. */
void cli_opt_label(const cli_opt *o, qdq_buf *out);
/* "[default]" with a blank in front, or nothing. */
void cli_opt_default(const cli_opt *o, qdq_buf *out);

#endif /* QDQ_CLI_ARGS_H */
