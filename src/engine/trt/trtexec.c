/* trtexec.c - the `trtexec` engine: TensorRT by its command-line program, in processes of its own
 * (docs/decisions.md says why). A session is an engine file that is built once; each timing is a
 * process that loads it. It computes no outputs for us: what needs outputs (calibration, accuracy)
 * is done on another engine. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/file.h"
#include "engine/engine_ops.h"
#include "engine/operator_libraries.h"
#include "engine/sample_stats.h"
#include "engine/session_io.h"
#include "engine/trt/trt_cache.h"
#include "engine/trt/trt_record.h"
#include "engine/trt/trt_result.h"
#include "engine/trt/trt_tool.h"

enum { LEAST_QUERIES = 100, RUN_TRANSCRIPT = 8 << 10 };
static const double build_deadline_s = 3600, run_deadline_s = 600;

typedef struct trt_engine {
    qdq_trt_tool tool;
    qdq_tempdir *dir;
    const char *cache, *record;
} trt_engine;

typedef struct trt_session {
    trt_engine *e;
    qdq_tempdir *dir;
    /* of dynamic inputs */
    qdq_trt_shapes min, opt, max;
    /* --shapes=...; NULL: the model is static */
    const char *shapes;
    /* --loadInputs=...; NULL: random ones of trtexec's */
    const char *inputs;
    /* of records; NULL: nothing is recorded */
    const char *key;
    /* of one call */
    qdq_arena scratch;
} trt_session;

/* --- engine ----------------------------------------------------------------------------------- */

static void trt_close(qdq_engine *e)
{
    trt_engine *te = e->self;

    if (te == NULL)
        return;
    qdq_trt_tool_close(&te->tool);
    qdq_tempdir_free(te->dir);
    free(te);
}

/* Everything on that other machine is out of our reach but the build. */
static qdq_status check_local(const qdq_trt_tool *t, const char *what, qdq_error *err)
{
    return t->user.remote == NULL ? QDQ_OK
                                  : qdq_fail(err, QDQ_E_UNSUPPORTED,
                                             "--remoteAutoTuningConfig: the engine is for another "
                                             "machine, on which trtexec %s",
                                             what);
}

static qdq_status describe_engine(qdq_engine *e, const qdq_engine_opts *opts, const char *plugins,
                                  qdq_error *err)
{
    const trt_engine *te = e->self;
    const qdq_trt_tool *t = &te->tool;

    e->info.version =
        t->major < 0 ? "" : qdq_arena_printf(&e->arena, "%d.%d.%d", t->major, t->minor, t->patch);
    e->info.library = t->program;
    e->info.device = "gpu";
    e->info.capabilities = qdq_trt_tool_capabilities(t);
    QDQ_NEED(e->info.version != NULL, err);
    const char *args =
        qdq_trt_mask(opts->trtexec_args != NULL ? opts->trtexec_args : "", &e->arena);
    QDQ_NEED(args != NULL, err);
    e->info.fingerprint =
        qdq_arena_printf(&e->arena, "trtexec %s on gpu; %s%s", e->info.version, args, plugins);
    return e->info.fingerprint != NULL ? QDQ_OK : qdq_nomem(err);
}

static qdq_status trt_open(qdq_engine *e, const char *arg, const qdq_engine_opts *opts,
                           qdq_error *err)
{
    trt_engine *te = calloc(1, sizeof *te);
    const char *program = arg != NULL             ? arg
                          : opts->trtexec != NULL ? opts->trtexec
                                                  : "trtexec",
               *plugins;

    QDQ_NEED(te != NULL, err);
    e->self = te;
    te->tool.job = e->job;
    QDQ_TRY(qdq_trt_tool_open(&te->tool, program, opts->trtexec_args, err));
    QDQ_TRY(qdq_tempdir_new(e->temp_dir, &te->dir, err));
    te->cache = opts->timing_cache != NULL ? qdq_arena_strdup(&te->tool.arena, opts->timing_cache)
                                           : qdq_arena_printf(&te->tool.arena, "%s/timing.cache",
                                                              qdq_tempdir_path(te->dir));
    QDQ_NEED(te->cache != NULL, err);
    if (opts->record != NULL &&
        (te->record = qdq_arena_strdup(&te->tool.arena, opts->record)) == NULL)
        return qdq_nomem(err);
    QDQ_TRY(qdq_operator_libraries_read(opts->plugins, &te->tool.arena, &te->tool.plugins, &plugins,
                                        err));
    QDQ_TRY(describe_engine(e, opts, plugins, err));
    return te->record != NULL ? qdq_trt_record_engine(te->record, &e->info, err) : QDQ_OK;
}

