/* remote.c - the engine interface over a worker process.
 *
 * One conversation at a time: a lock is held from the question to the last answer. It may be taken
 * again by the thread that has it, since who is given an output may run another session; what that
 * needs of the memory lies behind what is borrowed. */
#include "engine/remote/remote.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/file.h"
#include "base/shared.h"
#include "base/spawn.h"
#include "engine/remote/remote_arrays.h"
#include "engine/remote/remote_client.h"
#include "engine/remote/remote_model.h"
#include "ir/ir.h"

/* Of one call: a build of a large model by a slow compiler, a run of it. */
static const double default_deadline_s = 600;

typedef struct remote {
    qdq_remote_client client;
    /* of the worker */
    qdq_tempdir *work;
    /* arrays on their way */
    qdq_shared exchange;
    /* bytes of it that who was given an output may still read */
    size_t borrowed;
    double deadline_s;
    /* handle */
    int64_t next;
    unsigned crashes;
    pthread_mutex_t lock;
    bool has_lock;
} remote;

typedef struct remote_session {
    remote *remote;
    int64_t handle;
    /* its path; "" */
    const char *model;
    /* that opens it; NULL: it could not be made */
    json_t *question;
    /* and the descriptor that goes with it */
    int memory;
    /* the worker that has it, by number; 0: none */
    unsigned open_in;
    /* and in which inputs are bound */
    unsigned bound_in;
    const qdq_array **bound;
} remote_session;

/* --- errors ----------------------------------------------------------------------------------- */

/* Where nothing takes the error, what ended the process is logged. */
static qdq_status fail(remote *r, const char *model, const qdq_remote_outcome *outcome,
                       const char *doing, qdq_error *err)
{
    qdq_error own = QDQ_ERROR_INIT;
    char where[500];

    snprintf(where, sizeof where, "%s%.400s%s%s", model[0] != '\0' ? "in " : "", model,
             model[0] != '\0' ? ", " : "", doing);
    qdq_status st = qdq_remote_fail(&r->client, outcome, where, err != NULL ? err : &own);
    if (outcome->end == QDQ_REMOTE_FINE || outcome->end == QDQ_REMOTE_REFUSED)
        return st;
    r->crashes++;
    if (err == NULL)
        qdq_job_log(r->client.job, QDQ_LOG_WARNING, "%s", own.text);
    return st;
}

/* --- engine ----------------------------------------------------------------------------------- */

static void remote_close(qdq_engine *e)
{
    remote *r = e->self;

    if (r == NULL)
        return;
    qdq_remote_close(&r->client);
    qdq_shared_free(&r->exchange);
    qdq_tempdir_free(r->work);
    if (r->has_lock)
        pthread_mutex_destroy(&r->lock);
    free(r);
}

static bool make_lock(remote *r)
{
    pthread_mutexattr_t attr;

    if (pthread_mutexattr_init(&attr) != 0)
        return false;
    r->has_lock = pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE) == 0 &&
                  pthread_mutex_init(&r->lock, &attr) == 0;
    pthread_mutexattr_destroy(&attr);
    return r->has_lock;
}

static qdq_status start(remote *r, const char *spec, const qdq_engine_opts *opts, qdq_error *err)
{
    qdq_status st = qdq_tempdir_new(opts->temp_dir, &r->work, err);
    if (st == QDQ_E_NOMEM) /* without a folder, engines that need one say so */
        return st;
    QDQ_TRY(qdq_shared_new(&r->exchange, err));
    r->client.job = opts->job;
    r->client.hello_fd = r->exchange.fd;
    r->client.start_deadline_s = r->deadline_s;
    r->client.host = opts->host;
    r->client.host_timeout_s = opts->host_timeout_s;
    qdq_json_doc doc = {0};
    qdq_json_out hello = qdq_remote_hello(&doc, opts);
    qdq_remote_put_text(hello, "work", r->work != NULL ? qdq_tempdir_path(r->work) : NULL);
    qdq_json_put_bool(hello, "log", true);
    return qdq_remote_start(&r->client, spec, &doc, opts->worker, err);
}

