/* text_value.c - reads types, tensors and attributes of the text form. */
#include "base/fail.h"
#include "ir/edit.h"
#include "ir/text_parse.h"

#include <inttypes.h>
#include <string.h>

#define NEED(p, c) QDQ_TRY(qdq_lex_need(&(p)->lex, (c)))

static qdq_status nomem(qdq_text_parser *p)
{
    return qdq_nomem(p->lex.err);
}

/* --- types ------------------------------------------------------------------------------------ */

static bool is_elem(qdq_span id, qdq_elem *e)
{
    char text[32];

    if (id.size >= sizeof text)
        return false;
    memcpy(text, id.data, id.size);
    text[id.size] = '\0';
    *e = qdq_elem_from_name(text);
    return *e != QDQ_UNDEFINED || strcmp(text, "undefined") == 0;
}

bool qdq_parse_is_type(qdq_text_parser *p)
{
    qdq_elem e;
    qdq_span id;

    if (!qdq_lex_peek_id(&p->lex, &id))
        return false;
    return is_elem(id, &e) || qdq_span_is(id, "seq") || qdq_span_is(id, "map") ||
           qdq_span_is(id, "optional") || qdq_span_is(id, "sparse_tensor");
}

static qdq_status parse_dim(qdq_text_parser *p, qdq_dim *dim)
{
    qdq_number n;

    *dim = (qdq_dim){-1, NULL};
    if (qdq_lex_match(&p->lex, '?'))
        return QDQ_OK;
    if (!qdq_lex_is_number(&p->lex))
        return qdq_parse_interned(p, &dim->param);
    QDQ_TRY(qdq_lex_number(&p->lex, &n));
    if (!qdq_number_int(&n, &dim->value) || dim->value < 0)
        return qdq_lex_fail(&p->lex,
                            "found a dimension that is not an integer from 0 up in front of this");
    return QDQ_OK;
}

/* float, float[], float[N,3] */
static qdq_status parse_shape(qdq_text_parser *p, qdq_type *t)
{
    QDQ_VEC(qdq_dim) dims = {NULL, 0, 0};
    qdq_span id;
    qdq_dim dim;

    if (!qdq_lex_id(&p->lex, &id) || !is_elem(id, &t->elem))
        return qdq_lex_expected(&p->lex, "an element type behind this");
    t->rank = 0;
    if (!qdq_lex_match(&p->lex, '['))
        return QDQ_OK;
    if (qdq_lex_match(&p->lex, ']')) {
        t->rank = -1;
        return QDQ_OK;
    }
    do {
        QDQ_TRY(parse_dim(p, &dim));
        if (dims.n >= INT16_MAX)
            return qdq_lex_fail(&p->lex, "found more than %d dimensions", INT16_MAX);
        if (!QDQ_PUSH(&p->m->arena, &dims, dim))
            return nomem(p);
    } while (qdq_lex_match(&p->lex, ','));
    t->rank = (int)dims.n;
    t->dim = dims.at;
    return qdq_lex_need(&p->lex, ']');
}

static qdq_status parse_map_key(qdq_text_parser *p, qdq_type *t)
{
    qdq_span id;

    if (!qdq_lex_id(&p->lex, &id) || !is_elem(id, &t->elem))
        return qdq_lex_expected(&p->lex, "the type of a map's key");
    return qdq_lex_need(&p->lex, ',');
}

qdq_status qdq_parse_type(qdq_text_parser *p, int depth, const qdq_type **type)
{
    qdq_type *t = qdq_arena_alloc(&p->m->arena, sizeof *t);
    qdq_elem e;
    qdq_span id;

    *type = t;
    if (t == NULL)
        return nomem(p);
    if (depth > QDQ_MAX_NESTING)
        return qdq_lex_fail(&p->lex, "types are nested deeper than %d", QDQ_MAX_NESTING);
    if (!qdq_lex_peek_id(&p->lex, &id) || is_elem(id, &e))
        return parse_shape(p, t);
    if (qdq_span_is(id, "seq"))
        t->kind = QDQ_TYPE_SEQUENCE;
    else if (qdq_span_is(id, "optional"))
        t->kind = QDQ_TYPE_OPTIONAL;
    else if (qdq_span_is(id, "map"))
        t->kind = QDQ_TYPE_MAP;
    else if (qdq_span_is(id, "sparse_tensor"))
        t->kind = QDQ_TYPE_SPARSE;
    else
        return qdq_lex_expected(&p->lex, "a type");
    p->lex.at += id.size;
    NEED(p, '(');
    if (t->kind == QDQ_TYPE_MAP)
        QDQ_TRY(parse_map_key(p, t));
    if (t->kind == QDQ_TYPE_SPARSE)
        QDQ_TRY(parse_shape(p, t));
    else
        QDQ_TRY(qdq_parse_type(p, depth + 1, &t->inner));
    return qdq_lex_need(&p->lex, ')');
}

