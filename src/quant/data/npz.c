/* npz.c - the zip side of .npz files, through libzip; arrays in memory look the same. Knows no
 * models. */
#include "quant/data/npz.h"

#include <stdlib.h>
#include <string.h>
#include <zip.h>

#include "base/arena.h"
#include "base/fail.h"
#include "base/file.h"
#include "base/map.h"

/* Deflate reaches 1032 to 1. A member that promises more lies, whatever its method. */
enum { MAX_RATIO = 1032, RATIO_SLACK = 64 * 1024, MAX_ARRAYS = 100000 };

typedef struct member {
    const char *name;
    /* in the archive */
    zip_uint64_t index;
    /* stored: not packed */
    bool has_header, stored;
    /* NULL: in the archive */
    const unsigned char *data;
    qdq_npy header;
    zip_file_t *stream;
    /* of the stream, in bytes of the member; SIZE_MAX: spoilt, open again */
    size_t at;
} member;

struct qdq_npz {
    qdq_arena arena;
    /* NULL: the bytes are the caller's */
    qdq_mapping *map;
    const unsigned char *data;
    size_t size;
    /* NULL: a .npy file, or arrays in memory */
    zip_t *zip;
    member *members;
    size_t n_member;
};

/* --- opening ---------------------------------------------------------------------------------- */

static qdq_status add_array_name(qdq_npz *z, const char *name, size_t length, qdq_map *names,
                                 qdq_error *err)
{
    member *m = &z->members[z->n_member++];
    bool is_new;

    m->name = qdq_arena_strndup(&z->arena, name, length);
    QDQ_NEED(m->name != NULL && qdq_map_put(names, m->name, &is_new) != NULL, err);
    return is_new ? QDQ_OK : qdq_fail(err, QDQ_E_FORMAT, "two arrays are named '%s'", m->name);
}

static qdq_status index_members(qdq_npz *z, qdq_map *names, qdq_error *err)
{
    zip_int64_t n = zip_get_num_entries(z->zip, 0);

    if (n > MAX_ARRAYS)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "%lld members, expected at most %d", (long long)n,
                        MAX_ARRAYS);
    z->members = qdq_arena_array(&z->arena, n > 0 ? (size_t)n : 1, sizeof *z->members);
    QDQ_NEED(z->members != NULL, err);
    for (zip_int64_t i = 0; i < n; i++) {
        const char *file = zip_get_name(z->zip, (zip_uint64_t)i, 0);
        size_t length = file != NULL ? strlen(file) : 0;

        if (length < 4 || strcmp(file + length - 4, ".npy") != 0)
            continue;
        z->members[z->n_member].index = (zip_uint64_t)i;
        QDQ_TRY(add_array_name(z, file, length - 4, names, err));
    }
    return QDQ_OK;
}

static qdq_status open_zip_file(qdq_npz *z, qdq_error *err)
{
    qdq_map names = QDQ_MAP_INIT;
    zip_error_t why;
    qdq_status st;

    zip_error_init(&why);
    zip_source_t *source = zip_source_buffer_create(z->data, z->size, 0, &why);
    if (source != NULL) {
        z->zip = zip_open_from_source(source, ZIP_RDONLY, &why);
        if (z->zip == NULL)
            zip_source_free(source);
    }
    if (z->zip == NULL && zip_error_code_zip(&why) == ZIP_ER_MEMORY)
        st = qdq_nomem(err);
    else if (z->zip == NULL)
        st = qdq_fail(err, QDQ_E_FORMAT, "neither a .npz nor a .npy file: %s",
                      zip_error_strerror(&why));
    else
        st = index_members(z, &names, err);
    zip_error_fini(&why);
    qdq_map_free(&names);
    return st;
}

