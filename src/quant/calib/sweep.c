/* sweep.c - values are cut into chunks, a session for each; inputs of the graph are shown with the
 * first one, as they are fed. */
#include "quant/calib/sweep.h"

#include "base/fail.h"

#define DEFAULT_MEMORY   ((uint64_t)256 << 20)
#define UNKNOWN_ELEMENTS ((uint64_t)1 << 20)

typedef struct sweep {
    const qdq_quantizing *q;
    const char *stage;
    qdq_sweep_fn show;
    void *ctx;
    size_t n_samples, sample; /* `sample`: the one that runs */
    uint64_t done, total;     /* runs */
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
static qdq_status run_samples(sweep *s, qdq_session *session, bool with_inputs, qdq_error *err)
{
    for (s->sample = 0; s->sample < s->n_samples; s->sample++) {
        const qdq_named_array *in;
        size_t n_in;

        QDQ_TRY(qdq_job_poll(s->q->opts->job, err));
        QDQ_TRY(qdq_data_get(s->q->data, s->sample, &in, &n_in, err));
        for (size_t i = 0; i < n_in && with_inputs; i++)
            QDQ_TRY(s->show(s->ctx, s->sample, in[i].name, &in[i].array, err));
        if (session != NULL) {
            qdq_status st = qdq_session_run(session, in, n_in, show_output, s, err);
            if (st != QDQ_OK)
                return qdq_within(err, st, "sample %zu", s->sample);
        }
        qdq_job_progress(s->q->opts->job, s->stage, ++s->done, s->total);
    }
    return QDQ_OK;
}

static qdq_status run_chunk(sweep *s, const char *const *expose, bool with_inputs, qdq_error *err)
{
    qdq_session *session = NULL;

    QDQ_TRY(qdq_sweep_open(s->q, expose, &session, err));
    qdq_status st = run_samples(s, session, with_inputs, err);
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

static qdq_status run_all(sweep *s, const qdq_value *const *values, qdq_arena *scratch,
                          qdq_error *err)
{
    size_t n = 0;

    while (values[n] != NULL)
        n++;
    const char **chunk = qdq_arena_array(scratch, 2 * n + 1, sizeof *chunk);
    QDQ_NEED(chunk != NULL, err);
    const size_t n_chunks = cut_chunks(s->q, values, chunk);
    s->total = (uint64_t)s->n_samples * (n_chunks > 0 ? n_chunks : 1);
    if (n_chunks == 0)
        return run_samples(s, NULL, true, err);
    for (size_t i = 0; i < n_chunks; i++) {
        QDQ_TRY(run_chunk(s, chunk, i == 0, err));
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
    qdq_status st = run_all(&s, values, &scratch, err);

    qdq_arena_free(&scratch);
    return st;
}
