/* place_eligibility.c - can this node run in 8 bits on the target, given what reaches it? Every
 * "no" is a reason that users read (plan.left_float). */
#include <math.h>

#include "base/words.h"
#include "ir/pages.h"
#include "quant/place/place_state.h"
#include "quant/weights/weights.h"

bool qdq_place_is_float(const qdq_value *v)
{
    return qdq_value_elem(v) == QDQ_FLOAT;
}

/* ONNX Runtime fuses no Q/DQ whose scales have 16 bits, so not every target takes such models as
 * they are. */
const char *qdq_place_not_float(qdq_elem elem)
{
    if (elem == QDQ_FLOAT16)
        return "float16, and scales are float32 on this target: convert the model to float32, or "
               "take --rest fp16";
    if (elem == QDQ_BFLOAT16)
        return "bfloat16, and scales are float32 on this target: convert the model to float32, or "
               "take --rest bf16";
    return "not float32";
}

const char *qdq_place_no_float(const qdq_value *v)
{
    return qdq_place_not_float(qdq_value_elem(v));
}

/* NaN and infinity have no codes, and nothing has no range. */
bool qdq_place_is_finite(qdq_placing *p, const qdq_tensor *t)
{
    enum { NOT_KNOWN, FINITE, NOT_FINITE };
    qdq_map *map = p->opts != NULL && p->opts->finite != NULL ? p->opts->finite : &p->finite;
    qdq_map_value *known = qdq_map_put_int(map, (uintptr_t)t, NULL); /* many nodes may read it */

    p->no_memory |= known == NULL;
    if (known != NULL && known->num != NOT_KNOWN)
        return known->num == FINITE;
    /* a copy of an unaligned weight is not kept */
    qdq_arena_mark mark = qdq_arena_get_mark(&p->scratch);
    const float *floats;
    qdq_status st = t->count > 0 ? qdq_weight_floats(t, &p->scratch, &floats, NULL) : QDQ_E_FORMAT;
    bool finite = st == QDQ_OK && qdq_absmax(floats, (size_t)t->count) >= 0;

    qdq_tensor_rest(t);
    qdq_arena_reset(&p->scratch, mark);
    p->no_memory |= st == QDQ_E_NOMEM; /* says nothing of the tensor */
    if (known != NULL && st != QDQ_E_NOMEM)
        known->num = finite ? FINITE : NOT_FINITE;
    return finite;
}

const qdq_value *
qdq_place_epilogue(const qdq_placing *p, const qdq_target_op *rule, const qdq_node *n,
                   void (*visit)(qdq_placing *, const qdq_node *, const qdq_node *))
{
    uint32_t input;
    const qdq_node *bias =
        rule->quantize_output || rule->quantize_if_read ? qdq_place_bias_add(p, n, &input) : NULL;
    const qdq_value *v = bias != NULL ? bias->out[0] : n->out[0];

    for (;;) {
        const qdq_node *next = qdq_value_only_user(v);

        if (next == NULL || next->graph != p->model->graph || qdq_node_in(next, 0) != v ||
            next->n_out != 1 || next->out[0] == NULL || next->domain[0] != '\0' ||
            !qdq_word_is_in(next->type, rule->epilogue) ||
            !qdq_place_goes_along(qdq_state_of(p, next)->reason))
            return v;
        for (uint32_t i = 1; i < next->n_in; i++)
            if (next->in[i].value != NULL && qdq_node_const(next, i) == NULL)
                return v; /* a Clip whose bounds are computed */
        if (visit != NULL)
            visit((qdq_placing *)p, next, n);
        v = next->out[0];
    }
}

int qdq_place_weight_axis(const qdq_placing *p, const qdq_node *n, const qdq_tensor *w)
{
    const qdq_target_op *rule = qdq_state_of(p, n)->rule;

    if (!qdq_place_format(p, n)->weight_per_channel && qdq_place_format(p, n)->weight_block == 0)
        return -1;
    switch (rule->axis) {
    case QDQ_AXIS_TENSOR:
        return -1;
    case QDQ_AXIS_0:
        return w->rank > 0 ? 0 : -1;
    case QDQ_AXIS_1: /* ConvTranspose: with groups, one index there is a channel of each of them */
        return w->rank > 1 && qdq_node_int(n, "group", 1) == 1 ? 1 : -1;
    case QDQ_AXIS_LAST:
        return w->rank == 2 ? 1 : -1;
    case QDQ_AXIS_GEMM:
        return w->rank != 2 ? -1 : qdq_node_int(n, "transB", 0) != 0 ? 0 : 1;
    }
    return -1;
}

