/* worker_place.c - files under the names that a question has for them. Names come from another
 * machine: none leads out of its folder. */
#include "worker/worker_place.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fail.h"
#include "base/spawn.h"
#include "engine/remote/remote_message.h"

static bool is_safe_name(const char *name)
{
    const size_t size = strlen(name);

    if (size == 0 || size > 200 || name[0] == '.')
        return false;
    for (const char *c = name; *c != '\0'; c++)
        if (*c == '/' || (unsigned char)*c < ' ')
            return false;
    return true;
}

/* A new folder below the one of the connection. */
static qdq_status new_folder(qdq_worker_places *w, qdq_arena *arena, const char **path, int *fd,
                             qdq_error *err)
{
    *path = qdq_arena_printf(arena, "%s/%u", w->dir, w->n++);
    QDQ_NEED(*path != NULL, err);
    if (mkdir(*path, 0700) != 0 || (*fd = open(*path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        return qdq_fail_errno(err, QDQ_E_IO, errno, "%s: cannot make this folder", *path);
    return QDQ_OK;
}

static qdq_status link_parts(const qdq_worker_places *w, const qdq_json_place *one, int dir,
                             qdq_error *err)
{
    const json_t *parts = json_object_get(one->object, "parts");

    for (size_t i = 0; i < json_array_size(parts); i++) {
        const char *hash = json_string_value(json_array_get(parts, i));

        if (hash == NULL)
            return qdq_fail(err, QDQ_E_FORMAT, "key 'parts': expected hashes");
        QDQ_TRY(qdq_worker_blobs_link(w->blobs, hash, dir, hash, err));
    }
    return QDQ_OK;
}

/* The file in a folder of its own. */
static qdq_status make_file(qdq_worker_places *w, const qdq_json_place *one, const char **path,
                            const char **folder, qdq_error *err)
{
    const char *name = qdq_json_text(one, "name", NULL), *hash = qdq_json_text(one, "blob", NULL);
    int dir = -1;

    QDQ_TRY(one->reader->status);
    if (!is_safe_name(name))
        return qdq_fail(err, QDQ_E_FORMAT, "key 'name': expected the name of a file");
    QDQ_TRY(new_folder(w, one->reader->arena, folder, &dir, err));
    qdq_status st = qdq_worker_blobs_link(w->blobs, hash, dir, name, err);
    if (st == QDQ_OK)
        st = link_parts(w, one, dir, err);
    qdq_fd_close(&dir);
    *path = qdq_arena_printf(one->reader->arena, "%s/%s", *folder, name);
    return st == QDQ_OK ? qdq_allocated(*path != NULL, err) : st;
}

static qdq_status set_text(json_t *object, const char *key, const char *text, qdq_error *err)
{
    return qdq_allocated(json_object_set_new(object, key, qdq_remote_text(text)) == 0, err);
}

static qdq_status set_file(json_t *question, int64_t index, const char *path, qdq_error *err)
{
    json_t *file = json_array_get(json_object_get(question, "files"), (size_t)index);
    struct stat st;

    if (!json_is_object(file))
        return qdq_fail(err, QDQ_E_FORMAT, "key 'index': expected one of a file of the question");
    if (stat(path, &st) != 0)
        return qdq_fail_errno(err, QDQ_E_IO, errno, "%s", path);
    QDQ_TRY(set_text(file, "path", path, err));
    QDQ_NEED(json_object_set_new(file, "dev", json_integer((json_int_t)st.st_dev)) == 0 &&
                 json_object_set_new(file, "ino", json_integer((json_int_t)st.st_ino)) == 0 &&
                 json_object_set_new(file, "size", json_integer((json_int_t)st.st_size)) == 0,
             err);
    return QDQ_OK;
}

static qdq_status place_one(qdq_worker_places *w, const qdq_json_place *one, json_t *question,
                            int *fd, const char **folder, qdq_error *err)
{
    static const char *const members[] = {"path", "samples", "engine", "file", "memory", NULL};
    enum { FILE_MEMBER = 3, MEMORY };
    const int to = qdq_json_word(one, "to", members, -1);
    const char *prefix = qdq_json_text(one, "prefix", ""), *path = NULL;
    const int64_t index = qdq_json_int(one, "index", 0, INT32_MAX, 0);

    QDQ_TRY(one->reader->status);
    if (to == MEMORY) {
        const char *hash = qdq_json_text(one, "blob", NULL);

        QDQ_TRY(one->reader->status);
        qdq_fd_close(fd);
        *fd = qdq_worker_blobs_read(w->blobs, hash, err);
        return *fd >= 0 ? QDQ_OK : QDQ_E_IO;
    }
    QDQ_TRY(make_file(w, one, &path, folder, err));
    if (to == FILE_MEMBER)
        return set_file(question, index, path, err);
    if (!json_is_string(json_object_get(question, members[to])))
        return qdq_fail(err, QDQ_E_FORMAT, "key 'to': the question has no member '%s'",
                        members[to]);
    const char *text = qdq_arena_printf(one->reader->arena, "%s%s", prefix, path);
    QDQ_NEED(text != NULL, err);
    return set_text(question, members[to], text, err);
}

qdq_status qdq_worker_place(qdq_worker_places *w, const qdq_json_place *ask, json_t *question,
                            int *fd, const char **made, qdq_error *err)
{
    const char *name = json_string_value(json_object_get(question, "do"));
    /* the process keeps what it is greeted with; models are open after their question */
    const bool stays = name != NULL && strcmp(name, "hello") == 0;
    qdq_worker_places inner = *w;
    qdq_json_place one;
    qdq_status st = QDQ_OK;

    *fd = -1;
    *made = NULL;
    if (json_array_size(json_object_get(ask->object, "place")) == 0)
        return QDQ_OK;
    int dir = -1;
    QDQ_TRY(new_folder(w, ask->reader->arena, &inner.dir, &dir, err));
    qdq_fd_close(&dir);
    inner.n = 0;
    *made = stays ? NULL : inner.dir;
    for (size_t i = 0; st == QDQ_OK && qdq_json_item(ask, "place", i, &one); i++) {
        const char *folder = NULL;

        st = place_one(&inner, &one, question, fd, &folder, err);
    }
    return st == QDQ_OK ? ask->reader->status : st;
}
