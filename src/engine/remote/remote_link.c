/* remote_link.c - starts the child, exchanges frames with it under limits of time, and tells why a
 * connection failed. Times are of a clock that only goes forward. */
#include "engine/remote/remote_link.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fail.h"
#include "base/json_read.h"
#include "base/spawn.h"

enum {
    SLICE_MS = 20,
    TAIL = 2000,
    /* bytes that are a sign of life, as a whole frame is: of heartbeats alone, which a wrong length
     * takes for the rest of a frame, this many do not come in any time limit */
    SIGN_OF_LIFE = 4096,
    NO_PROGRAM = 127,
    SSH_FAILED = 255,
    FIRST_PIECE = 256 * 1024,
    LEAST_PIECE = 8 * 1024
};
#define FRAME_MAX (QDQ_FRAME_HEAD + QDQ_FRAME_JSON_MAX + QDQ_FRAME_BINARY_MAX + (1 << 20))
static const double grace_s = 2, first_pause_s = 0.05, longest_pause_s = 5;

struct qdq_remote_link {
    qdq_arena arena;
    qdq_remote_host host;
    qdq_remote_device device;
    /* also the process group; 0: no connection */
    pid_t pid;
    /* -1: closed */
    int to, from, errs;
    /* what has arrived */
    qdq_buf in;
    /* of it, by the reply that is borrowed */
    size_t used;
    qdq_frame reply;
    /* the last of what the child printed for people */
    char tail[TAIL + 1];
    size_t tail_size;
    /* when the last sign of life came, and bytes since then */
    double received;
    size_t arrived;
    unsigned number;
    /* of a file, in one frame */
    size_t piece;
    /* that have arrived */
    unsigned pieces;
    bool cut, greeting;
};

/* --- child ------------------------------------------------------------------------------------ */

static int make_channels(qdq_remote_link *l, int theirs[3])
{
    int fd[2];

    /* a socket: writing to a child that has ended raises no signal */
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) != 0)
        return errno;
    l->to = qdq_fd_above_standard(fd[0]);
    theirs[0] = qdq_fd_above_standard(fd[1]);
    if (pipe2(fd, O_CLOEXEC) != 0)
        return errno;
    l->from = qdq_fd_above_standard(fd[0]);
    theirs[1] = qdq_fd_above_standard(fd[1]);
    if (pipe2(fd, O_CLOEXEC) != 0)
        return errno;
    l->errs = qdq_fd_above_standard(fd[0]);
    theirs[2] = qdq_fd_above_standard(fd[1]);
    for (int i = 0; i < 3; i++)
        if (theirs[i] < 0)
            return errno;
    if (l->to < 0 || l->from < 0 || l->errs < 0 || fcntl(l->to, F_SETFL, O_NONBLOCK) != 0 ||
        fcntl(l->from, F_SETFL, O_NONBLOCK) != 0 || fcntl(l->errs, F_SETFL, O_NONBLOCK) != 0)
        return errno;
    return 0;
}

static void close_channels(qdq_remote_link *l)
{
    qdq_fd_close(&l->to);
    qdq_fd_close(&l->from);
    qdq_fd_close(&l->errs);
}

static void drop_reply(qdq_remote_link *l)
{
    json_decref(l->reply.json);
    l->reply = (qdq_frame){0};
    if (l->used > 0 && l->used < l->in.size)
        memmove(l->in.data, l->in.data + l->used, l->in.size - l->used);
    l->in.size -= l->used;
    l->used = 0;
}

static void forget(qdq_remote_link *l)
{
    drop_reply(l);
    qdq_buf_free(&l->in);
    l->in = (qdq_buf)QDQ_BUF_INIT(FRAME_MAX);
}

/* Waits for its own end at most `seconds`, then kills it. The status, or -1. */
static int bury(qdq_remote_link *l, double seconds)
{
    const double until = qdq_clock_seconds() + seconds;
    int status = -1;
    bool lost = false;
    pid_t got;

    if (l->pid <= 0)
        return -1;
    while (!qdq_has_ended(l->pid, &lost) && qdq_clock_seconds() < until)
        poll(NULL, 0, 1);
    const bool killed = !qdq_has_ended(l->pid, &lost);
    qdq_kill_groups_of(l->pid);
    kill(-l->pid, SIGKILL);
    do
        got = waitpid(l->pid, &status, 0);
    while (got < 0 && errno == EINTR);
    l->pid = 0;
    return killed || got < 0 ? -1 : status;
}

