/* spool.c - keeps samples of a source that can be read once, in a file without a name. A sample
 * is the shapes of its arrays, then their bytes. The name of the file is removed before anything
 * is written, so that no death of the process leaves a file. */
#include "quant/data/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/file.h"
#include "base/spawn.h"
#include "base/vec.h"

struct qdq_spool {
    qdq_arena arena;
    /* for messages */
    const char *folder;
    int fd;
    size_t n_arrays;
    /* of samples */
    QDQ_VEC(uint64_t) starts;
    /* of what is written; of what is read next */
    uint64_t end, at;
    /* of the sample that is written */
    qdq_array *shapes;
};

static qdq_status open_spool_file(qdq_spool *s, const char *folder, qdq_error *err)
{
    s->folder = qdq_arena_strdup(&s->arena, folder);
    s->shapes = qdq_arena_array(&s->arena, s->n_arrays, sizeof *s->shapes);
    char *path = qdq_arena_printf(&s->arena, "%s/qdq-samples-XXXXXX", folder);
    QDQ_NEED(path != NULL && s->folder != NULL && s->shapes != NULL, err);
    s->fd = qdq_fd_above_standard(mkostemp(path, O_CLOEXEC));
    if (s->fd < 0)
        return qdq_fail_errno(err, QDQ_E_IO, errno,
                              "%s: cannot make a temporary file for samples that come only once",
                              folder);
    unlink(path);
    return QDQ_OK;
}

qdq_status qdq_spool_open(const char *folder, size_t n_arrays, qdq_spool **out, qdq_error *err)
{
    qdq_spool *s = calloc(1, sizeof *s);

    *out = NULL;
    QDQ_NEED(s != NULL, err);
    s->arena = (qdq_arena)QDQ_ARENA_INIT;
    s->fd = -1;
    s->n_arrays = n_arrays;
    qdq_status st = open_spool_file(s, folder != NULL ? folder : "/tmp", err);
    return QDQ_HAND_OVER(s, st, out, qdq_spool_close);
}

void qdq_spool_close(qdq_spool *s)
{
    if (s == NULL)
        return;
    qdq_fd_close(&s->fd);
    qdq_arena_free(&s->arena);
    free(s);
}

size_t qdq_spool_count(const qdq_spool *s)
{
    return s->starts.n;
}

static qdq_status write_spool(qdq_spool *s, const void *data, size_t size, qdq_error *err)
{
    const int reason = qdq_write_at(s->fd, data, size, &s->end);

    return reason == 0 ? QDQ_OK
                       : qdq_fail_errno(err, QDQ_E_IO, reason,
                                        "%s: cannot write sample %zu, which comes only once, to a "
                                        "temporary file after %llu bytes",
                                        s->folder, s->starts.n, (unsigned long long)s->end);
}

qdq_status qdq_spool_add(qdq_spool *s, const qdq_named_array *arrays, qdq_error *err)
{
    const uint64_t start = s->end;

    for (size_t k = 0; k < s->n_arrays; k++) {
        s->shapes[k] = arrays[k].array;
        s->shapes[k].data = NULL;
    }
    QDQ_TRY(write_spool(s, s->shapes, s->n_arrays * sizeof *s->shapes, err));
    for (size_t k = 0; k < s->n_arrays; k++)
        QDQ_TRY(write_spool(s, arrays[k].array.data, arrays[k].array.bytes, err));
    return QDQ_PUSH(&s->arena, &s->starts, start) ? QDQ_OK : qdq_nomem(err);
}

qdq_status qdq_spool_read(qdq_spool *s, void *data, size_t bytes, qdq_error *err)
{
    const int reason = qdq_read_at(s->fd, data, bytes, &s->at);

    return reason == 0
               ? QDQ_OK
               : qdq_fail_errno(err, QDQ_E_IO, reason,
                                "%s: cannot read samples back from a temporary file", s->folder);
}

qdq_status qdq_spool_begin(qdq_spool *s, size_t i, qdq_array *shapes, qdq_error *err)
{
    s->at = s->starts.at[i];
    return qdq_spool_read(s, shapes, s->n_arrays * sizeof *shapes, err);
}
