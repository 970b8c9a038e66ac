/* tune_plans.c - what is tuned: the clean model, the precision that ships, all scales, and the
 * rules' plan. */
#include "tune/candidate/tune_plans.h"

#include <string.h>

#include "base/fail.h"
#include "tune/state/tune_progress.h"

/* --- the precision that ships ----------------------------------------------------------------- */

/* Settled before anything is measured, for all plans: which nodes stay float32 needs samples, but
 * not Q/DQ. It is what a plan says that quantizes nothing. */
static qdq_status settle_rest(qdq_tune_state *t, qdq_error *err)
{
    static const char *const every_node[] = {".*", NULL};
    qdq_quantize_opts own = t->task.quantize;
    const qdq_quantizing q = {.m = t->task.clean,
                              .target = t->task.target,
                              .engine = t->tools.engine,
                              .data = t->task.data,
                              .opts = &own,
                              .basis = {.known = &t->task.scales},
                              .plan = t->task.nothing};

    own.exclude = every_node;
    own.include = own.op_types = own.exclude_op_types =
        NULL; /* the rules' plan gets these, and logs what it does with them */
    own.why = NULL;
    QDQ_TRY(qdq_quantize_plan(&q, err));
    t->task.nothing->left_float.n = 0;
    t->task.converted =
        !t->task.asked->half.follows; /* else the model is in that precision already */
    return qdq_take_half(&t->task.nothing->half, t->task.head, err);
}

static bool wants_rest(const qdq_target *t)
{
    return qdq_elem_is_half(t->half.type);
}

/* --- biases ----------------------------------------------------------------------------------- */

/* Means of channels belong to a placement, so that every candidate would be calibrated again for
 * them; and they change no time. So they wait for what is shipped. */
static void put_off_correction(qdq_tune_state *t)
{
    const bool random = t->task.data == NULL || qdq_data_is_random(t->task.data);

    const bool asked = t->task.quantize.bias_correction == QDQ_BIAS_CORRECTION_ON;

    if (asked && random)
        qdq_job_log(t->job, QDQ_LOG_WARNING,
                    "biases are not corrected: random input has no means that count");
    t->task.correct = asked && !random;
    t->task.quantize.bias_correction = QDQ_BIAS_CORRECTION_OFF;
}

/* --- plans ------------------------------------------------------------------------------------ */

qdq_status qdq_tune_prepare(qdq_tune_state *t, qdq_error *err)
{
    t->task.head = qdq_plan_new();
    t->task.nothing = qdq_plan_new();
    QDQ_NEED(t->task.head != NULL && t->task.nothing != NULL, err);
    put_off_correction(t);
    QDQ_TRY(qdq_quantize_begin(t->task.m, t->task.target, &t->task.quantize, t->task.head,
                               &t->task.clean, err));
    QDQ_TRY(qdq_quantize_again(t->task.head, t->task.nothing, err));
    if (wants_rest(t->task.target))
        QDQ_TRY(settle_rest(t, err));
    else if (!qdq_plan_finish(t->task.nothing))
        return qdq_nomem(err);
    QDQ_TRY(qdq_tune_name_plan(t->task.nothing, t->task.nothing_name, err));
    QDQ_TRY(qdq_space_new(t->task.clean, t->task.target, &t->task.quantize, &t->task.space, err));
    if (t->task.space->n_groups + t->task.space->n_formed == 0)
        qdq_job_log(t->job, QDQ_LOG_WARNING,
                    "no operator of this model can run in 8 bits on target '%s'",
                    t->task.target->name);
    return QDQ_OK;
}

/* The one of the target's rules. */
static qdq_status plan_by_rules(qdq_tune_state *t, qdq_error *err)
{
    qdq_plan_free(t->task.rules);
    t->task.rules = qdq_plan_new();
    const qdq_quantizing q = {
        .m = t->task.clean,
        .target = t->task.target,
        .engine = t->tools.engine,
        .data = t->task.data,
        .opts = &t->task.quantize,
        .basis = {.known = &t->task.scales,
                  .folds = t->opts->goal->folds,
                  .half = wants_rest(t->task.target) ? &t->task.head->half : NULL},
        .plan = t->task.rules};
    QDQ_NEED(t->task.rules != NULL, err);
    QDQ_TRY(qdq_quantize_again(t->task.head, t->task.rules, err));
    QDQ_TRY(qdq_quantize_plan(&q, err));
    return qdq_tune_name_plan(t->task.rules, t->task.rules_name, err);
}

qdq_space_scaling qdq_tune_scaling(qdq_tune_state *t)
{
    return (qdq_space_scaling){.head = t->task.head,
                               .engine = t->tools.engine,
                               .data = t->task.data,
                               .opts = &t->task.quantize,
                               .known = &t->task.scales,
                               .folds = t->opts->goal->folds};
}

qdq_status qdq_tune_calibrate(qdq_tune_state *t, qdq_error *err)
{
    const qdq_space_scaling from = qdq_tune_scaling(t);

    qdq_tune_show(t, "calibrating");
    QDQ_TRY(qdq_space_calibrate(t->task.space, &from, err));
    QDQ_TRY(plan_by_rules(t, err));
    t->out->placement_only = t->task.data == NULL || qdq_data_is_random(t->task.data);
    return QDQ_OK;
}

qdq_status qdq_tune_correct(qdq_tune_state *t, qdq_error *err)
{
    if (!t->task.correct)
        return QDQ_OK;
    t->task.quantize.bias_correction = QDQ_BIAS_CORRECTION_ON;
    return plan_by_rules(t, err);
}

qdq_status qdq_tune_plan_of(qdq_tune_state *t, const qdq_assign *a, qdq_plan **out, qdq_error *err)
{
    const qdq_space_scaling from = qdq_tune_scaling(t);

    return qdq_space_plan(t->task.space, a, &from, out, err);
}

qdq_status qdq_tune_name_plan(const qdq_plan *p, char name[33], qdq_error *err)
{
    qdq_plan silent = *p;
    char *text;

    silent.left_float.n = 0; /* why a node is left float changes no model */
    QDQ_TRY(qdq_plan_to_text(&silent, &text, err));
    qdq_digits_of(text, strlen(text), name);
    qdq_free(text);
    return QDQ_OK;
}
