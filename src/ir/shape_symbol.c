/* shape_symbol.c - sums and products of symbols, for facts.c: "2*N+1", "M*N". Such a sum is a
 * symbol like any other, written in one way only, so that equal names are equal numbers: a+b is
 * b+a, and 12*N/12 is N.
 *
 * A sum with a negative factor may be below zero, which no symbol is, and is not known. So is one
 * that is long: the last of many operations in a row would otherwise be as long as they are
 * many. */
#include "ir/shape_infer.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"

enum {
    DEGREE = 4,  /* names in one product */
    TERMS = 8,   /* products in one sum */
    MADE = 4096, /* symbols in one run: their names stay in the model's memory */
    TEXT = 200
};

/* factor * of[0] * of[1] ...; the names in the order of strcmp. */
typedef struct term {
    int64_t factor;
    int degree;
    const char *of[DEGREE];
} term;

/* The terms in one order (`compare`), no two with the same names, no factor 0. */
typedef struct sum {
    int n;
    term at[TERMS];
} sum;

static const qdq_scalar not_known = {QDQ_KNOW_NOT, {0}};

static uint64_t key_of(const char *name)
{
    return (uint64_t)(uintptr_t)name;
}

/* --- terms and sums --------------------------------------------------------------------------- */

/* Long products first, the plain number last. */
static int compare(const term *a, const term *b)
{
    if (a->degree != b->degree)
        return a->degree > b->degree ? -1 : 1;
    for (int i = 0; i < a->degree; i++) {
        int order = strcmp(a->of[i], b->of[i]);

        if (order != 0)
            return order;
    }
    return 0;
}

static bool add_term(sum *s, const term *t)
{
    int at = 0;

    while (at < s->n && compare(&s->at[at], t) < 0)
        at++;
    if (at < s->n && compare(&s->at[at], t) == 0) {
        if (!qdq_add_int64(s->at[at].factor, t->factor, &s->at[at].factor))
            return false;
        if (s->at[at].factor == 0) {
            s->n--;
            memmove(&s->at[at], &s->at[at + 1], (size_t)(s->n - at) * sizeof *s->at);
        }
        return true;
    }
    if (t->factor == 0)
        return true;
    if (s->n == TERMS)
        return false;
    memmove(&s->at[at + 1], &s->at[at], (size_t)(s->n - at) * sizeof *s->at);
    s->at[at] = *t;
    s->n++;
    return true;
}

static bool multiply_terms(const term *a, const term *b, term *out)
{
    int i = 0, k = 0;

    out->degree = a->degree + b->degree;
    if (out->degree > DEGREE || !qdq_mul_int64(a->factor, b->factor, &out->factor))
        return false;
    for (int n = 0; n < out->degree; n++)
        if (k == b->degree || (i < a->degree && strcmp(a->of[i], b->of[k]) <= 0))
            out->of[n] = a->of[i++];
        else
            out->of[n] = b->of[k++];
    return true;
}

/* a / b without rest. */
static bool divide_terms(const term *a, const term *b, term *out)
{
    int k = 0;

    out->degree = 0;
    if (b->factor < 1 || a->factor % b->factor != 0)
        return false;
    out->factor = a->factor / b->factor;
    for (int i = 0; i < a->degree; i++)
        if (k < b->degree && a->of[i] == b->of[k])
            k++;
        else
            out->of[out->degree++] = a->of[i];
    return k == b->degree;
}

static bool combine(char op, const sum *a, const sum *b, sum *out)
{
    term t;

    out->n = 0;
    switch (op) {
    case '+':
    case '-':
        *out = *a;
        for (int i = 0; i < b->n; i++) {
            t = b->at[i];
            if (op == '-' && !qdq_mul_int64(t.factor, -1, &t.factor))
                return false;
            if (!add_term(out, &t))
                return false;
        }
        return true;
    case '*':
        for (int i = 0; i < a->n; i++)
            for (int k = 0; k < b->n; k++)
                if (!multiply_terms(&a->at[i], &b->at[k], &t) || !add_term(out, &t))
                    return false;
        return true;
    case '/':
        for (int i = 0; i < a->n; i++)
            if (b->n != 1 || !divide_terms(&a->at[i], &b->at[0], &t) || !add_term(out, &t))
                return false;
        return b->n == 1;
    default:
        return false;
    }
}

/* --- to and from symbols ---------------------------------------------------------------------- */

/* The text of a sum must say what it is a sum of: not every name can be part of one. */
static bool fits_into_text(const char *name)
{
    return strpbrk(name, "+*") == NULL && !(name[0] >= '0' && name[0] <= '9');
}

