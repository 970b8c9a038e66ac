/* openvino_run.c - runs of an OpenVINO session: arrays go in without a copy, outputs are borrowed
 * while they exist. What is timed has tensors of its own, in memory as OpenVINO allocates it. */
#include "engine/openvino/openvino_session.h"

#include <string.h>

#include "base/clock.h"
#include "base/fail.h"
#include "engine/session_inputs.h"

/* --- inputs ----------------------------------------------------------------------------------- */

static ov_shape shape_of(const qdq_array *a, int64_t dim[QDQ_MAX_RANK])
{
    memcpy(dim, a->dim, sizeof a->dim);
    return (ov_shape){a->rank, dim};
}

/* Over the array's own memory; OpenVINO wants an address even for no bytes. */
static qdq_status wrap_input(const qdq_ov_api *api, const qdq_io *io, const qdq_array *a,
                             ov_tensor **out, qdq_error *err)
{
    static const char nothing[16];
    int64_t dim[QDQ_MAX_RANK];
    int type = qdq_ov_elem_to(a->elem);

    if (type < 0)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "input '%s' is %s, which openvino does not take",
                        io->name, qdq_elem_name(a->elem));
    return qdq_ov_check(
        api,
        api->tensor_create_from_host_ptr(type, shape_of(a, dim),
                                         a->bytes > 0 ? a->data : (void *)(uintptr_t)nothing, out),
        io->name, err);
}

static qdq_status copy_input(const qdq_ov_api *api, const qdq_io *io, const qdq_array *a,
                             ov_tensor **out, qdq_error *err)
{
    int64_t dim[QDQ_MAX_RANK];
    size_t bytes = 0;
    void *data = NULL;

    QDQ_TRY(qdq_ov_check(api, api->tensor_create(qdq_ov_elem_to(a->elem), shape_of(a, dim), out),
                         io->name, err));
    QDQ_TRY(qdq_ov_check(api, api->tensor_get_byte_size(*out, &bytes), io->name, err));
    if (bytes != a->bytes)
        return qdq_fail(err, QDQ_E_ENGINE, "input '%s' has %zu bytes, openvino takes %zu", io->name,
                        a->bytes, bytes);
    if (bytes == 0)
        return QDQ_OK;
    QDQ_TRY(qdq_ov_check(api, api->tensor_data(*out, &data), io->name, err));
    memcpy(data, a->data, bytes);
    return QDQ_OK;
}

/* --- shapes ----------------------------------------------------------------------------------- */

static bool are_fitted(const qdq_session *s, const qdq_array *const *in)
{
    const qdq_ov_session *os = s->self;

    for (size_t i = 0; i < s->n_in; i++)
        if (os->fitted[i].rank != in[i]->rank ||
            memcmp(os->fitted[i].dim, in[i]->dim, (size_t)in[i]->rank * sizeof in[i]->dim[0]) != 0)
            return false;
    return true;
}

/* `in` NULL: unknown what the model has now. */
static void set_fitted(const qdq_session *s, const qdq_array *const *in)
{
    const qdq_ov_session *os = s->self;

    for (size_t i = 0; i < s->n_in; i++)
        os->fitted[i] = (qdq_ov_shape){.rank = -1};
    for (size_t i = 0; in != NULL && i < s->n_in; i++) {
        os->fitted[i].rank = in[i]->rank;
        memcpy(os->fitted[i].dim, in[i]->dim, sizeof in[i]->dim);
    }
}

