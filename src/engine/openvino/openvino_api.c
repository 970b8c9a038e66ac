/* openvino_api.c - finds, loads and proves an OpenVINO library. Knows nothing of models or
 * sessions. */
#include "engine/openvino/openvino_api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "engine/find_library.h"

/* --- types ------------------------------------------------------------------------------------ */

/* ov_element_type_e of openvino/c/ov_common.h, 2025 and newer; before, one more number stood in
 * front. */
static const struct {
    qdq_elem elem;
    int type;
} types[] = {{QDQ_BOOL, 1},    {QDQ_BFLOAT16, 2},      {QDQ_FLOAT16, 3},    {QDQ_FLOAT, 4},
             {QDQ_DOUBLE, 5},  {QDQ_INT8, 7},          {QDQ_INT16, 8},      {QDQ_INT32, 9},
             {QDQ_INT64, 10},  {QDQ_UINT8, 16},        {QDQ_UINT16, 17},    {QDQ_UINT32, 18},
             {QDQ_UINT64, 19}, {QDQ_FLOAT8E4M3FN, 21}, {QDQ_FLOAT8E5M2, 22}};

qdq_elem qdq_ov_elem_from(int type)
{
    for (size_t i = 0; i < QDQ_COUNT(types); i++)
        if (types[i].type == type)
            return types[i].elem;
    return QDQ_UNDEFINED;
}

int qdq_ov_elem_to(qdq_elem e)
{
    for (size_t i = 0; i < QDQ_COUNT(types); i++)
        if (types[i].elem == e)
            return types[i].type;
    return -1;
}

/* --- proving a library ------------------------------------------------------------------------ */

/* A tensor of each type has the bytes that it should have: other numbers of types show here, not in
 * wrong results. */
static bool types_agree(const qdq_ov_api *api)
{
    int64_t dim = 3;
    ov_shape shape = {1, &dim};
    bool good = true;

    for (size_t i = 0; good && i < QDQ_COUNT(types); i++) {
        ov_tensor *t = NULL;
        size_t bytes = 0, want;
        int type = -1;
        good = api->tensor_create(types[i].type, shape, &t) == 0 && t != NULL &&
               api->tensor_get_byte_size(t, &bytes) == 0 &&
               api->tensor_get_element_type(t, &type) == 0 &&
               qdq_elem_bytes(types[i].elem, dim, &want) && bytes == want && type == types[i].type;
        if (t != NULL)
            api->tensor_free(t);
    }
    return good;
}

static qdq_status read_version(qdq_ov_api *api, qdq_error *err)
{
    ov_version v = {NULL, NULL};
    unsigned year = 0, minor = 0, patch = 0;
    char text[100];

    if (api->get_openvino_version(&v) != 0 || v.build == NULL)
        return qdq_fail(err, QDQ_E_ENGINE, "%s: reports no version; expected YEAR.N.P", api->path);
    snprintf(text, sizeof text, "%s", v.build);
    api->version_free(&v);
    if (sscanf(text, "%4u.%4u.%4u", &year, &minor, &patch) < 2)
        return qdq_fail(err, QDQ_E_ENGINE, "%s reports version '%s': expected YEAR.N.P", api->path,
                        text);
    snprintf(api->version, sizeof api->version, "%u.%u.%u", year, minor, patch);
    if (year < QDQ_OV_MIN_YEAR)
        return qdq_fail(err, QDQ_E_ENGINE, "%s is OpenVINO %s: expected %d.0 or newer", api->path,
                        api->version, QDQ_OV_MIN_YEAR);
    return QDQ_OK;
}

