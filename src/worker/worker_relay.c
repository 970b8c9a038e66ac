/* worker_relay.c - `qdq-worker --serve`: frames from the standard input, replies and heartbeats on
 * the standard output. A second thread sends the heartbeats and notices that the link has ended
 * while the first one waits for an engine. */
#include "worker/worker_relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/spawn.h"
#include "worker/worker_relay_answer.h"

enum { HEARTBEAT_MS = 1000 };
#define CACHE_LIMIT ((uint64_t)4 << 30)
#define FRAME_MAX   (QDQ_FRAME_HEAD + QDQ_FRAME_JSON_MAX + QDQ_FRAME_BINARY_MAX + (1 << 20))

typedef struct streams {
    int in, out;
    /* of `out` */
    pthread_mutex_t lock;
    /* a frame arrives or is answered */
    atomic_bool busy;
    qdq_cancel *gone;
    /* its end ends the thread */
    int wake[2];
} streams;

/* --- frames ----------------------------------------------------------------------------------- */

static bool write_all(int fd, const void *data, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = write(fd, (const char *)data + done, size - done);

        if (n < 0 && errno != EINTR)
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

static bool send_frame(streams *s, qdq_frame_kind kind, const json_t *json, const qdq_buf *binary)
{
    qdq_buf head = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
    const size_t size = binary != NULL ? binary->size : 0;

    qdq_frame_put(&head, kind, json, size);
    pthread_mutex_lock(&s->lock);
    const bool sent = !head.failed && write_all(s->out, head.data, head.size) &&
                      (size == 0 || write_all(s->out, binary->data, size));
    pthread_mutex_unlock(&s->lock);
    qdq_buf_free(&head);
    return sent;
}

static void *watch(void *ctx)
{
    streams *s = ctx;
    struct pollfd ends[2] = {{s->in, POLLRDHUP, 0}, {s->wake[0], POLLIN, 0}};
    json_t *nothing = json_object();

    for (;;) {
        const int n = poll(ends, 2, HEARTBEAT_MS);
        if (n > 0)
            break;
        if (n == 0 && atomic_load(&s->busy) && !send_frame(s, QDQ_FRAME_HEARTBEAT, nothing, NULL))
            break;
    }
    qdq_cancel_set(s->gone); /* who waits for an engine waits no longer */
    json_decref(nothing);
    return NULL;
}

static bool send_failure(streams *s, qdq_status st, const qdq_error *err)
{
    qdq_json_doc doc = {0};
    qdq_json_out o = qdq_json_object(&doc);

    qdq_json_put_text(o, "code", qdq_status_name(st));
    qdq_json_put_text(o, "text", err->text);
    const bool sent = !doc.failed && send_frame(s, QDQ_FRAME_FAILED, doc.root, NULL);
    qdq_json_drop(&doc);
    return sent;
}

static bool answer_frame(qdq_relay *r, streams *s, const qdq_frame *frame)
{
    qdq_json_doc doc = {0};
    qdq_buf binary = QDQ_BUF_INIT(QDQ_FRAME_BINARY_MAX);
    qdq_error err = QDQ_ERROR_INIT;

    qdq_status st = qdq_relay_answer(r, frame, qdq_json_object(&doc), &binary, &err);
    const bool sent =
        st == QDQ_OK ? send_frame(s, frame->kind, doc.root, &binary) : send_failure(s, st, &err);
    qdq_json_drop(&doc);
    qdq_buf_free(&binary);
    return sent;
}

/* Frames that have arrived. False: what came is none, or the other side is gone. */
static bool answer_all(qdq_relay *r, streams *s, qdq_buf *in)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_frame frame;
    size_t used;

    do {
        qdq_status st =
            in->failed ? qdq_nomem(&err) : qdq_frame_take(in->data, in->size, &used, &frame, &err);
        if (st != QDQ_OK) {
            fprintf(stderr, "qdq-worker: what arrives is not a frame: %s\n", err.text);
            return false;
        }
        if (frame.json == NULL)
            return true;
        const bool sent = answer_frame(r, s, &frame);
        json_decref(frame.json);
        memmove(in->data, in->data + used, in->size - used);
        in->size -= used;
        if (!sent)
            return false;
    } while (in->size > 0);
    return true;
}

