/* ort_groups.c - the nodes behind the kernels that ONNX Runtime executes. It tells no one where a
 * kernel comes from, but writes the graph that it runs: what each node of that computes of the
 * model is found by tensors (optimized_nodes.h), and which line of the profile it is by operator,
 * name and order. */
#include "engine/ort/ort_session.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "engine/ort/optimized_nodes.h"
#include "ir/shape.h"

/* --- the graph that is run -------------------------------------------------------------------- */

static const char *dir_file(const qdq_tempdir *dir, const char *name, char *text, size_t size)
{
    snprintf(text, size, "%s/%s", qdq_tempdir_path(dir), name);
    return text;
}

qdq_status qdq_ort_ask_optimized(qdq_session *s, ort_session_options *o, qdq_error *err)
{
    /* Weights beside it: a model in one file ends at 2 GB. The name must be a relative one. */
    static const char *const config[][2] = {
        {"session.optimized_model_external_initializers_file_name", "weights"},
        {"session.optimized_model_external_initializers_min_size_in_bytes", "1024"}};
    qdq_ort_session *os = s->self;
    const qdq_ort_api *api = &os->ort->api;
    char path[4200];

    QDQ_TRY(qdq_tempdir_new(s->engine->temp_dir, &os->optimized_dir, err));
    dir_file(os->optimized_dir, "model.onnx", path, sizeof path);
    QDQ_TRY(qdq_ort_check(api, QDQ_ORT(api, SetOptimizedModelFilePath)(o, path), "optimized model",
                          err));
    for (size_t i = 0; i < QDQ_COUNT(config); i++)
        QDQ_TRY(qdq_ort_check(api,
                              QDQ_ORT(api, AddSessionConfigEntry)(o, config[i][0], config[i][1]),
                              config[i][0], err));
    return QDQ_OK;
}

qdq_status qdq_ort_read_optimized(qdq_session *s, qdq_error *err)
{
    qdq_ort_session *os = s->self;
    char path[4200];

    if (os->optimized_dir == NULL)
        return QDQ_OK;
    qdq_status st = qdq_model_load(dir_file(os->optimized_dir, "model.onnx", path, sizeof path),
                                   NULL, &os->optimized, err);
    return st == QDQ_OK ? st : qdq_within(err, st, "the model as onnxruntime optimized it");
}

/* --- lines of the profile --------------------------------------------------------------------- */

typedef struct joiner {
    qdq_arena *arena;
    qdq_optimized_node *node;
    size_t n_node;
    /* by node: the next of its key, plus one */
    size_t *next;
    /* operator and name -> index of the first that is not taken yet, plus one; 0: all are */
    qdq_map by_key;
    /* the same of nodes in bodies -> anything */
    qdq_map inner;
} joiner;

static const char *make_key(const joiner *j, const char *op, const char *name)
{
    return qdq_arena_printf(j->arena, "%s %s", op, name);
}

static bool add_outer(joiner *j)
{
    for (size_t i = j->n_node; i-- > 0;) {
        const char *key = make_key(j, j->node[i].node->type, j->node[i].node->name);
        qdq_map_value *at = key != NULL ? qdq_map_put(&j->by_key, key, NULL) : NULL;
        if (at == NULL)
            return false;
        j->next[i] = at->num;
        at->num = i + 1;
    }
    return true;
}

static bool add_inner(joiner *j, const qdq_model *m, const qdq_graph *main)
{
    QDQ_FOR_GRAPHS (g, m) {
        if (g == main)
            continue;
        QDQ_FOR_NODES (n, g) {
            const char *key = make_key(j, n->type, n->name);
            if (key == NULL || qdq_map_put(&j->inner, key, NULL) == NULL)
                return false;
        }
    }
    return true;
}

/* A node without a name is called "Conv_12" there. */
static bool is_made_up(const char *op, const char *name)
{
    size_t n = strlen(op);

    if (strncmp(name, op, n) != 0 || name[n] != '_' || name[n + 1] == '\0')
        return false;
    for (const char *p = name + n + 1; *p != '\0'; p++)
        if (!isdigit((unsigned char)*p))
            return false;
    return true;
}

static bool take(joiner *j, const qdq_engine_layer *l, const char *name,
                 const qdq_optimized_node **node)
{
    const char *key = make_key(j, l->op, name);
    qdq_map_value *at = key != NULL ? qdq_map_get(&j->by_key, key) : NULL;

    if (at != NULL && at->num > 0) {
        *node = &j->node[at->num - 1];
        at->num = j->next[at->num - 1];
    }
    return key != NULL;
}

