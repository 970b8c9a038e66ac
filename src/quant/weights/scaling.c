/* scaling.c - finds where an activation can be divided by a number per channel. */
#include "quant/weights/scaling.h"

#include <string.h>

/* Gain and, if there is one, bias behind the normalization; of Skip... the bias in front of it is
 * another input. */
static const struct {
    const char *op;
    /* bias 0: none */
    uint32_t gain, bias;
} norms[] = {
    {"LayerNormalization", 1, 2},           {"RMSNormalization", 1, 0},
    {"SimplifiedLayerNormalization", 1, 0}, {"SkipSimplifiedLayerNormalization", 2, 0},
    {"SkipLayerNormalization", 2, 3},
};

bool qdq_scaling_is_row(const qdq_value *v, int64_t count)
{
    const qdq_tensor *t = qdq_value_const(v);

    return t != NULL && t->elem == QDQ_FLOAT && t->rank > 0 && t->count == count &&
           t->dim[t->rank - 1] == count;
}

static uint32_t inputs_of_mul(const qdq_node *n, int64_t count, uint32_t inputs[2])
{
    for (uint32_t i = 0; i < 2; i++) {
        const qdq_value *other = qdq_node_in(n, 1 - i);

        if (qdq_scaling_is_row(qdq_node_in(n, i), count) && other != NULL &&
            qdq_value_const(other) == NULL) {
            inputs[0] = i;
            return 1;
        }
    }
    return 0;
}

static bool is_over_last(const qdq_node *n)
{
    const qdq_value *x = qdq_node_in(n, 0);
    int64_t axis = qdq_node_int(n, "axis", -1);

    return axis == -1 || (x != NULL && x->type != NULL && x->type->kind == QDQ_TYPE_TENSOR &&
                          axis == x->type->rank - 1);
}

uint32_t qdq_scaling_inputs(const qdq_node *n, int64_t count, uint32_t inputs[2])
{
    if (n->op == QDQ_OP_MUL)
        return inputs_of_mul(n, count, inputs);
    for (size_t i = 0; i < sizeof norms / sizeof *norms; i++) {
        bool has_bias = norms[i].bias != 0 && qdq_node_in(n, norms[i].bias) != NULL;

        if (strcmp(n->type, norms[i].op) != 0 || !is_over_last(n) ||
            !qdq_scaling_is_row(qdq_node_in(n, norms[i].gain), count) ||
            (has_bias && !qdq_scaling_is_row(qdq_node_in(n, norms[i].bias), count)))
            continue;
        inputs[0] = norms[i].gain;
        inputs[1] = norms[i].bias;
        return has_bias ? 2 : 1;
    }
    return 0;
}

bool qdq_scaling_reader(const qdq_node *n, int64_t count)
{
    const qdq_tensor *t = qdq_node_const(n, 1);

    if (t == NULL || t->elem != QDQ_FLOAT || t->rank != 2 || qdq_node_in(n, 0) == NULL)
        return false;
    if (n->op == QDQ_OP_GEMM)
        return qdq_node_int(n, "transA", 0) == 0 &&
               t->dim[qdq_node_int(n, "transB", 0) != 0 ? 1 : 0] == count;
    return n->op == QDQ_OP_MATMUL && t->dim[0] == count;
}
