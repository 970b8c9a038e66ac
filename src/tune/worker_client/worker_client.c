/* worker_client.c - the worker and the models that it has open: started and opened when they are
 * needed, and again when a worker has died. What is done with models is in worker_client_trial.c.
 */
#include "tune/worker_client/worker_client.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/fail.h"
#include "engine/remote/remote_arrays.h"
#include "tune/worker_client/worker_client_inner.h"

/* --- models ----------------------------------------------------------------------------------- */

static bool is_open(const qdq_worker_client *worker_client, size_t i)
{
    return worker_client->models.at[i].open_in == worker_client->client.worker &&
           qdq_remote_process_is_alive(worker_client->client.process);
}

void qdq_worker_client_note(qdq_worker_client *worker_client, int handle, const char *what,
                            const qdq_remote_outcome *outcome, double seconds)
{
    const char *log = worker_client->models.at[handle].log;
    size_t size = 0;
    const char *output = qdq_remote_process_output(worker_client->client.process, &size);

    if (outcome->end == QDQ_REMOTE_FINE && size == 0)
        return;
    qdq_worker_client_log_request(&worker_client->logs, log, what);
    qdq_worker_client_log_ended(&worker_client->logs, log, output, size, outcome, seconds);
}

void qdq_worker_client_note_build(qdq_worker_client *worker_client, const char *log, qdq_status st,
                                  const qdq_remote_outcome *outcome, const qdq_error *err,
                                  double seconds)
{
    qdq_remote_outcome told = *outcome;
    size_t size;
    const char *output = qdq_remote_process_output(worker_client->client.process, &size);

    if (st != QDQ_OK)
        told = (qdq_remote_outcome){.end = QDQ_REMOTE_REFUSED};
    if (st != QDQ_OK && err != NULL)
        snprintf(told.text, sizeof told.text, "%.*s", (int)sizeof told.text - 1, err->text);
    qdq_worker_client_log_ended(&worker_client->logs, log, output, size, &told, seconds);
}

double qdq_worker_client_run_deadline(const qdq_worker_client *worker_client, double usual)
{
    const double least = 1;

    return fmin(usual, fmax(worker_client->until - qdq_clock_seconds(), least));
}

double qdq_worker_client_build_deadline(const qdq_worker_client *worker_client)
{
    const double usual = worker_client->opts.build_deadline_s;

    if (isinf(worker_client->until) || worker_client->build_s <= 0)
        return usual;
    return fmin(usual,
                fmax(worker_client->until - qdq_clock_seconds(), 0) + worker_client->build_s + 1);
}

void qdq_worker_client_set_until(qdq_worker_client *worker_client, double until)
{
    worker_client->until = until;
}

double qdq_worker_client_build_s(const qdq_worker_client *worker_client)
{
    return worker_client->build_s;
}

double qdq_worker_client_pair_s(const qdq_worker_client *worker_client)
{
    return worker_client->pair_s;
}

static qdq_status open_model(qdq_worker_client *worker_client, int handle,
                             qdq_remote_outcome *outcome, qdq_error *err)
{
    qdq_worker_client_model *m = &worker_client->models.at[handle];
    qdq_json_doc doc = {0};
    qdq_json_out q = qdq_json_object(&doc);
    qdq_remote_answer answer;

    m->log = qdq_worker_client_log_new(&worker_client->logs, m->path, &worker_client->arena);
    qdq_remote_put_text(q, "do", "open");
    qdq_json_put_int(q, "handle", handle);
    qdq_remote_put_text(q, "path", m->path);
    if (m->shapes != NULL)
        qdq_json_put(q, "shapes", qdq_remote_shapes_json(m->shapes->at, m->shapes->n));
    worker_client->builds++;
    double start = qdq_clock_seconds();
    char *what = qdq_arena_printf(
        &worker_client->arena, "build a session of %s\nengine: %s %s, threads %d, worker %u",
        m->path, worker_client->client.info.name, worker_client->client.info.version,
        worker_client->opts.threads, worker_client->client.worker);
    qdq_worker_client_log_request(&worker_client->logs, m->log, what != NULL ? what : m->path);
    qdq_status st =
        qdq_remote_ask(&worker_client->client, &doc, -1,
                       qdq_worker_client_build_deadline(worker_client), &answer, outcome, err);
    worker_client->build_s = fmax(worker_client->build_s, qdq_clock_seconds() - start);
    qdq_worker_client_note_build(worker_client, m->log, st, outcome, err,
                                 qdq_clock_seconds() - start);
    qdq_remote_answer_free(&answer);
    if (st == QDQ_OK && outcome->end == QDQ_REMOTE_FINE)
        m->open_in = worker_client->client.worker;
    return st;
}

