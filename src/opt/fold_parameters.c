/* fold_parameters.c - what Q and DQ need.
 *
 * A scale that is computed from a weight is folded to a constant even if the weight is above the
 * limits and goes on to be read elsewhere: without it there is nothing that an engine could run in
 * 8 bits. Results on the way are transient. What such a chain may take is measured by the constants
 * that it begins with, and how often a node may be part of one is bounded, so that no model can ask
 * for more memory or time than its own size explains. */

#include "base/fail.h"
#include "opt/fold_state.h"

enum { CHAIN_GROWTH = 16, CHAIN_VISITS = 16 };

typedef struct chain {
    /* producers first */
    QDQ_VEC(qdq_node *) nodes;
    /* of the constants that they read */
    uint64_t bytes;
} chain;

static bool may_be_in_chain(qdq_folder *f, const qdq_node *n, const char **why)
{
    if (n->graph != f->g || !qdq_eval_knows(n->op) || f->policy.never[n->op] ||
        n->n_in > QDQ_EVAL_INPUTS || n->n_out > QDQ_EVAL_OUTPUTS)
        return false;
    if (f->visits[n->id] < CHAIN_VISITS) {
        f->visits[n->id]++;
        return true;
    }
    *why = "more scales than it pays to compute are made of the same nodes";
    return false;
}

typedef struct chain_walk {
    /* a node is there twice: to look at its inputs, and to be listed */
    QDQ_VEC(qdq_node *) stack;
    /* node -> 1: inputs are on the stack, 2: listed; constant -> 0 */
    qdq_map seen;
} chain_walk;

/* Nodes go to the stack, constants into the sum; false: out of memory, or *known. */
static bool walk_inputs(qdq_folder *f, const qdq_node *n, chain_walk *w, chain *c, bool *known)
{
    for (uint32_t i = 0; i < n->n_in; i++) {
        const qdq_value *x = n->in[i].value;
        bool is_new = false;

        if (x == NULL)
            continue;
        if (qdq_fold_result_of(f, x) != NULL || qdq_value_const(x) != NULL) {
            if (qdq_map_put_int(&w->seen, (uintptr_t)x, &is_new) == NULL)
                return false;
            c->bytes += is_new ? qdq_fold_bytes_of(f, x) : 0;
            continue;
        }
        *known = x->producer != NULL;
        if (!*known || !QDQ_PUSH(&f->work, &w->stack, x->producer))
            return false;
    }
    return true;
}

/* False: out of memory, or *known is false: v is not made of constants alone, or *why. */
static bool collect(qdq_folder *f, const qdq_value *v, chain_walk *w, chain *c, bool *known,
                    const char **why)
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
static void find_last_readers(qdq_folder *f, const chain *c)
{
    for (size_t i = 0; i < c->nodes.n; i++) {
        const qdq_node *n = c->nodes.at[i];

        for (uint32_t k = 0; k < n->n_out; k++)
            if (n->out[k] != NULL)
                f->last[n->out[k]->id] = 0;
        for (uint32_t k = 0; k < n->n_in; k++) {
            const qdq_value *x = n->in[k].value;
            if (x != NULL && qdq_fold_result_of(f, x) == NULL && qdq_value_const(x) == NULL)
                f->last[x->id] = (uint32_t)i + 1;
        }
    }
}

/* Returns the bytes that are free now. */
static uint64_t forget(qdq_folder *f, const qdq_value *v)
{
    qdq_fold_result *r = &f->result[v->id];

    if (r->c.data == NULL)
        return 0;
    qdq_fold_drop_result(r);
    r->c.data = NULL;
    return r->c.bytes;
}

/* Unread results of node i of the chain, and the values that it was the last to read. The parameter
 * itself stays. */
static uint64_t forget_transients(qdq_folder *f, const chain *c, size_t i)
{
    const qdq_node *n = c->nodes.at[i];
    uint64_t freed = 0;

    for (uint32_t k = 0; k < n->n_in; k++)
        if (n->in[k].value != NULL && n->in[k].value->graph == f->g &&
            f->last[n->in[k].value->id] == i + 1)
            freed += forget(f, n->in[k].value);
    for (uint32_t k = 0; k < n->n_out && i + 1 < c->nodes.n; k++)
        if (n->out[k] != NULL && f->last[n->out[k]->id] == 0)
            freed += forget(f, n->out[k]);
    return freed;
}

/* Leaves the results of the last node only; of none if *why. */
static qdq_status compute_chain(qdq_folder *f, const chain *c, const char **why)
{
    uint64_t room = CHAIN_GROWTH * c->bytes + f->policy.output_bytes;
    qdq_const out[QDQ_EVAL_OUTPUTS];

    for (size_t i = 0; i < c->nodes.n; i++) {
        const qdq_node *n = c->nodes.at[i];
        qdq_arena_mark mark = qdq_arena_get_mark(&f->work);
        uint64_t bytes = 0;

        QDQ_TRY(qdq_fold_evaluate(f, n, room, out, why));
        if (*why != NULL) /* the text lies behind the mark */
            return QDQ_OK;
        QDQ_NEED(qdq_fold_keep_results(f, n, out, &bytes), f->err);
        qdq_arena_reset(&f->work, mark);
        room += forget_transients(f, c, i) - bytes;
    }
    return QDQ_OK;
}

static qdq_status compute_parameter(qdq_folder *f, const chain *c, qdq_value *v)
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

static qdq_status fold_parameter(qdq_folder *f, qdq_value *v)
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

qdq_status qdq_fold_parameters(qdq_folder *f)
{
    QDQ_FOR_NODES (n, f->g)
        for (uint32_t i = 1; i < n->n_in && i < 3; i++) {
            qdq_value *v = n->in[i].value;
            qdq_arena_mark mark = qdq_arena_get_loop_mark(&f->work);

            if (!qdq_fold_is_parameter(n, i) || v == NULL || qdq_value_const(v) != NULL ||
                qdq_fold_result_of(f, v) != NULL)
                continue;
            QDQ_TRY(fold_parameter(f, v));
            qdq_arena_reset(&f->work, mark);
        }
    return QDQ_OK;
}
