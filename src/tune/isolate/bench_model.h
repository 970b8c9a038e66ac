/* bench_model.h - several isolated groups as one model, to measure them in one session. The parts
 * share only the data of their weights: names of values, nodes and symbols have a prefix, "g12/"
 * for group 12. Their inputs differ, so that an engine cannot merge computations of two parts. */
#ifndef QDQ_BENCH_MODEL_H
#define QDQ_BENCH_MODEL_H

#include "tune/extract/group_model.h"

typedef struct qdq_part {
    /* index in qdq_fusions.at */
    uint32_t group;
    /* model of this group, which qdq_legal_inputs() accepts */
    const qdq_group_model *in;
    /* the same with or without Q/DQ, from qdq_group_plan_apply() */
    const qdq_model *model;
} qdq_part;

/* The role of a node in its part. */
typedef enum qdq_part_role {
    /* constants and shapes that were copied with it */
    QDQ_ROLE_BESIDE,
    QDQ_ROLE_OWN,
    QDQ_ROLE_HALO,
    /* Q/DQ of the plan */
    QDQ_ROLE_QDQ,
    /* cast in a model with half precision */
    QDQ_ROLE_CAST
} qdq_part_role;

typedef struct qdq_part_node {
    uint32_t part;
    qdq_part_role role;
    /* moves or converts values, and computes none */
    bool light;
    /* Q, DQ or cast of a tensor that another group produces or consumes too */
    bool boundary;
} qdq_part_node;

typedef struct qdq_parts {
    qdq_arena arena;
    /* it holds the weights, so that the parts may be freed */
    qdq_model *model;
    /* number of parts */
    uint32_t n;
    /* by part */
    const uint32_t *group;
    /* by part: layers of the group in the whole model; 0: unknown */
    const uint32_t *layers;
    /* opt shapes of all inputs with open dims */
    qdq_input_shape *shape;
    size_t n_shapes;
    /* name of a node of the main graph (each has one) to qdq_part_node * */
    qdq_map nodes;
} qdq_parts;

/* Makes the model. A group may occur several times ("g12/", "g12.1/", ...). QDQ_E_USAGE: a shape of
 * a part is unknown. The parts are only read during the call. */
qdq_status qdq_parts_make(const qdq_fusions *f, const qdq_part *part, size_t n, qdq_parts **out,
                          qdq_error *err);
/* NULL is allowed. */
void qdq_parts_free(qdq_parts *p);

#endif /* QDQ_BENCH_MODEL_H */
