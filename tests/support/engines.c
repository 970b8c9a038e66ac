/* engines.c - one engine of each kind for the whole test program. */
#include "base/cpu.h"
#include "support/test.h"

static qdq_engine *ort, *openvino;

static void close_engines(void)
{
    qdq_engine_close(ort);
    qdq_engine_close(openvino);
    ort = openvino = NULL;
}

static const char *from_environment(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && *value != '\0' ? value : NULL;
}

/* As programs have to that use the library. */
static void set_environment(const char *spec, const qdq_engine_opts *opts)
{
    const char *need = qdq_engine_environment(spec, opts);
    char name[100];

    if (need == NULL)
        return;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(need, "="), need);
    assert_int_equal(setenv(name, need + strcspn(need, "=") + 1, 1), 0);
}

static qdq_engine *open_once(const char *spec, qdq_engine **e)
{
    static const char *const dirs[] = {QDQ_BUILD_DIR "/ort", QDQ_SOURCE_DIR "/build/ort",
                                       QDQ_BUILD_DIR "/openvino", QDQ_SOURCE_DIR "/build/openvino",
                                       NULL};
    qdq_engine_opts opts = QDQ_ENGINE_OPTS_INIT;
    qdq_error err = QDQ_ERROR_INIT;

    if (*e != NULL)
        return *e;
    opts.ort_library = from_environment("QDQ_ORT_LIBRARY");
    opts.openvino_library = from_environment("QDQ_OPENVINO_LIBRARY");
    opts.search_dirs = dirs;
    opts.worker = QDQ_BUILD_DIR "/qdq-worker";
    set_environment(spec, &opts);
    if (qdq_engine_open(spec, &opts, e, &err) != QDQ_OK) {
        fprintf(stderr, "%s\n", err.text);
        return NULL;
    }
    atexit(close_engines); /* each time: before the library that was just loaded tidies up */
    return *e;
}

qdq_engine *test_ort(void)
{
    return open_once("ort", &ort);
}

qdq_engine *test_openvino(void)
{
    return open_once("openvino", &openvino);
}

qdq_engine *need_ort(void)
{
    qdq_engine *e = test_ort();

    if (e == NULL)
        test_missing("ONNX Runtime");
    return e;
}

qdq_engine *need_openvino(void)
{
    qdq_engine *e = test_openvino();

    if (e == NULL)
        test_missing("OpenVINO (scripts/setup.sh --with-openvino)");
    return e;
}

bool test_saturates(void)
{
    return qdq_cpu_saturates(qdq_cpu_detect());
}