void qdq_remote_link_cut(qdq_remote_link *l)
{
    l->cut = l->pid > 0 || l->cut;
    close_channels(l);
    bury(l, 0);
    forget(l);
}

static qdq_status start(qdq_remote_link *l, qdq_error *err)
{
    int theirs[3] = {-1, -1, -1};

    forget(l);
    l->tail_size = 0;
    l->tail[0] = '\0';
    int reason = make_channels(l, theirs);
    if (reason == 0)
        reason = qdq_spawn(
            &(qdq_spawn_opts){
                .argv = l->host.serve, .in = theirs[0], .out = theirs[1], .err = theirs[2]},
            &l->pid);
    for (int i = 0; i < 3; i++)
        qdq_fd_close(&theirs[i]);
    if (reason == 0)
        return QDQ_OK;
    l->pid = 0;
    close_channels(l);
    return qdq_fail_errno(err, QDQ_E_ENGINE, reason, "host '%s': cannot start %s", l->host.text,
                          l->host.serve[0]);
}

/* --- what it prints --------------------------------------------------------------------------- */

static void read_errors(qdq_remote_link *l)
{
    char chunk[4096];
    ssize_t n = l->errs < 0 ? 0 : read(l->errs, chunk, sizeof chunk);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        qdq_fd_close(&l->errs);
        return;
    }
    const size_t size = (size_t)n < TAIL ? (size_t)n : TAIL;
    const size_t old = l->tail_size > TAIL - size ? TAIL - size : l->tail_size;
    memmove(l->tail, l->tail + l->tail_size - old, old);
    memcpy(l->tail + old, chunk + ((size_t)n - size), size);
    l->tail_size = old + size;
    l->tail[l->tail_size] = '\0';
}

/* Its last line with something on it. */
static const char *last_words(qdq_remote_link *l)
{
    for (int i = 0; i < 16; i++)
        read_errors(l);
    while (l->tail_size > 0 && isspace((unsigned char)l->tail[l->tail_size - 1]))
        l->tail[--l->tail_size] = '\0';
    const char *line = strrchr(l->tail, '\n');
    qdq_keep_one_line(l->tail);
    return line != NULL ? line + 1 : l->tail;
}

/* --- frames ----------------------------------------------------------------------------------- */

/* It ended before it said a word. */
static qdq_status explain_start(qdq_remote_link *l, int status, qdq_error *err)
{
    const char *words = last_words(l);
    const char *colon = words[0] != '\0' ? ": " : "";
    const int code = status != -1 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;

    if (code == NO_PROGRAM)
        return qdq_fail(err, QDQ_E_ENGINE,
                        "host '%s': there is no qdq-worker there; 'qdq engines --host HOST "
                        "--install' puts one there%s%s",
                        l->host.text, colon, words);
    if (code == SSH_FAILED && l->host.is_ssh)
        return qdq_fail(err, QDQ_E_ENGINE, "host '%s': ssh cannot connect%s%s", l->host.text, colon,
                        words);
    if (code >= 0)
        return qdq_fail(err, QDQ_E_ENGINE, "host '%s': %s ended with code %d%s%s", l->host.text,
                        l->host.is_ssh ? "qdq-worker" : "the command", code, colon, words);
    return qdq_fail(err, QDQ_E_ENGINE, "host '%s': ended before it answered%s%s", l->host.text,
                    colon, words);
}

/* While it was greeted: it ended before it said a word. */
static qdq_status ended_early(qdq_remote_link *l, qdq_error *err)
{
    qdq_fd_close(&l->to);
    const int status = bury(l, grace_s);
    qdq_status st = explain_start(l, status, err);

    close_channels(l);
    forget(l);
    l->cut = status == -1 || !WIFEXITED(status) || WEXITSTATUS(status) != NO_PROGRAM;
    return st;
}

static qdq_status cut_off(qdq_remote_link *l, qdq_error *err)
{
    qdq_remote_link_cut(l);
    l->cut = true;
    return qdq_fail(err, QDQ_E_ENGINE, "host '%s': the link was interrupted", l->host.text);
}

/* What sends this is no worker of ours, or a broken one: no use in trying again. */
static qdq_status not_as_agreed(qdq_remote_link *l, qdq_error *err)
{
    qdq_remote_link_cut(l);
    l->cut = false;
    return qdq_within(err, QDQ_E_ENGINE, "host '%s'", l->host.text);
}

