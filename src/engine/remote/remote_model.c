/* remote_model.c - sends a model over shared memory and mapped files, and takes one. In the graph
 * that is sent, the location of external data is the number of a file in the list, or MEMORY. */
#include "engine/remote/remote_model.h"

#include <sys/stat.h>

#include "base/fail.h"
#include "base/file.h"
#include "base/map.h"
#include "base/shared.h"
#include "ir/pages.h"
#include "onnx/onnx_io.h"

enum { MIN_EXTERNAL_BYTES = 1024, ALIGN = 64 };
#define MEMORY "-"

/* --- there ------------------------------------------------------------------------------------ */

typedef struct sender {
    /* mapping -> its number as text */
    qdq_map files;
    /* bytes of weights on the heap -> offset in the memory */
    qdq_map places;
    qdq_arena arena;
    /* of files */
    qdq_json_doc list;
    size_t n_files;
    int fd;
    /* of what the memory holds */
    uint64_t end;
    qdq_status status;
    qdq_error *err;
} sender;

/* The path may have got another file since it was mapped: what is mapped counts. */
static bool is_there(const qdq_mapping *map, struct stat *now)
{
    struct stat mapped;

    return qdq_mapping_path(map) != NULL && fstat(qdq_mapping_fd(map), &mapped) == 0 &&
           stat(qdq_mapping_path(map), now) == 0 && mapped.st_dev == now->st_dev &&
           mapped.st_ino == now->st_ino && mapped.st_size == now->st_size;
}

static qdq_status add_file(sender *s, const qdq_mapping *map, qdq_error *err)
{
    struct stat st;

    if (!is_there(map, &st))
        return QDQ_OK; /* its weights are copied */
    char *number = qdq_arena_printf(&s->arena, "%zu", s->n_files);
    qdq_map_value *place = qdq_map_put_int(&s->files, (uint64_t)(uintptr_t)map, NULL);
    QDQ_NEED(number != NULL && place != NULL, err);
    place->ptr = number;
    qdq_json_out file = qdq_json_put_object(qdq_json_root(&s->list), NULL);
    qdq_remote_put_text(file, "path", qdq_mapping_path(map));
    qdq_json_put_int(file, "dev", (int64_t)st.st_dev);
    qdq_json_put_int(file, "ino", (int64_t)st.st_ino);
    qdq_json_put_int(file, "size", (int64_t)st.st_size);
    s->n_files++;
    return QDQ_OK;
}

/* Written, not mapped: so the pages count once. */
static bool write_all(sender *s, const void *data, size_t size)
{
    const int reason = qdq_write_at(s->fd, data, size, &s->end);

    if (reason != 0)
        s->status = qdq_fail_errno(s->err, QDQ_E_IO, reason,
                                   "cannot put the model into memory that two processes share");
    return reason == 0;
}

static bool place_weights(sender *s, qdq_span bytes, qdq_onnx_ref *ref)
{
    qdq_span *key = qdq_arena_alloc(&s->arena, sizeof *key);
    qdq_map_value *place = NULL;
    bool is_new;

    if (key != NULL) {
        *key = bytes;
        place = qdq_map_put_n(&s->places, (const char *)key, sizeof *key, &is_new);
    }
    if (place == NULL) {
        s->status = qdq_nomem(s->err);
        return false;
    }
    if (is_new) {
        s->end = (s->end + ALIGN - 1) / ALIGN * ALIGN;
        place->num = s->end;
        if (!write_all(s, bytes.data, bytes.size))
            return false;
    }
    *ref = (qdq_onnx_ref){MEMORY, place->num, bytes.size};
    return true;
}

static bool refer(void *ctx, const qdq_tensor *t, bool is_init, qdq_onnx_ref *ref)
{
    sender *s = ctx;

    if (s->status != QDQ_OK || !is_init || t->storage != QDQ_STORE_BYTES ||
        t->bytes.size < MIN_EXTERNAL_BYTES)
        return false;
    const qdq_map_value *file =
        t->owner != NULL ? qdq_map_get_int(&s->files, (uint64_t)(uintptr_t)t->owner) : NULL;
    if (file == NULL) {
        const bool ok = place_weights(s, t->bytes, ref);
        qdq_tensor_rest(t);
        return ok;
    }
    *ref = (qdq_onnx_ref){file->ptr, (uint64_t)(t->bytes.data - qdq_mapping_data(t->owner)),
                          t->bytes.size};
    return true;
}

