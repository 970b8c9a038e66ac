/* fold_weight_quantize.c - q = QuantizeLinear(constant w, scale, zero point)  =>  a constant of
 * codes
 *
 * The codes are those that an engine would compute when it loads the model, bit by bit, so nothing
 * changes but the size of the file: a quarter for 8 bits. DequantizeLinear behind it stays: it is
 * what tells engines that the weight is quantized. Constants that Add or Mul read beside
 * activations stay as they are. Off in `default`, because a model that is still trained needs its
 * float weights. */

#include "base/fail.h"
#include "opt/fuse/linear.h"

static qdq_status replace_by_codes(qdq_opt *o, qdq_node *q, const qdq_tensor *w, qdq_elem type,
                                   const void *codes, qdq_error *err)
{
    qdq_value *out = q->out[0];
    qdq_tensor *t = qdq_tensor_of(o->model, type, w->rank, w->dim, codes);
    qdq_value *c = qdq_opt_constant(o, q, q->in[0].value->name, "_quantized", t);
    QDQ_NEED(c != NULL, err);
    qdq_value_replace(out, c); /* no graph output, so it does */
    qdq_linear_drop(out);
    return QDQ_OK;
}

static bool is_operand(const qdq_node *n)
{
    return n->op == QDQ_OP_ADD || n->op == QDQ_OP_SUB || n->op == QDQ_OP_MUL ||
           n->op == QDQ_OP_DIV || n->op == QDQ_OP_CONCAT;
}

/* Do operators that treat it like any activation read this constant, and no others? Plans have
 * those as tensors, in the form that all tensors have: as codes they could not come back as what
 * they were. */
static bool is_tensor(const qdq_value *codes)
{
    QDQ_FOR_USES (u, codes) {
        const qdq_value *back = qdq_node_out(u->node, 0);

        if (u->node->op != QDQ_OP_DEQUANTIZELINEAR || back == NULL || back->n_use == 0)
            return false;
        QDQ_FOR_USES (r, back)
            if (!is_operand(r->node))
                return false;
    }
    return true;
}

qdq_status qdq_pass_fold_weight_quantize(qdq_opt *o, qdq_node *q, qdq_error *err)
{
    const qdq_value *x = qdq_node_in(q, 0), *out = qdq_node_out(q, 0);
    const qdq_tensor *w = qdq_value_const(x);
    const char *why = NULL;
    void *codes = NULL;
    qdq_elem type;

    if (q->op != QDQ_OP_QUANTIZELINEAR || w == NULL || out == NULL || out->n_use == 0 ||
        is_tensor(out))
        return QDQ_OK;
    if (out->n_output > 0)
        why = "its codes are a graph output";
    else
        QDQ_TRY(qdq_quantize_constant(q, w, &o->scratch, &type, &codes, &why, err));
    return qdq_opt_take_unless(o, q, why) ? replace_by_codes(o, q, w, type, codes, err) : QDQ_OK;
}
