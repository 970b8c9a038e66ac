/* worker_models.c - models with a session each, the samples they are run on, and their times. */
#include "worker/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "engine/sample_stats.h"
#include "engine/session_inputs.h"
#include "quant/compare/compare_feed.h"
#include "quant/data/npz.h"

enum { RANDOM_SAMPLES = 4, ALIGNMENT = 64 };

/* --- samples ---------------------------------------------------------------------------------- */

static bool has_shape_for(const qdq_data_opts *opts, const char *name)
{
    for (size_t i = 0; i < opts->n_shapes; i++)
        if (strcmp(opts->shapes[i].name, name) == 0)
            return true;
    return false;
}

/* `more` shapes behind those that are there. */
static qdq_input_shape *more_shapes(qdq_data_opts *opts, size_t more, qdq_arena *arena)
{
    qdq_input_shape *all = qdq_arena_array(arena, opts->n_shapes + more + 1, sizeof *all);

    for (size_t i = 0; all != NULL && i < opts->n_shapes; i++)
        all[i] = opts->shapes[i];
    if (all != NULL)
        opts->shapes = all;
    return all;
}

/* What trtexec is told to time, samples must have, though the model stays open: they are given
 * where it has no shape. */
static qdq_status add_usual_shapes(const qdq_worker *w, qdq_arena *arena, qdq_data_opts *opts,
                                   qdq_error *err)
{
    qdq_trtexec_shapes *x = NULL;

    if (w->engine_opts.trtexec_args == NULL)
        return QDQ_OK;
    QDQ_TRY(qdq_trtexec_shapes_read(w->engine_opts.trtexec_args, &x, err));
    qdq_input_shape *all = more_shapes(opts, x->n_opt, arena);
    for (size_t i = 0; all != NULL && i < x->n_opt; i++) {
        if (!qdq_model_has_input(w->data_for, x->opt[i].name))
            continue;
        all[opts->n_shapes] = x->opt[i];
        all[opts->n_shapes].name = qdq_arena_strdup(arena, x->opt[i].name);
        all = all[opts->n_shapes++].name != NULL ? all : NULL;
    }
    qdq_free(x);
    return qdq_allocated(all != NULL, err);
}

/* Along an open first dim, which may be no batch, each sample has its share. */
static qdq_status add_share(const qdq_worker *w, qdq_npz *z, const qdq_io *io, qdq_data_opts *opts,
                            qdq_input_shape *all, qdq_error *err)
{
    const qdq_npy *a;
    size_t k = 0;

    while (k < qdq_npz_count(z) && strcmp(qdq_npz_name(z, k), io->name) != 0)
        k++;
    if (k == qdq_npz_count(z) || has_shape_for(opts, io->name))
        return QDQ_OK;
    QDQ_TRY(qdq_npz_header(z, k, &a, err));
    if (a->rank != io->rank || a->dim[0] % (int64_t)w->n_samples != 0)
        return QDQ_OK;
    qdq_input_shape *to = &all[opts->n_shapes++];
    *to = (qdq_input_shape){.name = io->name, .rank = io->rank};
    for (int i = 0; i < io->rank; i++)
        to->dim[i] = i == 0 ? a->dim[0] / (int64_t)w->n_samples : -1;
    return QDQ_OK;
}

static qdq_status add_shares(const qdq_worker *w, qdq_arena *arena, qdq_data_opts *opts,
                             qdq_error *err)
{
    qdq_npz *z;
    qdq_io io;

    if (w->samples == NULL || w->n_samples == 0)
        return QDQ_OK;
    qdq_input_shape *all = more_shapes(opts, qdq_model_input_count(w->data_for), arena);
    QDQ_NEED(all != NULL, err);
    QDQ_TRY(qdq_npz_open(w->samples, &z, err));
    qdq_status st = QDQ_OK;
    for (size_t i = 0; st == QDQ_OK && qdq_model_input(w->data_for, i, &io); i++)
        if (io.rank > 0 && io.dim[0] < 0)
            st = add_share(w, z, &io, opts, all, err);
    qdq_npz_close(z);
    return st;
}

static qdq_status open_data(qdq_worker *w, const qdq_model *m, qdq_error *err)
{
    qdq_data_opts opts = QDQ_DATA_OPTS_INIT;
    char random[40];

    snprintf(random, sizeof random, "random:%llu", (unsigned long long)w->seed);
    if (w->data_for == NULL)
        QDQ_TRY(qdq_model_clone(m, &w->data_for, err));
    opts.shapes = w->shapes;
    opts.n_shapes = w->n_shapes;
    opts.max_samples = w->samples != NULL ? 0 : RANDOM_SAMPLES;
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_status st = add_usual_shapes(w, &scratch, &opts, err);
    if (st == QDQ_OK)
        st = add_shares(w, &scratch, &opts, err);
    if (st == QDQ_OK)
        st = qdq_data_open(w->samples != NULL ? w->samples : random, w->data_for, &opts, &w->data,
                           err);
    qdq_arena_free(&scratch);
    return st;
}

static bool has_shape(const qdq_io *a, const qdq_io *b)
{
    if (strcmp(a->name, b->name) != 0 || a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dim[i] >= 0 && b->dim[i] >= 0 && a->dim[i] != b->dim[i])
            return false;
    return true;
}

/* Random samples of one model are none of a model with other inputs. */
static bool is_sampled(const qdq_worker *w, const qdq_model *m)
{
    qdq_io of_m, of_data;

    if (w->samples != NULL || qdq_model_input_count(m) != qdq_model_input_count(w->data_for))
        return w->samples != NULL;
    for (size_t i = 0; qdq_model_input(m, i, &of_m) && qdq_model_input(w->data_for, i, &of_data);
         i++)
        if (!has_shape(&of_m, &of_data))
            return false;
    return true;
}

