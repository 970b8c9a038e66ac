/* cli_files.c - the list of a command line's files, compared, checked and printed. */
#include "cli/cli_files.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fail.h"

bool cli_is_stdout(const char *path)
{
    return path != NULL && strcmp(path, "-") == 0;
}

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

/* Devices and pipes are refused: the file appears by rename, which would replace them. */
qdq_status cli_path_check(const char *path, bool force, qdq_error *err)
{
    char folder[4096];
    const char *name;
    struct stat s;

    if (stat(path, &s) == 0) {
        if (S_ISDIR(s.st_mode))
            return qdq_fail(err, QDQ_E_IO, "%s: found a folder, expected a file to write", path);
        if (!S_ISREG(s.st_mode))
            return qdq_fail(err, QDQ_E_IO,
                            "%s: found a device or pipe, expected a regular file ('-' is stdout)",
                            path);
        if (!force)
            return qdq_fail(err, QDQ_E_IO, "%s: exists, -f overwrites it", path);
        return QDQ_OK;
    }
    if (!split(path, folder, sizeof folder, &name))
        return QDQ_OK;
    if (stat(folder, &s) != 0)
        return qdq_fail_errno(err, QDQ_E_IO, errno, "%s: folder '%s'", path, folder);
    if (!S_ISDIR(s.st_mode))
        return qdq_fail(err, QDQ_E_IO, "%s: '%s' is not a folder", path, folder);
    if (name[0] == '\0')
        return qdq_fail(err, QDQ_E_IO, "%s: found a folder, expected a file to write", path);
    return QDQ_OK;
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
    return f->use >= CLI_UPDATES;
}

static bool may_be_one(const cli_file *a, const cli_file *b)
{
    return (!is_written(a) && !is_written(b)) ||
           (a->use == CLI_READS_MODEL && b->use == CLI_WRITES_MODEL);
}

/* --- the list --------------------------------------------------------------------------------- */

qdq_status cli_files_add(cli *c, const char *path, const char *option, cli_use use, qdq_error *err)
{
    const cli_file f = {path, option, use};

    if (path == NULL || cli_is_stdout(path))
        return QDQ_OK;
    return QDQ_PUSH(&c->arena, &c->files, f) ? QDQ_OK : qdq_nomem(err);
}

static qdq_status add_option(cli *c, const cli_opt *o, const void *at, qdq_error *err)
{
    const cli_use use = o->use == CLI_USE_OF_KIND ? CLI_READS : o->use;

    if (o->kind != CLI_LIST)
        return cli_files_add(c, *(const char *const *)at, o->spelling, use, err);
    const cli_names *names = at;
    for (size_t i = 0; i < names->n; i++)
        QDQ_TRY(cli_files_add(c, names->at[i], o->spelling, use, err));
    return QDQ_OK;
}

/* Messages name what is read first. */
qdq_status cli_files_collect(cli *c, const cli_command *cmd, const void *args, qdq_error *err)
{
    if (c->n_operands > 0)
        QDQ_TRY(cli_files_add(c, c->operand[0], "MODEL", CLI_READS_MODEL, err));
    for (int written = 0; written < 2; written++)
        CLI_FOR_OPTS(o, g, cmd)
        {
            if ((o->kind == CLI_FILE || o->use != CLI_USE_OF_KIND) &&
                (o->use >= CLI_UPDATES) == written)
                QDQ_TRY(add_option(c, o, (const char *)args + g->offset + o->offset, err));
        }
    return QDQ_OK;
}

/* --- what is made of it ----------------------------------------------------------------------- */

qdq_status cli_files_check(cli *c, bool force, qdq_error *err)
{
    const cli_file *f = c->files.at;

    for (size_t i = 0; i < c->files.n; i++)
        for (size_t k = 0; k < i; k++)
            if (!may_be_one(&f[k], &f[i]) && is_same(f[i].path, f[k].path))
                return qdq_fail(err, QDQ_E_USAGE, "found '%s' as %s and as %s", f[i].path,
                                f[k].option, f[i].option);
    for (size_t i = 0; i < c->files.n; i++)
        if (f[i].use == CLI_WRITES)
            QDQ_TRY(cli_path_check(f[i].path, force, err));
    return QDQ_OK;
}

qdq_status cli_files_none(const cli *c, const char *why, qdq_error *err)
{
    for (size_t i = 0; i < c->files.n; i++)
        if (c->files.at[i].use == CLI_WRITES)
            return qdq_fail(err, QDQ_E_USAGE, "%s: conflicts with %s; nothing is written", why,
                            c->files.at[i].option);
    return QDQ_OK;
}

/* Of a link to a model, the link is replaced. */
static bool is_link(const char *path)
{
    struct stat s;

    return lstat(path, &s) == 0 && S_ISLNK(s.st_mode);
}

void cli_files_warn_of_replacing(cli *c)
{
    const cli_file *f = c->files.at;

    for (size_t i = 0; i < c->files.n; i++)
        for (size_t k = 0; k < c->files.n; k++)
            if (f[i].use == CLI_WRITES_MODEL && f[k].use == CLI_READS_MODEL &&
                !is_link(f[i].path) && is_same(f[i].path, f[k].path))
                cli_warn(&c->ui,
                         "%s: the float model is replaced: only a copy of it could be quantized "
                         "in another way",
                         f[i].path);
}

qdq_status cli_files_guard(const cli *c, const qdq_model *m, qdq_error *err)
{
    for (size_t i = 0; i < c->files.n; i++)
        if (c->files.at[i].use >= CLI_WRITES)
            QDQ_TRY(qdq_model_guard_data(m, c->files.at[i].path, err));
    return QDQ_OK;
}

static void add_size(qdq_json_out list, const char *path, const struct stat *s)
{
    qdq_json_out file = qdq_json_put_object(list, NULL);
    qdq_json_put_text(file, "path", path);
    qdq_json_put_int(file, "bytes", s->st_size);
}

static void add_sizes(qdq_json_out list, const char *path)
{
    char *side = NULL;
    struct stat model, data;

    if (path == NULL || stat(path, &model) != 0)
        return;
    add_size(list, path, &model);
    if (qdq_model_find_data(path, &side, NULL) != QDQ_OK)
        list.doc->failed = true;
    else if (side != NULL && stat(side, &data) == 0)
        add_size(list, side, &data);
    qdq_free(side);
}

void cli_files_json(qdq_json_out list, const cli *c, const char *but)
{
    for (size_t i = 0; i < c->files.n; i++)
        if (c->files.at[i].use >= CLI_WRITES && c->files.at[i].path != but)
            add_sizes(list, c->files.at[i].path);
}

qdq_status cli_files_print(cli *c, const char *const *paths, size_t n, FILE *to, qdq_error *err)
{
    cli_table table = {.arena = &c->arena, .columns = "lrl"};
    qdq_json_doc d = {0};
    qdq_json_out files = qdq_json_list(&d);
    json_t *file;
    size_t i;

    for (i = 0; i < n; i++)
        add_sizes(files, paths[i]);
    cli_files_json(files, c, NULL);
    const bool failed = d.failed;
    json_array_foreach(files.at, i, file)
    {
        cli_cell(&table, "%s", json_string_value(json_object_get(file, "path")));
        cli_cell(&table, "%" JSON_INTEGER_FORMAT,
                 json_integer_value(json_object_get(file, "bytes")));
        cli_cell(&table, "bytes");
    }
    qdq_json_drop(&d);
    return failed ? qdq_nomem(err) : cli_table_print(&table, to, err);
}
