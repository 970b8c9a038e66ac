/* worker_client.c - the worker and the models that it has open: started and opened when they are
 * needed, and again when a worker has died. What is done with models is in worker_client_trial.c.
 */
#include "tune/worker_client/worker_client.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fail.h"
#include "engine/remote/remote_arrays.h"
#include "tune/worker_client/worker_client_inner.h"

/* --- models ----------------------------------------------------------------------------------- */

static bool is_open(const qdq_worker_client *lab, size_t i)
{
    return lab->models.at[i].open_in == lab->client.worker &&
           qdq_remote_process_is_alive(lab->client.process);
}

void qdq_worker_client_note(qdq_worker_client *lab, int handle, const char *what,
                            const qdq_remote_outcome *outcome, double seconds)
{
    const char *log = lab->models.at[handle].log;
    size_t size = 0;
    const char *output = qdq_remote_process_output(lab->client.process, &size);

    if (outcome->end == QDQ_REMOTE_FINE && size == 0)
        return;
    qdq_worker_client_log_request(&lab->logs, log, what);
    qdq_worker_client_log_ended(&lab->logs, log, output, size, outcome, seconds);
}

void qdq_worker_client_note_build(qdq_worker_client *lab, const char *log, qdq_status st,
                                  const qdq_remote_outcome *outcome, const qdq_error *err,
                                  double seconds)
{
    qdq_remote_outcome told = *outcome;
    size_t size;
    const char *output = qdq_remote_process_output(lab->client.process, &size);

    if (st != QDQ_OK)
        told = (qdq_remote_outcome){.end = QDQ_REMOTE_REFUSED};
    if (st != QDQ_OK && err != NULL)
        snprintf(told.text, sizeof told.text, "%.*s", (int)sizeof told.text - 1, err->text);
    qdq_worker_client_log_ended(&lab->logs, log, output, size, &told, seconds);
}

double qdq_worker_client_run_deadline(const qdq_worker_client *lab, double usual)
{
    const double least = 1;

    return fmin(usual, fmax(lab->until - qdq_clock_seconds(), least));
}

double qdq_worker_client_build_deadline(const qdq_worker_client *lab)
{
    const double usual = lab->opts.build_deadline_s;

    if (isinf(lab->until) || lab->build_s <= 0)
        return usual;
    return fmin(usual, fmax(lab->until - qdq_clock_seconds(), 0) + lab->build_s + 1);
}

void qdq_worker_client_set_until(qdq_worker_client *lab, double until)
{
    lab->until = until;
}

double qdq_worker_client_build_s(const qdq_worker_client *lab)
{
    return lab->build_s;
}

double qdq_worker_client_pair_s(const qdq_worker_client *lab)
{
    return lab->pair_s;
}

static qdq_status open_model(qdq_worker_client *lab, int handle, qdq_remote_outcome *outcome,
                             qdq_error *err)
{
    qdq_worker_client_model *m = &lab->models.at[handle];
    qdq_json_doc doc = {0};
    qdq_json_out q = qdq_json_object(&doc);
    qdq_remote_answer answer;

    m->log = qdq_worker_client_log_new(&lab->logs, m->path, &lab->arena);
    qdq_remote_put_text(q, "do", "open");
    qdq_json_put_int(q, "handle", handle);
    qdq_remote_put_text(q, "path", m->path);
    if (m->shapes != NULL)
        qdq_json_put(q, "shapes", qdq_remote_shapes_json(m->shapes->at, m->shapes->n));
    lab->builds++;
    double start = qdq_clock_seconds();
    char *what = qdq_arena_printf(
        &lab->arena, "build a session of %s\nengine: %s %s, threads %d, worker %u", m->path,
        lab->client.info.name, lab->client.info.version, lab->opts.threads, lab->client.worker);
    qdq_worker_client_log_request(&lab->logs, m->log, what != NULL ? what : m->path);
    qdq_status st = qdq_remote_ask(&lab->client, &doc, -1, qdq_worker_client_build_deadline(lab),
                                   &answer, outcome, err);
    lab->build_s = fmax(lab->build_s, qdq_clock_seconds() - start);
    qdq_worker_client_note_build(lab, m->log, st, outcome, err, qdq_clock_seconds() - start);
    qdq_remote_answer_free(&answer);
    if (st == QDQ_OK && outcome->end == QDQ_REMOTE_FINE)
        m->open_in = lab->client.worker;
    return st;
}