static qdq_status remote_open(qdq_engine *e, const char *spec, const qdq_engine_opts *opts,
                              qdq_error *err)
{
    remote *r = calloc(1, sizeof *r);

    QDQ_NEED(r != NULL, err);
    e->self = r;
    r->exchange = (qdq_shared)QDQ_SHARED_INIT;
    r->deadline_s = opts->deadline_s > 0 ? opts->deadline_s : default_deadline_s;
    QDQ_NEED(make_lock(r), err);
    QDQ_TRY(start(r, spec, opts, err));
    e->info = r->client.info; /* which is as long as the engine */
    return QDQ_OK;
}

const char *qdq_remote_processor(const qdq_engine *e)
{
    const remote *r = e->self;

    return r->client.processor;
}

unsigned qdq_remote_crashes(const qdq_engine *e)
{
    const remote *r = e->self;

    return r->crashes;
}

/* --- sessions --------------------------------------------------------------------------------- */

static qdq_json_out ask_for(qdq_json_doc *doc, const remote_session *s, const char *what)
{
    qdq_json_out q = qdq_json_object(doc);

    qdq_remote_put_text(q, "do", what);
    qdq_json_put_int(q, "handle", s->handle);
    return q;
}

static qdq_status describe(remote_session *rs, const qdq_model *m, const qdq_session_opts *opts,
                           qdq_error *err)
{
    qdq_json_doc doc = {0};
    qdq_json_out q = ask_for(&doc, rs, "session");

    qdq_json_put_int(q, "level", opts->level);
    qdq_json_put_int(q, "threads", opts->threads);
    qdq_json_put_bool(q, "profile", opts->profile);
    qdq_json_put_bool(q, "fake_quant", opts->fake_quant);
    qdq_json_put_bool(q, "groups", opts->layers);
    qdq_json_put(q, "shapes", qdq_remote_shapes_json(opts->shapes, opts->n_shapes));
    qdq_status st = qdq_remote_model_put(m, q, &rs->memory, err);
    rs->question = qdq_json_take(&doc);
    return st == QDQ_OK && rs->question == NULL ? qdq_nomem(err) : st;
}

static qdq_status read_ios(qdq_session *s, qdq_remote_answer *answer, qdq_error *err)
{
    remote_session *rs = s->self;
    qdq_status st = QDQ_OK;

    if (s->in == NULL)
        st = qdq_remote_ios_read(json_object_get(answer->json, "in"), &s->arena, &s->in, &s->n_in,
                                 err);
    if (st == QDQ_OK && s->out == NULL)
        st = qdq_remote_ios_read(json_object_get(answer->json, "out"), &s->arena, &s->out,
                                 &s->n_out, err);
    if (st == QDQ_E_FORMAT)
        st = qdq_remote_not_as_agreed(&rs->remote->client, err);
    return st;
}

/* The worker has the session afterwards. */
static qdq_status need_session(qdq_session *s, qdq_error *err)
{
    remote_session *rs = s->self;
    remote *r = rs->remote;
    qdq_remote_answer answer;
    qdq_remote_outcome outcome;

    QDQ_TRY(qdq_remote_need_worker(&r->client, err));
    if (rs->open_in == r->client.worker)
        return QDQ_OK;
    qdq_json_doc q = {.root = json_incref(rs->question)};
    qdq_status st =
        qdq_remote_ask(&r->client, &q, rs->memory, r->deadline_s, &answer, &outcome, err);
    if (st == QDQ_OK)
        st = fail(r, rs->model, &outcome, "while it built the model", err);
    if (st == QDQ_OK)
        st = read_ios(s, &answer, err);
    if (st == QDQ_OK)
        rs->open_in = r->client.worker;
    qdq_remote_answer_free(&answer);
    return st;
}