/* What runs inside of an If or a Loop is in its time, too: one of both counts. */
static bool is_inner(const joiner *j, const qdq_engine_layer *l)
{
    const char *key = make_key(j, l->op, l->name);
    const char *unnamed = make_key(j, l->op, "");

    return (key != NULL && qdq_map_get(&j->inner, key) != NULL) ||
           (is_made_up(l->op, l->name) && unnamed != NULL &&
            qdq_map_get(&j->inner, unnamed) != NULL);
}

static void give(qdq_engine_layer *l, const qdq_optimized_node *from)
{
    l->conversion = from->conversion;
    l->source = from->source;
    l->nodes = from->nodes;
}

static qdq_status join_all(joiner *j, qdq_engine_layer *l, size_t *n, qdq_error *err)
{
    size_t kept = 0;

    for (size_t i = 0; i < *n; i++) {
        const qdq_optimized_node *from = NULL;
        bool good = take(j, &l[i], l[i].name, &from);
        if (good && from == NULL && is_made_up(l[i].op, l[i].name))
            good = take(j, &l[i], "", &from);
        if (good && from == NULL && is_inner(j, &l[i]))
            continue;
        if (good && from != NULL)
            give(&l[i], from);
        else if (good)
            l[i].conversion = qdq_layer_is_conversion(l[i].op, NULL);
        QDQ_NEED(good, err);
        l[kept++] = l[i];
    }
    *n = kept;
    return QDQ_OK;
}

qdq_status qdq_ort_join_groups(const qdq_graph *source, const qdq_graph *optimized,
                               qdq_engine_layer *l, size_t *n, qdq_arena *arena, qdq_error *err)
{
    joiner j = {.arena = arena};

    QDQ_TRY(qdq_optimized_nodes(source, optimized, arena, &j.node, &j.n_node, err));
    j.next = qdq_arena_array(arena, j.n_node + 1, sizeof *j.next);
    qdq_status st = j.next != NULL && add_outer(&j) && add_inner(&j, optimized->model, optimized)
                        ? QDQ_OK
                        : qdq_nomem(err);
    if (st == QDQ_OK)
        st = join_all(&j, l, n, err);
    qdq_map_free(&j.by_key);
    qdq_map_free(&j.inner);
    return st;
}

/* --- without the graph ------------------------------------------------------------------------ */

static qdq_status name_layers(const qdq_layer_index *names, qdq_engine_layer *l, size_t n,
                              qdq_arena *arena, qdq_error *err)
{
    for (size_t i = 0; i < n; i++) {
        char *own = qdq_arena_strdup(arena, l[i].name);
        QDQ_NEED(own != NULL, err);
        const qdq_node *node = qdq_layer_find_ending(names, own).node;
        l[i].conversion = qdq_layer_is_conversion(l[i].op, node);
        if (node == NULL || l[i].conversion)
            continue;
        l[i].source = QDQ_LAYER_EXACT;
        QDQ_NEED(QDQ_PUSH(arena, &l[i].nodes, node), err);
    }
    return QDQ_OK;
}

/* The one layer without a node that computes something; NULL: there is none, or there are several,
 * of which the producers are unknown. */
static qdq_engine_layer *find_opaque(qdq_engine_layer *l, size_t n)
{
    qdq_engine_layer *found = NULL;

    for (size_t i = 0; i < n; i++) {
        if (l[i].nodes.n > 0 || l[i].conversion)
            continue;
        if (found != NULL)
            return NULL;
        found = &l[i];
    }
    return found;
}

static size_t list_ends(const qdq_graph *g, const qdq_engine_layer *l, size_t n, const bool *given,
                        const qdq_value **to)
{
    size_t n_to = 0;

    for (size_t i = 0; i < g->outputs.n; i++)
        if (!given[g->outputs.at[i]->id])
            to[n_to++] = g->outputs.at[i];
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < l[i].nodes.n; k++)
            for (uint32_t a = 0; a < l[i].nodes.at[k]->n_in; a++) {
                const qdq_value *v = qdq_node_in(l[i].nodes.at[k], a);
                if (v != NULL && v->graph == g && !given[v->id])
                    to[n_to++] = v;
            }
    return n_to;
}

/* What no other layer is named after is in the opaque one: all that the outputs and the other
 * layers still need. */
static qdq_status give_rest(qdq_layer_index *names, qdq_engine_layer *opaque,
                            const qdq_engine_layer *l, size_t n, qdq_arena *arena, qdq_error *err)
{
    const qdq_graph *g = names->graph;
    bool *given = qdq_arena_array(arena, g->values.n + 1, sizeof *given);
    size_t room = g->outputs.n + 1;

    QDQ_NEED(given != NULL, err);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < l[i].nodes.n; k++) {
            const qdq_node *node = l[i].nodes.at[k];
            room += node->n_in;
            for (uint32_t o = 0; o < node->n_out; o++)
                if (node->out[o] != NULL)
                    given[node->out[o]->id] = true;
        }
    const qdq_value **to = qdq_arena_array(arena, room, sizeof(qdq_value *));
    QDQ_NEED(to != NULL, err);
    size_t n_to = list_ends(g, l, n, given, to);
    QDQ_TRY(qdq_layer_slice(names, to, n_to, given, arena, &opaque->nodes, err));
    opaque->source = opaque->nodes.n > 0 ? QDQ_LAYER_SLICE : QDQ_LAYER_NONE;
    return QDQ_OK;
}

