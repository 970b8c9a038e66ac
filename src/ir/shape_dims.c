/* shape_dims.c - arithmetic of dims that are known, have a name, or are unknown. Knows no
 * operators. */
#include "ir/shape_infer.h"

bool qdq_mul_int64(int64_t a, int64_t b, int64_t *out)
{
    if (a > 0 ? (b > INT64_MAX / a || b < INT64_MIN / a)
              : (a < -1 && (b > INT64_MIN / a || b < INT64_MAX / a)))
        return false;
    if (a == -1 && b == INT64_MIN)
        return false;
    *out = a * b;
    return true;
}

bool qdq_add_int64(int64_t a, int64_t b, int64_t *out)
{
    if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b)
        return false;
    *out = a + b;
    return true;
}

qdq_dim qdq_dim_mul(qdq_infer_env *env, qdq_dim a, qdq_dim b)
{
    int64_t value;

    if (a.value == 0 || b.value == 0)
        return qdq_dim_known(0);
    if (a.value == 1)
        return b;
    if (b.value == 1)
        return a;
    if (a.value > 0 && b.value > 0 && qdq_mul_int64(a.value, b.value, &value))
        return qdq_dim_known(value);
    return env == NULL ? qdq_dim_unknown() : qdq_dim_combine(env, '*', a, b);
}

qdq_dim qdq_dim_add(qdq_infer_env *env, qdq_dim a, qdq_dim b)
{
    int64_t value;

    if (a.value == 0)
        return b;
    if (b.value == 0)
        return a;
    if (a.value > 0 && b.value > 0 && qdq_add_int64(a.value, b.value, &value))
        return qdq_dim_known(value);
    return env == NULL ? qdq_dim_unknown() : qdq_dim_combine(env, '+', a, b);
}

qdq_scalar qdq_scalar_of_dim(qdq_dim d)
{
    qdq_scalar s = {QDQ_KNOW_NOT, {0}};

    if (d.value >= 0) {
        s.know = QDQ_KNOW_NUMBER;
        s.v.i = d.value;
    } else if (d.param != NULL) {
        s.know = QDQ_KNOW_SYMBOL;
        s.v.param = d.param;
    }
    return s;
}

qdq_dim qdq_dim_from(const qdq_scalar *s)
{
    if (s->know == QDQ_KNOW_SYMBOL)
        return qdq_dim_symbol(s->v.param);
    if (s->know == QDQ_KNOW_NUMBER && s->v.i >= 0)
        return qdq_dim_known(s->v.i);
    return qdq_dim_unknown();
}

bool qdq_dim_merge(qdq_dim a, qdq_dim b, qdq_dim *out)
{
    if (a.value >= 0 && b.value >= 0 && a.value != b.value)
        return false;
    if (a.value >= 0 || (b.value < 0 && a.param != NULL))
        *out = a;
    else
        *out = b;
    return true;
}

void qdq_shape_fill(qdq_shape *s, int rank)
{
    s->rank = rank < 0 || rank > QDQ_INFER_RANK ? -1 : rank;
    for (int i = 0; i < s->rank; i++)
        s->dim[i] = qdq_dim_unknown();
}

/* Two dims broadcast together. A dim that is not known may be 1 or the other's value: next to a
 * value above one only that value can result, next to another unknown nothing can be said. */
static bool dim_broadcast(qdq_dim a, qdq_dim b, qdq_dim *out)
{
    if (a.value == 1 || (b.value != 1 && qdq_dim_same(a, b))) {
        *out = b;
        return true;
    }
    if (b.value == 1) {
        *out = a;
        return true;
    }
    if (a.value >= 0 && b.value >= 0)
        return false;
    if (a.value >= 0)
        *out = a;
    else if (b.value >= 0)
        *out = b;
    else
        *out = qdq_dim_unknown();
    return true;
}

qdq_status qdq_shape_broadcast(qdq_infer *c, qdq_shape *a, const qdq_shape *b)
{
    int rank = a->rank > b->rank ? a->rank : b->rank;
    qdq_shape out;

    out.rank = rank;
    for (int i = 1; i <= rank; i++) {
        qdq_dim da = i <= a->rank ? a->dim[a->rank - i] : qdq_dim_known(1);
        qdq_dim db = i <= b->rank ? b->dim[b->rank - i] : qdq_dim_known(1);

        if (!dim_broadcast(da, db, &out.dim[rank - i]))
            return qdq_fail(
                c->err, QDQ_E_FORMAT,
                "dims %lld and %lld, counted %d from the end, do not broadcast: want equal or 1",
                (long long)da.value, (long long)db.value, i);
    }
    *a = out;
    return QDQ_OK;
}

qdq_dim qdq_shape_product(qdq_infer_env *env, const qdq_shape *s, int from, int to)
{
    qdq_dim product = qdq_dim_known(1);

    for (int i = from; i < to; i++)
        if (s->dim[i].value == 0)
            return qdq_dim_known(0);
    for (int i = from; i < to; i++) {
        if (product.value < 0 && product.param == NULL)
            break;
        product = qdq_dim_mul(env, product, s->dim[i]);
    }
    return product;
}

bool qdq_type_equal(const qdq_type *a, const qdq_type *b)
{
    for (int depth = 0; depth < QDQ_MAX_NESTING; depth++) {
        if (a == b)
            return true;
        if (a == NULL || b == NULL || a->kind != b->kind || a->elem != b->elem ||
            a->rank != b->rank)
            return false;
        if (a->kind == QDQ_TYPE_OTHER)
            return false;
        for (int i = 0; i < a->rank; i++)
            if (a->dim[i].value != b->dim[i].value || a->dim[i].param != b->dim[i].param)
                return false;
        if (a->kind == QDQ_TYPE_TENSOR || a->kind == QDQ_TYPE_SPARSE)
            return true;
        a = a->inner;
        b = b->inner;
    }
    return false;
}

qdq_status qdq_type_common(qdq_infer_env *env, const qdq_type *a, const qdq_type *b,
                           const qdq_type **out, qdq_error *err)
{
    qdq_type *common;
    qdq_dim *dim;

    *out = NULL;
    if (qdq_type_equal(a, b)) {
        *out = a;
        return QDQ_OK;
    }
    if (a == NULL || b == NULL || a->kind != QDQ_TYPE_TENSOR || b->kind != QDQ_TYPE_TENSOR)
        return QDQ_OK;
    common = qdq_arena_alloc(&env->arena, sizeof *common);
    QDQ_NEED(common != NULL, err);
    common->kind = QDQ_TYPE_TENSOR;
    common->elem = a->elem == b->elem ? a->elem : QDQ_UNDEFINED;
    common->rank = a->rank == b->rank ? a->rank : -1;
    if (common->rank > 0) {
        dim = qdq_arena_array(&env->arena, (size_t)common->rank, sizeof *dim);
        QDQ_NEED(dim != NULL, err);
        for (int i = 0; i < common->rank; i++)
            dim[i] = qdq_dim_same(a->dim[i], b->dim[i]) ? a->dim[i] : qdq_dim_unknown();
        common->dim = dim;
    }
    *out = common;
    return QDQ_OK;
}
