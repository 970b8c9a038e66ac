/* pattern.h - regions that are alike. Two regions are instances of one pattern if their canonical
 * forms are equal; the k-th node of the canonical order plays the same part in all of them, and so
 * does its i-th canonical input. */
#ifndef QDQ_PATTERN_H
#define QDQ_PATTERN_H

#include "tune/region/region.h"

typedef struct qdq_instance {
    const qdq_region *region;
    /* core nodes in canonical order, pattern.n_nodes of them */
    const qdq_node **node;
    /* node k, canonical input i -> input of the node: operands of commutative operators may be
     * swapped */
    uint32_t **input;
    /* with those of all descendants, region->n_total of them, in canonical order */
    const qdq_node **inner;
    /* as `input` */
    uint32_t **inner_input;
} qdq_instance;

typedef struct qdq_pattern {
    /* Model-Optimizer's text: for display and for its cache files */
    const char *signature;
    /* the first 32 hexadecimal digits of SHA-256 of it */
    char hash[33];
    /* of the canonical form: operators, attributes that matter, wiring, types, bucketed shapes */
    uint64_t canon[2];
    size_t n_nodes;
    qdq_instance *instance;
    size_t n_instances;
} qdq_pattern;

typedef struct qdq_patterns {
    qdq_arena arena;
    /* in the order of their first instance */
    qdq_pattern *pattern;
    size_t n;
} qdq_patterns;

qdq_status qdq_patterns_find(qdq_regions *r, qdq_patterns **out, qdq_error *err);
void qdq_patterns_free(qdq_patterns *p); /* NULL is allowed */

/* Children as signatures and points count them: by their size, those of one size in their order. In
 * `scratch`; NULL: out of memory. */
const qdq_region **qdq_region_sorted_children(const qdq_region *r, qdq_arena *scratch);

#endif /* QDQ_PATTERN_H */
