/* rules_bool.c - truth values as numbers, for engines that take the usual form for something else.
 * Q/DQ: SAFE, none is named, and every number stays the same. */
#include "base/fail.h"
#include "ir/edit.h"
#include "opt/rules/rule.h"

/* --- lower-bool-cast: Cast <to = float> (b)  =>  Where(b, 1, 0) ------------------------------- */

static const qdq_pat pat[] = {{"y", QDQ_OP_CAST, {"b"}, 0}};

static const char *check(const qdq_match *m)
{
    const qdq_elem elem = qdq_match_elem(m, qdq_match_value(m, "b"));

    if (qdq_node_int(m->root, "to", 0) != QDQ_FLOAT)
        return qdq_not_this;
    if (elem == QDQ_UNDEFINED)
        return "the type of its input is not known";
    return elem == QDQ_BOOL ? NULL : qdq_not_this;
}

static qdq_status build(qdq_match *m, qdq_error *err)
{
    const float one = 1, zero = 0;
    qdq_model *model = m->graph->model;
    qdq_value *yes = qdq_match_add_const(m, "true", qdq_tensor_of_floats(model, 0, NULL, &one));
    qdq_value *no = qdq_match_add_const(m, "false", qdq_tensor_of_floats(model, 0, NULL, &zero));

    QDQ_NEED(yes != NULL && no != NULL, err);
    return qdq_match_recast(m, "Where", 3, (qdq_value *[]){qdq_match_value(m, "b"), yes, no}, err);
}

const qdq_rule qdq_rule_lower_bool_cast = {
    QDQ_RULE_PAT(pat), .min_opset = 9, .needs_initializers = true, .check = check, .build = build,
};
