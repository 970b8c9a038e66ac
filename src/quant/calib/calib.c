/* calib.c - runs samples through an engine, and computes the scales of planned tensors. Tensors
 * are observed in chunks: one instrumented session holds as many outputs as the memory bound
 * allows, since an engine keeps every declared output until the run is over. A bound that no two
 * tensors fit into means a run for each tensor; the scales are the same. */
#include "quant/calib/calib.h"

#include "base/fail.h"
#include "quant/calib/calib_cache.h"
#include "quant/calib/calib_folds.h"
#include "quant/calib/calib_means.h"
#include "quant/calib/calib_seen.h"
#include "quant/calib/calib_state.h"
#include "quant/calib/calib_statistics.h"
#include "quant/calib/sweep.h"
#include "quant/data/data_source.h"

#define DEFAULT_PERCENTILE 99.999
/* of this many samples one evaluates, where a method is chosen */
#define HOLD_BACK 8

/* --- what to observe -------------------------------------------------------------------------- */

qdq_calib_slot *qdq_calib_find(const qdq_calibration *c, const char *tensor)
{
    const qdq_map_value *v = qdq_map_get(&c->by_name, tensor);

    return v != NULL ? &c->slots.at[v->num] : NULL;
}

/* Of a smoothed tensor no value is clipped, unless the caller chose a method: what its channels
 * have in common is not their size, but what they do to products. */
static bool is_whole(const qdq_calibration *c, const char *tensor)
{
    const qdq_plan *p = c->q->plan;

    for (size_t i = 0; i < p->smoothings.n && c->q->opts->method == QDQ_METHOD_DEFAULT; i++)
        if (strcmp(p->smoothings.at[i].smoothed, tensor) == 0)
            return true;
    return false;
}

/* Adds a slot, unless its tensor has one. */
static qdq_status add_slot(qdq_calibration *c, const char *name, qdq_elem type,
                           const qdq_format *form, bool watched, qdq_error *err)
{
    qdq_calib_slot slot = {.name = name,
                           .type = type,
                           .form = form,
                           .method = is_whole(c, name) ? QDQ_METHOD_MAX : c->method,
                           .leader = c->slots.n,
                           .watched = watched};

    return qdq_allocated(qdq_map_get(&c->by_name, name) != NULL ||
                             (QDQ_PUSH(&c->scratch, &c->slots, slot) &&
                              qdq_map_set_num(&c->by_name, name, c->slots.n - 1)),
                         err);
}

/* The first member of a group leads it. */
static qdq_status add_entry(qdq_calibration *c, qdq_map *groups, const qdq_plan_tensor *t,
                            qdq_error *err)
{
    const char *name = t->like != NULL ? t->like : t->tensor;

    QDQ_TRY(add_slot(c, name, qdq_plan_asked(t), t->form, false, err));
    if (t->n_without > 0) { /* such a tensor has one entry, and its own range */
        qdq_calib_slot *s = qdq_calib_find(c, name);

        s->without = t->without;
        s->n_without = t->n_without;
    }
    if (t->group == NULL || t->like != NULL)
        return QDQ_OK;
    const uint64_t slot = qdq_map_get(&c->by_name, name)->num;
    QDQ_NEED(qdq_map_set_first(groups, t->group, slot), err);
    c->slots.at[slot].leader = qdq_map_get(groups, t->group)->num;
    return QDQ_OK;
}

static qdq_status add_slots(qdq_calibration *c, qdq_error *err)
{
    qdq_map groups = QDQ_MAP_INIT;
    qdq_status st = QDQ_OK;

    for (size_t i = 0; i < c->q->plan->tensors.n && st == QDQ_OK; i++)
        if (!c->q->plan->tensors.at[i].known)
            st = add_entry(c, &groups, &c->q->plan->tensors.at[i], err);
    for (size_t i = 0; i < c->q->plan->joins.n; i++)
        for (size_t k = 0; k < c->q->plan->joins.at[i].n_operands && st == QDQ_OK; k++)
            if (!c->q->plan->joins.at[i].known)
                st = add_slot(c, c->q->plan->joins.at[i].operands[k],
                              c->q->target->format.activation.type, NULL, true, err);
    qdq_map_free(&groups);
    return st;
}

/* Names that the model does not have were renamed, or are another model's. */
static void warn_of_unknown(const qdq_calibration *c, const qdq_cache *cache)
{
    const char *first = NULL;
    size_t n = 0;

    for (size_t i = 0; i < cache->ranges.n; i++) {
        const char *name = cache->ranges.at[i].tensor;
        if (qdq_graph_find(c->q->m->graph, name) != NULL)
            continue;
        first = n++ == 0 ? name : first;
    }
    if (n > 0)
        qdq_job_log(c->q->opts->job, QDQ_LOG_WARNING,
                    "%s: %zu of %zu tensors are not in the model, as '%s'", c->q->opts->cache, n,
                    cache->ranges.n, first);
}

