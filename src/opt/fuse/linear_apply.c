/* linear_apply.c - carries out a change of a weight: new constants, and a DQ of its own where
 * others read it. */
#include "opt/fuse/linear.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "target/qparam.h"

/* `n` elements from `at` on; the factor of the next one is `step` further. */
static void scale_run(qdq_elem e, const float *w, const double *factor, size_t step, size_t n,
                      void *data, size_t at)
{
    if (e == QDQ_FLOAT) {
        float *out = (float *)data + at;

        for (size_t i = 0; i < n; i++)
            out[i] = (float)((double)w[i] * factor[i * step]);
        return;
    }
    for (size_t i = 0; i < n; i++)
        qdq_elem_put_float(e, data, (int64_t)(at + i), (double)w[i] * factor[i * step]);
}

static qdq_status apply_floats(qdq_opt *o, const qdq_linear *l, const double *factor,
                               qdq_tensor **out, qdq_error *err)
{
    const qdq_tensor *t = l->weight;
    const float *w;
    void *data;
    qdq_channels c;
    size_t run;

    QDQ_TRY(qdq_linear_floats(o, t, &w, err));
    QDQ_TRY(qdq_channels_of(t, l->axis, &c, err));
    *out = qdq_tensor_new(o->model, t->elem, t->rank, t->dim, &data);
    QDQ_NEED(*out != NULL, err);
    run = c.inner > 1 ? 1 : c.channels; /* rows of a matrix at once */
    for (size_t i = 0; i < c.outer; i++)
        for (size_t k = 0; k < c.channels; k += run) {
            const double *f = &factor[qdq_linear_channel(l, &c, i, k)];
            size_t at = (i * c.channels + k) * c.inner;

            scale_run(t->elem, w + at, f, c.inner > 1 ? 0 : 1, run * c.inner, data, at);
        }
    return QDQ_OK;
}

/* --- edits ------------------------------------------------------------------------------------ */

static double recode_one(const qdq_recode *r, int64_t code, int32_t low, int32_t high, int64_t *out)
{
    double exact = (double)(code - r->zero), v = nearbyint(exact * r->ratio) + (double)r->new_zero;

    *out = (int64_t)fmax(low, fmin(high, v));
    if (r->ratio == 0 || ((double)*out == v && fabs(r->ratio) == 1))
        return 0;
    return fabs((double)(*out - r->new_zero) * r->new_unit - exact * r->unit);
}

static qdq_status new_codes(qdq_opt *o, const qdq_linear *l, qdq_weight_change *c, qdq_tensor **out,
                            qdq_error *err)
{
    int32_t low = 0, high = 0;
    double squares = 0;
    void *data;

    *out = qdq_tensor_new(o->model, l->params.codes, l->weight->rank, l->weight->dim, &data);
    QDQ_NEED(*out != NULL, err);
    if (!c->recodes) {
        memcpy(data, c->codes, (*out)->bytes.size);
        return QDQ_OK;
    }
    qdq_elem_code_limits(l->params.codes, &low, &high); /* others are not recoded */
    for (size_t row = 0; row < c->grid.c.outer * c->grid.c.channels; row++)
        for (size_t i = 0; i < c->grid.c.inner; i++) {
            size_t s =
                qdq_scale_at(&c->grid, row / c->grid.c.channels, row % c->grid.c.channels, i);
            int64_t at = (int64_t)(row * c->grid.c.inner + i), code;
            double error = recode_one(&c->recode[s], qdq_elem_int(l->params.codes, c->codes, at),
                                      low, high, &code);

            qdq_elem_put_int(l->params.codes, data, at, code);
            c->max_error = fmax(c->max_error, error);
            squares += error * error;
        }
    c->rms_error = sqrt(squares / (double)l->weight->count);
    return QDQ_OK;
}

/* The DQ to edit: the node's own, or a copy of one that others read, too. */
static qdq_node *own_dq(const qdq_linear *l, qdq_error *err)
{
    qdq_node *n = l->node, *dq = l->dq;
    qdq_value *out = dq->out[0];

    if (dq->graph == n->graph && qdq_value_only_user(out) == n)
        return dq;
    qdq_node *copy = qdq_node_copy(dq, n->graph, n);
    if (copy == NULL) {
        qdq_nomem(err);
        return NULL;
    }
    qdq_node_set_in(n, 1, copy->out[0]);
    return copy;
}

