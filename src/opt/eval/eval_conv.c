/* eval_conv.c - Conv and ConvTranspose of constants, as ONNX's specification of opset 22 defines
 * them: each result is a sum in double, in the order of channels and places in the kernel, the bias
 * last, rounded once. */
#include "opt/eval/eval_window.h"

typedef struct conv {
    qdq_window w;
    int64_t group, channels, features;
} conv;

/* The attribute says what the weight says, or is not there. */
static bool check_kernel(qdq_eval *c, const conv *v)
{
    int64_t kernel[QDQ_WINDOW_SPACE];

    if (!qdq_window_list(c, "kernel_shape", v->w.space, 0, 0, kernel))
        return false;
    for (int i = 0; i < v->w.space; i++)
        if (qdq_node_attr(c->node, "kernel_shape") != NULL && kernel[i] != v->w.kernel[i])
            return QDQ_REFUSE(c, "attribute 'kernel_shape' is not the weight's");
    return true;
}

/* What both operators ask of data, weight and bias; `features`: of the result. */
static bool check_arrays(qdq_eval *c, conv *v, int64_t features)
{
    const qdq_const *x = c->in[0], *w = c->in[1], *b = qdq_eval_in(c, 2);

    v->features = features;
    if (x->count == 0 || w->count == 0)
        return QDQ_REFUSE(c, "an array without elements");
    if (b != NULL && (b->rank != 1 || b->dim[0] != v->features))
        return QDQ_REFUSE(c, "a bias that does not fit the weight");
    for (int i = 0; i < v->w.space; i++) {
        v->w.in[i] = x->dim[2 + i];
        v->w.kernel[i] = w->dim[2 + i];
    }
    return true;
}

static bool begin(qdq_eval *c, conv *v)
{
    const qdq_const *x = c->in[0], *w = c->in[1];

    *v = (conv){.w.space = x->rank - 2, .group = qdq_eval_int(c, "group", 1)};
    if (!qdq_eval_same_types(c))
        return false;
    if (!qdq_eval_is_float(x->elem))
        return qdq_eval_refuse_type(c, 0);
    if (v->w.space < 1 || v->w.space > QDQ_WINDOW_SPACE || w->rank != x->rank)
        return QDQ_REFUSE(c, "arrays of the ranks %d and %d, expected equal ones of 3 to 5",
                          x->rank, w->rank);
    return true;
}

/* What one place of a feature sums up, but for the bias. */
typedef double sum_fn(const qdq_eval *c, const conv *v, int64_t sample, int64_t feature,
                      const int64_t *place);

static bool compute(qdq_eval *c, const conv *v, sum_fn *sum_place)
{
    int64_t dim[2 + QDQ_WINDOW_SPACE] = {c->in[0]->dim[0], v->features},
                    place[QDQ_WINDOW_SPACE] = {0};
    int64_t places = qdq_eval_product(v->w.out, 0, v->w.space);
    const qdq_const *b = qdq_eval_in(c, 2);

    for (int i = 0; i < v->w.space; i++)
        dim[2 + i] = v->w.out[i];
    void *out = qdq_eval_output(c, 0, c->in[0]->elem, 2 + v->w.space, dim);
    if (out == NULL)
        return false;
    if (c->out[0].count > QDQ_WINDOW_WORK / (c->in[1]->count / v->features))
        return QDQ_REFUSE(c, "more multiplications than the limit");
    for (int64_t i = 0; i < c->out[0].count; i++) {
        int64_t feature = i / places % v->features;
        double sum = sum_place(c, v, i / places / v->features, feature, place);

        qdq_eval_put_number(c->in[0]->elem, out, i,
                            b != NULL ? sum + qdq_eval_number(b, feature) : sum);
        qdq_window_advance(v->w.space, v->w.out, place);
    }
    return true;
}

/* --- Conv ------------------------------------------------------------------------------------- */

static bool read_conv(qdq_eval *c, conv *v)
{
    const qdq_const *x = c->in[0], *w = c->in[1];

    if (!begin(c, v) || !check_arrays(c, v, w->dim[0]))
        return false;
    v->channels = w->dim[1];
    if (v->group < 1 || v->features % v->group != 0 || x->dim[1] % v->group != 0 ||
        x->dim[1] / v->group != v->channels)
        return QDQ_REFUSE(c, "channels that do not fit the weight");
    return check_kernel(c, v) && qdq_window_read(c, &v->w, false);
}

/* One channel under the kernel at `place`. `x` and `w` are the offsets of the channel and of its
 * part of the weight. */
static double sum_channel(const qdq_eval *c, const conv *v, int64_t x, int64_t w,
                          const int64_t *place)
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

static double sum_channels(const qdq_eval *c, const conv *v, int64_t sample, int64_t feature,
                           const int64_t *place)
{
    int64_t first = sample * c->in[0]->dim[1] + feature / (v->features / v->group) * v->channels;
    int64_t size = qdq_eval_product(v->w.in, 0, v->w.space),
            weights = qdq_eval_product(v->w.kernel, 0, v->w.space);
    double sum = 0;

    for (int64_t k = 0; k < v->channels; k++)
        sum += sum_channel(c, v, (first + k) * size, (feature * v->channels + k) * weights, place);
    return sum;
}

