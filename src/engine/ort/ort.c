/* ort.c - the ONNX Runtime engine: environment, sessions, what a session takes and gives. */
#include "engine/ort/ort_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/fail.h"
#include "engine/operator_libraries.h"
#include "ir/ir.h"

enum {
    ORT_WARNING = 2,
    ORT_ERROR = 3,
    ORT_SEQUENTIAL = 0,
    ORT_DEVICE_ALLOCATOR = 0,
    ORT_MEM_DEFAULT = 0
};

/* --- engine ----------------------------------------------------------------------------------- */

static void ort_close(qdq_engine *e)
{
    qdq_ort *o = e->self;

    if (o == NULL)
        return;
    if (o->api.table != NULL) {
        QDQ_ORT(&o->api, ReleaseMemoryInfo)(o->cpu);
        if (o->env != NULL)
            QDQ_ORT(&o->api, ReleaseEnv)(o->env);
    }
    free(o);
}

/* Times depend on where nodes run and on operators of users' own, besides on the version. */
static qdq_status describe(qdq_engine *e, const char *const *providers, const char *libraries,
                           qdq_error *err)
{
    qdq_buf text = QDQ_BUF_INIT(1 << 20);
    const qdq_ort *o = e->self;
    qdq_status st = QDQ_OK;

    if (o->n_providers > 0 && strcasecmp(o->providers[0].name, "CPU") != 0)
        e->info.device = o->providers[0].name;
    qdq_buf_printf(&text, "ort %s %s", o->api.version, e->info.device);
    for (size_t i = 0; i < o->n_providers; i++)
        qdq_buf_printf(&text, "; provider %s", providers[i]);
    qdq_buf_puts(&text, libraries);
    e->info.fingerprint = text.failed ? NULL : qdq_arena_strdup(&e->arena, text.data);
    if (e->info.fingerprint == NULL)
        st = qdq_nomem(err);
    qdq_buf_free(&text);
    return st;
}

/* What users add: providers, and libraries with operators. */
static qdq_status read_additions(qdq_engine *e, const qdq_engine_opts *opts, qdq_error *err)
{
    qdq_ort *o = e->self;
    const char *libraries = "";

    QDQ_TRY(qdq_operator_libraries_read(opts->plugins, &e->arena, &o->libraries, &libraries, err));
    if (opts->providers != NULL)
        QDQ_TRY(qdq_ort_providers_read(&o->api, opts->providers, &e->arena, &o->providers,
                                       &o->n_providers, err));
    return describe(e, opts->providers, libraries, err);
}

static qdq_status ort_open(qdq_engine *e, const char *arg, const qdq_engine_opts *opts,
                           qdq_error *err)
{
    qdq_ort *o = calloc(1, sizeof *o);

    QDQ_NEED(o != NULL, err);
    e->self = o;
    QDQ_TRY(qdq_ort_api_load(&o->api, arg, opts, err));
    /* One environment serves the whole process: who comes second gets the first one's logger. So
     * this one drops what it gets, and every session brings its own. */
    QDQ_TRY(qdq_ort_check(&o->api,
                          QDQ_ORT(&o->api, CreateEnvWithCustomLogger)(qdq_ort_log_receive, NULL,
                                                                      ORT_WARNING, "qdq", &o->env),
                          "environment", err));
    QDQ_TRY(qdq_ort_check(&o->api, QDQ_ORT(&o->api, GetAllocatorWithDefaultOptions)(&o->allocator),
                          "allocator", err));
    QDQ_TRY(qdq_ort_check(
        &o->api,
        QDQ_ORT(&o->api, CreateCpuMemoryInfo)(ORT_DEVICE_ALLOCATOR, ORT_MEM_DEFAULT, &o->cpu),
        "memory", err));

    e->info.version = o->api.version;
    e->info.library = o->api.path;
    e->info.capabilities = QDQ_CAN_RUN | QDQ_CAN_TIME | QDQ_CAN_PROFILE | QDQ_CAN_EXPOSE |
                           QDQ_CAN_LIST_LAYERS | QDQ_RUNS_AS_WRITTEN;
    if (qdq_ort_has(&o->api, 21))
        e->info.capabilities |= QDQ_CAN_MAP_WEIGHTS;
    qdq_ort_limits(o->api.minor, &e->info.max_opset, &e->info.max_ir);
    if (!qdq_ort_has(&o->api, 17))
        qdq_job_log(e->job, QDQ_LOG_INFO,
                    "onnxruntime %s: its own warnings are not shown (1.17 or newer)",
                    o->api.version);
    return read_additions(e, opts, err);
}

/* --- session options -------------------------------------------------------------------------- */

