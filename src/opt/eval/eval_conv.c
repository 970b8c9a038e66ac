/* eval_conv.c - Conv of constants, as ONNX's specification of opset 22 defines it: each result is a sum in double, in the
 * order of channels and places in the kernel, the bias last, rounded once. */
#include "opt/eval/eval_window.h"

typedef struct conv {
    qdq_window w;
    int64_t group, channels, features;
} conv;

static bool read_places(qdq_eval *c, conv *v)
{
    int64_t kernel[QDQ_WINDOW_SPACE];

    if (!qdq_window_list(c, "kernel_shape", v->w.space, 0, 0, kernel))
        return false;
    for (int i = 0; i < v->w.space; i++)
        if (qdq_node_attr(c->node, "kernel_shape") != NULL && kernel[i] != v->w.kernel[i])
            return QDQ_REFUSE(c, "attribute 'kernel_shape' is not the weight's");
    return qdq_window_read(c, &v->w, false);
}

static bool read_conv(qdq_eval *c, conv *v)
{
    const qdq_const *x = c->in[0], *w = c->in[1], *b = qdq_eval_in(c, 2);

    *v = (conv){.w.space = x->rank - 2, .group = qdq_eval_int(c, "group", 1)};
    for (uint32_t i = 1; i < c->node->n_in; i++)
        if (c->in[i] != NULL && c->in[i]->elem != x->elem)
            return QDQ_REFUSE(c, "inputs of several types");
    if (x->elem != QDQ_FLOAT && x->elem != QDQ_DOUBLE)
        return qdq_eval_refuse_type(c, 0);
    if (v->w.space < 1 || v->w.space > QDQ_WINDOW_SPACE || w->rank != x->rank)
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
    for (int i = 0; i < v->w.space; i++) {
        v->w.in[i] = x->dim[2 + i];
        v->w.kernel[i] = w->dim[2 + i];
    }
    return read_places(c, v);
}

/* One channel under the kernel at `place`. `x` and `w` are the offsets of the channel and of its part of the weight. */
static double sum_channel(const qdq_eval *c, const conv *v, int64_t x, int64_t w, const int64_t *place)
{
    int64_t k[QDQ_WINDOW_SPACE] = {0};
    double sum = 0;

    do {
        int64_t at = qdq_window_at(&v->w, place, k);

        if (at >= 0)
            sum += qdq_eval_number(c->in[0], x + at) * qdq_eval_number(c->in[1], w);
        w++;
    } while (qdq_window_advance(v->w.space, v->w.kernel, k));
    return sum;
}

/* All places of one feature of one sample. */
static void compute_feature(const qdq_eval *c, const conv *v, int64_t sample, int64_t feature, void *out,
                            int64_t to)
{
    const qdq_const *b = qdq_eval_in(c, 2);
    int64_t first = feature / (v->features / v->group) * v->channels, place[QDQ_WINDOW_SPACE] = {0};
    int64_t size = qdq_eval_product(v->w.in, 0, v->w.space),
            weights = qdq_eval_product(v->w.kernel, 0, v->w.space);

    do {
        double sum = 0;

        for (int64_t k = 0; k < v->channels; k++)
            sum += sum_channel(c, v, (sample * c->in[0]->dim[1] + first + k) * size,
                               (feature * v->channels + k) * weights, place);
        sum += b != NULL ? qdq_eval_number(b, feature) : 0;
        qdq_eval_put_number(c->in[0]->elem, out, to++, sum);
    } while (qdq_window_advance(v->w.space, v->w.out, place));
}

bool qdq_eval_conv(qdq_eval *c)
{
    int64_t dim[2 + QDQ_WINDOW_SPACE], places;
    conv v;

    if (!read_conv(c, &v))
        return false;
    dim[0] = c->in[0]->dim[0];
    dim[1] = v.features;
    for (int i = 0; i < v.w.space; i++)
        dim[2 + i] = v.w.out[i];
    void *out = qdq_eval_output(c, 0, c->in[0]->elem, 2 + v.w.space, dim);
    if (out == NULL)
        return false;
    if (c->out[0].count > QDQ_WINDOW_WORK / (c->in[1]->count / v.features))
        return QDQ_REFUSE(c, "more than %d multiplications", QDQ_WINDOW_WORK);
    places = qdq_eval_product(v.w.out, 0, v.w.space);
    for (int64_t i = 0; i < dim[0] * v.features; i++)
        compute_feature(c, &v, i / v.features, i % v.features, out, i * places);
    return true;
}
