/* plugin.c - engines in shared libraries of others: loads one, looks whether it is one, and calls
 * its table. */
#include "engine/plugin.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/pack.h"
#include "engine/engine_layer.h"
#include "engine/find_library.h"

typedef struct plugin {
    /* members that the library lacks are NULL */
    qdq_engine_plugin table;
    void *engine;
} plugin;

typedef struct plugin_session {
    const qdq_engine_plugin *table;
    void *session;
} plugin_session;

/* --- the table -------------------------------------------------------------------------------- */

/* What every engine has stands in front of `run`; the rest, and what is appended, may be missing.
 */
static qdq_status check_table(const char *path, const qdq_engine_plugin *t, qdq_error *err)
{
    const size_t least = offsetof(qdq_engine_plugin, run);

    if (t == NULL)
        return qdq_fail(err, QDQ_E_ENGINE,
                        "%s: has no table of version %d, which is what this qdq speaks", path,
                        QDQ_ENGINE_PLUGIN_VERSION);
    if (t->version != QDQ_ENGINE_PLUGIN_VERSION)
        return qdq_fail(err, QDQ_E_ENGINE, "%s: its table is of version %u: expected %d", path,
                        t->version, QDQ_ENGINE_PLUGIN_VERSION);
    if (t->size < least)
        return qdq_fail(err, QDQ_E_ENGINE, "%s: its table has %zu bytes: expected at least %zu",
                        path, t->size, least);
    const char *missing = t->name == NULL || t->name[0] == '\0' ? "name"
                          : t->open == NULL                     ? "open"
                          : t->close == NULL                    ? "close"
                          : t->session_open == NULL             ? "session_open"
                          : t->session_close == NULL            ? "session_close"
                          : t->input == NULL                    ? "input"
                          : t->output == NULL                   ? "output"
                                                                : NULL;
    if (missing != NULL)
        return qdq_fail(err, QDQ_E_ENGINE, "%s: its table has no '%s'", path, missing);
    return QDQ_OK;
}

static qdq_status load(const char *path, qdq_engine_plugin *out, qdq_error *err)
{
    static const char symbol[] = "qdq_engine_plugin_get";
    union {
        void *data;
        qdq_engine_plugin_get_fn get;
    } found;
    const qdq_engine_plugin *table = NULL;
    void *handle;

    QDQ_TRY(qdq_library_open(path, &handle, err));
    found.data = dlsym(handle, symbol);
    qdq_status st = found.data == NULL
                        ? qdq_fail(err, QDQ_E_ENGINE,
                                   "%s: is not an engine: it does not export %s()", path, symbol)
                        : check_table(path, table = found.get(QDQ_ENGINE_PLUGIN_VERSION), err);
    if (st == QDQ_OK)
        memcpy(out, table, table->size < sizeof *out ? table->size : sizeof *out);
    else
        dlclose(handle); /* one that is used stays: its threads may outlive its sessions */
    return st;
}

/* --- specs ------------------------------------------------------------------------------------ */

/* Behind the ".so" of a file's name, and the numbers that may follow it; NULL: there is none. */
static const char *end_of_file(const char *spec)
{
    const char *p = spec;

    while ((p = strstr(p, ".so")) != NULL) {
        p += sizeof ".so" - 1;
        if (*p == '\0' || *p == ':' || *p == '.')
            return p + strcspn(p, ":/");
    }
    return NULL;
}

bool qdq_plugin_is_spec(const char *spec)
{
    return end_of_file(spec) != NULL || memchr(spec, '/', strcspn(spec, ":")) != NULL;
}

/* --- engine ----------------------------------------------------------------------------------- */

static void plugin_close(qdq_engine *e)
{
    plugin *p = e->self;

    if (p == NULL)
        return;
    if (p->engine != NULL)
        p->table.close(p->engine);
    free(p);
}

static unsigned capabilities_of(const qdq_engine_plugin *t)
{
    unsigned can = QDQ_CAN_EXPOSE; /* it gets a model with these outputs */

    if (t->run != NULL)
        can |= QDQ_CAN_RUN;
    if (t->bind != NULL && t->time_runs != NULL)
        can |= QDQ_CAN_TIME;
    if (t->layers != NULL)
        can |= QDQ_CAN_PROFILE | QDQ_CAN_LIST_LAYERS;
    return can;
}

/* A path without a slash would be looked for on the loader's path. */
static const char *path_of(qdq_engine *e, const char *spec)
{
    const char *end = end_of_file(spec);
    size_t n = end != NULL ? (size_t)(end - spec) : strcspn(spec, ":");

    return qdq_arena_printf(&e->arena, "%s%.*s", memchr(spec, '/', n) != NULL ? "" : "./", (int)n,
                            spec);
}

