/* verify_eval.c - a whole model by the evaluator of constant folding, with Q and DQ added: the
 * reference where no ONNX Runtime is available. It knows no Conv. */
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "quant/check/verify_state.h"

bool qdq_verify_can_evaluate(const qdq_model *m, char *why, size_t size)
{
    QDQ_FOR_NODES (n, m->graph)
        if (!qdq_verify_converts(n) && (!qdq_eval_knows(n->op) || n->domain[0] != '\0')) {
            snprintf(why, size, "%s", n->type);
            return false;
        }
    return true;
}

typedef struct evaluating {
    const qdq_model *m;
    /* by value id */
    const qdq_const **known;
    qdq_arena memory;
} evaluating;

static qdq_status take_input(evaluating *e, const qdq_named_array *in, qdq_error *err)
{
    const qdq_value *v = qdq_graph_find(e->m->graph, in->name);
    qdq_const *c = qdq_arena_alloc(&e->memory, sizeof *c);

    if (v == NULL)
        return QDQ_OK;
    QDQ_NEED(c != NULL, err);
    *c = (qdq_const){.elem = in->array.elem,
                     .rank = in->array.rank,
                     .dim = in->array.dim,
                     .count = qdq_array_count(&in->array),
                     .data = in->array.data,
                     .bytes = in->array.bytes};
    e->known[v->id] = c;
    return QDQ_OK;
}

/* NULL: it is left out, or nothing computed it. */
static qdq_status get_value(evaluating *e, const qdq_value *v, const qdq_const **out,
                            qdq_error *err)
{
    const char *why = NULL;

    *out = v != NULL ? e->known[v->id] : NULL;
    const qdq_tensor *t = v != NULL && *out == NULL ? qdq_value_const(v) : NULL;
    if (t == NULL)
        return QDQ_OK;
    qdq_const *c = qdq_arena_alloc(&e->memory, sizeof *c);
    QDQ_NEED(c != NULL, err);
    QDQ_TRY(qdq_const_of_tensor(t, &e->memory, c, &why, err));
    if (why != NULL)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "'%s': %s", v->name, why);
    *out = e->known[v->id] = c;
    return QDQ_OK;
}

static qdq_status compute(evaluating *e, const qdq_node *n, qdq_error *err)
{
    const uint64_t most = (uint64_t)1 << 32;
    const qdq_const *in[QDQ_EVAL_INPUTS] = {NULL};
    qdq_const *out = qdq_arena_array(&e->memory, (size_t)n->n_out + 1, sizeof *out);
    const char *why = NULL;

    QDQ_NEED(out != NULL, err);
    if (n->n_in > QDQ_EVAL_INPUTS || n->n_out > QDQ_EVAL_OUTPUTS)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "%s with %u inputs", n->type, (unsigned)n->n_in);
    for (uint32_t i = 0; i < n->n_in; i++)
        QDQ_TRY(get_value(e, qdq_node_in(n, i), &in[i], err));
    if (qdq_verify_converts(n))
        QDQ_TRY(qdq_verify_convert(n, in, &e->memory, out, &why, err));
    else
        QDQ_TRY(qdq_eval_node(n, qdq_graph_opset(n->graph), in, most, &e->memory, out, &why, err));
    if (why != NULL)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "%s: %s", n->type, why);
    for (uint32_t i = 0; i < n->n_out; i++)
        if (n->out[i] != NULL)
            e->known[n->out[i]->id] = &out[i];
    return QDQ_OK;
}

static qdq_status give_output(evaluating *e, const qdq_value *v, qdq_output_fn fn, void *ctx,
                              qdq_error *err)
{
    const qdq_const *c;
    qdq_array a;

    QDQ_TRY(get_value(e, v, &c, err));
    if (c == NULL || c->rank > QDQ_MAX_RANK)
        return QDQ_OK;
    a = (qdq_array){
        .elem = c->elem, .rank = c->rank, .data = (void *)(uintptr_t)c->data, .bytes = c->bytes};
    memcpy(a.dim, c->dim, (size_t)c->rank * sizeof a.dim[0]);
    return fn(ctx, v->name, &a, err);
}

qdq_status qdq_verify_evaluate(const qdq_model *m, const qdq_named_array *in, size_t n,
                               qdq_output_fn fn, void *ctx, qdq_error *err)
{
    evaluating e = {.m = m, .memory = QDQ_ARENA_INIT};
    qdq_status st = QDQ_OK;

    e.known = qdq_arena_array(&e.memory, m->graph->values.n + 1, sizeof *e.known);
    if (e.known == NULL)
        st = qdq_nomem(err);
    for (size_t i = 0; st == QDQ_OK && i < n; i++)
        st = take_input(&e, &in[i], err);
    for (const qdq_node *k = qdq_live_from(m->graph, m->graph->end.next); st == QDQ_OK && k != NULL;
         k = qdq_live_from(m->graph, k->next))
        st = compute(&e, k, err);
    for (size_t i = 0; st == QDQ_OK && i < m->graph->outputs.n; i++)
        st = give_output(&e, m->graph->outputs.at[i], fn, ctx, err);
    qdq_arena_free(&e.memory);
    return st;
}
