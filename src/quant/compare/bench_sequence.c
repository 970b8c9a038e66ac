/* bench_sequence.c - times a sequence of a model with states: each step is timed on bound inputs,
 * as single runs are, and then runs once more, untimed, for the states of the next step. */
#include "qdq/sequence.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/fail.h"
#include "engine/bench_unit.h"
#include "engine/session_inputs.h"
#include "quant/calib/feedback.h"
#include "quant/compare/compare_feed.h"

typedef struct timing {
    const qdq_sequence_model *models;
    qdq_data *data;
    /* by model */
    qdq_feedback *states;
    const qdq_job *job;
    /* reset after each step */
    qdq_arena memory;
} timing;

static qdq_status time_bound(qdq_session *s, const qdq_named_array *in, size_t n, uint64_t *ns,
                             qdq_error *err)
{
    const qdq_array **ordered;

    QDQ_TRY(qdq_session_order_inputs(s, in, n, &ordered, err));
    qdq_status st = s->engine->ops->bind(s, ordered, err);
    if (st == QDQ_OK)
        st = s->engine->ops->time_runs(s, 1, ns, err);
    free(ordered);
    return st;
}

static qdq_status time_step(timing *t, size_t i, size_t step, uint64_t *ns, qdq_error *err)
{
    const qdq_sequence_model *m = &t->models[i];
    const qdq_named_array *in;
    size_t n;

    QDQ_TRY(qdq_job_poll(t->job, err));
    QDQ_TRY(qdq_data_get_step(t->data, 0, step, &in, &n, err));
    QDQ_TRY(qdq_feedback_put(&t->states[i], step, &in, n, &t->memory, err));
    QDQ_TRY(qdq_compare_feed(m->model, m->data_model != NULL ? m->data_model : m->model, &in, n,
                             &t->memory, err));
    QDQ_TRY(time_bound(m->session, in, n, ns, err));
    return step + 1 < qdq_data_steps(t->data)
               ? qdq_session_run(m->session, in, n, qdq_feedback_take, &t->states[i], err)
               : QDQ_OK;
}

static qdq_status time_sequence(void *ctx, size_t i, uint64_t *ns, qdq_error *err)
{
    timing *t = ctx;
    const size_t steps = qdq_data_steps(t->data);

    *ns = 0;
    for (size_t step = 0; step < steps; step++) {
        const qdq_arena_mark mark = qdq_arena_get_mark(&t->memory);
        uint64_t one = 0;

        const qdq_status st = time_step(t, i, step, &one, err);
        qdq_arena_reset(&t->memory, mark);
        if (st != QDQ_OK)
            return st == QDQ_E_INTERRUPTED || steps == 1 ? st
                                                         : qdq_within(err, st, "step %zu", step);
        *ns += one;
    }
    return QDQ_OK;
}

static qdq_status check_engine(const qdq_session *s, const qdq_data *d, qdq_error *err)
{
    const qdq_engine_info *info = &s->engine->info;

    if ((info->capabilities & QDQ_CAN_TIME) == 0)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "engine '%s' measures no time", info->name);
    return (info->capabilities & QDQ_CAN_RUN) != 0 || qdq_data_steps(d) == 1
               ? QDQ_OK
               : qdq_fail(err, QDQ_E_UNSUPPORTED,
                          "engine '%s' computes no outputs, expected those that are fed back",
                          info->name);
}

qdq_status qdq_bench_sequence(const qdq_sequence_model *models, size_t n, qdq_data *data,
                              const qdq_bench_opts *opts, qdq_bench_model *out, qdq_error *err)
{
    timing t = {.models = models, .data = data, .job = opts != NULL ? opts->job : NULL};
    const size_t steps = qdq_data_steps(data);
    const qdq_bench_unit unit = {&t, time_sequence, (unsigned)steps};
    qdq_status st = QDQ_OK;

    if (steps > UINT32_MAX)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "a sequence of %zu steps", steps);
    for (size_t i = 0; i < n; i++)
        QDQ_TRY(check_engine(models[i].session, data, err));
    t.states = calloc(n + 1, sizeof *t.states);
    QDQ_NEED(t.states != NULL, err);
    for (size_t i = 0; i < n && st == QDQ_OK; i++)
        st = qdq_feedback_begin(&t.states[i], data, err);
    if (st == QDQ_OK)
        st = qdq_bench_units(&unit, n, opts, out, err);
    for (size_t i = 0; i < n; i++)
        qdq_feedback_free(&t.states[i]);
    free(t.states);
    qdq_arena_free(&t.memory);
    return st;
}
