/* session_model.c - builds session options into a clone of the model: fixed input shapes and
 * additional outputs are part of what every engine understands, so no engine needs options of its
 * own for them. A symbol that is fixed in one input is fixed in all of them. Node names that
 * engines refuse are taken off, too, and many initializers that nothing reads; functions, where an
 * engine knows none. */
#include "engine/session_model.h"

#include <inttypes.h>
#include <string.h>

#include "base/fail.h"
#include "base/file.h"
#include "base/words.h"
#include "ir/edit.h"
#include "qdq/pass.h"

/* --- shapes ----------------------------------------------------------------------------------- */

static const qdq_input_shape *shape_of(const qdq_session_opts *opts, const char *input)
{
    for (size_t i = 0; i < opts->n_shapes; i++)
        if (strcmp(opts->shapes[i].name, input) == 0)
            return &opts->shapes[i];
    return NULL;
}

/* The value that the given shapes give to a symbol; -1: none. */
static qdq_status find_symbol(const qdq_graph *g, const qdq_session_opts *opts, const char *param,
                              int64_t *value, qdq_error *err)
{
    const char *from = NULL;

    *value = -1;
    for (size_t i = 0; i < g->inputs.n; i++) {
        const qdq_value *v = g->inputs.at[i];
        const qdq_input_shape *shape = shape_of(opts, v->name);
        if (shape == NULL || v->type == NULL || v->type->rank != shape->rank)
            continue;
        for (int a = 0; a < shape->rank; a++) {
            if (v->type->dim[a].value >= 0 || v->type->dim[a].param == NULL ||
                strcmp(v->type->dim[a].param, param) != 0)
                continue;
            if (*value >= 0 && *value != shape->dim[a])
                return qdq_fail(err, QDQ_E_USAGE,
                                "dim '%s' would be %" PRId64 " in input '%s' and %" PRId64
                                " in input '%s'",
                                param, *value, from, shape->dim[a], v->name);
            *value = shape->dim[a];
            from = v->name;
        }
    }
    return QDQ_OK;
}

static qdq_status check_shape(const qdq_value *v, const qdq_input_shape *shape, qdq_error *err)
{
    const qdq_type *t = v->type;

    if (t == NULL || t->kind != QDQ_TYPE_TENSOR)
        return qdq_fail(err, QDQ_E_USAGE, "shape for input '%s': the input is not a tensor",
                        v->name);
    if (shape->rank < 0 || shape->rank > QDQ_MAX_RANK)
        return qdq_fail(err, QDQ_E_USAGE, "shape for input '%s' has rank %d: expected 0 to %d",
                        v->name, shape->rank, QDQ_MAX_RANK);
    if (t->rank >= 0 && t->rank != shape->rank)
        return qdq_fail(err, QDQ_E_USAGE, "shape for input '%s' has rank %d: expected %d", v->name,
                        shape->rank, t->rank);
    for (int a = 0; a < shape->rank; a++) {
        if (shape->dim[a] < 0)
            return qdq_fail(err, QDQ_E_USAGE, "shape for input '%s' has dim %" PRId64 " at axis %d",
                            v->name, shape->dim[a], a);
        if (t->rank >= 0 && t->dim[a].value >= 0 && t->dim[a].value != shape->dim[a])
            return qdq_fail(err, QDQ_E_USAGE,
                            "shape for input '%s' has %" PRId64
                            " at axis %d: the model fixes it to %" PRId64,
                            v->name, shape->dim[a], a, t->dim[a].value);
    }
    return QDQ_OK;
}

static qdq_status check_shapes(const qdq_graph *g, const qdq_session_opts *opts, qdq_error *err)
{
    qdq_map seen = QDQ_MAP_INIT;
    qdq_status st = QDQ_OK;

    for (size_t i = 0; i < opts->n_shapes && st == QDQ_OK; i++) {
        const qdq_value *v = qdq_graph_find(g, opts->shapes[i].name);
        bool is_new;

        if (v == NULL || !v->is_input)
            st = qdq_fail(err, QDQ_E_USAGE, "shape for '%s': the model has no such input",
                          opts->shapes[i].name);
        else if (qdq_map_put(&seen, v->name, &is_new) == NULL)
            st = qdq_nomem(err);
        else if (!is_new)
            st = qdq_fail(err, QDQ_E_USAGE, "two shapes for input '%s'", v->name);
        else
            st = check_shape(v, &opts->shapes[i], err);
    }
    qdq_map_free(&seen);
    return st;
}

static qdq_status fix_input(qdq_model *own, qdq_value *v, const qdq_graph *original,
                            const qdq_session_opts *opts, qdq_error *err)
{
    const qdq_input_shape *shape = shape_of(opts, v->name);
    qdq_dim dim[QDQ_MAX_RANK];
    const qdq_type *t = v->type;

    if (t == NULL || t->kind != QDQ_TYPE_TENSOR || (shape == NULL && t->rank > QDQ_MAX_RANK))
        return QDQ_OK;
    int rank = shape != NULL ? shape->rank : t->rank;
    for (int a = 0; a < rank; a++) {
        dim[a] = shape != NULL ? (qdq_dim){shape->dim[a], NULL} : t->dim[a];
        if (dim[a].value < 0 && dim[a].param != NULL) {
            int64_t value;
            QDQ_TRY(find_symbol(original, opts, dim[a].param, &value, err));
            if (value >= 0)
                dim[a] = (qdq_dim){value, NULL};
        }
    }
    if (rank < 0)
        return QDQ_OK;
    const qdq_type *fixed = qdq_type_tensor(own, t->elem, rank, dim);
    QDQ_NEED(fixed != NULL, err);
    qdq_value_set_type(v, fixed);
    return QDQ_OK;
}

