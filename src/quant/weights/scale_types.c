/* scale_types.c - checks that scales have the type of the floats next to them. */
#include "quant/weights/scale_types.h"

#include "base/fail.h"

/* Initializers know their type, whatever is declared. */
static qdq_elem type_of(const qdq_value *v)
{
    if (v == NULL)
        return QDQ_UNDEFINED;
    if (qdq_value_const(v) != NULL)
        return qdq_value_const(v)->elem;
    return qdq_value_elem(v);
}

static qdq_status check_node(const qdq_node *n, qdq_error *err)
{
    bool is_q = n->op == QDQ_OP_QUANTIZELINEAR;
    const qdq_value *floats = is_q ? qdq_node_in(n, 0) : qdq_node_out(n, 0);
    qdq_elem have = type_of(floats), scale = type_of(qdq_node_in(n, 1));

    if (have == QDQ_UNDEFINED || scale == QDQ_UNDEFINED || have == scale ||
        (is_q && have == QDQ_INT32))
        return QDQ_OK;
    return qdq_fail(err, QDQ_E_FORMAT, "%s of '%s': %s with a scale of type %s, expected one type",
                    n->type, floats->name, qdq_elem_name(have), qdq_elem_name(scale));
}

qdq_status qdq_check_scale_types(const qdq_model *m, qdq_error *err)
{
    enum { FREE_SINCE = 23 };

    if (qdq_model_opset(m) >= FREE_SINCE)
        return QDQ_OK;
    QDQ_FOR_GRAPHS (g, m)
        QDQ_FOR_NODES (n, g)
            if (qdq_node_is_qdq(n))
                QDQ_TRY(check_node(n, err));
    return QDQ_OK;
}
