/* remote_local.c - starts a worker on this machine, exchanges messages under a deadline, and ends
 * it. The worker has a socket as its standard input, and one pipe for all it prints. */
#include "engine/remote/remote_process_ops.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
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
#include "base/spawn.h"
#include "engine/remote/remote_message.h"

/* The cancel flag and the deadline have no descriptor to poll: they are looked at this often. */
enum { SLICE_MS = 20, OUTPUT_MAX = 256 * 1024, TAIL = 2000 };
static const double grace_s = 2;

typedef struct local_process {
    char *program;
    /* also the process group; 0: dead and buried */
    pid_t pid;
    /* -1: at its end */
    int socket, pipe;
    /* what has arrived of an answer */
    qdq_buf in;
    /* what it printed, as far as it is kept */
    qdq_buf output;
    /* the last of it: last words stand at the end */
    char tail[TAIL + 1];
    /* n_output: all that was printed */
    size_t tail_size, n_output;
} local_process;

/* --- start ------------------------------------------------------------------------------------ */

static int make_channels(local_process *p, int *their_socket, int *their_pipe)
{
    int fd[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) != 0)
        return errno;
    p->socket = qdq_fd_above_standard(fd[0]);
    *their_socket = qdq_fd_above_standard(fd[1]);
    if (pipe2(fd, O_CLOEXEC) != 0)
        return errno;
    p->pipe = qdq_fd_above_standard(fd[0]);
    *their_pipe = qdq_fd_above_standard(fd[1]);
    if (p->socket < 0 || *their_socket < 0 || p->pipe < 0 || *their_pipe < 0)
        return errno;
    if (fcntl(p->socket, F_SETFL, O_NONBLOCK) != 0 || fcntl(p->pipe, F_SETFL, O_NONBLOCK) != 0)
        return errno;
    return 0;
}

static void local_free(void *self);

qdq_status qdq_remote_local_start(const char *program, void **out, qdq_error *err)
{
    local_process *p = calloc(1, sizeof *p);
    char *name = malloc(strlen(program) + 1);
    int their_socket = -1, their_pipe = -1;

    *out = NULL;
    if (p == NULL || name == NULL) {
        free(p);
        free(name);
        return qdq_nomem(err);
    }
    memcpy(name, program, strlen(program) + 1);
    *p = (local_process){.program = name, .socket = -1, .pipe = -1};
    p->in = (qdq_buf)QDQ_BUF_INIT(QDQ_REMOTE_MESSAGE_MAX + QDQ_REMOTE_HEAD);
    p->output = (qdq_buf)QDQ_BUF_INIT(OUTPUT_MAX);
    int reason = make_channels(p, &their_socket, &their_pipe);
    const char *const argv[] = {program, NULL};
    if (reason == 0)
        reason = qdq_spawn(
            &(qdq_spawn_opts){
                .argv = argv, .in = their_socket, .out = their_pipe, .err = their_pipe},
            &p->pid);
    qdq_fd_close(&their_socket);
    qdq_fd_close(&their_pipe);
    if (reason != 0) {
        p->pid = 0;
        local_free(p);
        return qdq_fail_errno(err, QDQ_E_ENGINE, reason,
                              "%s: cannot start this program, which runs engines", program);
    }
    *out = p;
    return QDQ_OK;
}

/* --- output ----------------------------------------------------------------------------------- */

static void keep_tail(local_process *p, const char *text, size_t size)
{
    if (size > TAIL) {
        text += size - TAIL;
        size = TAIL;
    }
    size_t old = p->tail_size > TAIL - size ? TAIL - size : p->tail_size;
    memmove(p->tail, p->tail + p->tail_size - old, old);
    memcpy(p->tail + old, text, size);
    p->tail_size = old + size;
    p->tail[p->tail_size] = '\0';
}

/* One piece, so that a worker that prints faster than we read does not keep us from the clock. True
 * if there was one. */
static bool read_output(local_process *p)
{
    char chunk[16 * 1024];
    ssize_t n = p->pipe < 0 ? 0 : read(p->pipe, chunk, sizeof chunk);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0) {
        qdq_fd_close(&p->pipe);
        return false;
    }
    size_t room = p->output.max - p->output.size;
    p->n_output += (size_t)n;
    qdq_buf_append(&p->output, chunk, (size_t)n > room ? room : (size_t)n);
    keep_tail(p, chunk, (size_t)n);
    return true;
}

/* What the pipe holds; there is no end to what something it left behind may go on printing. */
static void read_rest(local_process *p)
{
    for (int i = 0; i < 64 && read_output(p); i++)
        ;
}

/* Only what was read: words in the pipe may be the last ones of a worker that has died
 * meanwhile. */
