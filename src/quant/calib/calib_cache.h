/* calib_cache.h - ranges of tensors in a file, so that what was calibrated once need not be again.
 *
 * TensorRT's form: a line "TRT-...", then "tensor: 3d4ccccd" each, the bits of the float scale for
 * int8 (the largest magnitude / 127) in hexadecimal, the highest first. The last ": " of a line
 * ends the name, which may hold others.
 *
 * Ours: {"qdq_ranges": 1, "tensors": [{"tensor": "x", "low": -1, "high": 2.5}, ...]}. */
#ifndef QDQ_CALIB_CACHE_H
#define QDQ_CALIB_CACHE_H

#include "base/arena.h"
#include "base/vec.h"
#include "qdq/quant.h"
#include "quant/calib/threshold.h"

typedef struct qdq_cached_range {
    const char *tensor;
    qdq_range range;
} qdq_cached_range;

typedef struct qdq_cache {
    qdq_arena arena;
    QDQ_VEC(qdq_cached_range) ranges;
} qdq_cache;

/* Mistakes are QDQ_E_FORMAT with the line, or the entry and the key; so are two different ranges
 * for a tensor. Freed with qdq_cache_free() either way. */
qdq_status qdq_cache_read(const char *path, qdq_cache *out, qdq_error *err);
qdq_status qdq_cache_parse(const char *text, size_t size, const char *name, qdq_cache *out,
                           qdq_error *err);
void qdq_cache_free(qdq_cache *c);

#endif /* QDQ_CALIB_CACHE_H */
