/* quantize_prepare.c - the copy of a model that plans speak of: cleaned, of an opset that has what
 * is needed, with shapes. The plan's head records how it was made, so that the same copy is made
 * when the plan is applied. */
#include <string.h>

#include "base/fail.h"
#include "base/map.h"
#include "ir/shape.h"
#include "opt/fuse/composite.h"
#include "qdq/pass.h"
#include "quant/control_flow/control_flow.h"
#include "quant/half_precision/half_precision.h"
#include "quant/half_precision/widen.h"
#include "quant/place/place_fused.h"
#include "quant/place/why.h"
#include "quant/plan/fingerprint.h"
#include "quant/quantize_steps.h"
#include "quant/target_fit.h"
#include "quant/weights/smooth_fold.h"

/* --- cleaning --------------------------------------------------------------------------------- */

/* What passes did, and what they left. */
typedef struct cleaned {
    /* pairs of Conv */
    size_t n_equalized;
    /* channels are apart, but equal ranges would not help */
    size_t n_not_equalized;
    /* LayerNormalizations in single nodes that only the opset keeps from being fused */
    size_t n_spelled;
} cleaned;

/* The pass with arguments: what of a pair of Conv this target rounds. Fewer bits than data have
 * make the noise of weights count alone. */
static const char *equalize_pass(const qdq_target *t)
{
    const qdq_format *f = &t->format;
    bool per_channel = f->weight_per_channel || f->weight_block != 0;
    bool weights = !qdq_elem_is_code(f->activation.type) ||
                   qdq_elem_bits(f->weight.type) < qdq_elem_bits(f->activation.type);

    if (per_channel)
        return weights ? "equalize:per-channel+weights" : "equalize:per-channel";
    return weights ? "equalize:weights" : "equalize";
}

/* A pair may be changed in several sweeps: it counts by the node that is named. */
typedef struct pairs {
    qdq_map by_node;
    bool no_memory;
} pairs;

static void count_pair(void *ctx, uint64_t number, const char *pass, const char *where)
{
    pairs *p = ctx;

    (void)number;
    if (strcmp(pass, "equalize") == 0)
        p->no_memory = qdq_map_put(&p->by_node, where, NULL) == NULL || p->no_memory;
}

/* `reason` NULL: any. */
static size_t count_refused(const qdq_optimize_report *r, const char *pass, const char *reason)
{
    size_t n = 0;

    for (size_t i = 0; i < r->n_passes; i++)
        for (size_t k = 0; strcmp(r->passes[i].pass, pass) == 0 && k < r->passes[i].n_refusals; k++)
            if (reason == NULL || strcmp(r->passes[i].refusals[k].reason, reason) == 0)
                n += r->passes[i].refusals[k].n;
    return n;
}

/* Runs a pipeline within QDQ_CLEAN_GROWTH, and counts. */
static qdq_status clean_model(qdq_model *m, const char *passes, cleaned *out, qdq_error *err)
{
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_optimize_report *report = NULL;
    pairs p = {QDQ_MAP_INIT, false};

    *out = (cleaned){0};
    opts.passes = passes;
    opts.growth_bytes = QDQ_CLEAN_GROWTH;
    opts.on_change = count_pair;
    opts.ctx = &p;
    qdq_status st = qdq_model_optimize(m, &opts, &report, err);
    if (st == QDQ_OK) {
        *out = (cleaned){p.by_node.n_live, count_refused(report, "equalize", NULL),
                         count_refused(report, "fuse-layernorm", qdq_layernorm_too_old)};
        st = p.no_memory ? qdq_nomem(err) : QDQ_OK;
    }
    qdq_optimize_report_free(report);
    qdq_map_free(&p.by_node);
    return st;
}

static qdq_status raise_opset(qdq_model *m, const char *passes, int opset, cleaned *done,
                              qdq_error *err)
{
    cleaned again;

    if (opset <= qdq_model_opset(m))
        return QDQ_OK;
    QDQ_TRY(qdq_model_set_opset(m, opset, err));
    /* a newer opset has operators for more of what is there */
    QDQ_TRY(clean_model(m, passes, &again, err));
    done->n_spelled = again.n_spelled; /* a second time equalizes nothing */
    return QDQ_OK;
}

