/* half_scales.c - scales as the 16-bit type has them, while all is float32 still. Those of a Q that
 * stays in front of its border, too: Q and DQ have one scale. */

#include "base/fail.h"
#include "ir/edit.h"
#include "quant/half_precision/half_state.h"
#include "quant/weights/half_numbers.h"

/* Has n a scale that can have the type, and is not that of a bias? */
static bool is_pair(const qdq_half_state *s, const qdq_node *n)
{
    qdq_half_mode mode = qdq_half_mode_of(s, n);

    return mode == QDQ_HALF_QUANTIZE ||
           (mode == QDQ_HALF_DEQUANTIZE && qdq_half_elem(n->in[0].value) != QDQ_INT32);
}

/* *out is NULL if each of them is such a number already. */
static qdq_status round_tensor(qdq_half_state *s, const qdq_tensor *t, qdq_tensor **out)
{
    bool same = true;
    float *x;

    *out = NULL;
    QDQ_TRY(qdq_tensor_floats(t, &s->scratch, &x, s->err));
    for (int64_t i = 0; i < t->count; i++) {
        float r = qdq_half_round(x[i], s->half->type);

        same = same && r == x[i];
        x[i] = r;
    }
    if (same)
        return QDQ_OK;
    *out = qdq_tensor_of_floats(s->m, t->rank, t->dim, x);
    return qdq_allocated(*out != NULL, s->err);
}

/* Readers that are no such Q/DQ keep the number that was there. */
static qdq_status round_value(qdq_half_state *s, qdq_value *v)
{
    const qdq_tensor *t = qdq_value_const(v);
    size_t n_pair = 0, n_use = 0;
    qdq_tensor *fresh;

    QDQ_FOR_USES (u, v) {
        n_pair += u->index == 1 && is_pair(s, u->node);
        n_use++;
    }
    if (n_pair == 0)
        return QDQ_OK;
    QDQ_TRY(round_tensor(s, t, &fresh));
    if (fresh == NULL)
        return QDQ_OK;
    if (n_pair == n_use && v->n_output == 0 && !v->is_input && v->init != NULL)
        return qdq_allocated(qdq_value_set_init(v, fresh), s->err);
    const char *name = qdq_graph_unique_name(v->graph, v->name);
    qdq_value *own = name != NULL ? qdq_graph_add_init(v->graph, name, fresh) : NULL;
    QDQ_NEED(own != NULL, s->err);
    QDQ_FOR_USES (u, v)
        if (u->index == 1 && is_pair(s, u->node))
            qdq_node_set_in(u->node, 1, own);
    if (v->producer != NULL && !qdq_node_is_read(v->producer))
        qdq_node_remove(v->producer);
    return QDQ_OK;
}

static qdq_status round_graph(qdq_half_state *s, qdq_graph *g)
{
    size_t n = g->values.n; /* not those that are added */

    for (size_t i = 0; i < n; i++) {
        qdq_arena_mark mark = qdq_arena_get_mark(&s->scratch);
        qdq_value *v = g->values.at[i];

        if (!v->dead && qdq_value_const(v) != NULL && qdq_is_float_tensor(v))
            QDQ_TRY(round_value(s, v));
        qdq_arena_reset(&s->scratch, mark);
    }
    return QDQ_OK;
}

static qdq_status round_all(qdq_half_state *s)
{
    QDQ_TRY(qdq_half_decide(s));
    QDQ_FOR_GRAPHS (g, s->m)
        if (!qdq_graph_in_function(g))
            QDQ_TRY(round_graph(s, g));
    return QDQ_OK;
}

qdq_status qdq_half_round_scales(qdq_model *m, const qdq_plan_half *rest, const qdq_map *kept,
                                 qdq_error *err)
{
    qdq_half_state s = {.m = m, .half = rest, .float32_nodes = kept, .err = err};
    qdq_status st = round_all(&s);

    qdq_functions_close(&s.functions);
    qdq_arena_free(&s.scratch);
    return st;
}
