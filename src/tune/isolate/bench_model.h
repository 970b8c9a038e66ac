/* bench_model.h - several isolated groups as one model, to measure them in one session. The parts
 * share only the data of their weights: names of values, nodes and symbols have a prefix, "g12/"
 * for group 12. Their inputs differ, so that an engine cannot merge computations of two parts. */
#ifndef QDQ_BENCH_MODEL_H
#define QDQ_BENCH_MODEL_H

#include "base/map.h"
#include "base/vec.h"
#include "quant/insert/insert_cache.h"
#include "tune/extract/group_model.h"

typedef struct qdq_parts {
    qdq_arena arena;
    const qdq_fusions *f;
    /* it holds the weights, so that models of groups may be freed */
    qdq_model *model;
    /* number of parts */
    uint32_t n;
    /* by part: index in qdq_fusions.at */
    QDQ_VEC(uint32_t) group;
    /* prefix to number of the part */
    qdq_map prefixes;
    /* opt shapes of all inputs with open dims */
    QDQ_VEC(qdq_input_shape) shape;
} qdq_parts;

/* Begins a model of groups of `f`. Call qdq_parts_free() in every case. */
qdq_status qdq_parts_new(const qdq_fusions *f, qdq_parts **out, qdq_error *err);

/* Adds the model of a group, which qdq_legal_inputs() accepts, with its part of the plan of the
 * whole model, as qdq_group_plan_apply() does. A group may occur several times ("g12/", "g12.1/",
 * ...). QDQ_E_USAGE: a shape is unknown; then `p` can only be freed. */
qdq_status qdq_parts_join(qdq_parts *p, uint32_t group, const qdq_group_model *in,
                          const qdq_plan *whole, qdq_insert_cache *cache, qdq_error *err);

/* NULL is allowed. */
void qdq_parts_free(qdq_parts *p);

#endif /* QDQ_BENCH_MODEL_H */
