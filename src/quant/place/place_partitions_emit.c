/* place_partitions_emit.c - writes into the plan what was selected: edges, weights, groups of
 * tensors that share a scale, and why the rest stays float. */
#include "base/fail.h"
#include "quant/place/place_emit.h"
#include "quant/place/place_partitions.h"

/* --- edges ------------------------------------------------------------------------------------ */

/* A weight has scales per channel where it is the second operand; a constant in front has one. */
static qdq_status emit_input(qdq_partition_state *t, qdq_emitter *e, const qdq_node *n, uint32_t i)
{
    const qdq_target_op *op = t->rule_of[n->op];
    const qdq_value *v = qdq_node_in(n, i);
    const qdq_tensor *constant = qdq_value_const(v);

    if (constant == NULL || op->kind != QDQ_KIND_LINEAR)
        return qdq_emit_edge(e, v, n, i, qdq_place_codes_for(t->p, v, n), qdq_part_of(t, n)->rule);
    int axis = i == op->weight ? qdq_place_weight_axis(t->p, n, constant) : -1;
    return qdq_emit_weight(e, v, n, i, axis, qdq_part_of(t, n)->rule);
}

static qdq_status emit_selected(qdq_partition_state *t, qdq_emitter *e, const qdq_node *n)
{
    bool fresh = false, kept = false;

    for (uint32_t i = 0; i < n->n_in; i++) {
        fresh |= qdq_part_wants(t, n, i);
        kept |= qdq_part_is_data(t, n, i) && n->in[i].value != NULL &&
                qdq_part_through_dq(t, n->in[i].value);
    }
    if (!fresh && !kept) /* the target quantizes no input of it */
        return qdq_emit_float(e, n, qdq_target_reason(t->p->target, n->type));
    QDQ_TRY(qdq_emit_quantized(e, n, !fresh));
    for (uint32_t i = 0; i < n->n_in; i++)
        if (qdq_part_wants(t, n, i))
            QDQ_TRY(emit_input(t, e, n, i));
    return QDQ_OK;
}

/* A copy operator on the way to Q/DQ reads codes where there are some, unless it is inside of the
 * kernel that gives them. */
static qdq_status emit_copy(qdq_partition_state *t, qdq_emitter *e, const qdq_node *n)
{
    for (uint32_t i = 0; i < n->n_in; i++) {
        const qdq_value *v = n->in[i].value;
        const qdq_node *before = qdq_part_producer(t, v);

        if (v == NULL || v->graph != n->graph || !qdq_part_is_data(t, n, i) ||
            !t->value[v->id].paired || qdq_part_known(t, v))
            continue;
        if (before != NULL && qdq_part_of(t, n)->part != 0 &&
            qdq_part_of(t, before)->part == qdq_part_of(t, n)->part)
            continue;
        QDQ_PART_SAY(t, n, "copy", true, "it moves '%s' on to Q/DQ: the engine lets it move codes",
                     v->name);
        QDQ_TRY(qdq_emit_edge(e, v, n, i, qdq_place_codes_for(t->p, v, n), "copy"));
    }
    return QDQ_OK;
}

/* After all edges: an entry for all readers takes the place of those for some. */
static qdq_status emit_result(qdq_partition_state *t, qdq_emitter *e, const qdq_node *n)
{
    const qdq_value *v = qdq_node_out(n, 0);

    if (!qdq_part_of(t, n)->selected || v == NULL || !qdq_place_is_float(v) ||
        qdq_part_known(t, v) ||
        (!t->rules->quantize_outputs && !t->rule_of[n->op]->quantize_output))
        return QDQ_OK;
    if (v->n_output > 0 && !t->p->target->dequantized_outputs)
        return QDQ_OK;
    QDQ_PART_SAY(t, n, "output", true, "the target wants Q/DQ behind '%s', whoever reads it",
                 v->name);
    return qdq_emit_result(e, v, qdq_place_format(t->p, n)->activation.type,
                           qdq_part_of(t, n)->rule);
}

/* --- groups ----------------------------------------------------------------------------------- */

/* The engine moves Q over a Concat: with one scale, what stands before and behind it cancels. */
static void tie_concat(const qdq_partition_state *t, const qdq_node *n, qdq_groups *groups)
{
    const qdq_value *out = qdq_node_out(n, 0);

    if (out == NULL || !t->value[out->id].paired)
        return;
    for (uint32_t i = 0; i < n->n_in; i++) {
        const qdq_value *v = n->in[i].value;

        if (v == NULL || v->graph != n->graph || !t->value[v->id].paired || qdq_part_known(t, v))
            continue;
        QDQ_PART_SAY(t, n, "concat-group", true, "'%s' and '%s' share one scale", v->name,
                     out->name);
        qdq_groups_tie(groups, v, out);
    }
}

static qdq_status emit_groups(const qdq_partition_state *t, qdq_plan *plan, qdq_error *err)
{
    qdq_groups groups;

    QDQ_NEED(qdq_groups_start(&groups, t->p), err);
    QDQ_FOR_PLACED (n, t->p)
        if (n->op == QDQ_OP_CONCAT)
            tie_concat(t, n, &groups);
    return qdq_groups_name(&groups, plan, err);
}

/* --- what stays float ------------------------------------------------------------------------- */

static const char *float_reason(const qdq_partition_state *t, const qdq_node *n)
{
    const char *reason = qdq_state_of(t->p, n)->reason;

    if (reason != NULL)
        return reason;
    if (n->op == QDQ_OP_UNKNOWN)
        return "unknown operator";
    if (qdq_part_of(t, n)->part != 0)
        return "in a pointwise kernel, which computes in float";
    if (qdq_part_is(t, n, QDQ_PART_COPY))
        return "it moves data only, and reads none in 8 bits";
    return qdq_target_reason(t->p->target, n->type);
}

static bool is_in_linear_partition(const qdq_partition_state *t, const qdq_node *n)
{
    return qdq_part_of(t, n)->part != 0 && !qdq_part_of(t, n)->pointwise;
}

static qdq_status emit_node(qdq_partition_state *t, qdq_emitter *e, const qdq_node *n)
{
    if (qdq_part_of(t, n)->selected)
        return emit_selected(t, e, n);
    if (!t->listed && qdq_part_of(t, n)->leads && !qdq_part_out(t, n))
        QDQ_TRY(emit_copy(t, e, n));
    if (is_in_linear_partition(t, n) && !qdq_part_out(t, n))
        return QDQ_OK; /* part of a kernel in 8 bits */
    return qdq_emit_float(e, n, float_reason(t, n));
}

qdq_status qdq_part_emit(qdq_partition_state *t, qdq_plan *plan, qdq_error *err)
{
    qdq_emitter e;

    QDQ_TRY(qdq_emit_start(&e, t->p, plan, err));
    QDQ_FOR_PLACED (n, t->p)
        QDQ_TRY(emit_node(t, &e, n));
    QDQ_FOR_PLACED (n, t->p)
        QDQ_TRY(emit_result(t, &e, n));
    return t->rules->concat_groups ? emit_groups(t, plan, err) : QDQ_OK;
}
