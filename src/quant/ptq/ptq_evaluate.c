/* ptq_evaluate.c - how far the outputs are from the input's, and whether the goal holds. What a
 * search has evaluated is not evaluated again. */
#include "quant/ptq/ptq_state.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/fail.h"
#include "quant/goal/goal_outputs.h"
#include "quant/goal/metric.h"

/* --- measuring -------------------------------------------------------------------------------- */

static qdq_compare_opts compare_opts(const qdq_ptq_run *r)
{
    const qdq_split *s = &r->block->head.split;
    qdq_compare_opts o = QDQ_COMPARE_OPTS_INIT;

    o.threads = r->quant.threads;
    o.shapes = r->quant.shapes;
    o.n_shapes = r->quant.n_shapes;
    o.first = s->first;
    o.count = s->evaluate;
    o.job = &r->job;
    o.scores = r->goal.min_agreement > 0;
    return o;
}

static qdq_status compare(qdq_ptq_run *r, qdq_error *err)
{
    qdq_ptq_result *head = &r->block->head;
    const qdq_compare_opts o = compare_opts(r);
    qdq_error own = QDQ_ERROR_INIT;

    if (head->goal != NULL) {
        head->compared = head->goal->compared;
        return QDQ_OK;
    }
    const qdq_status st =
        qdq_compare(r->e, r->m, qdq_ptq_model(r), qdq_ptq_eval(r), &o, &r->block->compared, &own);
    if (st == QDQ_E_UNSUPPORTED && !qdq_ptq_must_compare(r))
        return qdq_ptq_note(r, err, QDQ_PTQ_NOT_COMPARED,
                            "no SQNR, the outputs cannot be compared: %s", own.text);
    if (st != QDQ_OK && err != NULL)
        *err = own;
    head->compared = r->block->compared;
    return st;
}

static qdq_status measure_outputs(qdq_ptq_run *r, qdq_error *err)
{
    const qdq_split *s = &r->block->head.split;

    if (r->e == NULL || qdq_ptq_eval(r) == NULL || s->evaluate == 0)
        return QDQ_OK;
    if (!r->runs)
        return qdq_ptq_note(r, err, QDQ_PTQ_NO_OUTPUTS, "engine %s gives no outputs: no SQNR",
                            qdq_engine_get_info(r->e)->name);
    if (!r->is_given && !r->has_statistics && !s->held_out)
        QDQ_TRY(qdq_ptq_note(r, err, QDQ_PTQ_ONE_SAMPLE,
                             "one sample: SQNR is measured on the sample that calibrated, not held "
                             "out"));
    return compare(r, err);
}

/* --- does what was given reach the goal? ------------------------------------------------------ */

static qdq_status miss(qdq_ptq_run *r, qdq_error *err, const char *fmt, ...) QDQ_PRINTF(3, 4);
static qdq_status miss(qdq_ptq_run *r, qdq_error *err, const char *fmt, ...)
{
    qdq_ptq_result *head = &r->block->head;
    va_list args;

    head->verdict = QDQ_PTQ_MISSED;
    va_start(args, fmt);
    head->missed = qdq_arena_vprintf(&r->block->arena, fmt, args);
    va_end(args);
    return qdq_allocated(head->missed != NULL, err);
}

static const char *sqnr_text(const qdq_compare_tensor *t, char *text, size_t size)
{
    if (t->other_shape)
        snprintf(text, size, "another shape");
    else if (isfinite(t->worst_db))
        snprintf(text, size, "%.2f dB", t->worst_db);
    else
        snprintf(text, size, "%s", isnan(t->worst_db) ? "no signal" : "not finite");
    return text;
}

/* The first with less, or without signal; NULL: none. */
static const qdq_compare_tensor *find_below(const qdq_compare_result *c, double min_sqnr)
{
    for (size_t i = 0; i < c->n_outputs; i++)
        if (!(c->outputs[i].worst_db >= min_sqnr))
            return &c->outputs[i];
    return NULL;
}

/* The limit of an accuracy counts where no metric takes its place. */
static qdq_status check_accuracy(qdq_ptq_run *r, qdq_error *err)
{
    const qdq_compare_result *c = r->block->head.compared;
    const double drop = c->accuracy_a - c->accuracy_b;

    if (r->goal.max_drop < 0 || r->goal.metric != NULL)
        return QDQ_OK;
    if (isnan(drop))
        return qdq_fail(err, QDQ_E_USAGE,
                        "found no accuracy, expected labels for an output with two classes or "
                        "more");
    if (drop <= r->goal.max_drop + 1e-9)
        return QDQ_OK;
    return miss(r, err, "accuracy: found %.4f, %.2f points below float, expected at most %g",
                c->accuracy_b, drop * 100, r->goal.max_drop * 100);
}

