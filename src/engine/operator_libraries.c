/* operator_libraries.c - absolute paths of libraries, and a text of them for fingerprints. */
#include "engine/operator_libraries.h"

#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/file.h"
#include "base/sha256.h"

static qdq_status read_one(const char *file, qdq_arena *arena, const char **path, qdq_buf *text,
                           qdq_error *err)
{
    qdq_mapping *bytes = NULL;
    struct sha256_ctx hash;
    char name[33];

    qdq_status st = qdq_mapping_open(file, &bytes, err);
    if (st != QDQ_OK)
        return qdq_within(err, st, "library with operators");
    sha256_init(&hash);
    sha256_update(&hash, qdq_mapping_size(bytes), qdq_mapping_data(bytes));
    qdq_sha256_end(&hash, name);
    *path = qdq_arena_strdup(arena, qdq_mapping_path(bytes));
    qdq_mapping_unref(bytes);
    QDQ_NEED(*path != NULL, err);
    qdq_buf_printf(text, "; %s %.12s", strrchr(*path, '/') + 1, name);
    return QDQ_OK;
}

qdq_status qdq_operator_libraries_read(const char *const *files, qdq_arena *arena,
                                       const char *const **paths, const char **text, qdq_error *err)
{
    qdq_buf b = QDQ_BUF_INIT(1 << 20);
    qdq_status st = QDQ_OK;
    size_t n = 0;

    while (files != NULL && files[n] != NULL)
        n++;
    const char **all = qdq_arena_array(arena, n + 1, sizeof *all);
    QDQ_NEED(all != NULL, err);
    for (size_t i = 0; i < n && st == QDQ_OK; i++)
        st = read_one(files[i], arena, &all[i], &b, err);
    *text = b.failed ? NULL : qdq_arena_strndup(arena, b.size > 0 ? b.data : "", b.size);
    qdq_buf_free(&b);
    *paths = all;
    return st != QDQ_OK ? st : *text != NULL ? QDQ_OK : qdq_nomem(err);
}
