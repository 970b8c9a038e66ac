/* trt_exports.c - files that trtexec exports, read and parsed. */
#include "base/fail.h"
#include "base/file.h"
#include "engine/trt/trt_log.h"
#include "engine/trt/trt_result.h"

enum { MAX_FILE = 256 << 20, WARM_UP_MS = 200 };

qdq_status qdq_trt_times_read(const char *path, int major, int minor, qdq_arena *arena, double **ms,
                              size_t *n, qdq_error *err)
{
    char *text = NULL;
    size_t size;

    QDQ_TRY(qdq_read_file(path, MAX_FILE, &text, &size, err));
    qdq_status st = qdq_trt_times_parse(text, size, major, minor, WARM_UP_MS, arena, ms, n, err);
    qdq_free(text);
    return st;
}

qdq_status qdq_trt_profile_read(const char *path, qdq_arena *arena, qdq_trt_profile *out,
                                qdq_error *err)
{
    char *text = NULL;
    size_t size;

    QDQ_TRY(qdq_read_file(path, MAX_FILE, &text, &size, err));
    qdq_status st = qdq_trt_profile_parse(text, size, arena, out, err);
    qdq_free(text);
    return st;
}

qdq_status qdq_trt_layers_read(const char *path, qdq_arena *arena, qdq_trt_layers *out,
                               qdq_error *err)
{
    char *text = NULL;
    size_t size;

    QDQ_TRY(qdq_read_file(path, MAX_FILE, &text, &size, err));
    qdq_status st = qdq_trt_layers_parse(text, size, 0, arena, out, err);
    qdq_free(text);
    return st;
}
