/* insert_dynamic.c - products whose data is quantized while the model runs. MatMul and Gemm get the
 * form that ONNX Runtime's tool writes and ONNX Runtime fuses (MatMulIntegerToFloat,
 * DynamicQuantizeMatMul):
 *
 *     q, s, z = DynamicQuantizeLinear(x)         one for all that read x
 *     y = Mul(Cast(MatMulInteger(q, w, z, wz)), Mul(s, ws))
 *
 * A Gemm's bias is added behind it. In Mul(s, ws) the scale of the data stands first: else ONNX
 * Runtime stops at MatMulIntegerToFloat. Names of tensors are those of its tool; the product keeps
 * the node's name, by which profiles know it. An LSTM becomes ONNX Runtime's DynamicQuantizeLSTM,
 * with all its inputs and attributes, and
 *
 *     W [directions, input, 4 * hidden]    R [directions, hidden, 4 * hidden]
 *
 * which are those of ONNX transposed, and scales [directions] or [directions, 4 * hidden]. */

#include "base/fail.h"
#include "quant/insert/insert_state.h"
#include "quant/weights/linear_form.h"

/* A weight as constants of the graph, made when they are needed. */
typedef struct integer_weight {
    const qdq_plan_weight *w;
    qdq_weight_state *s;
    const qdq_scale_form *form;
    /* as they are, and transposed */
    qdq_value *codes[2];
    qdq_value *scales, *zeros;
    qdq_value *lstm_scales, *lstm_zeros;
} integer_weight;

/* --- checks ----------------------------------------------------------------------------------- */

/* W or R of an LSTM */
static bool is_of_lstm(const qdq_node *n)
{
    return n->op == QDQ_OP_LSTM;
}

static bool is_transposed(const qdq_node *n)
{
    return is_of_lstm(n) || (n->op == QDQ_OP_GEMM && qdq_node_int(n, "transB", 0) != 0);
}

static qdq_status check_product(qdq_inserter *in, const integer_weight *w, const qdq_edge *e,
                                const qdq_node *n)
{
    int axis = is_transposed(n) ? 0 : 1;

    if (w->w->block != 0 || (w->w->axis >= 0 && (w->s->tensor->rank != 2 || w->w->axis != axis)))
        return qdq_fail(in->err, QDQ_E_FORMAT,
                        "'dynamic' for node '%s' needs one scale, or one for each column of a "
                        "matrix (axis %d)",
                        e->node, axis);
    return QDQ_OK;
}

/* Its kernel adds up products first, and takes one zero point out of all columns. */
static bool has_one_zero_point(const integer_weight *w)
{
    const int32_t first = w->w->type == QDQ_INT8 ? 0 : w->s->zeros[0];

    for (size_t i = 0; i < qdq_scale_count(&w->s->grid); i++)
        if (w->s->zeros[i] != first)
            return false;
    return true;
}

static qdq_status check_lstm(qdq_inserter *in, const integer_weight *w, const qdq_edge *e,
                             const qdq_node *n)
{
    const bool rows = w->w->axis == 2 && w->w->block >= w->s->tensor->dim[2];
    const qdq_map_value *other = qdq_map_get_int(&in->edges, qdq_insert_edge(in, n, 3 - e->input));
    const qdq_plan_weight *o =
        other != NULL && other->num != 0 ? &in->plan->weights.at[other->num - 1] : NULL;

    if (!rows && (w->w->axis > 1 || w->w->block != 0))
        return qdq_fail(in->err, QDQ_E_FORMAT,
                        "'dynamic' for node '%s' needs one scale, or one for each direction (axis "
                        "0), row (axis 1), or row of each direction (axis 2, blocks of whole rows)",
                        e->node);
    if (w->w->axis > 0 && !has_one_zero_point(w))
        return qdq_fail(in->err, QDQ_E_FORMAT,
                        "'dynamic' for node '%s' needs one zero point (of int8: 0) where rows have "
                        "scales of their own",
                        e->node);
    if (o == NULL || o->store != QDQ_WEIGHT_AS_DYNAMIC || o->type != w->w->type)
        return qdq_fail(in->err, QDQ_E_FORMAT,
                        "'dynamic' for node '%s' needs both of its weights (inputs 1 and 2) in "
                        "that form and of one type",
                        e->node);
    return QDQ_OK;
}