static qdq_status open_single_npy(qdq_npz *z, qdq_error *err)
{
    member *m = z->members = qdq_arena_alloc(&z->arena, sizeof *z->members);

    QDQ_NEED(m != NULL, err);
    z->n_member = 1;
    m->name = "";
    QDQ_TRY(qdq_npy_parse(z->data, z->size, &m->header, err));
    if (z->size - m->header.offset != m->header.bytes)
        return qdq_fail(err, QDQ_E_FORMAT, "%zu bytes of data, the shape needs %zu",
                        z->size - m->header.offset, m->header.bytes);
    m->has_header = true;
    m->data = z->data + m->header.offset;
    return QDQ_OK;
}

static qdq_status open_mapped_file(qdq_mapping *map, const void *data, size_t size, qdq_npz **out,
                                   qdq_error *err)
{
    qdq_npz *z = calloc(1, sizeof *z);

    *out = NULL;
    if (z == NULL) {
        qdq_mapping_unref(map);
        return qdq_nomem(err);
    }
    z->arena = (qdq_arena)QDQ_ARENA_INIT;
    z->map = map;
    z->data = data;
    z->size = size;
    bool single = size >= 6 && memcmp(z->data, "\x93NUMPY", 6) == 0;
    qdq_status st = size == 0
                        ? qdq_fail(err, QDQ_E_FORMAT, "empty file, expected a .npz or .npy file")
                    : single ? open_single_npy(z, err)
                             : open_zip_file(z, err);
    return QDQ_HAND_OVER(z, st, out, qdq_npz_close);
}

qdq_status qdq_npz_open(const char *path, qdq_npz **out, qdq_error *err)
{
    qdq_mapping *map;

    *out = NULL;
    QDQ_TRY(qdq_mapping_open(path, &map, err));
    qdq_status st = open_mapped_file(map, qdq_mapping_data(map), qdq_mapping_size(map), out, err);
    return st == QDQ_OK ? st : qdq_within(err, st, "%s", path);
}

qdq_status qdq_npz_open_bytes(const void *data, size_t size, qdq_npz **out, qdq_error *err)
{
    return open_mapped_file(NULL, data, size, out, err);
}

static qdq_status add_memory_array(qdq_npz *z, const qdq_named_array *a, qdq_map *names,
                                   qdq_error *err)
{
    const char *name = a->name != NULL ? a->name : "";
    member *m = &z->members[z->n_member];

    QDQ_TRY(add_array_name(z, name, strlen(name), names, err));
    if (qdq_elem_bits(a->array.elem) % 8 != 0)
        return qdq_fail(err, QDQ_E_UNSUPPORTED,
                        "array '%s' is of %s, expected elements of whole bytes", name,
                        qdq_elem_name(a->array.elem));
    m->header = (qdq_npy){.elem = a->array.elem,
                          .elem_size = qdq_elem_bits(a->array.elem) / 8,
                          .rank = a->array.rank,
                          .count = qdq_array_count(&a->array),
                          .bytes = a->array.bytes};
    memcpy(m->header.dim, a->array.dim, sizeof m->header.dim);
    m->has_header = true;
    m->data = a->array.data != NULL ? a->array.data : (const unsigned char *)"";
    return QDQ_OK;
}

qdq_status qdq_npz_open_arrays(const qdq_named_array *arrays, size_t n, qdq_npz **out,
                               qdq_error *err)
{
    qdq_npz *z = calloc(1, sizeof *z);
    qdq_map names = QDQ_MAP_INIT;
    qdq_status st = QDQ_OK;

    *out = NULL;
    QDQ_NEED(z != NULL, err);
    z->arena = (qdq_arena)QDQ_ARENA_INIT;
    z->members = qdq_arena_array(&z->arena, n > 0 ? n : 1, sizeof *z->members);
    if (z->members == NULL)
        st = qdq_nomem(err);
    for (size_t i = 0; i < n && st == QDQ_OK; i++)
        st = add_memory_array(z, &arrays[i], &names, err);
    qdq_map_free(&names);
    return QDQ_HAND_OVER(z, st, out, qdq_npz_close);
}

