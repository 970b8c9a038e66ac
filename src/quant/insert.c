/* insert.c - applies a plan to a graph:
 *
 *   resolve   every name in the plan to a value, node, input; unknown ones are listed and nothing is done
 *   weights   float initializer -> int8 initializer, scale, zero point, DQ
 *   biases    float initializer -> int32 initializer with scale activation * weight, DQ
 *   tensors   x -> Q -> DQ -> its readers
 *
 * Names follow ONNX Runtime's tool: <t>_QuantizeLinear, <t>_scale, <w>_quantized, ... */
#include "quant/insert.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "ir/graph_check.h"
#include "quant/weights.h"

/* A weight while it is inserted: what biases need to know of it. */
typedef struct weight_state {
    const qdq_tensor *tensor;
    const float *floats;
    qdq_channels channels;
    float *scales;
} weight_state;

typedef struct inserter {
    qdq_model *m;
    qdq_graph *g;
    const qdq_plan *plan;
    qdq_arena scratch;
    qdq_map nodes;        /* label -> node, as the plan names them: before any edit */
    qdq_map tensors;      /* name -> index into plan->tensors, for the scales of biases */
    qdq_map weights;      /* name -> index into plan->weights */
    qdq_map edges;        /* node id and input of every edge that the plan lists: each only once */
    qdq_map origin;       /* name in the plan -> value: graph outputs are renamed on the way */
    weight_state *weight; /* one for each of plan->weights */
    uint32_t *place;      /* by node id: position in the sorted list */
    qdq_error *err;
} inserter;

/* --- resolve ---------------------------------------------------------------------------------------------------- */

static qdq_node *find_node(const inserter *in, const char *label)
{
    qdq_map_value *v = qdq_map_get(&in->nodes, label);

    return v != NULL ? v->ptr : NULL;
}

static qdq_value *find_value(const inserter *in, const char *name)
{
    qdq_map_value *v = qdq_map_get(&in->origin, name);

    return v != NULL ? v->ptr : qdq_graph_find(in->g, name);
}

/* Appends what is wrong with the edge to `list`. */
static void check_edge(inserter *in, const char *tensor, const qdq_edge *e, qdq_buf *list)
{
    const qdq_node *n = find_node(in, e->node);
    const qdq_value *v = qdq_graph_find(in->g, tensor);
    bool is_new;

    if (v == NULL)
        return; /* the tensor itself is reported, once */
    if (n == NULL)
        qdq_buf_printf(list, " node '%s';", e->node);
    else if (qdq_node_in(n, e->input) != v)
        qdq_buf_printf(list, " edge '%s' -> '%s' input %u;", tensor, e->node, (unsigned)e->input);
    else if (qdq_map_put_int(&in->edges, (uint64_t)n->id << 32 | e->input, &is_new) == NULL)
        list->failed = true;
    else if (!is_new)
        qdq_buf_printf(list, " room for two entries of edge '%s' -> '%s' input %u;", tensor, e->node,
                       (unsigned)e->input);
}

/* Behind a DQ that the model had before, a bias takes the scale from there. */
static bool scale_in_model(const inserter *in, const char *tensor, float *scale)
{
    const qdq_value *v = qdq_graph_find(in->g, tensor);

    return v != NULL && v->producer != NULL && v->producer->op == QDQ_OP_DEQUANTIZELINEAR &&
           qdq_params_one_scale(v->producer, scale);
}

static void check_tensor(const inserter *in, const char *tensor, bool constant, qdq_buf *list)
{
    const qdq_value *v = qdq_graph_find(in->g, tensor);

    if (v == NULL)
        qdq_buf_printf(list, " tensor '%s';", tensor);
    else if (constant && qdq_value_const(v) == NULL)
        qdq_buf_printf(list, " constant '%s';", tensor);
}

