/* text_parse.c - reads the text form: header, graphs, nodes, functions. Accepts what onnx.printer
 * writes.
 *
 * Names are resolved when a top-level graph is complete, so that a use may stand before its
 * definition. What is then defined nowhere becomes a value without definition, which the verifier
 * reports: tests of the verifier are written as text, too. */
#include "ir/text_parse.h"

#include "base/fail.h"
#include "ir/edit.h"
#include "ir/text.h"

#include <inttypes.h>
#include <string.h>

#define NEED(p, c) QDQ_TRY(qdq_lex_need(&(p)->lex, (c)))

static qdq_status nomem(qdq_text_parser *p)
{
    return qdq_nomem(p->lex.err);
}

qdq_status qdq_parse_interned(qdq_text_parser *p, const char **name)
{
    qdq_span s;

    QDQ_TRY(qdq_lex_name(&p->lex, &s));
    *name = qdq_intern_n(p->m, (const char *)s.data, s.size);
    return *name == NULL ? nomem(p) : QDQ_OK;
}

qdq_status qdq_parse_copy(qdq_text_parser *p, qdq_span *s)
{
    char *copy;

    QDQ_TRY(qdq_lex_string(&p->lex, s));
    copy = qdq_arena_strndup(&p->m->arena, (const char *)s->data, s->size);
    if (copy == NULL)
        return nomem(p);
    s->data = (const unsigned char *)copy;
    return QDQ_OK;
}

static qdq_status parse_int(qdq_text_parser *p, int64_t *out)
{
    qdq_number n;

    QDQ_TRY(qdq_lex_number(&p->lex, &n));
    if (!qdq_number_int(&n, out))
        return qdq_lex_fail(&p->lex, "found a number that is no 64-bit integer in front of this");
    return QDQ_OK;
}

/* An error that was seen late is reported where it stands. */
static qdq_status fail_at(qdq_text_parser *p, const char *at, const char *problem, const char *name)
{
    p->lex.at = at;
    return qdq_lex_fail(&p->lex, "%s '%s'", problem, name);
}

typedef qdq_status parse_item(qdq_text_parser *p, void *ctx);

/* One or more, separated by commas, up to `close`. */
static qdq_status parse_items(qdq_text_parser *p, char close, parse_item *item, void *ctx)
{
    do
        QDQ_TRY(item(p, ctx));
    while (qdq_lex_match(&p->lex, ','));
    return qdq_lex_need(&p->lex, close);
}

/* The same, or none. */
static qdq_status parse_list(qdq_text_parser *p, char close, parse_item *item, void *ctx)
{
    return qdq_lex_match(&p->lex, close) ? QDQ_OK : parse_items(p, close, item, ctx);
}

/* --- values of a graph ------------------------------------------------------------------------ */

static qdq_status find_or_add(qdq_text_parser *p, qdq_graph *g, const char *name, qdq_value **out)
{
    *out = qdq_graph_find(g, name);
    if (*out == NULL)
        *out = qdq_graph_add_value(g, name, NULL);
    return *out == NULL ? nomem(p) : QDQ_OK;
}

/* [type] name: the value, new or not. */
static qdq_status parse_value(qdq_text_parser *p, qdq_graph *g, qdq_value **v)
{
    const qdq_type *type = NULL;
    const char *name, *at;

    if (qdq_parse_is_type(p))
        QDQ_TRY(qdq_parse_type(p, 0, &type));
    (void)qdq_lex_peek(&p->lex);
    at = p->lex.at;
    QDQ_TRY(qdq_parse_interned(p, &name));
    if (name[0] == '\0')
        return fail_at(p, at, "found an empty name", "");
    QDQ_TRY(find_or_add(p, g, name, v));
    if (type != NULL)
        (*v)->type = type;
    return QDQ_OK;
}

static qdq_status parse_data(qdq_text_parser *p, qdq_value *v)
{
    qdq_sparse *sparse;
    qdq_tensor *t;

    if (v->init != NULL || v->sparse != NULL || v->producer != NULL)
        return qdq_lex_fail(&p->lex, "found a second definition of '%s'", v->name);
    if (v->type == NULL)
        return qdq_lex_fail(&p->lex, "initializer '%s' has no type", v->name);
    if (v->type->kind == QDQ_TYPE_SPARSE) {
        QDQ_TRY(qdq_parse_sparse(p, v->type, &sparse));
        return qdq_value_set_sparse(v, sparse) ? QDQ_OK : nomem(p);
    }
    QDQ_TRY(qdq_parse_tensor(p, v->type, v->name, &t));
    return qdq_value_set_init(v, t) ? QDQ_OK : nomem(p);
}

