/* ptq_speed.c - how fast the model is, in turns with the input: both as they are, with the typical
 * sample of those that evaluate, of a sequence the step in its middle; open dimensions open, and
 * then with its shapes fixed by the engine. Never longer than the work before it took. */
#include "quant/ptq/ptq_state.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/fail.h"
#include "qdq/pass.h"
#include "quant/compare/step_inputs.h"

/* Of what it may take, two sessions and half of the rest are spent where runs are short. No one
 * feels the least. */
static const double most_ms = 2000, least_ms = 100;

static double left_ms(double ends)
{
    return fmax((ends - qdq_clock_seconds()) * 1e3, 0);
}

/* Two models, and where their times go. */
typedef struct timed {
    const qdq_model *before, *after;
    qdq_bench_model *before_times, *after_times;
} timed;

static qdq_status time_sessions(const qdq_ptq_run *r, const qdq_session_opts *so,
                                const qdq_bench_opts *bo, qdq_session *s[2], const timed *t,
                                qdq_error *err)
{
    const qdq_model *models[2] = {t->before, t->after};
    qdq_bench_model times[2];

    /* new weights are copied to be loaded: they come first, when most memory is free */
    for (int i = 1; i >= 0; i--) {
        QDQ_TRY(qdq_job_poll(&r->job, err));
        QDQ_TRY(qdq_session_open(r->e, models[i], so, &s[i], err));
    }
    QDQ_TRY(qdq_bench(s, 2, bo, times, err));
    *t->before_times = times[0];
    *t->after_times = times[1];
    return QDQ_OK;
}

/* `fixed`: with the shapes of the sample. */
static qdq_status time_both(qdq_ptq_run *r, bool fixed, double ends, const timed *t, qdq_error *err)
{
    const qdq_split *split = &r->block->head.split;
    const bool evaluates = split->evaluate > 0;
    qdq_data *data = evaluates ? qdq_ptq_eval(r) : r->data;
    qdq_session_opts so = QDQ_SESSION_OPTS_INIT;
    qdq_bench_opts bo = QDQ_BENCH_OPTS_INIT;
    qdq_session *s[2] = {NULL, NULL};
    size_t sample;

    so.threads = r->quant.threads;
    QDQ_TRY(
        qdq_data_find_typical(data, evaluates ? split->first : 0, split->evaluate, &sample, err));
    const qdq_step_request at = {.engine = r->e,
                                 .m = r->m,
                                 .of = r->m,
                                 .opts = &so,
                                 .data = data,
                                 .sample = sample,
                                 .step = qdq_step_to_time(data),
                                 .job = &r->job};
    QDQ_TRY(qdq_step_inputs(&at, &r->block->arena, &bo.inputs, &bo.n_inputs, err));
    qdq_input_shape *shapes = qdq_arena_array(&r->block->arena, bo.n_inputs + 1, sizeof *shapes);
    QDQ_NEED(shapes, err);
    for (size_t i = 0; i < bo.n_inputs; i++) {
        shapes[i] = (qdq_input_shape){.name = bo.inputs[i].name, .rank = bo.inputs[i].array.rank};
        memcpy(shapes[i].dim, bo.inputs[i].array.dim, sizeof shapes[i].dim);
    }
    so.shapes = shapes;
    so.n_shapes = fixed ? bo.n_inputs : 0;
    bo.job = &r->job;
    bo.max_ms = fmax(left_ms(ends), 1);
    const qdq_status st = time_sessions(r, &so, &bo, s, t, err);
    for (int i = 0; i < 2; i++)
        qdq_session_close(s[i]);
    return st;
}

/* *why NULL: it can be measured. */
static qdq_status find_obstacle(const qdq_ptq_run *r, const char **why, qdq_error *err)
{
    const qdq_engine_info *info = qdq_engine_get_info(r->e);

    QDQ_TRY(qdq_ptq_own_engine(r, why, err));
    if (*why != NULL || (info->capabilities & QDQ_CAN_TIME))
        return QDQ_OK;
    *why = qdq_arena_printf(&r->block->arena, "engine %s measures no time", info->name);
    return qdq_allocated(*why != NULL, err);
}

