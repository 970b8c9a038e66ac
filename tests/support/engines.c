/* engines.c - one ONNX Runtime for the whole test program. */
#include "support/test.h"

static qdq_engine *ort;

static void close_ort(void)
{
    qdq_engine_close(ort);
    ort = NULL;
}

qdq_engine *test_ort(void)
{
    static const char *const dirs[] = {QDQ_BUILD_DIR "/ort", QDQ_SOURCE_DIR "/build/ort", NULL};
    qdq_engine_opts opts = QDQ_ENGINE_OPTS_INIT;
    qdq_error err = QDQ_ERROR_INIT;

    if (ort != NULL)
        return ort;
    opts.ort_library = getenv("QDQ_ORT_LIBRARY");
    opts.search_dirs = dirs;
    if (qdq_engine_open("ort", &opts, &ort, &err) != QDQ_OK) {
        fprintf(stderr, "%s\n", err.text);
        return NULL;
    }
    atexit(close_ort);
    return ort;
}
