/* write.c - model -> wire form: the mirror of read.c and read_node.c. The same model gives the same
 * bytes: everything goes by the graph's own order, nothing by address or hash. Knows no files: that
 * is save.c. */
#include "onnx/write.h"
#include "base/fail.h"
#include "ir/graph_check.h"
#include "onnx/schema.h"

typedef struct writer {
    const qdq_model *m;
    const qdq_onnx_write_opts *opts;
    qdq_arena scratch;
    qdq_error *err;
    /* the first failure */
    qdq_status st;
    int depth;
} writer;

const qdq_onnx_write_opts *qdq_writer_opts(const qdq_wire_out *out)
{
    const writer *w = out->ctx;

    return w->opts;
}

/* Fields that are not there and fields that are empty mean the same in ONNX; empty ones are left
 * out. */
static qdq_span text_or_none(const char *s)
{
    return s == NULL || s[0] == '\0' ? (qdq_span){NULL, 0} : qdq_pb_text(s);
}

static qdq_span bytes_or_empty(qdq_span s)
{
    return s.data != NULL ? s : qdq_pb_text("");
}

static void *scratch_array(writer *w, size_t n, size_t size)
{
    void *p = qdq_arena_array(&w->scratch, n == 0 ? 1 : n, size);

    if (p == NULL && w->st == QDQ_OK)
        w->st = qdq_nomem(w->err);
    return p;
}

/* --- attributes ------------------------------------------------------------------------------- */

static void emit_graph(qdq_wire_out *out, unsigned number, const void *obj);

/* Of attributes that hold messages. */
static void emit_attr_items(qdq_wire_out *out, unsigned number, const void *obj)
{
    const qdq_attr *a = obj;

    for (size_t i = 0; i < qdq_attr_items(a); i++) {
        const void *item = *(const void *const *)qdq_attr_item(a, i);

        switch ((int)qdq_attr_type_get_info(a->type)->item) {
        case QDQ_ATTR_TENSOR:
            qdq_put_tensor(out, number, item, ((const qdq_tensor *)item)->name, false);
            break;
        case QDQ_ATTR_SPARSE:
            qdq_put_sparse(out, number, item, NULL);
            break;
        case QDQ_ATTR_GRAPH:
            emit_graph(out, number, item);
            break;
        case QDQ_ATTR_TYPE:
            qdq_emit_type(out, number, item);
            break;
        }
    }
}

static void set_value(qdq_pb_attr *pb, const qdq_attr *a)
{
    switch ((int)a->type) {
    case QDQ_ATTR_UNDEFINED:
        return;
    case QDQ_ATTR_FLOAT:
        pb->f = (qdq_wire_member_FLOAT){a->v.f, true};
        return;
    case QDQ_ATTR_INT:
        pb->i = (qdq_wire_member_INT){a->v.i, true};
        return;
    case QDQ_ATTR_STRING:
        pb->s = bytes_or_empty(a->v.s);
        return;
    case QDQ_ATTR_FLOATS:
        pb->floats = (qdq_wire_member_FLOATS){(float *)(uintptr_t)a->v.floats, a->count, 0};
        return;
    case QDQ_ATTR_INTS:
        pb->ints = (qdq_wire_member_INTS){(int64_t *)(uintptr_t)a->v.ints, a->count, 0};
        return;
    case QDQ_ATTR_STRINGS:
        pb->strings = (qdq_wire_member_TEXTS){(qdq_span *)(uintptr_t)a->v.strings, a->count, 0};
        return;
    }
    *(qdq_wire_member_MSGS *)qdq_pb_attr_value(pb, a->type) =
        (qdq_wire_member_MSGS){.emit = emit_attr_items, .obj = a};
}

static void put_attr(qdq_wire_out *out, unsigned number, const qdq_attr *a)
{
    qdq_pb_attr pb = {.head = {.unknown_fields = a->unknown_fields},
                      .name = qdq_pb_text(a->name),
                      .type = {a->type, a->type != QDQ_ATTR_UNDEFINED},
                      .ref_attr_name = text_or_none(a->ref)};

    if (a->ref == NULL)
        set_value(&pb, a);
    qdq_wire_put_message(out, number, &qdq_pb_attr_desc, &pb);
}

/* --- nodes ------------------------------------------------------------------------------------ */