static qdq_status remote_session_open(qdq_session *s, const qdq_model *m,
                                      const qdq_session_opts *opts, qdq_error *err)
{
    remote *r = s->engine->self;
    remote_session *rs = calloc(1, sizeof *rs);

    QDQ_NEED(rs != NULL, err);
    s->self = rs;
    rs->remote = r;
    rs->memory = -1;
    rs->model = qdq_arena_strdup(&s->arena, m->path != NULL ? m->path : "");
    QDQ_NEED(rs->model != NULL, err);
    pthread_mutex_lock(&r->lock);
    rs->handle = r->next++;
    qdq_status st = describe(rs, m, opts, err);
    if (st == QDQ_OK)
        st = need_session(s, err);
    pthread_mutex_unlock(&r->lock);
    return st;
}

static void drop(remote_session *rs)
{
    remote *r = rs->remote;
    qdq_remote_answer answer;
    qdq_remote_outcome outcome;

    if (rs->open_in != r->client.worker || !qdq_remote_process_is_alive(r->client.process))
        return;
    qdq_json_doc q = {0};
    ask_for(&q, rs, "drop");
    /* A worker that cannot even let go is replaced when the next session is needed. */
    if (qdq_remote_ask(&r->client, &q, -1, r->deadline_s, &answer, &outcome, NULL) != QDQ_OK)
        qdq_remote_process_kill(r->client.process);
    qdq_remote_answer_free(&answer);
}

static void remote_session_close(qdq_session *s)
{
    remote_session *rs = s->self;

    if (rs == NULL)
        return;
    pthread_mutex_lock(&rs->remote->lock);
    if (rs->open_in > 0)
        drop(rs);
    pthread_mutex_unlock(&rs->remote->lock);
    json_decref(rs->question);
    qdq_fd_close(&rs->memory);
    free(rs->bound);
    free(rs);
}

/* --- calls ------------------------------------------------------------------------------------ */

/* A call that a session is asked for. */
typedef struct call {
    const char *question, *doing;
    /* NULL: none */
    const qdq_array *const *in;
    /* 0: the question has none */
    unsigned runs;
} call;

/* Puts inputs behind what is borrowed. *end: where free memory begins after them. */
static qdq_status put_inputs(qdq_session *s, const qdq_array *const *in, qdq_json_out q,
                             size_t *end, qdq_error *err)
{
    const remote_session *rs = s->self;
    remote *r = rs->remote;
    qdq_json_out list = qdq_json_put_list(q, "in");

    for (size_t i = 0; i < s->n_in; i++)
        QDQ_TRY(qdq_remote_array_put(&r->exchange, end, "", in[i], list, err));
    return QDQ_OK;
}

static qdq_status ask(qdq_session *s, const call *c, qdq_remote_answer *answer, qdq_error *err)
{
    const remote_session *rs = s->self;
    remote *r = rs->remote;
    qdq_json_doc doc = {0};
    qdq_json_out q = ask_for(&doc, rs, c->question);
    size_t end = r->borrowed;
    qdq_remote_outcome outcome;

    *answer = (qdq_remote_answer){.arena = QDQ_ARENA_INIT};
    qdq_json_put_int(q, "runs", c->runs);
    qdq_status st = c->in != NULL ? put_inputs(s, c->in, q, &end, err) : QDQ_OK;
    if (st != QDQ_OK) {
        qdq_json_drop(&doc);
        return st;
    }
    qdq_json_put_int(q, "at", (int64_t)end);
    st = qdq_remote_ask(&r->client, &doc, -1, r->deadline_s, answer, &outcome, err);
    return st == QDQ_OK ? fail(r, rs->model, &outcome, c->doing, err) : st;
}

/* --- run -------------------------------------------------------------------------------------- */

