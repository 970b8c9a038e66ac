/* upgrade_meaning.c - adapters for operators that mean something else under the same name, and for
 * those that are gone. Where the old meaning cannot be said in the new opset, or was never settled,
 * they refuse. */
#include "onnx/upgrade.h"

#include <inttypes.h>

#include "base/fail.h"
#include "ir/edit.h"

/* --- Softmax, LogSoftmax, Hardmax ------------------------------------------------------------- */

/* Until 12 the dims from `axis` on counted as one; since 13 `axis` alone does. They agree if at
 * most one of those dims is not 1; *axis then becomes it. */
static bool one_axis_will_do(const qdq_type *t, int64_t *axis)
{
    int64_t found = t->rank - 1;
    int others = 0;

    for (int i = (int)*axis; i < t->rank; i++)
        if (t->dim[i].value != 1) {
            found = i;
            others++;
        }
    if (others <= 1)
        *axis = found;
    return others <= 1;
}

/* The dims of x as an operand of Reshape: a constant with at most one -1 if that is known, else
 * Shape(x). */
static qdq_status put_shape_of(qdq_upgrade *u, qdq_value *x, qdq_node *reshape, qdq_error *err)
{
    const qdq_type *t = x->type;
    int64_t dim[QDQ_MAX_RANK];
    const char *name;
    qdq_node *shape;
    int unknown = 0;
    bool known = t != NULL && t->kind == QDQ_TYPE_TENSOR && t->rank >= 0 && t->rank <= QDQ_MAX_RANK;

    for (int i = 0; known && i < t->rank; i++) {
        dim[i] = t->dim[i].value;
        unknown += dim[i] < 0;
        known = dim[i] != 0; /* Reshape reads 0 as "the dim of the input" */
    }
    if (known && unknown <= 1)
        return qdq_upgrade_put_ints(u, reshape, 1, "shape", dim, (size_t)t->rank, err);
    name = qdq_upgrade_name(u, reshape, "shape");
    shape =
        name != NULL ? qdq_graph_add_op(reshape->graph, reshape, "Shape", "", name, 1, &x) : NULL;
    QDQ_NEED(shape != NULL, err);
    qdq_node_set_in(reshape, 1, shape->out[0]);
    return QDQ_OK;
}

/* y = Softmax(x)  =>  y = Reshape(Softmax(Flatten(x)), shape of x) */
static qdq_status softmax_in_two_dims(qdq_upgrade *u, qdq_node *n, int64_t axis, qdq_error *err)
{
    qdq_graph *g = n->graph;
    qdq_value *x = qdq_node_in(n, 0), *y = n->out[0];
    const char *flat_name = qdq_upgrade_name(u, n, "flat"),
               *rows_name = qdq_upgrade_name(u, n, "rows");
    qdq_node *flatten, *softmax, *reshape;

    QDQ_NEED(flat_name != NULL && rows_name != NULL, err);
    flatten = qdq_graph_add_node(g, n, "", "Flatten", "", 1, 1, &flat_name);
    softmax = qdq_graph_add_node(g, n, "", n->type, n->name, 1, 1, &rows_name);
    reshape = qdq_graph_add_node(g, n, "", "Reshape", "", 2, 0, NULL);
    QDQ_NEED(flatten != NULL && softmax != NULL && reshape != NULL &&
                 qdq_node_set_int(flatten, "axis", axis) && qdq_node_set_int(softmax, "axis", -1),
             err);
    softmax->unknown_fields = n->unknown_fields;
    qdq_node_set_in(flatten, 0, x);
    qdq_node_set_in(softmax, 0, flatten->out[0]);
    qdq_node_set_in(reshape, 0, softmax->out[0]);
    qdq_value_detach(y);
    QDQ_NEED(qdq_node_append_out(reshape, y), err);
    qdq_node_remove(n);
    return put_shape_of(u, x, reshape, err);
}

