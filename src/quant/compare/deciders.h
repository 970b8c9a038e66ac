/* deciders.h - outputs whose shape depends on data: durations of speech become the length of its
 * sound. */
#ifndef QDQ_DECIDERS_H
#define QDQ_DECIDERS_H

#include "ir/ir.h"

typedef struct qdq_deciders {
    qdq_arena arena;
    /* Float values of the main graph that decide the shape of an output, in the order of its nodes:
     * what is rounded or cast to integers there, before it is added up. */
    QDQ_VEC(const char *) names;
    bool *follows; /* by index of the model's outputs: one of them decides its shape */
} qdq_deciders;

/* Follows shapes of the outputs back through the graph. Shapes that depend on shapes of inputs, on
 * constants or on integers that are inputs are the same in every model of the same inputs, and no
 * decision; bodies of If, Loop and Scan are not looked into. *out goes to qdq_deciders_free(), also
 * when this fails. */
qdq_status qdq_deciders_find(const qdq_model *m, const qdq_job *job, qdq_deciders *out,
                             qdq_error *err);
void qdq_deciders_free(qdq_deciders *d);

#endif /* QDQ_DECIDERS_H */