/* --- tensors ---------------------------------------------------------------------------------- */

/* Fixed dimensions of a type; count is checked against overflow. */
static qdq_status fixed_dims(qdq_text_parser *p, const qdq_type *type, const char *name,
                             int64_t **dim, int64_t *count)
{
    *count = 1;
    if (type->rank < 0)
        return qdq_lex_fail(&p->lex, "tensor '%s' has data, but no rank", name);
    *dim = qdq_arena_array(&p->scratch, (size_t)type->rank + 1, sizeof **dim);
    if (*dim == NULL)
        return nomem(p);
    for (int i = 0; i < type->rank; i++) {
        int64_t d = type->dim[i].value;

        if (d < 0)
            return qdq_lex_fail(&p->lex, "tensor '%s' has data, but dimension %d is not a number",
                                name, i);
        if (d != 0 && *count > INT64_MAX / d)
            return qdq_lex_fail(&p->lex, "tensor '%s' has more elements than can be counted", name);
        *count *= d;
        (*dim)[i] = d;
    }
    return QDQ_OK;
}

/* In the narrow floating point types a plain integer is the bits, as onnx.printer writes it. */
static bool put_number(qdq_elem e, void *data, int64_t i, const qdq_number *n)
{
    double x;
    uint64_t u;
    int64_t s;

    if (e == QDQ_UINT64) {
        if (!qdq_number_uint(n, &u))
            return false;
        memcpy((unsigned char *)data + (size_t)i * sizeof u, &u, sizeof u);
        return true;
    }
    if (qdq_elem_is_int(e))
        return qdq_number_int(n, &s) && qdq_elem_put_int(e, data, i, s);
    if (!n->is_float && e != QDQ_FLOAT && e != QDQ_DOUBLE) {
        qdq_elem bits = qdq_elem_bits(e) == 16  ? QDQ_UINT16
                        : qdq_elem_bits(e) == 8 ? QDQ_UINT8
                                                : QDQ_UINT4;

        return qdq_number_int(n, &s) && qdq_elem_put_int(bits, data, i, s);
    }
    return qdq_number_double(n, &x) && qdq_elem_put_float(e, data, i, x);
}

static qdq_status parse_number(qdq_text_parser *p, qdq_elem e, const char *name, void *data,
                               int64_t i)
{
    qdq_number n;
    qdq_span id;
    const char *at = (qdq_lex_peek(&p->lex), p->lex.at);

    if (e == QDQ_BOOL && qdq_lex_peek_id(&p->lex, &id) &&
        (qdq_span_is(id, "true") || qdq_span_is(id, "false"))) {
        p->lex.at += id.size;
        return qdq_elem_put_int(e, data, i, id.size == 4) ? QDQ_OK : QDQ_E_BUG;
    }
    QDQ_TRY(qdq_lex_number(&p->lex, &n));
    if (put_number(e, data, i, &n))
        return QDQ_OK;
    p->lex.at = at;
    return qdq_lex_fail(&p->lex, "tensor '%s': the value %.*s is not one of %s", name,
                        n.text.size > 40 ? 40 : (int)n.text.size, (const char *)n.text.data,
                        qdq_elem_name(e));
}

static qdq_status count_error(qdq_text_parser *p, const char *name, int64_t expected)
{
    return qdq_lex_fail(&p->lex,
                        "tensor '%s': found %s values than its type has, expected %" PRId64, name,
                        qdq_lex_peek(&p->lex) == '}' ? "fewer" : "more", expected);
}

