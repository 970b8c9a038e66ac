/* query.c - questions about a graph. Changes nothing. */
#include "ir/ir.h"
#include "ir/name.h"

#include <string.h>

bool qdq_type_is_of(const qdq_type *type, const qdq_tensor *t)
{
    if (type == NULL || type->kind != QDQ_TYPE_TENSOR || type->elem != t->elem ||
        type->rank != t->rank)
        return false;
    for (int i = 0; i < t->rank; i++)
        if (type->dim[i].value != t->dim[i])
            return false;
    return true;
}

qdq_value *qdq_graph_find(const qdq_graph *g, const char *name)
{
    return qdq_map_get_ptr(&g->by_name, name);
}

qdq_value *qdq_graph_resolve(const qdq_graph *g, const char *name)
{
    return qdq_graph_resolve_n(g, name, strlen(name));
}

qdq_value *qdq_graph_resolve_n(const qdq_graph *g, const char *name, size_t size)
{
    for (;; g = g->owner->graph) {
        const qdq_map_value *place = qdq_map_get_n(&g->by_name, name, size);

        if (place != NULL || g->owner == NULL)
            return place != NULL ? place->ptr : NULL;
    }
}

const char *qdq_plain_domain(const char *domain)
{
    return strcmp(domain, "ai.onnx") == 0 ? "" : domain;
}

static bool is_default_domain(const char *domain)
{
    return qdq_plain_domain(domain)[0] == '\0';
}

static int64_t version_of(const qdq_opset *opset, size_t n, const char *domain)
{
    bool is_default = is_default_domain(domain);

    for (size_t i = 0; i < n; i++) {
        const char *other = opset[i].domain;

        if (is_default ? is_default_domain(other) : strcmp(domain, other) == 0)
            return opset[i].version;
    }
    return 0;
}

int64_t qdq_model_opset_of(const qdq_model *m, const char *domain)
{
    return version_of(m->opsets.at, m->opsets.n, domain);
}

const qdq_function *qdq_graph_function(const qdq_graph *g)
{
    while (g->owner != NULL)
        g = g->owner->graph;
    return g->function;
}

int64_t qdq_graph_opset(const qdq_graph *g)
{
    const qdq_function *f = qdq_graph_function(g);
    int64_t version = f != NULL ? version_of(f->opsets.at, f->opsets.n, "") : 0;

    return version != 0 ? version : qdq_model_opset_of(g->model, "");
}

const qdq_tensor *qdq_value_const(const qdq_value *v)
{
    const qdq_attr *a;

    if (v == NULL)
        return NULL;
    if (v->init != NULL)
        return v->is_input && v->graph->model->ir_version >= 4 ? NULL : v->init;
    if (v->producer == NULL || v->producer->op != QDQ_OP_CONSTANT)
        return NULL;
    a = qdq_node_attr(v->producer, "value");
    return a != NULL && a->type == QDQ_ATTR_TENSOR && a->ref == NULL ? a->v.t : NULL;
}

bool qdq_model_has_bodies(const qdq_model *m)
{
    QDQ_FOR_GRAPHS (g, m)
        if (g->owner != NULL && !qdq_graph_in_function(g))
            return true;
    return false;
}

bool qdq_op_is_in(qdq_op op, const qdq_op *list)
{
    for (; *list != QDQ_OP_UNKNOWN; list++)
        if (*list == op)
            return true;
    return false;
}

bool qdq_op_is_linear(qdq_op op)
{
    return QDQ_OP_IS_IN(op, QDQ_OP_CONV, QDQ_OP_CONVTRANSPOSE, QDQ_OP_GEMM, QDQ_OP_MATMUL);
}

bool qdq_nodes_have(qdq_node *const *nodes, size_t n, const qdq_node *node)
{
    for (size_t i = 0; i < n; i++)
        if (nodes[i] == node)
            return true;
    return false;
}

bool qdq_nodes_alone_read(qdq_node *const *nodes, size_t n, const qdq_value *v)
{
    if (v->n_output > 0)
        return false;
    QDQ_FOR_USES (u, v)
        if (!qdq_nodes_have(nodes, n, u->node))
            return false;
    return true;
}

bool qdq_node_is_read(const qdq_node *n)
{
    for (uint32_t i = 0; i < n->n_out; i++)
        if (n->out[i] != NULL && (n->out[i]->n_use > 0 || n->out[i]->n_output > 0))
            return true;
    return false;
}

qdq_node *qdq_value_only_user(const qdq_value *v)
{
    if (v->n_use != 1 || v->n_output != 0 || v->first->node->graph != v->graph)
        return NULL;
    return v->first->node;
}

