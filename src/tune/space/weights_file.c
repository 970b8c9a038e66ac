/* weights_file.c - files that are measured and thrown away: whole, but not synced. */
#include "tune/space/weights_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/file.h"

enum { ALIGN = 64 };

static qdq_status write_at(int fd, const char *path, const unsigned char *data, size_t size,
                           uint64_t at, qdq_error *err)
{
    const int reason = qdq_write_at(fd, data, size, &at);

    return reason == 0 ? QDQ_OK : qdq_fail_errno(err, QDQ_E_IO, reason, "%s: cannot write", path);
}

static int create_file(const char *path, int flags)
{
    int fd;

    do
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | flags, 0600);
    while (fd < 0 && errno == EINTR);
    return fd;
}

qdq_status qdq_weights_file_open(qdq_weights_file *f, char *path, qdq_error *err)
{
    unlink(path); /* others may have it mapped: it is not shortened */
    *f = (qdq_weights_file){.path = path, .fd = create_file(path, O_EXCL)};
    return f->fd >= 0 ? QDQ_OK : qdq_fail_errno(err, QDQ_E_IO, errno, "%s: cannot create", path);
}

void qdq_weights_file_close(qdq_weights_file *f)
{
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
}

static qdq_status append_pieces(const qdq_weights_file *f, const qdq_span *piece, size_t n,
                                uint64_t *end, size_t *offset, qdq_error *err)
{
    for (size_t i = 0; i < n; i++) {
        offset[i] = (size_t)((*end + ALIGN - 1) / ALIGN * ALIGN);
        QDQ_TRY(write_at(f->fd, f->path, piece[i].data, piece[i].size, offset[i], err));
        *end = offset[i] + piece[i].size;
    }
    return QDQ_OK;
}

qdq_status qdq_weights_file_append(qdq_weights_file *f, const qdq_span *piece, size_t n,
                                   qdq_mapping **map, size_t *offset, qdq_error *err)
{
    uint64_t end = f->size;
    qdq_status st = append_pieces(f, piece, n, &end, offset, err);

    if (st == QDQ_OK)
        st = qdq_mapping_open(f->path, map, err);
    if (st == QDQ_OK)
        f->size = end;
    else
        /* what is behind the size is overwritten by the next piece anyway */
        (void)!ftruncate(f->fd, (off_t)f->size);
    return st;
}

qdq_status qdq_write_scratch_file(const char *path, const void *data, size_t size, qdq_error *err)
{
    char temp[PATH_MAX];

    if ((size_t)snprintf(temp, sizeof temp, "%s.part", path) >= sizeof temp)
        return qdq_fail_errno(err, QDQ_E_IO, ENAMETOOLONG, "%s: cannot write", path);
    int fd = create_file(temp, O_TRUNC);
    if (fd < 0)
        return qdq_fail_errno(err, QDQ_E_IO, errno, "%s: cannot write", path);
    qdq_status st = write_at(fd, path, data, size, 0, err);
    if (close(fd) != 0 && st == QDQ_OK)
        st = qdq_fail_errno(err, QDQ_E_IO, errno, "%s: cannot write", path);
    if (st == QDQ_OK && rename(temp, path) != 0)
        st = qdq_fail_errno(err, QDQ_E_IO, errno, "%s: cannot write", path);
    if (st != QDQ_OK)
        unlink(temp);
    return st;
}
