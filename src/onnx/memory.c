/* memory.c - model -> memory: as one piece, or with the bytes of large initializers left where the
 * model has them. Knows no files: those are save.c's. */
#include "base/fail.h"
#include "base/opts.h"
#include "base/vec.h"
#include "ir/graph_check.h"
#include "onnx/write.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { LEAST = 1024, NAME_SIZE = 32 };

qdq_status qdq_check_model_size(const qdq_wire_out *out, bool inside, qdq_error *err)
{
    if (out->total <= QDQ_MAX_MODEL_BYTES)
        return QDQ_OK;
    return qdq_fail(err, QDQ_E_UNSUPPORTED,
                    "%" PRIu64 " bytes in one file, at most %" PRIu64 " can be read%s", out->total,
                    QDQ_MAX_MODEL_BYTES, inside ? ": external data is needed" : "");
}

/* Encodes into *data, which goes to qdq_free(). */
static qdq_status encode(const qdq_model *m, const qdq_onnx_write_opts *opts,
                         const qdq_cancel *cancel, void **data, size_t *bytes, qdq_error *err)
{
    qdq_buf buf = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
    qdq_wire_out out = {.bytes = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT)};
    qdq_status st;

    *data = NULL;
    *bytes = 0;
    QDQ_TRY(qdq_model_verify(m, err));
    st = qdq_onnx_encode(m, opts, &out, err);
    if (st == QDQ_OK)
        st = qdq_check_model_size(&out, opts == NULL, err);
    if (st == QDQ_OK)
        st = qdq_wire_to_buf(&out, cancel, &buf, err);
    qdq_wire_out_free(&out);
    const size_t size = buf.size;
    if (st == QDQ_OK && (*data = qdq_buf_take(&buf)) == NULL)
        st = qdq_nomem(err);
    if (st == QDQ_OK)
        *bytes = size;
    qdq_buf_free(&buf);
    return st;
}

qdq_status qdq_model_to_bytes(const qdq_model *m, const qdq_job *job, void **data, size_t *bytes,
                              qdq_error *err)
{
    *data = NULL;
    *bytes = 0;
    QDQ_TRY(qdq_job_poll(job, err));
    return encode(m, NULL, qdq_job_cancel(job), data, bytes, err);
}

/* --- blocks ----------------------------------------------------------------------------------- */

typedef struct block {
    qdq_span bytes;
    char name[NAME_SIZE];
} block;

typedef struct block_list {
    size_t least;
    qdq_arena arena;
    /* each by itself: the encoder keeps their names */
    QDQ_VEC(block *) blocks;
    /* a block's span -> its index */
    qdq_map places;
    bool failed;
} block_list;

static block *add_block(block_list *l, qdq_span bytes)
{
    qdq_span *key = qdq_arena_alloc(&l->arena, sizeof *key);
    block *b = NULL;
    bool is_new;

    if (key == NULL)
        return NULL;
    *key = bytes;
    qdq_map_value *place = qdq_map_put_n(&l->places, (const char *)key, sizeof *key, &is_new);
    if (place == NULL)
        return NULL;
    if (!is_new)
        return l->blocks.at[place->num];
    place->num = l->blocks.n;
    if ((b = qdq_arena_alloc(&l->arena, sizeof *b)) == NULL || !QDQ_PUSH(&l->arena, &l->blocks, b))
        return NULL;
    b->bytes = bytes;
    snprintf(b->name, sizeof b->name, "block-%" PRIu64, place->num);
    return b;
}

static bool place_tensor(void *ctx, const qdq_tensor *t, bool is_init, qdq_onnx_ref *ref)
{
    block_list *l = ctx;

    if (!is_init || t->storage != QDQ_STORE_BYTES || t->bytes.size < l->least)
        return false;
    const block *b = add_block(l, t->bytes);
    if (b == NULL) {
        l->failed = true;
        return false;
    }
    *ref = (qdq_onnx_ref){b->name, 0, b->bytes.size};
    return true;
}

/* One block of memory: the array, then the names. */
static qdq_block *hand_over(const block_list *l)
{
    const size_t n = l->blocks.n;
    qdq_block *out = calloc(n + 1, sizeof *out + NAME_SIZE);
    char *name = out == NULL ? NULL : (char *)(out + n + 1);

    for (size_t i = 0; out != NULL && i < n; i++, name += NAME_SIZE) {
        const block *b = l->blocks.at[i];
        memcpy(name, b->name, NAME_SIZE);
        out[i] = (qdq_block){name, b->bytes.data, b->bytes.size};
    }
    return out;
}

qdq_status qdq_model_to_blocks(const qdq_model *m, size_t least, void **data, size_t *bytes,
                               qdq_block **blocks, size_t *n, qdq_error *err)
{
    block_list l = {
        .least = least > 0 ? least : LEAST, .arena = QDQ_ARENA_INIT, .places = QDQ_MAP_INIT};
    const qdq_onnx_write_opts opts = {.external = place_tensor, .ctx = &l};

    *blocks = NULL;
    *n = 0;
    qdq_status st = encode(m, &opts, NULL, data, bytes, err);
    if (st == QDQ_OK && (l.failed || (*blocks = hand_over(&l)) == NULL))
        st = qdq_nomem(err);
    if (st == QDQ_OK) {
        *n = l.blocks.n;
    } else {
        qdq_free(*data);
        *data = NULL;
        *bytes = 0;
    }
    qdq_map_free(&l.places);
    qdq_arena_free(&l.arena);
    return st;
}
