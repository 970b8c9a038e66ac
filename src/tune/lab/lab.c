/* lab.c - the worker and the models that it has open: started and opened when they are needed, and again when a worker
 * has died. What is done with models is in lab_trial.c. */
#include "tune/lab/lab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/beside.h"
#include "base/clock.h"
#include "base/fail.h"
#include "tune/lab/lab_inner.h"

#define WORKER "qdq-worker"

const char *qdq_lab_end_name(qdq_lab_end e)
{
    switch (e) {
    case QDQ_LAB_FINE:
        return "fine";
    case QDQ_LAB_REFUSED:
        return "refused";
    case QDQ_LAB_CRASHED:
        return "crashed";
    case QDQ_LAB_HUNG:
        return "hung";
    case QDQ_LAB_MEMORY:
        return "memory";
    }
    return "?";
}

/* --- questions ------------------------------------------------------------------------------------------------------ */

void qdq_lab_answer_free(qdq_lab_answer *answer)
{
    json_decref(answer->json);
    qdq_arena_free(&answer->arena);
    answer->json = NULL;
}

qdq_status qdq_lab_answer_check(qdq_lab *lab, const qdq_lab_answer *answer, qdq_error *err)
{
    qdq_status st = answer->reader.status;

    if (st == QDQ_OK || st == QDQ_E_NOMEM)
        return st;
    qdq_lab_process_kill(lab->process); /* who knows what it takes us for */
    return qdq_within(err, QDQ_E_ENGINE, "%s: its answer is not as agreed", lab->program);
}

static qdq_status status_of(const char *code)
{
    for (int st = QDQ_E_USAGE; st < QDQ_E_BUG; st++)
        if (strcmp(qdq_status_name((qdq_status)st), code) == 0)
            return (qdq_status)st;
    return QDQ_E_BUG;
}

/* What stands in every answer. */
static qdq_status read_end(qdq_lab *lab, qdq_lab_answer *answer, qdq_lab_fate *fate, qdq_error *err)
{
    static const char *const ends[] = {"fine", "refused", "crashed", "hung", "memory", "error", NULL};
    enum { FAILED_CALL = QDQ_LAB_MEMORY + 1 };
    int end = qdq_json_word(&answer->top, "end", ends, -1);

    if (answer->reader.status == QDQ_OK && end == QDQ_LAB_FINE)
        return QDQ_OK;
    const char *text = qdq_lab_get_text(&answer->top, "text", "");
    const char *code = qdq_lab_get_text(&answer->top, "code", "");
    QDQ_TRY(qdq_lab_answer_check(lab, answer, err));
    if (end == FAILED_CALL)
        return qdq_fail(err, status_of(code), "%s", text);
    fate->end = (qdq_lab_end)end;
    snprintf(fate->text, sizeof fate->text, "%s", text);
    if (fate->end == QDQ_LAB_MEMORY) /* what is left of it is no good place for others */
        qdq_lab_process_kill(lab->process);
    return QDQ_OK;
}

qdq_status qdq_lab_ask(qdq_lab *lab, qdq_lab_object *question, double deadline_s, qdq_lab_answer *answer,
                       qdq_lab_fate *fate, qdq_error *err)
{
    const qdq_cancel *cancel = lab->opts.job != NULL ? lab->opts.job->cancel : NULL;
    qdq_status st = QDQ_E_NOMEM;

    *answer = (qdq_lab_answer){.arena = QDQ_ARENA_INIT};
    *fate = (qdq_lab_fate){0};
    if (question->failed)
        qdq_nomem(err);
    else
        st = qdq_lab_process_ask(lab->process, question->json, deadline_s, cancel, &answer->json, fate, err);
    json_decref(question->json);
    if (st != QDQ_OK || answer->json == NULL)
        return st;
    answer->reader = (qdq_json_reader){.arena = &answer->arena, .err = err};
    answer->top = (qdq_json_place){&answer->reader, answer->json, ""};
    return read_end(lab, answer, fate, err);
}

