/* sweep.c - values are cut into chunks, a session for each; inputs of the graph are shown with the
 * first one, as they are fed. */
#include "quant/calib/sweep.h"

#include "base/fail.h"
#include "quant/calib/feedback.h"

#define DEFAULT_MEMORY   ((uint64_t)256 << 20)
#define UNKNOWN_ELEMENTS ((uint64_t)1 << 20)

typedef struct sweep {
    const qdq_quantizing *q;
    const char *stage;
    qdq_sweep_fn show;
    void *ctx;
    qdq_feedback states;
    /* `sample`: the one that runs */
    size_t n_samples, sample;
    /* samples of all chunks */
    uint64_t done, total;
} sweep;

size_t qdq_sweep_count(const qdq_quantizing *q)
{
    size_t n = qdq_data_count(q->data), most = q->opts->samples;

    return most != 0 && most < n ? most : n;
}

uint64_t qdq_sweep_memory(const qdq_quantizing *q)
{
    return q->opts->memory != 0 ? q->opts->memory : DEFAULT_MEMORY;
}

bool qdq_has_real_samples(const qdq_quantizing *q, const char *what)
{
    if (q->data != NULL && !qdq_data_is_random(q->data))
        return true;
    qdq_job_log(q->opts->job, QDQ_LOG_WARNING,
                "%s needs samples, random ones say nothing of channels", what);
    return false;
}

qdq_status qdq_sweep_open(const qdq_quantizing *q, const char *const *expose, qdq_session **out,
                          qdq_error *err)
{
    qdq_session_opts so = QDQ_SESSION_OPTS_INIT;

    so.level = QDQ_LEVEL_NONE;
    so.threads = q->opts->threads;
    so.expose = expose;
    so.only_exposed = true;
    so.shapes = q->opts->shapes;
    so.n_shapes = q->opts->n_shapes;
    return qdq_session_open(q->engine, q->m, &so, out, err);
}

/* Bytes of v in one run; dims that are not fixed count as 1. */
static uint64_t bytes_of(const qdq_value *v)
{
    uint64_t count = 1;

    if (v->type == NULL || v->type->rank < 0)
        return UNKNOWN_ELEMENTS * sizeof(float);
    for (int i = 0; i < v->type->rank; i++) {
        int64_t dim = v->type->dim[i].value;
        if (dim > 1)
            count = count > UINT64_MAX / 8 / (uint64_t)dim ? UINT64_MAX / 8 : count * (uint64_t)dim;
    }
    return count * sizeof(float);
}

static qdq_status show_output(void *ctx, const char *name, const qdq_array *a, qdq_error *err)
{
    const sweep *s = ctx;

    return s->show(s->ctx, s->sample, name, a, err);
}

/* `session` NULL: inputs alone. */
static qdq_status run_step(sweep *s, qdq_session *session, bool with_inputs, size_t step,
                           qdq_arena *memory, qdq_error *err)
{
    const qdq_named_array *in;
    size_t n_in;

    QDQ_TRY(qdq_job_poll(s->q->opts->job, err));
    QDQ_TRY(qdq_data_get_step(s->q->data, s->sample, step, &in, &n_in, err));
    QDQ_TRY(qdq_feedback_put(&s->states, step, &in, n_in, memory, err));
    for (size_t i = 0; i < n_in && with_inputs; i++)
        QDQ_TRY(s->show(s->ctx, s->sample, in[i].name, &in[i].array, err));
    if (session == NULL)
        return QDQ_OK;
    qdq_status st = qdq_session_run(session, in, n_in, qdq_feedback_take, &s->states, err);
    return st == QDQ_OK ? st : qdq_within(err, st, "sample %zu", s->sample);
}

static qdq_status run_samples(sweep *s, qdq_session *session, bool with_inputs, qdq_arena *memory,
                              qdq_error *err)
{
    const size_t stride = s->q->stride > 0 ? s->q->stride : 1;

    for (s->sample = s->q->first; s->sample < s->n_samples; s->sample += stride) {
        for (size_t step = 0; step < qdq_data_steps(s->q->data); step++) {
            const qdq_arena_mark mark = qdq_arena_get_mark(memory);

            QDQ_TRY(run_step(s, session, with_inputs, step, memory, err));
            qdq_arena_reset(memory, mark);
        }
        qdq_job_progress(s->q->opts->job, s->stage, ++s->done, s->total);
    }
    return QDQ_OK;
}

static qdq_status run_chunk(sweep *s, const char *const *expose, bool with_inputs,
                            qdq_arena *memory, qdq_error *err)
{
    qdq_session *session = NULL;

    QDQ_TRY(qdq_feedback_expose(&s->states, expose, memory, &expose, err));
    QDQ_TRY(qdq_sweep_open(s->q, expose, &session, err));
    qdq_status st = run_samples(s, session, with_inputs, memory, err);
    qdq_session_close(session);
    return st;
}

/* Names of the values, NULL after each chunk. Returns the number of chunks. */
static size_t cut_chunks(const qdq_quantizing *q, const qdq_value *const *values,
                         const char **names)
{
    uint64_t limit = qdq_sweep_memory(q), used = 0;
    size_t n_chunks = 0;

    for (; *values != NULL; values++) {
        uint64_t bytes = bytes_of(*values);

        if (used > 0 && used + bytes > limit) {
            *names++ = NULL;
            n_chunks++;
            used = 0;
        }
        *names++ = (*values)->name;
        used += bytes;
    }
    *names = NULL;
    return n_chunks + (used > 0);
}

/* The samples that run. */
static size_t count_taken(const sweep *s)
{
    const size_t stride = s->q->stride > 0 ? s->q->stride : 1;

    return s->q->first < s->n_samples ? (s->n_samples - s->q->first - 1) / stride + 1 : 0;
}

/* States are seen in runs alone, also where nothing else is asked for. */
static qdq_status run_all(sweep *s, const qdq_value *const *values, qdq_arena *scratch,
                          qdq_error *err)
{
    size_t n = 0;

    while (values[n] != NULL)
        n++;
    const char **chunk = qdq_arena_array(scratch, 2 * n + 1, sizeof *chunk);
    QDQ_NEED(chunk != NULL, err);
    size_t n_chunks = cut_chunks(s->q, values, chunk);
    s->total = (uint64_t)count_taken(s) * (n_chunks > 0 ? n_chunks : 1);
    if (n_chunks == 0 && s->states.n > 0)
        n_chunks = 1;
    if (n_chunks == 0)
        return run_samples(s, NULL, true, scratch, err);
    for (size_t i = 0; i < n_chunks; i++) {
        QDQ_TRY(run_chunk(s, chunk, i == 0, scratch, err));
        while (*chunk++ != NULL)
            ;
    }
    return QDQ_OK;
}

qdq_status qdq_sweep(const qdq_quantizing *q, const char *stage, const qdq_value *const *values,
                     qdq_sweep_fn show, void *ctx, qdq_error *err)
{
    sweep s = {.q = q, .stage = stage, .show = show, .ctx = ctx, .n_samples = qdq_sweep_count(q)};
    qdq_arena scratch = QDQ_ARENA_INIT;

    QDQ_TRY(qdq_feedback_begin(&s.states, q->data, err));
    s.states.fn = show_output;
    s.states.ctx = &s;
    qdq_status st = run_all(&s, values, &scratch, err);
    qdq_feedback_free(&s.states);
    qdq_arena_free(&scratch);
    return st;
}
