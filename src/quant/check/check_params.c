/* check_params.c - every Q and DQ by itself: are its numbers numbers, does the target take its type
 * and zero point, and is there another half? */
#include <float.h>
#include <math.h>

#include "base/fail.h"
#include "quant/check/check_state.h"

/* The smallest normal number of the type that stores a scale. */
static float smallest_normal(qdq_elem e)
{
    return e == QDQ_FLOAT16 ? 6.103515625e-05f : FLT_MIN;
}

static qdq_status check_scale(qdq_checking *c, const qdq_node *n)
{
    const qdq_tensor *t = qdq_node_const(n, 1);
    qdq_arena scratch = QDQ_ARENA_INIT;
    float *scale = NULL;
    qdq_status st = QDQ_OK;

    if (t == NULL || !qdq_elem_is_float(t->elem) ||
        qdq_tensor_floats(t, &scratch, &scale, NULL) != QDQ_OK)
        t = NULL;
    for (int64_t i = 0; t != NULL && i < t->count; i++) {
        const char *is = isnan(scale[i])   ? "NaN"
                         : isinf(scale[i]) ? "infinite"
                         : scale[i] < 0    ? "negative"
                         : scale[i] == 0   ? "zero"
                                           : NULL;

        if (is != NULL)
            st = qdq_check_add(c, QDQ_CHECK_SCALE, n, 0,
                               "its scale [%lld] is %s, expected a number above 0", (long long)i,
                               is);
        else if (scale[i] < smallest_normal(t->elem))
            st = qdq_check_add(c, QDQ_CHECK_SUBNORMAL, n, 0,
                               "its scale [%lld] is %g: engines may take it for 0", (long long)i,
                               (double)scale[i]);
        else
            continue;
        break; /* one is enough */
    }
    qdq_arena_free(&scratch);
    return st;
}

/* --- what the target takes -------------------------------------------------------------------- */

static bool is_weight(const qdq_node *n)
{
    return n->op == QDQ_OP_DEQUANTIZELINEAR ? qdq_found_constant(n) != NULL
                                            : qdq_node_const(n, 0) != NULL;
}

static bool is_symmetric(const qdq_found *f)
{
    for (int64_t i = 0; f->known && i < f->params.count; i++)
        if (qdq_params_zero(&f->params, i) != 0)
            return false;
    return true;
}

/* Activations: one type, or, where zero points are free, its other sign, too. Weights are checked
 * with their operator. */
static qdq_status check_activation(qdq_checking *c, const qdq_node *n, const qdq_found *f)
{
    const qdq_qscheme *s = &c->t->format.activation;
    qdq_qscheme other;

    if (is_weight(n) || f->type == QDQ_UNDEFINED || n->op != QDQ_OP_QUANTIZELINEAR)
        return QDQ_OK;
    if (s->type == QDQ_FLOAT)
        return qdq_check_add(c, QDQ_CHECK_TYPE, n, qdq_check_elements(n->in[0].value),
                             "it quantizes an activation, and the target has float ones");
    if (qdq_format_unsigned(&c->t->format, &other) && f->type == other.type && is_symmetric(f))
        return QDQ_OK;
    if (qdq_elem_bits(f->type) != qdq_elem_bits(s->type) ||
        qdq_elem_is_float(f->type) != qdq_elem_is_float(s->type) ||
        (s->symmetric && f->type != s->type))
        return qdq_check_add(c, QDQ_CHECK_TYPE, n, qdq_check_elements(n->in[0].value),
                             "its codes are %s, expected %s", qdq_elem_name(f->type),
                             qdq_elem_name(s->type));
    if (s->symmetric && !is_symmetric(f))
        return qdq_check_add(c, QDQ_CHECK_ZERO_POINT, n, qdq_check_elements(n->in[0].value),
                             "its zero point is %d, expected 0",
                             (int)qdq_params_zero(&f->params, 0));
    return QDQ_OK;
}

/* --- pairs ------------------------------------------------------------------------------------ */

static qdq_status check_q(qdq_checking *c, const qdq_node *q)
{
    const qdq_value *codes = q->out[0];
    const qdq_node *other = NULL;

    if (codes->n_output > 0)
        return qdq_check_add(c, QDQ_CHECK_UNPAIRED_Q, q, 0, "its codes are an output of the graph");
    QDQ_FOR_USES (u, codes) {
        if (u->node->op == QDQ_OP_DEQUANTIZELINEAR && u->index == 0)
            return QDQ_OK;
        other = u->node;
    }
    return other == NULL
               ? qdq_check_add(c, QDQ_CHECK_UNPAIRED_Q, q, 0, "nothing reads its codes")
               : qdq_check_add(c, QDQ_CHECK_UNPAIRED_Q, q, 0,
                               "no DequantizeLinear reads its codes, but %s", other->type);
}

static qdq_status check_dq(qdq_checking *c, const qdq_node *dq, const qdq_found *f)
{
    const qdq_value *codes = dq->in[0].value;
    const qdq_node *q = codes->producer;
    qdq_found before;

    if (qdq_value_const(codes) != NULL || (q != NULL && q->op == QDQ_OP_DYNAMICQUANTIZELINEAR))
        return QDQ_OK;
    if (q == NULL || q->op != QDQ_OP_QUANTIZELINEAR)
        return qdq_check_add(c, QDQ_CHECK_UNPAIRED_DQ, dq, 0, "its codes %s%s",
                             q != NULL ? "come from " : "are an input of the graph",
                             q != NULL ? q->type : "");
    QDQ_TRY(qdq_found_read(q, &c->arena, &before, c->err));
    if (qdq_found_same(&before, f))
        return QDQ_OK;
    return qdq_check_add(c, QDQ_CHECK_PAIR_SCALES, dq, 0,
                         "scale, zero point or type are not those of QuantizeLinear '%s' before it",
                         qdq_node_label(q, &c->arena));
}

static qdq_status check_node(qdq_checking *c, const qdq_node *n)
{
    qdq_found *f = qdq_arena_alloc(&c->arena, sizeof *f);

    QDQ_NEED(f != NULL, c->err);
    c->n_quantizers++;
    if (qdq_node_in(n, 0) == NULL || qdq_node_in(n, 1) == NULL || qdq_node_out(n, 0) == NULL)
        return QDQ_OK; /* not sound: the verifier says so */
    QDQ_TRY(qdq_found_read(n, &c->arena, f, c->err));
    if (n->graph == c->m->graph)
        qdq_check_of(c, n)->found = f;
    QDQ_TRY(check_scale(c, n));
    QDQ_TRY(check_activation(c, n, f));
    return n->op == QDQ_OP_QUANTIZELINEAR ? check_q(c, n) : check_dq(c, n, f);
}

qdq_status qdq_check_params(qdq_checking *c)
{
    QDQ_FOR_GRAPHS (g, c->m)
        QDQ_FOR_NODES (n, g)
            if (qdq_check_is_quantizer(n))
                QDQ_TRY(check_node(c, n));
    return QDQ_OK;
}
