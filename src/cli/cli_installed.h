/* cli_installed.h - targets that 'qdq targets NAME --measure --install' left for this machine: one
 * file for each engine, version and processor, below $XDG_CONFIG_HOME/qdq/targets
 * (~/.config/qdq/targets). */
#ifndef QDQ_CLI_INSTALLED_H
#define QDQ_CLI_INSTALLED_H

#include "cli/cli.h"
#include "cli/cli_engine.h"

/* The file of a target, FOLDER/ENGINE-VERSION/PROCESSOR/NAME.json, in the arena. Characters that
 * are no part of a file's name become '_'. QDQ_E_USAGE: the environment names no folder. */
qdq_status cli_installed_path(cli *c, const char *name, const char *engine, const char *version,
                              const char **path, qdq_error *err);

/* The folder of a file of cli_installed_path() is there afterwards. */
qdq_status cli_installed_make_folder(cli *c, const char *path, qdq_error *err);

/* The file of the built-in target `name` for the engine that runs it here (`engine` of `a`, if that
 * one runs it) and for this processor. *path is NULL where there is none. The engine is opened, for
 * its version, only if there is a file of any version. */
qdq_status cli_installed_find(cli *c, const char *name, const cli_engine_args *a, const char **path,
                              qdq_error *err);

/* For summaries: a line that names the file that is used in place of a built-in target, if there is
 * one. */
void cli_installed_print(const cli *c, FILE *to);

#endif /* QDQ_CLI_INSTALLED_H */
