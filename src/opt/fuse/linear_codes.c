/* linear_codes.c - QuantizeLinear of a constant, computed as engines compute it, and the codes of a
 * weight. */
#include "opt/fuse/linear.h"

#include <math.h>

#include "base/fail.h"
#include "target/qparam.h"

/* Elements that lie side by side, and share a scale unless blocks lie across. False: one is NaN. */
static bool quantize_run(const qdq_params *p, const qdq_scale_grid *g, size_t o, size_t k,
                         const float *x, void *codes)
{
    size_t first = (o * g->c.channels + k) * g->c.inner, bytes = qdq_elem_bits(p->codes) / 8;

    for (size_t i = first; i < first + g->c.inner; i++)
        if (isnan(x[i]))
            return false;
    if (g->block == 0 && bytes > 0) {
        qdq_qparam q = {p->codes, p->scale[k], qdq_params_zero(p, (int64_t)k)};
        qdq_quantize_floats(&q, x + first, g->c.inner, (char *)codes + first * bytes);
        return true;
    }
    for (size_t i = 0; i < g->c.inner; i++) {
        size_t s = qdq_scale_at(g, o, k, i);
        qdq_qparam q = {p->codes, p->scale[s], qdq_params_zero(p, (int64_t)s)};

        qdq_elem_put_int(p->codes, codes, (int64_t)(first + i),
                         qdq_quantize_value(&q, x[first + i]));
    }
    return true;
}

/* What Q says of itself: its scales must be good to divide by, its type one that we have the
 * arithmetic of. */
static const char *speaks_against_q(const qdq_node *q, const qdq_params *p, const qdq_tensor *x)
{
    int64_t precision = qdq_node_int(q, "precision", 0);
    int32_t low, high;

    if (x->elem != QDQ_FLOAT || p->scale_elem != QDQ_FLOAT ||
        (precision != 0 && precision != QDQ_FLOAT))
        return "it does not divide floats by floats";
    if (!qdq_elem_code_limits(p->codes, &low, &high))
        return "its codes are no integers of 4, 8 or 16 bits";
    return p->positive ? NULL : "a scale of it is 0";
}

qdq_status qdq_quantize_constant(const qdq_node *q, const qdq_tensor *x, qdq_arena *memory,
                                 qdq_elem *type, void **codes, const char **why, qdq_error *err)
{
    qdq_params p;
    float *floats = NULL;
    size_t size = 0;

    QDQ_TRY(qdq_params_read(q, x, memory, &p, why, err));
    if (*why == NULL)
        *why = speaks_against_q(q, &p, x);
    if (*why != NULL)
        return QDQ_OK;
    qdq_status st = qdq_tensor_floats(x, memory, &floats, err);
    if (st == QDQ_E_NOMEM)
        return st;
    if (st != QDQ_OK || !qdq_elem_bytes(p.codes, x->count, &size)) {
        *why = "its input cannot be read";
        return QDQ_OK;
    }
    *type = p.codes;
    *codes = qdq_arena_alloc(memory, size + 1);
    QDQ_NEED(*codes != NULL, err);
    qdq_scale_grid g = qdq_scale_grid_of(x, p.axis, p.block);
    for (size_t o = 0; o < g.c.outer; o++)
        for (size_t k = 0; k < g.c.channels; k++)
            if (!quantize_run(&p, &g, o, k, floats, *codes))
                *why = "its input holds NaN";
    return QDQ_OK;
}

qdq_status qdq_weight_codes_of(qdq_opt *o, const qdq_linear *l, const void **codes,
                               const char **why, qdq_error *err)
{
    qdq_span bytes = {NULL, 0};
    void *computed = NULL;
    qdq_elem type;

    *why = NULL;
    if (l->q != NULL) {
        QDQ_TRY(qdq_quantize_constant(l->q, l->weight, &o->scratch, &type, &computed, why, err));
        if (*why == NULL && type != l->params.codes)
            *why = "its weight has other codes behind Q than before DQ";
        *codes = computed;
        return QDQ_OK;
    }
    qdq_status st = qdq_tensor_data(l->weight, &o->scratch, &bytes, err);
    if (st != QDQ_OK && st != QDQ_E_NOMEM) {
        *why = "its weight cannot be read";
        return QDQ_OK;
    }
    *codes = bytes.data;
    return st;
}
