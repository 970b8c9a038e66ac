/* widen.h - a model whose 16-bit floats are float32: to check results where the engine has no
 * kernels for them. */
#ifndef QDQ_WIDEN_H
#define QDQ_WIDEN_H

#include "ir/ir.h"
#include "qdq/engine.h"

/* Is there a value, constant or attribute of type float16 or bfloat16? */
bool qdq_model_has_half(const qdq_model *m);

/* A copy that computes in float32 what m computes in float16 and bfloat16. Graph inputs and outputs
 * keep their types, float8 codes stay what they are. Sequences and optionals of 16-bit floats are
 * QDQ_E_UNSUPPORTED. */
qdq_status qdq_model_widen(const qdq_model *m, qdq_model **out, qdq_error *err);

#endif /* QDQ_WIDEN_H */
