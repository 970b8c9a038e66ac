/* fold_constants.c - computes nodes whose result is known, and puts a constant in their place.
 *
 * Known are results of constants (eval.h), and small tensors that shape arithmetic gives although its inputs are
 * no constants (facts.h). One walk in the order of the nodes: a result is kept in memory until it is clear who
 * still reads it, so that a chain of a thousand nodes leaves one constant behind and not a thousand. Scales and
 * zero points of Q/DQ are computed whatever their weights weigh; Q and DQ themselves never (eval.h lacks them).
 *
 * A result that is a graph output stays the output of a (Constant) node: engines want a producer. So it does in
 * function bodies, which have no initializers. */
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "opt/eval/eval.h"
#include "opt/fold_policy.h"

enum { SMALL = 256 }; /* bytes: results up to here lie in the pass's arena */

/* The result for one value, by id. */
typedef struct result {
    qdq_const c; /* data NULL: none */
    void *heap;  /* the data, if large */
} result;

typedef struct folder {
    qdq_opt *o;
    qdq_graph *g;
    const qdq_facts *facts;
    int64_t opset;
    qdq_fold_policy policy;
    result *result; /* by value id */
    uint32_t *left; /* by value id: reads by nodes that are not computed yet */
    size_t n_values;
    uint32_t *last;            /* by value id: who reads it last, in a chain */
    bool *folded;              /* by node id */
    unsigned char *visits;     /* by node id: chains that it was part of */
    bool *tainted;             /* by value id: made, at whatever distance, by a node that was refused */
    QDQ_VEC(qdq_node *) nodes; /* computed, in order */
    qdq_arena memory, work;    /* for the walk; for one node */
    qdq_error *err;
} folder;

/* --- results ---------------------------------------------------------------------------------------------------------- */

static result *result_of(const folder *f, const qdq_value *v)
{
    if (v->graph != f->g || v->id >= f->n_values || f->result[v->id].c.data == NULL)
        return NULL;
    return &f->result[v->id];
}

static bool keep_result(folder *f, const qdq_value *v, const qdq_const *c)
{
    result *r = &f->result[v->id];
    int64_t *dim = qdq_arena_array(&f->memory, (size_t)c->rank + 1, sizeof *dim);
    void *data;

    if (dim == NULL)
        return false;
    if (c->bytes <= SMALL)
        data = qdq_arena_alloc(&f->memory, c->bytes + 1);
    else
        data = r->heap = malloc(c->bytes);
    if (data == NULL)
        return false;
    if (c->rank > 0)
        memcpy(dim, c->dim, (size_t)c->rank * sizeof *dim);
    if (c->bytes > 0)
        memcpy(data, c->data, c->bytes);
    r->c = *c;
    r->c.dim = dim;
    r->c.data = data;
    return true;
}

static void drop_result(result *r)
{
    free(r->heap);
    r->heap = NULL;
}

static uint64_t bytes_of(const folder *f, const qdq_value *v)
{
    const result *r = result_of(f, v);
    const qdq_tensor *t = r == NULL ? qdq_value_const(v) : NULL;
    size_t bytes = 0;

    if (r != NULL)
        return r->c.bytes;
    return t != NULL && qdq_elem_bytes(t->elem, t->count, &bytes) ? bytes : 0;
}

/* Goes away with its last reader. */
static bool is_freed_with(const folder *f, const qdq_value *v)
{
    return v->n_use == 1 && v->n_output == 0 && !v->is_input && v->graph == f->g;
}

/* --- costs -------------------------------------------------------------------------------------------------------------- */

static uint64_t out_bytes_of(const folder *f, const qdq_node *n)
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

static qdq_fold_cost cost_of(const folder *f, const qdq_node *n)
{
    qdq_fold_cost c = {.node = n, .inputs_are_its_own = true};

    for (uint32_t i = 0; i < n->n_in; i++) {
        const qdq_value *v = n->in[i].value;
        uint64_t bytes = v != NULL ? bytes_of(f, v) : 0;

        c.in_bytes += bytes;
        if (bytes > c.largest_input)
            c.largest_input = bytes;
        if (v == NULL)
            continue;
        if (is_freed_with(f, v))
            c.freed_bytes += bytes;
        else if (bytes > f->o->opts->fold_input_bytes)
            c.inputs_are_its_own = false;
    }
    c.out_bytes = out_bytes_of(f, n);
    return c;
}

