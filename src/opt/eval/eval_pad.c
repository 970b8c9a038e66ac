/* eval_pad.c - Pad: a border of constants, or of elements of the array itself. Negative pads take
 * away. */
#include "opt/eval/eval_kernel.h"

#include <inttypes.h>
#include <string.h>

typedef enum pad_mode { CONSTANT, REFLECT, EDGE, WRAP } pad_mode;

typedef struct padding {
    pad_mode mode;
    int64_t before[QDQ_EVAL_RANK], after[QDQ_EVAL_RANK];
    /* of the result */
    int64_t dim[QDQ_EVAL_RANK];
    /* an element */
    unsigned char value[8];
} padding;

/* --- what is asked for ------------------------------------------------------------------------ */

static bool read_mode(qdq_eval *c, pad_mode *out)
{
    static const struct {
        const char *name;
        pad_mode mode;
        int64_t since;
    } modes[] = {
        {"constant", CONSTANT, 0}, {"reflect", REFLECT, 0}, {"edge", EDGE, 0}, {"wrap", WRAP, 19}};

    for (size_t i = 0; i < QDQ_COUNT(modes); i++)
        if (c->opset >= modes[i].since &&
            qdq_eval_string_is(c, "mode", modes[i].name, "constant")) {
            *out = modes[i].mode;
            return true;
        }
    return QDQ_REFUSE(c, "attribute 'mode' is not known");
}

static bool read_value(qdq_eval *c, unsigned char *value)
{
    const qdq_const *x = c->in[0], *v = qdq_eval_in(c, 2);

    memset(value, 0, 8);
    if (c->opset < 11)
        return qdq_elem_put_float(x->elem, value, 0, (double)qdq_eval_float(c, "value", 0.0F)) ||
               qdq_eval_refuse_type(c, 0);
    if (v == NULL)
        return true;
    if (v->elem != x->elem || v->count != 1)
        return QDQ_REFUSE(c, "input 2 is not a scalar of the type of the first");
    memcpy(value, v->data, qdq_eval_size(v->elem));
    return true;
}

static bool read_pads(qdq_eval *c, padding *p)
{
    const qdq_const *x = c->in[0];
    const int64_t *pads, *axes;
    int64_t count, n_axes;
    int axis[QDQ_EVAL_RANK];

    if (!qdq_eval_ints_or_attr(c, 1, "pads", 11, &pads, &count) ||
        !qdq_eval_ints(c, 3, &axes, &n_axes))
        return false;
    n_axes = axes == NULL ? x->rank : n_axes;
    if (pads == NULL || n_axes > x->rank || count != 2 * n_axes)
        return QDQ_REFUSE(c, "%" PRId64 " pads for %" PRId64 " axes of an array of rank %d", count,
                          n_axes, x->rank);
    for (int i = 0; i < x->rank; i++)
        p->before[i] = p->after[i] = 0;
    if (!qdq_eval_read_axes(c, axes, n_axes, x->rank, axis, NULL))
        return false;
    for (int i = 0; i < (int)n_axes; i++) {
        p->before[axis[i]] = pads[i];
        p->after[axis[i]] = pads[i + n_axes];
    }
    return true;
}

/* What an axis of `dim` elements cannot give. */
static bool check_axis(const padding *p, int64_t dim, int64_t before, int64_t after)
{
    if (before < 0 || after < 0) /* each side takes at most all that there is */
        return p->mode == CONSTANT && before >= -dim && after >= -dim;
    if (before == 0 && after == 0)
        return true;
    if (p->mode == REFLECT)
        return before < dim && after < dim;
    return p->mode == CONSTANT || dim > 0;
}

static bool size_result(qdq_eval *c, padding *p)
{
    const qdq_const *x = c->in[0];

    for (int i = 0; i < x->rank; i++)
        if (!check_axis(p, x->dim[i], p->before[i], p->after[i]) ||
            __builtin_add_overflow(x->dim[i], p->before[i], &p->dim[i]) ||
            __builtin_add_overflow(p->dim[i], p->after[i], &p->dim[i]) || p->dim[i] < 0)
            return QDQ_REFUSE(c, "pads of %" PRId64 " and %" PRId64 " along a dim of %" PRId64,
                              p->before[i], p->after[i], x->dim[i]);
    return true;
}

/* --- results ---------------------------------------------------------------------------------- */

