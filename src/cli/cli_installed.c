/* cli_installed.c - finds the folder and the file of an installed target, by engine, version and
 * processor. */
#include "cli/cli_installed.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/processor.h"
#include "cli/cli_host.h"
#include "qdq/quant.h"

/* A word that is safe as the name of a file. NULL: out of memory. */
static const char *safe_name(cli *c, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-+";
    char *name = qdq_arena_strdup(&c->arena, text);

    for (char *at = name; at != NULL && *at != '\0'; at++)
        if (strchr(plain, *at) == NULL)
            *at = '_';
    if (name != NULL && name[0] == '.')
        name[0] = '_';
    return name;
}

/* Empty variables are as good as none (XDG Base Directory Specification). *folder is NULL where
 * nothing names one. */
static qdq_status find_folder(cli *c, const char **folder, qdq_error *err)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

    *folder = NULL;
    if (config != NULL && config[0] == '/')
        *folder = qdq_arena_printf(&c->arena, "%s/qdq/targets", config);
    else if (home != NULL && home[0] != '\0')
        *folder = qdq_arena_printf(&c->arena, "%s/.config/qdq/targets", home);
    else
        return QDQ_OK;
    return *folder != NULL ? QDQ_OK : qdq_nomem(err);
}

static qdq_status processor(cli *c, const char **name, qdq_error *err)
{
    char text[300];

    qdq_processor_name(text, sizeof text);
    *name = safe_name(c, c->host != NULL ? c->host->processor : text);
    return *name != NULL ? QDQ_OK : qdq_nomem(err);
}

qdq_status cli_installed_path(cli *c, const char *name, const char *engine, const char *version,
                              const char **path, qdq_error *err)
{
    const char *folder, *cpu;

    QDQ_TRY(find_folder(c, &folder, err));
    if (folder == NULL)
        return qdq_fail(err, QDQ_E_USAGE,
                        "--install: neither XDG_CONFIG_HOME nor HOME is set; expected one");
    QDQ_TRY(processor(c, &cpu, err));
    const char *e = safe_name(c, engine), *v = safe_name(c, version), *n = safe_name(c, name);
    QDQ_NEED(e != NULL && v != NULL && n != NULL, err);
    *path = qdq_arena_printf(&c->arena, "%s/%s-%s/%s/%s.json", folder, e, v, cpu, n);
    return *path != NULL ? QDQ_OK : qdq_nomem(err);
}

qdq_status cli_installed_make_folder(cli *c, const char *path, qdq_error *err)
{
    char *copy = qdq_arena_strdup(&c->arena, path);

    QDQ_NEED(copy != NULL, err);
    for (char *at = strchr(copy + 1, '/'); at != NULL; at = strchr(at + 1, '/')) {
        *at = '\0';
        if (mkdir(copy, 0777) != 0 && errno != EEXIST)
            return qdq_fail_errno(err, QDQ_E_IO, errno, "%s: cannot make this folder", copy);
        *at = '/';
    }
    return QDQ_OK;
}

/* Is there a file of this target and processor for any version of the engine? */
static qdq_status has_any(cli *c, const char *name, const char *engine, bool *any, qdq_error *err)
{
    const size_t length = strlen(engine);
    const char *folder, *cpu;
    struct dirent *entry;

    *any = false;
    QDQ_TRY(find_folder(c, &folder, err));
    QDQ_TRY(processor(c, &cpu, err));
    DIR *dir = folder != NULL ? opendir(folder) : NULL;
    while (dir != NULL && !*any && (entry = readdir(dir)) != NULL) {
        if (strncmp(entry->d_name, engine, length) != 0 || entry->d_name[length] != '-')
            continue;
        const char *path =
            qdq_arena_printf(&c->arena, "%s/%s/%s/%s.json", folder, entry->d_name, cpu, name);
        *any = path != NULL && access(path, R_OK) == 0;
    }
    if (dir != NULL)
        closedir(dir);
    return QDQ_OK;
}

/* The spec of the engine that will run the target: that of the command, if it does, or else the
 * target's own. */
static const char *spec_of(const cli_engine_args *a, const char *own, const char **name)
{
    const char *given = a != NULL ? a->engine : NULL;
    const size_t length = given != NULL ? strcspn(given, ":") : 0;

    *name = own;
    if (given != NULL && length == strlen(own) && strncmp(given, own, length) == 0)
        return given;
    if (given != NULL && strncmp(given, "sim:", 4) == 0) {
        *name = "sim";
        return given;
    }
    return own;
}

static qdq_status find_version(cli *c, const cli_engine_args *a, const char *spec,
                               const char **version, qdq_error *err)
{
    cli_engine_args args = {0};
    qdq_engine *e = NULL;

    if (a != NULL) {
        args.ort_library = a->ort_library;
        args.openvino_library = a->openvino_library;
        args.worker = a->worker;
        args.timeout_s = a->timeout_s;
    }
    args.engine = spec;
    QDQ_TRY(cli_engine_open(c, &args, &e, err));
    *version = qdq_arena_strdup(&c->arena, qdq_engine_get_info(e)->version);
    qdq_engine_close(e);
    return *version != NULL ? QDQ_OK : qdq_nomem(err);
}

static qdq_status engine_of(cli *c, const char *name, const char **engine, qdq_error *err)
{
    qdq_target *t = NULL;

    QDQ_TRY(qdq_target_load(name, &t, err));
    *engine = qdq_arena_strdup(&c->arena, qdq_target_engine(t));
    qdq_target_free(t);
    return *engine != NULL ? QDQ_OK : qdq_nomem(err);
}

qdq_status cli_installed_find(cli *c, const char *name, const cli_engine_args *a, const char **path,
                              qdq_error *err)
{
    const char *own, *engine, *version = "", *found;
    qdq_error why = QDQ_ERROR_INIT;
    bool any;

    *path = NULL;
    QDQ_TRY(cli_host_need(c, a, err));
    QDQ_TRY(engine_of(c, name, &own, err));
    const char *spec = spec_of(a, own, &engine);
    QDQ_TRY(has_any(c, name, engine, &any, err));
    if (!any)
        return QDQ_OK;
    if (find_version(c, a, spec, &version, &why) != QDQ_OK) {
        cli_note(&c->ui, "installed targets are not used: %s", why.text);
        return QDQ_OK;
    }
    QDQ_TRY(cli_installed_path(c, name, engine, version, &found, err));
    if (access(found, R_OK) == 0)
        *path = found;
    return QDQ_OK;
}

void cli_installed_print(const cli *c, FILE *to)
{
    if (c->installed != NULL)
        fprintf(to, "rules of the target as measured on this machine: %s\n", c->installed);
}
