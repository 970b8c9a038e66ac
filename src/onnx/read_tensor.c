/* read_tensor.c - TensorProto and SparseTensorProto -> qdq_tensor, external data included.
 *
 * Tensor bytes are not read: raw data stays where it is in the mapping, typed fields stay in wire
 * form. What is checked here is that there are as many bytes as the shape needs, so that no one
 * later has to. */
#include "onnx/read.h"
#include "base/fail.h"
#include "ir/edit.h"

#include <inttypes.h>

/* --- shape ------------------------------------------------------------------------------------ */

static qdq_status read_dims(qdq_reader *r, const qdq_wire_member_INTS *dims, int *rank,
                            const int64_t **dim, int64_t *count, qdq_error *err)
{
    int64_t *copy;

    if (dims->n > QDQ_MAX_RANK)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "%zu dimensions, at most %d are supported", dims->n,
                        QDQ_MAX_RANK);
    QDQ_NEED((copy = qdq_read_array(r, dims->n, sizeof *copy)) != NULL, err);
    *count = 1;
    for (size_t i = 0; i < dims->n; i++) {
        int64_t d = dims->at[i];
        if (d < 0)
            return qdq_fail(err, QDQ_E_FORMAT, "dimension %zu is negative (%" PRId64 ")", i, d);
        if (d != 0 && *count > INT64_MAX / d)
            return qdq_fail(err, QDQ_E_FORMAT, "the product of the dimensions overflows 64 bits");
        *count *= d;
        copy[i] = d;
    }
    *rank = (int)dims->n;
    *dim = copy;
    return QDQ_OK;
}

/* --- external data ---------------------------------------------------------------------------- */

typedef struct external_ref {
    /* interned */
    const char *location;
    uint64_t offset, length;
    bool has_length;
} external_ref;

static qdq_status parse_number(const char *key, qdq_span text, uint64_t *out, qdq_error *err)
{
    uint64_t v = 0;

    if (text.size == 0)
        return qdq_fail(err, QDQ_E_FORMAT, "external data: %s is empty, expected a decimal number",
                        key);
    for (size_t i = 0; i < text.size; i++) {
        unsigned digit = (unsigned)text.data[i] - '0';
        if (digit > 9 || v > (UINT64_MAX - digit) / 10)
            return qdq_fail(err, QDQ_E_FORMAT,
                            "external data: %s is '%.*s', expected a decimal number of 64 bits",
                            key, (int)(text.size > 40 ? 40 : text.size), (const char *)text.data);
        v = v * 10 + digit;
    }
    *out = v;
    return QDQ_OK;
}

/* Keys that we do not know ("checksum") say nothing that reading needs. */
static qdq_status read_external_ref(qdq_reader *r, const qdq_wire_member_MSGS *entries,
                                    external_ref *ref, qdq_error *err)
{
    *ref = (external_ref){NULL, 0, 0, false};
    for (size_t i = 0; i < entries->n; i++) {
        qdq_pb_prop pb;
        QDQ_TRY(qdq_wire_decode(&r->in, &qdq_pb_prop_desc, entries->at[i], &pb, err));
        if (pb.key.data == NULL) {
            continue;
        } else if (qdq_span_is(pb.key, "location")) {
            QDQ_TRY(qdq_read_name(r, pb.value, "location of external data", &ref->location, err));
        } else if (qdq_span_is(pb.key, "offset")) {
            QDQ_TRY(parse_number("offset", pb.value, &ref->offset, err));
        } else if (qdq_span_is(pb.key, "length")) {
            QDQ_TRY(parse_number("length", pb.value, &ref->length, err));
            ref->has_length = true;
        }
    }
    if (ref->location == NULL || ref->location[0] == '\0')
        return qdq_fail(err, QDQ_E_FORMAT, "external data without location");
    return QDQ_OK;
}

static qdq_status open_external(qdq_reader *r, const char *location, qdq_mapping **out,
                                qdq_error *err)
{
    const qdq_map_value *known = qdq_map_get(&r->external, location);
    qdq_map_value *place;
    qdq_mapping *map;

    if (known != NULL) {
        *out = known->ptr;
        return QDQ_OK;
    }
    if (r->external_dir == NULL)
        return qdq_fail(
            err, QDQ_E_FORMAT,
            "external data in '%s', but the model comes from memory and no folder was given",
            location);
    QDQ_TRY(qdq_mapping_open_below(r->external_dir, location, &map, err));
    QDQ_NEED(qdq_model_hold(r->m, map) &&
                 (place = qdq_map_put(&r->external, location, NULL)) != NULL,
             err);
    place->ptr = *out = map;
    return QDQ_OK;
}

