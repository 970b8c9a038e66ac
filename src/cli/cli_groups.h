/* cli_groups.h - executed layers as a table and as JSON: of an engine ('inspect --groups') or of a file. */
#ifndef QDQ_CLI_GROUPS_H
#define QDQ_CLI_GROUPS_H

#include "cli/cli.h"
#include "cli/cli_json.h"
#include "qdq/check.h"

/* The layers of one run, and what was found about them. */
typedef struct cli_groups {
    qdq_group *group;
    size_t n;
    qdq_group_finding *finding;
    size_t n_findings;
} cli_groups;

/* Fills in the findings. */
qdq_status cli_groups_check(const qdq_model *m, cli_groups *g, qdq_error *err);
void cli_groups_free(cli_groups *g);

/* A table, the findings, a line of sums. `verbose`: all nodes of every layer. */
qdq_status cli_groups_print(cli *c, const cli_groups *g, bool verbose, qdq_error *err);

/* {"layers": [...], "findings": [...], and sums}. */
json_t *cli_groups_json(cli_json *j, const cli_groups *g);

#endif /* QDQ_CLI_GROUPS_H */
