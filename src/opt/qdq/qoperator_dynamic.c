/* qoperator_dynamic.c - MatMulInteger and ConvInteger as dynamic quantization leaves them:
 *
 *     q, s, z = DynamicQuantizeLinear(x)
 *     i = MatMulInteger(q, w, z, wz)
 *     y = Mul(Cast(i), Mul(s, ws))
 *  => y = MatMul(DequantizeLinear(q, s, z), DequantizeLinear(w, ws, wz))
 *
 * Without the Cast and the Mul behind it, an integer product has no scale, and stays. */
#include <string.h>

#include "base/fail.h"
#include "opt/qdq/qoperator.h"

typedef struct product {
    qdq_qop *s;
    qdq_node *n, *cast, *mul;
    /* multiplies those of both operands */
    qdq_node *scales;
    /* of both operands */
    qdq_value *scale[2];
    /* of the second operand's scales; -1: one */
    int axis;
} product;

static const qdq_node *only_reader(const qdq_node *n, const char *type)
{
    const qdq_node *r = n->n_out == 1 && n->out[0] != NULL ? qdq_value_only_user(n->out[0]) : NULL;

    return r != NULL && r->domain[0] == '\0' && strcmp(r->type, type) == 0 &&
                   qdq_node_out(r, 0) != NULL
               ? r
               : NULL;
}

/* The scale of the codes v, as the node that made them gives it. */
static qdq_value *scale_of(const product *p, const qdq_value *v)
{
    const qdq_codes *known = qdq_qop_codes(p->s, v);

    if (known != NULL)
        return known->scale;
    return v->producer != NULL && v->producer->op == QDQ_OP_DYNAMICQUANTIZELINEAR &&
                   v->out_index == 0
               ? qdq_node_out(v->producer, 1)
               : NULL;
}

/* The other factor of Mul(x, y); NULL: x is none of them. */
static qdq_value *other_factor(const qdq_node *mul, const qdq_value *x)
{
    if (mul == NULL || mul->op != QDQ_OP_MUL || mul->n_in != 2 || x == NULL)
        return NULL;
    return qdq_node_in(mul, 0) == x   ? qdq_node_in(mul, 1)
           : qdq_node_in(mul, 1) == x ? qdq_node_in(mul, 0)
                                      : NULL;
}

static const char *find_scales(product *p)
{
    const qdq_value *a = qdq_node_in(p->n, 0), *b = qdq_node_in(p->n, 1);
    qdq_value *both = other_factor(p->mul, p->cast->out[0]);

    if (a == NULL || b == NULL || both == NULL)
        return "an input is missing";
    p->scale[0] = scale_of(p, a);
    if (p->scale[0] == NULL)
        return "the scale of its data is not known";
    p->scales = both->producer;
    p->scale[1] = other_factor(p->scales, p->scale[0]);
    if (p->scale[1] == NULL)
        return "it is not multiplied by the scales of data and weight";
    p->axis = p->n->op == QDQ_OP_CONVINTEGER ? 0
              : qdq_value_const(b) != NULL   ? qdq_value_const(b)->rank - 1
                                             : -1;
    return qdq_qop_scale(p->s, p->scale[1], qdq_node_in(p->n, 3), &p->axis);
}

static const char *check_product(product *p)
{
    p->cast = (qdq_node *)only_reader(p->n, "Cast");
    if (p->cast == NULL || qdq_node_int(p->cast, "to", 0) != QDQ_FLOAT)
        return "no Cast to float alone reads it";
    p->mul = (qdq_node *)only_reader(p->cast, "Mul");
    if (p->mul == NULL || p->mul->graph != p->n->graph)
        return "no Mul with its scales alone reads it";
    const char *why = find_scales(p);
    int one = -1;
    if (why == NULL)
        why = qdq_qop_scale(p->s, p->scale[0], qdq_node_in(p->n, 2), &one);
    if (why == NULL && p->axis >= 0 && p->n->op == QDQ_OP_CONVINTEGER)
        /* they would be multiplied along the last dim of the result */
        why = "its weight has several scales";
    return why;
}

static qdq_status build_product(product *p)
{
    const char *op = p->n->op == QDQ_OP_CONVINTEGER ? "Conv" : "MatMul";
    qdq_node *n = p->mul; /* where its result and both scales are known */
    qdq_value *in[2];

    for (uint32_t k = 0; k < 2; k++) {
        in[k] = qdq_qop_dequantize(p->s, n, p->n->in[k].value, p->scale[k],
                                   qdq_node_in(p->n, 2 + k), k == 1 ? p->axis : -1);
        QDQ_NEED(in[k] != NULL, p->s->err);
    }
    if (!qdq_node_set_attrs_of(n, p->n) ||
        (p->n->name[0] != '\0' && !qdq_node_set_name(n, p->n->name)))
        return qdq_nomem(p->s->err);
    QDQ_TRY(qdq_qop_recast(p->s, n, op, 2, in, NULL));
    qdq_node_remove(p->cast);
    qdq_node_remove(p->n);
    if (!qdq_node_is_read(p->scales))
        qdq_node_remove(p->scales);
    return QDQ_OK;
}

qdq_status qdq_qop_integer(qdq_qop *s, qdq_node *n, bool *done)
{
    product p = {.s = s, .n = n, .axis = -1};

    *done = n->op == QDQ_OP_CONVINTEGER || n->op == QDQ_OP_MATMULINTEGER;
    if (!*done)
        return QDQ_OK;
    return qdq_opt_take_unless(s->o, n, check_product(&p)) ? build_product(&p) : QDQ_OK;
}
