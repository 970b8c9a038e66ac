/* rules_swish.c - Swish in operators that every kernel library has. Q/DQ: SAFE, none is named, and
 * every number stays the same. */
#include "base/fail.h"
#include "ir/edit.h"
#include "opt/rules/rule.h"

/* --- lower-swish: Swish(x)  =>  Mul(x, Sigmoid(alpha * x)) --------------------------------------
 *
 * As the operator's function body has it (ONNX, Swish-24): alpha is a float32 that becomes a number
 * of x's type first. */

static const qdq_pat pat[] = {{"y", QDQ_OP_SWISH, {"x"}, 0}};

/* NULL: out of memory */
static qdq_value *add_alpha(qdq_match *m, float alpha)
{
    qdq_value *x = qdq_match_value(m, "x");
    qdq_value *a =
        qdq_match_add_const(m, "alpha", qdq_tensor_of_floats(m->graph->model, 0, NULL, &alpha));

    return qdq_match_elem(m, x) == QDQ_FLOAT
               ? a
               : qdq_match_add_value(m, "CastLike", 2, (qdq_value *[]){a, x}, NULL);
}

static qdq_status build(qdq_match *m, qdq_error *err)
{
    const float alpha = qdq_node_float(m->root, "alpha", 1);
    qdq_value *x = qdq_match_value(m, "x"), *argument = x;
    const qdq_type *type = qdq_match_type(m, x);

    if (alpha != 1)
        argument = qdq_match_add_value(m, "Mul", 2, (qdq_value *[]){x, add_alpha(m, alpha)}, type);
    qdq_value *factor = qdq_match_add_value(m, "Sigmoid", 1, &argument, type);
    QDQ_NEED(factor != NULL, err);
    return qdq_match_recast(m, "Mul", 2, (qdq_value *[]){x, factor}, err);
}

const qdq_rule qdq_rule_lower_swish = {
    QDQ_RULE_PAT(pat),
    .build = build,
};
