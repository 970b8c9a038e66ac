/* half_precision.c - converts unquantized nodes to 16 bits. First all is decided, on the graph as
 * it is (half_decide.c); then, value by value:
 *
 *   constants  in the type that their readers want, in both where they want both
 *   casts      one behind a value that some readers want in the other type; a graph output's name
 *              goes along
 *   nodes      attributes that hold a type
 *
 * Casts between float32 and the 16-bit type that the model has are the same thing as those made
 * here, and used. */
#include "quant/half_precision/half_precision.h"

#include "base/buf.h"
#include "base/fail.h"
#include "ir/edit.h"
#include "ir/graph_check.h"
#include "quant/half_precision/half_state.h"

/* --- which nodes are kept --------------------------------------------------------------------- */

static qdq_status keep_named(const qdq_plan *p, const qdq_map *by_label, qdq_map *kept,
                             qdq_error *err)
{
    qdq_buf missing = QDQ_BUF_INIT(1 << 16);
    qdq_status st = QDQ_OK;

    for (size_t i = 0; i < p->half.keep.n && st == QDQ_OK; i++) {
        const qdq_map_value *n = qdq_map_get(by_label, p->half.keep.at[i].node);

        if (n == NULL)
            qdq_buf_printf(&missing, " node '%s';", p->half.keep.at[i].node);
        else if (qdq_map_put_int(kept, (uint64_t)(uintptr_t)n->ptr, NULL) == NULL)
            st = qdq_nomem(err);
    }
    if (st == QDQ_OK && missing.size > 0)
        st = qdq_fail(err, QDQ_E_FORMAT,
                      "the plan keeps in float32 what the model does not have:%.*s",
                      (int)(missing.size - 1 < 700 ? missing.size - 1 : 700), missing.data);
    qdq_buf_free(&missing);
    return st;
}

qdq_status qdq_half_find_kept(const qdq_model *m, const qdq_plan *p, qdq_map *kept, qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_map by_label = QDQ_MAP_INIT;
    qdq_status st = QDQ_OK;

    if (p->half.keep.n == 0)
        return QDQ_OK;
    QDQ_FOR_GRAPHS (g, m)
        if (st == QDQ_OK && !qdq_graph_map_labels(g, &scratch, &by_label))
            st = qdq_nomem(err);
    if (st == QDQ_OK)
        st = keep_named(p, &by_label, kept, err);
    qdq_map_free(&by_label);
    qdq_arena_free(&scratch);
    return st;
}

/* --- constants -------------------------------------------------------------------------------- */

typedef struct wants {
    /* readers; those that take anything, and outputs, are others */
    size_t low, other;
} wants;

static wants count_wants(const qdq_half_state *s, const qdq_value *v)
{
    wants w = {0, v->n_output};

    QDQ_FOR_USES (u, v) {
        if (qdq_half_want_of(s, u->node, u->index) == QDQ_WANT_LOW)
            w.low++;
        else
            w.other++;
    }
    return w;
}

static void redirect_readers(const qdq_half_state *s, qdq_value *v, qdq_half_want want,
                             qdq_value *to)
{
    QDQ_FOR_USES (u, v)
        if (qdq_half_want_of(s, u->node, u->index) == want)
            qdq_node_set_in(u->node, u->index, to);
}

/* A free name made from that of v: "w" gives "w_float16". */
static const char *name_of(qdq_half_state *s, const qdq_value *v, qdq_elem elem)
{
    const char *name = qdq_arena_printf(&s->scratch, "%s_%s", v->name, qdq_elem_name(elem));

    return name != NULL ? qdq_graph_unique_name(v->graph, name) : NULL;
}

static qdq_status convert_constant(qdq_half_state *s, qdq_value *v)
{
    wants w = count_wants(s, v);
    qdq_node *producer = v->producer;
    qdq_status st;

    if (w.low == 0)
        return QDQ_OK;
    qdq_tensor *t = qdq_half_tensor(s->m, qdq_value_const(v), s->half->type, s->job, &st, s->err);
    if (t == NULL)
        return qdq_within(s->err, st, "constant '%s'", v->name);
    if (w.other == 0 && producer == NULL) {
        if (v->is_input)
            qdq_graph_remove_input(v->graph, v);
        QDQ_NEED(qdq_value_set_init(v, t), s->err);
        qdq_value_set_type(v, qdq_type_fixed(s->m, s->half->type, t->rank, t->dim));
        return qdq_allocated(v->type != NULL, s->err);
    }
    const char *name = name_of(s, v, s->half->type);
    qdq_value *low = name != NULL ? qdq_graph_add_init(v->graph, name, t) : NULL;
    QDQ_NEED(low != NULL, s->err);
    redirect_readers(s, v, QDQ_WANT_LOW, low);
    if (producer != NULL && w.other == 0)
        qdq_node_remove(producer);
    return QDQ_OK;
}

/* --- casts ------------------------------------------------------------------------------------ */

