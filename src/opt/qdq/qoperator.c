/* qoperator.c - qoperator-to-qdq: operators that compute on codes become the float operator between
 * DequantizeLinear and QuantizeLinear, which is what they are defined to compute:
 *
 *     y = QLinearConv(x, xs, xz, w, ws, wz, ys, yz, b)
 *  => y = QuantizeLinear(Conv(DequantizeLinear(x, xs, xz),
 *                             DequantizeLinear(w, ws, wz),
 *                             DequantizeLinear(b, xs * ws)), ys, yz)
 *
 * Also com.microsoft's QuantizeLinear and DequantizeLinear, which become those of the standard, and
 * operators that only move codes between the others. An engine that fuses Q/DQ runs the same
 * kernels afterwards; placement, import and strip then see what is there. Values behind which ONNX
 * Runtime's tool put "_quantized" get their old names back. */
#include "opt/qdq/qoperator.h"

#include <string.h>

#include "base/fail.h"

/* --- what codes mean -------------------------------------------------------------------------- */

const qdq_codes *qdq_qop_codes(const qdq_qop *s, const qdq_value *v)
{
    qdq_map_value *place = qdq_map_get_int(&s->codes, (uint64_t)(uintptr_t)v);

    return place != NULL ? place->ptr : NULL;
}

qdq_status qdq_qop_remember(qdq_qop *s, const qdq_value *v, qdq_codes codes)
{
    qdq_map_value *place = qdq_map_put_int(&s->codes, (uint64_t)(uintptr_t)v, NULL);
    qdq_codes *copy = qdq_arena_alloc(&s->o->scratch, sizeof *copy);

    QDQ_NEED(place != NULL && copy != NULL, s->err);
    *copy = codes;
    place->ptr = copy;
    return QDQ_OK;
}

static qdq_elem elem_of(const qdq_value *v)
{
    const qdq_tensor *t = qdq_value_const(v);

    return t != NULL ? t->elem : qdq_value_elem(v);
}

qdq_elem qdq_qop_elem(const qdq_qop *s, const qdq_value *v, const qdq_value *zero)
{
    const qdq_codes *known = v != NULL ? qdq_qop_codes(s, v) : NULL;

    if (elem_of(zero) != QDQ_UNDEFINED)
        return elem_of(zero);
    return known != NULL && known->elem != QDQ_UNDEFINED ? known->elem : elem_of(v);
}

/* How many elements it has; -1: not known. */
static int64_t count_of(const qdq_value *v)
{
    const qdq_tensor *t = qdq_value_const(v);

    if (t != NULL)
        return t->count;
    if (v->type == NULL || v->type->kind != QDQ_TYPE_TENSOR)
        return -1;
    return v->type->rank == 0 ? 1 : v->type->rank == 1 ? v->type->dim[0].value : -1;
}

const char *qdq_qop_scale(const qdq_qop *s, const qdq_value *scale, const qdq_value *zero,
                          int *axis)
{
    bool one_expected = *axis < 0;

    if (scale == NULL)
        return "a scale is missing";
    int64_t n = count_of(scale), zeros = zero != NULL ? count_of(zero) : n;
    /* operators want one for activations: a computed one is one */
    if (n == 1 || (n < 0 && one_expected)) {
        *axis = -1;
        return zeros == n || zeros <= 1 ? NULL : "it has not as many zero points as scales";
    }
    if (one_expected)
        return "its data has several scales";
    if (n < 0)
        return "its weight has an unknown number of scales";
    if (zeros != n)
        return "it has not as many zero points as scales";
    return qdq_graph_opset(s->g) >= 13 ? NULL : "scales per channel need opset 13";
}

/* --- building --------------------------------------------------------------------------------- */

/* The name without a suffix that quantizers append; NULL: it has none. */
static const char *without(qdq_qop *s, const char *name, const char *suffix)
{
    size_t n = strlen(name), k = strlen(suffix);

    if (n <= k || strcmp(name + n - k, suffix) != 0)
        return NULL;
    return qdq_arena_strndup(&s->o->scratch, name, n - k);
}

