/* place_emit.c - writes placement's decisions into the plan: tensors, weights, biases, reasons. */
#include "quant/place/place_emit.h"

#include "base/fail.h"
#include "quant/weights/linear_form.h"
#include "quant/weights/pairs.h"

static const char *label_of(qdq_emitter *e, const qdq_node *n)
{
    return qdq_node_label(n, &e->p->scratch);
}

/* The link of an entry; fresh: there was none, and its index is the caller's to fill in. NULL: out
 * of memory. */
static qdq_emit_link *find_link(qdq_emitter *e, uint32_t *head, uint64_t key, bool *fresh)
{
    qdq_emit_link link = {.key = key, .next = *head};

    *fresh = false;
    for (uint32_t i = *head; i != 0; i = e->links.at[i - 1].next)
        if (e->links.at[i - 1].key == key)
            return &e->links.at[i - 1];
    *fresh = true;
    if (!QDQ_PUSH(&e->p->scratch, &e->links, link))
        return NULL;
    *head = (uint32_t)e->links.n;
    return &e->links.at[e->links.n - 1];
}

/* `source`: the Q or DQ of the model whose scale it has, or NULL. */
static qdq_plan_tensor *tensor_entry(qdq_emitter *e, const qdq_value *v, qdq_elem type,
                                     const qdq_found *source, const char *rule)
{
    bool fresh;
    qdq_emit_link *link = find_link(e, &e->tensor_of[v->id], (uint64_t)type, &fresh);

    if (link == NULL)
        return NULL;
    if (fresh) {
        qdq_plan_tensor t = {.tensor = v->name, .rule = rule, .origin = "rule"};

        t.qparam.type = type;
        if (source != NULL && qdq_found_qparam(source, &t.qparam)) {
            t.origin = "import";
            t.known = true;
        }
        if (!qdq_plan_add_tensor(e->plan, t))
            return NULL;
        link->index = (uint32_t)(e->plan->tensors.n - 1);
    }
    return &e->plan->tensors.at[link->index];
}

/* All readers get the dequantized value; nothing is to be said where the Q of the model is the only
 * one. */
static qdq_status emit_carrier(qdq_emitter *e, const qdq_value *v)
{
    const qdq_value_state *s = &e->p->value[v->id];

    if (!qdq_place_is_read_in_float(e->p, v))
        return QDQ_OK;
    qdq_plan_tensor *t = tensor_entry(e, v, s->type, s->source, s->rule);
    QDQ_NEED(t != NULL, e->err);
    t->all = true;
    if (s->like != v && !t->known) {
        t->like = qdq_arena_strdup(&e->plan->arena, s->like->name);
        QDQ_NEED(t->like != NULL, e->err);
    }
    return QDQ_OK;
}

qdq_status qdq_emit_edge(qdq_emitter *e, const qdq_value *v, const qdq_node *n, uint32_t input,
                         qdq_elem type, const char *rule)
{
    const qdq_found *source = qdq_place_source(e->p, v);

    qdq_elem have = qdq_place_codes_of(e->p, v);

    if (have == type || (have != QDQ_UNDEFINED && !e->p->value[v->id].carries))
        return QDQ_OK;
    qdq_plan_tensor *t = tensor_entry(
        e, v, type, source != NULL && qdq_place_type(e->p, source) == type ? source : NULL, rule);
    QDQ_NEED(t != NULL && qdq_plan_add_edge(e->plan, &t->consumers, label_of(e, n), input), e->err);
    /* all of them: then the list says nothing; but where all read other codes, these are made of
     * them */
    t->all = have == QDQ_UNDEFINED && t->consumers.n == v->n_use && v->n_output == 0;
    return QDQ_OK;
}

qdq_status qdq_emit_result(qdq_emitter *e, const qdq_value *v, qdq_elem type, const char *rule)
{
    if (qdq_place_codes_of(e->p, v) != QDQ_UNDEFINED || !qdq_place_is_read_in_float(e->p, v))
        return QDQ_OK;
    qdq_plan_tensor *t = tensor_entry(e, v, type, qdq_place_source(e->p, v), rule);
    QDQ_NEED(t != NULL, e->err);
    t->all = true;
    return QDQ_OK;
}

/* Blocks lie along the input channels: along rows of a matrix if there is a scale per column, else
 * along columns. Where there is one scale for several matrices, blocks lie along the rows of
 * each. */
static void set_blocks(const qdq_node *n, const qdq_tensor *t, const qdq_format *f,
                       qdq_plan_weight *w)
{
    if (n->op == QDQ_OP_LSTM)
        qdq_lstm_scales(t, &w->axis, &w->block);
    if (f->weight_block == 0 || t->rank < 2 || (w->axis < 0 && n->op != QDQ_OP_MATMUL))
        return;
    w->block = f->weight_block;
    w->axis = w->axis < 0 ? t->rank - 2 : w->axis == 0 ? 1 : 0;
}

