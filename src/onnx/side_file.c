/* side_file.c - writes and removes the file of external data that a model names. The order that
 * makes a model and its side file one: side file synced, renamed, folder synced; model renamed,
 * folder synced; old side file removed. */
#include "onnx/side_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/sha256.h"
#include "base/side_name.h"
#include "ir/ir.h"

enum { LOCK_TRIES = 100, PLACE_TRIES = 10 };

/* --- open, seal ------------------------------------------------------------------------------- */

/* MODEL and, with a hash, what follows it; qdq_free(). NULL: out of memory. */
static char *side_name(const char *model, const char *hash)
{
    qdq_buf b = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    qdq_buf_puts(&b, model);
    if (hash != NULL)
        qdq_buf_printf(&b, QDQ_SIDE_SUFFIX, hash);
    return qdq_buf_take(&b);
}

qdq_status qdq_side_open(qdq_side *s, const char *model, const qdq_cancel *cancel, qdq_error *err)
{
    char *meanwhile = side_name(model, "HASH");

    s->model = side_name(model, NULL);
    qdq_status st = meanwhile != NULL && s->model != NULL
                        ? qdq_outfile_open_unnamed(meanwhile, &s->file, err)
                        : qdq_nomem(err);
    qdq_free(meanwhile);
    s->cancel = cancel;
    if (st == QDQ_OK)
        qdq_outfile_end_by(s->file, cancel);
    return st;
}

qdq_status qdq_side_seal(qdq_side *s, qdq_error *err)
{
    QDQ_TRY(qdq_outfile_sync(s->file, err));
    QDQ_TRY(
        qdq_sha256_file(qdq_outfile_fd(s->file), s->model, s->cancel, s->digest, &s->size, err));
    s->name = side_name(qdq_base_name(s->model), s->digest);
    return s->name != NULL ? qdq_outfile_name(s->file, s->name, err) : qdq_nomem(err);
}

/* --- place ------------------------------------------------------------------------------------ */

/* A writer holds its file until the model that names it is in place, which does not take long; one
 * that is stopped is not waited for. */
