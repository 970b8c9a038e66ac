/* inline_if.c - inline-if: y = If(constant) { then } { else }  =>  the nodes of the branch that is
 * taken. */
#include "base/fail.h"
#include "opt/opt.h"

/* One bool that no caller can change. */
static bool known_condition(const qdq_node *n, bool *taken)
{
    const qdq_tensor *t = qdq_node_const(n, 0);
    double x = 0;
    bool known = t != NULL && t->elem == QDQ_BOOL && qdq_tensor_scalar(t, &x);

    *taken = x != 0;
    return known;
}

static const qdq_graph *branch_of(const qdq_node *n, bool taken)
{
    const qdq_attr *a = qdq_node_attr(n, taken ? "then_branch" : "else_branch");

    return a != NULL && a->type == QDQ_ATTR_GRAPH && a->ref == NULL ? a->v.g : NULL;
}

/* Why the branch cannot stand where the node is, or NULL. */
static const char *why_not(const qdq_node *n, const qdq_graph *branch)
{
    if (branch == NULL)
        return "the branch that is taken is not there";
    if (branch->inputs.n > 0)
        return "the branch that is taken has inputs";
    if (branch->outputs.n < n->n_out)
        return "the branch that is taken has fewer outputs than the node";
    return NULL;
}

qdq_status qdq_pass_inline_if(qdq_opt *o, qdq_graph *g, qdq_error *err)
{
    for (qdq_node *n = g->end.next, *next; n != &g->end; n = next) {
        qdq_node *before = n->prev;
        bool taken;

        next = n->next;
        if (n->op != QDQ_OP_IF || !known_condition(n, &taken))
            continue;
        if (!qdq_opt_take_unless(o, n, why_not(n, branch_of(n, taken))))
            continue;
        qdq_node_remove_attr(n, taken ? "else_branch" : "then_branch"); /* its names are free now */
        QDQ_NEED(qdq_node_inline(n, branch_of(n, taken)), err);
        qdq_opt_close_facts(o);
        next = before->next; /* what was put in may have an If, too */
    }
    return QDQ_OK;
}