static void forget_output(local_process *p)
{
    qdq_buf_free(&p->output);
    p->output = (qdq_buf)QDQ_BUF_INIT(OUTPUT_MAX);
    p->n_output = p->tail_size = 0;
    p->tail[0] = '\0';
}

static const char *local_output(const void *self, size_t *size)
{
    const local_process *p = self;

    *size = p->output.failed ? 0 : p->output.size;
    return *size > 0 ? p->output.data : "";
}

/* The last line with something on it, made fit to stand in a message. */
static void last_words(const local_process *p, char *text, size_t size)
{
    const char *end = p->tail + p->tail_size;

    while (end > p->tail && isspace((unsigned char)end[-1]))
        end--;
    const char *from = end;
    while (from > p->tail && from[-1] != '\n')
        from--;
    size_t n = (size_t)(end - from) < size - 1 ? (size_t)(end - from) : size - 1;
    memcpy(text, from, n);
    text[n] = '\0';
    for (char *c = text; *c != '\0'; c++)
        if (iscntrl((unsigned char)*c))
            *c = ' ';
}

/* --- end -------------------------------------------------------------------------------------- */

static bool wait_for_end(const local_process *p, double seconds)
{
    double until = qdq_clock_seconds() + seconds;
    bool lost;

    while (!qdq_has_ended(p->pid, &lost)) {
        if (qdq_clock_seconds() >= until)
            return false;
        poll(NULL, 0, 1);
    }
    return true;
}

/* What it started goes with it. False: unknown how it ended. */
static bool bury(local_process *p, int *status)
{
    pid_t got;

    qdq_kill_groups_of(p->pid);
    kill(-p->pid, SIGKILL);
    do
        got = waitpid(p->pid, status, 0);
    while (got < 0 && errno == EINTR);
    read_rest(p);
    bool known = got == p->pid;
    p->pid = 0;
    qdq_fd_close(&p->socket);
    qdq_fd_close(&p->pipe);
    return known;
}

static void local_kill(void *self)
{
    local_process *p = self;
    int status;

    if (p->pid > 0)
        bury(p, &status);
}

static void local_free(void *self)
{
    local_process *p = self;

    local_kill(p);
    qdq_fd_close(&p->socket);
    qdq_fd_close(&p->pipe);
    qdq_buf_free(&p->in);
    qdq_buf_free(&p->output);
    free(p->program);
    free(p);
}

static bool local_is_alive(const void *self)
{
    const local_process *p = self;

    return p->pid > 0;
}

/* It hung up: how did it end? */
static void explain_end(local_process *p, qdq_remote_outcome *outcome)
{
    char words[200];
    int status = 0;

    wait_for_end(
        /* it hangs up before it has quite ended, and its own end is what we want to know */
        p, grace_s);
    bool known = bury(p, &status);
    last_words(p, words, sizeof words);
    const char *colon = words[0] != '\0' ? ": " : "";
    int n = 0;
    *outcome = (qdq_remote_outcome){.end = qdq_remote_means_memory(p->tail) ? QDQ_REMOTE_MEMORY
                                                                            : QDQ_REMOTE_CRASHED};
    if (!known) {
        n = snprintf(outcome->text, sizeof outcome->text, "the worker ended for an unknown reason");
    } else if (!WIFSIGNALED(status)) {
        n = snprintf(outcome->text, sizeof outcome->text, "the worker exited with code %d",
                     WEXITSTATUS(status));
    } else {
        const char *name = sigabbrev_np(WTERMSIG(status));
        const char *by = WTERMSIG(status) == SIGKILL
                             ? " from outside, as by a system that is out of memory"
                             : "";
        n = snprintf(outcome->text, sizeof outcome->text, "SIG%s%s", name != NULL ? name : "?", by);
    }
    outcome->n_cause = (size_t)n;
    snprintf(outcome->text + n, sizeof outcome->text - (size_t)n, "%s%s", colon, words);
}

static void end_hung(local_process *p, double deadline_s, qdq_remote_outcome *outcome)
{
    int status;

    bury(p, &status);
    *outcome = (qdq_remote_outcome){.end = QDQ_REMOTE_HUNG};
    snprintf(outcome->text, sizeof outcome->text, "no answer within %g s", deadline_s);
}

