/* trt_cache.c - copies, locks and replaces the timing cache. The file itself is locked: whoever
 * got the lock of a file that was replaced meanwhile takes the new one. */
#include "engine/trt/trt_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/file.h"

enum { WAIT_US = 20000 };

static bool is_still_there(int fd, const char *path)
{
    struct stat ours, now;

    return fstat(fd, &ours) == 0 && stat(path, &now) == 0 && ours.st_dev == now.st_dev &&
           ours.st_ino == now.st_ino;
}

/* A cache that may only be read is of use, too. */
static int open_file(const char *path)
{
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);

    return fd >= 0 ? fd : open(path, O_RDONLY | O_CLOEXEC);
}

static void complain(const qdq_job *job, const char *path, const char *what)
{
    qdq_error why;

    qdq_fail_errno(&why, QDQ_E_IO, errno, "%s: the timing cache cannot be %s", path, what);
    qdq_job_log(job, QDQ_LOG_WARNING, "%s", why.text);
}

static qdq_status lock(qdq_trt_cache *c, const qdq_job *job, qdq_error *err)
{
    for (bool told = false; c->fd < 0;) {
        QDQ_TRY(qdq_job_poll(job, err));
        c->fd = open_file(c->path);
        if (c->fd < 0) {
            complain(job, c->path, "opened");
            return QDQ_OK;
        }
        const bool is_ours = flock(c->fd, LOCK_EX | LOCK_NB) == 0,
                   busy = !is_ours && errno == EWOULDBLOCK;
        /* some file systems have no locks */
        if (!busy && (!is_ours || is_still_there(c->fd, c->path)))
            return QDQ_OK;
        close(c->fd);
        c->fd = -1;
        if (busy && !told)
            qdq_job_log(job, QDQ_LOG_INFO,
                        "%s: another build uses this timing cache, waiting for it", c->path);
        told = told || busy;
        if (busy)
            usleep(WAIT_US);
    }
    return QDQ_OK;
}

static qdq_status copy_file(const char *from, const char *to, qdq_error *err)
{
    qdq_mapping *m;

    QDQ_TRY(qdq_mapping_open(from, &m, err));
    qdq_status st = QDQ_OK;
    if (qdq_mapping_size(m) > 0)
        st = qdq_write_file(to, true, qdq_mapping_data(m), qdq_mapping_size(m), err);
    qdq_mapping_unref(m);
    return st;
}

qdq_status qdq_trt_cache_take(qdq_trt_cache *c, const char *path, const char *copy,
                              const qdq_job *job, qdq_error *err)
{
    qdq_error why = QDQ_ERROR_INIT;

    *c = (qdq_trt_cache){path, copy, -1};
    unlink(copy);
    QDQ_TRY(lock(c, job, err));
    if (c->fd < 0)
        return QDQ_OK;
    qdq_status st = copy_file(path, copy, &why);
    if (st != QDQ_OK)
        qdq_job_log(job, QDQ_LOG_WARNING, "the timing cache cannot be read: %s", why.text);
    return QDQ_OK;
}

/* What is empty was made by lock() alone, and no build has filled it. */
void qdq_trt_cache_give(qdq_trt_cache *c, bool built, const qdq_job *job)
{
    qdq_error why = QDQ_ERROR_INIT;
    struct stat st;

    if (c->fd < 0)
        return;
    if (built && access(c->copy, F_OK) == 0 && copy_file(c->copy, c->path, &why) != QDQ_OK)
        qdq_job_log(job, QDQ_LOG_WARNING, "the timing cache stays as it was: %s", why.text);
    if (stat(c->path, &st) == 0 && st.st_size == 0 && is_still_there(c->fd, c->path))
        unlink(c->path);
    close(c->fd);
    c->fd = -1;
}
