/* metric.h - the caller's metric of one model: the run that it is given, and what its answer means.
 */
#ifndef QDQ_QUANT_METRIC_H
#define QDQ_QUANT_METRIC_H

#include "qdq/goal.h"

/* What a metric found of a model. */
typedef struct qdq_metric_value {
    /* NAN: none; then `why` */
    double value;
    /* the engine refuses the model, or the metric is no finite number */
    char why[300];
} qdq_metric_value;

/* For messages; never NULL. */
const char *qdq_metric_name(const qdq_metric *metric);

/* Are the metric and its limits of these options complete? *own is the metric as this library knows
 * it, and goal->metric points to it. QDQ_E_USAGE. */
qdq_status qdq_metric_check(qdq_goal_opts *goal, qdq_metric *own, qdq_error *err);

/* Measures a model: threads, shapes and job as in `o`. `is_input`: the model that others are
 * compared with, which must have a finite metric, else QDQ_E_FORMAT. Errors: those of the metric,
 * unchanged. */
qdq_status qdq_metric_measure(const qdq_metric *metric, qdq_engine *e, const qdq_model *m,
                              bool is_input, const qdq_compare_opts *o, qdq_metric_value *out,
                              qdq_error *err);

/* Does it hold, where the input model's metric is `input`? `why` gets what was found and what was
 * expected. */
bool qdq_metric_holds(const qdq_goal_opts *goal, const qdq_metric_value *m, double input, char *why,
                      size_t size);

#endif /* QDQ_QUANT_METRIC_H */
