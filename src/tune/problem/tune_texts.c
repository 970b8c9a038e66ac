/* tune_texts.c - settings of a run as text, by which an unfinished run is found again. */
#include <string.h>

#include "base/buf.h"
#include "target/target.h"
#include "tune/accuracy/accuracy.h"
#include "tune/baseline/baseline.h"
#include "tune/problem/tune_problem.h"
#include "tune/state/tune_presets.h"

qdq_pattern_cache qdq_tune_new_cache(const qdq_tune_state *t, bool whole)
{
    qdq_pattern_cache c = QDQ_PATTERN_CACHE_INIT;

    c.minimum_distance = whole ? 1 : t->details->pattern_cache_distance;
    c.max_entries = t->details->pattern_cache_entries;
    return c;
}

/* What users handed in besides the model, in a few digits: other seeds make another search. False:
 * out of memory. */
static bool name_known(const qdq_tune_state *t, char name[33])
{
    qdq_buf b = QDQ_BUF_INIT(1 << 30);
    char *text = NULL;

    if (qdq_pattern_cache_text(&t->parts.known, &text, NULL) == QDQ_OK)
        qdq_buf_printf(&b, "%s", text);
    for (size_t i = 0; i < t->parts.filter.n; i++)
        qdq_buf_printf(&b, "\n%s", t->parts.filter.at[i]);
    qdq_buf_printf(&b, "\n");
    const bool ok = text != NULL;
    qdq_free(text);
    return qdq_digits_take(&b, name) && ok;
}

/* Which mode it is, and what only that one asks. In the arena; NULL: out of memory. */
static const char *mode_text(qdq_tune_state *t)
{
    const qdq_goal_opts *goal = t->opts->goal;

    return t->opts->mode == QDQ_TUNE_REGION
               ? "region"
               : qdq_arena_printf(&t->arena,
                                  "subgraph strategy=%d/%d layers=%s max_drop=%.17g evaluations=%u",
                                  (int)t->opts->strategy, t->details->validate_whole,
                                  t->parts.layers_name, goal->max_drop, goal->max_evaluations);
}

/* A value without spaces, which end values. */
static void put_value(qdq_buf *b, const char *key, const char *value)
{
    qdq_buf_printf(b, " %s=", key);
    for (; *value != '\0'; value++)
        qdq_buf_printf(b, "%c", *value == ' ' ? '_' : *value);
}

static void put_list(qdq_buf *b, const char *key, const char *const *list)
{
    for (size_t i = 0; list != NULL && list[i] != NULL; i++)
        if (i == 0)
            put_value(b, key, list[i]);
        else
            qdq_buf_printf(b, "|%s", list[i]);
}

/* What the rules' plan follows from, as far as it is asked for: its digits alone say nothing to who
 * has changed an option. In the arena; NULL: out of memory. */
static const char *quantize_text(qdq_tune_state *t)
{
    const qdq_quantize_opts *q = &t->task.quantize;
    qdq_buf b = QDQ_BUF_INIT(1 << 20);

    if (q->samples > 0)
        qdq_buf_printf(&b, " samples=%zu", q->samples);
    if (q->method != QDQ_METHOD_DEFAULT)
        put_value(&b, "method", qdq_method_name(q->method));
    if (q->percentile > 0)
        qdq_buf_printf(&b, " percentile=%g", q->percentile);
    put_list(&b, "exclude", q->exclude);
    put_list(&b, "include", q->include);
    put_list(&b, "op_types", q->op_types);
    put_list(&b, "exclude_op_types", q->exclude_op_types);
    if (q->passes != NULL)
        put_value(&b, "passes", q->passes);
    if (q->equalize)
        qdq_buf_puts(&b, " equalize=1");
    if (q->cpu != QDQ_CPU_AUTO)
        put_value(&b, "cpu", qdq_cpu_name(q->cpu));
    if (t->opts->external != QDQ_EXTERNAL_AUTO)
        put_value(&b, "external_data",
                  t->opts->external == QDQ_EXTERNAL_ALWAYS ? "always" : "never");
    if (qdq_plan_has_half(t->task.nothing))
        put_value(&b, "rest", qdq_elem_name(t->task.nothing->half.type));
    const char *text = b.failed ? NULL : qdq_arena_strdup(&t->arena, b.data != NULL ? b.data : "");
    qdq_buf_free(&b);
    return text;
}

/* Without it, placements may have data that is quantized at run time. */
static const char *form_text(const qdq_tune_state *t)
{
    return t->opts->goal->one_format ? " one_format=1" : "";
}

