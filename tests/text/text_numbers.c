/* text_numbers.c - a graph computed node by node with the evaluator of constant folding. */
#include "text/text_numbers.h"

#include <math.h>

#include "base/random.h"
#include "ir/graph_check.h"
#include "opt/eval/eval.h"
#include "support/test.h"

enum { MAX_BYTES = 1 << 20, SEED = 7, SYMBOL = 2 };

typedef struct computing {
    const qdq_model *m;
    qdq_arena memory;
    /* by id of the value; data NULL: not known */
    qdq_const *of;
} computing;

/* Random numbers for a graph input, the same for every model that has it. */
static bool fill_input(computing *c, const qdq_value *v)
{
    qdq_array a = {.elem = v->type != NULL ? v->type->elem : QDQ_FLOAT};
    int64_t *dim = qdq_arena_alloc(&c->memory, sizeof a.dim);
    int64_t count = 1;

    assert_non_null(dim);
    if (v->type == NULL || v->type->kind != QDQ_TYPE_TENSOR || v->type->rank < 0)
        return false;
    a.rank = v->type->rank;
    for (int i = 0; i < a.rank; i++) {
        a.dim[i] = dim[i] = v->type->dim[i].value >= 0 ? v->type->dim[i].value : SYMBOL;
        if (dim[i] > MAX_BYTES || (count *= dim[i]) > MAX_BYTES)
            return false;
    }
    a.bytes = ((size_t)count * qdq_elem_bits(a.elem) + 7) / 8;
    a.data = qdq_arena_alloc(&c->memory, a.bytes + 1);
    assert_non_null(a.data);
    if (!qdq_random_fill(&a, SEED, v->name))
        return false;
    c->of[v->id] = (qdq_const){a.elem, a.rank, dim, count, a.data, a.bytes};
    return true;
}

static bool compute_node(computing *c, const qdq_node *n)
{
    const qdq_const *in[QDQ_EVAL_INPUTS];
    qdq_const out[QDQ_EVAL_OUTPUTS];
    qdq_error err = QDQ_ERROR_INIT;
    const char *why = NULL;

    if (n->n_in > QDQ_COUNT(in) || n->n_out > QDQ_COUNT(out))
        return false;
    for (uint32_t i = 0; i < n->n_in; i++) {
        const qdq_value *v = n->in[i].value;

        in[i] = v != NULL ? &c->of[v->id] : NULL;
        if (v != NULL && in[i]->data == NULL)
            return false;
    }
    assert_ok(
        qdq_eval_node(n, qdq_model_opset_of(c->m, ""), in, MAX_BYTES, &c->memory, out, &why, &err));
    for (uint32_t i = 0; why == NULL && i < n->n_out; i++)
        if (n->out[i] != NULL)
            c->of[n->out[i]->id] = out[i];
    return why == NULL;
}

/* False: it cannot be computed. */
static bool compute(computing *c, const qdq_model *m)
{
    const qdq_graph *g = m->graph;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_node **order;
    const char *why = NULL;
    size_t n;

    c->m = m;
    c->of = qdq_arena_alloc(&c->memory, (g->values.n + 1) * sizeof *c->of);
    assert_non_null(c->of);
    memset(c->of, 0, (g->values.n + 1) * sizeof *c->of);
    QDQ_FOR_INITS(v, g)
    if (v->init != NULL) {
        assert_ok(qdq_const_of_tensor(v->init, &c->memory, &c->of[v->id], &why, &err));
        if (why != NULL)
            return false;
    }
    for (size_t i = 0; i < g->inputs.n; i++)
        if (g->inputs.at[i]->init == NULL && !fill_input(c, g->inputs.at[i]))
            return false;
    assert_ok(qdq_graph_sorted(m->graph, &c->memory, &order, &n, &err));
    for (size_t i = 0; i < n; i++)
        if (!compute_node(c, order[i]))
            return false;
    return true;
}

static bool is_close(const qdq_const *a, const qdq_const *b)
{
    double range = 0, worst = 0, tolerance = a->elem == QDQ_FLOAT16 ? 2e-3 : 1e-5;

    if (a->elem != b->elem || a->rank != b->rank || a->bytes != b->bytes ||
        (a->rank > 0 && memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim) != 0))
        return false;
    if (a->bytes == 0 || memcmp(a->data, b->data, a->bytes) == 0)
        return true;
    for (int64_t i = 0; qdq_elem_is_float(a->elem) && i < a->count; i++) {
        double x = (double)qdq_elem_float(a->elem, a->data, i);

        range = fmax(range, fabs(x));
        worst = fmax(worst, fabs(x - (double)qdq_elem_float(b->elem, b->data, i)));
    }
    return qdq_elem_is_float(a->elem) && worst <= tolerance * range;
}

const char *text_other_numbers(const qdq_model *before, const qdq_model *after, int *computed)
{
    computing a = {.memory = QDQ_ARENA_INIT}, b = {.memory = QDQ_ARENA_INIT};
    const char *other = NULL;

    if (compute(&a, before) && compute(&b, after)) {
        for (size_t i = 0; other == NULL && i < before->graph->outputs.n; i++) {
            const qdq_value *x = before->graph->outputs.at[i], *y = after->graph->outputs.at[i];

            if (!is_close(&a.of[x->id], &b.of[y->id]))
                other = y->name;
        }
        ++*computed;
    }
    qdq_arena_free(&a.memory);
    qdq_arena_free(&b.memory);
    return other;
}
