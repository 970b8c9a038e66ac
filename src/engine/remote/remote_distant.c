/* remote_distant.c - a process of an engine on a device, over a link. Files and memory that a
 * question refers to go there with it. Where the link is interrupted, a new process there is asked
 * what the old one was asked, and then the question again: no answer is lost and none comes
 * twice. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/file.h"
#include "base/json_read.h"
#include "base/spawn.h"
#include "engine/remote/remote_files.h"
#include "engine/remote/remote_journal.h"
#include "engine/remote/remote_process_ops.h"

/* TRIES: connections that one question may cost, without one that brings it further */
enum { TRIES = 50, PAUSE_MS = 5, ALIGN = 64 };

typedef struct distant {
    qdq_remote_link *link;
    /* the connection in which the process runs; 0: none */
    unsigned number;
    bool alive;
    /* memory of arrays; -1: none */
    int exchange;
    qdq_remote_journal journal;
    qdq_remote_hashes hashes;
    qdq_buf output;
} distant;

/* One question on its way. */
typedef struct asking {
    distant *d;
    const qdq_remote_entry *entry;
    const qdq_cancel *cancel;
    /* asked before: its outputs are known */
    bool again;
    json_t *answer;
    qdq_remote_outcome outcome;
} asking;

/* --- arrays ----------------------------------------------------------------------------------- */

static bool read_row(const json_t *row, uint64_t *offset, uint64_t *bytes)
{
    const json_t *at = json_array_get(row, 2), *size = json_array_get(row, 3);

    if (!json_is_integer(at) || !json_is_integer(size) || json_integer_value(at) < 0 ||
        json_integer_value(size) < 0 || (uint64_t)json_integer_value(size) > QDQ_FRAME_BINARY_MAX)
        return false;
    *offset = (uint64_t)json_integer_value(at);
    *bytes = (uint64_t)json_integer_value(size);
    return true;
}

/* The contents of the arrays that a question names. */
static qdq_status gather(const distant *d, qdq_remote_entry *e, qdq_error *err)
{
    const json_t *list = json_object_get(e->question, "in");

    for (size_t i = 0; i < json_array_size(list); i++) {
        uint64_t offset, bytes;

        if (!read_row(json_array_get(list, i), &offset, &bytes) ||
            bytes > QDQ_FRAME_BINARY_MAX - e->arrays.size)
            return qdq_fail(err, QDQ_E_UNSUPPORTED,
                            "host '%s': inputs of more than %llu bytes are too large for the link",
                            qdq_remote_link_host(d->link)->text,
                            (unsigned long long)QDQ_FRAME_BINARY_MAX);
        char *to = qdq_buf_extend(&e->arrays, (size_t)bytes);
        QDQ_NEED(to != NULL, err);
        const int reason = qdq_read_at(d->exchange, to, (size_t)bytes, &offset);
        if (reason != 0)
            return qdq_fail_errno(err, QDQ_E_IO, reason, "cannot read shared memory");
    }
    return QDQ_OK;
}

static qdq_status write_memory(int fd, const unsigned char *data, uint64_t bytes, uint64_t offset,
                               qdq_error *err)
{
    const int reason = qdq_write_at(fd, data, (size_t)bytes, &offset);

    return reason == 0 ? QDQ_OK
                       : qdq_fail_errno(err, QDQ_E_IO, reason, "cannot write shared memory");
}

static int64_t where_outputs_go(const asking *a)
{
    const qdq_remote_entry *run = strcmp(qdq_remote_entry_name(a->entry), "next") == 0
                                      ? qdq_remote_journal_run(&a->d->journal)
                                      : a->entry;
    const json_t *at = run != NULL ? json_object_get(run->question, "at") : NULL;

    return json_is_integer(at) && json_integer_value(at) >= 0 ? json_integer_value(at) : -1;
}

