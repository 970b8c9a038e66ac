/* cli_quant.c - the tables of what calibration, placement and evaluation share, and what is made of
 * them. */
#include "cli/cli_quant.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "cli/cli_values.h"

#define ARGS cli_quant_args
#include "cli/cli_tables.def"
#include "cli/cli_quant.def"

/* --- options ---------------------------------------------------------------------------------- */

const char *cli_quant_choice(const cli_quant_args *a)
{
    const char *given[] = {cli_first_given(cli_quant_what_opts, a),
                           cli_first_given(cli_quant_clean_opts, a),
                           cli_fold_given(&a->fold),
                           a->method != 0     ? "--method"
                           : a->cache != NULL ? "--cache"
                           : a->equalize      ? "--equalize"
                                              : NULL,
                           a->bias_correction != QDQ_BIAS_CORRECTION_AUTO ? "--bias-correction"
                                                                          : NULL,
                           cli_first_given(cli_format_opts, &a->format)};
    size_t i = 0;

    while (i + 1 < QDQ_COUNT(given) && given[i] == NULL)
        i++;
    return given[i];
}

/* A target of one's own may say 'percentile' itself. */
static bool takes_percentile(const cli_quant_args *a)
{
    bool is_file = a->target != NULL && strpbrk(a->target, "/.") != NULL;

    return a->method == QDQ_METHOD_PERCENTILE || a->method == QDQ_METHOD_AUTO ||
           (a->method == QDQ_METHOD_DEFAULT && (is_file || a->format.set.n > 0));
}

qdq_status cli_quant_check_clean(const cli_quant_args *a, qdq_error *err)
{
    const char *fold = a->passes != NULL ? "--passes" : cli_fold_given(&a->fold);

    if (!a->optimize && fold != NULL)
        return qdq_fail(err, QDQ_E_USAGE, "--no-optimize: conflicts with %s; expected one of them",
                        fold);
    return QDQ_OK;
}

qdq_status cli_quant_check(const cli_quant_args *a, qdq_error *err)
{
    if (!(a->percentile > 50 && a->percentile <= 100))
        return qdq_fail(err, QDQ_E_USAGE,
                        "--percentile: found %g, expected more than 50 and at most 100",
                        a->percentile);
    if (a->percentile != 99.999 && !takes_percentile(a))
        return qdq_fail(err, QDQ_E_USAGE, "found --percentile without --method percentile or auto");
    return cli_quant_check_clean(a, err);
}

const char *cli_quant_evaluation(const cli_quant_args *a)
{
    return a->metric_command != NULL ? "--metric-command"
           : a->max_drop != NULL     ? "--max-drop"
           : a->min_sqnr.value != 0  ? "--min-sqnr"
           : a->min_agreement.is_set ? "--min-agreement"
           : a->labels != NULL       ? "--labels"
           : a->eval != NULL         ? "--eval"
                                     : NULL;
}

bool cli_quant_has_goal(const cli_quant_args *a)
{
    return a->min_sqnr.value != 0 || a->max_drop != NULL || a->metric_command != NULL ||
           a->min_agreement.is_set;
}

bool cli_quant_names_goal(const cli_quant_args *a)
{
    return a->min_sqnr.is_set || cli_quant_has_goal(a);
}

qdq_status cli_percent_read(const char *option, const char *text, double *share, qdq_error *err)
{
    char *end;
    double x = strtod(text, &end);

    if (end == text || (*end != '\0' && strcmp(end, "%") != 0) || !(x >= 0 && x <= 100))
        return qdq_fail(err, QDQ_E_USAGE, "%s: found '%s', expected 0%% to 100%%, as 0.5%%", option,
                        text);
    *share = x / 100;
    return QDQ_OK;
}

static qdq_status check_metric(const cli_quant_args *a, qdq_error *err)
{
    const char *alone = a->min_metric.is_set      ? "--min-metric"
                        : a->metric_timeout_s > 0 ? "--metric-timeout"
                                                  : NULL;

    if (a->metric_command == NULL && alone != NULL)
        return qdq_fail(err, QDQ_E_USAGE, "found %s without --metric-command", alone);
    if (a->metric_command != NULL && !a->min_metric.is_set && a->max_drop == NULL)
        return qdq_fail(err, QDQ_E_USAGE,
                        "found --metric-command without --min-metric or --max-drop");
    return QDQ_OK;
}

/* In the unit of the metric, which has no percent. */
static qdq_status read_metric_drop(const char *text, double *most, qdq_error *err)
{
    char *end;
    const double x = strtod(text, &end);

    if (end == text || *end != '\0' || !isfinite(x) || x < 0)
        return qdq_fail(err, QDQ_E_USAGE,
                        "--max-drop: found '%s', expected a number from 0, in the metric's unit",
                        text);
    *most = x;
    return QDQ_OK;
}

