/* remote_files.c - hashes files and parts of models, and brings to a device what it lacks. */
#include "engine/remote/remote_files.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/file.h"
#include "base/sha256.h"
#include "ir/ir.h"
#include "onnx/onnx_io.h"

/* Smaller weights stay in the graph. */
enum { PART_BYTES = 16 * 1024 };
/* a size that the device reports for a blob that is there as a whole */
enum { WHOLE = -1 };

/* --- hashes ----------------------------------------------------------------------------------- */

typedef struct place_of_file {
    uint64_t dev, ino, offset, size;
} place_of_file;

typedef struct known_hash {
    struct timespec changed;
    int64_t file_size;
    char hash[65];
} known_hash;

void qdq_remote_hashes_free(qdq_remote_hashes *h)
{
    qdq_map_free(&h->known);
    qdq_arena_free(&h->arena);
}

static bool is_valid(const known_hash *k, const struct stat *st)
{
    return k->file_size < st->st_size ||
           (k->file_size == st->st_size && k->changed.tv_sec == st->st_mtim.tv_sec &&
            k->changed.tv_nsec == st->st_mtim.tv_nsec);
}

static known_hash *new_hash(qdq_remote_hashes *h, const place_of_file *where)
{
    known_hash *k = qdq_arena_alloc(&h->arena, sizeof *k);
    const char *key = qdq_arena_copy(&h->arena, where, 1, sizeof *where);
    qdq_map_value *at =
        k != NULL && key != NULL ? qdq_map_put_n(&h->known, key, sizeof *where, NULL) : NULL;

    if (at != NULL)
        at->ptr = k;
    return at != NULL ? k : NULL;
}

/* The hash of bytes that lie in a file; what cannot be remembered is computed again. */
static void hash_part(qdq_remote_hashes *h, int fd, uint64_t offset, const void *data, size_t size,
                      char hash[65])
{
    struct stat st;

    if (fd < 0 || fstat(fd, &st) != 0) {
        qdq_sha256_bytes(data, size, hash);
        return;
    }
    const place_of_file where = {(uint64_t)st.st_dev, (uint64_t)st.st_ino, offset, size};
    const qdq_map_value *at = qdq_map_get_n(&h->known, (const char *)&where, sizeof where);
    known_hash *k = at != NULL ? at->ptr : NULL;
    if (k != NULL && is_valid(k, &st)) {
        memcpy(hash, k->hash, sizeof k->hash);
        return;
    }
    qdq_sha256_bytes(data, size, hash);
    if (k == NULL)
        k = new_hash(h, &where);
    if (k == NULL)
        return;
    k->changed = st.st_mtim;
    k->file_size = st.st_size;
    memcpy(k->hash, hash, sizeof k->hash);
}

/* --- parcels ---------------------------------------------------------------------------------- */

void qdq_remote_parcel_begin(qdq_remote_parcel *p, qdq_remote_hashes *hashes)
{
    *p = (qdq_remote_parcel){.hashes = hashes};
    qdq_json_list(&p->place);
}

void qdq_remote_parcel_free(qdq_remote_parcel *p)
{
    for (size_t i = 0; i < p->maps.n; i++)
        qdq_mapping_unref(p->maps.at[i]);
    for (size_t i = 0; i < p->models.n; i++)
        qdq_model_free(p->models.at[i]);
    for (size_t i = 0; i < p->graphs.n; i++)
        qdq_free(p->graphs.at[i]);
    qdq_json_drop(&p->place);
    qdq_arena_free(&p->arena);
}

static qdq_status add_blob(qdq_remote_parcel *p, const qdq_remote_blob *b, qdq_error *err)
{
    for (size_t i = 0; i < p->blobs.n; i++)
        if (strcmp(p->blobs.at[i].hash, b->hash) == 0)
            return QDQ_OK;
    return qdq_allocated(QDQ_PUSH(&p->arena, &p->blobs, *b), err);
}

/* All of a mapped file; takes the mapping. */
static qdq_status add_mapping(qdq_remote_parcel *p, qdq_mapping *map, char hash[65], qdq_error *err)
{
    qdq_remote_blob b = {.data = qdq_mapping_data(map), .size = qdq_mapping_size(map)};

    if (!QDQ_PUSH(&p->arena, &p->maps, map)) {
        qdq_mapping_unref(map);
        return qdq_nomem(err);
    }
    hash_part(p->hashes, qdq_mapping_fd(map), 0, b.data, b.size, b.hash);
    memcpy(hash, b.hash, sizeof b.hash);
    return add_blob(p, &b, err);
}

/* A name there: that of the file, as far as it is harmless. */
static const char *name_of(const char *path, qdq_arena *arena)
{
    const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path;
    size_t size = strlen(base);
    char *name = qdq_arena_strdup(arena, size > 100 ? base + size - 100 : base);

    for (char *c = name; c != NULL && *c != '\0'; c++)
        if ((unsigned char)*c <= ' ' || (unsigned char)*c >= 127 || (*c == '.' && c == name))
            *c = '_';
    return name == NULL || name[0] != '\0' ? name : "file";
}