/* Puts `v` into input i of the DQ; what was there goes if nothing else reads it. */
static qdq_status put_input(qdq_node *dq, uint32_t i, qdq_value *v, qdq_error *err)
{
    qdq_value *old = qdq_node_in(dq, i);

    if (v == NULL || (i >= dq->n_in && !qdq_node_append_in(dq, v)))
        return qdq_nomem(err);
    qdq_node_set_in(dq, i, v);
    if (old != NULL)
        qdq_linear_drop(old);
    return QDQ_OK;
}

static qdq_tensor *zeros_tensor(qdq_opt *o, const qdq_linear *l, const qdq_weight_change *c,
                                int rank, const int64_t *dim)
{
    void *data;
    qdq_tensor *t = qdq_tensor_new(o->model, l->params.codes, rank, dim, &data);

    for (int64_t i = 0; t != NULL && i < c->n_scale; i++)
        qdq_elem_put_int(l->params.codes, data, i, c->zero[i]);
    return t;
}

static qdq_status put_scales(qdq_opt *o, const qdq_linear *l, const qdq_weight_change *c,
                             qdq_node *dq, qdq_error *err)
{
    const qdq_params *p = &l->params;
    const qdq_value *scale = dq->in[1].value, *zero = qdq_node_in(dq, 2);
    const qdq_tensor *t = qdq_value_const(scale);
    bool same = c->n_scale == p->count;
    int rank = same ? t->rank : 1;
    const int64_t *dim = same ? t->dim : &c->n_scale;

    if (c->zero != NULL && (!same || p->zero == NULL ||
                            memcmp(c->zero, p->zero, (size_t)p->count * sizeof *p->zero) != 0))
        QDQ_TRY(put_input(dq, 2,
                          qdq_opt_constant(o, dq, zero != NULL ? zero->name : scale->name,
                                           zero != NULL ? "_folded" : "_zero_point",
                                           zeros_tensor(o, l, c, rank, dim)),
                          err));
    if (!same || memcmp(c->scale, p->scale, (size_t)p->count * sizeof *p->scale) != 0)
        QDQ_TRY(put_input(dq, 1,
                          qdq_opt_constant(o, dq, scale->name, "_folded",
                                           qdq_tensor_of_floats(o->model, rank, dim, c->scale)),
                          err));
    if (!same && !qdq_node_set_int(dq, "axis", c->axis))
        return qdq_nomem(err);
    return QDQ_OK;
}

static qdq_status apply_quantized(qdq_opt *o, const qdq_linear *l, qdq_weight_change *c,
                                  qdq_error *err)
{
    qdq_tensor *codes = NULL;
    qdq_node *dq = own_dq(l, err);

    if (dq == NULL)
        return QDQ_E_NOMEM;
    if (c->recodes || l->q != NULL) {
        const char *name = l->q != NULL ? l->q->in[0].value->name : dq->in[0].value->name;
        QDQ_TRY(new_codes(o, l, c, &codes, err));
        QDQ_TRY(put_input(
            dq, 0, qdq_opt_constant(o, dq, name, l->q != NULL ? "_quantized" : "_folded", codes),
            err));
    }
    return put_scales(o, l, c, dq, err);
}

qdq_status qdq_weight_apply(qdq_opt *o, qdq_linear *l, qdq_weight_change *c, qdq_error *err)
{
    qdq_value *old = l->node->in[1].value, *fresh;
    qdq_tensor *t = NULL;

    if (l->dq != NULL)
        return apply_quantized(o, l, c, err);
    QDQ_TRY(apply_floats(o, l, c->factor, &t, err));
    fresh = qdq_opt_constant(o, l->node, old->name, "_folded", t);
    QDQ_NEED(fresh != NULL, err);
    qdq_node_set_in(l->node, 1, fresh);
    qdq_linear_drop(old);
    return QDQ_OK;
}