static qdq_status check_reader(qdq_inserter *in, const integer_weight *w, const qdq_edge *e)
{
    const qdq_node *n = qdq_insert_find_node(in, e->node);
    const char *why = qdq_dynamic_lacks(n, e->input, w->s->tensor);
    const qdq_value *x = qdq_node_in(n, 0);

    if (why != NULL)
        return qdq_fail(in->err, QDQ_E_FORMAT, "'dynamic' for node '%s': %s", e->node, why);
    QDQ_TRY(is_of_lstm(n) ? check_lstm(in, w, e, n) : check_product(in, w, e, n));
    if (w->w->type != QDQ_INT8 && w->w->type != QDQ_UINT8)
        return qdq_fail(in->err, QDQ_E_FORMAT, "'dynamic' for node '%s' needs int8 or uint8",
                        e->node);
    if (x == NULL || (qdq_value_elem(x) != QDQ_FLOAT && qdq_value_elem(x) != QDQ_UNDEFINED))
        return qdq_fail(in->err, QDQ_E_FORMAT, "'dynamic' for node '%s' needs data of type float",
                        e->node);
    return QDQ_OK;
}

/* --- the weight ------------------------------------------------------------------------------- */

/* The codes of [N, K] as [K, N], also of several such matrices. */
static qdq_tensor *transpose(qdq_inserter *in, qdq_elem type, const qdq_tensor *shape,
                             const uint8_t *codes)
{
    const int64_t *from = shape->dim + shape->rank - 2;
    const int64_t dim[] = {shape->dim[0], from[1], from[0]};
    const size_t n = (size_t)from[0], k = (size_t)from[1], size = n * k;
    void *data;
    qdq_tensor *t =
        qdq_tensor_new(in->m, type, shape->rank, dim + (shape->rank == 2 ? 1 : 0), &data);

    for (size_t at = 0; t != NULL && at < (size_t)t->count; at += size)
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < k; j++)
                ((uint8_t *)data)[at + j * n + i] = codes[at + i * k + j];
    return t;
}

static qdq_status make_transposed(qdq_inserter *in, const integer_weight *w, qdq_tensor **out)
{
    qdq_weight_state *s = w->s;
    qdq_arena_mark mark = qdq_arena_get_mark(&in->scratch);
    qdq_span bytes;

    if (s->codes != NULL) {
        QDQ_TRY(qdq_tensor_data(s->codes, &in->scratch, &bytes, in->err));
    } else {
        void *codes = qdq_arena_alloc(&in->scratch, (size_t)s->tensor->count + 1);

        QDQ_NEED(codes != NULL, in->err);
        QDQ_TRY(qdq_insert_weight_codes(in, w->w, s, codes));
        bytes = (qdq_span){codes, (size_t)s->tensor->count};
    }
    *out = transpose(in, w->w->type, s->tensor, bytes.data);
    qdq_arena_reset(&in->scratch, mark);
    return qdq_allocated(*out != NULL, in->err);
}

/* The codes as [K, N]. */
static qdq_status codes_for(qdq_inserter *in, integer_weight *w, bool transposed, qdq_value **out)
{
    qdq_tensor *t = NULL;

    if (w->codes[transposed] == NULL) {
        QDQ_TRY(transposed ? make_transposed(in, w, &t) : qdq_insert_codes(in, w->w, w->s, &t));
        w->codes[transposed] = qdq_insert_constant(in, in->g, w->w->tensor, "_quantized", t);
        QDQ_NEED(w->codes[transposed] != NULL, in->err);
    }
    *out = w->codes[transposed];
    return QDQ_OK;
}

static qdq_status make_scales(qdq_inserter *in, integer_weight *w)
{
    const char *base = w->w->tensor;

    w->scales = qdq_insert_scales(in, base, w->form, w->s->scales);
    w->zeros = qdq_insert_zero_points(in, base, w->form, w->w->type, w->s->zeros);
    return qdq_allocated(w->scales != NULL && w->zeros != NULL, in->err);
}

/* Scales and zero points as an LSTM's kernel wants them: one for each direction, or for each row of
 * each. */
