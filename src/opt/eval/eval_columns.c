/* eval_columns.c - Col2Im and DeformConv of constants, as ONNX's specification of opsets 18 and 22
 * defines them: windows whose elements are put back, and windows whose elements lie anywhere. Sums
 * in double, rounded once. */
#include "opt/eval/eval_window.h"

#include <inttypes.h>
#include <math.h>

/* --- Col2Im ----------------------------------------------------------------------------------- */

static bool read_sizes(qdq_eval *c, uint32_t i, int n, int64_t *size)
{
    const int64_t *list;
    int64_t count;

    if (c->in[i]->elem != QDQ_INT64)
        return qdq_eval_refuse_type(c, i);
    if (!qdq_eval_ints(c, i, &list, &count))
        return false;
    for (int k = 0; k < n; k++) {
        size[k] = list[k];
        if (size[k] < 1 || size[k] > INT32_MAX)
            return QDQ_REFUSE(c, "input %u has a size of %" PRId64, (unsigned)i, size[k]);
    }
    return true;
}

/* The window goes over the image; `block` is the number of elements under it. */
static bool read_columns(qdq_eval *c, qdq_window *w, int64_t *block)
{
    const qdq_const *x = c->in[0];
    int64_t places = 1;

    *w = (qdq_window){0};
    if (!qdq_eval_is_float(x->elem))
        return qdq_eval_refuse_type(c, 0);
    if (x->rank != 3 || x->count == 0 || c->in[1]->rank != 1 || c->in[2]->rank != 1 ||
        c->in[1]->count < 1 || c->in[1]->count > QDQ_WINDOW_SPACE ||
        c->in[1]->count != c->in[2]->count)
        return QDQ_REFUSE(c, "columns, an image and a block of ranks that do not fit");
    w->space = (int)c->in[1]->count;
    if (!read_sizes(c, 1, w->space, w->in) || !read_sizes(c, 2, w->space, w->kernel) ||
        !qdq_window_read(c, w, false))
        return false;
    for (int i = 0; i < w->space; i++)
        if (__builtin_mul_overflow(*block, w->kernel[i], block) ||
            __builtin_mul_overflow(places, w->out[i], &places))
            return QDQ_REFUSE(c, "columns of more elements than can be counted");
    if (x->dim[1] % *block != 0 || x->dim[2] != places)
        return QDQ_REFUSE(
            c, "columns of %" PRId64 " and %" PRId64 " elements, expected %" PRId64 " and %" PRId64,
            x->dim[1], x->dim[2], *block, places);
    return true;
}

/* Adds the columns of one channel, from element `from` on, to the image. */
static void add_columns(const qdq_const *x, const qdq_window *w, int64_t from, double *image)
{
    int64_t k[QDQ_WINDOW_SPACE] = {0}, place[QDQ_WINDOW_SPACE] = {0};

    do {
        do {
            int64_t at = qdq_window_at(w, place, k);

            if (at >= 0)
                image[at] += qdq_eval_number(x, from);
            from++;
        } while (qdq_window_advance(w->space, w->out, place));
    } while (qdq_window_advance(w->space, w->kernel, k));
}

bool qdq_eval_col2im(qdq_eval *c)
{
    const qdq_const *x = c->in[0];
    int64_t dim[2 + QDQ_WINDOW_SPACE], block = 1;
    qdq_window w;

    if (!read_columns(c, &w, &block))
        return false;
    dim[0] = x->dim[0];
    dim[1] = x->dim[1] / block;
    for (int i = 0; i < w.space; i++)
        dim[2 + i] = w.in[i];
    void *out = qdq_eval_output(c, 0, x->elem, 2 + w.space, dim);
    if (out == NULL)
        return false;
    int64_t size = qdq_eval_product(w.in, 0, w.space);
    double *image = qdq_eval_scratch(c, size, sizeof *image);
    if (image == NULL)
        return false;
    for (int64_t i = 0; i < dim[0] * dim[1]; i++) {
        for (int64_t k = 0; k < size; k++)
            image[k] = 0;
        add_columns(x, &w, i * block * x->dim[2], image);
        for (int64_t k = 0; k < size; k++)
            qdq_eval_put_number(x->elem, out, i * size + k, image[k]);
    }
    return true;
}

/* --- DeformConv ------------------------------------------------------------------------------- */

enum { X, WEIGHT, OFFSET, BIAS, SCALE };

typedef struct deform {
    /* of two dims */
    qdq_window w;
    /* channels: of a group */
    int64_t group, offset_group, features, channels;
} deform;

static bool has_dims(const qdq_const *x, const int64_t *dim)
{
    for (int i = 0; i < 4; i++)
        if (x->rank != 4 || x->dim[i] != dim[i])
            return false;
    return true;
}

/* Offsets in both dims, and the optional scale, of each element of the kernel at each place. */
static bool check_places(qdq_eval *c, const deform *d)
{
    const qdq_const *offset = c->in[OFFSET], *scale = qdq_eval_in(c, SCALE);
    int64_t taps = d->offset_group * d->w.kernel[0] * d->w.kernel[1];
    int64_t dim[4] = {c->in[X]->dim[0], 2 * taps, d->w.out[0], d->w.out[1]};

    if (!has_dims(offset, dim))
        return QDQ_REFUSE(c, "offsets that do not fit the result");
    dim[1] = taps;
    return scale == NULL || has_dims(scale, dim) ||
           QDQ_REFUSE(c, "a mask that does not fit the result");
}

