/* extract.c - the part of a model between some values and some others. Works on a clone, so weights
 * are shared and the original is untouched. */
#include "base/buf.h"
#include "base/fail.h"
#include "ir/edit.h"
#include "ir/graph_check.h"
#include "ir/shape.h"

#include <string.h>

typedef struct extractor {
    /* main graph of the clone */
    qdq_graph *g;
    qdq_arena scratch;
    /* by value id: one of the new inputs */
    bool *is_cut;
    /* by node id */
    bool *is_needed;
    /* by value id: reported as missing already */
    bool *is_missed;
    QDQ_VEC(qdq_node *) work;
    QDQ_VEC(const char *) missing;
    qdq_error *err;
} extractor;

static qdq_status find_value(extractor *x, const char *name, const char *what, qdq_value **v)
{
    *v = qdq_graph_find(x->g, name);
    if (*v == NULL)
        return qdq_fail(x->err, QDQ_E_USAGE, "extract: %s '%s' is not a value of graph '%s'", what,
                        name, x->g->name);
    return QDQ_OK;
}

static qdq_status mark_inputs(extractor *x, const char *const *inputs, size_t n)
{
    qdq_value *v;

    for (size_t i = 0; i < n; i++) {
        QDQ_TRY(find_value(x, inputs[i], "input", &v));
        if (x->is_cut[v->id])
            return qdq_fail(x->err, QDQ_E_USAGE, "extract: input '%s' is given twice", inputs[i]);
        x->is_cut[v->id] = true;
    }
    return QDQ_OK;
}

/* --- what is needed --------------------------------------------------------------------------- */

static qdq_status need_value(extractor *x, const qdq_value *v)
{
    if (v == NULL || v->graph != x->g || x->is_cut[v->id] || v->init != NULL || v->sparse != NULL)
        return QDQ_OK;
    if (v->producer != NULL) {
        if (x->is_needed[v->producer->id])
            return QDQ_OK;
        x->is_needed[v->producer->id] = true;
        return QDQ_PUSH(&x->scratch, &x->work, v->producer) ? QDQ_OK : qdq_nomem(x->err);
    }
    if (x->is_missed[v->id])
        return QDQ_OK;
    x->is_missed[v->id] = true;
    return QDQ_PUSH(&x->scratch, &x->missing, v->name) ? QDQ_OK : qdq_nomem(x->err);
}

/* Inputs of a node, and what its subgraphs capture. */
static qdq_status need_inputs(extractor *x, const qdq_node *n, int depth)
{
    if (depth > QDQ_MAX_NESTING)
        return qdq_fail(x->err, QDQ_E_UNSUPPORTED, "extract: graphs are nested deeper than %d",
                        QDQ_MAX_NESTING);
    for (uint32_t i = 0; i < n->n_in; i++)
        QDQ_TRY(need_value(x, n->in[i].value));
    for (uint32_t i = 0; i < n->n_attr; i++) {
        size_t n_graph;
        qdq_graph *const *body = qdq_attr_graphs(n->attr[i], &n_graph);

        for (size_t k = 0; k < n_graph; k++)
            QDQ_FOR_NODES (inner, body[k])
                QDQ_TRY(need_inputs(x, inner, depth + 1));
    }
    return QDQ_OK;
}

static qdq_status missing_error(extractor *x)
{
    enum { SHOWN = 8 };
    char list[600] = "";

    for (size_t i = 0; i < x->missing.n && i < SHOWN; i++)
        qdq_text_add(list, sizeof list, "%s'%s'", i > 0 ? ", " : "", x->missing.at[i]);
    if (x->missing.n > SHOWN)
        qdq_text_add(list, sizeof list, " and %zu more", x->missing.n - SHOWN);
    return qdq_fail(x->err, QDQ_E_USAGE,
                    "extract: the outputs also depend on %s, expected inputs that cut all paths",
                    list);
}

static qdq_status find_needed(extractor *x, const char *const *outputs, size_t n)
{
    qdq_value *v;

    for (size_t i = 0; i < n; i++) {
        QDQ_TRY(find_value(x, outputs[i], "output", &v));
        QDQ_TRY(need_value(x, v));
    }
    while (x->work.n > 0)
        QDQ_TRY(need_inputs(x, x->work.at[--x->work.n], 0));
    return x->missing.n > 0 ? missing_error(x) : QDQ_OK;
}

/* --- the cut ---------------------------------------------------------------------------------- */

