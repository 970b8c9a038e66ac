/* fold_constants.c - computes nodes whose result is known, and puts a constant in their place.
 *
 * Known are results of constants (eval.h), and small tensors that shape arithmetic gives although
 * its inputs are no constants (facts.h). One walk in the order of the nodes: a result is kept in
 * memory until it is clear who still reads it, so that a chain of a thousand nodes leaves one
 * constant behind and not a thousand. Scales and zero points of Q/DQ are computed whatever their
 * weights weigh; Q and DQ themselves never (eval.h lacks them).
 *
 * A result that is a graph output stays the output of a (Constant) node: engines want a producer.
 * So it does in function bodies, which have no initializers. */

#include "base/fail.h"
#include "opt/fold_state.h"

/* Goes away with its last reader. */
static bool is_freed_with(const qdq_folder *f, const qdq_value *v)
{
    return v->n_use == 1 && qdq_fold_may_free(f, v);
}

/* --- costs ------------------------------------------------------------------------------------ */

static uint64_t out_bytes_of(const qdq_folder *f, const qdq_node *n)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < n->n_out; i++) {
        const qdq_type *t = n->out[i] != NULL ? qdq_facts_type(f->facts, n->out[i]) : NULL;
        int64_t count = 1;
        size_t bytes;

        if (n->out[i] == NULL)
            continue;
        if (t == NULL || t->kind != QDQ_TYPE_TENSOR || t->rank < 0)
            return UINT64_MAX;
        for (int k = 0; k < t->rank; k++)
            if (t->dim[k].value < 0 || __builtin_mul_overflow(count, t->dim[k].value, &count))
                return UINT64_MAX;
        if (!qdq_elem_bytes(t->elem, count, &bytes))
            return UINT64_MAX;
        sum += bytes;
    }
    return sum;
}

static qdq_fold_cost cost_of(const qdq_folder *f, const qdq_node *n)
{
    qdq_fold_cost c = {.node = n, .inputs_are_its_own = true};

    for (uint32_t i = 0; i < n->n_in; i++) {
        const qdq_value *v = n->in[i].value;
        uint64_t bytes = v != NULL ? qdq_fold_bytes_of(f, v) : 0;

        c.in_bytes += bytes;
        if (bytes > c.largest_input)
            c.largest_input = bytes;
        if (v == NULL)
            continue;
        if (is_freed_with(f, v))
            c.freed_bytes += bytes;
        else if (bytes > f->policy.input_bytes)
            c.inputs_are_its_own = false;
    }
    c.out_bytes = out_bytes_of(f, n);
    return c;
}

/* --- one node --------------------------------------------------------------------------------- */

static qdq_status accept(qdq_folder *f, qdq_node *n, const qdq_const *out)
{
    uint64_t bytes = 0;

    QDQ_NEED(qdq_fold_keep_results(f, n, out, &bytes), f->err);
    f->policy.grown += (int64_t)bytes;
    f->folded[n->id] = true;
    qdq_fold_release_inputs(f, n);
    return QDQ_PUSH(&f->memory, &f->nodes, n) ? QDQ_OK : qdq_nomem(f->err);
}

/* What was refused stays, and so does what follows from it: facts must not lead around a limit. */
static void refuse(qdq_folder *f, const qdq_node *n, const char *why)
{
    qdq_opt_refuse(f->o, n, why);
    for (uint32_t i = 0; i < n->n_out; i++)
        if (n->out[i] != NULL)
            f->tainted[n->out[i]->id] = true;
}

static bool is_tainted(const qdq_folder *f, const qdq_node *n)
{
    for (uint32_t i = 0; i < n->n_in; i++) {
        const qdq_value *v = n->in[i].value;
        if (v != NULL && v->graph == f->g && v->id < f->n_values && f->tainted[v->id])
            return true;
    }
    return false;
}