qdq_status qdq_upgrade_softmax_13(qdq_upgrade *u, qdq_node *n, qdq_error *err)
{
    const qdq_attr *a = qdq_node_attr(n, "axis");
    const qdq_value *x = qdq_node_in(n, 0);
    int64_t axis = qdq_node_int(n, "axis", 1);

    if (a != NULL && a->type != QDQ_ATTR_INT)
        return qdq_fail(err, QDQ_E_FORMAT, "attribute 'axis' is not an integer");
    if (x == NULL || n->n_in != 1 || n->n_out != 1 || n->out[0] == NULL)
        return qdq_fail(err, QDQ_E_FORMAT, "expected one input and one output");
    if (x->type != NULL && x->type->kind == QDQ_TYPE_TENSOR && x->type->rank >= 0) {
        int rank = x->type->rank;

        if (axis < -rank || axis >= (rank == 0 ? 1 : rank))
            return qdq_fail(err, QDQ_E_FORMAT, "axis %" PRId64 " is not one of an input of rank %d",
                            axis, rank);
        if (axis < 0)
            axis += rank;
        if (one_axis_will_do(x->type, &axis))
            return qdq_node_set_int(n, "axis", axis) ? QDQ_OK : qdq_nomem(err);
    } else if (axis == -1)
        return QDQ_OK; /* the last dim alone, whatever the rank */
    return softmax_in_two_dims(u, n, axis, err);
}

/* --- Upsample and Resize ---------------------------------------------------------------------- */

qdq_status qdq_upgrade_upsample_10(qdq_upgrade *u, qdq_node *n, qdq_error *err)
{
    QDQ_NEED(qdq_node_set_type(n, "", "Resize") &&
                 qdq_map_put_int(&u->upsampled, (uint64_t)(uintptr_t)n, NULL) != NULL,
             err);
    return QDQ_OK;
}

/* How opset 10 rounds in mode "nearest". The standard does not say. Engines agree on floor where a
 * dim grows, and ONNX Runtime takes ceil where it shrinks; opset 11 has one attribute for all
 * dims. */
static qdq_status old_nearest_mode(qdq_upgrade *u, const qdq_node *n, const qdq_value *scales,
                                   const char **mode, qdq_error *err)
{
    const qdq_tensor *t = qdq_value_const(scales);
    bool grows = false, shrinks = false;
    float *scale;

    *mode = "floor";
    if (qdq_map_get_int(&u->upsampled, (uint64_t)(uintptr_t)n) != NULL)
        return QDQ_OK;
    if (t == NULL)
        return qdq_fail(
            err, QDQ_E_UNSUPPORTED,
            "the scales of mode nearest are computed, expected constants: how it rounds depends "
            "on them");
    QDQ_TRY(qdq_tensor_floats(t, &u->scratch, &scale, err));
    for (int64_t i = 0; i < t->count; i++) {
        grows = grows || scale[i] > 1;
        shrinks = shrinks || scale[i] < 1;
    }
    if (grows && shrinks)
        return qdq_fail(err, QDQ_E_UNSUPPORTED,
                        "mode nearest with scales above and below 1 rounds both ways, which opset "
                        "11 cannot say");
    if (shrinks)
        *mode = "ceil";
    return QDQ_OK;
}

/* Resize(x, scales)  =>  Resize(x, roi, scales), with the coordinates of old written down. The
 * region of interest is required and unused: empty. */
qdq_status qdq_upgrade_resize_11(qdq_upgrade *u, qdq_node *n, qdq_error *err)
{
    qdq_value *scales = qdq_node_in(n, 1);
    const char *mode;
    int64_t none = 0;

    if (n->n_in != 2 || scales == NULL)
        return qdq_fail(err, QDQ_E_FORMAT, "has %u inputs, expected x and scales",
                        (unsigned)n->n_in);
    if (qdq_node_string_is(n, "mode", "nearest", "nearest")) {
        QDQ_TRY(old_nearest_mode(u, n, scales, &mode, err));
        QDQ_NEED(qdq_node_set_string(n, "nearest_mode", mode), err);
    }
    QDQ_NEED(qdq_node_set_string(n, "coordinate_transformation_mode", "asymmetric") &&
                 qdq_node_append_in(n, scales),
             err);
    qdq_node_set_in(n, 1, NULL);
    return qdq_upgrade_put(u, n, 1, "roi", qdq_tensor_of_floats(n->graph->model, 1, &none, NULL),
                           err);
}

/* Leaves input slot i out if it is a constant without elements, which opset 11 needed as a
 * stand-in. */
static void drop_empty(qdq_node *n, uint32_t i)
{
    qdq_value *v = qdq_node_in(n, i);
    const qdq_tensor *t = qdq_value_const(v);

    if (t == NULL || t->count != 0)
        return;
    qdq_node_set_in(n, i, NULL);
    if (v->n_use > 0 || v->n_output > 0 || v->is_input)
        return;
    if (v->producer == NULL)
        qdq_value_remove(v);
    else if (v->graph == n->graph && v->producer->n_out == 1)
        qdq_node_remove(v->producer);
}

