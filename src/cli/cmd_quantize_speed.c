/* cmd_quantize_speed.c - how fast what was written is, in turns with the model as it came: both as they are on disk, open
 * dimensions open, with the first sample that judges. Never longer than the work before it took. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/fail.h"
#include "cli/cmd_quantize.h"

/* Of what it may take, two sessions and half of the rest are spent where runs are short. Nobody feels the least. */
static const double most_ms = 2000, least_ms = 50;

/* --- measuring -------------------------------------------------------------------------------------------------------- */

static double left_ms(double ends)
{
    return fmax((ends - qdq_clock_seconds()) * 1e3, 0);
}

static qdq_status time_both(quantize *q, qdq_session **s, double ends, qdq_error *err)
{
    const qdq_model *models[2] = {q->model, q->quantized};
    const bool judges = q->samples.split.judge > 0;
    qdq_session_opts so = QDQ_SESSION_OPTS_INIT;
    qdq_bench_opts bo = QDQ_BENCH_OPTS_INIT;
    qdq_bench_model times[2];

    so.threads = cli_threads(q->a->threads);
    for (int i = 0; i < 2; i++) {
        QDQ_TRY(qdq_job_poll(&q->c->job, err));
        QDQ_TRY(qdq_session_open(q->engine, models[i], &so, &s[i], err));
    }
    QDQ_TRY(qdq_data_get(judges ? cli_samples_judge(&q->samples) : q->samples.data,
                         judges ? q->samples.split.first : 0, &bo.inputs, &bo.n_inputs, err));
    bo.job = &q->c->job;
    bo.max_ms = fmax(left_ms(ends), 1);
    QDQ_TRY(qdq_bench(s, 2, &bo, times, err));
    q->speed.before = times[0];
    q->speed.after = times[1];
    return QDQ_OK;
}

/* The name of the engine that the plan's target is for; *not: why none is known. */
static qdq_status own_engine(quantize *q, const char **engine, const char * * not, qdq_error *err)
{
    const char *target = qdq_plan_get_summary(q->plan)->target;
    qdq_target *t = NULL;

    *engine = NULL;
    if (q->target == NULL && qdq_target_load(target, &t, NULL) != QDQ_OK) {
        *not = qdq_arena_printf(&q->c->arena, "target %s is not known here", target);
        return *not != NULL ? QDQ_OK : qdq_nomem(err);
    }
    *engine = qdq_arena_strdup(&q->c->arena, qdq_target_engine(t != NULL ? t : q->target));
    qdq_target_free(t);
    return *engine != NULL ? QDQ_OK : qdq_nomem(err);
}

/* NULL: it can be measured. */
static qdq_status find_obstacle(quantize *q, const char **why, qdq_error *err)
{
    const qdq_engine_info *info = qdq_engine_get_info(q->engine);
    const char *own;

    *why = NULL;
    QDQ_TRY(own_engine(q, &own, why, err));
    if (*why != NULL)
        return QDQ_OK;
    if (own[0] == '\0')
        *why = qdq_arena_printf(&q->c->arena, "target %s names no engine",
                                qdq_plan_get_summary(q->plan)->target);
    else if (strcmp(own, info->name) != 0)
        *why = qdq_arena_printf(&q->c->arena, "target %s, engine %s", qdq_plan_get_summary(q->plan)->target,
                                info->name);
    else if (!(info->capabilities & QDQ_CAN_TIME))
        *why = qdq_arena_printf(&q->c->arena, "engine %s measures no time", info->name);
    else
        return QDQ_OK;
    return *why != NULL ? QDQ_OK : qdq_nomem(err);
}

