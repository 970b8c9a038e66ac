/* equalize.c - cross-layer equalization (Nagel, van Baalen, Blankevoort, Welling: "Data-Free
 * Quantization Through Weight Equalization and Bias Correction", ICCV 2019, section 4.1): where one
 * Conv feeds another, directly or through an operator that a positive factor passes through,
 * channel i between them may be divided by any s > 0:
 *
 *     w1[i] / s, b1[i] / s   and   w2[:, i] * s      with s = sqrt(max |w1[i]| / max |w2[:, i]|)
 *
 * which gives both weights the same range in each channel, so that one scale for all channels
 * serves them better. s is rounded to a power of two: then nothing else is rounded, the float model
 * computes the same to the last bit, and a second run finds nothing to do. Sweeps go on until no
 * channel asks for a factor: in a chain, one pair moves the next.
 *
 * Equal ranges are not the aim, but less noise behind the second Conv. Factors also spread what is
 * between the two over other parts of its codes, and where every channel has a scale, the first
 * weight gains nothing. So the noise that rounding adds is estimated from the weights with and
 * without factors, and a pair that gains little is left alone. Arguments say what is rounded, and
 * how: "per-channel" (weights have a scale for each output channel; else one) and "weights" (those
 * alone, or so much more coarsely that data between the two do not count). */
#include <math.h>

#include "base/fail.h"
#include "opt/fuse/linear.h"
#include "target/qparam.h"

#define LEAST_GAIN 0.05 /* of the noise: the estimate is no better than that */

/* s is 2^-10 to 2^10: what is further apart than that has dead channels */
enum { SWEEPS = 8, LARGEST = 10 };

typedef struct layer {
    qdq_node *node;
    /* bias NULL: none */
    const qdq_tensor *weight, *bias;
    const float *w, *b;
    /* of the output */
    size_t channels;
    /* of the weight: [channels, inputs, kernel] */
    size_t inputs, kernel;
    /* channel i of the input meets w[i] alone */
    bool depthwise;
} layer;

typedef struct pair {
    qdq_opt *o;
    layer first, second;
    /* of s, one for each channel */
    int *exponent;
} pair;

/* --- finding ---------------------------------------------------------------------------------- */

static bool is_plain(const qdq_tensor *t, int rank_from)
{
    return t != NULL && t->elem == QDQ_FLOAT && t->rank >= rank_from && t->count > 0;
}

static bool read_shape(layer *l)
{
    const qdq_tensor *w = l->weight, *b = l->bias;
    int64_t group = qdq_node_int(l->node, "group", 1);

    l->channels = (size_t)w->dim[0];
    l->inputs = (size_t)w->dim[1];
    l->kernel = (size_t)w->count / l->channels / l->inputs;
    l->depthwise = group > 1;
    if (group != 1 && (group != w->dim[0] || l->inputs != 1))
        return false;
    return b == NULL || (is_plain(b, 1) && b->rank == 1 && b->count == w->dim[0]);
}

/* False: no Conv with constant float weights, one group or one for each channel. */
static qdq_status read_layer(qdq_opt *o, qdq_node *n, layer *l, bool *is, qdq_error *err)
{
    const qdq_value *b = qdq_node_in(n, 2);

    *is = false;
    if (n->op != QDQ_OP_CONV || qdq_node_in(n, 1) == NULL || qdq_node_out(n, 0) == NULL)
        return QDQ_OK;
    *l = (layer){.node = n, .weight = qdq_node_const(n, 1)};
    if (!is_plain(l->weight, 3) || (b != NULL && (l->bias = qdq_value_const(b)) == NULL) ||
        !read_shape(l))
        return QDQ_OK;
    QDQ_TRY(qdq_linear_floats(o, l->weight, &l->w, err));
    if (l->bias != NULL)
        QDQ_TRY(qdq_linear_floats(o, l->bias, &l->b, err));
    *is = qdq_absmax(l->w, (size_t)l->weight->count) >= 0 &&
          (l->bias == NULL || qdq_absmax(l->b, l->channels) >= 0);
    return QDQ_OK;
}

/* The Conv that alone reads the result of n; NULL: there is none. f(s x) = s f(x) for s > 0 is all
 * that the operator between has to do. */
static qdq_node *find_second(const qdq_node *n)
{
    qdq_node *next = qdq_value_only_user(n->out[0]);

    if (next != NULL && (next->op == QDQ_OP_RELU || next->op == QDQ_OP_LEAKYRELU) &&
        qdq_node_out(next, 0) != NULL)
        next = qdq_value_only_user(next->out[0]);
    return next != NULL && next->op == QDQ_OP_CONV && next->graph == n->graph ? next : NULL;
}

static bool reads_first(const pair *p)
{
    const qdq_value *v = p->second.node->in[0].value;

    for (uint32_t i = 1; i < p->second.node->n_in; i++)
        if (p->second.node->in[i].value == v)
            return false;
    return p->first.channels == (p->second.depthwise ? p->second.channels : p->second.inputs);
}

