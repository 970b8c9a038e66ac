/* float_channels.c - finds the channels of activations that products compute in float. */
#include "quant/weights/float_channels.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "quant/calib/calib_means.h"
#include "quant/weights/product_data.h"

/* At most one channel in this many: the float product of more costs what 8 bits save. */
#define SHARE 32
/* A tensor is worth two more operators for each product if its steps become half as large at least:
 * some channel has LEAST times the range that is left, and all above LEFT times go. */
static const float LEAST = 4, LEFT = 2;

static int descending(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;

    return (x < y) - (x > y);
}

size_t qdq_outliers_of(const float *most, size_t n, float *sorted, int64_t *channels)
{
    size_t n_out = 0;

    if (n < SHARE)
        return 0;
    memcpy(sorted, most, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, descending);
    const float rest = sorted[n / SHARE];
    if (!(rest > 0) || !(sorted[0] >= LEAST * rest))
        return 0;
    for (size_t i = 0; i < n; i++)
        if (most[i] > LEFT * rest)
            channels[n_out++] = (int64_t)i;
    return n_out;
}

/* --- which tensors ---------------------------------------------------------------------------- */

typedef struct finder {
    qdq_product_finder products;
    const qdq_quantizing *q;
    /* qdq_means_index */
    qdq_map means;
    qdq_error *err;
} finder;

static qdq_status begin(finder *f)
{
    f->products = (qdq_product_finder){.q = f->q, .err = f->err};
    QDQ_TRY(qdq_product_finder_begin(&f->products));
    return qdq_means_index(f->q->plan, &f->means, f->err);
}

static qdq_status end(finder *f, qdq_status st)
{
    qdq_product_finder_free(&f->products);
    qdq_map_free(&f->means);
    return st;
}

/* --- statistics ------------------------------------------------------------------------------- */

/* The dimension of channels as corrections of biases name it, which ask for means of the same
 * tensors. */
static int axis_of(const qdq_value *x)
{
    for (const qdq_use *u = x->first; u != NULL; u = u->next)
        if (u->node->op == QDQ_OP_MATMUL)
            return -1;
    return 1;
}

qdq_status qdq_float_channels_want(const qdq_quantizing *q, qdq_error *err)
{
    finder f = {.q = q, .err = err};
    qdq_status st = begin(&f);

    for (size_t i = 0; i < q->plan->tensors.n && st == QDQ_OK; i++) {
        int64_t channels;
        const qdq_value *x = qdq_find_product_data(&f.products, &q->plan->tensors.at[i], &channels);

        if (x != NULL && !qdq_means_want(q->plan, &f.means, x->name, axis_of(x), (size_t)channels,
                                         q->basis.folds))
            st = qdq_nomem(err);
    }
    return end(&f, st);
}

static bool is_listed(const qdq_outlier_list *list, const char *tensor)
{
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->at[i].tensor, tensor) == 0)
            return true;
    return false;
}

/* Of all samples: which channels are massive is a trait of the model. */
static float *largest(finder *f, const qdq_plan_mean *m)
{
    float *most = qdq_arena_copy(&f->products.scratch, m->most, m->n, sizeof *most);

    for (size_t i = m->n; i < m->rows * m->n && most != NULL; i++)
        most[i % m->n] = m->most[i] > most[i % m->n] ? m->most[i] : most[i % m->n];
    return most;
}

static qdq_status add_outliers(finder *f, const qdq_value *x, const qdq_plan_mean *m,
                               qdq_outlier_list *list)
{
    qdq_arena *arena = &f->q->plan->arena;
    const float *most = largest(f, m);
    float *sorted = qdq_arena_array(&f->products.scratch, m->n + 1, sizeof *sorted);
    int64_t *channels = qdq_arena_array(&f->products.scratch, m->n + 1, sizeof *channels);
    qdq_outliers found = {.tensor = qdq_arena_strdup(arena, x->name)};

    QDQ_NEED(most != NULL && sorted != NULL && channels != NULL && found.tensor != NULL, f->err);
    found.n = qdq_outliers_of(most, m->n, sorted, channels);
    if (found.n == 0)
        return QDQ_OK;
    found.channels = qdq_arena_copy(arena, channels, found.n, sizeof *channels);
    return qdq_allocated(found.channels != NULL && QDQ_PUSH(arena, list, found), f->err);
}

qdq_status qdq_float_channels_find(const qdq_quantizing *q, qdq_outlier_list *list, qdq_error *err)
{
    finder f = {.q = q, .err = err};
    qdq_status st = begin(&f);

    for (size_t i = 0; i < q->plan->tensors.n && st == QDQ_OK; i++) {
        int64_t channels;
        const qdq_value *x = qdq_find_product_data(&f.products, &q->plan->tensors.at[i], &channels);
        const qdq_plan_mean *m =
            x != NULL ? qdq_means_find(q->plan, &f.means, x->name, axis_of(x), (size_t)channels)
                      : NULL;

        if (m != NULL && !is_listed(list, x->name))
            st = add_outliers(&f, x, m, list);
    }
    return end(&f, st);
}

/* --- entries ---------------------------------------------------------------------------------- */

static qdq_status add_entry(finder *f, const qdq_outliers *o, qdq_plan_tensor *t)
{
    qdq_plan *p = f->q->plan;
    qdq_plan_channels c = {.tensor = t->tensor, .channels = o->channels, .n_channels = o->n};
    int64_t channels;
    const qdq_value *x = qdq_find_product_data(&f->products, t, &channels);

    if (x == NULL) /* other readers take part in this round */
        return QDQ_OK;
    for (const qdq_use *u = x->first; u != NULL && t->all; u = u->next)
        QDQ_NEED(
            qdq_plan_add_edge(p, &c.consumers, qdq_node_label(u->node, &f->products.scratch), 0),
            f->err);
    for (size_t i = 0; i < t->consumers.n && !t->all; i++)
        QDQ_NEED(qdq_plan_add_edge(p, &c.consumers, t->consumers.at[i].node, 0), f->err);
    t->without = o->channels;
    t->n_without = o->n;
    return qdq_allocated(QDQ_PUSH(&p->arena, &p->float_channels, c), f->err);
}

qdq_status qdq_float_channels_place(const qdq_quantizing *q, const qdq_outlier_list *list,
                                    qdq_error *err)
{
    finder f = {.q = q, .err = err};
    qdq_status st = list->n > 0 ? begin(&f) : QDQ_OK;

    for (size_t i = 0; i < list->n && st == QDQ_OK; i++) {
        const qdq_map_value *at = qdq_map_get(&f.products.tensors, list->at[i].tensor);

        if (at != NULL && at->num > 0)
            st = add_entry(&f, &list->at[i], &q->plan->tensors.at[at->num - 1]);
    }
    return end(&f, st);
}
