/* check_fusion.c - each node next to Q/DQ: does it run in 8 bits, and if not, what is missing? And
 * each pair: does anything on either side of it? */
#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "base/words.h"
#include "quant/check/check_state.h"

/* Integer kernels of ONNX Runtime, as their names begin. */
static bool is_integer_kernel(const char *kernel)
{
    return kernel != NULL && QDQ_TEXT_BEGINS(kernel, "QLinear", "QGemm", "MatMulInteger",
                                             "DynamicQuantizeMatMul", "MatMulNBits");
}

static bool reads_q(const qdq_value *v)
{
    QDQ_FOR_USES (u, v)
        if (u->node->op == QDQ_OP_QUANTIZELINEAR && u->index == 0)
            return true;
    return false;
}

static bool reads_float(const qdq_value *v)
{
    QDQ_FOR_USES (u, v)
        if (u->node->op != QDQ_OP_QUANTIZELINEAR || u->index != 0)
            return true;
    return false;
}

/* --- what it costs ---------------------------------------------------------------------------- */

/* Elements that the Q/DQ around n turn over, and the time that the engine took for them. */
static uint64_t cost_of(const qdq_checking *c, const qdq_node *n, const qdq_value *result,
                        double *us)
{
    uint64_t elements = 0;

    *us = 0;
    for (uint32_t i = 0; i < n->n_in; i++) {
        const qdq_node *dq = qdq_check_dq(c, n->in[i].value);

        if (dq == NULL)
            continue;
        elements += qdq_check_elements(n->in[i].value);
        *us += qdq_check_of(c, dq)->microseconds;
    }
    if (result == NULL)
        return elements;
    QDQ_FOR_USES (u, result)
        if (u->node->op == QDQ_OP_QUANTIZELINEAR && u->index == 0 &&
            u->node->graph == c->m->graph) {
            elements += qdq_check_elements(result);
            *us += qdq_check_of(c, u->node)->microseconds;
        }
    return elements;
}

static qdq_status quote_figures(qdq_checking *c, const qdq_node *n, qdq_target_finding *f)
{
    const qdq_measured *m =
        n->domain[0] == '\0' ? qdq_target_figures(c->t, n->type, qdq_check_of(c, n)->reason) : NULL;

    if (m == NULL)
        return QDQ_OK;
    f->measured = qdq_measured_text(m, &c->arena);
    return qdq_allocated(f->measured != NULL, c->err);
}

static qdq_status add_finding(qdq_checking *c, qdq_check_kind_id kind, const qdq_node *n,
                              const qdq_value *result, const char *why)
{
    double us;
    uint64_t elements = cost_of(c, n, result, &us);

    QDQ_NEED(why != NULL, c->err);
    QDQ_TRY(qdq_check_add(c, kind, n, elements, "%s", why));
    c->found.at[c->found.n - 1].microseconds = us;
    return quote_figures(c, n, &c->found.at[c->found.n - 1]);
}

/* --- Relu and Clip that the kernel has to do by itself ---------------------------------------- */

static double bound_of(const qdq_node *n, uint32_t input, const char *attribute, double fallback)
{
    const qdq_tensor *t = qdq_node_const(n, input);
    double x;

    if (t != NULL && qdq_tensor_scalar(t, &x))
        return x;
    return qdq_node_attr(n, attribute) != NULL ? (double)qdq_node_float(n, attribute, 0) : fallback;
}

/* Do the codes behind `result` end where this Relu or Clip does, so that an engine can leave it
 * out? */
static bool ends_with_codes(const qdq_node *n, const qdq_qparam *p)
{
    bool is_clip = n->op == QDQ_OP_CLIP;
    double low = is_clip ? bound_of(n, 1, "min", -INFINITY) : 0,
           high = is_clip ? bound_of(n, 2, "max", INFINITY) : INFINITY;
    int32_t lowest, highest;

    if (!qdq_elem_code_limits(p->type, &lowest, &highest))
        return true;
    double first = ((double)lowest - (double)p->zero_point) * (double)p->scale;
    double last = ((double)highest - (double)p->zero_point) * (double)p->scale,
           room = (double)p->scale / 2;
    return first >= low - room && last <= high + room;
}