/* --- a worker ------------------------------------------------------------------------------------------------------- */

static qdq_status read_info(qdq_lab *lab, qdq_lab_answer *answer, qdq_error *err)
{
    const qdq_json_place *p = &answer->top;
    qdq_engine_info *i = &lab->info;

    const char *name = qdq_lab_get_text(p, "name", NULL), *version = qdq_lab_get_text(p, "version", NULL);
    const char *library = qdq_lab_get_text(p, "library", NULL), *device = qdq_lab_get_text(p, "device", NULL);
    const char *fingerprint = qdq_lab_get_text(p, "fingerprint", NULL);
    i->capabilities = (unsigned)qdq_json_int(p, "capabilities", 0, UINT32_MAX, 0);
    i->max_opset = (int)qdq_json_int(p, "max_opset", 0, INT32_MAX, 0);
    i->max_ir = (int)qdq_json_int(p, "max_ir", 0, INT32_MAX, 0);
    QDQ_TRY(qdq_lab_answer_check(lab, answer, err));
    i->name = qdq_arena_strdup(&lab->arena, name);
    i->version = qdq_arena_strdup(&lab->arena, version);
    i->library = qdq_arena_strdup(&lab->arena, library);
    i->device = qdq_arena_strdup(&lab->arena, device);
    i->fingerprint = qdq_arena_strdup(&lab->arena, fingerprint);
    if (i->name == NULL || i->version == NULL || i->library == NULL || i->device == NULL ||
        i->fingerprint == NULL)
        return qdq_nomem(err);
    return QDQ_OK;
}

/* Which engine it has is asked of the first worker; the others have the same. */
static qdq_status greet(qdq_lab *lab, qdq_error *err)
{
    qdq_lab_object hello = {json_incref(lab->hello), false};
    qdq_lab_answer answer;
    qdq_lab_fate fate;

    qdq_status st = qdq_lab_ask(lab, &hello, lab->opts.build_deadline_s, &answer, &fate, err);
    if (st == QDQ_OK && fate.end != QDQ_LAB_FINE)
        st = qdq_fail(err, QDQ_E_ENGINE, "%s%s",
                      fate.end == QDQ_LAB_REFUSED ? "" : "while it was loaded: ", fate.text);
    else if (st == QDQ_OK && lab->worker == 1)
        st = read_info(lab, &answer, err);
    qdq_lab_answer_free(&answer);
    return st;
}

qdq_status qdq_lab_need_worker(qdq_lab *lab, qdq_error *err)
{
    QDQ_TRY(qdq_job_poll(lab->opts.job, err));
    if (qdq_lab_process_is_alive(lab->process))
        return QDQ_OK;
    qdq_lab_process_free(lab->process);
    lab->process = NULL;
    QDQ_TRY(qdq_lab_process_start(lab->program, &lab->process, err));
    lab->worker++;
    qdq_status st = greet(lab, err);
    if (st != QDQ_OK)
        qdq_lab_process_kill(lab->process);
    return st;
}

/* --- models --------------------------------------------------------------------------------------------------------- */

static bool is_open(const qdq_lab *lab, size_t i)
{
    return lab->models.at[i].open_in == lab->worker && qdq_lab_process_is_alive(lab->process);
}

void qdq_lab_note(qdq_lab *lab, int handle, const char *what, const qdq_lab_fate *fate, double seconds)
{
    const char *log = lab->models.at[handle].log;
    size_t size = 0;
    const char *output = qdq_lab_process_output(lab->process, &size);

    if (fate->end == QDQ_LAB_FINE && size == 0)
        return;
    qdq_lab_log_asked(&lab->logs, log, what);
    qdq_lab_log_ended(&lab->logs, log, output, size, fate, seconds);
}

