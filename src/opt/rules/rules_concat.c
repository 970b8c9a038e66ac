/* rules_concat.c - Concat of one part, of parts without elements, of Concats. Q/DQ: SAFE, elements
 * are moved only; parts between Q and DQ keep their own scales. */
#include "base/fail.h"
#include "opt/rules/rule_layout.h"

/* --- drop-empty-parts: y = Concat(a, [], b)  =>  Concat(a, b); y = Concat(x)  =>  x ----------- */

static const qdq_pat empty_pat[] = {{"y", QDQ_OP_CONCAT, {"x?"}, QDQ_PAT_MORE}};

static const int64_t no_axis = INT64_MIN;

/* The axis of a Concat, counted from the front where the rank is proven. */
static int64_t axis_of(const qdq_match *m, const qdq_node *n)
{
    const qdq_type *y = qdq_match_type(m, n->out[0]);
    const qdq_attr *a = qdq_node_attr(n, "axis");
    int64_t axis;

    if (a == NULL || a->type != QDQ_ATTR_INT || a->ref != NULL)
        return m->opset < 4 && a == NULL ? 1 : no_axis;
    axis = a->v.i;
    if (y == NULL || y->rank < 0)
        return axis;
    if (axis < 0)
        axis = axis < -y->rank ? -1 : axis + y->rank;
    return axis >= 0 && axis < y->rank ? axis : no_axis;
}

static bool is_empty(const qdq_match *m, const qdq_value *v, int64_t axis, int rank)
{
    const qdq_type *t = qdq_match_type(m, v);

    return t != NULL && rank >= 0 && t->rank == rank && axis >= 0 && axis < rank &&
           t->dim[axis].value == 0;
}

static uint32_t count_empty(const qdq_match *m)
{
    const qdq_node *n = m->root;
    int64_t axis = axis_of(m, n);
    int rank = qdq_match_rank(m, n->out[0]);
    uint32_t empty = 0;

    for (uint32_t i = 0; i < n->n_in; i++)
        empty += n->in[i].value != NULL && is_empty(m, n->in[i].value, axis, rank);
    return empty;
}

static const char *empty_check(const qdq_match *m)
{
    for (uint32_t i = 0; i < m->root->n_in; i++)
        if (m->root->in[i].value == NULL)
            return qdq_not_this;
    return m->root->n_in == 1 || count_empty(m) > 0 ? NULL : qdq_not_this;
}

static qdq_status empty_build(qdq_match *m, qdq_error *err)
{
    qdq_node *n = m->root;
    int64_t axis = axis_of(m, n);
    int rank = qdq_match_rank(m, n->out[0]);
    uint32_t empty = count_empty(m), kept = 0;

    if (empty == n->n_in || n->n_in == 1) /* all are alike */
        return qdq_match_become(m, n->in[0].value, err);
    for (uint32_t i = 0; i < n->n_in; i++) {
        qdq_value *v = n->in[i].value;

        if (!is_empty(m, v, axis, rank))
            qdq_node_set_in(n, kept++, v);
    }
    for (uint32_t i = kept; i < n->n_in; i++)
        qdq_node_set_in(n, i, NULL);
    qdq_node_trim_in(n);
    return kept == 1 ? qdq_match_become(m, n->in[0].value, err) : QDQ_OK;
}

const qdq_rule qdq_rule_drop_empty_parts = {
    QDQ_RULE_PAT(empty_pat),
    .check = empty_check,
    .build = empty_build,
};

/* --- merge-concats: y = Concat(a, Concat(b, c), d)  =>  Concat(a, b, c, d) ----------------------
 *
 * Where nothing else reads the inner one. */

static const qdq_pat merge_pat[] = {{"y", QDQ_OP_CONCAT, {"x?"}, QDQ_PAT_MORE}};

/* Longer ones than this are for chains, which would copy the same list again and again. */
enum { MAX_PARTS = 64 };

static bool is_inner(const qdq_match *m, const qdq_value *v, int64_t axis)
{
    const qdq_node *p = v != NULL ? v->producer : NULL;

    return p != NULL && p->op == QDQ_OP_CONCAT && p != m->root &&
           qdq_value_only_user(v) == m->root && axis_of(m, p) == axis;
}

static const char *merge_check(const qdq_match *m)
{
    int64_t axis = axis_of(m, m->root);
    size_t parts = m->root->n_in;
    bool found = false;

    for (uint32_t i = 0; i < m->root->n_in; i++)
        if (is_inner(m, m->root->in[i].value, axis)) {
            found = true;
            parts += m->root->in[i].value->producer->n_in;
        }
    if (!found || axis == no_axis)
        return qdq_not_this;
    return parts <= MAX_PARTS ? NULL : "too many parts";
}

static qdq_status merge_build(qdq_match *m, qdq_error *err)
{
    qdq_value *part[MAX_PARTS];
    int64_t axis = axis_of(m, m->root);
    qdq_node *n = m->root;
    uint32_t count = 0;

    for (uint32_t i = 0; i < n->n_in; i++) {
        qdq_value *v = n->in[i].value;

        if (!is_inner(m, v, axis)) {
            part[count++] = v;
            continue;
        }
        for (uint32_t k = 0; k < v->producer->n_in; k++)
            part[count++] = v->producer->in[k].value;
    }
    for (uint32_t i = 0; i < n->n_in; i++)
        qdq_node_set_in(n, i, part[i]);
    for (uint32_t i = n->n_in; i < count; i++)
        QDQ_NEED(qdq_node_append_in(n, part[i]), err);
    return qdq_node_set_int(n, "axis", axis) ? QDQ_OK : qdq_nomem(err);
}

const qdq_rule qdq_rule_merge_concats = {
    QDQ_RULE_PAT(merge_pat),
    .check = merge_check,
    .build = merge_build,
};