static qdq_status measure(quantize *q, qdq_error *err)
{
    const double now = qdq_clock_seconds(), rest_ms = (now - q->began) * 1e3;
    const double ends = now + fmin(most_ms, fmax(least_ms, rest_ms)) * 1e-3;
    qdq_session *s[2] = {NULL, NULL};
    qdq_error found = QDQ_ERROR_INIT;

    qdq_status st = time_both(q, s, ends, &found);
    for (int i = 0; i < 2; i++)
        qdq_session_close(s[i]);
    if (st == QDQ_OK) {
        q->speed.measured = true;
        return QDQ_OK;
    }
    if (st == QDQ_E_INTERRUPTED || st == QDQ_E_NOMEM) {
        *err = found;
        return st;
    }
    q->speed.why_not = qdq_arena_strdup(&q->c->arena, found.text);
    return q->speed.why_not != NULL ? QDQ_OK : qdq_nomem(err);
}

qdq_status cmd_quantize_speed(quantize *q, qdq_error *err)
{
    /* what was tuned has been measured by the tuner, in more ways than here */
    if (!q->a->bench || q->engine == NULL || q->samples.data == NULL || q->tuned != NULL)
        return QDQ_OK;
    QDQ_TRY(find_obstacle(q, &q->speed.why_not, err));
    return q->speed.why_not == NULL ? measure(q, err) : QDQ_OK;
}

/* --- what it says ----------------------------------------------------------------------------------------------------- */

/* What it is compared with: a model that brought Q/DQ is none in float. */
static const char *other_name(const quantize *q)
{
    return qdq_plan_get_summary(q->plan)->n_kept > 0 ? "the model as it came" : "float";
}

void cmd_quantize_speed_print(const quantize *q, FILE *to)
{
    const qdq_bench_model *r = &q->speed.after;

    if (q->speed.why_not != NULL)
        fprintf(to, "\nspeed not measured: %s\n", q->speed.why_not);
    if (!q->speed.measured)
        return;
    const int threads = cli_threads(q->a->threads);
    fprintf(to,
            "\nspeed: %.2f times as fast as %s (95 %% interval %.2f to %.2f), %.3g ms, was %.3g ms; %d "
            "thread%s, shapes %s\n",
            r->speedup, other_name(q), r->ci_low, r->ci_high, r->median_ms, q->speed.before.median_ms,
            threads, cli_plural((size_t)threads), qdq_model_is_open(q->quantized) ? "open" : "fixed");
}

void cmd_quantize_speed_json(const quantize *q, cli_json *j, json_t *root)
{
    const qdq_bench_model *r = &q->speed.after;
    json_t *o;

    if (!q->speed.measured && q->speed.why_not == NULL) {
        cli_json_set(j, root, "speed", json_null());
        return;
    }
    o = json_object();
    cli_json_set(j, o, "not_measured", q->speed.measured ? json_null() : cli_json_text(q->speed.why_not));
    if (q->speed.measured) {
        cli_json_set(j, o, "speedup", cli_json_real(r->speedup));
        cli_json_set(j, o, "ci_low", cli_json_real(r->ci_low));
        cli_json_set(j, o, "ci_high", cli_json_real(r->ci_high));
        cli_json_set(j, o, "before_ms", cli_json_real(q->speed.before.median_ms));
        cli_json_set(j, o, "after_ms", cli_json_real(r->median_ms));
        cli_json_set(j, o, "threads", json_integer(cli_threads(q->a->threads)));
        cli_json_set(j, o, "shapes", json_string(qdq_model_is_open(q->quantized) ? "open" : "fixed"));
    }
    cli_json_set(j, root, "speed", o);
}

void cmd_quantize_speed_warn(const quantize *q)
{
    const qdq_plan_summary *sum = qdq_plan_get_summary(q->plan);
    const qdq_bench_model *r = &q->speed.after;

    if (!q->speed.measured || r->ci_low > 1 || sum->n_tensors + sum->n_weights + sum->n_biases == 0)
        return;
    cli_warn(&q->c->ui,
             "%s than %s: %.2f times its speed (95 %% interval %.2f to %.2f); 'qdq autotune' measures which "
             "layers are faster in 8 bits",
             r->ci_high < 1 ? "slower" : "not faster", other_name(q), r->speedup, r->ci_low, r->ci_high);
}
