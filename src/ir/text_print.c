/* text_print.c - the text form of a model: layout, names, nodes, graphs. Literals are in
 * text_literal.c.
 *
 * The layout is part of the contract: tests compare it byte by byte (docs/text.md). */
#include "base/fail.h"
#include "ir/text.h"
#include "ir/text_literal.h"

#include <inttypes.h>
#include <string.h>

enum { DEFAULT_MAX_ELEMENTS = 64 };

typedef struct printer {
    qdq_literals lit;
    qdq_buf *out;
    qdq_error *err;
    bool with_types;
} printer;

static qdq_status print_graph(printer *p, const qdq_graph *g, int depth);

static void indent(printer *p, int depth)
{
    for (int i = 0; i < depth; i++)
        qdq_buf_puts(p->out, "  ");
}

/* --- values ----------------------------------------------------------------------------------- */

static void print_value(printer *p, const qdq_value *v)
{
    if (v->type != NULL && qdq_print_type(p->out, v->type))
        qdq_buf_putc(p->out, ' ');
    qdq_print_name(p->out, v->name);
}

static qdq_status print_init(printer *p, const qdq_value *v)
{
    if (v->init != NULL) {
        qdq_print_tensor_type(p->out, v->init);
        qdq_buf_putc(p->out, ' ');
        qdq_print_name(p->out, v->name);
        qdq_buf_puts(p->out, " = ");
        return qdq_print_tensor_data(&p->lit, v->init, p->err);
    }
    qdq_print_sparse_type(p->out, v->sparse);
    qdq_buf_putc(p->out, ' ');
    qdq_print_name(p->out, v->name);
    qdq_buf_puts(p->out, " = ");
    return qdq_print_sparse_data(&p->lit, v->sparse, p->err);
}

static qdq_status print_inputs(printer *p, const qdq_graph *g)
{
    qdq_buf_putc(p->out, '(');
    for (size_t i = 0; i < g->inputs.n; i++) {
        const qdq_value *v = g->inputs.at[i];

        if (i > 0)
            qdq_buf_puts(p->out, ", ");
        if (v->init != NULL || v->sparse != NULL)
            QDQ_TRY(print_init(p, v));
        else
            print_value(p, v);
    }
    qdq_buf_putc(p->out, ')');
    return QDQ_OK;
}

static void print_outputs(printer *p, const qdq_graph *g)
{
    qdq_buf_puts(p->out, " => (");
    for (size_t i = 0; i < g->outputs.n; i++) {
        if (i > 0)
            qdq_buf_puts(p->out, ", ");
        print_value(p, g->outputs.at[i]);
    }
    qdq_buf_putc(p->out, ')');
}

static qdq_status print_inits(printer *p, const qdq_graph *g, int depth)
{
    bool first = true;

    for (size_t i = 0; i < g->inits.n; i++) {
        const qdq_value *v = g->inits.at[i];

        if (v->dead || v->is_input) /* those stand with the inputs */
            continue;
        qdq_buf_puts(p->out, first ? " <\n" : ",\n");
        first = false;
        indent(p, depth + 1);
        QDQ_TRY(print_init(p, v));
    }
    if (!first) {
        qdq_buf_putc(p->out, '\n');
        indent(p, depth);
        qdq_buf_putc(p->out, '>');
    }
    return QDQ_OK;
}

/* --- nodes ------------------------------------------------------------------------------------ */

/* Identifiers with dots between them. */
static bool is_plain_domain(const char *s)
{
    bool at_start = true;

    for (; *s != '\0'; s++) {
        bool is_letter = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || *s == '_';

        if (*s == '.' ? at_start : !is_letter && (at_start || *s < '0' || *s > '9'))
            return false;
        at_start = *s == '.';
    }
    return !at_start;
}

static void print_operator(printer *p, const qdq_node *n)
{
    if (qdq_is_identifier(n->type) && (n->domain[0] == '\0' || is_plain_domain(n->domain))) {
        qdq_buf_printf(p->out, "%s%s%s", n->domain, n->domain[0] == '\0' ? "" : ".", n->type);
    } else {
        qdq_print_string(p->out, n->domain, strlen(n->domain));
        qdq_buf_puts(p->out, "::");
        qdq_print_string(p->out, n->type, strlen(n->type));
    }
    if (n->overload[0] != '\0') {
        qdq_buf_putc(p->out, ':');
        qdq_print_name(p->out, n->overload);
    }
}