/* --- commands --------------------------------------------------------------------------------- */

static const char *in_folder(trt_session *ts, const char *name)
{
    return qdq_arena_printf(&ts->scratch, "%s/%s", qdq_tempdir_path(ts->dir), name);
}

/* "--key=" and a file of the session's folder, or a text. False: no memory. */
static bool add_option(trt_session *ts, qdq_trt_argv *to, const char *key, const char *value)
{
    const char *arg = value == NULL ? NULL : qdq_arena_printf(&ts->scratch, "%s%s", key, value);

    return arg != NULL && QDQ_PUSH(&ts->scratch, to, arg);
}

static bool add_flag(trt_session *ts, qdq_trt_argv *to, const char *flag)
{
    return QDQ_PUSH(&ts->scratch, to, flag);
}

/* All three for every dynamic input: trtexec completes them for all inputs or for none. */
static qdq_status add_profile_shapes(trt_session *ts, qdq_trt_argv *to, qdq_error *err)
{
    const struct {
        const char *key;
        const qdq_trt_shapes *shapes;
    } sets[] = {{"--minShapes=", &ts->min}, {"--optShapes=", &ts->opt}, {"--maxShapes=", &ts->max}};
    const char *text;

    for (size_t i = 0; i < QDQ_COUNT(sets) && ts->opt.n > 0; i++) {
        QDQ_TRY(qdq_trt_shapes_print(sets[i].shapes, &ts->scratch, &text, err));
        QDQ_NEED(add_option(ts, to, sets[i].key, text), err);
    }
    return QDQ_OK;
}

static const char *skip_inference(const qdq_trt_tool *t)
{
    return qdq_trt_tool_has(t, "--skipInference") ? "--skipInference" : "--buildOnly";
}

/* With a copy of the timing cache, unless the user's own options name one. */
static qdq_status run_build(qdq_session *s, const qdq_trt_call *call, qdq_error *err)
{
    trt_session *ts = s->self;
    qdq_trt_tool *t = &ts->e->tool;
    const qdq_job *job = s->engine->job;
    const char *copy = in_folder(ts, "timing.cache");
    qdq_trt_cache cache = {.fd = -1};
    qdq_trt_log log;

    QDQ_NEED(copy != NULL, err);
    if (qdq_trt_tool_has(t, "--timingCacheFile") &&
        !qdq_trt_user_has(&t->user, "--timingCacheFile"))
        QDQ_TRY(qdq_trt_cache_take(&cache, ts->e->cache, copy, job, err));
    qdq_status st = qdq_trt_tool_run(t, call, &log, err);
    qdq_trt_cache_give(&cache, st == QDQ_OK, job);
    return st;
}

/* Flags that turned out to be refused, or that this version's help lacks, are left out by the
 * runner. */
static qdq_status build(qdq_session *s, bool with_layers, qdq_error *err)
{
    trt_session *ts = s->self;
    const qdq_trt_tool *t = &ts->e->tool;
    const char *files[] = {in_folder(ts, "engine"), NULL, NULL};
    qdq_trt_call call = {
        .files = files, .log = in_folder(ts, "build.log"), .deadline_s = build_deadline_s};

    bool good = add_option(ts, &call.needed, "--onnx=", in_folder(ts, "model.onnx")) &&
                add_option(ts, &call.needed, "--saveEngine=", files[0]) &&
                add_flag(ts, &call.useful, skip_inference(t)) &&
                add_option(ts, &call.useful, "--timingCacheFile=", in_folder(ts, "timing.cache")) &&
                add_flag(ts, &call.useful, "--profilingVerbosity=detailed") &&
                add_flag(ts, &call.useful, "--maxAuxStreams=0");
    if (good && !t->user.weakly_typed && !qdq_trt_tool_is(t, 11, 0))
        good = add_flag(ts, &call.useful, "--stronglyTyped");
    if (good && t->user.remote != NULL && !t->user.safe)
        good = add_flag(ts, &call.needed, "--safe");
    if (good && with_layers && qdq_trt_tool_has(t, "--exportLayerInfo")) {
        files[1] = in_folder(ts, "layers.json");
        good = files[1] != NULL && add_option(ts, &call.useful, "--exportLayerInfo=", files[1]);
    }
    QDQ_NEED(good && files[0] != NULL && call.log != NULL, err);
    QDQ_TRY(add_profile_shapes(ts, &call.needed, err));
    qdq_status st = run_build(s, &call, err);
    qdq_trt_record_file(ts->e->record, ts->key, "log", call.log);
    if (st == QDQ_OK && files[1] != NULL)
        qdq_trt_record_file(ts->e->record, ts->key, "layers.json", files[1]);
    return st;
}

