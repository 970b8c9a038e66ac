/* cmd_quantize.h - the options of quantize, and what it knows when its work is done. */
#ifndef QDQ_CMD_QUANTIZE_H
#define QDQ_CMD_QUANTIZE_H

#include "cli/cli.h"
#include "cli/cli_engine.h"
#include "cli/cli_metric.h"
#include "cli/cli_model.h"
#include "cli/cli_outputs.h"
#include "cli/cli_quant.h"
#include "cli/cli_verify.h"
#include "qdq/compare.h"
#include "qdq/goal.h"
#include "qdq/quant.h"

struct quantize_args {
    cli_common common;
    cli_output_args out;
    cli_engine_args engine;
    cli_quant_args quant;
#include "cli/cli_members.def"
#include "cli/cmd_quantize.def"
};

/* What was written, in turns with the model as it came. */
typedef struct quantize_speed {
    bool measured;
    const char *why_not;           /* NULL, though not measured: not requested */
    qdq_bench_model before, after; /* after: with its speed-up over before */
    /* of open dims: also with the shapes of the sample, fixed by the engine */
    bool fixed_too;
    qdq_bench_model fixed_before, fixed_after;
    bool optimized_too; /* beside the model with the same passes and without Q/DQ; open */
    qdq_bench_model optimized_before, optimized_after;
} quantize_speed;

typedef struct quantize {
    cli *c;
    const struct quantize_args *a;
    const char *path;
    qdq_model *model, *quantized;
    qdq_target *target;
    qdq_engine *engine;  /* NULL: a plan was applied and nothing had to be run */
    cli_samples samples; /* closed: nothing had to be run */
    qdq_plan *plan;
    qdq_why *why;                 /* NULL: not asked */
    qdq_compare_result *compared; /* NULL: not asked for, or not possible */
    qdq_goal_result *goal;        /* NULL: there was none */
    cli_names wrong;              /* labels of nodes that the engine computes wrongly */
    qdq_verify_result *computed;  /* of what is written; NULL: not verified */
    qdq_plan *times;              /* of --times; or NULL */
    /* a share, or in the metric's unit; below 0: no such goal */
    double max_drop;
    cli_metric metric; /* of --metric-command */
    /* of a plan that was given, or tuned; NAN: not measured */
    double metric_before, metric_after;
    const char *tuned_in; /* the folder of --autotune */
    json_t *tuned;        /* its report; NULL: nothing was tuned */
    double began;         /* by qdq_clock_seconds() */
    /* by qdq_clock_seconds(), of all searches for the goal together; 0: there was none with a limit
     */
    double search_ends;
    quantize_speed speed;
} quantize;

/* cmd_quantize_report.c: the page or the JSON of --report, and --overlay, if they are requested. */
qdq_status cmd_quantize_report(const quantize *q, qdq_error *err);

/* cmd_quantize_policy.c: the goal where the user names none, and what is reported of it. */
/* Is there a goal that may change the plan, the user's or the default one? Asked once the samples
 * are open. */
bool cmd_quantize_seeks_goal(const quantize *q);
bool cmd_quantize_is_default(const quantize *q);
/* The outputs are compared on real data, not on random numbers. */
bool cmd_quantize_is_real(const struct quantize_args *a);
qdq_status cmd_quantize_times_load(quantize *q, qdq_error *err);
/* Outputs that cannot be compared are no reason to keep a model back: then as without a goal. */
bool cmd_quantize_gives_up(const quantize *q, qdq_status st);
void cmd_quantize_warn_of_goal(const quantize *q);

/* cmd_quantize_goal.c: a goal, and how it was reached. */
bool cmd_quantize_has_goal(const struct quantize_args *a);
qdq_status cmd_quantize_goal_check(const struct quantize_args *a, double *max_drop, qdq_error *err);
/* As qdq_quantize(), under the goal. */
qdq_status cmd_quantize_goal_run(quantize *q, const qdq_quantize_opts *opts, qdq_error *err);
/* QDQ_E_GOAL where the goal was not reached. Asked before and after writing; only one of the two
 * says so: after, if
 * --best-effort wants the model all the same, else before. */
qdq_status cmd_quantize_goal_answer(const quantize *q, bool written, qdq_error *err);
/* Of --metric-command, where no search measured: the input and what was made of it. */
qdq_status cmd_quantize_measure_given(quantize *q, qdq_error *err);
void cmd_quantize_goal_json(const quantize *q, qdq_json_out root);
qdq_status cmd_quantize_goal_print(const quantize *q, FILE *to, qdq_error *err);

/* cmd_quantize_verify.c: makes the model, and as long as the engine computes it wrongly, makes it
 * again with those nodes in float; QDQ_E_ENGINE in the end. `make` calls the next one for its
 * options. */
qdq_status cmd_quantize_verified(quantize *q, qdq_status (*make)(quantize *, qdq_error *),
                                 qdq_error *err);
qdq_status cmd_quantize_verify_opts(quantize *q, qdq_quantize_opts *o, qdq_error *err);

/* cmd_quantize_tune.c: --autotune. Fills plan and quantized; the engine is not open meanwhile. */
qdq_status cmd_quantize_tune_check(const struct quantize_args *a, qdq_error *err);
qdq_status cmd_quantize_tune(quantize *q, qdq_error *err);
qdq_status cmd_quantize_tune_print(const quantize *q, FILE *to, qdq_error *err);

/* cmd_quantize_speed.c: is it faster? Asked when the file is written; what cannot be measured is no
 * failure. */
/* *why: NULL if the engine is the own engine of the plan's target, else why it is not, in the arena
 * of the command. */
qdq_status cmd_quantize_own_engine(quantize *q, const char **why, qdq_error *err);
qdq_status cmd_quantize_speed(quantize *q, qdq_error *err);
void cmd_quantize_speed_print(const quantize *q, FILE *to);
void cmd_quantize_speed_json(const quantize *q, qdq_json_out root);
void cmd_quantize_speed_warn(const quantize *q);

/* cmd_quantize_args.c: the tables, one group for each theme; what does not go together. */
extern const cli_group cmd_quantize_groups[];
qdq_status cmd_quantize_check(const struct quantize_args *a, qdq_error *err);

/* cmd_quantize_summary.c */
/* "open" or "fixed": the shapes with which outputs are compared, and with which a goal is
 * searched. */
const char *cmd_quantize_shapes(const quantize *q);
/* The samples and shapes of the comparison with the input: "24 samples, cross-validated, shapes
 * open"; NULL: there was none, or no memory. */
const char *cmd_quantize_judged(const quantize *q);
qdq_status cmd_quantize_print_json(const quantize *q, qdq_error *err);
/* The same to the file of --report. */
qdq_status cmd_quantize_write_json(const quantize *q, qdq_error *err);
qdq_status cmd_quantize_print_text(const quantize *q, FILE *to, qdq_error *err);
/* Of --dry-run: the placement. */
qdq_status cmd_quantize_print_plan(const quantize *q, qdq_error *err);

#endif /* QDQ_CMD_QUANTIZE_H */
