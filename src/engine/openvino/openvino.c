/* openvino.c - the OpenVINO engine: its core, how models are compiled, what a session takes and
 * gives. */
#include "engine/openvino/openvino_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "engine/operator_libraries.h"

static const char device[] = "CPU";

/* --- engine ----------------------------------------------------------------------------------- */

static void ov_close(qdq_engine *e)
{
    qdq_ov *o = e->self;

    if (o == NULL)
        return;
    if (o->core != NULL)
        o->api.core_free(o->core);
    free(o);
}

static qdq_status add_extensions(qdq_engine *e, const char *const *files, qdq_error *err)
{
    const qdq_ov *o = e->self;
    const char *const *path, *text;

    QDQ_TRY(qdq_operator_libraries_read(files, &e->arena, &path, &text, err));
    for (size_t i = 0; path[i] != NULL; i++) {
        qdq_status st =
            qdq_ov_check(&o->api, o->api.core_add_extension(o->core, path[i]), path[i], err);
        if (st != QDQ_OK)
            return qdq_within(err, st, "library with operators");
    }
    e->info.fingerprint =
        qdq_arena_printf(&e->arena, "openvino %s %s%s", o->api.version, e->info.device, text);
    return e->info.fingerprint != NULL ? QDQ_OK : qdq_nomem(err);
}

static qdq_status ov_open(qdq_engine *e, const char *arg, const qdq_engine_opts *opts,
                          qdq_error *err)
{
    qdq_ov *o = calloc(1, sizeof *o);

    QDQ_NEED(o != NULL, err);
    e->self = o;
    QDQ_TRY(qdq_ov_api_load(&o->api, arg, opts, err));
    QDQ_TRY(qdq_ov_probe(opts, err));
    QDQ_TRY(qdq_ov_check(&o->api, o->api.core_create(&o->core), "core", err));
    QDQ_TRY(add_extensions(e, opts->plugins, err));

    /* asked to learn now, not with the first model, whether the device can be had */
    char *name = NULL;
    QDQ_TRY(qdq_ov_check(&o->api,
                         o->api.core_get_property(o->core, device, "FULL_DEVICE_NAME", &name),
                         "device CPU", err));
    o->api.free(name);
    e->info.version = o->api.version;
    e->info.library = o->api.path;
    e->info.capabilities = QDQ_CAN_RUN | QDQ_CAN_TIME | QDQ_CAN_PROFILE | QDQ_CAN_EXPOSE;
    qdq_ov_load_helper(o, opts);
    if (o->layers != NULL)
        e->info.capabilities |= QDQ_CAN_LIST_LAYERS;
    return QDQ_OK;
}

/* --- compiling -------------------------------------------------------------------------------- */

/* OpenVINO has no levels of optimization. What callers want of a low one is that Q and DQ are
 * computed as they are written, in float, and that no group of operators becomes one: the first two
 * keys do that. */
static void append_level(const qdq_ov_session *os, ov_property *p, size_t *n)
{
    bool in_float = os->fake_quant || os->level == QDQ_LEVEL_NONE || os->level == QDQ_LEVEL_BASIC;

    if (in_float)
        p[(*n)++] = (ov_property){"LP_TRANSFORMS_MODE", "NO"};
    if (os->level == QDQ_LEVEL_NONE)
        p[(*n)++] = (ov_property){"SNIPPETS_MODE", "DISABLE"};
}

static qdq_status compile(qdq_session *s, qdq_error *err)
{
    qdq_ov_session *os = s->self;
    const qdq_ov_api *api = &os->ov->api;
    char threads[20];
    ov_property p[10];
    size_t n = 0;

    snprintf(threads, sizeof threads, "%d", os->threads);
    p[n++] = (ov_property){"INFERENCE_NUM_THREADS", threads};
    p[n++] = (ov_property){"NUM_STREAMS", "1"};
    /* Where the processor has bfloat16 the default is to compute in it what the model says in
     * float32. */
    p[n++] = (ov_property){"INFERENCE_PRECISION_HINT", "f32"};
    /* Models that are timed beside each other must not be nailed to one processor each. */
    p[n++] = (ov_property){"ENABLE_CPU_PINNING", "NO"};
    p[n++] = (ov_property){"PERF_COUNT", os->profile ? "YES" : "NO"};
    append_level(os, p, &n);
    return qdq_ov_check(
        api, api->core_compile_model_props(os->ov->core, os->model, device, n, p, &os->compiled),
        "cannot compile the model", err);
}