static qdq_status warm_up(qdq_worker_client *lab, int handle, qdq_remote_outcome *outcome,
                          qdq_error *err)
{
    qdq_worker_client_model *m = &lab->models.at[handle];
    qdq_json_doc doc = {0};
    qdq_json_out q = qdq_json_object(&doc);
    qdq_remote_answer answer;
    double start = qdq_clock_seconds();

    qdq_remote_put_text(q, "do", "warm");
    qdq_json_put_int(q, "handle", handle);
    qdq_status st = qdq_remote_ask(
        &lab->client, &doc, -1,
        qdq_worker_client_run_deadline(lab, lab->opts.run_deadline_s * lab->opts.warmup), &answer,
        outcome, err);
    if (st == QDQ_OK)
        qdq_worker_client_note(lab, handle, "runs until it is warm", outcome,
                               qdq_clock_seconds() - start);
    if (st == QDQ_OK && outcome->end == QDQ_REMOTE_FINE)
        m->warm_in = lab->client.worker;
    qdq_remote_answer_free(&answer);
    return st;
}

static qdq_status ready_one(qdq_worker_client *lab, int handle, bool warm,
                            qdq_remote_outcome *outcome, qdq_error *err)
{
    const qdq_worker_client_model *m = &lab->models.at[handle];

    QDQ_TRY(qdq_remote_need_worker(&lab->client, err));
    if (!is_open(lab, (size_t)handle))
        QDQ_TRY(open_model(lab, handle, outcome, err));
    if (outcome->end == QDQ_REMOTE_FINE && warm && m->warm_in != lab->client.worker)
        QDQ_TRY(warm_up(lab, handle, outcome, err));
    return QDQ_OK;
}

static bool others_are_open(const qdq_worker_client *lab, int a, int b)
{
    for (size_t i = 0; i < lab->models.n; i++)
        if ((int)i != a && (int)i != b && is_open(lab, i))
            return true;
    return false;
}

qdq_status qdq_worker_client_ready(qdq_worker_client *lab, int a, int b, bool warm,
                                   qdq_remote_outcome *outcome, qdq_error *err)
{
    bool others;

    do {
        *outcome = (qdq_remote_outcome){0};
        others = others_are_open(lab, a, b);
        QDQ_TRY(ready_one(lab, a, warm, outcome, err));
        if (outcome->end == QDQ_REMOTE_FINE && b != a)
            QDQ_TRY(ready_one(lab, b, warm, outcome, err));
    } while (outcome->end == QDQ_REMOTE_MEMORY && others);
    return QDQ_OK;
}

qdq_status qdq_worker_client_check_handle(const qdq_worker_client *lab, int handle, qdq_error *err)
{
    if (handle < 0 || (size_t)handle >= lab->models.n || lab->models.at[handle].dropped)
        return qdq_fail(err, QDQ_E_USAGE, "%d is no handle of a model in the lab", handle);
    return QDQ_OK;
}

qdq_status qdq_worker_client_build_shaped(qdq_worker_client *lab, const char *path,
                                          const qdq_tune_shapes *shapes, int *handle,
                                          qdq_remote_outcome *outcome, qdq_error *err)
{
    const qdq_worker_client_model m = {.path = qdq_arena_strdup(&lab->arena, path),
                                       .shapes = shapes};
    const int new = (int)lab->models.n;

    *handle = -1;
    *outcome = (qdq_remote_outcome){0};
    QDQ_NEED(m.path != NULL && QDQ_PUSH(&lab->arena, &lab->models, m), err);
    qdq_status st = qdq_worker_client_ready(lab, new, new, false, outcome, err);
    if (st == QDQ_OK && outcome->end == QDQ_REMOTE_FINE)
        *handle = new;
    else
        lab->models.at[new].dropped = true;
    return st;
}