static qdq_status find_functions(qdq_ov_api *api, qdq_error *err)
{
    union { /* ISO C has no conversion from the object pointer of dlsym to a function pointer */
        void *object;
        void (*function)(void);
    } entry;
    Dl_info where;

    entry.object = dlsym(api->handle, "ov_get_openvino_version");
    if (entry.object == NULL)
        return qdq_fail(err, QDQ_E_ENGINE,
                        "%s is no OpenVINO library: it has no ov_get_openvino_version (wanted: "
                        "libopenvino_c.so)",
                        api->path);
    if (dladdr(entry.object, &where) != 0 && where.dli_fname != NULL)
        snprintf(api->path, sizeof api->path, "%s", where.dli_fname);
#define F(name, result, parameters)                                                                \
    entry.object = dlsym(api->handle, "ov_" #name);                                                \
    if (entry.object == NULL)                                                                      \
        return qdq_fail(err, QDQ_E_ENGINE, "%s has no %s: expected OpenVINO %d.0 or newer",        \
                        api->path, "ov_" #name, QDQ_OV_MIN_YEAR);                                  \
    api->name = (result(*) parameters)entry.function;
    QDQ_OV_LIST(F)
#undef F
    return QDQ_OK;
}

static qdq_status prove(qdq_ov_api *api, qdq_error *err)
{
    QDQ_TRY(find_functions(api, err));
    QDQ_TRY(read_version(api, err));
    if (!types_agree(api))
        return qdq_fail(err, QDQ_E_ENGINE,
                        "%s: OpenVINO %s numbers element types in another way than expected",
                        api->path, api->version);
    return QDQ_OK;
}

static qdq_status load_file(void *ctx, const char *path, qdq_error *err)
{
    qdq_ov_api *api = ctx;

    memset(api, 0, sizeof *api);
    QDQ_TRY(qdq_library_open(path, &api->handle, err));
    snprintf(api->path, sizeof api->path, "%s", path);
    qdq_status st = prove(api, err);
    if (st != QDQ_OK) {
        dlclose(api->handle);
        memset(api, 0, sizeof *api);
    }
    return st;
}

qdq_status qdq_ov_api_load(qdq_ov_api *api, const char *arg, const qdq_engine_opts *opts,
                           qdq_error *err)
{
    static const char *const plain[] = {"libopenvino_c.so", NULL};
    const qdq_library_search s = {
        .named = arg != NULL ? arg : opts->openvino_library,
        .search_dirs = opts->search_dirs,
        .stem = "libopenvino_c.so",
        .plain = plain,
        .engine = "OpenVINO",
        .advice = "'pip install openvino' brings one; name its openvino/libs/libopenvino_c.so.*, "
                  "or that of a release, with --openvino-library",
        .load = load_file,
        .api = api};

    return qdq_library_find(&s, err);
}

/* --- statuses --------------------------------------------------------------------------------- */

/* What the library says begins with the place in its own sources, often several of them: "Exception
 * from src/inference/src/cpp/core.cpp:121: Check 'x' failed at src/...:12: the reason". Users want
 * the reason. */
static const char *behind_places(const char *text)
{
    static const char head[] = "Exception from src/";

    while (strncmp(text, head, sizeof head - 1) == 0) {
        const char *end = strstr(text, ": ");
        if (end == NULL || end[2] == '\0')
            break;
        text = end + 2;
    }
    return text;
}

qdq_status qdq_ov_check(const qdq_ov_api *api, int status, const char *what, qdq_error *err)
{
    char text[800];

    if (status == 0)
        return QDQ_OK;
    /* A wrong call has no message of its own: what could be read then is that of an earlier
     * error. */
    bool wrong_call = status <= QDQ_OV_INVALID_C_PARAM && status > QDQ_OV_UNKNOWN_EXCEPTION;
    const char *message = wrong_call ? NULL : api->get_last_err_msg();
    const char *kind = api->get_error_info(status);
    qdq_engine_one_line(text, sizeof text, message != NULL ? message : "");
    if (message != NULL)
        api->free(message);
    if (text[0] == '\0')
        qdq_engine_one_line(text, sizeof text, kind != NULL ? kind : "no reason is given");
    return qdq_fail(err, QDQ_E_ENGINE, "%s: %s", what, behind_places(text));
}
