/* worker_relay_answer.c - one function for each kind of frame. What arrives is from another machine
 * and checked before it is used. */
#include "worker/worker_relay_answer.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/fail.h"
#include "base/file.h"
#include "base/processor.h"
#include "base/spawn.h"
#include "engine/remote/remote_message.h"
#include "qdq/engine.h"

/* of the memory of arrays */
#define OFFSET_MAX ((int64_t)1 << 40)

/* --- hello, have, put ------------------------------------------------------------------------- */

static int processors(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return CPU_COUNT(&set);
    return 1;
}

static void welcome(qdq_json_out answer)
{
    char processor[300];
    struct utsname machine;

    qdq_processor_name(processor, sizeof processor);
    qdq_json_put_ints(answer, "protocol", (const int64_t[]){QDQ_FRAME_MAJOR, QDQ_FRAME_MINOR}, 2);
    qdq_json_put_text(answer, "version", qdq_version());
    qdq_json_put_text(answer, "processor", processor);
    qdq_json_put_text(answer, "kernels", qdq_cpu_name(qdq_cpu_detect()));
    qdq_json_put_text(answer, "machine", uname(&machine) == 0 ? machine.machine : "unknown");
    qdq_json_put_int(answer, "threads", processors());
}

static qdq_status have(const qdq_relay *r, const json_t *q, qdq_json_out answer, qdq_error *err)
{
    const json_t *blobs = json_object_get(q, "blobs");
    qdq_json_out sizes = qdq_json_put_list(answer, "sizes");

    for (size_t i = 0; i < json_array_size(blobs); i++) {
        const char *hash = json_string_value(json_array_get(blobs, i));

        if (!qdq_frame_is_hash(hash))
            return qdq_fail(err, QDQ_E_FORMAT, "key 'blobs': expected hashes");
        qdq_json_put_int(sizes, NULL, qdq_worker_blobs_size(&r->blobs, hash));
    }
    return QDQ_OK;
}

static qdq_status put(const qdq_relay *r, const qdq_json_place *q, const qdq_frame *frame,
                      qdq_json_out answer, qdq_error *err)
{
    qdq_worker_piece piece = {.hash = qdq_json_text(q, "blob", NULL),
                              .size = (uint64_t)qdq_json_int(q, "size", 0, INT64_MAX, -1),
                              .at = (uint64_t)qdq_json_int(q, "at", 0, INT64_MAX, -1),
                              .data = frame->binary,
                              .bytes = frame->size};
    uint64_t size = 0;

    QDQ_TRY(q->reader->status);
    QDQ_TRY(qdq_worker_blobs_put(&r->blobs, &piece, &size, err));
    qdq_json_put_size(answer, "size", size);
    return QDQ_OK;
}

/* --- a process -------------------------------------------------------------------------------- */

static void end_process(qdq_relay *r)
{
    qdq_remote_process_free(r->process);
    r->process = NULL;
    qdq_shared_free(&r->exchange);
    r->exchange = (qdq_shared)QDQ_SHARED_INIT;
    if (r->work != NULL)
        qdq_tempdir_remove(r->work);
    r->work = NULL;
}

/* Makes the room for a process, which starts when it is greeted: then its environment is known. */
static qdq_status make_room(qdq_relay *r, qdq_error *err)
{
    end_process(r);
    const char *work = qdq_arena_printf(&r->arena, "%s/work%u", r->dir, r->n_processes++);
    QDQ_NEED(work != NULL, err);
    if (mkdir(work, 0700) != 0)
        return qdq_fail_errno(err, QDQ_E_IO, errno, "%s: cannot make this folder", work);
    r->work = work;
    return qdq_shared_new(&r->exchange, err);
}

/* --- greeting --------------------------------------------------------------------------------- */

static void put_search_dirs(const qdq_relay *r, qdq_json_out question)
{
    static const char *const beside[] = {"", "/ort", "/openvino", "/../lib/qdq",
                                         "/../lib/qdq/openvino"};
    const char *slash = strrchr(r->program, '/');
    qdq_json_out dirs = qdq_json_put_list(question, "search_dirs");
    char path[4200];

    for (size_t i = 0; slash != NULL && i < QDQ_COUNT(beside); i++) {
        snprintf(path, sizeof path, "%.*s%s", (int)(slash - r->program), r->program, beside[i]);
        qdq_remote_put_text(dirs, NULL, path);
    }
}

