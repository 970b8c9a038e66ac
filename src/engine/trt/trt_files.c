/* trt_files.c - layers of an engine that was built elsewhere or before, from the files that trtexec
 * left, or ours. */

#include "base/fail.h"
#include "base/file.h"
#include "engine/layer_file.h"
#include "engine/trt/trt_result.h"

enum { MAX_FILE = 1 << 30 };

static qdq_status read_exported(const qdq_model *m, const char *text, size_t size,
                                const char *profile, const qdq_job *job, qdq_arena *arena,
                                qdq_layer **out, size_t *n, qdq_error *err)
{
    qdq_trt_layers l = {0};
    qdq_trt_profile p = {0};

    QDQ_TRY(qdq_trt_layers_parse(text, size, 0, arena, &l, err));
    if (profile != NULL) {
        qdq_status st = qdq_trt_profile_read(profile, arena, &p, err);
        if (st != QDQ_OK)
            return qdq_within(err, st, "%s", profile);
    }
    return qdq_trt_make_groups(&l, profile != NULL ? &p : NULL, m->graph, job, out, n, err);
}

qdq_status qdq_layers_read(const qdq_model *m, const char *layers, const char *profile,
                           const qdq_job *job, qdq_layer **out, size_t *n, qdq_error *err)
{
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_status st;
    char *text;
    size_t size;

    *out = NULL;
    *n = 0;
    QDQ_TRY(qdq_read_file(layers, MAX_FILE, &text, &size, err));
    if (!qdq_layer_file_is(text, size)) {
        st = read_exported(m, text, size, profile, job, &arena, out, n, err);
        if (st != QDQ_OK)
            qdq_within(err, st, "%s", layers);
    } else if (profile != NULL) {
        st = qdq_fail(err, QDQ_E_USAGE, "%s: has times itself, expected no profile beside it",
                      layers);
    } else {
        st = qdq_layer_file_parse(text, size, layers, out, n, err);
    }
    qdq_free(text);
    qdq_arena_free(&arena);
    return st;
}