static qdq_status read_model(qdq_session *s, const qdq_model *m, qdq_error *err)
{
    qdq_ov_session *os = s->self;
    const qdq_ov_api *api = &os->ov->api;
    qdq_buf bytes = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    qdq_status st = qdq_ov_model_bytes(m, &bytes, err);
    if (st == QDQ_OK)
        st = qdq_ov_check(api,
                          api->core_read_model_from_memory_buffer(os->ov->core, bytes.data,
                                                                  bytes.size, NULL, &os->model),
                          "cannot load the model", err);
    qdq_buf_free(&bytes);
    return st;
}

/* --- what a session takes and gives ----------------------------------------------------------- */

static qdq_status read_shape(qdq_session *s, const ov_port *port, const qdq_value *v, qdq_io *io,
                             qdq_error *err)
{
    const qdq_ov_session *os = s->self;
    const qdq_ov_api *api = &os->ov->api;
    ov_partial_shape shape = {{0, 0}, NULL};
    qdq_status st = QDQ_OK;

    QDQ_TRY(qdq_ov_check(api, api->port_get_partial_shape(port, &shape), io->name, err));
    if (shape.rank.min == shape.rank.max && shape.rank.min >= 0) {
        if (shape.rank.min > QDQ_MAX_RANK)
            st = qdq_fail(err, QDQ_E_UNSUPPORTED, "tensor '%s' has rank %lld: expected at most %d",
                          io->name, (long long)shape.rank.min, QDQ_MAX_RANK);
        else
            io->rank = (int)shape.rank.min;
    }
    for (int a = 0; st == QDQ_OK && a < io->rank; a++) {
        bool fixed = shape.dim[a].min == shape.dim[a].max && shape.dim[a].min >= 0;
        io->dim[a] = fixed ? shape.dim[a].min : -1;
        /* Names of dims are lost on the way through the library: ours have them. */
        const qdq_type *t = v->type;
        if (fixed || t == NULL || t->kind != QDQ_TYPE_TENSOR || t->rank != io->rank ||
            t->dim[a].param == NULL)
            continue;
        io->param[a] = qdq_arena_strdup(&s->arena, t->dim[a].param);
        if (io->param[a] == NULL)
            st = qdq_nomem(err);
    }
    api->partial_shape_free(&shape);
    return st;
}

static qdq_status read_port(qdq_session *s, const ov_port *port, const qdq_value *v, qdq_io *io,
                            qdq_error *err)
{
    const qdq_ov_session *os = s->self;
    const qdq_ov_api *api = &os->ov->api;
    int type = -1;

    QDQ_TRY(qdq_ov_check(api, api->port_get_element_type(port, &type), io->name, err));
    io->elem = qdq_ov_elem_from(type);
    if (io->elem == QDQ_UNDEFINED)
        return qdq_fail(
            err, QDQ_E_UNSUPPORTED,
            "tensor '%s' is %s: expected numbers of at least 8 bits as inputs and outputs",
            io->name,
            v->type != NULL && v->type->kind == QDQ_TYPE_TENSOR &&
                    qdq_elem_name(v->type->elem) != NULL
                ? qdq_elem_name(v->type->elem)
                : "of an unknown type");
    return read_shape(s, port, v, io, err);
}

static qdq_status name_io(qdq_session *s, const qdq_value *v, qdq_io *io, qdq_error *err)
{
    io->rank = -1;
    io->name = qdq_arena_strdup(&s->arena, v->name);
    return io->name != NULL ? QDQ_OK : qdq_nomem(err);
}

/* As the model says: the library has forgotten an input that nothing reads. It must still be given,
 * as to every engine. */