/* Behind '{'. What the text cannot hold is refused before memory is asked for. */
static qdq_status parse_elements(qdq_text_parser *p, qdq_tensor *t, void *data, qdq_span *strings,
                                 int64_t count, const char *name)
{
    qdq_elem e = t == NULL ? QDQ_STRING : t->elem;

    if (e == QDQ_COMPLEX64 || e == QDQ_COMPLEX128) {
        e = e == QDQ_COMPLEX64 ? QDQ_FLOAT : QDQ_DOUBLE;
        count *= 2;
    }
    for (int64_t i = 0; i < count; i++) {
        if (qdq_lex_peek(&p->lex) == '}')
            return count_error(p, name, count);
        if (i > 0)
            NEED(p, ',');
        if (e == QDQ_STRING)
            QDQ_TRY(qdq_parse_copy(p, &strings[i]));
        else
            QDQ_TRY(parse_number(p, e, name, data, i));
    }
    if (qdq_lex_peek(&p->lex) != '}')
        return qdq_lex_peek(&p->lex) == ',' ? count_error(p, name, count)
                                            : qdq_lex_need(&p->lex, '}');
    return qdq_lex_need(&p->lex, '}');
}

static qdq_status new_string_tensor(qdq_text_parser *p, const qdq_type *type, const int64_t *dim,
                                    int64_t count, qdq_tensor **out, qdq_span **strings)
{
    qdq_tensor *t = qdq_arena_alloc(&p->m->arena, sizeof *t);
    int64_t *copy = qdq_arena_copy(&p->m->arena, dim, (size_t)type->rank, sizeof *copy);

    *strings = qdq_arena_array(&p->m->arena, (size_t)count + 1, sizeof **strings);
    if (t == NULL || copy == NULL || *strings == NULL)
        return nomem(p);
    *t = (qdq_tensor){
        .name = "", .elem = QDQ_STRING, .rank = type->rank, .dim = copy, .count = count};
    t->storage = QDQ_STORE_STRINGS;
    t->strings = *strings;
    *out = t;
    return QDQ_OK;
}

/* Behind the name; a '=' there was taken, too. */
qdq_status qdq_parse_tensor(qdq_text_parser *p, const qdq_type *type, const char *name,
                            qdq_tensor **out)
{
    qdq_span *strings = NULL;
    int64_t count, *dim;
    void *data = NULL;

    *out = NULL;
    if (type->kind != QDQ_TYPE_TENSOR || type->elem == QDQ_UNDEFINED)
        return qdq_lex_fail(&p->lex, "'%s' has data, but no tensor type", name);
    if (qdq_lex_peek(&p->lex) == '.')
        return qdq_lex_fail(
            &p->lex, "found '...', expected the data of tensor '%s', which was left out", name);
    QDQ_TRY(fixed_dims(p, type, name, &dim, &count));
    NEED(p, '{');
    if (count > p->lex.end - p->lex.at)
        return qdq_lex_fail(&p->lex, "tensor '%s': found less text than %" PRId64 " elements take",
                            name, count);
    if (type->elem == QDQ_STRING)
        QDQ_TRY(new_string_tensor(p, type, dim, count, out, &strings));
    else
        *out = qdq_tensor_new(p->m, type->elem, type->rank, dim, &data);
    if (*out == NULL)
        return nomem(p);
    return parse_elements(p, *out, data, strings, count, name);
}

/* {float[2] {1, 2}, int64[2] {0, 5}}: values and indices. */
qdq_status qdq_parse_sparse(qdq_text_parser *p, const qdq_type *type, qdq_sparse **out)
{
    qdq_sparse *s = qdq_arena_alloc(&p->m->arena, sizeof *s);
    const qdq_type *part;
    qdq_tensor *t;
    int64_t count, *dim, *copy;

    *out = s;
    QDQ_TRY(fixed_dims(p, type, "sparse", &dim, &count));
    copy = qdq_arena_copy(&p->m->arena, dim, (size_t)type->rank, sizeof *copy);
    if (s == NULL || copy == NULL)
        return nomem(p);
    s->rank = type->rank;
    s->dim = copy;
    NEED(p, '{');
    QDQ_TRY(qdq_parse_type(p, 0, &part));
    QDQ_TRY(qdq_parse_tensor(p, part, "values", &t));
    if (t->elem != type->elem)
        return qdq_lex_fail(&p->lex, "found values of %s in a sparse tensor of %s",
                            qdq_elem_name(t->elem), qdq_elem_name(type->elem));
    s->values = t;
    NEED(p, ',');
    QDQ_TRY(qdq_parse_type(p, 0, &part));
    QDQ_TRY(qdq_parse_tensor(p, part, "indices", &t));
    s->indices = t;
    return qdq_lex_need(&p->lex, '}');
}

