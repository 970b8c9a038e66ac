/* edit_inline.c - a node gives way to a body: the branch of an If, or the body of a function that
 * it calls. The body is copied, never moved, so that ids stay what they are and a function can be
 * called again.
 *
 * What functions say of types is left behind: they differ from call to call. Why a node may be
 * replaced is the caller's business. */
#include <assert.h>

#include "ir/edit.h"
#include "ir/name.h"

/* One graph that is being copied, and the copies of the graphs around it. Captures are found
 * through them. */
typedef struct frame {
    const qdq_graph *from;
    qdq_graph *to;
    /* by id in `from`: what stands for it; NULL: left out */
    qdq_value **value;
    const struct frame *around;
    int depth;
} frame;

typedef struct inliner {
    qdq_model *m;
    /* that gives way */
    qdq_node *node;
    /* that it calls, or NULL */
    const qdq_function *function;
    /* of values inside */
    bool keeps_types;
    qdq_arena scratch;
} inliner;

static bool copy_graph(inliner *in, const frame *around, const qdq_graph *from, qdq_node *owner,
                       qdq_graph **out);

/* --- names ------------------------------------------------------------------------------------ */

/* A name that only the original has is free: it is in another function, or goes with the node. */
static const char *name_in(const frame *f, const qdq_value *from)
{
    bool is_free = qdq_name_of(from->name)->n_value == 1;

    if (f->around != NULL) /* graphs beside it may have the name, and there are none inside it */
        is_free = qdq_graph_resolve(f->to, from->name) == NULL;
    return is_free ? from->name : qdq_graph_unique_name(f->to, from->name);
}

/* Nodes of a function keep their names for as long as the function is there. */
static const char *node_name_in(const inliner *in, const frame *f, const qdq_node *from)
{
    if (from->name[0] == '\0' || (in->function == NULL && qdq_name_of(from->name)->n_node == 1))
        return from->name;
    return qdq_graph_unique_node_name(f->to, from->name);
}

/* --- values ----------------------------------------------------------------------------------- */

/* What stands for `v`, which is read somewhere in the frame's graph. */
static qdq_value *mapped(const frame *f, qdq_value *v)
{
    for (; f != NULL; f = f->around)
        if (v->graph == f->from)
            return f->value[v->id];
    return v; /* captured from around the node */
}

static qdq_value *copy_value(const inliner *in, const frame *f, const qdq_value *from)
{
    bool is_typed = in->keeps_types || from->is_input || from->n_output > 0;
    const char *name = name_in(f, from);
    qdq_value *v =
        name == NULL ? NULL : qdq_graph_add_value(f->to, name, is_typed ? from->type : NULL);

    if (v == NULL)
        return NULL;
    v->unknown_fields = from->unknown_fields;
    v->has_info = from->has_info && is_typed;
    f->value[from->id] = v;
    return v;
}

static qdq_value *add_sparse_node(const inliner *in, const frame *f, const char *name,
                                  const qdq_value *from)
{
    qdq_node *n = qdq_graph_add_node(f->to, in->node, "", "Constant", "", 0, 1, &name);
    qdq_attr *a = qdq_arena_alloc(&in->m->arena, sizeof *a);

    if (n == NULL || a == NULL)
        return NULL;
    *a = (qdq_attr){
        .name = "sparse_value", .type = QDQ_ATTR_SPARSE, .count = 1, .v.sparse = from->sparse};
    qdq_value_set_type(n->out[0], from->type);
    return qdq_node_set_attr(n, a) ? n->out[0] : NULL;
}

/* Constants of a branch that comes to stand in a function's body, where only nodes can be. */
static bool copy_data_as_node(const inliner *in, const frame *f, const qdq_value *from)
{
    const char *name = name_in(f, from);
    qdq_tensor *t = from->init != NULL ? qdq_tensor_share(in->m, from->init) : NULL;
    qdq_value *v = NULL;

    if (name != NULL && from->sparse != NULL)
        v = add_sparse_node(in, f, name, from);
    else if (name != NULL && t != NULL)
        v = qdq_graph_add_constant(f->to, in->node, name, t);
    f->value[from->id] = v;
    return v != NULL;
}

