/* eval_resize.c - Resize of constants, as ONNX's specification of opset 19 defines it since
 * opset 11. Each dim has a table of the elements that a place of the result takes, and their
 * weights; a result is the sum over all dims, in double, rounded once.
 *
 * Engines compute places in float. Where float and double come to different elements (mode nearest)
 * nothing is computed. */
#include "opt/eval/eval_kernel.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { MAX_STRETCH = 1 << 16, MAX_WORK = 1 << 26 };

typedef enum transform {
    HALF_PIXEL,
    PYTORCH,
    ALIGN_CORNERS,
    ASYMMETRIC,
    SYMMETRIC,
    CROP
} transform;
typedef enum mode { NEAREST, LINEAR, CUBIC } mode;
typedef enum rounding { PREFER_FLOOR, PREFER_CEIL, FLOOR, CEIL } rounding;

/* One dim of the result. */
typedef struct line {
    int64_t in, out;
    /* start, end: of the part that CROP takes, from 0 to 1 */
    double scale, start, end;
    /* every place takes the element there */
    bool is_same;
    /* taps of each place */
    int n;
    /* n for each place */
    int64_t *at;
    double *weight;
    /* CROP: beyond the data */
    bool *outside;
} line;

typedef struct resize {
    transform how;
    mode mode;
    rounding rounding;
    bool excludes_outside;
    /* a smaller result takes all that lies under its elements */
    bool antialias;
    double cubic_a, extrapolation;
    int rank;
    line line[QDQ_EVAL_RANK];
} resize;

/* --- attributes ------------------------------------------------------------------------------- */

/* The place of the attribute's word in the list; -1 and a reason: in none. */
static int read_word(qdq_eval *c, const char *name, const char *const *words, const char *fallback)
{
    for (int i = 0; words[i] != NULL; i++)
        if (qdq_eval_string_is(c, name, words[i], fallback))
            return i;
    qdq_eval_refuse(
        c, qdq_arena_printf(c->memory, "attribute '%s' has a value that is not computed", name));
    return -1;
}

/* Upsample has no choice of places. */
static bool read_upsample(qdq_eval *c, resize *r)
{
    r->how = ASYMMETRIC;
    r->rounding = FLOOR;
    r->mode = qdq_eval_string_is(c, "mode", "linear", "nearest") ? LINEAR : NEAREST;
    return c->opset < 10 || QDQ_REFUSE(c, "an Upsample of opset 10 or later, which has none");
}

static bool read_modes(qdq_eval *c, resize *r)
{
    static const char *const hows[] = {"half_pixel", "pytorch_half_pixel",   "align_corners",
                                       "asymmetric", "half_pixel_symmetric", "tf_crop_and_resize",
                                       NULL};
    static const char *const modes[] = {"nearest", "linear", "cubic", NULL};
    static const char *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                            "ceil", NULL};
    int found = read_word(c, "coordinate_transformation_mode", hows, "half_pixel");
    int of_mode = read_word(c, "mode", modes, "nearest");
    int of_rounding = read_word(c, "nearest_mode", roundings, "round_prefer_floor");

    r->excludes_outside = qdq_eval_flag(c, "exclude_outside", false);
    r->cubic_a = (double)qdq_eval_float(c, "cubic_coeff_a", -0.75f);
    r->extrapolation = (double)qdq_eval_float(c, "extrapolation_value", 0);
    r->antialias = c->opset >= 18 && qdq_eval_flag(c, "antialias", false);
    if (found < 0 || of_mode < 0 || of_rounding < 0 || c->why != NULL)
        return false;
    r->how = (transform)found;
    r->mode = (mode)of_mode;
    r->rounding = (rounding)of_rounding;
    return true;
}

/* --- sizes ------------------------------------------------------------------------------------ */

/* Input i as n floats; *list NULL: left out, or empty. */
static bool read_floats(qdq_eval *c, uint32_t i, int64_t n, const float **list)
{
    const qdq_const *x = qdq_eval_in(c, i);

    *list = NULL;
    if (x == NULL || x->count == 0)
        return true;
    if (x->elem != QDQ_FLOAT)
        return qdq_eval_refuse_type(c, i);
    *list = x->data;
    return x->count == n || QDQ_REFUSE(c, "input %u has %" PRId64 " numbers, expected %" PRId64,
                                       (unsigned)i, x->count, n);
}