static bool read_deform(qdq_eval *c, deform *d)
{
    const qdq_const *x = c->in[X], *w = c->in[WEIGHT], *b = qdq_eval_in(c, BIAS);
    int64_t kernel[2];

    *d = (deform){.w.space = 2,
                  .group = qdq_eval_int(c, "group", 1),
                  .offset_group = qdq_eval_int(c, "offset_group", 1)};
    if (!qdq_eval_is_float(x->elem))
        return qdq_eval_refuse_type(c, X);
    if (!qdq_eval_same_types(c))
        return false;
    if (x->rank != 4 || w->rank != 4 || x->count == 0 || w->count == 0)
        return QDQ_REFUSE(c, "arrays of the ranks %d and %d, expected images with elements",
                          x->rank, w->rank);
    d->features = w->dim[0];
    d->channels = w->dim[1];
    if (d->group < 1 || d->features % d->group != 0 || x->dim[1] % d->group != 0 ||
        x->dim[1] / d->group != d->channels || d->offset_group < 1 ||
        x->dim[1] % d->offset_group != 0)
        return QDQ_REFUSE(c, "channels that do not fit the weight or the groups");
    if (b != NULL && (b->rank != 1 || b->dim[0] != d->features))
        return QDQ_REFUSE(c, "a bias that does not fit the weight");
    if (!qdq_window_list(c, "kernel_shape", 2, 0, 0, kernel))
        return false;
    for (int i = 0; i < 2; i++) {
        d->w.in[i] = x->dim[2 + i];
        d->w.kernel[i] = w->dim[2 + i];
        if (qdq_node_attr(c->node, "kernel_shape") != NULL && kernel[i] != d->w.kernel[i])
            return QDQ_REFUSE(c, "attribute 'kernel_shape' is not the weight's");
    }
    return qdq_window_read(c, &d->w, false) && check_places(c, d);
}

/* What an image has between its elements: linear in both dims, 0 beyond its ends. */
static double between(const qdq_const *x, int64_t from, int64_t height, int64_t width, double y,
                      double at)
{
    double top = floor(y), left = floor(at), sum = 0;

    if (!(y > -1 && y < (double)height && at > -1 && at < (double)width))
        return 0;
    for (int k = 0; k < 4; k++) {
        const int down = k / 2, right = k % 2;
        double row = top + down, column = left + right;
        double weight = (1 - fabs(y - row)) * (1 - fabs(at - column));

        if (row >= 0 && row < (double)height && column >= 0 && column < (double)width)
            sum += weight * qdq_eval_number(x, from + (int64_t)row * width + (int64_t)column);
    }
    return sum;
}

static double deform_sum(const qdq_eval *c, const deform *d, int64_t sample, int64_t feature,
                         const int64_t *place)
{
    const qdq_window *w = &d->w;
    const qdq_const *x = c->in[X], *scale = qdq_eval_in(c, SCALE);
    int64_t kernel = w->kernel[0] * w->kernel[1], places = w->out[0] * w->out[1];
    int64_t at = place[0] * w->out[1] + place[1];
    double sum = 0;

    for (int64_t i = 0; i < d->channels; i++) {
        int64_t channel = feature / (d->features / d->group) * d->channels + i;
        int64_t group = channel / (x->dim[1] / d->offset_group);

        for (int64_t k = 0; k < kernel; k++) {
            int64_t tap = (sample * d->offset_group + group) * kernel + k;
            const int64_t row = k / w->kernel[1];
            double y = (double)(place[0] * w->stride[0] - w->pad[0] + row * w->dilation[0]) +
                       qdq_eval_number(c->in[OFFSET], 2 * tap * places + at);
            double z =
                (double)(place[1] * w->stride[1] - w->pad[1] + k % w->kernel[1] * w->dilation[1]) +
                qdq_eval_number(c->in[OFFSET], (2 * tap + 1) * places + at);
            double v = between(x, (sample * x->dim[1] + channel) * w->in[0] * w->in[1], w->in[0],
                               w->in[1], y, z);

            if (scale != NULL)
                v *= qdq_eval_number(scale, tap * places + at);
            sum += v * qdq_eval_number(c->in[WEIGHT], (feature * d->channels + i) * kernel + k);
        }
    }
    return sum;
}

bool qdq_eval_deformconv(qdq_eval *c)
{
    const qdq_const *b = qdq_eval_in(c, BIAS);
    int64_t place[2] = {0};
    deform d;

    if (!read_deform(c, &d))
        return false;
    const int64_t dim[4] = {c->in[X]->dim[0], d.features, d.w.out[0], d.w.out[1]};
    void *out = qdq_eval_output(c, 0, c->in[X]->elem, 4, dim);
    if (out == NULL)
        return false;
    if (c->out[0].count > QDQ_WINDOW_WORK / (c->in[WEIGHT]->count / d.features))
        return QDQ_REFUSE(c, "more multiplications than the limit");
    for (int64_t i = 0; i < c->out[0].count; i++) {
        int64_t feature = i / (dim[2] * dim[3]) % d.features;
        double sum = deform_sum(c, &d, i / (dim[2] * dim[3]) / d.features, feature, place);

        qdq_eval_put_number(c->in[X]->elem, out, i,
                            b != NULL ? sum + qdq_eval_number(b, feature) : sum);
        qdq_window_advance(2, d.w.out, place);
    }
    return true;
}
