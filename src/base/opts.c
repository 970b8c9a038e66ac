/* opts.c - option structs by their size. */
#include "base/opts.h"

#include <string.h>

#include "base/fail.h"

/* No struct of any release is this much longer than today's: beyond lies memory of others. */
#define MOST_APPENDED 4096

qdq_status qdq_opts_read(const char *type, void *to, size_t known, const void *from, qdq_error *err)
{
    const unsigned char *given = from;
    size_t size;

    if (from == NULL)
        return QDQ_OK;
    memcpy(&size, from, sizeof size);
    if (size < sizeof size || size > known + MOST_APPENDED)
        return qdq_fail(err, QDQ_E_USAGE, "%s.size: found %zu, expected sizeof(%s), which is %zu",
                        type, size, type, known);
    for (size_t i = known; i < size; i++)
        if (given[i] != 0)
            return qdq_fail(err, QDQ_E_USAGE,
                            "%s: the caller sets a member at byte %zu, expected at most the %zu "
                            "bytes that libqdq %s knows",
                            type, i, known, qdq_version());
    memcpy(to, from, size < known ? size : known);
    memcpy(to, &known, sizeof known);
    return QDQ_OK;
}

qdq_job qdq_job_copy(const qdq_job *job)
{
    qdq_job copy = QDQ_JOB_INIT;
    size_t size = job == NULL ? 0 : job->size < sizeof copy ? job->size : sizeof copy;

    if (size > sizeof copy.size) {
        memcpy(&copy, job, size);
        copy.size = sizeof copy;
    }
    return copy;
}

const qdq_cancel *qdq_job_cancel(const qdq_job *job)
{
    return qdq_job_copy(job).cancel;
}