/* What the float that codes called `name` stand for is called. */
static const char *float_name(qdq_qop *s, const char *name, const char *otherwise)
{
    const char *base = without(s, name, "_quantized");

    return base != NULL ? base : qdq_arena_printf(&s->o->scratch, "%s%s", name, otherwise);
}

static qdq_node *add_node(qdq_qop *s, qdq_node *before, const char *op, const char *base,
                          qdq_value *x, qdq_value *scale, qdq_value *zero)
{
    const char *name = qdq_arena_printf(&s->o->scratch, "%s_%s", base, op);
    const char *out = qdq_arena_printf(&s->o->scratch, "%s_%s_Output", base, op);

    return name != NULL && out != NULL
               ? qdq_graph_add_op(s->g, before, op, name, out, zero != NULL ? 3 : 2,
                                  (qdq_value *[]){x, scale, zero})
               : NULL;
}

static const qdq_type *with_elem(qdq_qop *s, const qdq_type *type, qdq_elem elem)
{
    if (type == NULL || type->kind != QDQ_TYPE_TENSOR)
        return qdq_type_tensor(s->g->model, elem, -1, NULL);
    return qdq_type_tensor(s->g->model, elem, type->rank, type->dim);
}

qdq_value *qdq_qop_dequantize(qdq_qop *s, qdq_node *before, qdq_value *v, qdq_value *scale,
                              qdq_value *zero, int axis)
{
    const char *base = float_name(s, v->name, "");
    qdq_node *n =
        base != NULL ? add_node(s, before, "DequantizeLinear", base, v, scale, zero) : NULL;

    if (n == NULL || (axis >= 0 && !qdq_node_set_int(n, "axis", axis)))
        return NULL;
    return n->out[0];
}

/* Where nothing is said, codes of Q are uint8. */
static qdq_status complete(qdq_qop *s, qdq_node *n, qdq_codes *c)
{
    void *data;

    if (c->zero != NULL || c->elem == QDQ_UINT8)
        return QDQ_OK;
    qdq_tensor *t = qdq_tensor_new(s->g->model, c->elem, 0, NULL, &data);
    c->zero = qdq_opt_constant(s->o, n, "zero_point", "", t);
    return c->zero != NULL ? QDQ_OK : qdq_nomem(s->err);
}

qdq_status qdq_qop_requantize(qdq_qop *s, qdq_node *n, uint32_t i, qdq_codes c)
{
    qdq_value *y = n->out[i];
    const char *name = y->name, *base = float_name(s, name, "_float");
    bool is_output = y->n_output > 0;

    QDQ_TRY(complete(s, n, &c));
    qdq_node *behind = n->next == &s->g->end ? NULL : n->next;
    qdq_node *q =
        base != NULL ? add_node(s, behind, "QuantizeLinear", base, NULL, c.scale, c.zero) : NULL;
    QDQ_NEED(q != NULL, s->err);
    qdq_value_set_type(q->out[0], with_elem(s, y->type, c.elem));
    qdq_value_replace(y, q->out[0]); /* q has a producer, so it can take a graph output's name */
    qdq_node_set_in(q, 0, y);
    qdq_value_set_type(y, with_elem(s, y->type, QDQ_FLOAT));
    base = qdq_graph_unique_name(s->g, base);
    if (base == NULL || !qdq_value_rename(y, base) ||
        (!is_output && !qdq_value_rename(q->out[0], name)))
        return qdq_nomem(s->err);
    return qdq_qop_remember(s, q->out[0], c);
}