static qdq_status copy_io(qdq_session *s, const qdq_value *v, qdq_io *io, qdq_error *err)
{
    const qdq_type *t = v->type;

    if (t == NULL || t->kind != QDQ_TYPE_TENSOR || t->rank > QDQ_MAX_RANK)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "input '%s' is not a tensor of rank %d at most",
                        v->name, QDQ_MAX_RANK);
    io->elem = t->elem;
    io->rank = t->rank;
    for (int a = 0; a < t->rank; a++) {
        io->dim[a] = t->dim[a].value >= 0 ? t->dim[a].value : -1;
        if (io->dim[a] < 0 && t->dim[a].param != NULL &&
            (io->param[a] = qdq_arena_strdup(&s->arena, t->dim[a].param)) == NULL)
            return qdq_nomem(err);
    }
    return QDQ_OK;
}

/* The library's number of an input of this name; n: it has none. */
static qdq_status find_input(const qdq_ov_session *os, const char *name, size_t n, size_t *index,
                             qdq_error *err)
{
    const qdq_ov_api *api = &os->ov->api;
    bool found = false;

    for (*index = 0; *index < n; ++*index) {
        ov_port *port = NULL;
        char *any = NULL;
        QDQ_TRY(qdq_ov_check(api, api->model_const_input_by_index(os->model, *index, &port), name,
                             err));
        int status = api->port_get_any_name(port, &any);
        api->output_const_port_free(port);
        QDQ_TRY(qdq_ov_check(api, status, name, err));
        found = any != NULL && strcmp(any, name) == 0;
        api->free(any);
        if (found)
            break;
    }
    return QDQ_OK;
}

static qdq_status read_input(qdq_session *s, const qdq_value *v, size_t n, size_t i, qdq_error *err)
{
    const qdq_ov_session *os = s->self;
    const qdq_ov_api *api = &os->ov->api;
    ov_port *port = NULL;

    QDQ_TRY(name_io(s, v, &s->in[i], err));
    QDQ_TRY(find_input(os, v->name, n, &os->in_index[i], err));
    if (os->in_index[i] == n) {
        os->in_index[i] = QDQ_OV_UNUSED;
        return copy_io(s, v, &s->in[i], err);
    }
    QDQ_TRY(qdq_ov_check(api, api->model_const_input_by_index(os->model, os->in_index[i], &port),
                         v->name, err));
    qdq_status st = read_port(s, port, v, &s->in[i], err);
    api->output_const_port_free(port);
    return st;
}

/* By their order, which the reader keeps: it may have given one tensor several names. */
static qdq_status read_output(qdq_session *s, const qdq_value *v, size_t i, qdq_error *err)
{
    const qdq_ov_session *os = s->self;
    const qdq_ov_api *api = &os->ov->api;
    ov_port *port = NULL;

    QDQ_TRY(name_io(s, v, &s->out[i], err));
    QDQ_TRY(qdq_ov_check(api, api->model_const_output_by_index(os->model, i, &port), v->name, err));
    qdq_status st = read_port(s, port, v, &s->out[i], err);
    api->output_const_port_free(port);
    return st;
}

