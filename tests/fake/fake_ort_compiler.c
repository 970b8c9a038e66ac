/* fake_ort_compiler.c - ONNX Runtime as it is with an execution provider that compiles nodes: the
 * library that FAKE_ORT_REAL names, but no session that shall write its optimized model can be
 * made. */
#include <dlfcn.h>
#include <stdlib.h>

#include "engine/ort/ort_api.h"

struct base {
    const qdq_ort_fn *(*get_api)(uint32_t version);
    const char *(*get_version)(void);
};

const struct base *OrtGetApiBase(void);

static const qdq_ort_fn *real;
static const ort_session_options *writes;

static ort_status *set_path(ort_session_options *o, const char *path)
{
    writes = o;
    return ((qdq_ort_pf_SetOptimizedModelFilePath)real[QDQ_ORT_I_SetOptimizedModelFilePath])(o,
                                                                                             path);
}

static ort_status *create_session(const ort_env *env, const void *bytes, size_t size,
                                  const ort_session_options *o, ort_session **out)
{
    if (o == writes)
        return ((qdq_ort_pf_CreateStatus)real[QDQ_ORT_I_CreateStatus])(
            1,
            "Unable to serialize model as it contains compiled nodes. Please disable any execution "
            "providers which generate compiled nodes.");
    return ((qdq_ort_pf_CreateSessionFromArray)real[QDQ_ORT_I_CreateSessionFromArray])(
        env, bytes, size, o, out);
}

static void release_options(ort_session_options *o)
{
    writes = o == writes ? NULL : writes;
    ((qdq_ort_pf_ReleaseSessionOptions)real[QDQ_ORT_I_ReleaseSessionOptions])(o);
}

static const struct base *real_base(void)
{
    union {
        void *object;
        const struct base *(*get)(void);
    } entry = {NULL};
    const char *path = getenv("FAKE_ORT_REAL");
    void *handle = path != NULL ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;

    entry.object = handle != NULL ? dlsym(handle, "OrtGetApiBase") : NULL;
    return entry.get != NULL ? entry.get() : NULL;
}

/* Nobody knows how long the real table is: what is called is what there is. */
static const qdq_ort_fn *get_api(uint32_t version)
{
    static qdq_ort_fn table[500];

    real = real_base()->get_api(version);
    if (real == NULL)
        return NULL;
#define F(i, n, r, p)                                                                              \
    if ((i) <= 265 || ((i) == 266 && version >= 17) || ((i) == 390 && version >= 24))              \
        table[i] = real[i];
    QDQ_ORT_LIST(F)
#undef F
    table[QDQ_ORT_I_SetOptimizedModelFilePath] = (qdq_ort_fn)set_path;
    table[QDQ_ORT_I_CreateSessionFromArray] = (qdq_ort_fn)create_session;
    table[QDQ_ORT_I_ReleaseSessionOptions] = (qdq_ort_fn)release_options;
    return table;
}

static const char *get_version(void)
{
    return real_base()->get_version();
}

const struct base *OrtGetApiBase(void)
{
    static const struct base base = {get_api, get_version};

    return real_base() != NULL ? &base : NULL;
}
