/* widen.c - widens 16-bit floats of a model to float32. Every type is changed where it stands:
 * of values, constants and attributes. A Cast between float32 and what was 16 bits is then one
 * to the type that is there already, and goes. */
#include "quant/half_precision/widen.h"

#include <string.h>

#include "base/fail.h"
#include "base/words.h"
#include "ir/edit.h"

static bool type_has_half(const qdq_type *t)
{
    int depth = 0;

    for (; t != NULL && depth < QDQ_MAX_NESTING; t = t->inner, depth++)
        if ((t->kind == QDQ_TYPE_TENSOR || t->kind == QDQ_TYPE_SPARSE) && qdq_elem_is_half(t->elem))
            return true;
    return false;
}

static bool value_has_half(const qdq_value *v)
{
    return type_has_half(v->type) || (v->init != NULL && qdq_elem_is_half(v->init->elem)) ||
           (v->sparse != NULL && qdq_elem_is_half(v->sparse->values->elem));
}

/* Attributes that name the type of a result. */
static bool names_half(const qdq_attr *a)
{
    return a->type == QDQ_ATTR_INT && (a->v.i == QDQ_FLOAT16 || a->v.i == QDQ_BFLOAT16) &&
           QDQ_WORD_IS_IN(a->name, "to", "dtype", "output_dtype", "output_datatype", "precision");
}

static bool attr_has_half(const qdq_attr *a)
{
    return names_half(a) || (a->type == QDQ_ATTR_TENSOR && qdq_elem_is_half(a->v.t->elem)) ||
           (a->type == QDQ_ATTR_TYPE && type_has_half(a->v.type));
}

bool qdq_model_has_half(const qdq_model *m)
{
    QDQ_FOR_GRAPHS (g, m) {
        for (size_t i = 0; i < g->values.n; i++)
            if (!g->values.at[i]->dead && value_has_half(g->values.at[i]))
                return true;
        QDQ_FOR_NODES (n, g)
            for (uint32_t i = 0; i < n->n_attr; i++)
                if (attr_has_half(n->attr[i]))
                    return true;
    }
    return false;
}

/* --- the parts -------------------------------------------------------------------------------- */

static qdq_tensor *widen_tensor(qdq_model *m, const qdq_tensor *t, qdq_status *st, qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_tensor *out = NULL;
    float *floats;
    void *data;

    *st = qdq_tensor_floats(t, &scratch, &floats, err);
    if (*st == QDQ_OK) {
        out = qdq_tensor_new(m, QDQ_FLOAT, t->rank, t->dim, &data);
        if (out == NULL)
            *st = qdq_nomem(err);
        else if (t->count > 0)
            memcpy(data, floats, (size_t)t->count * sizeof *floats);
    }
    qdq_arena_free(&scratch);
    return out;
}

static qdq_status set_type(qdq_value *v)
{
    if (!qdq_elem_is_half(qdq_value_elem(v)))
        return QDQ_OK;
    const qdq_type *type = qdq_type_tensor(v->graph->model, QDQ_FLOAT, v->type->rank, v->type->dim);
    if (type == NULL)
        return QDQ_E_NOMEM;
    qdq_value_set_type(v, type);
    return QDQ_OK;
}

static qdq_status widen_value(qdq_model *m, qdq_value *v, qdq_error *err)
{
    qdq_status st = QDQ_OK;

    if ((v->sparse != NULL && value_has_half(v)) ||
        (v->type != NULL && type_has_half(v->type->inner)))
        return qdq_fail(err, QDQ_E_UNSUPPORTED,
                        "value '%s': 16-bit floats inside, expected plain tensors", v->name);
    if (v->init != NULL && qdq_elem_is_half(v->init->elem)) {
        qdq_tensor *t = widen_tensor(m, v->init, &st, err);

        if (t == NULL)
            return qdq_within(err, st, "constant '%s'", v->name);
        QDQ_NEED(qdq_value_set_init(v, t), err);
    }
    return qdq_allocated(set_type(v) == QDQ_OK, err);
}

static qdq_status widen_attr(qdq_model *m, qdq_node *n, const qdq_attr *a, qdq_error *err)
{
    qdq_status st = QDQ_OK;

    if (names_half(a))
        return qdq_allocated(qdq_node_set_int(n, a->name, QDQ_FLOAT), err);
    if (a->type != QDQ_ATTR_TENSOR)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "attribute '%s' names 16-bit floats", a->name);
    qdq_tensor *t = widen_tensor(m, a->v.t, &st, err);
    qdq_attr *fresh = qdq_arena_alloc(&m->arena, sizeof *fresh);
    if (st != QDQ_OK)
        return st;
    QDQ_NEED(t != NULL && fresh != NULL, err);
    *fresh = *a;
    t->name = a->v.t->name;
    fresh->v.t = t;
    return qdq_allocated(qdq_node_set_attr(n, fresh), err);
}

