/* drop_unused.c - drop-unused: nodes, outputs, constants and annotations that nothing needs. Graph
 * inputs stay, they belong to the caller. */
#include "base/fail.h"
#include "ir/function.h"
#include "opt/annotations.h"
#include "opt/opt.h"

typedef struct sweeper {
    qdq_opt *o;
    qdq_functions functions;
    qdq_arena memory;
    /* by graph index: something in it may have an effect; NULL: not looked at yet */
    bool *acts;
} sweeper;

/* --- effects -------------------------------------------------------------------------------------
 *
 * Only what is known to be without effects goes: pure operators, bodies and functions of nothing
 * else. Random nodes have one, which is that of the next one. */

/* Of the node itself: what is in its bodies is theirs. */
static bool acts_itself(const sweeper *s, const qdq_node *n)
{
    uint32_t i = qdq_functions_callee(&s->functions, n);

    if (i != QDQ_NO_FUNCTION)
        return s->acts[s->o->model->functions.at[i]->body->index];
    return (qdq_op_get_info(n->op)->flags & (QDQ_OP_PURE | QDQ_OP_CONTROL)) == 0;
}

/* Marks the graphs from `root` inwards that act, and those around them. */
static bool find_actors_in(sweeper *s, qdq_graph *root)
{
    qdq_graph_list work = {NULL, 0, 0};

    if (!QDQ_PUSH(&s->memory, &work, root))
        return false;
    while (work.n > 0) {
        const qdq_graph *g = work.at[--work.n];

        QDQ_FOR_NODES (n, g) {
            if (!qdq_node_push_graphs(n, &s->memory, &work))
                return false;
            if (!acts_itself(s, n))
                continue;
            for (const qdq_graph *at = g; !s->acts[at->index]; at = at->owner->graph) {
                s->acts[at->index] = true;
                if (at->owner == NULL)
                    break;
            }
        }
    }
    return true;
}

/* Functions before those that call them; one that calls itself acts. */
static bool find_actors(sweeper *s)
{
    const qdq_model *m = s->o->model;
    uint32_t *order;
    size_t n;

    s->acts = qdq_arena_array(&s->memory, m->graphs.n, sizeof *s->acts);
    if (s->acts == NULL || !qdq_functions_order(&s->functions, &s->memory, &order, &n))
        return false;
    for (size_t i = 0; i < m->functions.n; i++)
        s->acts[m->functions.at[i]->body->index] = true;
    for (size_t i = 0; i < n; i++) {
        s->acts[m->functions.at[order[i]]->body->index] = false;
        if (!find_actors_in(s, m->functions.at[order[i]]->body))
            return false;
    }
    return find_actors_in(s, m->graph);
}

static qdq_status may_go(sweeper *s, const qdq_node *n, bool *yes, qdq_error *err)
{
    bool is_call = qdq_functions_callee(&s->functions, n) != QDQ_NO_FUNCTION;
    unsigned flags = qdq_op_get_info(n->op)->flags;

    *yes = !is_call && (flags & QDQ_OP_PURE) != 0;
    if (!is_call && (flags & QDQ_OP_CONTROL) == 0)
        return QDQ_OK;
    if (s->acts == NULL && !find_actors(s))
        return qdq_nomem(err);
    *yes = !acts_itself(s, n);
    for (uint32_t i = 0; i < n->n_attr && *yes; i++) {
        size_t count;
        qdq_graph *const *graph = qdq_attr_graphs(n->attr[i], &count);

        for (size_t k = 0; k < count; k++)
            *yes = *yes && !s->acts[graph[k]->index];
    }
    return QDQ_OK;
}

/* --- outputs ---------------------------------------------------------------------------------- */

/* Outputs [first, last] may be left out, and what the others are does not depend on it. */
typedef struct optional_outputs {
    qdq_op op;
    uint32_t first, last;
} optional_outputs;

static const optional_outputs table[] = {
    {QDQ_OP_BATCHNORMALIZATION, 1, 4},
    {QDQ_OP_DROPOUT, 1, 1},
    {QDQ_OP_GRU, 1, 1},
    {QDQ_OP_LSTM, 1, 2},
    {QDQ_OP_LAYERNORMALIZATION, 1, 2},
    {QDQ_OP_MAXPOOL, 1, 1},
    {QDQ_OP_RNN, 1, 1},
};

