/* qdq/tensor.h - element types and arrays: inputs and outputs of a model. */
#ifndef QDQ_TENSOR_H
#define QDQ_TENSOR_H

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The numbers are those of TensorProto.DataType in ONNX 1.20. */
typedef enum qdq_elem {
    QDQ_UNDEFINED = 0,
    QDQ_FLOAT = 1,
    QDQ_UINT8 = 2,
    QDQ_INT8 = 3,
    QDQ_UINT16 = 4,
    QDQ_INT16 = 5,
    QDQ_INT32 = 6,
    QDQ_INT64 = 7,
    QDQ_STRING = 8,
    QDQ_BOOL = 9,
    QDQ_FLOAT16 = 10,
    QDQ_DOUBLE = 11,
    QDQ_UINT32 = 12,
    QDQ_UINT64 = 13,
    QDQ_COMPLEX64 = 14,
    QDQ_COMPLEX128 = 15,
    QDQ_BFLOAT16 = 16,
    QDQ_FLOAT8E4M3FN = 17,
    QDQ_FLOAT8E4M3FNUZ = 18,
    QDQ_FLOAT8E5M2 = 19,
    QDQ_FLOAT8E5M2FNUZ = 20,
    QDQ_UINT4 = 21,
    QDQ_INT4 = 22,
    QDQ_FLOAT4E2M1 = 23,
    QDQ_FLOAT8E8M0 = 24,
    QDQ_UINT2 = 25,
    QDQ_INT2 = 26,
    QDQ_ELEM_COUNT
} qdq_elem;

/* The name of a type in ONNX's text form: "float", "uint8", ...; "undefined" for 0; NULL for an
 * invalid number. */
QDQ_API const char *qdq_elem_name(qdq_elem e);

/* The type of a name; QDQ_UNDEFINED: there is no such name. */
QDQ_API qdq_elem qdq_elem_from_name(const char *name);

/* Bits of one element: 32 for float, 4 for int4; 0 for strings and invalid types. */
QDQ_API unsigned qdq_elem_bits(qdq_elem e);

/* Computes the bytes of `count` elements, packed as ONNX packs 2 and 4 bit types. False: overflow,
 * a negative count, or strings. */
QDQ_API bool qdq_elem_bytes(qdq_elem e, int64_t count, size_t *bytes);

/* Part of the binary interface: it never changes. */
#define QDQ_MAX_RANK 12

/* A dense row-major array. The owner of `data` is stated at each function that passes an array. */
typedef struct qdq_array {
    qdq_elem elem;
    int rank;
    int64_t dim[QDQ_MAX_RANK];
    void *data;
    size_t bytes;
} qdq_array;

/* Number of elements of an array; 1 for rank 0. */
QDQ_API int64_t qdq_array_count(const qdq_array *a);

/* An array with the name of its graph input or output. */
typedef struct qdq_named_array {
    const char *name;
    qdq_array array;
} qdq_named_array;

/* A shape to fix for a graph input: --shape in=1x3x224x224. */
typedef struct qdq_input_shape {
    const char *name;
    int rank;
    int64_t dim[QDQ_MAX_RANK];
} qdq_input_shape;

#ifdef __cplusplus
}
#endif
#endif /* QDQ_TENSOR_H */
