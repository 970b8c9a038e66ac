/* cli_groups.h - executed layers as a table and as JSON: of an engine ('inspect --groups') or of a
 * file. */
#ifndef QDQ_CLI_GROUPS_H
#define QDQ_CLI_GROUPS_H

#include "cli/cli.h"
#include "cli/cli_engine.h"
#include "cli/cli_json.h"
#include "cli/cli_model.h"
#include "cli/cli_range.h"
#include "qdq/check.h"

/* The layers of one run, and what was found about them. */
typedef struct cli_groups {
    qdq_layer *group;
    size_t n;
    qdq_layer_finding *finding;
    size_t n_findings;
} cli_groups;

/* Where layers come from: an engine that builds the model, or a file that says what one built. */
typedef struct cli_groups_from {
    /* of which `engine` may be NULL: ort */
    const cli_engine_args *engine;
    const cli_shapes *shapes;
    int threads;
    /* the latter may be NULL; layer_info NULL: ask the engine */
    const char *layer_info, *layer_profile;
} cli_groups_from;

/* QDQ_E_USAGE: both, or a profile without layers. */
qdq_status cli_groups_from_check(const cli_groups_from *from, qdq_error *err);

/* The first option that is not at its default: of `opts`, whose struct is `args`, or one that says
 * for which shapes layers are to be; NULL: none. */
const char *cli_groups_given(const cli_opt *opts, const void *args, const cli_shape_args *shape,
                             const cli_range_args *range);

/* `runs` profiled runs on random input, or 0: no times. *e: the engine that was asked, to be
 * closed; NULL: a file was read. */
qdq_status cli_groups_get(cli *c, const cli_groups_from *from, const qdq_model *m, unsigned runs,
                          cli_groups *g, qdq_engine **e, qdq_error *err);

/* "a, b, and 3 more": at most `most` names, or one more; in the arena of c. */
const char *cli_nodes_text(cli *c, const char *const *node, size_t n, size_t most);

/* Fills in the findings. */
qdq_status cli_groups_check(const qdq_model *m, cli_groups *g, qdq_error *err);
void cli_groups_free(cli_groups *g);

/* A table, the findings, a line of sums. `verbose`: all nodes of every layer. */
qdq_status cli_groups_print(cli *c, const cli_groups *g, bool verbose, qdq_error *err);

/* {"layers": [...], "findings": [...], and sums}. */
void cli_groups_json(qdq_json_out root, const cli_groups *g);

#endif /* QDQ_CLI_GROUPS_H */
