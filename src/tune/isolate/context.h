/* context.h - the surroundings of a fusion group: the nodes next to it, which form its halo. Groups
 * of one content key with equal surroundings share a measurement; the first and the last of equal
 * blocks often differ in them. */
#ifndef QDQ_CONTEXT_H
#define QDQ_CONTEXT_H

#include "tune/group/keys.h"

/* Writes the surroundings as 32 hexadecimal digits and a NUL. It is a hash in canonical order, of
 * the producer of each input and the consumers of each output, with attributes and types, without
 * names. */
qdq_status qdq_group_context(const qdq_fusions *f, const qdq_key_instance *i, uint32_t n_nodes,
                             char text[33], qdq_error *err);

#endif /* QDQ_CONTEXT_H */