/* --- attributes ------------------------------------------------------------------------------- */

static qdq_attr_type list_of(qdq_attr_type item)
{
    int t = QDQ_ATTR_UNDEFINED;

    while (t == (int)item || qdq_attr_type_get_info((qdq_attr_type)t)->item != item)
        t++;
    return (qdq_attr_type)t;
}

static qdq_status parse_graph_value(qdq_text_parser *p, qdq_node *owner, int depth, qdq_attr *one)
{
    const char *name;

    if (owner == NULL)
        return qdq_lex_expected(&p->lex, "a value that is not a graph");
    QDQ_TRY(qdq_parse_interned(p, &name));
    one->type = QDQ_ATTR_GRAPH;
    one->v.g = qdq_graph_new(p->m, owner, name);
    return one->v.g == NULL ? nomem(p) : qdq_parse_graph(p, one->v.g, depth + 1);
}

/* float[2], float[2] {1, 2}, float[2] name = {1, 2}, sparse_tensor(float[2]) {...} */
static qdq_status parse_typed_value(qdq_text_parser *p, bool want_type, qdq_attr *one)
{
    const qdq_type *type;
    const char *name = "";
    qdq_sparse *sparse;
    qdq_tensor *t;
    qdq_span id;
    char next;

    QDQ_TRY(qdq_parse_type(p, 0, &type));
    next = qdq_lex_peek(&p->lex);
    if (want_type || (next != '{' && next != '=' && next != '"' && next != '.' &&
                      !qdq_lex_peek_id(&p->lex, &id))) {
        one->type = QDQ_ATTR_TYPE;
        one->v.type = type;
        return QDQ_OK;
    }
    if (next != '{' && next != '=' && next != '.')
        QDQ_TRY(qdq_parse_interned(p, &name));
    (void)qdq_lex_match(&p->lex, '=');
    if (type->kind == QDQ_TYPE_SPARSE) {
        QDQ_TRY(qdq_parse_sparse(p, type, &sparse));
        one->type = QDQ_ATTR_SPARSE;
        one->v.sparse = sparse;
        return QDQ_OK;
    }
    QDQ_TRY(qdq_parse_tensor(p, type, name, &t));
    t->name = name;
    one->type = QDQ_ATTR_TENSOR;
    one->v.t = t;
    return QDQ_OK;
}

static qdq_status parse_number_value(qdq_text_parser *p, qdq_attr *one)
{
    const char *at = (qdq_lex_peek(&p->lex), p->lex.at);
    qdq_number n;
    double x;

    QDQ_TRY(qdq_lex_number(&p->lex, &n));
    one->type = n.is_float ? QDQ_ATTR_FLOAT : QDQ_ATTR_INT;
    if (n.is_float ? qdq_number_double(&n, &x) : qdq_number_int(&n, &one->v.i)) {
        if (n.is_float)
            one->v.f = (float)x;
        return QDQ_OK;
    }
    p->lex.at = at;
    return qdq_lex_fail(&p->lex, "found a number out of range");
}

/* A string, or a graph whose name is one. */
static qdq_status parse_quoted_value(qdq_text_parser *p, qdq_node *owner, int depth, qdq_attr *one)
{
    const char *at = p->lex.at;

    QDQ_TRY(qdq_parse_copy(p, &one->v.s));
    one->type = QDQ_ATTR_STRING;
    if (qdq_lex_peek(&p->lex) != '(')
        return QDQ_OK;
    p->lex.at = at;
    return parse_graph_value(p, owner, depth, one);
}

