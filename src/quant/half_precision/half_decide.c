/* half_decide.c - which nodes compute in 16 bits, and which values have them. Four loops:
 *
 *   modes    what each node can do, by its operator, its types and the plan
 *   index    readers first: small tensors that only become indices and sizes stay float32, where
 *            they are exact
 *   values   what each producer gives
 *   wants    asked value by value, by the conversion */
#include "base/fail.h"
#include "ir/graph_check.h"
#include "quant/half_precision/half_state.h"
#include "quant/weights/half_numbers.h"

enum { INDEX_ELEMENTS = 64 };

/* --- modes ------------------------------------------------------------------------------------ */

static bool types_are_known(const qdq_node *n)
{
    for (uint32_t i = 0; i < n->n_in; i++)
        if (n->in[i].value != NULL && qdq_half_elem(n->in[i].value) == QDQ_UNDEFINED)
            return false;
    for (uint32_t i = 0; i < n->n_out; i++)
        if (n->out[i] != NULL && qdq_half_elem(n->out[i]) == QDQ_UNDEFINED)
            return false;
    return true;
}

/* Float inputs and outputs of n, and those of them that may have 16 bits. */
typedef struct floats {
    size_t in, out, low_in, low_out;
} floats;

static floats count_floats(const qdq_node *n, qdq_float_slots may)
{
    floats f = {0, 0, 0, 0};

    for (uint32_t i = 0; i < n->n_in; i++)
        if (qdq_is_float_tensor(n->in[i].value)) {
            f.in++;
            f.low_in += qdq_float_slot(may.in, i);
        }
    for (uint32_t i = 0; i < n->n_out; i++)
        if (qdq_is_float_tensor(n->out[i])) {
            f.out++;
            f.low_out += qdq_float_slot(may.out, i);
        }
    return f;
}

/* Can the 16-bit type hold the scales of a Q or DQ well enough? What is computed is trusted. */
static qdq_status scales_fit(qdq_half_state *s, const qdq_node *n, bool *fit)
{
    const qdq_tensor *t = qdq_node_const(n, 1);
    qdq_arena_mark mark = qdq_arena_get_mark(&s->scratch);
    float *scale;

    *fit = true;
    if (t == NULL || t->elem != QDQ_FLOAT)
        return QDQ_OK;
    QDQ_TRY(qdq_tensor_floats(t, &s->scratch, &scale, s->err));
    *fit = qdq_half_fits(scale, (size_t)t->count, s->half->type);
    qdq_arena_reset(&s->scratch, mark);
    return QDQ_OK;
}

static const char *refusal_of_cast(const qdq_node *n)
{
    bool in = qdq_is_float_tensor(n->in[0].value), out = qdq_is_float_tensor(n->out[0]);

    return in == out ? "it casts no float32" : NULL;
}

const char *qdq_half_refusal(const qdq_half_state *s, const qdq_node *n)
{
    qdq_float_slots may = qdq_float_slots_of(n, s->half->type);
    floats f = count_floats(n, may);

    if (n->op == QDQ_OP_UNKNOWN || qdq_functions_callee(&s->functions, n) != QDQ_NO_FUNCTION)
        return "unknown operator";
    if (!types_are_known(n))
        return "a type is not known";
    if (n->op == QDQ_OP_CAST)
        return n->n_in == 1 && n->n_out == 1 && n->in[0].value != NULL && n->out[0] != NULL
                   ? refusal_of_cast(n)
                   : "an input is missing";
    if (f.low_in + f.low_out == 0)
        return "the operator takes no 16-bit floats";
    if ((n->op == QDQ_OP_QUANTIZELINEAR && qdq_node_int(n, "precision", 0) != 0) ||
        (n->op == QDQ_OP_DEQUANTIZELINEAR && qdq_node_int(n, "output_dtype", 0) != 0))
        return "an attribute gives its type";
    return NULL;
}

