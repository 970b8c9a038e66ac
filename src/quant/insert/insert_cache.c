/* insert_cache.c - stores quantized weights of earlier insertions. */
#include "quant/insert/insert_cache.h"

#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

#include "base/fail.h"

void qdq_insert_cache_free(qdq_insert_cache *c)
{
    for (size_t i = 0; i < c->mappings.n; i++)
        qdq_mapping_unref(c->mappings.at[i]);
    qdq_map_free(&c->scales);
    qdq_map_free(&c->codes);
    qdq_arena_free(&c->arena);
}

/* --- scales ----------------------------------------------------------------------------------- */

/* All that scales follow from beside the numbers of the weight; those of a reduced precision have
 * none here. */
static const char *scales_key(const qdq_plan_weight *w, qdq_arena *arena)
{
    uint64_t clip = w->clip != NULL ? XXH3_64bits_withSeed(w->clip, w->n_scales, w->n_scales) : 0;

    return qdq_arena_printf(arena, "%d %d %" PRId64 " %d%d%d %" PRIx64 " %a %s", (int)w->type,
                            w->axis, w->block, w->asymmetric, w->reduced, w->pairs, clip,
                            w->clip != NULL ? w->clip_step : 0, w->tensor);
}

const qdq_cached_scales *qdq_insert_cached_scales(const qdq_insert_cache *c,
                                                  const qdq_plan_weight *w, qdq_arena *scratch)
{
    const char *key = scales_key(w, scratch);

    return key != NULL ? qdq_map_get_ptr(&c->scales, key) : NULL;
}

qdq_status qdq_insert_cache_scales(qdq_insert_cache *c, const qdq_plan_weight *w,
                                   const float *scales, const int32_t *zeros, size_t n,
                                   qdq_error *err)
{
    const qdq_cached_scales entry = {n, qdq_arena_copy(&c->arena, scales, n, sizeof *scales),
                                     qdq_arena_copy(&c->arena, zeros, n, sizeof *zeros)};
    const qdq_cached_scales *kept = qdq_arena_copy(&c->arena, &entry, 1, sizeof entry);

    return qdq_allocated(entry.scales != NULL && entry.zeros != NULL && kept != NULL &&
                             qdq_map_set_ptr(&c->scales, scales_key(w, &c->arena), kept),
                         err);
}

/* --- codes ------------------------------------------------------------------------------------ */

const char *qdq_insert_codes_key(const qdq_plan_weight *w, const float *scales,
                                 const int32_t *zeros, size_t n, qdq_arena *scratch)
{
    XXH128_hash_t s = XXH3_128bits(scales, n * sizeof *scales),
                  z = XXH3_128bits(zeros, n * sizeof *zeros);
    uint64_t codes = w->codes != NULL ? XXH3_64bits(w->codes, w->codes_size) : 0;

    return qdq_arena_printf(
        scratch, "%d %d %" PRId64 " %" PRIx64 "%" PRIx64 " %" PRIx64 " %" PRIx64 " %s",
        (int)w->type, w->axis, w->block, s.high64, s.low64, z.low64, codes, w->tensor);
}

const qdq_tensor *qdq_insert_cached_codes(const qdq_insert_cache *c, const char *key)
{
    return qdq_map_get_ptr(&c->codes, key);
}

static qdq_tensor *tensor_of(qdq_insert_cache *c, const qdq_fresh_codes *f, qdq_mapping *map,
                             size_t offset)
{
    qdq_tensor *t = qdq_arena_alloc(&c->arena, sizeof *t);
    const int64_t *dim =
        qdq_arena_copy(&c->arena, f->like->dim, (size_t)f->like->rank, sizeof *dim);

    if (t == NULL || dim == NULL)
        return NULL;
    *t = (qdq_tensor){.name = "",
                      .elem = f->type,
                      .rank = f->like->rank,
                      .dim = dim,
                      .count = f->like->count,
                      .storage = QDQ_STORE_BYTES,
                      .bytes = {qdq_mapping_data(map) + offset, f->data.size},
                      .owner = map};
    return t;
}

/* A codes entry without a tensor is one that is not there. */
static qdq_status put_codes(qdq_insert_cache *c, const qdq_fresh_codes *f, qdq_mapping *map,
                            size_t offset, qdq_error *err)
{
    const qdq_tensor *t = tensor_of(c, f, map, offset);

    return qdq_allocated(
        t != NULL && qdq_map_set_ptr(&c->codes, qdq_arena_strdup(&c->arena, f->key), t), err);
}

/* Where the caller has no place for them. */
static qdq_status store_unnamed(const qdq_span *piece, size_t n, qdq_mapping **map, size_t *offset,
                                qdq_error *err)
{
    enum { ALIGN = 64 };
    size_t size = 0;

    for (size_t i = 0; i < n; i++) {
        offset[i] = size;
        size += (piece[i].size + ALIGN - 1) / ALIGN * ALIGN;
    }
    *map = qdq_mapping_new_on_disk(size);
    QDQ_NEED(*map != NULL, err);
    for (size_t i = 0; i < n; i++)
        if (piece[i].size > 0)
            memcpy(qdq_mapping_own_data(*map) + offset[i], piece[i].data, piece[i].size);
    return QDQ_OK;
}

static qdq_status store_codes(qdq_insert_cache *c, const qdq_fresh_codes *fresh, size_t n,
                              qdq_arena *scratch, qdq_error *err)
{
    qdq_span *piece = qdq_arena_array(scratch, n, sizeof *piece);
    size_t *offset = qdq_arena_array(scratch, n, sizeof *offset);
    qdq_mapping *map;

    QDQ_NEED(piece != NULL && offset != NULL, err);
    for (size_t i = 0; i < n; i++)
        piece[i] = fresh[i].data;
    QDQ_TRY(c->store != NULL ? c->store(c->ctx, piece, n, &map, offset, err)
                             : store_unnamed(piece, n, &map, offset, err));
    if (!QDQ_PUSH(&c->arena, &c->mappings, map)) {
        qdq_mapping_unref(map);
        return qdq_nomem(err);
    }
    for (size_t i = 0; i < n; i++)
        QDQ_TRY(put_codes(c, &fresh[i], map, offset[i], err));
    return QDQ_OK;
}

qdq_status qdq_insert_cache_codes(qdq_insert_cache *c, const qdq_fresh_codes *fresh, size_t n,
                                  qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_status st = n > 0 ? store_codes(c, fresh, n, &scratch, err) : QDQ_OK;

    qdq_arena_free(&scratch);
    return st;
}
