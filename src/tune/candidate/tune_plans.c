/* tune_plans.c - what is tuned: the clean model, the precision that ships, all scales, and the
 * rules' plan. */
#include "tune/candidate/tune_plans.h"

#include <string.h>

#include <xxhash.h>

#include "base/fail.h"
#include "tune/state/tune_progress.h"

/* --- the precision that ships ----------------------------------------------------------------- */

/* Settled before anything is measured, for all plans: which nodes stay float32 needs samples, but
 * not Q/DQ. It is what a plan says that quantizes nothing. */
static qdq_status settle_rest(qdq_tuning *t, qdq_error *err)
{
    static const char *const every_node[] = {".*", NULL};
    qdq_quantize_opts own = t->quantize;
    const qdq_quantizing q = {.m = t->clean,
                              .target = t->target,
                              .engine = t->engine,
                              .data = t->data,
                              .opts = &own,
                              .basis = {.known = &t->scales},
                              .plan = t->nothing};

    own.exclude = every_node;
    own.include = own.op_types = own.exclude_op_types =
        NULL; /* the rules' plan hears of these, and says what it thinks */
    own.why = NULL;
    QDQ_TRY(qdq_quantize_plan(&q, err));
    t->nothing->left_float.n = 0;
    t->converted = !t->asked->rest.follows; /* else the model is in that precision already */
    return qdq_take_rest(&t->nothing->rest, t->head, err);
}

static bool wants_rest(const qdq_target *t)
{
    return t->rest.type == QDQ_FLOAT16 || t->rest.type == QDQ_BFLOAT16;
}

/* --- biases ----------------------------------------------------------------------------------- */

/* Means of channels belong to a placement, so that every candidate would be calibrated again for
 * them; and they change no time. So they wait for what is shipped. */
static void put_off_correction(qdq_tuning *t)
{
    const bool random = t->data == NULL || qdq_data_is_random(t->data);

    const bool asked = t->quantize.bias_correction == QDQ_BIAS_CORRECTION_ON;

    if (asked && random)
        qdq_job_log(t->job, QDQ_LOG_WARNING,
                    "biases are not corrected: random input has no means that count");
    t->correct = asked && !random;
    t->quantize.bias_correction = QDQ_BIAS_CORRECTION_OFF;
}

/* --- plans ------------------------------------------------------------------------------------ */

qdq_status qdq_tune_prepare(qdq_tuning *t, qdq_error *err)
{
    t->head = qdq_plan_new();
    t->nothing = qdq_plan_new();
    if (t->head == NULL || t->nothing == NULL)
        return qdq_nomem(err);
    put_off_correction(t);
    QDQ_TRY(qdq_quantize_begin(t->m, t->target, &t->quantize, t->head, &t->clean, err));
    QDQ_TRY(qdq_quantize_again(t->head, t->nothing, err));
    if (wants_rest(t->target))
        QDQ_TRY(settle_rest(t, err));
    else if (!qdq_plan_finish(t->nothing))
        return qdq_nomem(err);
    QDQ_TRY(qdq_tune_name_plan(t->nothing, t->nothing_name, err));
    QDQ_TRY(qdq_space_new(t->clean, t->target, &t->quantize, &t->space, err));
    if (t->space->n_groups == 0)
        qdq_job_log(t->job, QDQ_LOG_WARNING,
                    "no operator of this model can run in 8 bits on target '%s'", t->target->name);
    return QDQ_OK;
}

/* The one of the target's rules. */
static qdq_status plan_by_rules(qdq_tuning *t, qdq_error *err)
{
    qdq_plan_free(t->rules);
    t->rules = qdq_plan_new();
    const qdq_quantizing q = {
        .m = t->clean,
        .target = t->target,
        .engine = t->engine,
        .data = t->data,
        .opts = &t->quantize,
        .basis = {.known = &t->scales, .rest = wants_rest(t->target) ? &t->head->rest : NULL},
        .plan = t->rules};
    if (t->rules == NULL)
        return qdq_nomem(err);
    QDQ_TRY(qdq_quantize_again(t->head, t->rules, err));
    QDQ_TRY(qdq_quantize_plan(&q, err));
    return qdq_tune_name_plan(t->rules, t->rules_name, err);
}

qdq_status qdq_tune_calibrate(qdq_tuning *t, qdq_error *err)
{
    qdq_tune_show(t, "calibrating");
    QDQ_TRY(
        qdq_space_calibrate(t->space, t->head, t->engine, t->data, &t->quantize, &t->scales, err));
    QDQ_TRY(plan_by_rules(t, err));
    t->out->placement_only = t->data == NULL || qdq_data_is_random(t->data);
    return QDQ_OK;
}

qdq_status qdq_tune_correct(qdq_tuning *t, qdq_error *err)
{
    if (!t->correct)
        return QDQ_OK;
    t->quantize.bias_correction = QDQ_BIAS_CORRECTION_ON;
    return plan_by_rules(t, err);
}

qdq_status qdq_tune_plan_of(qdq_tuning *t, const qdq_assign *a, qdq_plan **out, qdq_error *err)
{
    return qdq_space_plan(t->space, a, t->head, t->engine, t->data, &t->quantize, &t->scales, out,
                          err);
}

qdq_status qdq_tune_name_plan(const qdq_plan *p, char name[33], qdq_error *err)
{
    qdq_plan silent = *p;
    char *text;

    silent.left_float.n = 0; /* why a node is left float changes no model */
    QDQ_TRY(qdq_plan_to_text(&silent, &text, err));
    XXH128_hash_t h = XXH3_128bits(text, strlen(text));
    qdq_free(text);
    qdq_assign_hash_text((qdq_assign_hash){h.low64, h.high64}, name);
    return QDQ_OK;
}
