/* deciders.h - outputs whose shape depends on data, as the length of a sound depends on predicted
 * durations. */
#ifndef QDQ_DECIDERS_H
#define QDQ_DECIDERS_H

#include "ir/ir.h"

typedef struct qdq_deciders {
    qdq_arena arena;
    /* Float values of the main graph that decide the shape of an output, in the order of its nodes:
     * those that are rounded or cast to integers, before they are added up. */
    QDQ_VEC(const char *) names;
    /* by index of the model's outputs: such a value decides its shape */
    bool *follows;
} qdq_deciders;

/* Inputs, bit by bit, whose elements the shape of the operator's result depends on. */
uint32_t qdq_deciding_inputs(qdq_op op);

/* Follows the shapes of outputs back through the graph. Shapes that depend only on input shapes,
 * constants or integer inputs are the same in all models with the same inputs, and are ignored.
 * Subgraphs of If, Loop and Scan are not searched. Call qdq_deciders_free() for *out in every
 * case. */
qdq_status qdq_deciders_find(const qdq_model *m, const qdq_job *job, qdq_deciders *out,
                             qdq_error *err);
void qdq_deciders_free(qdq_deciders *d);

#endif /* QDQ_DECIDERS_H */
