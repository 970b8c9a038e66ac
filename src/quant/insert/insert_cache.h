/* insert_cache.h - quantized weights of earlier insertions, for several plans on copies of one
 * clean model: scales of a weight are searched once, and its quantized values are computed and
 * stored once. */
#ifndef QDQ_INSERT_CACHE_H
#define QDQ_INSERT_CACHE_H

#include "ir/ir.h"
#include "quant/plan/plan.h"

/* Stores n pieces of data. *map is a new reference to their mapping, with piece i at offset[i]. */
typedef qdq_status qdq_insert_store_fn(void *ctx, const qdq_span *piece, size_t n,
                                       qdq_mapping **map, size_t *offset, qdq_error *err);

typedef struct qdq_insert_cache {
    qdq_arena arena;
    /* weight and the method of its scales to qdq_cached_scales, before they are widened for
     * biases */
    qdq_map scales;
    /* weight, form, scales, zero points to const qdq_tensor * */
    qdq_map codes;
    /* one reference each to the mappings of quantized values */
    QDQ_VEC(qdq_mapping *) mappings;
    /* NULL: in unnamed files */
    qdq_insert_store_fn *store;
    void *ctx;
} qdq_insert_cache;

typedef struct qdq_cached_scales {
    size_t n;
    const float *scales;
    const int32_t *zeros;
} qdq_cached_scales;

void qdq_insert_cache_free(qdq_insert_cache *c);

/* The scales of the weight, or NULL. */
const qdq_cached_scales *qdq_insert_cached_scales(const qdq_insert_cache *c,
                                                  const qdq_plan_weight *w, qdq_arena *scratch);
qdq_status qdq_insert_cache_scales(qdq_insert_cache *c, const qdq_plan_weight *w,
                                   const float *scales, const int32_t *zeros, size_t n,
                                   qdq_error *err);

/* The key of the quantized values of a weight with these scales, in `scratch`; NULL: out of
 * memory. */
const char *qdq_insert_codes_key(const qdq_plan_weight *w, const float *scales,
                                 const int32_t *zeros, size_t n, qdq_arena *scratch);
const qdq_tensor *qdq_insert_cached_codes(const qdq_insert_cache *c, const char *key);

/* Quantized values to store, of type `type` in the shape of `like`. */
typedef struct qdq_fresh_codes {
    const char *key;
    const qdq_tensor *like;
    qdq_elem type;
    qdq_span data;
} qdq_fresh_codes;

/* Stores all n, or none. */
qdq_status qdq_insert_cache_codes(qdq_insert_cache *c, const qdq_fresh_codes *fresh, size_t n,
                                  qdq_error *err);

#endif /* QDQ_INSERT_CACHE_H */
