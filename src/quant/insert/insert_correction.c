/* insert_correction.c - corrections of a plan: added to biases before these become codes. A bias
 * that others read, too, is copied first; one that is not there is made. */
#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "quant/insert/insert_state.h"
#include "quant/weights/linear_form.h"

/* The product that entry c corrects, if it is one with this many output channels; else NULL. */
static const qdq_node *product_of(const qdq_node *reader, const qdq_plan_correction *c)
{
    const qdq_node *n = qdq_bias_linear(reader, c->consumer.input);
    qdq_linear_form form;

    if (n == NULL || (n->op == QDQ_OP_MATMUL) != (reader->op == QDQ_OP_ADD) ||
        (n == reader && c->consumer.input != 2))
        return NULL;
    return qdq_linear_form_of(n, &form) == NULL && form.out == c->n_delta ? n : NULL;
}

qdq_status qdq_insert_new_bias(qdq_inserter *in, size_t index)
{
    const qdq_plan_correction *c = &in->plan->corrections.at[index];
    qdq_node *n = qdq_insert_find_node(in, c->consumer.node);
    const int64_t dim = (int64_t)c->n_delta;
    void *data;

    if (n == NULL || c->consumer.input != 2 || qdq_node_in(n, 2) != NULL || c->tensor[0] == '\0' ||
        qdq_insert_find_value(in, c->tensor) != NULL || product_of(n, c) == NULL)
        return QDQ_OK; /* it is there, or the list of what is not there has it */
    qdq_tensor *t = qdq_tensor_new(in->m, QDQ_FLOAT, 1, &dim, &data);
    qdq_value *v = qdq_insert_constant(in, n->graph, c->tensor, "", t);
    QDQ_NEED(v != NULL && qdq_map_set_ptr(&in->values, c->tensor, v), in->err);
    while (n->n_in < 3)
        QDQ_NEED(qdq_node_append_in(n, NULL), in->err);
    qdq_node_set_in(n, 2, v);
    return QDQ_OK;
}

void qdq_insert_check_correction(const qdq_inserter *in, size_t index, qdq_buf *list)
{
    const qdq_plan_correction *c = &in->plan->corrections.at[index];
    const qdq_node *n = qdq_insert_find_node(in, c->consumer.node);
    const qdq_value *v = qdq_insert_find_value(in, c->tensor);
    const qdq_tensor *t = qdq_value_const(v);

    if (n == NULL)
        qdq_buf_printf(list, " node '%s';", c->consumer.node);
    else if (v == NULL)
        qdq_buf_printf(list, " bias '%s';", c->tensor);
    else if (qdq_node_in(n, c->consumer.input) != v)
        qdq_buf_printf(list, " edge '%s' -> '%s' input %u;", c->tensor, c->consumer.node,
                       (unsigned)c->consumer.input);
    else if (t == NULL || product_of(n, c) == NULL || !qdq_linear_bias_fits(t, c->n_delta))
        qdq_buf_printf(list, " bias '%s' of a product with %zu channels;", c->tensor, c->n_delta);
    else if (qdq_map_get(&in->tensors, c->tensor) != NULL ||
             qdq_map_get(&in->weights, c->tensor) != NULL)
        qdq_buf_printf(list, " room for a correction of '%s', which is not a bias;", c->tensor);
}

/* May the value itself change? */
static bool is_own(const qdq_value *v, const qdq_node *reader)
{
    return v->init != NULL && v->graph == reader->graph && v->n_use == 1 && v->n_output == 0 &&
           !v->is_input;
}

qdq_status qdq_insert_correction(qdq_inserter *in, size_t index)
{
    const qdq_plan_correction *c = &in->plan->corrections.at[index];
    qdq_node *reader = qdq_insert_find_node(in, c->consumer.node);
    qdq_value *v = qdq_node_in(reader, c->consumer.input);
    const qdq_tensor *t = qdq_value_const(v);
    const int64_t channels = (int64_t)c->n_delta;
    bool same_shape = t->count == channels;
    const float *bias;
    void *data;

    QDQ_TRY(qdq_weight_floats(t, &in->scratch, &bias, in->err));
    qdq_tensor *fresh = qdq_tensor_new(in->m, QDQ_FLOAT, same_shape ? t->rank : 1,
                                       same_shape ? t->dim : &channels, &data);
    QDQ_NEED(fresh != NULL, in->err);
    for (size_t i = 0; i < c->n_delta; i++) {
        float sum = bias[same_shape ? i : 0] + c->delta[i];

        if (!isfinite(sum))
            return qdq_fail(in->err, QDQ_E_FORMAT,
                            "channel %zu is not finite, expected finite numbers", i);
        memcpy((float *)data + i, &sum, sizeof sum);
    }
    if (same_shape && is_own(v, reader))
        return qdq_allocated(qdq_value_set_init(v, fresh), in->err);
    qdq_value *copy = qdq_insert_constant(in, reader->graph, c->tensor, "_corrected", fresh);
    QDQ_NEED(copy != NULL, in->err);
    qdq_node_set_in(reader, c->consumer.input, copy);
    return QDQ_OK;
}
