/* cli_engine.c - the environment that the library does not read: QDQ_ORT_LIBRARY and the like,
 * TMPDIR, the folders beside the executable. */
#include "cli/cli_engine.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"

#define ARGS cli_engine_args
#include "cli/cli_tables.def"
#include "cli/cli_engine.def"

static const char *from_environment(const char *name)
{
    const char *v = getenv(name);

    return v != NULL && *v != '\0' ? v : NULL;
}

/* The folder of the executable: set-up unpacks engines beside it, installation puts them into
 * lib/qdq. */
static const char *const *search_dirs(cli *c)
{
    static const char *const beside[] = {"ort", "openvino", "../lib/qdq", "../lib/qdq/openvino"};
    char exe[4096];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    const char **dirs = qdq_arena_array(&c->arena, QDQ_COUNT(beside) + 3, sizeof *dirs);
    size_t used = 0;

    if (dirs == NULL)
        return NULL;
    if (n > 0) {
        exe[n] = '\0';
        *strrchr(exe, '/') = '\0';
        for (size_t i = 0; i < QDQ_COUNT(beside); i++) {
            dirs[used] = qdq_arena_printf(&c->arena, "%s/%s", exe, beside[i]);
            used += dirs[used] != NULL;
        }
    }
    dirs[used++] = QDQ_LIBRARY_DIR;
    dirs[used++] = QDQ_LIBRARY_DIR "/openvino";
    return dirs;
}

/* What the engine needs and the library leaves to the program: told before anything of the engine
 * is loaded, and to the programs that will be started. */
static qdq_status set_environment(cli *c, const char *engine, const qdq_engine_opts *opts,
                                  qdq_error *err)
{
    const char *need = qdq_engine_environment(engine, opts);
    const char *value = need != NULL ? strchr(need, '=') : NULL;

    if (value == NULL)
        return QDQ_OK;
    const char *name = qdq_arena_printf(&c->arena, "%.*s", (int)(value - need), need);
    if (name == NULL || setenv(name, value + 1, 1) != 0)
        return qdq_nomem(err);
    cli_note(&c->ui,
             "this machine announces AMX, but kills programs that use it: %s keeps engine %s from "
             "it, which costs time in 8-bit models",
             need, engine);
    return QDQ_OK;
}

bool cli_engine_takes_provider(const char *spec)
{
    return strcmp(spec, "ort") == 0 || strncmp(spec, "ort:", 4) == 0;
}

bool cli_engine_takes_trtexec_args(const char *spec)
{
    return spec != NULL && (strcmp(spec, "trtexec") == 0 || strncmp(spec, "trtexec:", 8) == 0);
}

/* Libraries are those of the host, which finds its own. */
static qdq_status check_host(const cli_engine_args *a, qdq_error *err)
{
    const char *path = a->ort_library != NULL ? "--ort-library" : "--openvino-library";

    if (a->host == NULL)
        return a->host_timeout_s > 0
                   ? qdq_fail(err, QDQ_E_USAGE, "found --host-timeout without --host")
                   : QDQ_OK;
    if (a->ort_library != NULL || a->openvino_library != NULL)
        return qdq_fail(err, QDQ_E_USAGE,
                        "found %s and --host: expected a library of the host, as in --engine "
                        "ort:/path/there, $QDQ_ORT_LIBRARY there, or 'qdq engines --install'",
                        path);
    if (a->timing_cache != NULL)
        return qdq_fail(err, QDQ_E_USAGE, "found --timing-cache and --host: expected one of them");
    return QDQ_OK;
}

qdq_status cli_engine_opts_fill(cli *c, const cli_engine_args *a, qdq_engine_opts *opts,
                                qdq_error *err)
{
    /* From 1.31 on, ONNX Runtime keeps a data base below the home folder and reports to its makers.
     * Measurements stay private, unless the user says otherwise. */
    if (setenv("ORT_DISABLE_TELEMETRY", "1", 0) != 0)
        return qdq_nomem(err);
    if (a->providers.n > 0 && a->engine != NULL && !cli_engine_takes_provider(a->engine))
        return qdq_fail(err, QDQ_E_USAGE, "found --provider and engine %s: expected engine ort",
                        a->engine);
    if (a->trtexec_args != NULL && !cli_engine_takes_trtexec_args(a->engine))
        return qdq_fail(err, QDQ_E_USAGE,
                        "found --trtexec-args and engine %s: expected engine trtexec",
                        a->engine != NULL ? a->engine : "ort");
    QDQ_TRY(check_host(a, err));
    opts->host = a->host;
    opts->host_timeout_s = a->host_timeout_s;
    opts->ort_library =
        a->ort_library != NULL ? a->ort_library : from_environment("QDQ_ORT_LIBRARY");
    opts->openvino_library = a->openvino_library != NULL ? a->openvino_library
                                                         : from_environment("QDQ_OPENVINO_LIBRARY");
    opts->search_dirs = search_dirs(c);
    opts->trtexec = a->trtexec;
    opts->trtexec_args = a->trtexec_args;
    opts->timing_cache = a->timing_cache;
    opts->plugins = a->plugins.at;
    opts->providers = a->providers.at;
    opts->temp_dir = from_environment("TMPDIR");
    opts->job = &c->job;
    opts->in_worker = true;
    opts->worker = a->worker;
    opts->deadline_s = a->timeout_s;
    /* of a host, its qdq-worker sets it */
    return a->engine != NULL && a->host == NULL ? set_environment(c, a->engine, opts, err) : QDQ_OK;
}

qdq_status cli_engine_open(cli *c, const cli_engine_args *a, qdq_engine **out, qdq_error *err)
{
    qdq_engine_opts opts = QDQ_ENGINE_OPTS_INIT;

    QDQ_TRY(cli_engine_opts_fill(c, a, &opts, err));
    QDQ_TRY(qdq_engine_open(a->engine, &opts, out, err));
    const qdq_engine_info *info = qdq_engine_get_info(*out);
    cli_note(&c->ui, "engine %s %s from %s", info->name, info->version, info->library);
    return QDQ_OK;
}

int cli_threads(int64_t asked)
{
    cpu_set_t set;

    if (asked > 0)
        return (int)asked;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return CPU_COUNT(&set);
    return 1;
}

const char *cli_plural(size_t n)
{
    return n == 1 ? "" : "s";
}
