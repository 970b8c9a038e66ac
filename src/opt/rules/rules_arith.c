/* rules_arith.c - arithmetic that changes nothing.
 *
 * Comparisons are exact, in the tensor's own type: x * 1.000005 is not x. x + 0 gives +0 where x is
 * -0, and x does not: that is accepted. Not touched, because of NaN and infinity: x * 0, 0 / x. */
#include "base/fail.h"
#include "opt/rules/rule_layout.h"

/* --- drop-noop-arith: y = x + 0, x - 0, x * 1, x / 1, x ** 1  =>  x -----------------------------
 *
 * Q/DQ: SAFE, the real value between them is the same. */

static const qdq_pat noop_pat[] = {
    {"y", QDQ_OP_ADD, {"x", "#zero"}, QDQ_PAT_COMMUTES},
    {"y", QDQ_OP_SUB, {"x", "#zero"}, 0},
    {"y", QDQ_OP_MUL, {"x", "#one"}, QDQ_PAT_COMMUTES},
    {"y", QDQ_OP_DIV, {"x", "#one"}, 0},
    {"y", QDQ_OP_POW, {"x", "#one"}, 0},
};

static const char *noop_check(const qdq_match *m)
{
    const char *name = qdq_match_const(m, "zero") != NULL ? "zero" : "one";
    const qdq_tensor *t = qdq_match_const(m, name);

    if (!qdq_match_all(m, name, name[0] == 'z' ? 0 : 1))
        return qdq_not_this;
    if (!qdq_match_broadcasts_into(m, t, qdq_match_value(m, "x")))
        return "the constant may change the shape of the other operand";
    return NULL;
}

const qdq_rule qdq_rule_drop_noop_arith = {
    QDQ_RULE_PAT(noop_pat),
    .min_opset = 7, /* below, an attribute says where the operand goes */
    .check = noop_check,
    .build = qdq_rule_become_x,
};

/* --- drop-repeated: y = Relu(Relu(x))  =>  Relu(x); y = Neg(Neg(x))  =>  x ----------------------
 *
 * Q/DQ: NEVER-ACROSS. */

static const qdq_pat repeated_pat[] = {
    {"y", QDQ_OP_RELU, {"x"}, 0},  {"x", QDQ_OP_RELU, {"z"}, 0},  {"y", QDQ_OP_ABS, {"x"}, 0},
    {"x", QDQ_OP_ABS, {"z"}, 0},   {"y", QDQ_OP_CEIL, {"x"}, 0},  {"x", QDQ_OP_CEIL, {"z"}, 0},
    {"y", QDQ_OP_FLOOR, {"x"}, 0}, {"x", QDQ_OP_FLOOR, {"z"}, 0}, {"y", QDQ_OP_ROUND, {"x"}, 0},
    {"x", QDQ_OP_ROUND, {"z"}, 0}, {"y", QDQ_OP_SIGN, {"x"}, 0},  {"x", QDQ_OP_SIGN, {"z"}, 0},
    {"y", QDQ_OP_NEG, {"z"}, 0},   {"z", QDQ_OP_NEG, {"x"}, 0},   {"y", QDQ_OP_NOT, {"z"}, 0},
    {"z", QDQ_OP_NOT, {"x"}, 0},
};

const qdq_rule qdq_rule_drop_repeated = {
    QDQ_RULE_PAT(repeated_pat),
    .build = qdq_rule_become_x,
};

/* --- drop-abs: y = Abs(x)  =>  x, where shape arithmetic shows that no element is negative ------
 *
 * Q/DQ: SAFE, integers of shapes only. */

static const qdq_pat abs_pat[] = {{"y", QDQ_OP_ABS, {"x"}, 0}};

enum { SMALL = 64 };

static const char *abs_check(const qdq_match *m)
{
    qdq_fact_elem e[SMALL];
    int rank, n;

    if (!qdq_facts_elems(m->facts, qdq_match_value(m, "x"), SMALL, &rank, &n, e))
        return qdq_not_this;
    for (int i = 0; i < n; i++)
        if (e[i].known ? e[i].value < 0 : e[i].symbol == NULL)
            return qdq_not_this;
    return NULL;
}

const qdq_rule qdq_rule_drop_abs = {
    QDQ_RULE_PAT(abs_pat),
    .check = abs_check,
    .build = qdq_rule_become_x,
};

/* --- drop-zero-bias: y = Conv(x, w, 0)  =>  Conv(x, w) ------------------------------------------
 *
 * The same for ConvTranspose, Gemm and QLinearConv.
 *
 * Q/DQ: SAFE. A bias behind DequantizeLinear is no constant, and stays: a target may want it. */

static const qdq_pat bias_pat[] = {
    {"y", QDQ_OP_CONV, {"x", "w", "#b"}, 0},
    {"y", QDQ_OP_CONVTRANSPOSE, {"x", "w", "#b"}, 0},
    {"y", QDQ_OP_GEMM, {"x", "w", "#b"}, 0},
    {"y", QDQ_OP_QLINEARCONV, {"x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "#b"}, 0},
};

static const char *bias_check(const qdq_match *m)
{
    if (!qdq_match_all(m, "b", 0))
        return qdq_not_this;
    if (m->root->op == QDQ_OP_GEMM && m->opset < 11)
        return "Gemm needs its third input below opset 11";
    return NULL;
}

static qdq_status bias_build(qdq_match *m, qdq_error *err)
{
    (void)err;
    qdq_node_set_in(m->root, m->root->op == QDQ_OP_QLINEARCONV ? 8 : 2, NULL);
    qdq_node_trim_in(m->root);
    return QDQ_OK;
}

const qdq_rule qdq_rule_drop_zero_bias = {
    QDQ_RULE_PAT(bias_pat),
    .check = bias_check,
    .build = bias_build,
};
