/* save.c - model -> files: decides what goes to the side file of external data, writes both files whole and
 * puts them in place by rename. Tensor bytes go from the source mapping to the file without being copied in
 * memory. */
#include "base/fail.h"
#include "base/vec.h"
#include "ir/graph_check.h"
#include "onnx/write.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SMALL = 1024, LARGE = 1 << 20, ALIGN = 64, PAGE = 4096 };

/* What protobuf readers accept in one piece. */
#define MAX_MODEL_BYTES ((uint64_t)INT32_MAX)

/* --- which tensor goes where in the side file ---------------------------------------------------------------------- */

typedef struct side_item {
    const qdq_tensor *t;
    uint64_t offset;
    size_t size;
} side_item;

typedef struct side_plan {
    const qdq_model *m;
    bool all;             /* every initializer of 1 KiB and more, else as the input had it */
    const char *location; /* base name of the side file */
    qdq_arena arena;
    QDQ_VEC(side_item) items;
    qdq_map places; /* where the data is -> index into items: shared data is written once */
    uint64_t end;
    bool failed;
} side_plan;

typedef struct place_key {
    const unsigned char *data;
    size_t size;
} place_key;

static bool is_wanted(const side_plan *p, const qdq_tensor *t, bool is_init, size_t size)
{
    if (p->all)
        return size >= SMALL && (is_init || t->external);
    /* What passes made new in a model with external data goes where its kind was. */
    return t->external || (p->m->had_external && is_init && t->wire.size == 0 && size >= SMALL);
}

static bool add_item(side_plan *p, const qdq_tensor *t, size_t size, uint64_t *offset)
{
    uint64_t align = size >= LARGE ? PAGE : ALIGN;
    place_key *key = qdq_arena_alloc(&p->arena, sizeof *key);
    qdq_map_value *place;
    bool is_new;

    if (key == NULL)
        return false;
    key->data = t->storage == QDQ_STORE_BYTES ? t->bytes.data : t->wire.data;
    key->size = size;
    place = qdq_map_put_n(&p->places, (const char *)key, sizeof *key, &is_new);
    if (place == NULL)
        return false;
    if (is_new) {
        side_item item = {t, (p->end + align - 1) / align * align, size};
        place->num = p->items.n;
        if (!QDQ_PUSH(&p->arena, &p->items, item))
            return false;
        p->end = item.offset + size;
    }
    *offset = p->items.at[place->num].offset;
    return true;
}

static bool place_tensor(void *ctx, const qdq_tensor *t, bool is_init, qdq_onnx_ref *ref)
{
    side_plan *p = ctx;
    size_t size;

    if (!qdq_elem_bytes(t->elem, t->count, &size) || size == 0 || !is_wanted(p, t, is_init, size))
        return false;
    ref->location = p->location;
    ref->length = size;
    if (!add_item(p, t, size, &ref->offset))
        p->failed = true;
    return true;
}

static void reset_plan(side_plan *p)
{
    qdq_map_free(&p->places);
    qdq_arena_free(&p->arena);
    p->items.at = NULL;
    p->items.n = p->items.cap = 0;
    p->end = 0;
}

/* Encodes once, and a second time when it turns out that the tensors have to be elsewhere. */
static qdq_status encode(const qdq_model *m, qdq_external external, side_plan *p, qdq_wire_out *out,
                         qdq_error *err)
{
    qdq_onnx_write_opts opts = {.external = external == QDQ_EXTERNAL_NEVER ? NULL : place_tensor, .ctx = p};

    p->all = external == QDQ_EXTERNAL_ALWAYS;
    QDQ_TRY(qdq_onnx_encode(m, &opts, out, err));
    if (out->total > MAX_MODEL_BYTES && external == QDQ_EXTERNAL_AUTO) {
        qdq_wire_out_free(out);
        reset_plan(p);
        p->all = true;
        QDQ_TRY(qdq_onnx_encode(m, &opts, out, err));
    }
    if (p->failed)
        return qdq_nomem(err);
    if (out->total > MAX_MODEL_BYTES)
        return qdq_fail(err, QDQ_E_UNSUPPORTED,
                        "%" PRIu64 " bytes in one file, at most %" PRIu64 " can be read%s", out->total,
                        MAX_MODEL_BYTES, external == QDQ_EXTERNAL_NEVER ? ": external data is needed" : "");
    return QDQ_OK;
}

/* --- writing ----------------------------------------------------------------------------------------------------------- */

static qdq_status write_tensor(qdq_outfile *f, const side_item *item, qdq_arena *scratch, qdq_error *err)
{
    static const unsigned char zeros[PAGE];
    const qdq_mapping *owner = item->t->owner;
    qdq_span data;

    QDQ_TRY(qdq_outfile_write(f, zeros, (size_t)(item->offset - qdq_outfile_size(f)), err));
    QDQ_TRY(qdq_tensor_data(item->t, scratch, &data, err));
    if (owner != NULL && data.data >= qdq_mapping_data(owner) &&
        data.data < qdq_mapping_data(owner) + qdq_mapping_size(owner))
        return qdq_outfile_write_mapping(f, owner, (size_t)(data.data - qdq_mapping_data(owner)), data.size,
                                         err);
    return qdq_outfile_write(f, data.data, data.size, err);
}

