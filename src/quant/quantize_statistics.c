/* quantize_statistics.c - statistics of some samples (calib_statistics.h): collected in place of a
 * plan, and used in place of samples. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/fail.h"
#include "base/opts.h"
#include "base/sha256.h"
#include "quant/calib/calib_state.h"
#include "quant/calib/calib_statistics.h"
#include "quant/calib/sweep.h"
#include "quant/data/data_source.h"
#include "quant/plan/fingerprint.h"
#include "quant/quantize_steps.h"
#include "quant/target_fit.h"

/* --- in place of samples ---------------------------------------------------------------------- */

static qdq_method method_of(const qdq_quantizing *q)
{
    return q->opts->method != QDQ_METHOD_DEFAULT ? q->opts->method : q->target->method;
}

static qdq_status check_equal(const char *file, const char *what, const char *theirs,
                              const char *ours, qdq_error *err)
{
    if (strcmp(theirs, ours) == 0)
        return QDQ_OK;
    return qdq_fail(err, QDQ_E_USAGE, "%s: statistics for %s %s, expected %s", file, what, theirs,
                    ours);
}

static qdq_status check_head(const qdq_quantizing *q, const qdq_target *given,
                             const qdq_statistics *s, qdq_error *err)
{
    const qdq_statistics_summary *head = &s->summary;
    qdq_arena scratch = QDQ_ARENA_INIT;
    const char *cleaned;
    char sha256[65];

    QDQ_TRY(check_equal(s->name, "the model", head->model, q->plan->model, err));
    QDQ_TRY(check_equal(s->name, "target", head->target, q->target->name, err));
    qdq_sha256_text(given->text, sha256);
    QDQ_TRY(check_equal(s->name, "a target with SHA-256", head->target_sha256, sha256, err));
    QDQ_TRY(check_equal(s->name, "method", qdq_method_name(head->method),
                        qdq_method_name(method_of(q)), err));
    qdq_status st = qdq_model_fingerprint(q->m, q->opts->job, &scratch, &cleaned, err);
    if (st == QDQ_OK && strcmp(cleaned, s->cleaned) != 0)
        st = qdq_fail(err, QDQ_E_USAGE,
                      "%s: statistics of the model cleaned to %s, expected %s: by the same passes "
                      "and shapes",
                      s->name, s->cleaned, cleaned);
    qdq_arena_free(&scratch);
    return st;
}

static qdq_status check_needs(const qdq_quantizing *q, const qdq_statistics *s, qdq_error *err)
{
    const char *what =
        q->opts->bias_correction == QDQ_BIAS_CORRECTION_ON ? "the correction of biases"
        : q->opts->float_channels == QDQ_FLOAT_CHANNELS_ON ? "the choice of float channels"
        : q->opts->smooth == QDQ_SMOOTH_ON                 ? "smoothing"
        : qdq_target_rounds_by_samples(q->target)          ? "rounding weights by AWQ or GPTQ"
                                                           : NULL;

    if (what != NULL)
        return qdq_fail(err, QDQ_E_USAGE,
                        "%s: statistics without samples, but %s needs samples; expected --calib "
                        "without this cache",
                        s->name, what);
    if (s->summary.n_missing > 0)
        qdq_job_log(q->opts->job, QDQ_LOG_WARNING,
                    "%s: %zu of %zu samples are missing: ranges are those of the others", s->name,
                    s->summary.n_missing, s->summary.n_missing + s->summary.n_samples);
    if (qdq_model_has_bodies(q->m))
        qdq_job_log(q->opts->job, QDQ_LOG_WARNING,
                    "%s: no statistics of subgraphs: nodes inside If, Loop and Scan stay float",
                    s->name);
    qdq_job_log(q->opts->job, QDQ_LOG_INFO, "%s: statistics of %zu samples", s->name,
                s->summary.n_samples);
    return QDQ_OK;
}

