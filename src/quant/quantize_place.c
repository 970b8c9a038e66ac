/* quantize_place.c - placement and calibration by turns, until a plan shows nothing that the next
 * one would have to leave out. */
#include "quant/quantize_place.h"

#include "base/fail.h"
#include "quant/calib/scales.h"
#include "quant/half_precision/rest.h"
#include "quant/insert/bias_correct.h"
#include "quant/place/place_joins.h"
#include "quant/weights/awq.h"
#include "quant/weights/bias_fit.h"

/* What plans so far cannot have, and the next one leaves out. Lists only grow. */
typedef struct findings {
    qdq_calib_names empty;  /* tensors without a finite value, which have no scale */
    qdq_calib_names misfit; /* labels of nodes whose bias int32 cannot hold */
    qdq_aparts apart;       /* joins whose operands are too far apart for one scale */
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

        QDQ_TRY(qdq_allocated(entry.node != NULL && entry.op != NULL && entry.reason != NULL &&
                                  QDQ_PUSH(&p->arena, &p->rest.keep, entry),
                              err));
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
    QDQ_TRY(qdq_allocated(QDQ_PUSH(&p->arena, list, NULL), err));
    list->n--;
    return QDQ_OK;
}

static size_t count_float(const findings *f)
{
    return f->empty.n + f->misfit.n;
}

static void report(const qdq_job *job, const findings *before, const findings *f)
{
    for (size_t i = before->empty.n; i < f->empty.n; i++)
        qdq_job_log(job, QDQ_LOG_WARNING,
                    "tensor '%s': no finite value in calibration, its nodes stay float",
                    f->empty.at[i]);
    for (size_t i = before->misfit.n; i < f->misfit.n; i++)
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

/* One plan, with scales as far as it goes; *f grows by what it shows. Cheap questions come first: a
 * join that earlier plans measured needs no samples, and a bias no answer while scales are
 * missing. */
static qdq_status try_plan(const qdq_quantizing *q, findings *f, qdq_error *err)
{
    const findings before = *f;

    QDQ_TRY(place_round(q, f, err));
    QDQ_TRY(qdq_find_apart(q->target, q->plan, &f->apart, err));
    if (f->apart.n > before.apart.n)
        return QDQ_OK;
    QDQ_TRY(calibrate(q, &f->empty, err));
    if (q->basis.known != NULL)
        QDQ_TRY(qdq_scales_keep_joins(q->basis.known, q->plan, err));
    if (f->empty.n == before.empty.n)
        QDQ_TRY(qdq_find_misfit_biases(q->m, q->plan, &f->misfit, err));
    return qdq_find_apart(q->target, q->plan, &f->apart, err);
}

/* The loop ends with the first plan that shows nothing new. Every other plan makes a list longer,
 * and what is listed is in no later plan: there are at most as many plans as joins, tensors and
 * nodes. Joins need no bound of their own. Tensors and biases come to light in one or two rounds,
 * since each round calibrates the whole plan, and only what lies behind operators that move data
 * shows in a later one: this many rounds are a defect, and an error instead of an hour of runs. */
qdq_status qdq_place_with_scales(const qdq_quantizing *q, qdq_error *err)
{
    enum { MAX_ROUNDS = 16 };
    findings f = {0};

    for (int rounds = 0; rounds < MAX_ROUNDS;) {
        const findings before = f;

        QDQ_TRY(try_plan(q, &f, err));
        if (count_float(&f) == count_float(&before) && f.apart.n == before.apart.n)
            return q->basis.known != NULL ? qdq_scales_keep(q->basis.known, q->plan, err) : QDQ_OK;
        report(q->opts->job, &before, &f);
        QDQ_TRY(end_list(q->plan, &f.empty, err));
        QDQ_TRY(end_list(q->plan, &f.misfit, err));
        rounds += count_float(&f) > count_float(&before);
    }
    const bool is_empty = f.empty.n > 0;
    return qdq_fail(err, QDQ_E_FORMAT, "%s '%s': %s, as %zu others before it",
                    is_empty ? "tensor" : "node",
                    is_empty ? f.empty.at[f.empty.n - 1] : f.misfit.at[f.misfit.n - 1],
                    is_empty ? "no finite value in calibration" : "int32 cannot hold its bias",
                    count_float(&f) - 1);
}
