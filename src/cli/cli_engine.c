/* cli_engine.c - the environment that the library does not read: QDQ_ORT_LIBRARY, TMPDIR, the folders beside
 * the executable. */
#include "cli/cli_engine.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"

const cli_opt cli_engine_opts[] = {
    {.letter = 'e',
     .name = "engine",
     .kind = CLI_TEXT,
     .offset = CLI_AT(cli_engine_args, engine),
     .what = "NAME[:ARG]",
     .help = "what runs models; 'qdq engines' lists them",
     .init = "ort"},
    {.name = "ort-library",
     .kind = CLI_FILE,
     .offset = CLI_AT(cli_engine_args, ort_library),
     .what = "FILE",
     .help = "the ONNX Runtime library; else $QDQ_ORT_LIBRARY, then the usual places"},
    CLI_END,
};

static const char *from_environment(const char *name)
{
    const char *v = getenv(name);

    return v != NULL && *v != '\0' ? v : NULL;
}

/* The folder of the executable: set-up unpacks engines beside it, installation puts them into lib/qdq. */
static const char *const *search_dirs(cli *c)
{
    char exe[4096];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    const char **dirs = qdq_arena_array(&c->arena, 4, sizeof *dirs);
    size_t used = 0;

    if (dirs == NULL)
        return NULL;
    if (n > 0) {
        exe[n] = '\0';
        *strrchr(exe, '/') = '\0';
        dirs[used] = qdq_arena_printf(&c->arena, "%s/ort", exe);
        used += dirs[used] != NULL;
        dirs[used] = qdq_arena_printf(&c->arena, "%s/../lib/qdq", exe);
        used += dirs[used] != NULL;
    }
    dirs[used++] = QDQ_LIBRARY_DIR;
    return dirs;
}

qdq_status cli_engine_opts_fill(cli *c, const cli_engine_args *a, qdq_engine_opts *opts, qdq_error *err)
{
    /* From 1.31 on, ONNX Runtime keeps a data base below the home folder and reports to its makers. What is
     * measured here is nobody else's business, unless the user says so. */
    if (setenv("ORT_DISABLE_TELEMETRY", "1", 0) != 0)
        return qdq_nomem(err);
    opts->ort_library = a->ort_library != NULL ? a->ort_library : from_environment("QDQ_ORT_LIBRARY");
    opts->search_dirs = search_dirs(c);
    opts->temp_dir = from_environment("TMPDIR");
    opts->job = &c->job;
    return QDQ_OK;
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
