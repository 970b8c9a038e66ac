/* clone.c - a deep copy of a model, or of one of its graphs, that shares its weights: as a model,
 * or beside what another model has.
 *
 * Dead things are left behind and ids are dealt out again without gaps; the order of nodes, values,
 * inputs and uses is that of the original, so that whatever walks the copy sees what it would see
 * in the original. */
#include "base/fail.h"
#include "ir/edit.h"
#include "ir/name.h"
#include "ir/use.h"

#include <inttypes.h>
#include <string.h>

typedef struct cloner {
    const qdq_model *from;
    /* becomes the main graph; what is outside of it is left behind */
    const qdq_graph *root;
    /* of names of values, nodes and symbols beside others; NULL: they stay */
    const char *prefix;
    qdq_model *to;
    qdq_arena scratch;
    /* by index in from: the copy, NULL for those that are not copied */
    qdq_graph **graph;
    /* by graph index and value id */
    qdq_value ***value;
    /* by graph index and node id */
    qdq_node ***node;
} cloner;

static void *alloc(cloner *c, size_t n, size_t size)
{
    return qdq_arena_array(&c->to->arena, n == 0 ? 1 : n, size);
}

/* Blobs inside attributes can be as large as weights: what lies in a mapping is shared like
 * them. */
static bool share_large(cloner *c, qdq_span span, bool *is_shared)
{
    enum { LARGE = 4096 };

    *is_shared = false;
    if (span.size < LARGE)
        return true;
    for (size_t i = 0; i < c->from->mappings.n; i++) {
        qdq_mapping *map = c->from->mappings.at[i];
        uintptr_t start = (uintptr_t)qdq_mapping_data(map), at = (uintptr_t)span.data;

        if (at < start || at - start > qdq_mapping_size(map) ||
            span.size > qdq_mapping_size(map) - (at - start))
            continue;
        *is_shared = true;
        return qdq_model_hold(c->to, qdq_mapping_ref(map));
    }
    return true;
}

static bool copy_span(cloner *c, qdq_span from, qdq_span *to)
{
    unsigned char *bytes;
    bool is_shared;

    *to = from.size == 0 ? (qdq_span){NULL, 0} : from;
    if (from.size == 0)
        return true;
    if (!share_large(c, from, &is_shared))
        return false;
    if (is_shared)
        return true;
    bytes = qdq_arena_copy(&c->to->arena, from.data, from.size, 1);
    if (bytes == NULL)
        return false;
    *to = (qdq_span){bytes, from.size};
    return true;
}

static bool copy_text(cloner *c, const char *from, const char **to)
{
    if (from == NULL) {
        *to = NULL;
        return true;
    }
    *to = qdq_intern(c->to, from);
    return *to != NULL;
}

/* Interned text: the size is known without counting. */
static bool copy_name(cloner *c, const char *from, const char **to)
{
    *to = qdq_intern_n(c->to, from, qdq_name_of(from)->size);
    return *to != NULL;
}

/* Of a value, a node or a symbol; "" stays. */
static const char *prefixed(cloner *c, const char *from)
{
    const char *text = c->prefix != NULL && from[0] != '\0'
                           ? qdq_arena_printf(&c->scratch, "%s%s", c->prefix, from)
                           : from;

    return text != NULL ? qdq_intern(c->to, text) : NULL;
}

static bool copy_symbol(cloner *c, const char *from, const char **to)
{
    *to = from != NULL ? prefixed(c, from) : NULL;
    return from == NULL || *to != NULL;
}

static bool copy_list(cloner *c, const void *from, size_t n, size_t size, void *to)
{
    void *list = qdq_arena_copy(&c->to->arena, from, n, size);

    if (list == NULL)
        return false;
    memcpy(to, &list, sizeof list);
    return true;
}

static bool copy_dims(cloner *c, int rank, const int64_t *from, const int64_t **to)
{
    *to = NULL;
    return rank <= 0 || copy_list(c, from, (size_t)rank, sizeof *from, to);
}