void qdq_lab_note_build(qdq_lab *lab, const char *log, qdq_status st, const qdq_lab_fate *fate,
                        const qdq_error *err, double seconds)
{
    qdq_lab_fate told = *fate;
    size_t size;
    const char *output = qdq_lab_process_output(lab->process, &size);

    if (st != QDQ_OK)
        told = (qdq_lab_fate){.end = QDQ_LAB_REFUSED};
    if (st != QDQ_OK && err != NULL)
        snprintf(told.text, sizeof told.text, "%.*s", (int)sizeof told.text - 1, err->text);
    qdq_lab_log_ended(&lab->logs, log, output, size, &told, seconds);
}

static qdq_status open_model(qdq_lab *lab, int handle, qdq_lab_fate *fate, qdq_error *err)
{
    qdq_lab_model *m = &lab->models.at[handle];
    qdq_lab_object q = qdq_lab_object_new();
    qdq_lab_answer answer;

    m->log = qdq_lab_log_new(&lab->logs, &lab->arena);
    qdq_lab_put_text(&q, "do", "open");
    qdq_lab_put_int(&q, "handle", handle);
    qdq_lab_put_text(&q, "path", m->path);
    lab->builds++;
    double start = qdq_clock_seconds();
    char *what = qdq_arena_printf(&lab->arena, "build a session of %s\nengine: %s %s, threads %d, worker %u",
                                  m->path, lab->info.name, lab->info.version, lab->opts.threads, lab->worker);
    qdq_lab_log_asked(&lab->logs, m->log, what != NULL ? what : m->path);
    qdq_status st = qdq_lab_ask(lab, &q, lab->opts.build_deadline_s, &answer, fate, err);
    qdq_lab_note_build(lab, m->log, st, fate, err, qdq_clock_seconds() - start);
    qdq_lab_answer_free(&answer);
    if (st == QDQ_OK && fate->end == QDQ_LAB_FINE)
        m->open_in = lab->worker;
    return st;
}

static qdq_status warm_up(qdq_lab *lab, int handle, qdq_lab_fate *fate, qdq_error *err)
{
    qdq_lab_model *m = &lab->models.at[handle];
    qdq_lab_object q = qdq_lab_object_new();
    qdq_lab_answer answer;
    double start = qdq_clock_seconds();

    qdq_lab_put_text(&q, "do", "warm");
    qdq_lab_put_int(&q, "handle", handle);
    qdq_status st = qdq_lab_ask(lab, &q, lab->opts.run_deadline_s * lab->opts.warmup, &answer, fate, err);
    if (st == QDQ_OK)
        qdq_lab_note(lab, handle, "runs until it is warm", fate, qdq_clock_seconds() - start);
    if (st == QDQ_OK && fate->end == QDQ_LAB_FINE)
        m->warm_in = lab->worker;
    qdq_lab_answer_free(&answer);
    return st;
}

static qdq_status ready_one(qdq_lab *lab, int handle, bool warm, qdq_lab_fate *fate, qdq_error *err)
{
    const qdq_lab_model *m = &lab->models.at[handle];

    QDQ_TRY(qdq_lab_need_worker(lab, err));
    if (!is_open(lab, (size_t)handle))
        QDQ_TRY(open_model(lab, handle, fate, err));
    if (fate->end == QDQ_LAB_FINE && warm && m->warm_in != lab->worker)
        QDQ_TRY(warm_up(lab, handle, fate, err));
    return QDQ_OK;
}

static bool others_are_open(const qdq_lab *lab, int a, int b)
{
    for (size_t i = 0; i < lab->models.n; i++)
        if ((int)i != a && (int)i != b && is_open(lab, i))
            return true;
    return false;
}

qdq_status qdq_lab_ready(qdq_lab *lab, int a, int b, bool warm, qdq_lab_fate *fate, qdq_error *err)
{
    bool others;

    do {
        *fate = (qdq_lab_fate){0};
        others = others_are_open(lab, a, b);
        QDQ_TRY(ready_one(lab, a, warm, fate, err));
        if (fate->end == QDQ_LAB_FINE && b != a)
            QDQ_TRY(ready_one(lab, b, warm, fate, err));
    } while (fate->end == QDQ_LAB_MEMORY && others);
    return QDQ_OK;
}

