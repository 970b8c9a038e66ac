/* cli_config.h - options from a YAML file: --config. */
#ifndef QDQ_CLI_CONFIG_H
#define QDQ_CLI_CONFIG_H

#include "cli/cli_opt.h"

/* Is the option at `o` given on the command line? Then the file's word does not count. */
typedef bool cli_config_is_given(void *ctx, const cli_opt *o);

/* Sets the options of the file in `args`: its keys are the long names of the command's options.
 * Mistakes are QDQ_E_FORMAT: "FILE:LINE:COLUMN: key 'K': found, expected". */
qdq_status cli_config_read(const cli_command *cmd, const char *path, cli_config_is_given *given,
                           void *ctx, qdq_arena *arena, void *args, qdq_error *err);

#endif /* QDQ_CLI_CONFIG_H */
