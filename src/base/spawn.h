/* spawn.h - starts a program as the leader of a process group of its own, so that it can be ended
 * with all it started. */
#ifndef QDQ_SPAWN_H
#define QDQ_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

typedef struct qdq_spawn_opts {
    /* argv[0] is looked up in PATH if it has no slash; ends with NULL */
    const char *const *argv;
    /* NULL: the caller's */
    const char *cwd;
    /* NULL: the caller's; ends with NULL */
    const char *const *env;
    /* its standard streams, each above 2; in -1: /dev/null */
    int in, out, err;
} qdq_spawn_opts;

/* 0, or the system's reason. Signals are as a fresh program expects them, whatever the caller
 * ignores or blocks. */
int qdq_spawn(const qdq_spawn_opts *opts, pid_t *pid);

/* The same descriptor under a number that no standard stream has; the old one is closed. -1: errno
 * says why. */
int qdq_fd_above_standard(int fd);

/* Closes what is open, and forgets it. */
void qdq_fd_close(int *fd);

/* It is not reaped yet: so its number is not given to another process while its group may still be
 * signalled. *lost: somebody else took its exit status, or the host ignores SIGCHLD and has no
 * children to wait for. */
bool qdq_has_ended(pid_t pid, bool *lost);

/* Ends the process groups that children of `pid` (0: of this process) lead: programs that it runs
 * under deadlines of its own would go on without it. */
void qdq_kill_groups_of(pid_t pid);

#endif /* QDQ_SPAWN_H */
