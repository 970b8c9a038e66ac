/* cli_model.h - models by name: files, stdin and stdout as "-", the text form by its suffix.
 * Options that commands share for them. */
#ifndef QDQ_CLI_MODEL_H
#define QDQ_CLI_MODEL_H

#include "cli/cli.h"
#include "cli/cli_json.h"
#include "qdq/model.h"

#define CLI_TEXT_SUFFIX ".onnxtxt"

qdq_status cli_model_load(cli *c, const char *path, qdq_model **out, qdq_error *err);

/* --- output ----------------------------------------------------------------------------------- */

typedef struct cli_output_args {
#include "cli/cli_members.def"
#include "cli/cli_model.def"
} cli_output_args;

extern const cli_opt cli_output_opts[];
extern const char *const cli_external_choices[]; /* by qdq_external */

/* Before the work begins: the command line has an output, and it can be there. */
qdq_status cli_output_check(cli *c, const cli_output_args *a, qdq_error *err);

qdq_status cli_model_save(cli *c, const qdq_model *m, const cli_output_args *a, qdq_error *err);

/* Puts the file in front of an error of the library that knows of models alone. Mistakes on the
 * command line and Ctrl-C have no file. */
qdq_status cli_at_file(const char *path, qdq_status st, qdq_error *err);
/* The same of a comparison that needs no other file: models are not counted then. */
qdq_status cli_at_only_file(const cli *c, const char *path, qdq_status st, qdq_error *err);
bool cli_has_suffix(const char *path, const char *suffix);

/* Where people read the result: stdout, or stderr when the model itself goes to stdout. */
FILE *cli_result_stream(const cli_output_args *a);

/* What copying commands print with --json, for those that add to it. */
void cli_json_written(qdq_json_out root, const cli *c, const char *output, const qdq_model *m);
/* Saves what such a command made of its operand, and prints that with --json. */
qdq_status cli_model_save_copy(cli *c, const qdq_model *m, const cli_output_args *a,
                               qdq_error *err);

/* --- shapes ----------------------------------------------------------------------------------- */

typedef struct cli_shape_args {
    cli_shapes shapes;
} cli_shape_args;

extern const cli_opt cli_shape_opts[];

/* NULL: none for this input. */
const qdq_input_shape *cli_find_shape(const cli_shapes *shapes, const char *name);

/* --set-shape: what is written has these shapes, and so has everything that is done with it before.
 * Offsets are those of a struct that begins with cli_shapes. */
extern const cli_opt cli_set_shape_opts[];
/* Fixes them and infers the rest again; where a name is no input, or the model does not allow it,
 * QDQ_E_USAGE. */
qdq_status cli_shapes_set(const cli_shapes *set, qdq_model *m, qdq_error *err);
/* A line, "x set to 1x3x224x224", or [{"input", "shape"}], empty without --set-shape. */
void cli_shapes_set_print(const cli_shapes *set, FILE *to);
void cli_shapes_set_json(qdq_json_out list, const cli_shapes *set);
/* {"input", "shape"} */
void cli_json_shape(qdq_json_out list, const char *input, const int64_t *dim, int rank);

/* The shapes that are for inputs of `m`, in *mine. One that contradicts the model is
 * QDQ_E_USAGE. */
qdq_status cli_shapes_pick(cli *c, const cli_shapes *all, const qdq_model *m, cli_shapes *mine,
                           qdq_error *err);

/* QDQ_E_USAGE for a shape whose name is an input of none of the models. */
qdq_status cli_shapes_check(const cli_shapes *all, qdq_model *const *models, size_t n,
                            qdq_error *err);

/* Text like "Nx3x224x224"; with `fixed`, as the shapes and 1 for what is left make it. */
void cli_shape_text(const qdq_io *io, const cli_shapes *fixed, bool fill, char *text, size_t size);

/* True for an input with a dimension that neither the model nor the shapes fix. */
bool cli_is_assumed(const qdq_io *io, const cli_shapes *fixed);

/* True if an input of `m` has a dimension that neither the model nor the shapes fix: engines run it
 * open. */
bool cli_shapes_leave_open(const cli_shapes *fixed, const qdq_model *m);

#endif /* QDQ_CLI_MODEL_H */
