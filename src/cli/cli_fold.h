/* cli_fold.h - which constants are computed: the options that optimize, quantize and autotune
 * share. */
#ifndef QDQ_CLI_FOLD_H
#define QDQ_CLI_FOLD_H

#include "cli/cli.h"

typedef struct cli_fold_args {
#include "cli/cli_members.def"
#include "cli/cli_fold.def"
} cli_fold_args;

extern const cli_opt cli_fold_opts[], cli_fold_growth_opts[];

/* An option that is not at its default, "--no-fold"; NULL: none. */
const char *cli_fold_given(const cli_fold_args *a);

/* `passes` and, if an option is given, the step of a pipeline that says the same. */
qdq_status cli_fold_pipeline(cli *c, const char *passes, const cli_fold_args *a, const char **out,
                             qdq_error *err);

#endif /* QDQ_CLI_FOLD_H */