static const optional_outputs *optional_of(const qdq_node *n)
{
    for (size_t i = 0; n->n_out > 1 && i < QDQ_COUNT(table); i++)
        if (table[i].op == n->op)
            return &table[i];
    return NULL;
}

static bool is_spare(const qdq_value *v)
{
    return v != NULL && v->n_use == 0 && v->n_output == 0;
}

/* Before opset 14 BatchNormalization trains when it has more than one output, since then when an
 * attribute says so. */
static bool trains(const qdq_node *n)
{
    const qdq_attr *a = qdq_node_attr(n, "training_mode");

    return n->op == QDQ_OP_BATCHNORMALIZATION &&
           (qdq_graph_opset(n->graph) < 14 || (a != NULL && (a->ref != NULL || a->v.i != 0)));
}

static void leave_out_outputs(qdq_opt *o, qdq_node *n)
{
    const optional_outputs *row = optional_of(n);
    bool is_any = false;

    for (uint32_t i = row != NULL ? row->first : n->n_out; i < n->n_out && i <= row->last; i++)
        is_any = is_any || is_spare(n->out[i]);
    if (!is_any)
        return;
    if (trains(n)) {
        qdq_opt_refuse(o, n, "it trains, and would not without its further outputs");
        return;
    }
    if (!qdq_opt_take(o, n))
        return;
    for (uint32_t i = row->first; i < n->n_out && i <= row->last; i++) {
        qdq_value *v = n->out[i];

        if (!is_spare(v))
            continue;
        qdq_value_detach(v);
        qdq_value_remove(v);
    }
    qdq_node_trim_out(n);
}

/* "" at the end says nothing. Not of Loop, whose first two inputs must be there, be they empty. */
static void leave_out_inputs(qdq_opt *o, qdq_node *n)
{
    if ((qdq_op_get_info(n->op)->flags & QDQ_OP_PURE) != 0 && n->n_in > 1 &&
        n->in[n->n_in - 1].value == NULL && qdq_opt_take(o, n))
        qdq_node_trim_in(n);
}

/* --- the sweep -------------------------------------------------------------------------------- */

/* Readers before producers, so that one walk finds whole dead chains. */
static qdq_status sweep_nodes(sweeper *s, qdq_graph *g, qdq_error *err)
{
    for (qdq_node *n = g->end.prev, *prev; n != &g->end; n = prev) {
        bool yes = false;

        prev = n->prev;
        if (!qdq_node_is_read(n))
            QDQ_TRY(may_go(s, n, &yes, err));
        if (yes && qdq_opt_take(s->o, n)) {
            qdq_node_remove(n);
            continue;
        }
        leave_out_outputs(s->o, n);
        leave_out_inputs(s->o, n);
    }
    return QDQ_OK;
}

static qdq_status sweep_constants(sweeper *s, qdq_graph *g, qdq_error *err)
{
    qdq_map needed = QDQ_MAP_INIT; /* names of constants that annotations speak of */
    qdq_status st = qdq_annotations_sweep(s->o, g, &needed, err);

    QDQ_FOR_INITS(v, g)
    {
        if (st == QDQ_OK && qdq_value_is_removable(v) && qdq_map_get(&needed, v->name) == NULL &&
            qdq_opt_take_value(s->o, v))
            qdq_value_remove(v);
    }
    qdq_map_free(&needed);
    return st;
}

/* Bodies before the graphs around them, mostly: what they capture is then known to be unread. */
static qdq_status sweep(sweeper *s, qdq_error *err)
{
    const qdq_model *m = s->o->model;

    QDQ_NEED(qdq_functions_open(&s->functions, m, &s->memory), err);
    for (size_t i = m->graphs.n; i-- > 0;) {
        if (m->graphs.at[i]->dead)
            continue;
        QDQ_TRY(sweep_nodes(s, m->graphs.at[i], err));
        QDQ_TRY(sweep_constants(s, m->graphs.at[i], err));
    }
    return QDQ_OK;
}

qdq_status qdq_pass_drop_unused(qdq_opt *o, qdq_error *err)
{
    sweeper s = {.o = o};
    qdq_status st = sweep(&s, err);

    qdq_functions_close(&s.functions);
    qdq_arena_free(&s.memory);
    return st;
}
