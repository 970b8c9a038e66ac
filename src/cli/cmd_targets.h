/* cmd_targets.h - what the files of the command share. */
#ifndef QDQ_CMD_TARGETS_H
#define QDQ_CMD_TARGETS_H

#include "cli/cli.h"
#include "cli/cli_engine.h"

struct targets_args {
    cli_common common;
    cli_engine_args engine;
#include "cli/cli_members.def"
#include "cli/cmd_targets.def"
};

/* --measure: times the rules of the target, writes it, and prints what came of each. */
qdq_status cmd_targets_measure(cli *c, const struct targets_args *a, qdq_error *err);

/* --compare: how two targets differ, with figures. */
qdq_status cmd_targets_compare(cli *c, qdq_error *err);

#endif /* QDQ_CMD_TARGETS_H */