static qdq_status check_agreement(qdq_ptq_run *r, qdq_error *err)
{
    const qdq_compare_result *c = r->block->head.compared;

    QDQ_TRY(qdq_goal_need_rows(c, &r->goal, err));
    const qdq_goal_outputs o = qdq_goal_read_outputs(qdq_ptq_model(r), c, &r->goal);
    char text[200];

    if (o.disagreeing == NULL)
        return QDQ_OK;
    qdq_goal_rows_text(&r->goal, o.disagreeing->name, o.agreement, "float's", text, sizeof text);
    return miss(r, err, "%s", text);
}

/* Nothing is changed: it reaches the goal or it does not. */
static qdq_status check_given(qdq_ptq_run *r, const qdq_metric_value *metric, qdq_error *err)
{
    const qdq_compare_result *c = r->block->head.compared;
    char text[400], found[60], place[80];

    if (r->goal.metric != NULL &&
        !qdq_metric_holds(&r->goal, metric, r->block->head.metric_before, text, sizeof text))
        return miss(r, err, "%s", text);
    if (c == NULL)
        return r->goal.metric != NULL && r->goal.min_sqnr == 0 && r->goal.min_agreement == 0
                   ? QDQ_OK
                   : miss(r, err, "nothing was measured, expected a goal");
    QDQ_TRY(check_accuracy(r, err));
    QDQ_TRY(check_agreement(r, err));
    const qdq_compare_tensor *low = r->goal.min_sqnr != 0 && r->block->head.missed[0] == '\0'
                                        ? find_below(c, r->goal.min_sqnr)
                                        : NULL;
    if (low == NULL)
        return QDQ_OK;
    return miss(r, err, "output '%s'%s: found SQNR %s, expected at least %g dB", low->name,
                qdq_compare_place(low, place, sizeof place), sqnr_text(low, found, sizeof found),
                r->goal.min_sqnr);
}

static qdq_status measure_metric(qdq_ptq_run *r, qdq_metric_value *after, qdq_error *err)
{
    qdq_ptq_result *head = &r->block->head;
    const qdq_compare_opts o = compare_opts(r);
    qdq_metric_value before;

    QDQ_TRY(qdq_metric_measure(r->goal.metric, r->e, r->m, true, &o, &before, err));
    head->metric_before = before.value;
    QDQ_TRY(qdq_metric_measure(r->goal.metric, r->e, qdq_ptq_model(r), false, &o, after, err));
    head->metric_after = after->value;
    return QDQ_OK;
}

const qdq_compare_tensor *qdq_ptq_find_low(const qdq_ptq_run *r)
{
    const qdq_compare_result *c = r->block->head.compared;

    for (size_t i = 0; c != NULL && i < c->n_outputs; i++)
        if (!isnan(c->outputs[i].worst_db) && qdq_goal_db(&c->outputs[i]) < QDQ_DEFAULT_MIN_SQNR)
            return &c->outputs[i];
    return NULL;
}

/* --- the verdict ------------------------------------------------------------------------------ */

static qdq_status conclude_search(qdq_ptq_run *r, qdq_error *err)
{
    qdq_ptq_result *head = &r->block->head;
    const qdq_goal_result *g = head->goal;

    head->metric_before = g->float_metric;
    head->metric_after = g->metric;
    head->verdict = g->reached                     ? QDQ_PTQ_REACHED
                    : r->by_default && g->is_float ? QDQ_PTQ_FLOAT
                                                   : QDQ_PTQ_MISSED;
    if (r->misjudges && r->by_default)
        head->verdict = QDQ_PTQ_UNKNOWN;
    if (g->reached || r->misjudges) /* what is said of the engine stays */
        return QDQ_OK;
    head->missed = qdq_arena_printf(
        &r->block->arena, "%s%s",
        r->by_default ? "" : "the goal is not reached by any model with a layer in 8 bits; ",
        g->why);
    return qdq_allocated(head->missed, err);
}

qdq_status qdq_ptq_evaluate(qdq_ptq_run *r, qdq_error *err)
{
    qdq_ptq_result *head = &r->block->head;
    qdq_metric_value metric = {.value = NAN};

    if (qdq_ptq_model(r) == NULL)
        return QDQ_OK;
    if (head->goal == NULL && r->goal.metric != NULL)
        QDQ_TRY(measure_metric(r, &metric, err));
    QDQ_TRY(measure_outputs(r, err));
    if (head->goal != NULL)
        return conclude_search(r, err);
    if (qdq_ptq_has_goal(r)) {
        head->verdict = QDQ_PTQ_REACHED;
        return check_given(r, &metric, err);
    }
    if (r->names_goal || !r->is_given || head->compared == NULL ||
        qdq_data_is_random(qdq_ptq_eval(r)))
        return QDQ_OK;
    const qdq_compare_tensor *low = qdq_ptq_find_low(r);
    head->verdict = QDQ_PTQ_REACHED;
    return low == NULL ? QDQ_OK
                       : miss(r, err, "output '%s': SQNR %.2f dB, less than %g dB", low->name,
                              qdq_goal_db(low), QDQ_DEFAULT_MIN_SQNR);
}