/* The outputs of an answer. They lie where the question wanted them, and no further. */
static qdq_status scatter(const asking *a, const qdq_frame *reply, qdq_error *err)
{
    const json_t *list = json_object_get(a->answer, "outputs");
    const int64_t start = where_outputs_go(a);
    uint64_t used = 0, offset, bytes;

    for (size_t i = 0; i < json_array_size(list); i++) {
        if (start < 0 || a->d->exchange < 0 ||
            !read_row(json_array_get(list, i), &offset, &bytes) || offset < (uint64_t)start ||
            bytes > reply->size - used ||
            offset + bytes > (uint64_t)start + reply->size + ALIGN * (i + 1))
            return qdq_fail(err, QDQ_E_ENGINE, "host '%s': output %zu is not where it was expected",
                            qdq_remote_link_host(a->d->link)->text, i);
        if (!a->again)
            QDQ_TRY(write_memory(a->d->exchange, reply->binary + used, bytes, offset, err));
        used += bytes;
    }
    return QDQ_OK;
}

/* --- files ------------------------------------------------------------------------------------ */

static char *text_of(const json_t *question, const char *key, qdq_arena *arena)
{
    const char *text = json_string_value(json_object_get(question, key));

    return text != NULL ? qdq_remote_bytes(arena, text) : NULL;
}

/* Cost models and samples are read there; libraries and programs are the device's own. */
static qdq_status add_greeting(qdq_remote_parcel *p, const json_t *question, qdq_error *err)
{
    const char *engine = text_of(question, "engine", &p->arena),
               *samples = text_of(question, "samples", &p->arena);

    if (engine != NULL && strncmp(engine, "sim:", 4) == 0 && engine[4] != '\0')
        QDQ_TRY(qdq_remote_parcel_file(p, "engine", 0, "sim:", engine + 4, NULL, err));
    return samples != NULL ? qdq_remote_parcel_file(p, "samples", 0, "", samples, NULL, err)
                           : QDQ_OK;
}

static qdq_status add_session(qdq_remote_parcel *p, const qdq_remote_entry *e, qdq_error *err)
{
    const json_t *files = json_object_get(e->question, "files");

    for (size_t i = 0; i < json_array_size(files); i++) {
        const json_t *file = json_array_get(files, i);
        const char *path = text_of(file, "path", &p->arena);
        const qdq_remote_stamp stamp = {json_integer_value(json_object_get(file, "dev")),
                                        json_integer_value(json_object_get(file, "ino")),
                                        json_integer_value(json_object_get(file, "size"))};

        QDQ_NEED(path != NULL, err);
        QDQ_TRY(qdq_remote_parcel_file(p, "file", i, "", path, &stamp, err));
    }
    return e->fd >= 0 ? qdq_remote_parcel_memory(p, e->fd, err) : QDQ_OK;
}

static qdq_status add_files(qdq_remote_parcel *p, const qdq_remote_entry *e, qdq_error *err)
{
    const char *what = qdq_remote_entry_name(e);

    if (strcmp(what, "hello") == 0)
        return add_greeting(p, e->question, err);
    if (strcmp(what, "session") == 0)
        return add_session(p, e, err);
    if (strcmp(what, "open") == 0 || strcmp(what, "profile") == 0 || strcmp(what, "groups") == 0) {
        const char *path = text_of(e->question, "path", &p->arena);

        QDQ_NEED(path != NULL, err);
        return qdq_remote_parcel_model(p, "path", path, err);
    }
    return QDQ_OK;
}

/* --- one question ----------------------------------------------------------------------------- */

static void keep_output(distant *d, const json_t *reply)
{
    const char *text = json_string_value(json_object_get(reply, "output"));
    qdq_arena scratch = QDQ_ARENA_INIT;
    const char *bytes = text != NULL ? qdq_remote_bytes(&scratch, text) : NULL;

    qdq_buf_free(&d->output);
    d->output = (qdq_buf)QDQ_BUF_INIT(QDQ_FRAME_JSON_MAX);
    if (bytes != NULL)
        qdq_buf_puts(&d->output, bytes);
    qdq_arena_free(&scratch);
}

