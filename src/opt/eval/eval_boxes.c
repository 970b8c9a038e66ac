/* eval_boxes.c - operators of boxes in images: NonMaxSuppression and RoiAlign, as ONNX's
 * specification of opset 22 defines them. Engines compute in float: where a decision hangs on how
 * it rounds, nothing is computed. */
#include "opt/eval/eval_kernel.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { MAX_WORK = 1 << 26 }; /* pairs of boxes; places of samples in all channels */

/* Nearer to each other than float can tell, and not equal. */
static bool is_unsure(double a, double b)
{
    return a != b && fabs(a - b) <= 1e-5 * (1 + fabs(b));
}

static bool check_floats(qdq_eval *c, uint32_t i, int rank)
{
    const qdq_const *x = c->in[i];

    if (!qdq_eval_is_float(x->elem))
        return qdq_eval_refuse_type(c, i);
    if (x->rank != rank)
        return QDQ_REFUSE(c, "input %u has rank %d, expected %d", (unsigned)i, x->rank, rank);
    for (int64_t k = 0; k < x->count; k++)
        if (!isfinite(qdq_eval_number(x, k)))
            return QDQ_REFUSE(c, "input %u has a number that is not finite", (unsigned)i);
    return true;
}

/* --- NonMaxSuppression ------------------------------------------------------------------------ */

typedef struct box {
    double low[2], high[2], score;
    int64_t index;
} box;

typedef struct suppression {
    /* of each class */
    int64_t most;
    double overlap, score;
    bool has_score, is_centred;
} suppression;

/* A single number; without the input the fallback. */
static bool read_number(qdq_eval *c, uint32_t i, double *out)
{
    const qdq_const *x = qdq_eval_in(c, i);

    if (x == NULL)
        return true;
    if (!qdq_eval_is_float(x->elem) || x->count != 1)
        return QDQ_REFUSE(c, "input %u is not a single float", (unsigned)i);
    *out = qdq_eval_number(x, 0);
    return !isnan(*out) || QDQ_REFUSE(c, "input %u is NaN", (unsigned)i);
}

static bool read_suppression(qdq_eval *c, suppression *s)
{
    const qdq_const *boxes = c->in[0], *scores = c->in[1];
    const int64_t *most;
    int64_t count;

    *s = (suppression){.has_score = qdq_eval_in(c, 4) != NULL,
                       .is_centred = qdq_eval_flag(c, "center_point_box", false)};
    if (!check_floats(c, 0, 3) || !check_floats(c, 1, 3) || !read_number(c, 3, &s->overlap) ||
        !read_number(c, 4, &s->score) || !qdq_eval_ints_or_attr(c, 2, NULL, 0, &most, &count))
        return false;
    if (boxes->dim[2] != 4 || boxes->dim[0] != scores->dim[0] || boxes->dim[1] != scores->dim[2] ||
        (most != NULL && count != 1))
        return QDQ_REFUSE(c, "boxes, scores and number that do not fit");
    s->most = most != NULL && most[0] > 0 ? most[0] : 0;
    if (scores->count > 0 && scores->count > MAX_WORK / scores->dim[2])
        return QDQ_REFUSE(c, "more than %d pairs of boxes", MAX_WORK);
    return true;
}

/* Centre and size, or two corners that may be any. */
static box read_box(const qdq_const *x, int64_t at, bool is_centred)
{
    box b;

    for (int i = 0; i < 2; i++) {
        double p = qdq_eval_number(x, at + i), q = qdq_eval_number(x, at + 2 + i);

        b.low[i] = is_centred ? p - q / 2 : fmin(p, q);
        b.high[i] = is_centred ? p + q / 2 : fmax(p, q);
    }
    return b;
}

static double area(const box *b)
{
    return (b->high[0] - b->low[0]) * (b->high[1] - b->low[1]);
}

/* What both share, as a part of what at least one has. */
static double overlap_of(const box *a, const box *b)
{
    double shared = 1;

    for (int i = 0; i < 2; i++)
        shared *= fmax(0, fmin(a->high[i], b->high[i]) - fmax(a->low[i], b->low[i]));
    if (shared <= 0 || area(a) <= 0 || area(b) <= 0)
        return -1;
    return shared / (area(a) + area(b) - shared);
}

