/* tune_folder.c - the lock, the note and the files of a run's folder. The note is locked as long as
 * the run lives: the system lets go of it whatever the process dies of, so that no one has to guess
 * from numbers of processes. */
#include "tune/store/tune_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/fail.h"
#include "base/json_write.h"
#include "base/side_name.h"
#include "onnx/side_file.h"

#define NOTE ".run"
#define WORK ".work-"

enum { NOTE_MAX = 1 << 20, GRACE_MS = 2000 };

static const char *const outputs[] = {"model.onnx",     "plan.json",           "report.json",
                                      "report.html",    "patterns.yaml",       "baseline.onnx",
                                      "model_raw.onnx", "autotune_cache.json", NULL};

/* One of them, or the side file of one. */
static bool is_output(const char *name)
{
    for (size_t i = 0; outputs[i] != NULL; i++)
        if (strcmp(name, outputs[i]) == 0 || qdq_side_is_of(name, outputs[i]))
            return true;
    return false;
}

struct qdq_tune_folder {
    qdq_arena arena;
    const char *dir;
    /* of the note */
    int fd;
    json_t *note;
    /* the note that was there; NULL: none */
    json_t *before;
    /* it is there again */
    bool restored;
    qdq_tempdir *work;
};

/* --- the lock --------------------------------------------------------------------------------- */

/* Of the open file, not of the process: two runs in one process are two. */
static int lock_note(int fd)
{
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    return fcntl(fd, F_OFD_SETLK, &l) == 0 ? 0 : errno;
}

/* Is it locked? Asking takes no lock: that might get into the way of a run that begins. */
static bool is_locked(int fd)
{
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    return fcntl(fd, F_OFD_GETLK, &l) == 0 && l.l_type != F_UNLCK;
}

/* --- the note --------------------------------------------------------------------------------- */

static qdq_status read_note(int fd, const char *dir, json_t **out, qdq_error *err)
{
    struct stat st;
    char *text;

    *out = NULL;
    if (fstat(fd, &st) != 0)
        return qdq_fail_errno(err, QDQ_E_IO, errno, "%s/" NOTE, dir);
    if (!S_ISREG(st.st_mode) || st.st_size > NOTE_MAX)
        return qdq_fail(err, QDQ_E_FORMAT, "%s/" NOTE ": found no note of qdq autotune", dir);
    text = malloc((size_t)st.st_size + 1);
    QDQ_NEED(text != NULL, err);
    ssize_t n = pread(fd, text, (size_t)st.st_size, 0);
    qdq_status status = n < 0 ? qdq_fail_errno(err, QDQ_E_IO, errno, "%s/" NOTE, dir)
                              : qdq_json_parse(text, (size_t)n, dir, out, err);
    free(text);
    return status;
}

/* In place, for the lock is on this very file; short enough for one call, so that no one sees half
 * of it. */
static qdq_status write_note(qdq_tune_folder *f, qdq_error *err)
{
    char *text;

    QDQ_TRY(qdq_json_dump(f->note, &text, err));
    size_t size = strlen(text);
    ssize_t n = pwrite(f->fd, text, size, 0);
    qdq_free(text);
    if (n != (ssize_t)size || ftruncate(f->fd, (off_t)size) != 0)
        return qdq_fail_errno(err, QDQ_E_IO, n < 0 || n == (ssize_t)size ? errno : ENOSPC,
                              "%s/" NOTE ": cannot write", f->dir);
    return QDQ_OK;
}

/* What the run before left: until this one has begun, the files are of that run. */
static void put_earlier(qdq_json_out note, const json_t *old)
{
    json_t *run = json_object_get(old, "run"), *store = json_object_get(old, "store"),
           *earlier = json_object_get(old, "earlier");

    if (json_integer_value(run) != 0) {
        qdq_json_out o = qdq_json_put_object(note, "earlier");

        qdq_json_put(o, "run", json_incref(run));
        if (store != NULL)
            qdq_json_put(o, "store", json_incref(store));
    } else if (earlier != NULL) {
        qdq_json_put(note, "earlier", json_incref(earlier));
    }
}

