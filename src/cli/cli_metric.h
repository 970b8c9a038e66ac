/* cli_metric.h - --metric-command: a program of the user that prints a number for a model, as the
 * metric of a goal. */
#ifndef QDQ_CLI_METRIC_H
#define QDQ_CLI_METRIC_H

#include "base/file.h"
#include "cli/cli_quant.h"
#include "qdq/goal.h"

/* Points to itself once it is open: it must not move. */
typedef struct cli_metric {
    cli *c;
    const cli_quant_args *a;
    qdq_metric metric;
    /* of the model that is measured */
    qdq_tempdir *folder;
    bool knows_input;
    /* then: its metric */
    double input;
} cli_metric;

/* Without the option nothing is opened. */
qdq_status cli_metric_open(cli *c, const cli_quant_args *a, cli_metric *m, qdq_error *err);
void cli_metric_close(cli_metric *m); /* zeroes are allowed */

/* Puts the metric and --min-metric into a goal, if there is one. */
void cli_metric_fill(const cli_metric *m, qdq_goal_opts *goal);

/* Of the input, a program that fails or prints no number is an error; of any other model that is a
 * warning, and *value is NAN. The input is measured once. `cancel` ends the program. */
qdq_status cli_metric_measure(cli_metric *m, const qdq_model *model, bool is_input,
                              const qdq_cancel *cancel, double *value, qdq_error *err);

#endif /* QDQ_CLI_METRIC_H */