static qdq_status use_cache(qdq_calibration *c, qdq_error *err)
{
    qdq_cache cache = {0};
    size_t found = 0;

    if (c->q->opts->cache == NULL || c->q->statistics != NULL)
        return QDQ_OK;
    qdq_status st = qdq_cache_read(c->q->opts->cache, &cache, err);
    for (size_t i = 0; i < cache.ranges.n && st == QDQ_OK; i++) {
        qdq_calib_slot *s = qdq_calib_find(c, cache.ranges.at[i].tensor);
        if (s == NULL)
            continue;
        s->cached = true;
        s->range = cache.ranges.at[i].range;
        found++;
    }
    if (st == QDQ_OK) {
        warn_of_unknown(c, &cache);
        qdq_job_log(c->q->opts->job, QDQ_LOG_INFO, "%s: ranges of %zu of %zu tensors",
                    c->q->opts->cache, found, c->slots.n);
    }
    qdq_cache_free(&cache);
    return st;
}

static qdq_status add_observers(qdq_calibration *c, qdq_error *err)
{
    for (size_t i = 0; i < c->slots.n; i++) {
        if (c->slots.at[i].cached)
            continue;
        c->slots.at[i].observer = qdq_observer_new(c->slots.at[i].method, c->percentile);
        QDQ_NEED(c->slots.at[i].observer != NULL && qdq_calib_begin_folds(c, &c->slots.at[i]), err);
        QDQ_TRY(qdq_calib_take_seen(c, &c->slots.at[i], err));
    }
    return QDQ_OK;
}

/* Constants need no engine. */
static qdq_status observe_constants(qdq_calibration *c, qdq_error *err)
{
    for (size_t i = 0; i < c->slots.n; i++) {
        qdq_calib_slot *s = &c->slots.at[i];
        const qdq_value *v = qdq_graph_find(c->q->m->graph, s->name);
        const qdq_tensor *t = qdq_value_const(v);
        qdq_arena_mark mark = qdq_arena_get_mark(&c->scratch);
        float *x;

        if (v == NULL)
            return qdq_fail(err, QDQ_E_FORMAT, "tensor '%s' is not in the model", s->name);
        if (t == NULL || s->observer == NULL || s->seen)
            continue;
        qdq_calib_free_folds(c, s);
        QDQ_TRY(qdq_tensor_floats(t, &c->scratch, &x, err));
        QDQ_NEED(qdq_observer_add(s->observer, x, (size_t)t->count), err);
        qdq_arena_reset(&c->scratch, mark);
    }
    return QDQ_OK;
}

/* Statistics take the place of runs, for all tensors that a run would show. */
static qdq_status restore_observers(qdq_calibration *c, qdq_error *err)
{
    const qdq_statistics *from = c->q->statistics;

    for (size_t i = 0; i < c->slots.n; i++) {
        qdq_calib_slot *s = &c->slots.at[i];
        const qdq_seen_tensor *seen = qdq_statistics_find(from, s->name);

        if (s->observer == NULL || qdq_value_const(qdq_graph_find(c->q->m->graph, s->name)) != NULL)
            continue;
        if (seen == NULL)
            return qdq_fail(err, QDQ_E_FORMAT, "%s: no statistics of tensor '%s'", from->name,
                            s->name);
        qdq_statistics_restore(from, seen, s->method, s->observer);
    }
    return QDQ_OK;
}

/* --- running ---------------------------------------------------------------------------------- */

/* *x becomes a copy of the *n values of a, without the channels that are not observed. */
static qdq_status drop_channels(qdq_calibration *c, const qdq_calib_slot *s, const qdq_array *a,
                                const float **x, size_t *n, qdq_error *err)
{
    const size_t row = a->rank > 0 ? (size_t)a->dim[a->rank - 1] : 0;
    float *kept = qdq_arena_array(&c->scratch, *n + 1, sizeof *kept);
    size_t n_kept = 0;

    QDQ_NEED(kept != NULL, err);
    if (*n > 0 && row <= (size_t)s->without[s->n_without - 1])
        return qdq_fail(err, QDQ_E_FORMAT,
                        "tensor '%s': %zu channels in a sample, expected one with number %lld",
                        s->name, row, (long long)s->without[s->n_without - 1]);
    for (size_t at = 0; at < *n; at += row)
        for (size_t k = 0, next = 0; k < row; k++)
            if (next < s->n_without && (size_t)s->without[next] == k)
                next++;
            else
                kept[n_kept++] = (*x)[at + k];
    *x = kept;
    *n = n_kept;
    return QDQ_OK;
}

static qdq_status observe_array(void *ctx, size_t sample, const char *name, const qdq_array *a,
                                qdq_error *err)
{
    qdq_calibration *c = ctx;
    qdq_calib_slot *s = qdq_calib_find(c, name);
    size_t n = (size_t)qdq_array_count(a);

    QDQ_TRY(qdq_means_add(c->q->plan, &c->means, name, qdq_calib_fold_of(c, sample), a, err));
    if (s == NULL || s->observer == NULL || s->seen)
        return QDQ_OK;
    if (a->elem != QDQ_FLOAT)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "tensor '%s': %s, expected float", name,
                        qdq_elem_name(a->elem));
    const qdq_arena_mark mark = qdq_arena_get_mark(&c->scratch);
    const float *x = a->data;

    if (s->n_without > 0)
        QDQ_TRY(drop_channels(c, s, a, &x, &n, err));
    QDQ_NEED(qdq_calib_observe(c, s, sample, x, n), err);
    qdq_arena_reset(&c->scratch, mark);
    return QDQ_OK;
}

