/* eval_sample.c - AffineGrid and GridSample, as ONNX's specification of opset 22 defines them. Each
 * dim of a place has a few elements with weights; a result is the sum over all dims, in double,
 * rounded once. */
#include "opt/eval/eval_kernel.h"

#include <inttypes.h>
#include <math.h>

enum { SPACE = 3, TAPS = 4, MAX_WORK = 1 << 26 };

/* --- AffineGrid ------------------------------------------------------------------------------- */

/* Where element i of n lies between -1 and 1: at corners, or in the middle of its part. */
static double place_of(int64_t i, int64_t n, bool corners)
{
    return corners ? 2 * (double)i / (double)(n - 1) - 1 : (2 * (double)i + 1) / (double)n - 1;
}

bool qdq_eval_affinegrid(qdq_eval *c)
{
    const qdq_const *theta = c->in[0];
    bool corners = qdq_eval_flag(c, "align_corners", false);
    int64_t dim[2 + SPACE] = {0}, index[SPACE] = {0}, count;
    const int64_t *size;

    if (!qdq_eval_is_float(theta->elem))
        return qdq_eval_refuse_type(c, 0);
    if (!qdq_eval_ints_or_attr(c, 1, NULL, 0, &size, &count))
        return false;
    int space = (int)(count - 2);
    if (count < 4 || count > 5 || theta->rank != 3 || theta->dim[0] != size[0] ||
        theta->dim[1] != space || theta->dim[2] != space + 1)
        return QDQ_REFUSE(c, "matrices and a size that do not fit");
    for (int i = 0; i < space; i++)
        if (size[2 + i] < 1 + corners)
            return QDQ_REFUSE(c, "a size of %" PRId64, size[2 + i]);
    for (int i = 0; i < space + 2; i++)
        dim[i] = i == 0 ? size[0] : i <= space ? size[1 + i] : space;
    void *out = qdq_eval_output(c, 0, theta->elem, space + 2, dim);
    for (int64_t k = 0; out != NULL && k < c->out[0].count; k++) {
        int64_t place = k / space, row = k % space;
        const int64_t from =
            (place / qdq_eval_product(dim, 1, space + 1) * space + row) * (space + 1);
        double sum = qdq_eval_number(theta, from + space);

        for (int i = space; i-- > 0; place /= dim[1 + i])
            index[i] = place % dim[1 + i];
        for (int i = 0; i < space; i++) /* x is the last dim */
            sum += qdq_eval_number(theta, from + i) *
                   place_of(index[space - 1 - i], dim[space - i], corners);
        qdq_eval_put_number(theta->elem, out, k, sum);
    }
    return out != NULL;
}

/* --- GridSample ------------------------------------------------------------------------------- */

typedef enum mode { LINEAR, NEAREST, CUBIC } mode;
typedef enum border { ZEROS, BORDER, REFLECTION } border;

typedef struct grid {
    mode mode;
    border border;
    bool corners;
    int space, taps;
} grid;

/* The elements of one dim that a place takes; -1: beyond the data, where all is 0. */
typedef struct line {
    int64_t at[TAPS];
    double weight[TAPS];
} line;

static bool read_grid(qdq_eval *c, grid *g)
{
    static const struct {
        const char *name;
        mode mode;
        /* below opset 20 */
        bool is_old;
    } modes[] = {{"bilinear", LINEAR, true},  {"bicubic", CUBIC, true},  {"nearest", NEAREST, true},
                 {"nearest", NEAREST, false}, {"linear", LINEAR, false}, {"cubic", CUBIC, false}};
    static const char *const borders[] = {"zeros", "border", "reflection"};
    const qdq_const *x = c->in[0], *at = c->in[1];
    bool is_old = c->opset < 20;
    size_t m = 0, b = 0;

    while (m < QDQ_COUNT(modes) &&
           (modes[m].is_old != is_old ||
            !qdq_eval_string_is(c, "mode", modes[m].name, is_old ? "bilinear" : "linear")))
        m++;
    while (b < QDQ_COUNT(borders) && !qdq_eval_string_is(c, "padding_mode", borders[b], "zeros"))
        b++;
    if (m == QDQ_COUNT(modes) || b == QDQ_COUNT(borders))
        return QDQ_REFUSE(c, "attribute 'mode' or 'padding_mode' has none of its values");
    *g = (grid){modes[m].mode, (border)b, qdq_eval_flag(c, "align_corners", false), x->rank - 2, 1};
    g->taps = g->mode == NEAREST ? 1 : g->mode == LINEAR ? 2 : TAPS;
    for (uint32_t i = 0; i < 2; i++)
        if (!qdq_eval_is_float(c->in[i]->elem))
            return qdq_eval_refuse_type(c, i);
    if (g->space < 2 || g->space > SPACE || at->rank != x->rank || x->count == 0 ||
        (g->mode == CUBIC && g->space > 2))
        return QDQ_REFUSE(c, "arrays of the ranks %d and %d, or without elements", x->rank,
                          at->rank);
    if (at->dim[0] != x->dim[0] || at->dim[at->rank - 1] != g->space)
        return QDQ_REFUSE(c, "a grid that does not fit the data");
    return true;
}

