/* read_node.c - NodeProto and AttributeProto -> nodes. Nodes may stand in any order: one that names
 * what is not there yet, or has a subgraph (which may name anything of the graphs around), gets its
 * inputs and attributes in a second pass. Whether the nodes can be sorted is the verifier's
 * question. */
#include "onnx/read.h"
#include "base/fail.h"
#include "ir/edit.h"
#include "ir/name.h"

#include <inttypes.h>
#include <string.h>

/* --- attributes ------------------------------------------------------------------------------- */

/* Field of the value of each attribute type: what the other types' fields hold is kept in
 * `unknown_fields`. */
static const unsigned value_field[] = {
#define ATTR(ENUM, number, name, ITEM, type, field) [number] = QDQ_PB_attr_##field,
#include "ir/attr_types.def"
#undef ATTR
};

/* The types whose value fields are filled: bit n for type n. */
static unsigned filled_types(const qdq_pb_attr *pb)
{
    return (unsigned)pb->f.has << QDQ_ATTR_FLOAT | (unsigned)pb->i.has << QDQ_ATTR_INT |
           (unsigned)(pb->s.data != NULL) << QDQ_ATTR_STRING |
           (unsigned)(pb->t.n > 0) << QDQ_ATTR_TENSOR | (unsigned)(pb->g.n > 0) << QDQ_ATTR_GRAPH |
           (unsigned)(pb->floats.n > 0) << QDQ_ATTR_FLOATS |
           (unsigned)(pb->ints.n > 0) << QDQ_ATTR_INTS |
           (unsigned)(pb->strings.n > 0) << QDQ_ATTR_STRINGS |
           (unsigned)(pb->tensors.n > 0) << QDQ_ATTR_TENSORS |
           (unsigned)(pb->graphs.n > 0) << QDQ_ATTR_GRAPHS |
           (unsigned)(pb->sparse_tensor.n > 0) << QDQ_ATTR_SPARSE |
           (unsigned)(pb->sparse_tensors.n > 0) << QDQ_ATTR_SPARSES |
           (unsigned)(pb->tp.n > 0) << QDQ_ATTR_TYPE |
           (unsigned)(pb->type_protos.n > 0) << QDQ_ATTR_TYPES;
}

/* IR versions before 2 had no `type`: the one field that is filled tells it. */
static qdq_attr_type type_of(const qdq_pb_attr *pb, unsigned filled)
{
    if (pb->type.v > 0 && pb->type.v <= QDQ_ATTR_TYPES)
        return (qdq_attr_type)pb->type.v;
    if (pb->type.v == 0 && filled != 0 && (filled & (filled - 1)) == 0)
        for (int type = 1; type <= QDQ_ATTR_TYPES; type++)
            if (filled == 1u << type)
                return (qdq_attr_type)type;
    return QDQ_ATTR_UNDEFINED;
}

/* A list from `from` on, which the message does not keep. */
static qdq_status copy_list(qdq_reader *r, const void *from, size_t n, qdq_attr *a, qdq_error *err)
{
    size_t size = qdq_attr_type_get_info(a->type)->size;
    void *copy = qdq_arena_copy(&r->m->arena, from, n, size);

    QDQ_NEED(copy != NULL, err);
    memcpy(&a->v, &copy, sizeof copy);
    a->count = n;
    return QDQ_OK;
}

/* One message as what an attribute's item is: a pointer. */
static qdq_status read_item(qdq_reader *r, qdq_node *node, int depth, qdq_attr_type type,
                            qdq_span body, void *item, qdq_error *err)
{
    switch ((int)type) {
    case QDQ_ATTR_TENSOR:
        return qdq_read_tensor(r, body, item, err);
    case QDQ_ATTR_SPARSE:
        return qdq_read_sparse(r, body, item, err);
    case QDQ_ATTR_TYPE:
        return qdq_read_type(r, body, 0, item, err);
    }
    return qdq_read_graph(r, node, body, depth + 1, item, err);
}

