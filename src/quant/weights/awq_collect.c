/* awq_collect.c - see awq_state.h. Of an activation are kept: the mean of |x| for each channel, and
 * a sample of rows: those whose lot is low enough, the limit halved whenever there are too many.
 * The lot depends on the number of the row alone. */
#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "base/random.h"
#include "quant/weights/awq_state.h"

#define DEFAULT_MEMORY   ((uint64_t)256 << 20)
#define UNKNOWN_ELEMENTS ((uint64_t)1 << 20)

typedef struct collector {
    qdq_awq_state *a;
    uint64_t done, total;
} collector;

/* Half of the rows go. */
static void thin(qdq_awq_group *g)
{
    size_t n = 0;

    g->limit /= 2;
    for (size_t i = 0; i < g->n_kept; i++) {
        if (g->lot[i] > g->limit)
            continue;
        memmove(g->row + n * g->k, g->row + i * g->k, g->k * sizeof *g->row);
        g->lot[n++] = g->lot[i];
    }
    g->n_kept = n;
}

static bool begin(qdq_awq_group *g, qdq_arena *arena)
{
    if (g->row != NULL)
        return true;
    g->row = qdq_arena_array(arena, QDQ_AWQ_ROWS * g->k + 1, sizeof *g->row);
    g->sum = qdq_arena_array(arena, g->k + 1, sizeof *g->sum);
    g->limit = UINT64_MAX;
    return g->row != NULL && g->sum != NULL;
}

bool qdq_awq_add_rows(qdq_awq_group *g, qdq_arena *arena, const float *x, size_t n_row)
{
    if (!begin(g, arena))
        return false;
    for (size_t i = 0; i < n_row; i++, g->n_row++) {
        const float *row = x + i * g->k;
        /* rows at regular distances may all be one token */
        uint64_t lot = qdq_random_nth_seed(1, g->n_row);

        while (lot <= g->limit && g->n_kept == QDQ_AWQ_ROWS)
            thin(g);
        bool keep = lot <= g->limit;
        for (size_t k = 0; k < g->k; k++) {
            float v = isfinite(row[k]) ? row[k] : 0;

            g->sum[k] += fabs((double)v);
            if (keep)
                g->row[g->n_kept * g->k + k] = v;
        }
        if (keep)
            g->lot[g->n_kept++] = lot;
    }
    return true;
}

static qdq_status observe(collector *c, const char *name, const qdq_array *x, qdq_error *err)
{
    const qdq_map_value *at = qdq_map_get(&c->a->by_value, name);
    qdq_awq_group *g = at != NULL ? &c->a->groups.at[at->num] : NULL;

    if (g == NULL)
        return QDQ_OK;
    if (x->elem != QDQ_FLOAT || x->rank < 1 || (size_t)x->dim[x->rank - 1] != g->k)
        return qdq_fail(err, QDQ_E_FORMAT, "tensor '%s': its rows do not have %zu floats", name,
                        g->k);
    return qdq_awq_add_rows(g, &c->a->scratch, x->data, (size_t)qdq_array_count(x) / g->k)
               ? QDQ_OK
               : qdq_nomem(err);
}

static qdq_status observe_output(void *ctx, const char *name, const qdq_array *x, qdq_error *err)
{
    return observe(ctx, name, x, err);
}

static qdq_status run_samples(collector *c, qdq_session *s, size_t n, bool with_inputs)
{
    qdq_error *err = c->a->err;

    for (size_t i = 0; i < n; i++) {
        const qdq_named_array *in;
        size_t n_in;

        QDQ_TRY(qdq_job_poll(c->a->q->opts->job, err));
        QDQ_TRY(qdq_data_get(c->a->q->data, i, &in, &n_in, err));
        for (size_t k = 0; k < n_in && with_inputs; k++)
            QDQ_TRY(observe(c, in[k].name, &in[k].array, err));
        if (s != NULL) {
            qdq_status st = qdq_session_run(s, in, n_in, observe_output, c, err);
            if (st != QDQ_OK)
                return qdq_within(err, st, "sample %zu", i);
        }
        qdq_job_progress(c->a->q->opts->job, "weights", ++c->done, c->total);
    }
    return QDQ_OK;
}

static qdq_status run_chunk(collector *c, size_t n, const char *const *expose, bool with_inputs)
{
    qdq_session_opts so = QDQ_SESSION_OPTS_INIT;
    qdq_session *s = NULL;

    so.level = QDQ_LEVEL_NONE;
    so.threads = c->a->q->opts->threads;
    so.expose = expose;
    so.only_exposed = true;
    so.shapes = c->a->q->opts->shapes;
    so.n_shapes = c->a->q->opts->n_shapes;
    QDQ_TRY(qdq_session_open(c->a->q->engine, c->a->q->m, &so, &s, c->a->err));
    qdq_status st = run_samples(c, s, n, with_inputs);
    qdq_session_close(s);
    return st;
}

/* Bytes of v in one run; dims that are not fixed count as 1. */
static uint64_t bytes_of(const qdq_value *v)
{
    uint64_t count = 1;

    if (v->type == NULL || v->type->rank < 0)
        return UNKNOWN_ELEMENTS * sizeof(float);
    for (int i = 0; i < v->type->rank; i++)
        if (v->type->dim[i].value > 1)
            count = count > UINT64_MAX / 8 / (uint64_t)v->type->dim[i].value
                        ? UINT64_MAX / 8
                        : count * (uint64_t)v->type->dim[i].value;
    return count * sizeof(float);
}

/* Names of what only a run shows, NULL after each chunk that fits into memory. */
static const char **chunks_of(const qdq_awq_state *a, qdq_arena *scratch, size_t *n_chunks)
{
    uint64_t limit = a->q->opts->memory != 0 ? a->q->opts->memory : DEFAULT_MEMORY, used = 0;
    const char **names = qdq_arena_array(scratch, 2 * a->groups.n + 2, sizeof *names);
    size_t n = 0;

    *n_chunks = 0;
    for (size_t i = 0; i < a->groups.n && names != NULL; i++) {
        const qdq_value *v = a->groups.at[i].x;

        if (v->producer == NULL)
            continue;
        if (used > 0 && used + bytes_of(v) > limit) {
            names[n++] = NULL;
            ++*n_chunks;
            used = 0;
        }
        names[n++] = v->name;
        used += bytes_of(v);
    }
    *n_chunks += used > 0;
    return names;
}

qdq_status qdq_awq_collect(qdq_awq_state *a)
{
    collector c = {.a = a};
    size_t n = qdq_data_count(a->q->data), n_chunks;
    const char **chunk = chunks_of(a, &a->scratch, &n_chunks);

    if (chunk == NULL)
        return qdq_nomem(a->err);
    if (a->q->opts->samples != 0 && a->q->opts->samples < n)
        n = a->q->opts->samples;
    c.total = (uint64_t)n * (n_chunks > 0 ? n_chunks : 1);
    if (n_chunks == 0)
        return run_samples(&c, NULL, n, true);
    for (size_t i = 0; i < n_chunks; i++) {
        QDQ_TRY(run_chunk(&c, n, chunk, i == 0));
        while (*chunk++ != NULL)
            ;
    }
    return QDQ_OK;
}
