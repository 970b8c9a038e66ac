/* load.c - where the reader's bytes come from: a file, memory, or parts of both. It maps files and
 * never looks inside. */
#include "base/fail.h"
#include "base/opts.h"
#include "ir/edit.h"
#include "onnx/onnx_io.h"
#include "onnx/read.h"

#include <inttypes.h>
#include <string.h>

/* The folder that a file lies in, in the arena. */
static char *folder_of(qdq_arena *a, const char *path)
{
    const char *slash = strrchr(path, '/');

    if (slash == NULL)
        return qdq_arena_strdup(a, ".");
    return qdq_arena_strndup(a, path, slash == path ? 1 : (size_t)(slash - path));
}

/* What external data of these locations are, without a look into any folder. */
static qdq_status give_parts(qdq_reader *r, const qdq_onnx_part *parts, size_t n, qdq_error *err)
{
    for (size_t i = 0; i < n; i++) {
        qdq_map_value *place = qdq_map_put(&r->external, parts[i].location, NULL);

        QDQ_NEED(place != NULL && qdq_model_hold(r->m, qdq_mapping_ref(parts[i].map)), err);
        place->ptr = parts[i].map;
    }
    return QDQ_OK;
}

/* ONNX files begin with field 1, the IR version, in practice; the file is not even a list of
 * fields. */
static bool is_other_format(qdq_span bytes, qdq_status st, const qdq_error *err)
{
    static const char top[] = "ModelProto at byte ";

    return st == QDQ_E_FORMAT && err != NULL && strncmp(err->text, top, sizeof top - 1) == 0 &&
           (bytes.size == 0 || bytes.data[0] != 0x08);
}

/* The same of blocks, which the mappings borrow. */
static qdq_status give_blocks(qdq_reader *r, const qdq_load_opts *opts, qdq_error *err)
{
    for (size_t i = 0; i < opts->n_blocks; i++) {
        const qdq_block *b = &opts->blocks[i];
        qdq_mapping *map;
        qdq_map_value *place;
        bool is_new;

        QDQ_NEED((map = qdq_mapping_borrow(b->data, b->bytes)) != NULL, err);
        QDQ_NEED(qdq_model_hold(r->m, map) &&
                     (place = qdq_map_put(&r->external, b->location, &is_new)) != NULL,
                 err);
        if (!is_new)
            return qdq_fail(err, QDQ_E_USAGE, "two blocks '%s', expected one", b->location);
        place->ptr = map;
    }
    return QDQ_OK;
}

typedef struct load_from {
    qdq_mapping *file;
    /* of the model in it */
    size_t offset, size;
    const qdq_onnx_part *parts;
    size_t n_parts;
    /* as in qdq_reader */
    qdq_error *missing;
} load_from;

/* Takes over the caller's reference of the file. */
static qdq_status load_mapping(const load_from *from, const char *name, const qdq_load_opts *opts,
                               qdq_model **out, qdq_error *err)
{
    qdq_mapping *file = from->file;
    qdq_reader r = {
        .m = qdq_model_new(), .file = file, .external = QDQ_MAP_INIT, .missing = from->missing};
    qdq_span bytes = {from->size > 0 ? qdq_mapping_data(file) + from->offset : NULL, from->size};
    qdq_status st = QDQ_OK;

    if (r.m == NULL) {
        qdq_mapping_unref(file);
        return qdq_nomem(err);
    }
    r.in = (qdq_wire_in){bytes.data, &r.scratch, &r.m->arena};
    if (!qdq_model_hold(r.m, file) || (r.m->path = qdq_intern(r.m, name)) == NULL)
        st = qdq_nomem(err);
    if (opts != NULL && opts->external_dir != NULL)
        r.external_dir = opts->external_dir;
    else if (st == QDQ_OK && qdq_mapping_path(file) != NULL &&
             (r.external_dir = folder_of(&r.m->arena, qdq_mapping_path(file))) == NULL)
        st = qdq_nomem(err);
    if (st == QDQ_OK)
        st = give_parts(&r, from->parts, from->n_parts, err);
    if (st == QDQ_OK && opts != NULL)
        st = give_blocks(&r, opts, err);
    if (st == QDQ_OK)
        st = qdq_read_model(&r, bytes, err);
    qdq_map_free(&r.external);
    qdq_arena_free(&r.scratch);
    if (st != QDQ_OK) {
        const bool other = is_other_format(bytes, st, err); /* the model holds the file */
        qdq_model_free(r.m);
        return qdq_within(err, st, other ? "%s: not an ONNX model" : "%s", name);
    }
    *out = r.m;
    return QDQ_OK;
}

static qdq_status check_size(uint64_t size, const char *name, const qdq_load_opts *opts,
                             qdq_error *err)
{
    if (opts != NULL && opts->max_bytes != 0 && size > opts->max_bytes)
        return qdq_fail(err, QDQ_E_UNSUPPORTED,
                        "%s: %" PRIu64 " bytes, at most %" PRIu64 " are allowed", name, size,
                        opts->max_bytes);
    if (size == 0)
        return qdq_fail(err, QDQ_E_FORMAT, "%s: the file is empty, expected an ONNX model", name);
    return QDQ_OK;
}

