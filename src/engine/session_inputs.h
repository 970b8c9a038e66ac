/* session_inputs.h - what a caller hands over against what a session takes. */
#ifndef QDQ_SESSION_INPUTS_H
#define QDQ_SESSION_INPUTS_H

#include "engine/engine_ops.h"

/* *out: the arrays in the order of the session's inputs, free() it. An input that is missing,
 * unknown, given twice, or of another type or shape is QDQ_E_USAGE, strings are
 * QDQ_E_UNSUPPORTED. */
qdq_status qdq_session_order_inputs(const qdq_session *s, const qdq_named_array *in, size_t n_in,
                                    const qdq_array ***out, qdq_error *err);

/* "1x3x?x224", "N" for a named dim, "scalar" for rank 0, "?" for an unknown rank. Returns
 * `text`. */
const char *qdq_io_shape_text(const qdq_io *io, char *text, size_t size);

/* The same of what is handed over. */
const char *qdq_input_shape_text(const qdq_array *a, char *text, size_t size);

#endif /* QDQ_SESSION_INPUTS_H */
