/* npz_write.c - writes arrays as a .npz file. */
#include "quant/data/npz_write.h"

#include <stdio.h>
#include <stdlib.h>

#include <zip.h>

#include "base/buf.h"
#include "base/elem_info.h"
#include "base/fail.h"

/* Version 1.0: the data begin at a multiple of 64 bytes. */
static void put_npy_header(qdq_buf *b, const qdq_array *a)
{
    qdq_buf text = QDQ_BUF_INIT(1 << 16);

    const qdq_elem_info *info = qdq_elem_get_info(a->elem);
    qdq_buf_printf(&text, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                   info->bits == 8 ? '|' : '<', info->npy);
    for (int d = 0; d < a->rank; d++)
        qdq_buf_printf(&text, "%lld,%s", (long long)a->dim[d], d + 1 < a->rank ? " " : "");
    qdq_buf_puts(&text, "), }");
    while ((10 + text.size + 1) % 64 != 0 && !text.failed)
        qdq_buf_putc(&text, ' ');
    qdq_buf_putc(&text, '\n');
    qdq_buf_append(b, "\x93NUMPY\x01\x00", 8);
    qdq_buf_putc(b, (char)(text.size & 0xff));
    qdq_buf_putc(b, (char)(text.size >> 8));
    qdq_buf_append(b, text.data, text.size);
    b->failed = b->failed || text.failed;
    qdq_buf_free(&text);
}

static qdq_status add_npz_member(zip_t *zip, const qdq_named_array *a, qdq_error *err)
{
    qdq_buf b = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
    char name[1024];

    if (qdq_elem_get_info(a->array.elem)->npy == NULL)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "input '%s': NumPy's files have no such type",
                        a->name);
    snprintf(name, sizeof name, "%s.npy", a->name);
    put_npy_header(&b, &a->array);
    qdq_buf_append(&b, a->array.data, a->array.bytes);
    size_t size = b.size;
    void *data = qdq_buf_take(&b);
    QDQ_NEED(data != NULL, err);
    zip_source_t *source = zip_source_buffer(zip, data, size, 1); /* frees the data */
    if (source == NULL) {
        free(data);
        return qdq_nomem(err);
    }
    zip_int64_t index = zip_file_add(zip, name, source, ZIP_FL_ENC_UTF_8);
    if (index < 0) {
        zip_source_free(source);
        return qdq_fail(err, QDQ_E_IO, "input '%s': %s", a->name, zip_strerror(zip));
    }
    zip_set_file_compression(zip, (zip_uint64_t)index, ZIP_CM_STORE, 0);
    return QDQ_OK;
}

qdq_status qdq_npz_write(const char *path, const qdq_named_array *arrays, size_t n, qdq_error *err)
{
    int code = 0;
    zip_t *zip = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, &code);
    qdq_status st = QDQ_OK;

    if (zip == NULL)
        return qdq_fail(err, QDQ_E_IO, "%s: cannot be written (libzip %d)", path, code);
    for (size_t i = 0; i < n && st == QDQ_OK; i++)
        st = add_npz_member(zip, &arrays[i], err);
    if (st == QDQ_OK && zip_close(zip) == 0)
        return QDQ_OK;
    if (st == QDQ_OK)
        st = qdq_fail(err, QDQ_E_IO, "%s: %s", path, zip_strerror(zip));
    zip_discard(zip);
    return st;
}
