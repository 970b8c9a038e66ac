/* worker_blobs.c - files by their hashes: written in pieces under another name, synced, renamed.
 * Several of these programs may share a folder: a part is locked by the one that writes it. */
#include "worker/worker_blobs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/file.h"
#include "base/sha256.h"
#include "base/spawn.h"
#include "engine/remote/remote_frame.h"

static int open_folder(int parent, const char *name)
{
    if (mkdirat(parent, name, 0700) != 0 && errno != EEXIST)
        return -1;
    return openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* With the folders above it. `path` is changed meanwhile. */
static int make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0700); /* the last one tells */
        *slash = '/';
    }
    return open_folder(AT_FDCWD, path);
}

qdq_status qdq_worker_blobs_open(qdq_worker_blobs *b, const char *dir, uint64_t limit,
                                 qdq_error *err)
{
    *b = (qdq_worker_blobs){.arena = QDQ_ARENA_INIT, .whole = -1, .parts = -1, .limit = limit};
    char *path = qdq_arena_strdup(&b->arena, dir);
    QDQ_NEED(path != NULL, err);
    b->dir = path;
    int top = make_folders(path);
    if (top >= 0) {
        b->whole = open_folder(top, "files");
        b->parts = open_folder(top, "parts");
    }
    const int reason = errno;
    qdq_fd_close(&top);
    if (b->whole < 0 || b->parts < 0)
        return qdq_fail_errno(err, QDQ_E_IO, reason, "%s: cannot make this folder (--cache-dir)",
                              dir);
    return QDQ_OK;
}

void qdq_worker_blobs_close(qdq_worker_blobs *b)
{
    qdq_fd_close(&b->whole);
    qdq_fd_close(&b->parts);
    qdq_arena_free(&b->arena);
}

/* --- what is there ---------------------------------------------------------------------------- */

static void touch(int dir, const char *name)
{
    const struct timespec now[2] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};

    /* the time of reading: that of changing is part of what models in use are known by */
    (void)utimensat(dir, name, now, AT_SYMLINK_NOFOLLOW);
}

int64_t qdq_worker_blobs_size(const qdq_worker_blobs *b, const char *hash)
{
    struct stat st;

    if (!qdq_frame_is_hash(hash))
        return 0;
    if (fstatat(b->whole, hash, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode)) {
        touch(b->whole, hash);
        return -1;
    }
    return fstatat(b->parts, hash, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode)
               ? (int64_t)st.st_size
               : 0;
}

static qdq_status missing(const qdq_worker_blobs *b, const char *hash, qdq_error *err)
{
    return qdq_fail(err, QDQ_E_IO, "%s: has no file %.64s any more: --cache-limit is too small",
                    b->dir, hash);
}