/* One scale for all axes that fits the data into the sizes, or covers them. */
static bool keep_aspect(qdq_eval *c, resize *r, const int *axis, int n)
{
    static const char *const policies[] = {"stretch", "not_larger", "not_smaller", NULL};
    int policy = read_word(c, "keep_aspect_ratio_policy", policies, "stretch");
    double scale = 0;

    if (policy < 1)
        return policy == 0;
    for (int i = 0; i < n; i++) {
        double s = r->line[axis[i]].scale;

        if (i == 0 || (policy == 1 ? s < scale : s > scale))
            scale = s;
    }
    for (int i = 0; i < n; i++) {
        line *l = &r->line[axis[i]];

        l->scale = scale;
        l->out = (int64_t)floor(scale * (double)l->in + 0.5);
    }
    return true;
}

/* Below opset 9 an attribute of Upsample. */
static bool read_scales(qdq_eval *c, int n, const float **scales)
{
    const qdq_attr *a = qdq_node_attr(c->node, "scales");

    if (c->node->op != QDQ_OP_UPSAMPLE || c->opset >= 9)
        return read_floats(c, c->node->op == QDQ_OP_UPSAMPLE ? 1 : 2, n, scales);
    if (a == NULL || a->type != QDQ_ATTR_FLOATS || a->count != (size_t)n)
        return QDQ_REFUSE(c, "attribute 'scales' is not a list of %d numbers", n);
    *scales = a->v.floats;
    return true;
}

static bool read_sizes(qdq_eval *c, resize *r, const int *axis, int n)
{
    const int64_t *sizes;
    const float *scales;
    int64_t count;

    if (!read_scales(c, n, &scales) || !qdq_eval_ints(c, 3, &sizes, &count))
        return false;
    if ((scales != NULL) == (count > 0) || (count > 0 && count != n))
        return QDQ_REFUSE(c, "not one number for each axis, as scales or as sizes");
    for (int i = 0; i < n; i++) {
        line *l = &r->line[axis[i]];
        float scaled = scales != NULL ? floorf((float)l->in * scales[i]) : 0;

        if (scales != NULL && !(scales[i] > 0 && scaled < (float)(1 << 30)))
            return QDQ_REFUSE(c, "a scale that is not above 0, or too large");
        if (scales == NULL && (sizes[i] < 1 || sizes[i] > 1 << 30))
            return QDQ_REFUSE(c, "a size of %" PRId64, sizes[i]);
        if (scales != NULL && r->how == ALIGN_CORNERS && scaled != (float)l->in * scales[i])
            return QDQ_REFUSE(c, "a scale to no whole length, which engines align differently");
        l->scale = scales != NULL ? (double)scales[i] : (double)sizes[i] / (double)l->in;
        l->out = scales != NULL ? (int64_t)scaled : sizes[i];
    }
    return scales != NULL || keep_aspect(c, r, axis, n);
}

static bool read_resize(qdq_eval *c, resize *r)
{
    const qdq_const *x = c->in[0];
    int axis[QDQ_EVAL_RANK], n; /* what scales, sizes and roi are about */
    const int64_t *axes = NULL;
    int64_t count;
    bool is_upsample = c->node->op == QDQ_OP_UPSAMPLE;
    const float *roi = NULL;

    *r = (resize){.rank = x->rank};
    if (c->opset < 11 && !is_upsample)
        return QDQ_REFUSE(c, "a resize of opset 10, whose places are not defined");
    if (x->count == 0)
        return QDQ_REFUSE(c, "an array without elements");
    for (int i = 0; i < x->rank; i++)
        r->line[i] = (line){.in = x->dim[i], .out = x->dim[i], .scale = 1, .start = 0, .end = 1};
    if (c->opset < 18 || !qdq_eval_int_list(c, "axes", &axes, &count))
        count = x->rank;
    n = (int)count; /* once they are read */
    if (!(is_upsample ? read_upsample(c, r) : read_modes(c, r)) ||
        !qdq_eval_read_axes(c, axes, count, x->rank, axis, NULL) || !read_sizes(c, r, axis, n) ||
        (!is_upsample && !read_floats(c, 1, (int64_t)2 * n, &roi)))
        return false;
    if (r->how == CROP && roi == NULL)
        return QDQ_REFUSE(c, "a crop without its part");
    for (int i = 0; r->how == CROP && i < n; i++) {
        r->line[axis[i]].start = (double)roi[i];
        r->line[axis[i]].end = (double)roi[n + i];
    }
    if ((r->mode != NEAREST || r->how == CROP) && !qdq_eval_is_float(x->elem))
        return qdq_eval_refuse_type(c, 0);
    return true;
}

