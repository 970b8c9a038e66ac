/* plan.c - plans as data: building, sorting, counting. */
#include "quant/plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "ir/ir.h"

qdq_plan *qdq_plan_new(void)
{
    return calloc(1, sizeof(qdq_plan));
}

void qdq_plan_free(qdq_plan *p)
{
    while (p != NULL) {
        qdq_plan *next = p->absorbed;

        qdq_arena_free(&p->arena);
        free(p);
        p = next;
    }
}

#define ABSORB(p, from, list)                                                                      \
    do {                                                                                           \
        for (size_t i_ = 0; i_ < (from)->list.n; i_++)                                             \
            if (!QDQ_PUSH(&(p)->arena, &(p)->list, (from)->list.at[i_]))                           \
                return false;                                                                      \
    } while (0)

bool qdq_plan_absorb(qdq_plan *p, qdq_plan *from)
{
    qdq_plan *shell = qdq_plan_new(), **last = &p->absorbed;

    if (shell == NULL)
        return false;
    *shell = *from; /* takes over the memory, and what was absorbed before */
    *from = (qdq_plan){0};
    while (*last != NULL)
        last = &(*last)->absorbed;
    *last = shell;
    ABSORB(p, shell, tensors);
    ABSORB(p, shell, weights);
    ABSORB(p, shell, biases);
    ABSORB(p, shell, corrections);
    ABSORB(p, shell, quantized);
    ABSORB(p, shell, left_float);
    ABSORB(p, shell, rest.keep);
    return true;
}

void qdq_plan_clear(qdq_plan *p)
{
    p->tensors.n = 0;
    p->weights.n = 0;
    p->scalings.n = 0;
    p->biases.n = 0;
    p->corrections.n = 0;
    p->means.n = 0;
    p->joins.n = 0;
    p->quantized.n = 0;
    p->left_float.n = 0;
    p->rest.keep.n = 0;
}

void qdq_plan_swap_fold(qdq_plan *p, unsigned k)
{
    for (size_t i = 0; i < p->tensors.n; i++) {
        qdq_plan_tensor *t = &p->tensors.at[i];

        if (t->fold == NULL)
            continue;
        const qdq_qparam of_all = t->qparam;
        t->qparam = t->fold[k];
        t->fold[k] = of_all;
    }
    for (size_t i = 0; i < p->corrections.n; i++) {
        qdq_plan_correction *c = &p->corrections.at[i];

        if (c->fold == NULL)
            continue;
        const float *of_all = c->delta;
        c->delta = c->fold[k];
        c->fold[k] = of_all;
    }
}

bool qdq_plan_add_edge(qdq_plan *p, qdq_edges *edges, const char *node, uint32_t input)
{
    qdq_edge edge = {qdq_arena_strdup(&p->arena, node), input};

    return !qdq_node_label_failed(node) && edge.node != NULL && QDQ_PUSH(&p->arena, edges, edge);
}

bool qdq_edges_have(const qdq_edges *e, const char *node, uint32_t input)
{
    for (size_t i = 0; i < e->n; i++)
        if (e->at[i].input == input && strcmp(e->at[i].node, node) == 0)
            return true;
    return false;
}

/* --- order ------------------------------------------------------------------------------------ */

static int compare_edge(const void *a, const void *b)
{
    const qdq_edge *x = a, *y = b;
    int c = strcmp(x->node, y->node);

    return c != 0 ? c : (x->input > y->input) - (x->input < y->input);
}

static int compare_edges(const qdq_edges *x, const qdq_edges *y)
{
    if (x->n == 0 || y->n == 0)
        return (x->n > 0) - (y->n > 0);
    return compare_edge(x->at, y->at);
}

static int compare_tensor(const void *a, const void *b)
{
    const qdq_plan_tensor *x = a, *y = b;
    int c = strcmp(x->tensor, y->tensor);

    return c != 0 ? c : compare_edges(&x->consumers, &y->consumers);
}

static int compare_weight(const void *a, const void *b)
{
    const qdq_plan_weight *x = a, *y = b;
    int c = strcmp(x->tensor, y->tensor);

    return c != 0 ? c : compare_edges(&x->consumers, &y->consumers);
}

static int compare_scaling(const void *a, const void *b)
{
    const qdq_plan_scaling *x = a, *y = b;
    int c = strcmp(x->tensor, y->tensor);

    return c != 0 ? c : compare_edges(&x->consumers, &y->consumers);
}

static int compare_bias(const void *a, const void *b)
{
    const qdq_plan_bias *x = a, *y = b;
    int c = strcmp(x->tensor, y->tensor);

    return c != 0 ? c : compare_edge(&x->consumer, &y->consumer);
}

static int compare_correction(const void *a, const void *b)
{
    const qdq_plan_correction *x = a, *y = b;
    int c = strcmp(x->tensor, y->tensor);

    return c != 0 ? c : compare_edge(&x->consumer, &y->consumer);
}

static int compare_quantized(const void *a, const void *b)
{
    return strcmp(((const qdq_plan_node *)a)->node, ((const qdq_plan_node *)b)->node);
}

static int compare_float(const void *a, const void *b)
{
    return strcmp(((const qdq_plan_float *)a)->node, ((const qdq_plan_float *)b)->node);
}