static qdq_status decide_node(qdq_half_state *s, const qdq_node *n, qdq_half_mode *mode)
{
    qdq_float_slots may = qdq_float_slots_of(n, s->half->type);
    floats f = count_floats(n, may);
    bool fit;

    *mode = QDQ_HALF_FLOAT;
    s->graph[n->graph->index].may[n->id] = may;
    if (qdq_map_get_int(s->float32_nodes, (uint64_t)(uintptr_t)n) != NULL ||
        qdq_half_refusal(s, n) != NULL)
        return QDQ_OK;
    if (n->op == QDQ_OP_CAST) {
        *mode = qdq_is_float_tensor(n->out[0]) ? QDQ_HALF_CASTS : QDQ_HALF_READS;
    } else if (qdq_node_is_qdq(n)) {
        QDQ_TRY(scales_fit(s, n, &fit));
        if (fit)
            *mode = n->op == QDQ_OP_QUANTIZELINEAR ? QDQ_HALF_QUANTIZE : QDQ_HALF_DEQUANTIZE;
    } else {
        *mode = f.in == 1 && f.out == 0 ? QDQ_HALF_READS : QDQ_HALF_LOW;
    }
    return QDQ_OK;
}

static qdq_status decide_nodes(qdq_half_state *s, const qdq_graph *g)
{
    qdq_half_graph *state = &s->graph[g->index];
    bool in_function = qdq_graph_in_function(g); /* types differ from call to call */

    state->n_node = g->next_node_id;
    state->n_value = g->values.n;
    state->mode = qdq_arena_array(&s->scratch, (size_t)g->next_node_id + 1, sizeof *state->mode);
    state->may = qdq_arena_array(&s->scratch, (size_t)g->next_node_id + 1, sizeof *state->may);
    state->low = qdq_arena_array(&s->scratch, g->values.n + 1, sizeof *state->low);
    state->other = qdq_arena_array(&s->scratch, g->values.n + 1, sizeof(qdq_value *));
    QDQ_NEED(state->mode != NULL && state->may != NULL && state->low != NULL &&
                 state->other != NULL,
             s->err);
    QDQ_FOR_NODES (n, g) {
        qdq_half_mode mode = QDQ_HALF_FLOAT;

        if (!in_function)
            QDQ_TRY(decide_node(s, n, &mode));
        state->mode[n->id] = (uint8_t)mode;
    }
    return QDQ_OK;
}

/* --- wants ------------------------------------------------------------------------------------ */

const qdq_value *qdq_half_known_low(const qdq_half_state *s, const qdq_value *v)
{
    const qdq_node *n = v->producer;

    if (n == NULL || n->id >= s->graph[n->graph->index].n_node ||
        qdq_half_mode_of(s, n) != QDQ_HALF_CASTS || qdq_half_elem(n->in[0].value) != s->half->type)
        return NULL;
    return n->in[0].value;
}

/* Of a scale: the type of what it belongs to. */
static qdq_half_want want_of_scale(const qdq_half_state *s, const qdq_value *v)
{
    if (v != NULL && qdq_half_elem(v) == s->half->type)
        return QDQ_WANT_LOW;
    if (v == NULL || !qdq_is_float_tensor(v))
        return QDQ_WANT_ANY; /* it is no float32, and neither is its scale */
    return qdq_half_is_low(s, v) || qdq_half_known_low(s, v) != NULL ? QDQ_WANT_LOW
                                                                     : QDQ_WANT_FLOAT;
}

/* Does the reader make 16 bits of it? */
static bool casts_to_low(const qdq_half_state *s, const qdq_node *n)
{
    return n->id < s->graph[n->graph->index].n_node && n->op == QDQ_OP_CAST &&
           qdq_half_mode_of(s, n) == QDQ_HALF_READS && qdq_half_elem(n->out[0]) == s->half->type;
}

qdq_half_want qdq_half_want_of(const qdq_half_state *s, const qdq_node *n, uint32_t input)
{
    if (n->id >= s->graph[n->graph->index].n_node)
        return QDQ_WANT_ANY; /* a Cast that the conversion made */
    switch (qdq_half_mode_of(s, n)) {
    case QDQ_HALF_FLOAT:
        return QDQ_WANT_FLOAT;
    case QDQ_HALF_LOW:
        return qdq_float_slot(s->graph[n->graph->index].may[n->id].in, input) ? QDQ_WANT_LOW
                                                                              : QDQ_WANT_FLOAT;
    case QDQ_HALF_READS:
    case QDQ_HALF_CASTS:
        return QDQ_WANT_ANY;
    case QDQ_HALF_QUANTIZE:
        return input == 1 ? want_of_scale(s, qdq_node_in(n, 0)) : QDQ_WANT_ANY;
    case QDQ_HALF_DEQUANTIZE:
        return input == 1 ? want_of_scale(s, qdq_node_out(n, 0)) : QDQ_WANT_ANY;
    }
    return QDQ_WANT_FLOAT;
}

