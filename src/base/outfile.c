/* outfile.c - files that appear whole or not at all: written under a temporary name in the same
 * folder, synced, renamed. The folder is held open, so that a change of the current folder does not
 * matter.
 *
 * The temporary file is locked (flock) while its writer lives. The system releases the lock
 * whatever the process dies of, so a temporary file that can be locked has no writer: the next
 * outfile of the same name removes it. */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/quarantine.h"

enum { TEMP_BASE_MAX = 200, TEMP_TRIES = 100 };

/* One call moves no more than this, so that the next look at the cancel flag is near. */
#define TRANSFER_MAX ((size_t)16 << 20)

struct qdq_outfile {
    int fd, dir;
    bool allow_overwrite;
    /* NULL: none */
    const qdq_cancel *cancel;
    uint64_t size;
    /* as the caller named it, for messages */
    char *path;
    /* its last part */
    const char *base;
    /* "": renamed already */
    char temp[TEMP_BASE_MAX + 48];
};

/* --- leftovers -------------------------------------------------------------------------------- */

/* ".BASE.PROCESS-MARK.tmp", as open_temp() makes it, where BASE begins with one of the names and a
 * dot. */
static bool is_temp(const char *name, const char *const *names)
{
    static const char end[] = ".tmp";
    const size_t size = strlen(name);
    const char *dot = name + size - (size >= sizeof end ? sizeof end - 1 : 0);
    unsigned long process, mark;
    int used = 0;

    if (name[0] != '.' || strcmp(dot, end) != 0)
        return false;
    do
        dot--;
    while (dot > name && *dot != '.');
    if (dot == name || sscanf(dot, ".%lx-%lx%n", &process, &mark, &used) != 2 ||
        strcmp(dot + used, end) != 0)
        return false;
    for (size_t i = 0; names != NULL && names[i] != NULL; i++) {
        size_t n = strlen(names[i]);
        n = n < TEMP_BASE_MAX ? n : TEMP_BASE_MAX;
        if (strncmp(name + 1, names[i], n) == 0 && name[1 + n] == '.')
            return true;
    }
    return names == NULL;
}

/* A file that cannot be opened or locked stays. */
static void remove_unlocked(int dir, const char *name)
{
    int fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat st;

    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0)
        unlinkat(dir, name, 0);
    close(fd);
}

DIR *qdq_folder_list(int parent, const char *name)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (dir == NULL && fd >= 0)
        close(fd);
    return dir;
}

void qdq_outfile_sweep(int dir, const char *const *names)
{
    DIR *d = qdq_folder_list(dir, ".");

    if (d == NULL)
        return;
    for (const struct dirent *e = readdir(d); e != NULL; e = readdir(d))
        if (is_temp(e->d_name, names))
            remove_unlocked(dir, e->d_name);
    closedir(d);
}

/* --- open ------------------------------------------------------------------------------------- */

static qdq_status open_folder(qdq_outfile *f, qdq_error *err)
{
    char dir[PATH_MAX] = ".";
    size_t size = (size_t)(f->base - f->path);

    if (f->base[0] == '\0' || strcmp(f->base, ".") == 0 || strcmp(f->base, "..") == 0)
        return qdq_fail(err, QDQ_E_IO, "%s: is a folder, expected the name of a file", f->path);
    if (size >= sizeof dir)
        return qdq_fail_errno(err, QDQ_E_IO, ENAMETOOLONG, "%s: cannot write", f->path);
    if (size != 0) {
        memcpy(dir, f->path, size);
        dir[size] = '\0';
    }
    f->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (f->dir < 0 && errno == EACCES) /* one may write into a folder that one may not list */
        f->dir = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (f->dir < 0)
        return qdq_fail_errno(err, QDQ_E_IO, errno, "%s: cannot write into folder '%s'", f->path,
                              dir);
    return QDQ_OK;
}