/* One number per channel of the weight; any count where the weight has one scale. */
static bool fits_channels(const qdq_placing *p, const qdq_node *n, const qdq_tensor *w,
                          const qdq_tensor *bias)
{
    int axis = qdq_place_weight_axis(p, n, w);

    return bias->rank == 1 && (axis < 0 || bias->dim[0] == w->dim[axis]);
}

/* The same with leading ones, which a float bias may have (pass widen-bias), where no codes are
 * wanted behind it. */
static bool is_wide_bias(const qdq_placing *p, const qdq_node *n, const qdq_tensor *w,
                         const qdq_tensor *bias)
{
    const qdq_target_op *rule = qdq_state_of(p, n)->rule;
    int axis = qdq_place_weight_axis(p, n, w);

    return !rule->quantize_output && !rule->quantize_if_read && bias->rank > 1 &&
           bias->elem == QDQ_FLOAT && bias->count == bias->dim[bias->rank - 1] &&
           (axis < 0 || bias->count == w->dim[axis]);
}

const qdq_node *qdq_place_bias_add(const qdq_placing *p, const qdq_node *matmul, uint32_t *input)
{
    const qdq_target_op *rule = qdq_state_of(p, matmul)->rule;
    const qdq_found *found;

    if (rule == NULL || rule->bias != QDQ_BIAS_ADD_IF_STATIC)
        return NULL;
    const qdq_tensor *w = qdq_place_weight(p, matmul->in[rule->weight].value, &found);
    const qdq_node *add = w != NULL ? qdq_value_only_user(matmul->out[0]) : NULL;
    if (add == NULL || add->op != QDQ_OP_ADD || add->graph != matmul->graph || add->n_in != 2)
        return NULL;
    *input = qdq_node_in(add, 0) == matmul->out[0] ? 1 : 0;
    if (qdq_node_in(add, *input) == NULL || !qdq_place_goes_along(qdq_state_of(p, add)->reason))
        return NULL;
    const qdq_tensor *bias = qdq_place_weight(p, qdq_node_in(add, *input), &found);
    return bias != NULL && bias->elem == (found != NULL ? QDQ_INT32 : QDQ_FLOAT) &&
                   (fits_channels(p, matmul, w, bias) || is_wide_bias(p, matmul, w, bias))
               ? add
               : NULL;
}

/* A MatMul's bias becomes int32 only where shapes are fixed: there ONNX Runtime merges MatMul and
 * Add into a float Gemm unless the bias is quantized; where they are not, a float bias is what
 * fuses (docs/decisions.md). */
static bool is_static(const qdq_value *v)
{
    int64_t dim[QDQ_MAX_RANK];
    int rank;

    return qdq_value_static_shape(v, &rank, dim, QDQ_MAX_RANK);
}

const qdq_node *qdq_place_bias(const qdq_placing *p, const qdq_node *n, uint32_t *input)
{
    const qdq_target_op *rule = qdq_state_of(p, n)->rule;
    const qdq_node *reader = n;

    *input = rule->bias_input;
    if (!qdq_format_has_int32_bias(qdq_place_format(p, n)) || rule->bias == QDQ_BIAS_NONE)
        return NULL;
    if (rule->bias == QDQ_BIAS_ADD_IF_STATIC)
        reader = is_static(n->out[0]) ? qdq_place_bias_add(p, n, input) : NULL;
    const qdq_tensor *bias = reader != NULL ? qdq_node_const(reader, *input) : NULL;
    return bias != NULL && bias->rank == 1 ? reader : NULL;
}

/* --- the three kinds -------------------------------------------------------------------------- */

/* A Q behind v would make the engine quantize the operator that was left float before it: ONNX
 * Runtime turns DQ -> Conv with a float weight -> Q into 8 bits with one scale per tensor. */
static bool would_requantize(const qdq_placing *p, const qdq_value *v)
{
    const qdq_node *n = v->producer;

    while (n != NULL && (n->op == QDQ_OP_RELU || n->op == QDQ_OP_CLIP) && qdq_node_in(n, 0) != NULL)
        n = qdq_node_in(n, 0)->producer;
    return n != NULL && n->graph == p->model->graph &&
           qdq_word_is_in(n->type, p->target->requantizes) && !qdq_state_of(p, n)->eight &&
           qdq_node_in(n, 0) != NULL && qdq_place_codes_of(p, qdq_node_in(n, 0)) != QDQ_UNDEFINED;
}

