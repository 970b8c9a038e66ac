/* context.h - what surrounds a fusion group: the nodes one step away, which its halo consists of.
 * Groups of one content key with equal surroundings are one measurement; the first and the last of
 * equal blocks often differ in them. */
#ifndef QDQ_CONTEXT_H
#define QDQ_CONTEXT_H

#include "tune/group/keys.h"

/* 32 hexadecimal digits and a NUL: in canonical order, for each tensor that goes in the operator
 * that gives it, for each that goes out those that read it, with attributes and types; no names. */
qdq_status qdq_group_context(const qdq_fusions *f, const qdq_key_instance *i, uint32_t n_nodes,
                             char text[33], qdq_error *err);

#endif /* QDQ_CONTEXT_H */
