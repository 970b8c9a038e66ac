/* spawn.c - posix_spawn() instead of fork(): it neither copies the page tables of a process that
 * has gigabytes mapped nor runs any code of ours between the two halves, where a threaded program
 * may do next to nothing. */
#include "base/spawn.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fail.h"

/* A process may have been started without standard streams. A pipe that took one of their numbers
 * would be overwritten while the child's streams are put in place. */
int qdq_fd_above_standard(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(fd);
    return moved;
}

static int describe_streams(posix_spawn_file_actions_t *actions, const qdq_spawn_opts *o)
{
    int reason;

    if (o->in >= 0)
        reason = posix_spawn_file_actions_adddup2(actions, o->in, STDIN_FILENO);
    else
        reason = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (reason == 0)
        reason = posix_spawn_file_actions_adddup2(actions, o->out, STDOUT_FILENO);
    if (reason == 0)
        reason = posix_spawn_file_actions_adddup2(actions, o->err, STDERR_FILENO);
    if (reason == 0 && o->cwd != NULL)
        reason = posix_spawn_file_actions_addchdir_np(actions, o->cwd);
    return reason;
}

static int describe_signals(posix_spawnattr_t *attr)
{
    static const int usual[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM,
                                SIGPIPE, SIGCHLD, SIGALRM, SIGXFSZ};
    sigset_t set;
    int reason = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
                                                    POSIX_SPAWN_SETSIGMASK);

    sigemptyset(&set);
    if (reason == 0)
        reason = posix_spawnattr_setpgroup(attr, 0);
    if (reason == 0)
        reason = posix_spawnattr_setsigmask(attr, &set);
    for (size_t i = 0; i < QDQ_COUNT(usual); i++)
        sigaddset(&set, usual[i]);
    return reason != 0 ? reason : posix_spawnattr_setsigdefault(attr, &set);
}

/* The casts take away const that POSIX leaves out for old compilers; nothing is written through
 * them. */
int qdq_spawn(const qdq_spawn_opts *o, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    char *const *env = o->env == NULL ? environ : (char *const *)o->env;
    int reason = posix_spawn_file_actions_init(&actions);

    if (reason != 0)
        return reason;
    reason = posix_spawnattr_init(&attr);
    if (reason == 0) {
        reason = describe_streams(&actions, o);
        if (reason == 0)
            reason = describe_signals(&attr);
        if (reason == 0)
            reason = posix_spawnp(pid, o->argv[0], &actions, &attr, (char *const *)o->argv, env);
        posix_spawnattr_destroy(&attr);
    }
    posix_spawn_file_actions_destroy(&actions);
    return reason;
}

void qdq_fd_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

bool qdq_has_ended(pid_t pid, bool *lost)
{
    siginfo_t info;

    info.si_pid = 0;
    *lost = waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 && errno != EINTR;
    return *lost || info.si_pid == pid;
}

/* One thread's children; the system keeps a list for each. */
static void kill_listed(const char *path)
{
    FILE *f = fopen(path, "re");
    long child;

    while (f != NULL && fscanf(f, "%ld", &child) == 1)
        if (child > 1 && getpgid((pid_t)child) == (pid_t)child)
            kill(-(pid_t)child, SIGKILL);
    if (f != NULL)
        fclose(f);
}

void qdq_kill_groups_of(pid_t pid)
{
    char path[300];

    snprintf(path, sizeof path, "/proc/%ld/task", (long)(pid != 0 ? pid : getpid()));
    DIR *dir = opendir(path);
    for (const struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/proc/%ld/task/%.20s/children",
                 (long)(pid != 0 ? pid : getpid()), e->d_name);
        kill_listed(path);
    }
    if (dir != NULL)
        closedir(dir);
}
