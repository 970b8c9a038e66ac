/* cli_files.h - the files that a command line names: none that is written is another one, those
 * that are written can be there, and the result lists them. All come from the option tables. */
#ifndef QDQ_CLI_FILES_H
#define QDQ_CLI_FILES_H

#include "cli/cli.h"
#include "cli/cli_json.h"
#include "qdq/model.h"

bool cli_is_stdout(const char *path); /* "-" */

/* Before a file is written: refuses what exists without `force`, what is no regular file, a missing
 * folder. */
qdq_status cli_path_check(const char *path, bool force, qdq_error *err);

/* Fills c->files: the first operand as MODEL, and every option with a use. */
qdq_status cli_files_collect(cli *c, const cli_command *cmd, const void *args, qdq_error *err);

/* One that is no option's: `option` names it in messages, "a file of --output". */
qdq_status cli_files_add(cli *c, const char *path, const char *option, cli_use use, qdq_error *err);

/* Before the work: two of them that are one file (also by links or other spellings), of which the
 * command writes one, are an error of usage. What is written is checked by cli_path_check(), but
 * for the model (cli_output_check()). */
qdq_status cli_files_check(cli *c, bool force, qdq_error *err);

/* After the input is loaded: none that is written lies where its external data are. */
qdq_status cli_files_guard(const cli *c, const qdq_model *m, qdq_error *err);

/* [{"path","bytes"}] of what was written, each model with its side file. `but`: the file that this
 * list is written to; NULL: none. */
void cli_files_json(qdq_json_out list, const cli *c, const char *but);
/* The same as a table, behind `paths`. */
qdq_status cli_files_print(cli *c, const char *const *paths, size_t n, FILE *to, qdq_error *err);

/* Of a command line that writes nothing, for `why`: files that it would lack are an error. -o is
 * none, it is what the command would write. */
qdq_status cli_files_none(const cli *c, const char *why, qdq_error *err);

/* Warns where a model that is written replaces the one that is read: its weights are lost. */
void cli_files_warn_of_replacing(cli *c);

#endif /* QDQ_CLI_FILES_H */
