/* quantize_place.c - see the header. */
#include "quant/quantize_place.h"

#include "base/fail.h"
#include "quant/place/place_joins.h"
#include "quant/half_precision/rest.h"
#include "quant/weights/awq.h"
#include "quant/insert/bias_correct.h"
#include "quant/weights/bias_fit.h"

/* What a round of placement found out for the next one. */
typedef struct findings {
    qdq_calib_names empty, misfit; /* tensors without a range; nodes whose bias does not fit */
    qdq_aparts apart;
} findings;

static qdq_status place(const qdq_model *clean, const qdq_target *t, const qdq_engine *e,
                        const qdq_quantize_opts *opts, const findings *f,
                        const qdq_plan_basis *basis, qdq_plan *p, qdq_error *err)
{
    qdq_place_opts po = {.exclude = opts->exclude,
                         .include = opts->include,
                         .op_types = opts->op_types,
                         .exclude_op_types = opts->exclude_op_types,
                         .wrong = opts->wrong,
                         .no_range = f->empty.at,
                         .no_room = f->misfit.at,
                         .apart = &f->apart,
                         .stay = basis->stay,
                         .engine = e != NULL ? qdq_engine_get_info(e) : NULL,
                         .finite = basis->finite,
                         .why = opts->why,
                         .job = opts->job};

    return qdq_place(clean, t, &po, p, err);
}

qdq_status qdq_place_for(const qdq_model *clean, const qdq_target *t, const qdq_quantize_opts *opts,
                         qdq_plan *p, qdq_error *err)
{
    const qdq_plan_basis nothing = {0};
    const findings none = {0};

    return place(clean, t, NULL, opts, &none, &nothing, p, err);
}

static bool needs_samples(const qdq_plan *p)
{
    for (size_t i = 0; i < p->tensors.n; i++)
        if (!p->tensors.at[i].known)
            return true;
    for (size_t i = 0; i < p->means.n; i++)
        if (!p->means.at[i].known)
            return true;
    for (size_t i = 0; i < p->joins.n; i++)
        if (!p->joins.at[i].known)
            return true;
    return false;
}

static qdq_calib_opts calib_opts(const qdq_quantize_opts *opts)
{
    return (qdq_calib_opts){.method = opts->method,
                            .percentile = opts->percentile,
                            .shapes = opts->shapes,
                            .n_shapes = opts->n_shapes,
                            .samples = opts->samples,
                            .memory = opts->memory,
                            .threads = opts->threads,
                            .cache = opts->cache,
                            .job = opts->job};
}

qdq_status qdq_find_scales(const qdq_model *clean, const qdq_target *t, qdq_engine *e,
                           qdq_data *data, const qdq_quantize_opts *opts, unsigned folds,
                           qdq_plan *p, qdq_calib_names *empty, qdq_error *err)
{
    qdq_calib_opts co = calib_opts(opts);
    qdq_data_opts dopts = QDQ_DATA_OPTS_INIT;
    qdq_data *random = NULL;

    co.folds = folds;
    dopts.shapes = opts->shapes;
    dopts.n_shapes = opts->n_shapes;
    if (data == NULL)
        QDQ_TRY(qdq_data_open("random:1", clean, &dopts, &random, err));
    qdq_status st = qdq_calibrate(clean, t, e, data != NULL ? data : random, &co, p, empty, err);
    qdq_data_close(random);
    return st;
}

qdq_status qdq_take_rest(const qdq_plan_rest *from, qdq_plan *p, qdq_error *err)
{
    p->rest.type = from->type;
    p->rest.direct_io = from->direct_io;
    for (size_t i = 0; i < from->keep.n; i++) {
        const qdq_plan_float *f = &from->keep.at[i];
        qdq_plan_float entry = {qdq_arena_strdup(&p->arena, f->node),
                                qdq_arena_strdup(&p->arena, f->op),
                                qdq_arena_strdup(&p->arena, f->reason)};

        if (entry.node == NULL || entry.op == NULL || entry.reason == NULL ||
            !QDQ_PUSH(&p->arena, &p->rest.keep, entry))
            return qdq_nomem(err);
    }
    return QDQ_OK;
}

/* Scales, and what of the rest stays float32: samples decide both. */
static qdq_status calibrate(const qdq_model *m, const qdq_target *t, qdq_engine *e, qdq_data *data,
                            const qdq_quantize_opts *opts, const qdq_plan_basis *basis, qdq_plan *p,
                            qdq_calib_names *empty, qdq_error *err)
{
    const qdq_calib_opts co = calib_opts(opts);
    const size_t before = empty->n;

    if (basis->known == NULL || needs_samples(p))
        QDQ_TRY(qdq_find_scales(m, t, e, data, opts, basis->folds, p, empty, err));
    if (empty->n > before) /* there will be another plan */
        return QDQ_OK;
    QDQ_TRY(qdq_awq(m, e, data, &co, p, err));
    return basis->rest != NULL ? qdq_take_rest(basis->rest, p, err)
                               : qdq_rest_choose(m, t, e, data, &co, p, err);
}