/* --- sessions --------------------------------------------------------------------------------- */

static bool is_dynamic(const qdq_io *io)
{
    for (int a = 0; a < io->rank; a++)
        if (io->dim[a] < 0)
            return true;
    return false;
}

/* What the user gave for an input, else 1 where no size is fixed. From here on the session takes
 * that shape only. */
static qdq_status choose_shape(trt_session *ts, qdq_arena *arena, qdq_io *io, qdq_error *err)
{
    const qdq_trt_user *u = &ts->e->tool.user;
    const qdq_trt_shape *given = qdq_trt_shape_find(&u->opt, io->name);
    qdq_trt_shape opt = {.name = io->name, .rank = io->rank};

    if (given == NULL)
        given = qdq_trt_shape_find(&u->shapes, io->name);
    for (int a = 0; a < io->rank; a++)
        opt.dim[a] = io->dim[a] < 0 ? 1 : io->dim[a];
    for (int a = 0; given != NULL && a < io->rank; a++) {
        if (given->rank != io->rank || (io->dim[a] >= 0 && io->dim[a] != given->dim[a]))
            return qdq_fail(err, QDQ_E_USAGE,
                            "--trtexec-args: the shape of input '%s' does not fit the model's",
                            io->name);
        opt.dim[a] = given->dim[a];
    }
    const qdq_trt_shape *min = qdq_trt_shape_find(&u->min, io->name),
                        *max = qdq_trt_shape_find(&u->max, io->name);
    QDQ_TRY(qdq_trt_range_check(min != NULL ? min : &opt, &opt, max != NULL ? max : &opt, err));
    if (!QDQ_PUSH(arena, &ts->min, min != NULL ? *min : opt) || !QDQ_PUSH(arena, &ts->opt, opt) ||
        !QDQ_PUSH(arena, &ts->max, max != NULL ? *max : opt))
        return qdq_nomem(err);
    for (int a = 0; a < io->rank; a++)
        io->dim[a] = opt.dim[a];
    return QDQ_OK;
}

static qdq_status choose_shapes(qdq_session *s, qdq_error *err)
{
    trt_session *ts = s->self;
    const char *text;

    for (size_t i = 0; i < s->n_in; i++) {
        if (s->in[i].rank < 0)
            return qdq_fail(err, QDQ_E_UNSUPPORTED,
                            "input '%s' is of unknown rank: a shape is needed", s->in[i].name);
        if (is_dynamic(&s->in[i]))
            QDQ_TRY(choose_shape(ts, &s->arena, &s->in[i], err));
    }
    if (ts->opt.n == 0)
        return QDQ_OK;
    QDQ_TRY(qdq_trt_shapes_print(&ts->opt, &s->arena, &text, err));
    ts->shapes = qdq_arena_printf(&s->arena, "--shapes=%s", text);
    return ts->shapes != NULL ? QDQ_OK : qdq_nomem(err);
}

static qdq_status trt_session_open(qdq_session *s, const qdq_model *m, const qdq_session_opts *opts,
                                   qdq_error *err)
{
    trt_session *ts = calloc(1, sizeof *ts);
    qdq_save_opts save = QDQ_SAVE_OPTS_INIT;

    QDQ_NEED(ts != NULL, err);
    s->self = ts;
    ts->e = s->engine->self;
    if (opts->profile || opts->layers)
        QDQ_TRY(check_local(&ts->e->tool, "profiles nothing", err));
    if (ts->e->record != NULL)
        QDQ_TRY(qdq_trt_record_key(m, &s->arena, &ts->key, err));
    QDQ_TRY(qdq_session_describe_model(s, m, err));
    QDQ_TRY(choose_shapes(s, err));
    QDQ_TRY(qdq_tempdir_new(s->engine->temp_dir, &ts->dir, err));
    const char *path = in_folder(ts, "model.onnx");
    QDQ_NEED(path != NULL, err);
    QDQ_TRY(qdq_model_save(m, path, &save, err));
    return build(s, opts->profile || opts->layers, err);
}