static double limit(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

/* Back and forth between both ends of n elements. */
static double reflect(double x, int64_t n, bool corners)
{
    double low = corners ? 0 : -0.5, size = (double)n - (corners ? 1 : 0), way;

    if (size == 0)
        return 0;
    way = fmod(fabs(x - low), 2 * size);
    return low + (way > size ? 2 * size - way : way);
}

/* An element by its number, which may lie beyond the data. */
static int64_t element_of(const grid *g, double at, int64_t n)
{
    if (g->border == ZEROS)
        return at >= 0 && at < (double)n ? (int64_t)at : -1;
    if (g->border == REFLECTION && (at < 0 || at > (double)(n - 1)))
        at = reflect(at, n, g->corners);
    return (int64_t)limit(at, 0, (double)(n - 1));
}

static bool fill_line(qdq_eval *c, const grid *g, double number, int64_t n, line *l)
{
    double x = g->corners ? (number + 1) / 2 * (double)(n - 1) : ((number + 1) * (double)n - 1) / 2;
    float near_x = g->corners ? ((float)number + 1) / 2 * (float)(n - 1)
                              : (((float)number + 1) * (float)n - 1) / 2;
    double low = g->corners ? 0 : -0.5, high = (double)n - 1 - low;

    if (!isfinite(x))
        return QDQ_REFUSE(c, "a place that is not finite");
    if (g->mode == NEAREST && nearbyint(x) != (double)nearbyintf(near_x))
        return QDQ_REFUSE(
            c, "a place between two elements, which float and double round to different ones");
    x = g->mode == NEAREST ? nearbyint(x) : x;
    if ((x < low || x > high) && g->border == BORDER)
        x = limit(x, 0, (double)(n - 1));
    else if ((x < low || x > high) && g->border == REFLECTION)
        x = reflect(x, n, g->corners);
    double first = floor(x) - (g->mode == CUBIC);
    for (int k = 0; k < g->taps; k++) {
        double d = x - (first + k);

        l->at[k] = element_of(g, g->mode == NEAREST ? x : first + k, n);
        l->weight[k] = g->mode == NEAREST  ? 1
                       : g->mode == LINEAR ? 1 - fabs(d)
                                           : qdq_eval_cubic(-0.75, d);
    }
    return true;
}

static double sum_taps(const qdq_const *x, const grid *g, const line *l, int64_t channel)
{
    int tap[SPACE] = {0}, i;
    double sum = 0;

    do {
        int64_t at = channel;
        double weight = 1;

        for (i = 0; i < g->space; i++) {
            weight *= l[i].at[tap[i]] < 0 ? 0 : l[i].weight[tap[i]];
            at = at * x->dim[2 + i] + (l[i].at[tap[i]] < 0 ? 0 : l[i].at[tap[i]]);
        }
        sum += weight == 0 ? 0 : weight * qdq_eval_number(x, at);
        for (i = g->space; i-- > 0 && ++tap[i] == g->taps;)
            tap[i] = 0;
    } while (i >= 0);
    return sum;
}

bool qdq_eval_gridsample(qdq_eval *c)
{
    const qdq_const *x = c->in[0], *at = c->in[1];
    int64_t dim[2 + SPACE];
    grid g;

    if (!read_grid(c, &g))
        return false;
    for (int i = 0; i < x->rank; i++)
        dim[i] = i < 2 ? x->dim[i] : at->dim[i - 1];
    void *out = qdq_eval_output(c, 0, x->elem, x->rank, dim);
    if (out == NULL || c->out[0].count == 0)
        return out != NULL;
    if (c->out[0].count > MAX_WORK / (TAPS * TAPS))
        return QDQ_REFUSE(c, "more than %d weights", MAX_WORK);
    int64_t places = qdq_eval_product(dim, 2, x->rank);
    for (int64_t k = 0; k < dim[0] * places; k++) {
        line l[SPACE];

        for (int i = 0; i < g.space; i++) /* x is the last dim */
            if (!fill_line(c, &g, qdq_eval_number(at, k * g.space + g.space - 1 - i), x->dim[2 + i],
                           &l[i]))
                return false;
        for (int64_t channel = 0; channel < dim[1]; channel++)
            qdq_eval_put_number(x->elem, out, (k / places * dim[1] + channel) * places + k % places,
                                sum_taps(x, &g, l, k / places * dim[1] + channel));
    }
    return true;
}
