/* candidates.c - models to measure, as small files. The clean model is cloned once with all its
 * weights in files: those that it has mapped, under names in the folder, and what lies in memory in
 * weights.bin. Plans are applied to clones of that clone. */
#include "tune/space/candidates.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "ir/edit.h"
#include "onnx/onnx_io.h"
#include "quant/quantize_steps.h"
#include "tune/space/weights_file.h"

enum { LEAST = 1024 }; /* smaller ones stay in the model: engines want shapes and the like there */

static const char weights_name[] = "weights.bin";

/* Where a tensor's data lie, for those that are not in a mapping of their own. */
typedef struct place {
    uint64_t offset, length;
} place;

struct qdq_candidates {
    qdq_arena arena;
    const char *folder;
    const qdq_job *job;
    qdq_model *base;
    qdq_weights_file weights;
    qdq_insert_cache cache;
    /* mapping -> its name in the folder */
    qdq_map locations;
    /* where the data of a tensor in typed fields, or as it was read, are -> place in weights.bin */
    qdq_map places;
    /* paths to be removed */
    qdq_map made;
};

static const char *path_in(qdq_candidates *c, const char *name)
{
    return qdq_arena_printf(&c->arena, "%s/%s", c->folder, name);
}

static qdq_status note_made(qdq_candidates *c, const char *path, qdq_error *err)
{
    return path != NULL && qdq_map_put(&c->made, path, NULL) != NULL ? QDQ_OK : qdq_nomem(err);
}

/* --- files that are mapped -------------------------------------------------------------------- */

/* The link leads to what is mapped, and not to what has taken its place since. */
static bool links_to(const char *path, const qdq_mapping *map)
{
    struct stat mapped, there;

    return fstat(qdq_mapping_fd(map), &mapped) == 0 && stat(path, &there) == 0 &&
           mapped.st_dev == there.st_dev && mapped.st_ino == there.st_ino;
}

static qdq_status copy_file(const qdq_candidates *c, const char *path, const qdq_mapping *map,
                            qdq_error *err)
{
    qdq_job_log(c->job, QDQ_LOG_INFO, "%s cannot be linked into %s: its %zu bytes are copied",
                qdq_mapping_path(map), c->folder, qdq_mapping_size(map));
    return qdq_write_scratch_file(path, qdq_mapping_data(map), qdq_mapping_size(map), err);
}

static qdq_status name_file(qdq_candidates *c, qdq_mapping *map, qdq_error *err)
{
    const char *name = qdq_arena_printf(&c->arena, "original-%zu.bin", c->locations.n_live);
    const char *path = name != NULL ? path_in(c, name) : NULL;

    QDQ_TRY(note_made(c, path, err));
    unlink(path);
    if (link(qdq_mapping_path(map), path) != 0 || !links_to(path, map)) {
        unlink(path);
        QDQ_TRY(copy_file(c, path, map, err));
    }
    qdq_map_value *v = qdq_map_put_int(&c->locations, (uintptr_t)map, NULL);
    QDQ_NEED(v != NULL, err);
    v->ptr = (void *)(uintptr_t)name;
    return QDQ_OK;
}

/* --- what lies in memory ---------------------------------------------------------------------- */

static qdq_status store_in_weights(void *ctx, const qdq_span *piece, size_t n, qdq_mapping **map,
                                   size_t *offset, qdq_error *err)
{
    qdq_candidates *c = ctx;

    QDQ_TRY(qdq_weights_file_append(&c->weights, piece, n, map, offset, err));
    qdq_map_value *v = qdq_map_put_int(&c->locations, (uintptr_t)*map, NULL);
    if (v == NULL) {
        qdq_mapping_unref(*map);
        return qdq_nomem(err);
    }
    v->ptr = (void *)(uintptr_t)weights_name;
    return QDQ_OK;
}

static bool is_mapped(const qdq_tensor *t)
{
    return t->storage == QDQ_STORE_BYTES && t->owner != NULL && qdq_mapping_path(t->owner) != NULL;
}

/* What a tensor is told by: clones share it. */
static uintptr_t data_of(const qdq_tensor *t)
{
    return (uintptr_t)(t->storage == QDQ_STORE_BYTES ? t->bytes.data : t->wire.data);
}

/* Initializers of the base whose data lie in memory. */
typedef struct loose {
    QDQ_VEC(qdq_value *) values;
    QDQ_VEC(qdq_span) data;
    qdq_arena scratch;
} loose;

