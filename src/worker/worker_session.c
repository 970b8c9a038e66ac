/* worker_session.c - sessions of the engine `remote`: a model that is sent, and runs on arrays in
 * shared memory. */
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "engine/remote/remote_arrays.h"
#include "engine/remote/remote_groups.h"
#include "engine/remote/remote_model.h"
#include "worker/worker.h"

/* Outputs are handed over in pieces of this size, so that memory stays warm and small. */
enum { PIECE = 1 << 20, ALIGNMENT = 64 };

/* --- open ------------------------------------------------------------------------------------- */

static qdq_status read_opts(const qdq_json_place *q, qdq_session_opts *opts, qdq_error *err)
{
    opts->level = (qdq_opt_level)qdq_json_int(q, "level", QDQ_LEVEL_ALL, QDQ_LEVEL_NONE, -1);
    opts->threads = (int)qdq_json_int(q, "threads", 0, INT32_MAX, -1);
    opts->profile = qdq_json_bool(q, "profile");
    opts->fake_quant = qdq_json_bool(q, "fake_quant");
    opts->layers = qdq_json_bool(q, "groups");
    QDQ_TRY(qdq_remote_shapes_read(q, &opts->shapes, &opts->n_shapes, err));
    return q->reader->status;
}

static qdq_status open_session(qdq_worker *w, const qdq_json_place *q, qdq_worker_model *m,
                               qdq_error *err)
{
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    int fd = w->received;

    w->received = -1;
    if (fd < 0)
        return qdq_fail(err, QDQ_E_BUG, "a session without the memory of its model");
    qdq_status st = qdq_remote_model_get(q, fd, &m->model, err);
    if (st == QDQ_E_FORMAT) /* it is invalid, and no engine would have taken it */
        st = qdq_within(err, QDQ_E_ENGINE, "engine '%s'", w->engine->info.name);
    if (st != QDQ_OK)
        return st;
    QDQ_TRY(read_opts(q, &opts, err));
    return qdq_session_open(w->engine, m->model, &opts, &m->session, err);
}

qdq_status qdq_worker_open_session(qdq_worker *w, const qdq_json_place *q, qdq_json_out answer,
                                   qdq_error *err)
{
    int64_t handle = qdq_json_int(q, "handle", 0, INT64_MAX, -1);
    qdq_worker_model *m = calloc(1, sizeof *m);

    if (m == NULL || !QDQ_RESERVE(&w->arena, &w->models)) {
        free(m);
        return qdq_nomem(err);
    }
    m->handle = handle;
    qdq_status st = open_session(w, q, m, err);
    if (st != QDQ_OK) {
        qdq_worker_close(m);
        return st;
    }
    w->models.at[w->models.n++] = m;
    qdq_json_put(answer, "in", qdq_remote_ios_json(m->session->in, m->session->n_in));
    qdq_json_put(answer, "out", qdq_remote_ios_json(m->session->out, m->session->n_out));
    return QDQ_OK;
}

/* --- arrays ----------------------------------------------------------------------------------- */

/* The arrays of the question, one for each input of the session. *in ends with NULL. */
static qdq_status read_inputs(qdq_worker *w, const qdq_json_place *q, const qdq_session *s,
                              const qdq_array ***in, qdq_error *err)
{
    const json_t *list = json_object_get(q->object, "in");
    size_t n = json_array_size(list);
    qdq_named_array *arrays = qdq_arena_array(q->reader->arena, n + 1, sizeof *arrays);
    const qdq_array **ordered = qdq_arena_array(q->reader->arena, n + 1, sizeof *ordered);

    *in = ordered;
    QDQ_NEED(arrays != NULL && ordered != NULL, err);
    if (n != s->n_in)
        return qdq_fail(err, QDQ_E_BUG, "%zu inputs, expected %zu", n, s->n_in);
    for (size_t i = 0; i < n; i++) {
        QDQ_TRY(qdq_remote_array_get(&w->exchange, json_array_get(list, i), q->reader->arena,
                                     &arrays[i], err));
        ordered[i] = &arrays[i].array;
    }
    return QDQ_OK;
}

static qdq_worker_model *find_model(qdq_worker *w, const qdq_json_place *q, qdq_error *err)
{
    return qdq_worker_find(w, qdq_json_int(q, "handle", 0, INT64_MAX, -1), err);
}

/* --- run -------------------------------------------------------------------------------------- */

typedef struct giver {
    qdq_worker *w;
    /* of what the piece at hand takes in the memory */
    size_t start, end;
    /* its arrays */
    qdq_json_doc piece;
} giver;

static qdq_status hand_over(giver *g, qdq_error *err)
{
    qdq_json_doc doc = {0};
    qdq_json_out answer = qdq_json_object(&doc);

    qdq_json_put(answer, "outputs", qdq_json_take(&g->piece));
    qdq_json_put_bool(answer, "more", true);
    qdq_json_list(&g->piece);
    g->end = g->start;
    return qdq_worker_say(g->w, &doc, err);
}