int qdq_worker_blobs_read(const qdq_worker_blobs *b, const char *hash, qdq_error *err)
{
    const int fd =
        qdq_frame_is_hash(hash) ? openat(b->whole, hash, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;

    if (fd < 0)
        missing(b, qdq_frame_is_hash(hash) ? hash : "of this name", err);
    return qdq_fd_above_standard(fd);
}

static qdq_status disk_failed(int reason, const char *path, qdq_error *err)
{
    const bool full = reason == ENOSPC || reason == EDQUOT || reason == EFBIG;

    return qdq_fail_errno(err, QDQ_E_IO, reason, "%s: %s", path,
                          full ? "the disk of the host is full" : "cannot write");
}

/* Where the file system has no hard links. */
static qdq_status copy_file(const qdq_worker_blobs *b, const char *hash, int dir, const char *name,
                            qdq_error *err)
{
    char piece[1 << 16];
    int from = qdq_worker_blobs_read(b, hash, err), to;
    ssize_t n = 0;
    bool fine;

    if (from < 0)
        return QDQ_E_IO;
    to = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    fine = to >= 0;
    while (fine && (n = read(from, piece, sizeof piece)) > 0)
        for (ssize_t done = 0; fine && done < n;) {
            const ssize_t k = write(to, piece + done, (size_t)(n - done));
            fine = k > 0;
            done += k;
        }
    const int reason = errno;
    qdq_fd_close(&from);
    qdq_fd_close(&to);
    return fine && n == 0 ? QDQ_OK : disk_failed(reason, name, err);
}

qdq_status qdq_worker_blobs_link(const qdq_worker_blobs *b, const char *hash, int dir,
                                 const char *name, qdq_error *err)
{
    if (!qdq_frame_is_hash(hash))
        return missing(b, "of this name", err);
    if (linkat(b->whole, hash, dir, name, 0) == 0)
        return QDQ_OK;
    return errno == ENOENT ? missing(b, hash, err) : copy_file(b, hash, dir, name, err);
}

/* --- limit ------------------------------------------------------------------------------------ */

typedef struct used_file {
    char name[65];
    uint64_t size;
    struct timespec used;
} used_file;

static int by_time(const void *a, const void *b)
{
    const struct timespec *x = &((const used_file *)a)->used, *y = &((const used_file *)b)->used;

    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? -1 : 1;
    return x->tv_nsec < y->tv_nsec ? -1 : x->tv_nsec > y->tv_nsec;
}

static void list_files(int dir, used_file **files, size_t *n, uint64_t *total)
{
    DIR *d = qdq_folder_list(dir, ".");
    size_t cap = *n;
    struct stat st;

    for (const struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        if (!qdq_frame_is_hash(e->d_name) || fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (*n == cap) {
            used_file *more = realloc(*files, (cap + 256) * sizeof *more);
            if (more == NULL)
                break;
            *files = more;
            cap += 256;
        }
        used_file *f = &(*files)[(*n)++];
        memcpy(f->name, e->d_name, sizeof f->name);
        f->size = (uint64_t)st.st_size;
        f->used = st.st_atim;
        *total += f->size;
    }
    if (d != NULL)
        closedir(d);
}

/* Removes what was not used for longest until `size` more bytes fit. */
static qdq_status make_room(const qdq_worker_blobs *b, uint64_t size, qdq_error *err)
{
    used_file *files = NULL;
    size_t n = 0;
    uint64_t total = 0;

    if (size > b->limit)
        return qdq_fail(err, QDQ_E_IO,
                        "%s: a file of %llu bytes is larger than the folder may become "
                        "(--cache-limit %llu)",
                        b->dir, (unsigned long long)size, (unsigned long long)b->limit);
    list_files(b->whole, &files, &n, &total);
    if (n > 0)
        qsort(files, n, sizeof *files, by_time);
    for (size_t i = 0; i < n && total + size > b->limit; i++)
        if (unlinkat(b->whole, files[i].name, 0) == 0)
            total -= files[i].size;
    free(files);
    return QDQ_OK;
}

/* --- what arrives ----------------------------------------------------------------------------- */

static qdq_status write_piece(int fd, const qdq_worker_piece *p, const char *path, qdq_error *err)
{
    uint64_t at = p->at;
    const int reason = qdq_write_at(fd, p->data, p->bytes, &at);

    return reason == 0 ? QDQ_OK : disk_failed(reason, path, err);
}

/* All has arrived: is it what its name says? */
static qdq_status finish(const qdq_worker_blobs *b, int fd, const char *hash, qdq_error *err)
{
    char found[65];
    qdq_mapping *map;
    const int own = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

    if (own < 0)
        return qdq_fail_errno(err, QDQ_E_IO, errno, "%s", b->dir);
    QDQ_TRY(qdq_mapping_of_fd(own, &map, err));
    qdq_sha256_bytes(qdq_mapping_data(map), qdq_mapping_size(map), found);
    qdq_mapping_unref(map);
    if (strcmp(found, hash) != 0) {
        unlinkat(b->parts, hash, 0);
        return qdq_fail(err, QDQ_E_FORMAT, "found a file of hash %s, expected %s", found, hash);
    }
    if (fsync(fd) != 0 || renameat(b->parts, hash, b->whole, hash) != 0 || fsync(b->whole) != 0)
        return disk_failed(errno, b->dir, err);
    return QDQ_OK;
}

static qdq_status add_piece(const qdq_worker_blobs *b, int fd, const qdq_worker_piece *p,
                            uint64_t *have, qdq_error *err)
{
    struct stat st;

    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return qdq_fail(err, QDQ_E_IO, "%s: has something else than a file %s", b->dir, p->hash);
    const uint64_t size = (uint64_t)st.st_size;
    if (p->at > size) { /* the sender goes on from there */
        *have = size;
        return QDQ_OK;
    }
    if (size > p->size && ftruncate(fd, (off_t)p->at) != 0)
        return disk_failed(errno, b->dir, err);
    if (p->at == 0)
        QDQ_TRY(make_room(b, p->size, err));
    QDQ_TRY(write_piece(fd, p, b->dir, err));
    *have = p->at + p->bytes;
    return *have < p->size ? QDQ_OK : finish(b, fd, p->hash, err);
}

qdq_status qdq_worker_blobs_put(const qdq_worker_blobs *b, const qdq_worker_piece *p,
                                uint64_t *have, qdq_error *err)
{
    *have = 0;
    if (!qdq_frame_is_hash(p->hash))
        return qdq_fail(err, QDQ_E_FORMAT, "found a file of another name, expected a hash");
    if (p->size > INT64_MAX / 2 || p->at > p->size || p->bytes > p->size - p->at)
        return qdq_fail(err, QDQ_E_FORMAT, "a piece that is not in its file of %llu bytes",
                        (unsigned long long)p->size);
    if (qdq_worker_blobs_size(b, p->hash) == -1) { /* another one has sent it meanwhile */
        *have = p->at + p->bytes;
        return QDQ_OK;
    }
    int fd = openat(b->parts, p->hash, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return disk_failed(errno, b->dir, err);
    qdq_status st =
        flock(fd, LOCK_EX) == 0 ? add_piece(b, fd, p, have, err) : disk_failed(errno, b->dir, err);
    qdq_fd_close(&fd);
    return st;
}