/* Ends the list, which is not counted. */
static qdq_status end_list(qdq_plan *p, qdq_calib_names *list, qdq_error *err)
{
    if (!QDQ_PUSH(&p->arena, list, NULL))
        return qdq_nomem(err);
    list->n--;
    return QDQ_OK;
}

static void report(const qdq_job *job, const findings *f, size_t n_empty, size_t n_misfit)
{
    for (size_t i = n_empty; i < f->empty.n; i++)
        qdq_job_log(job, QDQ_LOG_WARNING,
                    "tensor '%s': no finite value in calibration, its nodes stay float",
                    f->empty.at[i]);
    for (size_t i = n_misfit; i < f->misfit.n; i++)
        qdq_job_log(
            job, QDQ_LOG_WARNING,
            "node '%s' stays float: int32 cannot hold its bias beside one scale of its weight",
            f->misfit.at[i]);
}

/* Places, and takes from earlier plans what they have. Joins of random numbers say nothing. */
static qdq_status place_round(const qdq_model *clean, const qdq_target *t, const qdq_engine *e,
                              const qdq_data *data, const qdq_quantize_opts *opts,
                              const qdq_plan_basis *basis, const findings *f, qdq_plan *p,
                              qdq_error *err)
{
    qdq_plan_clear(p);
    QDQ_TRY(place(clean, t, e, opts, f, basis, p, err));
    if (data == NULL || qdq_data_is_random(data))
        p->joins.n = 0;
    if (basis->known != NULL) {
        QDQ_TRY(qdq_scales_give(basis->known, p, err));
        qdq_scales_give_joins(basis->known, p);
    }
    if (opts->bias_correction == QDQ_BIAS_CORRECTION_ON || basis->means)
        QDQ_TRY(qdq_bias_correct_means(clean, basis->folds, p, err));
    return basis->known != NULL ? qdq_scales_give_means(basis->known, p, err) : QDQ_OK;
}

/* Joins that are known to be too far apart: *again is true then. */
static qdq_status reject_joins(const qdq_target *t, qdq_plan *p, findings *f, bool *again,
                               qdq_error *err)
{
    const size_t before = f->apart.n;

    QDQ_TRY(qdq_find_apart(t, p, &f->apart, err));
    *again = f->apart.n > before;
    return QDQ_OK;
}

static qdq_status measure_round(const qdq_model *clean, const qdq_target *t, qdq_engine *e,
                                qdq_data *data, const qdq_quantize_opts *opts,
                                const qdq_plan_basis *basis, findings *f, qdq_plan *p,
                                qdq_error *err)
{
    const size_t n_empty = f->empty.n;

    QDQ_TRY(calibrate(clean, t, e, data, opts, basis, p, &f->empty, err));
    if (basis->known != NULL)
        QDQ_TRY(qdq_scales_keep_joins(basis->known, p, err));
    return f->empty.n == n_empty ? qdq_find_misfit_biases(clean, p, &f->misfit, err) : QDQ_OK;
}

/* A tensor without any finite value cannot have a scale: its nodes stay float, and the others are
 * placed again. What lies behind operators that only move data shows in the next round. So does a
 * bias that does not fit, and so do tensors whose ranges are too far apart for one scale, which end
 * after as many rounds as there are joins. */
qdq_status qdq_place_with_scales(const qdq_model *clean, const qdq_target *t, qdq_engine *e,
                                 qdq_data *data, const qdq_quantize_opts *opts,
                                 const qdq_plan_basis *basis, qdq_plan *p, qdq_error *err)
{
    static const qdq_plan_basis nothing = {0};
    enum { ROUNDS = 16 };
    findings f = {0};

    basis = basis != NULL ? basis : &nothing;
    for (int round = 0; round < ROUNDS;) {
        const size_t n_empty = f.empty.n, n_misfit = f.misfit.n;
        bool again;

        QDQ_TRY(place_round(clean, t, e, data, opts, basis, &f, p, err));
        QDQ_TRY(reject_joins(t, p, &f, &again, err));
        if (again)
            continue;
        QDQ_TRY(measure_round(clean, t, e, data, opts, basis, &f, p, err));
        QDQ_TRY(reject_joins(t, p, &f, &again, err));
        if (f.empty.n == n_empty && f.misfit.n == n_misfit && !again)
            return basis->known != NULL ? qdq_scales_keep(basis->known, p, err) : QDQ_OK;
        report(opts->job, &f, n_empty, n_misfit);
        QDQ_TRY(end_list(p, &f.empty, err));
        QDQ_TRY(end_list(p, &f.misfit, err));
        round += f.empty.n > n_empty || f.misfit.n > n_misfit;
    }
    return qdq_fail(err, QDQ_E_FORMAT, "%s '%s': %s, as %zu others before it",
                    f.empty.n > 0 ? "tensor" : "node",
                    f.empty.n > 0 ? f.empty.at[f.empty.n - 1] : f.misfit.at[f.misfit.n - 1],
                    f.empty.n > 0 ? "no finite value in calibration" : "int32 cannot hold its bias",
                    f.empty.n + f.misfit.n - 1);
}