/* --- places ----------------------------------------------------------------------------------- */

#define PLACE(name, type, HALF)                                                                    \
    static type name(transform how, const line *l, int64_t i)                                      \
    {                                                                                              \
        type scale = (type)l->scale, in = (type)l->in, out = (type)l->out, x = (type)i, start,     \
             end, whole;                                                                           \
        switch (how) {                                                                             \
        case HALF_PIXEL:                                                                           \
            return (x + HALF) / scale - HALF;                                                      \
        case PYTORCH:                                                                              \
            return l->out > 1 ? (x + HALF) / scale - HALF : 0;                                     \
        case ALIGN_CORNERS:                                                                        \
            return l->out > 1 ? x * (in - 1) / (out - 1) : 0;                                      \
        case ASYMMETRIC:                                                                           \
            return x / scale;                                                                      \
        case SYMMETRIC:                                                                            \
            whole = scale * in;                                                                    \
            return in / 2 * (1 - out / whole) + (x + HALF) / scale - HALF;                         \
        case CROP:                                                                                 \
            start = (type)l->start;                                                                \
            end = (type)l->end;                                                                    \
            return l->out > 1 ? start * (in - 1) + x * (end - start) * (in - 1) / (out - 1)        \
                              : HALF * (start + end) * (in - 1);                                   \
        }                                                                                          \
        return 0;                                                                                  \
    }

PLACE(place_of, double, 0.5)
PLACE(place_in_float, float, 0.5f)

static int64_t clamp(double x, int64_t in)
{
    return !(x > 0) ? 0 : x > (double)(in - 1) ? in - 1 : (int64_t)x;
}

static int64_t nearest(rounding how, double x, int64_t in)
{
    double below = floor(x);

    switch (how) {
    case PREFER_FLOOR:
        return clamp(x - below > 0.5 ? below + 1 : below, in);
    case PREFER_CEIL:
        return clamp(x - below >= 0.5 ? below + 1 : below, in);
    case FLOOR:
        return clamp(below, in);
    case CEIL:
        return clamp(ceil(x), in);
    }
    return 0;
}

double qdq_eval_cubic(double a, double d)
{
    d = fabs(d);
    return d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1 : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
}

/* By how much the weights are stretched: antialias of a smaller result alone. */
static double stretch_of(const resize *r, const line *l)
{
    return r->antialias && l->scale < 1 ? 1 / l->scale : 1;
}

/* Half of the taps of a place. */
static int64_t reach_of(const resize *r, const line *l)
{
    return (int64_t)ceil(stretch_of(r, l) * (r->mode == CUBIC ? 2 : 1));
}

static double weight_of(const resize *r, double d)
{
    d = fabs(d);
    if (d >= (r->mode == CUBIC ? 2 : 1))
        return 0;
    return r->mode == CUBIC ? qdq_eval_cubic(r->cubic_a, d) : 1 - d;
}

/* The taps of place i. */
static void fill_taps(const resize *r, line *l, int64_t i, double x)
{
    const int before = l->n / 2;
    double first = floor(x) + 1 - before, stretch = stretch_of(r, l), sum = 0;

    for (int k = 0; k < l->n; k++) {
        double at = first + k, weight = weight_of(r, (x - at) / stretch);

        if ((r->mode == CUBIC || r->antialias) && r->excludes_outside &&
            (at < 0 || at > (double)(l->in - 1)))
            weight = 0;
        l->at[i * l->n + k] = clamp(at, l->in);
        l->weight[i * l->n + k] = weight;
        sum += weight;
    }
    for (int k = 0; (r->excludes_outside || stretch > 1) && k < l->n; k++)
        l->weight[i * l->n + k] /= sum;
}

