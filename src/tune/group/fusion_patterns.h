/* fusion_patterns.h - equal fusion groups as patterns, so that whatever is decided together in all
 * instances of a pattern is decided together in all groups of one key. */
#ifndef QDQ_FUSION_PATTERNS_H
#define QDQ_FUSION_PATTERNS_H

#include "tune/group/keys.h"
#include "tune/region/pattern.h"

/* One pattern for each key, in their order. Its signature is for people: operators in canonical
 * order, and the key's first digits. Instances have no region, and what belongs to one is not
 * there. Refers to `k`. */
qdq_status qdq_fusion_patterns_make(const qdq_fusion_keys *k, qdq_patterns **out, qdq_error *err);

#endif /* QDQ_FUSION_PATTERNS_H */