static qdq_status write_side(qdq_outfile *f, const side_plan *p, qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_arena_mark mark = qdq_arena_get_loop_mark(&scratch);
    qdq_status st = QDQ_OK;

    for (size_t i = 0; i < p->items.n && st == QDQ_OK; i++) {
        st = write_tensor(f, &p->items.at[i], &scratch, err);
        qdq_arena_reset(&scratch, mark);
    }
    qdq_arena_free(&scratch);
    return st;
}

/* Without leave to overwrite, a side file may be replaced only if it is a leftover: not if the model in memory
 * was read from it. */
static qdq_status guard_source(const qdq_model *m, const char *side, qdq_error *err)
{
    struct stat there, source;

    if (stat(side, &there) != 0)
        return QDQ_OK;
    for (size_t i = 0; i < m->mappings.n; i++) {
        int fd = qdq_mapping_fd(m->mappings.at[i]);
        if (fd >= 0 && fstat(fd, &source) == 0 && source.st_dev == there.st_dev &&
            source.st_ino == there.st_ino)
            return qdq_fail(err, QDQ_E_IO,
                            "%s: holds data of the model that is being saved, expected another name", side);
    }
    return QDQ_OK;
}

/* Both files are complete on disk before the first gets its name. */
static qdq_status write_both(const qdq_wire_out *out, const side_plan *p, qdq_outfile **model,
                             qdq_outfile **side, qdq_error *err)
{
    qdq_outfile *f;

    QDQ_TRY(qdq_wire_to_file(out, *model, err));
    if (*side != NULL) {
        QDQ_TRY(write_side(*side, p, err));
        QDQ_TRY(qdq_outfile_sync(*side, err));
        QDQ_TRY(qdq_outfile_sync(*model, err));
        f = *side;
        *side = NULL;
        QDQ_TRY(qdq_outfile_commit(f, err));
    }
    f = *model;
    *model = NULL;
    return qdq_outfile_commit(f, err);
}

static qdq_status write_files(const qdq_model *m, const char *path, const char *side_path,
                              bool allow_overwrite, const qdq_wire_out *out, const side_plan *p,
                              qdq_error *err)
{
    qdq_outfile *model = NULL, *side = NULL;
    qdq_status st = qdq_outfile_open(path, allow_overwrite, &model, err);

    if (st == QDQ_OK && p->items.n > 0 && !allow_overwrite)
        st = guard_source(m, side_path, err);
    if (st == QDQ_OK && p->items.n > 0)
        st = qdq_outfile_open(side_path, true, &side, err);
    if (st == QDQ_OK)
        st = write_both(out, p, &model, &side, err);
    qdq_outfile_abort(side);
    qdq_outfile_abort(model);
    return st;
}

qdq_status qdq_model_save(const qdq_model *m, const char *path, const qdq_save_opts *opts, qdq_error *err)
{
    qdq_external external = opts != NULL ? opts->external : QDQ_EXTERNAL_AUTO;
    bool allow_overwrite = opts != NULL && opts->allow_overwrite;
    const char *slash = strrchr(path, '/');
    qdq_arena arena = QDQ_ARENA_INIT;
    char *side_path = qdq_arena_printf(&arena, "%s.data", path);
    side_plan plan = {.m = m, .places = QDQ_MAP_INIT};
    qdq_wire_out out = {.bytes = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT)};
    qdq_status st = side_path == NULL ? qdq_nomem(err) : qdq_model_verify(m, err);

    if (st == QDQ_OK) {
        plan.location = side_path + (slash == NULL ? 0 : slash + 1 - path);
        st = encode(m, external, &plan, &out, err);
        if (st != QDQ_OK)
            st = qdq_within(err, st, "%s", path);
    }
    if (st == QDQ_OK)
        st = write_files(m, path, side_path, allow_overwrite, &out, &plan, err);
    qdq_wire_out_free(&out);
    reset_plan(&plan);
    qdq_arena_free(&arena);
    return st;
}

qdq_status qdq_model_to_bytes(const qdq_model *m, void **data, size_t *bytes, qdq_error *err)
{
    side_plan none = {.m = m};
    qdq_buf buf = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
    qdq_wire_out out = {.bytes = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT)};
    qdq_status st;

    *data = NULL;
    *bytes = 0;
    QDQ_TRY(qdq_model_verify(m, err));
    st = encode(m, QDQ_EXTERNAL_NEVER, &none, &out, err);
    if (st == QDQ_OK)
        st = qdq_wire_to_buf(&out, &buf, err);
    qdq_wire_out_free(&out);
    if (st == QDQ_OK) {
        *bytes = buf.size;
        if ((*data = qdq_buf_take(&buf)) == NULL)
            st = qdq_nomem(err);
    }
    qdq_buf_free(&buf);
    if (st != QDQ_OK)
        *bytes = 0;
    return st;
}
