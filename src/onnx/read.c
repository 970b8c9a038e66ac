/* read.c - bytes -> model: ModelProto, graphs and functions. load.c hands the bytes in.
 *
 * Names are interned, everything else stays a span of the mapping. Every name,
 * number and length is checked here once, so that the rest of the library may trust the graph. */
#include "onnx/read.h"
#include "base/fail.h"
#include "ir/edit.h"
#include "ir/function.h"
#include "ir/name.h"

#include <inttypes.h>
#include <string.h>

/* --- names ------------------------------------------------------------------------------------ */

qdq_status qdq_read_name(qdq_reader *r, qdq_span text, const char *what, const char **out,
                         qdq_error *err)
{
    if (text.size > 0 && memchr(text.data, '\0', text.size) != NULL)
        return qdq_fail(err, QDQ_E_FORMAT, "a NUL byte in %s '%s', expected text", what,
                        (const char *)text.data);
    *out = qdq_intern_n(r->m, text.size > 0 ? (const char *)text.data : "", text.size);
    return *out == NULL ? qdq_nomem(err) : QDQ_OK;
}

qdq_status qdq_read_domain(qdq_reader *r, qdq_span text, const char **out, qdq_error *err)
{
    if (text.size == 7 && memcmp(text.data, "ai.onnx", 7) == 0)
        text.size = 0;
    return qdq_read_name(r, text, "domain", out, err);
}

void *qdq_read_array(qdq_reader *r, size_t n, size_t elem_size)
{
    return qdq_arena_array(&r->m->arena, n == 0 ? 1 : n, elem_size);
}

/* --- graphs ----------------------------------------------------------------------------------- */

static qdq_status decode_value_info(qdq_reader *r, qdq_span body, qdq_pb_value_info *pb,
                                    const char **name, qdq_error *err)
{
    QDQ_TRY(qdq_wire_decode(&r->in, &qdq_pb_value_info_desc, body, pb, err));
    QDQ_TRY(qdq_read_name(r, pb->name, "value name", name, err));
    if ((*name)[0] == '\0')
        return qdq_fail(err, QDQ_E_FORMAT, "a value without name");
    return QDQ_OK;
}

static qdq_status read_info_type(qdq_reader *r, const qdq_pb_value_info *pb, const char *name,
                                 const qdq_type **type, qdq_error *err)
{
    qdq_status st;

    *type = NULL;
    if (pb->type.n == 0)
        return QDQ_OK;
    st = qdq_read_type(r, pb->type.at[0], 0, type, err);
    return st == QDQ_OK ? QDQ_OK : qdq_within(err, st, "value '%s'", name);
}

static qdq_status read_input(qdq_reader *r, qdq_graph *g, qdq_span body, qdq_error *err)
{
    qdq_pb_value_info pb;
    const qdq_type *type;
    const char *name;
    qdq_value *v;

    QDQ_TRY(decode_value_info(r, body, &pb, &name, err));
    if (qdq_graph_find(g, name) != NULL)
        return qdq_fail(err, QDQ_E_FORMAT,
                        "input '%s' is already defined, expected a name of its own", name);
    QDQ_TRY(read_info_type(r, &pb, name, &type, err));
    QDQ_NEED((v = qdq_graph_add_input(g, name, type)) != NULL, err);
    v->unknown_fields = pb.head.unknown_fields;
    return QDQ_OK;
}

/* The value that an initializer gives its data to: a new one, or an input, which it is the default
 * of. */
static qdq_status initializer_place(qdq_graph *g, const char *name, qdq_value **v, qdq_error *err)
{
    if (name[0] == '\0')
        return qdq_fail(err, QDQ_E_FORMAT, "an initializer without name");
    *v = qdq_graph_resolve(g, name);
    if (*v != NULL &&
        ((*v)->graph != g || !(*v)->is_input || (*v)->init != NULL || (*v)->sparse != NULL))
        return qdq_fail(err, QDQ_E_FORMAT,
                        "initializer '%s' is already defined, expected a name of its own", name);
    return QDQ_OK;
}

static qdq_status read_initializer(qdq_reader *r, qdq_graph *g, qdq_span body, qdq_error *err)
{
    qdq_tensor *t;
    qdq_value *v;

    QDQ_TRY(qdq_read_tensor(r, body, &t, err));
    QDQ_TRY(initializer_place(g, t->name, &v, err));
    if (v != NULL)
        return qdq_value_set_init(v, t) ? QDQ_OK : qdq_nomem(err);
    return qdq_graph_add_init(g, t->name, t) != NULL ? QDQ_OK : qdq_nomem(err);
}