static qdq_status print_graph_attr(printer *p, const qdq_attr *a, int depth)
{
    if (a->type == QDQ_ATTR_GRAPH)
        return print_graph(p, a->v.g, depth);
    qdq_buf_putc(p->out, '[');
    for (size_t i = 0; i < a->count; i++) {
        if (i > 0)
            qdq_buf_puts(p->out, ", ");
        QDQ_TRY(print_graph(p, a->v.graphs[i], depth));
    }
    qdq_buf_putc(p->out, ']');
    return QDQ_OK;
}

static qdq_status print_attr(printer *p, const qdq_attr *a, int depth)
{
    qdq_print_attr_start(p->out, a);
    if (a->ref == NULL && (a->type == QDQ_ATTR_GRAPH || a->type == QDQ_ATTR_GRAPHS))
        return print_graph_attr(p, a, depth);
    return qdq_print_attr_value(&p->lit, a, p->err);
}

static qdq_status print_attrs(printer *p, qdq_attr *const *attr, size_t n, int depth)
{
    for (size_t i = 0; i < n; i++) {
        qdq_buf_puts(p->out, i == 0 ? "<" : ", ");
        QDQ_TRY(print_attr(p, attr[i], depth));
    }
    if (n > 0)
        qdq_buf_puts(p->out, ">");
    return QDQ_OK;
}

static void print_node_types(printer *p, const qdq_node *n)
{
    const char *before = "  # ";

    for (uint32_t i = 0; i < n->n_out; i++)
        if (n->out[i] != NULL && n->out[i]->type != NULL) {
            qdq_buf_puts(p->out, before);
            print_value(p, n->out[i]);
            before = ", ";
        }
}

static qdq_status print_node(printer *p, const qdq_node *n, int depth)
{
    indent(p, depth);
    if (n->name[0] != '\0') {
        qdq_buf_putc(p->out, '[');
        qdq_print_name(p->out, n->name);
        qdq_buf_puts(p->out, "] ");
    }
    for (uint32_t i = 0; i < n->n_out; i++) {
        if (i > 0)
            qdq_buf_puts(p->out, ", ");
        qdq_print_name(p->out, n->out[i] == NULL ? "" : n->out[i]->name);
    }
    qdq_buf_puts(p->out, n->n_out == 0 ? "= " : " = ");
    print_operator(p, n);
    if (n->n_attr > 0) {
        qdq_buf_putc(p->out, ' ');
        QDQ_TRY(print_attrs(p, n->attr, n->n_attr, depth));
        qdq_buf_putc(p->out, ' ');
    }
    qdq_buf_putc(p->out, '(');
    for (uint32_t i = 0; i < n->n_in; i++) {
        if (i > 0)
            qdq_buf_puts(p->out, ", ");
        qdq_print_name(p->out, n->in[i].value == NULL ? "" : n->in[i].value->name);
    }
    qdq_buf_putc(p->out, ')');
    if (p->with_types)
        print_node_types(p, n);
    qdq_buf_putc(p->out, '\n');
    return QDQ_OK;
}

static qdq_status print_body(printer *p, const qdq_graph *g, int depth)
{
    qdq_buf_puts(p->out, " {\n");
    QDQ_FOR_NODES (n, g) {
        qdq_status st = print_node(p, n, depth + 1);

        if (st != QDQ_OK)
            return st;
    }
    indent(p, depth);
    qdq_buf_putc(p->out, '}');
    return QDQ_OK;
}

static qdq_status print_graph(printer *p, const qdq_graph *g, int depth)
{
    if (depth > QDQ_MAX_NESTING)
        return qdq_fail(p->err, QDQ_E_UNSUPPORTED, "graph '%s': graphs are nested deeper than %d",
                        g->name, QDQ_MAX_NESTING);
    qdq_print_name(p->out, g->name);
    qdq_buf_putc(p->out, ' ');
    QDQ_TRY(print_inputs(p, g));
    print_outputs(p, g);
    QDQ_TRY(print_inits(p, g, depth));
    return print_body(p, g, depth);
}

/* --- functions and the header ----------------------------------------------------------------- */

static void print_opsets(printer *p, const qdq_opset *set, size_t n)
{
    qdq_buf_puts(p->out, "opset_import: [");
    for (size_t i = 0; i < n; i++) {
        qdq_buf_puts(p->out, i > 0 ? ", " : "");
        qdq_print_string(p->out, set[i].domain, strlen(set[i].domain));
        qdq_buf_printf(p->out, " : %" PRId64, set[i].version);
    }
    qdq_buf_putc(p->out, ']');
}