static bool read_sum(const qdq_infer_env *env, const qdq_scalar *s, sum *out)
{
    const qdq_map_value *made = NULL;
    term t = {1, 0, {NULL}};

    if (s->know == QDQ_KNOW_SYMBOL)
        made = qdq_map_get_int(&env->sums, key_of(s->v.param));
    if (made != NULL && made->ptr != NULL) {
        *out = *(const sum *)made->ptr;
        return true;
    }
    out->n = 0;
    if (s->know == QDQ_KNOW_SYMBOL)
        t.of[t.degree++] = s->v.param;
    else
        t.factor = s->v.i;
    return (t.degree == 0 || fits_into_text(t.of[0])) && add_term(out, &t);
}

static bool write_text(const sum *s, char *text)
{
    qdq_buf b = QDQ_BUF_INIT(TEXT);
    bool ok;

    for (int i = 0; i < s->n; i++) {
        const term *t = &s->at[i];

        if (i > 0)
            qdq_buf_putc(&b, '+');
        if (t->factor != 1 || t->degree == 0)
            qdq_buf_printf(&b, "%" PRId64 "%s", t->factor, t->degree > 0 ? "*" : "");
        for (int k = 0; k < t->degree; k++)
            qdq_buf_printf(&b, "%s%s", k > 0 ? "*" : "", t->of[k]);
    }
    ok = !b.failed && b.size < TEXT;
    if (ok) {
        memcpy(text, b.data, b.size);
        text[b.size] = '\0';
    }
    qdq_buf_free(&b);
    return ok;
}

/* Files may call a dim "N+1": that is a name like any other, and says nothing of N. Such names are
 * taken. */
static bool take_declared(qdq_infer_env *env)
{
    const qdq_graph *g = env->model->graph;

    for (size_t i = 0; i < g->inputs.n; i++) {
        const qdq_type *t = g->inputs.at[i]->type;

        for (int k = 0; t != NULL && t->kind == QDQ_TYPE_TENSOR && k < t->rank; k++)
            if (t->dim[k].value < 0 && t->dim[k].param != NULL &&
                qdq_map_put_int(&env->sums, key_of(t->dim[k].param), NULL) == NULL)
                return false;
    }
    return true;
}

static qdq_scalar symbol(const char *name)
{
    qdq_scalar s = {QDQ_KNOW_SYMBOL, {0}};

    s.v.param = name;
    return s;
}

/* The symbol of this text: made before, or new. */
static qdq_scalar make_symbol(qdq_infer_env *env, const char *text, const sum *s)
{
    const char *name = qdq_intern(env->model, text);
    qdq_map_value *place = NULL;
    bool is_new = false;

    if (name != NULL && (env->n_sums > 0 || take_declared(env)))
        place = qdq_map_put_int(&env->sums, key_of(name), &is_new);
    if (place != NULL && is_new)
        place->ptr = qdq_arena_alloc(&env->arena, sizeof *s);
    if (place == NULL || (is_new && place->ptr == NULL)) {
        env->nomem = true;
        return not_known;
    }
    if (place->ptr == NULL) /* taken */
        return not_known;
    *(sum *)place->ptr = *s;
    env->n_sums += is_new;
    return symbol(name);
}

static qdq_scalar write_sum(qdq_infer_env *env, const sum *s)
{
    char text[TEXT];

    for (int i = 0; i < s->n; i++)
        if (s->at[i].factor < 0)
            return not_known;
    if (s->n == 0)
        return qdq_scalar_int(QDQ_INT64, 0);
    if (s->n == 1 && s->at[0].degree == 0)
        return qdq_scalar_int(QDQ_INT64, s->at[0].factor);
    if (s->n == 1 && s->at[0].degree == 1 && s->at[0].factor == 1)
        return symbol(s->at[0].of[0]);
    if (env->n_sums >= MADE || !write_text(s, text))
        return not_known;
    return make_symbol(env, text, s);
}

/* --- arithmetic ------------------------------------------------------------------------------- */

qdq_scalar qdq_symbol_combine(qdq_infer_env *env, char op, const qdq_scalar *a, const qdq_scalar *b)
{
    sum left, right, result;

    if (!env->prove || a->know == QDQ_KNOW_NOT || b->know == QDQ_KNOW_NOT ||
        (a->know == QDQ_KNOW_NUMBER && b->know == QDQ_KNOW_NUMBER))
        return not_known;
    if (!read_sum(env, a, &left) || !read_sum(env, b, &right) ||
        !combine(op, &left, &right, &result))
        return not_known;
    return write_sum(env, &result);
}

qdq_dim qdq_dim_combine(qdq_infer_env *env, char op, qdq_dim a, qdq_dim b)
{
    qdq_scalar left = qdq_scalar_of_dim(a), right = qdq_scalar_of_dim(b), result;

    result = qdq_symbol_combine(env, op, &left, &right);
    return qdq_dim_from(&result);
}