static qdq_status read_sparse_initializer(qdq_reader *r, qdq_graph *g, qdq_span body,
                                          qdq_error *err)
{
    qdq_sparse *s;
    qdq_value *v;

    QDQ_TRY(qdq_read_sparse(r, body, &s, err));
    QDQ_TRY(initializer_place(g, s->values->name, &v, err));
    if (v == NULL && (v = qdq_graph_add_value(g, s->values->name, NULL)) == NULL)
        return qdq_nomem(err);
    return qdq_value_set_sparse(v, s) ? QDQ_OK : qdq_nomem(err);
}

static qdq_status read_output(qdq_reader *r, qdq_graph *g, qdq_span body, qdq_error *err)
{
    qdq_pb_value_info pb;
    const qdq_type *type;
    const char *name;
    qdq_value *v;

    QDQ_TRY(decode_value_info(r, body, &pb, &name, err));
    if ((v = qdq_graph_find(g, name)) == NULL)
        return qdq_fail(err, QDQ_E_FORMAT, "output '%s' is not defined in this graph", name);
    QDQ_TRY(read_info_type(r, &pb, name, &type, err));
    if (!v->is_input && v->n_output == 0) {
        if (type != NULL)
            qdq_value_set_type(v, type);
        v->unknown_fields = pb.head.unknown_fields;
    }
    return qdq_graph_add_output(g, v) ? QDQ_OK : qdq_nomem(err);
}

/* Value infos mostly come in the order of the values: the next few are looked at before the map is
 * asked, whose places are all over the memory in large graphs. */
static qdq_value *find_value(const qdq_graph *g, qdq_span name, size_t *next)
{
    const qdq_map_value *place;

    for (size_t i = *next; i < g->values.n && i < *next + 4; i++) {
        qdq_value *v = g->values.at[i];
        if (qdq_name_of(v->name)->size == name.size && memcmp(v->name, name.data, name.size) == 0) {
            *next = i + 1;
            return v;
        }
    }
    place = qdq_map_get_n(&g->by_name, (const char *)name.data, name.size);
    if (place == NULL)
        return NULL;
    *next = (size_t)((qdq_value *)place->ptr)->id + 1;
    return place->ptr;
}

/* A type for a value inside the graph. *taken false: it says nothing that a value has a place for
 * (the value is not there, or has its type from elsewhere), but is to be kept. */
static qdq_status read_value_info(qdq_reader *r, qdq_graph *g, qdq_span body, bool *taken,
                                  qdq_error *err)
{
    qdq_pb_value_info pb;
    const qdq_type *type;
    qdq_value *v = NULL;

    QDQ_TRY(qdq_wire_decode(&r->in, &qdq_pb_value_info_desc, body, &pb, err));
    if (pb.name.size > 0)
        v = find_value(g, pb.name, &r->next_info);
    *taken = v != NULL && !v->is_input && v->n_output == 0 && !v->has_info;
    if (!*taken)
        return QDQ_OK;
    QDQ_TRY(read_info_type(r, &pb, v->name, &type, err));
    if (v->init != NULL && !qdq_type_is_of(type, v->init)) {
        *taken = false;
        return QDQ_OK;
    }
    if (type != NULL)
        qdq_value_set_type(v, type);
    v->unknown_fields = pb.head.unknown_fields;
    v->has_info = true;
    return QDQ_OK;
}

static qdq_status join_rest(qdq_reader *r, const qdq_wire_out *kept, qdq_span *rest, qdq_error *err)
{
    qdq_buf joined = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
    qdq_status st = qdq_wire_to_buf(kept, NULL, &joined, err);
    unsigned char *copy;

    if (st == QDQ_OK && joined.size > 0) {
        copy = qdq_arena_copy(&r->m->arena, joined.data, joined.size, 1);
        st = qdq_allocated(copy != NULL, err);
        if (copy != NULL)
            *rest = (qdq_span){copy, joined.size};
    }
    qdq_buf_free(&joined);
    return st;
}

typedef qdq_status take_fn(qdq_reader *r, qdq_graph *g, qdq_span body, bool *taken, qdq_error *err);

/* `number` is the field that they come in: what the structs have no place for is kept in
 * `unknown_fields` under it. */
