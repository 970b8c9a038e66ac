/* shape_node.c - how shape functions see the node at work: inputs, attributes, outputs. Knows no
 * operators. */
#include "ir/shape_infer.h"

#include <inttypes.h>
#include <string.h>

/* --- facts ------------------------------------------------------------------------------------ */

static qdq_fact *fact_place(qdq_infer_env *env, const qdq_value *v)
{
    qdq_fact *facts = env->graphs[v->graph->index].fact;

    return facts == NULL ? NULL : &facts[v->id];
}

const qdq_type *qdq_infer_data_type(qdq_infer_env *env, qdq_elem elem, int rank, const int64_t *dim)
{
    qdq_type *type = qdq_arena_alloc(&env->arena, sizeof *type);
    qdq_dim *dims = qdq_arena_array(&env->arena, rank > 0 ? (size_t)rank : 1, sizeof *dims);

    if (type == NULL || dims == NULL) {
        env->nomem = true;
        return NULL;
    }
    type->kind = QDQ_TYPE_TENSOR;
    type->elem = elem;
    type->rank = rank > QDQ_INFER_RANK ? -1 : rank;
    type->dim = dims;
    for (int i = 0; i < type->rank; i++)
        dims[i] = qdq_dim_known(dim[i]);
    return type;
}

static const qdq_type *type_of_data(qdq_infer_env *env, const qdq_value *v)
{
    if (env->prove && v->is_input && qdq_value_const(v) == NULL)
        return NULL; /* a default, which the caller may override with anything */
    return v->init != NULL
               ? qdq_infer_data_type(env, v->init->elem, v->init->rank, v->init->dim)
               : qdq_infer_data_type(env, v->sparse->values->elem, v->sparse->rank, v->sparse->dim);
}

/* Initializers are looked at only when a node reads them, small ones only when their elements
 * matter: a model has gigabytes of weights and a few shapes. */
const qdq_fact *qdq_infer_fact(qdq_infer_env *env, const qdq_value *v)
{
    qdq_fact *f = fact_place(env, v);

    if (f != NULL && f->type == NULL && (v->init != NULL || v->sparse != NULL) &&
        v->producer == NULL)
        f->type = type_of_data(env, v);
    return f;
}

const qdq_values *qdq_infer_values_of(qdq_infer_env *env, const qdq_value *v)
{
    qdq_fact *f = fact_place(env, v);
    const qdq_tensor *t;

    if (f == NULL)
        return NULL;
    if (!f->looked) {
        f->looked = true;
        t = v->producer == NULL ? qdq_value_const(v) : NULL;
        if (f->values == NULL && t != NULL)
            f->values = qdq_values_of_tensor(env, t);
    }
    return f->values;
}

/* --- inputs ----------------------------------------------------------------------------------- */

bool qdq_infer_has(const qdq_infer *c, uint32_t i)
{
    return qdq_node_in(c->node, i) != NULL;
}

const qdq_type *qdq_infer_in(const qdq_infer *c, uint32_t i)
{
    const qdq_value *v = qdq_node_in(c->node, i);
    const qdq_fact *f = v == NULL ? NULL : qdq_infer_fact(c->env, v);

    return f == NULL ? NULL : f->type;
}

qdq_elem qdq_infer_elem(const qdq_infer *c, uint32_t i)
{
    const qdq_type *t = qdq_infer_in(c, i);

    return t == NULL || t->kind != QDQ_TYPE_TENSOR ? QDQ_UNDEFINED : t->elem;
}

bool qdq_infer_shape_of(const qdq_infer *c, uint32_t i, qdq_shape *s)
{
    const qdq_type *t = qdq_infer_in(c, i);

    s->rank = -1;
    if (t == NULL || t->kind != QDQ_TYPE_TENSOR || t->rank < 0 || t->rank > QDQ_INFER_RANK)
        return false;
    s->rank = t->rank;
    if (t->rank > 0)
        memcpy(s->dim, t->dim, (size_t)t->rank * sizeof *s->dim);
    return true;
}

