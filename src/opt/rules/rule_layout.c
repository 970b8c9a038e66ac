/* rule_layout.c - axes, permutations and shapes for rewrite rules. */
#include "opt/rules/rule_layout.h"

#include "base/fail.h"

/* --- lists of integers ------------------------------------------------------------------------ */

static bool from_attribute(const qdq_node *n, const char *attribute, qdq_rule_ints *out,
                           bool *there)
{
    const qdq_attr *a = qdq_node_attr(n, attribute);

    if (a == NULL)
        return true;
    if (a->type != QDQ_ATTR_INTS || a->ref != NULL || a->count > QDQ_RULE_RANK)
        return false;
    *there = true;
    out->n = (int)a->count;
    for (int i = 0; i < out->n; i++)
        out->at[i] = a->v.ints[i];
    return true;
}

bool qdq_rule_ints_of(const qdq_match *m, const qdq_node *n, const char *attribute, uint32_t i,
                      int64_t since, qdq_rule_ints *out, bool *there)
{
    const qdq_value *v = qdq_node_in(n, i);
    qdq_fact_elem e[QDQ_RULE_RANK];
    int rank;

    *there = false;
    out->n = 0;
    if (m->opset < since)
        return from_attribute(n, attribute, out, there);
    if (v == NULL)
        return true;
    *there = true;
    if (!qdq_facts_elems(m->facts, v, QDQ_RULE_RANK, &rank, &out->n, e))
        return false;
    for (int k = 0; k < out->n; k++) {
        if (!e[k].known)
            return false;
        out->at[k] = e[k].value;
    }
    return true;
}

bool qdq_rule_axes(const qdq_match *m, const qdq_node *n, int64_t since, int rank,
                   qdq_rule_ints *out, bool *there)
{
    if (!qdq_rule_ints_of(m, n, "axes", 1, since, out, there))
        return false;
    for (int i = 0; i < out->n; i++) {
        int64_t axis = out->at[i];
        int k = i;

        if (axis < 0 && rank >= 0)
            axis += rank;
        if (axis < 0 || axis >= (rank >= 0 ? rank : QDQ_RULE_RANK))
            return false;
        for (; k > 0 && out->at[k - 1] > axis; k--)
            out->at[k] = out->at[k - 1];
        out->at[k] = axis;
        if (k > 0 && out->at[k - 1] == axis)
            return false;
    }
    return true;
}

qdq_status qdq_rule_put_ints(qdq_match *m, qdq_node *n, const char *attribute, uint32_t i,
                             int64_t since, const qdq_rule_ints *ints, qdq_error *err)
{
    qdq_value *v;

    if (m->opset < since)
        return qdq_node_set_ints(n, attribute, ints->at, (size_t)ints->n) ? QDQ_OK : qdq_nomem(err);
    v = qdq_match_add_ints(m, attribute, (size_t)ints->n, ints->at);
    QDQ_NEED(v != NULL, err);
    if (i < n->n_in)
        qdq_node_set_in(n, i, v);
    else if (!qdq_node_append_in(n, v))
        return qdq_nomem(err);
    return QDQ_OK;
}

bool qdq_rule_perm(const qdq_match *m, const qdq_node *transpose, qdq_rule_ints *out)
{
    bool there = false, seen[QDQ_RULE_RANK] = {false};
    int rank = qdq_match_rank(m, qdq_node_in(transpose, 0));

    if (!from_attribute(transpose, "perm", out, &there))
        return false;
    if (!there) {
        if (rank < 0 || rank > QDQ_RULE_RANK)
            return false;
        out->n = rank;
        for (int i = 0; i < rank; i++)
            out->at[i] = rank - 1 - i;
        return true;
    }
    for (int i = 0; i < out->n; i++) {
        if (out->at[i] < 0 || out->at[i] >= out->n || seen[out->at[i]])
            return false;
        seen[out->at[i]] = true;
    }
    return rank < 0 || rank == out->n;
}

/* --- shapes ----------------------------------------------------------------------------------- */

bool qdq_rule_is_reshape(qdq_op op)
{
    return op == QDQ_OP_RESHAPE || op == QDQ_OP_FLATTEN || op == QDQ_OP_SQUEEZE ||
           op == QDQ_OP_UNSQUEEZE;
}

qdq_status qdq_rule_become_x(qdq_match *m, qdq_error *err)
{
    return qdq_match_become(m, qdq_match_value(m, "x"), err);
}

qdq_status qdq_rule_become_found(qdq_match *m, qdq_error *err)
{
    qdq_value **found = qdq_match_found(m, sizeof *found);

    return qdq_match_become(m, *found, err);
}

qdq_status qdq_rule_read_x(qdq_match *m, qdq_error *err)
{
    (void)err;
    qdq_node_set_in(m->root, 0, qdq_match_value(m, "x"));
    return QDQ_OK;
}