bool qdq_value_static_shape(const qdq_value *v, int *rank, int64_t *dim, int max_rank)
{
    const qdq_type *t = v->type;

    if (t == NULL || t->kind != QDQ_TYPE_TENSOR || t->rank < 0 || t->rank > max_rank)
        return false;
    for (int i = 0; i < t->rank; i++) {
        if (t->dim[i].value < 0)
            return false;
        dim[i] = t->dim[i].value;
    }
    *rank = t->rank;
    return true;
}

const qdq_attr *qdq_node_attr(const qdq_node *n, const char *name)
{
    for (uint32_t i = 0; i < n->n_attr; i++)
        if (strcmp(n->attr[i]->name, name) == 0)
            return n->attr[i];
    return NULL;
}

/* An attribute of the type asked for that has a value: not one that refers to a function's
 * attribute. */
static const qdq_attr *typed_attr(const qdq_node *n, const char *name, qdq_attr_type type)
{
    const qdq_attr *a = qdq_node_attr(n, name);

    return a != NULL && a->type == type && a->ref == NULL ? a : NULL;
}

int64_t qdq_node_int(const qdq_node *n, const char *name, int64_t fallback)
{
    const qdq_attr *a = typed_attr(n, name, QDQ_ATTR_INT);

    return a == NULL ? fallback : a->v.i;
}

float qdq_node_float(const qdq_node *n, const char *name, float fallback)
{
    const qdq_attr *a = typed_attr(n, name, QDQ_ATTR_FLOAT);

    return a == NULL ? fallback : a->v.f;
}

bool qdq_attr_string_is(const qdq_attr *a, const char *text, const char *fallback)
{
    return a != NULL ? qdq_span_is(a->v.s, text) : fallback != NULL && strcmp(fallback, text) == 0;
}

bool qdq_node_string_is(const qdq_node *n, const char *name, const char *text, const char *fallback)
{
    return qdq_attr_string_is(typed_attr(n, name, QDQ_ATTR_STRING), text, fallback);
}

bool qdq_node_ints(const qdq_node *n, const char *name, const int64_t **ints, size_t *count)
{
    const qdq_attr *a = typed_attr(n, name, QDQ_ATTR_INTS);

    *ints = a == NULL ? NULL : a->v.ints;
    *count = a == NULL ? 0 : a->count;
    return a != NULL;
}

qdq_graph *const *qdq_attr_graphs(const qdq_attr *a, size_t *n)
{
    bool is_one = a->ref == NULL && a->type == QDQ_ATTR_GRAPH && a->v.g != NULL;
    bool is_list = a->ref == NULL && a->type == QDQ_ATTR_GRAPHS;

    *n = is_one ? 1 : is_list ? a->count : 0;
    return is_one ? &a->v.g : is_list ? a->v.graphs : NULL;
}

bool qdq_node_push_graphs(const qdq_node *n, qdq_arena *memory, qdq_graph_list *list)
{
    for (uint32_t i = 0; i < n->n_attr; i++) {
        size_t count;
        qdq_graph *const *graph = qdq_attr_graphs(n->attr[i], &count);

        for (size_t k = 0; k < count; k++)
            if (!QDQ_PUSH(memory, list, graph[k]))
                return false;
    }
    return true;
}

bool qdq_node_has_own_name(const qdq_node *n)
{
    return n->name[0] != '\0' && qdq_name_of(n->name)->n_node <= 1;
}

static const char no_memory[] = "?";

bool qdq_node_label_failed(const char *label)
{
    return label == no_memory;
}

const char *qdq_node_label(const qdq_node *n, qdq_arena *scratch)
{
    const char *text;

    if (qdq_node_has_own_name(n))
        return n->name;
    for (uint32_t i = 0; i < n->n_out; i++)
        if (n->out[i] != NULL) {
            text = qdq_arena_printf(scratch, "%s@%s", n->type, n->out[i]->name);
            return text == NULL ? no_memory : text;
        }
    text = qdq_arena_printf(scratch, "%s@#%u", n->type, (unsigned)n->id);
    return text == NULL ? no_memory : text;
}

bool qdq_graph_map_labels(const qdq_graph *g, qdq_arena *scratch, qdq_map *nodes)
{
    QDQ_FOR_NODES (n, g) {
        const char *label = qdq_node_label(n, scratch);
        bool is_new;
        qdq_map_value *v = label != no_memory ? qdq_map_put(nodes, label, &is_new) : NULL;

        if (v == NULL)
            return false;
        if (is_new)
            v->ptr = n;
    }
    return true;
}