static const qdq_node *bounds_between(const qdq_checking *c, const qdq_node *n,
                                      const qdq_value *result)
{
    qdq_qparam p;

    QDQ_FOR_USES (u, result) {
        const qdq_found *f = u->node->graph == c->m->graph ? qdq_check_of(c, u->node)->found : NULL;

        if (u->node->op != QDQ_OP_QUANTIZELINEAR || f == NULL || !qdq_found_qparam(f, &p))
            continue;
        for (const qdq_value *v = result; v != NULL && v->producer != NULL && v->producer != n;
             v = qdq_node_in(v->producer, 0))
            if ((v->producer->op == QDQ_OP_RELU || v->producer->op == QDQ_OP_CLIP) &&
                !ends_with_codes(v->producer, &p))
                return v->producer;
    }
    return NULL;
}

/* --- what is missing -------------------------------------------------------------------------- */

static bool is_requantized(const qdq_checking *c, const qdq_node *n)
{
    for (size_t i = 0; c->t->requantizes != NULL && c->t->requantizes[i] != NULL; i++)
        if (strcmp(c->t->requantizes[i], n->type) == 0)
            return true;
    return false;
}

static qdq_status missing_output(qdq_checking *c, const qdq_node *n, const qdq_value *result,
                                 bool *any)
{
    *any = true;
    if (!reads_q(result))
        return add_finding(
            c, QDQ_CHECK_NO_OUTPUT_Q, n, result,
            "no QuantizeLinear reads its result, and its 8-bit kernel gives codes: it runs "
            "in float");
    if (result->n_output > 0)
        return add_finding(c, QDQ_CHECK_SHARED_RESULT, n, result,
                           "its result is an output of the graph as well: it runs in float");
    if (reads_float(result))
        return add_finding(c, QDQ_CHECK_SHARED_RESULT, n, result,
                           "its result is read in float as well: it runs in float");
    *any = false;
    return QDQ_OK;
}

static qdq_status missing_linear(qdq_checking *c, const qdq_node *n, const qdq_target_op *rule,
                                 const qdq_value *result, bool *any)
{
    const qdq_value *data = qdq_node_in(n, rule->data), *weight = qdq_node_in(n, rule->weight);
    const qdq_value *bias = rule->bias == QDQ_BIAS_INPUT ? qdq_node_in(n, rule->bias_input) : NULL;
    bool has_data = qdq_check_dq(c, data) != NULL;

    *any = true;
    if (qdq_check_dq(c, weight) == NULL && weight != NULL && qdq_value_const(weight) != NULL)
        return add_finding(
            c, QDQ_CHECK_FLOAT_WEIGHT, n, result,
            has_data && is_requantized(c, n) && reads_q(result)
                ? "its weight is float: the engine quantizes it by itself, with one scale for the "
                  "whole tensor"
                : "its weight is float: it runs in float");
    if (!has_data)
        return add_finding(c, QDQ_CHECK_FLOAT_DATA, n, result,
                           "its data is not behind a DequantizeLinear: it runs in float");
    if (qdq_check_dq(c, weight) == NULL)
        return add_finding(c, QDQ_CHECK_FLOAT_DATA, n, result,
                           "its second operand is not behind a DequantizeLinear: it runs in float");
    if (rule->quantize_output) {
        QDQ_TRY(missing_output(c, n, result, any));
        if (*any)
            return QDQ_OK;
    }
    *any = c->t->format.int32_bias && bias != NULL && qdq_value_const(bias) != NULL;
    if (*any)
        return add_finding(c, QDQ_CHECK_FLOAT_BIAS, n, result,
                           "its bias is float, and its kernel adds int32 codes");
    return QDQ_OK;
}

static qdq_status missing_operands(qdq_checking *c, const qdq_node *n, const qdq_target_op *rule,
                                   const qdq_value *result, bool *any)
{
    *any = true;
    for (uint32_t i = 0; i < n->n_in; i++) {
        bool is_data = i < 32 ? (rule->inputs >> i & 1) != 0 : rule->inputs == QDQ_INPUTS_ALL;

        if (is_data && n->in[i].value != NULL && qdq_check_dq(c, n->in[i].value) == NULL)
            return add_finding(c, QDQ_CHECK_FLOAT_DATA, n, result,
                               "one of its operands is float: it runs in float");
    }
    *any = false;
    return rule->quantize_output ? missing_output(c, n, result, any) : QDQ_OK;
}

