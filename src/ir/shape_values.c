/* shape_values.c - elements of small tensors on their way through operators that make them or move
 * them.
 *
 * The shape function has run before: the output's shape is known, or nothing is followed. Elements
 * that are not known stay so one by one: [2, 3, ?] still says two dims of a Reshape. */
#include "ir/shape_infer.h"

#include <math.h>
#include <string.h>

static const qdq_scalar not_known = {QDQ_KNOW_NOT, {0}};

bool qdq_values_none(qdq_infer *c, qdq_values *out)
{
    (void)c;
    (void)out;
    return false;
}

/* --- sources ---------------------------------------------------------------------------------- */

static qdq_scalar number_int(int64_t i)
{
    qdq_scalar s = {QDQ_KNOW_NUMBER, {0}};

    s.v.i = i;
    return s;
}

/* NaN is no number: it compares with nothing. */
static qdq_scalar number_float(double f)
{
    qdq_scalar s = {isnan(f) ? QDQ_KNOW_NOT : QDQ_KNOW_NUMBER, {0}};

    s.v.f = f;
    return s;
}

/* Decodes a tensor that is small enough. One whose bytes cannot be had is not known: whoever needs
 * them will say why. */
const qdq_values *qdq_values_of_tensor(qdq_infer_env *env, const qdq_tensor *t)
{
    qdq_error ignored;
    qdq_values *v;
    qdq_span data;
    qdq_status st;

    if (t->count < 0 || t->count > QDQ_VALUES_MAX || t->rank > QDQ_VALUES_RANK ||
        t->storage == QDQ_STORE_STRINGS ||
        (!qdq_elem_is_int(t->elem) && !qdq_elem_is_float(t->elem)) ||
        env->elements_left < (uint64_t)t->count + 1)
        return NULL;
    env->elements_left -= (uint64_t)t->count + 1;
    st = qdq_tensor_data(t, &env->arena, &data, &ignored);
    v = st == QDQ_OK ? qdq_arena_alloc(&env->arena, sizeof *v + (size_t)t->count * sizeof *v->at)
                     : NULL;
    if (v == NULL) {
        env->nomem = env->nomem || st == QDQ_OK || st == QDQ_E_NOMEM;
        return NULL;
    }
    v->elem = t->elem;
    v->rank = t->rank;
    v->n = (int)t->count;
    for (int i = 0; i < t->rank; i++)
        v->dim[i] = t->dim[i];
    for (int i = 0; i < v->n; i++)
        v->at[i] = qdq_elem_is_int(t->elem)
                       ? qdq_scalar_int(t->elem, qdq_elem_int(t->elem, data.data, i))
                       : number_float(qdq_elem_double(t->elem, data.data, i));
    return v;
}

bool qdq_values_constant(qdq_infer *c, qdq_values *out)
{
    const qdq_attr *a = qdq_infer_attr(c, "value", QDQ_ATTR_TENSOR);

    if (a != NULL) {
        const qdq_values *data = qdq_values_of_tensor(c->env, a->v.t);

        if (data == NULL || data->n != out->n)
            return false;
        memcpy(out->at, data->at, (size_t)data->n * sizeof *data->at);
        c->env->elements_left += (uint64_t)data->n + 1; /* kept once */
        return true;
    }
    for (int i = 0; i < out->n; i++)
        if ((a = qdq_infer_attr(c, "value_int", QDQ_ATTR_INT)) != NULL)
            out->at[i] = number_int(a->v.i);
        else if ((a = qdq_infer_attr(c, "value_ints", QDQ_ATTR_INTS)) != NULL)
            out->at[i] = number_int(a->v.ints[i]);
        else if ((a = qdq_infer_attr(c, "value_float", QDQ_ATTR_FLOAT)) != NULL)
            out->at[i] = number_float((double)a->v.f);
        else if ((a = qdq_infer_attr(c, "value_floats", QDQ_ATTR_FLOATS)) != NULL)
            out->at[i] = number_float((double)a->v.floats[i]);
    return true;
}

bool qdq_values_constantofshape(qdq_infer *c, qdq_values *out)
{
    const qdq_attr *a = qdq_infer_attr(c, "value", QDQ_ATTR_TENSOR);
    const qdq_values *fill = NULL;

    if (a != NULL) {
        fill = qdq_values_of_tensor(c->env, a->v.t);
        if (fill == NULL || fill->n != 1)
            return false;
    }
    for (int i = 0; i < out->n; i++)
        out->at[i] = fill != NULL ? fill->at[0] : number_float(0.0);
    return true;
}

