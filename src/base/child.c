/* child.c - one program, run to its end under a deadline. Knows nothing of engines. */
#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/spawn.h"

#define GRACE_S 2.0 /* between SIGTERM and SIGKILL */

/* The cancel flag and the child's end have no descriptor to poll: they are looked at this often. */
enum { SLICE_MIN_MS = 1, SLICE_MAX_MS = 50 };

/* One of the child's output streams. */
typedef struct stream {
    /* our end; -1: at its end */
    int fd;
    qdq_buf text;
    bool truncated;
    bool keep_last;
} stream;

typedef struct child {
    const qdq_child_opts *opts;
    /* also the process group; 0: not running */
    pid_t pid;
    stream out, err;
    /* 0: never */
    double term_at, kill_at;
    bool timed_out;
    size_t logged;
} child;

/* --- start ------------------------------------------------------------------------------------ */

static int make_pipe(int *ours, int *theirs)
{
    int fd[2];

    if (pipe2(fd, O_CLOEXEC) != 0)
        return errno;
    *ours = qdq_fd_above_standard(fd[0]);
    *theirs = qdq_fd_above_standard(fd[1]);
    if (*ours < 0 || *theirs < 0 || fcntl(*ours, F_SETFL, O_NONBLOCK) != 0)
        return errno;
    return 0;
}

static qdq_status start(child *c, qdq_error *err)
{
    const qdq_child_opts *o = c->opts;
    int out = -1, error = -1;
    struct stat st;

    if (o->argv == NULL || o->argv[0] == NULL)
        return qdq_fail(err, QDQ_E_USAGE, "no program to run is named");
    /* The system gives one reason for a missing folder and a missing program. */
    if (o->cwd != NULL && (stat(o->cwd, &st) != 0 || !S_ISDIR(st.st_mode)))
        return qdq_fail(err, QDQ_E_IO, "%s: cannot run in '%s': no such folder", o->argv[0],
                        o->cwd);
    int reason = make_pipe(&c->out.fd, &out);
    if (reason == 0)
        reason = make_pipe(&c->err.fd, &error);
    if (reason == 0)
        reason = qdq_spawn(
            &(qdq_spawn_opts){
                .argv = o->argv, .cwd = o->cwd, .env = o->env, .in = -1, .out = out, .err = error},
            &c->pid);
    qdq_fd_close(&out);
    qdq_fd_close(&error);
    if (reason != 0) {
        c->pid = 0;
        return qdq_fail_errno(err, QDQ_E_IO, reason, "%s: cannot start it", o->argv[0]);
    }
    return QDQ_OK;
}

/* --- watch ------------------------------------------------------------------------------------ */

/* A log that cannot be written is no reason to end the child: its last words are kept elsewhere. */
static void write_log(child *c, const char *text, size_t size)
{
    size_t room = c->opts->max_log - c->logged;

    if (c->opts->log <= STDERR_FILENO || room == 0)
        return;
    ssize_t n = write(c->opts->log, text, size < room ? size : room);
    c->logged = n < 0 ? c->opts->max_log : c->logged + (size_t)n;
}

/* Twice as much is collected before half of it goes, so that each byte is moved once. */
static void keep_end(stream *s, const char *text, size_t size, size_t max)
{
    qdq_buf_append(&s->text, text, size);
    if (s->text.failed || s->text.size <= max * 2)
        return;
    memmove(s->text.data, s->text.data + s->text.size - max, max);
    s->text.size = max;
    s->text.data[max] = '\0';
    s->truncated = true;
}

/* Reads one piece, so that a child that writes faster than we read does not keep us from the clock.
 * True if there was something. */
static bool drain(child *c, stream *s)
{
    char chunk[16 * 1024];
    ssize_t n = s->fd < 0 ? 0 : read(s->fd, chunk, sizeof chunk);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0) {
        qdq_fd_close(&s->fd);
        return false;
    }
    write_log(c, chunk, (size_t)n);
    if (s->keep_last) {
        keep_end(s, chunk, (size_t)n, c->opts->max_output);
        return true;
    }
    size_t room = s->text.max - s->text.size, size = (size_t)n;
    if (size > room) {
        s->truncated = true;
        size = room;
    }
    qdq_buf_append(&s->text, chunk, size);
    return true;
}

static void mind_the_clock(child *c)
{
    double now = qdq_clock_seconds();

    if (c->term_at > 0 && now >= c->term_at) {
        c->timed_out = true;
        c->term_at = 0;
        c->kill_at = now + GRACE_S;
        kill(-c->pid, SIGTERM);
    }
    if (c->kill_at > 0 && now >= c->kill_at) {
        c->kill_at = 0;
        kill(-c->pid, SIGKILL);
    }
}

/* Until the child has ended; *code says why we ended it, if we did. False if somebody else took its
 * exit status. */
