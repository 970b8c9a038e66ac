/* encodings.h - quantization encodings as AIMET writes them beside a float model: JSON, versions
 * 0.4.0 to 0.6.1 (objects by tensor name) and 1.0.0 (lists). Reading only; encodings_plan.c makes a
 * plan of them. */
#ifndef QDQ_ENCODINGS_H
#define QDQ_ENCODINGS_H

#include "base/arena.h"
#include "base/vec.h"
#include "qdq/tensor.h"

/* One tensor: its codes stand for (code - zero_point) * scale. */
typedef struct qdq_encoding {
    const char *tensor;
    /* where it stands in the file, for messages */
    const char *path;
    /* the tensor stays float: nothing below is filled in */
    bool is_float;
    /* (u)int4, 8, 16, 32 */
    qdq_elem type;
    /* scales: one, or one for each channel */
    size_t n;
    const float *scale;
    /* as many */
    const int32_t *zero;
} qdq_encoding;

typedef QDQ_VEC(qdq_encoding) qdq_encoding_vec;

typedef struct qdq_encodings {
    qdq_arena arena;
    qdq_encoding_vec activations, params;
} qdq_encodings;

/* Mistakes are QDQ_E_FORMAT with file, entry and key; what is sound and cannot be said (blocks) is
 * QDQ_E_UNSUPPORTED. `e` is to be freed by freeing its arena, also after a failure. */
qdq_status qdq_encodings_read(const char *text, size_t size, const char *name, qdq_encodings *e,
                              qdq_error *err);

#endif /* QDQ_ENCODINGS_H */