bool qdq_values_shape(qdq_infer *c, qdq_values *out)
{
    qdq_shape in;
    int start, end;

    if (!qdq_infer_shape_of(c, 0, &in))
        return false;
    qdq_infer_shape_range(c, in.rank, &start, &end);
    for (int i = start; i < end; i++)
        out->at[i - start] = qdq_scalar_of_dim(in.dim[i]);
    return true;
}

bool qdq_values_size(qdq_infer *c, qdq_values *out)
{
    qdq_shape in;

    if (!qdq_infer_shape_of(c, 0, &in))
        return false;
    out->at[0] = qdq_scalar_of_dim(qdq_shape_product(c->env, &in, 0, in.rank));
    return true;
}

bool qdq_values_range(qdq_infer *c, qdq_values *out)
{
    const qdq_values *start = qdq_infer_known(c, 0), *delta = qdq_infer_known(c, 2);

    if (start == NULL || delta == NULL || start->n != 1 || delta->n != 1 ||
        !qdq_elem_is_int(out->elem) || start->at[0].know != QDQ_KNOW_NUMBER ||
        delta->at[0].know != QDQ_KNOW_NUMBER)
        return false;
    for (int i = 0; i < out->n; i++) {
        int64_t v;

        if (qdq_mul_int64(delta->at[0].v.i, i, &v) && qdq_add_int64(start->at[0].v.i, v, &v))
            out->at[i] = number_int(v);
    }
    return true;
}

/* --- same elements ---------------------------------------------------------------------------- */

/* Identity, and all that only changes the shape. */
bool qdq_values_same(qdq_infer *c, qdq_values *out)
{
    const qdq_values *in = qdq_infer_known(c, 0);

    if (in == NULL || out->n != in->n)
        return false;
    memcpy(out->at, in->at, (size_t)in->n * sizeof *in->at);
    return true;
}

/* Smallest and largest integer of a type of at most 64 bits; false for types that hold no
 * integers. */
static bool int_range(qdq_elem e, int64_t *low, int64_t *high)
{
    unsigned bits = qdq_elem_bits(e);
    bool is_signed = e == QDQ_INT8 || e == QDQ_INT16 || e == QDQ_INT32 || e == QDQ_INT64 ||
                     e == QDQ_INT4 || e == QDQ_INT2;

    if (!qdq_elem_is_int(e) || bits == 0)
        return false;
    *high = bits >= 63  ? INT64_MAX
            : is_signed ? ((int64_t)1 << (bits - 1)) - 1
                        : ((int64_t)1 << bits) - 1;
    *low = is_signed ? -*high - 1 : 0;
    if (e == QDQ_BOOL)
        *high = 1;
    return true;
}

/* A number that arithmetic in type `e` made; not known where the type would have wrapped around. */
qdq_scalar qdq_scalar_int(qdq_elem e, int64_t i)
{
    int64_t low, high;

    return int_range(e, &low, &high) && i >= low && i <= high ? number_int(i) : not_known;
}

/* Rounded as float and double round; other types round in ways that no shape arithmetic uses. */
qdq_scalar qdq_scalar_float(qdq_elem e, double f)
{
    if (e == QDQ_FLOAT)
        return number_float((double)(float)f);
    return e == QDQ_DOUBLE ? number_float(f) : not_known;
}

/* A float that stands for a symbol is that dim as long as it is below 2^24: good enough for a shape
 * to show, but no proof. */
static qdq_scalar cast_symbol(const qdq_scalar *s, qdq_elem to, bool prove)
{
    if (to == QDQ_INT64 || to == QDQ_INT32)
        return *s;
    return !prove && (to == QDQ_FLOAT || to == QDQ_DOUBLE) ? *s : not_known;
}

static qdq_scalar cast_number(const qdq_scalar *s, qdq_elem from, qdq_elem to)
{
    bool from_int = qdq_elem_is_int(from), to_int = qdq_elem_is_int(to);

    if (to == QDQ_BOOL)
        return number_int(from_int ? s->v.i != 0 : s->v.f != 0.0);
    if (from_int && to_int)
        return qdq_scalar_int(to, s->v.i);
    if (from_int) /* rounded once */
        return qdq_scalar_float(to, to == QDQ_FLOAT ? (double)(float)s->v.i : (double)s->v.i);
    if (!to_int)
        return qdq_scalar_float(to, s->v.f);
    if (!(s->v.f > -9.0e18 && s->v.f < 9.0e18))
        return not_known;
    return qdq_scalar_int(to, (int64_t)s->v.f);
}

