/* ort_run.c - runs of an ORT session: arrays go in without a copy, outputs are borrowed while they
 * exist. */
#include "engine/ort/ort_session.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fail.h"

enum { ORT_TYPE_TENSOR = 1 };

static void release_values(const qdq_ort_api *api, ort_value **v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (v[i] != NULL)
            QDQ_ORT(api, ReleaseValue)(v[i]);
        v[i] = NULL;
    }
}

static qdq_status wrap_inputs(const qdq_session *s, const qdq_array *const *in, ort_value **out,
                              qdq_error *err)
{
    const qdq_ort_session *os = s->self;
    const qdq_ort_api *api = &os->ort->api;
    static const char nothing[16]; /* ORT wants an address even for no bytes */

    for (size_t i = 0; i < s->n_in; i++) {
        const qdq_array *a = in[i];
        int elem = qdq_ort_elem_to(api, a->elem);
        if (elem == 0)
            return qdq_fail(err, QDQ_E_UNSUPPORTED,
                            "input '%s' is %s, which onnxruntime %s does not have", s->in[i].name,
                            qdq_elem_name(a->elem), api->version);
        QDQ_TRY(qdq_ort_check(api,
                              QDQ_ORT(api, CreateTensorWithDataAsOrtValue)(
                                  os->ort->cpu, a->data != NULL ? a->data : (void *)nothing,
                                  a->bytes, a->dim, (size_t)a->rank, elem, &out[i]),
                              s->in[i].name, err));
    }
    return QDQ_OK;
}

static qdq_status run_once(qdq_session *s, ort_value *const *in, ort_value **out, qdq_error *err)
{
    qdq_ort_session *os = s->self;
    const qdq_ort_api *api = &os->ort->api;

    ort_status *status =
        QDQ_ORT(api, Run)(os->session, NULL, os->in_names, (const ort_value *const *)in, s->n_in,
                          os->out_names, s->n_out, out);
    qdq_status st = qdq_ort_check(api, status, "run", err);
    qdq_ort_log_flush(&os->log, s->engine->job);
    return st;
}

/* --- outputs ---------------------------------------------------------------------------------- */

static qdq_status read_shape(const qdq_ort_api *api, const ort_value *v, const char *name,
                             qdq_array *a, qdq_error *err)
{
    ort_tensor_info *info = NULL;
    size_t rank = 0;
    int elem = 0;

    QDQ_TRY(qdq_ort_check(api, QDQ_ORT(api, GetTensorTypeAndShape)(v, &info), name, err));
    qdq_status st = qdq_ort_check(api, QDQ_ORT(api, GetTensorElementType)(info, &elem), name, err);
    if (st == QDQ_OK)
        st = qdq_ort_check(api, QDQ_ORT(api, GetDimensionsCount)(info, &rank), name, err);
    if (st == QDQ_OK && rank > QDQ_MAX_RANK)
        st = qdq_fail(err, QDQ_E_UNSUPPORTED, "output '%s' has rank %zu: expected at most %d", name,
                      rank, QDQ_MAX_RANK);
    if (st == QDQ_OK)
        st = qdq_ort_check(api, QDQ_ORT(api, GetDimensions)(info, a->dim, rank), name, err);
    QDQ_ORT(api, ReleaseTensorTypeAndShapeInfo)(info);
    a->elem = qdq_ort_elem_from(elem);
    a->rank = (int)rank;
    return st;
}

static qdq_status lend_output(const qdq_ort_api *api, ort_value *v, const char *name,
                              qdq_output_fn fn, void *ctx, qdq_error *err)
{
    qdq_array a = {0};
    int type = 0, there = 0;

    QDQ_TRY(qdq_ort_check(api, QDQ_ORT(api, HasValue)(v, &there), name, err));
    if (there)
        QDQ_TRY(qdq_ort_check(api, QDQ_ORT(api, GetValueType)(v, &type), name, err));
    if (type != ORT_TYPE_TENSOR)
        return qdq_fail(err, QDQ_E_UNSUPPORTED,
                        "output '%s' is not a tensor: expected tensors only", name);
    QDQ_TRY(read_shape(api, v, name, &a, err));
    if (a.elem == QDQ_STRING || !qdq_elem_bytes(a.elem, qdq_array_count(&a), &a.bytes))
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "output '%s' is of strings: expected numbers",
                        name);
    QDQ_TRY(qdq_ort_check(api, QDQ_ORT(api, GetTensorMutableData)(v, &a.data), name, err));
    return fn(ctx, name, &a, err);
}

qdq_status qdq_ort_run(qdq_session *s, const qdq_array *const *in, qdq_output_fn fn, void *ctx,
                       qdq_error *err)
{
    const qdq_ort_session *os = s->self;
    const qdq_ort_api *api = &os->ort->api;
    ort_value **values = calloc(s->n_in + s->n_out + 1, sizeof(ort_value *));
    qdq_status st;

    QDQ_NEED(values != NULL, err);
    ort_value **out = values + s->n_in;
    st = wrap_inputs(s, in, values, err);
    if (st == QDQ_OK)
        st = run_once(s, values, out, err);
    for (size_t i = 0; st == QDQ_OK && fn != NULL && i < s->n_out; i++) {
        st = lend_output(api, out[i], os->out_names[i], fn, ctx, err);
        release_values(api, &out[i], 1); /* at once: outputs may be large */
    }
    release_values(api, values, s->n_in + s->n_out);
    free(values);
    return st;
}

