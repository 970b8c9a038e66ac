/* worker_client_log.h - one text file for each build of a session: what was asked, how it ended,
 * what the engine printed. They are for people who want to know why something failed; that one
 * cannot be written fails nothing. */
#ifndef QDQ_WORKER_CLIENT_LOG_H
#define QDQ_WORKER_CLIENT_LOG_H

#include "base/arena.h"
#include "tune/worker_client/worker_client.h"

typedef struct qdq_worker_client_logs {
    /* NULL: no logs */
    const char *dir;
    /* is told once that they cannot be written */
    const qdq_job *job;
    bool failed;
} qdq_worker_client_logs;

/* Makes the folder. `dir` is borrowed. */
qdq_status qdq_worker_client_logs_open(qdq_worker_client_logs *logs, const char *dir,
                                       const qdq_job *job, qdq_error *err);

/* A new file named after that of the model: DIR/NAME.log, then DIR/NAME-2.log; what earlier runs
 * left there stays. NULL: there is none, and the functions below do nothing. */
const char *qdq_worker_client_log_new(qdq_worker_client_logs *logs, const char *model,
                                      qdq_arena *arena);

void qdq_worker_client_log_request(qdq_worker_client_logs *logs, const char *path,
                                   const char *what);
void qdq_worker_client_log_ended(qdq_worker_client_logs *logs, const char *path, const char *output,
                                 size_t size, const qdq_remote_outcome *outcome, double seconds);

#endif /* QDQ_WORKER_CLIENT_LOG_H */
