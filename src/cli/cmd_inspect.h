/* cmd_inspect.h - what the files of 'qdq inspect' share. */
#ifndef QDQ_CMD_INSPECT_H
#define QDQ_CMD_INSPECT_H

#include "cli/cli.h"
#include "cli/cli_engine.h"
#include "cli/cli_range.h"
#include "cli/cli_model.h"

typedef struct cmd_inspect_groups_args {
    cli_engine_args engine;
    cli_shape_args shape;
    cli_range_args range;
#include "cli/cli_members.def"
#include "cli/cmd_inspect_groups.def"
} cmd_inspect_groups_args;

extern const cli_opt cmd_inspect_group_opts[];

/* What an engine executes of the model. */
qdq_status cmd_inspect_groups(cli *c, const cmd_inspect_groups_args *a, qdq_model *m, bool dot,
                              bool verbose, qdq_error *err);

/* An option but --engine that means nothing without --groups, as it was given; NULL: none was. */
const char *cmd_inspect_groups_given(const cmd_inspect_groups_args *a);

#endif /* QDQ_CMD_INSPECT_H */
