/* cmd_autotune.h - the options of autotune. */
#ifndef QDQ_CMD_AUTOTUNE_H
#define QDQ_CMD_AUTOTUNE_H

#include "cli/cli_range.h"
#include "cli/cli_regions.h"
#include "cli/cli_tune.h"

struct autotune_args {
    cli_common common;
    cli_engine_args engine;
    cli_range_args range;
    cli_quant_args quant;
    cli_region_args regions;
#include "cli/cli_members.def"
#include "cli/cmd_autotune.def"
};

/* cmd_autotune_args.c */
extern const cli_group cmd_autotune_groups[];

/* What does not go together, and files that are not there. `n_models`: operands. */
qdq_status cmd_autotune_check(const struct autotune_args *a, size_t n_models, qdq_error *err);

/* The formats with what --type says. */
qdq_status cmd_autotune_format(const struct autotune_args *a, cli_format_args *out, qdq_error *err);

/* Options of the tuner that point to each other. */
typedef struct autotune_opts {
    qdq_tune_opts tune;
    qdq_tune_details details;
    qdq_region_opts regions;
} autotune_opts;

/* What is peculiar to tuning, but for the baselines. */
qdq_status cmd_autotune_fill(const struct autotune_args *a, autotune_opts *to, qdq_error *err);

#endif /* QDQ_CMD_AUTOTUNE_H */