/* All inputs of n are known. */
static bool is_dequantize(const qdq_folder *f, const qdq_node *n)
{
    const qdq_value *x = qdq_node_in(n, 0), *y = qdq_node_out(n, 0);
    const qdq_fold_result *r = x != NULL ? qdq_fold_result_of(f, x) : NULL;
    const qdq_tensor *t = x != NULL && r == NULL ? qdq_value_const(x) : NULL;
    const qdq_type *to = y != NULL ? qdq_facts_type(f->facts, y) : NULL;

    if ((r == NULL && t == NULL) || to == NULL)
        return false;
    return qdq_is_spelled_dequantize(n, r != NULL ? r->c.elem : t->elem, to->elem,
                                     r != NULL ? r->c.count : t->count);
}

static qdq_status fold_known(qdq_folder *f, qdq_node *n)
{
    qdq_fold_cost cost = cost_of(f, n);
    qdq_const out[QDQ_EVAL_OUTPUTS];
    uint64_t max_bytes;
    const char *why = qdq_fold_decide(&f->policy, &cost, &max_bytes);

    if (why == NULL && is_dequantize(f, n))
        why = "stored integers that are dequantized by hand";
    if (why == NULL)
        QDQ_TRY(qdq_fold_evaluate(f, n, max_bytes, out, &why));
    if (why != NULL)
        refuse(f, n, why);
    else
        return accept(f, n, out);
    return QDQ_OK;
}

/* Shape arithmetic: nothing is constant but the result. */
static qdq_status fold_fact(qdq_folder *f, qdq_node *n)
{
    qdq_fold_cost cost = {.node = n, .inputs_are_its_own = true};
    qdq_status st = QDQ_OK;
    qdq_tensor *t;
    qdq_const c;
    uint64_t max_bytes;
    const char *why;

    if (n->n_out != 1 || n->out[0] == NULL || !qdq_eval_knows(n->op))
        return QDQ_OK;
    if (is_tainted(f, n)) {
        f->tainted[n->out[0]->id] = true;
        return QDQ_OK;
    }
    t = qdq_facts_tensor(f->facts, n->out[0], &st);
    if (t == NULL)
        return st == QDQ_OK ? st : qdq_nomem(f->err);
    QDQ_TRY(qdq_const_of_tensor(t, &f->work, &c, &why, f->err));
    if (why == NULL) {
        cost.out_bytes = c.bytes;
        why = qdq_fold_decide(&f->policy, &cost, &max_bytes);
    }
    if (why != NULL)
        refuse(f, n, why);
    else
        return accept(f, n, &c);
    return QDQ_OK;
}

/* An operator whose inputs are all known, but that the evaluator lacks, stays, and the report says
 * so. Q and DQ stay on purpose, random ones are no constants, and bodies have inputs of their
 * own. */
static void refuse_unknown(qdq_folder *f, const qdq_node *n)
{
    if (n->n_in == 0 || qdq_fold_never(n->op) || qdq_eval_knows(n->op) || !qdq_fold_all_known(f, n))
        return;
    if (n->op == QDQ_OP_UNKNOWN || qdq_op_get_info(n->op)->flags == QDQ_OP_PURE)
        refuse(f, n, "this operator is not computed");
}

static qdq_status fold_node(qdq_folder *f, qdq_node *n)
{
    qdq_arena_mark mark = qdq_arena_get_loop_mark(&f->work);
    qdq_status st = QDQ_OK;

    if (n->op == QDQ_OP_CONSTANT || f->folded[n->id])
        return QDQ_OK;
    if (qdq_eval_knows(n->op) && qdq_fold_all_known(f, n))
        st = fold_known(f, n);
    else
        st = fold_fact(f, n);
    if (st == QDQ_OK && !f->folded[n->id])
        refuse_unknown(f, n);
    qdq_arena_reset(&f->work, mark);
    return st;
}

/* --- putting constants in place --------------------------------------------------------------- */

static bool put_constant_node(qdq_graph *g, qdq_node *before, qdq_value *v, qdq_tensor *t)
{
    qdq_node *n = qdq_graph_add_node(g, before, "", "Constant", "", 0, 0, NULL);

    return n != NULL && qdq_node_append_out(n, v) && qdq_node_set_tensor(n, "value", t);
}

