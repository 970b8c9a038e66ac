/* openvino_groups.c - the nodes behind the layers that OpenVINO executes. Its runtime model names
 * for each layer those that it was made from (openvino_layers.h); what passes renamed on the way is
 * found by tensors: what a layer gives, computed from what others give. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "engine/engine_layer.h"
#include "engine/openvino/openvino_layers.h"
#include "engine/openvino/openvino_session.h"

#define HELPER "qdq-openvino.so"

enum { WARM_RUNS = 2 };

/* --- the helper ------------------------------------------------------------------------------- */

static void *open_in(const char *dir, size_t n)
{
    char path[4200];

    snprintf(path, sizeof path, "%.*s/" HELPER, (int)n, dir);
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

void qdq_ov_load_helper(qdq_ov *o, const qdq_engine_opts *opts)
{
    union { /* ISO C has no conversion from the object pointer of dlsym to a function pointer */
        void *object;
        qdq_ov_layers_fn *function;
    } entry = {NULL};
    const char *slash = strrchr(o->api.path, '/');
    void *handle = slash != NULL ? open_in(o->api.path, (size_t)(slash - o->api.path)) : NULL;

    for (size_t i = 0; handle == NULL && opts->search_dirs != NULL && opts->search_dirs[i] != NULL;
         i++)
        handle = open_in(opts->search_dirs[i], strlen(opts->search_dirs[i]));
    if (handle != NULL)
        entry.object = dlsym(handle, QDQ_OV_LAYERS_SYMBOL);
    o->layers = entry.function; /* it stays loaded, as OpenVINO does */
}

/* --- reading ---------------------------------------------------------------------------------- */

typedef struct layer {
    qdq_engine_layer out;
    const char *type, *originals;
    /* average over all runs so far; NAN: not executed */
    double us;
    size_t *input;
    size_t n_input;
    /* an input, an output, a constant: nothing is computed */
    bool is_data;
    qdq_layer_node_list named;
} layer;

typedef struct reader {
    qdq_arena *arena;
    QDQ_VEC(layer) layers;
} reader;

static bool is_one_of(const char *s, const char *const *list)
{
    while (*list != NULL && strcmp(s, *list) != 0)
        list++;
    return *list != NULL;
}

static int read_layer(void *ctx, const qdq_ov_layer *from)
{
    static const char *const data[] = {"Input",     "Output", "Const", "Constant",
                                       "Parameter", "Result", NULL};
    reader *r = ctx;
    layer l = {.us = NAN, .n_input = from->n_input, .is_data = is_one_of(from->type, data)};
    char *end;

    l.out.name = qdq_arena_strdup(r->arena, from->name);
    l.out.op = qdq_arena_printf(r->arena, "%s/%s", from->type, from->kernel);
    l.out.in_type = qdq_arena_strdup(r->arena, from->in_type);
    l.out.out_type = qdq_arena_strdup(r->arena, from->out_type);
    l.type = qdq_arena_strdup(r->arena, from->type);
    l.originals = qdq_arena_strdup(r->arena, from->originals);
    l.input = qdq_arena_array(r->arena, from->n_input + 1, sizeof *l.input);
    if (l.out.name == NULL || l.out.op == NULL || l.out.in_type == NULL || l.out.out_type == NULL ||
        l.type == NULL || l.originals == NULL || l.input == NULL)
        return 1;
    if (from->n_input > 0)
        memcpy(l.input, from->input, from->n_input * sizeof *l.input);
    double us = strtod(from->time, &end);
    if (end != from->time && *end == '\0')
        l.us = us;
    return QDQ_PUSH(r->arena, &r->layers, l) ? 0 : 1;
}

static qdq_status read_layers(qdq_session *s, const ov_compiled_model *compiled, reader *r,
                              qdq_error *err)
{
    const qdq_ov_session *os = s->self;
    const qdq_ov_api *api = &os->ov->api;
    ov_model *runtime = NULL;

    QDQ_TRY(qdq_ov_check(api, api->compiled_model_get_runtime_model(compiled, &runtime),
                         "runtime model", err));
    int stopped = os->ov->layers(runtime, read_layer, r);
    api->model_free(runtime);
    if (stopped > 0)
        return qdq_nomem(err);
    return stopped == 0
               ? QDQ_OK
               : qdq_fail(err, QDQ_E_ENGINE, "the runtime model is not as " HELPER " expects it");
}

/* --- whose nodes ------------------------------------------------------------------------------ */

typedef struct finder {
    qdq_arena *arena;
    const qdq_graph *graph;
    qdq_layer_index names;
    /* by value id */
    bool *produced;
    layer *at;
    size_t n;
} finder;

static bool has(const qdq_layer_node_list *list, const qdq_node *node)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->at[i] == node)
            return true;
    return false;
}