qdq_status qdq_upgrade_resize_13(qdq_upgrade *u, qdq_node *n, qdq_error *err)
{
    (void)u;
    if (qdq_node_string_is(n, "coordinate_transformation_mode", "tf_half_pixel_for_nn", NULL))
        return qdq_fail(err, QDQ_E_UNSUPPORTED,
                        "coordinate_transformation_mode tf_half_pixel_for_nn was taken out");
    drop_empty(n, 1);
    drop_empty(n, 2);
    qdq_node_trim_in(n);
    return QDQ_OK;
}

/* --- others ----------------------------------------------------------------------------------- */

qdq_status qdq_upgrade_batchnorm_9(qdq_upgrade *u, qdq_node *n, qdq_error *err)
{
    int64_t spatial = qdq_node_int(n, "spatial", 1);

    (void)u;
    if (spatial != 1)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "spatial is %" PRId64 ", and only 1 was kept",
                        spatial);
    qdq_node_remove_attr(n, "spatial");
    return QDQ_OK;
}

/* Until 13 outputs beyond the first meant training; since 14 an attribute does, and they are
 * others. */
qdq_status qdq_upgrade_batchnorm_14(qdq_upgrade *u, qdq_node *n, qdq_error *err)
{
    (void)u;
    for (uint32_t i = 1; i < n->n_out; i++)
        if (n->out[i] != NULL)
            return qdq_fail(err, QDQ_E_UNSUPPORTED, "output '%s' puts it into training mode",
                            n->out[i]->name);
    qdq_node_trim_out(n);
    return QDQ_OK;
}

/* Heads that are an axis of 4 were said a second time until then, and may not be since. */
qdq_status qdq_upgrade_attention_25(qdq_upgrade *u, qdq_node *n, qdq_error *err)
{
    const qdq_value *q = qdq_node_in(n, 0);

    (void)u;
    (void)err;
    if (q == NULL || q->type == NULL || q->type->kind != QDQ_TYPE_TENSOR || q->type->rank != 4)
        return QDQ_OK;
    qdq_node_remove_attr(n, "q_num_heads");
    qdq_node_remove_attr(n, "kv_num_heads");
    return QDQ_OK;
}

/* The standard swapped which side gets the odd pixel of automatic padding; engines did not follow
 * at one time. */
qdq_status qdq_upgrade_convtranspose_11(qdq_upgrade *u, qdq_node *n, qdq_error *err)
{
    (void)u;
    if (qdq_node_attr(n, "output_shape") != NULL ||
        qdq_node_string_is(n, "auto_pad", "SAME_UPPER", NULL) ||
        qdq_node_string_is(n, "auto_pad", "SAME_LOWER", NULL))
        return qdq_fail(
            err, QDQ_E_UNSUPPORTED,
            "padding that it works out itself (output_shape, auto_pad) is split another way");
    return QDQ_OK;
}

/* The mask was of the input's type and is bool since. */
qdq_status qdq_upgrade_dropout_10(qdq_upgrade *u, qdq_node *n, qdq_error *err)
{
    qdq_value *mask = qdq_node_out(n, 1);

    (void)u;
    if (mask == NULL)
        return QDQ_OK;
    if (mask->n_use > 0 || mask->n_output > 0)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "its mask '%s' is used, and has another type",
                        mask->name);
    qdq_value_detach(mask);
    qdq_value_remove(mask);
    qdq_node_trim_out(n);
    return QDQ_OK;
}

qdq_status qdq_upgrade_gridsample_20(qdq_upgrade *u, qdq_node *n, qdq_error *err)
{
    bool ok = true;

    (void)u;
    if (qdq_node_string_is(n, "mode", "bilinear", "bilinear"))
        ok = qdq_node_set_string(n, "mode", "linear");
    else if (qdq_node_string_is(n, "mode", "bicubic", NULL))
        ok = qdq_node_set_string(n, "mode", "cubic");
    return ok ? QDQ_OK : qdq_nomem(err);
}

qdq_status qdq_upgrade_roialign_16(qdq_upgrade *u, qdq_node *n, qdq_error *err)
{
    (void)u;
    if (qdq_node_attr(n, "coordinate_transformation_mode") != NULL)
        return QDQ_OK;
    return qdq_node_set_string(n, "coordinate_transformation_mode", "output_half_pixel")
               ? QDQ_OK
               : qdq_nomem(err);
}

qdq_status qdq_upgrade_scatter_11(qdq_upgrade *u, qdq_node *n, qdq_error *err)
{
    (void)u;
    return qdq_node_set_type(n, "", "ScatterElements") ? QDQ_OK : qdq_nomem(err);
}