/* Everything is the constant, then the part of x that stays goes to its place. */
static void pad_constant(const qdq_const *x, const padding *p, const qdq_const *o, char *out)
{
    size_t size = qdq_eval_size(x->elem);
    int64_t from = 0, to = 0;
    qdq_walk w;

    qdq_eval_fill(out, o->count, size, p->value);
    w.rank = x->rank;
    qdq_eval_strides(x->rank, p->dim, w.stride[0]);
    qdq_eval_strides(x->rank, x->dim, w.stride[1]);
    for (int i = 0; i < x->rank; i++) {
        int64_t cut_before = p->before[i] < 0 ? -p->before[i] : 0,
                cut_after = p->after[i] < 0 ? -p->after[i] : 0;

        w.dim[i] = x->dim[i] - cut_before - cut_after;
        if (w.dim[i] <= 0)
            return;
        from += cut_before * w.stride[1][i];
        to += (p->before[i] > 0 ? p->before[i] : 0) * w.stride[0][i];
    }
    qdq_eval_copy(&w, size, out + to * (int64_t)size, (const char *)x->data + from * (int64_t)size);
}

/* Which element of an axis of `dim` stands `at` places behind its first one. */
static int64_t mirrored(pad_mode mode, int64_t at, int64_t dim)
{
    if (at >= 0 && at < dim)
        return at;
    if (mode == REFLECT)
        return at < 0 ? -at : 2 * (dim - 1) - at;
    if (mode == EDGE)
        return at < 0 ? 0 : dim - 1;
    return (at % dim + dim) % dim;
}

/* Row by row: the offset of each row of x, and within it of each element. */
static bool pad_mirrored(qdq_eval *c, const padding *p, char *out)
{
    const qdq_const *x = c->in[0];
    size_t size = qdq_eval_size(x->elem);
    int64_t stride[QDQ_EVAL_RANK], at[QDQ_EVAL_RANK] = {0}, *place;
    int last = x->rank - 1;

    if (last < 0) {
        memcpy(out, x->data, size);
        return true;
    }
    qdq_eval_strides(x->rank, x->dim, stride);
    place = qdq_eval_scratch(c, p->dim[last], sizeof *place);
    if (place == NULL)
        return false;
    for (int64_t k = 0; k < p->dim[last]; k++)
        place[k] = mirrored(p->mode, k - p->before[last], x->dim[last]);
    for (int64_t row = 0; row < c->out[0].count / p->dim[last]; row++) {
        int64_t from = 0;

        for (int i = 0; i < last; i++)
            from += mirrored(p->mode, at[i] - p->before[i], x->dim[i]) * stride[i];
        for (int64_t k = 0; k < p->dim[last]; k++, out += size)
            memcpy(out, (const char *)x->data + (size_t)(from + place[k]) * size, size);
        for (int i = last - 1; i >= 0 && ++at[i] == p->dim[i]; i--)
            at[i] = 0;
    }
    return true;
}

/* Half of what is too much or too little goes in front, rounded towards 0. */
bool qdq_eval_centercroppad(qdq_eval *c)
{
    const qdq_const *x = c->in[0];
    padding p = {.mode = CONSTANT};
    const int64_t *size, *axes;
    int64_t count, n_axes;
    int axis[QDQ_EVAL_RANK];

    if (!qdq_eval_ints_or_attr(c, 1, NULL, 0, &size, &count))
        return false;
    if (qdq_eval_int_list(c, "axes", &axes, &n_axes) ? count != n_axes : count != x->rank)
        return QDQ_REFUSE(c, "%" PRId64 " sizes that do not fit the axes", count);
    if (!qdq_eval_read_axes(c, axes, count, x->rank, axis, NULL))
        return false;
    for (int i = 0; i < (int)count; i++) {
        if (size[i] < 0)
            return QDQ_REFUSE(c, "a size of %" PRId64, size[i]);
        p.before[axis[i]] = (size[i] - x->dim[axis[i]]) / 2;
        p.after[axis[i]] = size[i] - x->dim[axis[i]] - p.before[axis[i]];
    }
    if (!size_result(c, &p))
        return false;
    char *out = qdq_eval_output(c, 0, x->elem, x->rank, p.dim);
    if (out != NULL && c->out[0].count > 0)
        pad_constant(x, &p, &c->out[0], out);
    return out != NULL;
}

bool qdq_eval_pad(qdq_eval *c)
{
    const qdq_const *x = c->in[0];
    padding p;

    if (!read_mode(c, &p.mode) || !read_value(c, p.value) || !read_pads(c, &p) ||
        !size_result(c, &p))
        return false;
    char *out = qdq_eval_output(c, 0, x->elem, x->rank, p.dim);
    if (out == NULL)
        return false;
    if (c->out[0].count == 0)
        return true;
    if (p.mode == CONSTANT)
        pad_constant(x, &p, &c->out[0], out);
    return p.mode == CONSTANT || pad_mirrored(c, &p, out);
}