static bool add_owner(finder *f, layer *l, qdq_layer_owner o)
{
    const qdq_node *node = o.node != NULL ? o.node : o.value != NULL ? o.value->producer : NULL;

    return node == NULL || has(&l->named, node) || QDQ_PUSH(f->arena, &l->named, node);
}

/* "/fc/Gemm/WithoutBiases/DequantizationMultiply": passes append what they made to the name of what
 * it was made from. */
static qdq_status name_by_beginning(finder *f, layer *l, qdq_error *err)
{
    char *name = qdq_arena_strdup(f->arena, l->out.name);
    qdq_layer_owner o = {NULL, NULL};

    QDQ_NEED(name != NULL, err);
    for (char *slash; o.node == NULL && o.value == NULL && (slash = strrchr(name, '/')) != NULL &&
                      slash != name;) {
        *slash = '\0';
        o = qdq_layer_find(&f->names, name, strlen(name));
    }
    return add_owner(f, l, o) ? QDQ_OK : qdq_nomem(err);
}

static qdq_status name_nodes(finder *f, layer *l, qdq_error *err)
{
    static const char *const separators[] = {",", NULL};
    qdq_layer_names names = {0};

    if (l->is_data)
        return QDQ_OK;
    QDQ_TRY(qdq_layer_split(&f->names, l->originals, separators, f->arena, &names, err));
    for (size_t i = 0; i < names.known.n; i++)
        QDQ_NEED(add_owner(f, l, names.known.at[i]), err);
    return l->named.n == 0 || names.n_unknown > 0 ? name_by_beginning(f, l, err) : QDQ_OK;
}

/* Does something else than the layer read it? */
static bool leaves(const layer *l, const qdq_value *v)
{
    if (v->n_output > 0)
        return true;
    for (const qdq_use *u = v->first; u != NULL; u = u->next)
        if (!has(&l->named, u->node))
            return true;
    return false;
}

static void mark_given(finder *f)
{
    memset(f->produced, 0, f->graph->values.n);
    for (size_t i = 0; i < f->n; i++)
        for (size_t k = 0; k < f->at[i].named.n; k++) {
            const qdq_node *node = f->at[i].named.at[k];
            for (uint32_t o = 0; o < node->n_out; o++)
                if (node->out[o] != NULL && node->graph == f->graph &&
                    leaves(&f->at[i], node->out[o]))
                    f->produced[node->out[o]->id] = true;
        }
}

static qdq_status slice(finder *f, layer *l, qdq_error *err)
{
    l->out.nodes.n = 0;
    for (size_t k = 0; k < l->named.n; k++) {
        const qdq_node *node = l->named.at[k];
        const qdq_value *to = qdq_node_out(node, 0);
        qdq_layer_node_list part = {0};

        if (node->graph != f->graph || to == NULL)
            continue;
        QDQ_TRY(qdq_layer_slice(&f->names, &to, 1, f->produced, f->arena, &part, err));
        for (size_t i = 0; i < part.n; i++)
            if (!has(&l->out.nodes, part.at[i]) && !QDQ_PUSH(f->arena, &l->out.nodes, part.at[i]))
                return qdq_nomem(err);
    }
    return QDQ_OK;
}