static bool fill_line(qdq_eval *c, const resize *r, line *l)
{
    l->is_same = l->in == l->out && l->scale == 1 && r->how != CROP;
    if (stretch_of(r, l) > MAX_STRETCH)
        return QDQ_REFUSE(c, "a scale below 1 / %d", MAX_STRETCH);
    l->n = l->is_same || r->mode == NEAREST ? 1 : (int)(2 * reach_of(r, l));
    l->at = qdq_eval_scratch(c, l->out * l->n, sizeof *l->at);
    l->weight = qdq_eval_scratch(c, l->out * l->n, sizeof *l->weight);
    l->outside = qdq_eval_scratch(c, l->out, sizeof *l->outside);
    if (l->at == NULL || l->weight == NULL || l->outside == NULL)
        return false;
    for (int64_t i = 0; i < l->out; i++) {
        double x = l->is_same ? (double)i : place_of(r->how, l, i);

        if (isnan(x))
            return QDQ_REFUSE(c, "a place that is not a number");
        l->outside[i] = r->how == CROP && (x < 0 || x > (double)(l->in - 1));
        if (l->n > 1) {
            fill_taps(r, l, i, x);
            continue;
        }
        l->at[i] = l->is_same ? i : nearest(r->rounding, x, l->in);
        l->weight[i] = 1;
        if (!l->is_same &&
            l->at[i] != nearest(r->rounding, (double)place_in_float(r->how, l, i), l->in))
            return QDQ_REFUSE(
                c, "a place between two elements, which float and double round to different ones");
    }
    return true;
}

/* --- results ---------------------------------------------------------------------------------- */

static bool is_outside(const resize *r, const int64_t *place)
{
    for (int i = 0; i < r->rank; i++)
        if (r->line[i].outside[place[i]])
            return true;
    return false;
}

/* The element at the first taps: mode nearest has no others. */
static int64_t first_at(const resize *r, const int64_t *place)
{
    int64_t at = 0;

    for (int i = 0; i < r->rank; i++)
        at = at * r->line[i].in + r->line[i].at[place[i] * r->line[i].n];
    return at;
}

static double sum_taps(const resize *r, const qdq_const *x, const int64_t *place)
{
    int tap[QDQ_EVAL_RANK] = {0}, i;
    double sum = 0;

    do {
        double weight = 1;
        int64_t at = 0;

        for (i = 0; i < r->rank; i++) {
            const line *l = &r->line[i];
            int64_t k = place[i] * l->n + tap[i];

            at = at * l->in + l->at[k];
            weight *= l->weight[k];
        }
        sum += weight * qdq_eval_number(x, at);
        for (i = r->rank; i-- > 0 && ++tap[i] == r->line[i].n;)
            tap[i] = 0;
    } while (i >= 0);
    return sum;
}

static bool check_work(qdq_eval *c, const resize *r)
{
    int64_t work = c->out[0].count;

    for (int i = 0; i < r->rank; i++)
        if (__builtin_mul_overflow(work, r->line[i].n, &work) || work > MAX_WORK)
            return QDQ_REFUSE(c, "more than %d weights", MAX_WORK);
    return true;
}

static void compute(const qdq_eval *c, const resize *r, int64_t i, const int64_t *place, void *out)
{
    const qdq_const *x = c->in[0];
    size_t size = qdq_eval_size(x->elem);

    if (is_outside(r, place))
        qdq_eval_put_number(x->elem, out, i, r->extrapolation);
    else if (r->mode == NEAREST)
        memcpy((char *)out + (size_t)i * size,
               (const char *)x->data + (size_t)first_at(r, place) * size, size);
    else
        qdq_eval_put_number(x->elem, out, i, sum_taps(r, x, place));
}

bool qdq_eval_resize(qdq_eval *c)
{
    int64_t dim[QDQ_EVAL_RANK], place[QDQ_EVAL_RANK] = {0};
    resize r;

    if (!read_resize(c, &r))
        return false;
    for (int i = 0; i < r.rank; i++)
        dim[i] = r.line[i].out;
    void *out = qdq_eval_output(c, 0, c->in[0]->elem, r.rank, dim);
    if (out == NULL)
        return false;
    if (c->out[0].count == 0)
        return true;
    for (int i = 0; i < r.rank; i++)
        if (!fill_line(c, &r, &r.line[i]))
            return false;
    if (!check_work(c, &r))
        return false;
    for (int64_t i = 0; i < c->out[0].count; i++) {
        compute(c, &r, i, place, out);
        for (int k = r.rank; k-- > 0 && ++place[k] == dim[k];)
            place[k] = 0;
    }
    return true;
}
