/* calib.c - see the header. Tensors are observed in chunks: one instrumented session holds as many outputs as
 * the memory bound allows, since an engine keeps every declared output until the run is over. */
#include "quant/calib.h"

#include <string.h>

#include "base/fail.h"
#include "base/map.h"
#include "quant/weights.h"

#define DEFAULT_MEMORY   ((uint64_t)256 << 20)
#define UNKNOWN_ELEMENTS ((uint64_t)1 << 20) /* assumed for a tensor whose shape is not known */

typedef struct calibration {
    const qdq_model *m;
    qdq_data *data;
    qdq_engine *engine;
    const qdq_calib_opts *opts;
    qdq_method method;
    qdq_plan *plan;
    qdq_arena scratch;
    qdq_map observers; /* tensor name -> qdq_observer */
    size_t n_samples;
    uint64_t done, total; /* runs, for progress */
} calibration;

/* --- what to observe --------------------------------------------------------------------------------------------- */

static qdq_observer *observer_of(const calibration *c, const char *tensor)
{
    qdq_map_value *v = qdq_map_get(&c->observers, tensor);

    return v != NULL ? v->ptr : NULL;
}

static qdq_status add_observers(calibration *c, qdq_error *err)
{
    for (size_t i = 0; i < c->plan->tensors.n; i++) {
        const qdq_plan_tensor *t = &c->plan->tensors.at[i];
        bool is_new;

        if (t->known)
            continue;
        qdq_map_value *v = qdq_map_put(&c->observers, t->like != NULL ? t->like : t->tensor, &is_new);

        if (v != NULL && is_new)
            v->ptr = qdq_observer_new(c->method);
        if (v == NULL || v->ptr == NULL)
            return qdq_nomem(err);
    }
    return QDQ_OK;
}

/* Constants need no engine. */
static qdq_status observe_constants(calibration *c, qdq_error *err)
{
    for (size_t i = 0; i < c->observers.n_entry; i++) {
        const char *name = c->observers.entry[i].key;
        const qdq_value *v = qdq_graph_find(c->m->graph, name);
        const qdq_tensor *t = v != NULL ? qdq_value_const(v) : NULL;
        const float *x;

        if (v == NULL)
            return qdq_fail(err, QDQ_E_FORMAT, "tensor '%s' is not in the model", name);
        if (t == NULL)
            continue;
        QDQ_TRY(qdq_weight_floats(t, &c->scratch, &x, err));
        qdq_observer_add(c->observers.entry[i].value.ptr, x, (size_t)t->count);
    }
    return QDQ_OK;
}

/* Bytes of v in one run; dims that are not fixed count as 1. */
static uint64_t bytes_of(const qdq_value *v)
{
    uint64_t count = 1;

    if (v->type == NULL || v->type->rank < 0)
        return UNKNOWN_ELEMENTS * sizeof(float);
    for (int i = 0; i < v->type->rank; i++) {
        int64_t dim = v->type->dim[i].value;
        if (dim > 1)
            count = count > UINT64_MAX / 8 / (uint64_t)dim ? UINT64_MAX / 8 : count * (uint64_t)dim;
    }
    return count * sizeof(float);
}

/* --- running ------------------------------------------------------------------------------------------------------ */

static qdq_status observe_output(void *ctx, const char *name, const qdq_array *a, qdq_error *err)
{
    calibration *c = ctx;
    qdq_observer *o = observer_of(c, name);

    if (o == NULL)
        return QDQ_OK;
    if (a->elem != QDQ_FLOAT)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "tensor '%s': %s, expected float", name,
                        qdq_elem_name(a->elem));
    qdq_observer_add(o, a->data, (size_t)qdq_array_count(a));
    return QDQ_OK;
}

/* Graph inputs are observed as they are fed. */
static void observe_inputs(calibration *c, const qdq_named_array *in, size_t n_in)
{
    for (size_t i = 0; i < n_in; i++) {
        qdq_observer *o = observer_of(c, in[i].name);
        if (o != NULL && in[i].array.elem == QDQ_FLOAT)
            qdq_observer_add(o, in[i].array.data, (size_t)qdq_array_count(&in[i].array));
    }
}

static qdq_status run_samples(calibration *c, qdq_session *s, bool with_inputs, qdq_error *err)
{
    for (size_t i = 0; i < c->n_samples; i++) {
        const qdq_named_array *in;
        size_t n_in;

        QDQ_TRY(qdq_job_poll(c->opts->job, err));
        QDQ_TRY(qdq_data_get(c->data, i, &in, &n_in, err));
        if (with_inputs)
            observe_inputs(c, in, n_in);
        if (s != NULL) {
            qdq_status st = qdq_session_run(s, in, n_in, observe_output, c, err);
            if (st != QDQ_OK)
                return qdq_within(err, st, "sample %zu", i);
        }
        qdq_job_progress(c->opts->job, "calibrate", ++c->done, c->total);
    }
    return QDQ_OK;
}

