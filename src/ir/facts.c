/* facts.c - a run of shape inference that is kept beside the model instead of being written to it,
 * and that believes nothing but graph inputs and constants (qdq_infer_env.prove).
 *
 * Facts are looked up by graph index and value id, which edits never use again: a value that is
 * newer has no place there. Symbols stand for dims of the size that engines can have: below
 * 2^31. */
#include "ir/facts.h"

#include <stdlib.h>

#include "ir/edit.h"
#include "ir/shape_infer.h"

/* What was there when the facts were found. */
typedef struct facts_graph {
    size_t n_value;
    /* what is known of its values is true whenever they are computed */
    bool holds;
} facts_graph;

struct qdq_facts {
    qdq_infer_env env;
    qdq_shape_opts opts;
    /* by graph index */
    facts_graph *graph;
    size_t n_graph;
    /* tensor -> type, of constants that inference did not see; made when asked for */
    qdq_map data_types;
};

/* --- open, close ------------------------------------------------------------------------------ */

static qdq_status find_facts(qdq_facts *f, qdq_model *m, qdq_error *err)
{
    QDQ_TRY(qdq_infer_open(&f->env, m, &f->opts, err));
    f->env.prove = true;
    f->graph = qdq_arena_array(&f->env.arena, m->graphs.n, sizeof *f->graph);
    QDQ_NEED(f->graph != NULL, err);
    f->n_graph = m->graphs.n;
    QDQ_TRY(qdq_infer_run(&f->env, err));
    QDQ_FOR_GRAPHS (g, m) {
        f->graph[g->index].n_value = g->values.n;
        f->graph[g->index].holds = qdq_infer_holds(&f->env, g);
    }
    return QDQ_OK;
}

qdq_status qdq_facts_open(qdq_model *m, const qdq_job *job, qdq_facts **out, qdq_error *err)
{
    qdq_error local = {QDQ_OK, ""}; /* messages are made even when the caller wants none */
    qdq_facts *f = calloc(1, sizeof *f);
    qdq_status st;

    *out = NULL;
    QDQ_NEED(f != NULL, err);
    f->opts.job = job;
    st = find_facts(f, m, &local);
    if (st == QDQ_OK) {
        *out = f;
        return QDQ_OK;
    }
    qdq_facts_close(f);
    if (err != NULL)
        *err = local;
    return st;
}

void qdq_facts_close(qdq_facts *f)
{
    if (f == NULL)
        return;
    qdq_map_free(&f->data_types);
    qdq_infer_close(&f->env);
    free(f);
}

bool qdq_facts_lacked_memory(const qdq_facts *f)
{
    return f->env.nomem;
}

/* --- what is known of a value ----------------------------------------------------------------- */

static bool newer(const qdq_facts *f, const qdq_value *v)
{
    return v->graph->index >= f->n_graph || v->id >= f->graph[v->graph->index].n_value;
}

/* NULL: nothing is known. */
static const qdq_fact *fact_of(const qdq_facts *f, const qdq_value *v)
{
    if (newer(f, v) || !f->graph[v->graph->index].holds)
        return NULL;
    return &f->env.graphs[v->graph->index].fact[v->id];
}

static const qdq_type *type_of_tensor(qdq_facts *f, const qdq_fact *fact, const qdq_tensor *t)
{
    qdq_map_value *place;
    bool is_new;

    if (fact != NULL && qdq_type_is_of(fact->type, t))
        return fact->type;
    place = qdq_map_put_int(&f->data_types, (uint64_t)(uintptr_t)t, &is_new);
    if (place == NULL) {
        f->env.nomem = true;
        return NULL;
    }
    if (place->ptr == NULL)
        place->ptr = (void *)qdq_infer_data_type(&f->env, t->elem, t->rank, t->dim);
    return place->ptr;
}

