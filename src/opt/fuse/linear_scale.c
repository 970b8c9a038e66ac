/* linear_scale.c - weights of linear nodes with other scales: what a factor per output channel does
 * to floats, scales and codes (BatchNormalization), and what a larger scale does to codes (room for
 * a bias).
 *
 * Scales stay above 0, whatever the factor: engines ask for that. Its sign goes into the codes:
 *
 *   signed, zero point 0    code' = -code. The lowest code has no negative: its channel gets a
 * scale that is larger by 128/127, and all of it is rounded again any other zero point    code' =
 * lowest + highest - code, zero point' in the same way: exact, and always in range factor 0 code' =
 * zero point, and any scale
 *
 * All arithmetic is double; what is stored as float is rounded once. */
#include "opt/fuse/linear.h"

#include <float.h>
#include <math.h>

#include "base/fail.h"
#include "opt/eval/eval.h"
#include "target/qparam.h"

/* --- float weights ---------------------------------------------------------------------------- */

static double largest_of(qdq_elem e)
{
    return e == QDQ_FLOAT16 ? 65504 : (double)FLT_MAX; /* bfloat16 reaches about as far as float */
}

/* The largest weight by the largest factor settles nearly every case; else each product is looked
 * at. */
static bool products_are_finite(const qdq_linear *l, const float *w, const double *factor)
{
    double largest = 0, absmax = (double)qdq_absmax(w, (size_t)l->weight->count);
    double limit = largest_of(l->weight->elem);
    qdq_channels c;

    for (int64_t i = 0; i < l->channels; i++)
        largest = fmax(largest, fabs(factor[i]));
    if (absmax < 0)
        return false;
    if (absmax * largest <= limit)
        return true;
    (void)qdq_channels_of(l->weight, l->axis, &c, NULL);
    for (size_t o = 0; o < c.outer; o++)
        for (size_t k = 0; k < c.channels; k++)
            for (size_t i = 0; i < c.inner; i++)
                if (!(fabs((double)w[(o * c.channels + k) * c.inner + i] *
                           factor[qdq_linear_channel(l, &c, o, k)]) <= limit))
                    return false;
    return true;
}

qdq_status qdq_linear_floats(qdq_opt *o, const qdq_tensor *t, const float **out, qdq_error *err)
{
    const char *why = NULL;
    qdq_const c;
    float *copy;

    if (t->elem == QDQ_FLOAT) {
        QDQ_TRY(qdq_const_of_tensor(t, &o->scratch, &c, &why, err));
        *out = c.data;
        if (why == NULL)
            return QDQ_OK;
    }
    QDQ_TRY(qdq_tensor_floats(t, &o->scratch, &copy, err));
    *out = copy;
    return QDQ_OK;
}

static qdq_status scale_floats(qdq_opt *o, const qdq_linear *l, const double *factor,
                               const char **why, qdq_error *err)
{
    const float *w = NULL;

    qdq_status st = qdq_linear_floats(o, l->weight, &w, err);
    if (st == QDQ_E_NOMEM)
        return st;
    if (st != QDQ_OK)
        *why = "its weight cannot be read";
    else if (!products_are_finite(l, w, factor))
        *why = "a weight would not be finite";
    return QDQ_OK;
}

/* --- quantized weights: which factor belongs to which scale ----------------------------------- */

/* Factors along the axis of the weight. The groups of ConvTranspose share it, so they must agree.
 * NULL: they do not, or there is no memory. */
static const double *along_axis(const qdq_linear *l, const double *factor)
{
    int64_t n = l->weight->dim[l->axis];

    for (int64_t c = n; c < l->channels; c++)
        if (factor[c] != factor[c % n])
            return NULL;
    return factor;
}

static bool are_equal(const double *factor, int64_t n)
{
    for (int64_t i = 1; i < n; i++)
        if (factor[i] != factor[0])
            return false;
    return true;
}