/* It has ended there: how? */
static qdq_status read_end(asking *a, const json_t *reply, qdq_error *err)
{
    static const qdq_remote_end meaning[] = {QDQ_REMOTE_CRASHED, QDQ_REMOTE_HUNG,
                                             QDQ_REMOTE_MEMORY};
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_json_reader reader = {.arena = &scratch, .err = err};
    const qdq_json_place p = {&reader, (json_t *)(uintptr_t)reply, ""};
    const int end = QDQ_JSON_WORD(&p, "end", -1, "crashed", "hung", "memory");

    snprintf(a->outcome.text, sizeof a->outcome.text, "%s", qdq_remote_get_text(&p, "text", ""));
    qdq_keep_one_line(a->outcome.text);
    const size_t size = strlen(a->outcome.text);
    const size_t cause = (size_t)qdq_json_int(&p, "n_cause", 0, INT32_MAX, (int64_t)size);
    a->outcome.n_cause = cause < size ? cause : size;
    qdq_status st = reader.status;
    qdq_arena_free(&scratch);
    if (st != QDQ_OK)
        return st == QDQ_E_NOMEM ? st
                                 : qdq_within(err, QDQ_E_ENGINE, "host '%s'",
                                              qdq_remote_link_host(a->d->link)->text);
    a->outcome.end = meaning[end];
    a->d->alive = false;
    return QDQ_OK;
}

static qdq_status read_reply(asking *a, const qdq_frame *reply, qdq_error *err)
{
    json_t *answer = json_object_get(reply->json, "answer");

    keep_output(a->d, reply->json);
    if (!json_is_object(answer))
        return read_end(a, reply->json, err);
    a->answer = json_incref(answer);
    return scatter(a, reply, err);
}

static qdq_status send_question(asking *a, qdq_remote_parcel *p, qdq_error *err)
{
    qdq_remote_link *l = a->d->link;
    const qdq_remote_entry *e = a->entry;
    qdq_json_doc doc = {0};
    const qdq_frame *reply;

    QDQ_TRY(add_files(p, e, err));
    QDQ_TRY(qdq_remote_parcel_send(p, l, a->cancel, err));
    qdq_json_out ask = qdq_json_object(&doc);
    qdq_json_put(ask, "question", json_incref(e->question));
    qdq_json_put_real(ask, "deadline", e->deadline_s);
    qdq_json_put_bool(ask, "exchange", a->d->exchange >= 0);
    qdq_json_put(ask, "place", qdq_json_take(&p->place));
    QDQ_TRY(qdq_remote_link_call(l,
                                 &(qdq_remote_request){.kind = QDQ_FRAME_ASK,
                                                       .json = &doc,
                                                       .binary = e->arrays.data,
                                                       .size = e->arrays.size,
                                                       .cancel = a->cancel},
                                 &reply, err));
    return read_reply(a, reply, err);
}

static qdq_status ask_one(asking *a, qdq_error *err)
{
    qdq_remote_parcel p;

    qdq_remote_parcel_begin(&p, &a->d->hashes);
    qdq_status st = send_question(a, &p, err);
    qdq_remote_parcel_free(&p);
    return st;
}

/* --- another process -------------------------------------------------------------------------- */

static qdq_status start_there(distant *d, const qdq_cancel *cancel, qdq_error *err)
{
    qdq_json_doc doc = {0};
    const qdq_frame *reply;

    qdq_json_object(&doc);
    QDQ_TRY(qdq_remote_link_call(
        d->link, &(qdq_remote_request){.kind = QDQ_FRAME_START, .json = &doc, .cancel = cancel},
        &reply, err));
    d->number = qdq_remote_link_number(d->link);
    return QDQ_OK;
}

static bool is_fine(const json_t *answer)
{
    const char *end = json_string_value(json_object_get(answer, "end"));

    return json_is_true(json_object_get(answer, "more")) ||
           (end != NULL && strcmp(end, "fine") == 0);
}