/* --- index arithmetic ------------------------------------------------------------------------- */

static bool is_small(const qdq_value *v)
{
    return v->type->rank == 0 || (v->type->rank == 1 && v->type->dim[0].value <= INDEX_ELEMENTS);
}

/* Every reader takes float32, or makes an integer of it. */
static bool is_index(const qdq_half_state *s, const qdq_value *v)
{
    if (!is_small(v) || v->n_output > 0 || v->n_use == 0)
        return false;
    QDQ_FOR_USES (u, v) {
        bool to_int = u->node->op == QDQ_OP_CAST && qdq_node_out(u->node, 0) != NULL &&
                      qdq_elem_is_int(qdq_half_elem(u->node->out[0]));

        if (!to_int && qdq_half_want_of(s, u->node, u->index) != QDQ_WANT_FLOAT)
            return false;
    }
    return true;
}

static qdq_status decide_index(qdq_half_state *s, const qdq_graph *g)
{
    qdq_node **order;
    size_t n;

    QDQ_TRY(qdq_graph_sorted(g, &s->scratch, &order, &n, s->err));
    while (n-- > 0) {
        bool index = qdq_half_mode_of(s, order[n]) == QDQ_HALF_LOW;

        for (uint32_t i = 0; i < order[n]->n_out && index; i++)
            if (qdq_is_float_tensor(order[n]->out[i]))
                index = is_index(s, order[n]->out[i]);
        if (index)
            s->graph[g->index].mode[order[n]->id] = QDQ_HALF_FLOAT;
    }
    return QDQ_OK;
}

/* --- values ----------------------------------------------------------------------------------- */

/* Of a value whose producer gives either type. */
static bool is_wanted_low(const qdq_half_state *s, const qdq_value *v)
{
    if (v->n_output > 0)
        return !qdq_half_keeps_outputs(s, v->graph);
    QDQ_FOR_USES (u, v)
        if (qdq_half_want_of(s, u->node, u->index) == QDQ_WANT_LOW || casts_to_low(s, u->node))
            return true;
    return false;
}

static bool is_given_low(const qdq_half_state *s, const qdq_value *v)
{
    if (v->producer == NULL)
        return v->is_input && v->init == NULL && v->graph == s->m->graph && s->half->direct_io;
    switch (qdq_half_mode_of(s, v->producer)) {
    case QDQ_HALF_FLOAT:
    case QDQ_HALF_READS:
    case QDQ_HALF_QUANTIZE:
        return false;
    case QDQ_HALF_LOW:
        return qdq_float_slot(s->graph[v->graph->index].may[v->producer->id].out, v->out_index);
    /* what has 16 bits already needs no Cast: it stays for those who want float */
    case QDQ_HALF_CASTS:
        return (qdq_half_elem(v->producer->in[0].value) != s->half->type || v->n_output > 0) &&
               is_wanted_low(s, v);
    case QDQ_HALF_DEQUANTIZE:
        return is_wanted_low(s, v);
    }
    return false;
}

static void decide_values(qdq_half_state *s, const qdq_graph *g)
{
    for (size_t i = 0; i < g->values.n; i++) {
        const qdq_value *v = g->values.at[i];

        s->graph[g->index].low[i] =
            !v->dead && qdq_is_float_tensor(v) && qdq_value_const(v) == NULL && is_given_low(s, v);
    }
}

qdq_status qdq_half_decide(qdq_half_state *s)
{
    s->graph = qdq_arena_array(&s->scratch, s->m->graphs.n + 1, sizeof *s->graph);
    QDQ_NEED(s->graph != NULL && qdq_functions_open(&s->functions, s->m, &s->scratch), s->err);
    QDQ_FOR_GRAPHS (g, s->m)
        QDQ_TRY(decide_nodes(s, g));
    /* bodies stand behind the graphs around them, mostly */
    for (size_t i = s->m->graphs.n; i-- > 0;)
        if (!s->m->graphs.at[i]->dead)
            QDQ_TRY(decide_index(s, s->m->graphs.at[i]));
    QDQ_FOR_GRAPHS (g, s->m)
        decide_values(s, g);
    return QDQ_OK;
}