static void lock_existing(int fd)
{
    const struct timespec nap = {0, 10000000};

    for (int i = 0; i < LOCK_TRIES && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
         i++)
        nanosleep(&nap, NULL);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

/* Is the open file still what the name stands for? */
static bool is_still(int dir, const char *name, int fd)
{
    struct stat now, mine;

    return fstat(fd, &mine) == 0 && fstatat(dir, name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
           is_same(&now, &mine);
}

/* The file that has our name. *gone: it has vanished meanwhile. */
static qdq_status use_existing(qdq_side *s, bool *gone, qdq_error *err)
{
    const int dir = qdq_outfile_folder(s->file);
    int fd = openat(dir, s->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    char digest[33] = "";
    uint64_t size = 0;
    struct stat st;

    *gone = fd < 0 && errno == ENOENT;
    if (*gone)
        return QDQ_OK;
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        lock_existing(fd);
        *gone = !is_still(dir, s->name, fd);
        if (!*gone && (uint64_t)st.st_size == s->size &&
            qdq_sha256_file(fd, s->name, s->cancel, digest, &size, NULL) != QDQ_OK)
            digest[0] = '\0';
    }
    if (fd >= 0 && !*gone && size == s->size && strcmp(digest, s->digest) == 0) {
        /* it may be of a process that was killed before it synced */
        if (fsync(fd) == 0 || errno == EINVAL || errno == EROFS || errno == EBADF) {
            s->existing = fd;
            fsync(dir);
            return QDQ_OK;
        }
    }
    if (fd >= 0)
        close(fd);
    QDQ_TRY(qdq_cancel_poll(s->cancel, err));
    return *gone ? QDQ_OK
                 : qdq_fail(err, QDQ_E_IO,
                            "%s: its external data: %s exists with other content, expected none",
                            s->model, s->name);
}

qdq_status qdq_side_place(qdq_side *s, qdq_error *err)
{
    bool taken = true, gone = true;

    for (int i = 0; i < PLACE_TRIES && gone; i++) {
        QDQ_TRY(qdq_outfile_place(s->file, &taken, err));
        if (!taken)
            return QDQ_OK;
        QDQ_TRY(use_existing(s, &gone, err));
    }
    return gone ? qdq_fail_errno(err, QDQ_E_IO, EBUSY, "%s: its external data: %s", s->model,
                                 s->name)
                : QDQ_OK;
}

void qdq_side_close(qdq_side *s, bool named)
{
    if (s->file != NULL && qdq_outfile_is_placed(s->file) && !named)
        unlinkat(qdq_outfile_folder(s->file), s->name, 0);
    qdq_outfile_abort(s->file);
    if (s->existing >= 0)
        close(s->existing);
    qdq_free(s->name);
    qdq_free(s->model);
    *s = (qdq_side)QDQ_SIDE_INIT;
}

/* --- what is there ---------------------------------------------------------------------------- */

static qdq_status add_old(qdq_old_sides *out, const char *name, bool is_ours, bool is_named,
                          qdq_error *err)
{
    qdq_old_side one = {qdq_arena_strdup(out->arena, name), is_ours, is_named};

    for (size_t i = 0; i < out->at.n; i++)
        if (strcmp(out->at.at[i].name, name) == 0) {
            out->at.at[i].is_named |= is_named;
            return QDQ_OK;
        }
    return one.name != NULL && QDQ_PUSH(out->arena, &out->at, one) ? QDQ_OK : qdq_nomem(err);
}

/* NULL: out of memory. */
static char *folder_of(qdq_arena *a, const char *path)
{
    const char *base = qdq_base_name(path);

    return base == path ? qdq_arena_strdup(a, ".")
                        : qdq_arena_strndup(a, path, (size_t)(base - path));
}

static qdq_status list_folder(const char *path, const char *folder, qdq_old_sides *out,
                              qdq_error *err)
{
    const char *base = qdq_base_name(path);
    DIR *dir = opendir(folder); /* one may write into a folder that one may not list */
    qdq_status st = QDQ_OK;

    for (const struct dirent *e = dir != NULL ? readdir(dir) : NULL; e != NULL && st == QDQ_OK;
         e = readdir(dir))
        if (qdq_side_is_of(e->d_name, base))
            st = add_old(out, e->d_name, true, false, err);
    if (dir != NULL)
        closedir(dir);
    return st;
}

/* The files that the model names, as far as they lie in its folder. */
static qdq_status list_named(const char *path, const char *folder, qdq_old_sides *out,
                             qdq_error *err)
{
    qdq_model *m = NULL;
    struct stat self, file, there;
    qdq_status st = qdq_model_load(path, NULL, &m, NULL);

    if (st != QDQ_OK)
        return st == QDQ_E_NOMEM ? qdq_nomem(err) : QDQ_OK;
    if (stat(path, &self) != 0)
        self = (struct stat){0};
    for (size_t i = 0; i < m->mappings.n && st == QDQ_OK; i++) {
        const qdq_mapping *map = m->mappings.at[i];
        const char *full = qdq_mapping_path(map);
        const char *name = full != NULL ? qdq_base_name(full) : NULL;
        const char *beside =
            name != NULL ? qdq_arena_printf(out->arena, "%s/%s", folder, name) : NULL;

        if (name == NULL)
            continue; /* on the heap */
        if (beside == NULL)
            st = qdq_nomem(err);
        else if (fstat(qdq_mapping_fd(map), &file) == 0 && !is_same(&file, &self) &&
                 stat(beside, &there) == 0 && is_same(&file, &there))
            st = add_old(out, name, qdq_side_is_of(name, qdq_base_name(path)), true, err);
    }
    qdq_model_free(m);
    return st;
}

qdq_status qdq_side_list(const char *path, qdq_old_sides *out, qdq_error *err)
{
    const char *folder = folder_of(out->arena, path);
    /* its name before it had a hash */
    const char *former = qdq_arena_printf(out->arena, "%s.data", path);
    struct stat st;

    QDQ_NEED(folder != NULL && former != NULL, err);
    if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode)) /* the target of a link is not replaced */
        return list_folder(path, folder, out, err);
    QDQ_TRY(list_folder(path, folder, out, err));
    /* a model that has no such file beside it need not be read */
    return out->at.n > 0 || access(former, F_OK) == 0 ? list_named(path, folder, out, err) : QDQ_OK;
}

qdq_status qdq_model_guard_data(const qdq_model *m, const char *path, qdq_error *err)
{
    struct stat there, source, input;

    if (stat(path, &there) != 0)
        return QDQ_OK;
    if (stat(m->path, &input) == 0 && input.st_dev == there.st_dev && input.st_ino == there.st_ino)
        return QDQ_OK; /* the model itself */
    for (size_t i = 0; i < m->mappings.n; i++) {
        int fd = qdq_mapping_fd(m->mappings.at[i]);
        if (fd >= 0 && fstat(fd, &source) == 0 && source.st_dev == there.st_dev &&
            source.st_ino == there.st_ino)
            return qdq_fail(err, QDQ_E_IO, "%s: holds external data of %s, expected another name",
                            path, m->path[0] != 0 ? m->path : "the model");
    }
    return QDQ_OK;
}