/* Asks once more what was asked before; *outcome: that did not work this time. */
static qdq_status repeat(distant *d, const qdq_remote_entry *e, const qdq_cancel *cancel,
                         qdq_remote_outcome *outcome, qdq_error *err)
{
    asking a = {.d = d, .entry = e, .cancel = cancel, .again = true};
    qdq_status st = ask_one(&a, err);
    const bool fine = st == QDQ_OK && a.answer != NULL && is_fine(a.answer);
    const char *text = json_string_value(json_object_get(a.answer, "text"));

    if (st == QDQ_OK && !fine) {
        *outcome = a.outcome;
        if (a.answer != NULL)
            snprintf(outcome->text, sizeof outcome->text,
                     "after the link was interrupted, '%s' failed: %.200s",
                     qdq_remote_entry_name(e), text != NULL ? text : "no reason given");
        if (a.answer != NULL)
            outcome->n_cause = strlen(outcome->text);
        outcome->end = outcome->end == QDQ_REMOTE_FINE ? QDQ_REMOTE_CRASHED : outcome->end;
        d->alive = false;
    }
    json_decref(a.answer);
    return st;
}

static qdq_status restore(distant *d, const qdq_cancel *cancel, qdq_remote_outcome *outcome,
                          qdq_error *err)
{
    QDQ_TRY(start_there(d, cancel, err));
    for (size_t i = 0; i < d->journal.entries.n && d->alive; i++) {
        const qdq_remote_entry *e = &d->journal.entries.at[i];

        QDQ_TRY(repeat(d, e, cancel, outcome, err));
        for (unsigned k = 0; k < e->taken && d->alive; k++) {
            qdq_remote_entry next = {.fd = -1, .deadline_s = e->deadline_s};
            next.question = json_pack("{s:s}", "do", "next");
            qdq_status st =
                next.question != NULL ? repeat(d, &next, cancel, outcome, err) : qdq_nomem(err);
            qdq_remote_entry_free(&next);
            QDQ_TRY(st);
        }
    }
    return QDQ_OK;
}

static qdq_status attempt(asking *a, qdq_error *err)
{
    distant *d = a->d;

    QDQ_TRY(qdq_remote_link_need(d->link, a->cancel, err));
    if (d->number != qdq_remote_link_number(d->link)) {
        d->number = 0;
        QDQ_TRY(restore(d, a->cancel, &a->outcome, err));
    }
    return d->alive ? ask_one(a, err) : QDQ_OK;
}

/* Until the link held long enough for an answer. */
static qdq_status ask_until_answered(asking *a, qdq_error *err)
{
    qdq_status st = QDQ_OK;

    for (int i = 0; i < TRIES; i++) {
        const unsigned pieces = qdq_remote_link_pieces(a->d->link);

        json_decref(a->answer);
        a->answer = NULL;
        st = attempt(a, err);
        if (st != QDQ_E_ENGINE || !qdq_remote_link_is_cut(a->d->link))
            return st;
        if (qdq_remote_link_pieces(a->d->link) > pieces) /* files go on from there */
            i = -1;
        else
            poll(NULL, 0, PAUSE_MS * i);
    }
    return qdq_within(err, st, "interrupted %d times", (int)TRIES);
}

/* --- the process ------------------------------------------------------------------------------ */

/* Folders, libraries and programs of this machine mean nothing there. */
static json_t *without_paths(const json_t *question)
{
    /* a timing cache is kept there where one is wanted */
    static const char *const ours[] = {"ort_library", "openvino_library", "search_dirs", "temp_dir",
                                       "record",      "worker",           "work"};
    json_t *copy = json_copy((json_t *)(uintptr_t)question);

    for (size_t i = 0; copy != NULL && i < QDQ_COUNT(ours); i++)
        json_object_del(copy, ours[i]);
    return copy;
}