/* One value; `want` is its type, or UNDEFINED if the value itself has to tell. */
static qdq_status parse_single(qdq_text_parser *p, qdq_attr_type want, qdq_node *owner, int depth,
                               qdq_attr *one)
{
    char next = qdq_lex_peek(&p->lex);
    const char *at = p->lex.at;

    if (next == '"')
        QDQ_TRY(parse_quoted_value(p, owner, depth, one));
    else if (qdq_lex_is_number(&p->lex))
        QDQ_TRY(parse_number_value(p, one));
    else if (qdq_parse_is_type(p))
        QDQ_TRY(parse_typed_value(p, want == QDQ_ATTR_TYPE, one));
    else
        QDQ_TRY(parse_graph_value(p, owner, depth, one));
    if (want == QDQ_ATTR_FLOAT && one->type == QDQ_ATTR_INT) {
        one->v.f = (float)one->v.i;
        one->type = QDQ_ATTR_FLOAT;
    }
    if (want == QDQ_ATTR_UNDEFINED || want == one->type)
        return QDQ_OK;
    p->lex.at = at;
    return qdq_lex_fail(&p->lex, "found a value of type %s, expected %s",
                        qdq_attr_type_get_info(one->type)->name,
                        qdq_attr_type_get_info(want)->name);
}

/* Behind '['. All values of a list are of the type of the first, or of the one that was
 * announced. */
static qdq_status parse_list(qdq_text_parser *p, qdq_node *owner, int depth, qdq_attr *a)
{
    qdq_attr one = {.type = qdq_attr_type_get_info(a->type)->item, .count = 1};
    QDQ_VEC(qdq_span) list = {NULL, 0, 0}; /* each holds a value of any type */
    char *items;
    size_t size;

    if (qdq_lex_match(&p->lex, ']')) {
        if (a->type == QDQ_ATTR_UNDEFINED)
            return qdq_lex_fail(&p->lex,
                                "attribute '%s': an empty list needs a type, as in '%s: ints = []'",
                                a->name, a->name);
        a->count = 0;
        return QDQ_OK;
    }
    do {
        qdq_span value;

        _Static_assert(sizeof one.v == sizeof value, "a span is as large as any value");
        QDQ_TRY(parse_single(p, one.type, owner, depth, &one));
        memcpy(&value, &one.v, sizeof value);
        if (!QDQ_PUSH(&p->scratch, &list, value))
            return nomem(p);
    } while (qdq_lex_match(&p->lex, ','));
    size = qdq_attr_type_get_info(one.type)->size;
    items = qdq_arena_array(&p->m->arena, list.n, size);
    if (items == NULL)
        return nomem(p);
    for (size_t i = 0; i < list.n; i++)
        memcpy(items + i * size, &list.at[i], size);
    a->type = list_of(one.type);
    a->count = list.n;
    memcpy(&a->v, &items, sizeof items);
    return qdq_lex_need(&p->lex, ']');
}

static qdq_status parse_attr_type(qdq_text_parser *p, qdq_attr_type *type)
{
    qdq_span id;

    if (qdq_lex_peek_id(&p->lex, &id))
        for (int t = QDQ_ATTR_FLOAT; t <= QDQ_ATTR_TYPES; t++)
            if (qdq_span_is(id, qdq_attr_type_get_info((qdq_attr_type)t)->name)) {
                p->lex.at += id.size;
                *type = (qdq_attr_type)t;
                return QDQ_OK;
            }
    return qdq_lex_expected(&p->lex, "an attribute type");
}

qdq_status qdq_parse_attr(qdq_text_parser *p, const char *name, qdq_node *owner, int depth,
                          qdq_attr **out)
{
    qdq_attr *a = qdq_arena_alloc(&p->m->arena, sizeof *a);
    qdq_attr_type type = QDQ_ATTR_UNDEFINED;

    *out = a;
    if (a == NULL)
        return nomem(p);
    a->name = name;
    a->count = 1;
    if (qdq_lex_match(&p->lex, ':'))
        QDQ_TRY(parse_attr_type(p, &type));
    a->type = type;
    NEED(p, '=');
    if (qdq_lex_match(&p->lex, '@')) {
        if (type == QDQ_ATTR_UNDEFINED)
            return qdq_lex_fail(&p->lex,
                                "attribute '%s': a reference needs a type, as in '%s: int = @x'",
                                name, name);
        return qdq_parse_interned(p, &a->ref);
    }
    if (qdq_lex_peek(&p->lex) != '[')
        return parse_single(p, type, owner, depth, a);
    if (type != QDQ_ATTR_UNDEFINED && !qdq_attr_is_list(a))
        return qdq_lex_fail(&p->lex, "attribute '%s': found a list, expected one %s", name,
                            qdq_attr_type_get_info(type)->name);
    NEED(p, '[');
    return parse_list(p, owner, depth, a);
}
