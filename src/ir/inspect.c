/* inspect.c - what a model holds, as text, JSON, or a drawing for Graphviz. Reads no tensor
 * data. */
#include "base/buf.h"
#include "base/fail.h"
#include "base/json_write.h"
#include "ir/inspect_dot.h"
#include "ir/text_literal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- counting --------------------------------------------------------------------------------- */

typedef struct op_count {
    /* "Conv", "com.microsoft::Gelu" */
    const char *name;
    uint64_t n;
} op_count;

typedef struct census {
    uint64_t n_graph, n_node, n_init, weight_bytes, constant_bytes, n_quantize, n_dequantize;
    /* name -> number */
    qdq_map ops;
    op_count *sorted;
} census;

typedef struct inspector {
    const qdq_model *m;
    qdq_arena scratch;
    census main, sub, functions;
} inspector;

static uint64_t tensor_bytes(const qdq_tensor *t)
{
    uint64_t sum = 0;
    size_t size;

    if (t->storage == QDQ_STORE_STRINGS) {
        for (int64_t i = 0; i < t->count; i++)
            sum += t->strings[i].size;
        return sum;
    }
    return qdq_elem_bytes(t->elem, t->count, &size) ? size : 0;
}

static bool count_op(inspector *x, census *c, const qdq_node *n)
{
    bool is_default = n->domain[0] == '\0' || strcmp(n->domain, "ai.onnx") == 0;
    const char *name = n->type;
    qdq_map_value *place;

    if (!is_default) {
        name = qdq_arena_printf(&x->scratch, "%s::%s", n->domain, n->type);
        if (name == NULL)
            return false;
    }
    place = qdq_map_put(&c->ops, name, NULL);
    if (place == NULL)
        return false;
    place->num++;
    c->n_quantize += n->op == QDQ_OP_QUANTIZELINEAR;
    c->n_dequantize += n->op == QDQ_OP_DEQUANTIZELINEAR;
    return true;
}

/* Of a graph: in initializers, and in Constant nodes. */
static void add_weights(const qdq_graph *g, uint64_t *initializers, uint64_t *constants)
{
    QDQ_FOR_INITS(v, g)
    {
        *initializers += v->init != NULL
                             ? tensor_bytes(v->init)
                             : tensor_bytes(v->sparse->values) + tensor_bytes(v->sparse->indices);
    }
    QDQ_FOR_NODES (n, g) {
        const qdq_tensor *constant =
            n->op == QDQ_OP_CONSTANT && n->n_out > 0 ? qdq_value_const(n->out[0]) : NULL;

        if (constant != NULL)
            *constants += tensor_bytes(constant);
    }
}

uint64_t qdq_model_weight_bytes(const qdq_model *m)
{
    uint64_t bytes = 0;

    QDQ_FOR_GRAPHS (g, m)
        if (qdq_graph_function(g) == NULL)
            add_weights(g, &bytes, &bytes);
    return bytes;
}

static bool count_graph(inspector *x, census *c, const qdq_graph *g)
{
    c->n_graph++;
    c->n_node += g->n_node;
    QDQ_FOR_INITS(v, g)
    {
        c->n_init++;
    }
    add_weights(g, &c->weight_bytes, &c->constant_bytes);
    QDQ_FOR_NODES (n, g)
        if (!count_op(x, c, n))
            return false;
    return true;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const op_count *)a)->name, ((const op_count *)b)->name);
}

static bool sort_ops(inspector *x, census *c)
{
    size_t n = 0;

    c->sorted = qdq_arena_array(&x->scratch, c->ops.n_live + 1, sizeof *c->sorted);
    if (c->sorted == NULL)
        return false;
    for (size_t i = 0; i < c->ops.n_entry; i++)
        if (c->ops.entry[i].live)
            c->sorted[n++] = (op_count){c->ops.entry[i].key, c->ops.entry[i].value.num};
    qsort(c->sorted, n, sizeof *c->sorted, by_name);
    return true;
}

static bool take_census(inspector *x)
{
    QDQ_FOR_GRAPHS (g, x->m) {
        census *c = qdq_graph_function(g) != NULL ? &x->functions
                    : g == x->m->graph            ? &x->main
                                                  : &x->sub;

        if (!count_graph(x, c, g))
            return false;
    }
    return sort_ops(x, &x->main) && sort_ops(x, &x->sub) && sort_ops(x, &x->functions);
}

/* --- JSON ------------------------------------------------------------------------------------- */

/* A name in a file may be no UTF-8, as a key cannot. */
static void put_count(qdq_json_out o, const char *name, int64_t n)
{
    json_t *key = qdq_json_new_text(name);

    if (key != NULL)
        qdq_json_put_int(o, json_string_value(key), n);
    else
        o.doc->failed = true;
    json_decref(key);
}

