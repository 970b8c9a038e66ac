/* inspect_dot.h - a model as a drawing for Graphviz. */
#ifndef QDQ_INSPECT_DOT_H
#define QDQ_INSPECT_DOT_H

#include "base/buf.h"
#include "ir/ir.h"

/* Text inside a double-quoted label. */
void qdq_dot_escape(qdq_buf *out, const char *s);

void qdq_print_dot(const qdq_model *m, qdq_buf *out);

#endif /* QDQ_INSPECT_DOT_H */