static qdq_status replace_outputs(extractor *x, const char *const *outputs, size_t n)
{
    while (x->g->outputs.n > 0)
        qdq_graph_remove_output(x->g, x->g->outputs.n - 1);
    for (size_t i = 0; i < n; i++) {
        qdq_value *v = qdq_graph_find(x->g, outputs[i]);

        if (v->n_output > 0)
            return qdq_fail(x->err, QDQ_E_USAGE, "extract: output '%s' is given twice", outputs[i]);
        QDQ_NEED(qdq_graph_add_output(x->g, v), x->err);
    }
    return QDQ_OK;
}

/* Values that become inputs lose what defined them; the order is that of the caller. Initializers
 * that could be overridden stay what they were, behind the real inputs. */
static qdq_status replace_inputs(extractor *x, const char *const *inputs, size_t n)
{
    QDQ_VEC(qdq_value *) old = {NULL, 0, 0};

    for (size_t i = x->g->inputs.n; i-- > 0;) {
        QDQ_NEED(QDQ_PUSH(&x->scratch, &old, x->g->inputs.at[i]), x->err);
        qdq_graph_remove_input(x->g, x->g->inputs.at[i]);
    }
    for (size_t i = 0; i < n; i++) {
        qdq_value *v = qdq_graph_find(x->g, inputs[i]);

        qdq_value_detach(v);
        if ((v->init != NULL || v->sparse != NULL) && !qdq_value_set_init(v, NULL))
            return qdq_nomem(x->err);
        QDQ_NEED(qdq_graph_make_input(x->g, v), x->err);
    }
    for (size_t i = old.n; i-- > 0;)
        if ((old.at[i]->init != NULL || old.at[i]->sparse != NULL) &&
            !qdq_graph_make_input(x->g, old.at[i]))
            return qdq_nomem(x->err);
    return QDQ_OK;
}

/* Readers first, so that no removed node leaves a use behind. */
static qdq_status remove_rest(extractor *x)
{
    qdq_node **order;
    size_t n;

    QDQ_TRY(qdq_graph_sorted(x->g, &x->scratch, &order, &n, x->err));
    while (n-- > 0)
        if (!x->is_needed[order[n]->id])
            qdq_node_remove(order[n]);
    for (size_t i = 0; i < x->g->values.n; i++) {
        qdq_value *v = x->g->values.at[i];

        if (!v->dead && v->producer == NULL && v->n_use == 0 && v->n_output == 0 &&
            !(v->is_input && x->is_cut[v->id]))
            qdq_value_remove(v);
    }
    return QDQ_OK;
}

static qdq_status cut(extractor *x, const char *const *inputs, size_t n_in,
                      const char *const *outputs, size_t n_out)
{
    size_t n_value = x->g->values.n + 1;

    x->is_cut = qdq_arena_array(&x->scratch, n_value, sizeof(bool));
    x->is_missed = qdq_arena_array(&x->scratch, n_value, sizeof(bool));
    x->is_needed = qdq_arena_array(&x->scratch, (size_t)x->g->next_node_id + 1, sizeof(bool));
    QDQ_NEED(x->is_cut != NULL && x->is_missed != NULL && x->is_needed != NULL, x->err);
    QDQ_TRY(mark_inputs(x, inputs, n_in));
    QDQ_TRY(find_needed(x, outputs, n_out));
    QDQ_TRY(replace_outputs(x, outputs, n_out));
    QDQ_TRY(replace_inputs(x, inputs, n_in));
    return remove_rest(x);
}

static bool lacks_type(const qdq_model *m, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const qdq_value *v = qdq_graph_find(m->graph, names[i]);

        if (v != NULL && v->type == NULL)
            return true;
    }
    return false;
}

qdq_status qdq_model_extract(const qdq_model *m, const char *const *inputs, size_t n_in,
                             const char *const *outputs, size_t n_out, qdq_model **out,
                             qdq_error *err)
{
    extractor x;
    qdq_shape_opts opts = {false, false, NULL};
    qdq_model *copy;
    qdq_status st = QDQ_OK;

    *out = NULL;
    if (n_out == 0)
        return qdq_fail(err, QDQ_E_USAGE, "extract: found no outputs, expected at least one");
    QDQ_TRY(qdq_model_clone(m, &copy, err));
    memset(&x, 0, sizeof x);
    x.g = copy->graph;
    x.err = err;
    /* Inputs of a graph must have a type and outputs should; values inside need not. */
    if (lacks_type(copy, inputs, n_in) || lacks_type(copy, outputs, n_out))
        st = qdq_model_infer(copy, &opts, err);
    if (st == QDQ_OK)
        st = cut(&x, inputs, n_in, outputs, n_out);
    qdq_arena_free(&x.scratch);
    return QDQ_HAND_OVER(copy, st, out, qdq_model_free);
}
