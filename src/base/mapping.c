/* mapping.c - files mapped for reading, bytes in memory, and whole files read into memory.
 * Knows nothing of what the bytes mean. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fail.h"

/* ON_DISK: in a file without a name, which is closed. BORROWED: in memory of the caller. */
typedef enum mapping_kind { OF_FILE, ON_DISK, ON_HEAP, BORROWED } mapping_kind;

struct qdq_mapping {
    mapping_kind kind;
    atomic_size_t refs;
    unsigned char *data;
    size_t size;
    /* NULL: it has no name */
    char *path;
    /* -1: of no file */
    int fd;
};

/* O_NONBLOCK: opening a pipe that nothing writes to must fail, not wait. */
enum { OPEN_FLAGS = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY };

static int open_again(int dir, const char *path, int flags)
{
    int fd;

    do
        fd = openat(dir, path, flags);
    while (fd < 0 && errno == EINTR);
    return fd;
}

/* A regular file's size, with the place in the message. */
static qdq_status regular_size(int fd, const char *path, size_t *size, qdq_error *err)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return qdq_fail_errno(err, QDQ_E_IO, errno, "%s: cannot ask for its size", path);
    if (S_ISDIR(st.st_mode))
        return qdq_fail(err, QDQ_E_IO, "%s: is a folder, expected a file", path);
    if (!S_ISREG(st.st_mode))
        return qdq_fail(err, QDQ_E_IO, "%s: is a device or a pipe, expected a regular file", path);
    if ((uintmax_t)st.st_size > SIZE_MAX / 2)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "%s: too large to be mapped", path);
    *size = (size_t)st.st_size;
    return QDQ_OK;
}

/* Takes `fd` in every case. `path` is what messages say, `full` what qdq_mapping_path() says, or
 * NULL. */
static qdq_status map_fd(int fd, const char *path, const char *full, qdq_mapping **out,
                         qdq_error *err)
{
    size_t size = 0;
    qdq_status st = regular_size(fd, path, &size, err);
    void *data = NULL;

    if (st == QDQ_OK && size != 0) { /* the system refuses to map nothing */
        data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data == MAP_FAILED)
            st = errno == ENOMEM ? qdq_nomem(err)
                                 : qdq_fail_errno(err, QDQ_E_IO, errno, "%s: cannot map", path);
    }
    if (st != QDQ_OK) {
        close(fd);
        return st;
    }
    size_t full_size = full != NULL ? strlen(full) + 1 : 0;
    qdq_mapping *m = malloc(sizeof *m);
    char *copy = full != NULL ? malloc(full_size) : NULL;
    if (m == NULL || (full != NULL && copy == NULL)) {
        free(m);
        free(copy);
        if (size != 0)
            munmap(data, size);
        close(fd);
        return qdq_nomem(err);
    }
    if (full != NULL)
        memcpy(copy, full, full_size);
    atomic_init(&m->refs, 1);
    m->data = data;
    m->size = size;
    m->path = copy;
    m->fd = fd;
    m->kind = OF_FILE;
    *out = m;
    return QDQ_OK;
}

qdq_status qdq_mapping_open(const char *path, qdq_mapping **out, qdq_error *err)
{
    char full[PATH_MAX];

    *out = NULL;
    int fd = open_again(AT_FDCWD, path, OPEN_FLAGS);
    if (fd < 0)
        return qdq_fail_errno(err, QDQ_E_IO, errno, "%s: cannot open", path);
    if (realpath(path, full) == NULL) {
        int reason = errno;
        close(fd);
        return qdq_fail_errno(err, QDQ_E_IO, reason, "%s: cannot resolve", path);
    }
    return map_fd(fd, path, full, out, err);
}

qdq_status qdq_mapping_of_fd(int fd, qdq_mapping **out, qdq_error *err)
{
    *out = NULL;
    return map_fd(fd, "a file without a name", NULL, out, err);
}

/* --- below a folder --------------------------------------------------------------------------- */

/* The path comes from a file, and a long one must leave room for the reason: hence %.300s in the
 * messages.
 *
 * A walk along a path, one name at a time, that never leaves the folder it began in. The system
 * would do it with openat2(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS), which too many kernels and
 * sandboxes refuse. */
typedef struct walk {
    /* open folder */
    int dir;
    const char *relative;
    /* the present name within `relative` */
    size_t start, end;
    /* PATH_MAX bytes: the path walked so far, without links */
    char *full;
    char name[NAME_MAX + 1];
} walk;

