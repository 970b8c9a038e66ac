/* place_existing.c - what the model has in 8 bits already. It is kept as it is, scales included:
 * placement only adds what is missing beside it. Three things follow.
 *
 * A value behind a DQ is in 8 bits. A value in front of a Q is quantized once its producer is, and
 * all others that read it then read it through that Q: an engine fuses a producer that one Q alone
 * reads. And operators that only move data hand scales back: a value that goes through them into a
 * Q, and nowhere else, takes its scale. */

#include "base/fail.h"
#include "quant/place/place_state.h"

static const qdq_found *quantizer_at(const qdq_placing *p, const qdq_use *u)
{
    return u->node->graph == p->model->graph && u->index == 0 &&
                   u->node->op == QDQ_OP_QUANTIZELINEAR
               ? qdq_state_of(p, u->node)->found
               : NULL;
}

/* --- reading ---------------------------------------------------------------------------------- */

static qdq_status find_node(qdq_placing *p, const qdq_node *n, qdq_error *err)
{
    const qdq_value *in = qdq_node_in(n, 0);
    qdq_found *f = qdq_arena_alloc(&p->scratch, sizeof *f);

    QDQ_NEED(f != NULL, err);
    QDQ_TRY(qdq_found_read(n, &p->scratch, f, err));
    qdq_state_of(p, n)->found = f;
    if (n->op != QDQ_OP_QUANTIZELINEAR || in == NULL)
        return QDQ_OK;
    qdq_value_state *s = &p->value[in->id];
    if (s->quantizer == NULL)
        s->quantizer = s->source = f;
    else if (!qdq_found_same(s->quantizer, f))
        s->quantized_twice = true;
    return QDQ_OK;
}

/* The Q into which all results of n go, if it is one and n moves data only. */
static const qdq_found *behind_mover(const qdq_placing *p, const qdq_node *n, uint32_t input)
{
    const qdq_target_op *rule = qdq_target_find(p->target, n->type);
    const qdq_found *found = NULL;

    if (n->graph != p->model->graph || rule == NULL || rule->kind != QDQ_KIND_PASS ||
        input != rule->data || n->op == QDQ_OP_UNKNOWN || qdq_state_of(p, n)->reason != NULL)
        return NULL;
    for (uint32_t i = 0; i < n->n_out; i++) {
        const qdq_value_state *s = n->out[i] != NULL ? &p->value[n->out[i]->id] : NULL;

        if (s == NULL)
            continue;
        if (s->source == NULL || (found != NULL && !qdq_found_same(found, s->source)))
            return NULL;
        found = s->source;
    }
    return found;
}

/* For values without a Q of their own, readers first. */
static void take_scale_from_readers(qdq_placing *p, const qdq_value *v)
{
    const qdq_found *found = NULL;
    qdq_qparam param;

    if (p->value[v->id].quantizer != NULL || v->n_output > 0)
        return;
    QDQ_FOR_USES (u, v) {
        const qdq_found *other = behind_mover(p, u->node, u->index);

        if (other == NULL || (found != NULL && !qdq_found_same(found, other)))
            return;
        found = other;
    }
    if (found != NULL && qdq_found_qparam(found, &param))
        p->value[v->id].source = found;
}

qdq_status qdq_place_find(qdq_placing *p, qdq_error *err)
{
    QDQ_FOR_PLACED (n, p) {
        if (qdq_node_is_qdq(n))
            QDQ_TRY(find_node(p, n, err));
    }
    for (size_t i = p->n_order; i-- > 0;)
        for (uint32_t k = 0; k < p->order[i]->n_out; k++)
            if (p->order[i]->out[k] != NULL)
                take_scale_from_readers(p, p->order[i]->out[k]);
    return QDQ_OK;
}

/* --- questions -------------------------------------------------------------------------------- */

const qdq_found *qdq_place_found(const qdq_placing *p, const qdq_value *v)
{
    const qdq_node *n = v->producer;

    return n != NULL && n->graph == p->model->graph && n->op == QDQ_OP_DEQUANTIZELINEAR
               ? qdq_state_of(p, n)->found
               : NULL;
}

/* The type that neighbours compare: where ranges choose between signed codes and unsigned ones,
 * both are the signed one, for placement does not know ranges. */