static bool copy_data(const inliner *in, const frame *f, const qdq_value *from)
{
    qdq_value *v = f->value[from->id];

    if (v == NULL && f->to->function != NULL)
        return copy_data_as_node(in, f, from);
    if (v == NULL && (v = copy_value(in, f, from)) == NULL)
        return false;
    if (from->sparse != NULL)
        return qdq_value_set_sparse(v, from->sparse);
    qdq_tensor *t = qdq_tensor_share(in->m, from->init);
    return t != NULL && qdq_value_set_init(v, t);
}

/* --- nodes ------------------------------------------------------------------------------------ */

/* A value that stands ready for an output was one of the node that gives way. */
static bool copy_outputs(const inliner *in, const frame *f, const qdq_node *from, qdq_node *n)
{
    for (uint32_t i = 0; i < from->n_out; i++) {
        qdq_value *v;

        if (from->out[i] == NULL)
            continue;
        v = f->value[from->out[i]->id];
        if (v == NULL && (v = copy_value(in, f, from->out[i])) == NULL)
            return false;
        qdq_value_detach(v);
        if (v->type == NULL && in->keeps_types)
            qdq_value_set_type(v, from->out[i]->type);
        n->out[i] = v;
        v->producer = n;
        v->out_index = i;
    }
    return true;
}

/* Nodes and their outputs first: a body need not be in order. *first is the copy of the first
 * node. */
static bool copy_nodes(const inliner *in, const frame *f, qdq_node *before, qdq_node **first)
{
    *first = NULL;
    QDQ_FOR_NODES (from, f->from) {
        const char *name = node_name_in(in, f, from);
        qdq_node *n = name == NULL ? NULL
                                   : qdq_graph_add_node(f->to, before, from->domain, from->type,
                                                        name, from->n_in, from->n_out, NULL);

        if (n == NULL)
            return false;
        n->overload = from->overload;
        n->unknown_fields = from->unknown_fields;
        if (*first == NULL)
            *first = n;
        if (!copy_outputs(in, f, from, n))
            return false;
    }
    return true;
}

/* --- attributes ------------------------------------------------------------------------------- */

/* What the call gives for a parameter, else its default, else NULL: the attribute is then left
 * out. */
static const qdq_attr *argument(const inliner *in, const char *parameter)
{
    const qdq_attr *a = qdq_node_attr(in->node, parameter);

    for (size_t i = 0; a == NULL && i < in->function->attr_protos.n; i++)
        if (in->function->attr_protos.at[i]->name == parameter)
            a = in->function->attr_protos.at[i];
    return a;
}

static bool copy_graphs(inliner *in, const frame *f, qdq_node *owner, const qdq_attr *from,
                        qdq_attr *to)
{
    qdq_graph **list;

    if (from->type == QDQ_ATTR_GRAPH)
        return copy_graph(in, f, from->v.g, owner, &to->v.g);
    list = qdq_arena_array(&in->m->arena, from->count + 1, sizeof *list);
    if (list == NULL)
        return false;
    for (size_t i = 0; i < from->count; i++)
        if (!copy_graph(in, f, from->v.graphs[i], owner, &list[i]))
            return false;
    to->v.graphs = list;
    return true;
}

/* Attributes are never changed in place, so the copy of a node may have the very same. */
static bool copy_attr(inliner *in, const frame *f, qdq_node *n, qdq_attr *from)
{
    bool is_ref = from->ref != NULL && in->function != NULL;
    const qdq_attr *source = is_ref ? argument(in, from->ref) : from;
    qdq_attr *a = from;

    if (source == NULL)
        return true;
    if (is_ref || source->type == QDQ_ATTR_GRAPH || source->type == QDQ_ATTR_GRAPHS) {
        a = qdq_arena_alloc(&in->m->arena, sizeof *a);
        if (a == NULL)
            return false;
        *a = *source;
        a->name = from->name;
    }
    if (source->ref == NULL &&
        (source->type == QDQ_ATTR_GRAPH || source->type == QDQ_ATTR_GRAPHS) &&
        !copy_graphs(in, f, n, source, a))
        return false;
    return qdq_node_append_attr(n, a);
}

/* Operands and attributes of the copies, which begin at `n`. */
static bool fill_nodes(inliner *in, const frame *f, qdq_node *n)
{
    QDQ_FOR_NODES (from, f->from) {
        for (uint32_t i = 0; i < from->n_in; i++)
            if (from->in[i].value != NULL)
                qdq_node_set_in(n, i, mapped(f, from->in[i].value));
        for (uint32_t i = 0; i < from->n_attr; i++)
            if (!copy_attr(in, f, n, from->attr[i]))
                return false;
        n = n->next;
    }
    return true;
}