void qdq_npz_close(qdq_npz *z)
{
    if (z == NULL)
        return;
    for (size_t i = 0; i < z->n_member; i++)
        if (z->members[i].stream != NULL)
            zip_fclose(z->members[i].stream);
    if (z->zip != NULL)
        zip_discard(z->zip);
    qdq_mapping_unref(z->map);
    qdq_arena_free(&z->arena);
    free(z);
}

void qdq_npz_rest(const qdq_npz *z)
{
    if (z->map != NULL)
        qdq_mapping_rest(z->map);
}

size_t qdq_npz_count(const qdq_npz *z)
{
    return z->n_member;
}

const char *qdq_npz_name(const qdq_npz *z, size_t i)
{
    return z->members[i].name;
}

/* --- reading ---------------------------------------------------------------------------------- */

static qdq_status open_member_stream(qdq_npz *z, member *m, qdq_error *err)
{
    if (m->stream != NULL)
        zip_fclose(m->stream);
    m->stream = zip_fopen_index(z->zip, m->index, 0);
    m->at = 0;
    return m->stream != NULL ? QDQ_OK : qdq_fail(err, QDQ_E_FORMAT, "%s", zip_strerror(z->zip));
}

static qdq_status read_exactly(member *m, void *data, size_t size, qdq_error *err)
{
    size_t done = 0;

    while (done < size) {
        zip_int64_t n = zip_fread(m->stream, (unsigned char *)data + done, size - done);

        if (n <= 0) {
            size_t at = m->at + done;

            m->at = SIZE_MAX;
            return qdq_fail(err, QDQ_E_FORMAT, "damaged at byte %zu: %s", at,
                            n < 0 ? zip_file_strerror(m->stream) : "the data end early");
        }
        done += (size_t)n;
    }
    m->at += size;
    return QDQ_OK;
}

/* Positions the stream: stored members can seek, packed ones are unpacked up to there. */
static qdq_status seek_member(qdq_npz *z, member *m, size_t at, qdq_error *err)
{
    unsigned char skipped[16 * 1024];

    if (m->stream != NULL && m->at == at)
        return QDQ_OK;
    if (m->stream == NULL || m->at > at)
        QDQ_TRY(open_member_stream(z, m, err));
    if (m->at < at && m->stored) { /* a packed stream is spoilt by the attempt */
        if (zip_fseek(m->stream, (zip_int64_t)at, SEEK_SET) != 0)
            return qdq_fail(err, QDQ_E_FORMAT, "%s", zip_file_strerror(m->stream));
        m->at = at;
    }
    while (m->at < at)
        QDQ_TRY(read_exactly(m, skipped, at - m->at < sizeof skipped ? at - m->at : sizeof skipped,
                             err));
    return QDQ_OK;
}

static qdq_status check_member_size(qdq_npz *z, member *m, zip_uint64_t *size, qdq_error *err)
{
    zip_stat_t stat;

    if (zip_stat_index(z->zip, m->index, 0, &stat) != 0)
        return qdq_fail(err, QDQ_E_FORMAT, "%s", zip_strerror(z->zip));
    if ((stat.valid & ZIP_STAT_SIZE) == 0 || (stat.valid & ZIP_STAT_COMP_SIZE) == 0)
        return qdq_fail(err, QDQ_E_FORMAT, "the archive does not say its size");
    if (stat.size > RATIO_SLACK && (stat.size - RATIO_SLACK) / MAX_RATIO > stat.comp_size)
        return qdq_fail(
            err, QDQ_E_FORMAT, "claims to unpack %llu bytes to %llu, more than %d times as many",
            (unsigned long long)stat.comp_size, (unsigned long long)stat.size, MAX_RATIO);
    *size = stat.size;
    m->stored = (stat.valid & ZIP_STAT_COMP_METHOD) != 0 && stat.comp_method == ZIP_CM_STORE &&
                (stat.valid & ZIP_STAT_ENCRYPTION_METHOD) != 0 &&
                stat.encryption_method == ZIP_EM_NONE;
    return QDQ_OK;
}