/* Gives the outputs of one answer; what they take of the memory is borrowed meanwhile. */
static qdq_status give_outputs(remote *r, qdq_remote_answer *answer, qdq_output_fn fn, void *ctx,
                               qdq_error *err)
{
    const json_t *list = json_object_get(answer->json, "outputs");
    const size_t borrowed = r->borrowed, n = json_array_size(list);
    qdq_named_array *out = qdq_arena_array(&answer->arena, n + 1, sizeof *out);
    qdq_status st = out != NULL ? QDQ_OK : qdq_nomem(err);

    if (st == QDQ_OK && !json_is_array(list))
        st = qdq_fail(err, QDQ_E_FORMAT, "outputs: expected a list");
    for (size_t i = 0; i < n && st == QDQ_OK; i++) {
        st = qdq_remote_array_get(&r->exchange, json_array_get(list, i), &answer->arena, &out[i],
                                  err);
        if (st == QDQ_OK && out[i].array.bytes > 0) {
            size_t end =
                (size_t)((unsigned char *)out[i].array.data - qdq_shared_data(&r->exchange)) +
                out[i].array.bytes;
            r->borrowed = end > r->borrowed ? end : r->borrowed;
        }
    }
    if (st == QDQ_E_FORMAT)
        st = qdq_remote_not_as_agreed(&r->client, err);
    for (size_t i = 0; i < n && st == QDQ_OK && fn != NULL; i++)
        st = fn(ctx, out[i].name, &out[i].array, err);
    r->borrowed = borrowed;
    return st;
}

/* No one wants the rest: the run ends, and what it says does not matter. */
static void stop(remote *r)
{
    qdq_json_doc doc = {0};
    qdq_json_out q = qdq_json_object(&doc);
    qdq_remote_answer answer;
    qdq_remote_outcome outcome;

    if (!qdq_remote_process_is_alive(r->client.process))
        return;
    qdq_remote_put_text(q, "do", "stop");
    if (qdq_remote_ask(&r->client, &doc, -1, r->deadline_s, &answer, &outcome, NULL) == QDQ_E_NOMEM)
        qdq_remote_process_kill(r->client.process);
    qdq_remote_answer_free(&answer);
}

static qdq_status ask_next(const remote_session *rs, qdq_remote_answer *answer, qdq_error *err)
{
    qdq_json_doc doc = {0};
    qdq_json_out q = qdq_json_object(&doc);
    qdq_remote_outcome outcome;

    qdq_remote_put_text(q, "do", "next");
    qdq_status st = qdq_remote_ask(&rs->remote->client, &doc, -1, rs->remote->deadline_s, answer,
                                   &outcome, err);
    return st == QDQ_OK ? fail(rs->remote, rs->model, &outcome, "while it ran the model", err) : st;
}

static qdq_status run_once(qdq_session *s, const qdq_array *const *in, qdq_output_fn fn, void *ctx,
                           qdq_error *err)
{
    const remote_session *rs = s->self;
    const call c = {"run", "while it ran the model", in, 0};
    qdq_remote_answer answer;
    unsigned worker;
    bool more = true;

    QDQ_TRY(need_session(s, err));
    worker = rs->remote->client.worker;
    qdq_status st = ask(s, &c, &answer, err);
    while (st == QDQ_OK && more) {
        more = qdq_json_bool(&answer.top, "more");
        st = give_outputs(rs->remote, &answer, fn, ctx, err);
        if (st == QDQ_OK && more && worker != rs->remote->client.worker)
            st = qdq_fail(err, QDQ_E_ENGINE, "the process of the engine ended during a run");
        else if (st != QDQ_OK && more && worker == rs->remote->client.worker)
            stop(rs->remote);
        if (st == QDQ_OK && more) {
            qdq_remote_answer_free(&answer);
            st = ask_next(rs, &answer, err);
        }
    }
    qdq_remote_answer_free(&answer);
    return st;
}

static qdq_status remote_run(qdq_session *s, const qdq_array *const *in, qdq_output_fn fn,
                             void *ctx, qdq_error *err)
{
    const remote_session *rs = s->self;

    pthread_mutex_lock(&rs->remote->lock);
    qdq_status st = run_once(s, in, fn, ctx, err);
    pthread_mutex_unlock(&rs->remote->lock);
    return st;
}

