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

static float alpha_of(const qdq_match *m)
{
    return qdq_node_float(m->root, "alpha", 1);
}

/* NULL: out of memory */
static qdq_value *add(qdq_match *m, const char *op, uint32_t n_in, qdq_value *const *in)
{
    const qdq_node *n = qdq_match_add(m, op, n_in, in, qdq_match_type(m, qdq_match_value(m, "x")));

    return n != NULL ? n->out[0] : NULL;
}

static qdq_value *add_alpha(qdq_match *m)
{
    const float alpha = alpha_of(m);
    qdq_value *x = qdq_match_value(m, "x");
    qdq_value *a =
        qdq_match_add_const(m, "alpha", qdq_tensor_of_floats(m->graph->model, 0, NULL, &alpha));

    if (a == NULL || qdq_match_elem(m, x) == QDQ_FLOAT)
        return a;
    const qdq_node *cast = qdq_match_add(m, "CastLike", 2, (qdq_value *[]){a, x}, NULL);
    return cast != NULL ? cast->out[0] : NULL;
}

static qdq_status build(qdq_match *m, qdq_error *err)
{
    qdq_value *x = qdq_match_value(m, "x"), *argument = x;

    if (alpha_of(m) != 1) {
        qdq_value *alpha = add_alpha(m);

        QDQ_NEED(alpha != NULL, err);
        argument = add(m, "Mul", 2, (qdq_value *[]){x, alpha});
        QDQ_NEED(argument != NULL, err);
    }
    qdq_value *factor = add(m, "Sigmoid", 1, &argument);
    QDQ_NEED(factor != NULL, err);
    return qdq_match_recast(m, "Mul", 2, (qdq_value *[]){x, factor}, err);
}

const qdq_rule qdq_rule_lower_swish = {
    QDQ_RULE_PAT(pat),
    .build = build,
};
