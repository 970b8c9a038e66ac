/* calib_cache.h - ranges of tensors in a file, so that they need not be calibrated again.
 *
 * TensorRT's form: a line "TRT-...", then lines "tensor: 3d4ccccd" with the bits of the float scale
 * for int8 (the largest magnitude / 127) in hexadecimal, the highest first. The last ": " of a line
 * ends the name, which may contain others.
 *
 * The form of qdq: {"qdq_ranges": 1, "tensors": [{"tensor": "x", "low": -1, "high": 2.5}, ...]}. */
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

/* Reads a cache. QDQ_E_FORMAT: an error, with the line, or the entry and the key; or two different
 * ranges of a tensor. Call qdq_cache_free() in every case. */
qdq_status qdq_cache_read(const char *path, qdq_cache *out, qdq_error *err);
qdq_status qdq_cache_parse(const char *text, size_t size, const char *name, qdq_cache *out,
                           qdq_error *err);
void qdq_cache_free(qdq_cache *c);

#endif /* QDQ_CALIB_CACHE_H */
