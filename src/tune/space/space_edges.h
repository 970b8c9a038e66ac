/* space_edges.h - decisions about single edges: Q/DQ where no decision of the space has them, or
 * none where one does. Examples are Q/DQ before a float operator, after a copy operator instead of
 * before it, or on one input of a joint operator. Targets have no rules for these; only an engine's
 * times show their effect.
 *
 * An assignment with edges has qdq_space_edge_bits() bits: those of space_partial.h, one for each
 * edge, those of space_types.h, of space_forms.h, and of space_formats.h. An edge whose bit is on
 * is the reverse of the rest of the assignment: with Q/DQ where it has none, and without where it
 * has them. A constant weight belongs to its group alone. */
#ifndef QDQ_SPACE_EDGES_H
#define QDQ_SPACE_EDGES_H

#include "tune/space/space.h"

/* A float that is read in the main graph: by input `input` of `node`, or, if `node` is NULL, as the
 * graph output with this number. */
typedef struct qdq_space_edge {
    const qdq_value *value;
    const qdq_node *node;
    uint32_t input;
} qdq_space_edge;

#define QDQ_NO_EDGE SIZE_MAX

/* Reasons in plans of nodes with changed edges. */
#define QDQ_SPACE_GETS_CODES   "an input of it is quantized: measured"
#define QDQ_SPACE_MOVES_FLOATS "moves floats: measured"
#define QDQ_SPACE_GETS_FLOATS  "an input of it is float: measured"

/* Number of bits of an assignment with edges, types, data quantized at run time, and formats. */
size_t qdq_space_edge_bits(const qdq_space *s);

/* Index of an edge in s->edge; QDQ_NO_EDGE: the space does not decide it. */
size_t qdq_space_edge_of(const qdq_space *s, const qdq_node *n, uint32_t input);

/* Whether edge number `edge` is reversed in `a`. False for an assignment without edges. */
bool qdq_space_is_flipped(const qdq_space *s, const qdq_assign *a, size_t edge);
/* `a` is an assignment with edges. */
void qdq_space_flip(const qdq_space *s, qdq_assign *a, size_t edge);

/* The node that produces `v`, through operators that copy; NULL: a graph input. */
const qdq_node *qdq_space_source(const qdq_space *s, const qdq_value *v);

/* Sets *out, by edge: whether a consumer reads the quantized tensor in this plan. In the arena. */
qdq_status qdq_space_read_edges(const qdq_space *s, const qdq_plan *p, qdq_arena *arena, bool **out,
                                qdq_error *err);

/* Reverses the edges of p that `a` selects; p is the complete plan of the rest of `a`. Tensors that
 * get Q/DQ need scales: as in qdq_space_plan(), which calls this function. A tensor without a value
 * in calibration stays float. */
qdq_status qdq_space_turn_edges(const qdq_space *s, const qdq_assign *a,
                                const qdq_space_scaling *from, qdq_plan *p, qdq_error *err);

/* Sets *a, an assignment with edges in the arena, to the placement of `want`, any plan of this
 * model, edge by edge. It omits what the space cannot express: a partly quantized linear operator
 * that is neither weight-only nor activation-only, and reads of subgraphs. */
qdq_status qdq_space_express(const qdq_space *s, const qdq_plan *want,
                             const qdq_space_scaling *from, qdq_arena *arena, qdq_assign *a,
                             qdq_error *err);

/* Finds the edges. space.c calls it once, after the groups. */
qdq_status qdq_space_find_edges(qdq_space *s, const qdq_quantize_opts *opts, qdq_error *err);

#endif /* QDQ_SPACE_EDGES_H */