/* Everything that the plan names must be there: users get one list, not one mistake at a time. */
static qdq_status check_names(inserter *in)
{
    qdq_buf list = QDQ_BUF_INIT(1 << 20);
    const qdq_plan *p = in->plan;
    qdq_status st = QDQ_OK;

    for (size_t i = 0; i < p->tensors.n; i++) {
        const qdq_plan_tensor *first =
            &p->tensors.at[qdq_map_get(&in->tensors, p->tensors.at[i].tensor)->num];

        check_tensor(in, p->tensors.at[i].tensor, false, &list);
        if (first != &p->tensors.at[i] && (first->all || p->tensors.at[i].all))
            qdq_buf_printf(&list, " room for two entries of tensor '%s', one of them for all readers;",
                           first->tensor);
        for (size_t k = 0; k < p->tensors.at[i].consumers.n; k++)
            check_edge(in, p->tensors.at[i].tensor, &p->tensors.at[i].consumers.at[k], &list);
    }
    for (size_t i = 0; i < p->weights.n; i++) {
        check_tensor(in, p->weights.at[i].tensor, true, &list);
        for (size_t k = 0; k < p->weights.at[i].consumers.n; k++)
            check_edge(in, p->weights.at[i].tensor, &p->weights.at[i].consumers.at[k], &list);
    }
    for (size_t i = 0; i < p->biases.n; i++) {
        const qdq_plan_bias *b = &p->biases.at[i];
        float scale;

        check_tensor(in, b->tensor, true, &list);
        check_edge(in, b->tensor, &b->consumer, &list);
        if (qdq_map_get(&in->tensors, b->activation) == NULL && !scale_in_model(in, b->activation, &scale))
            qdq_buf_printf(&list, " scale of '%s' (for bias '%s');", b->activation, b->tensor);
        if (qdq_map_get(&in->weights, b->weight) == NULL)
            qdq_buf_printf(&list, " scales of '%s' (for bias '%s');", b->weight, b->tensor);
    }
    if (list.size > 0)
        st = qdq_fail(in->err, QDQ_E_FORMAT, "the plan names what the model does not have:%.*s",
                      (int)(list.size - 1 < 700 ? list.size - 1 : 700), list.data);
    else if (list.failed)
        st = qdq_nomem(in->err);
    qdq_buf_free(&list);
    return st;
}

static bool put_index(qdq_map *map, const char *key, size_t i)
{
    bool is_new;
    qdq_map_value *v = qdq_map_put(map, key, &is_new);

    if (v != NULL && is_new)
        v->num = i;
    return v != NULL;
}

static qdq_status resolve(inserter *in)
{
    const qdq_plan *p = in->plan;
    uint32_t place = 0;

    in->place = qdq_arena_array(&in->scratch, (size_t)in->g->next_node_id + 1, sizeof *in->place);
    if (in->place == NULL)
        return qdq_nomem(in->err);
    QDQ_FOR_NODES (n, in->g) {
        qdq_map_value *v = qdq_map_put(&in->nodes, qdq_node_label(n, &in->scratch), NULL);
        if (v == NULL)
            return qdq_nomem(in->err);
        v->ptr = n;
        in->place[n->id] = place++;
    }
    for (size_t i = 0; i < p->tensors.n; i++)
        if (!put_index(&in->tensors, p->tensors.at[i].tensor, i))
            return qdq_nomem(in->err);
    for (size_t i = 0; i < p->weights.n; i++)
        if (!put_index(&in->weights, p->weights.at[i].tensor, i))
            return qdq_nomem(in->err);
    in->weight = qdq_arena_array(&in->scratch, p->weights.n + 1, sizeof *in->weight);
    if (in->weight == NULL)
        return qdq_nomem(in->err);
    return check_names(in);
}

/* --- building blocks -------------------------------------------------------------------------------------------- */

/* `base` followed by `suffix`, free in the graph; in the model's memory. */
static const char *free_name(inserter *in, const char *base, const char *suffix)
{
    const char *wanted = qdq_arena_printf(&in->scratch, "%s%s", base, suffix);

    return wanted != NULL ? qdq_graph_unique_name(in->g, wanted) : NULL;
}

static qdq_value *add_constant(inserter *in, const char *base, const char *suffix, qdq_tensor *t)
{
    const char *name = t != NULL ? free_name(in, base, suffix) : NULL;

    return name != NULL ? qdq_graph_add_init(in->g, name, t) : NULL;
}

/* Scales as rank 0 or, with an axis, rank 1. */
static qdq_value *add_scales(inserter *in, const char *base, const float *scales, int axis, int64_t n)
{
    return add_constant(in, base, "_scale", qdq_tensor_of_floats(in->m, axis < 0 ? 0 : 1, &n, scales));
}

