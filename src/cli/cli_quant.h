/* cli_quant.h - how a model is to be quantized: which nodes, in which formats, calibrated and
 * evaluated on which data. The option tables that quantize and autotune share, and what the library
 * wants to have made of them. */
#ifndef QDQ_CLI_QUANT_H
#define QDQ_CLI_QUANT_H

#include "cli/cli.h"
#include "cli/cli_data.h"
#include "cli/cli_fold.h"
#include "cli/cli_format.h"
#include "cli/cli_model.h"
#include "qdq/ptq.h"

typedef struct cli_quant_args {
    cli_data_args data;
    cli_state_args state;
    cli_shape_args shape;
    cli_shapes set_shape;
    cli_format_args format;
    cli_fold_args fold;
#include "cli/cli_members.def"
#include "cli/cli_quant.def"
} cli_quant_args;

/* Offsets are in cli_quant_args; cli_fold_opts, cli_format_opts, cli_data_opts, cli_state_opts and
 * cli_shape_opts belong to its members. */
extern const cli_opt cli_quant_what_opts[], cli_quant_clean_opts[], cli_quant_calibration_opts[],
    cli_quant_accuracy_opts[];

/* An option that says how a plan is to be made, "--target", if one is given; NULL: none. */
const char *cli_quant_choice(const cli_quant_args *a);

/* Values that no table can check alone; and those that only clean the model. */
qdq_status cli_quant_check(const cli_quant_args *a, qdq_error *err);
qdq_status cli_quant_check_clean(const cli_quant_args *a, qdq_error *err);

/* An option that evaluates what was quantized, "--min-sqnr", if one is given; NULL: none. */
const char *cli_quant_evaluation(const cli_quant_args *a);

/* Does the user name a goal? One of 0 dB is none, but named. */
bool cli_quant_has_goal(const cli_quant_args *a);
bool cli_quant_names_goal(const cli_quant_args *a);

/* --max-drop as a share, with --metric-command in the unit of the metric; below 0: not given. What
 * it needs besides, and what --labels and --metric-command need. */
qdq_status cli_quant_max_drop(const cli_quant_args *a, double *most, qdq_error *err);

/* "0.5%" or "0.5" as 0.005: `option` is named where `text` is none. */
qdq_status cli_percent_read(const char *option, const char *text, double *share, qdq_error *err);

/* All but samples, threads, job and what the caller listens with. */
qdq_status cli_quant_fill(cli *c, const cli_quant_args *a, qdq_quantize_opts *o, qdq_error *err);

/* Only what decides how the model is cleaned. */
qdq_status cli_quant_fill_clean(cli *c, const cli_quant_args *a, qdq_quantize_opts *o,
                                qdq_error *err);

typedef struct cli_samples {
    qdq_data *data;
    /* evaluation data; NULL: samples that are held out */
    qdq_data *eval;
    qdq_split split;
} cli_samples;

/* Opens --calib (without it: random:0) and --eval. On an error, too, the caller closes both. */
qdq_status cli_samples_open(cli *c, const cli_quant_args *a, const qdq_model *m, bool calibrate,
                            bool evaluate, cli_samples *out, qdq_error *err);

/* Of autotune. With a goal few samples are cross-validated, unless they round the target's weights,
 * and of more enough are held out for a lower bound. After cli_samples_open(). */
void cli_samples_for_goal(const cli_quant_args *a, const qdq_target *t, cli_samples *s);

void cli_samples_close(cli_samples *s);

/* The data for evaluation. */
qdq_data *cli_samples_eval(const cli_samples *s);

#endif /* QDQ_CLI_QUANT_H */