static qdq_status fix_shapes(qdq_model *own, const qdq_graph *original,
                             const qdq_session_opts *opts, qdq_error *err)
{
    QDQ_TRY(check_shapes(original, opts, err));
    /* Two inputs may give one symbol two values: found here even if no third input asks. */
    for (size_t i = 0; i < original->inputs.n; i++) {
        const qdq_type *t = original->inputs.at[i]->type;
        for (int a = 0; t != NULL && t->kind == QDQ_TYPE_TENSOR && a < t->rank; a++) {
            int64_t ignored;
            if (t->dim[a].value < 0 && t->dim[a].param != NULL)
                QDQ_TRY(find_symbol(original, opts, t->dim[a].param, &ignored, err));
        }
    }
    for (size_t i = 0; i < own->graph->inputs.n; i++)
        QDQ_TRY(fix_input(own, own->graph->inputs.at[i], original, opts, err));
    return QDQ_OK;
}

/* --- outputs ---------------------------------------------------------------------------------- */

static qdq_status expose(qdq_model *own, const qdq_session_opts *opts, qdq_error *err)
{
    qdq_graph *g = own->graph;

    for (size_t i = g->outputs.n; opts->only_exposed && i-- > 0;)
        if (!qdq_word_is_in(g->outputs.at[i]->name, opts->expose))
            qdq_graph_remove_output(g, i);
    for (size_t i = 0; opts->expose[i] != NULL; i++) {
        qdq_value *v = qdq_graph_find(g, opts->expose[i]);
        if (v == NULL)
            return qdq_fail(err, QDQ_E_USAGE, "expose: the main graph has no tensor '%s'",
                            opts->expose[i]);
        if (v->n_output > 0)
            continue;
        QDQ_NEED(qdq_graph_add_output(g, v), err);
        /* A wrong declared type is an error to engines, no type at all is inferred. Operators of
         * other domains keep theirs: no one can infer it. */
        if (v->producer != NULL && v->producer->domain[0] == '\0')
            qdq_value_set_type(v, NULL);
    }
    /* engines compute, and hold the weights of, all nodes that are there */
    return opts->only_exposed ? qdq_model_run_passes(own, "drop-unused", err) : QDQ_OK;
}

/* --- names ------------------------------------------------------------------------------------ */

static bool nodes_share_names(const qdq_model *m)
{
    for (size_t i = 0; i < m->graphs.n; i++) {
        const qdq_graph *g = m->graphs.at[i];

        if (g->owner != NULL && g->owner->dead)
            continue;
        QDQ_FOR_NODES (n, g)
            if (n->name[0] != '\0' && !qdq_node_has_own_name(n))
                return true;
    }
    return false;
}

/* --- initializers that nothing reads ---------------------------------------------------------- */

/* The time that ONNX Runtime takes to drop them is quadratic: 100,000 cost 30 s, this number next
 * to none. */
enum { UNREAD_MAX = 1000 };

static bool has_unread(const qdq_model *m)
{
    size_t n = 0;

    QDQ_FOR_GRAPHS (g, m)
        QDQ_FOR_INITS(v, g) n += qdq_value_is_removable(v);
    return n > UNREAD_MAX;
}

static void drop_unread(qdq_model *own)
{
    QDQ_FOR_GRAPHS (g, own)
        QDQ_FOR_INITS(v, g) qdq_value_remove_if_unused(v);
}

/* An engine holds weights in a form of its own: ours were read before and will be again, but not
 * meanwhile. */
static void rest_weights(const qdq_model *m)
{
    for (size_t i = 0; i < m->mappings.n; i++)
        qdq_mapping_rest(m->mappings.at[i]);
}

qdq_status qdq_session_model(const qdq_model *m, const qdq_session_opts *opts, bool no_functions,
                             qdq_model **out, qdq_error *err)
{
    qdq_model *own = NULL;
    const bool shared_names = nodes_share_names(m), unread = has_unread(m),
               functions = no_functions && m->functions.n > 0;
    qdq_status st = QDQ_OK;

    *out = NULL;
    rest_weights(m);
    if (opts->only_exposed && (opts->expose == NULL || opts->expose[0] == NULL))
        return qdq_fail(err, QDQ_E_USAGE,
                        "only_exposed without exposed tensors: nothing would be computed");
    if (opts->n_shapes == 0 && opts->expose == NULL && !shared_names && !unread && !functions)
        return QDQ_OK;
    QDQ_TRY(qdq_model_clone(m, &own, err));
    if (functions)
        st = qdq_model_run_passes(own, "inline-functions,drop-unused-functions", err);
    if (st == QDQ_OK && opts->n_shapes > 0)
        st = fix_shapes(own, m->graph, opts, err);
    if (st == QDQ_OK && opts->expose != NULL)
        st = expose(own, opts, err);
    if (st == QDQ_OK && unread)
        drop_unread(own);
    if (st == QDQ_OK && shared_names)
        st = qdq_model_run_passes(own, "drop-shared-names", err);
    return QDQ_HAND_OVER(own, st, out, qdq_model_free);
}
