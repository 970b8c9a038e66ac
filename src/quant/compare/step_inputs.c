/* step_inputs.c - runs a sequence up to a step, and keeps what that one reads. */
#include "quant/compare/step_inputs.h"

#include <string.h>

#include "base/fail.h"
#include "quant/calib/feedback.h"
#include "quant/compare/compare_feed.h"
#include "quant/half_precision/safe_session.h"

size_t qdq_step_to_time(const qdq_data *d)
{
    return qdq_data_steps(d) / 2;
}

static qdq_status read_step(const qdq_step_request *r, qdq_feedback *f, size_t step,
                            qdq_arena *memory, const qdq_named_array **in, size_t *n,
                            qdq_error *err)
{
    QDQ_TRY(qdq_job_poll(r->job, err));
    QDQ_TRY(qdq_data_get_step(r->data, r->sample, step, in, n, err));
    return qdq_feedback_put(f, step, in, *n, memory, err);
}

static qdq_status copy_arrays(const qdq_named_array **in, size_t n, qdq_arena *memory,
                              qdq_error *err)
{
    qdq_named_array *own = qdq_arena_array(memory, n + 1, sizeof *own);

    QDQ_NEED(own != NULL, err);
    for (size_t i = 0; i < n; i++) {
        const qdq_array *a = &(*in)[i].array;

        own[i] = (*in)[i];
        own[i].array.data = qdq_arena_alloc(memory, a->bytes + 1);
        QDQ_NEED(own[i].array.data != NULL, err);
        if (a->bytes > 0)
            memcpy(own[i].array.data, a->data, a->bytes);
    }
    *in = own;
    return QDQ_OK;
}

static qdq_status run_step(const qdq_step_request *r, qdq_feedback *f, qdq_safe_session *s,
                           size_t step, qdq_arena *memory, qdq_error *err)
{
    const qdq_named_array *in;
    size_t n;

    QDQ_TRY(read_step(r, f, step, memory, &in, &n, err));
    QDQ_TRY(qdq_compare_feed(s->model, r->of, &in, n, memory, err));
    const qdq_status st = qdq_safe_run(s, in, n, qdq_feedback_take, f, err);
    return st == QDQ_OK ? st : qdq_within(err, st, "sample %zu, step %zu", r->sample, step);
}

static qdq_status run_to_step(const qdq_step_request *r, qdq_feedback *f, qdq_safe_session *s,
                              qdq_arena *memory, const qdq_named_array **in, size_t *n,
                              qdq_error *err)
{
    QDQ_TRY(qdq_safe_open(s, err));
    for (size_t step = 0; step < r->step; step++) {
        const qdq_arena_mark mark = qdq_arena_get_mark(memory);

        QDQ_TRY(run_step(r, f, s, step, memory, err));
        qdq_arena_reset(memory, mark);
    }
    QDQ_TRY(read_step(r, f, r->step, memory, in, n, err));
    QDQ_TRY(qdq_compare_feed(r->m, r->of, in, *n, memory, err));
    return copy_arrays(in, *n, memory, err);
}

qdq_status qdq_step_inputs(const qdq_step_request *r, qdq_arena *memory, const qdq_named_array **in,
                           size_t *n, qdq_error *err)
{
    qdq_safe_session s = {.engine = r->engine,
                          .model = r->m,
                          .opts = QDQ_SESSION_OPTS_INIT,
                          .which = "model",
                          .job = r->job};
    qdq_feedback f;

    if (r->step == 0) {
        QDQ_TRY(qdq_data_get(r->data, r->sample, in, n, err));
        return qdq_compare_feed(r->m, r->of, in, *n, memory, err);
    }
    s.opts.level = QDQ_LEVEL_NONE;
    if (r->opts != NULL) {
        s.opts.threads = r->opts->threads;
        s.opts.shapes = r->opts->shapes;
        s.opts.n_shapes = r->opts->n_shapes;
    }
    QDQ_TRY(qdq_feedback_begin(&f, r->data, err));
    const qdq_status st = run_to_step(r, &f, &s, memory, in, n, err);
    qdq_safe_close(&s);
    qdq_feedback_free(&f);
    return st;
}

/* Of the second list, shapes alone are read. */
static bool differ(const qdq_named_array *a, const qdq_named_array *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (a[i].array.rank != b[i].array.rank ||
            memcmp(a[i].array.dim, b[i].array.dim,
                   (size_t)a[i].array.rank * sizeof *a[i].array.dim) != 0)
            return true;
    return false;
}

qdq_status qdq_steps_grow(const qdq_step_request *r, bool *grow, qdq_error *err)
{
    qdq_step_request second = *r;
    const qdq_named_array *in, *after;
    qdq_arena memory = QDQ_ARENA_INIT;
    size_t n;

    *grow = false;
    if (qdq_data_steps(r->data) < 2)
        return QDQ_OK;
    second.step = 1;
    qdq_status st = qdq_step_inputs(&second, &memory, &after, &n, err);
    if (st == QDQ_OK)
        st = qdq_data_get(r->data, r->sample, &in, &n, err);
    if (st == QDQ_OK)
        *grow = differ(in, after, n);
    qdq_arena_free(&memory);
    return st;
}