/* First those whose range is asked for, then those whose mean alone is; NULL: nothing is asked of
 * this one. */
static const char *name_to_observe(const qdq_calibration *c, size_t i)
{
    if (i < c->slots.n)
        return c->slots.at[i].observer != NULL && !c->slots.at[i].seen ? c->slots.at[i].name : NULL;
    const size_t mean = i - c->slots.n;
    const char *name = c->q->plan->means.at[mean].tensor;
    const qdq_calib_slot *s = qdq_calib_find(c, name);
    bool is_first = qdq_map_get(&c->means, name)->num == mean;

    return is_first && qdq_means_missing(c->q->plan, name, &c->means) &&
                   (s == NULL || s->observer == NULL || s->seen)
               ? name
               : NULL;
}

/* The values that only a run shows, then NULL; NULL: out of memory. */
static const qdq_value **values_to_observe(qdq_calibration *c)
{
    const size_t most = c->slots.n + c->q->plan->means.n;
    const qdq_value **values = qdq_arena_array(&c->scratch, most + 1, sizeof *values);
    size_t n = 0;

    for (size_t i = 0; i < most && values != NULL; i++) {
        const char *name = name_to_observe(c, i);
        const qdq_value *v = name != NULL ? qdq_graph_find(c->q->m->graph, name) : NULL;

        if (v != NULL && v->producer != NULL && qdq_value_const(v) == NULL)
            values[n++] = v;
    }
    return values;
}

static bool all_known(const qdq_calibration *c)
{
    for (size_t i = 0; i < c->slots.n; i++)
        if (!c->slots.at[i].cached && !c->slots.at[i].seen)
            return false;
    for (size_t i = 0; i < c->q->plan->means.n; i++)
        if (!c->q->plan->means.at[i].known)
            return false;
    return true;
}

static qdq_status observe_all(qdq_calibration *c, qdq_error *err)
{
    QDQ_TRY(add_observers(c, err));
    QDQ_TRY(observe_constants(c, err));
    if (all_known(c)) /* all that is asked for is there */
        return QDQ_OK;
    if (c->q->statistics != NULL)
        return restore_observers(c, err);
    const qdq_value **values = values_to_observe(c);
    return values != NULL ? qdq_sweep(c->q, "calibrate", values, observe_array, c, err)
                          : qdq_nomem(err);
}

size_t qdq_calib_fit_count(qdq_method method, size_t n)
{
    if (method != QDQ_METHOD_AUTO || n < 2)
        return n;
    return n - (n > HOLD_BACK ? n / HOLD_BACK : 1);
}

static void choose_method(qdq_calibration *c)
{
    const qdq_quantize_opts *o = c->q->opts;
    const unsigned folds = c->q->basis.folds;

    c->method = o->method != QDQ_METHOD_DEFAULT ? o->method : c->q->target->method;
    c->percentile = o->percentile > 0 ? o->percentile : DEFAULT_PERCENTILE;
    c->n_samples =
        c->q->statistics != NULL ? c->q->statistics->summary.n_samples : qdq_sweep_count(c->q);
    c->n_folds = folds < 2 || c->n_samples < 2 || c->q->statistics != NULL ? 0 : folds;
    const size_t most = c->n_folds > 0 ? qdq_data_most_folds(c->q->data, c->n_samples) : 0;
    if (c->n_folds > most)
        c->n_folds = most < 2 ? 0 : (unsigned)most;
    c->q->plan->n_folds = c->n_folds;
    c->n_fit = qdq_calib_fit_count(c->method, c->n_samples);
}

qdq_status qdq_calibrate(const qdq_quantizing *q, qdq_calib_names *empty, qdq_error *err)
{
    qdq_calibration c = {.q = q};

    choose_method(&c);
    qdq_status st = add_slots(&c, err);
    if (st == QDQ_OK)
        st = qdq_means_index(q->plan, &c.means, err);
    if (st == QDQ_OK)
        st = use_cache(&c, err);
    if (st == QDQ_OK)
        st = observe_all(&c, err);
    if (st == QDQ_OK)
        st = qdq_calib_keep_seen(&c, err);
    if (st == QDQ_OK)
        st = qdq_calib_close_folds(&c, err);
    if (st == QDQ_OK)
        st = qdq_calib_scales(&c, empty, err);
    for (size_t i = 0; i < c.slots.n; i++) {
        qdq_calib_free_folds(&c, &c.slots.at[i]);
        qdq_observer_free(c.slots.at[i].observer);
    }
    qdq_map_free(&c.by_name);
    qdq_map_free(&c.means);
    qdq_arena_free(&c.scratch);
    return st;
}
