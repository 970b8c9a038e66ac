/* cli_verify.h - does the engine compute what a model says? The answer as text and as JSON. */
#ifndef QDQ_CLI_VERIFY_H
#define QDQ_CLI_VERIFY_H

#include "cli/cli_engine.h"
#include "cli/cli_json.h"
#include "qdq/check.h"

/* ONNX Runtime, where e is another engine. NULL: not needed, or there is none; then the verdict
 * says so. */
qdq_engine *cli_verify_reference(cli *c, const cli_engine_args *a, const qdq_engine *e);

/* qdq_verify_engine() with ONNX Runtime as the reference, if there is one; o->reference is not
 * read. */
qdq_status cli_verify(cli *c, const cli_engine_args *a, qdq_engine *e, const qdq_model *m,
                      qdq_data *d, const qdq_verify_opts *o, qdq_verify_result **out,
                      qdq_error *err);

/* One line: the verdict and what it rests on. `data`: where the samples came from, "random
 * input". */
void cli_verify_print(const qdq_verify_result *r, const qdq_engine_info *info, const char *data,
                      FILE *to);

void cli_verify_json(qdq_json_out root, const qdq_verify_result *r, const qdq_engine_info *info,
                     const char *data);

#endif /* QDQ_CLI_VERIFY_H */