bool qdq_values_cast(qdq_infer *c, qdq_values *out)
{
    const qdq_values *in = qdq_infer_known(c, 0);

    if (in == NULL || out->n != in->n)
        return false;
    for (int i = 0; i < out->n; i++)
        if (in->at[i].know == QDQ_KNOW_SYMBOL)
            out->at[i] = cast_symbol(&in->at[i], out->elem, c->env->prove);
        else if (in->at[i].know == QDQ_KNOW_NUMBER)
            out->at[i] = cast_number(&in->at[i], in->elem, out->elem);
    return true;
}

/* --- elements from other places --------------------------------------------------------------- */

/* The row-major index of element i of `of`, as one coordinate per axis. */
void qdq_values_coordinates(const qdq_values *of, int i, int64_t *at)
{
    for (int k = of->rank - 1; k >= 0; k--) {
        at[k] = i % of->dim[k];
        i /= (int)of->dim[k];
    }
}

static int index_of(const qdq_values *in, const int64_t *at)
{
    int64_t i = 0;

    for (int k = 0; k < in->rank; k++)
        i = i * in->dim[k] + at[k];
    return (int)i;
}

/* The element of `in` that stands at `at` of a tensor of rank `rank` when `in` is broadcast. */
const qdq_scalar *qdq_values_broadcast(const qdq_values *in, int rank, const int64_t *at)
{
    int64_t own[QDQ_VALUES_RANK];

    for (int k = 0; k < in->rank; k++)
        own[k] = in->dim[k] == 1 ? 0 : at[rank - in->rank + k];
    return &in->at[index_of(in, own)];
}

bool qdq_values_expand(qdq_infer *c, qdq_values *out)
{
    const qdq_values *in = qdq_infer_known(c, 0);
    int64_t at[QDQ_VALUES_RANK];

    if (in == NULL)
        return false;
    for (int i = 0; i < out->n; i++) {
        qdq_values_coordinates(out, i, at);
        out->at[i] = *qdq_values_broadcast(in, out->rank, at);
    }
    return true;
}

bool qdq_values_tile(qdq_infer *c, qdq_values *out)
{
    const qdq_values *in = qdq_infer_known(c, 0);
    int64_t at[QDQ_VALUES_RANK];

    if (in == NULL || out->rank != in->rank)
        return false;
    for (int i = 0; i < out->n; i++) {
        qdq_values_coordinates(out, i, at);
        for (int k = 0; k < in->rank; k++)
            at[k] %= in->dim[k];
        out->at[i] = in->at[index_of(in, at)];
    }
    return true;
}

bool qdq_values_transpose(qdq_infer *c, qdq_values *out)
{
    const qdq_values *in = qdq_infer_known(c, 0);
    int64_t at[QDQ_VALUES_RANK], from[QDQ_VALUES_RANK];
    const int64_t *perm;
    size_t n;

    if (in == NULL || out->rank != in->rank)
        return false;
    qdq_infer_ints(c, "perm", &perm, &n);
    for (int i = 0; i < out->n; i++) {
        qdq_values_coordinates(out, i, at);
        for (int k = 0; k < in->rank; k++)
            from[perm != NULL ? perm[k] : in->rank - 1 - k] = at[k];
        out->at[i] = in->at[index_of(in, from)];
    }
    return true;
}

bool qdq_values_gather(qdq_infer *c, qdq_values *out)
{
    const qdq_values *in = qdq_infer_known(c, 0), *index = qdq_infer_known(c, 1);
    int64_t at[QDQ_VALUES_RANK], from[QDQ_VALUES_RANK];
    int axis;

    if (in == NULL || index == NULL || !qdq_elem_is_int(index->elem) ||
        out->rank != in->rank - 1 + index->rank ||
        qdq_infer_axis(c, qdq_infer_int(c, "axis", 0), in->rank, &axis) != QDQ_OK)
        return false;
    for (int i = 0; i < out->n; i++) {
        const qdq_scalar *pick;
        int64_t row;

        qdq_values_coordinates(out, i, at);
        pick = &index->at[index_of(index, at + axis)];
        if (pick->know != QDQ_KNOW_NUMBER)
            continue;
        row = pick->v.i < 0 ? pick->v.i + in->dim[axis] : pick->v.i;
        if (row < 0 || row >= in->dim[axis])
            continue;
        for (int k = 0; k < in->rank; k++)
            from[k] = k < axis ? at[k] : k == axis ? row : at[k - 1 + index->rank];
        out->at[i] = in->at[index_of(in, from)];
    }
    return true;
}