static qdq_status read_messages(qdq_reader *r, qdq_node *node, int depth,
                                const qdq_wire_member_MSGS *from, qdq_attr *a, qdq_error *err)
{
    qdq_attr_type item = qdq_attr_type_get_info(a->type)->item;
    bool is_list = qdq_attr_is_list(a);
    void **list = is_list ? qdq_read_array(r, from->n, sizeof *list) : NULL;

    if (is_list && list == NULL)
        return qdq_nomem(err);
    if (!is_list && from->n != 1) /* which `filled` has not told yet when the type was given */
        return qdq_fail(err, QDQ_E_FORMAT, "no value, expected one of the declared type");
    for (size_t i = 0; i < from->n; i++)
        QDQ_TRY(read_item(r, node, depth, item, from->at[i],
                          is_list ? (void *)&list[i] : (void *)&a->v, err));
    if (is_list)
        memcpy(&a->v, &list, sizeof list);
    a->count = from->n;
    return QDQ_OK;
}

static qdq_status read_value(qdq_reader *r, qdq_node *node, int depth, qdq_pb_attr *pb, qdq_attr *a,
                             qdq_error *err)
{
    a->count = 1;
    switch ((int)a->type) {
    case QDQ_ATTR_UNDEFINED:
        a->count = 0;
        return QDQ_OK;
    case QDQ_ATTR_FLOAT:
        a->v.f = pb->f.v;
        return QDQ_OK;
    case QDQ_ATTR_INT:
        a->v.i = pb->i.v;
        return QDQ_OK;
    case QDQ_ATTR_STRING:
        a->v.s = pb->s;
        return QDQ_OK;
    case QDQ_ATTR_FLOATS:
        return copy_list(r, pb->floats.at, pb->floats.n, a, err);
    case QDQ_ATTR_INTS:
        return copy_list(r, pb->ints.at, pb->ints.n, a, err);
    case QDQ_ATTR_STRINGS:
        return copy_list(r, pb->strings.at, pb->strings.n, a, err);
    }
    return read_messages(r, node, depth, qdq_pb_attr_value(pb, a->type), a, err);
}

/* What the struct does not hold goes to `unknown_fields`: unknown fields, and values of other types
 * than the declared one; of a type that we do not know, or of a reference to a function's
 * attribute, all values. */
static qdq_status keep_rest(qdq_reader *r, const qdq_pb_attr *pb, unsigned filled, qdq_span body,
                            qdq_attr *a, qdq_error *err)
{
    uint32_t numbers = ~qdq_pb_attr_desc.known;
    bool has_value = a->type != QDQ_ATTR_UNDEFINED && a->ref == NULL;

    for (int type = 1; type <= QDQ_ATTR_TYPES; type++)
        if ((filled >> type & 1) != 0 && !(has_value && type == (int)a->type))
            numbers |= 1u << value_field[type];
    if (a->type == QDQ_ATTR_UNDEFINED && pb->type.has)
        numbers |= QDQ_PB_BIT(attr_type);
    if (numbers == ~qdq_pb_attr_desc.known) {
        a->unknown_fields = pb->head.unknown_fields;
        return QDQ_OK;
    }
    return qdq_wire_gather(body, numbers, &r->m->arena, &a->unknown_fields, err);
}

static qdq_status fill_attr(qdq_reader *r, qdq_node *node, qdq_pb_attr *pb, qdq_span body,
                            int depth, qdq_attr *a, qdq_error *err)
{
    unsigned filled = filled_types(pb);

    a->type = type_of(pb, filled);
    if (pb->ref_attr_name.size > 0)
        QDQ_TRY(qdq_read_name(r, pb->ref_attr_name, "ref_attr_name", &a->ref, err));
    QDQ_TRY(keep_rest(r, pb, filled, body, a, err));
    if (a->ref != NULL)
        return QDQ_OK;
    if (node == NULL && (a->type == QDQ_ATTR_GRAPH || a->type == QDQ_ATTR_GRAPHS))
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "a graph as default of a function's attribute");
    return read_value(r, node, depth, pb, a, err);
}

