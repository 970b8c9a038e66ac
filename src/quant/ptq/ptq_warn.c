/* ptq_warn.c - what the user should know before the model is used. */
#include "quant/ptq/ptq_state.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "ir/ir.h"
#include "quant/goal/goal_outputs.h"

static QDQ_PRINTF(5, 0) qdq_status add_warning(qdq_ptq_run *r, qdq_error *err, bool logged,
                                               qdq_ptq_fact fact, const char *fmt, va_list args)
{
    qdq_arena *arena = &r->block->arena;
    const qdq_ptq_warning w = {
        .fact = fact, .text = qdq_arena_vprintf(arena, fmt, args), .logged = logged};

    QDQ_NEED(w.text != NULL && QDQ_PUSH(arena, &r->block->warnings, w), err);
    if (logged)
        qdq_job_log(&r->job, QDQ_LOG_WARNING, "%s", w.text);
    return QDQ_OK;
}

qdq_status qdq_ptq_note(qdq_ptq_run *r, qdq_error *err, qdq_ptq_fact fact, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    const qdq_status st = add_warning(r, err, true, fact, fmt, args);
    va_end(args);
    return st;
}

static qdq_status warn(qdq_ptq_run *r, qdq_error *err, qdq_ptq_fact fact, const char *fmt, ...)
    QDQ_PRINTF(4, 5);
static qdq_status warn(qdq_ptq_run *r, qdq_error *err, qdq_ptq_fact fact, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    const qdq_status st = add_warning(r, err, false, fact, fmt, args);
    va_end(args);
    return st;
}

/* --- the goal --------------------------------------------------------------------------------- */

static int by_error(const void *a, const void *b)
{
    const qdq_goal_layer *x = *(const qdq_goal_layer *const *)a,
                         *y = *(const qdq_goal_layer *const *)b;

    return x->error != y->error ? (x->error < y->error ? 1 : -1) : strcmp(x->node, y->node);
}

/* Those that lose most, of the layers in 8 bits, or of all where none is left. *out "": not
 * known. */
static qdq_status worst_layers(qdq_ptq_run *r, const char **out, qdq_error *err)
{
    enum { SHOWN = 3 };
    const qdq_goal_result *g = r->block->head.goal;
    const qdq_goal_layer **at = qdq_arena_array(&r->block->arena, g->n_layers + 1, sizeof *at);
    size_t n = 0;

    QDQ_NEED(at, err);
    *out = "";
    for (size_t i = 0; i < g->n_layers; i++)
        if (!isnan(g->layers[i].error) && (g->is_float || !g->layers[i].is_float))
            at[n++] = &g->layers[i];
    if (n > 1)
        qsort(at, n, sizeof *at, by_error);
    for (size_t i = 0; i < n && i < SHOWN; i++) {
        *out = qdq_arena_printf(&r->block->arena, "%s%s'%s'", *out,
                                i == 0 ? "; worst layers: " : ", ", at[i]->node);
        QDQ_NEED(*out, err);
    }
    return QDQ_OK;
}

static qdq_status warn_of_plan(qdq_ptq_run *r, qdq_error *err)
{
    const qdq_compare_tensor *low = qdq_ptq_find_low(r);

    if (low == NULL)
        return QDQ_OK;
    const bool is_measured = low->worst_db < QDQ_DEFAULT_MIN_SQNR;
    return warn(r, err, QDQ_PTQ_PLAN_BELOW,
                "output '%s': %s %.2f dB, less than %g dB; the plan was not changed for that",
                low->name, is_measured ? "SQNR" : "bound of the SQNR", qdq_goal_db(low),
                QDQ_DEFAULT_MIN_SQNR);
}

