/* fail.h - how every fallible function of the library reports: status, place, reason. */
#ifndef QDQ_FAIL_H
#define QDQ_FAIL_H

#include <stdarg.h>
#include <stdbool.h>

#include "qdq/status.h"

/* Fills *err (may be NULL) and returns `code`: return qdq_fail(err, QDQ_E_FORMAT, "..."); */
qdq_status qdq_fail(qdq_error *err, qdq_status code, const char *fmt, ...) QDQ_PRINTF(3, 4);
qdq_status qdq_nomem(qdq_error *err);

/* QDQ_OK if `ok`, which says that memory was there; else qdq_nomem(). */
static inline qdq_status qdq_allocated(bool ok, qdq_error *err)
{
    return ok ? QDQ_OK : qdq_nomem(err);
}

/* Puts a place in front of the text that is already there: "resnet.onnx: tensor 'w': ...".
 * QDQ_E_INTERRUPTED stays as it is: an interrupt has no place. */
qdq_status qdq_within(qdq_error *err, qdq_status code, const char *fmt, ...) QDQ_PRINTF(3, 4);

/* As qdq_fail, with the system's reason for `errnum` at the end. */
qdq_status qdq_fail_errno(qdq_error *err, qdq_status code, int errnum, const char *fmt, ...)
    QDQ_PRINTF(4, 5);

/* Messages are one line, whatever text from a hostile file went into them: control characters
 * become '?'. */
void qdq_keep_one_line(char *text);

#define QDQ_TRY(expr)                                                                              \
    do {                                                                                           \
        qdq_status qdq_try_ = (expr);                                                              \
        if (qdq_try_ != QDQ_OK)                                                                    \
            return qdq_try_;                                                                       \
    } while (0)

/* `what` is memory, or the success of a call that takes some: without it the function returns
 * QDQ_E_NOMEM. */
#define QDQ_NEED(what, err)                                                                        \
    do {                                                                                           \
        if (!(what))                                                                               \
            return qdq_nomem(err);                                                                 \
    } while (0)

/* The end of a function that makes something: *out is `made`, or after an error NULL, and `made` is
 * released. Gives `st`; both are evaluated more than once. */
#define QDQ_HAND_OVER(made, st, out, release)                                                      \
    ((st) == QDQ_OK ? (*(out) = (made), QDQ_OK) : (release(made), *(out) = NULL, (st)))

#define QDQ_COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Formats and sends one line to job->log, if there is one. */
void qdq_job_log(const qdq_job *job, qdq_log_level level, const char *fmt, ...) QDQ_PRINTF(3, 4);
void qdq_job_progress(const qdq_job *job, const char *stage, uint64_t done, uint64_t total);

/* Bytes, or numbers, that loops over much data take between two looks at the cancel flag. */
enum { QDQ_POLL_BYTES = 16 << 20 };

/* QDQ_E_INTERRUPTED with a message once the flag is set (NULL: never), else QDQ_OK. */
qdq_status qdq_cancel_poll(const qdq_cancel *cancel, qdq_error *err);

/* The same for the job's cancel flag. */
qdq_status qdq_job_poll(const qdq_job *job, qdq_error *err);

#endif /* QDQ_FAIL_H */