static qdq_status prepare_model(const qdq_plan *p, const qdq_model *m, const qdq_job *job,
                                cleaned *done, qdq_model **out, qdq_error *err)
{
    qdq_shape_opts so = {.job = job};
    qdq_model *copy = NULL;
    qdq_status st =
        p->half.widened ? qdq_model_widen(m, &copy, err) : qdq_model_clone(m, &copy, err);

    if (st == QDQ_OK)
        st = clean_model(copy, p->clean, done, err);
    if (st == QDQ_OK)
        st = raise_opset(copy, p->clean, p->opset, done, err);
    if (st == QDQ_OK)
        st = qdq_control_flow_name_apart(copy, err);
    if (st == QDQ_OK)
        st = qdq_model_infer(copy, &so, err);
    return QDQ_HAND_OVER(copy, st, out, qdq_model_free);
}

qdq_status qdq_quantize_clean(const qdq_plan *p, const qdq_model *m, const qdq_job *job,
                              qdq_model **out, qdq_error *err)
{
    cleaned done; /* the plan says it already */

    QDQ_TRY(prepare_model(p, m, job, &done, out, err));
    const qdq_status st = qdq_smooth_apply(*out, p, err);
    return QDQ_HAND_OVER(*out, st, out, qdq_model_free);
}

/* --- an opset that has LayerNormalization ----------------------------------------------------- */

/* Exporters before opset 17 spell LayerNormalization in single nodes, and rules for its input ask
 * for the operator. The plan gets the opset that has it, and *prepared the `n` fused ones; a model
 * that cannot be raised stays as it is. */
static qdq_status raise_for_layernorm(const qdq_model *m, const qdq_job *job, size_t n, qdq_plan *p,
                                      qdq_model **prepared, qdq_error *err)
{
    int opset = p->opset, from = qdq_model_opset(*prepared);
    qdq_error why = QDQ_ERROR_INIT;
    qdq_model *raised = NULL;
    cleaned done;

    p->opset = QDQ_LAYERNORM_OPSET;
    qdq_status st = prepare_model(p, m, job, &done, &raised, &why);
    if (st == QDQ_E_UNSUPPORTED) {
        p->opset = opset;
        qdq_job_log(job, QDQ_LOG_WARNING,
                    "opset %d cannot be raised: %s; the inputs of %zu LayerNormalization in single "
                    "nodes get no Q/DQ",
                    from, why.text, n);
        return QDQ_OK;
    }
    if (st != QDQ_OK) {
        *err = why;
        return st;
    }
    p->n_layernorms = n - done.n_spelled;
    qdq_job_log(job, QDQ_LOG_INFO,
                "opset %d is raised to %d: %zu LayerNormalization in single nodes are fused", from,
                p->opset, p->n_layernorms);
    qdq_model_free(*prepared);
    *prepared = raised;
    return QDQ_OK;
}

/* A model that old has no other LayerNormalization. */
static void say_fused(const qdq_plan *p, qdq_why *why, const qdq_model *prepared)
{
    if (why == NULL || p->n_layernorms == 0)
        return;
    QDQ_FOR_GRAPHS (g, prepared)
        QDQ_FOR_NODES (n, g)
            if (n->op == QDQ_OP_LAYERNORMALIZATION)
                qdq_why_say(why, n, "fuse-layernorm", true,
                            "the model has it in single nodes; its opset is raised to %d, and they "
                            "are fused",
                            p->opset);
}

/* --- the head of a plan ----------------------------------------------------------------------- */

