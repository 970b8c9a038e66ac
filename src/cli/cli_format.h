/* cli_format.h - options that say which target is meant and how its number formats differ from its
 * description. */
#ifndef QDQ_CLI_FORMAT_H
#define QDQ_CLI_FORMAT_H

#include "cli/cli.h"
#include "cli/cli_engine.h"
#include "qdq/quant.h"

typedef struct cli_format_args {
#include "cli/cli_members.def"
#include "cli/cli_format.def"
} cli_format_args;

extern const cli_opt cli_format_opts[];
extern const char *const cli_cpus[]; /* choices of --cpu */

/* As if --format said so. */
qdq_status cli_format_preset(const char *name, cli_format_args *a, qdq_error *err);

/* Does the user name types, zero points, blocks or stores? Then no layer gets others. */
bool cli_format_is_named(const cli_format_args *a);

/* The target NAME (NULL: ort-cpu) with these changes: first the preset, then the options, then
 * --set. A built-in one is replaced by what was installed for this machine (cli_installed.h),
 * unless its name begins with "builtin:"; c->installed is the file then. `engine`: options of the
 * command; NULL: it has none. */
qdq_status cli_target_open(cli *c, const char *name, const cli_format_args *a,
                           const cli_engine_args *engine, qdq_target **out, qdq_error *err);

#endif /* QDQ_CLI_FORMAT_H */