/* Placement would complete n. What with? */
static qdq_status report_missing(qdq_checking *c, const qdq_node *n, const qdq_target_op *rule,
                                 const qdq_value *result)
{
    bool any = false;

    switch (rule->kind) {
    case QDQ_KIND_LINEAR:
        QDQ_TRY(missing_linear(c, n, rule, result, &any));
        break;
    case QDQ_KIND_JOINT:
    case QDQ_KIND_PASS:
        QDQ_TRY(missing_operands(c, n, rule, result, &any));
        break;
    case QDQ_KIND_TABLE: /* its result is float: nothing belongs behind it */
    case QDQ_KIND_RECURRENT:
        break;
    }
    if (any)
        return QDQ_OK;
    return reads_q(n->out[0]) || rule->kind != QDQ_KIND_PASS
               ? add_finding(c, QDQ_CHECK_NOT_FUSED, n, result,
                             "its Q/DQ are not complete: quantize adds what is missing")
               : QDQ_OK;
}

/* --- operators that move codes ---------------------------------------------------------------- */

/* All Q/DQ around n have one scale. */
static bool is_tied(const qdq_checking *c, const qdq_node *n, const qdq_target_op *rule)
{
    const qdq_found *first = NULL;

    for (uint32_t i = 0; i < n->n_in; i++) {
        const qdq_node *dq = qdq_check_dq(c, n->in[i].value);
        bool is_data = i < 32 ? (rule->inputs >> i & 1) != 0 : rule->inputs == QDQ_INPUTS_ALL;
        const qdq_found *f = dq != NULL && is_data ? qdq_check_of(c, dq)->found : NULL;

        if (f != NULL && first != NULL && !qdq_found_same(first, f))
            return false;
        first = f != NULL ? f : first;
    }
    for (uint32_t i = 0; i < n->n_out && first != NULL; i++) {
        if (n->out[i] == NULL)
            continue;
        QDQ_FOR_USES (u, n->out[i]) {
            bool is_q = u->node->op == QDQ_OP_QUANTIZELINEAR && u->index == 0 &&
                        u->node->graph == c->m->graph;
            const qdq_found *f = is_q ? qdq_check_of(c, u->node)->found : NULL;

            if (f != NULL && !qdq_found_same(first, f))
                return false;
        }
    }
    return true;
}

/* --- one node --------------------------------------------------------------------------------- */

static bool has_dq(const qdq_checking *c, const qdq_node *n)
{
    for (uint32_t i = 0; i < n->n_in; i++)
        if (qdq_check_dq(c, n->in[i].value) != NULL)
            return true;
    return false;
}

static bool has_constant_dq(const qdq_checking *c, const qdq_node *n)
{
    for (uint32_t i = 0; i < n->n_in; i++) {
        const qdq_node *dq = qdq_check_dq(c, n->in[i].value);

        if (dq != NULL && qdq_found_constant(dq) != NULL)
            return true;
    }
    return false;
}

/* int8 data of which every reader wants its own uint8. */
static bool is_int8_shared(const qdq_checking *c, const qdq_node *n, const qdq_target_op *rule)
{
    const qdq_node *dq = qdq_check_dq(c, qdq_node_in(n, rule->data));
    const qdq_value *codes = dq != NULL ? qdq_node_in(dq, 0) : NULL;

    return c->t->int8_one_reader && codes != NULL && qdq_value_const(codes) == NULL &&
           qdq_check_of(c, dq)->found != NULL && qdq_check_of(c, dq)->found->type == QDQ_INT8 &&
           (codes->n_use > 1 || dq->out[0]->n_use > 1 || codes->producer == NULL);
}