static void emit_attrs(qdq_wire_out *out, unsigned number, const void *obj)
{
    const qdq_node *n = obj;

    for (uint32_t i = 0; i < n->n_attr; i++)
        put_attr(out, number, n->attr[i]);
}

static void put_node(writer *w, qdq_wire_out *out, unsigned number, const qdq_node *n)
{
    qdq_pb_node pb = {.head = {.unknown_fields = n->unknown_fields},
                      .input = {scratch_array(w, n->n_in, sizeof(qdq_span)), n->n_in, 0},
                      .output = {scratch_array(w, n->n_out, sizeof(qdq_span)), n->n_out, 0},
                      .name = text_or_none(n->name),
                      .op_type = text_or_none(n->type),
                      .attribute = {.emit = emit_attrs, .obj = n},
                      .domain = text_or_none(n->domain),
                      .overload = text_or_none(n->overload)};

    if (w->st != QDQ_OK)
        return;
    for (uint32_t i = 0; i < n->n_in; i++)
        pb.input.at[i] = qdq_pb_text(n->in[i].value == NULL ? "" : n->in[i].value->name);
    for (uint32_t i = 0; i < n->n_out; i++)
        pb.output.at[i] = qdq_pb_text(n->out[i] == NULL ? "" : n->out[i]->name);
    qdq_wire_put_message(out, number, &qdq_pb_node_desc, &pb);
}

/* --- graphs ----------------------------------------------------------------------------------- */

/* A graph on its way out: its nodes in an order that can run. */
typedef struct sorted_graph {
    const qdq_graph *g;
    qdq_node **node;
    size_t n;
} sorted_graph;

static bool sort(writer *w, const qdq_graph *g, sorted_graph *out)
{
    *out = (sorted_graph){g, NULL, 0};
    if (w->st == QDQ_OK)
        w->st = qdq_graph_sorted(g, &w->scratch, &out->node, &out->n, w->err);
    return w->st == QDQ_OK;
}

static void emit_nodes(qdq_wire_out *out, unsigned number, const void *obj)
{
    const sorted_graph *s = obj;
    writer *w = out->ctx;
    qdq_arena_mark scratch = qdq_arena_get_loop_mark(&w->scratch);

    for (size_t i = 0; i < s->n; i++) {
        put_node(w, out, number, s->node[i]);
        qdq_arena_reset(&w->scratch, scratch);
    }
}

static void emit_initializers(qdq_wire_out *out, unsigned number, const void *obj)
{
    QDQ_FOR_INITS(v, (const qdq_graph *)obj)
    {
        if (v->init != NULL)
            qdq_put_tensor(out, number, v->init, v->name, true);
    }
}

static void emit_sparse_initializers(qdq_wire_out *out, unsigned number, const void *obj)
{
    QDQ_FOR_INITS(v, (const qdq_graph *)obj)
    {
        if (v->sparse != NULL)
            qdq_put_sparse(out, number, v->sparse, v->name);
    }
}

static void put_info(qdq_wire_out *out, unsigned number, const char *name, const qdq_type *type,
                     qdq_span rest)
{
    qdq_pb_value_info pb = {.head = {.unknown_fields = rest}, .name = qdq_pb_text(name)};

    if (type != NULL)
        pb.type = (qdq_wire_member_MSG){.emit = qdq_emit_type, .obj = type};
    qdq_wire_put_message(out, number, &qdq_pb_value_info_desc, &pb);
}

static void emit_inputs(qdq_wire_out *out, unsigned number, const void *obj)
{
    const qdq_graph *g = obj;

    for (size_t i = 0; i < g->inputs.n; i++)
        put_info(out, number, g->inputs.at[i]->name, g->inputs.at[i]->type,
                 g->inputs.at[i]->unknown_fields);
}

static void emit_outputs(qdq_wire_out *out, unsigned number, const void *obj)
{
    const writer *w = out->ctx;
    const qdq_graph *g = obj;
    bool is_main = g == w->m->graph, own = !is_main || !w->opts->only_exposed;

    for (size_t i = 0; own && i < g->outputs.n; i++)
        put_info(out, number, g->outputs.at[i]->name, g->outputs.at[i]->type,
                 g->outputs.at[i]->unknown_fields);
    for (size_t i = 0; is_main && i < w->opts->n_expose; i++) {
        const qdq_value *v = qdq_graph_find(g, w->opts->expose[i]);
        if (v != NULL && !(own && v->n_output > 0))
            put_info(out, number, v->name, NULL, (qdq_span){NULL, 0});
    }
}

