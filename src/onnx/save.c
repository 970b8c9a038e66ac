/* save.c - model -> files: decides what goes to the side file of external data, writes both files
 * whole and puts them in place by rename. Tensor bytes go from the source mapping to the file
 * without being copied in memory. The side file comes first: its content gives the name that the
 * model is encoded with. */
#include "base/fail.h"
#include "base/opts.h"
#include "base/side_name.h"
#include "base/vec.h"
#include "ir/graph_check.h"
#include "onnx/side_file.h"
#include "onnx/write.h"

#include <inttypes.h>

enum { SMALL = 1024, LARGE = 1 << 20, ALIGN = 64, PAGE = 4096 };

/* --- which tensor goes where in the side file ------------------------------------------------- */

typedef struct side_item {
    const qdq_tensor *t;
    uint64_t offset;
    size_t size;
} side_item;

typedef struct side_plan {
    const qdq_model *m;
    /* every initializer of 1 KiB and more, else as the input had it */
    bool all;
    /* base name of the side file; until that is known, another of its length */
    const char *location;
    qdq_arena arena;
    QDQ_VEC(side_item) items;
    /* where the data is -> index into items: shared data is written once */
    qdq_map places;
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

static qdq_status encode_once(const qdq_model *m, qdq_external external, side_plan *p,
                              qdq_wire_out *out, qdq_error *err)
{
    qdq_onnx_write_opts opts = {.external = external == QDQ_EXTERNAL_NEVER ? NULL : place_tensor,
                                .ctx = p};

    QDQ_TRY(qdq_onnx_encode(m, &opts, out, err));
    return p->failed ? qdq_nomem(err) : QDQ_OK;
}

/* Encodes once, and a second time when it turns out that the tensors have to be elsewhere. */
static qdq_status encode(const qdq_model *m, qdq_external external, side_plan *p, qdq_wire_out *out,
                         qdq_error *err)
{
    p->all = external == QDQ_EXTERNAL_ALWAYS;
    QDQ_TRY(encode_once(m, external, p, out, err));
    if (out->total > QDQ_MAX_MODEL_BYTES && external == QDQ_EXTERNAL_AUTO) {
        qdq_wire_out_free(out);
        reset_plan(p);
        p->all = true;
        QDQ_TRY(encode_once(m, external, p, out, err));
    }
    return qdq_check_model_size(out, external == QDQ_EXTERNAL_NEVER, err);
}

/* --- writing ---------------------------------------------------------------------------------- */

static qdq_status write_tensor(qdq_outfile *f, const side_item *item, qdq_arena *scratch,
                               qdq_error *err)
{
    static const unsigned char zeros[PAGE];
    const qdq_mapping *owner = item->t->owner;
    qdq_span data;

    QDQ_TRY(qdq_outfile_write(f, zeros, (size_t)(item->offset - qdq_outfile_size(f)), err));
    QDQ_TRY(qdq_tensor_data(item->t, scratch, &data, err));
    if (owner != NULL && data.data >= qdq_mapping_data(owner) &&
        data.data < qdq_mapping_data(owner) + qdq_mapping_size(owner))
        return qdq_outfile_write_mapping(f, owner, (size_t)(data.data - qdq_mapping_data(owner)),
                                         data.size, err);
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

typedef struct saving {
    const qdq_model *m;
    const char *path;
    qdq_external external;
    bool allow_overwrite;
    const qdq_job *job;
    /* of the job */
    const qdq_cancel *cancel;
    qdq_arena arena;
    side_plan plan;
    qdq_wire_out out;
    qdq_outfile *model;
    qdq_side side;
    qdq_old_sides old;
} saving;

/* The side file gets its name, and the model is encoded with it. What goes where stays as it is
 * planned. */
static qdq_status write_side_file(saving *s, qdq_error *err)
{
    QDQ_TRY(qdq_side_open(&s->side, s->path, s->cancel, err));
    QDQ_TRY(write_side(s->side.file, &s->plan, err));
    QDQ_TRY(qdq_side_seal(&s->side, err));
    s->plan.location = s->side.name;
    qdq_wire_out_free(&s->out);
    return encode_once(s->m, s->external, &s->plan, &s->out, err);
}

/* Both files are complete on disk before the first gets its name. */
static qdq_status write_files(saving *s, qdq_error *err)
{
    QDQ_TRY(qdq_model_guard_data(s->m, s->path, err));
    QDQ_TRY(qdq_outfile_open(s->path, s->allow_overwrite, &s->model, err));
    qdq_outfile_end_by(s->model, s->cancel);
    if (s->plan.items.n > 0)
        QDQ_TRY(write_side_file(s, err));
    QDQ_TRY(qdq_wire_to_file(&s->out, s->model, s->m->mappings.at, s->m->mappings.n, err));
    if (s->allow_overwrite)
        QDQ_TRY(qdq_side_list(s->path, &s->old, err));
    if (s->plan.items.n > 0) {
        QDQ_TRY(qdq_outfile_sync(s->model, err));
        QDQ_TRY(qdq_side_place(&s->side, err));
    }
    return qdq_outfile_place(s->model, NULL, err);
}

static qdq_status save(saving *s, qdq_error *err)
{
    /* the name has the length that it will have, so that the size is right */
    s->plan.location = qdq_arena_printf(&s->arena, "%s" QDQ_SIDE_SUFFIX, qdq_base_name(s->path),
                                        "0123456789abcdef");
    QDQ_NEED(s->plan.location != NULL, err);
    QDQ_TRY(qdq_model_verify(s->m, err));
    qdq_status st = encode(s->m, s->external, &s->plan, &s->out, err);
    if (st != QDQ_OK)
        return qdq_within(err, st, "%s", s->path);
    return write_files(s, err);
}

qdq_status qdq_model_save(const qdq_model *m, const char *path, const qdq_save_opts *opts,
                          qdq_error *err)
{
    qdq_save_opts own = QDQ_SAVE_OPTS_INIT;
    QDQ_TRY(qdq_opts_read("qdq_save_opts", &own, sizeof own, opts, err));
    QDQ_TRY(qdq_job_poll(own.job, err));
    saving s = {.m = m,
                .path = path,
                .external = own.external,
                .allow_overwrite = own.allow_overwrite,
                .job = own.job,
                .cancel = qdq_job_copy(own.job).cancel,
                .arena = QDQ_ARENA_INIT,
                .plan = {.m = m, .places = QDQ_MAP_INIT},
                .out = {.bytes = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT)},
                .side = QDQ_SIDE_INIT};
    s.old.arena = &s.arena;
    qdq_status st = save(&s, err);

    if (st == QDQ_OK)
        qdq_side_remove_old(path, &s.old, s.side.name, s.job);
    qdq_side_close(&s.side, s.model != NULL && qdq_outfile_is_placed(s.model));
    qdq_outfile_abort(s.model);
    qdq_wire_out_free(&s.out);
    reset_plan(&s.plan);
    qdq_arena_free(&s.arena);
    return st;
}

static qdq_status copy_file(const qdq_mapping *file, const char *path, qdq_outfile **f,
                            qdq_old_sides *old, qdq_error *err)
{
    QDQ_TRY(qdq_outfile_open(path, true, f, err));
    QDQ_TRY(qdq_outfile_write_mapping(*f, file, 0, qdq_mapping_size(file), err));
    QDQ_TRY(qdq_side_list(path, old, err));
    return qdq_outfile_place(*f, NULL, err);
}

qdq_status qdq_onnx_save_copy(const qdq_mapping *file, const char *path, const qdq_job *job,
                              qdq_error *err)
{
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_old_sides old = {.arena = &arena};
    qdq_outfile *f = NULL;
    qdq_status st = copy_file(file, path, &f, &old, err);

    if (st == QDQ_OK)
        qdq_side_remove_old(path, &old, NULL, job);
    qdq_outfile_abort(f);
    qdq_arena_free(&arena);
    return st;
}
