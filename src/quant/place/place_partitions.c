/* place_partitions.c - placement for engines that fuse kernels over several nodes, TensorRT first
 * of all:
 *
 *   classes   what the target says of each operator; which values are known or come from a DQ
 *   filter    linear nodes that stay float: the user's wish, shapes without a fast kernel,
 * attentions freeze    nodes of composites that the engine has a kernel of its own for residual the
 * branch of an Add that the engine fuses the Add into grow      partitions: a linear node with its
 * epilogue; pointwise nodes select    nodes whose inputs get Q/DQ, and the inputs that do not emit
 * edges, weights, groups and reasons into the plan
 *
 * Q/DQ are put on edges, not on tensors: a reader that was not selected reads what it read before.
 * Each step is a few walks over the sorted graph, so that its cost is linear in nodes and edges. */
#include "quant/place/place_partitions.h"

#include "base/fail.h"

/* --- classes ---------------------------------------------------------------------------------- */

static void add_class(qdq_partition_state *t, const char *const *ops, unsigned class)
{
    for (size_t i = 0; ops != NULL && ops[i] != NULL; i++)
        t->classes[qdq_op_find("", ops[i])] |= class;
}

static void read_classes(qdq_partition_state *t)
{
    const qdq_target *target = t->p->target;

    for (size_t i = 0; i < target->ops.n; i++) {
        const qdq_target_op *rule = &target->ops.at[i];
        qdq_op op = qdq_op_find("", rule->op);

        t->rule_of[op] = rule;
        t->classes[op] |= rule->kind == QDQ_KIND_PASS     ? QDQ_PART_COPY
                          : rule->kind == QDQ_KIND_LINEAR ? QDQ_PART_LINEAR | QDQ_PART_QUANTIZABLE
                                                          : QDQ_PART_QUANTIZABLE;
    }
    add_class(t, t->rules->pointwise, QDQ_PART_POINTWISE);
    add_class(t, t->rules->pooling, QDQ_PART_POOLING);
    add_class(t, t->rules->convolutions, QDQ_PART_CONVOLUTION);
    add_class(t, t->rules->behind_convolution, QDQ_PART_BEHIND_CONVOLUTION);
    add_class(t, t->rules->resize, QDQ_PART_RESIZE);
    add_class(t, t->rules->sources, QDQ_PART_SOURCE);
    add_class(t, t->rules->kept_outputs, QDQ_PART_KEPT_OUTPUT);
    t->classes[QDQ_OP_QUANTIZELINEAR] = t->classes[QDQ_OP_DEQUANTIZELINEAR] = QDQ_PART_QDQ;
    t->classes[QDQ_OP_UNKNOWN] = 0; /* names that this version does not know, and other domains */
    t->rule_of[QDQ_OP_UNKNOWN] = NULL;
}

/* --- values and kinds ------------------------------------------------------------------------- */

/* Weights behind a DQ are not folded away, but known all the same. */
static bool is_computed_from_constants(const qdq_partition_state *t, const qdq_node *n)
{
    if ((qdq_op_get_info(n->op)->flags & QDQ_OP_PURE) == 0 || n->n_in == 0)
        return false;
    for (uint32_t i = 0; i < n->n_in; i++)
        if (n->in[i].value != NULL && !qdq_part_known(t, n->in[i].value))
            return false;
    return true;
}

static bool gives_dq(const qdq_partition_state *t, const qdq_node *n)
{
    const qdq_target_op *rule = t->rule_of[n->op];

    if (n->op == QDQ_OP_DEQUANTIZELINEAR)
        return true;
    return qdq_part_is(t, n, QDQ_PART_COPY) && rule->inputs == (uint32_t)1 << rule->data &&
           qdq_node_in(n, rule->data) != NULL && qdq_part_through_dq(t, qdq_node_in(n, rule->data));
}

static qdq_part_kind kind_of(const qdq_partition_state *t, const qdq_node *n)
{
    bool constant = false;

    if (n->op != QDQ_OP_ADD && n->op != QDQ_OP_MUL)
        return QDQ_PART_PLAIN;
    for (uint32_t i = 0; i < n->n_in; i++)
        constant |= n->in[i].value != NULL && qdq_part_known(t, n->in[i].value);
    return n->op == QDQ_OP_MUL ? (constant ? QDQ_PART_CONST_MUL : QDQ_PART_PLAIN)
                               : (constant ? QDQ_PART_BIAS_ADD : QDQ_PART_NON_BIAS_ADD);
}

static void look_at_values(qdq_partition_state *t)
{
    const qdq_graph *g = t->p->model->graph;

    for (size_t i = 0; i < g->values.n; i++)
        t->value[i].known = !g->values.at[i]->dead && qdq_value_const(g->values.at[i]) != NULL;
    for (size_t i = 0; i < t->p->n_order; i++) {
        const qdq_node *n = t->p->order[i];
        bool known = is_computed_from_constants(t, n), through_dq = gives_dq(t, n);

        t->present[n->op] = true;
        qdq_part_of(t, n)->rank = (uint32_t)i;
        qdq_part_of(t, n)->kind = kind_of(t, n);
        qdq_part_of(t, n)->main_input = QDQ_PART_NO_INPUT;
        for (uint32_t k = 0; k < n->n_out; k++) {
            if (n->out[k] == NULL)
                continue;
            t->value[n->out[k]->id].known |= known;
            t->value[n->out[k]->id].through_dq = through_dq;
        }
    }
}

/* --- all steps -------------------------------------------------------------------------------- */

static qdq_status set_up(qdq_partition_state *t, qdq_error *err)
{
    qdq_placing *p = t->p;

    qdq_place_leave_weights(p);
    t->node = qdq_place_by_node(p, sizeof *t->node);
    t->value = qdq_arena_array(&p->scratch, p->model->graph->values.n + 1, sizeof *t->value);
    QDQ_NEED(t->node != NULL && t->value != NULL, err);
    read_classes(t);
    QDQ_FOR_PLACED (n, p)
        qdq_state_of(p, n)->rule = t->rule_of[n->op];
    t->listed = p->opts != NULL && (p->opts->op_types != NULL || p->opts->include != NULL);
    look_at_values(t);
    return QDQ_OK;
}

qdq_status qdq_place_partitions(qdq_placing *p, qdq_plan *plan, qdq_error *err)
{
    qdq_partition_state t = {.p = p, .rules = p->target->partitions};

    QDQ_TRY(set_up(&t, err));
    QDQ_TRY(qdq_part_filter(&t, err));
    QDQ_TRY(qdq_part_filter_attention(&t, err));
    if (!t.listed) {
        QDQ_TRY(qdq_part_freeze(&t, err));
        QDQ_TRY(qdq_part_residual(&t, err));
        QDQ_TRY(qdq_part_grow(&t, err));
    }
    QDQ_TRY(qdq_part_select(&t, err));
    QDQ_TRY(qdq_part_emit(&t, plan, err));
    return p->no_memory ? qdq_nomem(err) : QDQ_OK;
}
