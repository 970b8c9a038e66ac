/* calib_means.c - means of channels, for corrections of biases. Sums are of doubles in the order
 * of the samples: the same data gives the same means, however tensors are spread over runs. */
#include "quant/calib/calib_means.h"

#include <math.h>

#include "base/fail.h"

/* 1 + the index of the first one of the tensor; 0: none. */
static size_t first_of(const qdq_map *index, const char *tensor)
{
    const qdq_map_value *at = qdq_map_get(index, tensor);

    return at != NULL ? at->num + 1 : 0;
}

const qdq_plan_mean *qdq_means_find(const qdq_plan *p, const qdq_map *index, const char *tensor,
                                    int axis, size_t n)
{
    for (size_t i = first_of(index, tensor); i != 0; i = p->means.at[i - 1].next)
        if (p->means.at[i - 1].axis == axis && p->means.at[i - 1].n == n)
            return &p->means.at[i - 1];
    return NULL;
}

bool qdq_means_want(qdq_plan *p, qdq_map *index, const char *tensor, int axis, size_t n,
                    unsigned folds)
{
    qdq_plan_mean mean = {.axis = axis, .n = n, .rows = folds > 1 ? folds : 1};
    bool is_new;

    if (qdq_means_find(p, index, tensor, axis, n) != NULL)
        return true;
    mean.tensor = qdq_arena_strdup(&p->arena, tensor);
    mean.sum = qdq_arena_array(&p->arena, mean.rows * n + 1, sizeof *mean.sum);
    mean.count = qdq_arena_array(&p->arena, mean.rows * n + 1, sizeof *mean.count);
    mean.most = qdq_arena_array(&p->arena, mean.rows * n + 1, sizeof *mean.most);
    qdq_map_value *at = mean.tensor != NULL ? qdq_map_put(index, mean.tensor, &is_new) : NULL;
    if (at == NULL || mean.sum == NULL || mean.count == NULL || mean.most == NULL)
        return false;
    if (is_new)
        at->num = p->means.n;
    else
        mean.next = p->means.at[at->num].next;
    if (!QDQ_PUSH(&p->arena, &p->means, mean))
        return false;
    if (!is_new)
        p->means.at[at->num].next = p->means.n;
    return true;
}

qdq_status qdq_means_index(qdq_plan *p, qdq_map *index, qdq_error *err)
{
    for (size_t i = 0; i < p->means.n; i++)
        QDQ_NEED(qdq_map_set_first(index, p->means.at[i].tensor, i), err);
    return QDQ_OK;
}

bool qdq_means_missing(const qdq_plan *p, const char *tensor, const qdq_map *index)
{
    for (size_t i = first_of(index, tensor); i != 0; i = p->means.at[i - 1].next)
        if (!p->means.at[i - 1].known)
            return true;
    return false;
}

/* --- adding ----------------------------------------------------------------------------------- */

/* Channels side by side: a row is added to the sums of all. */
static void add_row(const float *x, size_t n, double *sum, uint64_t *count, float *most)
{
    for (size_t c = 0; c < n; c++) {
        const bool finite = isfinite(x[c]);
        const float value = finite ? x[c] : 0;

        sum[c] += (double)value;
        count[c] += finite;
        most[c] = fabsf(value) > most[c] ? fabsf(value) : most[c];
    }
}

/* One channel. Four sums that do not wait for each other. */
static void add_run(const float *x, size_t n, double *to_sum, uint64_t *to_count, float *most)
{
    double sum[4] = {0};
    uint64_t count = 0;

    for (size_t i = 0; i < n; i++) {
        const bool finite = isfinite(x[i]);
        const float value = finite ? x[i] : 0;

        sum[i % 4] += (double)value;
        count += finite;
        *most = fabsf(value) > *most ? fabsf(value) : *most;
    }
    *to_sum += (sum[0] + sum[1]) + (sum[2] + sum[3]);
    *to_count += count;
}

static qdq_status add_sample(qdq_plan_mean *m, unsigned fold, const qdq_array *a, qdq_error *err)
{
    const int axis = m->axis < 0 ? a->rank - 1 : m->axis;
    const size_t row = fold < m->rows ? fold : 0;
    double *sum = m->sum + row * m->n;
    uint64_t *count = m->count + row * m->n;
    float *most = m->most + row * m->n;
    size_t outer = 1, inner = 1;
    const float *x = a->data;

    if (a->elem != QDQ_FLOAT || axis < 0 || axis >= a->rank || (size_t)a->dim[axis] != m->n)
        return qdq_fail(err, QDQ_E_FORMAT, "tensor '%s': expected floats of %zu channels in dim %d",
                        m->tensor, m->n, axis);
    for (int i = 0; i < axis; i++)
        outer *= (size_t)a->dim[i];
    for (int i = axis + 1; i < a->rank; i++)
        inner *= (size_t)a->dim[i];
    for (size_t o = 0; o < outer && inner > 0; o++) {
        const float *part = x + o * m->n * inner;

        if (inner == 1)
            add_row(part, m->n, sum, count, most);
        for (size_t c = 0; c < m->n && inner > 1; c++)
            add_run(part + c * inner, inner, &sum[c], &count[c], &most[c]);
    }
    return QDQ_OK;
}

qdq_status qdq_means_add(qdq_plan *p, const qdq_map *index, const char *tensor, unsigned fold,
                         const qdq_array *a, qdq_error *err)
{
    for (size_t i = first_of(index, tensor); i != 0; i = p->means.at[i - 1].next)
        if (!p->means.at[i - 1].known)
            QDQ_TRY(add_sample(&p->means.at[i - 1], fold, a, err));
    return QDQ_OK;
}

void qdq_means_get(const qdq_plan_mean *m, size_t without, double *mean)
{
    for (size_t c = 0; c < m->n; c++) {
        double sum = 0;
        uint64_t count = 0;

        for (size_t row = 0; row < m->rows; row++)
            if (row != without) {
                sum += m->sum[row * m->n + c];
                count += m->count[row * m->n + c];
            }
        mean[c] = count > 0 ? sum / (double)count : 0;
    }
}
