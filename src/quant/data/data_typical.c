/* data_typical.c - which sample is run for its time, where lengths differ: neither the shortest nor
 * the longest tells what most runs take. */
#include <stdlib.h>

#include "base/fail.h"
#include "quant/data/data_source.h"

enum { MOST_LOOKED_AT = 64 };

typedef struct sized {
    int64_t elements;
    size_t sample;
} sized;

static int by_size(const void *a, const void *b)
{
    const sized *x = a, *y = b;

    if (x->elements != y->elements)
        return x->elements < y->elements ? -1 : 1;
    return x->sample < y->sample ? -1 : x->sample > y->sample;
}

/* States begin with what is fed back, so that all sequences begin alike. */
static bool may_differ(const qdq_data *d)
{
    if (d->is_random || d->n_states > 0)
        return false;
    for (size_t k = 0; k < d->n_inputs; k++) {
        if (d->inputs[k].rank < 0)
            return true;
        for (int i = 0; i < d->inputs[k].rank; i++)
            if (d->inputs[k].dim[i] < 0)
                return true;
    }
    return false;
}

static qdq_status measure_sizes(qdq_data *d, size_t first, size_t count, sized *sizes, size_t n,
                                qdq_error *err)
{
    for (size_t i = 0; i < n; i++) {
        const qdq_named_array *in;
        size_t n_in;

        sizes[i].sample = first + (size_t)((uint64_t)i * count / n);
        QDQ_TRY(qdq_job_poll(d->job, err));
        QDQ_TRY(qdq_data_get(d, sizes[i].sample, &in, &n_in, err));
        for (size_t k = 0; k < n_in; k++)
            sizes[i].elements += qdq_array_count(&in[k].array);
    }
    return QDQ_OK;
}

qdq_status qdq_data_find_typical(qdq_data *d, size_t first, size_t count, size_t *out,
                                 qdq_error *err)
{
    sized sizes[MOST_LOOKED_AT] = {{0, 0}};
    const size_t all = qdq_data_count(d);

    *out = first;
    if (first >= all)
        return qdq_fail(err, QDQ_E_USAGE, "sample %zu: there are %zu", first, all);
    if (count == 0 || count > all - first)
        count = all - first;
    if (count < 2 || !may_differ(d))
        return QDQ_OK;
    if (d->typical > 0 && d->typical_first == first && d->typical_count == count) {
        *out = d->typical - 1;
        return QDQ_OK;
    }
    const size_t n = count < MOST_LOOKED_AT ? count : MOST_LOOKED_AT;
    QDQ_TRY(measure_sizes(d, first, count, sizes, n, err));
    qsort(sizes, n, sizeof *sizes, by_size);
    /* of equal ones the first, as where all are */
    size_t middle = n / 2;
    while (middle > 0 && sizes[middle - 1].elements == sizes[middle].elements)
        middle--;
    *out = sizes[middle].sample;
    d->typical = *out + 1;
    d->typical_first = first;
    d->typical_count = count;
    return QDQ_OK;
}