/* What is at the path already: refused, or its permissions are kept in *mode. */
static qdq_status check_existing(const qdq_outfile *f, mode_t *mode, qdq_error *err)
{
    struct stat st;

    *mode = 0;
    if (fstatat(f->dir, f->base, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? QDQ_OK
                               : qdq_fail_errno(err, QDQ_E_IO, errno, "%s: cannot write", f->path);
    if (S_ISDIR(st.st_mode))
        return qdq_fail(err, QDQ_E_IO, "%s: is a folder, expected the name of a file", f->path);
    if (!f->allow_overwrite)
        return qdq_fail(err, QDQ_E_IO, "%s: exists already", f->path);
    /* Replacing /dev/null by a file would be a nasty surprise, also through a link. */
    if (fstatat(f->dir, f->base, &st, 0) == 0) {
        if (!S_ISREG(st.st_mode))
            return qdq_fail(err, QDQ_E_IO, "%s: is not a regular file, and only such are replaced",
                            f->path);
        *mode = st.st_mode & 0777;
    }
    return QDQ_OK;
}

/* Someone who looks for leftovers may have had the new file for one before it was locked. File
 * systems without locks have no such sweeps either. */
static bool lock_temp(int fd)
{
    struct stat st;

    if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return false;
    return fstat(fd, &st) != 0 || st.st_nlink > 0;
}

/* Not mkstemp(): it makes files that only their owner can read, and asking for the usual
 * permissions means changing the mask of the whole process. The name need not be secret, because
 * O_EXCL takes no other's file. */
static qdq_status open_temp(qdq_outfile *f, qdq_error *err)
{
    struct timespec now;
    int reason = EEXIST;

    clock_gettime(CLOCK_MONOTONIC, &now);
    for (unsigned i = 0; i < TEMP_TRIES && (reason == EEXIST || reason == EINTR); i++) {
        unsigned long mark = (unsigned long)now.tv_nsec + i;
        snprintf(f->temp, sizeof f->temp, ".%.*s.%lx-%lx.tmp", TEMP_BASE_MAX, f->base,
                 (unsigned long)getpid(), mark);
        f->fd = openat(f->dir, f->temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (f->fd >= 0 && lock_temp(f->fd))
            return QDQ_OK;
        reason = f->fd >= 0 ? EEXIST : errno;
        if (f->fd >= 0)
            close(f->fd);
        f->fd = -1;
    }
    return qdq_fail_errno(err, QDQ_E_IO, reason, "%s: cannot create a file beside it", f->path);
}

static void free_outfile(qdq_outfile *f)
{
    if (f->fd >= 0 && f->temp[0] != '\0')
        unlinkat(f->dir, f->temp, 0);
    if (f->fd >= 0)
        close(f->fd);
    if (f->dir >= 0)
        close(f->dir);
    free(f->path);
    free(f);
}

/* NULL: out of memory. */
static qdq_outfile *new_outfile(const char *path, bool allow_overwrite)
{
    size_t path_size = strlen(path) + 1;
    qdq_outfile *f = malloc(sizeof *f);
    char *copy = malloc(path_size);

    if (f == NULL || copy == NULL) {
        free(f);
        free(copy);
        return NULL;
    }
    memcpy(copy, path, path_size);
    const char *slash = strrchr(copy, '/');
    *f = (qdq_outfile){.fd = -1,
                       .dir = -1,
                       .allow_overwrite = allow_overwrite,
                       .path = copy,
                       .base = slash == NULL ? copy : slash + 1};
    return f;
}

/* `named`: `path` is the name that it will get. */
static qdq_status open_outfile(const char *path, bool named, bool allow_overwrite,
                               qdq_outfile **out, qdq_error *err)
{
    mode_t mode = 0;

    *out = NULL;
    qdq_outfile *f = new_outfile(path, allow_overwrite);
    QDQ_NEED(f != NULL, err);
    qdq_status st = open_folder(f, err);
    if (st == QDQ_OK && named)
        st = check_existing(f, &mode, err);
    if (st == QDQ_OK) {
        qdq_outfile_sweep(f->dir, (const char *const[]){f->base, NULL});
        st = open_temp(f, err);
    }
    if (st == QDQ_OK && mode != 0 && fchmod(f->fd, mode) != 0)
        st = qdq_fail_errno(err, QDQ_E_IO, errno, "%s: cannot keep its permissions", path);
    return QDQ_HAND_OVER(f, st, out, free_outfile);
}

qdq_status qdq_outfile_open(const char *path, bool allow_overwrite, qdq_outfile **out,
                            qdq_error *err)
{
    return open_outfile(path, true, allow_overwrite, out, err);
}

qdq_status qdq_outfile_open_unnamed(const char *path, qdq_outfile **out, qdq_error *err)
{
    return open_outfile(path, false, false, out, err);
}

qdq_status qdq_outfile_name(qdq_outfile *f, const char *name, qdq_error *err)
{
    size_t folder = (size_t)(f->base - f->path), size = strlen(name) + 1;
    char *path = malloc(folder + size);

    QDQ_NEED(path != NULL, err);
    memcpy(path, f->path, folder);
    memcpy(path + folder, name, size);
    free(f->path);
    f->path = path;
    f->base = path + folder;
    return QDQ_OK;
}

bool qdq_outfile_is_placed(const qdq_outfile *f)
{
    return f->temp[0] == '\0';
}

int qdq_outfile_fd(const qdq_outfile *f)
{
    return f->fd;
}

int qdq_outfile_folder(const qdq_outfile *f)
{
    return f->dir;
}

/* --- parts of open files ---------------------------------------------------------------------- */

int qdq_write_at(int fd, const void *data, size_t size, uint64_t *at)
{
    for (const char *p = data; size > 0;) {
        const ssize_t n = pwrite(fd, p, size < TRANSFER_MAX ? size : TRANSFER_MAX, (off_t)*at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : ENOSPC;
        p += n;
        size -= (size_t)n;
        *at += (uint64_t)n;
    }
    return 0;
}

int qdq_read_at(int fd, void *data, size_t size, uint64_t *at)
{
    for (char *p = data; size > 0;) {
        const ssize_t n = pread(fd, p, size < TRANSFER_MAX ? size : TRANSFER_MAX, (off_t)*at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : EIO;
        p += n;
        size -= (size_t)n;
        *at += (uint64_t)n;
    }
    return 0;
}

/* --- write ------------------------------------------------------------------------------------ */

void qdq_outfile_end_by(qdq_outfile *f, const qdq_cancel *cancel)
{
    f->cancel = cancel;
}

static qdq_status poll_cancel(const qdq_outfile *f, qdq_error *err)
{
    return qdq_cancel_is_set(f->cancel) ? qdq_fail(err, QDQ_E_INTERRUPTED, "interrupted") : QDQ_OK;
}

static qdq_status write_failed(const qdq_outfile *f, int reason, qdq_error *err)
{
    /* The kernel's answer when a mapped source ends earlier than when it was mapped. */
    if (reason == EFAULT)
        return qdq_fail(err, QDQ_E_IO, "%s: cannot write: a source file became shorter meanwhile",
                        f->path);
    return qdq_fail_errno(err, QDQ_E_IO, reason, "%s: cannot write after %llu bytes", f->path,
                          (unsigned long long)f->size);
}

qdq_status qdq_outfile_write(qdq_outfile *f, const void *data, size_t size, qdq_error *err)
{
    const char *p = data;

    while (size != 0) {
        QDQ_TRY(poll_cancel(f, err));
        ssize_t n = write(f->fd, p, size < TRANSFER_MAX ? size : TRANSFER_MAX);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return write_failed(f, n < 0 ? errno : ENOSPC, err);
        p += n;
        size -= (size_t)n;
        f->size += (uint64_t)n;
    }
    return QDQ_OK;
}

/* As many pieces as one call takes; 0 if the first alone is too large. */
static int count_batch(const struct iovec *iov, int n, size_t *total)
{
    int batch = 0;

    *total = 0;
    while (batch < n && batch < IOV_MAX && iov[batch].iov_len <= TRANSFER_MAX - *total)
        *total += iov[batch++].iov_len;
    return batch;
}

qdq_status qdq_outfile_writev(qdq_outfile *f, const struct iovec *iov, int n, qdq_error *err)
{
    while (n > 0) {
        size_t total = 0;
        QDQ_TRY(poll_cancel(f, err));
        int batch = count_batch(iov, n, &total);
        ssize_t done = batch == 0 ? 0 : writev(f->fd, iov, batch);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return write_failed(f, errno, err);
        f->size += (uint64_t)done;
        size_t left = (size_t)done;
        while (n > 0 && left >= iov->iov_len) {
            left -= iov->iov_len;
            iov++;
            n--;
        }
        /* ends the piece that was cut, or learns why it was */
        if ((size_t)done < total || batch == 0) {
            QDQ_TRY(
                qdq_outfile_write(f, (const char *)iov->iov_base + left, iov->iov_len - left, err));
            iov++;
            n--;
        }
    }
    return QDQ_OK;
}

/* Moves what copy_file_range can move: *done bytes. Not being able to is no failure, a full disk
 * is. */
static qdq_status copy_in_kernel(qdq_outfile *f, int source, off_t offset, size_t size,
                                 size_t *done, qdq_error *err)
{
    *done = 0;
    while (*done < size) {
        size_t left = size - *done;
        QDQ_TRY(poll_cancel(f, err));
        ssize_t n = copy_file_range(source, &offset, f->fd, NULL,
                                    left < TRANSFER_MAX ? left : TRANSFER_MAX, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG || errno == EIO))
            return write_failed(f, errno, err);
        if (n <= 0)
            return QDQ_OK;
        *done += (size_t)n;
        f->size += (uint64_t)n;
    }
    return QDQ_OK;
}

qdq_status qdq_outfile_write_mapping(qdq_outfile *f, const qdq_mapping *m, size_t offset,
                                     size_t size, qdq_error *err)
{
    enum { WORTH_IT = 64 * 1024 };
    size_t done = 0;

    if (offset > qdq_mapping_size(m) || size > qdq_mapping_size(m) - offset)
        return qdq_fail(err, QDQ_E_BUG, "%s: bytes beyond the end of their source asked for",
                        f->path);
    if (qdq_mapping_fd(m) >= 0 && size >= WORTH_IT)
        QDQ_TRY(copy_in_kernel(f, qdq_mapping_fd(m), (off_t)offset, size, &done, err));
    if (done == size)
        return QDQ_OK;
    const unsigned char *rest = qdq_mapping_data(m) + offset + done;
    qdq_status st = qdq_outfile_write(f, rest, size - done, err);
    qdq_mapping_rest_part(m, rest, size - done);
    return st;
}

uint64_t qdq_outfile_size(const qdq_outfile *f)
{
    return f->size;
}

/* --- commit ----------------------------------------------------------------------------------- */

/* Writes back piece by piece what fsync() would in one call, which nothing ends. */
static qdq_status write_back(const qdq_outfile *f, qdq_error *err)
{
    const unsigned flags =
        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;

    for (uint64_t at = 0; at < f->size; at += TRANSFER_MAX) {
        QDQ_TRY(poll_cancel(f, err));
        if (sync_file_range(f->fd, (off_t)at, (off_t)TRANSFER_MAX, flags) == 0)
            continue;
        /* the error is reported once: fsync() would know nothing of it */
        if (errno == EIO || errno == ENOSPC || errno == EDQUOT)
            return qdq_fail_errno(err, QDQ_E_IO, errno, "%s: cannot sync", f->path);
        break;
    }
    return poll_cancel(f, err);
}

qdq_status qdq_outfile_sync(qdq_outfile *f, qdq_error *err)
{
    if (f->cancel != NULL)
        QDQ_TRY(write_back(f, err));
    if (fsync(f->fd) != 0 && errno != EINVAL) /* EINVAL: this kind of file system knows no sync */
        return qdq_fail_errno(err, QDQ_E_IO, errno, "%s: cannot sync", f->path);
    return QDQ_OK;
}

/* Without permission to overwrite, a file that appeared since the check must survive too. */
static int rename_temp(const qdq_outfile *f)
{
    return f->allow_overwrite ? renameat(f->dir, f->temp, f->dir, f->base)
                              : qdq_rename_new(f->dir, f->temp, f->base);
}

qdq_status qdq_outfile_place(qdq_outfile *f, bool *taken, qdq_error *err)
{
    if (taken != NULL)
        *taken = false;
    QDQ_TRY(qdq_outfile_sync(f, err));
    if (rename_temp(f) != 0) {
        if (errno != EEXIST)
            return qdq_fail_errno(err, QDQ_E_IO, errno, "%s: cannot rename to it", f->path);
        if (taken == NULL)
            return qdq_fail(err, QDQ_E_IO, "%s: exists already", f->path);
        *taken = true;
        return QDQ_OK;
    }
    f->temp[0] = '\0';
    /* EBADF: a folder that may not be read; EINVAL: a file system that syncs no folders. */
    if (fsync(f->dir) != 0 && errno != EBADF && errno != EINVAL)
        return qdq_fail_errno(err, QDQ_E_IO, errno, "%s: cannot sync its folder", f->path);
    return QDQ_OK;
}

qdq_status qdq_outfile_commit(qdq_outfile *f, qdq_error *err)
{
    qdq_status st = qdq_outfile_place(f, NULL, err);

    free_outfile(f);
    return st;
}

void qdq_outfile_abort(qdq_outfile *f)
{
    if (f != NULL)
        free_outfile(f);
}

qdq_status qdq_write_file(const char *path, bool allow_overwrite, const void *data, size_t size,
                          qdq_error *err)
{
    qdq_outfile *f = NULL;

    QDQ_TRY(qdq_outfile_open(path, allow_overwrite, &f, err));
    qdq_status st = qdq_outfile_write(f, data, size, err);
    if (st == QDQ_OK)
        return qdq_outfile_commit(f, err);
    qdq_outfile_abort(f);
    return st;
}
