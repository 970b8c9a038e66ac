/* place_emit.c - writes placement's decisions into the plan: tensors, weights, biases, reasons. */
#include <string.h>

#include "base/fail.h"
#include "quant/place_state.h"
#include "quant/weights.h"

/* What is being written, with the entries found by value so that shared tensors share one entry. */
typedef struct emitter {
    qdq_placing *p;
    qdq_plan *plan;
    uint32_t *tensor_of[2]; /* by value id, for codes without and with sign: index + 1 into plan->tensors */
    uint32_t *weight_of;    /* likewise into plan->weights: the first entry; others follow by `next` */
    qdq_error *err;
} emitter;

static const char *keep(emitter *e, const char *text)
{
    return qdq_arena_strdup(&e->plan->arena, text);
}

/* A label in the plan's own memory: the model that is looked at goes away before the plan does. */
static const char *keep_label(emitter *e, const qdq_node *n)
{
    return keep(e, qdq_node_label(n, &e->p->scratch));
}

/* `source`: the Q or DQ of the model whose scale it has, or NULL. */
static qdq_plan_tensor *tensor_entry(emitter *e, const qdq_value *v, qdq_elem type, const qdq_found *source,
                                     const char *rule)
{
    uint32_t *index = &e->tensor_of[type == QDQ_INT8 || type == QDQ_INT16][v->id];

    if (*index == 0) {
        qdq_plan_tensor t = {.tensor = keep(e, v->name), .rule = keep(e, rule), .origin = "rule"};

        t.qparam.type = type;
        if (source != NULL && qdq_found_qparam(source, &t.qparam)) {
            t.origin = "import";
            t.known = true;
        }
        if (t.tensor == NULL || t.rule == NULL || !QDQ_PUSH(&e->plan->arena, &e->plan->tensors, t))
            return NULL;
        *index = (uint32_t)e->plan->tensors.n;
    }
    return &e->plan->tensors.at[*index - 1];
}

/* All readers get the dequantized value; nothing is to be said where the Q of the model is the only one. */
static qdq_status emit_carrier(emitter *e, const qdq_value *v)
{
    const qdq_value_state *s = &e->p->value[v->id];

    if (!qdq_place_is_read_in_float(e->p, v))
        return QDQ_OK;
    qdq_plan_tensor *t = tensor_entry(e, v, s->type, s->source, s->rule);
    if (t == NULL)
        return qdq_nomem(e->err);
    t->all = true;
    if (s->like != v && !t->known) {
        t->like = keep(e, s->like->name);
        if (t->like == NULL)
            return qdq_nomem(e->err);
    }
    return QDQ_OK;
}

/* The edge v -> n alone reads it, as codes of `type`. */
static qdq_status emit_edge(emitter *e, const qdq_value *v, const qdq_node *n, uint32_t input, qdq_elem type,
                            const char *rule)
{
    const qdq_found *source = qdq_place_source(e->p, v);

    if (qdq_place_codes_of(e->p, v) != QDQ_UNDEFINED)
        return QDQ_OK;
    qdq_plan_tensor *t =
        tensor_entry(e, v, type, source != NULL && source->type == type ? source : NULL, rule);
    if (t == NULL || !qdq_plan_add_edge(e->plan, &t->consumers, qdq_node_label(n, &e->p->scratch), input))
        return qdq_nomem(e->err);
    t->all = t->consumers.n == v->n_use && v->n_output == 0; /* all of them: then the list says nothing */
    return QDQ_OK;
}

static qdq_status emit_weight(emitter *e, const qdq_value *w, const qdq_node *n, const char *rule)
{
    const qdq_target_op *op = qdq_state_of(e->p, n)->rule;
    int axis = qdq_place_weight_axis(e->p, n, qdq_value_const(w));
    qdq_plan_weight *entry = NULL;

    for (size_t i = e->weight_of[w->id]; i > 0 && i <= e->plan->weights.n && entry == NULL; i++) {
        qdq_plan_weight *known = &e->plan->weights.at[i - 1];
        if (strcmp(known->tensor, w->name) == 0 && known->axis == axis)
            entry = known;
    }
    if (entry == NULL) {
        qdq_plan_weight fresh = {.tensor = keep(e, w->name), .axis = axis, .type = e->p->target->weight.type};

        fresh.rule = keep(e, rule);
        fresh.origin = "rule";
        if (fresh.tensor == NULL || fresh.rule == NULL ||
            !QDQ_PUSH(&e->plan->arena, &e->plan->weights, fresh))
            return qdq_nomem(e->err);
        if (e->weight_of[w->id] == 0)
            e->weight_of[w->id] = (uint32_t)e->plan->weights.n;
        entry = &e->plan->weights.at[e->plan->weights.n - 1];
    }
    if (!qdq_plan_add_edge(e->plan, &entry->consumers, qdq_node_label(n, &e->p->scratch), op->weight))
        return qdq_nomem(e->err);
    return QDQ_OK;
}

