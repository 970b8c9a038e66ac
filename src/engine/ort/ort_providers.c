/* ort_providers.c - other execution providers than the processor: "CUDA:device_id=0". What a
 * machine of ours has is the processor alone, so that of this file only its errors have been run:
 * it is kept small. Each session gets the providers in the order in which they were given; what
 * none of them takes, the processor computes. */
#include "engine/ort/ort_session.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/fail.h"

/* --- specs ------------------------------------------------------------------------------------ */

static const char ending[] = "ExecutionProvider";

/* Of "CUDA" in "CUDAExecutionProvider", and in "CUDA". */
static size_t short_size(const char *name)
{
    size_t n = strlen(name), cut = sizeof ending - 1;

    return n > cut && strcmp(name + n - cut, ending) == 0 ? n - cut : n;
}

static size_t key_size(const char *text)
{
    size_t n = 0;

    while (isalnum((unsigned char)text[n]) || text[n] == '_' || text[n] == '.' || text[n] == '-')
        n++;
    return n;
}

static bool is_pair(const char *text)
{
    size_t n = key_size(text);

    return n > 0 && text[n] == '=';
}

/* Values may hold commas ("trt_profile_min_shapes=x:1x3,y:1x4"): one separates only before the next
 * "key=". */
static char *end_of_pair(char *pair)
{
    char *end = strchr(pair, ',');

    while (end != NULL && !is_pair(end + 1))
        end = strchr(end + 1, ',');
    return end != NULL ? end : pair + strlen(pair);
}

static qdq_status read_pairs(const char *spec, char *text, qdq_ort_provider *p, qdq_arena *arena,
                             qdq_error *err)
{
    size_t room = 1;

    for (const char *c = text; *c != '\0'; c++)
        room += *c == ',';
    p->keys = qdq_arena_array(arena, room, sizeof *p->keys);
    p->values = qdq_arena_array(arena, room, sizeof *p->values);
    QDQ_NEED(p->keys != NULL && p->values != NULL, err);
    for (char *pair = text, *end; pair != NULL; pair = end) {
        size_t n = key_size(pair);
        if (!is_pair(pair))
            return qdq_fail(err, QDQ_E_USAGE,
                            "provider '%s': found '%s', expected NAME or NAME:key=value,...", spec,
                            pair);
        end = end_of_pair(pair);
        bool last = *end == '\0';
        *end = '\0';
        if (pair[n + 1] == '\0')
            return qdq_fail(err, QDQ_E_USAGE, "provider '%s': %s has no value", spec, pair);
        pair[n] = '\0';
        p->keys[p->n] = pair;
        p->values[p->n++] = pair + n + 1;
        end = last ? NULL : end + 1;
    }
    return QDQ_OK;
}

qdq_status qdq_ort_provider_parse(const char *spec, qdq_arena *arena, qdq_ort_provider *out,
                                  qdq_error *err)
{
    char *text = qdq_arena_strdup(arena, spec);

    *out = (qdq_ort_provider){0};
    QDQ_NEED(text != NULL, err);
    size_t n = strcspn(text, ":");
    bool has_pairs = text[n] == ':';
    text[n] = '\0';
    text[short_size(text)] = '\0';
    if (text[0] == '\0' || text[strcspn(text, "=, ")] != '\0')
        return qdq_fail(err, QDQ_E_USAGE, "provider '%s': expected NAME or NAME:key=value,...",
                        spec);
    out->name = text;
    return has_pairs ? read_pairs(spec, text + n + 1, out, arena, err) : QDQ_OK;
}

/* --- what the library has --------------------------------------------------------------------- */

/* Its functions write TensorRT where its list has Tensorrt. */
static bool is_name(const char *listed, const char *name)
{
    return short_size(listed) == strlen(name) && strncasecmp(listed, name, strlen(name)) == 0;
}

/* What it says it was built with. Whether the libraries of a provider can be loaded, only a session
 * tells. */