/* --- one node ------------------------------------------------------------------------------------------------------------- */

static bool all_known(const folder *f, const qdq_node *n)
{
    if (n->n_in > QDQ_EVAL_INPUTS || n->n_out > QDQ_EVAL_OUTPUTS || n->n_out == 0)
        return false;
    for (uint32_t i = 0; i < n->n_in; i++) {
        const qdq_value *v = n->in[i].value;
        if (v != NULL && result_of(f, v) == NULL && qdq_value_const(v) == NULL)
            return false;
    }
    return true;
}

static qdq_status evaluate(folder *f, const qdq_node *n, uint64_t max_bytes, qdq_const *out, const char **why)
{
    qdq_const in[QDQ_EVAL_INPUTS];
    const qdq_const *at[QDQ_EVAL_INPUTS];

    *why = NULL;
    for (uint32_t i = 0; i < n->n_in && *why == NULL; i++) {
        const qdq_value *v = n->in[i].value;
        const result *r = v != NULL ? result_of(f, v) : NULL;

        at[i] = v == NULL ? NULL : r != NULL ? &r->c : &in[i];
        if (at[i] == &in[i])
            QDQ_TRY(qdq_const_of_tensor(qdq_value_const(v), &f->work, &in[i], why, f->err));
    }
    if (*why != NULL)
        return QDQ_OK;
    return qdq_eval_node(n, f->opset, at, max_bytes, &f->work, out, why, f->err);
}

/* The node's inputs are read once less; what nothing reads any more is freed. */
static void release_inputs(folder *f, const qdq_node *n)
{
    for (uint32_t i = 0; i < n->n_in; i++) {
        const qdq_value *v = n->in[i].value;

        if (v == NULL || v->graph != f->g || v->id >= f->n_values || --f->left[v->id] > 0 || v->n_output > 0)
            continue;
        if (!v->is_input)
            f->policy.grown -= (int64_t)bytes_of(f, v);
        if (result_of(f, v) != NULL)
            drop_result(&f->result[v->id]);
    }
}

static qdq_status accept(folder *f, qdq_node *n, const qdq_const *out)
{
    for (uint32_t i = 0; i < n->n_out; i++) {
        if (n->out[i] == NULL)
            continue;
        if (!keep_result(f, n->out[i], &out[i]))
            return qdq_nomem(f->err);
        f->policy.grown += (int64_t)out[i].bytes;
    }
    f->folded[n->id] = true;
    release_inputs(f, n);
    return QDQ_PUSH(&f->memory, &f->nodes, n) ? QDQ_OK : qdq_nomem(f->err);
}

/* What was refused stays, and so does what follows from it: facts must not lead around a limit. */
static void refuse(folder *f, const qdq_node *n, const char *why)
{
    qdq_opt_refuse(f->o, n, why);
    for (uint32_t i = 0; i < n->n_out; i++)
        if (n->out[i] != NULL)
            f->tainted[n->out[i]->id] = true;
}

static bool is_tainted(const folder *f, const qdq_node *n)
{
    for (uint32_t i = 0; i < n->n_in; i++) {
        const qdq_value *v = n->in[i].value;
        if (v != NULL && v->graph == f->g && v->id < f->n_values && f->tainted[v->id])
            return true;
    }
    return false;
}

static qdq_status fold_known(folder *f, qdq_node *n)
{
    qdq_fold_cost cost = cost_of(f, n);
    qdq_const out[QDQ_EVAL_OUTPUTS];
    uint64_t max_bytes;
    const char *why = qdq_fold_judge(&f->policy, &cost, &max_bytes);
    const qdq_value *x = qdq_node_in(n, 0);

    if (why == NULL && x != NULL && n->op == QDQ_OP_CAST) {
        const qdq_tensor *t = qdq_value_const(x);
        if (t != NULL && qdq_is_spelled_dequantize(n, t->elem, t->count))
            why = "stored integers that are dequantized by hand";
    }
    if (why == NULL)
        QDQ_TRY(evaluate(f, n, max_bytes, out, &why));
    if (why != NULL)
        refuse(f, n, why);
    else if (qdq_opt_take(f->o, n))
        return accept(f, n, out);
    return QDQ_OK;
}