static qdq_status read_member_header(qdq_npz *z, member *m, qdq_error *err)
{
    unsigned char start[QDQ_NPY_START];
    zip_uint64_t size = 0;
    size_t offset;
    qdq_status st;

    QDQ_TRY(check_member_size(z, m, &size, err));
    if (size < sizeof start)
        return qdq_fail(err, QDQ_E_FORMAT, "not a .npy file: %llu bytes", (unsigned long long)size);
    QDQ_TRY(open_member_stream(z, m, err));
    QDQ_TRY(read_exactly(m, start, sizeof start, err));
    QDQ_TRY(qdq_npy_data_offset(start, sizeof start, &offset, err));
    if (offset > size || offset < sizeof start)
        return qdq_fail(err, QDQ_E_FORMAT, "%llu bytes, the header alone takes %zu",
                        (unsigned long long)size, offset);
    unsigned char *header = malloc(offset);
    QDQ_NEED(header != NULL, err);
    memcpy(header, start, sizeof start);
    st = read_exactly(m, header + sizeof start, offset - sizeof start, err);
    if (st == QDQ_OK)
        st = qdq_npy_parse(header, offset, &m->header, err);
    free(header);
    QDQ_TRY(st);
    if (size - offset != m->header.bytes)
        return qdq_fail(err, QDQ_E_FORMAT, "%llu bytes of data, the shape needs %zu",
                        (unsigned long long)(size - offset), m->header.bytes);
    m->has_header = true;
    return QDQ_OK;
}

qdq_status qdq_npz_header(qdq_npz *z, size_t i, const qdq_npy **out, qdq_error *err)
{
    member *m = &z->members[i];

    *out = NULL;
    if (!m->has_header) {
        qdq_status st = read_member_header(z, m, err);

        if (st != QDQ_OK)
            return qdq_within(err, st, "array '%s'", m->name);
    }
    *out = &m->header;
    return QDQ_OK;
}

/* At the end libzip compares the checksum, but only when asked for more. */
static qdq_status check_member_end(member *m, qdq_error *err)
{
    unsigned char more;
    zip_int64_t n = zip_fread(m->stream, &more, 1);

    m->at = SIZE_MAX;
    if (n == 0)
        return QDQ_OK;
    return qdq_fail(err, QDQ_E_FORMAT, "damaged: %s",
                    n < 0 ? zip_file_strerror(m->stream) : "more data than the archive says");
}

static qdq_status read_member(qdq_npz *z, member *m, size_t offset, void *data, size_t size,
                              qdq_error *err)
{
    const qdq_npy *a = &m->header;

    if (offset > a->bytes || size > a->bytes - offset)
        return qdq_fail(err, QDQ_E_BUG, "read of bytes %zu to %zu of %zu", offset, offset + size,
                        a->bytes);
    if (size == 0)
        return QDQ_OK;
    if (m->data != NULL) {
        memcpy(data, m->data + offset, size);
    } else {
        QDQ_TRY(seek_member(z, m, a->offset + offset, err));
        QDQ_TRY(read_exactly(m, data, size, err));
        if (offset + size == a->bytes)
            QDQ_TRY(check_member_end(m, err));
    }
    qdq_npy_to_native(a, data, size);
    return QDQ_OK;
}

qdq_status qdq_npz_read(qdq_npz *z, size_t i, size_t offset, void *data, size_t size,
                        qdq_error *err)
{
    const qdq_npy *a;

    QDQ_TRY(qdq_npz_header(z, i, &a, err));
    qdq_status st = read_member(z, &z->members[i], offset, data, size, err);
    return st == QDQ_OK || z->zip == NULL ? st
                                          : qdq_within(err, st, "array '%s'", z->members[i].name);
}
