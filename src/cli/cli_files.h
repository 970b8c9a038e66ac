/* cli_files.h - the files that one command names, compared with each other before any work
 * begins. */
#ifndef QDQ_CLI_FILES_H
#define QDQ_CLI_FILES_H

#include "cli/cli.h"

typedef enum cli_file_use {
    CLI_READS,
    CLI_READS_MODEL, /* may be the file of CLI_WRITES_MODEL: a model is changed in place */
    CLI_WRITES,
    CLI_WRITES_MODEL
} cli_file_use;

typedef struct cli_file {
    const char *path;   /* NULL and "-" are skipped */
    const char *option; /* that names it, or "MODEL" */
    cli_file_use use;
} cli_file;

/* Refuses as a mistake of usage that two of them are one file (also by links or other spellings)
 * which the command writes. */
qdq_status cli_files_check(const cli_file *list, size_t n, qdq_error *err);

#endif /* QDQ_CLI_FILES_H */
