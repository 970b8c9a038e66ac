/* fail.c - errors and log lines. Knows nothing of models, prints nothing. */
#include "base/fail.h"
#include "base/opts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *qdq_status_name(qdq_status code)
{
    switch (code) {
    case QDQ_OK:
        return "ok";
    case QDQ_E_USAGE:
        return "usage";
    case QDQ_E_NOMEM:
        return "nomem";
    case QDQ_E_IO:
        return "io";
    case QDQ_E_FORMAT:
        return "format";
    case QDQ_E_UNSUPPORTED:
        return "unsupported";
    case QDQ_E_ENGINE:
        return "engine";
    case QDQ_E_GOAL:
        return "goal";
    case QDQ_E_INTERRUPTED:
        return "interrupted";
    case QDQ_E_BUG:
        return "bug";
    }
    return "unknown";
}

const char *qdq_version(void)
{
    return QDQ_VERSION;
}

void qdq_free(void *p)
{
    free(p);
}

void qdq_keep_one_line(char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            *text = '?';
}

qdq_status qdq_fail(qdq_error *err, qdq_status code, const char *fmt, ...)
{
    va_list ap;

    if (err == NULL)
        return code;
    err->code = code;
    va_start(ap, fmt);
    vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    qdq_keep_one_line(err->text);
    return code;
}

qdq_status qdq_nomem(qdq_error *err)
{
    return qdq_fail(err, QDQ_E_NOMEM, "out of memory");
}

qdq_status qdq_fail_errno(qdq_error *err, qdq_status code, int errnum, const char *fmt, ...)
{
    va_list ap;
    char place[sizeof err->text];
    char reason[128] = "";

    if (err == NULL)
        return code;
    va_start(ap, fmt);
    vsnprintf(place, sizeof place, fmt, ap);
    va_end(ap);
    const char *text = strerror_r(errnum, reason, sizeof reason);
    return qdq_fail(err, code, "%.*s: %s", (int)(sizeof place - sizeof reason - 3), place, text);
}

qdq_status qdq_within(qdq_error *err, qdq_status code, const char *fmt, ...)
{
    char inner[sizeof err->text];
    va_list ap;

    if (err == NULL || code == QDQ_E_INTERRUPTED) /* wherever that was */
        return code;
    memcpy(inner, err->text, sizeof inner);
    va_start(ap, fmt);
    int n = vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    err->code = code;
    if (n >= 0 && (size_t)n + 3 < sizeof err->text) { /* a longer place is kept alone */
        size_t room = sizeof err->text - (size_t)n;
        snprintf(err->text + n, room, ": %.*s", (int)room - 3, inner);
    }
    qdq_keep_one_line(err->text);
    return code;
}

void qdq_job_log(const qdq_job *job, qdq_log_level level, const char *fmt, ...)
{
    char line[1000];
    va_list ap;

    const qdq_job j = qdq_job_copy(job);
    if (j.log == NULL)
        return;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    qdq_keep_one_line(line);
    j.log(j.ctx, level, line);
}

void qdq_job_progress(const qdq_job *job, const char *stage, uint64_t done, uint64_t total)
{
    const qdq_job j = qdq_job_copy(job);

    if (j.progress != NULL)
        j.progress(j.ctx, stage, done, total);
}

qdq_status qdq_cancel_poll(const qdq_cancel *cancel, qdq_error *err)
{
    return qdq_cancel_is_set(cancel) ? qdq_fail(err, QDQ_E_INTERRUPTED, "interrupted") : QDQ_OK;
}

qdq_status qdq_job_poll(const qdq_job *job, qdq_error *err)
{
    qdq_job j = QDQ_JOB_INIT;

    QDQ_TRY(qdq_opts_read("qdq_job", &j, sizeof j, job, err));
    return qdq_cancel_poll(j.cancel, err);
}
