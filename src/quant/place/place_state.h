/* place_state.h - the state of a placement; shared by the place_*.c files only. */
#ifndef QDQ_PLACE_STATE_H
#define QDQ_PLACE_STATE_H

#include <string.h>

#include "target/existing_qdq.h"
#include "quant/place/place.h"

/* State of a node. */
typedef struct qdq_node_state {
    const qdq_target_op *rule;
    /* rule that leaves it in float, at once or because no 8-bit kernel reads it */
    const qdq_stay_float *stay;
    /* a rule about consumers of its result; NULL: none */
    const qdq_stay_float *late;
    /* a rule about the island that it would be part of; NULL: none */
    const qdq_stay_float *island;
    /* that island multiplies too little */
    bool in_poor_island;
    /* why it is float; NULL: it runs in 8 bits, or is absorbed */
    const char *reason;
    /* 8-bit node into which the engine fuses it, or NULL */
    const qdq_node *absorber;
    /* of an 8-bit node: the value after its epilogue */
    const qdq_value *result;
    /* of an existing Q or DQ */
    const qdq_found *found;
    bool eight;
    /* the model had it in 8 bits before */
    bool preserved;
    /* it pays only with an 8-bit consumer */
    bool needs_reader;
} qdq_node_state;

/* State of a value. */
typedef struct qdq_value_state {
    /* Q/DQ for all its consumers */
    bool carries;
    /* float, but an 8-bit linear operator reads it through Q/DQ, and others may do so */
    bool shared;
    /* then: type of its quantized values */
    qdq_elem type;
    /* the value whose scale it shares */
    const qdq_value *like;
    const char *rule;
    /* the first existing Q after it */
    const qdq_found *quantizer;
    /* other Q after it have different parameters */
    bool quantized_twice;
    /* the existing Q or DQ whose scale it must use */
    const qdq_found *source;
    /* why no 8-bit kernel may read it: its ranges do not fit one scale; or NULL */
    const char *apart;
} qdq_value_state;

typedef struct qdq_placing {
    const qdq_model *model;
    const qdq_target *target;
    const qdq_place_opts *opts;
    qdq_arena scratch;
    /* live nodes of the main graph, producers first */
    qdq_node **order;
    size_t n_order;
    /* by node id; NULL: the target's for all */
    const qdq_format *const *format;
    /* by node id */
    qdq_node_state *node;
    /* by value id */
    qdq_value_state *value;
    /* constant tensor to a fact of place_eligibility.c; for this placement alone */
    qdq_map finite;
    /* out of memory while a reason was written */
    bool no_memory;
} qdq_placing;

static inline qdq_node_state *qdq_state_of(const qdq_placing *p, const qdq_node *n)
{
    return &p->node[n->id];
}

/* The recorder of rules; NULL: none. */
static inline qdq_why *qdq_place_listener(const qdq_placing *p)
{
    return p->opts != NULL ? p->opts->why : NULL;
}

/* Inputs of n that the tuner leaves in float, bit by bit. */
static inline uint32_t qdq_place_unchosen(const qdq_placing *p, const qdq_node *n)
{
    return p->opts != NULL && p->opts->stay != NULL ? p->opts->stay[n->id] : 0;
}

static inline const qdq_format *qdq_place_format(const qdq_placing *p, const qdq_node *n)
{
    return p->format != NULL ? p->format[n->id] : &p->target->format;
}

