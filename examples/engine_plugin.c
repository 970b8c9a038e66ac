/* engine_plugin.c - an engine in a shared library: `qdq bench --engine
 * ./engine_plugin.so:sim:cost.json model.onnx`.
 *
 * It hands everything on to the engine that is named behind its own file, and times runs by the
 * clock. An engine of your own has the same functions, with your runtime's calls in them; it needs
 * <qdq/engine_plugin.h>, and libqdq only if it wants to. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <qdq/engine_plugin.h>

static qdq_status fail(qdq_error *err, qdq_status code, const char *text)
{
    if (err != NULL) {
        err->code = code;
        snprintf(err->text, sizeof err->text, "%s", text);
    }
    return code;
}

/* --- engine ----------------------------------------------------------------------------------- */

static qdq_status open_engine(const char *arg, const char *temp_dir, void **engine,
                              qdq_plugin_info *info, qdq_error *err)
{
    qdq_engine_opts opts = QDQ_ENGINE_OPTS_INIT;
    qdq_engine *e;

    if (arg == NULL)
        return fail(err, QDQ_E_USAGE, "no engine behind it: expected engine_plugin.so:NAME[:ARG]");
    opts.temp_dir = temp_dir;
    qdq_status st = qdq_engine_open(arg, &opts, &e, err);
    if (st != QDQ_OK)
        return st;
    const qdq_engine_info *i = qdq_engine_get_info(e);
    *info = (qdq_plugin_info){i->version, i->device, i->fingerprint, i->max_opset, i->max_ir};
    *engine = e;
    return QDQ_OK;
}

static void close_engine(void *engine)
{
    qdq_engine_close(engine);
}

/* --- sessions --------------------------------------------------------------------------------- */

typedef struct session {
    qdq_model *model;
    qdq_session *s;
    qdq_named_array *bound; /* lent by the last bind */
    size_t n_in;
} session;

static void close_session(void *self)
{
    session *x = self;

    qdq_session_close(x->s);
    qdq_model_free(x->model);
    free(x->bound);
    free(x);
}

static qdq_status open_session(void *engine, const void *model, size_t bytes,
                               const qdq_plugin_session_opts *o, void **out, qdq_error *err)
{
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    session *x = calloc(1, sizeof *x);
    qdq_io io;

    if (x == NULL)
        return fail(err, QDQ_E_NOMEM, "out of memory");
    opts.level = o->level;
    opts.threads = o->threads;
    opts.fake_quant = o->fake_quant;
    opts.layers = o->layers;
    qdq_status st = qdq_model_load_bytes(model, bytes, "<model>", NULL, &x->model, err);
    if (st == QDQ_OK)
        st = qdq_session_open(engine, x->model, &opts, &x->s, err);
    while (st == QDQ_OK && qdq_session_input(x->s, x->n_in, &io))
        x->n_in++;
    if (st == QDQ_OK && (x->bound = calloc(x->n_in + 1, sizeof *x->bound)) == NULL)
        st = fail(err, QDQ_E_NOMEM, "out of memory");
    if (st != QDQ_OK) {
        close_session(x);
        return st;
    }
    *out = x;
    return QDQ_OK;
}

static bool input(void *self, size_t i, qdq_io *out)
{
    return qdq_session_input(((session *)self)->s, i, out);
}

static bool output(void *self, size_t i, qdq_io *out)
{
    return qdq_session_output(((session *)self)->s, i, out);
}

/* --- runs ------------------------------------------------------------------------------------- */

static qdq_status bind(void *self, const qdq_array *const *in, qdq_error *err)
{
    session *x = self;

    (void)err;
    for (size_t i = 0; i < x->n_in; i++) {
        qdq_io io;
        qdq_session_input(x->s, i, &io);
        x->bound[i].name = io.name;
        x->bound[i].array = *in[i];
    }
    return QDQ_OK;
}

static qdq_status ignore(void *ctx, const char *name, const qdq_array *a, qdq_error *err)
{
    (void)ctx, (void)name, (void)a, (void)err;
    return QDQ_OK;
}

static qdq_status run(void *self, const qdq_array *const *in, qdq_output_fn fn, void *ctx,
                      qdq_error *err)
{
    session *x = self;
    qdq_status st = bind(x, in, err);

    return st == QDQ_OK
               ? qdq_session_run(x->s, x->bound, x->n_in, fn != NULL ? fn : ignore, ctx, err)
               : st;
}

static qdq_status time_runs(void *self, unsigned n, uint64_t *ns, qdq_error *err)
{
    session *x = self;
    struct timespec from, to;
    qdq_status st = QDQ_OK;

    clock_gettime(CLOCK_MONOTONIC, &from);
    for (unsigned i = 0; st == QDQ_OK && i < n; i++)
        st = qdq_session_run(x->s, x->bound, x->n_in, ignore, NULL, err);
    clock_gettime(CLOCK_MONOTONIC, &to);
    *ns = (uint64_t)(to.tv_sec - from.tv_sec) * 1000000000u + (uint64_t)to.tv_nsec -
          (uint64_t)from.tv_nsec;
    return st;
}

/* --- layers ----------------------------------------------------------------------------------- */

static qdq_status layers(void *self, const qdq_array *const *in, unsigned runs,
                         qdq_plugin_layer_fn fn, void *ctx, qdq_error *err)
{
    session *x = self;
    qdq_layer *g = NULL;
    size_t n = 0;
    qdq_status st = in != NULL ? bind(x, in, err) : QDQ_OK;

    if (st == QDQ_OK)
        st = qdq_session_layers(x->s, x->bound, in != NULL ? x->n_in : 0, runs, &g, &n, err);
    for (size_t i = 0; st == QDQ_OK && i < n; i++) {
        const qdq_plugin_layer l = {.name = g[i].layer,
                                    .op = g[i].op,
                                    .in_type = g[i].in_type,
                                    .out_type = g[i].out_type,
                                    .us = g[i].median_us,
                                    .conversion = g[i].conversion,
                                    .nodes = g[i].node,
                                    .n_nodes = g[i].n_nodes};
        st = fn(ctx, &l, err);
    }
    qdq_free(g);
    return st;
}

const qdq_engine_plugin *qdq_engine_plugin_get(unsigned version)
{
    static const qdq_engine_plugin table = {
        .version = QDQ_ENGINE_PLUGIN_VERSION,
        .size = sizeof(qdq_engine_plugin),
        .name = "example",
        .open = open_engine,
        .close = close_engine,
        .session_open = open_session,
        .session_close = close_session,
        .input = input,
        .output = output,
        .run = run,
        .bind = bind,
        .time_runs = time_runs,
        .layers = layers,
    };

    return version == QDQ_ENGINE_PLUGIN_VERSION ? &table : NULL;
}
