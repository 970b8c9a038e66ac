/* space_edges.h - each edge by itself: Q/DQ where no slot group puts them, or none where one does.
 * In front of a float operator, behind a copy operator instead of before it, on one input of a
 * joint operator alone: what an engine makes of that no target has to know.
 *
 * An assignment that may say so has qdq_space_edge_bits() bits: first those of space_partial.h,
 * then one for each edge, then those of space_types.h, then those of space_formats.h. An edge whose
 * bit is on is the other way round than the rest of the assignment has it: with Q/DQ where there
 * would be none, and the other way round. A constant weight is its group's alone. */
#ifndef QDQ_SPACE_EDGES_H
#define QDQ_SPACE_EDGES_H

#include "tune/space/space.h"

/* A float that is read in the main graph: input `input` of `node`, or, where that is NULL, the
 * graph's output with this number. */
typedef struct qdq_space_edge {
    const qdq_value *value;
    const qdq_node *node;
    uint32_t input;
} qdq_space_edge;

#define QDQ_NO_EDGE SIZE_MAX

/* Reasons in plans of nodes whose edges are turned. */
#define QDQ_SPACE_GETS_CODES   "an input of it is quantized: measured"
#define QDQ_SPACE_MOVES_FLOATS "moves floats: measured"
#define QDQ_SPACE_GETS_FLOATS  "an input of it is float: measured"

/* Bits of an assignment with edges; the last ones are of space_types.h and space_formats.h. */
size_t qdq_space_edge_bits(const qdq_space *s);

/* The place of an edge in s->edge; QDQ_NO_EDGE: the space does not decide about it. */
size_t qdq_space_edge_of(const qdq_space *s, const qdq_node *n, uint32_t input);

/* Is edge number `edge` the other way round in `a`? False for an assignment without edges. */
bool qdq_space_is_flipped(const qdq_space *s, const qdq_assign *a, size_t edge);
void qdq_space_flip(const qdq_space *s, qdq_assign *a, size_t edge); /* an assignment with edges */

/* Whose result `v` is, behind operators that copy; NULL: none, it is a graph input. */
const qdq_node *qdq_space_source(const qdq_space *s, const qdq_value *v);

/* *out: by edge, does a reader take what Q/DQ of this plan make of the tensor? In the arena. */
qdq_status qdq_space_read_edges(const qdq_space *s, const qdq_plan *p, qdq_arena *arena, bool **out,
                                qdq_error *err);

/* Turns the edges of p round that `a` says; p is the finished plan of the rest of it. Scales of
 * tensors that get Q/DQ, and had none: as in qdq_space_plan(), which calls this. A tensor that
 * calibration saw no value of gets none. */
qdq_status qdq_space_turn_edges(const qdq_space *s, const qdq_assign *a,
                                const qdq_space_scaling *from, qdq_plan *p, qdq_error *err);

/* Into *a, with edges, made in the arena: the placement of `want`, a plan of this model from
 * wherever, edge by edge. What the space cannot say is left out: inputs of linear operators in a
 * way that is no half of a group, or what a body reads. */
qdq_status qdq_space_express(const qdq_space *s, const qdq_plan *want,
                             const qdq_space_scaling *from, qdq_arena *arena, qdq_assign *a,
                             qdq_error *err);

/* Finds the edges; space.c calls this once, after the groups. */
qdq_status qdq_space_find_edges(qdq_space *s, const qdq_quantize_opts *opts, qdq_error *err);

#endif /* QDQ_SPACE_EDGES_H */
