/* quantize_place.c - see the header. */
#include "quant/quantize_place.h"

#include "base/fail.h"
#include "quant/calib/scales.h"
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

static qdq_status place(const qdq_quantizing *q, const findings *f, qdq_error *err)
{
    const qdq_quantize_opts *opts = q->opts;
    qdq_place_opts po = {.exclude = opts->exclude,
                         .include = opts->include,
                         .op_types = opts->op_types,
                         .exclude_op_types = opts->exclude_op_types,
                         .wrong = opts->wrong,
                         .no_range = f->empty.at,
                         .no_room = f->misfit.at,
                         .apart = &f->apart,
                         .stay = q->basis.stay,
                         .engine = q->engine != NULL ? qdq_engine_get_info(q->engine) : NULL,
                         .finite = q->basis.finite,
                         .why = opts->why,
                         .job = opts->job};

    return qdq_place(q->m, q->target, &po, q->plan, err);
}

qdq_status qdq_place_for(const qdq_quantizing *q, qdq_error *err)
{
    const findings none = {0};

    return place(q, &none, err);
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

qdq_status qdq_quantize_random(const qdq_quantizing *q, qdq_data **out, qdq_error *err)
{
    qdq_data_opts opts = QDQ_DATA_OPTS_INIT;

    opts.shapes = q->opts->shapes;
    opts.n_shapes = q->opts->n_shapes;
    return qdq_data_open("random:1", q->m, &opts, out, err);
}

qdq_status qdq_find_scales(const qdq_quantizing *q, qdq_calib_names *empty, qdq_error *err)
{
    qdq_quantizing own = *q;
    qdq_data *random = NULL;

    if (q->data == NULL) {
        QDQ_TRY(qdq_quantize_random(q, &random, err));
        own.data = random;
    }
    qdq_status st = qdq_calibrate(&own, empty, err);
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
static qdq_status calibrate(const qdq_quantizing *q, qdq_calib_names *empty, qdq_error *err)
{
    const size_t before = empty->n;

    if (q->basis.known == NULL || needs_samples(q->plan))
        QDQ_TRY(qdq_find_scales(q, empty, err));
    if (empty->n > before) /* there will be another plan */
        return QDQ_OK;
    QDQ_TRY(qdq_awq(q, err));
    return q->basis.rest != NULL ? qdq_take_rest(q->basis.rest, q->plan, err)
                                 : qdq_rest_choose(q, err);
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
static qdq_status place_round(const qdq_quantizing *q, const findings *f, qdq_error *err)
{
    const qdq_plan_basis *basis = &q->basis;

    qdq_plan_clear(q->plan);
    QDQ_TRY(place(q, f, err));
    if (q->data == NULL || qdq_data_is_random(q->data))
        q->plan->joins.n = 0;
    if (basis->known != NULL) {
        QDQ_TRY(qdq_scales_give(basis->known, q->plan, err));
        qdq_scales_give_joins(basis->known, q->plan);
    }
    if (q->opts->bias_correction == QDQ_BIAS_CORRECTION_ON || basis->means)
        QDQ_TRY(qdq_bias_correct_means(q->m, basis->folds, q->plan, err));
    return basis->known != NULL ? qdq_scales_give_means(basis->known, q->plan, err) : QDQ_OK;
}

/* Joins that are known to be too far apart: *again is true then. */
static qdq_status reject_joins(const qdq_quantizing *q, findings *f, bool *again, qdq_error *err)
{
    const size_t before = f->apart.n;

    QDQ_TRY(qdq_find_apart(q->target, q->plan, &f->apart, err));
    *again = f->apart.n > before;
    return QDQ_OK;
}

static qdq_status measure_round(const qdq_quantizing *q, findings *f, qdq_error *err)
{
    const size_t n_empty = f->empty.n;

    QDQ_TRY(calibrate(q, &f->empty, err));
    if (q->basis.known != NULL)
        QDQ_TRY(qdq_scales_keep_joins(q->basis.known, q->plan, err));
    return f->empty.n == n_empty ? qdq_find_misfit_biases(q->m, q->plan, &f->misfit, err) : QDQ_OK;
}

/* A tensor without any finite value cannot have a scale: its nodes stay float, and the others are
 * placed again. What lies behind operators that only move data shows in the next round. So does a
 * bias that does not fit, and so do tensors whose ranges are too far apart for one scale, which end
 * after as many rounds as there are joins. */
qdq_status qdq_place_with_scales(const qdq_quantizing *q, qdq_error *err)
{
    enum { ROUNDS = 16 };
    findings f = {0};

    for (int round = 0; round < ROUNDS;) {
        const size_t n_empty = f.empty.n, n_misfit = f.misfit.n;
        bool again;

        QDQ_TRY(place_round(q, &f, err));
        QDQ_TRY(reject_joins(q, &f, &again, err));
        if (again)
            continue;
        QDQ_TRY(measure_round(q, &f, err));
        QDQ_TRY(reject_joins(q, &f, &again, err));
        if (f.empty.n == n_empty && f.misfit.n == n_misfit && !again)
            return q->basis.known != NULL ? qdq_scales_keep(q->basis.known, q->plan, err) : QDQ_OK;
        report(q->opts->job, &f, n_empty, n_misfit);
        QDQ_TRY(end_list(q->plan, &f.empty, err));
        QDQ_TRY(end_list(q->plan, &f.misfit, err));
        round += f.empty.n > n_empty || f.misfit.n > n_misfit;
    }
    return qdq_fail(err, QDQ_E_FORMAT, "%s '%s': %s, as %zu others before it",
                    f.empty.n > 0 ? "tensor" : "node",
                    f.empty.n > 0 ? f.empty.at[f.empty.n - 1] : f.misfit.at[f.misfit.n - 1],
                    f.empty.n > 0 ? "no finite value in calibration" : "int32 cannot hold its bias",
                    f.empty.n + f.misfit.n - 1);
}