qdq_status qdq_ort_join_by_name(const qdq_graph *source, qdq_engine_layer *l, size_t n,
                                qdq_arena *arena, qdq_error *err)
{
    qdq_layer_index names;

    qdq_status st = qdq_layer_index_make(&names, source, arena, err);
    if (st == QDQ_OK)
        st = name_layers(&names, l, n, arena, err);
    qdq_engine_layer *opaque = st == QDQ_OK ? find_opaque(l, n) : NULL;
    if (opaque != NULL)
        st = give_rest(&names, opaque, l, n, arena, err);
    qdq_layer_index_free(&names);
    return st;
}

/* --- without times ---------------------------------------------------------------------------- */

/* No one infers what operators of ONNX Runtime's own give, but the model may know the tensor. */
static const char *type_of(const qdq_graph *source, const qdq_value *v)
{
    if (v != NULL && v->init == NULL && v->type == NULL)
        v = qdq_graph_find(source, v->name);
    if (v != NULL && v->init != NULL)
        return qdq_engine_type(v->init->elem);
    return v != NULL && v->type != NULL && v->type->kind == QDQ_TYPE_TENSOR
               ? qdq_engine_type(v->type->elem)
               : "";
}

/* What cannot be inferred is not known. */
static qdq_status infer(qdq_model *m, qdq_error *err)
{
    return qdq_model_infer(m, NULL, err) == QDQ_E_NOMEM ? QDQ_E_NOMEM : QDQ_OK;
}

static qdq_status list_nodes(qdq_session *s, qdq_arena *arena, qdq_engine_layer **out, size_t *n,
                             qdq_error *err)
{
    const qdq_ort_session *os = s->self;
    const qdq_graph *g = os->optimized->graph;
    size_t i = 0;

    QDQ_TRY(infer(os->optimized, err));
    QDQ_TRY(infer(s->source, err));
    *n = g->n_node;
    *out = qdq_arena_array(arena, *n + 1, sizeof **out);
    QDQ_NEED(*out != NULL, err);
    QDQ_FOR_NODES (node, g) {
        (*out)[i] = (qdq_engine_layer){.name = node->name, .op = node->type, .us = NAN};
        (*out)[i].in_type = type_of(s->source->graph, qdq_node_in(node, 0));
        (*out)[i++].out_type = type_of(s->source->graph, qdq_node_out(node, 0));
    }
    return QDQ_OK;
}

/* --- all of it -------------------------------------------------------------------------------- */

static qdq_status find_groups(qdq_session *s, char *profile, qdq_arena *arena, qdq_layer **out,
                              size_t *n, qdq_error *err)
{
    qdq_ort_session *os = s->self;
    const qdq_graph *source = s->source->graph;
    qdq_engine_layer *l;
    size_t n_layers;
    unsigned runs;

    if (profile != NULL)
        QDQ_TRY(qdq_ort_profile_rows(profile, s->engine->job, arena, &l, &n_layers, &runs, err));
    else
        QDQ_TRY(list_nodes(s, arena, &l, &n_layers, err));
    if (os->optimized != NULL)
        QDQ_TRY(qdq_ort_join_groups(source, os->optimized->graph, l, &n_layers, arena, err));
    else
        QDQ_TRY(qdq_ort_join_by_name(source, l, n_layers, arena, err));
    return qdq_engine_layers_pack(l, n_layers, arena, out, n, err);
}

qdq_status qdq_ort_groups(qdq_session *s, const qdq_array *const *in, unsigned runs,
                          qdq_layer **out, size_t *n, qdq_error *err)
{
    const qdq_ort_session *os = s->self;
    qdq_arena arena = QDQ_ARENA_INIT;
    char *profile = NULL;

    if (runs == 0 && os->optimized == NULL)
        return qdq_fail(
            err, QDQ_E_UNSUPPORTED,
            "the provider compiles what it runs: its layers are known from a timed run alone");
    if (runs > 0)
        QDQ_TRY(qdq_ort_profile_text(s, in, runs, &profile, err));
    qdq_status st = find_groups(s, profile, &arena, out, n, err);
    qdq_free(profile);
    qdq_arena_free(&arena);
    return st;
}