static qdq_status warm_up(qdq_worker_client *worker_client, int handle, qdq_remote_outcome *outcome,
                          qdq_error *err)
{
    qdq_worker_client_model *m = &worker_client->models.at[handle];
    qdq_json_doc doc = {0};
    qdq_json_out q = qdq_json_object(&doc);
    qdq_remote_answer answer;
    double start = qdq_clock_seconds();

    qdq_remote_put_text(q, "do", "warm");
    qdq_json_put_int(q, "handle", handle);
    qdq_status st = qdq_remote_ask(
        &worker_client->client, &doc, -1,
        qdq_worker_client_run_deadline(worker_client, worker_client->opts.run_deadline_s *
                                                          worker_client->opts.warmup),
        &answer, outcome, err);
    if (st == QDQ_OK)
        qdq_worker_client_note(worker_client, handle, "runs until it is warm", outcome,
                               qdq_clock_seconds() - start);
    if (st == QDQ_OK && outcome->end == QDQ_REMOTE_FINE)
        m->warm_in = worker_client->client.worker;
    qdq_remote_answer_free(&answer);
    return st;
}

static qdq_status ready_one(qdq_worker_client *worker_client, int handle, bool warm,
                            qdq_remote_outcome *outcome, qdq_error *err)
{
    const qdq_worker_client_model *m = &worker_client->models.at[handle];

    QDQ_TRY(qdq_remote_need_worker(&worker_client->client, err));
    if (!is_open(worker_client, (size_t)handle))
        QDQ_TRY(open_model(worker_client, handle, outcome, err));
    if (outcome->end == QDQ_REMOTE_FINE && warm && m->warm_in != worker_client->client.worker)
        QDQ_TRY(warm_up(worker_client, handle, outcome, err));
    return QDQ_OK;
}

static bool others_are_open(const qdq_worker_client *worker_client, int a, int b)
{
    for (size_t i = 0; i < worker_client->models.n; i++)
        if ((int)i != a && (int)i != b && is_open(worker_client, i))
            return true;
    return false;
}

qdq_status qdq_worker_client_ready(qdq_worker_client *worker_client, int a, int b, bool warm,
                                   qdq_remote_outcome *outcome, qdq_error *err)
{
    bool others;

    do {
        *outcome = (qdq_remote_outcome){0};
        others = others_are_open(worker_client, a, b);
        QDQ_TRY(ready_one(worker_client, a, warm, outcome, err));
        if (outcome->end == QDQ_REMOTE_FINE && b != a)
            QDQ_TRY(ready_one(worker_client, b, warm, outcome, err));
    } while (outcome->end == QDQ_REMOTE_MEMORY && others);
    return QDQ_OK;
}

qdq_status qdq_worker_client_check_handle(const qdq_worker_client *worker_client, int handle,
                                          qdq_error *err)
{
    if (handle < 0 || (size_t)handle >= worker_client->models.n ||
        worker_client->models.at[handle].dropped)
        return qdq_fail(err, QDQ_E_USAGE, "%d is not a handle of a model of this client", handle);
    return QDQ_OK;
}

qdq_status qdq_worker_client_build_shaped(qdq_worker_client *worker_client, const char *path,
                                          const qdq_tune_shapes *shapes, int *handle,
                                          qdq_remote_outcome *outcome, qdq_error *err)
{
    const qdq_worker_client_model m = {.path = qdq_arena_strdup(&worker_client->arena, path),
                                       .shapes = shapes};
    const int new = (int)worker_client->models.n;

    *handle = -1;
    *outcome = (qdq_remote_outcome){0};
    QDQ_NEED(m.path != NULL && QDQ_PUSH(&worker_client->arena, &worker_client->models, m), err);
    qdq_status st = qdq_worker_client_ready(worker_client, new, new, false, outcome, err);
    if (st == QDQ_OK && outcome->end == QDQ_REMOTE_FINE)
        *handle = new;
    else
        worker_client->models.at[new].dropped = true;
    return st;
}

qdq_status qdq_worker_client_build(qdq_worker_client *worker_client, const char *path, int *handle,
                                   qdq_remote_outcome *outcome, qdq_error *err)
{
    return qdq_worker_client_build_shaped(worker_client, path, NULL, handle, outcome, err);
}

void qdq_worker_client_drop(qdq_worker_client *worker_client, int handle)
{
    qdq_json_doc doc = {0};
    qdq_remote_answer answer;
    qdq_remote_outcome outcome;

    if (qdq_worker_client_check_handle(worker_client, handle, NULL) != QDQ_OK)
        return;
    worker_client->models.at[handle].dropped = true;
    if (!is_open(worker_client, (size_t)handle))
        return;
    worker_client->models.at[handle].open_in = 0;
    qdq_json_out q = qdq_json_object(&doc);
    qdq_remote_put_text(q, "do", "drop");
    qdq_json_put_int(q, "handle", handle);
    /* A worker that cannot even let go is replaced when the next model is needed. */
    if (qdq_remote_ask(&worker_client->client, &doc, -1, worker_client->opts.run_deadline_s,
                       &answer, &outcome, NULL) != QDQ_OK)
        qdq_remote_process_kill(worker_client->client.process);
    qdq_remote_answer_free(&answer);
}

