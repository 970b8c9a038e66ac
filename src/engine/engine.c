/* engine.c - the registry of engines and the public functions in front of them: specs are parsed
 * here, inputs checked here, so that every engine gives the same messages. Knows no engine but by
 * engines.def. */
#include "engine/engine_ops.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/heap.h"
#include "base/suggest.h"
#include "base/opts.h"
#include "base/processor.h"
#include "engine/plugin.h"
#include "engine/remote/remote.h"
#include "engine/session_inputs.h"
#include "engine/session_model.h"
#include "ir/graph_check.h"
#include "qdq/pass.h"

static const struct {
    const char *name, *help;
    const qdq_engine_ops *ops;
} engines[] = {
#define ENGINE(symbol, name, help) {name, help, &qdq_engine_##symbol},
#include "engine/engines.def"
#undef ENGINE
};

const char *qdq_engine_name(size_t i, const char **help)
{
    if (i >= QDQ_COUNT(engines))
        return NULL;
    if (help != NULL)
        *help = engines[i].help;
    return engines[i].name;
}

/* --- engines ---------------------------------------------------------------------------------- */

typedef struct found {
    const char *name, *arg;
    const qdq_engine_ops *ops;
} found;

/* The engine that is probably meant by the first `n` bytes: by its product's name, then by
 * likeness. */
static const char *nearest_engine(const char *spec, size_t n)
{
    static const char *const products[][2] = {{"tensorrt", "trtexec"}, {"onnxruntime", "ort"}};
    const char *names[QDQ_COUNT(engines)];
    char word[40];

    if (n >= sizeof word)
        return NULL;
    memcpy(word, spec, n);
    word[n] = '\0';
    for (size_t i = 0; i < QDQ_COUNT(products); i++)
        if (strcmp(products[i][0], word) == 0)
            return products[i][1];
    for (size_t i = 0; i < QDQ_COUNT(engines); i++)
        names[i] = engines[i].name;
    return qdq_suggest(word, names, QDQ_COUNT(engines));
}

static qdq_status find_engine(const char *spec, found *out, qdq_error *err)
{
    size_t n = strcspn(spec, ":");
    qdq_buf known = QDQ_BUF_INIT(500);

    for (size_t i = 0; i < QDQ_COUNT(engines); i++) {
        if (strlen(engines[i].name) == n && memcmp(engines[i].name, spec, n) == 0) {
            *out = (found){engines[i].name, spec[n] == ':' ? spec + n + 1 : NULL, engines[i].ops};
            return QDQ_OK;
        }
    }
    if (qdq_plugin_is_spec(spec)) {
        *out = (found){spec, spec, &qdq_engine_plugin_ops};
        return QDQ_OK;
    }
    const char *near = nearest_engine(spec, n);
    if (near != NULL)
        return qdq_fail(err, QDQ_E_USAGE,
                        "engine '%s': unknown; did you mean '%s'? 'qdq engines' lists all", spec,
                        near);
    for (size_t i = 0; i < QDQ_COUNT(engines); i++)
        qdq_buf_printf(&known, "%s%s", i > 0 ? ", " : "", engines[i].name);
    qdq_fail(err, QDQ_E_USAGE,
             "engine '%s' is not known: expected NAME or NAME:ARG with NAME one of %s, or FILE.so",
             spec, known.failed || known.data == NULL ? "those listed" : known.data);
    qdq_buf_free(&known);
    return QDQ_E_USAGE;
}

/* For engines without options that times depend on. */
static qdq_status describe(qdq_engine *e, qdq_error *err)
{
    const qdq_engine_info *i = &e->info;

    e->info.fingerprint = qdq_arena_printf(&e->arena, "%s %s %s", i->name,
                                           i->version[0] != '\0' ? i->version : "-", i->device);
    return e->info.fingerprint != NULL ? QDQ_OK : qdq_nomem(err);
}

static qdq_status describe_processor(qdq_engine *e, qdq_error *err)
{
    char name[300];

    if (e->remote) {
        e->processor = qdq_remote_processor(e);
        return QDQ_OK;
    }
    qdq_processor_name(name, sizeof name);
    e->processor = qdq_arena_strdup(&e->arena, name);
    return qdq_allocated(e->processor != NULL, err);
}

const char *qdq_engine_environment(const char *spec, const qdq_engine_opts *opts)
{
    qdq_engine_opts own = QDQ_ENGINE_OPTS_INIT;
    found f;

    if (qdq_opts_read("qdq_engine_opts", &own, sizeof own, opts, NULL) != QDQ_OK ||
        find_engine(spec, &f, NULL) != QDQ_OK || f.ops->environment == NULL)
        return NULL;
    return f.ops->environment(&own);
}

/* What comes from a worker names the engine already. */
static qdq_status at_engine(const qdq_engine *e, const char *name, qdq_status st, qdq_error *err)
{
    const bool is_named = e->remote && err != NULL && strncmp(err->text, "engine '", 8) == 0;

    return is_named ? st : qdq_within(err, st, "engine '%s'", name);
}