static qdq_status set_external(qdq_reader *r, const qdq_pb_tensor *pb, qdq_tensor *t, size_t bytes,
                               qdq_error *err)
{
    external_ref ref;
    qdq_mapping *map = NULL;
    qdq_error own = QDQ_ERROR_INIT;

    if (t->elem == QDQ_STRING)
        return qdq_fail(err, QDQ_E_FORMAT, "strings as external data, expected string_data");
    QDQ_TRY(read_external_ref(r, &pb->external_data, &ref, err));
    const qdq_status st = open_external(r, ref.location, &map, &own);
    const bool is_missing = st == QDQ_E_IO && r->missing != NULL;
    if (is_missing && r->missing->code == QDQ_OK)
        *r->missing = own;
    if (st != QDQ_OK && !is_missing) {
        if (err != NULL)
            *err = own;
        return st;
    }
    if (ref.has_length && ref.length != bytes)
        return qdq_fail(err, QDQ_E_FORMAT,
                        "external data '%s': length is %" PRIu64 " bytes, the shape needs %zu",
                        ref.location, ref.length, bytes);
    if (!is_missing &&
        (ref.offset > qdq_mapping_size(map) || bytes > qdq_mapping_size(map) - ref.offset))
        return qdq_fail(err, QDQ_E_FORMAT,
                        "external data '%s': offset %" PRIu64
                        " and length %zu reach beyond the end of the file (%zu bytes)",
                        ref.location, ref.offset, bytes, qdq_mapping_size(map));
    t->storage = QDQ_STORE_BYTES;
    t->owner = map;
    t->bytes =
        (qdq_span){bytes == 0 || is_missing ? NULL : qdq_mapping_data(map) + ref.offset, bytes};
    t->external = true;
    r->m->had_external = true;
    return QDQ_OK;
}

/* --- data inside the file --------------------------------------------------------------------- */

/* The typed field that ONNX wants for an element type, and how many numbers in it make how many
 * elements. */
typedef struct typed_field {
    /* 0: the type has none */
    unsigned number;
    /* `per_entry` elements in `per` numbers */
    unsigned per_entry, per;
} typed_field;

static typed_field field_of(qdq_elem e)
{
    const qdq_elem_info *info = qdq_elem_get_info(e);
    const bool is_complex = info->kind == QDQ_ELEM_OTHER && info->bits > 0;

    return (typed_field){info->field,
                         info->bits == 2   ? 4
                         : info->bits == 4 ? 2
                                           : 1,
                         is_complex ? 2 : 1};
}

static size_t count_of(const qdq_pb_tensor *pb, unsigned number)
{
    switch (number) {
    case QDQ_PB_tensor_float_data:
        return pb->float_data.n;
    case QDQ_PB_tensor_int32_data:
        return pb->int32_data.n;
    case QDQ_PB_tensor_string_data:
        return pb->string_data.n;
    case QDQ_PB_tensor_int64_data:
        return pb->int64_data.n;
    case QDQ_PB_tensor_double_data:
        return pb->double_data.n;
    case QDQ_PB_tensor_uint64_data:
        return pb->uint64_data.n;
    default:
        return 0;
    }
}

static qdq_status set_strings(qdq_reader *r, const qdq_pb_tensor *pb, qdq_tensor *t, qdq_error *err)
{
    t->storage = QDQ_STORE_STRINGS;
    t->strings = qdq_arena_copy(&r->m->arena, pb->string_data.at, pb->string_data.n,
                                sizeof *pb->string_data.at);
    return qdq_allocated(t->strings != NULL, err);
}

static qdq_status set_typed(qdq_reader *r, const qdq_pb_tensor *pb, qdq_tensor *t, size_t total,
                            qdq_error *err)
{
    typed_field field = field_of(t->elem);
    size_t found = count_of(pb, field.number);
    uint64_t need =
        (uint64_t)t->count / field.per_entry + ((uint64_t)t->count % field.per_entry != 0);

    if (found != total)
        return qdq_fail(err, QDQ_E_FORMAT, "data in a field that does not fit element type %s",
                        qdq_elem_name(t->elem));
    if (need > UINT64_MAX / field.per || found != need * field.per)
        return qdq_fail(err, QDQ_E_FORMAT, "%zu values of type %s, the shape needs %" PRId64, found,
                        qdq_elem_name(t->elem), t->count);
    if (t->elem == QDQ_STRING)
        return set_strings(r, pb, t, err);
    t->storage = found == 0 ? QDQ_STORE_BYTES : QDQ_STORE_WIRE;
    return QDQ_OK;
}

