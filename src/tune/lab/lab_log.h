/* lab_log.h - one text file for each build of a session: what was asked, how it ended, what the
 * engine printed. They are for people who want to know why something failed; that one cannot be
 * written fails nothing. */
#ifndef QDQ_LAB_LOG_H
#define QDQ_LAB_LOG_H

#include "base/arena.h"
#include "tune/lab/lab.h"

typedef struct qdq_lab_logs {
    const char *dir;    /* NULL: no logs */
    const qdq_job *job; /* is told once that they cannot be written */
    bool failed;
} qdq_lab_logs;

/* Makes the folder. `dir` is borrowed. */
qdq_status qdq_lab_logs_open(qdq_lab_logs *logs, const char *dir, const qdq_job *job,
                             qdq_error *err);

/* A new file named after that of the model: DIR/NAME.log, then DIR/NAME-2.log; what earlier runs
 * left there stays. NULL: there is none, and the functions below do nothing. */
const char *qdq_lab_log_new(qdq_lab_logs *logs, const char *model, qdq_arena *arena);

void qdq_lab_log_asked(qdq_lab_logs *logs, const char *path, const char *what);
void qdq_lab_log_ended(qdq_lab_logs *logs, const char *path, const char *output, size_t size,
                       const qdq_remote_fate *fate, double seconds);

#endif /* QDQ_LAB_LOG_H */
