/* scale_types.h - the last look at a quantized model: Q and DQ whose scale has another type than
 * the floats beside them load nowhere, or give other numbers. */
#ifndef QDQ_SCALE_TYPES_H
#define QDQ_SCALE_TYPES_H

#include "ir/ir.h"

/* For every Q the type of x is that of the scale, for every DQ the type of the result is:
 * QDQ_E_FORMAT names the first node where it is not. Before opset 23, which lets them differ; types
 * that are not known are not asked. */
qdq_status qdq_check_scale_types(const qdq_model *m, qdq_error *err);

#endif /* QDQ_SCALE_TYPES_H */