/* An initializer's type is its tensor's: what was read is written again as long as it agrees. */
static void emit_value_infos(qdq_wire_out *out, unsigned number, const void *obj)
{
    const sorted_graph *s = obj;

    QDQ_FOR_INITS(v, s->g)
    {
        if (v->has_info && !v->is_input && v->n_output == 0 &&
            (v->sparse != NULL || (v->init != NULL && qdq_type_is_of(v->type, v->init))))
            put_info(out, number, v->name, v->type, v->unknown_fields);
    }
    for (size_t i = 0; i < s->n; i++)
        for (uint32_t k = 0; k < s->node[i]->n_out; k++) {
            const qdq_value *v = s->node[i]->out[k];
            if (v != NULL && v->n_output == 0 &&
                (v->type != NULL || v->unknown_fields.size > 0 || v->has_info))
                put_info(out, number, v->name, v->type, v->unknown_fields);
        }
}

static void emit_graph(qdq_wire_out *out, unsigned number, const void *obj)
{
    writer *w = out->ctx;
    const qdq_graph *g = obj;
    qdq_arena_mark scratch = qdq_arena_get_mark(&w->scratch);
    qdq_pb_graph pb = {.head = {.unknown_fields = g->unknown_fields},
                       .name = text_or_none(g->name),
                       .initializer = {.emit = emit_initializers, .obj = g},
                       .input = {.emit = emit_inputs, .obj = g},
                       .output = {.emit = emit_outputs, .obj = g},
                       .sparse_initializer = {.emit = emit_sparse_initializers, .obj = g}};
    sorted_graph sorted;

    if (w->depth >= QDQ_MAX_NESTING && w->st == QDQ_OK)
        w->st = qdq_fail(w->err, QDQ_E_UNSUPPORTED, "graph '%s': graphs nest deeper than %d",
                         g->name, QDQ_MAX_NESTING);
    if (!sort(w, g, &sorted))
        return;
    pb.node = (qdq_wire_member_MSGS){.emit = emit_nodes, .obj = &sorted};
    pb.value_info = (qdq_wire_member_MSGS){.emit = emit_value_infos, .obj = &sorted};
    w->depth++;
    qdq_wire_put_message(out, number, &qdq_pb_graph_desc, &pb);
    w->depth--;
    qdq_arena_reset(&w->scratch, scratch);
}

/* --- functions and the model ------------------------------------------------------------------ */

typedef struct opset_list {
    const qdq_opset *at;
    size_t n;
} opset_list;

static void emit_opsets(qdq_wire_out *out, unsigned number, const void *obj)
{
    const opset_list *list = obj;

    for (size_t i = 0; i < list->n; i++) {
        qdq_pb_opset pb = {.head = {.unknown_fields = list->at[i].unknown_fields},
                           .domain = text_or_none(list->at[i].domain),
                           .version = {list->at[i].version, true}};
        qdq_wire_put_message(out, number, &qdq_pb_opset_desc, &pb);
    }
}

static void emit_attr_protos(qdq_wire_out *out, unsigned number, const void *obj)
{
    const qdq_function *f = obj;

    for (size_t i = 0; i < f->attr_protos.n; i++)
        put_attr(out, number, f->attr_protos.at[i]);
}

static qdq_wire_member_TEXTS value_names(writer *w, qdq_value *const *at, size_t n)
{
    qdq_wire_member_TEXTS texts = {scratch_array(w, n, sizeof(qdq_span)), 0, 0};

    for (; texts.at != NULL && texts.n < n; texts.n++)
        texts.at[texts.n] = qdq_pb_text(at[texts.n]->name);
    return texts;
}

static void put_function(writer *w, qdq_wire_out *out, unsigned number, const qdq_function *f)
{
    opset_list opsets = {f->opsets.at, f->opsets.n};
    qdq_pb_function pb = {
        .head = {.unknown_fields = f->unknown_fields},
        .name = text_or_none(f->name),
        .input = value_names(w, f->body->inputs.at, f->body->inputs.n),
        .output = value_names(w, f->body->outputs.at, f->body->outputs.n),
        .attribute = {scratch_array(w, f->attrs.n, sizeof(qdq_span)), f->attrs.n, 0},
        .opset_import = {.emit = emit_opsets, .obj = &opsets},
        .domain = text_or_none(f->domain),
        .attribute_proto = {.emit = emit_attr_protos, .obj = f},
        .overload = text_or_none(f->overload)};
    sorted_graph sorted;

    if (!sort(w, f->body, &sorted))
        return;
    for (size_t i = 0; i < f->attrs.n; i++)
        pb.attribute.at[i] = qdq_pb_text(f->attrs.at[i]);
    pb.node = (qdq_wire_member_MSGS){.emit = emit_nodes, .obj = &sorted};
    pb.value_info = (qdq_wire_member_MSGS){.emit = emit_value_infos, .obj = &sorted};
    qdq_wire_put_message(out, number, &qdq_pb_function_desc, &pb);
}