static void put_library(qdq_json_out question, const char *key, const char *variable)
{
    const char *path = getenv(variable);

    if (path != NULL && path[0] != '\0')
        qdq_remote_put_text(question, key, path);
}

/* What the engine needs in its environment, as the command line has it. */
static qdq_status set_environment(const qdq_relay *r, const json_t *question, qdq_error *err)
{
    qdq_engine_opts opts = QDQ_ENGINE_OPTS_INIT;
    const char *engine = json_string_value(json_object_get(question, "engine"));

    opts.worker = r->program;
    opts.openvino_library = getenv("QDQ_OPENVINO_LIBRARY");
    const char *need = engine != NULL ? qdq_engine_environment(engine, &opts) : NULL;
    const char *value = need != NULL ? strchr(need, '=') : NULL;
    char name[100];

    if (setenv("ORT_DISABLE_TELEMETRY", "1", 0) != 0)
        return qdq_nomem(err);
    if (value == NULL)
        return QDQ_OK;
    snprintf(name, sizeof name, "%.*s", (int)(value - need), need);
    return qdq_allocated(setenv(name, value + 1, 1) == 0, err);
}

/* Starts the process that is greeted. It is of this build, whatever the other side is; folders and
 * libraries are of this machine. */
static qdq_status greet(qdq_relay *r, json_t *question, qdq_error *err)
{
    qdq_json_doc doc = {.root = question};
    qdq_json_out q = qdq_json_root(&doc);

    qdq_json_put(q, "version", json_string(qdq_version()));
    qdq_remote_put_text(q, "work", r->work);
    qdq_remote_put_text(q, "temp_dir", r->work);
    qdq_remote_put_text(q, "worker", r->program);
    if (json_object_get(question, "timing_cache") != NULL)
        qdq_remote_put_text(q, "timing_cache", r->timing_cache);
    put_search_dirs(r, q);
    put_library(q, "ort_library", "QDQ_ORT_LIBRARY");
    put_library(q, "openvino_library", "QDQ_OPENVINO_LIBRARY");
    QDQ_NEED(!doc.failed, err);
    QDQ_TRY(set_environment(r, question, err));
    return r->work != NULL && r->process == NULL
               ? qdq_remote_process_start(r->program, NULL, NULL, &r->process, err)
               : QDQ_OK;
}

/* --- arrays ----------------------------------------------------------------------------------- */

static bool read_row(const json_t *row, int64_t *offset, int64_t *bytes)
{
    const json_t *at = json_array_get(row, 2), *size = json_array_get(row, 3);

    if (!json_is_integer(at) || !json_is_integer(size))
        return false;
    *offset = json_integer_value(at);
    *bytes = json_integer_value(size);
    return *offset >= 0 && *bytes >= 0 && *offset <= OFFSET_MAX &&
           (uint64_t)*bytes <= QDQ_FRAME_BINARY_MAX;
}

static qdq_status write_arrays(const qdq_relay *r, const json_t *question, const qdq_frame *frame,
                               qdq_error *err)
{
    const json_t *list = json_object_get(question, "in");
    size_t used = 0;

    for (size_t i = 0; i < json_array_size(list); i++) {
        int64_t offset, bytes;

        if (!read_row(json_array_get(list, i), &offset, &bytes) ||
            (size_t)bytes > frame->size - used)
            return qdq_fail(err, QDQ_E_FORMAT, "key 'in': entry %zu is not an array that came", i);
        uint64_t at = (uint64_t)offset;
        const int reason = qdq_write_at(r->exchange.fd, frame->binary + used, (size_t)bytes, &at);
        if (reason != 0)
            return qdq_fail_errno(err, QDQ_E_IO, reason, "shared memory");
        used += (size_t)bytes;
    }
    return QDQ_OK;
}

