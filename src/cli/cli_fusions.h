/* cli_fusions.h - fusion groups as a table and as JSON. */
#ifndef QDQ_CLI_FUSIONS_H
#define QDQ_CLI_FUSIONS_H

#include "cli/cli.h"
#include "cli/cli_json.h"
#include "qdq/parts.h"

/* A table and a line of sums. `verbose`: all nodes of every group. */
qdq_status cli_fusions_print(cli *c, const qdq_fusion_list *l, bool verbose, qdq_error *err);

/* "groups": [...] and what they have in common, set in `to`. */
void cli_fusions_json(qdq_json_out to, const qdq_fusion_list *l);

#endif /* QDQ_CLI_FUSIONS_H */
