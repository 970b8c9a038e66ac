/* replay.c - the `replay` engine: times, profiles and layer information from a folder
 * (trt/trt_record.h says what is in it), instead of from a device. For tests, and for looking at
 * what somebody else's machine said: nothing in it depends on this one. */
#include <stdlib.h>
#include <sys/stat.h>

#include "base/fail.h"
#include "base/json_read.h"
#include "engine/engine_ops.h"
#include "engine/session_io.h"
#include "engine/trt/trt_record.h"
#include "engine/trt/trt_result.h"

typedef struct replay_session {
    const char *key;
    /* of one call */
    qdq_arena scratch;
    /* exported times, read when they are first wanted */
    double *ms;
    size_t n_ms;
    /* timed block */
    uint64_t next;
} replay_session;

/* --- engine ----------------------------------------------------------------------------------- */

static void replay_close(qdq_engine *e)
{
    (void)e;
}

static qdq_status read_info(qdq_engine *e, const char *path, qdq_error *err)
{
    qdq_json_reader reader = {.arena = &e->arena, .err = err};
    json_t *root = NULL;

    QDQ_TRY(qdq_json_load(path, &root, err));
    qdq_json_place top = qdq_json_top(&reader, root, "qdq_replay", 1);
    QDQ_JSON_KNOWN(&top, "qdq_replay", "engine", "version", "device");
    (void)qdq_json_text(&top, "engine", "");
    e->info.version = qdq_json_text(&top, "version", "");
    e->info.device = qdq_json_text(&top, "device", "replay");
    json_decref(root);
    return reader.status == QDQ_OK ? QDQ_OK : qdq_within(err, reader.status, "%s", path);
}

static qdq_status replay_open(qdq_engine *e, const char *arg, const qdq_engine_opts *opts,
                              qdq_error *err)
{
    struct stat st;

    (void)opts;
    if (arg == NULL)
        return qdq_fail(err, QDQ_E_USAGE, "no folder: expected replay:DIR");
    if (stat(arg, &st) != 0 || !S_ISDIR(st.st_mode))
        return qdq_fail(err, QDQ_E_ENGINE, "%s: no such folder", arg);
    e->info.device = "replay";
    e->info.library = qdq_arena_strdup(&e->arena, arg);
    const char *path = qdq_arena_printf(&e->arena, "%s/replay.json", arg);
    QDQ_NEED(e->info.library != NULL && path != NULL, err);
    e->info.capabilities = QDQ_CAN_TIME | QDQ_CAN_PROFILE | QDQ_CAN_LIST_LAYERS | QDQ_NAMES_LAYERS;
    return stat(path, &st) == 0 ? read_info(e, path, err) : QDQ_OK;
}

/* --- files ------------------------------------------------------------------------------------ */

static qdq_status find_file(const qdq_session *s, const char *what, qdq_arena *arena,
                            const char **path, qdq_error *err)
{
    const replay_session *rs = s->self;
    const char *dir = s->engine->info.library, *const keys[] = {rs->key, "any"};
    struct stat st;

    for (size_t i = 0; i < QDQ_COUNT(keys); i++) {
        *path = qdq_arena_printf(arena, "%s/%s.%s", dir, keys[i], what);
        QDQ_NEED(*path != NULL, err);
        if (stat(*path, &st) == 0)
            return QDQ_OK;
    }
    return qdq_fail(err, QDQ_E_ENGINE,
                    "%s: found neither %s.%s nor any.%s: nothing was recorded of this model", dir,
                    rs->key, what, what);
}

static void version_of(const qdq_session *s, int *major, int *minor)
{
    const char *v = s->engine->info.version;
    char *end;

    *major = (int)strtol(v, &end, 10);
    *minor = *end == '.' ? (int)strtol(end + 1, NULL, 10) : 0;
}

static qdq_status read_times(qdq_session *s, qdq_error *err)
{
    replay_session *rs = s->self;
    const char *path;
    int major, minor;

    if (rs->ms != NULL)
        return QDQ_OK;
    version_of(s, &major, &minor);
    QDQ_TRY(find_file(s, "times.json", &s->arena, &path, err));
    return qdq_trt_times_read(path, major, minor, &s->arena, &rs->ms, &rs->n_ms, err);
}