static qdq_status read_arrays(const qdq_relay *r, const json_t *answer, qdq_buf *binary,
                              qdq_error *err)
{
    const json_t *list = json_object_get(answer, "outputs");

    for (size_t i = 0; i < json_array_size(list); i++) {
        int64_t offset, bytes;

        if (!read_row(json_array_get(list, i), &offset, &bytes) ||
            (uint64_t)bytes > QDQ_FRAME_BINARY_MAX - binary->size)
            return qdq_fail(err, QDQ_E_UNSUPPORTED,
                            "outputs of more than %llu bytes are too large for the link",
                            (unsigned long long)QDQ_FRAME_BINARY_MAX);
        char *to = qdq_buf_extend(binary, (size_t)bytes);
        QDQ_NEED(to != NULL, err);
        uint64_t at = (uint64_t)offset;
        const int reason = qdq_read_at(r->exchange.fd, to, (size_t)bytes, &at);
        if (reason != 0)
            return qdq_fail_errno(err, QDQ_E_IO, reason, "shared memory");
    }
    return QDQ_OK;
}

/* --- ask -------------------------------------------------------------------------------------- */

static void put_output(const qdq_relay *r, qdq_json_out answer)
{
    size_t size;
    const char *output = qdq_remote_process_output(r->process, &size);

    if (size > 0)
        qdq_remote_put_text(answer, "output", output);
}

static qdq_status put_result(const qdq_relay *r, json_t *result, const qdq_remote_outcome *outcome,
                             qdq_json_out answer, qdq_buf *binary, qdq_error *err)
{
    put_output(r, answer);
    if (result != NULL) {
        qdq_json_put(answer, "answer", json_incref(result));
        return read_arrays(r, result, binary, err);
    }
    qdq_json_put_text(answer, "end", qdq_remote_end_name(outcome->end));
    qdq_json_put_size(answer, "n_cause", outcome->n_cause);
    qdq_remote_put_text(answer, "text", outcome->text);
    return QDQ_OK;
}

static qdq_status ask_process(qdq_relay *r, const json_t *question, int fd, double deadline,
                              qdq_json_out answer, qdq_buf *binary, qdq_error *err)
{
    qdq_remote_outcome outcome;
    json_t *result = NULL;

    QDQ_TRY(qdq_remote_process_ask(r->process, question, fd, deadline, r->gone, &result, &outcome,
                                   err));
    qdq_status st = put_result(r, result, &outcome, answer, binary, err);
    json_decref(result);
    return st;
}

static qdq_status ask(qdq_relay *r, const qdq_json_place *q, const qdq_frame *frame,
                      qdq_json_out answer, qdq_buf *binary, qdq_error *err)
{
    json_t *question = json_object_get(q->object, "question");
    const double deadline = qdq_json_number(q, "deadline", 0, 1e9, 600);
    const bool exchange = qdq_json_bool(q, "exchange");
    const char *name = json_string_value(json_object_get(question, "do")), *made = NULL;
    int fd = -1;

    QDQ_TRY(q->reader->status);
    if (name == NULL)
        return qdq_fail(err, QDQ_E_FORMAT, "key 'question': expected one with the key 'do'");
    const bool is_hello = strcmp(name, "hello") == 0;
    if (is_hello)
        QDQ_TRY(greet(r, question, err));
    qdq_status st = qdq_worker_place(&r->places, q, question, &fd, &made, err);
    if (st == QDQ_OK && !qdq_remote_process_is_alive(r->process))
        st = qdq_fail(err, QDQ_E_ENGINE, "no process of an engine was started");
    if (st == QDQ_OK)
        st = write_arrays(r, question, frame, err);
    if (st == QDQ_OK)
        st = ask_process(r, question, is_hello && exchange ? r->exchange.fd : fd, deadline, answer,
                         binary, err);
    qdq_fd_close(&fd);
    if (made != NULL)
        qdq_tempdir_remove(made);
    return st;
}

static qdq_status end(qdq_relay *r, qdq_json_out answer)
{
    const bool fine = qdq_remote_process_end(r->process);

    r->process = NULL;
    end_process(r);
    qdq_json_put_bool(answer, "fine", fine);
    return QDQ_OK;
}