static qdq_status set_data(qdq_reader *r, const qdq_pb_tensor *pb, qdq_tensor *t, qdq_error *err)
{
    size_t total = pb->float_data.n + pb->int32_data.n + pb->string_data.n + pb->int64_data.n +
                   pb->double_data.n + pb->uint64_data.n;
    size_t bytes = 0;

    if (t->elem != QDQ_STRING && !qdq_elem_bytes(t->elem, t->count, &bytes))
        return qdq_fail(err, QDQ_E_FORMAT,
                        "%" PRId64 " elements of type %s overflow the address space", t->count,
                        qdq_elem_name(t->elem));
    if (pb->data_location.v == 1) {
        if (total > 0 || pb->raw_data.size > 0)
            return qdq_fail(err, QDQ_E_FORMAT,
                            "both external data and data in the file, expected one");
        return set_external(r, pb, t, bytes, err);
    }
    t->owner = r->file;
    if (pb->raw_data.size == 0)
        return set_typed(r, pb, t, total, err);
    if (total > 0)
        return qdq_fail(err, QDQ_E_FORMAT, "both raw data and typed data, expected one");
    if (t->elem == QDQ_STRING)
        return qdq_fail(err, QDQ_E_FORMAT, "strings as raw data, expected string_data");
    if (pb->raw_data.size != bytes)
        return qdq_fail(err, QDQ_E_FORMAT,
                        "%zu bytes of raw data, %" PRId64 " elements of type %s need %zu",
                        pb->raw_data.size, t->count, qdq_elem_name(t->elem), bytes);
    t->storage = QDQ_STORE_BYTES;
    t->bytes = pb->raw_data;
    return QDQ_OK;
}

static qdq_status fill_tensor(qdq_reader *r, const qdq_pb_tensor *pb, qdq_tensor *t, qdq_error *err)
{
    if (pb->data_type.v <= 0)
        return qdq_fail(err, QDQ_E_FORMAT, "element type %" PRId64 ", expected 1 to %d",
                        pb->data_type.v, QDQ_ELEM_COUNT - 1);
    if (pb->data_type.v >= QDQ_ELEM_COUNT)
        return qdq_fail(err, QDQ_E_UNSUPPORTED,
                        "element type %" PRId64 " is not known, 1 to %d are", pb->data_type.v,
                        QDQ_ELEM_COUNT - 1);
    if (pb->segment.n > 0)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "a tensor in segments");
    if (pb->data_location.v < 0 || pb->data_location.v > 1)
        return qdq_fail(err, QDQ_E_FORMAT, "data location %" PRId64 ", expected 0 or 1",
                        pb->data_location.v);
    t->elem = (qdq_elem)pb->data_type.v;
    QDQ_TRY(read_dims(r, &pb->dims, &t->rank, &t->dim, &t->count, err));
    return set_data(r, pb, t, err);
}

qdq_status qdq_read_tensor(qdq_reader *r, qdq_span body, qdq_tensor **out, qdq_error *err)
{
    qdq_tensor *t = qdq_arena_alloc(&r->m->arena, sizeof *t);
    qdq_pb_tensor pb;
    qdq_status st;

    *out = NULL;
    QDQ_NEED(t != NULL, err);
    QDQ_TRY(qdq_wire_decode(&r->in, &qdq_pb_tensor_desc, body, &pb, err));
    QDQ_TRY(qdq_read_name(r, pb.name, "tensor name", &t->name, err));
    t->wire = body;
    t->unknown_fields = pb.head.unknown_fields;
    st = fill_tensor(r, &pb, t, err);
    if (st != QDQ_OK)
        return qdq_within(err, st, "tensor '%s'", t->name);
    *out = t;
    return QDQ_OK;
}

qdq_status qdq_read_sparse(qdq_reader *r, qdq_span body, qdq_sparse **out, qdq_error *err)
{
    qdq_sparse *s = qdq_arena_alloc(&r->m->arena, sizeof *s);
    qdq_pb_sparse pb;
    qdq_tensor *values = NULL, *indices = NULL;
    int64_t count;

    *out = NULL;
    QDQ_NEED(s != NULL, err);
    QDQ_TRY(qdq_wire_decode(&r->in, &qdq_pb_sparse_desc, body, &pb, err));
    if (pb.values.n == 0)
        return qdq_fail(err, QDQ_E_FORMAT, "a sparse tensor without values");
    QDQ_TRY(qdq_read_tensor(r, pb.values.at[0], &values, err));
    if (pb.indices.n == 1)
        QDQ_TRY(qdq_read_tensor(r, pb.indices.at[0], &indices, err));
    QDQ_TRY(read_dims(r, &pb.dims, &s->rank, &s->dim, &count, err));
    s->values = values;
    s->indices = indices;
    s->wire = body;
    *out = s;
    return QDQ_OK;
}
