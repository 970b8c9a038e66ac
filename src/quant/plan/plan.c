/* plan.c - plans as data: building, sorting, counting. */
#include "quant/plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "ir/ir.h"

qdq_plan *qdq_plan_new(void)
{
    return calloc(1, sizeof(qdq_plan));
}

static void drop_numbers(qdq_plan *p)
{
    for (size_t i = 0; i < p->numbers.n; i++)
        qdq_mapping_unref(p->numbers.at[i]);
    p->numbers.n = 0;
}

void qdq_plan_free(qdq_plan *p)
{
    while (p != NULL) {
        qdq_plan *next = p->absorbed;

        drop_numbers(p);
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
    ABSORB(p, shell, float_channels);
    ABSORB(p, shell, biases);
    ABSORB(p, shell, corrections);
    ABSORB(p, shell, rounded);
    ABSORB(p, shell, quantized);
    ABSORB(p, shell, left_float);
    ABSORB(p, shell, half.keep);
    return true;
}

void qdq_plan_clear(qdq_plan *p)
{
    drop_numbers(p);
    p->tensors.n = 0;
    p->weights.n = 0;
    p->scalings.n = 0;
    p->float_channels.n = 0;
    p->biases.n = 0;
    p->corrections.n = 0;
    p->means.n = 0;
    p->joins.n = 0;
    p->rounded.n = 0;
    p->quantized.n = 0;
    p->left_float.n = 0;
    p->half.keep.n = 0;
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

/* --- adding ----------------------------------------------------------------------------------- */

/* A text becomes a copy in the plan's memory; NULL stays NULL. */
static bool copy_text(qdq_plan *p, const char **text)
{
    if (*text != NULL)
        *text = qdq_arena_strdup(&p->arena, *text);
    return *text != NULL;
}

bool qdq_plan_add_tensor(qdq_plan *p, qdq_plan_tensor t)
{
    return copy_text(p, &t.tensor) && copy_text(p, &t.rule) && copy_text(p, &t.origin) &&
           QDQ_PUSH(&p->arena, &p->tensors, t);
}

bool qdq_plan_take_smoothings(qdq_plan *p, const qdq_plan *from)
{
    for (size_t i = 0; i < from->smoothings.n; i++) {
        qdq_plan_smoothing s = from->smoothings.at[i];

        s.tensor = qdq_arena_strdup(&p->arena, s.tensor);
        s.smoothed = qdq_arena_strdup(&p->arena, s.smoothed);
        s.scales = qdq_arena_copy(&p->arena, s.scales, s.n_scales, sizeof *s.scales);
        if (s.tensor == NULL || s.smoothed == NULL || s.scales == NULL ||
            !QDQ_PUSH(&p->arena, &p->smoothings, s))
            return false;
    }
    return true;
}

bool qdq_plan_take_folds(qdq_plan *p, const qdq_plan *from, qdq_plan_tensor *t)
{
    if (t->fold == NULL)
        return true;
    p->n_folds = from->n_folds;
    t->fold = qdq_arena_copy(&p->arena, t->fold, from->n_folds, sizeof *t->fold);
    return t->fold != NULL;
}

static bool copy_scales(qdq_plan *p, qdq_plan_weight *w)
{
    bool any = false;

    if (w->scales == NULL)
        return true;
    for (size_t i = 0; i < w->n_scales && w->zero_points != NULL; i++)
        any |= w->zero_points[i] != 0;
    w->scales = qdq_arena_copy(&p->arena, w->scales, w->n_scales, sizeof *w->scales);
    w->zero_points =
        any ? qdq_arena_copy(&p->arena, w->zero_points, w->n_scales, sizeof *w->zero_points) : NULL;
    return w->scales != NULL && (w->zero_points != NULL || !any);
}

static bool copy_codes(qdq_plan *p, qdq_plan_weight *w)
{
    if (w->codes != NULL)
        w->codes = qdq_arena_copy(&p->arena, w->codes, w->codes_size, 1);
    return w->codes != NULL || w->codes_size == 0;
}

bool qdq_plan_take_numbers(qdq_plan *p, qdq_mapping *m)
{
    const bool ok = QDQ_PUSH(&p->arena, &p->numbers, m);

    if (!ok)
        qdq_mapping_unref(m);
    return ok;
}

void qdq_plan_rest_numbers(const qdq_plan *p)
{
    for (; p != NULL; p = p->absorbed)
        for (size_t i = 0; i < p->numbers.n; i++)
            qdq_mapping_rest(p->numbers.at[i]);
}

bool qdq_plan_own_weight(qdq_plan *p, qdq_plan_weight *w)
{
    return w->numbers != NULL ? qdq_plan_take_numbers(p, qdq_mapping_ref(w->numbers))
                              : copy_scales(p, w) && copy_codes(p, w);
}

bool qdq_plan_add_weight(qdq_plan *p, qdq_plan_weight w)
{
    return copy_text(p, &w.tensor) && copy_text(p, &w.rule) && copy_text(p, &w.origin) &&
           qdq_plan_own_weight(p, &w) && QDQ_PUSH(&p->arena, &p->weights, w);
}

bool qdq_plan_add_bias(qdq_plan *p, qdq_plan_bias b)
{
    return copy_text(p, &b.tensor) && copy_text(p, &b.consumer.node) &&
           copy_text(p, &b.activation) && copy_text(p, &b.weight) && copy_text(p, &b.rule) &&
           copy_text(p, &b.origin) && QDQ_PUSH(&p->arena, &p->biases, b);
}

bool qdq_plan_add_quantized(qdq_plan *p, qdq_plan_node n)
{
    return copy_text(p, &n.node) && copy_text(p, &n.op) && QDQ_PUSH(&p->arena, &p->quantized, n);
}

static bool copy_float(qdq_plan *p, qdq_plan_float *f)
{
    return copy_text(p, &f->node) && copy_text(p, &f->op) && copy_text(p, &f->reason);
}

bool qdq_plan_add_left_float(qdq_plan *p, qdq_plan_float f)
{
    return copy_float(p, &f) && QDQ_PUSH(&p->arena, &p->left_float, f);
}

bool qdq_plan_add_half_keep(qdq_plan *p, qdq_plan_float f)
{
    return copy_float(p, &f) && QDQ_PUSH(&p->arena, &p->half.keep, f);
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

/* Compares entries by tensor, and those of one tensor by `then`, an expression of x and y. */
#define BY_TENSOR(name, type, then)                                                                \
    static int name(const void *a, const void *b)                                                  \
    {                                                                                              \
        const type *x = a, *y = b;                                                                 \
        int c = strcmp(x->tensor, y->tensor);                                                      \
                                                                                                   \
        return c != 0 ? c : (then);                                                                \
    }

BY_TENSOR(compare_tensor, qdq_plan_tensor, compare_edges(&x->consumers, &y->consumers))
BY_TENSOR(compare_weight, qdq_plan_weight, compare_edges(&x->consumers, &y->consumers))
BY_TENSOR(compare_scaling, qdq_plan_scaling, compare_edges(&x->consumers, &y->consumers))
BY_TENSOR(compare_smoothing, qdq_plan_smoothing, 0)
BY_TENSOR(compare_channels, qdq_plan_channels, compare_edges(&x->consumers, &y->consumers))
BY_TENSOR(compare_bias, qdq_plan_bias, compare_edge(&x->consumer, &y->consumer))
BY_TENSOR(compare_correction, qdq_plan_correction, compare_edge(&x->consumer, &y->consumer))

/* Texts, or entries that begin with one. */
static int compare_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void sort_list(void *at, size_t n, size_t size, int (*compare)(const void *, const void *))
{
    if (n > 1)
        qsort(at, n, size, compare);
}

#define SORT(list, compare) sort_list((list).at, (list).n, sizeof *(list).at, (compare))

/* A body's nodes are asked about with the graph around it, too. */
static void drop_repeated(qdq_plan_half *r)
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
        SORT(p->tensors.at[i].consumers, compare_edge);
    for (size_t i = 0; i < p->weights.n; i++)
        SORT(p->weights.at[i].consumers, compare_edge);
    for (size_t i = 0; i < p->scalings.n; i++)
        SORT(p->scalings.at[i].consumers, compare_edge);
    for (size_t i = 0; i < p->float_channels.n; i++)
        SORT(p->float_channels.at[i].consumers, compare_edge);
    SORT(p->smoothings, compare_smoothing);
    SORT(p->scalings, compare_scaling);
    SORT(p->float_channels, compare_channels);
    SORT(p->tensors, compare_tensor);
    SORT(p->weights, compare_weight);
    SORT(p->biases, compare_bias);
    SORT(p->corrections, compare_correction);
    SORT(p->rounded, compare_text);
    SORT(p->quantized, compare_text);
    SORT(p->left_float, compare_text);
    SORT(p->half.keep, compare_text);
    drop_repeated(&p->half);
}

/* --- summary ---------------------------------------------------------------------------------- */

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
    sort_list(text, n, sizeof *text, compare_text);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || strcmp(text[i], text[i - 1]) != 0)
            counts[(*n_out)++].what = text[i];
        counts[*n_out - 1].n++;
    }
    sort_list(counts, *n_out, sizeof *counts, compare_count);
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
        if (p->quantized.at[i].preserved == kept)
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

