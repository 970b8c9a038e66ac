/* weight_columns.h - a weight as columns of input channels, and the activation that it is
 * multiplied with: what methods look at that weigh the error of products. */
#ifndef QDQ_WEIGHT_COLUMNS_H
#define QDQ_WEIGHT_COLUMNS_H

#include "base/map.h"
#include "ir/qdq_node.h"
#include "quant/plan/plan.h"

/* n columns of k elements. */
typedef struct qdq_weight_columns {
    qdq_plan_weight *entry;
    const qdq_tensor *tensor;
    /* NULL: not loaded */
    const float *w;
    /* elements from one to the next */
    size_t k, n, step_k, step_n;
    /* rows that share a scale in each column */
    size_t block, n_block;
    qdq_qscheme scheme;
    /* the same scales, as those of the tensor */
    qdq_scale_grid grid;
} qdq_weight_columns;

/* The one activation that all readers of the weight, the constant t, multiply it with as a matrix
 * with a scale for each column, or for blocks of them. NULL: there is none. `nodes` are those of
 * the graph, by label. */
const qdq_value *qdq_weight_activation(const qdq_map *nodes, const qdq_plan_weight *w,
                                       const qdq_tensor *t);

/* The columns of such a weight, whose numbers are not loaded. */
qdq_status qdq_weight_columns_of(qdq_plan_weight *w, const qdq_tensor *t, qdq_weight_columns *out,
                                 qdq_error *err);

/* Loads their numbers, which may be a copy in `memory`. */
qdq_status qdq_weight_columns_load(qdq_weight_columns *w, qdq_arena *memory, qdq_error *err);

/* Gives their memory back. */
void qdq_weight_columns_unload(qdq_weight_columns *w, qdq_arena *memory);

/* The rows of a block: the last one may have fewer. */
static inline size_t qdq_weight_block_rows(const qdq_weight_columns *w, size_t block)
{
    size_t left = w->k - block * w->block;

    return left < w->block ? left : w->block;
}

/* Where the scale of a block and a column is in the order of the scale tensor. */
static inline size_t qdq_weight_scale_at(const qdq_weight_columns *w, size_t block, size_t column)
{
    return w->step_k == 1 ? column * w->n_block + block : block * w->n + column;
}

#endif /* QDQ_WEIGHT_COLUMNS_H */
