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

/* An input with dimensions that neither the model nor the options fix. */
typedef struct cli_run_shape {
    qdq_io io;
    /* as a typical sample has it */
    qdq_input_shape as;
    /* cli_data_changes() */
    bool changes;
} cli_run_shape;

typedef QDQ_VEC(cli_run_shape) cli_run_shapes;

/* The shapes of these inputs, from samples that are read; d NULL: none. Before the result is
 * written, so that it is whole when an error comes. */
qdq_status cli_data_find_shapes(cli *c, qdq_data *d, const qdq_model *m, const cli_shapes *shapes,
                                cli_run_shapes *out, qdq_error *err);
/* A line each, or [{"input", "shape"}]. */
void cli_data_print_shapes(const cli_run_shapes *s, FILE *to);
void cli_data_json_shapes(const cli_run_shapes *s, qdq_json_out list);

#endif /* QDQ_CLI_DATA_H */