static void trt_session_close(qdq_session *s)
{
    trt_session *ts = s->self;

    if (ts == NULL)
        return;
    qdq_tempdir_free(ts->dir);
    qdq_arena_free(&ts->scratch);
    free(ts);
}

/* --- inputs ----------------------------------------------------------------------------------- */

/* Before version 10 there are no 64-bit integers: the engine takes 32 bits instead. */
static qdq_status write_input(const trt_session *ts, const char *path, const qdq_array *a,
                              qdq_error *err)
{
    int major = ts->e->tool.major;

    if (a->elem != QDQ_INT64 || major < 0 || major >= 10)
        return qdq_write_file(path, true, a->data, a->bytes, err);
    size_t n = a->bytes / sizeof(int64_t);
    int32_t *small = calloc(n + 1, sizeof *small);
    QDQ_NEED(small != NULL, err);
    for (size_t i = 0; i < n; i++) {
        int64_t x;
        memcpy(&x, (const char *)a->data + i * sizeof x, sizeof x);
        small[i] = x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : (int32_t)x;
    }
    qdq_status st = qdq_write_file(path, true, small, n * sizeof *small, err);
    free(small);
    return st;
}

/* Names that its list cannot hold leave it to numbers of trtexec's own. */
static qdq_status trt_bind(qdq_session *s, const qdq_array *const *in, qdq_error *err)
{
    trt_session *ts = s->self;
    qdq_buf list = QDQ_BUF_INIT(1 << 20);
    qdq_status st = QDQ_OK;

    ts->inputs = NULL;
    for (size_t i = 0; i < s->n_in && st == QDQ_OK; i++) {
        char name[40];

        if (strpbrk(s->in[i].name, ":,'\"") != NULL) {
            qdq_job_log(s->engine->job, QDQ_LOG_INFO,
                        "input '%s': trtexec takes no data for such a name", s->in[i].name);
            qdq_buf_free(&list);
            return QDQ_OK;
        }
        snprintf(name, sizeof name, "input%zu.bin", i);
        const char *path = in_folder(ts, name);
        st = path != NULL ? write_input(ts, path, in[i], err) : qdq_nomem(err);
        qdq_buf_printf(&list, "%s%s:%s", i == 0 ? "--loadInputs=" : ",", s->in[i].name,
                       path != NULL ? path : "");
    }
    if (st == QDQ_OK && s->n_in > 0) {
        ts->inputs = list.failed ? NULL : qdq_arena_strdup(&s->arena, list.data);
        st = ts->inputs != NULL ? QDQ_OK : qdq_nomem(err);
    }
    qdq_buf_free(&list);
    return st;
}

/* --- time ------------------------------------------------------------------------------------- */

static qdq_status use_engine(trt_session *ts, qdq_trt_call *call, unsigned runs, qdq_error *err)
{
    static const char *const flags[] = {"--warmUp=200", "--duration=0", "--noDataTransfers",
                                        "--useSpinWait"};
    char iterations[40];

    snprintf(iterations, sizeof iterations, "%u", runs > LEAST_QUERIES ? runs : LEAST_QUERIES);
    bool good = add_option(ts, &call->needed, "--loadEngine=", in_folder(ts, "engine")) &&
                add_option(ts, &call->useful, "--iterations=", iterations);
    for (size_t i = 0; good && i < QDQ_COUNT(flags); i++)
        good = add_flag(ts, &call->useful, flags[i]);
    if (good && ts->shapes != NULL)
        good = add_flag(ts, &call->needed, ts->shapes);
    if (good && ts->inputs != NULL)
        good = add_flag(ts, &call->useful, ts->inputs);
    call->log = in_folder(ts, "run.log");
    call->transcript = RUN_TRANSCRIPT;
    call->deadline_s = run_deadline_s;
    return good && call->log != NULL ? QDQ_OK : qdq_nomem(err);
}

static qdq_status median_of(const char *path, trt_session *ts, double *ms, qdq_error *err)
{
    const qdq_trt_tool *t = &ts->e->tool;
    double *times;
    size_t n;

    QDQ_TRY(qdq_trt_times_read(path, t->major, t->minor, &ts->scratch, &times, &n, err));
    qdq_stats_sort(times, n);
    *ms = qdq_stats_quantile(times, n, 0.5);
    return QDQ_OK;
}

