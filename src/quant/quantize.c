/* quantize.c - the whole way: a model, float or partly quantized, becomes a plan
 * (qdq_quantize_plan); a plan and the model become a model with Q/DQ (qdq_quantize_finish). Both
 * begin with the preparation of quantize_prepare.c. */
#include "qdq/quant.h"

#include <string.h>

#include "base/fail.h"
#include "base/opts.h"
#include "ir/edit.h"
#include "ir/graph_check.h"
#include "ir/shape.h"
#include "qdq/pass.h"
#include "quant/data/data_source.h"
#include "quant/insert/insert.h"
#include "quant/place/why.h"
#include "quant/plan/fingerprint.h"
#include "quant/quantize_steps.h"
#include "quant/half_precision/half_precision.h"
#include "quant/target_fit.h"
#include "quant/weights/scale_types.h"

/* --- plan ------------------------------------------------------------------------------------- */

qdq_status qdq_quantize_plan(const qdq_quantizing *q, qdq_error *err)
{
    const char *engine = q->target->engine;
    qdq_plan *p = q->plan;

    if (engine[0] != '\0' && strcmp(engine, qdq_engine_get_info(q->engine)->name) != 0)
        qdq_job_log(q->opts->job, QDQ_LOG_INFO,
                    "target '%s' is for engine %s: the ranges are those of engine %s",
                    q->target->name, engine, qdq_engine_get_info(q->engine)->name);
    QDQ_TRY(qdq_place_all(q, err));
    p->placement_only = !qdq_has_samples(q) && qdq_plan_needs_samples(p);
    return qdq_allocated(qdq_plan_finish(p), err);
}

static void warn_of_no_smoothing(const qdq_quantizing *q)
{
    const qdq_format *f = &q->target->format;

    if (!qdq_has_samples(q) || q->plan->smoothings.n > 0)
        return; /* of random input it was said */
    qdq_job_log(q->opts->job, QDQ_LOG_WARNING, "no activation is smoothed: %s",
                qdq_format_dynamic(f) ? "their scales are computed while the model runs"
                : qdq_format_weight_only(f)
                    ? "only weights are quantized"
                    : "none can be, or too little would be gained ('--why NODE' tells)");
}

/* Engines take a scale for each column of one matrix, not of several that lie in one weight. */
static void note_single_scales(const qdq_quantizing *q)
{
    const char *first = NULL;
    size_t n = 0;

    for (size_t i = 0; i < q->plan->weights.n && q->target->format.weight_per_channel; i++) {
        const qdq_plan_weight *w = &q->plan->weights.at[i];
        const qdq_tensor *t = qdq_value_const(qdq_graph_find(q->m->graph, w->tensor));

        if (w->axis >= 0 || t == NULL || t->rank < 3)
            continue;
        first = first != NULL ? first : w->tensor;
        n++;
    }
    if (n > 0)
        qdq_job_log(q->opts->job, QDQ_LOG_INFO,
                    "weight '%s'%s: one scale for all channels, since it holds several matrices",
                    first, n > 1 ? " and others" : "");
}

qdq_status qdq_quantize_first_plan(const qdq_quantizing *q, qdq_model *m, qdq_error *err)
{
    const qdq_quantize_opts *opts = q->opts;

    if (opts->smooth == QDQ_SMOOTH_ON) {
        QDQ_TRY(qdq_quantize_smooth(q, m, err));
        warn_of_no_smoothing(q);
    }
    QDQ_TRY(qdq_quantize_plan(q, err));
    note_single_scales(q);
    if (opts->float_channels == QDQ_FLOAT_CHANNELS_ON && qdq_has_samples(q) &&
        q->plan->float_channels.n == 0)
        qdq_job_log(
            opts->job, QDQ_LOG_WARNING,
            "all channels are in 8 bits: none stands out, or AWQ or GPTQ rounds the weights");
    return QDQ_OK;
}

/* --- finish ----------------------------------------------------------------------------------- */

/* Runs one pass of the pipeline, if it is part of it, once more: Q/DQ have given it work, which
 * quantizing the result again would find. */