static void close_data(qdq_worker *w)
{
    qdq_data_close(w->data);
    qdq_model_free(w->data_for);
    w->data = NULL;
    w->data_for = NULL;
}

qdq_status qdq_worker_sample(qdq_worker *w, const qdq_model *m, size_t i, qdq_arena *memory,
                             const qdq_named_array **in, size_t *n, size_t *count, qdq_error *err)
{
    *in = NULL;
    *n = 0;
    *count = 1;
    if (qdq_model_input_count(m) == 0)
        return QDQ_OK;
    if (w->data != NULL && !is_sampled(w, m))
        close_data(w);
    if (w->data == NULL)
        QDQ_TRY(open_data(w, m, err));
    *count = qdq_data_count(w->data);
    QDQ_TRY(qdq_data_get(w->data, i, in, n, err));
    return qdq_compare_feed(m, w->data_for, in, *n, memory, err);
}

/* --- sessions --------------------------------------------------------------------------------- */

void qdq_worker_close(qdq_worker_model *m)
{
    if (m == NULL)
        return;
    qdq_session_close(m->session);
    qdq_model_free(m->model);
    qdq_arena_free(&m->inputs);
    free(m);
}

qdq_status qdq_worker_open(qdq_worker *w, const char *path, const qdq_input_shape *shapes,
                           size_t n_shapes, qdq_worker_purpose purpose, qdq_worker_model **out,
                           qdq_error *err)
{
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    qdq_worker_model *m = calloc(1, sizeof *m);

    *out = NULL;
    QDQ_NEED(m != NULL, err);
    opts.threads = w->threads;
    opts.shapes = shapes;
    opts.n_shapes = n_shapes;
    opts.profile = purpose == QDQ_WORKER_PROFILE;
    opts.layers = purpose == QDQ_WORKER_GROUPS;
    qdq_status st = qdq_model_load(path, NULL, &m->model, err);
    if (st == QDQ_OK)
        st = qdq_session_open(w->engine, m->model, &opts, &m->session, err);
    return QDQ_HAND_OVER(m, st, out, qdq_worker_close);
}

qdq_worker_model *qdq_worker_find(const qdq_worker *w, int64_t handle, qdq_error *err)
{
    for (size_t i = 0; i < w->models.n; i++)
        if (w->models.at[i]->handle == handle)
            return w->models.at[i];
    qdq_fail(err, QDQ_E_BUG, "the worker has no model with handle %lld", (long long)handle);
    return NULL;
}

/* --- times ------------------------------------------------------------------------------------ */

/* The sample is borrowed, what is bound must stay. Equally aligned for all models: it shows in
 * their times. */
static qdq_status copy_inputs(qdq_worker_model *m, const qdq_named_array *in, size_t n,
                              qdq_named_array **out, qdq_error *err)
{
    *out = qdq_arena_array(&m->inputs, n + 1, sizeof **out);
    QDQ_NEED(*out != NULL, err);
    for (size_t i = 0; i < n; i++) {
        char *data = qdq_arena_alloc(&m->inputs, in[i].array.bytes + ALIGNMENT);

        QDQ_NEED(data != NULL, err);
        data += ALIGNMENT - (uintptr_t)data % ALIGNMENT;
        (*out)[i] = in[i];
        (*out)[i].array.data = data;
        if (in[i].array.bytes > 0)
            memcpy(data, in[i].array.data, in[i].array.bytes);
    }
    return QDQ_OK;
}

static qdq_status bind(qdq_worker *w, qdq_worker_model *m, qdq_error *err)
{
    const qdq_array **ordered = NULL;
    const qdq_named_array *in;
    qdq_named_array *own;
    size_t n, count;

    QDQ_TRY(qdq_worker_sample(w, m->model, 0, &m->inputs, &in, &n, &count, err));
    QDQ_TRY(copy_inputs(m, in, n, &own, err));
    QDQ_TRY(qdq_session_order_inputs(m->session, own, n, &ordered, err));
    qdq_status st = w->engine->ops->bind(m->session, ordered, err);
    free(ordered);
    return st;
}

static void seek(qdq_session *s, uint64_t number)
{
    if (s->engine->ops->seek != NULL)
        s->engine->ops->seek(s, number);
}

/* How many runs make a sample is found once, from the fastest run: with the same number each time,
 * times of two samples can be compared. */
qdq_status qdq_worker_warm_up(qdq_worker *w, qdq_worker_model *m, qdq_error *err)
{
    uint64_t best = UINT64_MAX, ns = 0;

    if ((w->engine->info.capabilities & QDQ_CAN_TIME) == 0)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "engine '%s' measures no time",
                        w->engine->info.name);
    QDQ_TRY(bind(w, m, err));
    seek(m->session, 0);
    for (unsigned i = 0; i < w->warmup; i++) {
        QDQ_TRY(w->engine->ops->time_runs(m->session, 1, &ns, err));
        best = ns < best ? ns : best;
    }
    m->runs = qdq_stats_sample_runs(w->sample_ms * 1e6, best, w->sample_runs);
    return QDQ_OK;
}

qdq_status qdq_worker_time(qdq_worker_model *m, uint64_t number, double *ns, qdq_error *err)
{
    uint64_t total;

    if (m->runs == 0)
        return qdq_fail(err, QDQ_E_BUG, "the model has not been run before it is timed");
    seek(m->session, number);
    QDQ_TRY(m->session->engine->ops->time_runs(m->session, m->runs, &total, err));
    *ns = (double)(total > 0 ? total : 1) / m->runs;
    return QDQ_OK;
}
