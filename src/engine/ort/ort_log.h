/* ort_log.h - what ONNX Runtime says, from any of its threads, kept until the thread that called
 * qdq is back from it: callbacks of a qdq_job are made on the caller's thread only. */
#ifndef QDQ_ORT_LOG_H
#define QDQ_ORT_LOG_H

#include <pthread.h>

#include "qdq/engine.h"

enum { QDQ_ORT_LOG_LINES = 48, QDQ_ORT_LOG_WIDTH = 400 };

typedef struct qdq_ort_log {
    pthread_mutex_t lock;
    unsigned n, dropped;
    struct {
        qdq_log_level level;
        char text[QDQ_ORT_LOG_WIDTH];
    } line[QDQ_ORT_LOG_LINES];
} qdq_ort_log;

void qdq_ort_log_init(qdq_ort_log *log);
void qdq_ort_log_destroy(qdq_ort_log *log);

/* An ort_log_fn; param is a qdq_ort_log, or NULL to drop everything. */
void qdq_ort_log_receive(void *param, int severity, const char *category, const char *logid,
                         const char *location, const char *message);

/* Hands all kept lines to the job. */
void qdq_ort_log_flush(qdq_ort_log *log, const qdq_job *job);

#endif /* QDQ_ORT_LOG_H */