static qdq_status absolute_path(qdq_arena *arena, const char *path, const char **out,
                                qdq_error *err)
{
    char folder[PATH_MAX];

    *out = path;
    if (path == NULL || path[0] == '/' || getcwd(folder, sizeof folder) == NULL)
        return QDQ_OK;
    *out = qdq_arena_printf(arena, "%s/%s", folder, path);
    return qdq_allocated(*out != NULL, err);
}

/* What was written before is known still; what the run before came to is not. */
static qdq_status begin_note(qdq_tune_folder *f, const char *store, qdq_error *err)
{
    qdq_json_doc doc = {0};

    QDQ_TRY(absolute_path(&f->arena, store, &store, err));
    if (read_note(f->fd, f->dir, &f->before, NULL) == QDQ_E_NOMEM)
        return qdq_nomem(err);
    /* else it is not there yet, or garbage */
    json_t *files = json_object_get(f->before, "files");
    qdq_json_out note = qdq_json_object(&doc);
    qdq_json_put_int(note, "process", getpid());
    qdq_json_put_int(note, "run", 0);
    put_earlier(note, f->before);
    if (store != NULL)
        qdq_json_put_text(note, "store", store);
    qdq_json_put(note, "files", json_is_object(files) ? json_incref(files) : json_object());
    f->note = qdq_json_take(&doc);
    QDQ_NEED(f->note != NULL, err);
    return write_note(f, err);
}

/* --- open and close --------------------------------------------------------------------------- */

static qdq_status make_folder(const char *path, qdq_error *err)
{
    struct stat st;

    if (mkdir(path, 0777) == 0 || (errno == EEXIST && stat(path, &st) == 0 && S_ISDIR(st.st_mode)))
        return QDQ_OK;
    return qdq_fail_errno(err, QDQ_E_IO, errno, "%s: cannot make the folder", path);
}

/* Whoever has the lock; 0: unknown. */
static int64_t find_holder(const qdq_tune_folder *f)
{
    json_t *note = NULL;
    int64_t process = 0;

    if (read_note(f->fd, f->dir, &note, NULL) == QDQ_OK)
        process = json_integer_value(json_object_get(note, "process"));
    json_decref(note);
    return process;
}

/* A run that is killed while it starts a worker leaves the lock with that process until it becomes
 * the worker. */
static bool is_on_its_way_out(int64_t process)
{
    return process > 0 && kill((pid_t)process, 0) != 0 && errno == ESRCH;
}

static qdq_status take_folder(qdq_tune_folder *f, const char *path, qdq_error *err)
{
    f->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (f->fd < 0)
        return qdq_fail_errno(err, QDQ_E_IO, errno, "%s: cannot write into this folder", f->dir);
    int reason = lock_note(f->fd);
    for (int i = 0; i < GRACE_MS && (reason == EAGAIN || reason == EACCES); i++) {
        if (!is_on_its_way_out(find_holder(f)))
            break;
        poll(NULL, 0, 1);
        reason = lock_note(f->fd);
    }
    /* what knows no locks has no second run to fear, we hope */
    if (reason != EAGAIN && reason != EACCES)
        return QDQ_OK;
    return qdq_fail(err, QDQ_E_IO,
                    "%s: another run is at work in this folder (process %lld): expected its end, "
                    "or another folder",
                    f->dir, (long long)find_holder(f));
}

/* A store under the name of something else that a run writes would be overwritten while it is
 * open. */
static qdq_status check_store(const char *dir, const char *store, qdq_error *err)
{
    const char *slash = store != NULL ? strrchr(store, '/') : NULL,
               *name = slash != NULL ? slash + 1 : store;
    char parent[PATH_MAX] = ".";
    struct stat of_dir, of_parent;

    if (slash != NULL)
        snprintf(parent, sizeof parent, "%.*s", (int)(slash - store + 1), store);
    if (store == NULL || stat(dir, &of_dir) != 0 || stat(parent, &of_parent) != 0 ||
        of_dir.st_ino != of_parent.st_ino || of_dir.st_dev != of_parent.st_dev)
        return QDQ_OK;
    if (is_output(name))
        return qdq_fail(
            err, QDQ_E_USAGE,
            "%s: found a store with the name of what a run writes there: expected another name",
            store);
    return QDQ_OK;
}

