/* tempdir.c - private folders that vanish with all that is in them. */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"

enum { DEPTH_MAX = 64 };

struct qdq_tempdir {
    char *path;
};

qdq_status qdq_tempdir_new(const char *parent, qdq_tempdir **out, qdq_error *err)
{
    return qdq_tempdir_new_as(parent, "qdq-", out, err);
}

qdq_status qdq_tempdir_new_as(const char *parent, const char *prefix, qdq_tempdir **out,
                              qdq_error *err)
{
    *out = NULL;
    if (parent == NULL)
        parent = "/tmp";
    size_t room = strlen(parent) + strlen(prefix) + sizeof "/XXXXXX";
    qdq_tempdir *d = malloc(sizeof *d);
    char *path = malloc(room);
    if (d == NULL || path == NULL) {
        free(d);
        free(path);
        return qdq_nomem(err);
    }
    snprintf(path, room, "%s/%sXXXXXX", parent, prefix);
    if (mkdtemp(path) == NULL) {
        qdq_status st = qdq_fail_errno(err, QDQ_E_IO, errno,
                                       "%s: cannot make a folder for temporary files", parent);
        free(path);
        free(d);
        return st;
    }
    d->path = path;
    *out = d;
    return QDQ_OK;
}

const char *qdq_tempdir_path(const qdq_tempdir *d)
{
    return d->path;
}

/* Best effort: there is no one to tell. Links are removed, not followed. */
static void remove_content(int parent, const char *name, unsigned depth)
{
    DIR *dir = qdq_folder_list(parent, name);

    if (dir == NULL)
        return;
    for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (unlinkat(dirfd(dir), e->d_name, 0) == 0 || depth == DEPTH_MAX)
            continue;
        remove_content(dirfd(dir), e->d_name, depth + 1);
        unlinkat(dirfd(dir), e->d_name, AT_REMOVEDIR);
    }
    closedir(dir);
}

void qdq_tempdir_remove(const char *path)
{
    remove_content(AT_FDCWD, path, 0);
    rmdir(path);
}

void qdq_tempdir_free(qdq_tempdir *d)
{
    if (d == NULL)
        return;
    qdq_tempdir_remove(d->path);
    free(d->path);
    free(d);
}

/* --- leftovers -------------------------------------------------------------------------------- */

static bool is_tempdir(const char *name, const char *prefix)
{
    const size_t n = strlen(prefix);

    return strncmp(name, prefix, n) == 0 && strlen(name) == n + sizeof "XXXXXX" - 1;
}

void qdq_tempdir_sweep(const char *dir, const char *prefix, const char *const *names)
{
    DIR *d = opendir(dir);

    if (d == NULL)
        return;
    for (const struct dirent *e = readdir(d); e != NULL; e = readdir(d)) {
        if (is_tempdir(e->d_name, prefix)) {
            remove_content(dirfd(d), e->d_name, 0);
            unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
        }
    }
    qdq_outfile_sweep(dirfd(d), names);
    closedir(d);
}
