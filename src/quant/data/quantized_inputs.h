/* quantized_inputs.h - graph inputs that take codes: samples are floats more often than not, and
 * the scale that makes codes of them stands in the model. */
#ifndef QDQ_QUANTIZED_INPUTS_H
#define QDQ_QUANTIZED_INPUTS_H

#include "ir/ir.h"
#include "target/qparam.h"

/* Only nodes DequantizeLinear with one constant scale and zero point, all the same, read input
 * `name`, whose type are codes of 8 or 16 bits: *out is what they say. Otherwise its type is
 * QDQ_UNDEFINED. */
qdq_status qdq_input_codes(const qdq_model *m, const char *name, qdq_qparam *out, qdq_error *err);

#endif /* QDQ_QUANTIZED_INPUTS_H */