qdq_status qdq_engine_open(const char *spec, const qdq_engine_opts *opts, qdq_engine **out,
                           qdq_error *err)
{
    qdq_engine_opts own = QDQ_ENGINE_OPTS_INIT;
    found f;

    *out = NULL;
    QDQ_TRY(qdq_opts_read("qdq_engine_opts", &own, sizeof own, opts, err));
    opts = &own;
    QDQ_TRY(find_engine(spec, &f, err));
    if (f.arg != NULL && f.arg[0] == '\0')
        return qdq_fail(err, QDQ_E_USAGE, "engine '%s': empty argument; expected NAME:ARG", spec);

    qdq_engine *e = calloc(1, sizeof *e);
    QDQ_NEED(e != NULL, err);
    e->remote = opts->in_worker || opts->host != NULL;
    e->ops = e->remote ? &qdq_engine_remote_ops : f.ops;
    e->job = opts->job;
    e->info = (qdq_engine_info){.name = f.name, .version = "", .library = "", .device = "cpu"};
    qdq_status st = QDQ_OK;
    if (opts->temp_dir != NULL &&
        (e->temp_dir = qdq_arena_strdup(&e->arena, opts->temp_dir)) == NULL)
        st = qdq_nomem(err);
    if (st == QDQ_OK)
        st = e->ops->open(e, e->remote ? spec : f.arg, opts, err);
    if (st == QDQ_OK && e->info.fingerprint == NULL)
        st = describe(e, err);
    if (st == QDQ_OK)
        st = describe_processor(e, err);
    if (st != QDQ_OK) {
        st = at_engine(e, f.name, st, err);
        qdq_engine_close(e);
        return st;
    }
    *out = e;
    return QDQ_OK;
}

void qdq_engine_close(qdq_engine *e)
{
    if (e == NULL)
        return;
    e->ops->close(e);
    qdq_arena_free(&e->arena);
    free(e);
}

const qdq_engine_info *qdq_engine_get_info(const qdq_engine *e)
{
    return &e->info;
}

const char *qdq_engine_processor(const qdq_engine *e)
{
    return e->processor;
}

unsigned qdq_engine_crashes(const qdq_engine *e)
{
    return e->remote ? qdq_remote_crashes(e) : 0;
}

/* --- sessions --------------------------------------------------------------------------------- */

static bool has_lacking(const qdq_engine_ops *ops, const qdq_model *m)
{
    if (ops->instead == NULL)
        return false;
    QDQ_FOR_GRAPHS (g, m)
        QDQ_FOR_NODES (n, g)
            if (n->op == ops->lacks)
                return true;
    return false;
}

/* Once: sessions are many. The file as it is would not run where users take it. */
static void say_lowered(qdq_engine *e)
{
    if (!e->said_lowered)
        qdq_job_log(e->job, QDQ_LOG_WARNING,
                    "engine '%s' has no kernel of %s: it gets what 'qdq optimize -p %s' writes",
                    e->info.name, qdq_op_get_info(e->ops->lacks)->name, e->ops->instead);
    e->said_lowered = true;
}

static qdq_status open_lowered(qdq_session *s, const qdq_model *m, const qdq_session_opts *opts,
                               qdq_error *err)
{
    const qdq_engine_ops *ops = s->engine->ops;
    qdq_model *lowered = NULL;

    ops->session_close(s);
    s->self = NULL;
    s->n_in = s->n_out = 0;
    QDQ_TRY(qdq_model_clone(m, &lowered, err));
    qdq_status st = qdq_model_run_passes(lowered, ops->instead, err);
    if (st == QDQ_OK) {
        say_lowered(s->engine);
        st = ops->session_open(s, lowered, opts, err);
    }
    if (st == QDQ_E_ENGINE && has_lacking(ops, lowered))
        st = qdq_within(err, st, "no kernel of %s, and pass '%s' cannot write it in others",
                        qdq_op_get_info(ops->lacks)->name, ops->instead);
    qdq_model_free(lowered);
    return st;
}

/* The engine is asked first: releases differ in what they lack. */
static qdq_status open_model(qdq_session *s, const qdq_model *m, const qdq_session_opts *opts,
                             qdq_error *err)
{
    qdq_status st = s->engine->ops->session_open(s, m, opts, err);

    return st == QDQ_E_ENGINE && has_lacking(s->engine->ops, m) ? open_lowered(s, m, opts, err)
                                                                : st;
}