qdq_status qdq_statistics_open(qdq_quantizing *q, const qdq_target *given, qdq_statistics **out,
                               qdq_error *err)
{
    bool is_statistics = false;

    *out = NULL;
    if (q->opts->cache != NULL)
        QDQ_TRY(qdq_statistics_is_file(q->opts->cache, &is_statistics, err));
    if (!is_statistics)
        return QDQ_OK;
    QDQ_TRY(qdq_statistics_load(q->opts->cache, out, err));
    q->statistics = *out;
    QDQ_TRY(check_head(q, given, *out, err));
    return check_needs(q, *out, err);
}

/* --- collecting: what a tensor holds ---------------------------------------------------------- */

typedef struct run_bounds {
    uint64_t run, bounds;
} run_bounds;

/* A tensor, while samples run. */
typedef struct collected {
    const char *name;
    /* of methods with histograms; the second one by QDQ_METHOD_AUTO alone */
    qdq_histogram *all, *held_out;
    /* of other methods */
    qdq_seen_values seen;
    /* of moving-average */
    QDQ_VEC(run_bounds) runs;
    /* the sample that was shown last, and its number of steps so far */
    size_t sample;
    uint64_t step;
} collected;

typedef struct collecting {
    qdq_quantizing q;
    qdq_statistics *s;
    qdq_arena scratch;
    QDQ_VEC(collected) tensors;
    qdq_map by_name;
    /* samples from this number on are held out */
    size_t n_fit;
} collecting;

static bool is_observed(const qdq_value *v)
{
    return !v->dead && v->type != NULL && v->type->elem == QDQ_FLOAT &&
           qdq_value_const(v) == NULL && (v->producer != NULL || (v->is_input && v->init == NULL));
}

static qdq_status new_histogram(qdq_histogram **out, qdq_error *err)
{
    *out = malloc(sizeof **out);
    QDQ_NEED(*out != NULL, err);
    qdq_histogram_init(*out);
    return QDQ_OK;
}

static qdq_status add_tensor(collecting *c, const qdq_value *v, qdq_error *err)
{
    const qdq_method m = c->s->summary.method;
    const collected empty = {.name = v->name, .sample = SIZE_MAX};

    QDQ_NEED(QDQ_PUSH(&c->scratch, &c->tensors, empty) &&
                 qdq_map_set_num(&c->by_name, v->name, c->tensors.n - 1),
             err);
    collected *t = &c->tensors.at[c->tensors.n - 1];
    if (qdq_method_has_histogram(m))
        QDQ_TRY(new_histogram(&t->all, err));
    return m == QDQ_METHOD_AUTO ? new_histogram(&t->held_out, err) : QDQ_OK;
}

/* *values: those that only a run shows, then NULL. */
static qdq_status add_tensors(collecting *c, const qdq_value ***values, qdq_error *err)
{
    const qdq_graph *g = c->q.m->graph;
    size_t n = 0;

    *values = qdq_arena_array(&c->scratch, g->values.n + 1, sizeof **values);
    QDQ_NEED(*values != NULL, err);
    for (size_t i = 0; i < g->values.n; i++) {
        const qdq_value *v = g->values.at[i];

        if (!is_observed(v))
            continue;
        QDQ_TRY(add_tensor(c, v, err));
        if (v->producer != NULL)
            (*values)[n++] = v;
    }
    return QDQ_OK;
}

static qdq_status add_bounds(collecting *c, collected *t, const float *x, size_t n, qdq_error *err)
{
    qdq_seen_values *v = &t->seen;
    float low, high;
    uint64_t bad;
    const bool any = qdq_minmax(x, n, &low, &high, &bad);

    v->n_nonfinite += bad;
    if (!any)
        return QDQ_OK;
    low += 0.0F; /* -0 becomes 0 */
    high += 0.0F;
    v->low = v->count == 0 || low < v->low ? low : v->low;
    v->high = v->count == 0 || high > v->high ? high : v->high;
    v->count += n - bad;
    if (c->s->summary.method != QDQ_METHOD_MOVING_AVERAGE)
        return QDQ_OK;
    const run_bounds r = {t->sample * qdq_data_steps(c->q.data) + t->step,
                          qdq_pack_bounds(low, high)};
    return qdq_allocated(QDQ_PUSH(&c->scratch, &t->runs, r), err);
}

