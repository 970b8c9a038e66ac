/* ort_weights.c - the model as ONNX Runtime shall get it, with weights by reference where that
 * works.
 *
 * ORT 1.21 and newer resolve external data of a model in memory against a folder that is a session
 * option, and map what they find. So every tensor whose raw bytes lie in a file that is mapped
 * here, be it external data or the model file itself, is written as a reference into that file,
 * with the folder that all such files have in common. Nothing is copied, no file is made, and the
 * pages are shared with our own mapping. */
#include "engine/ort/ort_session.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fail.h"
#include "base/map.h"
#include "onnx/onnx_io.h"

enum { MIN_EXTERNAL_BYTES = 1024 }; /* ORT wants shapes and other small constants inline */

typedef struct referrer {
    /* mappings that may be referred to, by address */
    qdq_map files;
    /* with a slash at its end; "" before the first file */
    char folder[4096];
} referrer;

/* The path may have got another file since it was mapped: what is mapped counts. */
static bool is_same_file(const qdq_mapping *map)
{
    struct stat mapped, now;

    return fstat(qdq_mapping_fd(map), &mapped) == 0 && stat(qdq_mapping_path(map), &now) == 0 &&
           mapped.st_dev == now.st_dev && mapped.st_ino == now.st_ino &&
           mapped.st_size == now.st_size;
}

/* Shortens the folder until it holds the file as well. False for what is no absolute path, or is
 * too long. */
static bool widen_folder(referrer *r, const char *path)
{
    size_t n = 0, end = 0;

    if (path[0] != '/' || strlen(path) >= sizeof r->folder)
        return false;
    if (r->folder[0] == '\0')
        snprintf(r->folder, sizeof r->folder, "%s", path);
    for (; path[n] != '\0' && path[n] == r->folder[n]; n++)
        if (path[n] == '/')
            end = n + 1;
    r->folder[end] = '\0';
    return true;
}

static qdq_status add_files(referrer *r, const qdq_model *m, const qdq_job *job, qdq_error *err)
{
    for (size_t i = 0; i < m->mappings.n; i++) {
        const qdq_mapping *map = m->mappings.at[i];
        const char *path = qdq_mapping_path(map);
        if (path == NULL)
            continue;
        if (!is_same_file(map)) {
            qdq_job_log(job, QDQ_LOG_INFO, "%s was replaced: its weights are copied to onnxruntime",
                        path);
            continue;
        }
        if (!widen_folder(r, path))
            continue;
        QDQ_NEED(qdq_map_put_int(&r->files, (uint64_t)(uintptr_t)map, NULL) != NULL, err);
    }
    return QDQ_OK;
}

static bool refer(void *ctx, const qdq_tensor *t, bool is_init, qdq_onnx_ref *ref)
{
    const referrer *r = ctx;

    if (!is_init || t->storage != QDQ_STORE_BYTES || t->bytes.size < MIN_EXTERNAL_BYTES ||
        t->owner == NULL || qdq_map_get_int(&r->files, (uint64_t)(uintptr_t)t->owner) == NULL)
        return false;
    ref->location = qdq_mapping_path(t->owner) + strlen(r->folder);
    ref->offset = (uint64_t)(t->bytes.data - qdq_mapping_data(t->owner));
    ref->length = t->bytes.size;
    return true;
}

/* Looked at before writing: gigabytes need not be copied to be refused. The length is narrowed to
 * int inside ORT, and protobuf stops there too. */
static qdq_status check_size(referrer *r, const qdq_model *m, qdq_error *err)
{
    size_t inline_bytes = 0;

    for (size_t g = 0; g < m->graphs.n; g++) {
        const qdq_graph *graph = m->graphs.at[g];
        for (size_t i = 0; i < graph->inits.n; i++) {
            const qdq_value *v = graph->inits.at[i];
            qdq_onnx_ref ignored;
            if (!v->dead && v->init != NULL && !refer(r, v->init, true, &ignored))
                inline_bytes +=
                    v->init->storage == QDQ_STORE_BYTES ? v->init->bytes.size : v->init->wire.size;
        }
    }
    if (inline_bytes > INT_MAX)
        return qdq_fail(
            err, QDQ_E_UNSUPPORTED,
            "%zu bytes of weights would have to be inside the model: onnxruntime takes %d at most",
            inline_bytes, INT_MAX);
    return QDQ_OK;
}

static qdq_status write_model(referrer *r, const qdq_model *m, qdq_ort_model *out, qdq_error *err)
{
    qdq_buf b = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
    const qdq_onnx_write_opts opts = {.external = r->files.n_live > 0 ? refer : NULL, .ctx = r};

    QDQ_TRY(check_size(r, m, err));
    qdq_status st = qdq_onnx_write_to_buf(m, &opts, &b, err);
    size_t size = b.size;
    if (st == QDQ_OK && size > INT_MAX)
        st = qdq_fail(err, QDQ_E_UNSUPPORTED,
                      "the model takes %zu bytes: onnxruntime takes %d at most", size, INT_MAX);
    if (st != QDQ_OK) {
        qdq_buf_free(&b);
        return st;
    }
    out->size = size;
    out->bytes = qdq_buf_take(&b);
    return out->bytes != NULL ? QDQ_OK : qdq_nomem(err);
}

qdq_status qdq_ort_model_bytes(const qdq_ort_api *api, const qdq_model *m, const qdq_job *job,
                               qdq_ort_model *out, qdq_error *err)
{
    referrer r = {0};
    qdq_status st = QDQ_OK;

    memset(out, 0, sizeof *out);
    if (qdq_ort_has(api, 21))
        st = add_files(&r, m, job, err);
    if (st == QDQ_OK)
        st = write_model(&r, m, out, err);
    if (st == QDQ_OK) {
        memcpy(out->folder, r.folder, sizeof out->folder);
        if (!qdq_ort_has(api, 21))
            qdq_job_log(job, QDQ_LOG_INFO,
                        "onnxruntime %s gets a copy of all weights (1.21 maps them)", api->version);
    }
    qdq_map_free(&r.files);
    return st;
}