/* --- factors ---------------------------------------------------------------------------------- */

static double range_of_output(const layer *l, size_t i)
{
    size_t n = l->inputs * l->kernel;

    return (double)qdq_absmax(l->w + i * n, n);
}

static double range_of_input(const layer *l, size_t i)
{
    double largest = 0;

    if (l->depthwise)
        return range_of_output(l, i);
    for (size_t o = 0; o < l->channels; o++)
        largest =
            fmax(largest, (double)qdq_absmax(l->w + (o * l->inputs + i) * l->kernel, l->kernel));
    return largest;
}

static double squares_of(const float *w, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (double)w[i] * (double)w[i];
    return sum;
}

/* True if any channel asks for one. */
static qdq_status find_factors(pair *p, bool *any, qdq_error *err)
{
    p->exponent = qdq_arena_array(&p->o->scratch, p->first.channels, sizeof *p->exponent);
    *any = false;
    QDQ_NEED(p->exponent != NULL, err);
    for (size_t i = 0; i < p->first.channels; i++) {
        double r1 = range_of_output(&p->first, i), r2 = range_of_input(&p->second, i);

        if (!(r1 > 0) || !(r2 > 0)) /* a dead channel has no range to share */
            continue;
        double exact = (log2(r1) - log2(r2)) / 2;
        int whole = (int)fmax(-LARGEST, fmin(LARGEST, nearbyint(exact)));
        p->exponent[i] = fabs(exact) > 0.5 + 1e-9 ? whole : 0; /* a tie would go back and forth */
        *any = *any || p->exponent[i] != 0;
    }
    return QDQ_OK;
}

/* --- is it worth it? -------------------------------------------------------------------------- */

/* Channels between the two: for an input of independent values of variance 1, as behind a
 * normalization. */
typedef struct between {
    /* of a value */
    double power;
    /* of the largest ones: the bias and four standard deviations */
    double reach;
    /* of the weights that make it */
    double range;
} between;

static between *look_between(const pair *p, qdq_error *err)
{
    const layer *l = &p->first;
    const size_t n = l->inputs * l->kernel;
    between *c = qdq_arena_array(&p->o->scratch, l->channels + 1, sizeof *c);

    for (size_t i = 0; c != NULL && i < l->channels; i++) {
        double bias = l->bias != NULL ? fabs((double)l->b[i]) : 0,
               squares = squares_of(l->w + i * n, n);

        c[i] = (between){squares + bias * bias, bias + 4 * sqrt(squares), range_of_output(l, i)};
    }
    if (c == NULL)
        (void)qdq_nomem(err);
    return c;
}

/* What a row of the second weight, which makes one channel behind it, does to noise before it, and
 * adds. */
typedef struct behind {
    /* that it makes, whatever the factors are */
    double signal;
    /* noise of one scale for all channels, and of the first weight with one for each */
    double data, first;
    /* of its own weights, and of what they meet */
    double range, power;
} behind;

static behind look_at_row(const pair *p, const between *c, size_t o, bool scaled)
{
    const layer *l = &p->second;
    behind r = {0};

    for (size_t k = 0; k < l->inputs; k++) {
        const size_t i = l->depthwise ? o : k;
        const float *w = l->w + (o * l->inputs + k) * l->kernel;
        const double s = scaled ? ldexp(1, p->exponent[i]) : 1, squares = squares_of(w, l->kernel);

        r.signal += squares * c[i].power;
        r.data += squares * s * s;
        r.first += squares * c[i].range * c[i].range;
        r.range = fmax(r.range, (double)qdq_absmax(w, l->kernel) * s);
        r.power += c[i].power / (s * s) * (double)l->kernel;
    }
    return r;
}

/* Noise over signal, added up over the channels behind the second Conv; a dead one counts like an
 * average one. */
static double noise_of(const pair *p, const between *c, bool scaled)
{
    const bool per_channel = qdq_opt_has_arg(p->o, "per-channel");
    const double data_step = qdq_opt_has_arg(p->o, "weights") ? 0 : 1 / 255.0, step = 1 / 127.0;
    const double fan_in = (double)(p->first.inputs * p->first.kernel);
    double reach = 0, range1 = 0, range2 = 0, signal = 0, noise = 0;

    for (size_t i = 0; i < p->first.channels; i++) {
        double s = scaled ? ldexp(1, p->exponent[i]) : 1;

        reach = fmax(reach, c[i].reach / s);
        range1 = fmax(range1, c[i].range / s);
    }
    for (size_t o = 0; o < p->second.channels; o++) {
        behind r = look_at_row(p, c, o, scaled);

        signal += r.signal / (double)p->second.channels;
        range2 = fmax(range2, r.range);
    }
    for (size_t o = 0; o < p->second.channels; o++) {
        behind r = look_at_row(p, c, o, scaled);
        double first = per_channel ? r.first : r.data * range1 * range1;
        double second = (per_channel ? r.range * r.range : range2 * range2) * r.power;

        noise += (r.data * reach * reach * data_step * data_step +
                  (first * fan_in + second) * step * step) /
                 (r.signal + signal);
    }
    return noise;
}