static const char *evaluate_bias(qdq_placing *p, const qdq_node *n, const qdq_target_op *rule,
                                 const qdq_tensor *w)
{
    const qdq_value *bias = qdq_node_in(n, rule->bias_input);
    const qdq_found *found;

    if (rule->bias != QDQ_BIAS_INPUT || bias == NULL)
        return NULL;
    const qdq_tensor *b = qdq_place_weight(p, bias, &found);
    if (found != NULL &&
        (b->elem != QDQ_INT32 || !qdq_format_has_int32_bias(qdq_place_format(p, n))))
        return "its bias is quantized in a way that no 8-bit kernel takes";
    if (found != NULL || !qdq_format_has_int32_bias(qdq_place_format(p, n)))
        return NULL;
    if (b == NULL)
        return "its bias is not constant";
    if (b->elem != QDQ_FLOAT)
        return "its bias is not float32";
    if (!fits_channels(p, n, w, b))
        return "its bias is not one number per output channel";
    return qdq_place_is_finite(p, b) ? NULL : "its bias holds NaN or infinity";
}

/* A float bias becomes int32 with the scales of data and weight: they must be numbers. */
static const char *evaluate_bias_scale(const qdq_placing *p, const qdq_node *n,
                                       const qdq_value *data, const qdq_value *weight)
{
    const qdq_found *x = qdq_place_found(p, data), *w = qdq_place_found(p, weight);
    qdq_qparam param;
    uint32_t input;

    if (qdq_place_bias(p, n, &input) == NULL ||
        ((x == NULL || qdq_found_qparam(x, &param)) && (w == NULL || w->known)))
        return NULL;
    return "its bias would follow a scale that is computed";
}

/* A float weight, or one that the model has behind a DQ. */
const char *qdq_place_evaluate_weight(qdq_placing *p, const qdq_node *n, const qdq_tensor *w,
                                      const qdq_found *found, qdq_elem data)
{
    if (w->count == 0)
        return "its weight is empty";
    if (found == NULL)
        return w->elem != QDQ_FLOAT         ? qdq_place_not_float(w->elem)
               : !qdq_place_is_finite(p, w) ? "its weight holds NaN or infinity"
                                            : NULL;
    if (found->type == QDQ_UINT8 && data == QDQ_INT8)
        return "its data is int8, and its weight is not";
    return qdq_place_weight_ineligible(p, found, qdq_place_weight_axis(p, n, w));
}

/* An activation that a linear operator reads; *type is what its codes are, or will be. */
const char *qdq_place_evaluate_data(qdq_placing *p, const qdq_node *n, const qdq_value *v,
                                    const char *what, qdq_elem *type)
{
    const qdq_found *found = qdq_place_found(p, v);

    if (!qdq_place_is_float(v))
        return qdq_place_no_float(v);
    *type = qdq_place_codes_at(p, v, n);
    if (found != NULL)
        return qdq_place_ineligible(p, found, what);
    if (qdq_place_codes_of(p, v) != QDQ_UNDEFINED)
        return NULL;
    return would_requantize(p, v)
               ? "a Q here would make the engine quantize the operator before, which stays float"
               : NULL;
}

/* A MatMul of two activations has a kernel of its own. */
static const char *evaluate_product(qdq_placing *p, const qdq_node *n, const qdq_value *data,
                                    const qdq_value *weight)
{
    qdq_elem a, b;

    if (n->op != QDQ_OP_MATMUL)
        return "its weight is not constant";
    const char *reason = qdq_place_evaluate_data(p, n, data, "its first operand", &a);
    if (reason == NULL)
        reason = qdq_place_evaluate_data(p, n, weight, "its second operand", &b);
    if (reason == NULL && a == QDQ_INT8 && b != QDQ_INT8 &&
        qdq_place_codes_of(p, weight) != QDQ_UNDEFINED)
        reason = "its first operand is int8, and its second is not";
    return reason;
}

/* Does n compute channels in float that a product of the same data leaves out in 8 bits? As
 * insertion writes them: a Gather in the last dimension of what goes into a Q, too. */
static bool has_float_channels(const qdq_value *data)
{
    const qdq_node *gather = data->producer;
    const qdq_tensor *channels = gather != NULL ? qdq_node_const(gather, 1) : NULL;
    const qdq_value *x = gather != NULL ? qdq_node_in(gather, 0) : NULL;

    if (channels == NULL || x == NULL || gather->op != QDQ_OP_GATHER || channels->rank != 1 ||
        qdq_node_int(gather, "axis", 0) != -1)
        return false;
    for (const qdq_use *u = x->first; u != NULL; u = u->next)
        if (u->node->op == QDQ_OP_QUANTIZELINEAR && u->index == 0)
            return true;
    return false;
}