static qdq_json_out put_place(qdq_remote_parcel *p, const char *to, const char *name,
                              const char *hash)
{
    qdq_json_out place = qdq_json_put_object(qdq_json_root(&p->place), NULL);

    qdq_json_put_text(place, "to", to);
    qdq_json_put_text(place, "name", name);
    qdq_json_put_text(place, "blob", hash);
    return place;
}

qdq_status qdq_remote_parcel_file(qdq_remote_parcel *p, const char *to, size_t index,
                                  const char *prefix, const char *path,
                                  const qdq_remote_stamp *stamp, qdq_error *err)
{
    const char *name = name_of(path, &p->arena);
    qdq_mapping *map;
    char hash[65];
    struct stat st;

    QDQ_NEED(name != NULL, err);
    QDQ_TRY(qdq_mapping_open(path, &map, err));
    if (stamp != NULL &&
        (fstat(qdq_mapping_fd(map), &st) != 0 || (int64_t)st.st_dev != stamp->dev ||
         (int64_t)st.st_ino != stamp->ino || (int64_t)st.st_size != stamp->size)) {
        qdq_mapping_unref(map);
        return qdq_fail(err, QDQ_E_IO, "%s: has changed while it was in use", path);
    }
    QDQ_TRY(add_mapping(p, map, hash, err));
    qdq_json_out place = put_place(p, to, name, hash);
    qdq_json_put_text(place, "prefix", prefix);
    qdq_json_put_size(place, "index", index);
    return QDQ_OK;
}

qdq_status qdq_remote_parcel_memory(qdq_remote_parcel *p, int fd, qdq_error *err)
{
    const int own = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    qdq_mapping *map;
    char hash[65];

    if (own < 0)
        return qdq_fail(err, QDQ_E_IO, "cannot keep shared memory open");
    QDQ_TRY(qdq_mapping_of_fd(own, &map, err));
    QDQ_TRY(add_mapping(p, map, hash, err));
    put_place(p, "memory", "memory", hash);
    return QDQ_OK;
}

/* --- models ----------------------------------------------------------------------------------- */

typedef struct splitter {
    qdq_remote_parcel *parcel;
    qdq_json_out parts;
    qdq_status status;
    qdq_error *err;
} splitter;

/* A large weight becomes a file of its own, named by its content. */
static bool split(void *ctx, const qdq_tensor *t, bool is_init, qdq_onnx_ref *ref)
{
    splitter *s = ctx;
    qdq_remote_blob b = {.data = t->bytes.data, .size = t->bytes.size};

    if (s->status != QDQ_OK || !is_init || t->storage != QDQ_STORE_BYTES || b.size < PART_BYTES)
        return false;
    const bool is_mapped = t->owner != NULL && qdq_mapping_fd(t->owner) >= 0;
    hash_part(s->parcel->hashes, is_mapped ? qdq_mapping_fd(t->owner) : -1,
              is_mapped ? (uint64_t)(t->bytes.data - qdq_mapping_data(t->owner)) : 0, b.data,
              b.size, b.hash);
    const char *name = qdq_arena_strdup(&s->parcel->arena, b.hash);
    const size_t before = s->parcel->blobs.n;
    s->status = name != NULL ? add_blob(s->parcel, &b, s->err) : qdq_nomem(s->err);
    if (s->status != QDQ_OK)
        return false;
    if (s->parcel->blobs.n > before)
        qdq_json_put_text(s->parts, NULL, b.hash);
    *ref = (qdq_onnx_ref){name, 0, b.size};
    return true;
}

qdq_status qdq_remote_parcel_model(qdq_remote_parcel *p, const char *to, const char *path,
                                   qdq_error *err)
{
    const char *name = name_of(path, &p->arena);
    qdq_buf graph = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
    qdq_model *m;

    QDQ_NEED(name != NULL, err);
    QDQ_TRY(qdq_model_load(path, NULL, &m, err));
    if (!QDQ_PUSH(&p->arena, &p->models, m)) {
        qdq_model_free(m);
        return qdq_nomem(err);
    }
    qdq_json_out place = put_place(p, to, name, "");
    splitter s = {.parcel = p, .parts = qdq_json_put_list(place, "parts"), .err = err};
    qdq_onnx_write_opts opts = {.external = split, .ctx = &s};
    qdq_status st = qdq_onnx_write_to_buf(m, &opts, &graph, err);
    st = st == QDQ_OK ? s.status : st;
    qdq_remote_blob b = {.size = graph.size};
    char *data = qdq_buf_take(&graph);
    if (st != QDQ_OK || data == NULL || !QDQ_PUSH(&p->arena, &p->graphs, data)) {
        qdq_free(data);
        return st != QDQ_OK ? st : qdq_nomem(err);
    }
    b.data = data;
    qdq_sha256_bytes(data, b.size, b.hash);
    if (!p->place.failed && json_object_set_new(place.at, "blob", json_string(b.hash)) != 0)
        p->place.failed = true;
    return add_blob(p, &b, err);
}