/* From high scores to low ones; equal ones from the front to the back. */
static int compare_boxes(const void *va, const void *vb)
{
    const box *a = va, *b = vb;

    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

/* Keeps the chosen ones of one class at the front of list[0..n); *kept: how many. */
static bool choose(qdq_eval *c, const suppression *s, box *list, int64_t n, int64_t *kept)
{
    *kept = 0;
    qsort(list, (size_t)n, sizeof *list, compare_boxes);
    for (int64_t i = 0; i < n && *kept < s->most; i++) {
        bool is_free = true;

        for (int64_t k = 0; is_free && k < *kept; k++) {
            double o = overlap_of(&list[i], &list[k]);

            if (o >= 0 && is_unsure(o, s->overlap))
                return QDQ_REFUSE(c, "an overlap too near to the threshold");
            is_free = o < 0 || o <= s->overlap;
        }
        if (is_free)
            list[(*kept)++] = list[i];
    }
    return true;
}

bool qdq_eval_nonmaxsuppression(qdq_eval *c)
{
    const qdq_const *boxes = c->in[0], *scores = c->in[1];
    int64_t dim[2] = {0, 3};
    suppression s;

    if (!read_suppression(c, &s))
        return false;
    int64_t n = boxes->dim[1], classes = scores->count > 0 ? scores->count / n : 0;
    box *list = qdq_eval_scratch(c, classes > 0 ? n : 0, sizeof *list);
    int64_t *chosen = qdq_eval_scratch(c, scores->count, 3 * sizeof *chosen);
    if (list == NULL || chosen == NULL)
        return false;
    for (int64_t k = 0; k < classes; k++) {
        int64_t batch = k / scores->dim[1], left = 0, kept;

        for (int64_t i = 0; i < n; i++) {
            double score = qdq_eval_number(scores, k * n + i);

            if (s.has_score && !(score > s.score))
                continue;
            list[left] = read_box(boxes, (batch * n + i) * 4, s.is_centred);
            list[left].score = score;
            list[left++].index = i;
        }
        if (!choose(c, &s, list, left, &kept))
            return false;
        for (int64_t i = 0; i < kept; i++, dim[0]++) {
            chosen[3 * dim[0]] = batch;
            chosen[3 * dim[0] + 1] = k % scores->dim[1];
            chosen[3 * dim[0] + 2] = list[i].index;
        }
    }
    int64_t *out = qdq_eval_output(c, 0, QDQ_INT64, 2, dim);
    for (int64_t i = 0; out != NULL && i < 3 * dim[0]; i++)
        out[i] = chosen[i];
    return out != NULL;
}

/* --- RoiAlign --------------------------------------------------------------------------------- */

typedef struct align {
    /* of the result; samples of each of its places, 0: by the box's size */
    int64_t size[2], ratio;
    double scale, shift;
    bool is_max, at_least_one;
    const int64_t *batch;
} align;

static bool read_align(qdq_eval *c, align *a)
{
    const qdq_const *x = c->in[0], *boxes = c->in[1];
    bool is_half = qdq_eval_string_is(c, "coordinate_transformation_mode", "half_pixel",
                                      c->opset >= 16 ? "half_pixel" : "output_half_pixel");
    int64_t count;

    *a = (align){.size = {qdq_eval_int(c, "output_height", 1), qdq_eval_int(c, "output_width", 1)},
                 .ratio = qdq_eval_int(c, "sampling_ratio", 0),
                 .scale = (double)qdq_eval_float(c, "spatial_scale", 1),
                 .shift = is_half ? 0.5 : 0,
                 .at_least_one = !is_half};
    a->is_max = qdq_eval_string_is(c, "mode", "max", "avg");
    if (!check_floats(c, 0, 4) || !check_floats(c, 1, 2) || !qdq_eval_ints(c, 2, &a->batch, &count))
        return false;
    if (x->count == 0 || boxes->dim[1] != 4 || count != boxes->dim[0] || c->in[2]->rank != 1)
        return QDQ_REFUSE(c, "boxes and indices that do not fit, or no data");
    for (int64_t i = 0; i < count; i++)
        if (a->batch[i] < 0 || a->batch[i] >= x->dim[0])
            return QDQ_REFUSE(c, "index %" PRId64 " of a batch of %" PRId64, a->batch[i],
                              x->dim[0]);
    return (a->size[0] >= 1 && a->size[1] >= 1 && a->size[0] <= INT16_MAX &&
            a->size[1] <= INT16_MAX && a->ratio >= 0 && a->ratio <= INT16_MAX) ||
           QDQ_REFUSE(c, "a size or ratio that is too small or too large");
}

/* One dim of a box: where it begins, how large a place is, and how many samples it takes. */
typedef struct side {
    double start, step;
    int64_t samples;
} side;

static bool read_side(qdq_eval *c, const align *a, int64_t box_at, int i, side *s)
{
    double start = qdq_eval_number(c->in[1], box_at + 1 - i) * a->scale - a->shift;
    double size = qdq_eval_number(c->in[1], box_at + 3 - i) * a->scale - a->shift - start;

    size = a->at_least_one ? fmax(size, 1) : size;
    *s = (side){start, size / (double)a->size[i], a->ratio};
    if (!(size >= 0 && s->step <= INT16_MAX))
        return QDQ_REFUSE(c, "a box whose size is below 0 or too large");
    if (a->ratio == 0) {
        if (is_unsure(s->step, nearbyint(s->step)))
            return QDQ_REFUSE(c, "a box whose samples float counts in another way");
        s->samples = (int64_t)ceil(s->step);
    }
    return true;
}

/* The two elements around a place, and the weight of the second; false: outside. */
static bool read_place(qdq_eval *c, double at, int64_t n, int64_t *first, int64_t *second,
                       double *weight)
{
    if (is_unsure(at, -1) || is_unsure(at, (double)n))
        qdq_eval_refuse(c, "a sample too near to the border");
    if (at < -1 || at > (double)n)
        return false;
    at = fmax(at, 0);
    *first = (int64_t)at < n - 1 ? (int64_t)at : n - 1;
    *second = *first < n - 1 ? *first + 1 : *first;
    *weight = *second > *first ? at - (double)*first : 0;
    return true;
}

/* What one sample adds: the sum of its four products, or the largest of them. */
static double sample(qdq_eval *c, const align *a, int64_t channel, double y, double x)
{
    const qdq_const *data = c->in[0];
    int64_t row[2], column[2];
    double wy, wx, sum = 0, largest = -INFINITY;

    if (!read_place(c, y, data->dim[2], &row[0], &row[1], &wy) ||
        !read_place(c, x, data->dim[3], &column[0], &column[1], &wx))
        return 0;
    for (int k = 0; k < 4; k++) {
        int64_t at = (channel * data->dim[2] + row[k / 2]) * data->dim[3] + column[k % 2];
        double product = (k / 2 ? wy : 1 - wy) * (k % 2 ? wx : 1 - wx) * qdq_eval_number(data, at);

        sum += product;
        largest = fmax(largest, product);
    }
    return a->is_max ? largest : sum;
}

static double pool_box(qdq_eval *c, const align *a, const side *s, int64_t channel, int64_t row,
                       int64_t column)
{
    int64_t n = s[0].samples * s[1].samples;
    double sum = 0, largest = n > 0 ? -INFINITY : 0;

    for (int64_t k = 0; k < n; k++) {
        const int64_t in_row = k / s[1].samples;
        double y =
            s[0].start + s[0].step * ((double)row + ((double)in_row + 0.5) / (double)s[0].samples);
        double x = s[1].start + s[1].step * ((double)column + ((double)(k % s[1].samples) + 0.5) /
                                                                  (double)s[1].samples);
        double value = sample(c, a, channel, y, x);

        sum += value;
        largest = fmax(largest, value);
    }
    return a->is_max ? largest : sum / (double)(n > 0 ? n : 1);
}

bool qdq_eval_roialign(qdq_eval *c)
{
    const qdq_const *x = c->in[0];
    int64_t work = 0;
    align a;

    if (!read_align(c, &a))
        return false;
    int64_t channels = x->dim[1], places = a.size[0] * a.size[1],
            dim[] = {c->in[1]->dim[0], channels, a.size[0], a.size[1]};
    void *out = qdq_eval_output(c, 0, x->elem, 4, dim);
    if (out == NULL)
        return false;
    for (int64_t i = 0; i < dim[0]; i++) {
        side s[2];

        if (!read_side(c, &a, 4 * i, 0, &s[0]) || !read_side(c, &a, 4 * i, 1, &s[1]))
            return false;
        if (s[0].samples * s[1].samples > MAX_WORK / (channels * places))
            return QDQ_REFUSE(c, "more than %d samples", MAX_WORK);
        work += s[0].samples * s[1].samples * channels * places;
        if (work > MAX_WORK)
            return QDQ_REFUSE(c, "more than %d samples", MAX_WORK);
        for (int64_t k = 0; k < channels * places; k++)
            qdq_eval_put_number(x->elem, out, i * channels * places + k,
                                pool_box(c, &a, s, a.batch[i] * channels + k / places,
                                         k % places / a.size[1], k % a.size[1]));
    }
    return c->why == NULL;
}