/* Steps to the next name; false at the end. Empty names and "." are passed over. */
static bool next_name(walk *w)
{
    do {
        w->start = w->end + strspn(w->relative + w->end, "/");
        w->end = w->start + strcspn(w->relative + w->start, "/");
    } while (w->end - w->start == 1 && w->relative[w->start] == '.');
    return w->end > w->start;
}

static bool is_last_name(const walk *w)
{
    walk ahead = *w;
    return !next_name(&ahead);
}

static qdq_status take_name(walk *w, qdq_error *err)
{
    size_t size = w->end - w->start, used = strlen(w->full);

    if (size > NAME_MAX || used + 1 + size >= PATH_MAX)
        return qdq_fail(err, QDQ_E_FORMAT, "%.300s: the path is too long", w->relative);
    memcpy(w->name, w->relative + w->start, size);
    w->name[size] = '\0';
    if (strcmp(w->name, "..") == 0)
        return qdq_fail(err, QDQ_E_FORMAT,
                        "%.300s: has '..' in it, expected a path inside the folder", w->relative);
    if (used == 0 || w->full[used - 1] != '/')
        w->full[used++] = '/';
    memcpy(w->full + used, w->name, size + 1);
    return QDQ_OK;
}

static qdq_status step_failed(const walk *w, int reason, qdq_error *err)
{
    struct stat st;

    if (fstatat(w->dir, w->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
        return qdq_fail(err, QDQ_E_FORMAT,
                        "%.300s: '%s' is a symbolic link, expected a real file or folder",
                        w->relative, w->name);
    return qdq_fail_errno(err, QDQ_E_IO, reason, "%s: cannot open", w->full);
}

/* Opens the file; w->dir is open before and after. */
static qdq_status walk_to_file(walk *w, int *file, qdq_error *err)
{
    while (next_name(w)) {
        bool last = is_last_name(w);

        QDQ_TRY(take_name(w, err));
        int flags = last ? OPEN_FLAGS : O_PATH | O_DIRECTORY | O_CLOEXEC;
        int fd = open_again(w->dir, w->name, flags | O_NOFOLLOW);
        if (fd < 0)
            return step_failed(w, errno, err);
        if (last) {
            *file = fd;
            return QDQ_OK;
        }
        close(w->dir);
        w->dir = fd;
    }
    return qdq_fail(err, QDQ_E_FORMAT, "'%.300s': names no file", w->relative);
}

qdq_status qdq_mapping_open_below(const char *dir, const char *relative, qdq_mapping **out,
                                  qdq_error *err)
{
    char full[PATH_MAX];
    int file = -1;

    *out = NULL;
    if (relative[0] == '/')
        return qdq_fail(err, QDQ_E_FORMAT, "%.300s: is absolute, expected a path inside the folder",
                        relative);
    if (dir[0] == '\0') /* a model named without a folder lies in the current one */
        dir = ".";
    if (realpath(dir, full) == NULL)
        return qdq_fail_errno(err, QDQ_E_IO, errno, "%s: cannot open the folder", dir);
    walk w = {.dir = open_again(AT_FDCWD, full, O_PATH | O_DIRECTORY | O_CLOEXEC),
              .relative = relative,
              .full = full};
    if (w.dir < 0)
        return qdq_fail_errno(err, QDQ_E_IO, errno, "%s: cannot open the folder", dir);
    qdq_status st = walk_to_file(&w, &file, err);
    close(w.dir);
    return st == QDQ_OK ? map_fd(file, relative, full, out, err) : st;
}

/* --- in memory, and what all share ------------------------------------------------------------ */

static void free_data(mapping_kind kind, void *data, size_t size)
{
    if (kind == ON_HEAP)
        free(data);
    else if (kind != BORROWED && size != 0)
        munmap(data, size);
}

/* Takes `data` unless it is borrowed. */
static qdq_mapping *map_memory(void *data, size_t size, mapping_kind kind)
{
    qdq_mapping *m = malloc(sizeof *m);

    if (m == NULL) {
        free_data(kind, data, size);
        return NULL;
    }
    atomic_init(&m->refs, 1);
    m->data = data;
    m->size = size;
    m->path = NULL;
    m->fd = -1;
    m->kind = kind;
    return m;
}

qdq_mapping *qdq_mapping_borrow(const void *data, size_t size)
{
    return map_memory((void *)(uintptr_t)data, size, BORROWED);
}

qdq_mapping *qdq_mapping_new_heap(size_t size)
{
    void *data = size > SIZE_MAX / 2 ? NULL : calloc(1, size == 0 ? 1 : size);

    return data == NULL ? NULL : map_memory(data, size, ON_HEAP);
}

/* Its blocks are taken at once: a write to one that the disk has no room for would be a SIGBUS. */
static void *map_unnamed(size_t size)
{
    const int fd = open_again(AT_FDCWD, P_tmpdir, O_TMPFILE | O_RDWR | O_CLOEXEC);
    void *data = MAP_FAILED;

    if (fd < 0)
        return MAP_FAILED;
    if (fallocate(fd, 0, 0, (off_t)size) == 0)
        data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return data;
}

qdq_mapping *qdq_mapping_new_on_disk(size_t size)
{
    enum { LEAST = 256 * 1024 }; /* of less, a file costs more than the memory is worth */
    void *data = size >= LEAST && size <= SIZE_MAX / 2 ? map_unnamed(size) : MAP_FAILED;

    return data != MAP_FAILED ? map_memory(data, size, ON_DISK) : qdq_mapping_new_heap(size);
}

qdq_mapping *qdq_mapping_ref(qdq_mapping *m)
{
    atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
    return m;
}

void qdq_mapping_unref(qdq_mapping *m)
{
    if (m == NULL || atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) != 1)
        return;
    free_data(m->kind, m->data, m->size);
    if (m->fd >= 0)
        close(m->fd);
    free(m->path);
    free(m);
}

const unsigned char *qdq_mapping_data(const qdq_mapping *m)
{
    return m->data;
}

unsigned char *qdq_mapping_own_data(qdq_mapping *m)
{
    return m->kind == ON_HEAP || m->kind == ON_DISK ? m->data : NULL;
}

size_t qdq_mapping_size(const qdq_mapping *m)
{
    return m->size;
}

const char *qdq_mapping_path(const qdq_mapping *m)
{
    return m->path;
}

static bool is_in_file(const qdq_mapping *m)
{
    return m->kind == OF_FILE || m->kind == ON_DISK;
}

void qdq_mapping_rest(const qdq_mapping *m)
{
    if (is_in_file(m) && m->size > 0)
        (void)madvise(m->data, m->size, MADV_DONTNEED); /* advice: nothing depends on it */
}

void qdq_mapping_rest_part(const qdq_mapping *m, const void *data, size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE),
                 first = (size_t)((const unsigned char *)data - (const unsigned char *)m->data),
                 begin = (first + page - 1) / page * page, end = (first + size) / page * page;

    if (is_in_file(m) && begin < end)
        (void)madvise((unsigned char *)m->data + begin, end - begin, MADV_DONTNEED);
}

