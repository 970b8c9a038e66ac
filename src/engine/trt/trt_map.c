/* trt_map.c - finds the nodes of each layer by three ways in turn. Iterative throughout: models
 * of a hundred thousand nodes have no use for recursion. */
#include "engine/trt/trt_map.h"

#include "base/fail.h"
#include "engine/layer_nodes.h"
#include "engine/trt/trt_names.h"

typedef struct mapper {
    const qdq_trt_layers *layers;
    const qdq_graph *graph;
    qdq_trt_names names;
    /* a tensor that a Reformat layer made -> the layer's other tensor */
    qdq_map alias;
    /* by node: the last slice that met it */
    uint32_t *mark;
    uint32_t n_slice;
    QDQ_VEC(const qdq_node *) todo;
    /* of results */
    qdq_arena *arena;
    qdq_arena scratch;
    qdq_error *err;
} mapper;

/* --- tensors ---------------------------------------------------------------------------------- */

/* "Reformatted Input Tensor 0 to /l1/Conv" is no tensor of the model; the one on the other side of
 * the Reformat may be. */
static bool note_aliases(mapper *m)
{
    for (size_t i = 0; i < m->layers->n; i++) {
        const qdq_trt_layer *l = &m->layers->at[i];

        if (l->in.n != 1 || l->out.n != 1 || qdq_trt_layer_class(l) != QDQ_TRT_MOVEMENT)
            continue;
        const char *in = l->in.at[0].name, *out = l->out.at[0].name;
        bool knows_in = qdq_trt_find_value(&m->names, in) != NULL;
        bool knows_out = qdq_trt_find_value(&m->names, out) != NULL;
        if (knows_in == knows_out)
            continue;
        qdq_map_value *v = qdq_map_put(&m->alias, knows_in ? out : in, NULL);
        if (v == NULL)
            return false;
        v->ptr = (void *)(uintptr_t)(knows_in ? in : out); /* only read */
    }
    return true;
}

static const qdq_value *find_value(const mapper *m, const char *tensor)
{
    const qdq_value *v = qdq_trt_find_value(&m->names, tensor);
    const qdq_map_value *other = v == NULL ? qdq_map_get(&m->alias, tensor) : NULL;

    return other != NULL ? qdq_trt_find_value(&m->names, other->ptr) : v;
}

/* --- what lies between tensors ---------------------------------------------------------------- */

static bool is_one_of(const mapper *m, const qdq_trt_tensors *t, const qdq_value *v)
{
    for (size_t i = 0; i < t->n; i++)
        if (find_value(m, t->at[i].name) == v)
            return true;
    return false;
}

static bool visit(mapper *m, const qdq_node *n)
{
    if (n == NULL || n->graph != m->graph || m->mark[n->id] == m->n_slice)
        return true;
    m->mark[n->id] = m->n_slice;
    return QDQ_PUSH(&m->scratch, &m->todo, n);
}

/* From the outputs back to the inputs. *valid: every output is a tensor of the model, and the way
 * back ends at the layer's inputs or at constants. Where it comes out at an input of the model that
 * the layer does not read, an input of the layer is not known, and all that was met would be too
 * much. */
static bool slice(mapper *m, const qdq_trt_layer *l, qdq_trt_said *said, bool *valid)
{
    m->n_slice++;
    m->todo.n = 0;
    *valid = l->out.n > 0;
    for (size_t i = 0; i < l->out.n && *valid; i++) {
        const qdq_value *v = find_value(m, l->out.at[i].name);

        *valid = v != NULL && v->producer != NULL && !is_one_of(m, &l->in, v);
        if (*valid && !visit(m, v->producer))
            return false;
    }
    for (size_t i = 0; i < m->todo.n && *valid; i++) {
        const qdq_node *n = m->todo.at[i];

        for (uint32_t k = 0; k < n->n_in && *valid; k++) {
            const qdq_value *v = qdq_node_in(n, k);
            if (v == NULL || v->init != NULL || is_one_of(m, &l->in, v))
                continue;
            if (v->producer == NULL)
                *valid = !v->is_input;
            else if (!visit(m, v->producer))
                return false;
        }
    }
    for (size_t i = 0; i < m->todo.n && *valid; i++)
        if (!QDQ_PUSH(&m->scratch, &said->nodes, m->todo.at[i]))
            return false;
    return true;
}

/* --- one layer -------------------------------------------------------------------------------- */

static bool keep(mapper *m, const qdq_trt_said *said, qdq_trt_nodes *out)
{
    out->at = qdq_arena_array(m->arena, said->nodes.n + 1, sizeof *out->at);
    out->qdq = qdq_arena_array(m->arena, said->nodes.n + 1, sizeof *out->qdq);
    if (out->at == NULL || out->qdq == NULL)
        return false;
    for (size_t i = 0; i < said->nodes.n; i++) {
        const qdq_node *n = said->nodes.at[i];

        if (qdq_node_is_qdq(n))
            out->qdq[out->n_qdq++] = n;
        else
            out->at[out->n++] = n;
    }
    return true;
}

