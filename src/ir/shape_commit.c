/* shape_commit.c - writes what a run of shape inference found to the model: first makes all new
 * types, then sets them, so that running out of memory leaves the model as it was. */
#include "ir/shape_infer.h"

#include "ir/edit.h"

typedef struct change {
    qdq_value *value;
    const qdq_type *type;
} change;

typedef struct commit {
    qdq_infer_env *env;
    /* what a type says -> the one made for it: most values of a model share a few */
    qdq_map types;
    QDQ_VEC(change) changes;
    qdq_error *err;
} commit;

/* --- types in the model ----------------------------------------------------------------------- */

static const qdq_type *make_type(qdq_model *m, const qdq_type *t, qdq_span rest)
{
    qdq_type *own = qdq_arena_alloc(&m->arena, sizeof *own);
    qdq_dim *dim = qdq_arena_array(&m->arena, t->rank > 0 ? (size_t)t->rank : 1, sizeof *dim);

    if (own == NULL || dim == NULL)
        return NULL;
    own->kind = QDQ_TYPE_TENSOR;
    own->elem = t->elem;
    own->rank = t->rank;
    own->unknown_fields = rest;
    own->dim = dim;
    for (int i = 0; i < t->rank; i++)
        dim[i] = t->dim[i];
    return own;
}

/* The model's copy of a type from the scratch arena. `unknown_fields` is what the file had besides
 * shape and element type (denotations): such types are rare and not shared. */
static qdq_status model_type(commit *k, const qdq_type *t, qdq_span rest, const qdq_type **out)
{
    struct {
        int64_t elem, rank;
        qdq_dim dim[QDQ_INFER_RANK];
    } * key;
    size_t size = offsetof(qdq_shape, dim), n = t->rank > 0 ? (size_t)t->rank : 0;
    qdq_map_value *place = NULL;
    bool is_new = true;

    if (rest.size == 0) {
        key = qdq_arena_alloc(&k->env->arena, sizeof *key);
        QDQ_NEED(key != NULL, k->err);
        key->elem = t->elem;
        key->rank = t->rank;
        for (size_t i = 0; i < n; i++)
            key->dim[i] = t->dim[i];
        size = sizeof *key - (QDQ_INFER_RANK - n) * sizeof *key->dim;
        place = qdq_map_put_n(&k->types, (const char *)key, size, &is_new);
        QDQ_NEED(place != NULL, k->err);
    }
    if (place != NULL && !is_new) {
        *out = place->ptr;
        return QDQ_OK;
    }
    *out = make_type(k->env->model, t, rest);
    QDQ_NEED(*out != NULL, k->err);
    if (place != NULL)
        place->ptr = (void *)*out;
    return QDQ_OK;
}

/* --- what to change --------------------------------------------------------------------------- */

/* Names that the file gives to dims of the graph's outputs are the caller's and stay. */
static void keep_output_names(const qdq_infer_env *env, const qdq_value *v, qdq_shape *s)
{
    const qdq_type *old = v->type;

    if (v->n_output == 0 || old == NULL || old->kind != QDQ_TYPE_TENSOR || old->rank != s->rank)
        return;
    for (int i = 0; i < s->rank; i++) {
        qdq_dim d = old->dim[i];

        if (s->dim[i].value >= 0 || d.value >= 0 || d.param == NULL || d.param[0] == '\0')
            continue;
        s->dim[i] = qdq_adapt_dim(env->adapt, d);
    }
}

/* What is left of a declared type that inference could not confirm and that may be out of date: the
 * element type, and for outputs the rank and the names of dims. */
static qdq_status stale_type(commit *k, const qdq_value *v)
{
    qdq_type t = {0};
    const qdq_type *type;
    qdq_shape s;

    if (v->type == NULL || v->type->kind != QDQ_TYPE_TENSOR || v->type->elem == QDQ_UNDEFINED)
        return QDQ_OK;
    s.rank = -1;
    if (v->n_output > 0)
        qdq_shape_fill(&s, v->type->rank);
    keep_output_names(k->env, v, &s);
    t.elem = v->type->elem;
    t.rank = s.rank;
    t.dim = s.dim;
    if (qdq_type_equal(&t, v->type))
        return QDQ_OK;
    QDQ_TRY(model_type(k, &t, (qdq_span){NULL, 0}, &type));
    return QDQ_PUSH(&k->env->arena, &k->changes, ((change){(qdq_value *)v, type}))
               ? QDQ_OK
               : qdq_nomem(k->err);
}