static qdq_status check_there(const qdq_ort_api *api, const qdq_ort_provider *p, qdq_error *err)
{
    qdq_buf known = QDQ_BUF_INIT(2000);
    char **list = NULL;
    bool there = false;
    int n = 0;

    QDQ_TRY(qdq_ort_check(api, QDQ_ORT(api, GetAvailableProviders)(&list, &n), "providers", err));
    for (int i = 0; i < n; i++) {
        there = there || is_name(list[i], p->name);
        qdq_buf_printf(&known, "%s%.*s", i > 0 ? ", " : "", (int)short_size(list[i]), list[i]);
    }
    qdq_status st = QDQ_OK;
    if (!there)
        st = qdq_fail(err, QDQ_E_ENGINE, "%s has no provider '%s': found %s", api->path, p->name,
                      known.failed || known.size == 0 ? "none" : known.data);
    qdq_buf_free(&known);
    qdq_status released =
        qdq_ort_check(api, QDQ_ORT(api, ReleaseAvailableProviders)(list, n), "providers", NULL);
    return st != QDQ_OK ? st : released;
}

qdq_status qdq_ort_providers_read(const qdq_ort_api *api, const char *const *specs,
                                  qdq_arena *arena, qdq_ort_provider **out, size_t *n,
                                  qdq_error *err)
{
    *n = 0;
    while (specs[*n] != NULL)
        ++*n;
    *out = qdq_arena_array(arena, *n + 1, sizeof **out);
    QDQ_NEED(*out != NULL, err);
    for (size_t i = 0; i < *n; i++) {
        QDQ_TRY(qdq_ort_provider_parse(specs[i], arena, &(*out)[i], err));
        QDQ_TRY(check_there(api, &(*out)[i], err));
    }
    return QDQ_OK;
}

/* --- sessions --------------------------------------------------------------------------------- */

/* These two have options of their own kind; the library copies them. */
static ort_status *append_cuda(const qdq_ort_api *api, ort_session_options *o,
                               const qdq_ort_provider *p)
{
    ort_provider_options *cuda = NULL;
    ort_status *status = QDQ_ORT(api, CreateCUDAProviderOptions)(&cuda);

    if (status == NULL && p->n > 0)
        status = QDQ_ORT(api, UpdateCUDAProviderOptions)(cuda, p->keys, p->values, p->n);
    if (status == NULL)
        status = QDQ_ORT(api, SessionOptionsAppendExecutionProvider_CUDA_V2)(o, cuda);
    QDQ_ORT(api, ReleaseCUDAProviderOptions)(cuda);
    return status;
}

static ort_status *append_tensorrt(const qdq_ort_api *api, ort_session_options *o,
                                   const qdq_ort_provider *p)
{
    ort_provider_options *trt = NULL;
    ort_status *status = QDQ_ORT(api, CreateTensorRTProviderOptions)(&trt);

    if (status == NULL && p->n > 0)
        status = QDQ_ORT(api, UpdateTensorRTProviderOptions)(trt, p->keys, p->values, p->n);
    if (status == NULL)
        status = QDQ_ORT(api, SessionOptionsAppendExecutionProvider_TensorRT_V2)(o, trt);
    QDQ_ORT(api, ReleaseTensorRTProviderOptions)(trt);
    return status;
}

qdq_status qdq_ort_provider_append(const qdq_ort_api *api, ort_session_options *o,
                                   const qdq_ort_provider *p, qdq_error *err)
{
    ort_status *status = NULL;

    if (strcasecmp(p->name, "CUDA") == 0)
        status = append_cuda(api, o, p);
    else if (strcasecmp(p->name, "TensorRT") == 0)
        status = append_tensorrt(api, o, p);
    else if (strcasecmp(p->name, "CPU") != 0) /* it is there in any case, and last */
        status = QDQ_ORT(api, SessionOptionsAppendExecutionProvider)(o, p->name, p->keys, p->values,
                                                                     p->n);
    qdq_status st = qdq_ort_check(api, status, p->name, err);
    return st == QDQ_OK ? st : qdq_within(err, st, "provider");
}