static bool send_some(qdq_remote_link *l, const void *data, size_t size, size_t *sent)
{
    while (*sent < size) {
        ssize_t n = send(l->to, (const char *)data + *sent, size - *sent, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN;
        *sent += (size_t)n;
    }
    return true;
}

static void note_life(qdq_remote_link *l)
{
    l->received = qdq_clock_seconds();
    l->arrived = 0;
}

/* False: its end. */
static bool receive_some(qdq_remote_link *l)
{
    char chunk[64 * 1024];
    ssize_t n = read(l->from, chunk, sizeof chunk);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (n <= 0)
        return false;
    qdq_buf_append(&l->in, chunk, (size_t)n);
    l->arrived += (size_t)n;
    if (l->arrived >= SIGN_OF_LIFE)
        note_life(l);
    return true;
}

/* The reply that has arrived, if one has; heartbeats are passed over. */
static qdq_status take_reply(qdq_remote_link *l, qdq_error *err)
{
    QDQ_NEED(!l->in.failed, err);
    do {
        drop_reply(l);
        QDQ_TRY(qdq_frame_take(l->in.data, l->in.size, &l->used, &l->reply, err));
        if (l->reply.json != NULL)
            note_life(l);
    } while (l->reply.json != NULL && l->reply.kind == QDQ_FRAME_HEARTBEAT);
    return QDQ_OK;
}

static qdq_status silent(qdq_remote_link *l, qdq_error *err)
{
    qdq_remote_link_cut(l);
    l->cut = false;
    return qdq_fail(err, QDQ_E_ENGINE,
                    "host '%s': no sign of life within %g s (--host-timeout): the device hangs, or "
                    "the link is down",
                    l->host.text, l->host.timeout_s);
}

static void wait_for_news(const qdq_remote_link *l, bool sending)
{
    struct pollfd fds[3] = {
        {l->from, POLLIN, 0}, {l->errs, POLLIN, 0}, {l->to, (short)(sending ? POLLOUT : 0), 0}};

    poll(fds, sending ? 3 : 2, SLICE_MS);
}

static qdq_status exchange(qdq_remote_link *l, const qdq_buf *head, const qdq_remote_request *r,
                           qdq_error *err)
{
    size_t sent = 0, sent_binary = 0;

    note_life(l);
    for (;;) {
        const size_t before = sent + sent_binary;
        bool up = send_some(l, head->data, head->size, &sent);
        if (up && sent == head->size)
            up = send_some(l, r->binary, r->size, &sent_binary);
        const bool sending = sent < head->size || sent_binary < r->size;
        if (sent + sent_binary > before)
            note_life(l);
        if (up)
            wait_for_news(l, sending);
        read_errors(l);
        /* what it said before it ended counts */
        up = receive_some(l) && up;
        qdq_status st = take_reply(l, err);
        if (st != QDQ_OK)
            return st == QDQ_E_NOMEM ? st : not_as_agreed(l, err);
        if (l->reply.json != NULL)
            return QDQ_OK;
        if (!up)
            return l->greeting ? ended_early(l, err) : cut_off(l, err);
        if (qdq_cancel_is_set(r->cancel)) {
            qdq_remote_link_cut(l);
            l->cut = false;
            return qdq_fail(err, QDQ_E_INTERRUPTED, "interrupted");
        }
        if (qdq_clock_seconds() - l->received > l->host.timeout_s)
            return silent(l, err);
    }
}

/* What is wrong there is no fault of what is asked for here. */
static qdq_status status_of(const char *code)
{
    static const qdq_status same[] = {QDQ_E_FORMAT, QDQ_E_UNSUPPORTED};

    for (size_t i = 0; i < QDQ_COUNT(same); i++)
        if (strcmp(qdq_status_name(same[i]), code) == 0)
            return same[i];
    return QDQ_E_ENGINE;
}

/* Is the reply one to this question, or a failure? */
static qdq_status check_reply(qdq_remote_link *l, qdq_frame_kind kind, qdq_error *err)
{
    const json_t *text = json_object_get(l->reply.json, "text"),
                 *code = json_object_get(l->reply.json, "code");

    if (l->reply.kind == kind)
        return QDQ_OK;
    if (l->reply.kind != QDQ_FRAME_FAILED || !json_is_string(text) || !json_is_string(code)) {
        qdq_fail(err, QDQ_E_FORMAT, "found a reply of kind '%c', expected '%c'",
                 (char)l->reply.kind, (char)kind);
        return not_as_agreed(l, err);
    }
    l->cut = false;
    qdq_status st = qdq_fail(err, status_of(json_string_value(code)), "host '%s': %.700s",
                             l->host.text, json_string_value(text));
    if (err != NULL)
        qdq_keep_one_line(err->text);
    return st;
}

qdq_status qdq_remote_link_call(qdq_remote_link *l, const qdq_remote_request *r,
                                const qdq_frame **reply, qdq_error *err)
{
    qdq_buf head = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
    qdq_status st = QDQ_E_NOMEM;

    *reply = &l->reply;
    drop_reply(l);
    l->cut = false;
    if (!r->json->failed)
        qdq_frame_put(&head, r->kind, r->json->root, r->size);
    if (r->json->failed || head.failed)
        qdq_nomem(err);
    else
        st = l->pid > 0 ? exchange(l, &head, r, err) : cut_off(l, err);
    qdq_json_drop(r->json);
    qdq_buf_free(&head);
    if (st == QDQ_OK)
        st = check_reply(l, r->kind, err);
    if (st == QDQ_OK && r->kind == QDQ_FRAME_PUT) {
        l->pieces++;
        l->piece = 2 * l->piece < QDQ_FRAME_PIECE ? 2 * l->piece : QDQ_FRAME_PIECE;
    }
    return st;
}

/* --- the first words -------------------------------------------------------------------------- */

static qdq_status check_version(qdq_remote_link *l, int64_t major, int64_t minor,
                                const char *version, qdq_error *err)
{
    if (major == QDQ_FRAME_MAJOR && minor >= QDQ_FRAME_MINOR - 1 && minor <= QDQ_FRAME_MINOR + 1)
        return QDQ_OK;
    const bool ours_is_older =
        major > QDQ_FRAME_MAJOR || (major == QDQ_FRAME_MAJOR && minor > QDQ_FRAME_MINOR);
    qdq_remote_link_cut(l);
    l->cut = false;
    return qdq_fail(err, QDQ_E_ENGINE,
                    "host '%s': qdq-worker %s there speaks version %lld.%lld of the protocol, qdq "
                    "%s here %d.%d: update %s",
                    l->host.text, version, (long long)major, (long long)minor, qdq_version(),
                    QDQ_FRAME_MAJOR, QDQ_FRAME_MINOR,
                    ours_is_older ? "qdq here"
                                  : "the device with 'qdq engines --host HOST --install'");
}

static qdq_status read_welcome(qdq_remote_link *l, qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_json_reader reader = {.arena = &scratch, .err = err};
    const qdq_json_place p = {&reader, l->reply.json, ""};
    const json_t *protocol = json_object_get(l->reply.json, "protocol");
    const json_t *major = json_array_get(protocol, 0), *minor = json_array_get(protocol, 1);
    qdq_remote_device d = {.threads = 1};
    const char *const keys[] = {"version", "processor", "kernels", "machine"};
    const char **const members[] = {&d.version, &d.processor, &d.kernels, &d.machine};
    qdq_status st = QDQ_OK;

    for (size_t i = 0; i < QDQ_COUNT(keys); i++) {
        char text[300];

        snprintf(text, sizeof text, "%s", qdq_json_text(&p, keys[i], "unknown"));
        qdq_keep_one_line(text);
        if ((*members[i] = qdq_arena_strdup(&l->arena, text)) == NULL)
            st = qdq_nomem(err);
    }
    d.threads = (int)qdq_json_int(&p, "threads", 1, 1 << 16, 1);
    if (st == QDQ_OK && reader.status == QDQ_OK &&
        !(json_is_integer(major) && json_is_integer(minor)))
        st = qdq_fail(err, QDQ_E_FORMAT, "key 'protocol': expected [major, minor]");
    st = st == QDQ_OK ? reader.status : st;
    qdq_arena_free(&scratch);
    if (st != QDQ_OK)
        return st == QDQ_E_NOMEM ? st : not_as_agreed(l, err);
    QDQ_TRY(check_version(l, json_integer_value(major), json_integer_value(minor), d.version, err));
    l->device = d;
    return QDQ_OK;
}

static qdq_status greet(qdq_remote_link *l, const qdq_cancel *cancel, qdq_error *err)
{
    qdq_json_doc doc = {0};
    qdq_json_out hello = qdq_json_object(&doc);
    const qdq_remote_request r = {.kind = QDQ_FRAME_HELLO, .json = &doc, .cancel = cancel};
    qdq_buf head = QDQ_BUF_INIT(4096);

    qdq_json_put_ints(hello, "protocol", (const int64_t[]){QDQ_FRAME_MAJOR, QDQ_FRAME_MINOR}, 2);
    qdq_json_put_text(hello, "version", qdq_version());
    if (!doc.failed)
        qdq_frame_put(&head, r.kind, doc.root, 0);
    l->greeting = true;
    qdq_status st = doc.failed || head.failed ? qdq_nomem(err) : exchange(l, &head, &r, err);
    l->greeting = false;
    qdq_json_drop(&doc);
    qdq_buf_free(&head);
    if (st == QDQ_OK)
        st = check_reply(l, r.kind, err);
    return st == QDQ_OK ? read_welcome(l, err) : st;
}

static qdq_status pause_before_next(double seconds, const qdq_cancel *cancel, qdq_error *err)
{
    const double until = qdq_clock_seconds() + seconds;

    while (qdq_clock_seconds() < until) {
        QDQ_TRY(qdq_cancel_poll(cancel, err));
        poll(NULL, 0, 5);
    }
    return QDQ_OK;
}

qdq_status qdq_remote_link_need(qdq_remote_link *l, const qdq_cancel *cancel, qdq_error *err)
{
    const double until = qdq_clock_seconds() + l->host.timeout_s;
    double pause = first_pause_s;

    if (l->pid > 0)
        return QDQ_OK;
    for (;;) {
        l->cut = false;
        qdq_status st = start(l, err);
        if (st == QDQ_OK)
            st = greet(l, cancel, err);
        if (st == QDQ_OK) {
            l->piece = l->number++ == 0 ? FIRST_PIECE : LEAST_PIECE;
            return QDQ_OK;
        }
        const bool again = st == QDQ_E_ENGINE && l->cut && l->number > 0;
        qdq_remote_link_cut(l);
        l->cut = false;
        if (!again)
            return st;
        if (qdq_clock_seconds() + pause > until)
            return qdq_within(err, st, "the link was interrupted, and not restored within %g s",
                              l->host.timeout_s);
        QDQ_TRY(pause_before_next(pause, cancel, err));
        pause = fmin(2 * pause, longest_pause_s);
    }
}

/* --- open and close --------------------------------------------------------------------------- */

qdq_status qdq_remote_link_open(const char *host, double timeout_s, qdq_remote_link **out,
                                qdq_error *err)
{
    qdq_remote_link *l = calloc(1, sizeof *l);

    *out = NULL;
    QDQ_NEED(l != NULL, err);
    l->to = l->from = l->errs = -1;
    l->in = (qdq_buf)QDQ_BUF_INIT(FRAME_MAX);
    l->device = (qdq_remote_device){.version = "", .processor = "", .kernels = "", .machine = ""};
    qdq_status st = qdq_remote_host_read(host, timeout_s, &l->arena, &l->host, err);
    return QDQ_HAND_OVER(l, st, out, qdq_remote_link_close);
}

void qdq_remote_link_close(qdq_remote_link *l)
{
    if (l == NULL)
        return;
    qdq_fd_close(&l->to); /* its end: it clears up and goes */
    bury(l, grace_s);
    close_channels(l);
    forget(l);
    qdq_buf_free(&l->in);
    qdq_arena_free(&l->arena);
    free(l);
}

bool qdq_remote_link_is_cut(const qdq_remote_link *l)
{
    return l->cut;
}

size_t qdq_remote_link_piece(const qdq_remote_link *l)
{
    return l->piece;
}

unsigned qdq_remote_link_pieces(const qdq_remote_link *l)
{
    return l->pieces;
}

unsigned qdq_remote_link_number(const qdq_remote_link *l)
{
    return l->number;
}

const qdq_remote_device *qdq_remote_link_device(const qdq_remote_link *l)
{
    return &l->device;
}

const qdq_remote_host *qdq_remote_link_host(const qdq_remote_link *l)
{
    return &l->host;
}