static qdq_status make_lstm_scales(qdq_inserter *in, integer_weight *w)
{
    const int axis = w->w->axis;
    const int64_t *dim = w->s->tensor->dim;
    const qdq_scale_form form = {.rank = axis > 0 ? 2 : 1, .dim = {dim[0], dim[1]}};
    const size_t rows = axis > 0 ? (size_t)dim[1] : 1, n = (size_t)dim[0] * rows;
    float *scales = qdq_arena_array(&in->scratch, n + 1, sizeof *scales);
    int32_t *zeros = qdq_arena_array(&in->scratch, n + 1, sizeof *zeros);

    QDQ_NEED(scales != NULL && zeros != NULL, in->err);
    for (size_t i = 0; i < n; i++) {
        const size_t from = axis < 0 ? 0 : axis == 1 ? i % rows : i;

        scales[i] = w->s->scales[from];
        zeros[i] = w->s->zeros[from];
    }
    w->lstm_scales = qdq_insert_scales(in, w->w->tensor, &form, scales);
    w->lstm_zeros = qdq_insert_zero_points(in, w->w->tensor, &form, w->w->type, zeros);
    return qdq_allocated(w->lstm_scales != NULL && w->lstm_zeros != NULL, in->err);
}

/* --- the data --------------------------------------------------------------------------------- */

/* One that the model has, or that an earlier product needed; or NULL. */
static qdq_node *find_quantizer(const qdq_inserter *in, const qdq_value *x)
{
    QDQ_FOR_USES (u, x)
        if (u->node->op == QDQ_OP_DYNAMICQUANTIZELINEAR && u->node->graph == in->g &&
            qdq_node_out(u->node, 0) != NULL && qdq_node_out(u->node, 1) != NULL &&
            qdq_node_out(u->node, 2) != NULL)
            return u->node;
    return NULL;
}

static qdq_status quantize_data(qdq_inserter *in, qdq_value *x, qdq_node **out)
{
    static const char *const suffixes[] = {"_quantized", "_scale", "_zero_point"};
    const char *outputs[3];

    *out = find_quantizer(in, x);
    in->unsorted |= *out != NULL; /* the new reader may stand before it */
    if (*out != NULL)
        return QDQ_OK;
    for (size_t i = 0; i < QDQ_COUNT(outputs); i++) {
        outputs[i] = qdq_insert_name(in, x->name, suffixes[i]);
        QDQ_NEED(outputs[i] != NULL, in->err);
    }
    const char *wanted = qdq_arena_printf(&in->scratch, "%s_DynamicQuantizeLinear", x->name);
    const char *name = wanted != NULL ? qdq_graph_unique_node_name(in->m->graph, wanted) : NULL;
    QDQ_NEED(name != NULL, in->err);
    *out = qdq_graph_add_node(in->g, qdq_insert_behind(in, x), "", "DynamicQuantizeLinear", name, 1,
                              QDQ_COUNT(outputs), outputs);
    QDQ_NEED(*out != NULL, in->err);
    qdq_node_set_in(*out, 0, x);
    return QDQ_OK;
}

/* --- the product ------------------------------------------------------------------------------ */

/* A node before `before`, named after the tensor `base` and its operator; NULL: out of memory. */
static qdq_node *add_op(qdq_inserter *in, qdq_node *before, const char *op, const char *base,
                        const char *suffix, uint32_t n_in, qdq_value *const *inputs)
{
    const char *output = qdq_insert_name(in, base, suffix);
    const char *name = output != NULL ? qdq_graph_unique_node_name(in->m->graph, output) : NULL;

    return name != NULL ? qdq_graph_add_op(in->g, before, op, name, output, n_in, inputs) : NULL;
}

/* n is the last node of the form from now on, and its old name is free. */
static qdq_status become(qdq_inserter *in, qdq_node *n, const char *op, qdq_value *a, qdq_value *b)
{
    const char *wanted = qdq_arena_printf(&in->scratch, "%s_output_%s", n->name, op);

    QDQ_NEED(wanted != NULL, in->err);
    if (n->name[0] != '\0') {
        const char *name = qdq_graph_unique_node_name(in->m->graph, wanted);
        QDQ_NEED(name != NULL && qdq_node_set_name(n, name), in->err);
    }
    while (n->n_attr > 0)
        qdq_node_remove_attr(n, n->attr[n->n_attr - 1]->name);
    qdq_node_set_in(n, 0, a);
    qdq_node_set_in(n, 1, b);
    if (n->n_in > 2)
        qdq_node_set_in(n, 2, NULL);
    qdq_node_trim_in(n);
    return qdq_allocated(qdq_node_set_type(n, "", op), in->err);
}