qdq_status qdq_lab_check_handle(const qdq_lab *lab, int handle, qdq_error *err)
{
    if (handle < 0 || (size_t)handle >= lab->models.n || lab->models.at[handle].dropped)
        return qdq_fail(err, QDQ_E_USAGE, "%d is no handle of a model in the lab", handle);
    return QDQ_OK;
}

qdq_status qdq_lab_build(qdq_lab *lab, const char *path, int *handle, qdq_lab_fate *fate, qdq_error *err)
{
    qdq_lab_model m = {.path = qdq_arena_strdup(&lab->arena, path)};
    int new = (int)lab->models.n;

    *handle = -1;
    *fate = (qdq_lab_fate){0};
    if (m.path == NULL || !QDQ_PUSH(&lab->arena, &lab->models, m))
        return qdq_nomem(err);
    qdq_status st = qdq_lab_ready(lab, new, new, false, fate, err);
    if (st == QDQ_OK && fate->end == QDQ_LAB_FINE)
        *handle = new;
    else
        lab->models.at[new].dropped = true;
    return st;
}

void qdq_lab_drop(qdq_lab *lab, int handle)
{
    qdq_lab_object q;
    qdq_lab_answer answer;
    qdq_lab_fate fate;

    if (qdq_lab_check_handle(lab, handle, NULL) != QDQ_OK)
        return;
    lab->models.at[handle].dropped = true;
    if (!is_open(lab, (size_t)handle))
        return;
    lab->models.at[handle].open_in = 0;
    q = qdq_lab_object_new();
    qdq_lab_put_text(&q, "do", "drop");
    qdq_lab_put_int(&q, "handle", handle);
    /* A worker that cannot even let go is replaced when the next model is needed. */
    if (qdq_lab_ask(lab, &q, lab->opts.run_deadline_s, &answer, &fate, NULL) != QDQ_OK)
        qdq_lab_process_kill(lab->process);
    qdq_lab_answer_free(&answer);
}

/* --- open and close --------------------------------------------------------------------------------------------------- */

static json_t *shapes_of(const qdq_lab_opts *o)
{
    json_t *list = json_array();

    for (size_t i = 0; i < o->n_shapes; i++) {
        qdq_lab_object shape = qdq_lab_object_new();
        json_t *dims = json_array();
        bool failed = dims == NULL;

        for (int r = 0; r < o->shapes[i].rank && r < QDQ_MAX_RANK; r++)
            failed =
                json_array_append_new(dims, json_integer((json_int_t)o->shapes[i].dim[r])) != 0 || failed;
        qdq_lab_put_text(&shape, "name", o->shapes[i].name);
        qdq_lab_put(&shape, "dims", dims);
        if (failed || shape.failed || json_array_append(list, shape.json) != 0) {
            json_decref(list);
            list = NULL;
        }
        json_decref(shape.json);
    }
    return list;
}

static json_t *texts_of(const char *const *texts)
{
    json_t *list = json_array();

    for (size_t i = 0; list != NULL && texts != NULL && texts[i] != NULL; i++) {
        if (json_array_append_new(list, qdq_lab_text(texts[i])) != 0) {
            json_decref(list);
            list = NULL;
        }
    }
    return list;
}

