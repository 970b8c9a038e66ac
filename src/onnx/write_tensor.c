/* write_tensor.c - tensors and types -> wire form. A tensor that is as it was read is written as it
 * was read; otherwise its own fields are new and all others are taken over from what was read. */
#include "onnx/write.h"
#include "onnx/schema.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* --- types ------------------------------------------------------------------------------------ */

static void emit_dims(qdq_wire_out *out, unsigned number, const void *obj)
{
    const qdq_type *t = obj;

    for (int i = 0; i < t->rank; i++) {
        qdq_pb_dim pb = {.dim_value = {t->dim[i].value, t->dim[i].value >= 0}};
        if (t->dim[i].value < 0 && t->dim[i].param != NULL)
            pb.dim_param = qdq_pb_text(t->dim[i].param);
        qdq_wire_put_message(out, number, &qdq_pb_dim_desc, &pb);
    }
}

static void emit_shape(qdq_wire_out *out, unsigned number, const void *obj)
{
    qdq_pb_shape pb = {.dim = {.emit = emit_dims, .obj = obj}};

    qdq_wire_put_message(out, number, &qdq_pb_shape_desc, &pb);
}

static void emit_tensor_type(qdq_wire_out *out, unsigned number, const void *obj)
{
    const qdq_type *t = obj;
    qdq_pb_type_tensor pb = {.elem_type = {t->elem, t->elem != QDQ_UNDEFINED}};

    if (t->rank >= 0)
        pb.shape = (qdq_wire_member_MSG){.emit = emit_shape, .obj = t};
    qdq_wire_put_message(out, number, &qdq_pb_type_tensor_desc, &pb);
}

static void emit_inner(qdq_wire_out *out, unsigned number, const void *obj)
{
    const qdq_type *t = obj;
    qdq_pb_type_inner pb = {0};

    if (t->inner != NULL)
        pb.elem_type = (qdq_wire_member_MSG){.emit = qdq_emit_type, .obj = t->inner};
    qdq_wire_put_message(out, number, &qdq_pb_type_inner_desc, &pb);
}

static void emit_map(qdq_wire_out *out, unsigned number, const void *obj)
{
    const qdq_type *t = obj;
    qdq_pb_type_map pb = {.key_type = {t->elem, t->elem != QDQ_UNDEFINED}};

    if (t->inner != NULL)
        pb.value_type = (qdq_wire_member_MSG){.emit = qdq_emit_type, .obj = t->inner};
    qdq_wire_put_message(out, number, &qdq_pb_type_map_desc, &pb);
}

/* `unknown_fields` that has the value itself is the whole type: see qdq_type. */
static bool is_whole(const qdq_type *t)
{
    qdq_wire_item item;

    for (size_t pos = 0; qdq_wire_next(t->unknown_fields, &pos, &item);)
        if (item.number < QDQ_WIRE_FIELDS && (qdq_pb_type_desc.known >> item.number & 1) != 0)
            return true;
    return t->kind == QDQ_TYPE_OTHER;
}

void qdq_emit_type(qdq_wire_out *out, unsigned number, const void *obj)
{
    const qdq_type *t = obj;
    qdq_pb_type pb = {.head = {.unknown_fields = t->unknown_fields}};

    if (is_whole(t)) {
        qdq_wire_put_text(out, number, t->unknown_fields);
        return;
    }
    switch (t->kind) {
    case QDQ_TYPE_TENSOR:
        pb.tensor_type = (qdq_wire_member_MSG){.emit = emit_tensor_type, .obj = t};
        break;
    case QDQ_TYPE_SPARSE:
        pb.sparse_tensor_type = (qdq_wire_member_MSG){.emit = emit_tensor_type, .obj = t};
        break;
    case QDQ_TYPE_SEQUENCE:
        pb.sequence_type = (qdq_wire_member_MSG){.emit = emit_inner, .obj = t};
        break;
    case QDQ_TYPE_OPTIONAL:
        pb.optional_type = (qdq_wire_member_MSG){.emit = emit_inner, .obj = t};
        break;
    case QDQ_TYPE_MAP:
        pb.map_type = (qdq_wire_member_MSG){.emit = emit_map, .obj = t};
        break;
    case QDQ_TYPE_OTHER:
        break;
    }
    qdq_wire_put_message(out, number, &qdq_pb_type_desc, &pb);
}

/* --- tensors ---------------------------------------------------------------------------------- */

static void put_entry(qdq_wire_out *out, unsigned number, const char *key, const char *value)
{
    qdq_pb_prop pb = {.key = qdq_pb_text(key), .value = qdq_pb_text(value)};

    qdq_wire_put_message(out, number, &qdq_pb_prop_desc, &pb);
}