static int level_number(qdq_opt_level level)
{
    switch (level) {
    case QDQ_LEVEL_ALL:
        return 99;
    case QDQ_LEVEL_EXTENDED:
        return 2;
    case QDQ_LEVEL_BASIC:
        return 1;
    case QDQ_LEVEL_NONE:
        break;
    }
    return 0;
}

static qdq_status set_config(const qdq_ort_api *api, ort_session_options *o, const char *key,
                             const char *value, qdq_error *err)
{
    return qdq_ort_check(api, QDQ_ORT(api, AddSessionConfigEntry)(o, key, value), key, err);
}

static qdq_status set_profile(qdq_session *s, ort_session_options *o, qdq_error *err)
{
    qdq_ort_session *os = s->self;
    const qdq_ort_api *api = &os->ort->api;
    char prefix[4200];

    QDQ_TRY(qdq_tempdir_new(s->engine->temp_dir, &os->profile_dir, err));
    snprintf(prefix, sizeof prefix, "%s/profile", qdq_tempdir_path(os->profile_dir));
    return qdq_ort_check(api, QDQ_ORT(api, EnableProfiling)(o, prefix), "profile", err);
}

static qdq_status add_libraries(const qdq_ort *o, ort_session_options *to, qdq_error *err)
{
    for (size_t i = 0; o->libraries[i] != NULL; i++) {
        qdq_status st = qdq_ort_check(
            &o->api, QDQ_ORT(&o->api, RegisterCustomOpsLibrary_V2)(to, o->libraries[i]),
            o->libraries[i], err);
        if (st != QDQ_OK)
            return qdq_within(err, st, "library with operators");
    }
    return QDQ_OK;
}

static qdq_status set_options(qdq_session *s, const qdq_session_opts *opts, bool write_graph,
                              const qdq_ort_model *model, ort_session_options *o, qdq_error *err)
{
    qdq_ort_session *os = s->self;
    const qdq_ort_api *api = &os->ort->api;
    int threads = opts->threads == 0 ? 1 : opts->threads;

    QDQ_TRY(qdq_ort_check(
        api, QDQ_ORT(api, SetSessionGraphOptimizationLevel)(o, level_number(opts->level)),
        "optimization level", err));
    QDQ_TRY(qdq_ort_check(api, QDQ_ORT(api, SetIntraOpNumThreads)(o, threads), "threads", err));
    QDQ_TRY(qdq_ort_check(api, QDQ_ORT(api, SetInterOpNumThreads)(o, 1), "threads", err));
    QDQ_TRY(qdq_ort_check(api, QDQ_ORT(api, SetSessionExecutionMode)(o, ORT_SEQUENTIAL),
                          "execution mode", err));
    /* Idle workers that spin would slow down whatever is measured beside this session. */
    QDQ_TRY(set_config(api, o, "session.intra_op.allow_spinning", "0", err));
    QDQ_TRY(set_config(api, o, "session.inter_op.allow_spinning", "0", err));
    if (opts->fake_quant)
        QDQ_TRY(set_config(api, o, "session.disable_quant_qdq", "1", err));
    if (model->folder[0] != '\0')
        QDQ_TRY(set_config(api, o, "session.model_external_initializers_file_folder_path",
                           model->folder, err));
    /* It warns of every optimized model that it writes. */
    QDQ_TRY(qdq_ort_check(
        api, QDQ_ORT(api, SetSessionLogSeverityLevel)(o, write_graph ? ORT_ERROR : ORT_WARNING),
        "log level", err));
    if (qdq_ort_has(api, 17))
        QDQ_TRY(qdq_ort_check(
            api, QDQ_ORT(api, SetUserLoggingFunction)(o, qdq_ort_log_receive, &os->log), "logger",
            err));
    if (opts->profile || opts->layers)
        QDQ_TRY(set_profile(s, o, err));
    if (write_graph)
        QDQ_TRY(qdq_ort_ask_optimized(s, o, err));
    QDQ_TRY(add_libraries(os->ort, o, err));
    for (size_t i = 0; i < os->ort->n_providers; i++)
        QDQ_TRY(qdq_ort_provider_append(api, o, &os->ort->providers[i], err));
    return QDQ_OK;
}

/* --- what a session takes and gives ----------------------------------------------------------- */

/* Before 1.24 nothing tells a scalar from a tensor of unknown shape: the model's own word
 * decides. */
static bool shape_is_known(const qdq_ort_api *api, const ort_tensor_info *info, size_t rank,
                           const qdq_value *value)
{
    if (qdq_ort_has(api, 24))
        return QDQ_ORT(api, TensorTypeAndShape_HasShape)(info);
    return rank > 0 || (value != NULL && value->type != NULL &&
                        value->type->kind == QDQ_TYPE_TENSOR && value->type->rank == 0);
}

