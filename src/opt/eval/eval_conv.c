/* eval_conv.c - Conv of constants, as ONNX's specification of opset 22 defines it: each result is a sum in double, in the
 * order of channels and places in the kernel, the bias last, rounded once. */
#include "opt/eval/eval_kernel.h"

#include <inttypes.h>

enum { SPACE = 3, MAX_WORK = 1 << 26 /* multiplications */ };

typedef struct conv {
    int space; /* dims behind batch and channels */
    int64_t group, channels, features;
    int64_t in[SPACE], kernel[SPACE], out[SPACE];
    int64_t pad[SPACE], stride[SPACE], dilation[SPACE];
} conv;

/* One number for each dim of space, all at least `least`; `fallback` without the attribute. */
static bool read_list(qdq_eval *c, const char *name, int n, int64_t least, int64_t fallback, int64_t *list)
{
    const int64_t *given;
    int64_t count;
    bool is_there = qdq_eval_int_list(c, name, &given, &count);

    if (is_there && count != n)
        return QDQ_REFUSE(c, "attribute '%s' has %" PRId64 " numbers, expected %d", name, count, n);
    for (int i = 0; i < n; i++) {
        list[i] = is_there ? given[i] : fallback;
        if (list[i] < least || list[i] > INT32_MAX)
            return QDQ_REFUSE(c, "attribute '%s' has %" PRId64, name, list[i]);
    }
    return true;
}

static bool read_places(qdq_eval *c, conv *v)
{
    int64_t pads[2 * SPACE], kernel[SPACE];

    if (!qdq_eval_string_is(c, "auto_pad", "NOTSET", "NOTSET") &&
        !qdq_eval_string_is(c, "auto_pad", "VALID", ""))
        return QDQ_REFUSE(c, "attribute 'auto_pad' is SAME");
    if (!read_list(c, "pads", 2 * v->space, 0, 0, pads) ||
        !read_list(c, "strides", v->space, 1, 1, v->stride) ||
        !read_list(c, "dilations", v->space, 1, 1, v->dilation) ||
        !read_list(c, "kernel_shape", v->space, 0, 0, kernel))
        return false;
    for (int i = 0; i < v->space; i++) {
        int64_t reach = 0, room = 0;

        if (qdq_node_attr(c->node, "kernel_shape") != NULL && kernel[i] != v->kernel[i])
            return QDQ_REFUSE(c, "attribute 'kernel_shape' is not the weight's");
        if (__builtin_mul_overflow(v->dilation[i], v->kernel[i] - 1, &reach) ||
            __builtin_add_overflow(v->in[i], pads[i] + pads[v->space + i], &room) || room <= reach)
            return QDQ_REFUSE(c, "a kernel that is larger than the data");
        v->pad[i] = pads[i];
        v->out[i] = (room - reach - 1) / v->stride[i] + 1;
    }
    return true;
}

static bool read_conv(qdq_eval *c, conv *v)
{
    const qdq_const *x = c->in[0], *w = c->in[1], *b = qdq_eval_in(c, 2);

    *v = (conv){.space = x->rank - 2, .group = qdq_eval_int(c, "group", 1)};
    for (uint32_t i = 1; i < c->node->n_in; i++)
        if (c->in[i] != NULL && c->in[i]->elem != x->elem)
            return QDQ_REFUSE(c, "inputs of several types");
    if (x->elem != QDQ_FLOAT && x->elem != QDQ_DOUBLE)
        return qdq_eval_refuse_type(c, 0);
    if (v->space < 1 || v->space > SPACE || w->rank != x->rank)
        return QDQ_REFUSE(c, "arrays of the ranks %d and %d, expected equal ones of 3 to 5", x->rank,
                          w->rank);
    v->features = w->dim[0];
    v->channels = w->dim[1];
    if (x->count == 0 || w->count == 0)
        return QDQ_REFUSE(c, "an array without elements");
    if (v->group < 1 || v->features % v->group != 0 || x->dim[1] % v->group != 0 ||
        x->dim[1] / v->group != v->channels)
        return QDQ_REFUSE(c, "channels that do not fit the weight");
    if (b != NULL && (b->rank != 1 || b->dim[0] != v->features))
        return QDQ_REFUSE(c, "a bias that does not fit the weight");
    for (int i = 0; i < v->space; i++) {
        v->in[i] = x->dim[2 + i];
        v->kernel[i] = w->dim[2 + i];
    }
    return read_places(c, v);
}

static double number_at(const qdq_const *x, int64_t i)
{
    return x->elem == QDQ_FLOAT ? (double)((const float *)x->data)[i] : ((const double *)x->data)[i];
}

/* The next index in row-major order; false: it was the last. */
static bool advance(int n, const int64_t *dim, int64_t *index)
{
    for (int i = n; i-- > 0; index[i] = 0)
        if (++index[i] < dim[i])
            return true;
    return false;
}

/* One channel under the kernel at `place`. `x` and `w` are the offsets of the channel and of its part of the weight. */
static double sum_channel(const qdq_eval *c, const conv *v, int64_t x, int64_t w, const int64_t *place)
{
    int64_t k[SPACE] = {0};
    double sum = 0;

    do {
        int64_t at = 0;
        bool inside = true;

        for (int i = 0; i < v->space; i++) {
            int64_t p = place[i] * v->stride[i] - v->pad[i] + k[i] * v->dilation[i];

            inside = inside && p >= 0 && p < v->in[i];
            at = inside ? at * v->in[i] + p : 0;
        }
        if (inside)
            sum += number_at(c->in[0], x + at) * number_at(c->in[1], w);
        w++;
    } while (advance(v->space, v->kernel, k));
    return sum;
}

/* All places of one feature of one sample. */
static void compute_feature(const qdq_eval *c, const conv *v, int64_t sample, int64_t feature, void *out,
                            int64_t to)
{
    const qdq_const *b = qdq_eval_in(c, 2);
    int64_t first = feature / (v->features / v->group) * v->channels, place[SPACE] = {0};
    int64_t size = qdq_eval_product(v->in, 0, v->space), weights = qdq_eval_product(v->kernel, 0, v->space);

    do {
        double sum = 0;

        for (int64_t k = 0; k < v->channels; k++)
            sum += sum_channel(c, v, (sample * c->in[0]->dim[1] + first + k) * size,
                               (feature * v->channels + k) * weights, place);
        sum += b != NULL ? number_at(b, feature) : 0;
        if (c->in[0]->elem == QDQ_FLOAT)
            ((float *)out)[to++] = (float)sum;
        else
            ((double *)out)[to++] = sum;
    } while (advance(v->space, v->out, place));
}

bool qdq_eval_conv(qdq_eval *c)
{
    int64_t dim[2 + SPACE], places;
    conv v;

    if (!read_conv(c, &v))
        return false;
    dim[0] = c->in[0]->dim[0];
    dim[1] = v.features;
    for (int i = 0; i < v.space; i++)
        dim[2 + i] = v.out[i];
    void *out = qdq_eval_output(c, 0, c->in[0]->elem, 2 + v.space, dim);
    if (out == NULL)
        return false;
    if (c->out[0].count > MAX_WORK / (c->in[1]->count / v.features))
        return QDQ_REFUSE(c, "more than %d multiplications", MAX_WORK);
    places = qdq_eval_product(v.out, 0, v.space);
    for (int64_t i = 0; i < dim[0] * v.features; i++)
        compute_feature(c, &v, i / v.features, i % v.features, out, i * places);
    return true;
}