/* Walks the nodes that are placed, producers first. */
#define QDQ_FOR_PLACED(n, p)                                                                       \
    for (qdq_node *const *n##_at = (p)->order, *n;                                                 \
         n##_at < (p)->order + (p)->n_order && (n = *n##_at) != NULL; n##_at++)

/* Zeroed elements of `size` bytes, one for each node id, in scratch memory; NULL: out of memory. */
static inline void *qdq_place_by_node(qdq_placing *p, size_t size)
{
    return qdq_arena_array(&p->scratch, (size_t)p->model->graph->next_node_id + 1, size);
}

/* A method of placement. Starts from the state that place.c fills in, and writes its decisions into
 * the plan. */
typedef qdq_status qdq_place_way(qdq_placing *p, qdq_plan *plan, qdq_error *err);

/* --- place.c ---------------------------------------------------------------------------------- */

/* Removes weight-only nodes, which place_weights.c handles. */
void qdq_place_leave_weights(qdq_placing *p);

/* --- place_filter.c: which nodes the user allows, the same for every way ---------------------- */

/* Sets state.reason of excluded nodes. QDQ_E_USAGE: a regular expression does not compile. A list
 * entry that matches no node is a warning. */
qdq_status qdq_place_filter(qdq_placing *p, qdq_error *err);

/* --- place_existing.c: existing Q/DQ, which is preserved -------------------------------------- */

/* Reads every Q and DQ of the main graph. */
qdq_status qdq_place_find(qdq_placing *p, qdq_error *err);

/* The existing DQ that produces v, or NULL. */
const qdq_found *qdq_place_found(const qdq_placing *p, const qdq_value *v);

/* The existing type of quantized values, as placement compares it: without what the range of a
 * tensor decides. */
qdq_elem qdq_place_type(const qdq_placing *p, const qdq_found *f);

/* The type of the quantized values of v, placed or existing; QDQ_UNDEFINED: v is float. */
qdq_elem qdq_place_codes_of(const qdq_placing *p, const qdq_value *v);

/* The existing Q after v whose scale a new edge of v uses too; NULL: such an edge is calibrated. */
const qdq_found *qdq_place_source(const qdq_placing *p, const qdq_value *v);

/* The type of quantized values on the edges of v, a float activation, into n: that of
 * qdq_place_source(), or of the format of n. */
qdq_elem qdq_place_codes_for(const qdq_placing *p, const qdq_value *v, const qdq_node *n);

/* The type of quantized values of v that n, a linear node, reads: the type that v has, or of the
 * format of n. */
qdq_elem qdq_place_codes_at(const qdq_placing *p, const qdq_value *v, const qdq_node *n);

/* The type of quantized values that n, an 8-bit node, reads: that of its data, or of the first
 * quantized operand. */
qdq_elem qdq_place_codes_into(const qdq_placing *p, const qdq_node *n);

/* The constant tensor of a weight input: itself, or the input of an existing DQ, which sets *found.
 * NULL: not a constant. */
const qdq_tensor *qdq_place_weight(const qdq_placing *p, const qdq_value *v,
                                   const qdq_found **found);

/* Whether v has a consumer other than its existing Q. */
bool qdq_place_is_read_in_float(const qdq_placing *p, const qdq_value *v);

/* Why the kernels do not support the existing Q/DQ of an activation or a weight (`what`: "its
 * data"), or NULL. */
const char *qdq_place_ineligible(qdq_placing *p, const qdq_found *f, const char *what);
const char *qdq_place_weight_ineligible(qdq_placing *p, const qdq_found *f, int axis);

/* Why node n, with quantized values of `type` before it, cannot have the existing Q/DQ after its
 * result; or NULL. */
const char *qdq_place_result_ineligible(qdq_placing *p, const qdq_value *result, qdq_elem type);

/* Whether n has all the Q/DQ that it needs to run in 8 bits. Call it after the evaluation of n. */
bool qdq_place_is_whole(const qdq_placing *p, const qdq_node *n);

/* --- place_eligibility.c ---------------------------------------------------------------------- */

/* Why node n cannot run in 8 bits, or NULL; fills rule, stay and needs_reader. */
const char *qdq_place_evaluate(qdq_placing *p, const qdq_node *n);

/* Whether v is a tensor of float32. */
bool qdq_place_is_float(const qdq_value *v);

/* Why a tensor of this element type, or v, is not quantized. */
const char *qdq_place_not_float(qdq_elem elem);
const char *qdq_place_no_float(const qdq_value *v);

/* Whether all elements can be quantized: no NaN, no infinity, and at least one element. */
bool qdq_place_is_finite(qdq_placing *p, const qdq_tensor *t);

/* Why a linear node cannot read activation v ("its data"), or NULL. *type: the type of its
 * quantized values. */
const char *qdq_place_evaluate_data(qdq_placing *p, const qdq_node *n, const qdq_value *v,
                                    const char *what, qdq_elem *type);

/* Why n cannot read the constant w quantized next to values of type `data`, or NULL. w is a float
 * weight, or the input of an existing DQ (`found`). */
const char *qdq_place_evaluate_weight(qdq_placing *p, const qdq_node *n, const qdq_tensor *w,
                                      const qdq_found *found, qdq_elem data);

/* The value after the part of the chain after `n` that the engine fuses into n. `visit` is called
 * for each fused node; may be NULL. */
const qdq_value *
qdq_place_epilogue(const qdq_placing *p, const qdq_target_op *rule, const qdq_node *n,
                   void (*visit)(qdq_placing *, const qdq_node *fused, const qdq_node *into));

/* The Add of a constant after a MatMul that is its bias, and the input with the constant; or
 * NULL. */
const qdq_node *qdq_place_bias_add(const qdq_placing *p, const qdq_node *matmul, uint32_t *input);

/* The consumer and input of node n's bias, a float constant that must become int32; or NULL. */
const qdq_node *qdq_place_bias(const qdq_placing *p, const qdq_node *n, uint32_t *input);

bool qdq_place_attributes_fit(const qdq_target_op *rule, const qdq_node *n);

/* The axis of per-channel scales of node n's weight; -1: one scale. */
int qdq_place_weight_axis(const qdq_placing *p, const qdq_node *n, const qdq_tensor *w);

/* --- place_stay.c ----------------------------------------------------------------------------- */

/* The reason of the first rule that leaves linear node n in float although it has a kernel, or
 * NULL. w: its constant weight; NULL: it multiplies two activations. Fills stay and
 * needs_reader. */
const char *qdq_place_stay(qdq_placing *p, const qdq_node *n, const qdq_tensor *w);

/* Whether the rule `late` of an 8-bit node applies. Call it after all consumers of n are placed. */
bool qdq_place_stays_late(const qdq_placing *p, const qdq_node *n);

/* --- place_islands.c: what runs in 8 bits with float operators all around it -------------------
 */

/* poor[id of a node]: it is a Conv with a rule `island`, and its island multiplies too little for
 * it. `rule`: the target's first one of islands, which says what counts more. Call it after all
 * nodes are placed. */
qdq_status qdq_place_find_islands(qdq_placing *p, const qdq_stay_float *rule, bool *poor,
                                  qdq_error *err);

/* --- place_chains.c: targets that fuse chains of Q/DQ nodes, as ONNX Runtime does ------------- */

qdq_place_way qdq_place_chains;

/* --- place_partitions.c: targets that fuse kernels over several nodes, as TensorRT does ------- */

qdq_place_way qdq_place_partitions;

/* --- place_weights.c: nodes whose activations stay float; adds to what the plan has ----------- */

qdq_place_way qdq_place_weights;

/* --- place_emit.c: writes the decisions into the plan ----------------------------------------- */

qdq_status qdq_place_emit(qdq_placing *p, qdq_plan *plan, qdq_error *err);

/* --- place_tied.c: what operators join, and the result, share a scale ------------------------- */

/* Ties written entries. */
qdq_status qdq_place_tie(qdq_placing *p, qdq_plan *plan, qdq_error *err);

/* Values whose tensors share one scale. Placement ties them in pairs; calibration merges their
 * ranges. `next`, by value id: another member's id + 1; 0: no group. */
typedef struct qdq_groups {
    const qdq_graph *graph;
    uint32_t *next;
} qdq_groups;

/* Starts with each value of the graph in its own group, in scratch memory. False: out of memory. */
bool qdq_groups_start(qdq_groups *s, qdq_placing *p);
void qdq_groups_tie(qdq_groups *s, const qdq_value *a, const qdq_value *b);

/* Writes the groups into the entries of the plan, except entries that have their scale. */
qdq_status qdq_groups_name(const qdq_groups *s, qdq_plan *plan, qdq_error *err);

#endif /* QDQ_PLACE_STATE_H */