static qdq_status parse_input(qdq_text_parser *p, void *ctx)
{
    const char *at = (qdq_lex_peek(&p->lex), p->lex.at);
    qdq_graph *g = ctx;
    qdq_value *v;

    QDQ_TRY(parse_value(p, g, &v));
    if (v->is_input)
        return fail_at(p, at, "found a second listing of input", v->name);
    if (!qdq_graph_make_input(g, v))
        return nomem(p);
    return qdq_lex_match(&p->lex, '=') ? parse_data(p, v) : QDQ_OK;
}

static qdq_status parse_output(qdq_text_parser *p, void *ctx)
{
    qdq_value *v;

    QDQ_TRY(parse_value(p, ctx, &v));
    return qdq_graph_add_output(ctx, v) ? QDQ_OK : nomem(p);
}

/* float[2] w = {1, 2}, or float[N] t: an initializer, or the type of a value. */
static qdq_status parse_info(qdq_text_parser *p, void *ctx)
{
    qdq_value *v;

    QDQ_TRY(parse_value(p, ctx, &v));
    return qdq_lex_match(&p->lex, '=') ? parse_data(p, v) : QDQ_OK;
}

/* --- nodes ------------------------------------------------------------------------------------ */

typedef struct spot {
    const char *name, *at;
} spot;
typedef QDQ_VEC(spot) spots;

static qdq_status parse_output_name(qdq_text_parser *p, void *ctx)
{
    spots *outs = ctx;
    spot s = {.at = (qdq_lex_peek(&p->lex), p->lex.at)};

    QDQ_TRY(qdq_parse_interned(p, &s.name));
    return QDQ_PUSH(&p->scratch, outs, s) ? QDQ_OK : nomem(p);
}

/* Op, some.domain.Op, or "any domain"::"any operator". */
static qdq_status parse_operator(qdq_text_parser *p, const char **domain, const char **type)
{
    qdq_span id;
    const char *start;

    if (qdq_lex_peek(&p->lex) == '"') {
        QDQ_TRY(qdq_parse_interned(p, domain));
        NEED(p, ':');
        NEED(p, ':');
        return qdq_parse_interned(p, type);
    }
    if (!qdq_lex_id(&p->lex, &id))
        return qdq_lex_expected(&p->lex, "an operator");
    start = (const char *)id.data;
    *domain = "";
    while (p->lex.at < p->lex.end && *p->lex.at == '.') {
        *domain = qdq_intern_n(p->m, start, (size_t)(p->lex.at - start));
        if (*domain == NULL)
            return nomem(p);
        p->lex.at++;
        if (!qdq_lex_id(&p->lex, &id) || (const char *)id.data + id.size != p->lex.at)
            return qdq_lex_expected(&p->lex, "an operator");
        if ((const char *)id.data != start + strlen(*domain) + 1)
            return fail_at(p, (const char *)id.data, "found a space behind the domain", *domain);
    }
    *type = qdq_intern_n(p->m, (const char *)id.data, id.size);
    return *type == NULL ? nomem(p) : QDQ_OK;
}

typedef struct place {
    qdq_node *node;
    int depth;
} place;

static qdq_status parse_node_attr(qdq_text_parser *p, void *ctx)
{
    const place *at = ctx;
    const char *name;
    qdq_attr *a;

    QDQ_TRY(qdq_parse_interned(p, &name));
    QDQ_TRY(qdq_parse_attr(p, name, at->node, at->depth, &a));
    return qdq_node_append_attr(at->node, a) ? QDQ_OK : nomem(p);
}

static qdq_status parse_attrs(qdq_text_parser *p, qdq_node *n, int depth)
{
    return qdq_lex_match(&p->lex, '<') ? parse_list(p, '>', parse_node_attr, &(place){n, depth})
                                       : QDQ_OK;
}

static qdq_status parse_operand(qdq_text_parser *p, void *ctx)
{
    qdq_node *n = ctx;
    qdq_pending use = {n, n->n_in, NULL};

    QDQ_TRY(qdq_parse_interned(p, &use.name));
    if (!qdq_node_append_in(n, NULL))
        return nomem(p);
    return use.name[0] == '\0' || QDQ_PUSH(&p->scratch, &p->pending, use) ? QDQ_OK : nomem(p);
}