static qdq_status warn_of_goal(qdq_ptq_run *r, qdq_error *err)
{
    const qdq_goal_result *g = r->block->head.goal;
    const char *worst;

    if (r->is_given && r->block->head.verdict == QDQ_PTQ_MISSED)
        return warn_of_plan(r, err);
    if (g == NULL || g->reached)
        return QDQ_OK;
    if (r->misjudges)
        return warn(r, err, QDQ_PTQ_ENGINE_WRONG, "%s", r->block->head.missed);
    if (!g->is_float && !g->is_best_accepted) /* nothing was searched for */
        return warn_of_plan(r, err);
    if (g->is_slower)
        return warn(r, err, QDQ_PTQ_GOAL_SLOWER,
                    "nothing was quantized: the goal of %g dB can be reached, but %s",
                    QDQ_DEFAULT_MIN_SQNR, g->why);
    QDQ_TRY(worst_layers(r, &worst, err));
    return g->is_float ? warn(r, err, QDQ_PTQ_GOAL_FLOAT,
                              "nothing was quantized: no plan that saves a tenth of the time "
                              "reaches %g dB; %s%s",
                              QDQ_DEFAULT_MIN_SQNR, g->why, worst)
                       : warn(r, err, QDQ_PTQ_GOAL_MISSED, "the goal of %g dB is missed: %s%s",
                              QDQ_DEFAULT_MIN_SQNR, g->why, worst);
}

/* --- what was quantized ----------------------------------------------------------------------- */

/* A target for weights alone, which left nearly all of them as they are. */
static bool saves_little(const qdq_ptq_run *r, const qdq_plan_summary *s)
{
    return s->n_tensors == 0 && strncmp(s->target, "int4", 4) == 0 &&
           (double)qdq_model_weight_bytes(qdq_ptq_model(r)) >
               0.95 * (double)qdq_model_weight_bytes(r->m);
}

qdq_status qdq_ptq_warn_of_result(qdq_ptq_run *r, qdq_error *err)
{
    const qdq_plan_summary *s = qdq_plan_get_summary(qdq_ptq_plan(r));

    if (!r->names_goal)
        QDQ_TRY(warn_of_goal(r, err));
    if (r->block->head.goal != NULL && r->block->head.goal->is_float)
        return QDQ_OK;
    if (s->n_tensors + s->n_weights + s->n_biases == 0)
        return warn(r, err, QDQ_PTQ_NOTHING, "%s",
                    s->n_existing > 0
                        ? "nothing was left to quantize: what the model has in 8 bits is kept"
                        : "nothing was quantized: the reasons are listed with the result");
    if (saves_little(r, s))
        return warn(r, err, QDQ_PTQ_LITTLE,
                    "weights: less than 5 %% saved; target %s quantizes only weights of MatMul, "
                    "Gemm and Gather",
                    s->target);
    return s->placement_only ? warn(r, err, QDQ_PTQ_PLACEMENT_ONLY,
                                    "placement only: scales come from random data")
                             : QDQ_OK;
}

/* --- the speed -------------------------------------------------------------------------------- */

qdq_status qdq_ptq_warn_of_speed(qdq_ptq_run *r, qdq_error *err)
{
    const qdq_plan_summary *s = qdq_plan_get_summary(qdq_ptq_plan(r));
    const qdq_ptq_speed *v = r->block->head.speed;

    if (v == NULL || !v->measured)
        return QDQ_OK;
    /* what optimizations did: then only a loss is told */
    const bool is_float = s->n_tensors + s->n_weights + s->n_biases == 0;
    /* a model that brought Q/DQ is none in float */
    const char *other = s->n_existing > 0 || is_float ? "the input" : "float";
    const qdq_bench_model *now = &v->after, *fixed = &v->fixed_after,
                          *optimized = &v->optimized_after;
    if (v->fixed_too && fixed->ci_high < 1 && now->ci_high >= 1)
        QDQ_TRY(warn(r, err, QDQ_PTQ_SLOWER_FIXED,
                     "slower than %s once the engine fixes its shapes: %.2f times its speed (95 %% "
                     "interval %.2f to %.2f)",
                     other, fixed->speedup, fixed->ci_low, fixed->ci_high));
    if (now->ci_low > 1 && !is_float && v->optimized_too && optimized->ci_high < 1)
        QDQ_TRY(warn(r, err, QDQ_PTQ_SLOWER_OPTIMIZED,
                     "slower than with the same optimizations and without Q/DQ: %.2f times that "
                     "speed (95 %% interval %.2f to %.2f)",
                     optimized->speedup, optimized->ci_low, optimized->ci_high));
    const bool slower = now->ci_high < 1;
    if (now->ci_low > 1 || (is_float && !slower))
        return QDQ_OK;
    return warn(r, err, slower ? QDQ_PTQ_SLOWER : QDQ_PTQ_NOT_FASTER,
                "%s than %s: %.2f times its speed (95 %% interval %.2f to %.2f)",
                slower ? "slower" : "not shown to be faster", other, now->speedup, now->ci_low,
                now->ci_high);
}