/* The engine's word counts, where there is one. */
static bool runs_in_8_bits(const qdq_checking *c, const qdq_node *n, const qdq_target_op *rule)
{
    const qdq_check_node *s = qdq_check_of(c, n);
    double us;

    if (!c->proven)
        return s->fused && (!rule->quantize_output ||
                            bounds_between(c, n, qdq_check_result(c, rule, n)) == NULL);
    if (rule->kind != QDQ_KIND_PASS)
        return is_integer_kernel(s->kernel);
    /* their name says nothing: codes are moved where no Q/DQ is left */
    cost_of(c, n, n->out[0], &us);
    return us == 0;
}

/* --- nodes in float next to Q/DQ of kernels --------------------------------------------------- */

/* Does an 8-bit kernel, or what the engine fuses into it, compute v in quantized values? */
static bool is_result_of_kernel(const qdq_checking *c, const qdq_value *v)
{
    for (int steps = 0; v->producer != NULL && steps < 8; steps++) {
        const qdq_node *n = v->producer;
        const qdq_target_op *rule = n->domain[0] == '\0' ? qdq_target_find(c->t, n->type) : NULL;

        if (n->graph != c->m->graph)
            return false;
        if (rule != NULL && runs_in_8_bits(c, n, rule))
            return rule->quantize_output || rule->quantize_if_read;
        if (qdq_check_of(c, n)->reason != NULL || qdq_node_in(n, 0) == NULL)
            return false;
        v = n->in[0].value;
    }
    return false;
}

/* Does any 8-bit kernel read these quantized values? */
static bool is_data_of_kernel(const qdq_checking *c, const qdq_value *quantized)
{
    QDQ_FOR_USES (u, quantized) {
        if (u->node->op != QDQ_OP_DEQUANTIZELINEAR || u->node->graph != c->m->graph ||
            u->node->out[0] == NULL)
            continue;
        QDQ_FOR_USES (r, u->node->out[0]) {
            const qdq_target_op *rule = r->node->graph == c->m->graph && r->node->domain[0] == '\0'
                                            ? qdq_target_find(c->t, r->node->type)
                                            : NULL;
            if (rule != NULL && runs_in_8_bits(c, r->node, rule))
                return true;
        }
    }
    return false;
}

/* Placement leaves n float, and kernels next to it need all Q/DQ around it: nothing is converted
 * for n, as for a Mul of a Gelu between two Convs. */
static bool is_bystander(const qdq_checking *c, const qdq_node *n)
{
    const qdq_target_op *rule = n->domain[0] == '\0' ? qdq_target_find(c->t, n->type) : NULL;

    if (rule == NULL || qdq_check_of(c, n)->reason == NULL ||
        (rule->kind != QDQ_KIND_JOINT && rule->kind != QDQ_KIND_PASS))
        return false;
    for (uint32_t i = 0; i < n->n_in; i++) {
        const qdq_node *dq = qdq_check_dq(c, n->in[i].value);
        const qdq_value *quantized = dq != NULL ? qdq_node_in(dq, 0) : NULL;
        const qdq_node *q = quantized != NULL ? quantized->producer : NULL;

        if (dq != NULL && (q == NULL || q->op != QDQ_OP_QUANTIZELINEAR ||
                           qdq_node_in(q, 0) == NULL || !is_result_of_kernel(c, q->in[0].value)))
            return false;
    }
    for (uint32_t i = 0; i < n->n_out; i++) {
        if (n->out[i] == NULL)
            continue;
        QDQ_FOR_USES (u, n->out[i])
            if (u->node->op == QDQ_OP_QUANTIZELINEAR && u->index == 0 &&
                (qdq_node_out(u->node, 0) == NULL || !is_data_of_kernel(c, u->node->out[0])))
                return false;
    }
    return true;
}

