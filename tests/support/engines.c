/* engines.c - one engine of each kind for the whole test program. */
#include "base/cpu.h"
#include "base/file.h"
#include "base/sha256.h"
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

const char *test_sim_spec(const char *costs)
{
    static char spec[32][4300];
    static unsigned next;
    char *to = spec[next++ % QDQ_COUNT(spec)];
    qdq_error err = QDQ_ERROR_INIT;
    char name[33];

    qdq_sha256_name(costs, name);
    const char *path = test_path("%s_sim.json", name);
    assert_ok(qdq_write_file(path, true, costs, strlen(costs), &err));
    snprintf(to, sizeof spec[0], "sim:%s", path);
    return to;
}

qdq_engine *test_sim(const char *costs)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_engine *e = NULL;

    assert_ok(qdq_engine_open(test_sim_spec(costs), NULL, &e, &err));
    return e;
}

bool test_saturates(void)
{
    return qdq_cpu_saturates(qdq_cpu_detect());
}
