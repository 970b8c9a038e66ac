/* rules_fill.c - tensors that are filled with one value: ConstantOfShape, and the mask of a Dropout
 * that drops nothing. */
#include "base/fail.h"
#include "opt/eval/eval.h"
#include "opt/rules/rule_layout.h"

/* --- cast-fill: y = Cast(ConstantOfShape(s))  =>  ConstantOfShape(s) of the other type ----------
 *
 * Q/DQ: SAFE. The value is cast by the evaluator, which refuses what engines do each in their own
 * way. */

static const qdq_pat fill_pat[] = {
    {"y", QDQ_OP_CAST, {"t"}, 0},
    {"t", QDQ_OP_CONSTANTOFSHAPE, {"s"}, 0},
};

/* What ConstantOfShape makes at every opset. */
static bool can_fill(qdq_elem e)
{
    return e == QDQ_BOOL || e == QDQ_FLOAT16 || e == QDQ_FLOAT || e == QDQ_DOUBLE ||
           (qdq_elem_is_int(e) && qdq_elem_bits(e) >= 8);
}

/* The value of the ConstantOfShape: 0 of type float if it has none. *why: it is not known. */
static qdq_status fill_value(const qdq_node *fill, qdq_arena *memory, qdq_const *out,
                             const char **why)
{
    static const float zero;
    static const int64_t one = 1;
    const qdq_attr *a = qdq_node_attr(fill, "value");

    *out = (qdq_const){QDQ_FLOAT, 1, &one, 1, &zero, sizeof zero};
    if (a == NULL)
        return QDQ_OK;
    if (a->type == QDQ_ATTR_TENSOR && a->ref == NULL && a->v.t->count == 1)
        return qdq_const_of_tensor(a->v.t, memory, out, why, NULL);
    *why = "";
    return QDQ_OK;
}

/* The value as the Cast makes it. */
static const char *cast_value(const qdq_match *m, qdq_arena *memory, qdq_const *out)
{
    qdq_const value;
    const qdq_const *in[] = {&value};
    const char *why = NULL;

    if (fill_value(qdq_match_node(m, "t"), memory, &value, &why) != QDQ_OK)
        return qdq_match_nomem(m);
    if (why != NULL)
        return "the fill value is not known";
    if (qdq_eval_node(m->root, m->opset, in, 64, memory, out, &why, NULL) != QDQ_OK)
        return qdq_match_nomem(m);
    if (why != NULL)
        return "the fill value does not convert in one way only";
    return can_fill(out->elem) ? NULL : "ConstantOfShape does not make that type";
}

static const char *fill_check(const qdq_match *m)
{
    qdq_arena memory = QDQ_ARENA_INIT;
    qdq_const value;
    const char *why = cast_value(m, &memory, &value);

    qdq_arena_free(&memory);
    return why;
}

static qdq_status fill_build(qdq_match *m, qdq_error *err)
{
    qdq_arena memory = QDQ_ARENA_INIT;
    qdq_tensor *t = NULL;
    qdq_const value;

    if (cast_value(m, &memory, &value) == NULL)
        t = qdq_const_to_tensor(m->graph->model, &value);
    qdq_arena_free(&memory);
    QDQ_NEED(t != NULL, err);
    QDQ_TRY(
        qdq_match_recast(m, "ConstantOfShape", 1, (qdq_value *[]){qdq_match_value(m, "s")}, err));
    return qdq_node_set_tensor(m->root, "value", t) ? QDQ_OK : qdq_nomem(err);
}

const qdq_rule qdq_rule_cast_fill = {
    QDQ_RULE_PAT(fill_pat),
    .min_opset = 9,
    .check = fill_check,
    .build = fill_build,
};

/* --- drop-dropout: y, mask = Dropout(x) that does not train  =>  x, all true --------------------
 *
 * Where nothing reads the mask, drop-identity has been here before, unless it trains and drops
 * nothing. Q/DQ: SAFE. */

static const qdq_pat dropout_pat[] = {{"y", QDQ_OP_DROPOUT, {"x", "r?", "t?"}, 0}};

static const char *dropout_check(const qdq_match *m)
{
    bool trains = qdq_match_value(m, "t") != NULL &&
                  (qdq_match_const(m, "t") == NULL || !qdq_match_all(m, "t", 0));

    if (trains && (qdq_match_const(m, "r") == NULL || !qdq_match_all(m, "r", 0)))
        return "it may train";
    return NULL;
}

/* The mask: all true, in the shape of x. */
static qdq_value *add_mask(qdq_match *m, qdq_value *x)
{
    static const int64_t one = 1;
    qdq_node *shape = qdq_match_add(m, "Shape", 1, &x, NULL);
    qdq_node *mask = shape != NULL ? qdq_match_add(m, "ConstantOfShape", 1, shape->out,
                                                   qdq_match_type(m, m->root->out[1]))
                                   : NULL;
    void *data;
    qdq_tensor *t = qdq_tensor_new(m->graph->model, QDQ_BOOL, 1, &one, &data);

    if (mask == NULL || t == NULL || !qdq_elem_put_int(QDQ_BOOL, data, 0, 1) ||
        !qdq_node_set_tensor(mask, "value", t))
        return NULL;
    return mask->out[0];
}

static qdq_status dropout_build(qdq_match *m, qdq_error *err)
{
    qdq_value *x = qdq_match_value(m, "x"), *mask = qdq_node_out(m->root, 1), *all;

    if (mask != NULL && (mask->n_use > 0 || mask->n_output > 0)) {
        all = add_mask(m, x);
        QDQ_NEED(all != NULL, err);
        qdq_value_replace(mask, all); /* it may: the new one has a producer, and is no output yet */
        qdq_match_touch(m, all->producer);
    }
    return qdq_match_become(m, x, err);
}

const qdq_rule qdq_rule_drop_dropout = {
    QDQ_RULE_PAT(dropout_pat),
    .min_opset = 12,
    .check = dropout_check,
    .build = dropout_build,
};