static qdq_status open_session(qdq_session *s, const qdq_model *m, const qdq_session_opts *opts,
                               qdq_error *err)
{
    const qdq_engine_info *info = &s->engine->info;
    qdq_model *own = NULL;

    if (opts->threads < 0)
        return qdq_fail(err, QDQ_E_USAGE, "%d threads: expected at least 1", opts->threads);
    if (opts->profile && (info->capabilities & QDQ_CAN_PROFILE) == 0)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "this engine has no profile per layer");
    if (opts->layers && (info->capabilities & QDQ_CAN_LIST_LAYERS) == 0)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "this engine reports no nodes of layers");
    if (opts->expose != NULL && (info->capabilities & QDQ_CAN_EXPOSE) == 0)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "this engine cannot show intermediate tensors");

    QDQ_TRY(qdq_model_check_domains(m, err)); /* before an engine stumbles over it */
    QDQ_TRY(qdq_session_model(m, opts, s->engine->ops->no_functions, &own, err));
    qdq_status st = QDQ_OK;
    if (opts->layers && own == NULL)
        st = qdq_model_clone(m, &own, err);
    if (st == QDQ_OK && opts->layers)
        s->source = own;
    if (st == QDQ_OK)
        st = open_model(s, own != NULL ? own : m, opts, err);
    if (s->source == NULL)
        qdq_model_free(own);
    return st;
}

qdq_status qdq_session_open(qdq_engine *e, const qdq_model *m, const qdq_session_opts *opts,
                            qdq_session **out, qdq_error *err)
{
    qdq_session_opts own = QDQ_SESSION_OPTS_INIT;

    *out = NULL;
    QDQ_TRY(qdq_opts_read("qdq_session_opts", &own, sizeof own, opts, err));
    opts = &own;
    qdq_session *s = calloc(1, sizeof *s);
    QDQ_NEED(s != NULL, err);
    s->engine = e;
    s->can_profile = opts->profile;
    s->can_group = opts->layers;
    qdq_heap_trim(); /* of what was there before it */
    qdq_status st = open_session(s, m, opts, err);
    qdq_heap_trim(); /* of loading */
    if (st != QDQ_OK) {
        qdq_session_close(s);
        return at_engine(e, e->info.name, st, err);
    }
    *out = s;
    return QDQ_OK;
}

void qdq_session_close(qdq_session *s)
{
    if (s == NULL)
        return;
    s->engine->ops->session_close(s);
    qdq_model_free(s->source);
    qdq_arena_free(&s->arena);
    free(s);
    qdq_heap_trim();
}

bool qdq_session_input(const qdq_session *s, size_t i, qdq_io *out)
{
    if (i >= s->n_in)
        return false;
    *out = s->in[i];
    return true;
}

bool qdq_session_output(const qdq_session *s, size_t i, qdq_io *out)
{
    if (i >= s->n_out)
        return false;
    *out = s->out[i];
    return true;
}

qdq_status qdq_session_run(qdq_session *s, const qdq_named_array *in, size_t n_in, qdq_output_fn fn,
                           void *ctx, qdq_error *err)
{
    const qdq_array **ordered = NULL;

    if ((s->engine->info.capabilities & QDQ_CAN_RUN) == 0)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "engine '%s' computes no outputs",
                        s->engine->info.name);
    QDQ_TRY(qdq_session_order_inputs(s, in, n_in, &ordered, err));
    qdq_status st = s->engine->ops->run(s, ordered, fn, ctx, err);
    free(ordered);
    return st;
}

qdq_status qdq_session_profile(qdq_session *s, const qdq_named_array *in, size_t n_in,
                               unsigned runs, qdq_layer **out, size_t *n, qdq_error *err)
{
    const qdq_array **ordered = NULL;

    *out = NULL;
    *n = 0;
    if ((s->engine->info.capabilities & QDQ_CAN_PROFILE) == 0)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "engine '%s' has no profile per layer",
                        s->engine->info.name);
    if (!s->can_profile)
        return qdq_fail(
            err, QDQ_E_USAGE,
            "profile: expected a session that was opened with `profile` and not yet profiled");
    if (runs == 0)
        return qdq_fail(err, QDQ_E_USAGE, "profile of 0 runs: expected at least 1");
    QDQ_TRY(qdq_session_order_inputs(s, in, n_in, &ordered, err));
    s->can_profile = false;
    qdq_status st = s->engine->ops->profile(s, ordered, runs, out, n, err);
    free(ordered);
    return st;
}

qdq_status qdq_session_layers(qdq_session *s, const qdq_named_array *in, size_t n_in, unsigned runs,
                              qdq_layer **out, size_t *n, qdq_error *err)
{
    const qdq_array **ordered = NULL;

    *out = NULL;
    *n = 0;
    if ((s->engine->info.capabilities & QDQ_CAN_LIST_LAYERS) == 0)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "engine '%s': reports no nodes of layers",
                        s->engine->info.name);
    if (!s->can_group)
        return qdq_fail(
            err, QDQ_E_USAGE,
            "groups: expected a session that was opened with `groups` and not yet asked");
    if (runs > 0)
        QDQ_TRY(qdq_session_order_inputs(s, in, n_in, &ordered, err));
    s->can_group = false;
    s->can_profile = false;
    qdq_status st = s->engine->ops->groups(s, ordered, runs, out, n, err);
    free(ordered);
    return st;
}
