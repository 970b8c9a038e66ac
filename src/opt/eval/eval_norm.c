/* eval_norm.c - normalizations of constants, as ONNX's specification of opset 23 defines them, all
 * in double and rounded once. */
#include "opt/eval/eval_kernel.h"

#include <inttypes.h>
#include <math.h>

static bool check_types(qdq_eval *c)
{
    if (!qdq_eval_is_float(c->in[0]->elem))
        return qdq_eval_refuse_type(c, 0);
    return qdq_eval_same_types(c) &&
           (c->in[0]->count > 0 || QDQ_REFUSE(c, "an array without elements"));
}

/* Input i, if it is there, has one number for each of n. */
static bool check_numbers(qdq_eval *c, uint32_t i, int64_t n)
{
    const qdq_const *x = qdq_eval_in(c, i);

    return x == NULL || (x->rank == 1 && x->dim[0] == n) ||
           QDQ_REFUSE(c, "input %u is not a list of %" PRId64 " numbers", (unsigned)i, n);
}

/* Neither NaN nor below 0. */
static bool read_epsilon(qdq_eval *c, double *epsilon)
{
    *epsilon = (double)qdq_eval_float(c, "epsilon", 1e-5f);
    return (*epsilon >= 0 && *epsilon <= (double)INFINITY) ||
           QDQ_REFUSE(c, "attribute 'epsilon' is not a number from 0 on");
}

/* --- BatchNormalization ----------------------------------------------------------------------- */

bool qdq_eval_batchnorm(qdq_eval *c)
{
    const qdq_const *x = c->in[0];
    double epsilon;

    if (!check_types(c) || !read_epsilon(c, &epsilon))
        return false;
    if (qdq_eval_flag(c, "training_mode", false) ||
        (c->opset < 9 && !qdq_eval_flag(c, "spatial", true)))
        return QDQ_REFUSE(c, "a normalization that trains, or is not by channels");
    if (x->rank < 2)
        return QDQ_REFUSE(c, "an array of rank %d, expected 2 or more", x->rank);
    for (uint32_t i = 1; i < 5; i++)
        if (!check_numbers(c, i, x->dim[1]))
            return false;
    void *out = qdq_eval_output(c, 0, x->elem, x->rank, x->dim);
    if (out == NULL)
        return false;
    int64_t inner = qdq_eval_product(x->dim, 2, x->rank);
    for (int64_t i = 0; i < x->count; i++) {
        int64_t channel = i / inner % x->dim[1];
        double root = sqrt(qdq_eval_number(c->in[4], channel) + epsilon);
        double y = (qdq_eval_number(x, i) - qdq_eval_number(c->in[3], channel)) / root;

        qdq_eval_put_number(x->elem, out, i,
                            y * qdq_eval_number(c->in[1], channel) +
                                qdq_eval_number(c->in[2], channel));
    }
    return true;
}

/* --- of what lies together: a channel, a group of channels, the last dims --------------------- */

typedef struct moments {
    /* 1 / sqrt(variance + epsilon) */
    double mean, inverse;
} moments;

/* Of n elements in a row. Without a centre the mean counts as 0. */
static moments find_moments(const qdq_const *x, int64_t first, int64_t n, double epsilon,
                            bool centre)
{
    moments m = {0, 0};
    double squares = 0;

    for (int64_t i = 0; centre && i < n; i++)
        m.mean += qdq_eval_number(x, first + i) / (double)n;
    for (int64_t i = 0; i < n; i++) {
        double d = qdq_eval_number(x, first + i) - m.mean;

        squares += d * d;
    }
    m.inverse = 1 / sqrt(squares / (double)n + epsilon);
    return m;
}

/* Each `n` in a row are one; element i is scaled by number i / inner % period of inputs 1 and 2. */
static bool normalize(qdq_eval *c, int64_t n, int64_t inner, int64_t period, double epsilon,
                      bool centre)
{
    const qdq_const *x = c->in[0], *scale = c->in[1], *bias = qdq_eval_in(c, 2);
    void *out = qdq_eval_output(c, 0, x->elem, x->rank, x->dim);
    moments m = {0, 0};

    if (out == NULL)
        return false;
    for (int64_t i = 0; i < x->count; i++) {
        int64_t k = i / inner % period;

        if (i % n == 0)
            m = find_moments(x, i, n, epsilon, centre);
        double y = (qdq_eval_number(x, i) - m.mean) * m.inverse * qdq_eval_number(scale, k);
        qdq_eval_put_number(x->elem, out, i, bias != NULL ? y + qdq_eval_number(bias, k) : y);
    }
    return true;
}

