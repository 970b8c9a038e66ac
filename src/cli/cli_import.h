/* cli_import.h - options of the commands that read the quantization of a model. */
#ifndef QDQ_CLI_IMPORT_H
#define QDQ_CLI_IMPORT_H

#include "cli/cli.h"
#include "qdq/quant.h"

struct cli_import_args {
    /* qdq_bounds */
    int bounds;
};

extern const cli_opt cli_import_opts[];

qdq_import_opts cli_import_options(cli *c, const struct cli_import_args *a);

#endif /* QDQ_CLI_IMPORT_H */