static qdq_status read_opts(qdq_load_opts *to, const qdq_load_opts *from, qdq_error *err)
{
    QDQ_TRY(qdq_opts_read("qdq_load_opts", to, sizeof *to, from, err));
    for (size_t i = 0; i < sizeof to->reserved; i++)
        if (to->reserved[i] != 0)
            return qdq_fail(err, QDQ_E_USAGE, "qdq_load_opts.reserved: found %d, expected 0",
                            to->reserved[i]);
    return QDQ_OK;
}

static qdq_status load_file(const char *path, const qdq_load_opts *opts, qdq_error *missing,
                            qdq_model **out, qdq_error *err)
{
    qdq_load_opts own = QDQ_LOAD_OPTS_INIT;
    qdq_mapping *file;
    qdq_status st;

    *out = NULL;
    QDQ_TRY(read_opts(&own, opts, err));
    QDQ_TRY(qdq_mapping_open(path, &file, err));
    st = check_size(qdq_mapping_size(file), path, &own, err);
    if (st != QDQ_OK) {
        qdq_mapping_unref(file);
        return st;
    }
    const load_from all = {.file = file, .size = qdq_mapping_size(file), .missing = missing};
    return load_mapping(&all, path, &own, out, err);
}

qdq_status qdq_model_load(const char *path, const qdq_load_opts *opts, qdq_model **out,
                          qdq_error *err)
{
    return load_file(path, opts, NULL, out, err);
}

qdq_status qdq_model_inspect_file(const char *path, qdq_view view, const qdq_job *job, char **text,
                                  qdq_error *err)
{
    qdq_error missing = QDQ_ERROR_INIT;
    qdq_model *m;

    *text = NULL;
    QDQ_TRY(load_file(path, NULL, &missing, &m, err));
    if (missing.code != QDQ_OK)
        qdq_job_log(job, QDQ_LOG_WARNING,
                    "%s: external data: %s; only the sizes of tensors are known", path,
                    missing.text);
    const qdq_status st = qdq_model_inspect(m, view, text, err);
    qdq_model_free(m);
    return st;
}

qdq_status qdq_model_load_bytes(const void *data, size_t bytes, const char *name,
                                const qdq_load_opts *opts, qdq_model **out, qdq_error *err)
{
    qdq_load_opts own = QDQ_LOAD_OPTS_INIT;
    qdq_mapping *file;

    *out = NULL;
    QDQ_TRY(read_opts(&own, opts, err));
    QDQ_TRY(check_size(bytes, name, &own, err));
    file = own.borrow ? qdq_mapping_borrow(data, bytes) : qdq_mapping_new_heap(bytes);
    QDQ_NEED(file != NULL, err);
    if (!own.borrow)
        memcpy(qdq_mapping_own_data(file), data, bytes);
    return load_mapping(&(load_from){.file = file, .size = bytes}, name, &own, out, err);
}

qdq_status qdq_onnx_read_parts(const qdq_onnx_part *model, size_t offset, size_t size,
                               const qdq_onnx_part *parts, size_t n, qdq_model **out,
                               qdq_error *err)
{
    const size_t all = qdq_mapping_size(model->map);

    *out = NULL;
    if (size == 0 || offset > all || size > all - offset)
        return qdq_fail(err, QDQ_E_FORMAT, "%s: %zu bytes at %zu, expected a part of %zu bytes",
                        model->location, size, offset, all);
    const load_from part = {qdq_mapping_ref(model->map), offset, size, parts, n, NULL};
    return load_mapping(&part, model->location, NULL, out, err);
}

/* Takes the file. */
static qdq_status read_tensor_file(qdq_mapping *file, const char *name, qdq_model **holder,
                                   const qdq_tensor **out, qdq_error *err)
{
    qdq_reader r = {.external = QDQ_MAP_INIT, .file = file};
    qdq_span bytes = {qdq_mapping_data(file), qdq_mapping_size(file)};
    qdq_tensor *t = NULL;

    if ((r.m = qdq_model_new()) == NULL) {
        qdq_mapping_unref(file);
        return qdq_nomem(err);
    }
    r.in = (qdq_wire_in){bytes.data, &r.scratch, &r.m->arena};
    qdq_status st =
        qdq_model_hold(r.m, file) ? qdq_read_tensor(&r, bytes, &t, err) : qdq_nomem(err);
    qdq_map_free(&r.external);
    qdq_arena_free(&r.scratch);
    if (st != QDQ_OK) {
        qdq_model_free(r.m);
        return qdq_within(err, st, "%s", name);
    }
    *holder = r.m;
    *out = t;
    return QDQ_OK;
}

qdq_status qdq_onnx_read_tensor(const char *path, qdq_model **holder, const qdq_tensor **out,
                                qdq_error *err)
{
    qdq_mapping *file;

    *holder = NULL;
    *out = NULL;
    QDQ_TRY(qdq_mapping_open(path, &file, err));
    return read_tensor_file(file, path, holder, out, err);
}

qdq_status qdq_onnx_read_tensor_bytes(const void *data, size_t bytes, const char *name,
                                      qdq_model **holder, const qdq_tensor **out, qdq_error *err)
{
    qdq_mapping *file = qdq_mapping_new_heap(bytes);

    *holder = NULL;
    *out = NULL;
    QDQ_NEED(file != NULL, err);
    if (bytes > 0)
        memcpy(qdq_mapping_own_data(file), data, bytes);
    return read_tensor_file(file, name, holder, out, err);
}