/* --- timing ----------------------------------------------------------------------------------- */

void qdq_ort_unbind(qdq_session *s)
{
    const qdq_ort_session *os = s->self;

    if (os->bound_in != NULL)
        release_values(&os->ort->api, os->bound_in, s->n_in);
    if (os->bound_out != NULL)
        release_values(&os->ort->api, os->bound_out, s->n_out);
}

/* ONNX Runtime takes a tensor to write to only if it has the shape that the model declares, which
 * may be wrong. */
static bool is_as_declared(const qdq_io *declared, const qdq_array *a)
{
    if (declared->rank >= 0 && declared->rank != a->rank)
        return false;
    for (int k = 0; k < declared->rank; k++)
        if (declared->dim[k] >= 0 && declared->dim[k] != a->dim[k])
            return false;
    return true;
}

/* Tensors that a first run made are what later ones write to. Sequences and the like are made again
 * each time. */
qdq_status qdq_ort_bind(qdq_session *s, const qdq_array *const *in, qdq_error *err)
{
    const qdq_ort_session *os = s->self;
    const qdq_ort_api *api = &os->ort->api;

    qdq_ort_unbind(s);
    QDQ_TRY(wrap_inputs(s, in, os->bound_in, err));
    QDQ_TRY(run_once(s, os->bound_in, os->bound_out, err));
    for (size_t i = 0; i < s->n_out; i++) {
        int type = 0, there = 0;
        QDQ_TRY(
            qdq_ort_check(api, QDQ_ORT(api, HasValue)(os->bound_out[i], &there), "output", err));
        if (there)
            QDQ_TRY(qdq_ort_check(api, QDQ_ORT(api, GetValueType)(os->bound_out[i], &type),
                                  "output", err));
        qdq_array a = {.rank = 0};
        if (type == ORT_TYPE_TENSOR)
            QDQ_TRY(read_shape(api, os->bound_out[i], s->out[i].name, &a, err));
        if (type != ORT_TYPE_TENSOR || s->out[i].elem == QDQ_STRING ||
            !is_as_declared(&s->out[i], &a))
            release_values(api, &os->bound_out[i], 1);
    }
    return QDQ_OK;
}

/* True if some output is made again by each run. */
static bool has_loose_outputs(const qdq_session *s)
{
    const qdq_ort_session *os = s->self;

    for (size_t i = 0; i < s->n_out; i++)
        if (os->bound_out[i] == NULL)
            return true;
    return false;
}

static qdq_status time_loose_run(qdq_session *s, ort_value **out, uint64_t *ns, qdq_error *err)
{
    qdq_ort_session *os = s->self;
    const qdq_ort_api *api = &os->ort->api;

    memcpy(out, os->bound_out, s->n_out * sizeof *out);
    uint64_t start = qdq_clock_ns();
    ort_status *status =
        QDQ_ORT(api, Run)(os->session, NULL, os->in_names, (const ort_value *const *)os->bound_in,
                          s->n_in, os->out_names, s->n_out, out);
    *ns += qdq_clock_ns() - start;
    for (size_t i = 0; i < s->n_out; i++)
        if (os->bound_out[i] == NULL && out[i] != NULL)
            QDQ_ORT(api, ReleaseValue)(out[i]);
    return qdq_ort_check(api, status, "timed run", err);
}

static qdq_status time_loose(qdq_session *s, unsigned n, uint64_t *ns, qdq_error *err)
{
    ort_value **out = calloc(s->n_out, sizeof(ort_value *));
    qdq_status st = out != NULL ? QDQ_OK : qdq_nomem(err);

    for (unsigned i = 0; st == QDQ_OK && i < n; i++)
        st = time_loose_run(s, out, ns, err);
    free(out);
    return st;
}

qdq_status qdq_ort_time_runs(qdq_session *s, unsigned n, uint64_t *ns, qdq_error *err)
{
    qdq_ort_session *os = s->self;
    const qdq_ort_api *api = &os->ort->api;
    const ort_value *const *in = (const ort_value *const *)os->bound_in;
    ort_status *status = NULL;

    *ns = 0;
    if (has_loose_outputs(s))
        return time_loose(s, n, ns, err);
    uint64_t start = qdq_clock_ns();
    for (unsigned i = 0; status == NULL && i < n; i++)
        status = QDQ_ORT(api, Run)(os->session, NULL, os->in_names, in, s->n_in, os->out_names,
                                   s->n_out, os->bound_out);
    *ns = qdq_clock_ns() - start;
    qdq_ort_log_flush(&os->log, s->engine->job);
    return qdq_ort_check(api, status, "timed run", err);
}