static qdq_status fix_shapes(qdq_session *s, const qdq_array *const *in, qdq_error *err)
{
    const qdq_ov_session *os = s->self;
    const qdq_ov_api *api = &os->ov->api;
    qdq_arena scratch = {0};
    size_t n = 0, *index = qdq_arena_array(&scratch, s->n_in + 1, sizeof *index);
    ov_partial_shape *shape = qdq_arena_array(&scratch, s->n_in + 1, sizeof *shape);
    ov_dimension *dims = qdq_arena_array(&scratch, s->n_in + 1, QDQ_MAX_RANK * sizeof *dims);

    if (index == NULL || shape == NULL || dims == NULL) {
        qdq_arena_free(&scratch);
        return qdq_nomem(err);
    }
    for (size_t i = 0; i < s->n_in; i++) {
        if (os->in_index[i] == QDQ_OV_UNUSED)
            continue;
        index[n] = os->in_index[i];
        shape[n] = (ov_partial_shape){{in[i]->rank, in[i]->rank}, dims + n * QDQ_MAX_RANK};
        for (int a = 0; a < in[i]->rank; a++)
            shape[n].dim[a] = (ov_dimension){in[i]->dim[a], in[i]->dim[a]};
        n++;
    }
    qdq_status st =
        qdq_ov_check(api, api->model_reshape_by_port_indexes(os->model, index, shape, n),
                     "do not fit the model", err);
    qdq_arena_free(&scratch);
    return st;
}

/* "inputs 'x' (2x4), 'y' (3x4)" in front of the reason. */
static qdq_status name_shapes(const qdq_session *s, const qdq_array *const *in, qdq_status st,
                              qdq_error *err)
{
    qdq_buf b = QDQ_BUF_INIT(300);
    char shape[200];

    for (size_t i = 0; i < s->n_in; i++)
        qdq_buf_printf(&b, "%s'%s' (%s)", i > 0 ? ", " : "", s->in[i].name,
                       qdq_input_shape_text(in[i], shape, sizeof shape));
    st = qdq_within(err, st, "inputs %s", b.failed ? "of these shapes" : b.data);
    qdq_buf_free(&b);
    return st;
}

/* A compiled model with open dims computes whatever it is given: an Add of 2x4 and 3x4 gives
 * numbers. The model itself is asked whether all of its nodes can work on such shapes, once for
 * those of all runs in a row. */
static qdq_status fit_shapes(qdq_session *s, const qdq_array *const *in, qdq_error *err)
{
    const qdq_ov_session *os = s->self;

    if (os->model == NULL || are_fitted(s, in))
        return QDQ_OK;
    set_fitted(s, NULL);
    qdq_status st = fix_shapes(s, in, err);
    if (st != QDQ_OK)
        return st == QDQ_E_NOMEM ? st : name_shapes(s, in, st, err);
    set_fitted(s, in);
    return QDQ_OK;
}

/* --- outputs ---------------------------------------------------------------------------------- */

static qdq_status lend_tensor(const qdq_ov_api *api, const ov_tensor *t, const char *name,
                              qdq_output_fn fn, void *ctx, qdq_error *err)
{
    ov_shape shape = {0, NULL};
    qdq_array a = {0};
    size_t bytes;
    int type = -1;

    QDQ_TRY(qdq_ov_check(api, api->tensor_get_element_type(t, &type), name, err));
    int status = api->tensor_get_shape(t, &shape);
    /* that is what scalars get: their shape stays that of rank 0 */
    if (status != QDQ_OV_INVALID_C_PARAM)
        QDQ_TRY(qdq_ov_check(api, status, name, err));
    bool fits = shape.rank >= 0 && shape.rank <= QDQ_MAX_RANK;
    a.elem = qdq_ov_elem_from(type);
    a.rank = fits ? (int)shape.rank : 0;
    for (int i = 0; i < a.rank; i++)
        a.dim[i] = shape.dim[i];
    api->shape_free(&shape);
    if (!fits)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "output '%s' has a rank above %d", name,
                        QDQ_MAX_RANK);
    QDQ_TRY(qdq_ov_check(api, api->tensor_get_byte_size(t, &a.bytes), name, err));
    if (a.elem == QDQ_UNDEFINED || !qdq_elem_bytes(a.elem, qdq_array_count(&a), &bytes) ||
        bytes != a.bytes)
        return qdq_fail(err, QDQ_E_ENGINE,
                        "output '%s' has %zu bytes, which its type and shape do not explain", name,
                        a.bytes);
    if (a.bytes > 0)
        QDQ_TRY(qdq_ov_check(api, api->tensor_data(t, &a.data), name, err));
    return fn(ctx, name, &a, err);
}

