/* place_weights.c - placement where no activation gets a scale: each constant weight of an operator
 * that the target lists becomes codes on its own; no node looks at its neighbours. Activations stay
 * float, or the model quantizes them while it runs. */

#include "base/fail.h"
#include "quant/weights/linear_form.h"
#include "quant/place/place_emit.h"
#include "quant/place/place_state.h"

/* The same for products whose data is quantized while the model runs: rules about shapes count, as
 * such a product is to be faster. */
static const char *evaluate_dynamic(qdq_placing *p, const qdq_node *n, const qdq_target_op *rule)
{
    const qdq_format *f = qdq_place_format(p, n);
    const qdq_value *data = qdq_node_in(n, rule->data);
    const qdq_tensor *weight = qdq_node_const(n, rule->weight);

    if (rule->kind == QDQ_KIND_RECURRENT && f->weight_per_channel && !f->weight.symmetric)
        return "ONNX Runtime's 8-bit LSTM needs symmetric weights where each row has a scale";
    if (data == NULL)
        return "its data is missing";
    if (qdq_place_found(p, data) != NULL)
        return "the model has its data quantized already";
    if (!qdq_place_is_float(data))
        return qdq_place_no_float(data);
    return qdq_place_stay(p, n, weight);
}

/* Why the weight of node n, which a rule names, stays float; NULL: it does not. */
static const char *evaluate_weight(qdq_placing *p, const qdq_node *n, uint32_t input)
{
    const qdq_format *f = qdq_place_format(p, n);
    const qdq_value *data = qdq_node_in(n, qdq_state_of(p, n)->rule->data),
                    *weight = qdq_node_in(n, input);
    const qdq_tensor *t = qdq_value_const(weight);

    if (t == NULL)
        return weight != NULL && qdq_place_found(p, weight) != NULL
                   ? "the model has its weight quantized already"
                   : "its weight is not constant";
    if (data != NULL && qdq_value_const(data) != NULL)
        return "both inputs are constant";
    if (t->elem != QDQ_FLOAT)
        return qdq_place_not_float(t->elem);
    if (t->count == 0)
        return "its weight is empty";
    if (t->rank < 2)
        return "its weight is not a matrix";
    if (!qdq_place_is_finite(p, t))
        return "its weight holds NaN or infinity";
    if (f->weight_store == QDQ_WEIGHT_AS_NBITS && n->op == QDQ_OP_GATHER &&
        !qdq_nbits_takes(n, input, t, f->weight.type))
        return "GatherBlockQuantized takes tables of rank 2, rows by axis 0, in 4 bits";
    return qdq_format_dynamic(f) ? qdq_dynamic_lacks(n, input, t) : NULL;
}

/* The same for all its weights, and what the node itself lacks. */
static const char *evaluate_weights(qdq_placing *p, const qdq_node *n)
{
    const qdq_target_op *rule = qdq_state_of(p, n)->rule;
    const char *why = NULL;

    for (uint32_t i = 0; i < 32 && why == NULL; i++)
        if ((qdq_target_weights(rule) >> i & 1) != 0)
            why = evaluate_weight(p, n, i);
    return why == NULL && qdq_format_dynamic(qdq_place_format(p, n)) ? evaluate_dynamic(p, n, rule)
                                                                     : why;
}

static const char *evaluate_node(qdq_placing *p, const qdq_node *n)
{
    const bool is_dynamic = qdq_format_dynamic(qdq_place_format(p, n));
    qdq_node_state *s = qdq_state_of(p, n);

    s->rule = qdq_target_find(p->target, n->type);
    if (s->reason != NULL)
        return s->reason;
    if (n->op == QDQ_OP_UNKNOWN)
        return "unknown operator";
    if (is_dynamic && (s->rule == NULL || !s->rule->dynamic))
        return qdq_target_no_dynamic(p->target, n->type, s->rule);
    if (!is_dynamic && s->rule != NULL && s->rule->kind == QDQ_KIND_RECURRENT)
        return qdq_target_reason(p->target, n->type);
    if (!is_dynamic && s->rule == NULL && (n->op == QDQ_OP_GRU || n->op == QDQ_OP_RNN))
        return qdq_target_reason(p->target, n->type);
    if (s->rule == NULL || (s->rule->kind != QDQ_KIND_LINEAR && s->rule->kind != QDQ_KIND_TABLE &&
                            s->rule->kind != QDQ_KIND_RECURRENT))
        return n->op == QDQ_OP_CONV || n->op == QDQ_OP_CONVTRANSPOSE
                   ? "this target does not quantize weights of this operator"
                   : "only weights are quantized";
    if (s->rule->kind == QDQ_KIND_TABLE && !qdq_place_format(p, n)->weight_tables)
        return "tables stay float (key 'weight.tables' of the target)";
    if (!qdq_place_attributes_fit(s->rule, n))
        return "its attributes have no kernel for quantized weights";
    return evaluate_weights(p, n);
}

static qdq_status place_node(qdq_emitter *e, const qdq_node *n)
{
    qdq_placing *p = e->p;
    const char *reason = evaluate_node(p, n);
    const qdq_target_op *rule = qdq_state_of(p, n)->rule;

    if (rule != NULL)
        qdq_why_say(qdq_place_listener(p), n, rule->rule, reason == NULL, "%s",
                    reason != NULL ? reason : "its weight is quantized");
    if (reason != NULL)
        return qdq_emit_float(e, n, reason);
    for (uint32_t i = 0; i < n->n_in && i < 32; i++) {
        const qdq_value *w = qdq_node_in(n, i);

        if ((qdq_target_weights(rule) >> i & 1) != 0)
            QDQ_TRY(qdq_emit_weight(e, w, n, i, qdq_place_weight_axis(p, n, qdq_value_const(w)),
                                    rule->rule));
    }
    return qdq_emit_quantized(e, n, false);
}

qdq_status qdq_place_weights(qdq_placing *p, qdq_plan *plan, qdq_error *err)
{
    qdq_emitter e;

    QDQ_TRY(qdq_emit_start(&e, p, plan, err));
    e.weights_alone = true;
    QDQ_FOR_PLACED (n, p)
        if (qdq_format_weight_only(qdq_place_format(p, n)))
            QDQ_TRY(place_node(&e, n));
    return QDQ_OK;
}
