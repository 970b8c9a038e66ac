/* node_props.c - reads and writes metadata_props of a node as wire bytes. */
#include "onnx/node_props.h"

#include <string.h>

#include "base/fail.h"
#include "ir/edit.h"
#include "onnx/schema.h"
#include "onnx/write.h"

enum { FIELD_METADATA = 9, MOST_BYTES = 1 << 24 };

/* Is it an entry whose key begins with the prefix? */
static bool is_ours(const qdq_wire_item *item, const char *prefix, qdq_arena *scratch)
{
    const qdq_wire_in in = {(const unsigned char *)item->payload.data, scratch, scratch};
    qdq_error ignored = QDQ_ERROR_INIT;
    qdq_pb_prop prop;

    return item->number == FIELD_METADATA && item->type == 2 &&
           qdq_wire_decode(&in, &qdq_pb_prop_desc, item->payload, &prop, &ignored) == QDQ_OK &&
           prop.key.size >= strlen(prefix) && memcmp(prop.key.data, prefix, strlen(prefix)) == 0;
}

/* The fields of `unknown_fields` up to the metadata, or behind it. */
static void put_rest(qdq_wire_out *out, qdq_span rest, bool behind, const char *prefix,
                     qdq_arena *scratch)
{
    qdq_wire_item item;
    size_t pos = 0;

    while (qdq_wire_next(rest, &pos, &item))
        if ((item.number > FIELD_METADATA) == behind && !is_ours(&item, prefix, scratch))
            qdq_wire_put(out, item.whole);
}

static void put_props(qdq_wire_out *out, const qdq_prop *props, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const qdq_pb_prop pb = {.key = qdq_pb_text(props[i].key),
                                .value = qdq_pb_text(props[i].value)};

        qdq_wire_put_message(out, FIELD_METADATA, &qdq_pb_prop_desc, &pb);
    }
}

qdq_status qdq_node_set_props(qdq_node *n, const char *prefix, const qdq_prop *props,
                              size_t n_props, qdq_error *err)
{
    qdq_wire_out out = {.bytes = QDQ_BUF_INIT(MOST_BYTES)};
    qdq_buf whole = QDQ_BUF_INIT(MOST_BYTES);
    qdq_arena scratch = QDQ_ARENA_INIT;

    put_rest(&out, n->unknown_fields, false, prefix, &scratch);
    put_props(&out, props, n_props);
    put_rest(&out, n->unknown_fields, true, prefix, &scratch);
    qdq_status st = qdq_wire_to_buf(&out, NULL, &whole, err);
    unsigned char *copy = st == QDQ_OK && whole.size > 0
                              ? qdq_arena_alloc(&n->graph->model->arena, whole.size)
                              : NULL;
    if (st == QDQ_OK && whole.size > 0 && copy == NULL)
        st = qdq_nomem(err);
    if (st == QDQ_OK) {
        if (copy != NULL)
            memcpy(copy, whole.data, whole.size);
        qdq_node_set_rest(n, (qdq_span){copy, whole.size});
    }
    qdq_wire_out_free(&out);
    qdq_buf_free(&whole);
    qdq_arena_free(&scratch);
    return st;
}

/* Below 4 every initializer is listed as an input and is a constant all the same (upgrade.c). */
void qdq_model_allow_node_props(qdq_model *m)
{
    if (m->ir_version >= QDQ_NODE_PROPS_IR)
        return;
    if (m->ir_version < 4)
        qdq_graph_unlist_inits(m->graph);
    m->ir_version = QDQ_NODE_PROPS_IR;
}