static const qdq_type *with_elem(qdq_half_state *s, const qdq_type *t, qdq_elem elem)
{
    return t != NULL ? qdq_type_tensor(s->m, elem, t->rank, t->dim)
                     : qdq_type_tensor(s->m, elem, -1, NULL);
}

static qdq_node *place_behind(const qdq_value *v)
{
    qdq_node *next = v->producer != NULL ? v->producer->next : v->graph->end.next;

    return next != &v->graph->end ? next : NULL;
}

/* v in the other type, named `name`. NULL: out of memory. */
static qdq_value *add_cast(qdq_half_state *s, qdq_value *v, const char *name, qdq_elem elem)
{
    const char *base = qdq_arena_printf(&s->scratch, "%s_Cast", v->name);
    const char *node_name = base != NULL ? qdq_graph_unique_node_name(v->graph, base) : NULL;
    const char *names[1] = {name};
    const qdq_type *type = with_elem(s, v->type, elem);

    if (name == NULL || node_name == NULL || type == NULL)
        return NULL;
    qdq_node *n = qdq_graph_add_node(v->graph, place_behind(v), "", "Cast", node_name, 1, 1, names);
    if (n == NULL)
        return NULL;
    qdq_node_set_in(n, 0, v);
    if (!qdq_node_set_int(n, "to", elem))
        return NULL;
    qdq_value_set_type(n->out[0], type);
    return n->out[0];
}

/* Behind a Cast to float of what is there in 16 bits already, or in front of a Cast that gives
 * them: that is v in the other type. NULL: there is none. */
static qdq_value *known_low(const qdq_half_state *s, const qdq_value *v)
{
    if (qdq_half_known_low(s, v) != NULL)
        return v->producer->in[0].value;
    QDQ_FOR_USES (u, v)
        if (u->node->graph == v->graph && u->node->id < s->graph[v->graph->index].n_node &&
            qdq_half_mode_of(s, u->node) == QDQ_HALF_READS && u->node->op == QDQ_OP_CAST &&
            qdq_half_elem(u->node->out[0]) == s->half->type)
            return u->node->out[0];
    return NULL;
}

static qdq_status make_low(qdq_half_state *s, qdq_value *v, qdq_value **out)
{
    *out = known_low(s, v);
    if (*out == NULL)
        *out = add_cast(s, v, name_of(s, v, s->half->type), s->half->type);
    return qdq_allocated(*out != NULL, s->err);
}

/* Callers ask for outputs by name: the name goes to the float32 form. */
static qdq_status make_float(qdq_half_state *s, qdq_value *v, qdq_value **out)
{
    bool is_output = v->n_output > 0 && qdq_half_keeps_outputs(s, v->graph);
    const char *name = is_output ? v->name : name_of(s, v, QDQ_FLOAT);

    if (is_output) {
        const char *inner = name_of(s, v, s->half->type);
        QDQ_NEED(inner != NULL && qdq_value_rename(v, inner), s->err);
    }
    *out = add_cast(s, v, name, QDQ_FLOAT);
    return qdq_allocated(*out != NULL, s->err);
}

/* Casts to 16 bits of what now has them go. */
static void drop_casts(qdq_half_state *s, qdq_value *v)
{
    QDQ_FOR_USES (u, v) {
        qdq_node *n = u->node;

        if (n->op != QDQ_OP_CAST || n->id >= s->graph[n->graph->index].n_node ||
            qdq_half_mode_of(s, n) != QDQ_HALF_READS || qdq_half_elem(n->out[0]) != s->half->type)
            continue;
        if (n->graph == v->graph ? qdq_value_replace(n->out[0], v) : n->out[0]->n_output == 0) {
            qdq_value_replace(n->out[0], v);
            qdq_node_remove(n);
        }
    }
}

/* A Q takes any type: it reads what a Cast to float was made of. */
static void quantize_low(const qdq_half_state *s, qdq_value *v)
{
    qdq_value *low = v->producer->in[0].value;

    QDQ_FOR_USES (u, v)
        if (u->index == 0 && u->node->id < s->graph[u->node->graph->index].n_node &&
            qdq_half_mode_of(s, u->node) == QDQ_HALF_QUANTIZE)
            qdq_node_set_in(u->node, 0, low);
}

static bool is_wanted(const qdq_half_state *s, const qdq_value *v, qdq_half_want want)
{
    QDQ_FOR_USES (u, v)
        if (qdq_half_want_of(s, u->node, u->index) == want)
            return true;
    return false;
}

static qdq_status convert_value(qdq_half_state *s, qdq_value *v)
{
    bool low = qdq_half_is_low(s, v);
    qdq_half_want other = low ? QDQ_WANT_FLOAT : QDQ_WANT_LOW;
    qdq_value **form = &s->graph[v->graph->index].other[v->id];

    if (is_wanted(s, v, other) || (low && v->n_output > 0 && qdq_half_keeps_outputs(s, v->graph))) {
        if (low) {
            QDQ_TRY(make_float(s, v, form));
        } else {
            QDQ_TRY(make_low(s, v, form));
        }
        redirect_readers(s, v, other, *form);
    }
    if (low)
        drop_casts(s, v);
    else if (qdq_half_known_low(s, v) != NULL)
        quantize_low(s, v);
    return QDQ_OK;
}