static bool local_end(void *self)
{
    local_process *p = self;
    qdq_json_doc doc = {0};
    qdq_json_out bye = qdq_json_object(&doc);
    qdq_buf text = QDQ_BUF_INIT(1000);
    int status = 0;
    bool fine = true;

    if (local_is_alive(p)) {
        qdq_remote_put_text(bye, "do", "bye");
        if (!doc.failed)
            qdq_remote_message_put(&text, doc.root);
        fine = !doc.failed && !text.failed &&
               send(p->socket, text.data, text.size, MSG_NOSIGNAL) == (ssize_t)text.size &&
               wait_for_end(p, grace_s);
        fine = bury(p, &status) && fine && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    qdq_json_drop(&doc);
    qdq_buf_free(&text);
    return fine;
}

/* --- ask -------------------------------------------------------------------------------------- */

typedef enum talk { TALK_ON, TALK_DONE, TALK_HUNG_UP } talk;

/* The descriptor goes with the first bytes. */
static ssize_t send_with(int socket, const char *data, size_t size, int fd)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {.bytes = {0}};
    struct iovec piece = {(void *)(uintptr_t)data, size};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);

    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(head), &fd, sizeof fd);
    return sendmsg(socket, &message, MSG_NOSIGNAL);
}

/* As much of the question as the socket takes. */
static talk send_some(const local_process *p, const qdq_buf *text, int fd, size_t *sent)
{
    while (*sent < text->size) {
        ssize_t n = fd >= 0 && *sent == 0
                        ? send_with(p->socket, text->data, text->size, fd)
                        : send(p->socket, text->data + *sent, text->size - *sent, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN ? TALK_ON : TALK_HUNG_UP;
        *sent += (size_t)n;
    }
    return TALK_ON;
}

static talk receive_some(local_process *p)
{
    char chunk[16 * 1024];
    ssize_t n = recv(p->socket, chunk, sizeof chunk, 0);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return TALK_ON;
    if (n <= 0)
        return TALK_HUNG_UP;
    qdq_buf_append(&p->in, chunk, (size_t)n);
    return TALK_ON;
}

/* A whole answer, and nothing behind it. */
static qdq_status take_answer(local_process *p, json_t **answer, qdq_error *err)
{
    size_t used;

    QDQ_NEED(!p->in.failed, err);
    qdq_status st = qdq_remote_message_take(p->in.data, p->in.size, &used, answer, err);
    if (st == QDQ_OK && *answer != NULL && used < p->in.size)
        st = qdq_fail(err, QDQ_E_FORMAT, "%zu bytes behind the answer", p->in.size - used);
    if (st == QDQ_OK || st == QDQ_E_NOMEM)
        return st;
    json_decref(*answer);
    *answer = NULL;
    return qdq_within(err, QDQ_E_ENGINE, "%s: this is not an answer", p->program);
}

static void wait_for_news(const local_process *p, bool sending)
{
    struct pollfd fds[2] = {{p->socket, sending ? POLLIN | POLLOUT : POLLIN, 0},
                            {p->pipe, POLLIN, 0}};

    poll(fds, 2, SLICE_MS); /* a negative descriptor is passed over */
}

static qdq_status converse(local_process *p, const qdq_buf *text, const qdq_remote_call *c,
                           json_t **answer, qdq_remote_outcome *outcome, qdq_error *err)
{
    double until = qdq_clock_seconds() + c->deadline_s;
    size_t sent = 0;

    for (;;) {
        talk now = send_some(p, text, c->fd, &sent);

        if (now == TALK_ON) {
            wait_for_news(p, sent < text->size);
            read_output(p);
            now = receive_some(p);
        }
        QDQ_TRY(take_answer(p, answer, err));
        if (*answer != NULL)
            return QDQ_OK;
        if (now == TALK_HUNG_UP) {
            explain_end(p, outcome);
            return QDQ_OK;
        }
        QDQ_TRY(qdq_cancel_poll(c->cancel, err));
        if (qdq_clock_seconds() >= until) {
            end_hung(p, c->deadline_s, outcome);
            return QDQ_OK;
        }
    }
}

static qdq_status local_ask(void *self, const qdq_remote_call *c, json_t **answer,
                            qdq_remote_outcome *outcome, qdq_error *err)
{
    local_process *p = self;
    qdq_buf text = QDQ_BUF_INIT(QDQ_REMOTE_MESSAGE_MAX + QDQ_REMOTE_HEAD);

    *answer = NULL;
    *outcome = (qdq_remote_outcome){0};
    forget_output(p);
    qdq_buf_free(&p->in);
    p->in = (qdq_buf)QDQ_BUF_INIT(QDQ_REMOTE_MESSAGE_MAX + QDQ_REMOTE_HEAD);
    qdq_remote_message_put(&text, c->question);
    qdq_status st = text.failed ? qdq_nomem(err) : converse(p, &text, c, answer, outcome, err);
    qdq_buf_free(&text);
    if (*answer != NULL)
        read_rest(p); /* what it printed before it answered is there by now */
    else
        local_kill(
            p); /* what it would answer now would be taken for the answer to the next question */
    return st;
}

const qdq_remote_process_ops qdq_remote_local_ops = {
    .ask = local_ask,
    .is_alive = local_is_alive,
    .output = local_output,
    .kill = local_kill,
    .end = local_end,
    .free = local_free,
};