static bool has_negative(const double *factor, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (factor[i] < 0)
            return true;
    return false;
}

/* The factor of each block: the scales have the weight's dims but for the blocked axis. NULL:
 * channels that share a block have different ones. */
static const char *factors_of_blocks(qdq_opt *o, const qdq_linear *l, const double *factor,
                                     double **out)
{
    const qdq_tensor *scale = qdq_node_const(l->dq, 1);
    int64_t n = l->weight->dim[l->axis], inner = 1;
    int64_t span = l->params.axis == l->axis ? l->params.block : 1;

    for (int i = l->axis + 1; i < scale->rank; i++)
        inner *= scale->dim[i];
    *out = qdq_arena_array(&o->scratch, (size_t)l->params.count, sizeof **out);
    for (int64_t s = 0; *out != NULL && s < l->params.count; s++) {
        int64_t first = s / inner % scale->dim[l->axis] * span;
        int64_t end = span < n - first ? first + span : n;

        if (!are_equal(factor + first, end - first))
            return "channels that share a block of its weight have different factors";
        (*out)[s] = factor[first];
    }
    return NULL;
}

/* --- quantized weights: how codes change ------------------------------------------------------ */

/* Marks the scales that own a lowest code. */
static void find_lowest(const qdq_linear *l, const qdq_weight_change *c, int32_t lowest, bool *has)
{
    for (size_t o = 0; o < c->grid.c.outer; o++)
        for (size_t k = 0; k < c->grid.c.channels; k++)
            for (size_t i = 0; i < c->grid.c.inner; i++) {
                size_t at = (o * c->grid.c.channels + k) * c->grid.c.inner + i;

                if (qdq_elem_int(l->params.codes, c->codes, (int64_t)at) == lowest)
                    has[qdq_scale_at(&c->grid, o, k, i)] = true;
            }
}

/* A product below the normal floats is 0 to every engine, and a scale must not be: codes become 0
 * instead. */
static bool vanishes(double unit)
{
    return !(fabs(unit) >= (double)FLT_MIN);
}

/* Fills in how the codes of a scale worth `unit` each now change when they are to be worth as much
 * as before times `factor`; has_lowest: some code of it has no negative. */
static const char *recode(qdq_recode *r, double unit, double factor, bool is_signed,
                          bool has_lowest, int32_t low, int32_t high, unsigned policy)
{
    r->unit = unit * factor;
    r->new_unit = fabs(r->unit);
    r->new_zero = r->zero;
    r->ratio = 1;
    if (vanishes(r->unit)) {
        r->ratio = 0;
        r->new_unit = vanishes(unit) ? (double)FLT_MIN : unit;
    } else if (factor < 0) {
        r->ratio = -1;
        if (!is_signed || r->zero != 0)
            r->new_zero = low + high - r->zero;
        else if (has_lowest && (policy & QDQ_WEIGHT_SKIP) != 0)
            return "a factor below 0 meets the lowest code, which has no negative";
        else if (has_lowest && (policy & QDQ_WEIGHT_CLIP) == 0) {
            r->ratio = (double)high / low;
            r->new_unit *= (double)low / -high;
        }
    }
    return r->new_unit <= (double)FLT_MAX ? NULL : "a scale of its weight would not be finite";
}

/* Room for `n` scales of which `n_recode` are told apart. */
static bool make_room(qdq_opt *o, qdq_weight_change *c, int64_t n_scale, size_t n_recode)
{
    c->n_scale = n_scale;
    c->n_recode = n_recode;
    c->scale = qdq_arena_array(&o->scratch, (size_t)n_scale, sizeof *c->scale);
    c->zero = qdq_arena_array(&o->scratch, (size_t)n_scale, sizeof *c->zero);
    c->recode = qdq_arena_array(&o->scratch, n_recode, sizeof *c->recode);
    return c->scale != NULL && c->zero != NULL && c->recode != NULL;
}

/* Scales, zero points, and whether anything happens to codes, from the recodes: one for each
 * scale. */