static qdq_status take_each(qdq_reader *r, qdq_graph *g, const qdq_wire_member_MSGS *list,
                            take_fn *take, unsigned number, qdq_span *rest, qdq_error *err)
{
    qdq_arena_mark mark = qdq_arena_get_loop_mark(&r->scratch);
    qdq_wire_out kept = {.bytes = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT)};
    qdq_status st = QDQ_OK;

    for (size_t i = 0; i < list->n && st == QDQ_OK; i++) {
        bool taken = true;
        st = take(r, g, list->at[i], &taken, err);
        if (!taken && kept.total == 0)
            qdq_wire_put(&kept, *rest);
        if (!taken)
            qdq_wire_put_text(&kept, number, list->at[i]);
        qdq_arena_reset(&r->scratch, mark);
    }
    if (st == QDQ_OK)
        st = join_rest(r, &kept, rest, err);
    qdq_wire_out_free(&kept);
    return st;
}

static qdq_status read_value_infos(qdq_reader *r, qdq_graph *g, const qdq_wire_member_MSGS *infos,
                                   unsigned number, qdq_span *rest, qdq_error *err)
{
    r->next_info = g->inputs.n;
    return take_each(r, g, infos, read_value_info, number, rest, err);
}

typedef qdq_status read_fn(qdq_reader *r, qdq_graph *g, qdq_span body, qdq_error *err);

static qdq_status read_each(qdq_reader *r, qdq_graph *g, const qdq_wire_member_MSGS *list,
                            read_fn *read, qdq_error *err)
{
    qdq_arena_mark mark = qdq_arena_get_loop_mark(&r->scratch);

    for (size_t i = 0; i < list->n; i++) {
        QDQ_TRY(read(r, g, list->at[i], err));
        qdq_arena_reset(&r->scratch, mark);
    }
    return QDQ_OK;
}

/* The order matters: what nodes and outputs name must be there, and value infos come last, so that
 * they do not take the place of what inputs, initializers and outputs say. */
static qdq_status fill_graph(qdq_reader *r, qdq_graph *g, const qdq_pb_graph *pb, int depth,
                             qdq_error *err)
{
    g->unknown_fields = pb->head.unknown_fields;
    QDQ_TRY(read_each(r, g, &pb->input, read_input, err));
    QDQ_TRY(read_each(r, g, &pb->initializer, read_initializer, err));
    QDQ_TRY(read_each(r, g, &pb->sparse_initializer, read_sparse_initializer, err));
    QDQ_TRY(qdq_read_nodes(r, g, &pb->node, depth, err));
    QDQ_TRY(read_each(r, g, &pb->output, read_output, err));
    return read_value_infos(r, g, &pb->value_info, QDQ_PB_graph_value_info, &g->unknown_fields,
                            err);
}

qdq_status qdq_read_graph(qdq_reader *r, qdq_node *node, qdq_span body, int depth, qdq_graph **out,
                          qdq_error *err)
{
    qdq_graph *g = r->m->graph;
    qdq_pb_graph pb;
    const char *name;
    qdq_status st;

    if (depth >= QDQ_MAX_NESTING)
        return qdq_fail(err, QDQ_E_FORMAT, "graphs nest deeper than %d", QDQ_MAX_NESTING);
    QDQ_TRY(qdq_wire_decode(&r->in, &qdq_pb_graph_desc, body, &pb, err));
    QDQ_TRY(qdq_read_name(r, pb.name, "graph name", &name, err));
    if (node != NULL && (g = qdq_graph_new(r->m, node, name)) == NULL)
        return qdq_nomem(err);
    g->name = name;
    st = fill_graph(r, g, &pb, depth, err);
    if (st != QDQ_OK && depth < QDQ_READ_PLACES)
        return qdq_within(err, st, "graph '%s'", name);
    *out = g;
    return st;
}

/* --- functions -------------------------------------------------------------------------------- */

static qdq_status read_opset(qdq_reader *r, qdq_span body, qdq_opset *set, qdq_error *err)
{
    qdq_pb_opset pb;

    QDQ_TRY(qdq_wire_decode(&r->in, &qdq_pb_opset_desc, body, &pb, err));
    QDQ_TRY(qdq_read_domain(r, pb.domain, &set->domain, err));
    set->version = pb.version.v;
    set->unknown_fields = pb.head.unknown_fields;
    return QDQ_OK;
}