/* Shape arithmetic: nothing is constant but the result. */
static qdq_status fold_fact(folder *f, qdq_node *n)
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
        why = qdq_fold_judge(&f->policy, &cost, &max_bytes);
    }
    if (why != NULL)
        refuse(f, n, why);
    else if (qdq_opt_take(f->o, n))
        return accept(f, n, &c);
    return QDQ_OK;
}

static qdq_status fold_node(folder *f, qdq_node *n)
{
    qdq_arena_mark mark = qdq_arena_get_loop_mark(&f->work);
    qdq_status st = QDQ_OK;

    if (n->op == QDQ_OP_CONSTANT || f->folded[n->id])
        return QDQ_OK;
    if (qdq_eval_knows(n->op) && all_known(f, n))
        st = fold_known(f, n);
    else
        st = fold_fact(f, n);
    qdq_arena_reset(&f->work, mark);
    return st;
}

/* --- what Q and DQ need ------------------------------------------------------------------------------------------------- *
 *
 * A scale that is computed from a weight is folded to a constant even if the weight is above the limits and goes on
 * to be read elsewhere: without it there is nothing that an engine could run in 8 bits. Results on the way are
 * transient. What such a chain may take is measured by the constants that it begins with, and how often a node may
 * be part of one is bounded, so that no model can ask for more memory or time than its own size explains. */

enum { CHAIN_GROWTH = 16, CHAIN_VISITS = 16 };

typedef struct chain {
    QDQ_VEC(qdq_node *) nodes; /* producers first */
    uint64_t bytes;            /* of the constants that they read */
} chain;

static bool is_parameter(const qdq_node *n, uint32_t i)
{
    return (n->op == QDQ_OP_QUANTIZELINEAR || n->op == QDQ_OP_DEQUANTIZELINEAR) && (i == 1 || i == 2);
}

static bool may_be_in_chain(folder *f, const qdq_node *n, const char **why)
{
    if (n->graph != f->g || !qdq_eval_knows(n->op) || f->policy.never[n->op] || n->n_in > QDQ_EVAL_INPUTS ||
        n->n_out > QDQ_EVAL_OUTPUTS)
        return false;
    if (f->visits[n->id] < CHAIN_VISITS) {
        f->visits[n->id]++;
        return true;
    }
    *why = "more scales than it pays to compute are made of the same nodes";
    return false;
}

typedef struct chain_walk {
    QDQ_VEC(qdq_node *) stack; /* a node is there twice: to look at its inputs, and to be listed */
    qdq_map seen;              /* node -> 1: inputs are on the stack, 2: listed; constant -> 0 */
} chain_walk;

/* Nodes go to the stack, constants into the sum; false: out of memory, or *known. */
static bool walk_inputs(folder *f, const qdq_node *n, chain_walk *w, chain *c, bool *known)
{
    for (uint32_t i = 0; i < n->n_in; i++) {
        const qdq_value *x = n->in[i].value;
        bool is_new = false;

        if (x == NULL)
            continue;
        if (result_of(f, x) != NULL || qdq_value_const(x) != NULL) {
            if (qdq_map_put_int(&w->seen, (uintptr_t)x, &is_new) == NULL)
                return false;
            c->bytes += is_new ? bytes_of(f, x) : 0;
            continue;
        }
        *known = x->producer != NULL;
        if (!*known || !QDQ_PUSH(&f->work, &w->stack, x->producer))
            return false;
    }
    return true;
}