static void emit_external(qdq_wire_out *out, unsigned number, const void *obj)
{
    const qdq_onnx_ref *ref = obj;
    char text[24];

    put_entry(out, number, "location", ref->location);
    snprintf(text, sizeof text, "%" PRIu64, ref->offset);
    put_entry(out, number, "offset", text);
    snprintf(text, sizeof text, "%" PRIu64, ref->length);
    put_entry(out, number, "length", text);
}

/* Names are shared with the value, which may have got another one since. */
static bool has_name(qdq_span wire, const char *name)
{
    qdq_span found = {NULL, 0};
    qdq_wire_item item;

    for (size_t pos = 0; qdq_wire_next(wire, &pos, &item);)
        if (item.number == QDQ_PB_tensor_name)
            found = item.payload;
    return qdq_span_is(found, name);
}

static const uint32_t own_fields =
    QDQ_PB_BIT(tensor_dims) | QDQ_PB_BIT(tensor_data_type) | QDQ_PB_BIT(tensor_name) |
    QDQ_PB_BIT(tensor_raw_data) | QDQ_PB_BIT(tensor_string_data) |
    QDQ_PB_BIT(tensor_external_data) | QDQ_PB_BIT(tensor_data_location);
static const uint32_t typed_fields =
    QDQ_PB_BIT(tensor_float_data) | QDQ_PB_BIT(tensor_int32_data) | QDQ_PB_BIT(tensor_int64_data) |
    QDQ_PB_BIT(tensor_double_data) | QDQ_PB_BIT(tensor_uint64_data);

void qdq_put_tensor(qdq_wire_out *out, unsigned number, const qdq_tensor *t, const char *name,
                    bool is_init)
{
    const qdq_onnx_write_opts *opts = qdq_writer_opts(out);
    qdq_pb_tensor pb = {.head = {.unknown_fields = t->wire.size > 0 ? t->wire : t->unknown_fields,
                                 .rest_skip = own_fields},
                        .dims = {.at = (int64_t *)(uintptr_t)t->dim, .n = (size_t)t->rank},
                        .data_type = {t->elem, true}};
    qdq_onnx_ref ref = {NULL, 0, 0};

    if (opts->external != NULL && t->storage != QDQ_STORE_STRINGS &&
        opts->external(opts->ctx, t, is_init, &ref)) {
        pb.external_data = (qdq_wire_member_MSGS){.emit = emit_external, .obj = &ref};
        pb.data_location.v = 1;
        pb.data_location.has = true;
        pb.head.rest_skip |= typed_fields;
    } else if (t->wire.size > 0 && !t->external && has_name(t->wire, name)) {
        qdq_wire_put_text(out, number, t->wire);
        return;
    } else if (t->storage == QDQ_STORE_BYTES) {
        pb.raw_data = t->bytes.data != NULL ? t->bytes : qdq_pb_text("");
    } else if (t->storage == QDQ_STORE_STRINGS) {
        pb.string_data.at = (qdq_span *)(uintptr_t)t->strings;
        pb.string_data.n = (size_t)t->count;
    }
    if (name[0] != '\0')
        pb.name = qdq_pb_text(name);
    qdq_wire_put_message(out, number, &qdq_pb_tensor_desc, &pb);
}

typedef struct named_tensor {
    const qdq_tensor *t;
    const char *name;
} named_tensor;

static void emit_part(qdq_wire_out *out, unsigned number, const void *obj)
{
    const named_tensor *part = obj;

    qdq_put_tensor(out, number, part->t, part->name, false);
}

/* External parts name a file that the new model may not have: then the parts are written again. */
void qdq_put_sparse(qdq_wire_out *out, unsigned number, const qdq_sparse *s, const char *name)
{
    named_tensor values = {s->values, name != NULL ? name : s->values->name};
    named_tensor indices = {s->indices, s->indices != NULL ? s->indices->name : ""};
    qdq_pb_sparse pb = {.head = {.unknown_fields = s->wire, .rest_skip = qdq_pb_sparse_desc.known},
                        .values = {.emit = emit_part, .obj = &values},
                        .dims = {.at = (int64_t *)(uintptr_t)s->dim, .n = (size_t)s->rank}};

    if (s->wire.size > 0 && !s->values->external && (s->indices == NULL || !s->indices->external) &&
        strcmp(values.name, s->values->name) == 0) {
        qdq_wire_put_text(out, number, s->wire);
        return;
    }
    if (s->indices != NULL)
        pb.indices = (qdq_wire_member_MSG){.emit = emit_part, .obj = &indices};
    qdq_wire_put_message(out, number, &qdq_pb_sparse_desc, &pb);
}