/* Zero points of `type`: `value` once, or n zeros. ONNX Runtime's fusions ask for them explicitly. */
static qdq_value *add_zero_points(inserter *in, const char *base, qdq_elem type, int32_t value, int axis,
                                  int64_t n)
{
    void *data;
    qdq_tensor *t = qdq_tensor_new(in->m, type, axis < 0 ? 0 : 1, &n, &data);

    if (t == NULL)
        return NULL;
    if (axis < 0) { /* little-endian, as tensors are stored */
        unsigned char bytes[4] = {(unsigned char)(value & 0xff), (unsigned char)((value >> 8) & 0xff),
                                  (unsigned char)((value >> 16) & 0xff),
                                  (unsigned char)((value >> 24) & 0xff)};
        memcpy(data, bytes, qdq_elem_bits(type) / 8);
    }
    return add_constant(in, base, "_zero_point", t);
}

/* A Q or DQ node before `before`: (x, scale, zero point) -> a new value. zero_point NULL: left out. */
static qdq_value *add_qdq_node(inserter *in, qdq_node *before, const char *op, const char *base, int axis,
                               const char *out_name, qdq_value *const inputs[3], const qdq_type *type)
{
    const char *names[1] = {out_name};
    const char *wanted = qdq_arena_printf(&in->scratch, "%s_%s", base, op);
    const char *name = wanted != NULL ? qdq_graph_unique_node_name(in->g, wanted) : NULL;
    uint32_t n_in = inputs[2] != NULL ? 3 : 2;

    if (name == NULL || out_name == NULL)
        return NULL;
    qdq_node *n = qdq_graph_add_node(in->g, before, "", op, name, n_in, 1, names);
    if (n == NULL)
        return NULL;
    for (uint32_t i = 0; i < n_in; i++)
        qdq_node_set_in(n, i, inputs[i]);
    if (axis >= 0 && !qdq_node_set_int(n, "axis", axis))
        return NULL;
    if (type != NULL)
        qdq_value_set_type(n->out[0], type);
    return n->out[0];
}

/* Where the constant's DQ goes: before its first reader, so that each block of the file reads as one. */
static qdq_node *first_reader(const inserter *in, const qdq_edges *edges)
{
    qdq_node *first = NULL;

    for (size_t i = 0; i < edges->n; i++) {
        qdq_node *n = find_node(in, edges->at[i].node);
        if (first == NULL || in->place[n->id] < in->place[first->id])
            first = n;
    }
    return first;
}

static qdq_status add_constant_dq(inserter *in, const char *base, qdq_tensor *codes, qdq_node *before,
                                  int axis, const float *scales, int64_t n_scales, qdq_value **out)
{
    qdq_value *inputs[3] = {add_constant(in, base, "_quantized", codes),
                            add_scales(in, base, scales, axis, n_scales), NULL};
    const char *out_name = free_name(in, base, "_DequantizeLinear_Output");

    if (codes != NULL && codes->elem == QDQ_INT8)
        inputs[2] = add_zero_points(in, base, QDQ_INT8, 0, axis, n_scales);
    if (inputs[0] == NULL || inputs[1] == NULL || (codes->elem == QDQ_INT8 && inputs[2] == NULL))
        return qdq_nomem(in->err);
    *out = add_qdq_node(in, before, "DequantizeLinear", base, axis, out_name, inputs,
                        qdq_type_fixed(in->m, QDQ_FLOAT, codes->rank, codes->dim));
    return *out != NULL ? QDQ_OK : qdq_nomem(in->err);
}

/* --- weights ---------------------------------------------------------------------------------------------------- */

static qdq_status weight_scales(inserter *in, size_t index)
{
    const qdq_plan_weight *w = &in->plan->weights.at[index];
    const qdq_qscheme scheme = {w->type, true, false, QDQ_FLOAT};
    weight_state *s = &in->weight[index];

    s->tensor = qdq_value_const(qdq_graph_find(in->g, w->tensor));
    QDQ_TRY(qdq_channels_of(s->tensor, w->axis, &s->channels, in->err));
    QDQ_TRY(qdq_weight_floats(s->tensor, &in->scratch, &s->floats, in->err));
    s->scales = qdq_arena_array(&in->scratch, s->channels.channels + 1, sizeof *s->scales);
    if (s->scales == NULL)
        return qdq_nomem(in->err);
    if (w->scales == NULL)
        return qdq_weight_scales(s->floats, &s->channels, &scheme, s->scales, in->err);
    if (w->n_scales != s->channels.channels)
        return qdq_fail(in->err, QDQ_E_FORMAT, "%zu scales, but %zu channels", w->n_scales,
                        s->channels.channels);
    memcpy(s->scales, w->scales, w->n_scales * sizeof *s->scales);
    return QDQ_OK;
}