int qdq_mapping_fd(const qdq_mapping *m)
{
    return m->fd;
}

/* --- whole files ------------------------------------------------------------------------------ */

/* Reads one byte more than `max` allows, to know that there is more. */
static qdq_status read_all(int fd, const char *name, size_t max, qdq_buf *b, qdq_error *err)
{
    enum { CHUNK = 64 * 1024 };
    char chunk[4096];

    for (;;) {
        /* Small files and ends of files go through the stack, so that the buffer is not grown for
         * nothing. */
        bool direct = b->size >= sizeof chunk && max - b->size >= CHUNK;
        char *place = chunk;
        size_t room = sizeof chunk;
        if (direct) {
            place = qdq_buf_extend(b, CHUNK);
            room = CHUNK;
            QDQ_NEED(place != NULL, err);
            b->size -= CHUNK;
        }
        ssize_t n = read(fd, place, room);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return qdq_fail_errno(err, QDQ_E_IO, errno, "%s: cannot read", name);
        if (n == 0)
            return QDQ_OK;
        if ((size_t)n > max - b->size)
            return qdq_fail(err, QDQ_E_FORMAT, "%s: is larger than the limit of %zu bytes", name,
                            max);
        if (direct)
            b->size += (size_t)n;
        else
            qdq_buf_append(b, chunk, (size_t)n);
        QDQ_NEED(!b->failed, err);
    }
}

qdq_status qdq_read_file(const char *path, size_t max, char **data, size_t *size, qdq_error *err)
{
    bool is_stdin = strcmp(path, "-") == 0;
    const char *name = is_stdin ? "<stdin>" : path;
    int fd = is_stdin ? STDIN_FILENO : open_again(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

    *data = NULL;
    *size = 0;
    if (fd < 0)
        return qdq_fail_errno(err, QDQ_E_IO, errno, "%s: cannot open", name);
    qdq_buf b = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
    qdq_status st = read_all(fd, name, max < QDQ_BUF_NO_LIMIT ? max : QDQ_BUF_NO_LIMIT, &b, err);
    if (!is_stdin)
        close(fd);
    if (st != QDQ_OK) {
        qdq_buf_free(&b);
        return st;
    }
    size_t n = b.size;
    *data = qdq_buf_take(&b);
    QDQ_NEED(*data != NULL, err);
    *size = n;
    return QDQ_OK;
}