static bool watch(child *c, qdq_status *code)
{
    int slice = SLICE_MIN_MS;
    bool lost = false;

    while (!qdq_has_ended(c->pid, &lost)) {
        struct pollfd fds[2] = {{c->out.fd, POLLIN, 0}, {c->err.fd, POLLIN, 0}};

        poll(fds, 2, slice); /* a negative descriptor is passed over */
        bool got_some = drain(c, &c->out);
        got_some = drain(c, &c->err) || got_some;
        slice = got_some ? SLICE_MIN_MS : slice * 2 > SLICE_MAX_MS ? SLICE_MAX_MS : slice * 2;
        if (*code == QDQ_OK && (c->out.text.failed || c->err.text.failed))
            *code = QDQ_E_NOMEM;
        else if (*code == QDQ_OK && qdq_cancel_is_set(c->opts->cancel))
            *code = QDQ_E_INTERRUPTED;
        if (*code != QDQ_OK)
            kill(-c->pid, SIGKILL);
        else
            mind_the_clock(c);
    }
    return !lost;
}

/* --- end -------------------------------------------------------------------------------------- */

/* What the pipe still holds. More than is kept need not be read, nothing waits for it to be taken,
 * unless the end counts; and there is no end to what something it left behind may go on
 * printing. */
static void drain_rest(child *c, stream *s)
{
    for (int i = 0; i < 4096 && (s->keep_last || !s->truncated) && !s->text.failed && drain(c, s);
         i++)
        ;
}

/* What it started and left behind goes with it; what they wrote before that is kept. */
static qdq_status reap(child *c, bool known, qdq_child_result *result, qdq_error *err)
{
    int status = 0;
    pid_t got = -1;

    if (known) {
        kill(-c->pid, SIGKILL);
        do
            got = waitpid(c->pid, &status, 0);
        while (got < 0 && errno == EINTR);
    }
    drain_rest(c, &c->out);
    drain_rest(c, &c->err);
    if (got != c->pid)
        return qdq_fail(err, QDQ_E_IO, "%s: its exit status is lost: this process ignores SIGCHLD",
                        c->opts->argv[0]);
    result->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    result->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    return QDQ_OK;
}

/* The last of it, if that is what was asked for. */
static void cut(const child *c, stream *s)
{
    size_t max = c->opts->max_output;

    if (!s->keep_last || s->text.failed || s->text.size <= max)
        return;
    memmove(s->text.data, s->text.data + s->text.size - max, max);
    s->text.size = max;
    s->text.data[max] = '\0';
    s->truncated = true;
}

static qdq_status hand_over(child *c, qdq_child_result *result, qdq_error *err)
{
    cut(c, &c->out);
    cut(c, &c->err);
    result->timed_out = c->timed_out;
    result->truncated = c->out.truncated || c->err.truncated;
    result->out_size = c->out.text.size;
    result->err_size = c->err.text.size;
    result->out = qdq_buf_take(&c->out.text);
    result->err = qdq_buf_take(&c->err.text);
    return result->out == NULL || result->err == NULL ? qdq_nomem(err) : QDQ_OK;
}

static qdq_status run_child(child *c, qdq_child_result *result, qdq_error *err)
{
    qdq_status code = QDQ_OK;

    if (qdq_cancel_is_set(c->opts->cancel))
        return qdq_fail(err, QDQ_E_INTERRUPTED, "interrupted");
    QDQ_TRY(start(c, err));
    if (c->opts->deadline_s > 0)
        c->term_at = qdq_clock_seconds() + c->opts->deadline_s;
    bool known = watch(c, &code);
    qdq_status st = reap(c, known, result, err);
    if (code == QDQ_E_INTERRUPTED)
        return qdq_fail(err, code, "%s: interrupted", c->opts->argv[0]);
    if (code == QDQ_E_NOMEM)
        return qdq_nomem(err);
    return st == QDQ_OK ? hand_over(c, result, err) : st;
}

qdq_status qdq_child_run(const qdq_child_opts *opts, qdq_child_result *result, qdq_error *err)
{
    size_t most = opts->max_output < QDQ_BUF_NO_LIMIT / 4 ? opts->max_output : QDQ_BUF_NO_LIMIT / 4;
    size_t max = opts->keep_last ? most * 2 + (size_t)32 * 1024 : most;
    child c = {.opts = opts,
               .out = {.fd = -1, .text = QDQ_BUF_INIT(max), .keep_last = opts->keep_last},
               .err = {.fd = -1, .text = QDQ_BUF_INIT(max), .keep_last = opts->keep_last}};

    *result = (qdq_child_result){0};
    qdq_status st = run_child(&c, result, err);
    qdq_fd_close(&c.out.fd);
    qdq_fd_close(&c.err.fd);
    qdq_buf_free(&c.out.text);
    qdq_buf_free(&c.err.text);
    if (st != QDQ_OK)
        qdq_child_result_free(result);
    return st;
}

void qdq_child_result_free(qdq_child_result *result)
{
    qdq_free(result->out);
    qdq_free(result->err);
    *result = (qdq_child_result){0};
}