static qdq_status insert_weight(inserter *in, size_t index)
{
    const qdq_plan_weight *w = &in->plan->weights.at[index];
    weight_state *s = &in->weight[index];
    qdq_value *dequantized;
    void *codes;

    qdq_tensor *t = qdq_tensor_new(in->m, QDQ_INT8, s->tensor->rank, s->tensor->dim, &codes);
    if (t == NULL)
        return qdq_nomem(in->err);
    qdq_weight_codes(s->floats, &s->channels, s->scales, codes);
    QDQ_TRY(add_constant_dq(in, w->tensor, t, first_reader(in, &w->consumers), w->axis, s->scales,
                            (int64_t)s->channels.channels, &dequantized));
    for (size_t i = 0; i < w->consumers.n; i++)
        qdq_node_set_in(find_node(in, w->consumers.at[i].node), w->consumers.at[i].input, dequantized);
    return QDQ_OK;
}

/* --- biases ------------------------------------------------------------------------------------------------------ */

/* What the scale of a bias is made of. */
typedef struct bias_scale {
    const qdq_plan_weight *weight;
    weight_state *state;
    float activation;
} bias_scale;

/* The linear node whose bias `b` is. */
static const qdq_node *linear_of(const inserter *in, const qdq_plan_bias *b)
{
    const qdq_node *reader = find_node(in, b->consumer.node);
    const qdq_node *linear = qdq_bias_linear(reader, b->consumer.input);

    return linear != NULL ? linear : reader;
}

static bool have_reader(const inserter *in, const qdq_edges *edges, const qdq_node *n)
{
    for (size_t i = 0; i < edges->n; i++)
        if (find_node(in, edges->at[i].node) == n)
            return true;
    return false;
}

/* Plans are sorted, so entries of one tensor lie side by side. Where there are several, with other scales for
 * other readers, the bias follows the one that its linear node reads. */
#define ENTRY_OF(list, first, linear, out)                                                                   \
    do {                                                                                                     \
        size_t first_ = (first), i_ = first_;                                                                \
        while (i_ + 1 < (list).n && strcmp((list).at[i_ + 1].tensor, (list).at[first_].tensor) == 0 &&       \
               !have_reader(in, &(list).at[i_].consumers, (linear)))                                         \
            i_++;                                                                                            \
        (out) = i_;                                                                                          \
    } while (0)

static bias_scale scale_of_bias(const inserter *in, const qdq_plan_bias *b)
{
    const qdq_node *linear = linear_of(in, b);
    const qdq_map_value *known = qdq_map_get(&in->tensors, b->activation);
    float activation = 1;
    size_t w, x;

    ENTRY_OF(in->plan->weights, qdq_map_get(&in->weights, b->weight)->num, linear, w);
    if (known != NULL) {
        ENTRY_OF(in->plan->tensors, known->num, linear, x);
        activation = in->plan->tensors.at[x].qparam.scale;
    } else {
        scale_in_model(in, b->activation, &activation);
    }
    return (bias_scale){&in->plan->weights.at[w], &in->weight[w], activation};
}

static qdq_status bias_floats(inserter *in, const qdq_plan_bias *b, const qdq_tensor **t, const float **out)
{
    bias_scale s = scale_of_bias(in, b);

    *t = qdq_value_const(find_value(in, b->tensor));
    if (s.weight->axis >= 0 && ((*t)->rank != 1 || (size_t)(*t)->count != s.state->channels.channels))
        return qdq_fail(in->err, QDQ_E_FORMAT,
                        "expected one number for each of the %zu channels of weight '%s'",
                        s.state->channels.channels, b->weight);
    QDQ_TRY(qdq_weight_floats(*t, &in->scratch, out, in->err));
    if (qdq_absmax(*out, (size_t)(*t)->count) < 0)
        return qdq_fail(in->err, QDQ_E_FORMAT, "it holds NaN or infinity, expected finite numbers");
    return QDQ_OK;
}

/* A channel whose bias does not fit into int32 at scale activation * weight gets a larger weight scale: the
 * 8-bit kernels clip such a bias silently. Scales that the plan gives are the user's, and stay. */
