/* widen.h - widens the 16-bit floats of a model to float32, to check results on an engine without
 * kernels for them. */
#ifndef QDQ_WIDEN_H
#define QDQ_WIDEN_H

#include "ir/ir.h"
#include "qdq/engine.h"

/* Whether the model has a value, constant or attribute of type float16 or bfloat16. */
bool qdq_model_has_half(const qdq_model *m);

/* Makes a copy that computes in float32 what m computes in float16 and bfloat16. Graph inputs and
 * outputs keep their types, and float8 values stay. QDQ_E_UNSUPPORTED: sequences or optionals of
 * 16-bit floats. *out is freed with qdq_model_free(). */
qdq_status qdq_model_widen(const qdq_model *m, qdq_model **out, qdq_error *err);

#endif /* QDQ_WIDEN_H */