static qdq_status add_outputs(qdq_text_parser *p, qdq_node *n, const spots *outs)
{
    for (size_t i = 0; i < outs->n; i++) {
        const spot *s = &outs->at[i];
        qdq_value *v = NULL;

        if (s->name[0] != '\0') {
            QDQ_TRY(find_or_add(p, n->graph, s->name, &v));
            if (v->producer != NULL || v->is_input || v->init != NULL || v->sparse != NULL)
                return fail_at(p, s->at, "found a second definition of", s->name);
        }
        if (!qdq_node_append_out(n, v))
            return nomem(p);
    }
    return QDQ_OK;
}

static qdq_status parse_node(qdq_text_parser *p, qdq_graph *g, int depth)
{
    const char *name = "", *domain, *type;
    spots outs = {NULL, 0, 0};
    qdq_node *n;

    if (qdq_lex_match(&p->lex, '[')) {
        if (qdq_lex_peek(&p->lex) != ']')
            QDQ_TRY(qdq_parse_interned(p, &name));
        NEED(p, ']');
    }
    QDQ_TRY(parse_list(p, '=', parse_output_name, &outs));
    QDQ_TRY(parse_operator(p, &domain, &type));
    n = qdq_graph_add_node(g, NULL, domain, type, name, 0, 0, NULL);
    if (n == NULL)
        return nomem(p);
    if (qdq_lex_match(&p->lex, ':'))
        QDQ_TRY(qdq_parse_interned(p, &n->overload));
    QDQ_TRY(add_outputs(p, n, &outs));
    QDQ_TRY(parse_attrs(p, n, depth));
    NEED(p, '(');
    QDQ_TRY(parse_list(p, ')', parse_operand, n));
    return n->n_attr == 0 ? parse_attrs(p, n, depth) : QDQ_OK;
}

static qdq_status parse_body(qdq_text_parser *p, qdq_graph *g, int depth)
{
    NEED(p, '{');
    while (!qdq_lex_match(&p->lex, '}')) {
        if (qdq_lex_at_end(&p->lex))
            return qdq_lex_expected(&p->lex, "a node or '}'");
        QDQ_TRY(parse_node(p, g, depth));
    }
    return QDQ_OK;
}

qdq_status qdq_parse_graph(qdq_text_parser *p, qdq_graph *g, int depth)
{
    if (depth > QDQ_MAX_NESTING)
        return qdq_lex_fail(&p->lex, "graphs are nested deeper than %d", QDQ_MAX_NESTING);
    NEED(p, '(');
    QDQ_TRY(parse_list(p, ')', parse_input, g));
    NEED(p, '=');
    if (p->lex.at == p->lex.end || *p->lex.at != '>')
        return qdq_lex_expected(&p->lex, "'=>'");
    p->lex.at++;
    NEED(p, '(');
    QDQ_TRY(parse_list(p, ')', parse_output, g));
    if (qdq_lex_match(&p->lex, '<'))
        QDQ_TRY(parse_list(p, '>', parse_info, g));
    return parse_body(p, g, depth);
}

static qdq_status resolve(qdq_text_parser *p)
{
    for (size_t i = 0; i < p->pending.n; i++) {
        const qdq_pending *use = &p->pending.at[i];
        qdq_value *v = qdq_graph_resolve(use->node->graph, use->name);

        if (v == NULL)
            v = qdq_graph_add_value(use->node->graph, use->name, NULL);
        if (v == NULL)
            return nomem(p);
        qdq_node_set_in(use->node, use->index, v);
    }
    p->pending.n = 0;
    return QDQ_OK;
}

/* --- the header ------------------------------------------------------------------------------- */