static void print_text_field(printer *p, const char *key, const char *text)
{
    if (text == NULL || text[0] == '\0')
        return;
    qdq_buf_printf(p->out, ", %s: ", key);
    qdq_print_string(p->out, text, strlen(text));
}

static void print_header(printer *p, const qdq_model *m)
{
    qdq_buf_printf(p->out, "<ir_version: %" PRId64 ", ", m->ir_version);
    print_opsets(p, m->opsets.at, m->opsets.n);
    print_text_field(p, "producer_name", m->producer_name);
    print_text_field(p, "producer_version", m->producer_version);
    for (size_t i = 0; i < m->props.n; i++) {
        qdq_buf_puts(p->out, i == 0 ? ", metadata_props: [" : ", ");
        qdq_print_string(p->out, m->props.at[i].key, strlen(m->props.at[i].key));
        qdq_buf_puts(p->out, " : ");
        qdq_print_string(p->out, m->props.at[i].value, strlen(m->props.at[i].value));
    }
    qdq_buf_puts(p->out, m->props.n > 0 ? "]>\n" : ">\n");
}

static void print_names(printer *p, qdq_value *const *v, size_t n)
{
    qdq_buf_putc(p->out, '(');
    for (size_t i = 0; i < n; i++) {
        qdq_buf_puts(p->out, i > 0 ? ", " : "");
        print_value(p, v[i]);
    }
    qdq_buf_putc(p->out, ')');
}

static qdq_status print_function(printer *p, const qdq_function *f)
{
    const char *before = " <";

    qdq_buf_puts(p->out, "\n<domain: ");
    qdq_print_string(p->out, f->domain, strlen(f->domain));
    qdq_buf_puts(p->out, ", ");
    print_opsets(p, f->opsets.at, f->opsets.n);
    print_text_field(p, "overload", f->overload);
    qdq_buf_puts(p->out, ">\n");
    qdq_print_name(p->out, f->name);
    for (size_t i = 0; i < f->attrs.n; i++) {
        qdq_buf_puts(p->out, before);
        qdq_print_name(p->out, f->attrs.at[i]);
        before = ", ";
    }
    for (size_t i = 0; i < f->attr_protos.n; i++) {
        qdq_buf_puts(p->out, before);
        QDQ_TRY(print_attr(p, f->attr_protos.at[i], 0));
        before = ", ";
    }
    qdq_buf_puts(p->out, f->attrs.n + f->attr_protos.n > 0 ? "> " : " ");
    print_names(p, f->body->inputs.at, f->body->inputs.n);
    qdq_buf_puts(p->out, " => ");
    print_names(p, f->body->outputs.at, f->body->outputs.n);
    QDQ_TRY(print_body(p, f->body, 0));
    qdq_buf_putc(p->out, '\n');
    return QDQ_OK;
}

static qdq_status print_model(printer *p, const qdq_model *m)
{
    print_header(p, m);
    QDQ_TRY(print_graph(p, m->graph, 0));
    qdq_buf_putc(p->out, '\n');
    for (size_t i = 0; i < m->functions.n; i++)
        QDQ_TRY(print_function(p, m->functions.at[i]));
    return p->out->failed ? qdq_nomem(p->err) : QDQ_OK;
}

qdq_status qdq_text_print(const qdq_model *m, const qdq_text_opts *opts, qdq_buf *out,
                          qdq_error *err)
{
    int64_t max =
        opts == NULL || opts->max_elements == 0 ? DEFAULT_MAX_ELEMENTS : opts->max_elements;
    printer p = {{out, QDQ_ARENA_INIT, max < 0 ? INT64_MAX : max},
                 out,
                 err,
                 opts != NULL && opts->with_types};
    qdq_status st = print_model(&p, m);

    qdq_arena_free(&p.lit.scratch);
    return st;
}

qdq_status qdq_model_to_text(const qdq_model *m, char **text, qdq_error *err)
{
    qdq_text_opts all = {-1, false};
    qdq_buf out = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
    qdq_status st = qdq_text_print(m, &all, &out, err);

    *text = NULL;
    if (st == QDQ_OK && (*text = qdq_buf_take(&out)) == NULL)
        st = qdq_nomem(err);
    qdq_buf_free(&out);
    return st;
}