bool qdq_values_slice(qdq_infer *c, qdq_values *out)
{
    qdq_scalar start[QDQ_INFER_RANK], end[QDQ_INFER_RANK], step[QDQ_INFER_RANK];
    int64_t at[QDQ_VALUES_RANK], first[QDQ_VALUES_RANK] = {0},
                                 stride[QDQ_VALUES_RANK] = {1, 1, 1, 1};
    const qdq_values *in = qdq_infer_known(c, 0);
    int axis[QDQ_INFER_RANK], n;

    if (in == NULL || out->rank != in->rank ||
        qdq_infer_slice_args(c, in->rank, &n, axis, start, end, step) != QDQ_OK)
        return false;
    for (int i = 0; i < n; i++) {
        int64_t dim = in->dim[axis[i]], from = start[i].v.i;

        if (start[i].know != QDQ_KNOW_NUMBER || step[i].know != QDQ_KNOW_NUMBER)
            return false;
        from = from < 0 ? from + dim : from;
        first[axis[i]] = from < 0 ? 0 : from >= dim ? dim - 1 : from;
        stride[axis[i]] = step[i].v.i;
    }
    for (int i = 0; n >= 0 && i < out->n; i++) {
        qdq_values_coordinates(out, i, at);
        for (int k = 0; k < in->rank; k++)
            at[k] = first[k] + (out->dim[k] > 1 ? at[k] * stride[k] : 0);
        out->at[i] = in->at[index_of(in, at)];
    }
    return true;
}

bool qdq_values_concat(qdq_infer *c, qdq_values *out)
{
    int64_t at[QDQ_VALUES_RANK], base = 0;
    int axis;

    if (qdq_infer_axis(c, qdq_infer_int(c, "axis", 0), out->rank, &axis) != QDQ_OK)
        return false;
    for (uint32_t k = 0; k < c->node->n_in; k++) {
        const qdq_values *in = qdq_infer_known(c, k);
        qdq_shape s;

        for (int i = 0; in != NULL && in->elem == out->elem && i < in->n; i++) {
            qdq_values_coordinates(in, i, at);
            at[axis] += base;
            out->at[index_of(out, at)] = in->at[i];
        }
        qdq_infer_shape_of(c, k, &s); /* known, or the output's would not be */
        base += s.dim[axis].value;
    }
    return true;
}

/* Of output c->output: where it begins is known if the sizes of those before it are. */
bool qdq_values_split(qdq_infer *c, qdq_values *out)
{
    const qdq_values *in = qdq_infer_known(c, 0);
    int64_t at[QDQ_VALUES_RANK], base = 0;
    int axis;

    if (in == NULL || qdq_infer_axis(c, qdq_infer_int(c, "axis", 0), in->rank, &axis) != QDQ_OK)
        return false;
    for (uint32_t k = 0; k < c->output; k++) {
        const qdq_value *v = c->node->out[k];
        const qdq_type *t = v != NULL ? qdq_infer_fact(c->env, v)->type : NULL;

        if (t == NULL || t->rank != in->rank || t->dim[axis].value < 0)
            return false;
        base += t->dim[axis].value;
    }
    for (int i = 0; i < out->n; i++) {
        qdq_values_coordinates(out, i, at);
        at[axis] += base;
        out->at[i] = in->at[index_of(in, at)];
    }
    return true;
}

static qdq_scalar at_or_unknown(const qdq_values *in, int rank, const int64_t *at)
{
    return in == NULL ? not_known : *qdq_values_broadcast(in, rank, at);
}

/* Where both sides are one, it does not matter which. */
static qdq_scalar choose(qdq_scalar pick, qdq_scalar yes, qdq_scalar no, qdq_elem e)
{
    if (pick.know == QDQ_KNOW_NUMBER)
        return pick.v.i != 0 ? yes : no;
    if (yes.know != no.know)
        return not_known;
    if (yes.know == QDQ_KNOW_SYMBOL)
        return yes.v.param == no.v.param ? yes : not_known;
    return qdq_elem_is_int(e) && yes.v.i == no.v.i ? yes : not_known;
}

bool qdq_values_where(qdq_infer *c, qdq_values *out)
{
    const qdq_values *pick = qdq_infer_known(c, 0), *yes = qdq_infer_known(c, 1),
                     *no = qdq_infer_known(c, 2);
    int64_t at[QDQ_VALUES_RANK];

    if ((yes == NULL && no == NULL) || (yes != NULL && yes->elem != out->elem) ||
        (no != NULL && no->elem != out->elem))
        return false;
    for (int i = 0; i < out->n; i++) {
        qdq_values_coordinates(out, i, at);
        out->at[i] = choose(at_or_unknown(pick, out->rank, at), at_or_unknown(yes, out->rank, at),
                            at_or_unknown(no, out->rank, at), out->elem);
    }
    return true;
}