static qdq_status read_tensor_info(qdq_session *s, const ort_tensor_info *info,
                                   const qdq_value *value, qdq_io *io, qdq_error *err)
{
    const qdq_ort_session *os = s->self;
    const qdq_ort_api *api = &os->ort->api;
    const char *param[QDQ_MAX_RANK] = {0};
    size_t rank;
    int elem;

    QDQ_TRY(qdq_ort_check(api, QDQ_ORT(api, GetTensorElementType)(info, &elem), io->name, err));
    QDQ_TRY(qdq_ort_check(api, QDQ_ORT(api, GetDimensionsCount)(info, &rank), io->name, err));
    io->elem = qdq_ort_elem_from(elem);
    if (rank > QDQ_MAX_RANK)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "tensor '%s' has rank %zu: expected at most %d",
                        io->name, rank, QDQ_MAX_RANK);
    if (!shape_is_known(api, info, rank, value))
        return QDQ_OK;
    io->rank = (int)rank;
    QDQ_TRY(qdq_ort_check(api, QDQ_ORT(api, GetDimensions)(info, io->dim, rank), io->name, err));
    QDQ_TRY(
        qdq_ort_check(api, QDQ_ORT(api, GetSymbolicDimensions)(info, param, rank), io->name, err));
    for (size_t a = 0; a < rank; a++) {
        if (io->dim[a] >= 0)
            continue;
        io->dim[a] = -1;
        if (param[a] != NULL && param[a][0] != '\0') {
            io->param[a] = qdq_arena_strdup(&s->arena, param[a]);
            QDQ_NEED(io->param[a] != NULL, err);
        }
    }
    return QDQ_OK;
}

/* Something that is no tensor keeps QDQ_UNDEFINED and rank -1. */
static qdq_status read_io(qdq_session *s, const qdq_model *m, bool is_input, size_t i, qdq_io *io,
                          qdq_error *err)
{
    const qdq_ort_session *os = s->self;
    const qdq_ort *o = os->ort;
    const qdq_ort_api *api = &o->api;
    const ort_tensor_info *tensor = NULL;
    ort_type_info *type = NULL;
    char *name = NULL;

    ort_status *status =
        is_input ? QDQ_ORT(api, SessionGetInputName)(os->session, i, o->allocator, &name)
                 : QDQ_ORT(api, SessionGetOutputName)(os->session, i, o->allocator, &name);
    QDQ_TRY(qdq_ort_check(api, status, "name of an input or output", err));
    io->rank = -1;
    io->name = qdq_arena_strdup(&s->arena, name);
    QDQ_TRY(qdq_ort_check(api, QDQ_ORT(api, AllocatorFree)(o->allocator, name), "memory", err));
    QDQ_NEED(io->name != NULL, err);

    status = is_input ? QDQ_ORT(api, SessionGetInputTypeInfo)(os->session, i, &type)
                      : QDQ_ORT(api, SessionGetOutputTypeInfo)(os->session, i, &type);
    QDQ_TRY(qdq_ort_check(api, status, io->name, err));
    qdq_status st =
        qdq_ort_check(api, QDQ_ORT(api, CastTypeInfoToTensorInfo)(type, &tensor), io->name, err);
    if (st == QDQ_OK && tensor != NULL)
        st = read_tensor_info(s, tensor, qdq_graph_find(m->graph, io->name), io, err);
    QDQ_ORT(api, ReleaseTypeInfo)(type);
    return st;
}

static qdq_status read_ios(qdq_session *s, const qdq_model *m, qdq_error *err)
{
    qdq_ort_session *os = s->self;
    const qdq_ort_api *api = &os->ort->api;
    size_t n_in, n_out;

    QDQ_TRY(
        qdq_ort_check(api, QDQ_ORT(api, SessionGetInputCount)(os->session, &n_in), "inputs", err));
    QDQ_TRY(qdq_ort_check(api, QDQ_ORT(api, SessionGetOutputCount)(os->session, &n_out), "outputs",
                          err));
    s->in = qdq_arena_array(&s->arena, n_in + 1, sizeof *s->in);
    s->out = qdq_arena_array(&s->arena, n_out + 1, sizeof *s->out);
    os->in_names = qdq_arena_array(&s->arena, n_in + 1, sizeof *os->in_names);
    os->out_names = qdq_arena_array(&s->arena, n_out + 1, sizeof *os->out_names);
    os->bound_in = qdq_arena_array(&s->arena, n_in + 1, sizeof(ort_value *));
    os->bound_out = qdq_arena_array(&s->arena, n_out + 1, sizeof(ort_value *));
    QDQ_NEED(s->in != NULL && s->out != NULL && os->in_names != NULL && os->out_names != NULL &&
                 os->bound_in != NULL && os->bound_out != NULL,
             err);
    for (size_t i = 0; i < n_in; i++) {
        QDQ_TRY(read_io(s, m, true, i, &s->in[i], err));
        os->in_names[i] = s->in[i].name;
        s->n_in++;
    }
    for (size_t i = 0; i < n_out; i++) {
        QDQ_TRY(read_io(s, m, false, i, &s->out[i], err));
        os->out_names[i] = s->out[i].name;
        s->n_out++;
    }
    return QDQ_OK;
}