static qdq_status slice_all(finder *f, qdq_error *err)
{
    mark_given(f);
    for (size_t i = 0; i < f->n; i++)
        QDQ_TRY(slice(f, &f->at[i], err));
    return QDQ_OK;
}

static bool may_be(const layer *l, const qdq_node *node)
{
    if (strstr(l->type, "Deconvolution") != NULL)
        return node->op == QDQ_OP_CONVTRANSPOSE;
    if (strstr(l->type, "Convolution") != NULL)
        return node->op == QDQ_OP_CONV;
    if (strncmp(l->type, "MatMul", 6) == 0 || strncmp(l->type, "FullyConnected", 14) == 0)
        return node->op == QDQ_OP_MATMUL || node->op == QDQ_OP_GEMM;
    return false;
}

/* A layer whose names are all of OpenVINO's own: its node went to a layer that reads it, as long as
 * nothing claimed it. */
static bool take_from_readers(finder *f, size_t i)
{
    const qdq_node *found = NULL;
    bool *reads = qdq_arena_array(f->arena, f->n + 1, sizeof *reads);

    if (reads == NULL)
        return false;
    reads[i] = true;
    for (size_t j = i + 1; found == NULL && j < f->n; j++) {
        const layer *l = &f->at[j];
        for (size_t k = 0; k < l->n_input && !reads[j]; k++)
            reads[j] = reads[l->input[k]] && f->at[l->input[k]].named.n == 0;
        for (size_t k = l->out.nodes.n; reads[j] && found == NULL && k-- > 0;)
            if (may_be(&f->at[i], l->out.nodes.at[k]) && !has(&l->named, l->out.nodes.at[k]))
                found = l->out.nodes.at[k];
    }
    return found == NULL || QDQ_PUSH(f->arena, &f->at[i].named, found);
}

/* What passes made of a node that they took apart (a LayerNormalization becomes means, differences
 * and a RMS), with names of their own: it lies between what the reader of it reads and gives, and
 * so do its nodes: those that the reader does not name itself, else all. */
static bool share_with_reader(finder *f, size_t i)
{
    layer *l = &f->at[i];

    for (size_t j = i + 1; l->out.nodes.n == 0 && j < f->n; j++) {
        const layer *by = &f->at[j];
        bool reads = false;
        for (size_t k = 0; k < by->n_input; k++)
            reads |= by->input[k] == i;
        bool all = by->out.nodes.n <= by->named.n;
        for (size_t k = 0; reads && k < by->out.nodes.n; k++)
            if ((all || !has(&by->named, by->out.nodes.at[k])) &&
                !QDQ_PUSH(f->arena, &l->out.nodes, by->out.nodes.at[k]))
                return false;
    }
    return true;
}

static qdq_status find_nodes(finder *f, qdq_error *err)
{
    for (size_t i = 0; i < f->n; i++)
        QDQ_TRY(name_nodes(f, &f->at[i], err));
    QDQ_TRY(slice_all(f, err));
    for (size_t i = f->n; i-- > 0;) {
        layer *l = &f->at[i];
        if (l->is_data || l->named.n > 0)
            continue;
        QDQ_NEED(take_from_readers(f, i), err);
        if (l->named.n > 0)
            QDQ_TRY(slice_all(f, err));
    }
    for (size_t i = f->n; i-- > 0;)
        if (!f->at[i].is_data && !share_with_reader(f, i))
            return qdq_nomem(err);
    /* the way led through them, but a change of layout computes nothing */
    for (size_t i = 0; i < f->n; i++)
        if (strcmp(f->at[i].type, "Reorder") == 0 && f->at[i].named.n == 0)
            f->at[i].out.nodes.n = 0;
    return QDQ_OK;
}

/* --- all of it -------------------------------------------------------------------------------- */