static qdq_status run_again(qdq_model *m, const char *pipeline, const char *pass,
                            const qdq_job *job, qdq_error *err)
{
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_status st = QDQ_OK;
    qdq_job quiet = QDQ_JOB_INIT;

    quiet.cancel = qdq_job_cancel(job);
    opts.job = &quiet;
    for (const char *step = pipeline; *step != '\0' && st == QDQ_OK;) {
        size_t size = strcspn(step, ",");

        if (strncmp(step, pass, strlen(pass)) == 0 &&
            (step[strlen(pass)] == ':' || size == strlen(pass))) {
            opts.passes = qdq_arena_strndup(&scratch, step, size); /* with its arguments */
            st = opts.passes != NULL ? qdq_model_optimize(m, &opts, NULL, err) : qdq_nomem(err);
        }
        step += size + (step[size] == ',');
    }
    qdq_arena_free(&scratch);
    return st;
}

/* Passes that have work again where Q/DQ came: their constants may be equal, and so may be products
 * that went apart with their biases. */
static qdq_status tidy_constants(qdq_model *m, const qdq_plan *p, const qdq_job *job,
                                 qdq_error *err)
{
    QDQ_TRY(run_again(m, p->clean, "lift-subgraph-initializers", job, err));
    QDQ_TRY(run_again(m, p->clean, "share-initializers", job, err));
    return qdq_plan_has_dynamic(p) ? run_again(m, p->clean, "merge-equal", job, err) : QDQ_OK;
}

/* Where the rest has another type the result is tidied before, too: what is one constant in the
 * widened form of the result has to be one in the model that the conversion sees. Biases follow the
 * scales that will be stored. */
static qdq_status convert_rest(qdq_model *m, const qdq_plan *p, const qdq_map *kept,
                               const qdq_job *job, qdq_error *err)
{
    if (!qdq_plan_has_half(p))
        return QDQ_OK;
    QDQ_TRY(qdq_half_round_scales(m, &p->half, kept, err));
    QDQ_TRY(run_again(m, p->clean, "quantize-bias", job, err));
    QDQ_TRY(tidy_constants(m, p, job, err));
    return qdq_half_convert(m, &p->half, kept, job, err);
}

/* Q/DQ, then the rest: nodes are found by the labels that they have before either. */
static qdq_status insert_and_convert(qdq_model *m, const qdq_plan *p, qdq_insert_cache *cache,
                                     const qdq_job *job, qdq_error *err)
{
    qdq_map kept = QDQ_MAP_INIT;
    qdq_status st = qdq_half_find_kept(m, p, &kept, err);

    if (st == QDQ_OK)
        st = qdq_insert(m, p, cache, job, err);
    if (st == QDQ_OK)
        st = convert_rest(m, p, &kept, job, err);
    qdq_map_free(&kept);
    return st;
}

qdq_status qdq_quantize_finish(qdq_model *m, const qdq_plan *p, qdq_insert_cache *cache,
                               const qdq_job *job, qdq_error *err)
{
    QDQ_TRY(insert_and_convert(m, p, cache, job, err));
    if (p->tensors.n + p->weights.n + p->biases.n > 0) {
        qdq_shape_opts so = {.job = job};

        /* what gave a graph output was declared, and is inferred now */
        QDQ_TRY(qdq_model_infer(m, &so, err));
        QDQ_TRY(tidy_constants(m, p, job, err));
    }
    if (p->placement_only)
        QDQ_TRY(
            qdq_model_set_prop(m, "qdq.scales", "placement only: calibrated on random input", err));
    qdq_status st = qdq_model_verify(m, err);
    if (st == QDQ_E_FORMAT)
        return qdq_within(err, QDQ_E_BUG, "after inserting Q/DQ");
    return st == QDQ_OK ? qdq_check_scale_types(m, err) : st;
}

/* --- all of it -------------------------------------------------------------------------------- */

static qdq_status place_alone(const qdq_quantizing *q, qdq_error *err)
{
    QDQ_TRY(qdq_place_for(q, err));
    QDQ_TRY(qdq_place_inside(q, err));
    return qdq_allocated(qdq_plan_finish(q->plan), err);
}

/* Fits the target to model and processor, prepares the model, and makes its plan, or with `place`
 * only places. `opts` are q->opts. q->m is the model as it came; *prepared is the cleaned one. */
