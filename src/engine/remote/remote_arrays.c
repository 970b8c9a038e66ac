/* remote_arrays.c - writes arrays and inputs as rows over shared memory, and checks rows. */
#include "engine/remote/remote_arrays.h"

#include <string.h>

#include "base/fail.h"
#include "engine/remote/remote_message.h"

enum { ALIGN = 64 };

/* --- arrays ----------------------------------------------------------------------------------- */

enum { A_NAME, A_ELEM, A_OFFSET, A_BYTES, A_DIMS };

qdq_status qdq_remote_array_put(qdq_shared *s, size_t *end, const char *name, const qdq_array *a,
                                qdq_json_out list, qdq_error *err)
{
    size_t offset = (*end + ALIGN - 1) / ALIGN * ALIGN;

    if (a->bytes > SIZE_MAX / 4 - offset)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "'%s': an array of %zu bytes is too large", name,
                        a->bytes);
    if (a->bytes > 0) {
        QDQ_TRY(qdq_shared_need(s, offset + a->bytes, err));
        memcpy(qdq_shared_data(s) + offset, a->data, a->bytes);
    }
    *end = offset + a->bytes;
    qdq_json_out row = qdq_json_put_list(list, NULL);
    qdq_remote_put_text(row, NULL, name);
    qdq_json_put_int(row, NULL, a->elem);
    qdq_json_put_int(row, NULL, (int64_t)offset);
    qdq_json_put_int(row, NULL, (int64_t)a->bytes);
    for (int i = 0; i < a->rank; i++)
        qdq_json_put_int(row, NULL, a->dim[i]);
    return QDQ_OK;
}

static bool is_whole(const json_t *x, int64_t low, int64_t high)
{
    return json_is_integer(x) && json_integer_value(x) >= low && json_integer_value(x) <= high;
}

static bool read_dims(const json_t *row, qdq_array *a)
{
    size_t n = json_array_size(row), bytes;

    if (n < A_DIMS || n - A_DIMS > QDQ_MAX_RANK)
        return false;
    a->rank = (int)(n - A_DIMS);
    for (int i = 0; i < a->rank; i++) {
        const json_t *dim = json_array_get(row, A_DIMS + (size_t)i);

        if (!is_whole(dim, 0, INT64_MAX))
            return false;
        a->dim[i] = json_integer_value(dim);
    }
    const int64_t count = qdq_array_count(a);
    return count >= 0 && qdq_elem_bytes(a->elem, count, &bytes) && bytes == a->bytes;
}

qdq_status qdq_remote_array_get(qdq_shared *s, const json_t *row, qdq_arena *arena,
                                qdq_named_array *out, qdq_error *err)
{
    const json_t *name = json_array_get(row, A_NAME), *elem = json_array_get(row, A_ELEM),
                 *offset = json_array_get(row, A_OFFSET), *bytes = json_array_get(row, A_BYTES);

    *out = (qdq_named_array){0};
    if (!json_is_string(name) || !is_whole(elem, 0, 1000) || !is_whole(offset, 0, INT64_MAX / 4) ||
        !is_whole(bytes, 0, INT64_MAX / 4) ||
        qdq_elem_name((qdq_elem)json_integer_value(elem)) == NULL)
        return qdq_fail(err, QDQ_E_FORMAT,
                        "expected an array: [name, type, offset, bytes, dim, ...]");
    out->array.elem = (qdq_elem)json_integer_value(elem);
    out->array.bytes = (size_t)json_integer_value(bytes);
    if (!read_dims(row, &out->array))
        return qdq_fail(err, QDQ_E_FORMAT, "an array of %zu bytes, which its shape does not need",
                        out->array.bytes);
    out->name = qdq_remote_bytes(arena, json_string_value(name));
    QDQ_NEED(out->name != NULL, err);
    size_t at = (size_t)json_integer_value(offset);
    QDQ_TRY(qdq_shared_see(s, out->array.bytes > 0 ? at + out->array.bytes : 0, err));
    out->array.data = out->array.bytes > 0 ? (void *)(qdq_shared_data(s) + at) : out;
    return QDQ_OK;
}

/* --- inputs and outputs ----------------------------------------------------------------------- */

enum { IO_NAME, IO_ELEM, IO_RANK, IO_DIMS, IO_PARAMS, IO_ROW };

static void put_io(qdq_json_out row, const qdq_io *io)
{
    qdq_remote_put_text(row, NULL, io->name);
    qdq_json_put_int(row, NULL, io->elem);
    qdq_json_put_int(row, NULL, io->rank);
    qdq_json_put_ints(row, NULL, io->dim, io->rank > 0 ? (size_t)io->rank : 0);
    qdq_json_out params = qdq_json_put_list(row, NULL);
    for (int i = 0; i < io->rank; i++)
        qdq_json_put(params, NULL,
                     io->param[i] != NULL ? qdq_remote_text(io->param[i]) : json_null());
}