static qdq_status widen_graph(qdq_graph *g, qdq_error *err)
{
    for (size_t i = 0; i < g->values.n; i++)
        if (!g->values.at[i]->dead)
            QDQ_TRY(widen_value(g->model, g->values.at[i], err));
    QDQ_FOR_NODES (n, g)
        for (uint32_t i = 0; i < n->n_attr; i++)
            if (attr_has_half(n->attr[i]))
                QDQ_TRY(widen_attr(g->model, n, n->attr[i], err));
    return QDQ_OK;
}

/* --- borders ---------------------------------------------------------------------------------- */

/* to = Cast(from), before `before`. */
static qdq_value *add_cast(qdq_graph *g, qdq_node *before, qdq_value *from, const char *to,
                           qdq_elem elem)
{
    const char *names[1] = {to};
    qdq_node *n = qdq_graph_add_node(g, before, "", "Cast", "", 1, 1, names);

    if (n == NULL || !qdq_node_set_int(n, "to", elem))
        return NULL;
    qdq_node_set_in(n, 0, from);
    return n->out[0];
}

/* What callers feed keeps its type: all read it through a Cast. */
static qdq_status guard_input(qdq_graph *g, qdq_value *v, qdq_elem elem)
{
    qdq_node *first = g->end.next != &g->end ? g->end.next : NULL;
    const char *name = qdq_graph_unique_name(g, v->name);
    qdq_value *wide = name != NULL ? add_cast(g, first, v, name, QDQ_FLOAT) : NULL;
    const qdq_type *type = qdq_type_tensor(g->model, elem, v->type->rank, v->type->dim);

    if (wide == NULL || type == NULL)
        return QDQ_E_NOMEM;
    qdq_value_set_type(wide, v->type);
    qdq_value_set_type(v, type);
    QDQ_FOR_USES (u, v)
        if (u->node != wide->producer)
            qdq_node_set_in(u->node, u->index, wide);
    return QDQ_OK;
}

/* The same for what they get. */
static qdq_status guard_output(qdq_graph *g, size_t i, qdq_elem elem)
{
    qdq_value *v = g->outputs.at[i];
    const char *name = v->name, *inner = qdq_graph_unique_name(g, v->name);
    const qdq_type *type = qdq_type_tensor(g->model, elem, v->type->rank, v->type->dim);

    if (inner == NULL || type == NULL || !qdq_value_rename(v, inner))
        return QDQ_E_NOMEM;
    qdq_value *narrow = add_cast(g, NULL, v, name, elem);
    if (narrow == NULL)
        return QDQ_E_NOMEM;
    qdq_value_set_type(narrow, type);
    for (size_t k = i; k < g->outputs.n; k++)
        if (g->outputs.at[k] == v)
            qdq_graph_set_output(g, k, narrow);
    return QDQ_OK;
}

/* The types that inputs and outputs of m, of which g is a copy, have. */
static qdq_status guard_borders(qdq_graph *g, const qdq_graph *original)
{
    qdq_status st = QDQ_OK;

    for (size_t i = 0; i < original->outputs.n && st == QDQ_OK; i++) {
        const qdq_value *was = original->outputs.at[i], *is = g->outputs.at[i];

        if (was->type != NULL && qdq_elem_is_half(was->type->elem) && !is->is_input &&
            is->type != NULL && is->type->elem == QDQ_FLOAT && is->producer != NULL &&
            strcmp(is->name, was->name) == 0)
            st = guard_output(g, i, was->type->elem);
    }
    for (size_t i = 0; i < original->inputs.n && st == QDQ_OK; i++) {
        const qdq_value *was = original->inputs.at[i];

        if (qdq_elem_is_half(qdq_value_elem(was)) && was->init == NULL)
            st = guard_input(g, g->inputs.at[i], was->type->elem);
    }
    return st;
}

/* A Cast to the type that its input has: what was a border is none. */
static void drop_cast(qdq_node *n)
{
    qdq_value *in = qdq_node_in(n, 0), *out = qdq_node_out(n, 0);
    bool same =
        n->op == QDQ_OP_CAST && qdq_value_elem(in) == QDQ_FLOAT && qdq_value_elem(out) == QDQ_FLOAT;

    if (same && qdq_value_replace(out, in))
        qdq_node_remove(n);
}

/* --- public ----------------------------------------------------------------------------------- */

static qdq_status widen_copy(qdq_model *copy, const qdq_model *m, qdq_error *err)
{
    QDQ_FOR_GRAPHS (g, copy)
        QDQ_TRY(widen_graph(g, err));
    QDQ_FOR_GRAPHS (g, copy)
        QDQ_FOR_NODES (n, g)
            drop_cast(n);
    return qdq_allocated(guard_borders(copy->graph, m->graph) == QDQ_OK, err);
}

qdq_status qdq_model_widen(const qdq_model *m, qdq_model **out, qdq_error *err)
{
    qdq_model *copy;

    *out = NULL;
    QDQ_TRY(qdq_model_clone(m, &copy, err));
    qdq_status st = widen_copy(copy, m, err);
    return QDQ_HAND_OVER(copy, st, out, qdq_model_free);
}