qdq_status qdq_worker_client_build(qdq_worker_client *lab, const char *path, int *handle,
                                   qdq_remote_outcome *outcome, qdq_error *err)
{
    return qdq_worker_client_build_shaped(lab, path, NULL, handle, outcome, err);
}

void qdq_worker_client_drop(qdq_worker_client *lab, int handle)
{
    qdq_json_doc doc = {0};
    qdq_remote_answer answer;
    qdq_remote_outcome outcome;

    if (qdq_worker_client_check_handle(lab, handle, NULL) != QDQ_OK)
        return;
    lab->models.at[handle].dropped = true;
    if (!is_open(lab, (size_t)handle))
        return;
    lab->models.at[handle].open_in = 0;
    qdq_json_out q = qdq_json_object(&doc);
    qdq_remote_put_text(q, "do", "drop");
    qdq_json_put_int(q, "handle", handle);
    /* A worker that cannot even let go is replaced when the next model is needed. */
    if (qdq_remote_ask(&lab->client, &doc, -1, lab->opts.run_deadline_s, &answer, &outcome, NULL) !=
        QDQ_OK)
        qdq_remote_process_kill(lab->client.process);
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

static qdq_status set_up(qdq_worker_client *lab, const qdq_worker_client_opts *opts, qdq_error *err)
{
    lab->opts = *opts;
    use_defaults(&lab->opts);
    lab->until = INFINITY;
    lab->client.job = opts->job;
    lab->client.hello_fd = -1;
    if (opts->engine_opts != NULL) {
        lab->client.host = opts->engine_opts->host;
        lab->client.host_timeout_s = opts->engine_opts->host_timeout_s;
    }
    lab->client.start_deadline_s = lab->opts.build_deadline_s;
    if (opts->logs != NULL && (lab->opts.logs = qdq_arena_strdup(&lab->arena, opts->logs)) == NULL)
        return qdq_nomem(err);
    QDQ_TRY(qdq_worker_client_logs_open(&lab->logs, lab->opts.logs, opts->job, err));
    qdq_json_doc hello = {0};
    write_hello(&hello, &lab->opts);
    return qdq_remote_start(&lab->client, opts->engine, &hello, opts->worker, err);
}

qdq_status qdq_worker_client_open(const qdq_worker_client_opts *opts, qdq_worker_client **out,
                                  qdq_error *err)
{
    *out = NULL;
    qdq_worker_client *lab = calloc(1, sizeof *lab);
    QDQ_NEED(lab != NULL, err);
    qdq_status st = set_up(lab, opts, err);
    if (st != QDQ_OK) {
        qdq_worker_client_close(lab);
        return st;
    }
    *out = lab;
    return QDQ_OK;
}

void qdq_worker_client_close(qdq_worker_client *lab)
{
    if (lab == NULL)
        return;
    if (!qdq_remote_close(&lab->client))
        qdq_job_log(lab->opts.job, QDQ_LOG_WARNING, "qdq-worker did not end as it should");
    qdq_arena_free(&lab->arena);
    free(lab);
}

const qdq_engine_info *qdq_worker_client_engine(const qdq_worker_client *lab)
{
    return &lab->client.info;
}

const char *qdq_worker_client_processor(const qdq_worker_client *lab)
{
    return lab->client.processor;
}

const char *qdq_worker_client_output(const qdq_worker_client *lab, size_t *size)
{
    return qdq_remote_process_output(lab->client.process, size);
}

const char *qdq_worker_client_refused(const qdq_worker_client *lab)
{
    return lab->client.refused != NULL ? lab->client.refused : "";
}

qdq_status qdq_worker_client_refuse(qdq_worker_client *lab, const char *options, qdq_error *err)
{
    QDQ_TRY(qdq_remote_need_worker(&lab->client, err));
    return qdq_remote_refuse(&lab->client, options, err);
}

unsigned qdq_worker_client_builds(const qdq_worker_client *lab)
{
    return lab->builds;
}
