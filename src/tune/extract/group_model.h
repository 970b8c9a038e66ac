/* group_model.h - a fusion group as a model of its own, that an engine treats as it treats the
 * group in the whole model: with the same constants, types and shapes, and, if asked for, with its
 * neighbours. */
#ifndef QDQ_GROUP_MODEL_H
#define QDQ_GROUP_MODEL_H

#include "tune/extract/shape_range.h"
#include "tune/group/fusions.h"

typedef struct qdq_group_model_opts {
    /* With who makes what the group reads and who reads what it gives: one node far, or the whole
     * group of that node if there is nothing to quantize in it. */
    bool halo;
    /* of the whole model */
    const qdq_shape_range *range;
} qdq_group_model_opts;

/* An input of the model that was made. */
typedef struct qdq_group_input {
    const char *name;
    qdq_dims_range dims;
} qdq_group_input;

typedef struct qdq_group_model {
    qdq_arena arena;
    /* NULL: there can be none */
    qdq_model *model;
    /* then: why; "" else */
    const char *why;
    /* in the order of first use */
    qdq_group_input *input;
    uint32_t n_inputs;
} qdq_group_model;

/* A group without inputs, without outputs, or with shapes that are unknown before it runs has no
 * model; that is no failure: `why` says so. Nodes and values have the names of f's model; weights
 * are shared with it, so it must stay. Computed shapes that are out of reach are constants, right
 * for the usual shapes alone. */
qdq_status qdq_group_model_make(const qdq_fusions *f, uint32_t group,
                                const qdq_group_model_opts *opts, qdq_group_model **out,
                                qdq_error *err);
void qdq_group_model_free(qdq_group_model *g); /* NULL is allowed */

#endif /* QDQ_GROUP_MODEL_H */