qdq_status qdq_read_attr(qdq_reader *r, qdq_node *node, qdq_span body, int depth, qdq_attr **out,
                         qdq_error *err)
{
    qdq_attr *a = qdq_arena_alloc(&r->m->arena, sizeof *a);
    qdq_pb_attr pb;
    qdq_status st;

    *out = NULL;
    QDQ_NEED(a != NULL, err);
    QDQ_TRY(qdq_wire_decode(&r->in, &qdq_pb_attr_desc, body, &pb, err));
    QDQ_TRY(qdq_read_name(r, pb.name, "attribute name", &a->name, err));
    st = fill_attr(r, node, &pb, body, depth, a, err);
    if (st != QDQ_OK && depth < QDQ_READ_PLACES)
        return qdq_within(err, st, "attribute '%s'", a->name);
    *out = st == QDQ_OK ? a : NULL;
    return st;
}

/* --- nodes ------------------------------------------------------------------------------------ */

/* One after the other into the slots that the node already has, so that a name that comes twice
 * meets itself in the graph. */
static qdq_status add_outputs(qdq_reader *r, qdq_node *node, const qdq_wire_member_TEXTS *texts,
                              qdq_error *err)
{
    for (size_t i = 0; i < texts->n; i++) {
        const char *name;
        qdq_value *v;

        if (texts->at[i].size == 0)
            continue;
        QDQ_TRY(qdq_read_name(r, texts->at[i], "output name", &name, err));
        if (qdq_name_of(name)->n_value > 0 && qdq_graph_resolve(node->graph, name) != NULL)
            return qdq_fail(err, QDQ_E_FORMAT,
                            "output '%s' is already defined, expected a name of its own", name);
        QDQ_NEED((v = qdq_graph_add_value(node->graph, name, NULL)) != NULL, err);
        v->producer = node;
        v->out_index = (uint32_t)i;
        node->out[i] = v;
    }
    return QDQ_OK;
}

static qdq_status add_node(qdq_reader *r, qdq_graph *g, const qdq_pb_node *pb, qdq_node **out,
                           qdq_error *err)
{
    const char *type, *name, *domain, *overload;

    QDQ_TRY(qdq_read_name(r, pb->name, "node name", &name, err));
    QDQ_TRY(qdq_read_name(r, pb->op_type, "operator type", &type, err));
    QDQ_TRY(qdq_read_name(r, pb->overload, "overload", &overload, err));
    QDQ_TRY(qdq_read_domain(r, pb->domain, &domain, err));
    if (type[0] == '\0')
        return qdq_fail(err, QDQ_E_FORMAT, "no operator type");
    if (pb->input.n > INT32_MAX || pb->output.n > INT32_MAX)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "more than 2^31 inputs or outputs");
    *out = qdq_graph_add_node(g, NULL, domain, type, name, (uint32_t)pb->input.n,
                              (uint32_t)pb->output.n, NULL);
    QDQ_NEED(*out != NULL, err);
    (*out)->overload = overload;
    (*out)->unknown_fields = pb->head.unknown_fields;
    return add_outputs(r, *out, &pb->output, err);
}

static qdq_value *resolve(const qdq_graph *g, qdq_span name)
{
    return qdq_graph_resolve_n(g, (const char *)name.data, name.size);
}