const qdq_values *qdq_infer_known(const qdq_infer *c, uint32_t i)
{
    const qdq_value *v = qdq_node_in(c->node, i);

    return v == NULL ? NULL : qdq_infer_values_of(c->env, v);
}

bool qdq_infer_ints_in(const qdq_infer *c, uint32_t i, int64_t *out, int *n)
{
    const qdq_values *v = qdq_infer_known(c, i);

    *n = 0;
    if (v == NULL || !qdq_elem_is_int(v->elem))
        return false;
    for (int k = 0; k < v->n; k++) {
        if (v->at[k].know != QDQ_KNOW_NUMBER)
            return false;
        out[k] = v->at[k].v.i;
    }
    *n = v->n;
    return true;
}

/* --- outputs ---------------------------------------------------------------------------------- */

qdq_status qdq_infer_set(qdq_infer *c, uint32_t i, const qdq_type *type)
{
    const qdq_value *v = qdq_node_out(c->node, i);

    if (v != NULL)
        fact_place(c->env, v)->type = type;
    return QDQ_OK;
}

qdq_status qdq_infer_out(qdq_infer *c, uint32_t i, qdq_elem elem, const qdq_shape *s)
{
    int rank = s == NULL ? -1 : s->rank;
    qdq_type *type;

    if (qdq_node_out(c->node, i) == NULL || (elem == QDQ_UNDEFINED && rank < 0))
        return QDQ_OK;
    type = qdq_arena_alloc(&c->env->arena, sizeof *type);
    QDQ_NEED(type != NULL, c->err);
    type->kind = QDQ_TYPE_TENSOR;
    type->elem = elem;
    type->rank = rank;
    if (rank > 0) {
        type->dim = qdq_arena_copy(&c->env->arena, s->dim, (size_t)rank, sizeof *s->dim);
        QDQ_NEED(type->dim != NULL, c->err);
    }
    return qdq_infer_set(c, i, type);
}

/* The number of elements of a shape that is worth following, or -1. */
static int small_count(const qdq_type *t)
{
    int64_t n = 1;

    if (t == NULL || t->kind != QDQ_TYPE_TENSOR || t->rank < 0 || t->rank > QDQ_VALUES_RANK)
        return -1;
    if (!qdq_elem_is_int(t->elem) && !qdq_elem_is_float(t->elem))
        return -1;
    for (int i = 0; i < t->rank; i++) {
        if (t->dim[i].value < 0 || t->dim[i].value > QDQ_VALUES_MAX)
            return -1;
        n *= t->dim[i].value;
        if (n > QDQ_VALUES_MAX)
            return -1;
    }
    return (int)n;
}

void qdq_infer_values(qdq_infer *c, uint32_t i, qdq_values_fn *fn)
{
    const qdq_value *v = qdq_node_out(c->node, i);
    const qdq_type *t = v == NULL ? NULL : fact_place(c->env, v)->type;
    int n = small_count(t);
    union {
        qdq_values values;
        unsigned char bytes[sizeof(qdq_values) + QDQ_VALUES_MAX * sizeof(qdq_scalar)];
    } room;
    size_t size = sizeof(qdq_values) + (size_t)(n < 0 ? 0 : n) * sizeof(qdq_scalar);
    qdq_values *kept;

    if (n < 0 || (uint64_t)n + 1 > c->env->elements_left)
        return;
    memset(&room, 0, size);
    room.values.elem = t->elem;
    room.values.rank = t->rank;
    room.values.n = n;
    for (int k = 0; k < t->rank; k++)
        room.values.dim[k] = t->dim[k].value;
    c->output = i;
    if (!fn(c, &room.values) || (uint64_t)n + 1 > c->env->elements_left)
        return;
    c->env->elements_left -= (uint64_t)n + 1;
    kept = qdq_arena_copy(&c->env->arena, &room, size, 1);
    c->env->nomem |= kept == NULL;
    if (kept != NULL)
        qdq_infer_keep(c, i, kept);
}