/* Where the order of the products is not known, an output channel (of an LSTM: a row) has no scale
 * of its own, or a method moves codes by itself, pairs are kept below their limit by one bit less.
 */
static void set_pairs(const qdq_node *n, const qdq_tensor *t, const qdq_format *f,
                      qdq_plan_weight *w)
{
    const qdq_pair_kind kind = qdq_pair_kind_of(n, t);
    const bool moves_none =
        f->weight_method <= QDQ_WEIGHT_MSE || f->weight_method == QDQ_WEIGHT_AWQ_CLIP;

    if (!f->weight_pairs || kind == QDQ_PAIRS_NONE)
        return;
    w->pairs = kind == QDQ_PAIRS_KNOWN && w->axis >= (n->op == QDQ_OP_LSTM) &&
               f->weight_block == 0 && moves_none;
    w->reduced = !w->pairs;
    if (w->pairs) /* a part of the range would have sums beyond the limit */
        w->method = QDQ_WEIGHT_ABSMAX;
}

static qdq_status new_weight(qdq_emitter *e, const qdq_value *w, const qdq_node *n, uint32_t input,
                             int axis, const char *rule)
{
    const qdq_format *f = qdq_place_format(e->p, n);
    const qdq_tensor *t = qdq_value_const(w);
    qdq_plan_weight entry = {.tensor = w->name,
                             .axis = axis,
                             .type = f->weight.type,
                             .asymmetric = !f->weight.symmetric,
                             .reduced = f->weight.reduced,
                             .pow2 = f->weight.pow2,
                             .store = f->weight_store,
                             .method = f->weight_method,
                             .awq = f->awq,
                             .gptq = f->gptq,
                             .rule = rule,
                             .origin = "rule"};

    set_blocks(n, t, f, &entry);
    set_pairs(n, t, f, &entry);
    if (f->weight_store == QDQ_WEIGHT_AS_NBITS && !qdq_nbits_takes(n, input, t, entry.type))
        entry.store = QDQ_WEIGHT_AS_CODES;
    return qdq_allocated(qdq_plan_add_weight(e->plan, entry), e->err);
}

qdq_status qdq_emit_weight(qdq_emitter *e, const qdq_value *w, const qdq_node *n, uint32_t input,
                           int axis, const char *rule)
{
    const qdq_format *f = qdq_place_format(e->p, n);
    bool nbits = f->weight_store == QDQ_WEIGHT_AS_NBITS &&
                 qdq_nbits_takes(n, input, qdq_value_const(w), f->weight.type);
    uint64_t format = (uint64_t)f->id << 1 | (n->op == QDQ_OP_LSTM);
    bool fresh;
    qdq_emit_link *link = find_link(
        e, &e->weight_of[w->id], format << 9 | (uint64_t)nbits << 8 | (uint64_t)(axis + 1), &fresh);

    QDQ_NEED(link != NULL, e->err);
    if (fresh) {
        link->index = (uint32_t)e->plan->weights.n;
        QDQ_TRY(new_weight(e, w, n, input, axis, rule));
    }
    qdq_plan_weight *entry = &e->plan->weights.at[link->index];
    if (nbits && n->op != QDQ_OP_GATHER) /* tables have none */
        entry->accuracy_level = f->accuracy_level;
    qdq_edges *edges = &entry->consumers;
    return qdq_allocated(qdq_plan_add_edge(e->plan, edges, label_of(e, n), input), e->err);
}

static qdq_status emit_bias(qdq_emitter *e, const qdq_node *linear)
{
    const qdq_target_op *op = qdq_state_of(e->p, linear)->rule;
    uint32_t input;
    const qdq_node *reader = qdq_place_bias(e->p, linear, &input);

    if (reader == NULL)
        return QDQ_OK;
    qdq_plan_bias entry = {
        .tensor = qdq_node_in(reader, input)->name,
        .consumer = {label_of(e, reader), input},
        .activation = qdq_node_in(linear, op->data)->name,
        .weight = qdq_node_in(linear, op->weight)->name,
        .rule = op->rule,
        .origin = "rule",
    };
    return qdq_allocated(qdq_plan_add_bias(e->plan, entry), e->err);
}

static qdq_status emit_linear(qdq_emitter *e, const qdq_node *n)
{
    const qdq_target_op *op = qdq_state_of(e->p, n)->rule;
    const qdq_value *data = qdq_node_in(n, op->data), *weight = qdq_node_in(n, op->weight);
    qdq_elem type = qdq_place_codes_into(e->p, n);
    const qdq_found *found;

    QDQ_TRY(qdq_emit_edge(e, data, n, op->data, type, op->rule));
    if (qdq_place_weight(e->p, weight, &found) == NULL) { /* int8 times int8, but uint8 times any */
        type = type == QDQ_INT8 ? type : qdq_place_codes_at(e->p, weight, n);
        return qdq_emit_edge(e, weight, n, op->weight, type, op->rule);
    }
    if (found == NULL)
        QDQ_TRY(qdq_emit_weight(e, weight, n, op->weight,
                                qdq_place_weight_axis(e->p, n, qdq_value_const(weight)), op->rule));
    return emit_bias(e, n);
}

