/* quantize_place.c - the loop of a plan: place, calibrate, look for what does not fit.
 *
 *   place      the rules choose nodes, but none that an earlier round found unfit
 *   calibrate  samples give the scales, and show tensors that never hold a finite value
 *   outliers   with --float-channels, samples show tensors whose range few channels decide, which
 *              leave it
 *   misfit     with scales, some biases do not fit into int32, and some joins put ranges under one
 *              scale that are too far apart
 *
 * A round that finds nothing unfit is the last one: its plan is the result. Each other round makes
 * the list of what is unfit longer (struct unfit), and what is listed is in no later plan, so there
 * are at most as many rounds as tensors, nodes and joins. */
#include "quant/quantize_steps.h"

#include "base/fail.h"
#include "quant/calib/scales.h"
#include "quant/half_precision/half_precision.h"
#include "quant/insert/bias_correct.h"
#include "quant/place/place_joins.h"
#include "quant/weights/awq.h"
#include "quant/weights/bias_fit.h"
#include "quant/weights/float_channels.h"
#include "quant/weights/gptq.h"

/* What no plan can have, and what it must have. Lists only grow. */
typedef struct unfit {
    /* tensors without a finite value, which have no scale */
    qdq_calib_names empty;
    /* labels of nodes whose bias int32 cannot hold */
    qdq_calib_names bias;
    /* joins whose operands are too far apart for one scale */
    qdq_aparts apart;
    /* tensors with float channels */
    qdq_outlier_list outliers;
} unfit;

static qdq_status place_without(const qdq_quantizing *q, const unfit *u, qdq_error *err)
{
    const qdq_quantize_opts *opts = q->opts;
    qdq_place_opts po = {.exclude = opts->exclude,
                         .include = opts->include,
                         .op_types = opts->op_types,
                         .exclude_op_types = opts->exclude_op_types,
                         .wrong = opts->wrong,
                         .no_range = u->empty.at,
                         .no_room = u->bias.at,
                         .apart = &u->apart,
                         .stay = q->basis.stay,
                         .formats = q->basis.formats,
                         .islands_of = q->basis.islands_of,
                         .engine = q->engine != NULL ? qdq_engine_get_info(q->engine) : NULL,
                         .finite = q->basis.finite,
                         .why = opts->why,
                         .job = opts->job};

    return qdq_place(q->m, q->target, &po, q->plan, err);
}

qdq_status qdq_place_for(const qdq_quantizing *q, qdq_error *err)
{
    const unfit none = {0};

    return place_without(q, &none, err);
}

bool qdq_has_samples(const qdq_quantizing *q)
{
    return q->statistics != NULL || (q->data != NULL && !qdq_data_is_random(q->data));
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

    if (q->data == NULL && q->statistics == NULL) {
        QDQ_TRY(qdq_quantize_random(q, &random, err));
        own.data = random;
    }
    qdq_status st = qdq_calibrate(&own, empty, err);
    qdq_data_close(random);
    return st;
}

qdq_status qdq_take_half(const qdq_plan_half *from, qdq_plan *p, qdq_error *err)
{
    p->half.type = from->type;
    p->half.direct_io = from->direct_io;
    for (size_t i = 0; i < from->keep.n; i++)
        QDQ_NEED(qdq_plan_add_half_keep(p, from->keep.at[i]), err);
    return QDQ_OK;
}

/* What an earlier plan rounded is not rounded again. */
static qdq_status round_weights(const qdq_quantizing *q, qdq_error *err)
{
    qdq_scales *known = q->basis.known;

    if (known != NULL)
        QDQ_TRY(qdq_scales_give_codes(known, q->plan, err));
    QDQ_TRY(qdq_gptq(q, err));
    return known != NULL ? qdq_scales_keep_codes(known, q->plan, err) : QDQ_OK;
}

/* Scales, and what of the rest stays float32: samples decide both. */
static qdq_status calibrate_plan(const qdq_quantizing *q, unfit *u, qdq_error *err)
{
    const size_t n_empty = u->empty.n, n_outliers = u->outliers.n;

    if (q->basis.known == NULL || needs_samples(q->plan))
        QDQ_TRY(qdq_find_scales(q, &u->empty, err));
    if (q->opts->float_channels == QDQ_FLOAT_CHANNELS_ON)
        QDQ_TRY(qdq_float_channels_find(q, &u->outliers, err));
    if (u->empty.n > n_empty || u->outliers.n > n_outliers) /* there will be another plan */
        return QDQ_OK;
    QDQ_TRY(qdq_awq(q, err));
    QDQ_TRY(round_weights(q, err));
    return q->basis.half != NULL ? qdq_take_half(q->basis.half, q->plan, err)
                                 : qdq_half_choose(q, err);
}