static const char *passes_of(const qdq_ptq_run *r)
{
    return r->quant.passes != NULL ? r->quant.passes : "quantize";
}

/* The passes that came before Q/DQ, and no Q/DQ. */
static qdq_status make_optimized(const qdq_ptq_run *r, qdq_model **out, qdq_error *err)
{
    qdq_optimize_opts o = QDQ_OPTIMIZE_OPTS_INIT;

    o.passes = passes_of(r);
    o.target = r->t;
    o.growth_bytes = QDQ_CLEAN_GROWTH;
    QDQ_TRY(qdq_model_clone(r->m, out, err));
    const qdq_status st = qdq_model_optimize(*out, &o, NULL, err);
    return QDQ_HAND_OVER(*out, st, out, qdq_model_free);
}

/* Where the optimizations alone are faster, Q/DQ harm. Only if it is known to end in time. */
static qdq_status time_optimized(qdq_ptq_run *r, double ends, qdq_error *err)
{
    enum { ROUNDS = 12 }; /* twice as many as are needed */
    const qdq_plan_summary *s = qdq_plan_get_summary(qdq_ptq_plan(r));
    qdq_ptq_speed *to = &r->block->speed;
    qdq_model *m;

    if (s->n_tensors + s->n_weights + s->n_biases == 0 || s->n_existing > 0 || r->t == NULL ||
        strcmp(passes_of(r), QDQ_PASSES_MINIMAL) == 0 ||
        left_ms(ends) < ROUNDS * (to->before.median_ms + to->after.median_ms))
        return QDQ_OK;
    QDQ_TRY(make_optimized(r, &m, err));
    const timed t = {m, qdq_ptq_model(r), &to->optimized_before, &to->optimized_after};
    const qdq_status st = time_both(r, false, ends, &t, err);
    to->optimized_too = st == QDQ_OK;
    qdq_model_free(m);
    return st;
}

/* Half of the time does for quick models; what is left is for fixed shapes, which not every engine
 * takes, and for float. */
static qdq_status time_in_turns(qdq_ptq_run *r, double began, double all_s, qdq_error *err)
{
    const qdq_model *made = qdq_ptq_model(r);
    qdq_ptq_speed *to = &r->block->speed;
    const timed open = {r->m, made, &to->before, &to->after},
                fixed = {r->m, made, &to->fixed_before, &to->fixed_after};

    QDQ_TRY(time_both(r, false, began + all_s, &open, err));
    to->measured = true;
    if (qdq_model_is_open(made)) {
        qdq_error own = QDQ_ERROR_INIT;
        const qdq_status st = time_both(r, true, began + 0.8 * all_s, &fixed, &own);

        to->fixed_too = st == QDQ_OK;
        if (st == QDQ_E_INTERRUPTED || st == QDQ_E_NOMEM)
            return qdq_fail(err, st, "%s", own.text);
    }
    return time_optimized(r, began + all_s, err);
}

qdq_status qdq_ptq_measure_speed(qdq_ptq_run *r, qdq_error *err)
{
    const double now = qdq_clock_seconds(), rest_ms = (now - r->began + r->o.spent_s) * 1e3;
    qdq_ptq_speed *to = &r->block->speed;
    qdq_error own = QDQ_ERROR_INIT;
    const char *why;

    if (r->o.no_speed || r->e == NULL || r->data == NULL)
        return QDQ_OK;
    to->threads = r->quant.threads > 0 ? r->quant.threads : 1;
    r->block->head.speed = to;
    QDQ_TRY(find_obstacle(r, &why, err));
    if (why == NULL) {
        const qdq_status st =
            time_in_turns(r, now, fmin(most_ms, fmax(least_ms, rest_ms)) * 1e-3, &own);

        if (st == QDQ_E_INTERRUPTED || st == QDQ_E_NOMEM)
            return qdq_fail(err, st, "%s", own.text);
        if (st == QDQ_OK || to->measured)
            return QDQ_OK;
        why = qdq_arena_strdup(&r->block->arena, own.text);
        QDQ_NEED(why, err);
    }
    to->why_not = why;
    return QDQ_OK;
}