static qdq_status emit_bias(emitter *e, const qdq_node *linear)
{
    const qdq_target_op *op = qdq_state_of(e->p, linear)->rule;
    const qdq_value *data = qdq_node_in(linear, op->data), *weight = qdq_node_in(linear, op->weight);
    uint32_t input;
    const qdq_node *reader = qdq_place_bias(e->p, linear, &input);

    if (reader == NULL)
        return QDQ_OK;
    qdq_plan_bias entry = {
        .tensor = keep(e, qdq_node_in(reader, input)->name),
        .consumer = {keep_label(e, reader), input},
        .activation = keep(e, data->name),
        .weight = keep(e, weight->name),
        .rule = keep(e, op->rule),
        .origin = "rule",
    };
    if (entry.tensor == NULL || entry.consumer.node == NULL || entry.activation == NULL ||
        entry.weight == NULL || entry.rule == NULL || !QDQ_PUSH(&e->plan->arena, &e->plan->biases, entry))
        return qdq_nomem(e->err);
    return QDQ_OK;
}

static qdq_status emit_linear(emitter *e, const qdq_node *n)
{
    const qdq_target_op *op = qdq_state_of(e->p, n)->rule;
    const qdq_value *data = qdq_node_in(n, op->data), *weight = qdq_node_in(n, op->weight);
    qdq_elem type = qdq_place_codes_into(e->p, n);
    const qdq_found *found;

    QDQ_TRY(emit_edge(e, data, n, op->data, type, op->rule));
    if (qdq_place_weight(e->p, weight, &found) == NULL) { /* int8 times int8, but uint8 times any */
        type = type == QDQ_INT8 ? type : qdq_place_codes_for(e->p, weight);
        return emit_edge(e, weight, n, op->weight, type, op->rule);
    }
    if (found == NULL)
        QDQ_TRY(emit_weight(e, weight, n, op->rule));
    return emit_bias(e, n);
}

/* What is no code yet is a constant, and gets codes of the type that the other operands have. */
static qdq_status emit_joint(emitter *e, const qdq_node *n)
{
    qdq_elem type = qdq_place_codes_into(e->p, n);

    for (uint32_t i = 0; i < n->n_in; i++)
        if (n->in[i].value != NULL)
            QDQ_TRY(emit_edge(e, n->in[i].value, n, i, type, "constant-operand"));
    return QDQ_OK;
}

static qdq_status emit_node(emitter *e, const qdq_node *n)
{
    const qdq_node_state *s = qdq_state_of(e->p, n);
    qdq_plan_node entry = {keep_label(e, n), keep(e, n->type), s->kept};

    if (entry.node == NULL || entry.op == NULL || !QDQ_PUSH(&e->plan->arena, &e->plan->quantized, entry))
        return qdq_nomem(e->err);
    switch (s->rule->kind) {
    case QDQ_KIND_LINEAR:
        return emit_linear(e, n);
    case QDQ_KIND_JOINT:
        return emit_joint(e, n);
    case QDQ_KIND_PASS:
        return QDQ_OK;
    }
    return QDQ_OK;
}

/* Nodes that compute on floats and were not absorbed; shape arithmetic is nobody's loss, and Q and DQ that the
 * model has are no computation. */
static qdq_status emit_float(emitter *e, const qdq_node *n)
{
    const qdq_value *out = qdq_node_out(n, 0);
    qdq_plan_float entry;

    if (qdq_state_of(e->p, n)->found != NULL)
        return QDQ_OK;
    if (out == NULL || (out->type != NULL && out->type->elem != QDQ_FLOAT && out->type->elem != QDQ_FLOAT16))
        return QDQ_OK;
    entry.node = keep_label(e, n);
    entry.op = n->domain[0] == '\0' ? keep(e, n->type)
                                    : qdq_arena_printf(&e->plan->arena, "%s::%s", n->domain, n->type);
    entry.reason = keep(e, qdq_state_of(e->p, n)->reason);
    if (entry.node == NULL || entry.op == NULL || entry.reason == NULL ||
        !QDQ_PUSH(&e->plan->arena, &e->plan->left_float, entry))
        return qdq_nomem(e->err);
    return QDQ_OK;
}

qdq_status qdq_place_emit(qdq_placing *p, qdq_plan *plan, qdq_error *err)
{
    const qdq_graph *g = p->model->graph;
    emitter e = {.p = p, .plan = plan, .err = err};

    for (int i = 0; i < 2; i++)
        e.tensor_of[i] = qdq_arena_array(&p->scratch, g->values.n + 1, sizeof *e.tensor_of[i]);
    e.weight_of = qdq_arena_array(&p->scratch, g->values.n + 1, sizeof *e.weight_of);
    if (e.tensor_of[0] == NULL || e.tensor_of[1] == NULL || e.weight_of == NULL)
        return qdq_nomem(err);
    for (size_t i = 0; i < g->values.n; i++)
        if (!g->values.at[i]->dead && p->value[i].carries)
            QDQ_TRY(emit_carrier(&e, g->values.at[i]));
    for (size_t i = 0; i < p->n_order; i++) {
        const qdq_node_state *s = qdq_state_of(p, p->order[i]);

        if (s->eight)
            QDQ_TRY(emit_node(&e, p->order[i]));
        else if (s->absorber == NULL)
            QDQ_TRY(emit_float(&e, p->order[i]));
    }
    return QDQ_OK;
}