/* Fields that the model does not know of are kept as wire bytes, as the reader of models does. */
static qdq_status keep_field(qdq_text_parser *p, qdq_span *rest, unsigned field, bool is_int,
                             int64_t number, qdq_span text)
{
    unsigned char head[24], *bytes;
    uint64_t value = is_int ? (uint64_t)number : text.size;
    size_t n = 0;

    head[n++] = (unsigned char)(field << 3 | (is_int ? 0 : 2)); /* field numbers below 16 */
    for (; value >= 0x80; value >>= 7)
        head[n++] = (unsigned char)(value | 0x80);
    head[n++] = (unsigned char)value;
    bytes = qdq_arena_alloc(&p->m->arena, rest->size + n + text.size);
    if (bytes == NULL)
        return nomem(p);
    if (rest->size > 0)
        memcpy(bytes, rest->data, rest->size);
    memcpy(bytes + rest->size, head, n);
    if (text.size > 0)
        memcpy(bytes + rest->size + n, text.data, text.size);
    *rest = (qdq_span){bytes, rest->size + n + text.size};
    return QDQ_OK;
}

/* "com.microsoft" : 1, of a function, or of the model (NULL) */
static qdq_status parse_opset(qdq_text_parser *p, void *ctx)
{
    const char *name;
    qdq_span domain;
    int64_t version;

    QDQ_TRY(qdq_lex_string(&p->lex, &domain));
    NEED(p, ':');
    name = qdq_intern_n(p->m, (const char *)domain.data, domain.size);
    if (name == NULL)
        return nomem(p);
    QDQ_TRY(parse_int(p, &version));
    return qdq_model_add_opset(p->m, ctx, name, version) ? QDQ_OK : nomem(p);
}

static qdq_status parse_prop(qdq_text_parser *p, void *ctx)
{
    qdq_prop prop;
    qdq_span s;

    (void)ctx;
    QDQ_TRY(qdq_lex_string(&p->lex, &s));
    prop.key = qdq_intern_n(p->m, (const char *)s.data, s.size);
    NEED(p, ':');
    QDQ_TRY(qdq_parse_copy(p, &s));
    prop.value = (const char *)s.data;
    return prop.key != NULL && QDQ_PUSH(&p->m->arena, &p->m->props, prop) ? QDQ_OK : nomem(p);
}

static qdq_status unknown_key(qdq_text_parser *p, qdq_span key, const char *of)
{
    return qdq_lex_fail(&p->lex, "found the key '%.*s', expected one of a %s's header",
                        key.size > 40 ? 40 : (int)key.size, (const char *)key.data, of);
}

static qdq_status parse_model_key(qdq_text_parser *p, qdq_span key)
{
    enum { DOMAIN = 4, MODEL_VERSION = 5, DOC_STRING = 6 };
    qdq_model *m = p->m;
    int64_t number = 0;
    qdq_span s = {NULL, 0};

    if (qdq_span_is(key, "ir_version"))
        return parse_int(p, &m->ir_version);
    if (qdq_span_is(key, "opset_import")) {
        NEED(p, '[');
        return parse_list(p, ']', parse_opset, NULL);
    }
    if (qdq_span_is(key, "metadata_props")) {
        NEED(p, '[');
        return parse_list(p, ']', parse_prop, NULL);
    }
    if (qdq_span_is(key, "model_version")) {
        QDQ_TRY(parse_int(p, &number));
        return keep_field(p, &m->unknown_fields, MODEL_VERSION, true, number, s);
    }
    if (!qdq_span_is(key, "producer_name") && !qdq_span_is(key, "producer_version") &&
        !qdq_span_is(key, "domain") && !qdq_span_is(key, "doc_string"))
        return unknown_key(p, key, "model");
    QDQ_TRY(qdq_parse_copy(p, &s));
    if (qdq_span_is(key, "producer_name"))
        m->producer_name = (const char *)s.data;
    else if (qdq_span_is(key, "producer_version"))
        m->producer_version = (const char *)s.data;
    else
        return keep_field(p, &m->unknown_fields, qdq_span_is(key, "domain") ? DOMAIN : DOC_STRING,
                          false, 0, s);
    return QDQ_OK;
}

/* --- functions -------------------------------------------------------------------------------- */

static qdq_status parse_function_key(qdq_text_parser *p, qdq_function *f, qdq_span key)
{
    enum { DOC_STRING = 8 };
    qdq_span s;

    if (qdq_span_is(key, "opset_import")) {
        NEED(p, '[');
        return parse_list(p, ']', parse_opset, f);
    }
    if (qdq_span_is(key, "domain"))
        return qdq_parse_interned(p, &f->domain);
    if (qdq_span_is(key, "overload"))
        return qdq_parse_interned(p, &f->overload);
    if (!qdq_span_is(key, "doc_string"))
        return unknown_key(p, key, "function");
    QDQ_TRY(qdq_lex_string(&p->lex, &s));
    return keep_field(p, &f->unknown_fields, DOC_STRING, false, 0, s);
}