/* False: out of memory, or *known is false: v is not made of constants alone, or *why. */
static bool collect(folder *f, const qdq_value *v, chain_walk *w, chain *c, bool *known, const char **why)
{
    *known = v->producer != NULL;
    if (!*known || !QDQ_PUSH(&f->work, &w->stack, v->producer))
        return false;
    while (w->stack.n > 0) {
        qdq_node *n = w->stack.at[--w->stack.n];
        qdq_map_value *place = qdq_map_put_int(&w->seen, (uintptr_t)n, NULL);

        if (place == NULL)
            return false;
        if (place->num == 0) {
            place->num = 1;
            *known = may_be_in_chain(f, n, why);
            if (!*known || !QDQ_PUSH(&f->work, &w->stack, n) || !walk_inputs(f, n, w, c, known))
                return false;
        } else if (place->num == 1) {
            place->num = 2;
            if (!QDQ_PUSH(&f->work, &c->nodes, n))
                return false;
        }
    }
    return true;
}

/* For each value that the chain makes: who reads it last, as index + 1. */
static void find_last_readers(folder *f, const chain *c)
{
    for (size_t i = 0; i < c->nodes.n; i++) {
        const qdq_node *n = c->nodes.at[i];

        for (uint32_t k = 0; k < n->n_out; k++)
            if (n->out[k] != NULL)
                f->last[n->out[k]->id] = 0;
        for (uint32_t k = 0; k < n->n_in; k++) {
            const qdq_value *x = n->in[k].value;
            if (x != NULL && result_of(f, x) == NULL && qdq_value_const(x) == NULL)
                f->last[x->id] = (uint32_t)i + 1;
        }
    }
}

/* Returns the bytes that are free now. */
static uint64_t forget(folder *f, const qdq_value *v)
{
    result *r = &f->result[v->id];

    if (r->c.data == NULL)
        return 0;
    drop_result(r);
    r->c.data = NULL;
    return r->c.bytes;
}

/* What node i of the chain made and nobody reads, and what it was the last to read. The parameter itself stays. */
static uint64_t forget_transients(folder *f, const chain *c, size_t i)
{
    const qdq_node *n = c->nodes.at[i];
    uint64_t freed = 0;

    for (uint32_t k = 0; k < n->n_in; k++)
        if (n->in[k].value != NULL && n->in[k].value->graph == f->g && f->last[n->in[k].value->id] == i + 1)
            freed += forget(f, n->in[k].value);
    for (uint32_t k = 0; k < n->n_out && i + 1 < c->nodes.n; k++)
        if (n->out[k] != NULL && f->last[n->out[k]->id] == 0)
            freed += forget(f, n->out[k]);
    return freed;
}

/* Leaves the results of the last node only; of none if *why. */
static qdq_status compute_chain(folder *f, const chain *c, const char **why)
{
    uint64_t room = CHAIN_GROWTH * c->bytes + f->o->opts->fold_output_bytes;
    qdq_const out[QDQ_EVAL_OUTPUTS];

    for (size_t i = 0; i < c->nodes.n; i++) {
        const qdq_node *n = c->nodes.at[i];
        qdq_arena_mark mark = qdq_arena_get_mark(&f->work);

        QDQ_TRY(evaluate(f, n, room, out, why));
        if (*why != NULL) /* the text lies behind the mark */
            return QDQ_OK;
        for (uint32_t k = 0; k < n->n_out; k++) {
            if (n->out[k] == NULL)
                continue;
            if (!keep_result(f, n->out[k], &out[k]))
                return qdq_nomem(f->err);
            room -= out[k].bytes;
        }
        qdq_arena_reset(&f->work, mark);
        room += forget_transients(f, c, i);
    }
    return QDQ_OK;
}

static qdq_status compute_parameter(folder *f, const chain *c, qdq_value *v)
{
    const char *why = NULL;

    find_last_readers(f, c);
    qdq_status st = compute_chain(f, c, &why);
    if (st == QDQ_OK && why != NULL)
        qdq_opt_refuse(f->o, v->producer, why);
    if (st == QDQ_OK && why == NULL && qdq_opt_take(f->o, v->producer)) {
        f->folded[v->producer->id] = true;
        return QDQ_PUSH(&f->memory, &f->nodes, v->producer) ? QDQ_OK : qdq_nomem(f->err);
    }
    for (size_t i = 0; i < c->nodes.n; i++)
        for (uint32_t k = 0; k < c->nodes.at[i]->n_out; k++)
            if (c->nodes.at[i]->out[k] != NULL)
                (void)forget(f, c->nodes.at[i]->out[k]);
    return st;
}