qdq_status cli_quant_max_drop(const cli_quant_args *a, double *most, qdq_error *err)
{
    *most = -1;
    QDQ_TRY(cli_agreement_check(&a->min_agreement, err));
    QDQ_TRY(check_metric(a, err));
    if (a->max_drop != NULL)
        QDQ_TRY(a->metric_command != NULL ? read_metric_drop(a->max_drop, most, err)
                                          : cli_percent_read("--max-drop", a->max_drop, most, err));
    if (a->max_drop != NULL && a->labels == NULL && a->metric_command == NULL)
        return qdq_fail(err, QDQ_E_USAGE,
                        "found --max-drop without --labels: expected the key of the labels");
    if (a->labels != NULL && a->calib == NULL && a->eval == NULL)
        return qdq_fail(err, QDQ_E_USAGE, "found --labels without --calib or --eval");
    return QDQ_OK;
}

qdq_status cli_quant_fill(cli *c, const cli_quant_args *a, qdq_quantize_opts *o, qdq_error *err)
{
    o->exclude = a->exclude.at;
    o->include = a->include.at;
    o->op_types = a->op_types.at;
    o->exclude_op_types = a->exclude_op_types.at;
    o->shapes = a->shape.shapes.at;
    o->n_shapes = a->shape.shapes.n;
    o->memory = a->memory;
    o->method = (qdq_method)a->method;
    o->percentile = a->percentile;
    o->cache = a->cache;
    o->bias_correction = (qdq_bias_correction)a->bias_correction;
    return cli_quant_fill_clean(c, a, o, err);
}

qdq_status cli_quant_fill_clean(cli *c, const cli_quant_args *a, qdq_quantize_opts *o,
                                qdq_error *err)
{
    o->equalize = a->equalize;
    o->cpu = (qdq_cpu)a->format.cpu;
    if (!a->optimize) {
        o->passes = QDQ_PASSES_MINIMAL;
        return QDQ_OK;
    }
    return cli_fold_pipeline(c, a->passes != NULL ? a->passes : "quantize", &a->fold, &o->passes,
                             err);
}

/* --- samples ---------------------------------------------------------------------------------- */

static unsigned uses_of(bool calibrate, bool evaluate)
{
    return (calibrate ? QDQ_SPLIT_CALIBRATE : 0) | (evaluate ? QDQ_SPLIT_EVALUATE : 0);
}

/* Labels are in the data for evaluation. */
static qdq_status open_eval(cli *c, const cli_quant_args *a, const qdq_model *m, cli_samples *out,
                            qdq_error *err)
{
    cli_data_request request = {a->eval, &a->data, &a->shape.shapes, a->labels, 0, &a->state, NULL};

    return cli_data_open(c, &request, m, &out->eval, err);
}

qdq_status cli_samples_open(cli *c, const cli_quant_args *a, const qdq_model *m, bool calibrate,
                            bool evaluate, cli_samples *out, qdq_error *err)
{
    const char *spec = a->calib != NULL ? a->calib : "random:0";

    bool hold_back = evaluate && a->eval == NULL;
    size_t want = (size_t)a->samples;
    cli_data_request request = {spec, &a->data,  &a->shape.shapes, hold_back ? a->labels : NULL,
                                0,    &a->state, a->groups};

    if (a->groups != NULL && a->calib == NULL)
        return qdq_fail(err, QDQ_E_USAGE, "found --groups without --calib");
    if (strncmp(spec, "random:", 7) == 0)
        request.max_samples = qdq_split_random(want, uses_of(calibrate, hold_back));
    QDQ_TRY(cli_data_open(c, &request, m, &out->data, err));
    if (want > qdq_data_count(out->data))
        cli_warn(&c->ui, "--samples %zu: %s has %zu", want, spec, qdq_data_count(out->data));
    if (evaluate && a->eval != NULL)
        QDQ_TRY(open_eval(c, a, m, out, err));
    out->split = qdq_split_samples(out->data, out->eval, want, uses_of(calibrate, evaluate));
    return QDQ_OK;
}

void cli_samples_for_goal(const cli_quant_args *a, const qdq_target *t, cli_samples *s)
{
    const bool has_goal = cli_quant_has_goal(a) || !cli_quant_names_goal(a),
               rounds = qdq_rounds_by_samples(t);

    if (s->split.evaluate > 0 && has_goal)
        s->split = qdq_split_samples(s->data, s->eval, (size_t)a->samples,
                                     uses_of(true, true) | QDQ_SPLIT_GOAL |
                                         (rounds ? QDQ_SPLIT_ROUND : 0));
}

void cli_samples_close(cli_samples *s)
{
    qdq_data_close(s->eval);
    qdq_data_close(s->data);
}

qdq_data *cli_samples_eval(const cli_samples *s)
{
    return s->eval != NULL ? s->eval : s->data;
}
