/* insert_cache.c - see the header. */
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

    return qdq_arena_printf(arena, "%d %d %" PRId64 " %d%d %" PRIx64 " %a %s", (int)w->type,
                            w->axis, w->block, w->asymmetric, w->reduced, clip,
                            w->clip != NULL ? w->clip_step : 0, w->tensor);
}

const qdq_cached_scales *qdq_insert_cached_scales(const qdq_insert_cache *c,
                                                  const qdq_plan_weight *w, qdq_arena *scratch)
{
    const char *key = scales_key(w, scratch);
    const qdq_map_value *v = key != NULL ? qdq_map_get(&c->scales, key) : NULL;

    return v != NULL ? v->ptr : NULL;
}

qdq_status qdq_insert_cache_scales(qdq_insert_cache *c, const qdq_plan_weight *w,
                                   const float *scales, const int32_t *zeros, size_t n,
                                   qdq_error *err)
{
    const char *key = scales_key(w, &c->arena);
    qdq_cached_scales *kept = qdq_arena_alloc(&c->arena, sizeof *kept);
    float *s = qdq_arena_array(&c->arena, n + 1, sizeof *s);
    int32_t *z = qdq_arena_array(&c->arena, n + 1, sizeof *z);
    qdq_map_value *v = key != NULL && kept != NULL && s != NULL && z != NULL
                           ? qdq_map_put(&c->scales, key, NULL)
                           : NULL;

    if (v == NULL)
        return qdq_nomem(err);
    memcpy(s, scales, n * sizeof *s);
    memcpy(z, zeros, n * sizeof *z);
    *kept = (qdq_cached_scales){n, s, z};
    v->ptr = kept;
    return QDQ_OK;
}

/* --- codes ------------------------------------------------------------------------------------ */

const char *qdq_insert_codes_key(const qdq_plan_weight *w, const float *scales,
                                 const int32_t *zeros, size_t n, qdq_arena *scratch)
{
    XXH128_hash_t s = XXH3_128bits(scales, n * sizeof *scales),
                  z = XXH3_128bits(zeros, n * sizeof *zeros);

    return qdq_arena_printf(scratch, "%d %d %" PRId64 " %" PRIx64 "%" PRIx64 " %" PRIx64 " %s",
                            (int)w->type, w->axis, w->block, s.high64, s.low64, z.low64, w->tensor);
}

const qdq_tensor *qdq_insert_cached_codes(const qdq_insert_cache *c, const char *key)
{
    const qdq_map_value *v = qdq_map_get(&c->codes, key);

    return v != NULL ? v->ptr : NULL;
}

static qdq_tensor *tensor_of(qdq_insert_cache *c, const qdq_fresh_codes *f, qdq_mapping *map,
                             size_t offset)
{
    qdq_tensor *t = qdq_arena_alloc(&c->arena, sizeof *t);
    int64_t *dim = qdq_arena_array(&c->arena, (size_t)f->like->rank + 1, sizeof *dim);

    if (t == NULL || dim == NULL)
        return NULL;
    if (f->like->rank > 0)
        memcpy(dim, f->like->dim, (size_t)f->like->rank * sizeof *dim);
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
    const char *key = qdq_arena_strdup(&c->arena, f->key);
    qdq_tensor *t = tensor_of(c, f, map, offset);
    qdq_map_value *v = key != NULL && t != NULL ? qdq_map_put(&c->codes, key, NULL) : NULL;

    if (v == NULL)
        return qdq_nomem(err);
    v->ptr = t;
    return QDQ_OK;
}

static qdq_status store(qdq_insert_cache *c, const qdq_fresh_codes *fresh, size_t n,
                        qdq_arena *scratch, qdq_error *err)
{
    qdq_span *piece = qdq_arena_array(scratch, n, sizeof *piece);
    size_t *offset = qdq_arena_array(scratch, n, sizeof *offset);
    qdq_mapping *map;

    if (piece == NULL || offset == NULL)
        return qdq_nomem(err);
    for (size_t i = 0; i < n; i++)
        piece[i] = fresh[i].data;
    QDQ_TRY(c->store(c->ctx, piece, n, &map, offset, err));
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
    qdq_status st = n > 0 ? store(c, fresh, n, &scratch, err) : QDQ_OK;

    qdq_arena_free(&scratch);
    return st;
}