static qdq_status fold_parameter(folder *f, qdq_value *v)
{
    chain_walk w = {.seen = QDQ_MAP_INIT};
    chain c = {.bytes = 0};
    const char *why = NULL;
    bool known, ok = collect(f, v, &w, &c, &known, &why);

    qdq_map_free(&w.seen);
    if (ok)
        return compute_parameter(f, &c, v);
    if (why != NULL)
        qdq_opt_refuse(f->o, v->producer, why);
    return known ? qdq_nomem(f->err) : QDQ_OK;
}

static qdq_status fold_parameters(folder *f)
{
    QDQ_FOR_NODES (n, f->g)
        for (uint32_t i = 1; i < n->n_in && i < 3; i++) {
            qdq_value *v = n->in[i].value;
            qdq_arena_mark mark = qdq_arena_get_loop_mark(&f->work);

            if (!is_parameter(n, i) || v == NULL || qdq_value_const(v) != NULL || result_of(f, v) != NULL)
                continue;
            QDQ_TRY(fold_parameter(f, v));
            qdq_arena_reset(&f->work, mark);
        }
    return QDQ_OK;
}

/* --- putting constants in place ---------------------------------------------------------------------------------------- */

static bool put_constant_node(qdq_graph *g, qdq_node *before, qdq_value *v, qdq_tensor *t)
{
    qdq_node *n = qdq_graph_add_node(g, before, "", "Constant", "", 0, 0, NULL);

    return n != NULL && qdq_node_append_out(n, v) && qdq_node_set_tensor(n, "value", t);
}

static qdq_status put_constant(folder *f, qdq_node *n, qdq_value *v)
{
    qdq_tensor *t = qdq_const_to_tensor(f->g->model, &f->result[v->id].c);

    if (t == NULL)
        return qdq_nomem(f->err);
    qdq_value_detach(v);
    if (v->n_output > 0 || qdq_graph_in_function(f->g))
        return put_constant_node(f->g, n, v, t) ? QDQ_OK : qdq_nomem(f->err);
    const qdq_type *type = qdq_type_fixed(f->g->model, t->elem, t->rank, t->dim);
    if (type == NULL || !qdq_value_set_init(v, t))
        return qdq_nomem(f->err);
    qdq_value_set_type(v, type); /* inference gives types to outputs of nodes alone */
    return QDQ_OK;
}

/* No computed node reads any more, so that what is still read is read by others, and nodes can go in any order. */
static qdq_status commit(folder *f)
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

/* --- the pass ------------------------------------------------------------------------------------------------------------ */

static qdq_status open_folder(folder *f, qdq_opt *o, qdq_graph *g)
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
    if (f->result == NULL || f->left == NULL || f->tainted == NULL || f->folded == NULL || f->last == NULL ||
        f->visits == NULL)
        return qdq_nomem(f->err);
    for (size_t i = 0; i < g->values.n; i++)
        f->left[i] = g->values.at[i]->n_use;
    qdq_fold_policy_open(&f->policy, o);
    return qdq_opt_facts(o, &f->facts, f->err);
}

static void close_folder(folder *f)
{
    for (size_t i = 0; f->result != NULL && i < f->n_values; i++)
        drop_result(&f->result[i]);
    qdq_arena_free(&f->work);
    qdq_arena_free(&f->memory);
}

static qdq_status fold_graph(folder *f)
{
    QDQ_FOR_NODES (n, f->g)
        QDQ_TRY(fold_node(f, n));
    QDQ_TRY(fold_parameters(f));
    return commit(f);
}

qdq_status qdq_pass_fold_constants(qdq_opt *o, qdq_graph *g, qdq_error *err)
{
    folder f = {.err = err};
    qdq_status st = open_folder(&f, o, g);

    if (st == QDQ_OK)
        st = fold_graph(&f);
    close_folder(&f);
    return st;
}
