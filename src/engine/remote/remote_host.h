/* remote_host.h - how programs are run on another machine: a text from the user as command
 * lines. */
#ifndef QDQ_REMOTE_HOST_H
#define QDQ_REMOTE_HOST_H

#include "base/arena.h"

typedef struct qdq_remote_host {
    /* as the user wrote it */
    const char *text;
    /* runs `qdq-worker --serve` there; ends with NULL */
    const char *const *serve;
    bool is_ssh;
    /* path of qdq-worker in the text; NULL: none */
    const char *program;
    /* ssh: [user@]name and port; exec: its command */
    const char *destination, *port, *command;
    double timeout_s;
} qdq_remote_host;

/* Reads "ssh://[user@]name[:port][/path/to/qdq-worker]" or "exec:COMMAND". timeout_s 0: 60. Texts
 * lie in the arena. QDQ_E_USAGE: it is neither. */
qdq_status qdq_remote_host_read(const char *text, double timeout_s, qdq_arena *arena,
                                qdq_remote_host *out, qdq_error *err);

/* The command line that runs `command`, which consists of words without special characters of a
 * shell. Ends with NULL. NULL: no memory, or the text already says what is run. */
const char *const *qdq_remote_host_run(const qdq_remote_host *host, qdq_arena *arena,
                                       const char *command);

#endif /* QDQ_REMOTE_HOST_H */