static bool is_conversion(const layer *l)
{
    static const char *const types[] = {"Reorder", "Convert", NULL};
    size_t moved = 0;

    for (size_t i = 0; i < l->out.nodes.n; i++) {
        qdq_op op = l->out.nodes.at[i]->op;
        moved += op == QDQ_OP_QUANTIZELINEAR || op == QDQ_OP_DEQUANTIZELINEAR || op == QDQ_OP_CAST;
    }
    return l->out.nodes.n > 0 ? moved == l->out.nodes.n : is_one_of(l->type, types);
}

static qdq_status pack(finder *f, const reader *first, unsigned runs, qdq_layer **out, size_t *n,
                       qdq_error *err)
{
    qdq_engine_layer *l = qdq_arena_array(f->arena, f->n + 1, sizeof *l);
    size_t kept = 0;

    QDQ_NEED(l != NULL, err);
    for (size_t i = 0; i < f->n; i++) {
        layer *from = &f->at[i];
        if (from->is_data || (runs > 0 && !isfinite(from->us)))
            continue;
        double warm = runs > 0 && isfinite(first->layers.at[i].us) ? first->layers.at[i].us : 0;
        from->out.us =
            runs > 0 ? fmax(0, (from->us * (runs + WARM_RUNS) - warm * WARM_RUNS) / runs) : NAN;
        from->out.conversion = is_conversion(from);
        if (from->out.nodes.n > 0)
            from->out.source =
                from->out.nodes.n == from->named.n ? QDQ_LAYER_EXACT : QDQ_LAYER_SLICE;
        l[kept++] = from->out;
    }
    return qdq_engine_layers_pack(l, kept, f->arena, out, n, err);
}

static qdq_status infer_times(qdq_session *s, unsigned n, qdq_error *err)
{
    const qdq_ov_session *os = s->self;
    qdq_status st = QDQ_OK;

    for (unsigned i = 0; st == QDQ_OK && i < n; i++)
        st = qdq_ov_check(&os->ov->api, os->ov->api.infer_request_infer(os->timed), "profiled run",
                          err);
    return st;
}

static qdq_status read_runs(qdq_session *s, const qdq_array *const *in, unsigned runs,
                            reader *first, reader *all, qdq_error *err)
{
    const qdq_ov_session *os = s->self;

    if (runs == 0)
        return read_layers(s, os->compiled, all, err);
    QDQ_TRY(qdq_ov_bind(s, in, err)); /* runs once */
    QDQ_TRY(infer_times(s, WARM_RUNS - 1, err));
    QDQ_TRY(read_layers(s, os->compiled, first, err));
    QDQ_TRY(infer_times(s, runs, err));
    QDQ_TRY(read_layers(s, os->compiled, all, err));
    if (first->layers.n != all->layers.n)
        return qdq_fail(err, QDQ_E_ENGINE, "groups: %zu layers, then %zu", first->layers.n,
                        all->layers.n);
    return QDQ_OK;
}

qdq_status qdq_ov_groups(qdq_session *s, const qdq_array *const *in, unsigned runs, qdq_layer **out,
                         size_t *n, qdq_error *err)
{
    qdq_arena arena = QDQ_ARENA_INIT;
    reader first = {.arena = &arena}, all = {.arena = &arena};
    finder f = {.arena = &arena, .graph = s->source->graph};

    qdq_status st = read_runs(s, in, runs, &first, &all, err);
    if (st == QDQ_OK)
        st = qdq_layer_index_make(&f.names, f.graph, &arena, err);
    f.at = all.layers.at;
    f.n = all.layers.n;
    f.produced = qdq_arena_array(&arena, f.graph->values.n + 1, sizeof *f.produced);
    if (st == QDQ_OK && f.produced == NULL)
        st = qdq_nomem(err);
    if (st == QDQ_OK)
        st = find_nodes(&f, err);
    if (st == QDQ_OK)
        st = pack(&f, &first, runs, out, n, err);
    qdq_layer_index_free(&f.names);
    qdq_ov_unbind(s);
    qdq_arena_free(&arena);
    return st;
}
