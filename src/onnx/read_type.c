/* read_type.c - TypeProto -> qdq_type.
 *
 * What the struct cannot say (denotations of dimensions, fields of newer ONNX versions, element
 * types that we do not know) must survive: then `unknown_fields` keeps the whole TypeProto, which
 * the writer recognises and prefers. */
#include "onnx/read.h"
#include "base/fail.h"

/* Paddle's exporter calls every dim that it does not know "?": such dims are not equal. */
static bool is_symbol(qdq_span param)
{
    return param.size > 0 && !qdq_span_is(param, "?");
}

/* Dims of -1, which some exporters write for "unknown", and symbols of "" and "?" are not what we
 * would write. */
static qdq_status read_dim(qdq_reader *r, qdq_span body, qdq_dim *dim, bool *whole, qdq_error *err)
{
    qdq_pb_dim pb;

    QDQ_TRY(qdq_wire_decode(&r->in, &qdq_pb_dim_desc, body, &pb, err));
    dim->value = pb.dim_value.has && pb.dim_value.v >= 0 ? pb.dim_value.v : -1;
    dim->param = NULL;
    if (pb.head.unknown_fields.size > 0 || (pb.dim_value.has && pb.dim_value.v < 0) ||
        (pb.dim_param.data != NULL && (pb.dim_value.has || !is_symbol(pb.dim_param))))
        *whole = true;
    if (dim->value < 0 && is_symbol(pb.dim_param))
        QDQ_TRY(qdq_read_name(r, pb.dim_param, "symbol of a dimension", &dim->param, err));
    return QDQ_OK;
}

static qdq_status read_shape(qdq_reader *r, qdq_span body, qdq_type *type, bool *whole,
                             qdq_error *err)
{
    qdq_pb_shape pb;
    qdq_dim *dim;

    QDQ_TRY(qdq_wire_decode(&r->in, &qdq_pb_shape_desc, body, &pb, err));
    if (pb.head.unknown_fields.size > 0)
        *whole = true;
    if (pb.dim.n > QDQ_MAX_RANK)
        return qdq_fail(err, QDQ_E_UNSUPPORTED,
                        "a shape of %zu dimensions, at most %d are supported", pb.dim.n,
                        QDQ_MAX_RANK);
    QDQ_NEED((dim = qdq_read_array(r, pb.dim.n, sizeof *dim)) != NULL, err);
    for (size_t i = 0; i < pb.dim.n; i++)
        QDQ_TRY(read_dim(r, pb.dim.at[i], &dim[i], whole, err));
    type->rank = (int)pb.dim.n;
    type->dim = dim;
    return QDQ_OK;
}

static qdq_elem known_elem(int64_t number, bool *whole)
{
    if (number >= 0 && number < QDQ_ELEM_COUNT)
        return (qdq_elem)number;
    *whole = true;
    return QDQ_UNDEFINED;
}

static qdq_status read_tensor_type(qdq_reader *r, qdq_span body, qdq_type *type, bool *whole,
                                   qdq_error *err)
{
    qdq_pb_type_tensor pb;

    QDQ_TRY(qdq_wire_decode(&r->in, &qdq_pb_type_tensor_desc, body, &pb, err));
    if (pb.head.unknown_fields.size > 0)
        *whole = true;
    type->elem = known_elem(pb.elem_type.v, whole);
    type->rank = -1;
    return pb.shape.n == 0 ? QDQ_OK : read_shape(r, pb.shape.at[0], type, whole, err);
}

static qdq_status read_inner(qdq_reader *r, qdq_span body, int depth, qdq_type *type, bool *whole,
                             qdq_error *err)
{
    qdq_pb_type_inner pb;

    QDQ_TRY(qdq_wire_decode(&r->in, &qdq_pb_type_inner_desc, body, &pb, err));
    if (pb.head.unknown_fields.size > 0)
        *whole = true;
    return pb.elem_type.n == 0 ? QDQ_OK
                               : qdq_read_type(r, pb.elem_type.at[0], depth + 1, &type->inner, err);
}

