/* tensor.c - constants: making them, and reading their elements whatever way they are stored. */
#include "base/fail.h"
#include "ir/edit.h"
#include "ir/tensor_wire.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* --- types ------------------------------------------------------------------------------------ */

/* A tensor type whose `rank` dims the caller fills in through *dim; NULL: out of memory. */
static qdq_type *new_type(qdq_model *m, qdq_elem elem, int rank, qdq_dim **dim)
{
    qdq_type *t = qdq_arena_alloc(&m->arena, sizeof *t);

    *dim = NULL;
    if (t == NULL ||
        (rank > 0 && (*dim = qdq_arena_array(&m->arena, (size_t)rank, sizeof **dim)) == NULL))
        return NULL;
    t->kind = QDQ_TYPE_TENSOR;
    t->elem = elem;
    t->rank = rank;
    t->dim = *dim;
    return t;
}

const qdq_type *qdq_type_tensor(qdq_model *m, qdq_elem elem, int rank, const qdq_dim *dim)
{
    qdq_dim *copy;
    qdq_type *t = new_type(m, elem, rank, &copy);

    if (t != NULL && rank > 0)
        memcpy(copy, dim, (size_t)rank * sizeof *copy);
    return t;
}

const qdq_type *qdq_type_fixed(qdq_model *m, qdq_elem elem, int rank, const int64_t *dim)
{
    qdq_dim *copy;
    qdq_type *t = new_type(m, elem, rank, &copy);

    for (int i = 0; t != NULL && i < rank; i++)
        copy[i] = (qdq_dim){dim[i], NULL};
    return t;
}

/* --- making ----------------------------------------------------------------------------------- */

qdq_status qdq_axes_read(const int64_t *list, int64_t count, int rank, int *axis, bool *mark,
                         qdq_error *err)
{
    uint64_t seen = 0;

    for (int i = 0; mark != NULL && i < rank; i++)
        mark[i] = false;
    for (int64_t i = 0; i < count; i++) {
        int64_t at = list != NULL ? list[i] : i;

        if (at < -rank || at >= rank || rank > 64)
            return qdq_fail(err, QDQ_E_FORMAT, "axis %" PRId64 " of a tensor of rank %d", at, rank);
        at += at < 0 ? rank : 0;
        if (seen >> at & 1)
            return qdq_fail(err, QDQ_E_FORMAT, "axis %" PRId64 " is listed twice", at);
        seen |= UINT64_C(1) << at;
        if (axis != NULL)
            axis[i] = (int)at;
        if (mark != NULL)
            mark[at] = true;
    }
    return QDQ_OK;
}

bool qdq_dims_count(int rank, const int64_t *dim, int64_t *count)
{
    *count = 1;
    for (int i = 0; i < rank; i++) {
        if (dim[i] < 0 || (dim[i] != 0 && *count > INT64_MAX / dim[i]))
            return false;
        *count *= dim[i];
    }
    return true;
}

bool qdq_tensor_same_type(const qdq_tensor *a, const qdq_tensor *b)
{
    return a->elem == b->elem && a->rank == b->rank &&
           (a->rank == 0 || memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim) == 0);
}

static qdq_tensor *new_shell(qdq_model *m, qdq_elem elem, int rank, const int64_t *dim)
{
    qdq_tensor *t = qdq_arena_alloc(&m->arena, sizeof *t);
    int64_t *copy = NULL;

    if (t == NULL)
        return NULL;
    if (rank > 0 && (copy = qdq_arena_copy(&m->arena, dim, (size_t)rank, sizeof *copy)) == NULL)
        return NULL;
    t->name = "";
    t->elem = elem;
    t->rank = rank;
    t->dim = copy;
    return qdq_dims_count(rank, dim, &t->count) ? t : NULL;
}

/* Takes the mapping. */
static bool put_bytes(qdq_model *m, qdq_tensor *t, qdq_mapping *map, void **data)
{
    if (map == NULL || !qdq_model_hold(m, map))
        return false;
    t->storage = QDQ_STORE_BYTES;
    t->owner = map;
    t->bytes = (qdq_span){qdq_mapping_data(map), qdq_mapping_size(map)};
    *data = qdq_mapping_own_data(map);
    return true;
}

static qdq_tensor *new_tensor(qdq_model *m, qdq_elem elem, int rank, const int64_t *dim,
                              qdq_mapping *(*new_mapping)(size_t), void **data)
{
    qdq_tensor *t = new_shell(m, elem, rank, dim);
    size_t size;

    *data = NULL;
    if (t == NULL || !qdq_elem_bytes(elem, t->count, &size) ||
        !put_bytes(m, t, new_mapping(size), data))
        return NULL;
    return t;
}

qdq_tensor *qdq_tensor_new(qdq_model *m, qdq_elem elem, int rank, const int64_t *dim, void **data)
{
    return new_tensor(m, elem, rank, dim, qdq_mapping_new_heap, data);
}

