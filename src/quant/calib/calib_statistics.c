/* calib_statistics.c - statistics in memory: their forms, their order, and observers from them. */
#include "quant/calib/calib_statistics.h"

#include <stdlib.h>
#include <string.h>

qdq_statistics *qdq_statistics_new(void)
{
    qdq_statistics *s = calloc(1, sizeof *s);

    if (s != NULL)
        s->name = "";
    return s;
}

void qdq_statistics_free(qdq_statistics *s)
{
    if (s == NULL)
        return;
    qdq_map_free(&s->by_name);
    qdq_arena_free(&s->arena);
    free(s);
}

const qdq_statistics_summary *qdq_statistics_get_summary(const qdq_statistics *s)
{
    return &s->summary;
}

bool qdq_method_has_histogram(qdq_method m)
{
    return m == QDQ_METHOD_ENTROPY || m == QDQ_METHOD_PERCENTILE || m == QDQ_METHOD_MSE ||
           m == QDQ_METHOD_AUTO;
}

/* --- order ------------------------------------------------------------------------------------ */

static int by_name(const void *a, const void *b)
{
    const qdq_seen_tensor *x = a, *y = b;

    return strcmp(x->name, y->name);
}

static int by_hash(const void *a, const void *b)
{
    const qdq_sample_source *x = a, *y = b;

    return strcmp(x->hash, y->hash);
}

static void count_samples(qdq_statistics *s)
{
    uint64_t taken = 0, limit = 0;

    for (size_t i = 0; i < s->sources.n; i++) {
        const qdq_sample_source *from = &s->sources.at[i];

        limit += from->limit;
        for (size_t k = 0; k < from->taken.n; k++)
            taken += from->taken.at[k].last - from->taken.at[k].first + 1;
    }
    s->summary.n_samples = (size_t)taken;
    s->summary.n_missing = (size_t)(limit - taken);
    s->summary.n_sources = s->sources.n;
    s->summary.n_tensors = s->tensors.n;
}

bool qdq_statistics_finish(qdq_statistics *s)
{
    if (s->tensors.n > 1)
        qsort(s->tensors.at, s->tensors.n, sizeof *s->tensors.at, by_name);
    if (s->sources.n > 1)
        qsort(s->sources.at, s->sources.n, sizeof *s->sources.at, by_hash);
    count_samples(s);
    for (size_t i = 0; i < s->tensors.n; i++)
        if (!qdq_map_set_num(&s->by_name, s->tensors.at[i].name, i))
            return false;
    return true;
}

const qdq_seen_tensor *qdq_statistics_find(const qdq_statistics *s, const char *tensor)
{
    const qdq_map_value *at = qdq_map_get(&s->by_name, tensor);

    return at != NULL ? &s->tensors.at[at->num] : NULL;
}

/* --- histograms ------------------------------------------------------------------------------- */

bool qdq_seen_from_histogram(qdq_arena *arena, const qdq_histogram *h, qdq_seen_values *out)
{
    size_t n = 0;

    *out = (qdq_seen_values){.count = h->count,
                             .n_nonfinite = h->n_nonfinite,
                             .low = h->count > 0 ? h->low : 0,
                             .high = h->count > 0 ? h->high : 0,
                             .zeros = qdq_histogram_zeros(h)};
    for (size_t i = 0; i < QDQ_HISTOGRAM_BINS; i++)
        n += h->bin[i] != 0;
    out->bins.index = qdq_arena_array(arena, n + 1, sizeof *out->bins.index);
    out->bins.value = qdq_arena_array(arena, n + 1, sizeof *out->bins.value);
    if (out->bins.index == NULL || out->bins.value == NULL)
        return false;
    for (size_t i = 0; i < QDQ_HISTOGRAM_BINS; i++) {
        if (h->bin[i] == 0)
            continue;
        out->bins.index[out->bins.n] = i;
        out->bins.value[out->bins.n++] = h->bin[i];
    }
    return true;
}

void qdq_seen_to_histogram(const qdq_seen_values *v, qdq_histogram *out)
{
    qdq_histogram_init(out);
    out->n_nonfinite = v->n_nonfinite;
    if (v->count == 0)
        return;
    out->count = v->count;
    out->low = v->low;
    out->high = v->high;
    out->exponent = qdq_histogram_exponent(v->low, v->high);
    out->bin[QDQ_HISTOGRAM_BINS] = v->zeros;
    for (size_t i = 0; i < v->bins.n; i++)
        out->bin[v->bins.index[i]] = v->bins.value[i];
}

/* --- bounds ----------------------------------------------------------------------------------- */

uint64_t qdq_pack_bounds(float low, float high)
{
    uint32_t a, b;

    memcpy(&a, &low, sizeof a);
    memcpy(&b, &high, sizeof b);
    return ((uint64_t)a << 32 | b) + 1;
}

void qdq_unpack_bounds(uint64_t bits, float *low, float *high)
{
    const uint32_t a = (uint32_t)((bits - 1) >> 32), b = (uint32_t)(bits - 1);

    memcpy(low, &a, sizeof a);
    memcpy(high, &b, sizeof b);
}

/* --- observers -------------------------------------------------------------------------------- */

static void restore_histogram(const qdq_seen_values *v, qdq_histogram *h)
{
    if (h != NULL)
        qdq_seen_to_histogram(v, h);
}

static void restore_bounds(const qdq_seen_values *v, qdq_observer *o)
{
    qdq_observer_add_nonfinite(o, v->n_nonfinite);
    if (v->count > 0)
        qdq_observer_add_bounds(o, (double)v->low, (double)v->high);
}

void qdq_statistics_restore(const qdq_statistics *s, const qdq_seen_tensor *t, qdq_method method,
                            qdq_observer *o)
{
    if (qdq_method_has_histogram(method)) {
        restore_histogram(&t->all, qdq_observer_histogram(o, false));
        restore_histogram(&t->held_out, qdq_observer_histogram(o, true));
        return;
    }
    if (method != QDQ_METHOD_MOVING_AVERAGE || s->summary.method != method) {
        restore_bounds(&t->all, o);
        restore_bounds(&t->held_out, o);
        return;
    }
    qdq_observer_add_nonfinite(o, t->all.n_nonfinite);
    for (size_t i = 0; i < t->bounds.n; i++) {
        float low, high;

        qdq_unpack_bounds(t->bounds.value[i], &low, &high);
        qdq_observer_add_bounds(o, (double)low, (double)high);
    }
}