static qdq_status read_profile(qdq_session *s, qdq_trt_profile *p, qdq_error *err)
{
    replay_session *rs = s->self;
    const char *path;

    QDQ_TRY(find_file(s, "profile.json", &rs->scratch, &path, err));
    return qdq_trt_profile_read(path, &rs->scratch, p, err);
}

static qdq_status read_layers(qdq_session *s, qdq_trt_layers *l, qdq_error *err)
{
    replay_session *rs = s->self;
    const char *path;

    *l = (qdq_trt_layers){0};
    QDQ_TRY(find_file(s, "layers.json", &rs->scratch, &path, err));
    return qdq_trt_layers_read(path, &rs->scratch, l, err);
}

/* --- sessions --------------------------------------------------------------------------------- */

static qdq_status replay_session_open(qdq_session *s, const qdq_model *m,
                                      const qdq_session_opts *opts, qdq_error *err)
{
    replay_session *rs = calloc(1, sizeof *rs);

    (void)opts;
    QDQ_NEED(rs != NULL, err);
    s->self = rs;
    QDQ_TRY(qdq_trt_record_key(m, &s->arena, &rs->key, err));
    return qdq_session_describe_model(s, m, err);
}

static void replay_session_close(qdq_session *s)
{
    replay_session *rs = s->self;

    if (rs != NULL)
        qdq_arena_free(&rs->scratch);
    free(rs);
}

static qdq_status replay_run(qdq_session *s, const qdq_array *const *in, qdq_output_fn fn,
                             void *ctx, qdq_error *err)
{
    (void)s, (void)in, (void)fn, (void)ctx;
    return qdq_fail(err, QDQ_E_UNSUPPORTED, "what was recorded are times, not outputs");
}

static qdq_status replay_bind(qdq_session *s, const qdq_array *const *in, qdq_error *err)
{
    (void)in;
    return read_times(s, err);
}

/* Block k is the k-th recorded query, over and over. */
static qdq_status replay_time_runs(qdq_session *s, unsigned n, uint64_t *ns, qdq_error *err)
{
    replay_session *rs = s->self;

    QDQ_TRY(read_times(s, err));
    double total = rs->ms[rs->next++ % rs->n_ms] * 1e6 * n;
    *ns = total < 1 ? 1 : total < 1e18 ? (uint64_t)total : (uint64_t)1e18;
    return QDQ_OK;
}

static void replay_seek(qdq_session *s, uint64_t number)
{
    replay_session *rs = s->self;

    rs->next = number;
}

static qdq_status replay_profile(qdq_session *s, const qdq_array *const *in, unsigned runs,
                                 qdq_layer **out, size_t *n, qdq_error *err)
{
    replay_session *rs = s->self;
    qdq_trt_layers l;
    qdq_trt_profile p;

    (void)in, (void)runs;
    qdq_arena_free(&rs->scratch);
    QDQ_TRY(read_profile(s, &p, err));
    if (read_layers(s, &l, NULL) != QDQ_OK) /* only the names of kernels are in there */
        l = (qdq_trt_layers){0};
    return qdq_trt_make_profile(&l, &p, out, n, err);
}

static qdq_status replay_groups(qdq_session *s, const qdq_array *const *in, unsigned runs,
                                qdq_layer **out, size_t *n, qdq_error *err)
{
    replay_session *rs = s->self;
    qdq_trt_layers l;
    qdq_trt_profile p;

    (void)in;
    qdq_arena_free(&rs->scratch);
    QDQ_TRY(read_layers(s, &l, err));
    if (runs > 0)
        QDQ_TRY(read_profile(s, &p, err));
    return qdq_trt_make_groups(&l, runs > 0 ? &p : NULL, s->source->graph, s->engine->job, out, n,
                               err);
}

const qdq_engine_ops qdq_engine_replay = {
    .open = replay_open,
    .close = replay_close,
    .session_open = replay_session_open,
    .session_close = replay_session_close,
    .run = replay_run,
    .bind = replay_bind,
    .time_runs = replay_time_runs,
    .seek = replay_seek,
    .profile = replay_profile,
    .groups = replay_groups,
};