/* Of a function, or of the model (NULL). */
static qdq_status parse_key(qdq_text_parser *p, void *ctx)
{
    qdq_span key;

    if (!qdq_lex_id(&p->lex, &key))
        return qdq_lex_expected(&p->lex, ctx != NULL ? "a key of the function's header"
                                                     : "a key of the header");
    NEED(p, ':');
    return ctx != NULL ? parse_function_key(p, ctx, key) : parse_model_key(p, key);
}

static qdq_status parse_function_attr(qdq_text_parser *p, void *ctx)
{
    qdq_function *f = ctx;
    const char *name;
    qdq_attr *a;
    char next;

    QDQ_TRY(qdq_parse_interned(p, &name));
    next = qdq_lex_peek(&p->lex);
    if (next != ':' && next != '=')
        return QDQ_PUSH(&p->m->arena, &f->attrs, name) ? QDQ_OK : nomem(p);
    QDQ_TRY(qdq_parse_attr(p, name, NULL, 0, &a));
    return QDQ_PUSH(&p->m->arena, &f->attr_protos, a) ? QDQ_OK : nomem(p);
}

static qdq_status parse_function(qdq_text_parser *p)
{
    qdq_function *f = qdq_arena_alloc(&p->m->arena, sizeof *f);

    if (f == NULL)
        return nomem(p);
    f->domain = f->overload = qdq_intern(p->m, "");
    if (f->domain == NULL)
        return nomem(p);
    if (qdq_lex_match(&p->lex, '<'))
        QDQ_TRY(parse_items(p, '>', parse_key, f));
    QDQ_TRY(qdq_parse_interned(p, &f->name));
    if (qdq_lex_match(&p->lex, '<'))
        QDQ_TRY(parse_list(p, '>', parse_function_attr, f));
    f->body = qdq_graph_new(p->m, NULL, f->name);
    if (f->body == NULL || !QDQ_PUSH(&p->m->arena, &p->m->functions, f))
        return nomem(p);
    f->body->function = f;
    QDQ_TRY(qdq_parse_graph(p, f->body, 0));
    return resolve(p);
}

/* --- the model -------------------------------------------------------------------------------- */

/* Without a header: opset 17, and version 1 of every other domain that is used. */
static qdq_status import_domains(qdq_text_parser *p)
{
    const char *last = NULL;

    QDQ_TRY(qdq_model_set_opset_version(p->m, "", 17, p->lex.err));
    QDQ_FOR_GRAPHS (g, p->m) {
        QDQ_FOR_NODES (n, g) {
            if (n->domain == last)
                continue;
            last = n->domain;
            if (qdq_model_opset_of(p->m, last) == 0)
                QDQ_TRY(qdq_model_set_opset_version(p->m, last, 1, p->lex.err));
        }
    }
    return QDQ_OK;
}

static qdq_status parse_model(qdq_text_parser *p)
{
    bool has_header = qdq_lex_match(&p->lex, '<');

    if (has_header)
        QDQ_TRY(parse_items(p, '>', parse_key, NULL));
    QDQ_TRY(qdq_parse_interned(p, &p->m->graph->name));
    QDQ_TRY(qdq_parse_graph(p, p->m->graph, 0));
    QDQ_TRY(resolve(p));
    while (!qdq_lex_at_end(&p->lex))
        QDQ_TRY(parse_function(p));
    return has_header ? QDQ_OK : import_domains(p);
}

qdq_status qdq_text_parse(const char *text, size_t size, const char *name, qdq_model **out,
                          qdq_error *err)
{
    qdq_text_parser p = {
        {name, text, text, text + size, NULL, err}, qdq_model_new(), QDQ_ARENA_INIT, {NULL, 0, 0}};
    qdq_status st;

    *out = NULL;
    QDQ_NEED(p.m != NULL, err);
    p.lex.arena = &p.scratch;
    st = parse_model(&p);
    qdq_arena_free(&p.scratch);
    return QDQ_HAND_OVER(p.m, st, out, qdq_model_free);
}

qdq_status qdq_model_from_text(const char *text, const char *name, qdq_model **out, qdq_error *err)
{
    return qdq_text_parse(text, strlen(text), name == NULL ? "<text>" : name, out, err);
}