static qdq_status send_model(sender *s, const qdq_model *m, qdq_json_out question, qdq_error *err)
{
    const qdq_onnx_write_opts opts = {.external = refer, .ctx = s};
    qdq_buf graph = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    for (size_t i = 0; i < m->mappings.n; i++)
        QDQ_TRY(add_file(s, m->mappings.at[i], err));
    qdq_status st = qdq_onnx_write_to_buf(m, &opts, &graph, err);
    if (st == QDQ_OK)
        st = s->status;
    uint64_t offset = s->end;
    if (st == QDQ_OK && !write_all(s, graph.data, graph.size))
        st = s->status;
    if (st == QDQ_OK) {
        qdq_remote_put_text(question, "name", m->path);
        qdq_json_put_int(question, "offset", (int64_t)offset);
        qdq_json_put_int(question, "size", (int64_t)graph.size);
        qdq_json_put(question, "files", qdq_json_take(&s->list));
    }
    qdq_buf_free(&graph);
    return st;
}

qdq_status qdq_remote_model_put(const qdq_model *m, qdq_json_out question, int *fd, qdq_error *err)
{
    qdq_shared memory;
    sender s = {.err = err};

    *fd = -1;
    qdq_json_list(&s.list);
    qdq_status st = qdq_shared_new(&memory, err);
    if (st == QDQ_OK) {
        s.fd = memory.fd;
        st = send_model(&s, m, question, err);
        if (st == QDQ_OK)
            *fd = memory.fd;
        else
            qdq_shared_free(&memory);
    }
    qdq_json_drop(&s.list);
    qdq_map_free(&s.files);
    qdq_map_free(&s.places);
    qdq_arena_free(&s.arena);
    return st;
}

/* --- and back --------------------------------------------------------------------------------- */

/* The files of a question, and the memory: what tensors of the graph name. */
typedef struct parts {
    qdq_onnx_part *at;
    size_t n;
} parts;

static qdq_status open_file(const qdq_json_place *file, qdq_mapping **out, qdq_error *err)
{
    const char *path = qdq_remote_get_text(file, "path", NULL);
    int64_t dev = qdq_json_int(file, "dev", INT64_MIN, INT64_MAX, 0),
            ino = qdq_json_int(file, "ino", INT64_MIN, INT64_MAX, 0);
    int64_t size = qdq_json_int(file, "size", 0, INT64_MAX, -1);
    struct stat st;

    if (file->reader->status != QDQ_OK)
        return file->reader->status;
    QDQ_TRY(qdq_mapping_open(path, out, err));
    if (fstat(qdq_mapping_fd(*out), &st) == 0 && (int64_t)st.st_dev == dev &&
        (int64_t)st.st_ino == ino && (int64_t)st.st_size == size)
        return QDQ_OK;
    qdq_mapping_unref(*out);
    *out = NULL;
    return qdq_fail(err, QDQ_E_IO, "%s: has changed while it was in use", path);
}

static qdq_status open_parts(const qdq_json_place *q, qdq_mapping *memory, parts *p, qdq_error *err)
{
    size_t n = json_array_size(json_object_get(q->object, "files"));
    qdq_arena *arena = q->reader->arena;
    qdq_json_place file;

    p->at = qdq_arena_array(arena, n + 1, sizeof *p->at);
    QDQ_NEED(p->at != NULL, err);
    p->at[p->n++] = (qdq_onnx_part){MEMORY, qdq_mapping_ref(memory)};
    for (size_t i = 0; qdq_json_item(q, "files", i, &file); i++) {
        qdq_onnx_part *part = &p->at[p->n];

        QDQ_TRY(open_file(&file, &part->map, err));
        p->n++;
        QDQ_NEED((part->location = qdq_arena_printf(arena, "%zu", i)) != NULL, err);
    }
    return QDQ_OK;
}

qdq_status qdq_remote_model_get(const qdq_json_place *q, int fd, qdq_model **out, qdq_error *err)
{
    const char *path = qdq_remote_get_text(q, "name", ""),
               *name = path[0] != '\0' ? path : "the model";
    size_t offset = (size_t)qdq_json_int(q, "offset", 0, INT64_MAX, -1),
           size = (size_t)qdq_json_int(q, "size", 1, INT64_MAX, -1);
    qdq_mapping *memory;
    parts p = {0};

    *out = NULL;
    QDQ_TRY(qdq_mapping_of_fd(fd, &memory, err));
    qdq_status st = q->reader->status;
    if (st == QDQ_OK)
        st = open_parts(q, memory, &p, err);
    if (st == QDQ_OK)
        st = qdq_onnx_read_parts(&(qdq_onnx_part){name, memory}, offset, size, p.at, p.n, out, err);
    for (size_t i = 0; i < p.n; i++)
        qdq_mapping_unref(p.at[i].map);
    qdq_mapping_unref(memory);
    return st;
}