/* The chain of inner types is copied as a loop: no recursion to bound. */
static bool copy_type(cloner *c, const qdq_type *from, const qdq_type **to)
{
    *to = NULL;
    for (; from != NULL; from = from->inner) {
        qdq_type *t = alloc(c, 1, sizeof *t);
        qdq_dim *dim = NULL;

        if (t == NULL)
            return false;
        *t = *from;
        t->inner = NULL;
        if (from->rank > 0) {
            dim = alloc(c, (size_t)from->rank, sizeof *dim);
            if (dim == NULL)
                return false;
            for (int i = 0; i < from->rank; i++) {
                dim[i].value = from->dim[i].value;
                if (!copy_symbol(c, from->dim[i].param, &dim[i].param))
                    return false;
            }
        }
        t->dim = dim;
        if (!copy_span(c, from->unknown_fields, &t->unknown_fields))
            return false;
        *to = t;
        to = &t->inner;
    }
    return true;
}

static bool copy_tensor(cloner *c, const qdq_tensor *from, const qdq_tensor **to)
{
    *to = from == NULL ? NULL : qdq_tensor_share(c->to, from);
    return from == NULL || *to != NULL;
}

static bool copy_sparse(cloner *c, const qdq_sparse *from, const qdq_sparse **to)
{
    *to = NULL;
    if (from == NULL)
        return true;
    qdq_sparse *s = alloc(c, 1, sizeof *s);
    if (s == NULL)
        return false;
    s->rank = from->rank;
    *to = s;
    return copy_tensor(c, from->values, &s->values) && copy_tensor(c, from->indices, &s->indices) &&
           copy_dims(c, from->rank, from->dim, &s->dim) && copy_span(c, from->wire, &s->wire);
}

/* --- attributes ------------------------------------------------------------------------------- */

static bool copy_graph_ref(cloner *c, const qdq_graph *from, qdq_graph **to)
{
    *to = from != NULL ? c->graph[from->index] : NULL;
    return true;
}

static bool copy_item(cloner *c, const qdq_attr_type_info *info, const void *from, void *to)
{
    switch ((int)info->item) {
    case QDQ_ATTR_STRING:
        return copy_span(c, *(const qdq_span *)from, to);
    case QDQ_ATTR_TENSOR:
        return copy_tensor(c, *(const qdq_tensor *const *)from, to);
    case QDQ_ATTR_GRAPH:
        return copy_graph_ref(c, *(qdq_graph *const *)from, to);
    case QDQ_ATTR_SPARSE:
        return copy_sparse(c, *(const qdq_sparse *const *)from, to);
    case QDQ_ATTR_TYPE:
        return copy_type(c, *(const qdq_type *const *)from, to);
    }
    memcpy(to, from, info->size);
    return true;
}

static bool copy_attr_value(cloner *c, const qdq_attr *from, qdq_attr *to)
{
    const qdq_attr_type_info *info = qdq_attr_type_get_info(from->type);
    char *list;

    if (!qdq_attr_is_list(from))
        return copy_item(c, info, &from->v, &to->v);
    list = alloc(c, from->count, info->size);
    for (size_t i = 0; list != NULL && i < from->count; i++)
        if (!copy_item(c, info, qdq_attr_item(from, i), list + i * info->size))
            return false;
    memcpy(&to->v, &list, sizeof list);
    return list != NULL;
}

static qdq_attr *copy_attr(cloner *c, const qdq_attr *from)
{
    qdq_attr *to = alloc(c, 1, sizeof *to);

    if (to == NULL)
        return NULL;
    *to = *from;
    if (from->ref == NULL && !copy_attr_value(c, from, to))
        return NULL;
    return copy_text(c, from->name, &to->name) && copy_text(c, from->ref, &to->ref) &&
                   copy_span(c, from->unknown_fields, &to->unknown_fields)
               ? to
               : NULL;
}

/* --- graphs ----------------------------------------------------------------------------------- */

static bool copy_value(cloner *c, const qdq_value *from)
{
    qdq_graph *g = c->graph[from->graph->index];
    const char *name = prefixed(c, from->name);
    const qdq_tensor *init = NULL;
    const qdq_type *type;
    qdq_value *v;

    if (name == NULL || !copy_type(c, from->type, &type))
        return false;
    v = qdq_graph_add_value(g, name, type);
    if (v == NULL || !copy_span(c, from->unknown_fields, &v->unknown_fields))
        return false;
    v->is_input = from->is_input;
    v->has_info = from->has_info;
    v->n_output = from->n_output;
    if (!copy_tensor(c, from->init, &init))
        return false;
    v->init = (qdq_tensor *)(uintptr_t)init;
    if (v->init != NULL)
        v->init->name = v->name;
    if (from->sparse != NULL) {
        const qdq_sparse *sparse;

        if (!copy_sparse(c, from->sparse, &sparse))
            return false;
        v->sparse = (qdq_sparse *)(uintptr_t)sparse;
    }
    c->value[from->graph->index][from->id] = v;
    return true;
}