static qdq_status collect_array(void *ctx, size_t sample, const char *name, const qdq_array *a,
                                qdq_error *err)
{
    collecting *c = ctx;
    const qdq_map_value *at = qdq_map_get(&c->by_name, name);
    const size_t n = (size_t)qdq_array_count(a);

    if (at == NULL)
        return QDQ_OK;
    if (a->elem != QDQ_FLOAT)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "tensor '%s': %s, expected float", name,
                        qdq_elem_name(a->elem));
    collected *t = &c->tensors.at[at->num];
    t->step = t->sample == sample ? t->step + 1 : 0;
    t->sample = sample;
    if (t->all == NULL)
        return add_bounds(c, t, a->data, n, err);
    qdq_histogram_add(sample >= c->n_fit ? t->held_out : t->all, a->data, n);
    return QDQ_OK;
}

/* --- collecting: which samples ---------------------------------------------------------------- */

static void hash_number(XXH3_state_t *h, uint64_t x)
{
    XXH3_128bits_update(h, &x, sizeof x);
}

static qdq_status hash_sample(qdq_data *data, size_t sample, XXH3_state_t *h, qdq_error *err)
{
    for (size_t step = 0; step < qdq_data_steps(data); step++) {
        const qdq_named_array *in;
        size_t n;

        QDQ_TRY(qdq_data_get_step(data, sample, step, &in, &n, err));
        for (size_t i = 0; i < n; i++) {
            const qdq_array *a = &in[i].array;

            hash_number(h, a->elem);
            hash_number(h, (uint64_t)a->rank);
            for (int k = 0; k < a->rank; k++)
                hash_number(h, (uint64_t)a->dim[k]);
            XXH3_128bits_update(h, a->data, a->bytes);
        }
    }
    return QDQ_OK;
}

static qdq_status hash_samples(const collecting *c, XXH3_state_t *h, qdq_error *err)
{
    enum { HASHED = 8 };
    qdq_data *data = c->q.data;
    const size_t count = qdq_data_count(data), n = count < HASHED ? count : HASHED;

    XXH3_128bits_reset(h);
    hash_number(h, count);
    hash_number(h, qdq_data_steps(data));
    for (size_t i = 0; i < n; i++) {
        QDQ_TRY(qdq_job_poll(c->q.opts->job, err));
        QDQ_TRY(hash_sample(data, n > 1 ? i * (count - 1) / (n - 1) : 0, h, err));
    }
    return QDQ_OK;
}

static qdq_status find_hash(const collecting *c, const char **out, qdq_error *err)
{
    XXH3_state_t *h = XXH3_createState();
    qdq_status st = h != NULL ? hash_samples(c, h, err) : qdq_nomem(err);

    if (st == QDQ_OK) {
        const XXH128_hash_t hash = XXH3_128bits_digest(h);

        *out = qdq_arena_printf(&c->s->arena, "%016llx%016llx", (unsigned long long)hash.high64,
                                (unsigned long long)hash.low64);
        st = qdq_allocated(*out != NULL, err);
    }
    XXH3_freeState(h);
    return st;
}

