/* tune_status.c - what a folder says of its newest run: the report of one that has ended, and the
 * last event of one that has not, be it under way in another process or cut off. */
#include "qdq/tune.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fail.h"
#include "base/json_write.h"
#include "tune/store/store.h"
#include "tune/store/tune_folder.h"

typedef struct progress {
    unsigned trials, accepted;
    double saved, first, last;
    char phase[40];
} progress;

static qdq_status note_event(void *ctx, double time, const char *kind, const char *text,
                             qdq_error *err)
{
    progress *p = ctx;
    json_t *j;

    if (kind == NULL || text == NULL || strcmp(kind, "trial") != 0)
        return QDQ_OK;
    QDQ_TRY(qdq_json_parse(text, strlen(text), "event", &j, err));
    p->first = p->trials == 0 ? time : p->first;
    p->last = time;
    p->trials++;
    p->accepted += json_is_true(json_object_get(j, "kept"));
    p->saved = json_number_value(json_object_get(j, "saved"));
    const char *phase = json_string_value(json_object_get(j, "phase"));
    snprintf(p->phase, sizeof p->phase, "%s", phase != NULL ? phase : "");
    json_decref(j);
    return QDQ_OK;
}

/* Where there is no note, as in a folder that was copied without it: a number of a process may be
 * another's by now. */
static bool is_alive(int64_t pid)
{
    return kill((pid_t)pid, 0) == 0 || errno == EPERM;
}

/* --- a run that has not ended ----------------------------------------------------------------- */

static qdq_status describe_unfinished(const qdq_tune_note *note, int64_t process, bool running,
                                      const progress *p, json_t **out, qdq_error *err)
{
    qdq_json_doc d = {0};
    qdq_json_out j = qdq_json_object(&d);

    qdq_json_put_text(j, "state",
                      running                ? "running"
                      : note->failed != NULL ? "failed"
                                             : "interrupted");
    if (note->failed != NULL)
        qdq_json_put_text(j, "error", note->failed);
    qdq_json_put_int(j, "process", process);
    qdq_json_put_text(j, "phase", p->phase);
    qdq_json_put_int(j, "trials", p->trials);
    qdq_json_put_int(j, "kept", p->accepted);
    qdq_json_put_real(j, "saved", p->saved);
    qdq_json_put_real(j, "seconds", fmax(p->last - p->first, 0));
    *out = qdq_json_take(&d);
    return *out != NULL ? QDQ_OK : qdq_nomem(err);
}

/* --- a run in the store ----------------------------------------------------------------------- */

static qdq_status describe_run(qdq_tune_store *s, const qdq_tune_note *note,
                               const qdq_tune_store_found_run *run, json_t **out, qdq_error *err)
{
    progress p = {.phase = "control"};

    if (run->finished && run->report != NULL) {
        QDQ_TRY(qdq_json_parse(run->report, strlen(run->report), "report in the store", out, err));
        if (!json_is_object(*out))
            return qdq_fail(err, QDQ_E_FORMAT, "report in the store: expected an object");
        return json_object_set_new(*out, "state", json_string("finished")) == 0 ? QDQ_OK
                                                                                : qdq_nomem(err);
    }
    QDQ_TRY(qdq_tune_store_events(s, run->id, note_event, &p, err));
    return describe_unfinished(note, run->pid, note->found ? note->running : is_alive(run->pid), &p,
                               out, err);
}

static qdq_status describe_store(const char *path, const qdq_tune_note *note, json_t **out,
                                 qdq_error *err)
{
    qdq_tune_store_found_run run = {0};
    qdq_tune_store *s;

    QDQ_TRY(qdq_tune_store_open_to_read(path, &s, err));
    qdq_status st = qdq_tune_store_find(s, note->run, &run, err);
    if (st == QDQ_OK && !run.found)
        st = qdq_fail(err, QDQ_E_FORMAT, "%s: no run has begun in it", path);
    if (st == QDQ_OK)
        st = describe_run(s, note, &run, out, err);
    if (st == QDQ_E_FORMAT && run.found)
        st = qdq_within(err, st, "%s", path);
    qdq_free(run.report);
    qdq_tune_store_close(s);
    return st;
}

/* --- a folder --------------------------------------------------------------------------------- */

static qdq_status describe_folder(const char *dir, const qdq_tune_note *note, json_t **out,
                                  qdq_error *err)
{
    const progress none = {.phase = "calibrating"};
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_status st;

    if (note->found && note->run == 0)
        return describe_unfinished(note, note->process, note->running, &none, out, err);
    const char *path =
        note->store != NULL ? note->store : qdq_arena_printf(&arena, "%s/tune.db", dir);
    if (path == NULL)
        st = qdq_nomem(err);
    else if (access(path, R_OK) != 0)
        st = qdq_fail_errno(err, QDQ_E_IO, errno, "%s: expected %s", path,
                            note->found ? "the store of the run" : "a folder of qdq autotune");
    else
        st = describe_store(path, note, out, err);
    qdq_arena_free(&arena);
    return st;
}

qdq_status qdq_tune_status(const char *dir, char **text, qdq_error *err)
{
    qdq_tune_note note;
    json_t *j = NULL;

    *text = NULL;
    QDQ_TRY(qdq_tune_note_read(dir, &note, err));
    qdq_status st = describe_folder(dir, &note, &j, err);
    if (st == QDQ_OK)
        st = qdq_json_dump(j, text, err);
    json_decref(j);
    qdq_tune_note_free(&note);
    return st;
}