static qdq_status is_worth_it(const pair *p, bool *yes, qdq_error *err)
{
    const between *c = look_between(p, err);

    if (c == NULL)
        return QDQ_E_NOMEM;
    *yes = noise_of(p, c, true) < (1 - LEAST_GAIN) * noise_of(p, c, false);
    return QDQ_OK;
}

/* --- applying --------------------------------------------------------------------------------- */

static qdq_status replace_constant(pair *p, qdq_node *n, uint32_t input, const qdq_tensor *t,
                                   float **data, qdq_error *err)
{
    void *bytes;
    qdq_tensor *fresh = qdq_tensor_new(p->o->model, QDQ_FLOAT, t->rank, t->dim, &bytes);
    qdq_value *v = qdq_opt_constant(p->o, n, n->in[input].value->name, "_equalized", fresh);

    QDQ_NEED(v != NULL, err);
    qdq_node_set_in(n, input, v);
    *data = bytes;
    return QDQ_OK;
}

static qdq_status scale_first(pair *p, qdq_error *err)
{
    const layer *l = &p->first;
    size_t n = l->inputs * l->kernel;
    qdq_value *old_weight = l->node->in[1].value, *old_bias = qdq_node_in(l->node, 2);
    float *w, *b;

    QDQ_TRY(replace_constant(p, l->node, 1, l->weight, &w, err));
    for (size_t i = 0; i < l->channels * n; i++)
        w[i] = ldexpf(l->w[i], -p->exponent[i / n]);
    if (l->bias != NULL) {
        QDQ_TRY(replace_constant(p, l->node, 2, l->bias, &b, err));
        for (size_t i = 0; i < l->channels; i++)
            b[i] = ldexpf(l->b[i], -p->exponent[i]);
        qdq_value_remove_if_unused(old_bias);
    }
    qdq_value_remove_if_unused(old_weight);
    return QDQ_OK;
}

static qdq_status scale_second(pair *p, qdq_error *err)
{
    const layer *l = &p->second;
    qdq_value *old = l->node->in[1].value;
    float *w;

    QDQ_TRY(replace_constant(p, l->node, 1, l->weight, &w, err));
    for (size_t row = 0; row < l->channels * l->inputs; row++) {
        int exponent = p->exponent[l->depthwise ? row : row % l->inputs];
        for (size_t k = 0; k < l->kernel; k++)
            w[row * l->kernel + k] = ldexpf(l->w[row * l->kernel + k], exponent);
    }
    qdq_value_remove_if_unused(old);
    return QDQ_OK;
}

/* A product that is not finite would be no equalization. */
static const char *speaks_against(const pair *p)
{
    for (size_t i = 0; i < p->first.channels; i++)
        if ((p->first.b != NULL && !isfinite(ldexpf(p->first.b[i], -p->exponent[i]))) ||
            !isfinite(ldexp(range_of_output(&p->first, i), -p->exponent[i])))
            return "a weight or a bias would not be finite";
    return NULL;
}

static qdq_status try_pair(qdq_opt *o, qdq_node *n, bool *changed, qdq_error *err)
{
    pair p = {.o = o};
    bool is, any;

    QDQ_TRY(read_layer(o, n, &p.first, &is, err));
    qdq_node *second = is ? find_second(n) : NULL;
    if (second == NULL)
        return QDQ_OK;
    QDQ_TRY(read_layer(o, second, &p.second, &is, err));
    if (!is || !reads_first(&p))
        return QDQ_OK;
    QDQ_TRY(find_factors(&p, &any, err));
    if (!any)
        return QDQ_OK;
    bool worth;
    QDQ_TRY(is_worth_it(&p, &worth, err));
    const char *why = speaks_against(&p);
    if (why == NULL && !worth)
        why = "equal ranges would not bring less noise";
    if (!qdq_opt_take_unless(o, n, why))
        return QDQ_OK;
    *changed = true;
    QDQ_TRY(scale_first(&p, err));
    return scale_second(&p, err);
}

qdq_status qdq_pass_equalize(qdq_opt *o, qdq_graph *g, qdq_error *err)
{
    bool changed = true;

    for (int sweep = 0; sweep < SWEEPS && changed; sweep++) {
        changed = false;
        QDQ_FOR_NODES (n, g) {
            QDQ_TRY(try_pair(o, n, &changed, err));
            qdq_arena_reset(&o->scratch, (qdq_arena_mark){NULL, 0});
        }
    }
    return QDQ_OK;
}