static bool copy_values(cloner *c, const qdq_graph *from)
{
    qdq_graph *g = c->graph[from->index];
    qdq_arena *arena = &c->to->arena;

    c->value[from->index] = qdq_arena_array(&c->scratch, from->values.n + 1, sizeof(qdq_value *));
    if (c->value[from->index] == NULL)
        return false;
    for (size_t i = 0; i < from->values.n; i++)
        if (!from->values.at[i]->dead && !copy_value(c, from->values.at[i]))
            return false;
    for (size_t i = 0; i < from->inputs.n; i++)
        if (!QDQ_PUSH(arena, &g->inputs, c->value[from->index][from->inputs.at[i]->id]))
            return false;
    for (size_t i = 0; i < from->outputs.n; i++)
        if (!QDQ_PUSH(arena, &g->outputs, c->value[from->index][from->outputs.at[i]->id]))
            return false;
    for (size_t i = 0; i < from->inits.n; i++)
        if (!from->inits.at[i]->dead &&
            !QDQ_PUSH(arena, &g->inits, c->value[from->index][from->inits.at[i]->id]))
            return false;
    return true;
}

static bool copy_node(cloner *c, const qdq_node *from)
{
    uint32_t index = from->graph->index;
    const char *name = prefixed(c, from->name);
    qdq_node *n = name == NULL ? NULL
                               : qdq_graph_add_node(c->graph[index], NULL, from->domain, from->type,
                                                    name, from->n_in, from->n_out, NULL);

    if (n == NULL || !copy_text(c, from->overload, &n->overload) ||
        !copy_span(c, from->unknown_fields, &n->unknown_fields))
        return false;
    c->node[index][from->id] = n;
    for (uint32_t i = 0; i < from->n_out; i++) {
        qdq_value *v = from->out[i] == NULL ? NULL : c->value[index][from->out[i]->id];

        n->out[i] = v;
        if (v != NULL) {
            v->producer = n;
            v->out_index = i;
        }
    }
    for (uint32_t i = 0; i < from->n_attr; i++) {
        qdq_attr *a = copy_attr(c, from->attr[i]);

        if (a == NULL || !qdq_node_append_attr(n, a))
            return false;
    }
    return true;
}

static bool copy_nodes(cloner *c, const qdq_graph *from)
{
    c->node[from->index] =
        qdq_arena_array(&c->scratch, (size_t)from->next_node_id + 1, sizeof(qdq_node *));
    if (c->node[from->index] == NULL)
        return false;
    QDQ_FOR_NODES (n, from) {
        if (!copy_node(c, n))
            return false;
    }
    return true;
}

/* Use lists are walked, not node inputs: so they keep the order in which the uses were made. */
static void copy_uses(cloner *c, const qdq_graph *from)
{
    for (size_t i = 0; i < from->values.n; i++) {
        const qdq_value *v = from->values.at[i];

        if (v->dead)
            continue;
        for (const qdq_use *u = v->first; u != NULL; u = u->next) {
            /* inner graphs are copied, too */
            qdq_node *n = c->node[u->node->graph->index][u->node->id];

            qdq_use_link(&n->in[u->index], c->value[from->index][v->id]);
        }
    }
}

/* A value of a graph around the root becomes a constant or an input of the copy. */
static qdq_value *copy_capture(cloner *c, const qdq_value *from)
{
    qdq_value *v = qdq_graph_find(c->to->graph, from->name);
    const qdq_tensor *constant = qdq_value_const(from), *data = NULL;
    const qdq_type *type;

    if (v != NULL)
        return v;
    if (constant != NULL)
        return copy_tensor(c, constant, &data)
                   ? qdq_graph_add_init(c->to->graph, from->name, (qdq_tensor *)(uintptr_t)data)
                   : NULL;
    return copy_type(c, from->type, &type) ? qdq_graph_add_input(c->to->graph, from->name, type)
                                           : NULL;
}

