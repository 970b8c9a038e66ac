/* shape_resize.c - shapes of Resize and Upsample, which count in float as the engines do. */
#include "ir/shape_infer.h"

#include <math.h>

/* floor(dim * scale) in single precision: ONNX leaves rounding open, ONNX Runtime multiplies
 * floats. */
static qdq_dim scaled(qdq_dim in, const qdq_scalar *scale)
{
    float size;

    if (scale->know != QDQ_KNOW_NUMBER)
        return qdq_dim_unknown();
    if (scale->v.f == 1.0)
        return in;
    size = floorf((float)in.value * (float)scale->v.f);
    if (in.value < 0 || !(size >= 0.0f && size < 9.0e18f))
        return qdq_dim_unknown();
    return qdq_dim_known((int64_t)size);
}

/* The elements of input i, one for each of n axes; NULL: not known. An empty tensor stands for no
 * input. */
static qdq_status per_axis(qdq_infer *c, uint32_t i, int n, bool floats, const qdq_values **out)
{
    const qdq_values *v = qdq_infer_known(c, i);

    *out = NULL;
    if (v == NULL || v->n == 0 || qdq_elem_is_float(v->elem) != floats)
        return QDQ_OK;
    if (v->n != n)
        return qdq_fail(c->err, QDQ_E_FORMAT, "input %u has %d elements, want %d", (unsigned)i,
                        v->n, n);
    *out = v;
    return QDQ_OK;
}

qdq_status qdq_infer_upsample(qdq_infer *c)
{
    const qdq_attr *attr = NULL;
    const qdq_values *scales;
    qdq_shape in, out;

    if (!qdq_infer_shape_of(c, 0, &in))
        return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), NULL);
    qdq_shape_fill(&out, in.rank);
    if (c->opset < 9) {
        attr = qdq_infer_attr(c, "scales", QDQ_ATTR_FLOATS);
        if (attr != NULL && attr->count != (size_t)in.rank)
            return qdq_fail(c->err, QDQ_E_FORMAT, "attribute 'scales' has %zu numbers, want %d",
                            attr->count, in.rank);
    }
    QDQ_TRY(per_axis(c, 1, in.rank, true, &scales));
    for (int i = 0; i < in.rank; i++) {
        qdq_scalar s = {QDQ_KNOW_NOT, {0}};

        if (attr != NULL) {
            s.know = QDQ_KNOW_NUMBER;
            s.v.f = (double)attr->v.floats[i];
        } else if (scales != NULL) {
            s = scales->at[i];
        }
        out.dim[i] = scaled(in.dim[i], &s);
    }
    return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), &out);
}

/* Sizes are a box that the result, enlarged evenly, must fit into or cover. */
static void keep_aspect(const qdq_shape *in, const qdq_values *sizes, const int *axis, int n,
                        bool cover, qdq_shape *out)
{
    float scale = 0.0f;

    for (int i = 0; i < n; i++) {
        float s;

        if (in->dim[axis[i]].value < 1 || sizes->at[i].know != QDQ_KNOW_NUMBER ||
            sizes->at[i].v.i < 0)
            return;
        s = (float)sizes->at[i].v.i / (float)in->dim[axis[i]].value;
        if (i == 0 || (cover ? s > scale : s < scale))
            scale = s;
    }
    for (int i = 0; i < n; i++) {
        float size = roundf(scale * (float)in->dim[axis[i]].value);

        if (size >= 0.0f && size < 9.0e18f)
            out->dim[axis[i]] = qdq_dim_known((int64_t)size);
    }
}

qdq_status qdq_infer_resize(qdq_infer *c)
{
    uint32_t scales_at = c->opset < 11 ? 1 : 2;
    bool crop =
        qdq_infer_string_is(c, "coordinate_transformation_mode", "tf_crop_and_resize", NULL);
    bool inside = qdq_infer_string_is(c, "keep_aspect_ratio_policy", "not_larger", NULL);
    bool cover = qdq_infer_string_is(c, "keep_aspect_ratio_policy", "not_smaller", NULL);
    const qdq_values *scales, *sizes = NULL;
    const int64_t *axes = NULL;
    int axis[QDQ_INFER_RANK], n;
    qdq_shape in, out;
    size_t count;

    if (!qdq_infer_shape_of(c, 0, &in))
        return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), NULL);
    if (c->opset < 18 || !qdq_infer_ints(c, "axes", &axes, &count))
        count = (size_t)in.rank; /* scales and sizes are there for all axes */
    QDQ_TRY(qdq_axes_read(axes, (int64_t)count, in.rank, axis, NULL, c->err));
    n = (int)count;
    QDQ_TRY(per_axis(c, scales_at, n, true, &scales));
    if (c->opset >= 11)
        QDQ_TRY(per_axis(c, 3, n, false, &sizes));
    out = in;
    for (int i = 0; i < n; i++)
        out.dim[axis[i]] = qdq_dim_unknown();
    if (sizes != NULL && (inside || cover)) {
        keep_aspect(&in, sizes, axis, n, cover, &out);
    } else if (sizes != NULL) {
        for (int i = 0; i < n; i++)
            out.dim[axis[i]] = qdq_dim_from(&sizes->at[i]);
    } else if (scales != NULL && !crop) {
        for (int i = 0; i < n; i++)
            out.dim[axis[i]] = scaled(in.dim[axis[i]], &scales->at[i]);
    }
    return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), &out);
}