/* The node of a Q or DQ may stand in the metadata of the layer before it: what a layer is named
 * after is its own. */
static bool map_layer(mapper *m, const qdq_trt_layer *l, qdq_trt_nodes *out)
{
    qdq_trt_said said, named = {0}, between = {0};
    bool valid = false;

    if (!qdq_trt_read_metadata(&m->names, l->metadata, &m->scratch, &said))
        return false;
    out->source = said.nodes.n > 0 ? QDQ_TRT_METADATA : QDQ_TRT_NO_SOURCE;
    out->truncated = said.truncated;
    if (said.nodes.n == 0 && !said.truncated) {
        if (!qdq_trt_read_name(&m->names, l->name, &m->scratch, &named))
            return false;
        out->ambiguous = named.ambiguous;
        if (!named.ambiguous && named.nodes.n > 0) {
            said = named;
            out->source = QDQ_TRT_NAME;
        }
    }
    if (said.nodes.n == 0 || named.range || out->truncated) {
        if (!slice(m, l, &between, &valid))
            return false;
        for (size_t i = 0; i < said.nodes.n && valid; i++) { /* those of the slice are marked */
            const qdq_node *n = said.nodes.at[i];
            if (m->mark[n->id] != m->n_slice && !QDQ_PUSH(&m->scratch, &between.nodes, n))
                return false;
        }
        if (valid) {
            said.nodes.at = between.nodes.at;
            said.nodes.n = between.nodes.n;
            out->source = QDQ_TRT_SLICE;
        }
    }
    return keep(m, &said, out);
}

/* On the way into a layer the tensor has a name of its own behind the copy, on the way out in front
 * of it. */
static const qdq_value *find_converted(const mapper *m, const qdq_trt_layer *l)
{
    const qdq_value *v = NULL;

    if (!qdq_trt_layer_is_reformat(l))
        return NULL;
    if (l->in.n > 0)
        v = find_value(m, l->in.at[0].name);
    return v == NULL && l->out.n > 0 ? find_value(m, l->out.at[0].name) : v;
}

/* --- sets of layers --------------------------------------------------------------------------- */

static size_t root_of(qdq_trt_nodes *out, size_t i)
{
    while (out[i].set != i) {
        out[i].set = out[out[i].set].set;
        i = out[i].set;
    }
    return i;
}

/* The smaller index becomes the root, so that a set is named after its first layer. */
static qdq_status join_layers(mapper *m, qdq_trt_nodes *out)
{
    size_t *first = qdq_arena_array(&m->scratch, m->graph->next_node_id + 1, sizeof *first);

    QDQ_NEED(first != NULL, m->err);
    for (size_t i = 0; i < m->layers->n; i++)
        out[i].set = i;
    for (size_t i = 0; i < m->layers->n; i++)
        for (size_t k = 0; k < out[i].n; k++) {
            const qdq_node *n = out[i].at[k];
            if (qdq_layer_is_movement(n))
                continue;
            if (first[n->id] == 0) {
                first[n->id] = i + 1;
                continue;
            }
            size_t a = root_of(out, i), b = root_of(out, first[n->id] - 1);
            out[a > b ? a : b].set = a > b ? b : a;
        }
    for (size_t i = 0; i < m->layers->n; i++)
        out[i].set = root_of(out, i);
    return QDQ_OK;
}

static qdq_status map_all(mapper *m, qdq_trt_nodes *out)
{
    QDQ_TRY(qdq_trt_names_make(m->graph, &m->scratch, &m->names, m->err));
    m->mark = qdq_arena_array(&m->scratch, m->graph->next_node_id + 1, sizeof *m->mark);
    QDQ_NEED(m->mark != NULL && note_aliases(m), m->err);
    for (size_t i = 0; i < m->layers->n; i++) {
        out[i] = (qdq_trt_nodes){0};
        QDQ_NEED(map_layer(m, &m->layers->at[i], &out[i]), m->err);
        out[i].tensor = find_converted(m, &m->layers->at[i]);
    }
    return join_layers(m, out);
}

qdq_status qdq_trt_map(const qdq_trt_layers *l, const qdq_graph *g, qdq_arena *arena,
                       qdq_trt_nodes *out, qdq_error *err)
{
    mapper m = {.layers = l, .graph = g, .alias = QDQ_MAP_INIT, .arena = arena, .err = err};
    qdq_status st = map_all(&m, out);

    qdq_map_free(&m.alias);
    qdq_arena_free(&m.scratch);
    return st;
}
