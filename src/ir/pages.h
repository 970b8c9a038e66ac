/* pages.h - memory of mapped weights between uses. */
#ifndef QDQ_PAGES_H
#define QDQ_PAGES_H

#include "ir/ir.h"

/* Gives the memory of a large tensor in a mapped file back, after all of it was read: of a model's
 * weights no more are in memory at a time than one pass needs. Its bytes stay readable, see
 * qdq_mapping_rest(). */
void qdq_tensor_rest(const qdq_tensor *t);

#endif /* QDQ_PAGES_H */