static qdq_status put_constant(qdq_folder *f, qdq_node *n, qdq_value *v)
{
    qdq_tensor *t = qdq_const_to_tensor(f->g->model, &f->result[v->id].c);

    QDQ_NEED(t != NULL, f->err);
    qdq_value_detach(v);
    if (v->n_output > 0 || qdq_graph_in_function(f->g))
        return put_constant_node(f->g, n, v, t) ? QDQ_OK : qdq_nomem(f->err);
    const qdq_type *type = qdq_type_fixed(f->g->model, t->elem, t->rank, t->dim);
    QDQ_NEED(type != NULL && qdq_value_set_init(v, t), f->err);
    qdq_value_set_type(v, type); /* inference gives types to outputs of nodes alone */
    return QDQ_OK;
}

/* No computed node reads any more, so that what is still read is read by others, and nodes can go
 * in any order. */
static qdq_status commit(qdq_folder *f)
{
    for (size_t i = 0; i < f->nodes.n; i++)
        for (uint32_t k = 0; k < f->nodes.at[i]->n_in; k++)
            qdq_node_set_in(f->nodes.at[i], k, NULL);
    for (size_t i = f->nodes.n; i-- > 0;) {
        qdq_node *n = f->nodes.at[i];

        for (uint32_t k = 0; k < n->n_out; k++)
            if (n->out[k] != NULL && (n->out[k]->n_use > 0 || n->out[k]->n_output > 0))
                QDQ_TRY(put_constant(f, n, n->out[k]));
        qdq_node_remove(n);
    }
    return QDQ_OK;
}

/* --- the pass --------------------------------------------------------------------------------- */

static qdq_status open_folder(qdq_folder *f, qdq_opt *o, qdq_graph *g)
{
    f->o = o;
    f->g = g;
    f->opset = qdq_graph_opset(g);
    f->n_values = g->values.n;
    f->result = qdq_arena_array(&f->memory, g->values.n + 1, sizeof *f->result);
    f->left = qdq_arena_array(&f->memory, g->values.n + 1, sizeof *f->left);
    f->last = qdq_arena_array(&f->memory, g->values.n + 1, sizeof *f->last);
    f->visits = qdq_arena_array(&f->memory, (size_t)g->next_node_id + 1, sizeof *f->visits);
    f->tainted = qdq_arena_array(&f->memory, g->values.n + 1, sizeof *f->tainted);
    f->folded = qdq_arena_array(&f->memory, (size_t)g->next_node_id + 1, sizeof *f->folded);
    QDQ_NEED(f->result != NULL && f->left != NULL && f->tainted != NULL && f->folded != NULL &&
                 f->last != NULL && f->visits != NULL,
             f->err);
    for (size_t i = 0; i < g->values.n; i++)
        f->left[i] = g->values.at[i]->n_use;
    qdq_fold_policy_open(&f->policy, o);
    return qdq_opt_facts(o, &f->facts, f->err);
}

static void close_folder(qdq_folder *f)
{
    for (size_t i = 0; f->result != NULL && i < f->n_values; i++)
        qdq_fold_drop_result(&f->result[i]);
    qdq_arena_free(&f->work);
    qdq_arena_free(&f->memory);
}

static qdq_status fold_graph(qdq_folder *f)
{
    QDQ_FOR_NODES (n, f->g)
        QDQ_TRY(fold_node(f, n));
    QDQ_TRY(qdq_fold_settle(f));
    QDQ_TRY(qdq_fold_parameters(f));
    return commit(f);
}

qdq_status qdq_pass_fold_constants(qdq_opt *o, qdq_graph *g, qdq_error *err)
{
    qdq_folder f = {.err = err};
    qdq_status st = open_folder(&f, o, g);

    if (st == QDQ_OK)
        st = fold_graph(&f);
    close_folder(&f);
    return st;
}