/* Some exporters import a domain twice, as "" and as "ai.onnx": once is enough if they agree. */
static qdq_status read_opsets(qdq_reader *r, const qdq_wire_member_MSGS *from, qdq_opset **at,
                              size_t *n, qdq_error *err)
{
    qdq_opset *sets = qdq_read_array(r, from->n, sizeof *sets);

    QDQ_NEED(sets != NULL, err);
    *n = 0;
    for (size_t i = 0; i < from->n; i++) {
        qdq_opset *set = &sets[*n];
        size_t k = 0;
        QDQ_TRY(read_opset(r, from->at[i], set, err));
        while (sets[k].domain != set->domain) /* ends at the latest at set itself */
            k++;
        if (sets[k].version != set->version)
            return qdq_fail(err, QDQ_E_FORMAT,
                            "domain '%s' is imported in versions %" PRId64 " and %" PRId64
                            ", expected one",
                            set->domain, sets[k].version, set->version);
        if (k == *n)
            (*n)++;
        if (*n > 4096)
            return qdq_fail(err, QDQ_E_UNSUPPORTED, "more than 4096 imported domains");
    }
    *at = sets;
    return QDQ_OK;
}

static qdq_status read_function_io(qdq_reader *r, qdq_graph *g, const qdq_pb_function *pb,
                                   int depth, qdq_span *rest, qdq_error *err)
{
    const char *name;
    qdq_value *v;

    for (size_t i = 0; i < pb->input.n; i++) {
        QDQ_TRY(qdq_read_name(r, pb->input.at[i], "input name", &name, err));
        if (name[0] == '\0' || qdq_graph_find(g, name) != NULL)
            return qdq_fail(err, QDQ_E_FORMAT, "input %zu '%s', expected a name of its own", i,
                            name);
        QDQ_NEED(qdq_graph_add_input(g, name, NULL) != NULL, err);
    }
    QDQ_TRY(qdq_read_nodes(r, g, &pb->node, depth, err));
    for (size_t i = 0; i < pb->output.n; i++) {
        QDQ_TRY(qdq_read_name(r, pb->output.at[i], "output name", &name, err));
        if ((v = qdq_graph_find(g, name)) == NULL)
            return qdq_fail(err, QDQ_E_FORMAT, "output '%s' is not defined in this function", name);
        QDQ_NEED(qdq_graph_add_output(g, v), err);
    }
    return read_value_infos(r, g, &pb->value_info, QDQ_PB_function_value_info, rest, err);
}

static qdq_status fill_function(qdq_reader *r, qdq_function *f, const qdq_pb_function *pb,
                                qdq_error *err)
{
    f->unknown_fields = pb->head.unknown_fields;
    for (size_t i = 0; i < pb->attribute.n; i++) {
        const char *name;
        QDQ_TRY(qdq_read_name(r, pb->attribute.at[i], "attribute name", &name, err));
        QDQ_NEED(QDQ_PUSH(&r->m->arena, &f->attrs, name), err);
    }
    for (size_t i = 0; i < pb->attribute_proto.n; i++) {
        qdq_attr *a;
        QDQ_TRY(qdq_read_attr(r, NULL, pb->attribute_proto.at[i], 0, &a, err));
        QDQ_NEED(QDQ_PUSH(&r->m->arena, &f->attr_protos, a), err);
    }
    QDQ_TRY(read_opsets(r, &pb->opset_import, &f->opsets.at, &f->opsets.n, err));
    f->opsets.cap = f->opsets.n;
    QDQ_NEED((f->body = qdq_graph_new(r->m, NULL, f->name)) != NULL, err);
    f->body->function = f;
    return read_function_io(r, f->body, pb, 0, &f->unknown_fields, err);
}

static qdq_status read_function(qdq_reader *r, qdq_graph *g, qdq_span body, qdq_error *err)
{
    qdq_function *f = qdq_arena_alloc(&r->m->arena, sizeof *f);
    qdq_pb_function pb;
    qdq_status st;

    QDQ_NEED(f != NULL, err);
    (void)g;
    QDQ_TRY(qdq_wire_decode(&r->in, &qdq_pb_function_desc, body, &pb, err));
    QDQ_TRY(qdq_read_name(r, pb.name, "function name", &f->name, err));
    QDQ_TRY(qdq_read_domain(r, pb.domain, &f->domain, err));
    QDQ_TRY(qdq_read_name(r, pb.overload, "overload", &f->overload, err));
    st = fill_function(r, f, &pb, err);
    if (st != QDQ_OK)
        return qdq_within(err, st, "function '%s'", f->name);
    return QDQ_PUSH(&r->m->arena, &r->m->functions, f) ? QDQ_OK : qdq_nomem(err);
}