const qdq_type *qdq_facts_type(const qdq_facts *f, const qdq_value *v)
{
    const qdq_tensor *t = qdq_value_const(v);
    const qdq_fact *fact = fact_of(f, v);

    if (t != NULL)
        return type_of_tensor((qdq_facts *)f, fact, t);
    if (newer(f, v)) /* a graph output has the type that the file declares */
        return v->n_output > 0 ? NULL : v->type;
    return fact == NULL ? NULL : fact->type;
}

bool qdq_facts_same_type(const qdq_facts *f, const qdq_value *a, const qdq_value *b)
{
    const qdq_type *ta = qdq_facts_type(f, a), *tb = qdq_facts_type(f, b);

    if (ta == NULL || tb == NULL || ta->kind != QDQ_TYPE_TENSOR || tb->kind != QDQ_TYPE_TENSOR ||
        ta->elem != tb->elem || ta->elem == QDQ_UNDEFINED || ta->rank != tb->rank || ta->rank < 0)
        return false;
    for (int i = 0; i < ta->rank; i++)
        if (!qdq_dim_same(ta->dim[i], tb->dim[i]))
            return false;
    return true;
}

/* --- elements --------------------------------------------------------------------------------- */

static bool read_elems(const qdq_values *values, int max, int *rank, int *n, qdq_fact_elem *out)
{
    if (values == NULL || !qdq_elem_is_int(values->elem) || values->rank > 1 || values->n > max)
        return false;
    *rank = values->rank;
    *n = values->n;
    for (int i = 0; i < values->n; i++) {
        const qdq_scalar *s = &values->at[i];

        out[i].known = s->know == QDQ_KNOW_NUMBER;
        out[i].value = out[i].known ? s->v.i : 0;
        out[i].symbol = s->know == QDQ_KNOW_SYMBOL ? s->v.param : NULL;
    }
    return true;
}

/* Constants are decoded when asked for: some passes ask for a few, none for all. */
static bool read_const(qdq_infer_env *env, const qdq_tensor *t, int max, int *rank, int *n,
                       qdq_fact_elem *out)
{
    qdq_arena_mark mark = qdq_arena_get_mark(&env->arena);
    uint64_t room = env->elements_left;
    bool ok;

    if (t->rank > 1 || t->count > max)
        return false;
    env->elements_left = QDQ_VALUES_MAX + 1;
    ok = read_elems(qdq_values_of_tensor(env, t), max, rank, n, out);
    env->elements_left = room;
    qdq_arena_reset(&env->arena, mark);
    return ok;
}

bool qdq_facts_elems(const qdq_facts *f, const qdq_value *v, int max, int *rank, int *n,
                     qdq_fact_elem *out)
{
    const qdq_tensor *t = qdq_value_const(v);
    const qdq_fact *fact = fact_of(f, v);

    if (t != NULL)
        return read_const(&((qdq_facts *)f)->env, t, max, rank, n, out);
    return fact != NULL && read_elems(fact->values, max, rank, n, out);
}

qdq_tensor *qdq_facts_tensor(const qdq_facts *f, const qdq_value *v, qdq_status *status)
{
    const qdq_fact *fact = qdq_value_const(v) != NULL ? NULL : fact_of(f, v);
    const qdq_values *values = fact == NULL ? NULL : fact->values;
    qdq_tensor *t;
    void *data;

    *status = QDQ_OK;
    for (int i = 0; values != NULL && i < values->n; i++)
        if (values->at[i].know != QDQ_KNOW_NUMBER)
            values = NULL;
    if (values == NULL)
        return NULL;
    t = qdq_tensor_new(f->env.model, values->elem, values->rank, values->dim, &data);
    if (t == NULL) {
        *status = QDQ_E_NOMEM;
        return NULL;
    }
    for (int i = 0; i < values->n; i++)
        if (qdq_elem_is_int(values->elem)
                ? !qdq_elem_put_int(values->elem, data, i, values->at[i].v.i)
                : !qdq_elem_put_float(values->elem, data, i, values->at[i].v.f))
            return NULL;
    return t;
}
