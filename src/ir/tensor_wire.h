/* tensor_wire.h - elements that are stored in the typed fields of a TensorProto. */
#ifndef QDQ_TENSOR_WIRE_H
#define QDQ_TENSOR_WIRE_H

#include "ir/ir.h"

/* Decodes float_data, int32_data, ... of t->wire into t's raw little-endian form. `size` is what
 * t's type and count need; fewer or more values in the file are QDQ_E_FORMAT. */
qdq_status qdq_tensor_decode_wire(const qdq_tensor *t, unsigned char *data, size_t size,
                                  qdq_error *err);

#endif /* QDQ_TENSOR_WIRE_H */
