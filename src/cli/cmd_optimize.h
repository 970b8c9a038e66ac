/* cmd_optimize.h - what optimize knows: for its check (cmd_optimize_check.c) and its summary
 * (cmd_optimize_summary.c). */
#ifndef QDQ_CMD_OPTIMIZE_H
#define QDQ_CMD_OPTIMIZE_H

#include "cli/cli.h"
#include "cli/cli_data.h"
#include "cli/cli_engine.h"
#include "cli/cli_fold.h"
#include "cli/cli_model.h"
#include "qdq/compare.h"
#include "qdq/pass.h"

struct optimize_args {
    cli_common common;
    cli_output_args out;
    cli_engine_args engine;
    cli_data_args data;
    cli_shape_args shape;
    cli_shapes set_shape;
    cli_fold_args fold;
#include "cli/cli_members.def"
#include "cli/cmd_optimize.def"
};

typedef struct optimize {
    cli *c;
    const struct optimize_args *a;
    const char *path;
    /* as it was asked for: names of groups are in it */
    const char *passes;
    /* what that stands for */
    char *pipeline;
    qdq_model *model;
    /* NULL: no engine in particular */
    qdq_target *target;
    qdq_optimize_report *report;

    /* With --check; else NULL. */
    qdq_model *original;
    qdq_engine *engine;
    qdq_data *samples;
    cli_run_shapes run_as;
    /* those that are for inputs of the model */
    cli_shapes shapes;
    qdq_same_result *verdict;
} optimize;

/* Opens data and engine. */
qdq_status cmd_optimize_open_check(optimize *p, qdq_error *err);
/* Fills the verdict: does the model compute what the original does? */
qdq_status cmd_optimize_check(optimize *p, qdq_error *err);
/* The whole of --bisect: looks for the change, prints it. */
qdq_status cmd_optimize_bisect(optimize *p, const qdq_optimize_opts *opts, qdq_error *err);
void cmd_optimize_close_check(optimize *p);

/* `path`: of --report; NULL: stdout, with --json. */
qdq_status cmd_optimize_json(const optimize *p, const char *path, qdq_error *err);
qdq_status cmd_optimize_print_text(const optimize *p, FILE *to, qdq_error *err);

#endif /* QDQ_CMD_OPTIMIZE_H */