static qdq_status sort_tensor(qdq_candidates *c, qdq_value *v, loose *l, qdq_error *err)
{
    const qdq_tensor *t = v->init;
    size_t size;
    qdq_span data;

    if (t == NULL || t->storage == QDQ_STORE_STRINGS || !qdq_elem_bytes(t->elem, t->count, &size) ||
        size < LEAST)
        return QDQ_OK;
    if (is_mapped(t))
        return qdq_map_get_int(&c->locations, (uintptr_t)t->owner) == NULL
                   ? name_file(c, t->owner, err)
                   : QDQ_OK;
    QDQ_TRY(qdq_tensor_data(t, &l->scratch, &data, err));
    return QDQ_PUSH(&l->scratch, &l->values, v) && QDQ_PUSH(&l->scratch, &l->data, data)
               ? QDQ_OK
               : qdq_nomem(err);
}

static qdq_status note_place(qdq_candidates *c, const qdq_tensor *t, size_t offset, size_t size,
                             qdq_error *err)
{
    place *p = qdq_arena_alloc(&c->arena, sizeof *p);
    qdq_map_value *at = p != NULL ? qdq_map_put_int(&c->places, data_of(t), NULL) : NULL;

    QDQ_NEED(at != NULL, err);
    *p = (place){offset, size};
    at->ptr = p;
    return QDQ_OK;
}

/* A tensor that is to be written again as it was read stays as it is, and its data are told by
 * their place alone, as are those of the clean model, which parts of it share. */
static qdq_status move_tensor(qdq_candidates *c, qdq_value *v, qdq_mapping *map, size_t offset,
                              size_t size, qdq_error *err)
{
    const qdq_tensor *t = v->init;
    qdq_tensor *moved;

    QDQ_TRY(note_place(c, t, offset, size, err));
    if (t->storage != QDQ_STORE_BYTES || t->wire.size > 0)
        return QDQ_OK;
    moved = qdq_tensor_share(c->base, t);
    QDQ_NEED(moved != NULL && qdq_model_hold(c->base, qdq_mapping_ref(map)), err);
    moved->owner = map;
    moved->bytes.data = qdq_mapping_data(map) + offset;
    return qdq_value_set_init(v, moved) ? QDQ_OK : qdq_nomem(err);
}

static qdq_status move_tensors(qdq_candidates *c, loose *l, qdq_error *err)
{
    size_t *offset = qdq_arena_array(&l->scratch, l->values.n + 1, sizeof *offset);
    qdq_status st = QDQ_OK;
    qdq_mapping *map;

    if (l->values.n == 0)
        return QDQ_OK;
    QDQ_NEED(offset != NULL, err);
    QDQ_TRY(store_in_weights(c, l->data.at, l->data.n, &map, offset, err));
    for (size_t i = 0; i < l->values.n && st == QDQ_OK; i++)
        st = move_tensor(c, l->values.at[i], map, offset[i], l->data.at[i].size, err);
    qdq_mapping_unref(map);
    return st;
}

static qdq_status put_into_files(qdq_candidates *c, qdq_error *err)
{
    loose l = {.scratch = QDQ_ARENA_INIT};
    qdq_status st = QDQ_OK;

    QDQ_FOR_GRAPHS (g, c->base)
        QDQ_FOR_INITS(v, g)
        {
            if (st == QDQ_OK)
                st = sort_tensor(c, v, &l, err);
        }
    if (st == QDQ_OK)
        st = move_tensors(c, &l, err);
    qdq_arena_free(&l.scratch);
    return st;
}

/* --- public ----------------------------------------------------------------------------------- */

static qdq_status fill_candidates(qdq_candidates *c, const char *folder, const qdq_model *clean,
                                  qdq_error *err)
{
    c->folder = qdq_arena_strdup(&c->arena, folder);
    char *path =
        c->folder != NULL ? qdq_arena_printf(&c->arena, "%s/%s", folder, weights_name) : NULL;

    QDQ_NEED(path != NULL, err);
    QDQ_TRY(qdq_weights_file_open(&c->weights, path, err));
    QDQ_TRY(note_made(c, path, err));
    QDQ_TRY(qdq_model_clone(clean, &c->base, err));
    return put_into_files(c, err);
}

