/* rules_gather.c - elements picked and put: Gather, ScatterND. Q/DQ: SAFE, elements are moved, not
 * changed. */
#include "base/fail.h"
#include "opt/rules/rule_layout.h"

/* --- gather-keeps-dim: y = Unsqueeze(Gather(x, i), [axis])  =>  Gather(x, [i]) ------------------
 *
 * One index takes its dim away; a list of one leaves it as 1. */

static const qdq_pat keep_pat[] = {
    {"y", QDQ_OP_UNSQUEEZE, {"t", "a?"}, 0},
    {"t", QDQ_OP_GATHER, {"x", "#i"}, QDQ_PAT_ONLY},
};

static const char *keep_check(const qdq_match *m)
{
    int rank = qdq_match_rank(m, qdq_match_value(m, "x"));
    int64_t axis = qdq_node_int(qdq_match_node(m, "t"), "axis", 0);
    qdq_rule_ints axes;
    bool there;

    if (qdq_match_const(m, "i")->rank != 0)
        return qdq_not_this;
    if (!qdq_rule_axes(m, m->root, 13, rank, &axes, &there) || !there || axes.n != 1)
        return "the axis is not known";
    if (axis < 0)
        axis = rank >= 0 ? axis + rank : -1;
    return axis >= 0 && axis == axes.at[0] ? NULL : "the new dim stands elsewhere";
}

static qdq_status keep_build(qdq_match *m, qdq_error *err)
{
    static const int64_t one = 1;
    const qdq_tensor *i = qdq_match_const(m, "i");
    int64_t axis = qdq_node_int(qdq_match_node(m, "t"), "axis", 0);
    qdq_tensor *list = qdq_tensor_view(m->graph->model, i, i->elem, 1, &one);
    qdq_value *in[2] = {qdq_match_value(m, "x"), NULL};

    QDQ_NEED(list != NULL &&
                 (in[1] = qdq_match_add_const(m, qdq_match_value(m, "i")->name, list)) != NULL,
             err);
    QDQ_TRY(qdq_match_recast(m, "Gather", 2, in, err));
    return qdq_node_set_int(m->root, "axis", axis) ? QDQ_OK : qdq_nomem(err);
}

const qdq_rule qdq_rule_gather_keeps_dim = {
    QDQ_RULE_PAT(keep_pat),
    .check = keep_check,
    .build = keep_build,
};

/* --- drop-full-scatter: y = ScatterND(x, all rows in order, u)  =>  u ------------------------- */

static const qdq_pat scatter_pat[] = {
    {"y", QDQ_OP_SCATTERND, {"x", "#i", "u"}, 0},
    {"y", QDQ_OP_SCATTERND, {"x", "rows", "u"}, 0},
    {"rows", QDQ_OP_UNSQUEEZE, {"r", "a?"}, 0},
    {"r", QDQ_OP_RANGE, {"#from", "to", "#step"}, 0},
};

/* [[0], [1], ... [n - 1]] */
static bool counts_up(const qdq_match *m, const qdq_tensor *t, int64_t n)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    int64_t *list = NULL;
    qdq_status st;
    bool up;

    if (t->rank != 2 || t->dim[0] != n || t->dim[1] != 1)
        return false;
    st = qdq_tensor_ints(t, &scratch, t->count, &list, NULL);
    if (st == QDQ_E_NOMEM)
        (void)qdq_match_nomem(m);
    up = st == QDQ_OK;
    for (int64_t i = 0; up && i < n; i++)
        up = list[i] == i;
    qdq_arena_free(&scratch);
    return up;
}

/* Unsqueeze(Range(0, rows of x, 1), [1]) */
static bool ranges_over(const qdq_match *m, qdq_dim rows)
{
    qdq_rule_ints axes;
    qdq_fact_elem to;
    bool there;
    int rank, n;

    return qdq_match_all(m, "from", 0) && qdq_match_all(m, "step", 1) &&
           qdq_rule_axes(m, qdq_match_node(m, "rows"), 13, 2, &axes, &there) && there &&
           axes.n == 1 && axes.at[0] == 1 &&
           qdq_facts_elems(m->facts, qdq_match_value(m, "to"), 1, &rank, &n, &to) && n == 1 &&
           (to.known ? to.value == rows.value
                     : to.symbol != NULL && rows.value < 0 && to.symbol == rows.param);
}

static const char *scatter_check(const qdq_match *m)
{
    const qdq_value *x = qdq_match_value(m, "x");
    const qdq_type *type = qdq_match_type(m, x);

    if (type == NULL || type->rank < 1)
        return "the shape is not known";
    if (m->n_pat == 1 ? !counts_up(m, qdq_match_const(m, "i"), type->dim[0].value)
                      : !ranges_over(m, type->dim[0]))
        return qdq_not_this;
    if (!qdq_node_string_is(m->root, "reduction", "none", "none"))
        return "what is scattered is combined with what was there";
    if (!qdq_match_same_type(m, x, qdq_match_value(m, "u")))
        return "what is scattered may have another shape";
    return NULL;
}

static qdq_status scatter_build(qdq_match *m, qdq_error *err)
{
    return qdq_match_become(m, qdq_match_value(m, "u"), err);
}

const qdq_rule qdq_rule_drop_full_scatter = {
    QDQ_RULE_PAT(scatter_pat),
    .min_opset = 11,
    .check = scatter_check,
    .build = scatter_build,
};