static qdq_status check_functions(qdq_reader *r, qdq_error *err)
{
    const qdq_model *m = r->m;
    qdq_functions names;
    qdq_status st = qdq_functions_open(&names, m, &r->scratch) ? QDQ_OK : qdq_nomem(err);

    for (size_t i = 0; i < m->functions.n && st == QDQ_OK; i++) {
        const qdq_function *f = m->functions.at[i];

        if (qdq_functions_find(&names, f->domain, f->name, f->overload) != i)
            st = qdq_fail(err, QDQ_E_FORMAT, "function '%s' of domain '%s' is defined twice",
                          f->name, f->domain);
    }
    qdq_functions_close(&names);
    return st;
}

/* --- models ----------------------------------------------------------------------------------- */

/* Entries that are more than two texts are kept as they are. */
static qdq_status read_prop(qdq_reader *r, qdq_graph *g, qdq_span body, bool *taken, qdq_error *err)
{
    qdq_pb_prop pb;
    qdq_prop prop;

    (void)g;
    QDQ_TRY(qdq_wire_decode(&r->in, &qdq_pb_prop_desc, body, &pb, err));
    *taken = pb.head.unknown_fields.size == 0 && pb.value.data != NULL &&
             (pb.value.size == 0 || memchr(pb.value.data, '\0', pb.value.size) == NULL);
    if (!*taken)
        return QDQ_OK;
    QDQ_TRY(qdq_read_name(r, pb.key, "metadata key", &prop.key, err));
    QDQ_TRY(qdq_read_name(r, pb.value, "metadata value", &prop.value, err));
    return QDQ_PUSH(&r->m->arena, &r->m->props, prop) ? QDQ_OK : qdq_nomem(err);
}

/* Values of bodies that are called as one around them, which exporters write for what a Loop takes
 * along, get names of their own: passes move nodes between graphs. */
static qdq_status rename_shadowing(qdq_graph *g, qdq_error *err)
{
    for (size_t i = 0; i < g->values.n && g->owner != NULL; i++) {
        qdq_value *v = g->values.at[i];

        if (qdq_name_of(v->name)->n_value < 2 ||
            qdq_graph_resolve(g->owner->graph, v->name) == NULL)
            continue;
        const char *name = qdq_graph_unique_name(g, v->name);
        QDQ_NEED(name != NULL && qdq_value_rename(v, name), err);
    }
    return QDQ_OK;
}

qdq_status qdq_read_model(qdq_reader *r, qdq_span bytes, qdq_error *err)
{
    qdq_model *m = r->m;
    qdq_pb_model pb;

    QDQ_TRY(qdq_wire_decode(&r->in, &qdq_pb_model_desc, bytes, &pb, err));
    if (pb.graph.n == 0)
        return qdq_fail(err, QDQ_E_FORMAT, "no graph, expected an ONNX model");
    if (pb.ir_version.v < 1)
        return qdq_fail(err, QDQ_E_FORMAT, "ir_version is %" PRId64 ", expected 1 or more",
                        pb.ir_version.v);
    m->ir_version = pb.ir_version.v;
    m->unknown_fields = pb.head.unknown_fields;
    QDQ_TRY(qdq_read_name(r, pb.producer_name, "producer_name", &m->producer_name, err));
    QDQ_TRY(qdq_read_name(r, pb.producer_version, "producer_version", &m->producer_version, err));
    QDQ_TRY(read_opsets(r, &pb.opset_import, &m->opsets.at, &m->opsets.n, err));
    m->opsets.cap = m->opsets.n;
    QDQ_TRY(take_each(r, NULL, &pb.metadata_props, read_prop, QDQ_PB_model_metadata_props,
                      &m->unknown_fields, err));
    QDQ_TRY(read_each(r, NULL, &pb.functions, read_function, err));
    QDQ_TRY(check_functions(r, err));
    QDQ_TRY(qdq_read_graph(r, NULL, pb.graph.at[0], 0, &m->graph, err));
    for (size_t i = 0; i < m->graphs.n; i++)
        QDQ_TRY(rename_shadowing(m->graphs.at[i], err));
    return QDQ_OK;
}