/* Only now: what readers want is asked by the types as they were. */
static qdq_status retype_value(qdq_half_state *s, qdq_value *v)
{
    const qdq_type *type = with_elem(s, v->type, s->half->type);

    QDQ_NEED(type != NULL, s->err);
    qdq_value_set_type(v, type);
    return QDQ_OK;
}

static qdq_status convert_values(qdq_half_state *s, qdq_graph *g)
{
    size_t n = s->graph[g->index].n_value;

    for (size_t i = 0; i < n; i++) {
        qdq_value *v = g->values.at[i];

        if (v->dead || !qdq_is_float_tensor(v))
            continue;
        qdq_status st = qdq_value_const(v) != NULL ? convert_constant(s, v) : convert_value(s, v);
        QDQ_TRY(st);
    }
    for (size_t i = 0; i < g->outputs.n; i++) {
        const qdq_value *v = g->outputs.at[i]; /* one of a graph around, maybe */

        if (v->id < s->graph[v->graph->index].n_value && qdq_is_float_tensor(v) &&
            qdq_half_is_low(s, v) && qdq_half_keeps_outputs(s, g) &&
            s->graph[v->graph->index].other[v->id] != NULL)
            qdq_graph_set_output(g, i, s->graph[v->graph->index].other[v->id]);
    }
    return QDQ_OK;
}

/* --- nodes ------------------------------------------------------------------------------------ */

static qdq_status set_fill(qdq_half_state *s, qdq_node *n)
{
    const qdq_attr *old = qdq_node_attr(n, "value");
    const int64_t one = 1;
    const float zero = 0;
    const qdq_tensor *from = old != NULL && old->type == QDQ_ATTR_TENSOR
                                 ? old->v.t
                                 : qdq_tensor_of_floats(s->m, 1, &one, &zero);
    qdq_status st = QDQ_OK;

    qdq_tensor *t =
        from != NULL ? qdq_half_tensor(s->m, from, s->half->type, s->job, &st, s->err) : NULL;
    if (st != QDQ_OK)
        return st;
    QDQ_NEED(t != NULL, s->err);
    t->name = "";
    return qdq_allocated(qdq_node_set_tensor(n, "value", t), s->err);
}

static qdq_status convert_node(qdq_half_state *s, qdq_node *n)
{
    const qdq_value *out = qdq_node_out(n, 0);
    qdq_half_mode mode = qdq_half_mode_of(s, n);

    if (out == NULL || !qdq_is_float_tensor(out) || !qdq_half_is_low(s, out))
        return QDQ_OK;
    if (mode == QDQ_HALF_CASTS && !qdq_node_set_int(n, "to", s->half->type))
        return qdq_nomem(s->err);
    return n->op == QDQ_OP_CONSTANTOFSHAPE ? set_fill(s, n) : QDQ_OK;
}

/* Nodes, then types of values; a Cast to float whose only readers took its input goes. */
static qdq_status finish_graph(qdq_half_state *s, qdq_graph *g)
{
    size_t n = s->graph[g->index].n_value;

    QDQ_FOR_NODES (node, g) {
        if (node->id >= s->graph[g->index].n_node)
            continue;
        if (qdq_half_mode_of(s, node) == QDQ_HALF_CASTS && !qdq_node_is_read(node))
            qdq_node_remove(node);
        else
            QDQ_TRY(convert_node(s, node));
    }
    for (size_t i = 0; i < n; i++)
        if (!g->values.at[i]->dead && qdq_half_is_low(s, g->values.at[i]))
            QDQ_TRY(retype_value(s, g->values.at[i]));
    return qdq_graph_sort(g, s->err);
}

static qdq_status convert_model(qdq_half_state *s)
{
    QDQ_TRY(qdq_half_decide(s));
    QDQ_FOR_GRAPHS (g, s->m)
        if (!qdq_graph_in_function(g))
            QDQ_TRY(convert_values(s, g));
    QDQ_FOR_GRAPHS (g, s->m)
        if (!qdq_graph_in_function(g))
            QDQ_TRY(finish_graph(s, g));
    return QDQ_OK;
}

qdq_status qdq_half_convert(qdq_model *m, const qdq_plan_half *rest, const qdq_map *kept,
                            const qdq_job *job, qdq_error *err)
{
    qdq_half_state s = {.m = m, .half = rest, .float32_nodes = kept, .job = job, .err = err};

    if (rest->type == QDQ_UNDEFINED || rest->type == QDQ_FLOAT)
        return QDQ_OK;
    qdq_status st = convert_model(&s);
    qdq_functions_close(&s.functions);
    qdq_arena_free(&s.scratch);
    return st;
}