static qdq_status report_float(qdq_checking *c, const qdq_node *n, const qdq_target_op *rule,
                               const qdq_value *result)
{
    const qdq_check_node *s = qdq_check_of(c, n);

    if (rule->kind == QDQ_KIND_PASS && !is_tied(c, n, rule))
        return add_finding(c, QDQ_CHECK_TIED_SCALES, n, result,
                           "it moves codes, and the scales on its sides differ: it runs in float");
    if (is_int8_shared(c, n, rule))
        return add_finding(
            c, QDQ_CHECK_INT8_SHARED, n, result,
            "its data is int8 and has several readers: on x86-64 the engine cannot make it uint8");
    const qdq_node *bounds = rule->quantize_output ? bounds_between(c, n, result) : NULL;
    if (bounds != NULL)
        return add_finding(
            c, QDQ_CHECK_BOUNDS, n, result,
            qdq_arena_printf(&c->arena,
                             "codes behind %s '%s' reach further than it does, so it stays: "
                             "the node runs in float",
                             bounds->type, qdq_node_label(bounds, &c->arena)));
    if (rule->kind == QDQ_KIND_JOINT && rule->quantize_if_read && !reads_q(result))
        return QDQ_OK; /* it reads floats that others read as codes, and gives floats */
    if (is_bystander(c, n))
        return QDQ_OK;
    if (s->reason != NULL)
        return add_finding(c, QDQ_CHECK_NOT_FUSED, n, result, s->reason);
    if (s->planned)
        return report_missing(c, n, rule, result);
    if (!s->fused)
        return QDQ_OK; /* a part of its neighbour's kernel */
    return add_finding(c, QDQ_CHECK_NOT_FUSED, n, result,
                       "nothing is missing by the rules, but the engine did not run it in 8 bits");
}

/* Float weights that the engine quantizes run in 8 bits, to wrong numbers: the kernel is no
 * excuse. */
static bool is_rough(const qdq_checking *c, const qdq_node *n, const qdq_target_op *rule,
                     const qdq_value *result)
{
    const qdq_value *w = rule->kind == QDQ_KIND_LINEAR ? qdq_node_in(n, rule->weight) : NULL;

    return w != NULL && qdq_value_const(w) != NULL &&
           qdq_check_dq(c, qdq_node_in(n, rule->data)) != NULL && is_requantized(c, n) &&
           reads_q(result);
}

/* The target wants codes of the weight alone, and has them: its data is float by design, and
 * nothing is left to fuse. */
static bool is_done_by_weight(const qdq_checking *c, const qdq_node *n, const qdq_target_op *rule)
{
    bool has_weight = rule->kind == QDQ_KIND_LINEAR || rule->kind == QDQ_KIND_TABLE;
    const qdq_node *dq = has_weight ? qdq_check_dq(c, qdq_node_in(n, rule->weight)) : NULL;

    return dq != NULL && qdq_found_constant(dq) != NULL && qdq_format_weight_only(c->format[n->id]);
}

/* A product of codes runs in 8 bits, whether or not the engine takes what scales it into its
 * kernel. */
static qdq_status check_integer(qdq_checking *c, const qdq_node *n)
{
    const qdq_check_node *s = qdq_check_of(c, n);

    c->n_fused++;
    return c->proven && s->kernel != NULL && strcmp(s->kernel, "MatMulInteger") == 0
               ? add_finding(c, QDQ_CHECK_NOT_FUSED, n, NULL,
                             "the engine does not fuse the Cast and the Mul behind it: scales "
                             "are multiplied as Mul(scale of data, scale of weight)")
               : QDQ_OK;
}

static qdq_status check_node(qdq_checking *c, const qdq_node *n)
{
    const qdq_target_op *rule = n->domain[0] == '\0' ? qdq_target_find(c->t, n->type) : NULL;
    const qdq_value *result = qdq_node_out(n, 0);

    if (result == NULL)
        return QDQ_OK;
    if (n->op == QDQ_OP_MATMULINTEGER || n->op == QDQ_OP_CONVINTEGER ||
        qdq_node_is_contrib(n, "DynamicQuantizeLSTM"))
        return check_integer(c, n);
    if (rule == NULL)
        return has_constant_dq(c, n)
                   ? add_finding(c, QDQ_CHECK_CONSTANT, n, NULL, qdq_target_reason(c->t, n->type))
                   : QDQ_OK;
    result = qdq_check_result(c, rule, n);
    if (!has_dq(c, n) && !reads_q(result))
        return QDQ_OK;
    if (rule->kind == QDQ_KIND_LINEAR)
        QDQ_TRY(qdq_check_linear(c, n, rule));
    if (is_done_by_weight(c, n, rule)) {
        c->n_weights++;
        return QDQ_OK;
    }
    bool fused = runs_in_8_bits(c, n, rule);
    c->n_fused += fused;
    if (fused && !is_rough(c, n, rule, result))
        return is_int8_shared(c, n, rule) && !c->proven
                   ? add_finding(c, QDQ_CHECK_INT8_SHARED, n, result,
                                 "its data is int8 and has several readers: on "
                                 "x86-64 the engine cannot make it uint8")
                   : QDQ_OK;
    if (!has_dq(c, n)) /* a border: float in front, codes behind */
        return QDQ_OK;
    size_t before = c->found.n;
    QDQ_TRY(report_float(c, n, rule, result));
    c->n_unfused += c->found.n > before && !fused;
    return QDQ_OK;
}

