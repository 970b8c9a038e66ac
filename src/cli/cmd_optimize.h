/* cmd_optimize.h - what optimize knows when its work is done: for its summary. */
#ifndef QDQ_CMD_OPTIMIZE_H
#define QDQ_CMD_OPTIMIZE_H

#include "cli/cli.h"
#include "cli/cli_model.h"
#include "qdq/pass.h"

struct optimize_args {
    cli_common common;
    cli_output_args out;
    const char *target, *passes, *report;
    cli_names no_fold, fold_only;
    uint64_t fold_input, fold_output, growth;
    bool freeze_inputs, verify_each, print_changed;
};

typedef struct optimize {
    cli *c;
    const struct optimize_args *a;
    const char *path;
    const char *passes; /* as it was asked for: names of groups are in it */
    char *pipeline;     /* what that stands for */
    qdq_model *model;
    qdq_target *target; /* NULL: no engine in particular */
    qdq_optimize_report *report;
} optimize;

/* To stdout with --json, to a file with --report. */
qdq_status cmd_optimize_print_json(const optimize *p, qdq_error *err);
qdq_status cmd_optimize_write_json(const optimize *p, qdq_error *err);
qdq_status cmd_optimize_print_text(const optimize *p, FILE *to, qdq_error *err);

#endif /* QDQ_CMD_OPTIMIZE_H */
