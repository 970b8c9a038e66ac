/* region.h - regions of a graph: what is varied together. Every node that is neither constant nor
 * shape arithmetic belongs to exactly one region. */
#ifndef QDQ_REGION_H
#define QDQ_REGION_H

#include "base/buf.h"
#include "ir/ir.h"
#include "qdq/parts.h"

typedef struct qdq_region qdq_region;
typedef QDQ_VEC(qdq_region *) qdq_region_list;

struct qdq_region {
    /* breadth first from the top, as it is printed */
    uint32_t id;
    uint32_t depth;
    qdq_region_type type;
    qdq_region *parent;
    /* in topological order of their first node */
    qdq_region_list children;
    /* direct ones, in topological order */
    QDQ_VEC(const qdq_node *) nodes;
    /* by (first reader's place, input); never an omitted one, a constant, or a computed shape */
    QDQ_VEC(const qdq_value *) inputs;
    /* read outside, or graph outputs, or read by nothing */
    QDQ_VEC(const qdq_value *) outputs;
    /* of the names builder: "/encoder/layer.0"; NULL */
    const char *path;
    /* nodes with those of all descendants */
    size_t n_total;
    /* index into the patterns; set by qdq_patterns_find() */
    uint32_t pattern;
};

typedef struct qdq_regions {
    qdq_arena arena;
    const qdq_model *model;
    /* structure or names: which was used */
    qdq_region_builder builder;
    /* of the nodes: with a name that begins with '/' (the 80 % rule) */
    double named_share;
    /* by id */
    qdq_region_list all;
    qdq_region_list top;
    /* by node id: the region that has it; NULL: constant or shape arithmetic */
    qdq_region **of;
    /* by node id: its place in the graph's order, among those that have a region */
    uint32_t *place;
    size_t n_nodes, n_covered;
} qdq_regions;

/* Only the main graph, which is sorted. Linear time. */
qdq_status qdq_regions_find(const qdq_model *m, const qdq_region_opts *opts, qdq_regions **out,
                            qdq_error *err);
void qdq_regions_free(qdq_regions *r); /* NULL is allowed */

void qdq_region_put_name(qdq_buf *b, const qdq_node *n); /* its name, or Op@output */

/* Walks the tree, parents before their children: the first one for NULL; NULL behind the last. */
const qdq_region *qdq_region_next(const qdq_regions *all, const qdq_region *r);

#endif /* QDQ_REGION_H */