/* Before n, which gives the result: Cast(MatMulInteger), and the product of both scales. */
static qdq_status add_product(qdq_inserter *in, qdq_node *n, integer_weight *w, qdq_value *out[2],
                              qdq_node **product)
{
    const char *y = n->out[0]->name;
    qdq_node *q, *cast, *scales;
    qdq_value *codes = NULL;

    QDQ_TRY(codes_for(in, w, is_transposed(n), &codes));
    QDQ_TRY(quantize_data(in, n->in[0].value, &q));
    qdq_value *const factors[] = {q->out[0], codes, q->out[2], w->zeros};
    *product = add_op(in, n, "MatMulInteger", y, "_output_quantized", 4, factors);
    QDQ_NEED(*product != NULL, in->err);
    cast = add_op(in, n, "Cast", y, "_output_cast", 1, (*product)->out);
    scales = add_op(in, n, "Mul", y, "_output_scale", 2, (qdq_value *[]){q->out[1], w->scales});
    QDQ_NEED(cast != NULL && scales != NULL && qdq_node_set_int(cast, "to", QDQ_FLOAT), in->err);
    out[0] = cast->out[0];
    out[1] = scales->out[0];
    return QDQ_OK;
}

static qdq_status insert_product(qdq_inserter *in, qdq_node *n, integer_weight *w)
{
    const char *name = qdq_arena_strdup(&in->scratch, n->name);
    qdq_value *bias = n->op == QDQ_OP_GEMM ? qdq_node_in(n, 2) : NULL, *factors[2];
    qdq_node *product;

    QDQ_NEED(name != NULL, in->err);
    QDQ_TRY(add_product(in, n, w, factors, &product));
    if (bias == NULL) {
        QDQ_TRY(become(in, n, "Mul", factors[0], factors[1]));
    } else {
        const qdq_node *scaled =
            add_op(in, n, "Mul", n->out[0]->name, "_output_without_bias", 2, factors);

        QDQ_NEED(scaled != NULL, in->err);
        QDQ_TRY(become(in, n, "Add", scaled->out[0], bias));
    }
    return qdq_allocated(qdq_node_set_name(product, name), in->err);
}

/* --- an LSTM ---------------------------------------------------------------------------------- */

enum { LSTM_W = 1, LSTM_W_SCALE = 8, LSTM_R_SCALE = 10, LSTM_INPUTS = 12 };

static qdq_status insert_lstm(qdq_inserter *in, qdq_node *n, uint32_t input, integer_weight *w)
{
    const uint32_t scale = input == LSTM_W ? LSTM_W_SCALE : LSTM_R_SCALE;
    qdq_value *codes;

    QDQ_TRY(codes_for(in, w, true, &codes));
    if (w->lstm_scales == NULL)
        QDQ_TRY(make_lstm_scales(in, w));
    while (n->n_in < LSTM_INPUTS)
        QDQ_NEED(qdq_node_append_in(n, NULL), in->err);
    qdq_node_set_in(n, input, codes);
    qdq_node_set_in(n, scale, w->lstm_scales);
    qdq_node_set_in(n, scale + 1, w->lstm_zeros);
    if (qdq_node_in(n, LSTM_W_SCALE) == NULL || qdq_node_in(n, LSTM_R_SCALE) == NULL)
        return QDQ_OK;                 /* the other weight is yet to come */
    qdq_node_remove_attr(n, "layout"); /* 0 */
    QDQ_TRY(qdq_model_set_opset_version(in->m, "com.microsoft", 1, in->err));
    return qdq_allocated(qdq_node_set_type(n, "com.microsoft", "DynamicQuantizeLSTM"), in->err);
}

static qdq_status insert_reader(qdq_inserter *in, const qdq_edge *e, integer_weight *w)
{
    qdq_node *n = qdq_insert_find_node(in, e->node);

    if (is_of_lstm(n))
        return insert_lstm(in, n, e->input, w);
    if (w->scales == NULL)
        QDQ_TRY(make_scales(in, w));
    return insert_product(in, n, w);
}

qdq_status qdq_insert_integer(qdq_inserter *in, const qdq_plan_weight *plan, qdq_weight_state *s,
                              const qdq_scale_form *form)
{
    integer_weight w = {.w = plan, .s = s, .form = form};

    in->g = qdq_insert_find_node(in, plan->consumers.at[0].node)->graph;
    for (size_t i = 0; i < plan->consumers.n; i++)
        QDQ_TRY(check_reader(in, &w, &plan->consumers.at[i]));
    for (size_t i = 0; i < plan->consumers.n; i++)
        QDQ_TRY(insert_reader(in, &plan->consumers.at[i], &w));
    return QDQ_OK;
}
