/* fuzz_trt_log.c - what trtexec prints, and exported times, from hostile text. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/trt/trt_log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_trt_log log = QDQ_TRT_LOG_INIT;
    double *ms;
    size_t n;

    qdq_trt_log_read(&log, (const char *)data, size);
    qdq_trt_log_read(&log, (const char *)data, size / 2);
    if (log.n_unknown > QDQ_TRT_MAX_UNKNOWN || strlen(log.reason) >= sizeof log.reason ||
        (log.failure == QDQ_TRT_FINE && log.reason[0] != '\0') || strchr(log.reason, '\n') != NULL)
        abort();
    if (qdq_trt_times_parse((const char *)data, size, log.major, log.minor, 200, &arena, &ms, &n,
                            &err) == QDQ_OK)
        for (size_t i = 0; i < n; i++)
            if (!isfinite(ms[i]) || ms[i] < 0)
                abort();
    if (qdq_trt_help_options((const char *)data, size, &arena, &n) == NULL)
        abort();
    qdq_arena_free(&arena);
    return 0;
}