qdq_status qdq_candidates_open(const char *folder, const qdq_model *clean, const qdq_job *job,
                               qdq_candidates **out, qdq_error *err)
{
    qdq_candidates *c = calloc(1, sizeof *c);

    *out = NULL;
    QDQ_NEED(c != NULL, err);
    c->job = job;
    c->weights.fd = -1;
    c->cache.store = store_in_weights;
    c->cache.ctx = c;
    qdq_status st = fill_candidates(c, folder, clean, err);
    if (st != QDQ_OK)
        st = qdq_within(err, st, "files of candidates");
    return QDQ_HAND_OVER(c, st, out, qdq_candidates_close);
}

void qdq_candidates_close(qdq_candidates *c)
{
    if (c == NULL)
        return;
    qdq_weights_file_close(&c->weights);
    for (size_t i = 0; i < c->made.n_entry; i++)
        if (c->made.entry[i].live)
            unlink(c->made.entry[i].key);
    qdq_model_free(c->base);
    qdq_insert_cache_free(&c->cache);
    qdq_map_free(&c->locations);
    qdq_map_free(&c->places);
    qdq_map_free(&c->made);
    qdq_arena_free(&c->arena);
    free(c);
}

qdq_status qdq_candidate_model(qdq_candidates *c, const qdq_plan *p, qdq_model **out,
                               qdq_error *err)
{
    QDQ_TRY(qdq_model_clone(c->base, out, err));
    qdq_status st = p != NULL ? qdq_quantize_finish(*out, p, &c->cache, NULL, err) : QDQ_OK;
    return QDQ_HAND_OVER(*out, st, out, qdq_model_free);
}

static bool refer_to_file(void *ctx, const qdq_tensor *t, bool is_init, qdq_onnx_ref *ref)
{
    const qdq_candidates *c = ctx;
    const qdq_map_value *at;
    size_t size;

    if (!is_init || t->storage == QDQ_STORE_STRINGS || !qdq_elem_bytes(t->elem, t->count, &size) ||
        size < LEAST)
        return false;
    if (is_mapped(t) && (at = qdq_map_get_int(&c->locations, (uintptr_t)t->owner)) != NULL) {
        ref->location = at->ptr;
        ref->offset = (uint64_t)(t->bytes.data - qdq_mapping_data(t->owner));
        ref->length = size;
        return true;
    }
    at = qdq_map_get_int(&c->places, data_of(t));
    const place *p = at != NULL ? at->ptr : NULL;
    if (p == NULL || p->length != size)
        return false;
    *ref = (qdq_onnx_ref){weights_name, p->offset, p->length};
    return true;
}

static qdq_status write_model(qdq_candidates *c, const qdq_model *m, const char *path,
                              qdq_error *err)
{
    const qdq_onnx_write_opts opts = {.external = refer_to_file, .ctx = c};
    qdq_buf b = QDQ_BUF_INIT(INT_MAX);
    qdq_status st = qdq_onnx_write_to_buf(m, &opts, &b, err);

    if (st == QDQ_OK)
        st = qdq_write_scratch_file(path, b.data, b.size, err);
    qdq_buf_free(&b);
    return st;
}

qdq_status qdq_candidate_write(qdq_candidates *c, const qdq_plan *p, const char *name,
                               qdq_error *err)
{
    const char *path = path_in(c, name);
    qdq_model *m;

    QDQ_TRY(note_made(c, path, err));
    QDQ_TRY(qdq_model_clone(c->base, &m, err));
    /* profiles find nodes by name, also those that become other operators */
    qdq_status st = qdq_graph_name_nodes(m->graph) ? QDQ_OK : qdq_nomem(err);
    if (st == QDQ_OK && p != NULL)
        st = qdq_quantize_finish(m, p, &c->cache, NULL, err);
    if (st == QDQ_OK) /* what came with the plan */
        st = qdq_graph_name_nodes(m->graph) ? QDQ_OK : qdq_nomem(err);
    if (st == QDQ_OK)
        st = write_model(c, m, path, err);
    qdq_model_free(m);
    return st;
}

qdq_insert_cache *qdq_candidates_cache(qdq_candidates *c)
{
    return &c->cache;
}

qdq_status qdq_candidate_write_part(qdq_candidates *c, const qdq_model *m, const char *name,
                                    qdq_error *err)
{
    const char *path = path_in(c, name);

    QDQ_TRY(note_made(c, path, err));
    return write_model(c, m, path, err);
}