static void sort(void *at, size_t n, size_t size, int (*compare)(const void *, const void *))
{
    if (n > 1)
        qsort(at, n, size, compare);
}

/* A body's nodes are asked about with the graph around it, too. */
static void drop_repeated(qdq_plan_rest *r)
{
    size_t n = 0;

    for (size_t i = 0; i < r->keep.n; i++)
        if (n == 0 || strcmp(r->keep.at[n - 1].node, r->keep.at[i].node) != 0)
            r->keep.at[n++] = r->keep.at[i];
    r->keep.n = n;
}

static void sort_all(qdq_plan *p)
{
    for (size_t i = 0; i < p->tensors.n; i++)
        sort(p->tensors.at[i].consumers.at, p->tensors.at[i].consumers.n, sizeof(qdq_edge),
             compare_edge);
    for (size_t i = 0; i < p->weights.n; i++)
        sort(p->weights.at[i].consumers.at, p->weights.at[i].consumers.n, sizeof(qdq_edge),
             compare_edge);
    for (size_t i = 0; i < p->scalings.n; i++)
        sort(p->scalings.at[i].consumers.at, p->scalings.at[i].consumers.n, sizeof(qdq_edge),
             compare_edge);
    sort(p->scalings.at, p->scalings.n, sizeof *p->scalings.at, compare_scaling);
    sort(p->tensors.at, p->tensors.n, sizeof *p->tensors.at, compare_tensor);
    sort(p->weights.at, p->weights.n, sizeof *p->weights.at, compare_weight);
    sort(p->biases.at, p->biases.n, sizeof *p->biases.at, compare_bias);
    sort(p->corrections.at, p->corrections.n, sizeof *p->corrections.at, compare_correction);
    sort(p->quantized.at, p->quantized.n, sizeof *p->quantized.at, compare_quantized);
    sort(p->left_float.at, p->left_float.n, sizeof *p->left_float.at, compare_float);
    sort(p->rest.keep.at, p->rest.keep.n, sizeof *p->rest.keep.at, compare_float);
    drop_repeated(&p->rest);
}

/* --- summary ---------------------------------------------------------------------------------- */

static int compare_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int compare_count(const void *a, const void *b)
{
    const qdq_plan_count *x = a, *y = b;

    if (x->n != y->n)
        return x->n < y->n ? 1 : -1;
    return strcmp(x->what, y->what);
}

/* Counts equal texts, the most frequent first. Sorts `text` in place. */
static bool count_texts(qdq_plan *p, const char **text, size_t n, const qdq_plan_count **out,
                        size_t *n_out)
{
    qdq_plan_count *counts = qdq_arena_array(&p->arena, n + 1, sizeof *counts);

    if (counts == NULL)
        return false;
    *n_out = 0;
    sort(text, n, sizeof *text, compare_text);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || strcmp(text[i], text[i - 1]) != 0)
            counts[(*n_out)++].what = text[i];
        counts[*n_out - 1].n++;
    }
    sort(counts, *n_out, sizeof *counts, compare_count);
    *out = counts;
    return true;
}

static bool count_operators(qdq_plan *p, bool kept, const qdq_plan_count **out, size_t *n_out)
{
    const char **ops = qdq_arena_array(&p->arena, p->quantized.n + 1, sizeof *ops);
    size_t n = 0;

    if (ops == NULL)
        return false;
    for (size_t i = 0; i < p->quantized.n; i++)
        if (p->quantized.at[i].kept == kept)
            ops[n++] = p->quantized.at[i].op;
    return count_texts(p, ops, n, out, n_out);
}

static bool count_reasons(qdq_plan *p, const qdq_plan_count **out, size_t *n_out)
{
    const char **left = qdq_arena_array(&p->arena, p->left_float.n + 1, sizeof *left);

    if (left == NULL)
        return false;
    for (size_t i = 0; i < p->left_float.n; i++) {
        const qdq_plan_float *f = &p->left_float.at[i];

        left[i] = qdq_arena_printf(&p->arena, "%s: %s", f->op, f->reason);
        if (left[i] == NULL)
            return false;
    }
    return count_texts(p, left, p->left_float.n, out, n_out);
}

static bool summarize(qdq_plan *p)
{
    qdq_plan_summary *s = &p->summary;

    s->n_equalized = p->n_equalized;
    s->n_not_equalized = p->n_not_equalized;
    s->opset = p->opset;
    s->n_layernorms = p->n_layernorms;
    s->n_tensors = p->tensors.n;
    s->n_weights = p->weights.n;
    s->n_biases = p->biases.n;
    s->n_left_float = p->left_float.n;
    s->placement_only = p->placement_only;
    s->target = p->target;
    s->cpu = p->cpu != NULL ? p->cpu : "";
    return count_operators(p, false, &s->quantized, &s->n_quantized) &&
           count_operators(p, true, &s->kept, &s->n_kept) &&
           count_reasons(p, &s->left_float, &s->n_left);
}

bool qdq_plan_finish(qdq_plan *p)
{
    sort_all(p);
    return summarize(p);
}

const qdq_plan_summary *qdq_plan_get_summary(const qdq_plan *p)
{
    return &p->summary;
}