static qdq_status lend_output(const qdq_session *s, size_t i, qdq_output_fn fn, void *ctx,
                              qdq_error *err)
{
    const qdq_ov_session *os = s->self;
    const qdq_ov_api *api = &os->ov->api;
    ov_tensor *t = NULL;

    QDQ_TRY(qdq_ov_check(api, api->infer_request_get_output_tensor_by_index(os->request, i, &t),
                         s->out[i].name, err));
    qdq_status st = lend_tensor(api, t, s->out[i].name, fn, ctx, err);
    api->tensor_free(t);
    return st;
}

qdq_status qdq_ov_run(qdq_session *s, const qdq_array *const *in, qdq_output_fn fn, void *ctx,
                      qdq_error *err)
{
    const qdq_ov_session *os = s->self;
    const qdq_ov_api *api = &os->ov->api;

    QDQ_TRY(fit_shapes(s, in, err));
    for (size_t i = 0; i < s->n_in; i++) {
        ov_tensor *t = NULL;
        if (os->in_index[i] == QDQ_OV_UNUSED)
            continue;
        QDQ_TRY(wrap_input(api, &s->in[i], in[i], &t, err));
        int status = api->infer_request_set_input_tensor_by_index(os->request, os->in_index[i], t);
        api->tensor_free(t); /* the request has a reference of its own */
        QDQ_TRY(qdq_ov_check(api, status, s->in[i].name, err));
    }
    QDQ_TRY(qdq_ov_check(api, api->infer_request_infer(os->request), "run", err));
    for (size_t i = 0; fn != NULL && i < s->n_out; i++)
        QDQ_TRY(lend_output(s, i, fn, ctx, err));
    return QDQ_OK;
}

/* --- timing ----------------------------------------------------------------------------------- */

void qdq_ov_unbind(qdq_session *s)
{
    qdq_ov_session *os = s->self;
    const qdq_ov_api *api = &os->ov->api;

    if (os->timed != NULL)
        api->infer_request_free(os->timed);
    os->timed = NULL;
    for (size_t i = 0; os->bound != NULL && i < s->n_in; i++) {
        if (os->bound[i] != NULL)
            api->tensor_free(os->bound[i]);
        os->bound[i] = NULL;
    }
}

/* A request of the model as it runs: open dims stay open. qdq_session_opts.shapes fixes them. */
qdq_status qdq_ov_bind(qdq_session *s, const qdq_array *const *in, qdq_error *err)
{
    qdq_ov_session *os = s->self;
    const qdq_ov_api *api = &os->ov->api;

    qdq_ov_unbind(s);
    QDQ_TRY(fit_shapes(s, in, err));
    QDQ_TRY(qdq_ov_check(api, api->compiled_model_create_infer_request(os->compiled, &os->timed),
                         "request", err));
    for (size_t i = 0; i < s->n_in; i++) {
        if (os->in_index[i] == QDQ_OV_UNUSED)
            continue;
        QDQ_TRY(copy_input(api, &s->in[i], in[i], &os->bound[i], err));
        QDQ_TRY(qdq_ov_check(
            api,
            api->infer_request_set_input_tensor_by_index(os->timed, os->in_index[i], os->bound[i]),
            s->in[i].name, err));
    }
    /* allocates its outputs */
    return qdq_ov_check(api, api->infer_request_infer(os->timed), "run", err);
}

qdq_status qdq_ov_time_runs(qdq_session *s, unsigned n, uint64_t *ns, qdq_error *err)
{
    const qdq_ov_session *os = s->self;
    const qdq_ov_api *api = &os->ov->api;
    int status = 0;

    uint64_t start = qdq_clock_ns();
    for (unsigned i = 0; status == 0 && i < n; i++)
        status = api->infer_request_infer(os->timed);
    *ns = qdq_clock_ns() - start;
    return qdq_ov_check(api, status, "timed run", err);
}