/* Its data is float where Q/DQ stand on its edge alone (would_change_output()). */
static qdq_status emit_pass(qdq_emitter *e, const qdq_node *n)
{
    const qdq_target_op *op = qdq_state_of(e->p, n)->rule;

    return qdq_emit_edge(e, qdq_node_in(n, op->data), n, op->data, qdq_place_codes_into(e->p, n),
                         op->rule);
}

/* What is no code yet, a constant or what a linear operator reads as codes, gets those of the type
 * that the other operands have. */
static qdq_status emit_joint(qdq_emitter *e, const qdq_node *n)
{
    qdq_elem type = qdq_place_codes_into(e->p, n);

    for (uint32_t i = 0; i < n->n_in; i++)
        if (n->in[i].value != NULL)
            QDQ_TRY(qdq_emit_edge(e, n->in[i].value, n, i, type,
                                  qdq_value_const(n->in[i].value) != NULL
                                      ? "constant-operand"
                                      : qdq_state_of(e->p, n)->rule->rule));
    return QDQ_OK;
}

qdq_status qdq_emit_quantized(qdq_emitter *e, const qdq_node *n, bool kept)
{
    const qdq_plan_node entry = {label_of(e, n), n->type, kept};

    return qdq_allocated(qdq_plan_add_quantized(e->plan, entry), e->err);
}

static qdq_status emit_node(qdq_emitter *e, const qdq_node *n)
{
    const qdq_node_state *s = qdq_state_of(e->p, n);

    QDQ_TRY(qdq_emit_quantized(e, n, s->preserved));
    switch (s->rule->kind) {
    case QDQ_KIND_LINEAR:
        return emit_linear(e, n);
    case QDQ_KIND_JOINT:
        return emit_joint(e, n);
    case QDQ_KIND_TABLE:
    case QDQ_KIND_RECURRENT:
        return QDQ_OK;
    case QDQ_KIND_PASS:
        return emit_pass(e, n);
    }
    return QDQ_OK;
}

qdq_status qdq_emit_float(qdq_emitter *e, const qdq_node *n, const char *reason)
{
    const qdq_value *out = qdq_node_out(n, 0);

    if (qdq_state_of(e->p, n)->found != NULL ||
        qdq_format_weight_only(qdq_place_format(e->p, n)) != e->weights_alone)
        return QDQ_OK;
    if (n->op == QDQ_OP_CAST && e->plan->half.widened) /* a border of the copy in float32 */
        return QDQ_OK;
    /* what is inside speaks for itself */
    if ((qdq_op_get_info(n->op)->flags & QDQ_OP_CONTROL) != 0)
        return QDQ_OK;
    if (out == NULL || (out->type != NULL && out->type->elem != QDQ_FLOAT &&
                        out->type->elem != QDQ_FLOAT16 && out->type->elem != QDQ_BFLOAT16))
        return QDQ_OK;
    const char *op = n->domain[0] == '\0'
                         ? n->type
                         : qdq_arena_printf(&e->p->scratch, "%s::%s", n->domain, n->type);
    const qdq_plan_float entry = {label_of(e, n), op, reason};
    return qdq_allocated(qdq_plan_add_left_float(e->plan, entry), e->err);
}

qdq_status qdq_emit_start(qdq_emitter *e, qdq_placing *p, qdq_plan *plan, qdq_error *err)
{
    size_t n = p->model->graph->values.n + 1;

    *e = (qdq_emitter){.p = p, .plan = plan, .err = err};
    e->tensor_of = qdq_arena_array(&p->scratch, n, sizeof *e->tensor_of);
    e->weight_of = qdq_arena_array(&p->scratch, n, sizeof *e->weight_of);
    return qdq_allocated(e->tensor_of != NULL && e->weight_of != NULL, err);
}

qdq_status qdq_place_emit(qdq_placing *p, qdq_plan *plan, qdq_error *err)
{
    const qdq_graph *g = p->model->graph;
    qdq_emitter e;

    QDQ_TRY(qdq_emit_start(&e, p, plan, err));
    for (size_t i = 0; i < g->values.n; i++)
        if (!g->values.at[i]->dead && p->value[i].carries)
            QDQ_TRY(emit_carrier(&e, g->values.at[i]));
    QDQ_FOR_PLACED (n, p) {
        const qdq_node_state *s = qdq_state_of(p, n);

        if (s->eight)
            QDQ_TRY(emit_node(&e, n));
        else if (s->absorber == NULL)
            QDQ_TRY(qdq_emit_float(&e, n, s->reason));
    }
    return QDQ_OK;
}
