/* cli_fold.h - which constants are computed: the options that optimize, quantize and autotune
 * share. */
#ifndef QDQ_CLI_FOLD_H
#define QDQ_CLI_FOLD_H

#include "cli/cli.h"

typedef struct cli_fold_args {
    cli_names no_fold, fold_only;   /* operators */
    uint64_t input, output, growth; /* bytes */
} cli_fold_args;

/* All but --growth-budget, whose default differs from command to command. */
extern const cli_opt cli_fold_opts[];

/* An option that is not at its default, "--no-fold"; NULL: none. `growth` is the default of
 * --growth-budget. */
const char *cli_fold_given(const cli_fold_args *a, uint64_t growth);

/* `passes` and, if an option is given, the step of a pipeline that says the same. */
qdq_status cli_fold_pipeline(cli *c, const char *passes, const cli_fold_args *a, uint64_t growth,
                             const char **out, qdq_error *err);

#endif /* QDQ_CLI_FOLD_H */
