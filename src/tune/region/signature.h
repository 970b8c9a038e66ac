/* signature.h - the text of patterns, as Model-Optimizer writes it. */
#ifndef QDQ_SIGNATURE_H
#define QDQ_SIGNATURE_H

#include "base/buf.h"
#include "ir/ir.h"
#include "tune/region/region.h"

void qdq_signature_attr(qdq_buf *b, const qdq_attr *a); /* the value alone */
void qdq_signature_bytes(qdq_buf *b, const void *data, size_t size);

/* "Conv[group=1,kernel_shape=3x3]"; with all attributes, in `arena`. NULL: out of memory. */
const char *qdq_signature_head(const qdq_node *n, qdq_arena *arena);

/* Operators whose operands may be swapped. */
bool qdq_is_symmetric(const qdq_node *n);

/* "<external:Conv,internal:Relu>" of a symmetric node in region r; nothing of others. False: out of
 * memory. */
bool qdq_signature_sources(qdq_buf *b, const qdq_regions *all, const qdq_region *r,
                           const qdq_node *n, qdq_arena *scratch);

#endif /* QDQ_SIGNATURE_H */