static bool copy_captures(cloner *c, const qdq_graph *from)
{
    QDQ_FOR_NODES (n, from)
        for (uint32_t i = 0; i < n->n_in; i++) {
            const qdq_value *v = n->in[i].value;

            if (v == NULL || c->graph[v->graph->index] != NULL)
                continue;
            qdq_value *copy = copy_capture(c, v);
            if (copy == NULL)
                return false;
            qdq_use_link(&c->node[from->index][n->id]->in[i], copy);
        }
    return true;
}

/* --- the model -------------------------------------------------------------------------------- */

static bool copy_opset(cloner *c, const qdq_opset *from, qdq_opset *to)
{
    to->version = from->version;
    return copy_name(c, from->domain, &to->domain) &&
           copy_span(c, from->unknown_fields, &to->unknown_fields);
}

static bool copy_header(cloner *c)
{
    const qdq_model *from = c->from;
    qdq_model *to = c->to;

    to->ir_version = from->ir_version;
    to->had_external = from->had_external;
    if (!copy_text(c, from->producer_name, &to->producer_name) ||
        !copy_text(c, from->producer_version, &to->producer_version) ||
        !copy_text(c, from->path, &to->path) ||
        !copy_span(c, from->unknown_fields, &to->unknown_fields))
        return false;
    for (size_t i = 0; i < from->opsets.n; i++) {
        qdq_opset set;

        if (!copy_opset(c, &from->opsets.at[i], &set) || !QDQ_PUSH(&to->arena, &to->opsets, set))
            return false;
    }
    for (size_t i = 0; i < from->props.n; i++) {
        qdq_prop prop;

        if (!copy_text(c, from->props.at[i].key, &prop.key) ||
            !copy_text(c, from->props.at[i].value, &prop.value) ||
            !QDQ_PUSH(&to->arena, &to->props, prop))
            return false;
    }
    return true;
}

static bool copy_function(cloner *c, const qdq_function *from)
{
    qdq_function *f = alloc(c, 1, sizeof *f);
    qdq_arena *arena = &c->to->arena;

    if (f == NULL || !copy_text(c, from->name, &f->name) ||
        !copy_text(c, from->domain, &f->domain) || !copy_text(c, from->overload, &f->overload) ||
        !copy_span(c, from->unknown_fields, &f->unknown_fields))
        return false;
    f->body = c->graph[from->body->index];
    f->body->function = f;
    for (size_t i = 0; i < from->attrs.n; i++) {
        const char *name;

        if (!copy_text(c, from->attrs.at[i], &name) || !QDQ_PUSH(arena, &f->attrs, name))
            return false;
    }
    for (size_t i = 0; i < from->attr_protos.n; i++) {
        qdq_attr *a = copy_attr(c, from->attr_protos.at[i]);

        if (a == NULL || !QDQ_PUSH(arena, &f->attr_protos, a))
            return false;
    }
    for (size_t i = 0; i < from->opsets.n; i++) {
        qdq_opset set;

        if (!copy_opset(c, &from->opsets.at[i], &set) || !QDQ_PUSH(arena, &f->opsets, set))
            return false;
    }
    return QDQ_PUSH(arena, &c->to->functions, f);
}

static bool has_function(const qdq_model *m, const qdq_function *f)
{
    for (size_t i = 0; i < m->functions.n; i++) {
        const qdq_function *at = m->functions.at[i];
        if (strcmp(at->name, f->name) == 0 && strcmp(at->domain, f->domain) == 0 &&
            strcmp(at->overload, f->overload) == 0)
            return true;
    }
    return false;
}

/* Inside the root, or in a function if the root is the main graph; not a function that is there
 * already. */
static bool is_copied(const cloner *c, const qdq_graph *g)
{
    if (c->root == c->from->graph) {
        const qdq_function *f = qdq_graph_function(g);
        return f == NULL || !has_function(c->to, f);
    }
    while (g != c->root && g->owner != NULL)
        g = g->owner->graph;
    return g == c->root;
}