static void put_shape(qdq_json_out o, const qdq_type *t)
{
    if (t == NULL || (t->kind != QDQ_TYPE_TENSOR && t->kind != QDQ_TYPE_SPARSE) || t->rank < 0) {
        qdq_json_put_null(o, "shape");
        return;
    }
    qdq_json_out shape = qdq_json_put_list(o, "shape");
    for (int i = 0; i < t->rank; i++) {
        if (t->dim[i].value >= 0)
            qdq_json_put_int(shape, NULL, t->dim[i].value);
        else
            qdq_json_put_text(shape, NULL, t->dim[i].param);
    }
}

/* "float" for a tensor, "seq(float[2])" for what has no plain shape. */
static void put_type(qdq_json_out o, const qdq_type *t)
{
    qdq_buf text = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
    const char *name = NULL;

    if (t != NULL && (t->kind == QDQ_TYPE_TENSOR || t->kind == QDQ_TYPE_SPARSE))
        name = qdq_elem_name(t->elem);
    else if (t != NULL && qdq_print_type(&text, t))
        name = text.data;
    qdq_json_put_text(o, "type", name != NULL ? name : "undefined");
    o.doc->failed = o.doc->failed || text.failed;
    qdq_buf_free(&text);
}

static void put_values(qdq_json_out list, qdq_value *const *v, size_t n, bool are_inputs)
{
    for (size_t i = 0; i < n; i++) {
        if (are_inputs && (v[i]->init != NULL || v[i]->sparse != NULL))
            continue;
        qdq_json_out one = qdq_json_put_object(list, NULL);
        qdq_json_put_text(one, "name", v[i]->name);
        put_type(one, v[i]->type);
        put_shape(one, v[i]->type);
    }
}

static void put_nodes(qdq_json_out o, const census *c)
{
    qdq_json_put_size(o, "nodes", c->n_node);
    qdq_json_out ops = qdq_json_put_object(o, "ops");
    for (size_t i = 0; i < c->ops.n_live; i++)
        put_count(ops, c->sorted[i].name, (int64_t)c->sorted[i].n);
    qdq_json_put_size(o, "initializers", c->n_init);
    qdq_json_put_size(o, "weight_bytes", c->weight_bytes + c->constant_bytes);
}

static void put_apart(qdq_json_out o, const census *c)
{
    qdq_json_put_size(o, "graphs", c->n_graph);
    put_nodes(o, c);
}

static qdq_status print_json(inspector *x, char **text, qdq_error *err)
{
    const qdq_graph *g = x->m->graph;
    qdq_json_doc doc = {0};
    qdq_json_out o = qdq_json_object(&doc);

    qdq_json_put_int(o, "ir_version", x->m->ir_version);
    qdq_json_out sets = qdq_json_put_object(o, "opsets");
    for (size_t i = 0; i < x->m->opsets.n; i++)
        put_count(sets, x->m->opsets.at[i].domain, x->m->opsets.at[i].version);
    put_nodes(o, &x->main);
    put_values(qdq_json_put_list(o, "inputs"), g->inputs.at, g->inputs.n, true);
    put_values(qdq_json_put_list(o, "outputs"), g->outputs.at, g->outputs.n, false);
    qdq_json_out qdq = qdq_json_put_object(o, "qdq");
    qdq_json_put_size(qdq, "quantize", x->main.n_quantize);
    qdq_json_put_size(qdq, "dequantize", x->main.n_dequantize);
    put_apart(qdq_json_put_object(o, "subgraphs"), &x->sub);
    put_apart(qdq_json_put_object(o, "functions"), &x->functions);
    qdq_json_put_text(o, "graph_name", g->name);
    qdq_json_put_text(o, "producer", x->m->producer_name);
    return qdq_json_finish(&doc, text, err);
}

/* --- text ------------------------------------------------------------------------------------- */

static void print_size(qdq_buf *out, uint64_t bytes)
{
    if (bytes < 10000)
        qdq_buf_printf(out, "%" PRIu64 " bytes", bytes);
    else if (bytes < 10000000)
        qdq_buf_printf(out, "%" PRIu64 ".%" PRIu64 " kB", bytes / 1000, bytes / 100 % 10);
    else
        qdq_buf_printf(out, "%" PRIu64 ".%" PRIu64 " MB", bytes / 1000000, bytes / 100000 % 10);
}

/* On one line, whatever is in it. */
static void print_name(qdq_buf *out, const char *name)
{
    for (; *name != '\0'; name++)
        qdq_buf_putc(out, (unsigned char)*name < 0x20 || *name == 0x7f ? '?' : *name);
}

static void print_values(qdq_buf *out, const char *head, qdq_value *const *v, size_t n,
                         bool are_inputs)
{
    for (size_t i = 0; i < n; i++) {
        if (are_inputs && (v[i]->init != NULL || v[i]->sparse != NULL))
            continue;
        qdq_buf_printf(out, "%-14s", head);
        print_name(out, v[i]->name);
        qdq_buf_puts(out, ": ");
        if (v[i]->type == NULL || !qdq_print_type(out, v[i]->type))
            qdq_buf_puts(out, "unknown type");
        qdq_buf_putc(out, '\n');
        head = "";
    }
}