qdq_status qdq_relay_answer(qdq_relay *r, const qdq_frame *frame, qdq_json_out answer,
                            qdq_buf *binary, qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_json_reader reader = {.arena = &scratch, .err = err};
    const qdq_json_place q = {&reader, frame->json, ""};
    qdq_status st = QDQ_OK;

    switch (frame->kind) {
    case QDQ_FRAME_HELLO:
        welcome(answer);
        break;
    case QDQ_FRAME_HAVE:
        st = have(r, frame->json, answer, err);
        break;
    case QDQ_FRAME_PUT:
        st = put(r, &q, frame, answer, err);
        break;
    case QDQ_FRAME_START:
        st = make_room(r, err);
        break;
    case QDQ_FRAME_ASK:
        st = ask(r, &q, frame, answer, binary, err);
        break;
    case QDQ_FRAME_END:
        st = end(r, answer);
        break;
    case QDQ_FRAME_FAILED:
    case QDQ_FRAME_HEARTBEAT:
        st = qdq_fail(err, QDQ_E_FORMAT, "found a frame of kind '%c', expected a question",
                      (char)frame->kind);
        break;
    }
    qdq_arena_free(&scratch);
    return st == QDQ_OK && answer.doc->failed ? qdq_nomem(err) : st;
}

/* --- open and close --------------------------------------------------------------------------- */

/* What connections left that have ended without a word: theirs are not locked any more. */
static void sweep(const char *runs)
{
    const int top = open(runs, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = top >= 0 ? qdq_folder_list(top, ".") : NULL;
    char path[4200];

    for (const struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        if (e->d_name[0] == '.')
            continue;
        int fd = openat(top, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        snprintf(path, sizeof path, "%s/%s", runs, e->d_name);
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
            qdq_tempdir_remove(path);
        qdq_fd_close(&fd);
    }
    if (d != NULL)
        closedir(d);
    if (top >= 0)
        close(top);
}

static qdq_status make_dir(qdq_relay *r, const char *runs, qdq_error *err)
{
    struct stat st;
    struct timespec now;

    if (mkdir(runs, 0700) != 0 && errno != EEXIST)
        return qdq_fail_errno(err, QDQ_E_IO, errno, "%s: cannot make this folder", runs);
    sweep(runs);
    for (int i = 0; i < 100; i++) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        r->dir = qdq_arena_printf(&r->arena, "%s/%ld-%09ld", runs, (long)getpid(), now.tv_nsec);
        QDQ_NEED(r->dir != NULL, err);
        if (mkdir(r->dir, 0700) != 0)
            continue;
        r->lock = open(r->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        /* another one may have swept it before it was locked */
        if (r->lock >= 0 && flock(r->lock, LOCK_EX | LOCK_NB) == 0 && stat(r->dir, &st) == 0)
            return QDQ_OK;
        qdq_fd_close(&r->lock);
    }
    return qdq_fail_errno(err, QDQ_E_IO, errno, "%s: cannot make a folder in it", runs);
}

static qdq_status find_program(qdq_relay *r, const char *program, qdq_error *err)
{
    char exe[4096];
    const ssize_t n = program == NULL ? readlink("/proc/self/exe", exe, sizeof exe - 1) : 0;

    exe[n > 0 ? n : 0] = '\0';
    r->program = qdq_arena_strdup(&r->arena, program != NULL ? program : exe);
    return qdq_allocated(r->program != NULL, err);
}

qdq_status qdq_relay_open(qdq_relay *r, const qdq_relay_opts *opts, qdq_error *err)
{
    *r = (qdq_relay){.arena = QDQ_ARENA_INIT, .lock = -1, .exchange = QDQ_SHARED_INIT};
    r->blobs.whole = r->blobs.parts = -1;
    r->gone = qdq_cancel_new();
    QDQ_NEED(r->gone != NULL, err);
    QDQ_TRY(find_program(r, opts->program, err));
    QDQ_TRY(qdq_worker_blobs_open(&r->blobs, opts->cache_dir, opts->cache_limit, err));
    const char *runs = qdq_arena_printf(&r->arena, "%s/runs", opts->cache_dir);
    r->timing_cache = qdq_arena_printf(&r->arena, "%s/timing.cache", opts->cache_dir);
    QDQ_NEED(runs != NULL && r->timing_cache != NULL, err);
    QDQ_TRY(make_dir(r, runs, err));
    r->places = (qdq_worker_places){.blobs = &r->blobs, .dir = r->dir};
    return QDQ_OK;
}

void qdq_relay_close(qdq_relay *r)
{
    end_process(r);
    if (r->dir != NULL)
        qdq_tempdir_remove(r->dir);
    qdq_fd_close(&r->lock);
    qdq_worker_blobs_close(&r->blobs);
    qdq_cancel_free(r->gone);
    qdq_arena_free(&r->arena);
}