static qdq_status make_room_for_bias(inserter *in, const qdq_plan_bias *b)
{
    bias_scale s = scale_of_bias(in, b);
    const qdq_tensor *t;
    const float *bias;

    if (s.weight->scales != NULL)
        return QDQ_OK;
    QDQ_TRY(bias_floats(in, b, &t, &bias));
    for (int64_t i = 0; i < t->count; i++) {
        float *scale = &s.state->scales[s.weight->axis >= 0 ? i : 0];
        double least = qdq_bias_scale_min(bias[i]) / (double)s.activation;

        if ((double)*scale < least)
            *scale = (float)fmin(least, FLT_MAX);
    }
    return QDQ_OK;
}

static qdq_status insert_bias(inserter *in, const qdq_plan_bias *b)
{
    bias_scale s = scale_of_bias(in, b);
    size_t n_scales = s.state->channels.channels;
    qdq_node *reader = find_node(in, b->consumer.node);
    const qdq_tensor *t;
    const float *bias;
    qdq_value *dequantized;
    void *data;

    QDQ_TRY(bias_floats(in, b, &t, &bias));
    float *scales = qdq_arena_array(&in->scratch, n_scales, sizeof *scales);
    qdq_tensor *codes = qdq_tensor_new(in->m, QDQ_INT32, t->rank, t->dim, &data);
    if (scales == NULL || codes == NULL)
        return qdq_nomem(in->err);
    for (size_t i = 0; i < n_scales; i++)
        scales[i] = s.activation * s.state->scales[i];
    for (int64_t i = 0; i < t->count; i++) {
        int32_t code = qdq_quantize_bias(bias[i], scales[s.weight->axis >= 0 ? i : 0]);
        memcpy((char *)data + i * (int64_t)sizeof code, &code, sizeof code);
    }
    QDQ_TRY(add_constant_dq(in, b->tensor, codes, reader, s.weight->axis >= 0 ? 0 : -1, scales,
                            (int64_t)n_scales, &dequantized));
    qdq_node_set_in(reader, b->consumer.input, dequantized);
    return QDQ_OK;
}

/* --- tensors ----------------------------------------------------------------------------------------------------- */

/* Q and DQ go right behind the producer; for inputs and constants, before the first node. */
static qdq_node *place_behind(const inserter *in, const qdq_value *v)
{
    qdq_node *next = v->producer != NULL ? v->producer->next : in->g->end.next;

    return next != &in->g->end ? next : NULL;
}

/* Gives the name of graph output v to the dequantized value: callers ask for outputs by name. */
static qdq_status free_output_name(inserter *in, qdq_value *v, const char *name)
{
    const char *inner = free_name(in, name, "_QuantizeLinear_Input");
    qdq_map_value *known = qdq_map_put(&in->origin, name, NULL);

    if (inner == NULL || known == NULL || !qdq_value_rename(v, inner))
        return qdq_nomem(in->err);
    known->ptr = v;
    return QDQ_OK;
}

static void redirect_all(inserter *in, qdq_value *v, const qdq_value *quantized, qdq_value *dequantized)
{
    QDQ_FOR_USES (u, v)
        if (u->node != quantized->producer)
            qdq_node_set_in(u->node, u->index, dequantized);
    for (size_t i = 0; i < in->g->outputs.n && v->n_output > 0; i++)
        if (in->g->outputs.at[i] == v)
            qdq_graph_set_output(in->g, i, dequantized);
}