static qdq_status set_up(qdq_tune_folder *f, const char *dir, bool keep_models, const char *store,
                         qdq_error *err)
{
    const char *note = qdq_arena_printf(&f->arena, "%s/" NOTE, dir);
    const char *logs = qdq_arena_printf(&f->arena, "%s/logs", dir);
    const char *models = qdq_arena_printf(&f->arena, "%s/region_models", dir);

    f->dir = qdq_arena_strdup(&f->arena, dir);
    QDQ_NEED(note != NULL && logs != NULL && models != NULL && f->dir != NULL, err);
    QDQ_TRY(make_folder(dir, err));
    QDQ_TRY(check_store(dir, store, err));
    QDQ_TRY(take_folder(f, note, err));
    qdq_tempdir_sweep(dir, WORK, outputs);
    qdq_tempdir_sweep(models, WORK, NULL);
    QDQ_TRY(begin_note(f, store, err));
    QDQ_TRY(make_folder(logs, err));
    if (keep_models)
        QDQ_TRY(make_folder(models, err));
    return qdq_tempdir_new_as(dir, WORK, &f->work, err);
}

qdq_status qdq_tune_folder_open(const char *dir, bool keep_models, const char *store,
                                qdq_tune_folder **out, qdq_error *err)
{
    qdq_tune_folder *f = calloc(1, sizeof *f);

    *out = NULL;
    QDQ_NEED(f != NULL, err);
    f->fd = -1;
    qdq_status st = set_up(f, dir, keep_models, store, err);
    if (st != QDQ_OK) {
        qdq_tune_folder_close(f, st == QDQ_E_NOMEM || err == NULL ? NULL : err->text);
        return st;
    }
    *out = f;
    return QDQ_OK;
}

void qdq_tune_folder_close(qdq_tune_folder *f, const char *why)
{
    if (f == NULL)
        return;
    if (f->note != NULL && why != NULL && !f->restored) {
        qdq_error ignored; /* the run has failed already */
        if (json_object_set_new(f->note, "failed", qdq_json_new_text(why)) == 0)
            (void)write_note(f, &ignored);
    }
    qdq_tempdir_free(f->work);
    json_decref(f->note);
    json_decref(f->before);
    if (f->fd >= 0)
        close(f->fd);
    qdq_arena_free(&f->arena);
    free(f);
}

qdq_tempdir *qdq_tune_folder_work(const qdq_tune_folder *f)
{
    return f->work;
}

qdq_status qdq_tune_folder_began(qdq_tune_folder *f, int64_t run, qdq_error *err)
{
    QDQ_NEED(json_object_set_new(f->note, "run", json_integer(run)) == 0, err);
    json_object_del(f->note, "earlier");
    return write_note(f, err);
}

int64_t qdq_tune_folder_run_before(const qdq_tune_folder *f, const char **store)
{
    const json_t *earlier = json_object_get(f->note, "earlier");

    *store = json_string_value(json_object_get(earlier, "store"));
    return json_integer_value(json_object_get(earlier, "run"));
}

qdq_status qdq_tune_folder_restore(qdq_tune_folder *f, qdq_error *err)
{
    json_t *mine = f->note;

    f->note = f->before != NULL ? f->before : mine;
    qdq_status st = write_note(f, err);
    f->note = mine;
    f->restored = st == QDQ_OK;
    return st;
}

/* --- what was written ------------------------------------------------------------------------- */

