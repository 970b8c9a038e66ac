/* quantize_place.c - see the header. */
#include "quant/quantize_place.h"

#include "base/fail.h"
#include "quant/calib/calib.h"
#include "quant/rest/rest.h"
#include "quant/weights/awq.h"
#include "quant/weights/bias_correct.h"
#include "quant/weights/bias_fit.h"

static qdq_status place(const qdq_model *clean, const qdq_target *t, const qdq_quantize_opts *opts,
                        const char *const *no_range, const char *const *no_room, qdq_plan *p, qdq_error *err)
{
    qdq_place_opts po = {.exclude = opts->exclude,
                         .include = opts->include,
                         .op_types = opts->op_types,
                         .exclude_op_types = opts->exclude_op_types,
                         .no_range = no_range,
                         .no_room = no_room,
                         .why = opts->why,
                         .job = opts->job};

    return qdq_place(clean, t, &po, p, err);
}

qdq_status qdq_place_for(const qdq_model *clean, const qdq_target *t, const qdq_quantize_opts *opts,
                         qdq_plan *p, qdq_error *err)
{
    return place(clean, t, opts, NULL, NULL, p, err);
}

/* Scales, and what of the rest stays float32: samples decide both. */
static qdq_status calibrate(const qdq_model *m, const qdq_target *t, qdq_engine *e, qdq_data *data,
                            const qdq_quantize_opts *opts, qdq_plan *p, qdq_calib_names *empty,
                            qdq_error *err)
{
    qdq_calib_opts co = {.method = opts->method,
                         .percentile = opts->percentile,
                         .shapes = opts->shapes,
                         .n_shapes = opts->n_shapes,
                         .samples = opts->samples,
                         .memory = opts->memory,
                         .threads = opts->threads,
                         .cache = opts->cache,
                         .job = opts->job};
    qdq_data_opts dopts = QDQ_DATA_OPTS_INIT;
    qdq_data *random = NULL;

    dopts.shapes = opts->shapes;
    dopts.n_shapes = opts->n_shapes;
    if (data == NULL)
        QDQ_TRY(qdq_data_open("random:1", m, &dopts, &random, err));
    const size_t before = empty->n;
    qdq_status st = qdq_calibrate(m, t, e, data != NULL ? data : random, &co, p, empty, err);
    if (st == QDQ_OK && empty->n == before)
        st = qdq_awq(m, e, data, &co, p, err);
    if (st == QDQ_OK && empty->n == before)
        st = qdq_rest_choose(m, t, e, data, &co, p, err);
    qdq_data_close(random);
    return st;
}

/* Ends the list, which is not counted. */
static qdq_status end_list(qdq_plan *p, qdq_calib_names *list, qdq_error *err)
{
    if (!QDQ_PUSH(&p->arena, list, NULL))
        return qdq_nomem(err);
    list->n--;
    return QDQ_OK;
}

static void report(const qdq_job *job, const qdq_calib_names *empty, size_t n_empty,
                   const qdq_calib_names *misfit, size_t n_misfit)
{
    for (size_t i = n_empty; i < empty->n; i++)
        qdq_job_log(job, QDQ_LOG_WARNING, "tensor '%s': no finite value in calibration, its nodes stay float",
                    empty->at[i]);
    for (size_t i = n_misfit; i < misfit->n; i++)
        qdq_job_log(job, QDQ_LOG_WARNING,
                    "node '%s' stays float: int32 cannot hold its bias beside one scale of its weight",
                    misfit->at[i]);
}

/* A tensor without any finite value cannot have a scale: its nodes stay float, and the others are placed again. What
 * lies behind operators that only move data shows in the next round. So does a bias that does not fit. */
qdq_status qdq_place_with_scales(const qdq_model *clean, const qdq_target *t, qdq_engine *e, qdq_data *data,
                                 const qdq_quantize_opts *opts, qdq_scales *known, qdq_plan *p,
                                 qdq_error *err)
{
    enum { ROUNDS = 16 };
    qdq_calib_names empty = {0}, misfit = {0};

    for (int round = 0; round < ROUNDS; round++) {
        size_t n_empty = empty.n, n_misfit = misfit.n;

        qdq_plan_clear(p);
        QDQ_TRY(place(clean, t, opts, empty.at, misfit.at, p, err));
        if (known != NULL)
            QDQ_TRY(qdq_scales_give(known, p, err));
        if (opts->bias_correction)
            QDQ_TRY(qdq_bias_correct_means(clean, p, err));
        QDQ_TRY(calibrate(clean, t, e, data, opts, p, &empty, err));
        if (empty.n == n_empty)
            QDQ_TRY(qdq_find_misfit_biases(clean, p, &misfit, err));
        if (empty.n == n_empty && misfit.n == n_misfit)
            return known != NULL ? qdq_scales_keep(known, p, err) : QDQ_OK;
        report(opts->job, &empty, n_empty, &misfit, n_misfit);
        QDQ_TRY(end_list(p, &empty, err));
        QDQ_TRY(end_list(p, &misfit, err));
    }
    return qdq_fail(err, QDQ_E_FORMAT, "%s '%s': %s, as %zu others before it",
                    empty.n > 0 ? "tensor" : "node",
                    empty.n > 0 ? empty.at[empty.n - 1] : misfit.at[misfit.n - 1],
                    empty.n > 0 ? "no finite value in calibration" : "int32 cannot hold its bias",
                    empty.n + misfit.n - 1);
}
