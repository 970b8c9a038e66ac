/* region_graph.h - the graph as region builders see it: nodes that compute data, by their place in
 * the graph's order, who reads whom, and where branches meet again. What is constant and what only
 * computes shapes is not in it. */
#ifndef QDQ_REGION_GRAPH_H
#define QDQ_REGION_GRAPH_H

#include "ir/ir.h"

#define QDQ_NO_PLACE UINT32_MAX

typedef QDQ_VEC(const qdq_value *) qdq_region_values;

typedef struct qdq_region_graph {
    const qdq_graph *g;
    uint32_t n;
    /* by place */
    const qdq_node **node;
    /* by node id; QDQ_NO_PLACE: not in here */
    uint32_t *place;

    /* Who reads node i: reader[first_reader[i]] to reader[first_reader[i + 1] - 1], each once.
     * The same for what it reads. */
    uint32_t *first_reader, *reader;
    uint32_t *first_source, *source;

    /* The tree of immediate post-dominators: where all ways from node i meet again; n is the end of
     * the graph. `jump` is an ancestor further away. */
    uint32_t *meet, *jump, *depth;
} qdq_region_graph;

/* QDQ_E_FORMAT: the graph is not sorted. */
qdq_status qdq_region_graph_new(const qdq_graph *g, qdq_arena *arena, qdq_region_graph *out,
                                qdq_error *err);

static inline uint32_t qdq_readers(const qdq_region_graph *g, uint32_t i)
{
    return g->first_reader[i + 1] - g->first_reader[i];
}

/* Where the ways from both meet; g->n: nowhere. */
uint32_t qdq_region_meet(const qdq_region_graph *g, uint32_t a, uint32_t b);

/* Puts places into the order of the graph. */
void qdq_region_sort_places(uint32_t *place, size_t n);

/* Is it an If, a Loop or a Scan, or anything else with graphs of its own? */
bool qdq_region_has_subgraphs(const qdq_node *n);

/* What node reads, slot by slot (NULL: left out), then what its bodies read of the main graph. */
qdq_status qdq_region_reads(const qdq_node *n, qdq_arena *arena, qdq_region_values *out,
                            qdq_error *err);

/* The node of graph g that a use belongs to, at whatever depth the use is. */
const qdq_node *qdq_region_reader(const qdq_graph *g, const qdq_use *u);

/* Never a point to quantize: an initializer, or what a Constant gives. */
bool qdq_region_is_const(const qdq_value *v);

/* Kernels that other operators are fused into: what a region is built around. */
bool qdq_region_is_backbone(const qdq_node *n);

/* What an engine may fuse into the kernel before it. */
bool qdq_region_is_fusible(const qdq_node *n);

#endif /* QDQ_REGION_GRAPH_H */