static qdq_status read_map(qdq_reader *r, qdq_span body, int depth, qdq_type *type, bool *whole,
                           qdq_error *err)
{
    qdq_pb_type_map pb;

    QDQ_TRY(qdq_wire_decode(&r->in, &qdq_pb_type_map_desc, body, &pb, err));
    if (pb.head.unknown_fields.size > 0)
        *whole = true;
    type->elem = known_elem(pb.key_type.v, whole);
    return pb.value_type.n == 0
               ? QDQ_OK
               : qdq_read_type(r, pb.value_type.at[0], depth + 1, &type->inner, err);
}

static qdq_status read_members(qdq_reader *r, const qdq_pb_type *pb, int depth, qdq_type *type,
                               bool *whole, qdq_error *err)
{
    size_t kinds = pb->tensor_type.n + pb->sequence_type.n + pb->map_type.n + pb->opaque_type.n +
                   pb->sparse_tensor_type.n + pb->optional_type.n;

    type->kind = QDQ_TYPE_OTHER;
    *whole = true;
    if (kinds != 1 || pb->opaque_type.n == 1)
        return QDQ_OK;
    *whole = false;
    if (pb->tensor_type.n == 1) {
        type->kind = QDQ_TYPE_TENSOR;
        return read_tensor_type(r, pb->tensor_type.at[0], type, whole, err);
    }
    if (pb->sparse_tensor_type.n == 1) {
        type->kind = QDQ_TYPE_SPARSE;
        return read_tensor_type(r, pb->sparse_tensor_type.at[0], type, whole, err);
    }
    if (pb->map_type.n == 1) {
        type->kind = QDQ_TYPE_MAP;
        return read_map(r, pb->map_type.at[0], depth, type, whole, err);
    }
    type->kind = pb->sequence_type.n == 1 ? QDQ_TYPE_SEQUENCE : QDQ_TYPE_OPTIONAL;
    return read_inner(r,
                      pb->sequence_type.n == 1 ? pb->sequence_type.at[0] : pb->optional_type.at[0],
                      depth, type, whole, err);
}

static qdq_status read_new(qdq_reader *r, qdq_span body, int depth, const qdq_type **out,
                           qdq_error *err)
{
    qdq_pb_type pb;
    qdq_type *type;
    bool whole;

    QDQ_TRY(qdq_wire_decode(&r->in, &qdq_pb_type_desc, body, &pb, err));
    QDQ_NEED((type = qdq_arena_alloc(&r->m->arena, sizeof *type)) != NULL, err);
    QDQ_TRY(read_members(r, &pb, depth, type, &whole, err));
    type->unknown_fields = whole ? body : pb.head.unknown_fields;
    *out = type;
    return QDQ_OK;
}

static qdq_seen_type *seen_place(qdq_reader *r, qdq_span body)
{
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < body.size && i < 64; i++)
        hash = (hash ^ body.data[i]) * 16777619u;
    return &r->seen[hash >> 16 & (QDQ_SEEN_TYPES - 1)];
}

/* Inner types are always read, or the depth of a type could grow with every one that is known
 * already. */
qdq_status qdq_read_type(qdq_reader *r, qdq_span body, int depth, const qdq_type **out,
                         qdq_error *err)
{
    qdq_seen_type *seen = seen_place(r, body);

    *out = NULL;
    if (depth >= QDQ_MAX_NESTING)
        return qdq_fail(err, QDQ_E_FORMAT, "types nest deeper than %d", QDQ_MAX_NESTING);
    if (depth > 0)
        return read_new(r, body, depth, out, err);
    if (seen->type != NULL && qdq_span_equal(seen->body, body)) {
        *out = seen->type;
        return QDQ_OK;
    }
    QDQ_TRY(read_new(r, body, depth, out, err));
    *seen = (qdq_seen_type){body, *out};
    return QDQ_OK;
}