qdq_elem qdq_place_type(const qdq_placing *p, const qdq_found *f)
{
    const qdq_format *t = &p->target->format;
    qdq_qscheme other;

    return qdq_format_unsigned(t, &other) && f->type == other.type ? t->activation.type : f->type;
}

qdq_elem qdq_place_codes_of(const qdq_placing *p, const qdq_value *v)
{
    if (v->graph != p->model->graph)
        return QDQ_UNDEFINED;
    if (p->value[v->id].carries)
        return p->value[v->id].type;
    const qdq_found *f = qdq_place_found(p, v);
    return f != NULL ? qdq_place_type(p, f) : QDQ_UNDEFINED;
}

static bool takes_codes(const qdq_placing *p, const qdq_found *f)
{
    const qdq_qscheme *s = &p->target->format.activation;

    if (!qdq_elem_is_code(f->type) || qdq_elem_bits(f->type) != qdq_elem_bits(s->type))
        return false;
    if (f->type == QDQ_FLOAT8E4M3FN || s->type == QDQ_FLOAT8E4M3FN)
        return f->type == s->type;
    return !s->symmetric || (f->known && qdq_format_takes(&p->target->format, f->type,
                                                          qdq_params_zero(&f->params, 0)));
}

const qdq_found *qdq_place_source(const qdq_placing *p, const qdq_value *v)
{
    const qdq_found *f = p->value[v->id].quantizer;
    qdq_qparam param;

    return f != NULL && takes_codes(p, f) && qdq_found_qparam(f, &param) ? f : NULL;
}

qdq_elem qdq_place_codes_for(const qdq_placing *p, const qdq_value *v, const qdq_node *n)
{
    const qdq_found *f = qdq_place_source(p, v);

    return f != NULL ? qdq_place_type(p, f) : qdq_place_format(p, n)->activation.type;
}

/* With formats of their own, nodes do not follow what comes: an edge can convert. */
qdq_elem qdq_place_codes_at(const qdq_placing *p, const qdq_value *v, const qdq_node *n)
{
    qdq_elem type = qdq_place_codes_of(p, v);

    if (type == QDQ_UNDEFINED || (p->target->overrides.n > 0 && qdq_place_found(p, v) == NULL &&
                                  p->value[v->id].source == NULL))
        return qdq_place_codes_for(p, v, n);
    return type;
}

qdq_elem qdq_place_codes_into(const qdq_placing *p, const qdq_node *n)
{
    const qdq_target_op *rule = qdq_state_of(p, n)->rule;
    qdq_elem type = QDQ_UNDEFINED;

    if (rule->kind == QDQ_KIND_LINEAR)
        return qdq_place_codes_at(p, qdq_node_in(n, rule->data), n);
    if (rule->kind != QDQ_KIND_JOINT) {
        const qdq_value *v = qdq_node_in(n, rule->data);

        type = qdq_place_codes_of(p, v);
        return type != QDQ_UNDEFINED ? type : qdq_place_codes_for(p, v, n);
    }
    for (uint32_t i = 0; i < n->n_in && type == QDQ_UNDEFINED; i++)
        if (n->in[i].value != NULL)
            type = qdq_place_codes_of(p, n->in[i].value);
    return type;
}

const qdq_tensor *qdq_place_weight(const qdq_placing *p, const qdq_value *v,
                                   const qdq_found **found)
{
    *found = NULL;
    if (qdq_value_const(v) != NULL)
        return qdq_value_const(v);
    const qdq_found *f = qdq_place_found(p, v);
    const qdq_tensor *t = f != NULL ? qdq_found_constant(f->node) : NULL;
    if (t != NULL)
        *found = f;
    return t;
}

bool qdq_place_is_read_in_float(const qdq_placing *p, const qdq_value *v)
{
    const qdq_found *own = p->value[v->id].quantizer;

    if (own == NULL || v->n_output > 0)
        return true;
    QDQ_FOR_USES (u, v)
        if (quantizer_at(p, u) == NULL)
            return true;
    return false;
}

/* --- what does not fit ------------------------------------------------------------------------ */

static const char *say_quantized(qdq_placing *p, const char *what, const char *is, const char *why)
{
    const char *text = qdq_arena_printf(&p->scratch, "%s is quantized %s%s", what, is, why);

    p->no_memory |= text == NULL;
    return text != NULL ? text : what;
}

