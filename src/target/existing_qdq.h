/* existing_qdq.h - a QuantizeLinear or DequantizeLinear that a model already has, as placement and
 * insertion, which keep it, see it: also where its scale is computed. */
#ifndef QDQ_EXISTING_QDQ_H
#define QDQ_EXISTING_QDQ_H

#include "ir/qdq_node.h"
#include "target/qparam.h"

typedef struct qdq_found {
    const qdq_node *node;
    /* of the codes; QDQ_UNDEFINED: not known */
    qdq_elem type;
    /* scales in blocks: nothing below is filled in */
    bool blocked;
    /* of a scale per channel; -1: one scale */
    int axis;
    /* the scales are float32 constants above 0, and the zero points constants */
    bool known;
    /* then: what they are */
    qdq_params params;
    /* what is wrong with constants that are no such numbers; NULL: nothing */
    const char *fault;
} qdq_found;

/* `n` is a Q or DQ of a graph with inferred types. What has to be copied goes to `scratch`. */
qdq_status qdq_found_read(const qdq_node *n, qdq_arena *scratch, qdq_found *out, qdq_error *err);

/* One scale and one zero point that are known: *out is what a plan can say. */
bool qdq_found_qparam(const qdq_found *f, qdq_qparam *out);

/* Codes of the one mean the same as codes of the other. */
bool qdq_found_same(const qdq_found *a, const qdq_found *b);

/* The constant that the DQ of a weight gives back, as codes, or as floats in front of a Q; NULL if
 * it is none. */
const qdq_tensor *qdq_found_constant(const qdq_node *dq);

#endif /* QDQ_EXISTING_QDQ_H */
