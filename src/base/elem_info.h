/* elem_info.h - what is known of each element type. */
#ifndef QDQ_ELEM_INFO_H
#define QDQ_ELEM_INFO_H

#include "qdq/tensor.h"

typedef enum qdq_elem_kind {
    QDQ_ELEM_NONE,
    QDQ_ELEM_BOOL,
    QDQ_ELEM_UINT,
    /* with a sign */
    QDQ_ELEM_INT,
    QDQ_ELEM_FLOAT,
    /* strings and complex numbers */
    QDQ_ELEM_OTHER
} qdq_elem_kind;

/* Numbers of fields of a TensorProto. */
typedef enum qdq_elem_field {
    QDQ_ELEM_NO_FIELD = 0,
    QDQ_ELEM_FLOAT_DATA = 4,
    QDQ_ELEM_INT32_DATA = 5,
    QDQ_ELEM_STRING_DATA = 6,
    QDQ_ELEM_INT64_DATA = 7,
    QDQ_ELEM_DOUBLE_DATA = 10,
    QDQ_ELEM_UINT64_DATA = 11
} qdq_elem_field;

/* A line of elem.def, which says what the members mean. */
typedef struct qdq_elem_info {
    const char *name, *brief, *npy;
    qdq_elem_kind kind;
    qdq_elem_field field;
    unsigned char bits, digits, exponent;
} qdq_elem_info;

/* Any number may come from a file: one that is no type gives the line of QDQ_UNDEFINED. */
const qdq_elem_info *qdq_elem_get_info(qdq_elem e);

bool qdq_elem_is_int(qdq_elem e);   /* integers of any width, bool included */
bool qdq_elem_is_float(qdq_elem e); /* real floating point types of any width */

static inline bool qdq_elem_is_half(qdq_elem e)
{
    return e == QDQ_FLOAT16 || e == QDQ_BFLOAT16;
}

#endif /* QDQ_ELEM_INFO_H */
