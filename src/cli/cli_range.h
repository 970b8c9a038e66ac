/* cli_range.h - --min-shape, --opt-shape and --max-shape, or the same in --trtexec-args: trtexec
 * builds for all three and times the second, which is the shape for every other engine. */
#ifndef QDQ_CLI_RANGE_H
#define QDQ_CLI_RANGE_H

#include "cli/cli_engine.h"
#include "cli/cli_model.h"

typedef struct cli_range_args {
#include "cli/cli_members.def"
#include "cli/cli_range.def"
} cli_range_args;

extern const cli_opt cli_range_opts[];

/* What was asked for, in either place. */
typedef struct cli_range {
    cli_shapes min, opt, max;
    /* of trtexec, which has them already */
    bool in_args;
    /* an option of --trtexec-args that is no shape; NULL */
    const char *other;
} cli_range;

/* Each input has an opt, equal ranks, min <= opt <= max, and no --shape; QDQ_E_USAGE says where
 * not. */
qdq_status cli_range_read(cli *c, const cli_range_args *given, const cli_engine_args *engine,
                          const cli_shapes *shapes, cli_range *out, qdq_error *err);

/* What engine a->engine is to be given: trtexec more options, any other one more shapes, and
 * nothing of --trtexec-args; QDQ_E_USAGE if there is more than shapes in it. */
qdq_status cli_range_apply(cli *c, const cli_range *r, cli_engine_args *a, cli_shapes *shapes,
                           qdq_error *err);

/* *out: `shapes` and what opt shapes are not among them, for what people are told, and for data. */
qdq_status cli_range_merge(cli *c, const cli_range *r, const cli_shapes *shapes, cli_shapes *out,
                           qdq_error *err);

#endif /* QDQ_CLI_RANGE_H */