bool qdq_eval_instancenorm(qdq_eval *c)
{
    const qdq_const *x = c->in[0];
    double epsilon;

    if (!check_types(c) || !read_epsilon(c, &epsilon))
        return false;
    if (x->rank < 3)
        return QDQ_REFUSE(c, "an array of rank %d, expected 3 or more", x->rank);
    int64_t n = qdq_eval_product(x->dim, 2, x->rank);
    return check_numbers(c, 1, x->dim[1]) && check_numbers(c, 2, x->dim[1]) &&
           normalize(c, n, n, x->dim[1], epsilon, true);
}

/* Below opset 21 there is one scale for each group. */
bool qdq_eval_groupnorm(qdq_eval *c)
{
    const qdq_const *x = c->in[0];
    int64_t groups = qdq_eval_int(c, "num_groups", 0);
    bool by_channel = c->opset >= 21;
    double epsilon;

    if (!check_types(c) || !read_epsilon(c, &epsilon))
        return false;
    if (x->rank < 3)
        return QDQ_REFUSE(c, "an array of rank %d, expected 3 or more", x->rank);
    if (groups < 1 || groups > x->dim[1] || x->dim[1] % groups != 0)
        return QDQ_REFUSE(c, "%" PRId64 " groups of %" PRId64 " channels", groups, x->dim[1]);
    int64_t period = by_channel ? x->dim[1] : groups;
    int64_t inner = qdq_eval_product(x->dim, 2, x->rank), n = inner * (x->dim[1] / groups);
    return check_numbers(c, 1, period) && check_numbers(c, 2, period) &&
           normalize(c, n, by_channel ? inner : n, period, epsilon, true);
}

/* Scale or bias of the normalized dims, exactly. */
static bool check_trailing(qdq_eval *c, uint32_t i, int axis)
{
    const qdq_const *x = c->in[0], *scale = qdq_eval_in(c, i);

    if (scale == NULL)
        return true;
    bool fits = scale->rank == x->rank - axis;
    for (int k = 0; fits && k < scale->rank; k++)
        fits = scale->dim[k] == x->dim[axis + k];
    return fits || QDQ_REFUSE(c, "input %u has not the shape that is normalized", (unsigned)i);
}

/* Outputs 1 and 2 of LayerNormalization: mean and 1 / deviation, of the type of `stash_type`. */
static bool put_moments(qdq_eval *c, int axis, int64_t n, double epsilon)
{
    const qdq_const *x = c->in[0];
    qdq_elem elem = (qdq_elem)qdq_eval_int(c, "stash_type", QDQ_FLOAT);
    int64_t dim[QDQ_EVAL_RANK];

    if (c->node->n_out < 2)
        return true;
    if (c->real != QDQ_UNDEFINED || !qdq_eval_is_float(elem))
        return QDQ_REFUSE(c, "means and deviations in another type");
    for (int i = 0; i < x->rank; i++)
        dim[i] = i < axis ? x->dim[i] : 1;
    for (uint32_t i = 1; i < 3 && i < c->node->n_out; i++) {
        void *out = qdq_eval_output(c, i, elem, x->rank, dim);

        if (out == NULL)
            return false;
        for (int64_t k = 0; k < x->count / n; k++) {
            moments m = find_moments(x, k * n, n, epsilon, true);

            qdq_eval_put_number(elem, out, k, i == 1 ? m.mean : m.inverse);
        }
    }
    return true;
}

bool qdq_eval_layernorm(qdq_eval *c)
{
    const qdq_const *x = c->in[0];
    bool centre = c->node->op == QDQ_OP_LAYERNORMALIZATION;
    double epsilon;
    int axis;

    if (!check_types(c) || !read_epsilon(c, &epsilon) ||
        !qdq_eval_axis(c, qdq_eval_int(c, "axis", -1), x->rank, &axis) ||
        !check_trailing(c, 1, axis) || !check_trailing(c, 2, axis))
        return false;
    int64_t n = qdq_eval_product(x->dim, axis, x->rank);
    return normalize(c, n, 1, n, epsilon, centre) && (!centre || put_moments(c, axis, n, epsilon));
}

/* --- of what lies along some axes ------------------------------------------------------------- */

/* Moments of the elements that are one but for the marked axes; number w->offset[1] is theirs. */
static void pass_over(const qdq_const *x, qdq_walk w, int pass, double n, double *mean,
                      double *variance, void *out)
{
    for (bool more = qdq_walk_begin(&w, 2); more; more = qdq_walk_next(&w))
        for (int64_t i = 0; i < w.run; i++) {
            int64_t at = w.offset[0] + i * w.step[0], k = w.offset[1] + i * w.step[1];
            double d = qdq_eval_number(x, at) - mean[k];

            if (pass == 0)
                mean[k] += qdq_eval_number(x, at) / n;
            else if (pass == 1)
                variance[k] += d * d / n;
            else
                qdq_eval_put_number(x->elem, out, at, d / (sqrt(variance[k]) + 1e-9));
        }
}