bool qdq_eval_conv(qdq_eval *c)
{
    conv v;

    return read_conv(c, &v) && compute(c, &v, sum_channels);
}

/* --- ConvTranspose ---------------------------------------------------------------------------- */

/* Padding, which is cut off the result here, from its size: the odd one is in front but for
 * SAME_UPPER. A result larger than `whole` ends in places that nothing is added to. */
static void cut(qdq_window *w, int i, int64_t whole, qdq_padding how)
{
    int64_t total = whole - w->out[i], half = total > 0 ? total / 2 : 0;

    w->pad[i] = how == QDQ_PADDING_SAME_UPPER || total < 0 ? half : total - half;
    w->end[i] = total - w->pad[i];
}

static bool read_result(qdq_eval *c, qdq_window *w)
{
    int64_t more[QDQ_WINDOW_SPACE], size[QDQ_WINDOW_SPACE];
    bool is_sized = qdq_node_attr(c->node, "output_shape") != NULL;
    qdq_padding how;

    if (!qdq_window_attributes(c, w, &how) ||
        !qdq_window_list(c, "output_padding", w->space, 0, 0, more) ||
        !qdq_window_list(c, "output_shape", w->space, 0, 0, size))
        return false;
    if ((is_sized || how != QDQ_PADDING_GIVEN) && c->opset < 11)
        return QDQ_REFUSE(c, "a size of the result, of which opset 11 changed the meaning");
    for (int i = 0; i < w->space; i++) {
        int64_t whole = 0, reach = 0;

        if (more[i] >= w->stride[i] && more[i] >= w->dilation[i])
            return QDQ_REFUSE(c, "attribute 'output_padding' is as large as a step");
        if (__builtin_mul_overflow(w->dilation[i], w->kernel[i] - 1, &reach) ||
            __builtin_mul_overflow(w->stride[i], w->in[i] - 1, &whole) ||
            __builtin_add_overflow(whole, reach, &whole) ||
            __builtin_add_overflow(whole, more[i] + 1, &whole))
            return QDQ_REFUSE(c, "a result that is larger than can be counted");
        if (is_sized || how != QDQ_PADDING_GIVEN) {
            w->out[i] = is_sized ? size[i] : w->in[i] * w->stride[i];
            cut(w, i, whole, how);
        }
        w->out[i] = whole - w->pad[i] - w->end[i];
        if (w->out[i] < 1)
            return QDQ_REFUSE(c, "a result without elements");
    }
    return true;
}

static bool read_transpose(qdq_eval *c, conv *v)
{
    const qdq_const *x = c->in[0], *w = c->in[1];
    int64_t features = 0;

    if (!begin(c, v))
        return false;
    if (v->group < 1 || w->dim[0] != x->dim[1] || x->dim[1] % v->group != 0 ||
        __builtin_mul_overflow(w->dim[1], v->group, &features))
        return QDQ_REFUSE(c, "channels that do not fit the weight");
    v->channels = x->dim[1] / v->group;
    return check_arrays(c, v, features) && check_kernel(c, v) && read_result(c, &v->w);
}

/* Where the data have what element `k` of the kernel adds to the result at `place`; -1: nowhere. */
static int64_t source_of(const qdq_window *w, const int64_t *place, const int64_t *k)
{
    int64_t at = 0;

    for (int i = 0; i < w->space; i++) {
        int64_t p = place[i] + w->pad[i] - k[i] * w->dilation[i];

        if (p < 0 || p % w->stride[i] != 0 || p / w->stride[i] >= w->in[i])
            return -1;
        at = at * w->in[i] + p / w->stride[i];
    }
    return at;
}

static double sum_sources(const qdq_eval *c, const conv *v, int64_t sample, int64_t feature,
                          const int64_t *place)
{
    int64_t per_group = v->features / v->group, first = feature / per_group * v->channels;
    int64_t size = qdq_eval_product(v->w.in, 0, v->w.space),
            weights = qdq_eval_product(v->w.kernel, 0, v->w.space);
    double sum = 0;

    for (int64_t m = first; m < first + v->channels; m++) {
        int64_t k[QDQ_WINDOW_SPACE] = {0}, w = (m * per_group + feature % per_group) * weights;

        do {
            int64_t at = source_of(&v->w, place, k);

            if (at >= 0)
                sum += qdq_eval_number(c->in[0], (sample * c->in[0]->dim[1] + m) * size + at) *
                       qdq_eval_number(c->in[1], w);
            w++;
        } while (qdq_window_advance(v->w.space, v->w.kernel, k));
    }
    return sum;
}

bool qdq_eval_convtranspose(qdq_eval *c)
{
    conv v;

    return read_transpose(c, &v) && compute(c, &v, sum_sources);
}
