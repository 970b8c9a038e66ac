/* annotations.c - removes quantization annotations whose tensors are gone. */
#include "opt/annotations.h"

#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "onnx/wire.h"

/* Field numbers of onnx.proto. */
enum {
    GRAPH_ANNOTATION = 14, /* TensorAnnotation */
    TENSOR_NAME = 1,
    TENSOR_PARAMETER = 2, /* StringStringEntryProto */
    PARAMETER_VALUE = 2
};

static qdq_span text_of(qdq_span message, uint32_t number)
{
    qdq_span text = {(const unsigned char *)"", 0};
    qdq_wire_item item;

    for (size_t at = 0; qdq_wire_next(message, &at, &item);)
        if (item.number == number && item.payload.data != NULL)
            text = item.payload;
    return text;
}

/* The value of this graph, or of one around it, that a field names; or NULL. */
static const qdq_value *named(const qdq_graph *g, qdq_span message, uint32_t number)
{
    qdq_span text = text_of(message, number);

    return qdq_graph_resolve_n(g, (const char *)text.data, text.size);
}

/* All that it names is there; what it says of constants is then put into `needed`. */
static bool is_alive(const qdq_graph *g, qdq_span annotation, qdq_map *needed, bool *nomem)
{
    bool alive = named(g, annotation, TENSOR_NAME) != NULL;
    qdq_wire_item item;

    for (size_t at = 0; alive && qdq_wire_next(annotation, &at, &item);)
        if (item.number == TENSOR_PARAMETER)
            alive = named(g, item.payload, PARAMETER_VALUE) != NULL;
    for (size_t at = 0; alive && qdq_wire_next(annotation, &at, &item);)
        if (item.number == TENSOR_PARAMETER &&
            qdq_map_put(needed, named(g, item.payload, PARAMETER_VALUE)->name, NULL) == NULL)
            *nomem = true;
    return alive;
}

static bool take_annotation(qdq_opt *o, qdq_span annotation)
{
    qdq_span name = text_of(annotation, TENSOR_NAME);
    const char *text = qdq_arena_strndup(&o->scratch, (const char *)name.data, name.size);

    return text != NULL && qdq_opt_take_named(o, text);
}

static qdq_status sweep(qdq_opt *o, qdq_graph *g, qdq_map *needed, qdq_buf *kept, qdq_error *err)
{
    bool nomem = false;
    qdq_wire_item item;
    unsigned char *copy;

    for (size_t at = 0; qdq_wire_next(g->unknown_fields, &at, &item);)
        if (item.number != GRAPH_ANNOTATION || is_alive(g, item.payload, needed, &nomem) ||
            !take_annotation(o, item.payload))
            qdq_buf_append(kept, item.whole.data, item.whole.size);
    QDQ_NEED(!nomem && !kept->failed, err);
    if (kept->size == g->unknown_fields.size)
        return QDQ_OK;
    copy = qdq_arena_copy(&g->model->arena, kept->data, kept->size, 1);
    QDQ_NEED(copy != NULL, err);
    qdq_graph_set_rest(g, (qdq_span){copy, kept->size});
    return QDQ_OK;
}

qdq_status qdq_annotations_sweep(qdq_opt *o, qdq_graph *g, qdq_map *needed, qdq_error *err)
{
    qdq_buf kept = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
    qdq_status st = sweep(o, g, needed, &kept, err);

    qdq_buf_free(&kept);
    return st;
}
