/* clean.c - passes that take out what computes nothing: constants as nodes, identities, names that
 * say nothing. */
#include <string.h>

#include "base/fail.h"
#include "opt/opt.h"

/* --- lift-constants: c = Constant <value>  =>  initializer c ------------------------------------
 *
 * Function bodies cannot hold initializers, and a graph output keeps its node: some engines want a
 * producer. */

/* The constant as a tensor; NULL with *status OK for forms that stay (strings, sparse tensors). */
static qdq_tensor *constant_of(const qdq_node *n, qdq_status *status, qdq_error *err)
{
    qdq_model *m = n->graph->model;
    const qdq_attr *a = n->n_attr == 1 ? n->attr[0] : NULL;
    qdq_tensor *t = NULL;
    int64_t one = 1, count = a != NULL ? (int64_t)a->count : 0;

    *status = QDQ_OK;
    if (a == NULL || a->ref != NULL)
        return NULL;
    if (a->type == QDQ_ATTR_TENSOR && strcmp(a->name, "value") == 0)
        t = qdq_tensor_share(m, a->v.t);
    else if (a->type == QDQ_ATTR_FLOAT && strcmp(a->name, "value_float") == 0)
        t = qdq_tensor_of_floats(m, 0, &one, &a->v.f);
    else if (a->type == QDQ_ATTR_INT && strcmp(a->name, "value_int") == 0)
        t = qdq_tensor_of_ints(m, 0, &one, &a->v.i);
    else if (a->type == QDQ_ATTR_FLOATS && strcmp(a->name, "value_floats") == 0)
        t = qdq_tensor_of_floats(m, 1, &count, a->v.floats);
    else if (a->type == QDQ_ATTR_INTS && strcmp(a->name, "value_ints") == 0)
        t = qdq_tensor_of_ints(m, 1, &count, a->v.ints);
    else
        return NULL;
    if (t == NULL)
        *status = qdq_nomem(err);
    return t;
}

qdq_status qdq_pass_lift_constants(qdq_opt *o, qdq_graph *g, qdq_error *err)
{
    if (qdq_graph_in_function(g))
        return QDQ_OK;
    QDQ_FOR_NODES (n, g) {
        qdq_value *v = qdq_node_out(n, 0);
        qdq_status st;

        if (n->op != QDQ_OP_CONSTANT || v == NULL || v->n_output > 0)
            continue;
        qdq_tensor *t = constant_of(n, &st, err);
        if (st != QDQ_OK)
            return st;
        if (t == NULL || !qdq_opt_take(o, n))
            continue;
        const qdq_type *type = qdq_type_fixed(g->model, t->elem, t->rank, t->dim);
        qdq_value_detach(v);
        qdq_node_remove(n);
        QDQ_NEED(type != NULL && qdq_value_set_init(v, t), err);
        qdq_value_set_type(
            v, type); /* as of initializers that are read: inference gives types to outputs alone */
    }
    return QDQ_OK;
}

/* --- drop-identity: y = Identity(x)  =>  whoever read y reads x ---------------------------------
 *
 * If y is a graph output its name belongs to the caller and must survive: then x takes it, where x
 * may (qdq_value_replace decides). Dropout is an identity unless it trains; a mask that somebody
 * reads keeps it. */

static bool is_identity(const qdq_node *n)
{
    if (n->op != QDQ_OP_IDENTITY && n->op != QDQ_OP_DROPOUT)
        return false;
    /* models list outputs that Identity does not have, too */
    for (uint32_t i = 1; i < n->n_out; i++)
        if (n->out[i] != NULL && (n->out[i]->n_use > 0 || n->out[i]->n_output > 0))
            return false;
    if (n->op == QDQ_OP_IDENTITY)
        return true;
    const qdq_value *training = qdq_node_in(n, 2);
    const qdq_tensor *t = qdq_value_const(training);
    double trains;
    return training == NULL || (t != NULL && qdq_tensor_scalar(t, &trains) && trains == 0);
}

/* Where qdq_value_replace would say no, asked before. */
static bool may_replace(const qdq_value *y, const qdq_value *x)
{
    return y->n_output == 0 || (x->graph == y->graph && x->producer != NULL && x->n_output == 0);
}

qdq_status qdq_pass_drop_identity(qdq_opt *o, qdq_node *n, qdq_error *err)
{
    qdq_value *x = qdq_node_in(n, 0), *y = qdq_node_out(n, 0);

    (void)err;
    if (x != NULL && y != NULL && is_identity(n) && may_replace(y, x) && qdq_opt_take(o, n) &&
        qdq_value_replace(y, x))
        qdq_node_remove(n);
    return QDQ_OK;
}

/* --- drop-shared-names --------------------------------------------------------------------------
 *
 * ONNX wants node names unique, exporters do not always care, and ONNX Runtime refuses the file. A
 * name that several nodes have names none of them: all lose it, and are called Op@tensor, as before
 * (qdq_node_label). Two walks, because the last of them would have the name for itself. */

qdq_status qdq_pass_drop_shared_names(qdq_opt *o, qdq_graph *g, qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    bool *shared = qdq_arena_array(&scratch, (size_t)g->next_node_id + 1, sizeof *shared);
    qdq_status st = shared != NULL ? QDQ_OK : qdq_nomem(err);

    if (shared != NULL) {
        QDQ_FOR_NODES (n, g)
            shared[n->id] = n->name[0] != '\0' && !qdq_node_has_own_name(n);
        QDQ_FOR_NODES (n, g)
            if (shared[n->id] && qdq_opt_take(o, n) && !qdq_node_set_name(n, ""))
                st = qdq_nomem(err);
    }
    qdq_arena_free(&scratch);
    return st;
}
