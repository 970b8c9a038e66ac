/* ort_api.c - finds, loads and proves an ONNX Runtime library. Knows nothing of models or
 * sessions. */
#include "engine/ort/ort_api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "engine/find_library.h"

_Static_assert(sizeof(qdq_ort_fn) == sizeof(void *), "one table slot is one pointer");

typedef struct ort_base {
    const qdq_ort_fn *(*get_api)(uint32_t version);
    const char *(*get_version)(void);
} ort_base;

/* --- proving a library ------------------------------------------------------------------------ */

/* Creates and reads back a status: a wrong table shows here, not in the middle of a run. */
static bool smoke_test(const qdq_ort_api *api)
{
    ort_status *s = QDQ_ORT(api, CreateStatus)(1, "x");

    if (s == NULL)
        return false;
    bool good =
        QDQ_ORT(api, GetErrorCode)(s) == 1 && strcmp(QDQ_ORT(api, GetErrorMessage)(s), "x") == 0;
    QDQ_ORT(api, ReleaseStatus)(s);
    return good;
}

static qdq_status read_version(qdq_ort_api *api, const char *text, qdq_error *err)
{
    unsigned major = 0, minor = 0;

    if (text == NULL || sscanf(text, "%3u.%4u", &major, &minor) != 2)
        return qdq_fail(err, QDQ_E_ENGINE, "%s reports version '%s': expected 1.N.P", api->path,
                        text != NULL ? text : "");
    snprintf(api->version, sizeof api->version, "%s", text);
    api->minor = minor;
    if (major != 1)
        return qdq_fail(err, QDQ_E_ENGINE,
                        "%s is ONNX Runtime %s: expected version 1, of %d or newer", api->path,
                        api->version, QDQ_ORT_MIN_MINOR);
    if (minor < QDQ_ORT_MIN_MINOR)
        return qdq_fail(err, QDQ_E_ENGINE, "%s is ONNX Runtime %s: expected 1.%d or newer",
                        api->path, api->version, QDQ_ORT_MIN_MINOR);
    return QDQ_OK;
}

static qdq_status prove(qdq_ort_api *api, const char *name, qdq_error *err)
{
    Dl_info where;
    union { /* ISO C has no conversion from the object pointer of dlsym to a function pointer */
        void *object;
        const ort_base *(*get_base)(void);
    } entry;

    snprintf(api->path, sizeof api->path, "%s", name);
    entry.object = dlsym(api->handle, "OrtGetApiBase");
    if (entry.object == NULL)
        return qdq_fail(err, QDQ_E_ENGINE, "%s is no ONNX Runtime library: it has no OrtGetApiBase",
                        name);
    if (dladdr(entry.object, &where) != 0 && where.dli_fname != NULL)
        snprintf(api->path, sizeof api->path, "%s", where.dli_fname);

    const ort_base *base = entry.get_base();
    if (base == NULL)
        return qdq_fail(err, QDQ_E_ENGINE, "%s: OrtGetApiBase gave nothing", api->path);
    /* The version is read before the table is asked for: GetApi() writes to stderr when it
     * refuses. */
    QDQ_TRY(read_version(api, base->get_version(), err));
    api->table = base->get_api(api->minor < QDQ_ORT_KNOWN_MINOR ? api->minor : QDQ_ORT_KNOWN_MINOR);
    if (api->table == NULL)
        return qdq_fail(err, QDQ_E_ENGINE, "%s: ONNX Runtime %s does not give its own interface",
                        api->path, api->version);
    if (!smoke_test(api))
        return qdq_fail(err, QDQ_E_ENGINE,
                        "%s: ONNX Runtime %s has another function table than expected", api->path,
                        api->version);
    return QDQ_OK;
}

static qdq_status load_file(void *ctx, const char *path, qdq_error *err)
{
    qdq_ort_api *api = ctx;

    memset(api, 0, sizeof *api);
    QDQ_TRY(qdq_library_open(path, &api->handle, err));
    qdq_status st = prove(api, path, err);
    if (st != QDQ_OK) {
        dlclose(api->handle);
        memset(api, 0, sizeof *api);
    }
    return st;
}

qdq_status qdq_ort_api_load(qdq_ort_api *api, const char *arg, const qdq_engine_opts *opts,
                            qdq_error *err)
{
    static const char *const plain[] = {"libonnxruntime.so.1", "libonnxruntime.so", NULL};
    const qdq_library_search s = {
        .named = arg != NULL ? arg : opts->ort_library,
        .search_dirs = opts->search_dirs,
        .stem = "libonnxruntime.so",
        .plain = plain,
        .engine = "ONNX Runtime",
        .advice = "'pip install onnxruntime' brings one; name its "
                  "onnxruntime/capi/libonnxruntime.so.*, or that of a release from 1.19 on, with "
                  "--ort-library",
        .load = load_file,
        .api = api};

    return qdq_library_find(&s, err);
}

/* --- statuses, types, limits ------------------------------------------------------------------ */

qdq_status qdq_ort_check(const qdq_ort_api *api, ort_status *status, const char *what,
                         qdq_error *err)
{
    char text[800];

    if (status == NULL)
        return QDQ_OK;
    qdq_engine_one_line(text, sizeof text, QDQ_ORT(api, GetErrorMessage)(status));
    QDQ_ORT(api, ReleaseStatus)(status);
    return qdq_fail(err, QDQ_E_ENGINE, "%s: %s", what, text);
}

qdq_elem qdq_ort_elem_from(int ort_type)
{
    if (ort_type >= 0 && ort_type <= QDQ_FLOAT4E2M1)
        return (qdq_elem)ort_type;
    return ort_type == 24 ? QDQ_UINT2 : ort_type == 25 ? QDQ_INT2 : QDQ_UNDEFINED;
}

int qdq_ort_elem_to(const qdq_ort_api *api, qdq_elem e)
{
    if (e == QDQ_UINT2 || e == QDQ_INT2)
        return !qdq_ort_has(api, 24) ? 0 : e == QDQ_UINT2 ? 24 : 25;
    if (e == QDQ_UINT4 || e == QDQ_INT4)
        return qdq_ort_has(api, 19) ? (int)e : 0;
    return e < QDQ_UINT4 ? (int)e : 0; /* float4 and float8e8m0 have no tensors through 1.31 */
}

void qdq_ort_limits(unsigned minor, int *max_opset, int *max_ir)
{
    static const struct {
        unsigned minor;
        int opset, ir;
    } limits[] = {{25, 26, 13}, {24, 25, 13}, {23, 22, 11}, {21, 22, 10},
                  {18, 21, 10}, {17, 20, 9},  {0, 19, 9}};
    size_t i = 0;

    while (minor < limits[i].minor)
        i++;
    *max_opset = limits[i].opset;
    *max_ir = limits[i].ir;
}