/* --- open and close --------------------------------------------------------------------------- */

static void write_hello(qdq_json_doc *doc, const qdq_worker_client_opts *o)
{
    qdq_json_out h = qdq_remote_hello(doc, o->engine_opts);

    qdq_json_put(h, "shapes", qdq_remote_shapes_json(o->shapes, o->n_shapes));
    qdq_json_put_int(h, "threads", o->threads);
    qdq_json_put_int(h, "max_memory", (int64_t)o->max_memory);
    qdq_json_put_int(h, "warmup", o->warmup);
    qdq_json_put_int(h, "leg_runs", o->sample_runs);
    qdq_json_put_real(h, "leg_ms", o->sample_ms);
    qdq_json_put_int(h, "seed", (int64_t)o->seed);
    qdq_remote_put_text(h, "samples", o->samples);
    qdq_json_put_size(h, "n_samples", o->n_samples);
    qdq_remote_put_text(h, "work", o->work);
}

static void use_defaults(qdq_worker_client_opts *o)
{
    o->threads = o->threads > 0 ? o->threads : 1;
    o->build_deadline_s = o->build_deadline_s > 0 ? o->build_deadline_s : 600;
    o->run_deadline_s = o->run_deadline_s > 0 ? o->run_deadline_s : 60;
    o->warmup = o->warmup > 0 ? o->warmup : 2;
    o->sample_runs = o->sample_runs > 0 ? o->sample_runs : 1;
    o->sample_ms = o->sample_ms > 0 ? o->sample_ms : 5;
}

static qdq_status set_up(qdq_worker_client *worker_client, const qdq_worker_client_opts *opts,
                         qdq_error *err)
{
    worker_client->opts = *opts;
    use_defaults(&worker_client->opts);
    worker_client->until = INFINITY;
    worker_client->client.job = opts->job;
    worker_client->client.hello_fd = -1;
    if (opts->engine_opts != NULL) {
        worker_client->client.host = opts->engine_opts->host;
        worker_client->client.host_timeout_s = opts->engine_opts->host_timeout_s;
    }
    worker_client->client.start_deadline_s = worker_client->opts.build_deadline_s;
    if (opts->logs != NULL &&
        (worker_client->opts.logs = qdq_arena_strdup(&worker_client->arena, opts->logs)) == NULL)
        return qdq_nomem(err);
    QDQ_TRY(qdq_worker_client_logs_open(&worker_client->logs, worker_client->opts.logs, opts->job,
                                        err));
    qdq_json_doc hello = {0};
    write_hello(&hello, &worker_client->opts);
    return qdq_remote_start(&worker_client->client, opts->engine, &hello, opts->worker, err);
}

qdq_status qdq_worker_client_open(const qdq_worker_client_opts *opts, qdq_worker_client **out,
                                  qdq_error *err)
{
    *out = NULL;
    qdq_worker_client *worker_client = calloc(1, sizeof *worker_client);
    QDQ_NEED(worker_client != NULL, err);
    qdq_status st = set_up(worker_client, opts, err);
    return QDQ_HAND_OVER(worker_client, st, out, qdq_worker_client_close);
}

void qdq_worker_client_close(qdq_worker_client *worker_client)
{
    if (worker_client == NULL)
        return;
    if (!qdq_remote_close(&worker_client->client))
        qdq_job_log(worker_client->opts.job, QDQ_LOG_WARNING,
                    "qdq-worker did not end as it should");
    qdq_arena_free(&worker_client->arena);
    free(worker_client);
}

const qdq_engine_info *qdq_worker_client_engine(const qdq_worker_client *worker_client)
{
    return &worker_client->client.info;
}

const char *qdq_worker_client_processor(const qdq_worker_client *worker_client)
{
    return worker_client->client.processor;
}

const char *qdq_worker_client_output(const qdq_worker_client *worker_client, size_t *size)
{
    return qdq_remote_process_output(worker_client->client.process, size);
}

const char *qdq_worker_client_refused(const qdq_worker_client *worker_client)
{
    return worker_client->client.refused != NULL ? worker_client->client.refused : "";
}

qdq_status qdq_worker_client_refuse(qdq_worker_client *worker_client, const char *options,
                                    qdq_error *err)
{
    QDQ_TRY(qdq_remote_need_worker(&worker_client->client, err));
    return qdq_remote_refuse(&worker_client->client, options, err);
}

unsigned qdq_worker_client_builds(const qdq_worker_client *worker_client)
{
    return worker_client->builds;
}
