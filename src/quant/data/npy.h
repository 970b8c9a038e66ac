/* npy.h - NumPy's .npy format, versions 1 to 3: what stands before the data, and the data made
 * little-endian.
 *
 * Accepted: float16, 32, 64; int and uint of 8 to 64 bits; bool; either byte order; row-major.
 * Everything else is QDQ_E_UNSUPPORTED with its name. */
#ifndef QDQ_NPY_H
#define QDQ_NPY_H

#include <stddef.h>

#include "qdq/tensor.h"

typedef struct qdq_npy {
    qdq_elem elem;
    size_t elem_size;
    /* the data are big-endian */
    bool swap;
    int rank;
    int64_t dim[QDQ_MAX_RANK];
    /* elements */
    int64_t count;
    /* of the data */
    size_t bytes;
    /* of the data in the file */
    size_t offset;
} qdq_npy;

enum {
    /* bytes that tell how long the header is; a whole file has more */
    QDQ_NPY_START = 12,
    /* a longer header is refused */
    QDQ_NPY_MAX_OFFSET = 1024 * 1024,
};

/* Where the data begin, from the first QDQ_NPY_START bytes of the file. */
qdq_status qdq_npy_data_offset(const unsigned char *start, size_t size, size_t *offset,
                               qdq_error *err);

/* Reads the header. `size` may end where the data begin. */
qdq_status qdq_npy_parse(const unsigned char *file, size_t size, qdq_npy *out, qdq_error *err);

/* Whole elements as they stand in the file become little-endian; every bool becomes 0 or 1. */
void qdq_npy_to_native(const qdq_npy *a, void *data, size_t bytes);

#endif /* QDQ_NPY_H */