static qdq_status describe_plan(qdq_plan *p, const qdq_model *m, const qdq_target *t,
                                const qdq_quantize_opts *opts, qdq_error *err)
{
    const char *passes =
        qdq_arena_printf(&p->arena, "%s%s%s", opts->passes != NULL ? opts->passes : "quantize",
                         opts->equalize ? "," : "", opts->equalize ? equalize_pass(t) : "");
    char *text;

    QDQ_NEED(passes != NULL, err);
    QDQ_TRY(qdq_pass_pipeline(passes, t, &text, err));
    p->clean = qdq_arena_strdup(&p->arena, text);
    qdq_free(text);
    int least = qdq_target_opset(t);
    p->opset = qdq_model_opset(m) < least ? least : 0;
    p->created_by = "qdq " QDQ_VERSION;
    p->target = qdq_arena_strdup(&p->arena, t->name);
    if (t->sha256 != NULL && (p->target_sha256 = qdq_arena_strdup(&p->arena, t->sha256)) == NULL)
        return qdq_nomem(err);
    if (t->without_vnni != QDQ_WITHOUT_VNNI_ANY || t->has_cpu)
        p->cpu = qdq_cpu_name(qdq_target_cpu(opts->cpu));
    QDQ_TRY(qdq_half_begin(m, t, p, err));
    QDQ_TRY(qdq_model_fingerprint(m, opts->job, &p->arena, &p->model, err));
    return qdq_allocated(p->target != NULL && p->clean != NULL, err);
}

qdq_status qdq_quantize_begin(const qdq_model *m, const qdq_target *t, qdq_quantize_opts *opts,
                              qdq_plan *p, qdq_model **prepared, qdq_error *err)
{
    cleaned done;

    if (t->ops.n == 0)
        return qdq_fail(
            err, QDQ_E_UNSUPPORTED,
            "target '%s' has no placement rules (key 'operators'): expected a target that has",
            t->name);
    QDQ_TRY(describe_plan(p, m, t, opts, err));
    QDQ_TRY(prepare_model(p, m, opts->job, &done, prepared, err));
    p->n_equalized = done.n_equalized;
    p->n_not_equalized = done.n_not_equalized;
    if (t->layernorm_input != QDQ_LAYERNORM_OFF && done.n_spelled > 0)
        QDQ_TRY(raise_for_layernorm(m, opts->job, done.n_spelled, p, prepared, err));
    if (qdq_model_opset(*prepared) > t->max_opset)
        qdq_job_log(opts->job, QDQ_LOG_WARNING,
                    "opset %d: what the engine runs in 8 bits is known up to opset %d",
                    qdq_model_opset(*prepared), t->max_opset);
    QDQ_TRY(qdq_place_follow_names(m, *prepared, &p->arena, opts, err));
    QDQ_TRY(qdq_why_look(opts->why, m, *prepared, err));
    say_fused(p, opts->why, *prepared);
    return QDQ_OK;
}

qdq_status qdq_quantize_again(const qdq_plan *first, qdq_plan *p, qdq_error *err)
{
    p->model = qdq_arena_strdup(&p->arena, first->model);
    p->target = qdq_arena_strdup(&p->arena, first->target);
    p->clean = qdq_arena_strdup(&p->arena, first->clean);
    p->created_by = "qdq " QDQ_VERSION;
    p->cpu = first->cpu;
    if (first->target_sha256 != NULL &&
        (p->target_sha256 = qdq_arena_strdup(&p->arena, first->target_sha256)) == NULL)
        return qdq_nomem(err);
    p->opset = first->opset;
    p->n_equalized = first->n_equalized;
    p->n_not_equalized = first->n_not_equalized;
    p->n_layernorms = first->n_layernorms;
    p->half.widened = first->half.widened;
    QDQ_NEED(qdq_plan_take_smoothings(p, first), err);
    for (size_t i = 0; i < first->half.was_float.n; i++)
        QDQ_NEED(QDQ_PUSH(&p->arena, &p->half.was_float,
                          qdq_arena_strdup(&p->arena, first->half.was_float.at[i])) &&
                     p->half.was_float.at[i] != NULL,
                 err);
    return qdq_allocated(p->model != NULL && p->target != NULL && p->clean != NULL, err);
}