/* --- transfer --------------------------------------------------------------------------------- */

static qdq_status ask_sizes(const qdq_remote_parcel *p, qdq_remote_link *l, int64_t *sizes,
                            const qdq_cancel *cancel, qdq_error *err)
{
    qdq_json_doc doc = {0};
    qdq_json_out q = qdq_json_object(&doc), list = qdq_json_put_list(q, "blobs");
    const qdq_frame *reply;

    for (size_t i = 0; i < p->blobs.n; i++)
        qdq_json_put_text(list, NULL, p->blobs.at[i].hash);
    QDQ_TRY(qdq_remote_link_call(
        l, &(qdq_remote_request){.kind = QDQ_FRAME_HAVE, .json = &doc, .cancel = cancel}, &reply,
        err));
    const json_t *found = json_object_get(reply->json, "sizes");
    for (size_t i = 0; i < p->blobs.n; i++) {
        const json_t *size = json_array_get(found, i);

        if (!json_is_integer(size) || json_integer_value(size) < WHOLE)
            return qdq_fail(err, QDQ_E_ENGINE, "host '%s': key 'sizes': expected %zu sizes",
                            qdq_remote_link_host(l)->text, p->blobs.n);
        sizes[i] = json_integer_value(size);
    }
    return QDQ_OK;
}

/* *at moves to where the next piece begins. */
static qdq_status send_piece(const qdq_remote_blob *b, uint64_t *at, qdq_remote_link *l,
                             const qdq_cancel *cancel, qdq_error *err)
{
    const uint64_t left = b->size - *at;
    const size_t most = qdq_remote_link_piece(l), piece = left < most ? (size_t)left : most;
    qdq_json_doc doc = {0};
    qdq_json_out q = qdq_json_object(&doc);
    const qdq_frame *reply;

    qdq_json_put_text(q, "blob", b->hash);
    qdq_json_put_size(q, "size", b->size);
    qdq_json_put_size(q, "at", *at);
    QDQ_TRY(qdq_remote_link_call(l,
                                 &(qdq_remote_request){.kind = QDQ_FRAME_PUT,
                                                       .json = &doc,
                                                       .binary = (const char *)b->data + *at,
                                                       .size = piece,
                                                       .cancel = cancel},
                                 &reply, err));
    const json_t *size = json_object_get(reply->json, "size");
    if (!json_is_integer(size) || json_integer_value(size) < 0 ||
        (uint64_t)json_integer_value(size) > *at + piece)
        return qdq_fail(err, QDQ_E_ENGINE, "host '%s': a file arrives in other sizes than sent",
                        qdq_remote_link_host(l)->text);
    *at = (uint64_t)json_integer_value(size);
    return QDQ_OK;
}

/* From where it was interrupted: the device says how much it has. */
static qdq_status send_from(const qdq_remote_blob *b, uint64_t at, qdq_remote_link *l,
                            const qdq_cancel *cancel, qdq_error *err)
{
    /* another one may send the same file there, and start over; not for ever */
    unsigned backwards = 0;

    do {
        const uint64_t before = at;

        QDQ_TRY(send_piece(b, &at, l, cancel, err));
        if (at <= before && b->size > 0 && ++backwards > 100)
            return qdq_fail(err, QDQ_E_ENGINE, "host '%s': a file does not arrive",
                            qdq_remote_link_host(l)->text);
    } while (at < b->size);
    return QDQ_OK;
}

/* What an earlier transfer left may be damaged: then all of it is sent. */
static qdq_status send_blob(const qdq_remote_blob *b, uint64_t at, qdq_remote_link *l,
                            const qdq_cancel *cancel, qdq_error *err)
{
    qdq_status st = send_from(b, at, l, cancel, err);

    return st == QDQ_E_FORMAT && at > 0 ? send_from(b, 0, l, cancel, err) : st;
}

qdq_status qdq_remote_parcel_send(qdq_remote_parcel *p, qdq_remote_link *l,
                                  const qdq_cancel *cancel, qdq_error *err)
{
    int64_t *sizes = qdq_arena_array(&p->arena, p->blobs.n + 1, sizeof *sizes);

    QDQ_NEED(sizes != NULL && !p->place.failed, err);
    if (p->blobs.n == 0)
        return QDQ_OK;
    QDQ_TRY(ask_sizes(p, l, sizes, cancel, err));
    for (size_t i = 0; i < p->blobs.n; i++) {
        const qdq_remote_blob *b = &p->blobs.at[i];

        if (sizes[i] != WHOLE)
            QDQ_TRY(send_blob(b, (uint64_t)sizes[i] < b->size ? (uint64_t)sizes[i] : 0, l, cancel,
                              err));
    }
    return QDQ_OK;
}