void qdq_infer_keep(qdq_infer *c, uint32_t i, const qdq_values *values)
{
    const qdq_value *v = qdq_node_out(c->node, i);

    bool some = values != NULL && values->n == 0; /* of no elements, all are known */

    if (v == NULL || values == NULL)
        return;
    for (int k = 0; k < values->n; k++)
        some = some || values->at[k].know != QDQ_KNOW_NOT;
    if (some)
        fact_place(c->env, v)->values = values;
}

/* --- attributes ------------------------------------------------------------------------------- */

static const qdq_attr *find_attr(qdq_attr *const *attr, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(attr[i]->name, name) == 0)
            return attr[i];
    return NULL;
}

/* In a function body an attribute may stand for one of the call's, which may itself be in a
 * function body. */
static const qdq_attr *resolve_attr(const qdq_infer_call *call, const qdq_attr *a)
{
    while (a != NULL && a->ref != NULL) {
        const char *name = a->ref;
        const qdq_function *f;

        if (call == NULL)
            return NULL;
        f = call->function;
        a = find_attr(call->node->attr, call->node->n_attr, name);
        if (a == NULL)
            return find_attr(f->attr_protos.at, f->attr_protos.n, name);
        call = call->outer;
    }
    return a;
}

const qdq_attr *qdq_infer_attr(qdq_infer *c, const char *name, qdq_attr_type type)
{
    const qdq_attr *a = resolve_attr(c->env->call, qdq_node_attr(c->node, name));

    if (a == NULL || a->type == type)
        return a;
    c->bad = name;
    return NULL;
}

int64_t qdq_infer_int(qdq_infer *c, const char *name, int64_t fallback)
{
    const qdq_attr *a = qdq_infer_attr(c, name, QDQ_ATTR_INT);

    return a == NULL ? fallback : a->v.i;
}

bool qdq_infer_ints(qdq_infer *c, const char *name, const int64_t **ints, size_t *count)
{
    const qdq_attr *a = qdq_infer_attr(c, name, QDQ_ATTR_INTS);

    *ints = a == NULL ? NULL : a->v.ints;
    *count = a == NULL ? 0 : a->count;
    return a != NULL;
}

bool qdq_infer_string_is(qdq_infer *c, const char *name, const char *text, const char *fallback)
{
    return qdq_attr_string_is(qdq_infer_attr(c, name, QDQ_ATTR_STRING), text, fallback);
}

qdq_status qdq_infer_axis(qdq_infer *c, int64_t axis, int rank, int *out)
{
    return qdq_axes_read(&axis, 1, rank, out, NULL, c->err);
}

qdq_status qdq_infer_axes(qdq_infer *c, uint32_t i, int64_t since, int rank, bool *mark, int *count)
{
    int64_t room[QDQ_VALUES_MAX];
    const int64_t *axes = room;
    size_t n;
    int n_in;

    *count = QDQ_AXES_NONE;
    memset(mark, 0, (size_t)rank * sizeof *mark);
    if (c->opset < since) {
        if (!qdq_infer_ints(c, "axes", &axes, &n))
            return QDQ_OK;
    } else {
        if (!qdq_infer_has(c, i))
            return QDQ_OK;
        if (!qdq_infer_ints_in(c, i, room, &n_in)) {
            *count = QDQ_AXES_UNKNOWN;
            return QDQ_OK;
        }
        n = (size_t)n_in;
    }
    QDQ_TRY(qdq_axes_read(axes, (int64_t)n, rank, NULL, mark, c->err));
    *count = (int)n;
    return QDQ_OK;
}

qdq_status qdq_infer_mismatch(qdq_infer *c, const char *what, qdq_dim found, qdq_dim want)
{
    return qdq_fail(c->err, QDQ_E_FORMAT, "%s %" PRId64 ", want %" PRId64, what, found.value,
                    want.value);
}
