/* set_shapes.c - fixes the shapes of graph inputs: infers all other shapes again and lets the batch
 * that an exporter wrote into the shape of a Reshape follow.
 *
 * First everything is tried on facts beside the model, then everything is made that needs memory,
 * and only then the model changes: shapes that do not fit leave it as it was. */
#include "ir/shape_infer.h"

#include <inttypes.h>

#include "ir/edit.h"

/* A Reshape whose constant shape gets another leading number. */
typedef struct reshape_change {
    qdq_node *node;
    int64_t lead;
    /* the new constant, once it is made */
    qdq_value *shape;
} reshape_change;

struct qdq_adapt {
    /* what held before */
    const qdq_infer_env *old;
    /* input value -> its new type */
    qdq_map inputs;
    /* symbol (interned pointer) -> its number */
    qdq_map symbols;
    /* node -> index into `changes` */
    qdq_map reshapes;
    QDQ_VEC(reshape_change) changes;
    /* inputs changed elsewhere than in front, too */
    bool other_dims;
};

static uint64_t key_of(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

/* --- what inference asks ---------------------------------------------------------------------- */

const qdq_type *qdq_adapt_input(const qdq_adapt *a, const qdq_value *v)
{
    const qdq_map_value *place = a == NULL ? NULL : qdq_map_get_int(&a->inputs, key_of(v));

    return place == NULL ? NULL : place->ptr;
}

qdq_dim qdq_adapt_dim(const qdq_adapt *a, qdq_dim d)
{
    const qdq_map_value *place = NULL;

    if (a != NULL && d.value < 0 && d.param != NULL)
        place = qdq_map_get_int(&a->symbols, key_of(d.param));
    return place == NULL ? d : qdq_dim_known((int64_t)place->num);
}

/* Rows in, rows out: where the input of a Reshape now has r times as many leading rows as before, a
 * leading number that was written down for the old ones gets r times as large. What follows -1, 0
 * or Shape needs no help. Where -1 could take the growth as well, and pictures rather than batches
 * may have grown, only a number that was the number of rows follows. */
static bool lead_follows(const qdq_adapt *a, const qdq_values *shape, int64_t rows_before)
{
    bool has_open = false;

    for (int i = 1; i < shape->n; i++)
        has_open = has_open || (shape->at[i].know == QDQ_KNOW_NUMBER && shape->at[i].v.i == -1);
    return !has_open || !a->other_dims || shape->at[0].v.i == rows_before;
}

/* Not in functions: their bodies serve other calls, too. */
qdq_status qdq_infer_adapt(qdq_infer *c, const qdq_shape *in, const qdq_values *shape,
                           qdq_shape *out)
{
    qdq_adapt *a = c->env->adapt;
    const qdq_value *x = qdq_node_in(c->node, 0), *s = qdq_node_in(c->node, 1);
    reshape_change change = {(qdq_node *)c->node, 0, NULL};
    const qdq_fact *before;
    qdq_map_value *place;
    int64_t rows, lead;
    bool is_new;

    if (a == NULL || c->env->call != NULL || x == NULL || s == NULL || qdq_value_const(s) == NULL ||
        in->rank < 1 || shape->n < 1 || shape->at[0].know != QDQ_KNOW_NUMBER ||
        shape->at[0].v.i < 1 || in->dim[0].value < 1)
        return QDQ_OK;
    if (a->old->graphs[x->graph->index].fact == NULL)
        return QDQ_OK;
    before = &a->old->graphs[x->graph->index].fact[x->id];
    if (before->type == NULL || before->type->kind != QDQ_TYPE_TENSOR || before->type->rank < 1)
        return QDQ_OK;
    rows = before->type->dim[0].value;
    if (rows < 1 || rows == in->dim[0].value || !lead_follows(a, shape, rows))
        return QDQ_OK;
    if (!qdq_mul_int64(shape->at[0].v.i, in->dim[0].value, &lead) || lead % rows != 0)
        return QDQ_OK;
    change.lead = lead / rows;
    out->dim[0] = qdq_dim_known(change.lead);
    place = qdq_map_put_int(&a->reshapes, key_of(c->node), &is_new);
    QDQ_NEED(place != NULL, c->err);
    if (!is_new) {
        a->changes.at[place->num].lead = change.lead;
        return QDQ_OK;
    }
    place->num = a->changes.n;
    return QDQ_PUSH(&c->env->arena, &a->changes, change) ? QDQ_OK : qdq_nomem(c->err);
}

/* --- what the caller asks for ----------------------------------------------------------------- */

static qdq_status find_input(const qdq_model *m, const char *name, qdq_value **out, qdq_error *err)
{
    qdq_value *v = name == NULL ? NULL : qdq_graph_find(m->graph, name);

    if (v == NULL || !v->is_input)
        return qdq_fail(err, QDQ_E_USAGE, "shape for '%s': the model has no input of that name",
                        name == NULL ? "" : name);
    if (v->init != NULL || v->sparse != NULL)
        return qdq_fail(err, QDQ_E_USAGE, "shape for '%s': a constant of the model, want an input",
                        name);
    if (v->type == NULL || v->type->kind != QDQ_TYPE_TENSOR || v->type->elem == QDQ_UNDEFINED)
        return qdq_fail(err, QDQ_E_USAGE,
                        "shape for '%s': the input is not a tensor of a known element type", name);
    *out = v;
    return QDQ_OK;
}

/* A symbol of the input's declared shape means the same number everywhere. */
static qdq_status bind_symbol(qdq_adapt *a, const qdq_value *v, qdq_dim d, int64_t value,
                              qdq_error *err)
{
    qdq_map_value *place;
    bool is_new;

    if (d.value >= 0 || d.param == NULL || d.param[0] == '\0')
        return QDQ_OK;
    place = qdq_map_put_int(&a->symbols, key_of(d.param), &is_new);
    QDQ_NEED(place != NULL, err);
    if (!is_new && place->num != (uint64_t)value)
        return qdq_fail(err, QDQ_E_USAGE,
                        "shape for '%s': dim '%s' is %" PRId64 " here and %" PRIu64 " elsewhere",
                        v->name, d.param, value, place->num);
    place->num = (uint64_t)value;
    return QDQ_OK;
}

static qdq_status put_input(qdq_adapt *a, qdq_infer_env *env, const qdq_value *v, qdq_elem elem,
                            const qdq_shape *s, qdq_error *err)
{
    qdq_type *t = qdq_arena_alloc(&env->arena, sizeof *t);
    qdq_shape *own = qdq_arena_alloc(&env->arena, sizeof *own);
    qdq_map_value *place;
    bool is_new;

    QDQ_NEED(t != NULL && own != NULL, err);
    *own = *s;
    t->elem = elem;
    t->rank = own->rank;
    t->dim = own->dim;
    place = qdq_map_put_int(&a->inputs, key_of(v), &is_new);
    QDQ_NEED(place != NULL, err);
    if (!is_new)
        return qdq_fail(err, QDQ_E_USAGE, "shape for '%s': given twice", v->name);
    place->ptr = t;
    return QDQ_OK;
}

static qdq_status read_request(qdq_adapt *a, qdq_infer_env *env, const qdq_input_shape *want,
                               qdq_error *err)
{
    qdq_value *v = NULL;
    qdq_shape s;

    QDQ_TRY(find_input(env->model, want->name, &v, err));
    if (want->rank < 0 || want->rank > QDQ_MAX_RANK)
        return qdq_fail(err, QDQ_E_USAGE, "shape for '%s': rank %d, want 0 to %d", want->name,
                        want->rank, QDQ_MAX_RANK);
    if (v->type->rank >= 0 && v->type->rank != want->rank)
        return qdq_fail(err, QDQ_E_USAGE, "shape for '%s': rank %d, the input has rank %d",
                        want->name, want->rank, v->type->rank);
    s.rank = want->rank;
    for (int i = 0; i < s.rank; i++) {
        if (want->dim[i] < 1)
            return qdq_fail(err, QDQ_E_USAGE,
                            "shape for '%s': dim %d is %" PRId64 ", want 1 or more", want->name, i,
                            want->dim[i]);
        s.dim[i] = qdq_dim_known(want->dim[i]);
        if (v->type->rank >= 0 && i > 0 && v->type->dim[i].value >= 0 &&
            v->type->dim[i].value != want->dim[i])
            a->other_dims = true;
        if (v->type->rank >= 0)
            QDQ_TRY(bind_symbol(a, v, v->type->dim[i], want->dim[i], err));
    }
    return put_input(a, env, v, v->type->elem, &s, err);
}

/* Inputs that no one named change too where they have a symbol that is now a number. */
static qdq_status other_inputs(qdq_adapt *a, qdq_infer_env *env, qdq_error *err)
{
    const qdq_graph *g = env->model->graph;

    for (size_t i = 0; i < g->inputs.n; i++) {
        const qdq_value *v = g->inputs.at[i];
        bool changed = false;
        qdq_shape s;

        if (v->init != NULL || v->type == NULL || v->type->kind != QDQ_TYPE_TENSOR ||
            v->type->rank < 0 || v->type->rank > QDQ_INFER_RANK || qdq_adapt_input(a, v) != NULL)
            continue;
        s.rank = v->type->rank;
        for (int k = 0; k < s.rank; k++) {
            s.dim[k] = qdq_adapt_dim(a, v->type->dim[k]);
            changed = changed || s.dim[k].value != v->type->dim[k].value;
        }
        if (changed)
            QDQ_TRY(put_input(a, env, v, v->type->elem, &s, err));
    }
    return QDQ_OK;
}

/* --- the change ------------------------------------------------------------------------------- */

/* A new constant for each Reshape: the old one may have other readers. */
static qdq_status make_shapes(qdq_adapt *a, qdq_infer_env *env, qdq_error *err)
{
    for (size_t i = 0; i < a->changes.n; i++) {
        reshape_change *r = &a->changes.at[i];
        const qdq_value *old = qdq_node_in(r->node, 1);
        const qdq_values *numbers = qdq_infer_values_of(env, old);
        int64_t dim[QDQ_VALUES_MAX], count = numbers->n;
        qdq_graph *g = r->node->graph;
        const char *name = qdq_graph_unique_name(g, old->name);
        qdq_tensor *t;

        for (int k = 0; k < numbers->n; k++)
            dim[k] = numbers->at[k].v.i;
        dim[0] = r->lead;
        t = qdq_tensor_of_ints(env->model, 1, &count, dim);
        r->shape = t == NULL || name == NULL ? NULL : qdq_graph_add_init(g, name, t);
        QDQ_NEED(r->shape != NULL, err);
    }
    return QDQ_OK;
}

static void drop_unused(qdq_value *v)
{
    if (v->n_use > 0 || v->n_output > 0 || v->is_input)
        return;
    if (v->producer != NULL)
        qdq_node_remove(v->producer);
    else
        qdq_value_remove(v);
}

static void drop_new_shapes(qdq_adapt *a)
{
    for (size_t i = 0; i < a->changes.n; i++)
        if (a->changes.at[i].shape != NULL)
            drop_unused(a->changes.at[i].shape);
}

static void use_shapes(qdq_adapt *a)
{
    for (size_t i = 0; i < a->changes.n; i++) {
        reshape_change *r = &a->changes.at[i];
        qdq_value *old = qdq_node_in(r->node, 1);

        qdq_node_set_in(r->node, 1, r->shape);
        drop_unused(old);
    }
}

static qdq_status fix(const qdq_input_shape *shapes, size_t n, qdq_adapt *a, qdq_infer_env *old,
                      qdq_infer_env *now, qdq_error *err)
{
    qdq_status st;

    QDQ_TRY(qdq_infer_run(old, err));
    for (size_t i = 0; i < n; i++)
        QDQ_TRY(read_request(a, now, &shapes[i], err));
    QDQ_TRY(other_inputs(a, now, err));
    a->old = old;
    now->adapt = a;
    st = qdq_infer_run(now, err);
    if (st == QDQ_E_FORMAT)
        return qdq_within(err, QDQ_E_USAGE, "the shapes do not fit");
    QDQ_TRY(st);
    st = make_shapes(a, now, err);
    if (st == QDQ_OK)
        st = qdq_infer_commit(now, err);
    if (st != QDQ_OK) {
        drop_new_shapes(a);
        return st;
    }
    use_shapes(a);
    return QDQ_OK;
}

qdq_status qdq_model_set_shapes(qdq_model *m, const qdq_input_shape *shapes, size_t n,
                                qdq_error *err)
{
    static const qdq_shape_opts before = {false, false, NULL}, after = {true, true, NULL};
    qdq_error local = {QDQ_OK, ""};
    qdq_infer_env old, now;
    qdq_adapt a = {0};
    qdq_status st = qdq_infer_open(&old, m, &before, &local);

    if (st == QDQ_OK) {
        st = qdq_infer_open(&now, m, &after, &local);
        if (st == QDQ_OK)
            st = fix(shapes, n, &a, &old, &now, &local);
        qdq_infer_close(&now);
    }
    qdq_infer_close(&old);
    qdq_map_free(&a.inputs);
    qdq_map_free(&a.symbols);
    qdq_map_free(&a.reshapes);
    if (st != QDQ_OK && err != NULL)
        *err = local;
    return st;
}
