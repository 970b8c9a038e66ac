/* session_io.h - a session's inputs and outputs, for engines that do not say themselves what a
 * model has. */
#ifndef QDQ_SESSION_IO_H
#define QDQ_SESSION_IO_H

#include "engine/engine_ops.h"
#include "ir/ir.h"

/* Sets s->in and s->out from the values of g, whose shapes have been inferred. Texts are copied to
 * the session's arena. */
qdq_status qdq_session_describe(qdq_session *s, const qdq_graph *g, qdq_error *err);
/* The same with inferred shapes, in a copy: the model stays as it is. */
qdq_status qdq_session_describe_model(qdq_session *s, const qdq_model *m, qdq_error *err);

#endif /* QDQ_SESSION_IO_H */