static void settle(const qdq_linear *l, qdq_weight_change *c)
{
    bool zeros = l->params.zero != NULL;

    for (size_t i = 0; i < c->n_recode; i++) {
        c->scale[i] = (float)c->recode[i].new_unit;
        c->zero[i] = c->recode[i].new_zero;
        zeros |= c->zero[i] != 0;
        c->recodes |= c->recode[i].ratio != 1;
    }
    if (!zeros)
        c->zero = NULL;
}

/* One scale for weights that now differ by channel: codes are rounded again, for the largest of
 * them. */
static const char *keep_one_scale(const qdq_linear *l, qdq_weight_change *c, const double *factor,
                                  int32_t high)
{
    double largest = 0, unit = (double)l->params.scale[0];

    for (size_t o = 0; o < c->grid.c.outer; o++)
        for (size_t k = 0; k < c->grid.c.channels; k++)
            for (size_t i = 0; i < c->grid.c.inner; i++) {
                size_t at = (o * c->grid.c.channels + k) * c->grid.c.inner + i;
                int64_t code = qdq_elem_int(l->params.codes, c->codes, (int64_t)at);
                largest = fmax(largest, fabs((double)(code - qdq_params_zero(&l->params, 0)) *
                                             unit * factor[k]));
            }
    float scale = vanishes(largest / high) ? (float)unit : (float)(largest / high);
    if (!isfinite(scale) || !(scale > 0))
        return "a scale of its weight would not be finite";
    for (size_t k = 0; k < c->n_recode; k++) {
        c->recode[k].unit = unit * factor[k];
        c->recode[k].new_unit = (double)scale;
        c->recode[k].ratio = c->recode[k].unit / (double)scale;
        c->recode[k].new_zero = 0;
    }
    c->recodes = true;
    c->scale[0] = scale;
    c->n_scale = 1;
    c->axis = -1;
    if (l->params.zero == NULL)
        c->zero = NULL;
    else
        c->zero[0] = 0;
    return NULL;
}

/* Which scales there will be, and the factor of each. One scale becomes one per channel where
 * factors differ. */
static qdq_status find_scales(qdq_opt *o, const qdq_linear *l, const double *factor,
                              qdq_weight_change *c, const double **by_scale, int64_t *n_scale,
                              const char **why, qdq_error *err)
{
    const qdq_params *p = &l->params;
    int64_t n = l->weight->dim[l->axis];
    double *blocks = NULL;

    c->axis = p->axis;
    c->grid = qdq_scale_grid_of(l->weight, p->axis, p->block);
    *by_scale = along_axis(l, factor);
    *n_scale = p->count;
    if (*by_scale == NULL) {
        *why = "its groups share scales, but have different factors";
    } else if (p->block != 0) {
        *why = factors_of_blocks(o, l, *by_scale, &blocks);
        *by_scale = blocks;
        return *why == NULL && blocks == NULL ? qdq_nomem(err) : QDQ_OK;
    } else if (p->count == 1 && !are_equal(*by_scale, n)) {
        c->axis = l->axis;
        *n_scale = n;
        return qdq_channels_of(l->weight, l->axis, &c->grid.c, err);
    } else if (p->count > 1 && p->axis != l->axis) {
        *why = "its weight has scales per input channel";
    }
    return QDQ_OK;
}

static const char *recode_all(const qdq_linear *l, const double *by_scale, unsigned policy,
                              int32_t low, int32_t high, const bool *has_lowest,
                              qdq_weight_change *c)
{
    const qdq_params *p = &l->params;
    bool one = p->count == 1, integers = high > 0;

    for (int64_t i = 0; i < c->n_scale; i++) {
        const char *why = recode(&c->recode[i], (double)p->scale[one ? 0 : i], by_scale[i], low < 0,
                                 has_lowest[i], low, high, policy);
        if (why != NULL)
            return why;
        if (!integers && c->recode[i].ratio != 1)
            return "its codes are no integers of 4, 8 or 16 bits, and a factor is not above 0";
    }
    if (c->n_scale > p->count && qdq_graph_opset(l->node->graph) < 13)
        return "scales per channel need opset 13";
    settle(l, c);
    return NULL;
}

