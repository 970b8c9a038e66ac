/* cmd_quantize.h - the options of quantize, and what it knows when its work is done. */
#ifndef QDQ_CMD_QUANTIZE_H
#define QDQ_CMD_QUANTIZE_H

#include "cli/cli.h"
#include "cli/cli_engine.h"
#include "cli/cli_metric.h"
#include "cli/cli_model.h"
#include "cli/cli_outputs.h"
#include "cli/cli_quant.h"
#include "qdq/ptq.h"

struct quantize_args {
    cli_common common;
    cli_output_args out;
    cli_engine_args engine;
    cli_quant_args quant;
#include "cli/cli_members.def"
#include "cli/cmd_quantize.def"
};

typedef struct quantize {
    cli *c;
    const struct quantize_args *a;
    const char *path;
    qdq_model *model;
    qdq_target *target;
    /* NULL: a plan was applied and nothing had to be run */
    qdq_engine *engine;
    /* ONNX Runtime, for the engine check of another engine; or NULL */
    qdq_engine *reference;
    /* closed: nothing had to be run */
    cli_samples samples;
    /* of samples that calibrate, and of those that evaluate */
    cli_run_shapes calibrated_as, evaluated_as;
    /* --cache has them, in place of samples that calibrate */
    bool has_statistics;
    /* NULL: not asked */
    qdq_why *why;
    /* of --plan and --autotune, with the model that it made; or NULL */
    qdq_plan *given_plan;
    qdq_model *planned;
    /* of --times; or NULL */
    qdq_plan *times;
    /* a share, or in the metric's unit; below 0: no such goal */
    double max_drop;
    /* of --metric-command */
    cli_metric metric;
    /* the folder of --autotune */
    const char *tuned_in;
    /* its report; NULL: nothing was tuned */
    json_t *tuned;
    /* by qdq_clock_seconds() */
    double began;
    /* What came of it, with plan and model; NULL: a plan was printed that was given. */
    const qdq_ptq_result *r;
    const qdq_plan *plan;
    const qdq_model *quantized;
} quantize;

/* cmd_quantize_report.c: the page or the JSON of --report, and --overlay, if they are requested. */
qdq_status cmd_quantize_report(const quantize *q, qdq_error *err);

/* cmd_quantize_make.c: the call of the library. */
/* May a goal change the plan, the user's or the default one? By the options alone. */
bool cmd_quantize_seeks_goal(const struct quantize_args *a);
/* The outputs are compared on real data, not on random numbers. */
bool cmd_quantize_is_real(const struct quantize_args *a);
/* --dry-run, or --why without --output: nothing is written. */
bool cmd_quantize_is_dry(const struct quantize_args *a);
/* Fills q->r. `save` is called when the model is final, and speed is measured after that. */
qdq_status cmd_quantize_make(quantize *q, qdq_status (*save)(quantize *, qdq_error *),
                             qdq_ptq_result **out, qdq_error *err);
/* What the library warns of, with the next step. */
void cmd_quantize_warn(const quantize *q);

/* cmd_quantize_goal.c: a goal, and how it was reached. */
bool cmd_quantize_has_goal(const struct quantize_args *a);
qdq_status cmd_quantize_goal_check(const struct quantize_args *a, double *max_drop, qdq_error *err);
void cmd_quantize_goal_json(const quantize *q, qdq_json_out root);
qdq_status cmd_quantize_goal_print(const quantize *q, FILE *to, qdq_error *err);

/* cmd_quantize_tune.c: --autotune. Fills given_plan and given; the engine is not open meanwhile. */
qdq_status cmd_quantize_tune_check(const struct quantize_args *a, qdq_error *err);
qdq_status cmd_quantize_tune(quantize *q, qdq_error *err);
qdq_status cmd_quantize_tune_print(const quantize *q, FILE *to, qdq_error *err);

/* cmd_quantize_speed.c: is it faster? */
void cmd_quantize_speed_print(const quantize *q, FILE *to);
void cmd_quantize_speed_json(const quantize *q, qdq_json_out root);

/* cmd_quantize_args.c: the tables, one group for each theme; what does not go together. */
extern const cli_group cmd_quantize_groups[];
qdq_status cmd_quantize_check(const struct quantize_args *a, qdq_error *err);

/* cmd_quantize_summary.c */
/* "open" or "fixed": the shapes with which outputs are compared, and with which a goal is
 * searched. */
const char *cmd_quantize_shapes(const quantize *q);
/* The samples and shapes of the comparison with the input: "24 samples, cross-validated, shapes
 * open"; NULL: there was none, or no memory. */
const char *cmd_quantize_evaluated_on(const quantize *q);
/* `path`: of --report; NULL: stdout. */
qdq_status cmd_quantize_json(const quantize *q, const char *path, qdq_error *err);
qdq_status cmd_quantize_print_text(const quantize *q, FILE *to, qdq_error *err);
/* Of --dry-run: the placement. */
qdq_status cmd_quantize_print_plan(const quantize *q, qdq_error *err);

#endif /* QDQ_CMD_QUANTIZE_H */