static qdq_status give(void *ctx, const char *name, const qdq_array *a, qdq_error *err)
{
    giver *g = ctx;

    if (g->end > g->start &&
        a->bytes > PIECE - (g->end - g->start < PIECE ? g->end - g->start : PIECE))
        QDQ_TRY(hand_over(g, err));
    return qdq_remote_array_put(&g->w->exchange, &g->end, name, a, qdq_json_root(&g->piece), err);
}

qdq_status qdq_worker_run_session(qdq_worker *w, const qdq_json_place *q, qdq_json_out answer,
                                  qdq_error *err)
{
    size_t at = (size_t)qdq_json_int(q, "at", 0, INT64_MAX / 4, -1);
    giver g = {.w = w, .start = at, .end = at};
    const qdq_worker_model *m = find_model(w, q, err);
    const qdq_array **in;
    qdq_status st = m != NULL ? q->reader->status : QDQ_E_BUG;

    qdq_json_list(&g.piece);
    if (st == QDQ_OK)
        st = read_inputs(w, q, m->session, &in, err);
    if (st == QDQ_OK)
        st = w->engine->ops->run(m->session, in, give, &g, err);
    qdq_json_put(answer, "outputs", qdq_json_take(&g.piece));
    return st;
}

/* --- times ------------------------------------------------------------------------------------ */

/* What is bound must stay, while the memory of the exchange is used for other things. Equally
 * aligned for all models: it shows in their times. */
static qdq_status keep_inputs(qdq_worker_model *m, const qdq_array **in, size_t n, qdq_error *err)
{
    for (size_t i = 0; i < n; i++) {
        qdq_array *own = qdq_arena_alloc(&m->inputs, sizeof *own);
        char *data = qdq_arena_alloc(&m->inputs, in[i]->bytes + ALIGNMENT);

        QDQ_NEED(own != NULL && data != NULL, err);
        *own = *in[i];
        own->data = data + (ALIGNMENT - (uintptr_t)data % ALIGNMENT);
        if (own->bytes > 0)
            memcpy(own->data, in[i]->data, own->bytes);
        in[i] = own;
    }
    return QDQ_OK;
}

qdq_status qdq_worker_bind_session(qdq_worker *w, const qdq_json_place *q, qdq_json_out answer,
                                   qdq_error *err)
{
    qdq_worker_model *m = find_model(w, q, err);
    const qdq_array **in;

    (void)answer;
    if (m == NULL)
        return QDQ_E_BUG;
    QDQ_TRY(read_inputs(w, q, m->session, &in, err));
    QDQ_TRY(keep_inputs(m, in, m->session->n_in, err));
    return w->engine->ops->bind(m->session, in, err);
}

qdq_status qdq_worker_time_session(qdq_worker *w, const qdq_json_place *q, qdq_json_out answer,
                                   qdq_error *err)
{
    const qdq_worker_model *m = find_model(w, q, err);
    unsigned runs = (unsigned)qdq_json_int(q, "runs", 0, UINT32_MAX, -1);
    uint64_t ns;

    if (m == NULL)
        return QDQ_E_BUG;
    if (q->reader->status != QDQ_OK)
        return q->reader->status;
    QDQ_TRY(w->engine->ops->time_runs(m->session, runs, &ns, err));
    qdq_json_put_int(answer, "ns", (int64_t)ns);
    return QDQ_OK;
}

/* --- layers ----------------------------------------------------------------------------------- */

static qdq_status put_layers(qdq_worker *w, const qdq_json_place *q, bool nodes,
                             qdq_json_out answer, qdq_error *err)
{
    const qdq_worker_model *m = find_model(w, q, err);
    unsigned runs = (unsigned)qdq_json_int(q, "runs", nodes ? 0 : 1, UINT32_MAX, -1);
    const qdq_array **in = NULL;
    qdq_layer *layers;
    size_t n;

    if (m == NULL)
        return QDQ_E_BUG;
    if (runs > 0)
        QDQ_TRY(read_inputs(w, q, m->session, &in, err));
    QDQ_TRY((nodes ? w->engine->ops->groups : w->engine->ops->profile)(m->session, in, runs,
                                                                       &layers, &n, err));
    qdq_json_put(answer, "layers", qdq_remote_groups_json(layers, n));
    qdq_free(layers);
    return QDQ_OK;
}

qdq_status qdq_worker_profile_session(qdq_worker *w, const qdq_json_place *q, qdq_json_out answer,
                                      qdq_error *err)
{
    return put_layers(w, q, false, answer, err);
}

qdq_status qdq_worker_group_session(qdq_worker *w, const qdq_json_place *q, qdq_json_out answer,
                                    qdq_error *err)
{
    return put_layers(w, q, true, answer, err);
}