/* The trace first, the summary where there is none. Nothing is made up: without either, there is no
 * measurement. */
static qdq_status measure(trt_session *ts, unsigned runs, double *ms, qdq_error *err)
{
    const char *times = in_folder(ts, "times.json");
    qdq_trt_call call = {0};
    qdq_error why = QDQ_ERROR_INIT;
    qdq_trt_log log;

    QDQ_TRY(use_engine(ts, &call, runs, err));
    QDQ_NEED(times != NULL && add_flag(ts, &call.useful, "--useCudaGraph") &&
                 add_option(ts, &call.useful, "--exportTimes=", times),
             err);
    remove(times); /* of the run before: they would be taken for this one's */
    qdq_status st = qdq_trt_tool_run(&ts->e->tool, &call, &log, err);
    qdq_trt_record_file(ts->e->record, ts->key, "log", call.log);
    QDQ_TRY(st);
    qdq_trt_record_file(ts->e->record, ts->key, "times.json", times);
    if (median_of(times, ts, ms, &why) == QDQ_OK && *ms > 0)
        return QDQ_OK;
    *ms = log.compute_ms > 0 ? log.compute_ms : log.latency_ms;
    if (isfinite(*ms) && *ms > 0)
        return QDQ_OK;
    return qdq_fail(err, QDQ_E_ENGINE,
                    "measurement missing: trtexec ended well, but left no times (%s) and no "
                    "performance summary%s",
                    access(times, F_OK) != 0 ? "there is no file of them"
                    : why.text[0] != '\0'    ? why.text
                                             : "all are 0",
                    log.profiler_attached ? ", because a profile was asked for in the same run"
                                          : "");
}

/* A process has a fixed cost of seconds, so it times a hundred queries at least, and their median
 * stands for each run. */
static qdq_status trt_time_runs(qdq_session *s, unsigned n, uint64_t *ns, qdq_error *err)
{
    trt_session *ts = s->self;
    double ms;

    QDQ_TRY(check_local(&ts->e->tool, "times nothing", err));
    qdq_arena_free(&ts->scratch);
    QDQ_TRY(measure(ts, n, &ms, err));
    *ns = (uint64_t)fmin(fmax(ms * 1e6 * n, 1), 1e18);
    return QDQ_OK;
}

/* --- layers ----------------------------------------------------------------------------------- */

static qdq_status read_layers(trt_session *ts, qdq_trt_layers *l, qdq_error *err)
{
    const char *path = in_folder(ts, "layers.json");

    *l = (qdq_trt_layers){0};
    QDQ_NEED(path != NULL, err);
    if (!qdq_trt_tool_has(&ts->e->tool, "--exportLayerInfo"))
        return qdq_fail(err, QDQ_E_UNSUPPORTED,
                        "TensorRT %d.%d: no --exportLayerInfo; the nodes of layers are unavailable",
                        ts->e->tool.major, ts->e->tool.minor);
    return qdq_trt_layers_read(path, &ts->scratch, l, err);
}

static void tell_no_times(qdq_session *s)
{
    const qdq_trt_tool *t = &((trt_session *)s->self)->e->tool;

    s->engine->info.capabilities = qdq_trt_tool_capabilities(t);
    qdq_job_log(s->engine->job, QDQ_LOG_WARNING,
                "TensorRT %d.%d refuses --exportProfile: how long layers take is not known",
                t->major, t->minor);
}

/* Without the option there are no times, and that is no failure: *p has no rows. In a run of its
 * own, and without a CUDA graph: with one, a layer's time is that of a single pass. */
