/* shared.c - anonymous shared memory between this process and a worker. */
#include "base/shared.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/spawn.h"

enum { LEAST = 1 << 20 };

qdq_status qdq_shared_new(qdq_shared *s, qdq_error *err)
{
    *s = (qdq_shared)QDQ_SHARED_INIT;
    s->fd = qdq_fd_above_standard(memfd_create("qdq", MFD_CLOEXEC));
    if (s->fd < 0)
        return qdq_fail_errno(err, QDQ_E_IO, errno, "cannot make memory that two processes share");
    return QDQ_OK;
}

static qdq_status map_all(qdq_shared *s, size_t size, qdq_error *err)
{
    qdq_shared_map *m = malloc(sizeof *m);

    QDQ_NEED(m != NULL, err);
    *m = (qdq_shared_map){.older = s->map, .size = size};
    m->data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
    if (m->data == MAP_FAILED) {
        int reason = errno;
        free(m);
        return reason == ENOMEM ? qdq_nomem(err)
                                : qdq_fail_errno(err, QDQ_E_IO, reason, "cannot map shared memory");
    }
    s->map = m;
    return QDQ_OK;
}

static qdq_status size_of(const qdq_shared *s, size_t *size, qdq_error *err)
{
    struct stat st;

    if (fstat(s->fd, &st) != 0)
        return qdq_fail_errno(err, QDQ_E_IO, errno, "shared memory: cannot ask for its size");
    *size = (size_t)st.st_size;
    return QDQ_OK;
}

qdq_status qdq_shared_need(qdq_shared *s, size_t size, qdq_error *err)
{
    size_t now = 0;

    if (s->map != NULL && s->map->size >= size)
        return QDQ_OK;
    QDQ_TRY(size_of(s, &now, err));
    if (now < size) {
        now = size > SIZE_MAX / 4 ? size : size + size / 2;
        now = now < LEAST ? LEAST : now;
        if (ftruncate(s->fd, (off_t)now) != 0)
            return qdq_fail_errno(err, QDQ_E_IO, errno,
                                  "cannot make %zu bytes that two processes share", now);
    }
    return map_all(s, now, err);
}

qdq_status qdq_shared_see(qdq_shared *s, size_t size, qdq_error *err)
{
    size_t now = 0;

    if (size == 0 || (s->map != NULL && s->map->size >= size))
        return QDQ_OK;
    QDQ_TRY(size_of(s, &now, err));
    if (now < size)
        return qdq_fail(err, QDQ_E_FORMAT, "shared memory has %zu bytes, expected at least %zu",
                        now, size);
    return map_all(s, now, err);
}

unsigned char *qdq_shared_data(const qdq_shared *s)
{
    return s->map != NULL ? s->map->data : NULL;
}

void qdq_shared_free(qdq_shared *s)
{
    while (s->map != NULL) {
        qdq_shared_map *older = s->map->older;

        munmap(s->map->data, s->map->size);
        free(s->map);
        s->map = older;
    }
    qdq_fd_close(&s->fd);
}
