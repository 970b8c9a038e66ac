/* cmd_quantize_speed.c - how fast what was written is, in turns with the model as it came: both as
 * they are on disk, with the first sample that judges; open dimensions open, and then with its
 * shapes fixed by the engine. Never longer than the work before it took. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/fail.h"
#include "cli/cmd_quantize.h"
#include "qdq/pass.h"

/* Of what it may take, two sessions and half of the rest are spent where runs are short. No one
 * feels the least. */
static const double most_ms = 2000, least_ms = 50;

/* --- measuring -------------------------------------------------------------------------------- */

static double left_ms(double ends)
{
    return fmax((ends - qdq_clock_seconds()) * 1e3, 0);
}

/* What is written, and what it is compared with. */
typedef struct timed {
    const qdq_model *before, *after;
    qdq_bench_model *before_times, *after_times;
} timed;

static qdq_status time_sessions(quantize *q, const qdq_session_opts *so, const qdq_bench_opts *bo,
                                qdq_session *s[2], const timed *t, qdq_error *err)
{
    const qdq_model *models[2] = {t->before, t->after};
    qdq_bench_model times[2];

    for (int i = 0; i < 2; i++) {
        QDQ_TRY(qdq_job_poll(&q->c->job, err));
        QDQ_TRY(qdq_session_open(q->engine, models[i], so, &s[i], err));
    }
    QDQ_TRY(qdq_bench(s, 2, bo, times, err));
    *t->before_times = times[0];
    *t->after_times = times[1];
    return QDQ_OK;
}

/* `fixed`: with the shapes of the sample. */
static qdq_status time_both(quantize *q, bool fixed, double ends, const timed *t, qdq_error *err)
{
    const bool judges = q->samples.split.judge > 0;
    qdq_session_opts so = QDQ_SESSION_OPTS_INIT;
    qdq_bench_opts bo = QDQ_BENCH_OPTS_INIT;
    qdq_session *s[2] = {NULL, NULL};

    so.threads = cli_threads(q->a->threads);
    QDQ_TRY(qdq_data_get(judges ? cli_samples_judge(&q->samples) : q->samples.data,
                         judges ? q->samples.split.first : 0, &bo.inputs, &bo.n_inputs, err));
    qdq_input_shape *shapes = qdq_arena_array(&q->c->arena, bo.n_inputs + 1, sizeof *shapes);
    if (shapes == NULL)
        return qdq_nomem(err);
    for (size_t i = 0; i < bo.n_inputs; i++) {
        shapes[i] = (qdq_input_shape){.name = bo.inputs[i].name, .rank = bo.inputs[i].array.rank};
        memcpy(shapes[i].dim, bo.inputs[i].array.dim, sizeof shapes[i].dim);
    }
    so.shapes = shapes;
    so.n_shapes = fixed ? bo.n_inputs : 0;
    bo.job = &q->c->job;
    bo.max_ms = fmax(left_ms(ends), 1);
    qdq_status st = time_sessions(q, &so, &bo, s, t, err);
    for (int i = 0; i < 2; i++)
        qdq_session_close(s[i]);
    return st;
}

qdq_status cmd_quantize_own_engine(quantize *q, const char **why, qdq_error *err)
{
    const char *target = qdq_plan_get_summary(q->plan)->target,
               *engine = qdq_engine_get_info(q->engine)->name;
    qdq_target *t = NULL;

    *why = NULL;
    if (q->target == NULL && qdq_target_load(target, &t, NULL) != QDQ_OK) {
        *why = qdq_arena_printf(&q->c->arena, "target %s is not known here", target);
        return *why != NULL ? QDQ_OK : qdq_nomem(err);
    }
    const char *own = qdq_target_engine(t != NULL ? t : q->target);
    const bool is_own = strcmp(own, engine) == 0;
    if (own[0] == '\0')
        *why = qdq_arena_printf(&q->c->arena, "target %s names no engine", target);
    else if (!is_own)
        *why = qdq_arena_printf(&q->c->arena, "target %s, engine %s", target, engine);
    qdq_target_free(t);
    return is_own || *why != NULL ? QDQ_OK : qdq_nomem(err);
}