static qdq_status make_entry(distant *d, const qdq_remote_call *c, qdq_remote_entry *e,
                             qdq_error *err)
{
    *e = (qdq_remote_entry){.fd = -1, .deadline_s = c->deadline_s};
    e->arrays = (qdq_buf)QDQ_BUF_INIT(QDQ_FRAME_BINARY_MAX);
    e->question = json_incref((json_t *)(uintptr_t)c->question);
    if (strcmp(qdq_remote_entry_name(e), "hello") == 0) {
        json_decref(e->question);
        QDQ_NEED((e->question = without_paths(c->question)) != NULL, err);
        if (c->fd >= 0 && d->exchange < 0)
            d->exchange = fcntl(c->fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    } else if (c->fd >= 0) {
        e->fd = fcntl(c->fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    }
    if (c->fd >= 0 && e->fd < 0 && d->exchange < 0)
        return qdq_fail_errno(err, QDQ_E_IO, errno, "cannot keep shared memory open");
    return gather(d, e, err);
}

static qdq_status distant_ask(void *self, const qdq_remote_call *c, json_t **answer,
                              qdq_remote_outcome *outcome, qdq_error *err)
{
    distant *d = self;
    qdq_remote_entry e;
    asking a = {.d = d, .entry = &e, .cancel = c->cancel};

    qdq_status st = make_entry(d, c, &e, err);
    if (st == QDQ_OK)
        st = ask_until_answered(&a, err);
    if (st == QDQ_OK && a.answer != NULL)
        st = qdq_remote_journal_note(&d->journal, &e, a.answer, err);
    qdq_remote_entry_free(&e);
    *outcome = a.outcome;
    if (st == QDQ_OK && a.answer != NULL) {
        *answer = a.answer;
        return QDQ_OK;
    }
    json_decref(a.answer);
    d->alive = false;
    return st;
}

static bool distant_is_alive(const void *self)
{
    return ((const distant *)self)->alive;
}

static const char *distant_output(const void *self, size_t *size)
{
    const distant *d = self;

    *size = d->output.failed ? 0 : d->output.size;
    return *size > 0 ? d->output.data : "";
}

/* The device ends it when the next one starts, or the link ends. */
static void distant_kill(void *self)
{
    distant *d = self;

    d->alive = false;
}

static bool distant_end(void *self)
{
    distant *d = self;
    qdq_json_doc doc = {0};
    const qdq_frame *reply;

    if (!d->alive || d->number != qdq_remote_link_number(d->link))
        return true;
    qdq_json_object(&doc);
    d->alive = false;
    if (qdq_remote_link_call(d->link, &(qdq_remote_request){.kind = QDQ_FRAME_END, .json = &doc},
                             &reply, NULL) != QDQ_OK)
        return true; /* an interrupted link ends it, too */
    return json_is_true(json_object_get(reply->json, "fine"));
}

static void distant_free(void *self)
{
    distant *d = self;

    qdq_fd_close(&d->exchange);
    qdq_remote_journal_free(&d->journal);
    qdq_remote_hashes_free(&d->hashes);
    qdq_buf_free(&d->output);
    free(d);
}

qdq_status qdq_remote_distant_start(qdq_remote_link *l, const qdq_cancel *cancel, void **out,
                                    qdq_error *err)
{
    distant *d = calloc(1, sizeof *d);
    qdq_status st = QDQ_OK;

    QDQ_NEED(d != NULL, err);
    *d = (distant){.link = l, .alive = true, .exchange = -1};
    d->output = (qdq_buf)QDQ_BUF_INIT(QDQ_FRAME_JSON_MAX);
    for (int i = 0; i < TRIES; i++) {
        st = qdq_remote_link_need(l, cancel, err);
        if (st == QDQ_OK)
            st = start_there(d, cancel, err);
        if (st != QDQ_E_ENGINE || !qdq_remote_link_is_cut(l))
            break;
    }
    return QDQ_HAND_OVER(d, st, out, distant_free);
}

const qdq_remote_process_ops qdq_remote_distant_ops = {
    .ask = distant_ask,
    .is_alive = distant_is_alive,
    .output = distant_output,
    .kill = distant_kill,
    .end = distant_end,
    .free = distant_free,
};
