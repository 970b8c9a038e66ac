/* data_units.c - which samples belong together: those of a group, else those of a file. What is
 * estimated on samples says something of others only where none of their kind calibrated. */
#include <stdlib.h>

#include "base/fail.h"
#include "quant/data/data_source.h"
#include "quant/data/npz.h"

/* --- reading ---------------------------------------------------------------------------------- */

/* One number for a batch of several items. */
static qdq_status check_batch(const qdq_data *d, const int64_t *of, size_t batch, qdq_error *err)
{
    for (size_t i = 1; i < batch; i++)
        if (of[i] != of[0])
            return qdq_fail(err, QDQ_E_FORMAT,
                            "groups '%s': found %lld and %lld in one batch, expected one group",
                            d->groups_key, (long long)of[0], (long long)of[i]);
    return QDQ_OK;
}

qdq_status qdq_data_add_groups(qdq_data *d, qdq_npz *z, size_t array, size_t runs, size_t n,
                               qdq_error *err)
{
    const size_t batch = n > runs ? n / runs : 1, share = n < runs ? runs / n : 1;
    int64_t *read = calloc(n + 1, sizeof *read),
            *grown =
                read != NULL ? realloc(d->groups, (d->n_groups + runs + 1) * sizeof *grown) : NULL;

    if (grown != NULL)
        d->groups = grown;
    qdq_status st = qdq_allocated(grown != NULL, err);
    if (st == QDQ_OK)
        st = qdq_data_read_integers(z, array, n, read, err);
    for (size_t i = 0; i < runs && st == QDQ_OK; i++) {
        st = check_batch(d, read + i * batch / share, batch, err);
        d->groups[d->n_groups + i] = read[i * batch / share];
    }
    free(read);
    if (st == QDQ_OK)
        d->n_groups += runs;
    return st;
}

static qdq_status add_unit(qdq_data *d, size_t first, qdq_error *err)
{
    size_t *grown = realloc(d->unit, (d->n_units + 1) * sizeof *grown);

    QDQ_NEED(grown != NULL, err);
    d->unit = grown;
    d->unit[d->n_units++] = first;
    return QDQ_OK;
}

qdq_status qdq_data_begin_file(qdq_data *d, qdq_error *err)
{
    return add_unit(d, d->count, err);
}

/* --- units ------------------------------------------------------------------------------------ */

typedef struct member {
    int64_t group;
    /* the group's first sample */
    size_t sample, first;
} member;

static int by_group(const void *a, const void *b)
{
    const member *x = a, *y = b;

    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return x->sample < y->sample ? -1 : x->sample > y->sample;
}

static int by_first(const void *a, const void *b)
{
    const member *x = a, *y = b;

    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x->sample < y->sample ? -1 : x->sample > y->sample;
}

/* Groups in the order of their first samples. */
static qdq_status order_groups(qdq_data *d, member *m, qdq_error *err)
{
    for (size_t i = 0; i < d->count; i++) {
        const size_t run = i * d->steps;

        for (size_t k = 1; k < d->steps; k++)
            if (d->groups[run + k] != d->groups[run])
                return qdq_fail(err, QDQ_E_FORMAT,
                                "groups '%s': found %lld and %lld in sequence %zu, expected one "
                                "group",
                                d->groups_key, (long long)d->groups[run],
                                (long long)d->groups[run + k], i);
        m[i] = (member){d->groups[run], i, i};
    }
    qsort(m, d->count, sizeof *m, by_group);
    for (size_t i = 1; i < d->count; i++)
        if (m[i].group == m[i - 1].group)
            m[i].first = m[i - 1].first;
    qsort(m, d->count, sizeof *m, by_first);
    d->n_units = 0;
    for (size_t i = 0; i < d->count; i++) {
        d->order[i] = m[i].sample;
        if (i == 0 || m[i].first != m[i - 1].first)
            QDQ_TRY(add_unit(d, i, err));
    }
    return d->n_units >= 2
               ? QDQ_OK
               : qdq_fail(err, QDQ_E_FORMAT,
                          "groups '%s': found one group, expected at least 2 in %zu samples",
                          d->groups_key, d->count);
}

static qdq_status find_groups(qdq_data *d, qdq_error *err)
{
    if (d->groups == NULL || d->n_groups < d->count * d->steps)
        return qdq_fail(err, QDQ_E_USAGE, "%s: groups '%s' can only come from .npz files", d->spec,
                        d->groups_key);
    d->order = qdq_arena_array(&d->arena, d->count + 1, sizeof *d->order);
    QDQ_NEED(d->order != NULL, err);
    member *m = calloc(d->count + 1, sizeof *m);
    const qdq_status st = m != NULL ? order_groups(d, m, err) : qdq_nomem(err);
    free(m);
    return st == QDQ_OK ? st : qdq_within(err, st, "%s", d->spec);
}

qdq_status qdq_data_find_units(qdq_data *d, qdq_error *err)
{
    size_t n = 0;

    if (d->groups_key != NULL)
        return find_groups(d, err);
    /* of files: where a sequence lies in two, they belong together */
    for (size_t i = 0; i < d->n_units; i++)
        if (d->unit[i] % d->steps == 0 && d->unit[i] / d->steps < d->count &&
            (n == 0 || d->unit[i] / d->steps > d->unit[n - 1]))
            d->unit[n++] = d->unit[i] / d->steps;
    d->n_units = n;
    return QDQ_OK;
}

/* --- borders ---------------------------------------------------------------------------------- */

/* Of the first n samples. One file alone is no reason to have no folds. */
static size_t count_units(const qdq_data *d, size_t n)
{
    size_t units = 0;

    while (d != NULL && units < d->n_units && d->unit[units] < n)
        units++;
    return units < 2 && (d == NULL || d->order == NULL) ? 0 : units;
}

size_t qdq_data_most_folds(const qdq_data *d, size_t n)
{
    const size_t units = count_units(d, n);

    return units > 0 ? units : n;
}

/* The unit in [low, high] whose beginning is next to a sample. */
static size_t next_unit(const qdq_data *d, size_t at, size_t low, size_t high)
{
    size_t best = low;

    for (size_t i = low; i <= high; i++) {
        const size_t a = d->unit[i] > at ? d->unit[i] - at : at - d->unit[i],
                     b = d->unit[best] > at ? d->unit[best] - at : at - d->unit[best];
        if (a < b)
            best = i;
    }
    return best;
}

size_t qdq_data_fold_first(const qdq_data *d, size_t fold, size_t n_folds, size_t n)
{
    const size_t units = count_units(d, n);
    size_t at = 0;

    if (units < n_folds || fold == 0 || fold >= n_folds)
        return fold * n / n_folds;
    for (size_t k = 1; k <= fold; k++) /* each fold has a unit, and so have those behind it */
        at = next_unit(d, k * n / n_folds, at + 1, units - (n_folds - k));
    return d->unit[at];
}

size_t qdq_data_group_border(const qdq_data *d, size_t at)
{
    return d != NULL && d->order != NULL ? d->unit[next_unit(d, at, 1, d->n_units - 1)] : at;
}