/* --- times ------------------------------------------------------------------------------------ */

static qdq_status need_inputs(qdq_session *s, qdq_error *err)
{
    remote_session *rs = s->self;
    const call c = {"bind", "while inputs were bound", rs->bound, 0};
    qdq_remote_answer answer;

    QDQ_TRY(need_session(s, err));
    if (rs->bound == NULL || rs->bound_in == rs->open_in)
        return QDQ_OK;
    qdq_status st = ask(s, &c, &answer, err);
    if (st == QDQ_OK)
        rs->bound_in = rs->open_in;
    qdq_remote_answer_free(&answer);
    return st;
}

static qdq_status remote_bind(qdq_session *s, const qdq_array *const *in, qdq_error *err)
{
    remote_session *rs = s->self;
    const qdq_array **bound = calloc(s->n_in + 1, sizeof *bound);

    QDQ_NEED(bound != NULL, err);
    if (s->n_in > 0)
        memcpy(bound, in, s->n_in * sizeof *bound);
    pthread_mutex_lock(&rs->remote->lock);
    free(rs->bound);
    rs->bound = bound;
    rs->bound_in = 0;
    qdq_status st = need_inputs(s, err);
    pthread_mutex_unlock(&rs->remote->lock);
    return st;
}

static qdq_status time_runs(qdq_session *s, unsigned n, uint64_t *ns, qdq_error *err)
{
    remote_session *rs = s->self;
    const call c = {"time", "while it ran the model for a time", NULL, n};
    qdq_remote_answer answer;

    QDQ_TRY(need_inputs(s, err));
    qdq_status st = ask(s, &c, &answer, err);
    if (st == QDQ_OK) {
        *ns = (uint64_t)qdq_json_int(&answer.top, "ns", 0, INT64_MAX, -1);
        st = qdq_remote_answer_check(&rs->remote->client, &answer, err);
    }
    qdq_remote_answer_free(&answer);
    return st;
}

static qdq_status remote_time_runs(qdq_session *s, unsigned n, uint64_t *ns, qdq_error *err)
{
    const remote_session *rs = s->self;

    *ns = 0;
    pthread_mutex_lock(&rs->remote->lock);
    qdq_status st = time_runs(s, n, ns, err);
    pthread_mutex_unlock(&rs->remote->lock);
    return st;
}

/* --- layers ----------------------------------------------------------------------------------- */

static qdq_status ask_layers(qdq_session *s, const call *c, qdq_layer **out, size_t *n,
                             qdq_error *err)
{
    remote *r = ((const remote_session *)s->self)->remote;
    qdq_remote_answer answer = {.arena = QDQ_ARENA_INIT};

    pthread_mutex_lock(&r->lock);
    qdq_status st = need_session(s, err);
    if (st == QDQ_OK)
        st = ask(s, c, &answer, err);
    if (st == QDQ_OK)
        st = qdq_remote_answer_layers(&r->client, &answer, out, n, err);
    qdq_remote_answer_free(&answer);
    pthread_mutex_unlock(&r->lock);
    return st;
}

static qdq_status remote_profile(qdq_session *s, const qdq_array *const *in, unsigned runs,
                                 qdq_layer **out, size_t *n, qdq_error *err)
{
    return ask_layers(s, &(call){"layers", "while it profiled the model", in, runs}, out, n, err);
}

static qdq_status remote_groups(qdq_session *s, const qdq_array *const *in, unsigned runs,
                                qdq_layer **out, size_t *n, qdq_error *err)
{
    const call c = {"nodes", "while it listed the layers of the model", runs > 0 ? in : NULL, runs};

    return ask_layers(s, &c, out, n, err);
}

const qdq_engine_ops qdq_engine_remote_ops = {
    .open = remote_open,
    .close = remote_close,
    .session_open = remote_session_open,
    .session_close = remote_session_close,
    .run = remote_run,
    .bind = remote_bind,
    .time_runs = remote_time_runs,
    .profile = remote_profile,
    .groups = remote_groups,
};