static const char *evaluate_linear(qdq_placing *p, const qdq_node *n)
{
    const qdq_target_op *rule = qdq_state_of(p, n)->rule;
    const qdq_value *data = qdq_node_in(n, rule->data), *weight = qdq_node_in(n, rule->weight);
    const qdq_found *found;
    qdq_elem type;

    if (data == NULL || weight == NULL)
        return "an input is missing";
    const qdq_tensor *w = qdq_place_weight(p, weight, &found);
    if (qdq_value_const(data) != NULL)
        return w != NULL ? "both inputs are constant" : "its data is constant, its weight is not";
    if (w == NULL) {
        const char *no = evaluate_product(p, n, data, weight);
        bool trained = qdq_place_found(p, data) != NULL || qdq_place_found(p, weight) != NULL;

        return no != NULL || trained ? no : qdq_place_stay(p, n, NULL);
    }
    if (has_float_channels(data))
        return "its channels are in float, as other products leave them out in 8 bits";
    const char *reason = qdq_place_evaluate_data(p, n, data, "its data", &type);
    if (reason == NULL)
        reason = qdq_place_evaluate_weight(p, n, w, found, type);
    if (reason == NULL)
        reason = evaluate_bias(p, n, rule, w);
    if (reason == NULL)
        reason = evaluate_bias_scale(p, n, data, weight);
    /* codes that are there already would be dequantized in every run */
    if (reason == NULL && found == NULL)
        reason = qdq_place_stay(p, n, w);
    if (reason == NULL && (rule->quantize_output || rule->quantize_if_read))
        reason = qdq_place_result_ineligible(p, qdq_place_epilogue(p, rule, n, NULL), type);
    return reason;
}

/* One operand of a joint operator; *type is that of the codes of the others before it, if there
 * were any. *shared: that of the codes which it can have because a linear operator reads them. */
static const char *evaluate_operand(qdq_placing *p, const qdq_value *v, qdq_elem *type,
                                    qdq_elem *shared)
{
    const qdq_tensor *constant = qdq_value_const(v);
    qdq_elem codes = qdq_place_codes_of(p, v);

    if (constant == NULL && !qdq_place_is_float(v))
        return qdq_place_no_float(v);
    if (codes != QDQ_UNDEFINED) {
        const char *reason = qdq_place_found(p, v) != NULL
                                 ? qdq_place_ineligible(p, qdq_place_found(p, v), "an input")
                                 : NULL;
        if (reason == NULL && *type != QDQ_UNDEFINED && *type != codes)
            reason = "its inputs are quantized to different types";
        *type = codes;
        return reason;
    }
    if (p->value[v->id].shared) {
        *shared = p->value[v->id].type;
        return NULL;
    }
    if (constant == NULL || constant->elem != QDQ_FLOAT)
        return "an input is not in 8 bits";
    /* a mask of -inf, say: it would become 0 */
    return qdq_place_is_finite(p, constant)
               ? NULL
               : "a constant operand is empty, or holds NaN or infinity";
}

static const char *evaluate_joint(qdq_placing *p, const qdq_node *n)
{
    qdq_node_state *s = qdq_state_of(p, n);
    qdq_elem type = QDQ_UNDEFINED, shared = QDQ_UNDEFINED;

    s->needs_reader = s->rule->only_between;
    for (uint32_t i = 0; i < n->n_in; i++) {
        const qdq_value *v = n->in[i].value;
        const char *reason = v != NULL ? evaluate_operand(p, v, &type, &shared) : NULL;

        if (reason != NULL)
            return reason;
        if (v != NULL && qdq_value_const(v) != NULL)
            s->needs_reader = true; /* alone, a constant operand is as fast in float */
    }
    if (type == QDQ_UNDEFINED)
        return "an input is not in 8 bits";
    if (shared != QDQ_UNDEFINED && shared != type)
        return "its inputs are quantized to different types";
    return s->rule->quantize_output || s->rule->quantize_if_read
               ? qdq_place_result_ineligible(p, qdq_place_epilogue(p, s->rule, n, NULL), type)
               : NULL;
}

/* The Q that the model has behind a result of a node that moves data: it must have the scale of the
 * input. */
static const char *evaluate_moved(qdq_placing *p, const qdq_value *out, const qdq_found *source)
{
    const qdq_value_state *s = &p->value[out->id];
    qdq_qparam param;

    if (s->quantizer != NULL &&
        (s->quantized_twice || source == NULL || !qdq_found_same(s->quantizer, source)))
        return "its result is quantized with another scale than its input";
    if (source != NULL && qdq_place_is_read_in_float(p, out) && !qdq_found_qparam(source, &param))
        return "its input is quantized with a scale that is computed";
    return NULL;
}