/* 0: the other side has said all it had to say. */
static int serve(qdq_relay *r, streams *s)
{
    qdq_buf in = QDQ_BUF_INIT(FRAME_MAX);
    char *chunk = malloc(1 << 18);
    int code = chunk != NULL ? -1 : 4;

    while (code < 0) {
        const ssize_t n = read(s->in, chunk, 1 << 18);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            code = 0;
            break;
        }
        atomic_store(&s->busy, true);
        qdq_buf_append(&in, chunk, (size_t)n);
        if (!answer_all(r, s, &in))
            code = qdq_cancel_is_set(s->gone) ? 0 : 2;
        atomic_store(&s->busy, in.size > 0);
    }
    free(chunk);
    qdq_buf_free(&in);
    return code;
}

/* --- command line ----------------------------------------------------------------------------- */

/* 4096, 256M, 1GiB; 0: malformed */
static uint64_t read_size(const char *text)
{
    char *end;
    unsigned long long x = strtoull(text, &end, 10);
    const char *units = "KMGT", *unit = *end != '\0' ? strchr(units, *end) : NULL;
    const unsigned shift = unit != NULL ? 10 * (unsigned)(unit - units + 1) : 0;

    if (end == text || text[0] == '-' || (*end != '\0' && unit == NULL) ||
        x > (unsigned long long)INT64_MAX >> shift)
        return 0;
    if (unit != NULL && end[1] != '\0' && strcmp(end + 1, "iB") != 0 && strcmp(end + 1, "B") != 0)
        return 0;
    return (uint64_t)x << shift;
}

/* The value of `--name=VALUE` or `--name VALUE`; NULL: this is another option. */
static const char *value_of(int argc, char **argv, int *i, const char *name)
{
    const size_t size = strlen(name);

    if (strncmp(argv[*i], name, size) != 0)
        return NULL;
    if (argv[*i][size] == '=')
        return argv[*i] + size + 1;
    return argv[*i][size] == '\0' && *i + 1 < argc ? argv[++*i] : NULL;
}

static bool read_options(int argc, char **argv, qdq_relay_opts *opts)
{
    for (int i = 2; i < argc; i++) {
        const char *value;

        if ((value = value_of(argc, argv, &i, "--cache-dir")) != NULL)
            opts->cache_dir = value[0] != '\0' ? value : ".";
        else if ((value = value_of(argc, argv, &i, "--program")) != NULL)
            opts->program = value;
        else if ((value = value_of(argc, argv, &i, "--cache-limit")) != NULL)
            opts->cache_limit = read_size(value);
        else
            return false;
    }
    return opts->cache_limit > 0;
}

static const char *default_dir(qdq_arena *arena)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

    if (cache != NULL && cache[0] == '/')
        return qdq_arena_printf(arena, "%s/qdq", cache);
    if (home != NULL && home[0] == '/')
        return qdq_arena_printf(arena, "%s/.cache/qdq", home);
    return qdq_arena_printf(arena, "/tmp/qdq-%ld", (long)getuid());
}

/* Frames alone go to the standard output; what else is printed goes to people. */
static bool take_streams(streams *s)
{
    s->in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    s->out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const bool fine = s->in >= 0 && s->out >= 0 && null >= 0 && pipe2(s->wake, O_CLOEXEC) == 0 &&
                      dup2(null, STDIN_FILENO) >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0;

    qdq_fd_close(&null);
    return fine;
}

int qdq_worker_relay(int argc, char **argv)
{
    qdq_relay_opts opts = {.cache_limit = CACHE_LIMIT};
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_relay r;
    streams s = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = {-1, -1}};
    pthread_t thread;
    int code = 4;

    if (!read_options(argc, argv, &opts) || isatty(STDIN_FILENO)) {
        fprintf(stderr, "usage: qdq-worker --serve [--cache-dir DIR] [--cache-limit SIZE] "
                        "[--program FILE]; 'qdq --host' starts it, and talks to it\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN); /* the end of the link is a write that fails */
    if (opts.cache_dir == NULL)
        opts.cache_dir = default_dir(&arena);
    if (opts.cache_dir == NULL || !take_streams(&s)) {
        perror("qdq-worker");
        return 4;
    }
    if (qdq_relay_open(&r, &opts, &err) != QDQ_OK) {
        fprintf(stderr, "qdq-worker: %s\n", err.text);
    } else {
        s.gone = r.gone;
        if (pthread_create(&thread, NULL, watch, &s) == 0) {
            code = serve(&r, &s);
            qdq_fd_close(&s.wake[1]);
            pthread_join(thread, NULL);
        }
    }
    qdq_relay_close(&r);
    qdq_arena_free(&arena);
    return code;
}