static qdq_status scale_codes(qdq_opt *o, const qdq_linear *l, const double *factor,
                              unsigned policy, qdq_weight_change *c, const char **why,
                              qdq_error *err)
{
    const qdq_params *p = &l->params;
    const double *by_scale;
    int32_t low = 0, high = 0; /* stay 0 where codes cannot be changed */
    int64_t n;

    QDQ_TRY(find_scales(o, l, factor, c, &by_scale, &n, why, err));
    if (*why != NULL)
        return QDQ_OK;
    bool *has_lowest = qdq_arena_array(&o->scratch, (size_t)n, sizeof *has_lowest);
    QDQ_NEED(make_room(o, c, n, (size_t)n) && has_lowest != NULL, err);
    for (int64_t i = 0; i < n; i++)
        c->recode[i].zero = qdq_params_zero(p, p->count == 1 ? 0 : i);
    if (qdq_elem_code_limits(p->codes, &low, &high) && low < 0 && has_negative(by_scale, n))
        find_lowest(l, c, low, has_lowest);
    if (n > p->count && (policy & QDQ_WEIGHT_ONE_SCALE) != 0)
        *why = low < 0 ? keep_one_scale(l, c, by_scale, high) : "its codes have no sign";
    else
        *why = recode_all(l, by_scale, policy, low, high, has_lowest, c);
    return QDQ_OK;
}

/* --- public ----------------------------------------------------------------------------------- */

qdq_status qdq_weight_scale(qdq_opt *o, const qdq_linear *l, const double *factor, unsigned policy,
                            qdq_weight_change *out, const char **why, qdq_error *err)
{
    *out = (qdq_weight_change){.factor = factor};
    *why = NULL;
    for (int64_t c = 0; c < l->channels; c++)
        if (!isfinite(factor[c]))
            *why = "a factor is not finite";
    if (*why != NULL)
        return QDQ_OK;
    if (l->dq == NULL)
        return scale_floats(o, l, factor, why, err);
    if (l->params.scale_elem != QDQ_FLOAT ||
        qdq_node_int(l->dq, "output_dtype", QDQ_FLOAT) != QDQ_FLOAT)
        *why = "the scales of its weight are not of type float";
    if (*why == NULL)
        QDQ_TRY(qdq_weight_codes_of(o, l, &out->codes, why, err));
    return *why != NULL ? QDQ_OK : scale_codes(o, l, factor, policy, out, why, err);
}

qdq_status qdq_weight_raise(qdq_opt *o, const qdq_linear *l, double alpha, const double *least,
                            qdq_weight_change *out, const char **why, qdq_error *err)
{
    const qdq_params *p = &l->params;

    *out = (qdq_weight_change){.axis = p->axis,
                               .grid = qdq_scale_grid_of(l->weight, p->axis, p->block)};
    QDQ_TRY(qdq_weight_codes_of(o, l, &out->codes, why, err));
    if (*why != NULL)
        return QDQ_OK;
    QDQ_NEED(make_room(o, out, p->count, (size_t)p->count), err);
    for (int64_t i = 0; i < p->count; i++) {
        double unit = (double)p->scale[i] * alpha;
        int32_t zero = qdq_params_zero(p, i);

        out->recode[i] = (qdq_recode){1, zero, zero, unit, unit};
        if (least[i] > (double)(float)unit) {
            out->recode[i].new_unit = (double)(float)least[i];
            out->recode[i].ratio = unit / (double)(float)least[i];
        }
        if (!(fmax(unit, least[i]) <= (double)FLT_MAX))
            *why = "a scale of its weight would not be finite";
    }
    settle(l, out);
    return QDQ_OK;
}
