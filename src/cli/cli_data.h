/* cli_data.h - options that say how files become samples. */
#ifndef QDQ_CLI_DATA_H
#define QDQ_CLI_DATA_H

#include "cli/cli.h"
#include "cli/cli_model.h"
#include "qdq/data.h"

typedef struct cli_data_args {
#include "cli/cli_members.def"
#include "cli/cli_data.def"
} cli_data_args;

typedef struct cli_state_args {
#include "cli/cli_members.def"
#include "cli/cli_state.def"
} cli_state_args;

extern const cli_opt cli_data_opts[], cli_state_opts[];

typedef struct cli_data_request {
    const char *spec;
    const cli_data_args *args;
    const cli_shapes *shapes;
    /* NULL: none */
    const char *labels;
    /* 0: all */
    size_t max_samples;
    /* NULL: the command has none */
    const cli_state_args *states;
    /* NULL: none */
    const char *groups;
} cli_data_request;

/* --steps and --mask without --state. `a` NULL: the command has none of them. */
qdq_status cli_states_check(const cli_state_args *a, qdq_error *err);

qdq_status cli_data_open(cli *c, const cli_data_request *r, const qdq_model *m, qdq_data **out,
                         qdq_error *err);

/* May an input have another shape at other steps of a sequence? And what is said of that. */
qdq_status cli_data_changes(qdq_data *d, const char *input, bool *changes, qdq_error *err);
const char *cli_data_fixing(bool changes);

/* With which shapes a model with symbolic dimensions is run: a line each, or
 * [{"input","shape"}]. */
qdq_status cli_data_print_shapes(qdq_data *d, const qdq_model *m, const cli_shapes *shapes,
                                 FILE *to, qdq_error *err);
qdq_status cli_data_json_shapes(qdq_data *d, const qdq_model *m, const cli_shapes *shapes,
                                qdq_json_out list, qdq_error *err);

#endif /* QDQ_CLI_DATA_H */