static qdq_status insert_tensor(inserter *in, const qdq_plan_tensor *t)
{
    qdq_value *v = find_value(in, t->tensor);
    const qdq_type *type = v->type;
    bool is_output = t->all && v->n_output > 0;

    if (type != NULL && (type->kind != QDQ_TYPE_TENSOR || type->elem != QDQ_FLOAT))
        return qdq_fail(in->err, QDQ_E_FORMAT, "its type is %s, expected float",
                        type->kind == QDQ_TYPE_TENSOR ? qdq_elem_name(type->elem) : "no tensor");
    if (is_output && v->producer == NULL)
        return qdq_fail(in->err, QDQ_E_UNSUPPORTED, "it is an input and an output at once");
    if (is_output)
        QDQ_TRY(free_output_name(in, v, t->tensor));
    const char *out_name = is_output ? t->tensor : free_name(in, t->tensor, "_DequantizeLinear_Output");
    qdq_node *before = place_behind(in, v);
    qdq_value *inputs[3] = {v, add_scales(in, t->tensor, &t->qparam.scale, -1, 1),
                            add_zero_points(in, t->tensor, t->qparam.type, t->qparam.zero_point, -1, 1)};
    if (inputs[1] == NULL || inputs[2] == NULL || out_name == NULL)
        return qdq_nomem(in->err);
    const qdq_type *codes =
        type == NULL ? NULL : qdq_type_tensor(in->m, t->qparam.type, type->rank, type->dim);
    qdq_value *quantized = add_qdq_node(in, before, "QuantizeLinear", t->tensor, -1,
                                        free_name(in, t->tensor, "_QuantizeLinear_Output"), inputs, codes);
    inputs[0] = quantized;
    qdq_value *dequantized = quantized == NULL ? NULL
                                               : add_qdq_node(in, before, "DequantizeLinear", t->tensor, -1,
                                                              out_name, inputs, type);
    if (dequantized == NULL)
        return qdq_nomem(in->err);
    if (t->all)
        redirect_all(in, v, quantized, dequantized);
    for (size_t i = 0; i < t->consumers.n; i++)
        qdq_node_set_in(find_node(in, t->consumers.at[i].node), t->consumers.at[i].input, dequantized);
    return QDQ_OK;
}

/* --- public ------------------------------------------------------------------------------------------------------ */

static qdq_status step_room(inserter *in, size_t i)
{
    return make_room_for_bias(in, &in->plan->biases.at[i]);
}

static qdq_status step_bias(inserter *in, size_t i)
{
    return insert_bias(in, &in->plan->biases.at[i]);
}

static qdq_status step_tensor(inserter *in, size_t i)
{
    return insert_tensor(in, &in->plan->tensors.at[i]);
}

#define FOR_EACH(list, step, what)                                                                           \
    for (size_t i = 0; i < in->plan->list.n; i++) {                                                          \
        qdq_status st = step(in, i);                                                                         \
        if (st != QDQ_OK)                                                                                    \
            return qdq_within(in->err, st, what " '%s'", in->plan->list.at[i].tensor);                       \
    }

static void drop_originals(inserter *in)
{
    qdq_value *v;

    for (size_t i = 0; i < in->plan->weights.n; i++)
        if ((v = qdq_graph_find(in->g, in->plan->weights.at[i].tensor)) != NULL)
            qdq_value_remove_if_unused(v);
    for (size_t i = 0; i < in->plan->biases.n; i++)
        if ((v = qdq_graph_find(in->g, in->plan->biases.at[i].tensor)) != NULL)
            qdq_value_remove_if_unused(v);
}

/* Q/DQ came with opset 10, scales per channel with 13, 16-bit codes with 21. */
static qdq_status check_opset(const inserter *in)
{
    const qdq_plan *p = in->plan;
    int need = 0, have = qdq_model_opset(in->m);

    if (p->tensors.n + p->weights.n + p->biases.n > 0)
        need = p->weights.n > 0 ? 13 : 10;
    for (size_t i = 0; i < p->tensors.n; i++)
        if (qdq_elem_bits(p->tensors.at[i].qparam.type) > 8)
            need = 21;
    return have >= need ? QDQ_OK
                        : qdq_fail(in->err, QDQ_E_FORMAT,
                                   "the plan needs opset %d, but has the model left at %d", need, have);
}

static qdq_status insert(inserter *in)
{
    QDQ_TRY(check_opset(in));
    QDQ_TRY(qdq_graph_sort(in->g, in->err));
    QDQ_TRY(resolve(in));
    FOR_EACH(weights, weight_scales, "weight")
    FOR_EACH(biases, step_room, "bias")
    FOR_EACH(weights, insert_weight, "weight")
    FOR_EACH(biases, step_bias, "bias")
    FOR_EACH(tensors, step_tensor, "tensor")
    drop_originals(in);
    return QDQ_OK;
}

qdq_status qdq_insert(qdq_model *m, const qdq_plan *plan, qdq_error *err)
{
    inserter in = {.m = m, .g = m->graph, .plan = plan, .err = err};
    qdq_status st = insert(&in);

    qdq_map_free(&in.nodes);
    qdq_map_free(&in.tensors);
    qdq_map_free(&in.weights);
    qdq_map_free(&in.edges);
    qdq_map_free(&in.origin);
    qdq_arena_free(&in.scratch);
    return st;
}