static qdq_status write_hello(qdq_lab *lab, const qdq_lab_opts *o, qdq_error *err)
{
    static const qdq_engine_opts defaults = QDQ_ENGINE_OPTS_INIT;
    const qdq_engine_opts *e = o->engine_opts != NULL ? o->engine_opts : &defaults;
    qdq_lab_object h = qdq_lab_object_new();

    qdq_lab_put_text(&h, "do", "hello");
    qdq_lab_put_text(&h, "version", qdq_version());
    qdq_lab_put_text(&h, "engine", o->engine);
    qdq_lab_put_text(&h, "ort_library", e->ort_library);
    qdq_lab_put_text(&h, "openvino_library", e->openvino_library);
    qdq_lab_put(&h, "search_dirs", texts_of(e->search_dirs));
    qdq_lab_put_text(&h, "trtexec", e->trtexec);
    qdq_lab_put_text(&h, "trtexec_args", e->trtexec_args);
    qdq_lab_put_text(&h, "timing_cache", e->timing_cache);
    qdq_lab_put(&h, "plugins", texts_of(e->plugins));
    qdq_lab_put(&h, "providers", texts_of(e->providers));
    qdq_lab_put(&h, "shapes", shapes_of(o));
    qdq_lab_put_int(&h, "threads", o->threads);
    qdq_lab_put_int(&h, "max_memory", (int64_t)o->max_memory);
    qdq_lab_put_int(&h, "warmup", o->warmup);
    qdq_lab_put_int(&h, "leg_runs", o->leg_runs);
    qdq_lab_put(&h, "leg_ms", json_real(o->leg_ms));
    qdq_lab_put_int(&h, "seed", (int64_t)o->seed);
    qdq_lab_put_text(&h, "samples", o->samples);
    qdq_lab_put_text(&h, "work", o->work);
    lab->hello = h.json;
    return h.failed ? qdq_nomem(err) : QDQ_OK;
}

static void use_defaults(qdq_lab_opts *o)
{
    o->threads = o->threads > 0 ? o->threads : 1;
    o->build_deadline_s = o->build_deadline_s > 0 ? o->build_deadline_s : 600;
    o->run_deadline_s = o->run_deadline_s > 0 ? o->run_deadline_s : 60;
    o->warmup = o->warmup > 0 ? o->warmup : 2;
    o->leg_runs = o->leg_runs > 0 ? o->leg_runs : 1;
    o->leg_ms = o->leg_ms > 0 ? o->leg_ms : 5;
}

static qdq_status set_up(qdq_lab *lab, const qdq_lab_opts *opts, qdq_error *err)
{
    lab->opts = *opts;
    use_defaults(&lab->opts);
    QDQ_TRY(write_hello(lab, &lab->opts, err));
    lab->program = opts->worker != NULL ? qdq_arena_strdup(&lab->arena, opts->worker)
                                        : qdq_program_beside(&lab->arena, WORKER);
    if (opts->logs != NULL)
        lab->opts.logs = qdq_arena_strdup(&lab->arena, opts->logs);
    if (lab->program == NULL || (opts->logs != NULL && lab->opts.logs == NULL))
        return qdq_nomem(err);
    QDQ_TRY(qdq_lab_logs_open(&lab->logs, lab->opts.logs, opts->job, err));
    qdq_status st = qdq_lab_need_worker(lab, err);
    if (st == QDQ_E_ENGINE && lab->process == NULL && lab->worker == 0 && strcmp(lab->program, WORKER) == 0)
        return qdq_within(err, st, "there is no " WORKER " beside this program");
    return st;
}

qdq_status qdq_lab_open(const qdq_lab_opts *opts, qdq_lab **out, qdq_error *err)
{
    *out = NULL;
    qdq_lab *lab = calloc(1, sizeof *lab);
    if (lab == NULL)
        return qdq_nomem(err);
    qdq_status st = set_up(lab, opts, err);
    if (st != QDQ_OK) {
        qdq_lab_close(lab);
        return st;
    }
    *out = lab;
    return QDQ_OK;
}

void qdq_lab_close(qdq_lab *lab)
{
    if (lab == NULL)
        return;
    if (!qdq_lab_process_end(lab->process))
        qdq_job_log(lab->opts.job, QDQ_LOG_WARNING, "%s: the worker did not end as it should", lab->program);
    json_decref(lab->hello);
    qdq_arena_free(&lab->arena);
    free(lab);
}

const qdq_engine_info *qdq_lab_engine(const qdq_lab *lab)
{
    return &lab->info;
}

unsigned qdq_lab_builds(const qdq_lab *lab)
{
    return lab->builds;
}
