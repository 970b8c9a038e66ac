/* cli_range.h - --min-shape, --opt-shape and --max-shape: trtexec builds for all three and times the second, which is the shape for
 * every other engine. */
#ifndef QDQ_CLI_RANGE_H
#define QDQ_CLI_RANGE_H

#include "cli/cli_engine.h"
#include "cli/cli_model.h"

typedef struct cli_range_args {
    cli_shapes min, opt, max;
} cli_range_args;

extern const cli_opt cli_range_opts[];

/* Each input has an opt, equal ranks, min <= opt <= max, and no --shape; QDQ_E_USAGE says where not. */
qdq_status cli_range_check(const cli_range_args *r, const cli_shapes *shapes, qdq_error *err);

/* What engine a->engine is to be given: trtexec more options, any other one more shapes. */
qdq_status cli_range_apply(cli *c, const cli_range_args *r, cli_engine_args *a, cli_shapes *shapes,
                           qdq_error *err);

/* *out: `shapes` and the opt shapes, for what people are told. */
qdq_status cli_range_merge(cli *c, const cli_range_args *r, const cli_shapes *shapes, cli_shapes *out,
                           qdq_error *err);

#endif /* QDQ_CLI_RANGE_H */
