/* upgrade_const.c - what the adapters need to turn an attribute into an input: reading it, and a
 * constant with its data beside the node. */
#include "onnx/upgrade.h"

#include <inttypes.h>
#include <string.h>

#include "base/fail.h"
#include "base/half.h"
#include "ir/edit.h"

const char *qdq_upgrade_name(qdq_upgrade *u, const qdq_node *n, const char *suffix)
{
    const char *base = "value", *text;

    for (uint32_t i = n->n_out; i-- > 0;)
        if (n->out[i] != NULL)
            base = n->out[i]->name;
    text = qdq_arena_printf(&u->scratch, "%s_%s", base, suffix);
    return text == NULL ? NULL : qdq_graph_unique_name(n->graph, text);
}

qdq_status qdq_upgrade_put(qdq_upgrade *u, qdq_node *n, uint32_t i, const char *suffix,
                           qdq_tensor *t, qdq_error *err)
{
    const char *name = qdq_upgrade_name(u, n, suffix);
    qdq_value *v;

    QDQ_NEED(t != NULL && name != NULL, err);
    if (qdq_node_in(n, i) != NULL)
        return qdq_fail(err, QDQ_E_FORMAT, "has an input %u, expected attribute '%s' in its place",
                        (unsigned)i, suffix);
    while (n->n_in <= i)
        QDQ_NEED(qdq_node_append_in(n, NULL), err);
    v = qdq_graph_add_constant(n->graph, n, name, t);
    QDQ_NEED(v != NULL, err);
    qdq_node_set_in(n, i, v);
    return QDQ_OK;
}

qdq_status qdq_upgrade_put_ints(qdq_upgrade *u, qdq_node *n, uint32_t i, const char *suffix,
                                const int64_t *ints, size_t count, qdq_error *err)
{
    int64_t dim = (int64_t)count;

    return qdq_upgrade_put(u, n, i, suffix, qdq_tensor_of_ints(n->graph->model, 1, &dim, ints),
                           err);
}

static qdq_elem input_elem(const qdq_node *n)
{
    const qdq_value *x = qdq_node_in(n, 0);

    if (x == NULL)
        return QDQ_UNDEFINED;
    if (x->type != NULL && x->type->kind == QDQ_TYPE_TENSOR && x->type->elem != QDQ_UNDEFINED)
        return x->type->elem;
    return x->init != NULL ? x->init->elem : QDQ_UNDEFINED;
}

qdq_status qdq_upgrade_put_like_input(qdq_upgrade *u, qdq_node *n, uint32_t i, const char *suffix,
                                      double value, qdq_error *err)
{
    qdq_elem elem = input_elem(n);
    uint16_t half =
        qdq_float16_of_double(value); /* beyond its range infinity, as such a bound is */
    void *to;
    qdq_tensor *t;

    if (elem == QDQ_UNDEFINED)
        return qdq_fail(
            err, QDQ_E_UNSUPPORTED,
            "the element type of its input is not known, and attribute '%s' must become an input "
            "of that type",
            suffix);
    if (elem != QDQ_FLOAT && elem != QDQ_DOUBLE && elem != QDQ_FLOAT16)
        return qdq_fail(err, QDQ_E_FORMAT, "input of type %s, expected float, double or float16",
                        qdq_elem_name(elem));
    t = qdq_tensor_new(n->graph->model, elem, 0, NULL, &to);
    if (t != NULL && elem == QDQ_FLOAT16)
        memcpy(to, &half, sizeof half);
    else if (t != NULL)
        qdq_elem_put_float(elem, to, 0, value);
    return qdq_upgrade_put(u, n, i, suffix, t, err);
}

qdq_status qdq_upgrade_get_ints(const qdq_node *n, const char *name, bool required,
                                const int64_t **ints, size_t *count, qdq_error *err)
{
    bool found = qdq_node_ints(n, name, ints, count);

    if (!found && qdq_node_attr(n, name) != NULL)
        return qdq_fail(err, QDQ_E_FORMAT, "attribute '%s' is not a list of integers", name);
    if (!found && required)
        return qdq_fail(err, QDQ_E_FORMAT, "attribute '%s' is missing", name);
    return QDQ_OK;
}
