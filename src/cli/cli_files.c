/* cli_files.c - see the header. */
#include "cli/cli_files.h"

#include <string.h>
#include <sys/stat.h>

#include "base/fail.h"
#include "cli/cli_model.h"

/* The folder that a path is in, and its name there; false: the path is too long to be one. */
static bool split(const char *path, char *folder, size_t size, const char **name)
{
    const char *slash = strrchr(path, '/');
    const size_t n = slash == NULL ? 1 : slash == path ? 1 : (size_t)(slash - path);

    if (n >= size)
        return false;
    memcpy(folder, slash == NULL ? "." : path, n);
    folder[n] = '\0';
    *name = slash != NULL ? slash + 1 : path;
    return true;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Of files that are not there yet, folders and names are compared. */
static bool is_same(const char *a, const char *b)
{
    char folder[2][4096];
    const char *name[2];
    struct stat s[2];

    if (strcmp(a, b) == 0)
        return true;
    const bool there[2] = {stat(a, &s[0]) == 0, stat(b, &s[1]) == 0};
    if (there[0] || there[1])
        return there[0] && there[1] && is_same_file(&s[0], &s[1]);
    return split(a, folder[0], sizeof folder[0], &name[0]) &&
           split(b, folder[1], sizeof folder[1], &name[1]) && strcmp(name[0], name[1]) == 0 &&
           stat(folder[0], &s[0]) == 0 && stat(folder[1], &s[1]) == 0 && is_same_file(&s[0], &s[1]);
}

static bool is_written(const cli_file *f)
{
    return f->use == CLI_WRITES || f->use == CLI_WRITES_MODEL;
}

static bool may_be_one(const cli_file *a, const cli_file *b)
{
    return (!is_written(a) && !is_written(b)) ||
           (a->use == CLI_READS_MODEL && b->use == CLI_WRITES_MODEL) ||
           (b->use == CLI_READS_MODEL && a->use == CLI_WRITES_MODEL);
}

static bool is_file(const cli_file *f)
{
    return f->path != NULL && !cli_is_stdout(f->path);
}

qdq_status cli_files_check(const cli_file *list, size_t n, qdq_error *err)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (is_file(&list[i]) && is_file(&list[k]) && !may_be_one(&list[i], &list[k]) &&
                is_same(list[i].path, list[k].path))
                return qdq_fail(err, QDQ_E_USAGE, "found '%s' as %s and as %s", list[i].path,
                                list[k].option, list[i].option);
    return QDQ_OK;
}
