/* canon.h - the canonical form of a region, or of any set of nodes: the same for regions that are
 * alike, whatever their nodes are called and in whatever order they come. */
#ifndef QDQ_CANON_H
#define QDQ_CANON_H

#include "tune/region/region.h"

typedef struct qdq_canon qdq_canon; /* tables for one graph */

typedef struct qdq_canon_form {
    /* of the region and its descendants, in canonical order: sources first */
    const qdq_node **node;
    /* of each node: canonical input -> input */
    uint32_t **input;
    size_t n;
    uint64_t hash[2];
    /* what is hashed; until the next form is made */
    const uint64_t *word;
    size_t n_words;
} qdq_canon_form;

qdq_status qdq_canon_new(const qdq_regions *all, qdq_arena *arena, qdq_canon **out, qdq_error *err);

/* The same for any disjoint sets of nodes, `owner` by node id (0: in none, neither counted as a
 * reader), which must live as long. Sizes count exactly, and so do small integer constants; for
 * regions, sizes of much the same work are equal. */
qdq_status qdq_canon_new_sets(const qdq_graph *g, const uint32_t *owner, qdq_arena *arena,
                              qdq_canon **out, qdq_error *err);
/* `node` in the order of the graph; those that are not of set `own` are its surroundings. */
qdq_status qdq_canon_nodes(qdq_canon *c, const qdq_node *const *node, size_t n, uint32_t own,
                           qdq_arena *arena, qdq_canon_form *out, qdq_error *err);

/* The form lives in `arena`. */
qdq_status qdq_canon_region(qdq_canon *c, const qdq_region *r, qdq_arena *arena,
                            qdq_canon_form *out, qdq_error *err);

/* "Conv[kernel_shape=3x3]": of a node that has a region. */
const char *qdq_canon_head(const qdq_canon *c, const qdq_node *n);

/* Number of a dimension: numbers that make much the same work have the same one. */
unsigned qdq_canon_bucket(int64_t dim);

#endif /* QDQ_CANON_H */