/* The main graph exists already; owners follow when the nodes do. */
static bool copy_shells(cloner *c)
{
    size_t n = c->from->graphs.n;

    c->graph = qdq_arena_array(&c->scratch, n, sizeof(qdq_graph *));
    c->value = qdq_arena_array(&c->scratch, n, sizeof(qdq_value **));
    c->node = qdq_arena_array(&c->scratch, n, sizeof(qdq_node **));
    if (c->graph == NULL || c->value == NULL || c->node == NULL)
        return false;
    QDQ_FOR_GRAPHS (g, c->from) {
        if (!is_copied(c, g))
            continue;
        qdq_graph *copy = g == c->root ? c->to->graph : qdq_graph_new(c->to, NULL, g->name);
        const bool is_beside = g == c->root && c->prefix != NULL;

        if (copy == NULL ||
            (!is_beside && (!copy_name(c, g->name, &copy->name) ||
                            !copy_span(c, g->unknown_fields, &copy->unknown_fields))))
            return false;
        c->graph[g->index] = copy;
    }
    return true;
}

static bool copy_graphs(cloner *c)
{
    if (!copy_shells(c))
        return false;
    QDQ_FOR_GRAPHS (g, c->from) {
        if (c->graph[g->index] != NULL && (!copy_values(c, g) || !copy_nodes(c, g)))
            return false;
    }
    QDQ_FOR_GRAPHS (g, c->from) {
        if (c->graph[g->index] == NULL)
            continue;
        if (g->owner != NULL && g != c->root)
            c->graph[g->index]->owner = c->node[g->owner->graph->index][g->owner->id];
        copy_uses(c, g);
        if (c->root != c->from->graph && !copy_captures(c, g))
            return false;
    }
    for (size_t i = 0; i < c->from->functions.n && c->root == c->from->graph; i++)
        if (c->graph[c->from->functions.at[i]->body->index] != NULL &&
            !copy_function(c, c->from->functions.at[i]))
            return false;
    return true;
}

static qdq_status clone(const qdq_model *m, const qdq_graph *root, qdq_model **out, qdq_error *err)
{
    cloner c = {.from = m, .root = root, .to = qdq_model_new()};
    bool done;

    *out = NULL;
    QDQ_NEED(c.to != NULL, err);
    done = copy_header(&c) && copy_graphs(&c);
    qdq_arena_free(&c.scratch);
    if (!done) {
        qdq_model_free(c.to);
        return qdq_nomem(err);
    }
    QDQ_FOR_GRAPHS (g, c.to)
        g->edits = 0;
    *out = c.to;
    return QDQ_OK;
}

qdq_status qdq_model_clone(const qdq_model *m, qdq_model **out, qdq_error *err)
{
    return clone(m, m->graph, out, err);
}

qdq_status qdq_graph_to_model(const qdq_graph *g, qdq_model **out, qdq_error *err)
{
    return clone(g->model, g, out, err);
}

/* --- beside others ---------------------------------------------------------------------------- */

static qdq_status join_opsets(cloner *c, qdq_error *err)
{
    for (size_t i = 0; i < c->from->opsets.n; i++) {
        const qdq_opset *from = &c->from->opsets.at[i];
        const int64_t have = qdq_model_opset_of(c->to, from->domain);
        qdq_opset set;

        if (have != 0 && have != from->version)
            return qdq_fail(err, QDQ_E_UNSUPPORTED,
                            "models of opset %" PRId64 " and %" PRId64
                            " of domain '%s' cannot be joined",
                            have, from->version, from->domain);
        if (have == 0 &&
            (!copy_opset(c, from, &set) || !QDQ_PUSH(&c->to->arena, &c->to->opsets, set)))
            return qdq_nomem(err);
    }
    if (c->to->ir_version < c->from->ir_version)
        c->to->ir_version = c->from->ir_version;
    return QDQ_OK;
}

qdq_status qdq_model_join(qdq_model *to, const qdq_model *from, const char *prefix, qdq_error *err)
{
    cloner c = {.from = from, .root = from->graph, .to = to, .prefix = prefix};

    qdq_status st = join_opsets(&c, err);
    if (st == QDQ_OK && !copy_graphs(&c))
        st = qdq_nomem(err);
    qdq_arena_free(&c.scratch);
    return st;
}