/* Places, and takes from earlier plans what they have. Joins of random numbers say nothing. */
static qdq_status place_round(const qdq_quantizing *q, const unfit *u, qdq_error *err)
{
    const qdq_plan_basis *basis = &q->basis;

    qdq_plan_clear(q->plan);
    QDQ_TRY(place_without(q, u, err));
    if (!qdq_has_samples(q))
        q->plan->joins.n = 0;
    QDQ_TRY(qdq_float_channels_place(q, &u->outliers, err));
    if (basis->known != NULL) {
        QDQ_TRY(qdq_scales_give(basis->known, q->plan, err));
        qdq_scales_give_joins(basis->known, q->plan);
    }
    if (q->opts->bias_correction == QDQ_BIAS_CORRECTION_ON || basis->means)
        QDQ_TRY(qdq_bias_correct_means(q->m, basis->folds, q->plan, err));
    if (q->opts->float_channels == QDQ_FLOAT_CHANNELS_ON)
        QDQ_TRY(qdq_float_channels_want(q, err));
    return basis->known != NULL ? qdq_scales_give_means(basis->known, q->plan, err) : QDQ_OK;
}

/* Calibrates the placed plan, as far as it goes; *u grows by what does not fit. Cheap questions
 * come first: a join that earlier plans measured needs no samples, and no bias can be checked while
 * scales are missing. */
static qdq_status find_unfit(const qdq_quantizing *q, unfit *u, qdq_error *err)
{
    const unfit before = *u;

    QDQ_TRY(qdq_find_apart(q->target, q->plan, &u->apart, err));
    if (u->apart.n > before.apart.n)
        return QDQ_OK;
    QDQ_TRY(calibrate_plan(q, u, err));
    if (q->basis.known != NULL)
        QDQ_TRY(qdq_scales_keep_joins(q->basis.known, q->plan, err));
    if (u->empty.n == before.empty.n && u->outliers.n == before.outliers.n)
        QDQ_TRY(qdq_find_overflowing_biases(q->m, q->plan, &u->bias, err));
    return qdq_find_apart(q->target, q->plan, &u->apart, err);
}

/* Ends the list, which is not counted. */
static qdq_status end_list(qdq_plan *p, qdq_calib_names *list, qdq_error *err)
{
    QDQ_NEED(QDQ_PUSH(&p->arena, list, NULL), err);
    list->n--;
    return QDQ_OK;
}

/* Tells the job what is new, and readies the lists for placement. */
static qdq_status close_round(const qdq_quantizing *q, const unfit *before, unfit *u,
                              qdq_error *err)
{
    for (size_t i = before->empty.n; i < u->empty.n; i++)
        qdq_job_log(q->opts->job, QDQ_LOG_WARNING,
                    "tensor '%s': no finite value in calibration, its nodes stay float",
                    u->empty.at[i]);
    for (size_t i = before->bias.n; i < u->bias.n; i++)
        qdq_job_log(
            q->opts->job, QDQ_LOG_WARNING,
            "node '%s' stays float: int32 cannot hold its bias beside one scale of its weight",
            u->bias.at[i]);
    QDQ_TRY(end_list(q->plan, &u->empty, err));
    return end_list(q->plan, &u->bias, err);
}

static qdq_status fail_with_last(const unfit *u, qdq_error *err)
{
    const bool is_empty = u->empty.n > 0;

    return qdq_fail(err, QDQ_E_FORMAT, "%s '%s': %s, as %zu others before it",
                    is_empty ? "tensor" : "node",
                    is_empty ? u->empty.at[u->empty.n - 1] : u->bias.at[u->bias.n - 1],
                    is_empty ? "no finite value in calibration" : "int32 cannot hold its bias",
                    u->empty.n + u->bias.n - 1);
}

/* Rounds that find joins alone need no bound: they calibrate little, and are as few as joins.
 * Tensors and biases come to light in one or two rounds, since each calibrates the whole plan, and
 * only what lies behind operators that move data shows in a later one. MAX_ROUNDS of those are a
 * defect, and an error instead of an hour of runs. */
qdq_status qdq_place_with_scales(const qdq_quantizing *q, qdq_error *err)
{
    enum { MAX_ROUNDS = 16 };
    unfit u = {0};

    for (int rounds = 0; rounds < MAX_ROUNDS;) {
        const unfit before = u;

        QDQ_TRY(place_round(q, &u, err));
        QDQ_TRY(find_unfit(q, &u, err));
        const bool has_nodes = u.empty.n > before.empty.n || u.bias.n > before.bias.n;
        if (!has_nodes && u.apart.n == before.apart.n &&
            u.outliers.n == before.outliers.n) /* all of the plan fits */
            return q->basis.known != NULL ? qdq_scales_keep(q->basis.known, q->plan, err) : QDQ_OK;
        QDQ_TRY(close_round(q, &before, &u, err));
        rounds += has_nodes;
    }
    return fail_with_last(&u, err);
}