static qdq_status make_plan(qdq_quantizing *q, qdq_quantize_opts *opts, bool place,
                            qdq_model **prepared, qdq_error *err)
{
    const qdq_target *given = q->target;
    qdq_statistics *statistics = NULL;
    qdq_target *own = NULL;
    qdq_status st = qdq_target_fit(q->m, q->target, opts->cpu, opts->job, &own, err);

    q->target = own != NULL ? own : q->target;
    if (st == QDQ_OK)
        st = qdq_quantize_begin(q->m, q->target, opts, q->plan, prepared, err);
    q->m = *prepared;
    if (st == QDQ_OK && !place)
        st = qdq_statistics_open(q, given, &statistics, err);
    if (st == QDQ_OK)
        st = place ? place_alone(q, err) : qdq_quantize_first_plan(q, *prepared, err);
    if (st == QDQ_OK)
        st = qdq_why_conclude(opts->why, *prepared, q->plan, err);
    qdq_statistics_free(statistics);
    q->statistics = NULL;
    qdq_target_free(own);
    return st;
}

qdq_status qdq_quantize(const qdq_model *m, const qdq_target *t, qdq_engine *e, qdq_data *data,
                        const qdq_quantize_opts *opts, qdq_plan **plan, qdq_model **out,
                        qdq_error *err)
{
    qdq_quantize_opts own = QDQ_QUANTIZE_OPTS_INIT;
    qdq_model *prepared = NULL;
    qdq_quantizing q = {m, t, e, data, .opts = &own};

    *plan = NULL;
    if (out != NULL)
        *out = NULL;
    QDQ_TRY(qdq_opts_read("qdq_quantize_opts", &own, sizeof own, opts, err));
    QDQ_TRY(qdq_data_warn_of_sameness(data, own.job, err));
    q.plan = qdq_plan_new();
    qdq_status st = q.plan != NULL ? make_plan(&q, &own, false, &prepared, err) : qdq_nomem(err);
    if (st == QDQ_OK && out != NULL)
        st = qdq_quantize_finish(prepared, q.plan, NULL, q.opts->job, err);
    if (st != QDQ_OK || out == NULL)
        qdq_model_free(prepared);
    else
        *out = prepared;
    if (st != QDQ_OK)
        qdq_plan_free(q.plan);
    else
        *plan = q.plan;
    return st;
}

qdq_status qdq_plan_make(const qdq_model *m, const qdq_target *t, qdq_engine *e, qdq_data *data,
                         const qdq_quantize_opts *opts, qdq_plan **out, qdq_error *err)
{
    return qdq_quantize(m, t, e, data, opts, out, NULL, err);
}

qdq_status qdq_explain(const qdq_model *m, const qdq_target *t, const qdq_quantize_opts *opts,
                       qdq_error *err)
{
    qdq_quantize_opts own = QDQ_QUANTIZE_OPTS_INIT;
    qdq_model *prepared = NULL;
    qdq_quantizing q = {m, t, .opts = &own};

    QDQ_TRY(qdq_opts_read("qdq_quantize_opts", &own, sizeof own, opts, err));
    q.plan = qdq_plan_new();
    qdq_status st = q.plan != NULL ? make_plan(&q, &own, true, &prepared, err) : qdq_nomem(err);

    qdq_model_free(prepared);
    qdq_plan_free(q.plan);
    return st;
}

/* --- apply ------------------------------------------------------------------------------------ */

static qdq_status check_fingerprint(const qdq_plan *p, const qdq_model *m, const qdq_job *job,
                                    qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    const char *have;
    qdq_status st = qdq_model_fingerprint(m, job, &scratch, &have, err);

    if (st == QDQ_OK && strcmp(have, p->model) != 0)
        st = qdq_fail(err, QDQ_E_FORMAT,
                      "the plan is for another model: fingerprint %s, expected %s", have, p->model);
    qdq_arena_free(&scratch);
    return st;
}

qdq_status qdq_plan_apply(const qdq_plan *p, const qdq_model *m, bool force, const qdq_job *job,
                          qdq_model **out, qdq_error *err)
{
    qdq_model *copy = NULL;
    qdq_job quiet = QDQ_JOB_INIT;

    *out = NULL;
    quiet.cancel = qdq_job_cancel(job);
    if (!force)
        QDQ_TRY(check_fingerprint(p, m, &quiet, err));
    QDQ_TRY(qdq_quantize_clean(p, m, &quiet, &copy, err));
    qdq_status st = qdq_quantize_finish(copy, p, NULL, &quiet, err);
    return QDQ_HAND_OVER(copy, st, out, qdq_model_free);
}
