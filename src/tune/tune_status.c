/* tune_status.c - what a folder says of its newest run: the report of one that has ended, and the last event of one that
 * has not, be it under way in another process or cut off. */
#include "qdq/tune.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/json.h"
#include "tune/store/store.h"

typedef struct progress {
    unsigned trials, kept;
    double saved, first, last;
    char phase[40];
} progress;

static qdq_status note(void *ctx, double time, const char *kind, const char *text, qdq_error *err)
{
    progress *p = ctx;
    json_t *j;

    if (strcmp(kind, "trial") != 0)
        return QDQ_OK;
    QDQ_TRY(qdq_json_parse(text, strlen(text), "tune.db", &j, err));
    p->first = p->trials == 0 ? time : p->first;
    p->last = time;
    p->trials++;
    p->kept += json_is_true(json_object_get(j, "kept"));
    p->saved = json_number_value(json_object_get(j, "saved"));
    snprintf(p->phase, sizeof p->phase, "%s", json_string_value(json_object_get(j, "phase")));
    json_decref(j);
    return QDQ_OK;
}

static bool is_alive(int64_t pid)
{
    return kill((pid_t)pid, 0) == 0 || errno == EPERM;
}

static qdq_status describe_running(qdq_tune_store *s, const qdq_tune_store_newest_run *run, json_t *j,
                                   qdq_error *err)
{
    progress p = {0};

    QDQ_TRY(qdq_tune_store_events(s, run->id, note, &p, err));
    json_object_set_new(j, "state", json_string(is_alive(run->pid) ? "running" : "interrupted"));
    json_object_set_new(j, "process", json_integer(run->pid));
    json_object_set_new(j, "phase", json_string(p.trials > 0 ? p.phase : "calibrating"));
    json_object_set_new(j, "trials", json_integer(p.trials));
    json_object_set_new(j, "kept", json_integer(p.kept));
    json_object_set_new(j, "saved", json_real(p.saved));
    json_object_set_new(j, "seconds", json_real(p.last - p.first));
    return QDQ_OK;
}

static qdq_status describe(qdq_tune_store *s, const char *dir, json_t **out, qdq_error *err)
{
    qdq_tune_store_newest_run run;

    *out = NULL;
    QDQ_TRY(qdq_tune_store_newest(s, &run, err));
    if (!run.found)
        return qdq_fail(err, QDQ_E_FORMAT, "%s: no run has begun in it", dir);
    qdq_status st = QDQ_OK;
    if (run.finished && run.report != NULL)
        st = qdq_json_parse(run.report, strlen(run.report), "tune.db", out, err);
    else if ((*out = json_object()) == NULL)
        st = qdq_nomem(err);
    else
        st = describe_running(s, &run, *out, err);
    if (st == QDQ_OK && run.finished)
        json_object_set_new(*out, "state", json_string("finished"));
    qdq_free(run.report);
    return st;
}

qdq_status qdq_tune_status(const char *dir, char **text, qdq_error *err)
{
    size_t room = strlen(dir) + sizeof "/tune.db";
    char *path = malloc(room);
    qdq_tune_store *s = NULL;
    json_t *j = NULL;

    *text = NULL;
    if (path == NULL)
        return qdq_nomem(err);
    snprintf(path, room, "%s/tune.db", dir);
    qdq_status st = access(path, R_OK) == 0
                        ? qdq_tune_store_open(path, &s, err)
                        : qdq_fail_errno(err, QDQ_E_IO, errno, "%s: expected a folder of qdq autotune", path);
    if (st == QDQ_OK)
        st = describe(s, dir, &j, err);
    if (st == QDQ_OK)
        st = qdq_json_dump(j, text, err);
    json_decref(j);
    qdq_tune_store_close(s);
    free(path);
    return st;
}
