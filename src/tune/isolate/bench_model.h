/* bench_model.h - several isolated groups as one model, so that an engine is asked once for all of
 * them. The parts have nothing in common but the data of their weights: names of values, nodes and
 * symbols have a prefix, "g12/" for group 12. Nothing that a part computes is computed in another
 * one, since their inputs differ, so an engine has nothing to merge. */
#ifndef QDQ_BENCH_MODEL_H
#define QDQ_BENCH_MODEL_H

#include "tune/extract/group_model.h"

typedef struct qdq_part {
    uint32_t group; /* into qdq_fusions.at */
    /* of this group, with a model that qdq_legal_inputs() has no objection to */
    const qdq_group_model *in;
    const qdq_model *model; /* the same with Q/DQ or without: from qdq_group_plan_apply() */
} qdq_part;

/* What a node of the model is to its part. */
typedef enum qdq_part_role {
    QDQ_ROLE_BESIDE, /* constants and shapes that came along */
    QDQ_ROLE_OWN,
    QDQ_ROLE_HALO,
    QDQ_ROLE_QDQ, /* of the plan */
    QDQ_ROLE_CAST /* of a model whose rest is in 16 bits */
} qdq_part_role;

typedef struct qdq_part_node {
    uint32_t part;
    qdq_part_role role;
    bool light;    /* moves or converts numbers, and computes none */
    bool boundary; /* Q, DQ and casts: of a tensor that another group gives or reads, too */
} qdq_part_node;

typedef struct qdq_parts {
    qdq_arena arena;
    qdq_model *model;       /* refers to the weights of the parts by itself: they may go */
    uint32_t n;             /* parts */
    const uint32_t *group;  /* of each */
    const uint32_t *layers; /* of each: of the group in the whole model; 0: not known */
    qdq_input_shape *shape; /* of all inputs with dims that are not fixed: the usual ones */
    size_t n_shapes;
    qdq_map nodes; /* name of a node of the main graph, all of which have one -> qdq_part_node * */
} qdq_parts;

/* A group may be there more than once ("g12/", "g12.1/", ...). QDQ_E_USAGE: a shape of a part is
 * not known. The parts are only read during the call. */
qdq_status qdq_parts_make(const qdq_fusions *f, const qdq_part *part, size_t n, qdq_parts **out,
                          qdq_error *err);
void qdq_parts_free(qdq_parts *p); /* NULL is allowed */

#endif /* QDQ_BENCH_MODEL_H */