static qdq_status choose_samples(collecting *c, const qdq_calibrate_opts *o, qdq_error *err)
{
    const size_t count = qdq_sweep_count(&c->q), stride = o->n_parts > 0 ? o->n_parts : 1;
    qdq_sample_source from = {
        .count = qdq_data_count(c->q.data), .limit = count, .steps = qdq_data_steps(c->q.data)};

    c->q.stride = stride;
    c->q.first = o->n_parts > 0 ? o->part - 1 : 0;
    c->n_fit = qdq_calib_fit_count(c->s->summary.method, count);
    if (c->q.first >= count)
        return qdq_fail(err, QDQ_E_USAGE,
                        "part %zu of %zu: no sample, as there are %zu; expected fewer parts",
                        o->part, o->n_parts, count);
    QDQ_TRY(find_hash(c, &from.hash, err));
    for (size_t i = c->q.first; i < count; i += stride) {
        const qdq_sample_range one = {i, i, ""}, all = {0, count - 1, ""};

        QDQ_NEED(QDQ_PUSH(&c->s->arena, &from.taken, stride == 1 ? all : one), err);
        if (stride == 1)
            break;
    }
    return qdq_allocated(QDQ_PUSH(&c->s->arena, &c->s->sources, from), err);
}

/* --- collecting: all of it -------------------------------------------------------------------- */

static qdq_status fill_head(collecting *c, const qdq_target *given, qdq_error *err)
{
    qdq_statistics *s = c->s;
    char sha256[65];

    s->summary.method = method_of(&c->q);
    if (s->summary.method == QDQ_METHOD_ENTROPY_COMPAT)
        return qdq_fail(err, QDQ_E_USAGE,
                        "method entropy-compat: its bins depend on the first sample, so that "
                        "parts do not merge; expected entropy or another method");
    qdq_sha256_text(given->text, sha256);
    s->summary.model = qdq_arena_strdup(&s->arena, c->q.plan->model);
    s->summary.target = qdq_arena_strdup(&s->arena, given->name);
    s->summary.target_sha256 = qdq_arena_strdup(&s->arena, sha256);
    QDQ_NEED(s->summary.model != NULL && s->summary.target != NULL &&
                 s->summary.target_sha256 != NULL,
             err);
    return qdq_model_fingerprint(c->q.m, c->q.opts->job, &s->arena, &s->cleaned, err);
}

static qdq_status keep_runs(qdq_arena *arena, const collected *t, qdq_counts *out, qdq_error *err)
{
    out->index = qdq_arena_array(arena, t->runs.n + 1, sizeof *out->index);
    out->value = qdq_arena_array(arena, t->runs.n + 1, sizeof *out->value);
    QDQ_NEED(out->index != NULL && out->value != NULL, err);
    for (; out->n < t->runs.n; out->n++) {
        out->index[out->n] = t->runs.at[out->n].run;
        out->value[out->n] = t->runs.at[out->n].bounds;
    }
    return QDQ_OK;
}

static qdq_status keep_tensors(collecting *c, qdq_error *err)
{
    qdq_arena *arena = &c->s->arena;

    for (size_t i = 0; i < c->tensors.n; i++) {
        const collected *t = &c->tensors.at[i];
        qdq_seen_tensor seen = {.name = qdq_arena_strdup(arena, t->name), .all = t->seen};

        QDQ_NEED(seen.name != NULL, err);
        QDQ_NEED(t->all == NULL || qdq_seen_from_histogram(arena, t->all, &seen.all), err);
        QDQ_NEED(t->held_out == NULL || qdq_seen_from_histogram(arena, t->held_out, &seen.held_out),
                 err);
        QDQ_TRY(keep_runs(arena, t, &seen.bounds, err));
        QDQ_NEED(QDQ_PUSH(arena, &c->s->tensors, seen), err);
    }
    return qdq_allocated(qdq_statistics_finish(c->s), err);
}