static qdq_status fresh_type(commit *k, qdq_value *v, const qdq_type *found)
{
    const qdq_type *old = v->type, *type;
    qdq_span rest = {NULL, 0};
    qdq_type t = *found;
    qdq_shape s;

    if (found->kind != QDQ_TYPE_TENSOR) {
        /* Only types that the model had already: passed on, by Identity for example. */
        if (found == old)
            return QDQ_OK;
        return QDQ_PUSH(&k->env->arena, &k->changes, ((change){v, found})) ? QDQ_OK
                                                                           : qdq_nomem(k->err);
    }
    if (t.rank < 0 && old != NULL && old->kind == QDQ_TYPE_TENSOR && old->rank > QDQ_INFER_RANK &&
        old->elem == t.elem)
        return QDQ_OK;
    if (t.rank >= 0) {
        s.rank = t.rank;
        for (int i = 0; i < t.rank; i++)
            s.dim[i] = t.dim[i];
        keep_output_names(k->env, v, &s);
        t.dim = s.dim;
    }
    if (old != NULL && qdq_type_equal(&t, old))
        return QDQ_OK;
    if (old != NULL && old->kind == QDQ_TYPE_TENSOR && old->rank == t.rank)
        rest = old->unknown_fields;
    QDQ_TRY(model_type(k, &t, rest, &type));
    return QDQ_PUSH(&k->env->arena, &k->changes, ((change){v, type})) ? QDQ_OK : qdq_nomem(k->err);
}

static qdq_status value_change(commit *k, qdq_value *v, bool holds)
{
    const qdq_infer_env *env = k->env;
    bool is_main_input = v->is_input && v->graph == env->model->graph;
    const qdq_type *found;

    if (v->dead || (v->producer == NULL && (v->init != NULL || v->sparse != NULL)))
        return QDQ_OK;
    found = holds ? env->graphs[v->graph->index].fact[v->id].type : NULL;
    if (is_main_input && qdq_adapt_input(env->adapt, v) == NULL)
        return QDQ_OK; /* the caller's word */
    if (found != NULL && (found->kind != QDQ_TYPE_TENSOR || found->elem != QDQ_UNDEFINED)) {
        if (!env->opts->forget_declared || found->kind != QDQ_TYPE_TENSOR || found->rank >= 0)
            return fresh_type(k, v, found);
    }
    return env->opts->forget_declared ? stale_type(k, v) : QDQ_OK;
}

bool qdq_infer_holds(const qdq_infer_env *env, const qdq_graph *g)
{
    if (qdq_graph_function(g) != NULL)
        return false;
    for (;;) {
        const qdq_infer_graph_state *s = &env->graphs[g->index];

        if (s->fact == NULL || s->given_up)
            return false;
        if (g->owner == NULL)
            return true;
        g = g->owner->graph;
    }
}

static qdq_status collect(commit *k)
{
    qdq_model *m = k->env->model;

    QDQ_FOR_GRAPHS (g, m) {
        bool holds;

        if (qdq_graph_function(g) != NULL)
            continue; /* a body means something else at every call: nothing is written there */
        holds = qdq_infer_holds(k->env, g);
        for (size_t i = 0; i < g->values.n; i++)
            QDQ_TRY(value_change(k, g->values.at[i], holds));
    }
    return QDQ_OK;
}

qdq_status qdq_infer_commit(qdq_infer_env *env, qdq_error *err)
{
    commit k = {env, QDQ_MAP_INIT, {NULL, 0, 0}, err};
    qdq_status st = collect(&k);

    if (st == QDQ_OK)
        for (size_t i = 0; i < k.changes.n; i++)
            qdq_value_set_type(k.changes.at[i].value, k.changes.at[i].type);
    qdq_map_free(&k.types);
    return st;
}
