/* cli_why.h - the answer to --why. */
#ifndef QDQ_CLI_WHY_H
#define QDQ_CLI_WHY_H

#include "cli/cli.h"
#include "cli/cli_json.h"
#include "qdq/quant.h"

/* A line for each rule that looked: node, rule, whether it holds, verdict. */
qdq_status cli_why_print(cli *c, const qdq_why *w, FILE *to, qdq_error *err);
void cli_why_json(qdq_json_out list, const qdq_why *w); /* [{"node", "rule", "holds", "verdict"}] */
qdq_status cli_why_print_json(const qdq_why *w, qdq_error *err);

#endif /* QDQ_CLI_WHY_H */
