/* trt_log.h - what trtexec prints: version, performance summary, warnings that make a measurement
 * less worth, and why it failed; and the file of `--exportTimes`. Pure: texts in, numbers out. */
#ifndef QDQ_TRT_LOG_H
#define QDQ_TRT_LOG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

/* What lets a measurement be trusted less. */
enum {
    /* the host is too slow to feed the device */
    QDQ_TRT_ENQUEUE_BOUND = 1,
    /* coefficient of variance above 2.5 % */
    QDQ_TRT_UNSTABLE = 2,
    /* by copies to and from the device */
    QDQ_TRT_TRANSFER_BOUND = 4,
    /* CUDA graph capture failed: not to be compared with runs that have one */
    QDQ_TRT_NO_GRAPH = 8,
    /* layers ran beside each other: their times do not add up */
    QDQ_TRT_AUX_STREAMS = 16,
    /* not all layers have a time */
    QDQ_TRT_PROFILE_LOST = 32,
    /* dynamic dimensions without a shape were timed at 1 */
    QDQ_TRT_SHAPE_ASSUMED = 64
};

/* Why it failed, by its words. */
typedef enum qdq_trt_failure {
    QDQ_TRT_FINE,
    /* an option that this version has not, or a wrong value */
    QDQ_TRT_ARGUMENTS,
    /* the model file is not understood: infeasible */
    QDQ_TRT_PARSE,
    /* shapes and profiles */
    QDQ_TRT_NETWORK,
    /* no kernel: infeasible */
    QDQ_TRT_BUILDER,
    /* while it loaded or ran an engine */
    QDQ_TRT_RUNTIME,
    /* 11.1: outputs differ from references */
    QDQ_TRT_ACCURACY,
    /* transient: worth another try with the device idle */
    QDQ_TRT_MEMORY,
    /* an error that we do not know */
    QDQ_TRT_OTHER
} qdq_trt_failure;

const char *qdq_trt_failure_name(qdq_trt_failure f); /* "fine", "arguments", ... */

/* Is this message of the engine ("trtexec failed with exit code 1 (runtime): ...") of a failure
 * that is not the model's? Of texts that name no class of failure: no. */
bool qdq_trt_is_machine_failure(const char *message);

enum { QDQ_TRT_MAX_UNKNOWN = 16 };

typedef struct qdq_trt_log {
    /* -1: it does not say */
    int major, minor, patch;
    /* the banners at the end */
    bool passed, failed;
    /* medians of the summary; NAN: missing */
    double compute_ms, latency_ms;
    bool has_summary;
    /* 7 to 10: no summary, because a profile was asked for in the same run */
    bool profiler_attached;
    /* QDQ_TRT_... above */
    unsigned trust;
    qdq_trt_failure failure;
    /* the line that says it, without its head; "" */
    char reason[300];
    size_t n_unknown;
    /* refused options, with their values: "--separateProfileRun" */
    char unknown[QDQ_TRT_MAX_UNKNOWN][120];
} qdq_trt_log;

#define QDQ_TRT_LOG_INIT                                                                           \
    {                                                                                              \
        .major = -1, .minor = -1, .patch = -1, .compute_ms = NAN, .latency_ms = NAN                \
    }

/* Adds what a stream says; call it for stdout, then stderr. */
void qdq_trt_log_read(qdq_trt_log *log, const char *text, size_t size);

/* Compute times in ms of the exported times, in order; those before warm_up_ms are left out if the
 * version (0: unknown) has warm-up runs among them. QDQ_E_FORMAT: no times in there, as in those
 * of 7.x. */
qdq_status qdq_trt_times_parse(const char *text, size_t size, int major, int minor,
                               double warm_up_ms, qdq_arena *arena, double **out, size_t *n,
                               qdq_error *err);

/* The options that `--help` lists, as text: "--onnx", "--saveEngine", ...; ends with NULL. NULL:
 * out of memory. */
const char *const *qdq_trt_help_options(const char *text, size_t size, qdq_arena *arena, size_t *n);

#endif /* QDQ_TRT_LOG_H */
