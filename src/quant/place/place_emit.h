/* place_emit.h - building blocks that write entries of a plan, so that tensors and weights that
 * several nodes read have one entry; shared by the place_*.c files only. */
#ifndef QDQ_PLACE_EMIT_H
#define QDQ_PLACE_EMIT_H

#include "quant/place/place_state.h"

/* An entry of one value: one for each format. */
typedef struct qdq_emit_link {
    uint64_t key;
    /* into plan->tensors or plan->weights */
    uint32_t index;
    /* the next link of the value + 1 */
    uint32_t next;
} qdq_emit_link;

/* What is being written, with the entries found by value. */
typedef struct qdq_emitter {
    qdq_placing *p;
    qdq_plan *plan;
    /* by value id: the first link + 1 */
    uint32_t *tensor_of, *weight_of;
    QDQ_VEC(qdq_emit_link) links;
    /* writes the nodes whose activations stay float, else the others */
    bool weights_alone;
    qdq_error *err;
} qdq_emitter;

/* Its tables are in the scratch memory of `p`. */
qdq_status qdq_emit_start(qdq_emitter *e, qdq_placing *p, qdq_plan *plan, qdq_error *err);

/* The edge v -> n alone reads v as codes of `type`. Nothing is written where v comes as codes
 * already. */
qdq_status qdq_emit_edge(qdq_emitter *e, const qdq_value *v, const qdq_node *n, uint32_t input,
                         qdq_elem type, const char *rule);

/* All readers of v, the graph output included, read it as codes of `type`; unless they do
 * already. */
qdq_status qdq_emit_result(qdq_emitter *e, const qdq_value *v, qdq_elem type, const char *rule);

/* Input `input` of n reads the constant w as codes in the format of n, with scales for the indices
 * of `axis`, -1 for one scale; blocks, if the format has them, lie across. */
qdq_status qdq_emit_weight(qdq_emitter *e, const qdq_value *w, const qdq_node *n, uint32_t input,
                           int axis, const char *rule);

/* n runs in 8 bits. */
qdq_status qdq_emit_quantized(qdq_emitter *e, const qdq_node *n, bool kept);

/* n stays float. Shape arithmetic is no loss, and Q and DQ that the model has are no
 * computation: nothing is written for them. */
qdq_status qdq_emit_float(qdq_emitter *e, const qdq_node *n, const char *reason);

#endif /* QDQ_PLACE_EMIT_H */