/* "" where none was asked for. In the arena; NULL: out of memory. */
static const char *agreement_text(qdq_tune_state *t)
{
    const double least = t->opts->goal->min_agreement;

    return least > 0 ? qdq_arena_printf(&t->arena, " min_agreement=%.17g", least) : "";
}

const char *qdq_tune_search_text(qdq_tune_state *t, const char *data)
{
    const qdq_search_opts *o = &t->run.search_opts;
    const char *mode = mode_text(t), *baselines = qdq_baselines_text(t),
               *metric = qdq_tune_metric_text(t), *quantize = quantize_text(t),
               *agreement = agreement_text(t);
    char known[33];

    if (mode == NULL || baselines == NULL || quantize == NULL || metric == NULL ||
        agreement == NULL || !name_known(t, known))
        return NULL;
    return qdq_arena_printf(
        &t->arena,
        "mode=%s preset=%s schemes=%u exhaustive=%u stale=%u pairs=%u strict=%d enter=%.17g "
        "seed=%llu builder=%d size=%u/%u min_sqnr=%.17g target=%s plan=%s correct=%d "
        "mutations=%u/%u pool=%.17g/%u known=%s %s%s%s%s%s%s%s",
        mode, qdq_tune_preset_name(t->opts->preset), o->schemes_per_unit, o->exhaustive, o->stale,
        o->test.max_pairs, o->test.strict, o->test.enter, (unsigned long long)o->seed,
        (int)t->details->regions->builder, t->details->regions->max_region_size,
        t->details->regions->min_refine_size, t->opts->goal->min_sqnr, t->task.target->name,
        t->task.rules_name, t->task.correct, o->mutations, o->attempts, t->details->pool_fraction,
        t->details->pool_min, known, data, agreement, metric, quantize, form_text(t),
        baselines[0] != '\0' ? " qdq-baselines=" : "", baselines);
}

const char *qdq_tune_effort_text(qdq_tune_state *t)
{
    const qdq_search_opts *o = &t->run.search_opts;
    const qdq_goal_opts *goal = t->opts->goal;
    const char *metric = qdq_tune_metric_text(t), *agreement = agreement_text(t);

    return metric == NULL || agreement == NULL
               ? NULL
               : qdq_arena_printf(
                     &t->arena,
                     "schemes=%u exhaustive=%u stale=%u pairs=%u strict=%d enter=%.17g "
                     "mutations=%u/%u "
                     "trials=%u builds=%u time=%.17g min_sqnr=%.17g max_drop=%.17g%s%s%s %s",
                     o->schemes_per_unit, o->exhaustive, o->stale, o->test.max_pairs,
                     o->test.strict, o->test.enter, o->mutations, o->attempts, o->max_trials,
                     o->max_builds, t->opts->time_s, goal->min_sqnr, goal->max_drop, agreement,
                     metric, form_text(t), t->tools.context.quant);
}

static void put_shape(qdq_buf *b, const qdq_input_shape *s)
{
    qdq_buf_printf(b, " %s=", s->name);
    for (int d = 0; d < s->rank; d++)
        qdq_buf_printf(b, "%s%lld", d > 0 ? "x" : "", (long long)s->dim[d]);
}

/* A run of a sequence is timed with the shapes that it has there. */
static void put_timed_step(const qdq_tune_state *t, qdq_buf *b)
{
    size_t timed;

    if (qdq_tune_steps(t, &timed) > 0)
        qdq_buf_printf(b, " step=%zu", timed);
}

const char *qdq_tune_options_text(qdq_tune_state *t)
{
    const qdq_tune_opts *o = t->opts;
    qdq_buf b = QDQ_BUF_INIT(1 << 20);

    qdq_buf_printf(&b, "threads=%d warmup=%u runs=%u codes=%s/%s", o->threads > 0 ? o->threads : 1,
                   t->details->warmup_runs > 0 ? t->details->warmup_runs : 2,
                   qdq_tune_sample_runs(o), qdq_elem_name(t->task.target->format.activation.type),
                   qdq_elem_name(t->task.target->format.weight.type));
    for (size_t i = 0; i < t->task.quantize.n_shapes; i++)
        put_shape(&b, &t->task.quantize.shapes[i]);
    put_timed_step(t, &b);
    const char *text = b.failed ? NULL : qdq_arena_strdup(&t->arena, b.data);
    qdq_buf_free(&b);
    return text;
}

/* All of the target, for who knows which of it an engine's time depends on. */
const char *qdq_tune_quant_text(qdq_tune_state *t)
{
    char digits[33];

    qdq_digits_of(t->task.target->text, strlen(t->task.target->text), digits);
    return qdq_arena_printf(&t->arena, "target=%s %s rest=%s", t->task.target->name, digits,
                            qdq_elem_name(t->task.nothing->half.type));
}