static qdq_status read_ios(qdq_session *s, const qdq_model *m, qdq_error *err)
{
    qdq_ov_session *os = s->self;
    const qdq_ov_api *api = &os->ov->api;
    const qdq_graph *g = m->graph;
    size_t n_in = 0, n_out = 0;

    QDQ_TRY(qdq_ov_check(api, api->model_inputs_size(os->model, &n_in), "inputs", err));
    QDQ_TRY(qdq_ov_check(api, api->model_outputs_size(os->model, &n_out), "outputs", err));
    if (g->outputs.n != n_out)
        return qdq_fail(err, QDQ_E_ENGINE, "openvino sees %zu outputs: the model has %zu", n_out,
                        g->outputs.n);
    s->in = qdq_arena_array(&s->arena, g->inputs.n + 1, sizeof *s->in);
    s->out = qdq_arena_array(&s->arena, n_out + 1, sizeof *s->out);
    os->in_index = qdq_arena_array(&s->arena, g->inputs.n + 1, sizeof *os->in_index);
    os->bound = qdq_arena_array(&s->arena, g->inputs.n + 1, sizeof(ov_tensor *));
    os->fitted = qdq_arena_array(&s->arena, g->inputs.n + 1, sizeof *os->fitted);
    QDQ_NEED(s->in != NULL && s->out != NULL && os->in_index != NULL && os->bound != NULL &&
                 os->fitted != NULL,
             err);
    for (size_t i = 0; i < g->inputs.n; i++)
        os->fitted[i].rank = -1;
    for (size_t i = 0; i < g->inputs.n; i++) {
        if (g->inputs.at[i]->init != NULL) /* a constant with a name */
            continue;
        QDQ_TRY(read_input(s, g->inputs.at[i], n_in, s->n_in, err));
        s->n_in++;
    }
    for (; s->n_out < n_out; s->n_out++)
        QDQ_TRY(read_output(s, g->outputs.at[s->n_out], s->n_out, err));
    return QDQ_OK;
}

/* --- sessions --------------------------------------------------------------------------------- */

/* The time that the library takes doubles with each body inside a body: 14 of If take half a
 * second, 30 would take hours. */
static qdq_status check_depth(const qdq_model *m, qdq_error *err)
{
    enum { DEPTH_MAX = 14 };

    QDQ_FOR_GRAPHS (g, m) {
        int depth = 0;

        for (const qdq_graph *at = g; at->owner != NULL; at = at->owner->graph)
            depth++;
        if (depth > DEPTH_MAX)
            return qdq_fail(
                err, QDQ_E_UNSUPPORTED,
                "bodies are nested more than %d deep: each level doubles the time to compile",
                DEPTH_MAX);
    }
    return QDQ_OK;
}

static qdq_status ov_session_open(qdq_session *s, const qdq_model *m, const qdq_session_opts *opts,
                                  qdq_error *err)
{
    const qdq_ov *o = s->engine->self;
    qdq_ov_session *os = calloc(1, sizeof *os);

    QDQ_NEED(os != NULL, err);
    s->self = os;
    os->ov = o;
    os->level = opts->level;
    os->threads = opts->threads == 0 ? 1 : opts->threads;
    os->profile = opts->profile || opts->layers;
    os->fake_quant = opts->fake_quant;
    QDQ_TRY(check_depth(m, err));
    QDQ_TRY(read_model(s, m, err));
    QDQ_TRY(read_ios(s, m, err));
    QDQ_TRY(compile(s, err));
    QDQ_TRY(qdq_ov_check(&o->api,
                         o->api.compiled_model_create_infer_request(os->compiled, &os->request),
                         "request", err));
    if (!o->api.model_is_dynamic(os->model)) {
        o->api.model_free(os->model); /* with a copy of all weights: the compiled one has its own */
        os->model = NULL;
    }
    return QDQ_OK;
}

static void ov_session_close(qdq_session *s)
{
    qdq_ov_session *os = s->self;

    if (os == NULL)
        return;
    const qdq_ov_api *api = &os->ov->api;
    qdq_ov_unbind(s);
    if (os->request != NULL)
        api->infer_request_free(os->request);
    if (os->compiled != NULL)
        api->compiled_model_free(os->compiled);
    if (os->model != NULL)
        api->model_free(os->model);
    free(os);
}

const qdq_engine_ops qdq_engine_openvino = {
    .environment = qdq_ov_environment,
    .open = ov_open,
    .close = ov_close,
    .session_open = ov_session_open,
    .session_close = ov_session_close,
    .run = qdq_ov_run,
    .bind = qdq_ov_bind,
    .time_runs = qdq_ov_time_runs,
    .profile = qdq_ov_profile,
    .groups = qdq_ov_groups,
    .no_functions = true, /* "No conversion rule found for operations" of their domain */
    .lacks = QDQ_OP_TENSORSCATTER,
    .instead = "lower-tensorscatter",
};