static qdq_status connect_node(qdq_reader *r, qdq_node *node, const qdq_pb_node *pb, int depth,
                               qdq_error *err)
{
    for (size_t i = 0; i < pb->input.n; i++) {
        qdq_span name = pb->input.at[i];
        qdq_value *v;

        if (name.size == 0)
            continue;
        if ((v = resolve(node->graph, name)) == NULL)
            return qdq_fail(
                err, QDQ_E_FORMAT,
                "input %zu '%.*s' is not defined, expected the name of an input, an initializer "
                "or an output",
                i, (int)(name.size > 200 ? 200 : name.size), (const char *)name.data);
        qdq_node_set_in(node, (uint32_t)i, v);
    }
    for (size_t i = 0; i < pb->attribute.n; i++) {
        qdq_attr *a;
        QDQ_TRY(qdq_read_attr(r, node, pb->attribute.at[i], depth, &a, err));
        QDQ_NEED(qdq_node_append_attr(node, a), err);
    }
    return QDQ_OK;
}

static bool must_wait(const qdq_graph *g, const qdq_pb_node *pb)
{
    for (size_t i = 0; i < pb->input.n; i++)
        if (pb->input.at[i].size > 0 && resolve(g, pb->input.at[i]) == NULL)
            return true;
    for (size_t i = 0; i < pb->attribute.n; i++) {
        qdq_wire_item item;
        for (size_t pos = 0; qdq_wire_next(pb->attribute.at[i], &pos, &item);)
            if (item.number == QDQ_PB_attr_g || item.number == QDQ_PB_attr_graphs)
                return true;
    }
    return false;
}

/* "node 2 ('conv1')", or "node 2 (Conv)" without a name. */
static qdq_status within_node(const qdq_pb_node *pb, size_t index, int depth, qdq_status st,
                              qdq_error *err)
{
    qdq_span text = pb->name.size > 0 ? pb->name : pb->op_type;
    const char *quote = pb->name.size > 0 ? "'" : "";

    if (depth >= QDQ_READ_PLACES)
        return st;
    return qdq_within(err, st, "node %zu (%s%.*s%s)", index, quote,
                      (int)(text.size > 200 ? 200 : text.size),
                      text.data == NULL ? "" : (const char *)text.data, quote);
}

typedef struct waiting_node {
    qdq_node *node;
    /* in the file */
    size_t index;
} waiting_node;

typedef QDQ_VEC(waiting_node) waiting_list;

static qdq_status read_node(qdq_reader *r, qdq_graph *g, qdq_span body, size_t index, int depth,
                            waiting_list *waiting, qdq_error *err)
{
    waiting_node w = {NULL, index};
    qdq_pb_node pb;
    qdq_status st;

    QDQ_TRY(qdq_wire_decode(&r->in, &qdq_pb_node_desc, body, &pb, err));
    st = add_node(r, g, &pb, &w.node, err);
    if (st == QDQ_OK && must_wait(g, &pb))
        return QDQ_PUSH(&r->m->arena, waiting, w) ? QDQ_OK : qdq_nomem(err);
    if (st == QDQ_OK)
        st = connect_node(r, w.node, &pb, depth, err);
    return st == QDQ_OK ? QDQ_OK : within_node(&pb, index, depth, st, err);
}

qdq_status qdq_read_nodes(qdq_reader *r, qdq_graph *g, const qdq_wire_member_MSGS *nodes, int depth,
                          qdq_error *err)
{
    qdq_arena_mark mark = qdq_arena_get_loop_mark(&r->scratch);
    waiting_list waiting = {0};

    for (size_t i = 0; i < nodes->n; i++) {
        QDQ_TRY(read_node(r, g, nodes->at[i], i, depth, &waiting, err));
        qdq_arena_reset(&r->scratch, mark);
    }
    for (size_t i = 0; i < waiting.n; i++) {
        const waiting_node *w = &waiting.at[i];
        qdq_pb_node pb;
        QDQ_TRY(qdq_wire_decode(&r->in, &qdq_pb_node_desc, nodes->at[w->index], &pb, err));
        qdq_status st = connect_node(r, w->node, &pb, depth, err);
        if (st != QDQ_OK)
            return within_node(&pb, w->index, depth, st, err);
        qdq_arena_reset(&r->scratch, mark);
    }
    return QDQ_OK;
}
