/* trt_files.c - layers of an engine that TensorRT built elsewhere, from the files that trtexec left. */
#include <stdlib.h>

#include "base/fail.h"
#include "base/file.h"
#include "engine/trt/trt_result.h"

enum { MAX_FILE = 1 << 30 };

static qdq_status read_layers(const char *path, qdq_arena *arena, qdq_trt_layers *out, qdq_error *err)
{
    char *text;
    size_t size;

    QDQ_TRY(qdq_read_file(path, MAX_FILE, &text, &size, err));
    qdq_status st = qdq_trt_layers_parse(text, size, 0, arena, out, err);
    qdq_free(text);
    return st == QDQ_OK ? st : qdq_within(err, st, "%s", path);
}

static qdq_status read_profile(const char *path, qdq_arena *arena, qdq_trt_profile *out, qdq_error *err)
{
    char *text;
    size_t size;

    QDQ_TRY(qdq_read_file(path, MAX_FILE, &text, &size, err));
    qdq_status st = qdq_trt_profile_parse(text, size, arena, out, err);
    qdq_free(text);
    return st == QDQ_OK ? st : qdq_within(err, st, "%s", path);
}

qdq_status qdq_groups_read(const qdq_model *m, const char *layers, const char *profile, const qdq_job *job,
                           qdq_group **out, size_t *n, qdq_error *err)
{
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_trt_layers l = {0};
    qdq_trt_profile p = {0};

    *out = NULL;
    *n = 0;
    qdq_status st = read_layers(layers, &arena, &l, err);
    if (st == QDQ_OK && profile != NULL)
        st = read_profile(profile, &arena, &p, err);
    if (st == QDQ_OK) {
        st = qdq_trt_make_groups(&l, profile != NULL ? &p : NULL, m->graph, job, out, n, err);
        if (st != QDQ_OK)
            qdq_within(err, st, "%s", layers);
    }
    qdq_arena_free(&arena);
    return st;
}