/* Does the model at `path` name that file of its folder? */
static bool is_naming(const char *path, const struct stat *side)
{
    qdq_model *m = NULL;
    struct stat file;
    bool found = false;

    if (qdq_model_load(path, NULL, &m, NULL) != QDQ_OK)
        return false;
    for (size_t i = 0; i < m->mappings.n && !found; i++)
        found = qdq_mapping_path(m->mappings.at[i]) != NULL &&
                fstat(qdq_mapping_fd(m->mappings.at[i]), &file) == 0 && is_same(&file, side);
    qdq_model_free(m);
    return found;
}

/* A copy of the model that was replaced, or it under another name. */
static bool is_named_elsewhere(qdq_arena *arena, const char *path, const char *side)
{
    static const char suffix[] = ".onnx";
    const char *folder = folder_of(arena, path), *base = qdq_base_name(path);
    DIR *dir = folder != NULL ? opendir(folder) : NULL;
    struct stat st;
    bool found = false;

    if (stat(side, &st) != 0 || dir == NULL) {
        if (dir != NULL)
            closedir(dir);
        return false;
    }
    for (const struct dirent *e = readdir(dir); e != NULL && !found; e = readdir(dir)) {
        const size_t n = strlen(e->d_name), tail = sizeof suffix - 1;
        const char *other;
        if (n <= tail || strcmp(e->d_name + n - tail, suffix) != 0 || strcmp(e->d_name, base) == 0)
            continue;
        other = qdq_arena_printf(arena, "%s/%s", folder, e->d_name);
        found = other == NULL || is_naming(other, &st);
    }
    closedir(dir);
    return found;
}

/* Someone who writes a model that will name it holds a lock. */
static bool remove_unused(const char *path)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool removed = false;

    if (fd < 0)
        return errno == ENOENT;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        removed = unlink(path) == 0;
    close(fd);
    return removed;
}

void qdq_side_remove_old(const char *path, const qdq_old_sides *old, const char *fresh,
                         const qdq_job *job)
{
    for (size_t i = 0; i < old->at.n; i++) {
        const qdq_old_side *o = &old->at.at[i];
        const char *full;

        if (fresh != NULL && strcmp(o->name, fresh) == 0)
            continue;
        full = qdq_arena_printf(old->arena, "%.*s%s", (int)(qdq_base_name(path) - path), path,
                                o->name);
        if (full == NULL)
            return; /* a file too many is no failure */
        if (!o->is_named || !o->is_ours)
            qdq_job_log(job, QDQ_LOG_INFO, "%s stays: %s", full,
                        o->is_named ? "its name does not say whose it is"
                                    : "the model that was replaced does not name it");
        else if (is_named_elsewhere(old->arena, path, full))
            qdq_job_log(job, QDQ_LOG_INFO, "%s stays: another model in its folder names it", full);
        else if (!remove_unused(full))
            qdq_job_log(job, QDQ_LOG_INFO, "%s stays: it is in use, or cannot be removed", full);
    }
}

qdq_status qdq_model_find_data(const char *path, char **out, qdq_error *err)
{
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_old_sides sides = {.arena = &arena};
    qdq_status st = qdq_side_list(path, &sides, err);

    *out = NULL;
    for (size_t i = 0; i < sides.at.n && st == QDQ_OK && *out == NULL; i++)
        if (sides.at.at[i].is_ours && sides.at.at[i].is_named) {
            qdq_buf b = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
            qdq_buf_append(&b, path, (size_t)(qdq_base_name(path) - path));
            qdq_buf_puts(&b, sides.at.at[i].name);
            if ((*out = qdq_buf_take(&b)) == NULL)
                st = qdq_nomem(err);
        }
    qdq_arena_free(&arena);
    return st;
}

qdq_status qdq_model_remove(const char *path, qdq_error *err)
{
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_old_sides old = {.arena = &arena};
    qdq_status st = qdq_side_list(path, &old, err);

    if (st == QDQ_OK && unlink(path) != 0 && errno != ENOENT)
        st = qdq_fail_errno(err, QDQ_E_IO, errno, "%s: cannot be removed", path);
    if (st == QDQ_OK)
        qdq_side_remove_old(path, &old, NULL, NULL);
    qdq_arena_free(&arena);
    return st;
}