/* --- pairs ------------------------------------------------------------------------------------ */

/* All of the pair is fused away. */
static bool is_gone(const qdq_checking *c, const qdq_node *q)
{
    if (!c->proven || qdq_check_of(c, q)->microseconds > 0)
        return false;
    QDQ_FOR_USES (u, q->out[0])
        if (u->node->graph == c->m->graph && qdq_check_of(c, u->node)->microseconds > 0)
            return false;
    return true;
}

/* Does n run in 8 bits, or will it be said why it does not? */
static bool is_kernel(const qdq_checking *c, const qdq_node *n)
{
    const qdq_check_node *s = qdq_check_of(c, n);

    return s->fused || s->planned || is_integer_kernel(s->kernel) ||
           (n->domain[0] == '\0' && qdq_target_find(c->t, n->type) != NULL && has_dq(c, n) &&
            !is_bystander(c, n));
}

/* Will v, or what is fused in front of it, be made by an 8-bit kernel? */
static bool is_made_in_8_bits(const qdq_checking *c, const qdq_value *v)
{
    for (int steps = 0; v->producer != NULL && steps < 8; steps++) {
        if (v->producer->graph != c->m->graph)
            return false;
        if (is_kernel(c, v->producer))
            return true;
        if (qdq_check_of(c, v->producer)->reason != NULL || qdq_node_in(v->producer, 0) == NULL)
            return false;
        v = v->producer->in[0].value; /* absorbed by what is before it */
    }
    return false;
}

/* Is anything that reads the codes' floats a kernel for codes? */
static bool is_read_in_8_bits(const qdq_checking *c, const qdq_value *codes)
{
    QDQ_FOR_USES (u, codes) {
        if (u->node->op != QDQ_OP_DEQUANTIZELINEAR || u->node->out[0] == NULL ||
            u->node->graph != c->m->graph)
            return true; /* not a pair */
        QDQ_FOR_USES (r, u->node->out[0]) {
            if (r->node->graph == c->m->graph &&
                (is_kernel(c, r->node) || qdq_check_is_quantizer(r->node)))
                return true;
        }
    }
    return false;
}

static qdq_status check_pair(qdq_checking *c, const qdq_node *q)
{
    const qdq_value *x = qdq_node_in(q, 0), *codes = qdq_node_out(q, 0);

    if (x == NULL || codes == NULL || codes->n_output > 0 || codes->n_use == 0 ||
        qdq_value_const(x) != NULL || is_gone(c, q) || is_made_in_8_bits(c, x) ||
        is_read_in_8_bits(c, codes))
        return QDQ_OK;
    QDQ_TRY(qdq_check_add(c, QDQ_CHECK_USELESS, q, 2 * qdq_check_elements(x),
                          "neither what makes '%s' nor what reads it runs in 8 bits", x->name));
    c->found.at[c->found.n - 1].microseconds = qdq_check_of(c, q)->microseconds;
    return QDQ_OK;
}

qdq_status qdq_check_fusion(qdq_checking *c)
{
    QDQ_FOR_NODES (n, c->m->graph) {
        if (n->op == QDQ_OP_QUANTIZELINEAR)
            QDQ_TRY(check_pair(c, n));
        else if (!qdq_check_is_quantizer(n))
            QDQ_TRY(check_node(c, n));
    }
    return QDQ_OK;
}