qdq_status qdq_qop_recast(qdq_qop *s, qdq_node *n, const char *op, uint32_t n_in,
                          qdq_value *const *in, const char *drop)
{
    const char *name = without(s, n->name, "_quant");
    uint32_t n_attr = n->n_attr;
    qdq_attr **attr = qdq_arena_array(&s->o->scratch, n_attr + 1u, sizeof(qdq_attr *));

    QDQ_NEED(attr != NULL, s->err);
    for (uint32_t i = 0; i < n_attr; i++)
        attr[i] = n->attr[i];
    bool ok = qdq_opt_recast(n, op, n_in, in);
    for (uint32_t i = 0; i < n_attr && ok; i++)
        if (drop == NULL || strcmp(attr[i]->name, drop) != 0)
            ok = qdq_node_append_attr(n, attr[i]);
    if (ok && name != NULL) {
        name = qdq_graph_unique_node_name(s->g, name);
        ok = name != NULL && qdq_node_set_name(n, name);
    }
    return ok ? QDQ_OK : qdq_nomem(s->err);
}

/* --- Q and DQ that are there ------------------------------------------------------------------ */

/* Those of com.microsoft are older than the standard's, which has 16 and 4 bits since opset 21. */
static const char *speaks_against_standard(const qdq_qop *s, const qdq_node *n, qdq_elem elem)
{
    int64_t opset = qdq_graph_opset(s->g);
    const qdq_value *scale = qdq_node_in(n, 1);

    if (n->n_in < 2 || n->n_in > 3 || scale == NULL || qdq_node_out(n, 0) == NULL)
        return "its inputs are not those of a QuantizeLinear";
    if (elem == QDQ_UNDEFINED)
        return "the type of its codes is not known";
    if (qdq_elem_bits(elem) != 8 && elem != QDQ_INT32 && opset < 21)
        return "codes of this width need opset 21";
    if (opset < 10)
        return "Q/DQ need opset 10";
    return count_of(scale) == 1 || opset >= 13 ? NULL : "scales per channel need opset 13";
}

static qdq_status take_quantizer(qdq_qop *s, qdq_node *n, bool is_q)
{
    qdq_value *zero = qdq_node_in(n, 2);
    qdq_elem elem = is_q ? qdq_qop_elem(s, NULL, zero) : qdq_qop_elem(s, qdq_node_in(n, 0), zero);

    if (is_q && zero == NULL)
        elem = (qdq_elem)qdq_node_int(n, "output_dtype", QDQ_UINT8);
    if (n->domain[0] != '\0') {
        if (!qdq_opt_take_unless(s->o, n, speaks_against_standard(s, n, elem)))
            return QDQ_OK;
        QDQ_NEED(qdq_node_set_type(n, "", n->type), s->err);
    }
    if (!is_q || qdq_node_out(n, 0) == NULL || qdq_node_in(n, 1) == NULL ||
        count_of(n->in[1].value) != 1)
        return QDQ_OK;
    qdq_codes c = {qdq_node_in(n, 1), zero, elem};
    return qdq_qop_remember(s, n->out[0], c);
}

/* --- the pass --------------------------------------------------------------------------------- */

static qdq_status take_node(qdq_qop *s, qdq_node *n)
{
    bool ours = n->domain[0] == '\0' || strcmp(n->domain, "com.microsoft") == 0, done = false;
    bool is_q = strcmp(n->type, "QuantizeLinear") == 0;

    if (!ours)
        return QDQ_OK;
    if (is_q || strcmp(n->type, "DequantizeLinear") == 0)
        return take_quantizer(s, n, is_q);
    QDQ_TRY(qdq_qop_static(s, n, &done));
    if (!done && !qdq_opt_has_arg(s->o, "static"))
        QDQ_TRY(qdq_qop_integer(s, n, &done));
    if (!done)
        QDQ_TRY(qdq_qop_move(s, n, &done));
    return QDQ_OK;
}

qdq_status qdq_pass_qoperator_to_qdq(qdq_opt *o, qdq_graph *g, qdq_error *err)
{
    qdq_qop s = {.o = o, .g = g, .err = err};
    qdq_status st = QDQ_OK;

    QDQ_FOR_NODES (n, g) {
        st = take_node(&s, n);
        if (st != QDQ_OK)
            break;
    }
    qdq_map_free(&s.codes);
    return st;
}
