/* place_state.h - what placement knows while it works; shared by the place_*.c files only. */
#ifndef QDQ_PLACE_STATE_H
#define QDQ_PLACE_STATE_H

#include "quant/place.h"

/* Of a node. */
typedef struct qdq_node_state {
    const qdq_target_op *rule;
    const qdq_stay_float *stay; /* the rule that left it float, if one did */
    const char *reason;         /* why it is float; NULL: it runs in 8 bits, or is absorbed */
    const qdq_node *absorber;   /* the 8-bit node that the engine fuses it into, or NULL */
    const qdq_value *result;    /* of an 8-bit node: the value behind its epilogue */
    bool eight;
    bool needs_reader; /* pays only with an 8-bit reader */
} qdq_node_state;

/* Of a value: it carries Q/DQ for all its readers. */
typedef struct qdq_value_state {
    bool carries;
    const qdq_value *like; /* the value whose scale it has */
    const char *rule;
} qdq_value_state;

typedef struct qdq_placing {
    const qdq_model *model;
    const qdq_target *target;
    const qdq_place_opts *opts;
    qdq_arena scratch;
    qdq_node **order; /* live nodes of the main graph, producers first */
    size_t n_order;
    qdq_node_state *node;   /* by node id */
    qdq_value_state *value; /* by value id */
} qdq_placing;

static inline qdq_node_state *qdq_state_of(const qdq_placing *p, const qdq_node *n)
{
    return &p->node[n->id];
}

/* True for values of the main graph that carry Q/DQ, whether placed here or found in the model. */
bool qdq_placing_is_eight(const qdq_placing *p, const qdq_value *v);

/* place_judge.c: why node n cannot run in 8 bits, or NULL if it can; fills rule, stay and needs_reader. */
const char *qdq_place_judge(qdq_placing *p, const qdq_node *n);

/* The value behind the part of the chain after `n` that the engine fuses into it. Each fused node is given to
 * `visit`, if there is one. */
const qdq_value *qdq_place_epilogue(const qdq_placing *p, const qdq_target_op *rule, const qdq_node *n,
                                    void (*visit)(qdq_placing *, const qdq_node *fused,
                                                  const qdq_node *into));

/* The Add of a constant behind a MatMul that is its bias, and the input that the constant is; or NULL. */
const qdq_node *qdq_place_bias_add(const qdq_placing *p, const qdq_node *matmul, uint32_t *input);

/* The axis of per-channel scales of node n's weight, -1 for one scale. */
int qdq_place_weight_axis(const qdq_placing *p, const qdq_node *n, const qdq_tensor *w);

/* place_emit.c: writes the decisions into the plan. */
qdq_status qdq_place_emit(qdq_placing *p, qdq_plan *plan, qdq_error *err);

#endif /* QDQ_PLACE_STATE_H */