static qdq_status collect(collecting *c, const qdq_target *given, const qdq_calibrate_opts *o,
                          qdq_error *err)
{
    const qdq_value **values;

    QDQ_TRY(fill_head(c, given, err));
    QDQ_TRY(choose_samples(c, o, err));
    if (qdq_model_has_bodies(c->q.m))
        qdq_job_log(c->q.opts->job, QDQ_LOG_WARNING,
                    "no statistics of subgraphs: nodes inside If, Loop and Scan will stay float");
    QDQ_TRY(add_tensors(c, &values, err));
    QDQ_TRY(qdq_sweep(&c->q, "calibrate", values, collect_array, c, err));
    return keep_tensors(c, err);
}

/* Fits the target and cleans the model as qdq_quantize() does. */
static qdq_status prepare(collecting *c, const qdq_target *given, qdq_quantize_opts *opts,
                          const qdq_calibrate_opts *o, qdq_error *err)
{
    qdq_target *fitted = NULL;
    qdq_model *prepared = NULL;
    qdq_status st = qdq_target_fit(c->q.m, given, opts->cpu, opts->job, &fitted, err);

    c->q.target = fitted != NULL ? fitted : given;
    if (st == QDQ_OK)
        st = qdq_quantize_begin(c->q.m, c->q.target, opts, c->q.plan, &prepared, err);
    c->q.m = prepared;
    if (st == QDQ_OK)
        st = collect(c, given, o, err);
    qdq_model_free(prepared);
    qdq_target_free(fitted);
    return st;
}

static qdq_status check(const qdq_engine *e, const qdq_data *data, const qdq_calibrate_opts *o,
                        const qdq_quantize_opts *quantize, qdq_error *err)
{
    if (e == NULL || data == NULL)
        return qdq_fail(err, QDQ_E_USAGE, "qdq_statistics_collect: found no %s",
                        e == NULL ? "engine" : "data");
    if (qdq_data_is_random(data))
        return qdq_fail(err, QDQ_E_USAGE,
                        "random numbers as data: they calibrate nothing; expected samples");
    if (quantize->cache != NULL)
        return qdq_fail(err, QDQ_E_USAGE,
                        "found a cache, expected none: statistics are of samples");
    if ((o->part != 0 || o->n_parts != 0) && (o->part < 1 || o->part > o->n_parts))
        return qdq_fail(err, QDQ_E_USAGE, "found part %zu of %zu, expected 1 to %zu", o->part,
                        o->n_parts, o->n_parts);
    return QDQ_OK;
}

static void put_away(collecting *c)
{
    for (size_t i = 0; i < c->tensors.n; i++) {
        free(c->tensors.at[i].all);
        free(c->tensors.at[i].held_out);
    }
    qdq_map_free(&c->by_name);
    qdq_arena_free(&c->scratch);
    qdq_plan_free(c->q.plan);
}

qdq_status qdq_statistics_collect(const qdq_model *m, const qdq_target *t, qdq_engine *e,
                                  qdq_data *data, const qdq_calibrate_opts *opts,
                                  qdq_statistics **out, qdq_error *err)
{
    qdq_calibrate_opts own = QDQ_CALIBRATE_OPTS_INIT;
    qdq_quantize_opts quantize = QDQ_QUANTIZE_OPTS_INIT;
    collecting c = {.q = {.m = m, .engine = e, .data = data, .opts = &quantize}};

    *out = NULL;
    QDQ_TRY(qdq_opts_read("qdq_calibrate_opts", &own, sizeof own, opts, err));
    QDQ_TRY(qdq_opts_read("qdq_quantize_opts", &quantize, sizeof quantize, own.quantize, err));
    quantize.why = NULL;
    QDQ_TRY(check(e, data, &own, &quantize, err));
    QDQ_TRY(qdq_data_warn_of_sameness(data, quantize.job, err));
    c.q.plan = qdq_plan_new();
    c.s = qdq_statistics_new();
    qdq_status st =
        c.q.plan != NULL && c.s != NULL ? prepare(&c, t, &quantize, &own, err) : qdq_nomem(err);
    put_away(&c);
    if (st == QDQ_OK)
        *out = c.s;
    else
        qdq_statistics_free(c.s);
    return st;
}
