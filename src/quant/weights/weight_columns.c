/* weight_columns.c - reads a weight as columns of input channels. */
#include "quant/weights/weight_columns.h"

#include "base/fail.h"
#include "ir/pages.h"
#include "quant/weights/scaling.h"
#include "quant/weights/weights.h"

/* The dim of the input channels. */
static int axis_of(const qdq_plan_weight *w)
{
    return w->block != 0 ? w->axis : 1 - w->axis;
}

const qdq_value *qdq_weight_activation(const qdq_map *nodes, const qdq_plan_weight *w,
                                       const qdq_tensor *t)
{
    const qdq_value *x = NULL;

    if (t == NULL || t->elem != QDQ_FLOAT || t->rank != 2 || t->count == 0 || w->axis < 0)
        return NULL;
    int axis = axis_of(w);
    for (size_t i = 0; i < w->consumers.n; i++) {
        const qdq_node *n = qdq_map_get_ptr(nodes, w->consumers.at[i].node);

        if (n == NULL || w->consumers.at[i].input != 1 || !qdq_scaling_reader(n, t->dim[axis]) ||
            (qdq_node_int(n, "transB", 0) != 0) != (axis == 1) ||
            (x != NULL && n->in[0].value != x))
            return NULL;
        x = n->in[0].value;
    }
    return x != NULL && qdq_value_const(x) == NULL && x->type != NULL ? x : NULL;
}

qdq_status qdq_weight_columns_of(qdq_plan_weight *w, const qdq_tensor *t, qdq_weight_columns *out,
                                 qdq_error *err)
{
    int axis = axis_of(w);

    *out = (qdq_weight_columns){.entry = w, .tensor = t, .scheme = qdq_plan_scheme(w)};
    out->k = (size_t)t->dim[axis];
    out->n = (size_t)t->dim[1 - axis];
    out->step_k = axis == 0 ? out->n : 1;
    out->step_n = axis == 0 ? 1 : out->k;
    out->block = w->block != 0 && (size_t)w->block < out->k ? (size_t)w->block : out->k;
    out->n_block = (out->k + out->block - 1) / out->block;
    return qdq_weight_grid(t, w->axis, w->block, &out->grid, err);
}

qdq_status qdq_weight_columns_load(qdq_weight_columns *w, qdq_arena *memory, qdq_error *err)
{
    return qdq_weight_floats(w->tensor, memory, &w->w, err);
}

void qdq_weight_columns_unload(qdq_weight_columns *w, qdq_arena *memory)
{
    w->w = NULL;
    qdq_arena_free(memory);
    qdq_tensor_rest(w->tensor);
}