static void emit_functions(qdq_wire_out *out, unsigned number, const void *obj)
{
    const qdq_model *m = obj;
    writer *w = out->ctx;

    for (size_t i = 0; i < m->functions.n; i++) {
        qdq_arena_mark scratch = qdq_arena_get_mark(&w->scratch);
        put_function(w, out, number, m->functions.at[i]);
        qdq_arena_reset(&w->scratch, scratch);
    }
}

static void emit_props(qdq_wire_out *out, unsigned number, const void *obj)
{
    const qdq_model *m = obj;

    for (size_t i = 0; i < m->props.n; i++) {
        qdq_pb_prop pb = {.key = qdq_pb_text(m->props.at[i].key),
                          .value = qdq_pb_text(m->props.at[i].value)};
        qdq_wire_put_message(out, number, &qdq_pb_prop_desc, &pb);
    }
}

static qdq_status check_exposed(const qdq_model *m, const qdq_onnx_write_opts *opts, qdq_error *err)
{
    for (size_t i = 0; i < opts->n_expose; i++)
        if (qdq_graph_find(m->graph, opts->expose[i]) == NULL)
            return qdq_fail(err, QDQ_E_USAGE, "graph '%s': no value '%s' that could be an output",
                            m->graph->name, opts->expose[i]);
    return QDQ_OK;
}

qdq_status qdq_onnx_encode(const qdq_model *m, const qdq_onnx_write_opts *opts, qdq_wire_out *out,
                           qdq_error *err)
{
    static const qdq_onnx_write_opts none = {NULL, NULL, NULL, 0, false};
    writer w = {.m = m, .opts = opts != NULL ? opts : &none, .err = err};
    opset_list opsets = {m->opsets.at, m->opsets.n};
    qdq_pb_model pb = {.head = {.unknown_fields = m->unknown_fields},
                       .ir_version = {m->ir_version, true},
                       .producer_name = text_or_none(m->producer_name),
                       .producer_version = text_or_none(m->producer_version),
                       .graph = {.emit = emit_graph, .obj = m->graph},
                       .opset_import = {.emit = emit_opsets, .obj = &opsets},
                       .metadata_props = {.emit = emit_props, .obj = m},
                       .functions = {.emit = emit_functions, .obj = m}};

    *out = (qdq_wire_out){.ctx = &w, .bytes = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT)};
    QDQ_TRY(check_exposed(m, w.opts, err));
    qdq_wire_encode(out, &qdq_pb_model_desc, &pb);
    qdq_arena_free(&w.scratch);
    out->ctx = NULL;
    if (w.st == QDQ_OK && (out->failed || out->bytes.failed))
        return qdq_nomem(err);
    return w.st;
}

qdq_status qdq_onnx_write_to_buf(const qdq_model *m, const qdq_onnx_write_opts *opts, qdq_buf *buf,
                                 qdq_error *err)
{
    qdq_wire_out out;
    qdq_status st = qdq_onnx_encode(m, opts, &out, err);

    if (st == QDQ_OK)
        st = qdq_wire_to_buf(&out, NULL, buf, err);
    qdq_wire_out_free(&out);
    return st;
}

bool qdq_onnx_mapped_ref(const qdq_tensor *t, qdq_onnx_ref *ref)
{
    const char *path = t->owner == NULL ? NULL : qdq_mapping_path(t->owner);
    const char *slash;

    if (t->storage != QDQ_STORE_BYTES || path == NULL || t->bytes.size == 0)
        return false;
    slash = strrchr(path, '/');
    ref->location = slash == NULL ? path : slash + 1;
    ref->offset = (uint64_t)(t->bytes.data - qdq_mapping_data(t->owner));
    ref->length = t->bytes.size;
    return true;
}
