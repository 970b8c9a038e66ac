/* upgrade_inputs.c - adapters for operators of which an attribute became an input and nothing else
 * changed. */
#include "onnx/upgrade.h"

#include <inttypes.h>

#include "base/fail.h"
#include "ir/edit.h"

/* The attribute's integers move to input slot i; an attribute that is not there leaves the slot
 * empty. */
static qdq_status move_ints(qdq_upgrade *u, qdq_node *n, const char *name, bool required,
                            uint32_t i, qdq_error *err)
{
    const int64_t *ints;
    size_t count;

    QDQ_TRY(qdq_upgrade_get_ints(n, name, required, &ints, &count, err));
    if (ints == NULL)
        return QDQ_OK;
    QDQ_TRY(qdq_upgrade_put_ints(u, n, i, name, ints, count, err));
    qdq_node_remove_attr(n, name);
    return QDQ_OK;
}

/* The float attribute `name` in *value; *found false when it is not there. */
static qdq_status get_float(const qdq_node *n, const char *name, bool *found, double *value,
                            qdq_error *err)
{
    const qdq_attr *a = qdq_node_attr(n, name);

    *found = a != NULL;
    *value = 0;
    if (a == NULL)
        return QDQ_OK;
    if (a->type != QDQ_ATTR_FLOAT)
        return qdq_fail(err, QDQ_E_FORMAT, "attribute '%s' is not a float", name);
    *value = (double)a->v.f;
    return QDQ_OK;
}

static qdq_status move_float(qdq_upgrade *u, qdq_node *n, const char *name, uint32_t i,
                             qdq_error *err)
{
    double value;
    bool found;

    QDQ_TRY(get_float(n, name, &found, &value, err));
    if (!found)
        return QDQ_OK;
    QDQ_TRY(qdq_upgrade_put_like_input(u, n, i, name, value, err));
    qdq_node_remove_attr(n, name);
    return QDQ_OK;
}

/* Squeeze, Unsqueeze and ReduceSum in opset 13, the other reductions in 18. No axes means all of
 * them as before: noop_with_empty_axes, which came with the input, is 0 by default. */
qdq_status qdq_upgrade_axes_to_input(qdq_upgrade *u, qdq_node *n, qdq_error *err)
{
    return move_ints(u, n, "axes", n->op == QDQ_OP_UNSQUEEZE, 1, err);
}

/* A bound that was not given was the largest float, and is now the largest of the type: nothing is
 * cut either way. */
qdq_status qdq_upgrade_clip_11(qdq_upgrade *u, qdq_node *n, qdq_error *err)
{
    QDQ_TRY(move_float(u, n, "min", 1, err));
    return move_float(u, n, "max", 2, err);
}

qdq_status qdq_upgrade_pad_11(qdq_upgrade *u, qdq_node *n, qdq_error *err)
{
    double value;
    bool found;

    QDQ_TRY(move_ints(u, n, "pads", true, 1, err));
    QDQ_TRY(get_float(n, "value", &found, &value, err));
    if (found && value != 0)
        QDQ_TRY(qdq_upgrade_put_like_input(u, n, 2, "value", value, err));
    qdq_node_remove_attr(n, "value"); /* 0 is what a missing input stands for */
    return QDQ_OK;
}

qdq_status qdq_upgrade_slice_10(qdq_upgrade *u, qdq_node *n, qdq_error *err)
{
    QDQ_TRY(move_ints(u, n, "starts", true, 1, err));
    QDQ_TRY(move_ints(u, n, "ends", true, 2, err));
    return move_ints(u, n, "axes", false, 3, err);
}

qdq_status qdq_upgrade_split_13(qdq_upgrade *u, qdq_node *n, qdq_error *err)
{
    return move_ints(u, n, "split", false, 1, err);
}

/* Equal parts are now asked for by number; before, the number of outputs said it. */
qdq_status qdq_upgrade_split_18(qdq_upgrade *u, qdq_node *n, qdq_error *err)
{
    (void)u;
    if (qdq_node_in(n, 1) != NULL)
        return QDQ_OK;
    return qdq_node_set_int(n, "num_outputs", n->n_out) ? QDQ_OK : qdq_nomem(err);
}

qdq_status qdq_upgrade_topk_10(qdq_upgrade *u, qdq_node *n, qdq_error *err)
{
    const qdq_attr *k = qdq_node_attr(n, "k");

    if (k == NULL || k->type != QDQ_ATTR_INT)
        return qdq_fail(err, QDQ_E_FORMAT, "attribute 'k' is missing or not an integer");
    QDQ_TRY(qdq_upgrade_put_ints(u, n, 1, "k", &k->v.i, 1, err));
    qdq_node_remove_attr(n, "k");
    return QDQ_OK;
}

/* The ratio says nothing at inference, which is all that Dropout did since opset 7; it is kept all
 * the same. */
qdq_status qdq_upgrade_dropout_12(qdq_upgrade *u, qdq_node *n, qdq_error *err)
{
    return move_float(u, n, "ratio", 1, err);
}

qdq_status qdq_upgrade_upsample_9(qdq_upgrade *u, qdq_node *n, qdq_error *err)
{
    const qdq_attr *a = qdq_node_attr(n, "scales");
    int64_t dim;

    if (a == NULL || a->type != QDQ_ATTR_FLOATS)
        return qdq_fail(err, QDQ_E_FORMAT, "attribute 'scales' is missing or not a list of floats");
    dim = (int64_t)a->count;
    QDQ_TRY(qdq_upgrade_put(u, n, 1, "scales",
                            qdq_tensor_of_floats(n->graph->model, 1, &dim, a->v.floats), err));
    qdq_node_remove_attr(n, "scales");
    return QDQ_OK;
}

/* The default moved from 1 to -2: it is written down always. */
qdq_status qdq_upgrade_dft_20(qdq_upgrade *u, qdq_node *n, qdq_error *err)
{
    const qdq_attr *a = qdq_node_attr(n, "axis");
    int64_t axis = qdq_node_int(n, "axis", 1);

    if (a != NULL && a->type != QDQ_ATTR_INT)
        return qdq_fail(err, QDQ_E_FORMAT, "attribute 'axis' is not an integer");
    QDQ_TRY(
        qdq_upgrade_put(u, n, 2, "axis", qdq_tensor_of_ints(n->graph->model, 0, NULL, &axis), err));
    qdq_node_remove_attr(n, "axis");
    return QDQ_OK;
}