static qdq_status plugin_open(qdq_engine *e, const char *spec, const qdq_engine_opts *opts,
                              qdq_error *err)
{
    const char *path = path_of(e, spec);
    const char *end = end_of_file(spec);
    qdq_plugin_info info = {0};
    plugin *p = calloc(1, sizeof *p);

    if (p == NULL || path == NULL) {
        free(p);
        return qdq_nomem(err);
    }
    e->self = p;
    end = end != NULL ? end : spec + strcspn(spec, ":");
    QDQ_TRY(load(path, &p->table, err));
    e->info.name = p->table.name;
    e->info.library = path;
    e->info.capabilities = capabilities_of(&p->table);
    QDQ_TRY(p->table.open(*end == ':' ? end + 1 : NULL, opts->temp_dir, &p->engine, &info, err));
    e->info.version = info.version != NULL ? info.version : "";
    e->info.device = info.device != NULL ? info.device : "cpu";
    e->info.fingerprint = info.fingerprint;
    e->info.max_opset = info.max_opset;
    e->info.max_ir = info.max_ir;
    return QDQ_OK;
}

/* --- sessions --------------------------------------------------------------------------------- */

static void plugin_session_close(qdq_session *s)
{
    plugin_session *ps = s->self;

    if (ps == NULL)
        return;
    if (ps->session != NULL)
        ps->table->session_close(ps->session);
    free(ps);
}

typedef bool (*io_fn)(void *session, size_t i, qdq_io *out);

static qdq_status read_ios(qdq_session *s, io_fn io, qdq_io **out, size_t *n, qdq_error *err)
{
    const plugin_session *ps = s->self;
    QDQ_VEC(qdq_io) list = {0};
    qdq_io one = {.rank = -1};

    while (io(ps->session, list.n, &one)) {
        if (one.name == NULL || one.rank > QDQ_MAX_RANK)
            return qdq_fail(err, QDQ_E_ENGINE, "input or output %zu has no name, or rank %d",
                            list.n, one.rank);
        QDQ_NEED(QDQ_PUSH(&s->arena, &list, one), err);
        one = (qdq_io){.rank = -1};
    }
    *out = list.at;
    *n = list.n;
    return QDQ_OK;
}

static qdq_status plugin_session_open(qdq_session *s, const qdq_model *m,
                                      const qdq_session_opts *opts, qdq_error *err)
{
    const plugin *p = s->engine->self;
    const qdq_plugin_session_opts po = {.level = opts->level,
                                        .threads = opts->threads == 0 ? 1 : opts->threads,
                                        .fake_quant = opts->fake_quant,
                                        .layers = opts->profile || opts->layers};
    plugin_session *ps = calloc(1, sizeof *ps);
    void *bytes;
    size_t size;

    QDQ_NEED(ps != NULL, err);
    s->self = ps;
    ps->table = &p->table;
    QDQ_TRY(qdq_model_to_bytes(m, NULL, &bytes, &size, err));
    qdq_status st = p->table.session_open(p->engine, bytes, size, &po, &ps->session, err);
    qdq_free(bytes);
    if (st == QDQ_OK)
        st = read_ios(s, p->table.input, &s->in, &s->n_in, err);
    return st == QDQ_OK ? read_ios(s, p->table.output, &s->out, &s->n_out, err) : st;
}

static qdq_status plugin_run(qdq_session *s, const qdq_array *const *in, qdq_output_fn fn,
                             void *ctx, qdq_error *err)
{
    const plugin_session *ps = s->self;

    return ps->table->run(ps->session, in, fn, ctx, err);
}

static qdq_status plugin_bind(qdq_session *s, const qdq_array *const *in, qdq_error *err)
{
    const plugin_session *ps = s->self;

    return ps->table->bind(ps->session, in, err);
}

static qdq_status plugin_time_runs(qdq_session *s, unsigned n, uint64_t *ns, qdq_error *err)
{
    const plugin_session *ps = s->self;

    return ps->table->time_runs(ps->session, n, ns, err);
}

/* --- layers ----------------------------------------------------------------------------------- */

typedef struct collector {
    qdq_arena arena;
    /* of the source, where nodes are asked for */
    qdq_layer_index names;
    /* by value id: a layer gives it */
    bool *produced;
    QDQ_VEC(qdq_engine_layer) layers;
    /* of all layers that name tensors alone, one behind the other */
    QDQ_VEC(qdq_layer_owner) gives;
    /* by layer */
    QDQ_VEC(size_t) n_gives;
} collector;