/* --- sessions --------------------------------------------------------------------------------- */

/* Its words do not say what to do about it. */
static qdq_status explain_unknown(const qdq_ort *o, qdq_status st, qdq_error *err)
{
    char why[sizeof err->text];

    if (st != QDQ_E_ENGINE || err == NULL ||
        strstr(err->text, "not a registered function/op") == NULL)
        return st;
    snprintf(why, sizeof why, "%s", err->text);
    return qdq_fail(
        err, st,
        "%.700s (operators that ONNX Runtime does not have come from --plugin-libraries%s)", why,
        o->libraries[0] != NULL ? ": none of those that were given has it" : "");
}

static qdq_status try_session(qdq_session *s, const qdq_session_opts *opts, bool write_graph,
                              const qdq_ort_model *model, qdq_error *err)
{
    qdq_ort_session *os = s->self;
    const qdq_ort_api *api = &os->ort->api;
    ort_session_options *o = NULL;

    QDQ_TRY(qdq_ort_check(api, QDQ_ORT(api, CreateSessionOptions)(&o), "session options", err));
    qdq_status st = set_options(s, opts, write_graph, model, o, err);
    if (st == QDQ_OK)
        st = qdq_ort_check(api,
                           QDQ_ORT(api, CreateSessionFromArray)(os->ort->env, model->bytes,
                                                                model->size, o, &os->session),
                           "cannot load the model", err);
    QDQ_ORT(api, ReleaseSessionOptions)(o);
    qdq_ort_log_flush(&os->log, s->engine->job);
    return explain_unknown(os->ort, st, err);
}

/* Providers that compile what they run cannot write it, and make no session that shall. */
static qdq_status create_session(qdq_session *s, const qdq_session_opts *opts,
                                 const qdq_ort_model *model, qdq_error *err)
{
    qdq_ort_session *os = s->self;
    qdq_error why = QDQ_ERROR_INIT;
    qdq_status st = try_session(s, opts, opts->layers, model, &why);

    if (st == QDQ_OK)
        return st;
    if (!opts->layers || strstr(why.text, "compiled nodes") == NULL) {
        if (err != NULL)
            *err = why;
        return st;
    }
    qdq_tempdir_free(os->optimized_dir);
    qdq_tempdir_free(os->profile_dir);
    os->optimized_dir = os->profile_dir = NULL;
    qdq_job_log(s->engine->job, QDQ_LOG_WARNING,
                "the provider compiles nodes without a report; layers get their nodes by name");
    return try_session(s, opts, false, model, err);
}

static qdq_status ort_session_open(qdq_session *s, const qdq_model *m, const qdq_session_opts *opts,
                                   qdq_error *err)
{
    const qdq_ort *o = s->engine->self;
    qdq_ort_session *os = calloc(1, sizeof *os);
    qdq_ort_model model = {0};

    QDQ_NEED(os != NULL, err);
    s->self = os;
    os->ort = o;
    qdq_ort_log_init(&os->log);
    QDQ_TRY(qdq_ort_model_bytes(&o->api, m, s->engine->job, &model, err));
    qdq_status st = create_session(s, opts, &model, err);
    qdq_free(model.bytes);
    if (st == QDQ_OK)
        st = read_ios(s, m, err);
    if (st == QDQ_OK && opts->layers)
        st = qdq_ort_read_optimized(s, err);
    return st;
}

static void ort_session_close(qdq_session *s)
{
    qdq_ort_session *os = s->self;

    if (os == NULL)
        return;
    qdq_ort_unbind(s);
    if (os->session != NULL)
        QDQ_ORT(&os->ort->api, ReleaseSession)(os->session);
    qdq_ort_log_destroy(&os->log);
    qdq_model_free(os->optimized);
    qdq_tempdir_free(os->optimized_dir);
    /* after the session, which writes its profile when it ends */
    qdq_tempdir_free(os->profile_dir);
    free(os);
}

const qdq_engine_ops qdq_engine_ort = {
    .open = ort_open,
    .close = ort_close,
    .session_open = ort_session_open,
    .session_close = ort_session_close,
    .run = qdq_ort_run,
    .bind = qdq_ort_bind,
    .time_runs = qdq_ort_time_runs,
    .profile = qdq_ort_profile,
    .groups = qdq_ort_groups,
    /* 1.31.1, of opset 25. Functions: their callers may decide alpha. */
    .lacks = QDQ_OP_SWISH,
    .instead = "inline-functions,lower-swish",
};