qdq_tensor *qdq_tensor_new_on_disk(qdq_model *m, qdq_elem elem, int rank, const int64_t *dim,
                                   void **data)
{
    return new_tensor(m, elem, rank, dim, qdq_mapping_new_on_disk, data);
}

qdq_tensor *qdq_tensor_of(qdq_model *m, qdq_elem elem, int rank, const int64_t *dim,
                          const void *data)
{
    void *to;
    qdq_tensor *t = qdq_tensor_new(m, elem, rank, dim, &to);

    if (t != NULL && t->bytes.size > 0)
        memcpy(to, data, t->bytes.size);
    return t;
}

qdq_tensor *qdq_tensor_of_floats(qdq_model *m, int rank, const int64_t *dim, const float *data)
{
    return qdq_tensor_of(m, QDQ_FLOAT, rank, dim, data);
}

qdq_tensor *qdq_tensor_of_ints(qdq_model *m, int rank, const int64_t *dim, const int64_t *data)
{
    return qdq_tensor_of(m, QDQ_INT64, rank, dim, data);
}

/* Bytes inside the owner are shared, others live in some model's arena and are copied. */
static bool share_span(qdq_model *m, const qdq_mapping *owner, qdq_span *span)
{
    const unsigned char *start = owner == NULL ? NULL : qdq_mapping_data(owner);
    unsigned char *copy;

    if (span->size == 0 || (start != NULL && span->data >= start &&
                            span->data + span->size <= start + qdq_mapping_size(owner)))
        return true;
    copy = qdq_arena_copy(&m->arena, span->data, span->size, 1);
    if (copy == NULL)
        return false;
    span->data = copy;
    return true;
}

static bool share_strings(qdq_model *m, qdq_tensor *t)
{
    qdq_span *copy;

    if (t->storage != QDQ_STORE_STRINGS || t->count == 0)
        return true;
    copy = qdq_arena_array(&m->arena, (size_t)t->count, sizeof *copy);
    if (copy == NULL)
        return false;
    for (int64_t i = 0; i < t->count; i++) {
        copy[i] = t->strings[i];
        if (!share_span(m, t->owner, &copy[i]))
            return false;
    }
    t->strings = copy;
    return true;
}

qdq_tensor *qdq_tensor_share(qdq_model *m, const qdq_tensor *t)
{
    qdq_tensor *copy = new_shell(m, t->elem, t->rank, t->dim);
    const int64_t *dim;

    if (copy == NULL)
        return NULL;
    dim = copy->dim;
    *copy = *t;
    copy->dim = dim;
    copy->name = qdq_intern(m, t->name);
    if (copy->name == NULL || (t->owner != NULL && !qdq_model_hold(m, qdq_mapping_ref(t->owner))))
        return NULL;
    if (!share_span(m, t->owner, &copy->bytes) || !share_span(m, t->owner, &copy->wire) ||
        !share_span(m, t->owner, &copy->unknown_fields) || !share_strings(m, copy))
        return NULL;
    return copy;
}

qdq_tensor *qdq_tensor_view(qdq_model *m, const qdq_tensor *t, qdq_elem elem, int rank,
                            const int64_t *dim)
{
    qdq_tensor *view = new_shell(m, elem, rank, dim);
    size_t size, own;
    void *data;

    if (view == NULL)
        return NULL;
    if (t->storage == QDQ_STORE_STRINGS) {
        assert(elem == QDQ_STRING && view->count == t->count);
        view->storage = QDQ_STORE_STRINGS;
        view->strings = t->strings;
        view->owner = t->owner;
        return view->count == t->count ? view : NULL;
    }
    if (!qdq_elem_bytes(elem, view->count, &size) || !qdq_elem_bytes(t->elem, t->count, &own))
        return NULL;
    assert(size == own);
    if (size != own)
        return NULL;
    if (t->storage == QDQ_STORE_BYTES) {
        view->storage = QDQ_STORE_BYTES;
        view->bytes = t->bytes;
        view->owner = t->owner;
        return view;
    }
    if (!put_bytes(m, view, qdq_mapping_new_heap(size), &data) ||
        qdq_tensor_decode_wire(t, data, size, NULL) != QDQ_OK)
        return NULL;
    return view;
}

/* --- reading ---------------------------------------------------------------------------------- */

static const char *elem_text(qdq_elem e)
{
    const char *name = qdq_elem_name(e);

    return name == NULL ? "unknown type" : name;
}