static const char *keep(collector *c, const char *text, bool *good)
{
    const char *own = qdq_arena_strdup(&c->arena, text != NULL ? text : "");

    *good = *good && own != NULL;
    return own;
}

static bool keep_nodes(collector *c, const qdq_plugin_layer *from, qdq_engine_layer *l)
{
    for (size_t i = 0; i < from->n_nodes; i++) {
        qdq_layer_owner o = qdq_layer_find(&c->names, from->nodes[i], strlen(from->nodes[i]));
        if (o.node != NULL && !QDQ_PUSH(&c->arena, &l->nodes, o.node))
            return false;
    }
    l->source = l->nodes.n > 0 ? QDQ_LAYER_EXACT : QDQ_LAYER_NONE;
    return true;
}

static bool keep_tensors(collector *c, const qdq_plugin_layer *from, const qdq_engine_layer *l)
{
    size_t before = c->gives.n;

    for (size_t i = 0; i < from->n_tensors; i++) {
        qdq_layer_owner o = {.value = qdq_graph_find(c->names.graph, from->tensors[i])};
        if (o.value == NULL)
            continue;
        c->produced[o.value->id] = true;
        if (l->nodes.n == 0 && !QDQ_PUSH(&c->arena, &c->gives, o))
            return false;
    }
    size_t n = c->gives.n - before;
    return QDQ_PUSH(&c->arena, &c->n_gives, n);
}

static qdq_status collect(void *ctx, const qdq_plugin_layer *from, qdq_error *err)
{
    collector *c = ctx;
    bool good = true;
    qdq_engine_layer l = {.name = keep(c, from->name, &good),
                          .op = keep(c, from->op, &good),
                          .in_type = keep(c, from->in_type, &good),
                          .out_type = keep(c, from->out_type, &good),
                          .us = from->us,
                          .conversion = from->conversion};

    if (good && c->names.graph != NULL)
        good = keep_nodes(c, from, &l) && keep_tensors(c, from, &l);
    return good && QDQ_PUSH(&c->arena, &c->layers, l) ? QDQ_OK : qdq_nomem(err);
}

static qdq_status find_slices(collector *c, qdq_error *err)
{
    const qdq_layer_owner *next = c->gives.at;

    for (size_t i = 0; i < c->layers.n; i++) {
        qdq_engine_layer *l = &c->layers.at[i];
        for (size_t k = 0; k < c->n_gives.at[i]; k++, next++)
            QDQ_TRY(qdq_layer_slice(&c->names, &next->value, 1, c->produced, &c->arena, &l->nodes,
                                    err));
        if (c->n_gives.at[i] > 0 && l->nodes.n > 0)
            l->source = QDQ_LAYER_SLICE;
    }
    return QDQ_OK;
}

static qdq_status plugin_groups(qdq_session *s, const qdq_array *const *in, unsigned runs,
                                qdq_layer **out, size_t *n, qdq_error *err)
{
    const plugin_session *ps = s->self;
    const qdq_graph *g = s->source->graph;
    collector c = {0};

    c.produced = qdq_arena_array(&c.arena, g->values.n + 1, sizeof *c.produced);
    qdq_status st =
        c.produced != NULL ? qdq_layer_index_make(&c.names, g, &c.arena, err) : qdq_nomem(err);
    if (st == QDQ_OK)
        st = ps->table->layers(ps->session, in, runs, collect, &c, err);
    if (st == QDQ_OK)
        st = find_slices(&c, err);
    if (st == QDQ_OK)
        st = qdq_engine_layers_pack(c.layers.at, c.layers.n, &c.arena, out, n, err);
    qdq_layer_index_free(&c.names);
    qdq_arena_free(&c.arena);
    return st;
}

static qdq_status plugin_profile(qdq_session *s, const qdq_array *const *in, unsigned runs,
                                 qdq_layer **out, size_t *n, qdq_error *err)
{
    const plugin_session *ps = s->self;
    collector c = {0};

    qdq_status st = ps->table->layers(ps->session, in, runs, collect, &c, err);
    if (st == QDQ_OK)
        st = qdq_engine_profile_pack(c.layers.at, c.layers.n, runs, out, err);
    if (st == QDQ_OK)
        *n = c.layers.n;
    qdq_arena_free(&c.arena);
    return st;
}

const qdq_engine_ops qdq_engine_plugin_ops = {
    .open = plugin_open,
    .close = plugin_close,
    .session_open = plugin_session_open,
    .session_close = plugin_session_close,
    .run = plugin_run,
    .bind = plugin_bind,
    .time_runs = plugin_time_runs,
    .profile = plugin_profile,
    .groups = plugin_groups,
};
