/* cli_data.h - options that say how files become samples. */
#ifndef QDQ_CLI_DATA_H
#define QDQ_CLI_DATA_H

#include "cli/cli.h"
#include "cli/cli_model.h"
#include "qdq/data.h"

typedef struct cli_data_args {
    cli_extent image_size;
    cli_reals mean, std;
    int layout, channel_order;
} cli_data_args;

extern const cli_opt cli_data_opts[];

typedef struct cli_data_request {
    const char *spec;
    const cli_data_args *args;
    const cli_shapes *shapes;
    const char *labels; /* NULL: none */
    size_t max_samples; /* 0: all */
} cli_data_request;

qdq_status cli_data_open(cli *c, const cli_data_request *r, const qdq_model *m, qdq_data **out,
                         qdq_error *err);

/* Notes with which shapes a model with symbolic dimensions is run: [{"input","shape"}], and a line each in
 * `table` ("x" "Nx3x224x224 run as 1x3x224x224"). */
qdq_status cli_data_assumed(qdq_data *d, const qdq_model *m, const cli_shapes *shapes, cli_json *j,
                            json_t *array, cli_table *table, qdq_error *err);

#endif /* QDQ_CLI_DATA_H */