/* *why NULL: it can be measured. */
static qdq_status find_obstacle(quantize *q, const char **why, qdq_error *err)
{
    const qdq_engine_info *info = qdq_engine_get_info(q->engine);

    QDQ_TRY(cmd_quantize_own_engine(q, why, err));
    if (*why != NULL || (info->capabilities & QDQ_CAN_TIME))
        return QDQ_OK;
    *why = qdq_arena_printf(&q->c->arena, "engine %s measures no time", info->name);
    return *why != NULL ? QDQ_OK : qdq_nomem(err);
}

static bool has_codes(const quantize *q)
{
    const qdq_plan_summary *s = qdq_plan_get_summary(q->plan);

    return s->n_tensors + s->n_weights + s->n_biases > 0;
}

/* The passes that came before Q/DQ, and no Q/DQ. */
static qdq_status make_optimized(quantize *q, qdq_model **out, qdq_error *err)
{
    qdq_quantize_opts clean = QDQ_QUANTIZE_OPTS_INIT;
    qdq_optimize_opts o = QDQ_OPTIMIZE_OPTS_INIT;

    QDQ_TRY(cli_quant_fill_clean(q->c, &q->a->quant, &clean, err));
    o.passes = clean.passes != NULL ? clean.passes : "quantize";
    o.target = q->target;
    o.growth_bytes = QDQ_CLEAN_GROWTH;
    QDQ_TRY(qdq_model_clone(q->model, out, err));
    qdq_status st = qdq_model_optimize(*out, &o, NULL, err);
    if (st != QDQ_OK) {
        qdq_model_free(*out);
        *out = NULL;
    }
    return st;
}

/* Where the optimizations alone are faster, Q/DQ harm. Only if it is known to end in time. */
static qdq_status time_optimized(quantize *q, double ends, qdq_error *err)
{
    enum { ROUNDS = 12 }; /* twice as many as are needed */
    quantize_speed *to = &q->speed;
    qdq_model *m;

    if (!has_codes(q) || !q->a->quant.optimize || q->target == NULL ||
        qdq_plan_get_summary(q->plan)->n_existing > 0 ||
        left_ms(ends) < ROUNDS * (to->before.median_ms + to->after.median_ms))
        return QDQ_OK;
    QDQ_TRY(make_optimized(q, &m, err));
    const timed t = {m, q->quantized, &to->optimized_before, &to->optimized_after};
    qdq_status st = time_both(q, false, ends, &t, err);
    to->optimized_too = st == QDQ_OK;
    qdq_model_free(m);
    return st;
}

/* Half of the time does for quick models; what is left is for fixed shapes, which not every engine
 * takes, and for float. */
static qdq_status time_in_turns(quantize *q, double began, double all_s, qdq_error *err)
{
    quantize_speed *to = &q->speed;
    const timed came = {q->model, q->quantized, &to->before, &to->after},
                fixed = {q->model, q->quantized, &to->fixed_before, &to->fixed_after};

    QDQ_TRY(time_both(q, false, began + all_s, &came, err));
    to->measured = true;
    if (qdq_model_is_open(q->quantized)) {
        const qdq_status st = time_both(q, true, began + 0.8 * all_s, &fixed, err);

        to->fixed_too = st == QDQ_OK;
        if (st == QDQ_E_INTERRUPTED || st == QDQ_E_NOMEM)
            return st;
        *err = (qdq_error)QDQ_ERROR_INIT;
    }
    return time_optimized(q, began + all_s, err);
}