json_t *qdq_remote_ios_json(const qdq_io *io, size_t n)
{
    qdq_json_doc doc = {0};
    qdq_json_out list = qdq_json_list(&doc);

    for (size_t i = 0; i < n; i++)
        put_io(qdq_json_put_list(list, NULL), &io[i]);
    return qdq_json_take(&doc);
}

static qdq_status no_io(size_t i, qdq_error *err)
{
    return qdq_fail(err, QDQ_E_FORMAT, "entry %zu: expected [name, type, rank, dims, params]", i);
}

static qdq_status read_io(const json_t *row, size_t index, qdq_arena *arena, qdq_io *io,
                          qdq_error *err)
{
    const json_t *name = json_array_get(row, IO_NAME), *elem = json_array_get(row, IO_ELEM),
                 *rank = json_array_get(row, IO_RANK), *dims = json_array_get(row, IO_DIMS),
                 *params = json_array_get(row, IO_PARAMS);

    if (json_array_size(row) != IO_ROW || !json_is_string(name) || !is_whole(elem, 0, 1000) ||
        !is_whole(rank, -1, QDQ_MAX_RANK))
        return no_io(index, err);
    *io =
        (qdq_io){.elem = (qdq_elem)json_integer_value(elem), .rank = (int)json_integer_value(rank)};
    QDQ_NEED((io->name = qdq_remote_bytes(arena, json_string_value(name))) != NULL, err);
    for (int i = 0; i < io->rank; i++) {
        const json_t *dim = json_array_get(dims, (size_t)i),
                     *param = json_array_get(params, (size_t)i);

        if (!is_whole(dim, -1, INT64_MAX))
            return no_io(index, err);
        io->dim[i] = json_integer_value(dim);
        if (json_is_string(param) &&
            (io->param[i] = qdq_remote_bytes(arena, json_string_value(param))) == NULL)
            return qdq_nomem(err);
    }
    return QDQ_OK;
}

qdq_status qdq_remote_ios_read(const json_t *list, qdq_arena *arena, qdq_io **out, size_t *n,
                               qdq_error *err)
{
    size_t count = json_array_size(list);

    *out = qdq_arena_array(arena, count + 1, sizeof **out);
    *n = 0;
    QDQ_NEED(*out != NULL, err);
    if (!json_is_array(list))
        return qdq_fail(err, QDQ_E_FORMAT, "expected a list of inputs or outputs");
    for (size_t i = 0; i < count; i++)
        QDQ_TRY(read_io(json_array_get(list, i), i, arena, &(*out)[i], err));
    *n = count;
    return QDQ_OK;
}

/* --- shapes ----------------------------------------------------------------------------------- */

json_t *qdq_remote_shapes_json(const qdq_input_shape *shapes, size_t n)
{
    qdq_json_doc doc = {0};
    qdq_json_out list = qdq_json_list(&doc);

    for (size_t i = 0; i < n; i++) {
        qdq_json_out shape = qdq_json_put_object(list, NULL);
        qdq_remote_put_text(shape, "name", shapes[i].name);
        const int rank = shapes[i].rank < QDQ_MAX_RANK ? shapes[i].rank : QDQ_MAX_RANK;
        qdq_json_put_ints(shape, "dims", shapes[i].dim, rank > 0 ? (size_t)rank : 0);
    }
    return qdq_json_take(&doc);
}

qdq_status qdq_remote_shapes_read(const qdq_json_place *p, const qdq_input_shape **out, size_t *n,
                                  qdq_error *err)
{
    size_t count = json_array_size(json_object_get(p->object, "shapes"));
    qdq_input_shape *shapes = qdq_arena_array(p->reader->arena, count + 1, sizeof *shapes);
    qdq_json_place one;

    *out = shapes;
    *n = 0;
    QDQ_NEED(shapes != NULL, err);
    while (*n < count && qdq_json_item(p, "shapes", *n, &one)) {
        qdq_input_shape *s = &shapes[(*n)++];
        const json_t *dims = json_object_get(one.object, "dims");

        s->name = qdq_remote_get_text(&one, "name", NULL);
        for (size_t i = 0; i < json_array_size(dims) && i < QDQ_MAX_RANK; i++)
            s->dim[s->rank++] = json_integer_value(json_array_get(dims, i));
    }
    return QDQ_OK;
}