/* Appends to *text; false: there is no such file. */
static bool stamp_file(const char *dir, const char *name, qdq_buf *text)
{
    char path[PATH_MAX];
    struct stat st;
    int n = snprintf(path, sizeof path, "%s/%s", dir, name);

    if (n < 0 || (size_t)n >= sizeof path || stat(path, &st) != 0)
        return false;
    qdq_buf_printf(text, "%llu %lld %lld.%09ld;", (unsigned long long)st.st_ino,
                   (long long)st.st_size, (long long)st.st_mtim.tv_sec, (long)st.st_mtim.tv_nsec);
    return true;
}

/* Whoever writes into a file, or puts another in its place, changes this; with the side file that a
 * model names. qdq_free(). NULL: there is none, or no memory. */
static char *stamp_output(const qdq_tune_folder *f, const char *name)
{
    qdq_buf text = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_old_sides sides = {.arena = &arena};
    const char *path = qdq_arena_printf(&arena, "%s/%s", f->dir, name);
    bool found = path != NULL && stamp_file(f->dir, name, &text) &&
                 qdq_side_list(path, &sides, NULL) == QDQ_OK;

    for (size_t i = 0; found && i < sides.at.n; i++)
        if (sides.at.at[i].is_named)
            found = stamp_file(f->dir, sides.at.at[i].name, &text);
    qdq_arena_free(&arena);
    if (found)
        return qdq_buf_take(&text);
    qdq_buf_free(&text);
    return NULL;
}

bool qdq_tune_folder_has(const qdq_tune_folder *f, const char *name, const char *of)
{
    json_t *file = json_object_get(json_object_get(f->note, "files"), name);
    const char *made_of = json_string_value(json_object_get(file, "of"));
    const char *then = json_string_value(json_object_get(file, "stamp"));
    char *now =
        made_of != NULL && then != NULL && strcmp(made_of, of) == 0 ? stamp_output(f, name) : NULL;
    bool same = now != NULL && strcmp(now, then) == 0;

    qdq_free(now);
    return same;
}

qdq_status qdq_tune_folder_wrote(qdq_tune_folder *f, const char *name, const char *of,
                                 qdq_error *err)
{
    qdq_json_doc doc = {0};
    qdq_json_out file = qdq_json_object(&doc);
    char *now = stamp_output(f, name);

    qdq_json_put_text(file, "of", of);
    qdq_json_put_text(file, "stamp", now != NULL ? now : "");
    qdq_free(now);
    QDQ_NEED(json_object_set_new(json_object_get(f->note, "files"), name, qdq_json_take(&doc)) == 0,
             err);
    return write_note(f, err);
}

/* --- whoever asks ----------------------------------------------------------------------------- */

static qdq_status read_note_of(int fd, const char *dir, qdq_tune_note *out, qdq_error *err)
{
    json_t *note;

    out->running = is_locked(fd);
    QDQ_TRY(read_note(fd, dir, &note, err));
    out->found = true;
    out->process = json_integer_value(json_object_get(note, "process"));
    out->run = json_integer_value(json_object_get(note, "run"));
    qdq_status st =
        qdq_text_copy(json_string_value(json_object_get(note, "store")), &out->store, err);
    if (st == QDQ_OK)
        st = qdq_text_copy(json_string_value(json_object_get(note, "failed")), &out->failed, err);
    json_decref(note);
    return st;
}

qdq_status qdq_tune_note_read(const char *dir, qdq_tune_note *out, qdq_error *err)
{
    size_t room = strlen(dir) + sizeof "/" NOTE;
    char *path = malloc(room);

    *out = (qdq_tune_note){0};
    QDQ_NEED(path != NULL, err);
    snprintf(path, room, "%s/" NOTE, dir);
    /* whatever it is, it is not waited for */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    free(path);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR
                   ? QDQ_OK
                   : qdq_fail_errno(err, QDQ_E_IO, errno, "%s/" NOTE, dir);
    qdq_status st = read_note_of(fd, dir, out, err);
    close(fd);
    if (st != QDQ_OK)
        qdq_tune_note_free(out);
    return st;
}

void qdq_tune_note_free(qdq_tune_note *n)
{
    free(n->store);
    free(n->failed);
    *n = (qdq_tune_note){0};
}