static int by_number(const void *a, const void *b)
{
    const op_count *x = a, *y = b;

    return x->n != y->n ? (x->n < y->n) - (x->n > y->n) : strcmp(x->name, y->name);
}

static void print_ops(qdq_buf *out, const char *head, census *c)
{
    if (c->ops.n_live == 0)
        return;
    qsort(c->sorted, c->ops.n_live, sizeof *c->sorted, by_number);
    qdq_buf_printf(out, "%s\n", head);
    for (size_t i = 0; i < c->ops.n_live; i++) {
        qdq_buf_printf(out, "%9" PRIu64 "  ", c->sorted[i].n);
        print_name(out, c->sorted[i].name);
        qdq_buf_putc(out, '\n');
    }
}

static void print_text(inspector *x, qdq_buf *out)
{
    const qdq_model *m = x->m;

    qdq_buf_printf(out, "%-14s", "graph");
    print_name(out, m->graph->name);
    qdq_buf_printf(out, "\n%-14s%" PRId64 "\n%-14s", "IR version", m->ir_version, "opsets");
    for (size_t i = 0; i < m->opsets.n; i++) {
        qdq_buf_puts(out, i > 0 ? ", " : "");
        print_name(out, m->opsets.at[i].domain);
        qdq_buf_printf(out, "%s%" PRId64, m->opsets.at[i].domain[0] == '\0' ? "" : " ",
                       m->opsets.at[i].version);
    }
    if (m->producer_name != NULL && m->producer_name[0] != '\0') {
        qdq_buf_printf(out, "\n%-14s", "producer");
        print_name(out, m->producer_name);
        qdq_buf_putc(out, ' ');
        print_name(out, m->producer_version == NULL ? "" : m->producer_version);
    }
    qdq_buf_putc(out, '\n');
    print_values(out, "inputs", m->graph->inputs.at, m->graph->inputs.n, true);
    print_values(out, "outputs", m->graph->outputs.at, m->graph->outputs.n, false);
    qdq_buf_printf(out, "%-14s%" PRIu64 ", ", "initializers", x->main.n_init);
    print_size(out, x->main.weight_bytes);
    if (x->main.constant_bytes > 0) {
        qdq_buf_puts(out, ", and ");
        print_size(out, x->main.constant_bytes);
        qdq_buf_puts(out, " in Constant");
    }
    qdq_buf_printf(out, "\n%-14s%" PRIu64 " QuantizeLinear, %" PRIu64 " DequantizeLinear\n", "Q/DQ",
                   x->main.n_quantize, x->main.n_dequantize);
    qdq_buf_printf(out, "%-14s%" PRIu64 "\n", "nodes", x->main.n_node);
    if (x->sub.n_graph > 0)
        qdq_buf_printf(out, "%-14s%" PRIu64 " with %" PRIu64 " nodes\n", "subgraphs",
                       x->sub.n_graph, x->sub.n_node);
    if (m->functions.n > 0)
        qdq_buf_printf(out, "%-14s%zu with %" PRIu64 " nodes\n", "functions", m->functions.n,
                       x->functions.n_node);
    print_ops(out, "operators", &x->main);
    print_ops(out, "operators in subgraphs", &x->sub);
    print_ops(out, "operators in functions", &x->functions);
}

/* --- all three -------------------------------------------------------------------------------- */

static qdq_status take_text(qdq_buf *out, char **text, qdq_error *err)
{
    *text = qdq_buf_take(out);
    qdq_buf_free(out);
    return *text == NULL ? qdq_nomem(err) : QDQ_OK;
}

static qdq_status print_view(inspector *x, qdq_view view, char **text, qdq_error *err)
{
    qdq_buf out = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    QDQ_NEED(take_census(x), err);
    switch (view) {
    case QDQ_VIEW_JSON:
        return print_json(x, text, err);
    case QDQ_VIEW_TEXT:
        print_text(x, &out);
        return take_text(&out, text, err);
    case QDQ_VIEW_DOT:
        qdq_print_dot(x->m, &out);
        return take_text(&out, text, err);
    }
    return qdq_fail(err, QDQ_E_USAGE, "inspect: there is no view number %d", (int)view);
}

qdq_status qdq_model_inspect(const qdq_model *m, qdq_view view, char **text, qdq_error *err)
{
    inspector x;
    qdq_status st;

    memset(&x, 0, sizeof x);
    x.m = m;
    *text = NULL;
    st = print_view(&x, view, text, err);
    qdq_map_free(&x.main.ops);
    qdq_map_free(&x.sub.ops);
    qdq_map_free(&x.functions.ops);
    qdq_arena_free(&x.scratch);
    return st;
}