/* --- graphs ----------------------------------------------------------------------------------- */

static bool copy_lists(const inliner *in, const frame *f)
{
    for (size_t i = 0; i < f->from->values.n; i++) {
        const qdq_value *v = f->from->values.at[i];

        if (!v->dead && v->producer == NULL && copy_value(in, f, v) == NULL)
            return false;
    }
    for (size_t i = 0; i < f->from->inputs.n; i++)
        if (!qdq_graph_make_input(f->to, f->value[f->from->inputs.at[i]->id]))
            return false;
    QDQ_FOR_INITS(v, f->from)
    {
        if (!copy_data(in, f, v))
            return false;
    }
    return true;
}

/* A graph inside the body. Depth: the verifier allows QDQ_MAX_NESTING. */
static bool copy_graph(inliner *in, const frame *around, const qdq_graph *from, qdq_node *owner,
                       qdq_graph **out)
{
    frame f = {from, qdq_graph_new(in->m, owner, from->name), NULL, around, around->depth + 1};
    qdq_node *first;

    assert(f.depth <= QDQ_MAX_NESTING);
    f.value = qdq_arena_array(&in->scratch, from->values.n + 1, sizeof *f.value);
    if (f.to == NULL || f.value == NULL)
        return false;
    f.to->unknown_fields = from->unknown_fields;
    if (!copy_lists(in, &f) || !copy_nodes(in, &f, NULL, &first))
        return false;
    for (size_t i = 0; i < from->outputs.n; i++)
        if (!qdq_graph_add_output(f.to, f.value[from->outputs.at[i]->id]))
            return false;
    *out = f.to;
    return first == NULL || fill_nodes(in, &f, first);
}

/* --- the node --------------------------------------------------------------------------------- */

/* Inputs and outputs of a body stand for those of the node. An output that a node of the body
 * computes goes over to the copy of that node, name, readers and all; the others are left for the
 * end. */
static void map_operands(const inliner *in, const frame *f)
{
    for (uint32_t i = 0; i < f->from->inputs.n; i++)
        f->value[f->from->inputs.at[i]->id] = qdq_node_in(in->node, i);
    for (uint32_t i = 0; i < in->node->n_out; i++) {
        const qdq_value *v = f->from->outputs.at[i];

        if (v->producer != NULL && f->value[v->id] == NULL)
            f->value[v->id] = in->node->out[i];
    }
}

/* Output i of the node is x, which has a name of its own or is another output, too. */
static bool give_output(qdq_node *n, uint32_t i, qdq_value *x)
{
    qdq_node *identity;

    if (n->out[i]->n_use == 0 && n->out[i]->n_output == 0)
        return true;
    assert(x != NULL);
    if (qdq_value_replace(n->out[i], x))
        return true;
    identity = qdq_graph_add_op(n->graph, n, "Identity", "", n->out[i]->name, 1, &x);
    return identity != NULL && qdq_value_replace(n->out[i], identity->out[0]);
}

static bool replace_node(inliner *in, const frame *f)
{
    qdq_node *first;

    map_operands(in, f);
    QDQ_FOR_INITS(v, f->from)
    {
        if (!copy_data(in, f, v))
            return false;
    }
    if (!copy_nodes(in, f, in->node, &first) || (first != NULL && !fill_nodes(in, f, first)))
        return false;
    for (uint32_t i = 0; i < in->node->n_out; i++)
        if (in->node->out[i] != NULL &&
            !give_output(in->node, i, f->value[f->from->outputs.at[i]->id]))
            return false;
    qdq_node_remove(in->node);
    return true;
}

bool qdq_node_inline(qdq_node *n, const qdq_graph *body)
{
    bool keeps_types = body->function == NULL && !qdq_graph_in_function(n->graph);
    inliner in = {n->graph->model, n, body->function, keeps_types, QDQ_ARENA_INIT};
    frame f = {body, n->graph, NULL, NULL, 0};
    bool done;

    assert(body != n->graph && body->outputs.n >= n->n_out);
    f.value = qdq_arena_array(&in.scratch, body->values.n + 1, sizeof *f.value);
    done = f.value != NULL && replace_node(&in, &f);
    qdq_arena_free(&in.scratch);
    return done;
}