static qdq_status run_profile(qdq_session *s, unsigned runs, qdq_trt_profile *p, qdq_error *err)
{
    trt_session *ts = s->self;
    const char *path = in_folder(ts, "profile.json");
    const char *files[] = {path, NULL};
    qdq_trt_call call = {.files = files, .purpose = "--exportProfile"};
    qdq_trt_log log;

    *p = (qdq_trt_profile){0};
    if (!qdq_trt_tool_has(&ts->e->tool, call.purpose))
        return QDQ_OK;
    QDQ_NEED(path != NULL, err);
    QDQ_TRY(use_engine(ts, &call, runs, err));
    bool good = add_option(ts, &call.useful, "--exportProfile=", path) &&
                add_flag(ts, &call.useful, "--separateProfileRun") &&
                add_flag(ts, &call.useful, "--profilingVerbosity=detailed");
    if (good && qdq_trt_tool_is(&ts->e->tool, 11, 0) && ts->e->tool.major > 0)
        good = add_flag(ts, &call.useful, "--noCudaGraph");
    QDQ_NEED(good, err);
    qdq_status ran = qdq_trt_tool_run(&ts->e->tool, &call, &log, err);
    qdq_trt_record_file(ts->e->record, ts->key, "log", call.log);
    QDQ_TRY(ran);
    if (!qdq_trt_tool_has(&ts->e->tool, call.purpose)) {
        tell_no_times(s);
        return QDQ_OK;
    }
    qdq_trt_record_file(ts->e->record, ts->key, "profile.json", path);
    qdq_status st = qdq_trt_profile_read(path, &ts->scratch, p, err);
    if (st == QDQ_OK && p->single_pass)
        qdq_job_log(s->engine->job, QDQ_LOG_WARNING,
                    "trtexec: the profile is of a single pass: times of layers are rough");
    return st;
}

static qdq_status trt_profile(qdq_session *s, const qdq_array *const *in, unsigned runs,
                              qdq_layer **out, size_t *n, qdq_error *err)
{
    trt_session *ts = s->self;
    qdq_trt_layers l = {0};
    qdq_trt_profile p;

    qdq_arena_free(&ts->scratch);
    QDQ_TRY(trt_bind(s, in, err));
    QDQ_TRY(run_profile(s, runs, &p, err));
    if (!qdq_trt_tool_has(&ts->e->tool, "--exportProfile"))
        return qdq_fail(err, QDQ_E_UNSUPPORTED,
                        "TensorRT %d.%d: no --exportProfile; times of layers are unavailable",
                        ts->e->tool.major, ts->e->tool.minor);
    if (qdq_trt_tool_has(&ts->e->tool, "--exportLayerInfo"))
        QDQ_TRY(read_layers(ts, &l, err));
    return qdq_trt_make_profile(&l, &p, out, n, err);
}

static qdq_status trt_groups(qdq_session *s, const qdq_array *const *in, unsigned runs,
                             qdq_layer **out, size_t *n, qdq_error *err)
{
    trt_session *ts = s->self;
    qdq_trt_profile p;
    qdq_trt_layers l;

    qdq_arena_free(&ts->scratch);
    QDQ_TRY(read_layers(ts, &l, err));
    QDQ_TRY(qdq_trt_layers_need_detail(&l, err));
    if (runs > 0) {
        QDQ_TRY(trt_bind(s, in, err));
        QDQ_TRY(run_profile(s, runs, &p, err));
    }
    const bool is_timed = runs > 0 && qdq_trt_tool_has(&ts->e->tool, "--exportProfile");
    return qdq_trt_make_groups(&l, is_timed ? &p : NULL, s->source->graph, s->engine->job, out, n,
                               err);
}

static qdq_status trt_run(qdq_session *s, const qdq_array *const *in, qdq_output_fn fn, void *ctx,
                          qdq_error *err)
{
    (void)s, (void)in, (void)fn, (void)ctx;
    return qdq_fail(err, QDQ_E_UNSUPPORTED,
                    "trtexec computes no outputs that could be read: use another engine for them");
}

/* --- options that it refuses ------------------------------------------------------------------ */

static const char *trt_refused(qdq_engine *e)
{
    trt_engine *te = e->self;
    const char *text = qdq_trt_tool_refused(&te->tool);

    e->info.capabilities = qdq_trt_tool_capabilities(&te->tool);
    return text != NULL ? text : "";
}

static qdq_status trt_refuse(qdq_engine *e, const char *options, qdq_error *err)
{
    trt_engine *te = e->self;

    QDQ_TRY(qdq_trt_tool_refuse(&te->tool, options, err));
    e->info.capabilities = qdq_trt_tool_capabilities(&te->tool);
    return QDQ_OK;
}

const qdq_engine_ops qdq_engine_trtexec = {
    .open = trt_open,
    .close = trt_close,
    .session_open = trt_session_open,
    .session_close = trt_session_close,
    .run = trt_run,
    .bind = trt_bind,
    .time_runs = trt_time_runs,
    .profile = trt_profile,
    .groups = trt_groups,
    .refused = trt_refused,
    .refuse = trt_refuse,
};
