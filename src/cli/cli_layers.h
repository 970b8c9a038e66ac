/* cli_layers.h - what each layer introduces, as table rows and as JSON. */
#ifndef QDQ_CLI_LAYERS_H
#define QDQ_CLI_LAYERS_H

#include "cli/cli.h"
#include "cli/cli_json.h"
#include "qdq/compare.h"

/* Sets "layers", the worst first, and "unmatched": {"a", "b"} in `to`. */
void cli_layers_json(qdq_json_out to, const qdq_compare_layers_result *r);

/* A table with its heads, and which tensors only one of the two models has. */
/* `top` layers with Q/DQ at most; 0: all. */
qdq_status cli_layers_print(cli *c, const qdq_compare_layers_result *r, size_t top, FILE *to,
                            qdq_error *err);

#endif /* QDQ_CLI_LAYERS_H */