/* v is float and a graph output, and n alone reads it: a Q behind n would change the output, as the
 * engine moves it to v. One on the edge between them does not. */
static bool would_change_output(const qdq_placing *p, const qdq_node *n, const qdq_value *v)
{
    return v->n_output > 0 && v->n_use == 1 && v->graph == n->graph &&
           qdq_word_is_in(n->type, p->target->moves_q_over) && !would_requantize(p, v);
}

static const char *evaluate_pass(qdq_placing *p, const qdq_node *n)
{
    qdq_node_state *s = qdq_state_of(p, n);
    const qdq_value *v = qdq_node_in(n, s->rule->data);

    s->needs_reader = true;
    if (v == NULL || qdq_value_const(v) != NULL || !qdq_place_is_float(v))
        return "its data is not a float32 activation";
    const qdq_found *source = qdq_place_found(p, v);
    const char *reason = source != NULL ? qdq_place_ineligible(p, source, "its input") : NULL;
    if (source == NULL && !p->value[v->id].carries && !would_change_output(p, n, v))
        return "its input is not in 8 bits";
    if (p->value[v->id].carries)
        source = p->value[v->id].source;
    for (uint32_t i = 0; i < n->n_out && reason == NULL; i++)
        if (n->out[i] != NULL)
            reason = evaluate_moved(p, n->out[i], source);
    return reason;
}

bool qdq_place_attributes_fit(const qdq_target_op *rule, const qdq_node *n)
{
    for (size_t i = 0; i < rule->n_require; i++) {
        const qdq_attr *a = qdq_node_attr(n, rule->require[i].attribute);
        double have = a == NULL                   ? rule->require[i].value
                      : a->type == QDQ_ATTR_FLOAT ? (double)a->v.f
                      : a->type == QDQ_ATTR_INT   ? (double)a->v.i
                                                  : NAN;
        if (have != rule->require[i].value)
            return false;
    }
    return true;
}

/* Would a value that carries Q/DQ because of n be a graph output? */
static bool gives_graph_output(const qdq_placing *p, const qdq_node *n, const qdq_target_op *rule)
{
    for (uint32_t i = 0; i < n->n_out && rule->kind == QDQ_KIND_PASS; i++)
        if (n->out[i] != NULL && n->out[i]->n_output > 0)
            return true;
    return rule->quantize_output && qdq_place_epilogue(p, rule, n, NULL)->n_output > 0;
}

static const char *evaluate_node(qdq_placing *p, const qdq_node *n)
{
    qdq_node_state *s = qdq_state_of(p, n);
    const char *reason = NULL;

    if (qdq_node_is_qdq(n))
        return "part of the model's own quantization";
    if (n->op == QDQ_OP_UNKNOWN)
        return "unknown operator";
    s->rule = qdq_target_find(p->target, n->type);
    if (s->rule == NULL)
        return qdq_target_reason(p->target, n->type);
    if (!qdq_place_attributes_fit(s->rule, n))
        return "its attributes have no 8-bit kernel";
    if (!qdq_place_is_float(qdq_node_out(n, 0)))
        return qdq_place_no_float(qdq_node_out(n, 0));
    for (uint32_t i = 1; i < n->n_out; i++)
        if (n->out[i] != NULL && !qdq_place_is_float(n->out[i])) /* the indices of a MaxPool */
            return "not all of its results are float32";
    switch (s->rule->kind) {
    case QDQ_KIND_LINEAR:
        reason = evaluate_linear(p, n);
        break;
    case QDQ_KIND_JOINT:
        reason = evaluate_joint(p, n);
        break;
    case QDQ_KIND_TABLE:
        reason = "a table: its rows are quantized where activations stay float";
        break;
    case QDQ_KIND_RECURRENT:
        reason = qdq_target_reason(p->target, n->type);
        break;
    case QDQ_KIND_PASS:
        reason = evaluate_pass(p, n);
        break;
    }
    if (reason == NULL && !p->target->dequantized_outputs && gives_graph_output(p, n, s->rule))
        return "its result is a graph output, which stays float";
    return reason;
}

const char *qdq_place_evaluate(qdq_placing *p, const qdq_node *n)
{
    const char *reason = evaluate_node(p, n);
    const qdq_target_op *rule = qdq_state_of(p, n)->rule;

    if (rule == NULL)
        qdq_why_say(qdq_place_listener(p), n, "operators", false, "%s", reason);
    else
        qdq_why_say(qdq_place_listener(p), n, rule->rule, reason == NULL, "%s",
                    reason != NULL ? reason : "fits: 8 bits, with what reaches it");
    return reason;
}
