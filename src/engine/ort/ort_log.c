/* ort_log.c - keeps ONNX Runtime's messages in fixed storage: a message about missing memory must
 * not need any. */
#include "engine/ort/ort_log.h"

#include <stdio.h>
#include <string.h>

#include "base/fail.h"

void qdq_ort_log_init(qdq_ort_log *log)
{
    pthread_mutex_init(&log->lock, NULL);
    log->n = 0;
    log->dropped = 0;
}

void qdq_ort_log_destroy(qdq_ort_log *log)
{
    pthread_mutex_destroy(&log->lock);
}

/* Errors come back as a status too, or concern something that went on: no one needs to be alarmed
 * twice. What graph.cc says is book-keeping (unused initializers, initializers that are inputs),
 * not about kernels. */
static qdq_log_level level_of(int severity, const char *location)
{
    enum { ORT_WARNING = 2 };

    if (severity < ORT_WARNING)
        return QDQ_LOG_DEBUG;
    if (severity > ORT_WARNING)
        return QDQ_LOG_INFO;
    return location != NULL && strncmp(location, "graph.cc:", 9) == 0 ? QDQ_LOG_INFO
                                                                      : QDQ_LOG_WARNING;
}

void qdq_ort_log_receive(void *param, int severity, const char *category, const char *logid,
                         const char *location, const char *message)
{
    qdq_ort_log *log = param;

    (void)category;
    (void)logid;
    if (log == NULL || message == NULL)
        return;
    qdq_log_level level = level_of(severity, location);
    pthread_mutex_lock(&log->lock);
    bool again = log->n > 0 && log->line[log->n - 1].level == level &&
                 strncmp(log->line[log->n - 1].text, message, QDQ_ORT_LOG_WIDTH - 1) == 0;
    if (log->n == QDQ_ORT_LOG_LINES) {
        log->dropped++;
    } else if (!again) {
        log->line[log->n].level = level;
        snprintf(log->line[log->n].text, QDQ_ORT_LOG_WIDTH, "%s", message);
        log->n++;
    }
    pthread_mutex_unlock(&log->lock);
}

void qdq_ort_log_flush(qdq_ort_log *log, const qdq_job *job)
{
    pthread_mutex_lock(&log->lock);
    for (unsigned i = 0; i < log->n; i++)
        qdq_job_log(job, log->line[i].level, "onnxruntime: %s", log->line[i].text);
    if (log->dropped > 0)
        qdq_job_log(job, QDQ_LOG_INFO, "onnxruntime: %u more messages were dropped", log->dropped);
    log->n = 0;
    log->dropped = 0;
    pthread_mutex_unlock(&log->lock);
}