static const char *wrong_codes(qdq_placing *p, const qdq_found *f, const char *what)
{
    return say_quantized(p, what, "in a type that no 8-bit kernel takes: ",
                         f->type != QDQ_UNDEFINED ? qdq_elem_name(f->type) : "not known");
}

const char *qdq_place_ineligible(qdq_placing *p, const qdq_found *f, const char *what)
{
    if (f->blocked)
        return say_quantized(p, what, "in blocks", "");
    if (f->axis >= 0)
        return say_quantized(p, what, "with a scale for each channel", "");
    if (f->fault != NULL)
        return say_quantized(p, what, "in a way that no 8-bit kernel takes: ", f->fault);
    return takes_codes(p, f) ? NULL : wrong_codes(p, f, what);
}

static bool zero_points_are_equal(const qdq_found *f)
{
    for (int64_t i = 1; f->known && i < f->params.count; i++)
        if (qdq_params_zero(&f->params, i) != qdq_params_zero(&f->params, 0))
            return false;
    return true;
}

/* What the target's own format gives fits; beside that, 8 bits as integer kernels take them. */
const char *qdq_place_weight_ineligible(qdq_placing *p, const qdq_found *f, int axis)
{
    const qdq_format *t = &p->target->format;
    bool own = f->type == t->weight.type, any_zero = own && !t->weight.symmetric;

    if (f->blocked && (!own || t->weight_block == 0))
        return "its weight is quantized in blocks";
    if (!own && f->type != QDQ_INT8 && (f->type != QDQ_UINT8 || t->activation.symmetric))
        return wrong_codes(p, f, "its weight");
    if (f->axis >= 0 && f->axis != axis && !f->blocked)
        return "its weight has scales along a dimension that no 8-bit kernel takes";
    if (f->fault != NULL)
        return say_quantized(p, "its weight", "in a way that no 8-bit kernel takes: ", f->fault);
    if (!any_zero && !zero_points_are_equal(f))
        return "its weight has several zero points";
    return t->activation.symmetric && !any_zero && f->known &&
                   qdq_params_zero(&f->params, 0) != (own ? qdq_elem_middle_code(f->type) : 0)
               ? "its weight has a zero point that is not 0"
               : NULL;
}

const char *qdq_place_result_ineligible(qdq_placing *p, const qdq_value *result, qdq_elem type)
{
    const qdq_value_state *s = &p->value[result->id];
    qdq_qparam param;

    if (s->quantizer == NULL)
        return NULL;
    if (s->quantized_twice)
        return "its result is quantized more than once, in different ways";
    const char *reason = qdq_place_ineligible(p, s->quantizer, "its result");
    if (reason != NULL)
        return reason;
    if (qdq_place_type(p, s->quantizer) != type)
        return "its data and its result are quantized to different types";
    if (qdq_place_is_read_in_float(p, result) && !qdq_found_qparam(s->quantizer, &param))
        return "its result is quantized with a scale that is computed";
    return NULL;
}

/* --- nothing is missing ----------------------------------------------------------------------- */

static bool is_found(const qdq_placing *p, const qdq_value *v)
{
    return v == NULL || qdq_place_found(p, v) != NULL;
}

bool qdq_place_is_whole(const qdq_placing *p, const qdq_node *n)
{
    const qdq_target_op *rule = qdq_state_of(p, n)->rule;
    uint32_t input;

    if (rule->quantize_output &&
        qdq_place_is_read_in_float(p, qdq_place_epilogue(p, rule, n, NULL)))
        return false;
    switch (rule->kind) {
    case QDQ_KIND_LINEAR:
        return is_found(p, qdq_node_in(n, rule->data)) &&
               is_found(p, qdq_node_in(n, rule->weight)) && qdq_place_bias(p, n, &input) == NULL;
    case QDQ_KIND_JOINT:
        for (uint32_t i = 0; i < n->n_in; i++)
            if (!is_found(p, n->in[i].value))
                return false;
        return true;
    case QDQ_KIND_TABLE:
    case QDQ_KIND_RECURRENT:
        return false;
    case QDQ_KIND_PASS:
        for (uint32_t i = 0; i < n->n_out; i++)
            if (n->out[i] != NULL && qdq_place_is_read_in_float(p, n->out[i]))
                return false;
        return is_found(p, qdq_node_in(n, rule->data));
    }
    return false;
}