bool qdq_eval_meanvariance(qdq_eval *c)
{
    static const int64_t usual[] = {0, 2, 3};
    const qdq_const *x = c->in[0];
    int64_t kept[QDQ_EVAL_RANK], count;
    bool mark[QDQ_EVAL_RANK];
    const int64_t *list;
    qdq_walk w = {.rank = x->rank};

    if (!check_types(c))
        return false;
    if (!qdq_eval_int_list(c, "axes", &list, &count)) {
        list = usual;
        count = QDQ_COUNT(usual);
    }
    if (!qdq_eval_read_axes(c, list, count, x->rank, NULL, mark))
        return false;
    for (int i = 0; i < x->rank; i++) {
        w.dim[i] = x->dim[i];
        kept[i] = mark[i] ? 1 : x->dim[i];
    }
    qdq_eval_strides(x->rank, x->dim, w.stride[0]);
    qdq_eval_strides(x->rank, kept, w.stride[1]);
    for (int i = 0; i < x->rank; i++)
        w.stride[1][i] *= !mark[i];
    int64_t n = qdq_eval_product(kept, 0, x->rank);
    void *out = qdq_eval_output(c, 0, x->elem, x->rank, x->dim);
    double *mean = out != NULL ? qdq_eval_scratch(c, n, sizeof *mean) : NULL;
    double *variance = out != NULL ? qdq_eval_scratch(c, n, sizeof *variance) : NULL;
    if (mean == NULL || variance == NULL)
        return false;
    const int64_t n_each = x->count / n;
    for (int pass = 0; pass < 3; pass++)
        pass_over(x, w, pass, (double)n_each, mean, variance, out);
    return true;
}

/* --- of neighbours, and along one axis -------------------------------------------------------- */

bool qdq_eval_lrn(qdq_eval *c)
{
    const qdq_const *x = c->in[0];
    int64_t size = qdq_eval_int(c, "size", 0);
    double alpha = (double)qdq_eval_float(c, "alpha", 1e-4f),
           beta = (double)qdq_eval_float(c, "beta", 0.75f);
    double bias = (double)qdq_eval_float(c, "bias", 1);

    if (!check_types(c))
        return false;
    if (x->rank < 3 || size < 1)
        return QDQ_REFUSE(c, "an array of rank %d and %" PRId64 " channels in one sum", x->rank,
                          size);
    void *out = qdq_eval_output(c, 0, x->elem, x->rank, x->dim);
    if (out == NULL)
        return false;
    int64_t inner = qdq_eval_product(x->dim, 2, x->rank), channels = x->dim[1];
    int64_t before = (size - 1) / 2, behind = size - 1 - before;
    for (int64_t i = 0; i < x->count; i++) {
        int64_t channel = i / inner % channels, first = channel > before ? channel - before : 0;
        int64_t last = channels - 1 - channel > behind ? channel + behind : channels - 1;
        double sum = 0;

        for (int64_t k = first; k <= last; k++) {
            double v = qdq_eval_number(x, i + (k - channel) * inner);

            sum += v * v;
        }
        qdq_eval_put_number(x->elem, out, i,
                            qdq_eval_number(x, i) / pow(bias + alpha / (double)size * sum, beta));
    }
    return true;
}

bool qdq_eval_lpnorm(qdq_eval *c)
{
    const qdq_const *x = c->in[0];
    int64_t p = qdq_eval_int(c, "p", 2);
    int axis;

    if (!check_types(c) || !qdq_eval_axis(c, qdq_eval_int(c, "axis", -1), x->rank, &axis))
        return false;
    if (p != 1 && p != 2)
        return QDQ_REFUSE(c, "attribute 'p' is neither 1 nor 2");
    void *out = qdq_eval_output(c, 0, x->elem, x->rank, x->dim);
    if (out == NULL)
        return false;
    int64_t inner = qdq_eval_product(x->dim, axis + 1, x->rank), n = x->dim[axis];
    for (int64_t i = 0; i < x->count / n; i++) {
        int64_t first = qdq_eval_line(i, n, inner);
        double sum = 0;

        for (int64_t k = 0; k < n; k++) {
            double v = fabs(qdq_eval_number(x, first + k * inner));

            sum += p == 1 ? v : v * v;
        }
        sum = p == 1 ? sum : sqrt(sum);
        sum = sum == 0 ? 1 : sum; /* zeros stay */
        for (int64_t k = 0; k < n; k++)
            qdq_eval_put_number(x->elem, out, first + k * inner,
                                qdq_eval_number(x, first + k * inner) / sum);
    }
    return true;
}
