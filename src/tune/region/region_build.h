/* region_build.h - what the builders of regions share: lists of places in the graph become leaves
 * and composites. Ids, parents and boundaries are made afterwards, for all builders alike. */
#ifndef QDQ_REGION_BUILD_H
#define QDQ_REGION_BUILD_H

#include "tune/region/region.h"
#include "tune/region/region_graph.h"

enum {
    /* nodes of a leaf */
    QDQ_REGION_SIZE = 10,
    /* backbone operators of a leaf */
    QDQ_REGION_KERNELS = 3,
    /* from a fork to where its branches meet */
    QDQ_REGION_HOPS = 10,
    /* of a fork and its branches */
    QDQ_REGION_FORK_NODES = 64
};

typedef QDQ_VEC(uint32_t) qdq_places;

typedef struct qdq_region_builder_state {
    /* of the regions */
    qdq_arena *arena;
    /* of the builder */
    qdq_arena scratch;
    qdq_region_graph g;
    uint32_t max_size, min_refine;

    /* By place. */
    /* number of the group of nodes that is being taken apart; 0: none */
    uint32_t *group;
    uint32_t *seen, *hops;
    /* the fork before this one whose branches meet at the same node; from first_meet */
    uint32_t *next_meet;
    uint32_t *first_meet;
    /* leaves that grow: qdq_region_refine() */
    uint32_t *up, *size, *kernels, *open, *count;
    uint32_t n_groups, n_seen;
    qdq_places queue, roots;
} qdq_region_builder_state;

typedef qdq_region_builder_state qdq_rb;

/* What lies on the ways from the readers of `from` (readers of them) to `to`, both left out,
 * appended to *out. False: it is more than max_nodes, further than max_hops away, or out of memory
 * (*nomem). */
typedef struct qdq_fork {
    const uint32_t *reader;
    uint32_t n_readers, to;
    uint32_t max_nodes, max_hops;
    /* by place: nodes that another group has are passed over; NULL: none are */
    const uint32_t *taken;
} qdq_fork;
bool qdq_region_between(qdq_rb *b, const qdq_fork *fork, qdq_places *out, bool *nomem);

/* A leaf of these nodes, which get sorted. */
qdq_status qdq_region_leaf(qdq_rb *b, qdq_places *nodes, const char *path, qdq_region **out,
                           qdq_error *err);

/* Leaves for these nodes: neighbours are joined while they are small and hold few kernels. Appended
 * to *out in the order of their first node. */
qdq_status qdq_region_leaves(qdq_rb *b, qdq_places *nodes, const char *path, qdq_region_list *out,
                             qdq_error *err);

/* One region for these nodes: a leaf if they are few, else what leaves there are in a composite. */
qdq_status qdq_region_refine(qdq_rb *b, qdq_places *nodes, const char *path, qdq_region **out,
                             qdq_error *err);

/* A composite of children, in the order of their first node. */
qdq_status qdq_region_composite(qdq_rb *b, qdq_region_list *children, const char *path,
                                qdq_region **out, qdq_error *err);

/* Into the order of their first node. */
qdq_status qdq_region_sort(qdq_rb *b, qdq_region_list *list, qdq_error *err);

/* The builders: the regions on top, in the order of their first node. */
qdq_status qdq_regions_by_structure(qdq_rb *b, qdq_region_list *top, qdq_error *err);
qdq_status qdq_regions_by_names(qdq_rb *b, qdq_region_list *top, qdq_error *err);

/* Inputs and outputs of all regions. */
qdq_status qdq_regions_bound(qdq_regions *r, const qdq_region_graph *g, qdq_error *err);

/* The nodes of r and its descendants, in topological order; in `arena`. NULL: out of memory. */
const qdq_node **qdq_region_all_nodes(const qdq_regions *all, const qdq_region *r,
                                      qdq_arena *arena);

#endif /* QDQ_REGION_BUILD_H */