qdq_status qdq_tensor_data(const qdq_tensor *t, qdq_arena *scratch, qdq_span *data, qdq_error *err)
{
    unsigned char *decoded;
    size_t size;

    *data = (qdq_span){NULL, 0};
    if (t->storage == QDQ_STORE_STRINGS || t->elem == QDQ_STRING)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "tensor '%s': strings have no numeric data",
                        t->name);
    if (!qdq_elem_bytes(t->elem, t->count, &size))
        return qdq_fail(err, QDQ_E_UNSUPPORTED,
                        "tensor '%s': %" PRId64 " elements of %s cannot be addressed", t->name,
                        t->count, elem_text(t->elem));
    if (t->storage == QDQ_STORE_BYTES) {
        if (t->bytes.size != size)
            return qdq_fail(err, QDQ_E_FORMAT, "tensor '%s': found %zu bytes of data, expected %zu",
                            t->name, t->bytes.size, size);
        *data = t->bytes;
        return QDQ_OK;
    }
    /* A stored value takes at least one byte of the file: what cannot be there is refused before
     * any memory is asked for. */
    if (size / 16 > t->wire.size)
        return qdq_fail(err, QDQ_E_FORMAT,
                        "tensor '%s': found %zu bytes of typed fields, expected %" PRId64
                        " elements of %s",
                        t->name, t->wire.size, t->count, elem_text(t->elem));
    decoded = qdq_arena_alloc(scratch, size == 0 ? 1 : size);
    QDQ_NEED(decoded != NULL, err);
    QDQ_TRY(qdq_tensor_decode_wire(t, decoded, size, err));
    *data = (qdq_span){decoded, size};
    return QDQ_OK;
}

/* Plain loops for what weights are made of; the rest goes element by element. */
static void to_floats(qdq_elem e, const unsigned char *data, int64_t n, float *out)
{
    if (e == QDQ_FLOAT)
        memcpy(out, data, (size_t)n * sizeof *out);
    else if (e == QDQ_INT8)
        for (int64_t i = 0; i < n; i++)
            out[i] = (float)(signed char)data[i];
    else if (e == QDQ_UINT8)
        for (int64_t i = 0; i < n; i++)
            out[i] = (float)data[i];
    else
        for (int64_t i = 0; i < n; i++)
            out[i] = qdq_elem_float(e, data, i);
}

qdq_status qdq_tensor_floats(const qdq_tensor *t, qdq_arena *scratch, float **out, qdq_error *err)
{
    qdq_span data;

    *out = NULL;
    if (!qdq_elem_is_int(t->elem) && !qdq_elem_is_float(t->elem))
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "tensor '%s': %s cannot be converted to float",
                        t->name, elem_text(t->elem));
    QDQ_TRY(qdq_tensor_data(t, scratch, &data, err));
    *out = qdq_arena_array(scratch, t->count == 0 ? 1 : (size_t)t->count, sizeof **out);
    QDQ_NEED(*out != NULL, err);
    if (t->count > 0)
        to_floats(t->elem, data.data, t->count, *out);
    return QDQ_OK;
}

qdq_status qdq_tensor_ints(const qdq_tensor *t, qdq_arena *scratch, int64_t max, int64_t **out,
                           qdq_error *err)
{
    qdq_span data;

    *out = NULL;
    if (!qdq_elem_is_int(t->elem))
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "tensor '%s': found %s, expected integers", t->name,
                        elem_text(t->elem));
    if (t->count > max)
        return qdq_fail(err, QDQ_E_UNSUPPORTED,
                        "tensor '%s': found %" PRId64 " elements, expected at most %" PRId64,
                        t->name, t->count, max);
    QDQ_TRY(qdq_tensor_data(t, scratch, &data, err));
    *out = qdq_arena_array(scratch, t->count == 0 ? 1 : (size_t)t->count, sizeof **out);
    QDQ_NEED(*out != NULL, err);
    for (int64_t i = 0; i < t->count; i++)
        (*out)[i] = qdq_elem_int(t->elem, data.data, i);
    return QDQ_OK;
}

static bool is_number(qdq_elem e)
{
    return qdq_elem_is_int(e) || qdq_elem_is_float(e);
}

/* Takes no memory: "no" means no. */
bool qdq_tensor_scalar(const qdq_tensor *t, double *x)
{
    unsigned char room[sizeof(double)] = {0};
    qdq_span bytes = t->bytes;
    size_t size;

    if (t->count != 1 || !is_number(t->elem) || !qdq_elem_bytes(t->elem, 1, &size) ||
        size > sizeof room)
        return false;
    if (t->storage == QDQ_STORE_WIRE) {
        bytes = (qdq_span){room, size};
        if (qdq_tensor_decode_wire(t, room, size, NULL) != QDQ_OK)
            return false;
    }
    if (bytes.size == size)
        *x = qdq_elem_double(t->elem, bytes.data, 0);
    return bytes.size == size;
}

bool qdq_tensor_all(const qdq_tensor *t, double x)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_span bytes;
    bool all = is_number(t->elem) && qdq_tensor_data(t, &scratch, &bytes, NULL) == QDQ_OK;

    for (int64_t i = 0; all && i < t->count; i++)
        all = qdq_elem_double(t->elem, bytes.data, i) == x;
    qdq_arena_free(&scratch);
    return all;
}