static qdq_status run_chunk(calibration *c, const char *const *expose, bool with_inputs, qdq_error *err)
{
    qdq_session_opts so = QDQ_SESSION_OPTS_INIT;
    qdq_session *s = NULL;

    so.level = QDQ_LEVEL_NONE; /* no fusion: what is observed does not depend on what else is */
    so.threads = c->opts->threads;
    so.expose = expose;
    so.only_exposed = true;
    so.shapes = c->opts->shapes;
    so.n_shapes = c->opts->n_shapes;
    QDQ_TRY(qdq_session_open(c->engine, c->m, &so, &s, err));
    qdq_status st = run_samples(c, s, with_inputs, err);
    qdq_session_close(s);
    return st;
}

/* The tensors that only a run shows, cut into chunks: NULL after each. */
static qdq_status make_chunks(calibration *c, const char ***out, size_t *n_chunks, qdq_error *err)
{
    uint64_t limit = c->opts->memory != 0 ? c->opts->memory : DEFAULT_MEMORY, used = 0;
    const char **names = qdq_arena_array(&c->scratch, 2 * c->observers.n_entry + 1, sizeof *names);
    size_t n = 0;

    if (names == NULL)
        return qdq_nomem(err);
    *out = names;
    *n_chunks = 0;
    for (size_t i = 0; i < c->observers.n_entry; i++) {
        const qdq_value *v = qdq_graph_find(c->m->graph, c->observers.entry[i].key);
        uint64_t bytes = bytes_of(v);

        if (v->producer == NULL || qdq_value_const(v) != NULL)
            continue;
        if (used > 0 && used + bytes > limit) {
            names[n++] = NULL;
            ++*n_chunks;
            used = 0;
        }
        names[n++] = v->name;
        used += bytes;
    }
    *n_chunks += used > 0;
    return QDQ_OK;
}

static qdq_status observe(calibration *c, qdq_error *err)
{
    const char **chunk = NULL;
    size_t n_chunks = 0;

    QDQ_TRY(add_observers(c, err));
    if (c->observers.n_entry == 0) /* all scales are there */
        return QDQ_OK;
    QDQ_TRY(observe_constants(c, err));
    QDQ_TRY(make_chunks(c, &chunk, &n_chunks, err));
    c->total = (uint64_t)c->n_samples * (n_chunks > 0 ? n_chunks : 1);
    if (n_chunks == 0)
        return run_samples(c, NULL, true, err);
    for (size_t i = 0; i < n_chunks; i++) {
        QDQ_TRY(run_chunk(c, chunk, i == 0, err));
        while (*chunk++ != NULL)
            ;
    }
    return QDQ_OK;
}

/* --- from ranges to scales ------------------------------------------------------------------------------------------ */

static qdq_status set_scales(calibration *c, const qdq_target *t, qdq_error *err)
{
    for (size_t i = 0; i < c->plan->tensors.n; i++) {
        qdq_plan_tensor *entry = &c->plan->tensors.at[i];
        const char *name = entry->like != NULL ? entry->like : entry->tensor;
        const qdq_observer *o = observer_of(c, name);
        qdq_qscheme scheme = t->format.activation;
        double low, high;

        if (entry->known)
            continue;
        scheme.type = entry->qparam.type; /* beside int8 that the model has, int8 */
        bool seen = qdq_observer_range(o, &low, &high);
        if (!seen && c->opts->lenient)
            low = high = 0;
        else if (!seen)
            return qdq_fail(err, QDQ_E_FORMAT,
                            "tensor '%s': no finite value in %zu samples; exclude the nodes that read it",
                            name, c->n_samples);
        if (qdq_observer_nonfinite(o) > 0 && entry->like == NULL)
            qdq_job_log(c->opts->job, QDQ_LOG_WARNING,
                        "tensor '%s': %llu values that are not finite left out", name,
                        (unsigned long long)qdq_observer_nonfinite(o));
        if (!qdq_qparam_from_range(&scheme, low, high, &entry->qparam))
            return qdq_fail(err, QDQ_E_UNSUPPORTED, "tensor '%s': no codes of type %s", name,
                            qdq_elem_name(scheme.type));
    }
    return QDQ_OK;
}

qdq_status qdq_calibrate(const qdq_model *m, const qdq_target *t, qdq_engine *e, qdq_data *data,
                         const qdq_calib_opts *opts, qdq_plan *plan, qdq_error *err)
{
    calibration c = {.m = m, .data = data, .engine = e, .opts = opts, .plan = plan};

    c.method = opts->method != QDQ_METHOD_DEFAULT ? opts->method : t->method;
    if (c.method != QDQ_METHOD_MAX && c.method != QDQ_METHOD_MOVING_AVERAGE)
        return qdq_fail(err, QDQ_E_UNSUPPORTED,
                        "calibration method '%s': this version has max and "
                        "moving-average",
                        qdq_method_name(c.method));
    c.n_samples = qdq_data_count(data);
    if (opts->samples != 0 && opts->samples < c.n_samples)
        c.n_samples = opts->samples;
    qdq_status st = observe(&c, err);
    if (st == QDQ_OK)
        st = set_scales(&c, t, err);
    for (size_t i = 0; i < c.observers.n_entry; i++)
        qdq_observer_free(c.observers.entry[i].value.ptr);
    qdq_map_free(&c.observers);
    qdq_arena_free(&c.scratch);
    return st;
}
