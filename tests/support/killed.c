/* killed.c - see the header. */
#include "support/killed.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/ptrace.h>

enum { THREADS = 256, PATH_AT_0 = 0, PATH_AT_1 = 1, FD_AT_0 = 2, FD_AT_2 = 3 };

/* The system calls that count, and where they say what they are about. */
static const struct call {
    long number;
    int subject;
    const char *name;
} calls[] = {
    {SYS_write, FD_AT_0, "write"},         {SYS_pwrite64, FD_AT_0, "pwrite64"},
    {SYS_writev, FD_AT_0, "writev"},       {SYS_pwritev, FD_AT_0, "pwritev"},
    {SYS_pwritev2, FD_AT_0, "pwritev2"},   {SYS_copy_file_range, FD_AT_2, "copy_file_range"},
    {SYS_sendfile, FD_AT_0, "sendfile"},   {SYS_ftruncate, FD_AT_0, "ftruncate"},
    {SYS_fallocate, FD_AT_0, "fallocate"}, {SYS_fsync, FD_AT_0, "fsync"},
    {SYS_fdatasync, FD_AT_0, "fdatasync"}, {SYS_sync_file_range, FD_AT_0, "sync_file_range"},
    {SYS_renameat, PATH_AT_1, "renameat"}, {SYS_renameat2, PATH_AT_1, "renameat2"},
    {SYS_linkat, PATH_AT_1, "linkat"},     {SYS_symlinkat, PATH_AT_0, "symlinkat"},
    {SYS_unlinkat, PATH_AT_1, "unlinkat"}, {SYS_truncate, PATH_AT_0, "truncate"},
#ifdef SYS_rename /* newer machines have only those with "at" */
    {SYS_rename, PATH_AT_0, "rename"},     {SYS_link, PATH_AT_0, "link"},
    {SYS_symlink, PATH_AT_0, "symlink"},   {SYS_unlink, PATH_AT_0, "unlink"},
#endif
};

typedef struct tracing {
    pid_t leader;
    test_counts_call *counts;
    unsigned stop, seen;
    char where[170];
    struct {
        pid_t tid;
        /* is in a call that counts */
        bool counted;
    } thread[THREADS];
} tracing;

static bool *counted_of(tracing *t, pid_t tid)
{
    for (size_t i = 0; i < THREADS; i++) {
        if (t->thread[i].tid == 0)
            t->thread[i].tid = tid;
        if (t->thread[i].tid == tid)
            return &t->thread[i].counted;
    }
    fail_msg("more than %d threads", THREADS);
    return NULL;
}

/* What a call is about; "" if that cannot be read. */
static void read_path(pid_t tid, const struct call *c, const struct __ptrace_syscall_info *info,
                      char path[PATH_MAX])
{
    char link[64];
    ssize_t n;

    memset(path, 0, PATH_MAX);
    if (c->subject == FD_AT_0 || c->subject == FD_AT_2) {
        snprintf(link, sizeof link, "/proc/%d/fd/%d", (int)tid,
                 (int)info->entry.args[c->subject == FD_AT_0 ? 0 : 2]);
        n = readlink(link, path, PATH_MAX - 1);
        (void)n;
        return;
    }
    /* up to the end of a page: what lies behind it may not be mapped */
    const uintptr_t from = (uintptr_t)info->entry.args[c->subject == PATH_AT_0 ? 0 : 1];
    struct iovec here = {path, PATH_MAX - 1}, there = {(void *)from, 4096 - from % 4096};
    if (there.iov_len > here.iov_len)
        there.iov_len = here.iov_len;
    n = process_vm_readv(tid, &here, 1, &there, 1, 0);
    (void)n;
}

/* At a stop of a system call: must it die here? */
static bool is_the_stop(tracing *t, pid_t tid)
{
    struct __ptrace_syscall_info info;
    bool *counted = counted_of(t, tid);
    char path[PATH_MAX];

    if (ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof info, &info) <= 0)
        return false;
    if (info.op == PTRACE_SYSCALL_INFO_EXIT) {
        bool dies = *counted && t->seen++ == t->stop;
        *counted = false;
        return dies;
    }
    if (info.op != PTRACE_SYSCALL_INFO_ENTRY)
        return false;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if ((long)info.entry.nr == calls[i].number) {
            read_path(tid, &calls[i], &info, path);
            *counted = t->counts(path);
            if (*counted)
                snprintf(t->where, sizeof t->where, "%s of %.140s", calls[i].name, path);
            return *counted && t->seen++ == t->stop;
        }
    *counted = false;
    return false;
}

static pid_t start(const char *const *argv, const char *folder)
{
    pid_t pid = fork();

    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);
        if (null < 0 || chdir(folder) != 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 ||
            dup2(null, 2) < 0 || ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            _exit(126);
        raise(SIGSTOP);
        execv(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    return pid;
}

static void go_on(pid_t tid, int signal)
{
    /* fails for a thread that has ended */
    ptrace(PTRACE_SYSCALL, tid, NULL, (void *)(intptr_t)signal);
}

/* The signal that a stop is about to deliver; 0: it is a stop of ours. */
static int signal_of(int status)
{
    const int signal = WSTOPSIG(status);

    return signal == SIGSTOP || signal == SIGTRAP || (signal & 0x80) != 0 ? 0 : signal;
}

bool test_kill_at(const char *const *argv, const char *folder, test_counts_call *counts,
                  unsigned stop, char where[200], int *status)
{
    const long options =
        PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC;
    tracing *t = calloc(1, sizeof *t);
    bool killed = false;

    assert_non_null(t);
    t->leader = start(argv, folder);
    t->counts = counts;
    t->stop = stop;
    assert_int_equal(waitpid(t->leader, status, __WALL), t->leader);
    if (!WIFSTOPPED(*status) || ptrace(PTRACE_SETOPTIONS, t->leader, NULL, (void *)options) != 0)
        fail_msg("%s: cannot be traced", argv[0]);
    go_on(t->leader, 0);
    for (;;) {
        int now;
        pid_t tid = waitpid(-1, &now, __WALL);
        if (tid < 0 && errno == EINTR)
            continue;
        assert_true(tid > 0);
        if (tid == t->leader && !WIFSTOPPED(now)) {
            *status = now;
            break;
        }
        if (!WIFSTOPPED(now) || killed)
            continue;
        if (WSTOPSIG(now) == (SIGTRAP | 0x80) && is_the_stop(t, tid)) {
            killed = true;
            kill(t->leader, SIGKILL);
            continue;
        }
        go_on(tid, signal_of(now));
    }
    if (where != NULL)
        snprintf(where, 200, "stop %u, %s", stop, t->where);
    free(t);
    return killed;
}

bool test_can_trace(void)
{
    int status;
    pid_t pid = fork();

    if (pid == 0)
        _exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0 ? 0 : 1);
    if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    test_missing("ptrace");
    return false;
}
