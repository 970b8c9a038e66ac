/* rule_bounds.h - what a Relu or a Clip lets through, as numbers. */
#ifndef QDQ_RULE_BOUNDS_H
#define QDQ_RULE_BOUNDS_H

#include "opt/rules/rule.h"

/* Doubles hold the bounds of all types but 64 bit integers, of which only those up to 53 bits are
 * read. */
typedef struct qdq_bounds {
    /* never NaN; infinite: none */
    double lo, hi;
    /* of the bounds; QDQ_UNDEFINED: no bound says it */
    qdq_elem elem;
} qdq_bounds;

/* False: a bound is no constant number. */
bool qdq_rule_bounds(const qdq_match *m, const qdq_node *relu_or_clip, qdq_bounds *out);

#endif /* QDQ_RULE_BOUNDS_H */