static qdq_status measure(quantize *q, qdq_error *err)
{
    const double now = qdq_clock_seconds(), rest_ms = (now - q->began) * 1e3;
    qdq_error found = QDQ_ERROR_INIT;
    const qdq_status st =
        time_in_turns(q, now, fmin(most_ms, fmax(least_ms, rest_ms)) * 1e-3, &found);

    if (st == QDQ_E_INTERRUPTED || st == QDQ_E_NOMEM) {
        *err = found;
        return st;
    }
    if (st == QDQ_OK || q->speed.measured)
        return QDQ_OK;
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

/* --- what it says ----------------------------------------------------------------------------- */

/* What it is compared with: a model that brought Q/DQ is none in float. */
static const char *other_name(const quantize *q)
{
    return qdq_plan_get_summary(q->plan)->n_existing > 0 ? "the input" : "float";
}

void cmd_quantize_speed_print(const quantize *q, FILE *to)
{
    const qdq_bench_model *r = &q->speed.after;

    if (q->speed.why_not != NULL)
        fprintf(to, "\nspeed not measured: %s\n", q->speed.why_not);
    if (!q->speed.measured)
        return;
    const int threads = cli_threads(q->a->threads);
    fprintf(
        to,
        "\nspeed: %.2f times as fast as %s (95 %% interval %.2f to %.2f), %.3g ms, was %.3g ms; %d "
        "thread%s, shapes %s",
        r->speedup, other_name(q), r->ci_low, r->ci_high, r->median_ms, q->speed.before.median_ms,
        threads, cli_plural((size_t)threads), qdq_model_is_open(q->quantized) ? "open" : "fixed");
    r = &q->speed.fixed_after;
    if (q->speed.fixed_too)
        fprintf(to, "; with shapes fixed %.2f times (%.2f to %.2f), %.3g ms, was %.3g ms",
                r->speedup, r->ci_low, r->ci_high, r->median_ms, q->speed.fixed_before.median_ms);
    r = &q->speed.optimized_after;
    if (q->speed.optimized_too && r->ci_low <= 1)
        fprintf(
            to,
            "; %.2f times (%.2f to %.2f) as fast as with the same optimizations and without Q/DQ",
            r->speedup, r->ci_low, r->ci_high);
    fputc('\n', to);
}

static void put_times(qdq_json_out o, const qdq_bench_model *before, const qdq_bench_model *after)
{
    qdq_json_put_short(o, "speedup", after->speedup);
    qdq_json_put_short(o, "ci_low", after->ci_low);
    qdq_json_put_short(o, "ci_high", after->ci_high);
    qdq_json_put_short(o, "before_ms", before->median_ms);
    qdq_json_put_short(o, "after_ms", after->median_ms);
}

static void put_more_times(qdq_json_out o, const char *key, bool there,
                           const qdq_bench_model *before, const qdq_bench_model *after)
{
    if (there)
        put_times(qdq_json_put_object(o, key), before, after);
    else
        qdq_json_put_null(o, key);
}

void cmd_quantize_speed_json(const quantize *q, qdq_json_out root)
{
    const quantize_speed *s = &q->speed;

    if (!s->measured && s->why_not == NULL) {
        qdq_json_put_null(root, "speed");
        return;
    }
    qdq_json_out o = qdq_json_put_object(root, "speed");
    qdq_json_put_text(o, "not_measured", s->measured ? NULL : s->why_not);
    if (!s->measured)
        return;
    put_times(o, &s->before, &s->after);
    qdq_json_put_int(o, "threads", cli_threads(q->a->threads));
    qdq_json_put_text(o, "shapes", qdq_model_is_open(q->quantized) ? "open" : "fixed");
    put_more_times(o, "fixed", s->fixed_too, &s->fixed_before, &s->fixed_after);
    put_more_times(o, "optimized", s->optimized_too, &s->optimized_before, &s->optimized_after);
}

void cmd_quantize_speed_warn(const quantize *q)
{
    const qdq_bench_model *r = &q->speed.after, *fixed = &q->speed.fixed_after,
                          *optimized = &q->speed.optimized_after;

    if (!q->speed.measured || !has_codes(q))
        return;
    if (q->speed.fixed_too && fixed->ci_high < 1 && r->ci_high >= 1)
        cli_warn(&q->c->ui,
                 "slower than %s once the engine fixes its shapes: %.2f times its speed (95 %% "
                 "interval %.2f to %.2f); --set-shape fixes them in what is written",
                 other_name(q), fixed->speedup, fixed->ci_low, fixed->ci_high);
    if (r->ci_low > 1 && q->speed.optimized_too && optimized->ci_high < 1)
        cli_warn(&q->c->ui,
                 "slower than with the same optimizations and without Q/DQ: %.2f times that speed "
                 "(95 %% interval %.2f to %.2f); 'qdq autotune' measures which layers are faster "
                 "in 8 bits",
                 optimized->speedup, optimized->ci_low, optimized->ci_high);
    if (r->ci_low > 1)
        return;
    cli_warn(&q->c->ui,
             "%s than %s: %.2f times its speed (95 %% interval %.2f to %.2f); 'qdq autotune' "
             "measures which layers are faster in 8 bits",
             r->ci_high < 1 ? "slower" : "not shown to be faster", other_name(q), r->speedup,
             r->ci_low, r->ci_high);
}