static bool summarize_plan(qdq_plan *p)
{
    qdq_plan_summary *s = &p->summary;

    s->n_equalized = p->n_equalized;
    s->n_not_equalized = p->n_not_equalized;
    s->opset = p->opset;
    s->n_layernorms = p->n_layernorms;
    s->rounded = p->rounded.at;
    s->n_rounded = p->rounded.n;
    s->n_tensors = p->tensors.n;
    s->n_weights = p->weights.n;
    s->n_biases = p->biases.n;
    s->n_dynamic = 0;
    for (size_t i = 0; i < p->weights.n; i++)
        if (p->weights.at[i].store == QDQ_WEIGHT_AS_DYNAMIC)
            s->n_dynamic += p->weights.at[i].consumers.n;
    s->n_left_float = p->left_float.n;
    s->placement_only = p->placement_only;
    s->target = p->target;
    s->cpu = p->cpu != NULL ? p->cpu : "";
    return count_operators(p, false, &s->quantized, &s->n_quantized) &&
           count_operators(p, true, &s->existing, &s->n_existing) &&
           count_reasons(p, &s->left_float, &s->n_left);
}

bool qdq_plan_finish(qdq_plan *p)
{
    sort_all(p);
    return summarize_plan(p);
}

const qdq_plan_summary *qdq_plan_get_summary(const qdq_plan *p)
{
    return &p->summary;
}

bool qdq_plan_needs_samples(const qdq_plan *p)
{
    for (size_t i = 0; i < p->tensors.n; i++)
        if (!p->tensors.at[i].known)
            return true;
    return false;
}

bool qdq_plan_has_dynamic(const qdq_plan *p)
{
    for (size_t i = 0; i < p->weights.n; i++)
        if (p->weights.at[i].store == QDQ_WEIGHT_AS_DYNAMIC)
            return true;
    return false;
}
