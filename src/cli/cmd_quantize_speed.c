/* cmd_quantize_speed.c - how fast what was written is, as text and as JSON. */
#include "cli/cmd_quantize.h"

/* What it is compared with: a model that brought Q/DQ is none in float. */
static const char *other_name(const quantize *q)
{
    return qdq_plan_get_summary(q->plan)->n_existing > 0 ? "the input" : "float";
}

/* The ratio is the median of pairs, and no ratio of medians where times vary: the time before is
 * the one that agrees with it. */
static double ms_before(const qdq_bench_model *after)
{
    return after->median_ms * after->speedup;
}

void cmd_quantize_speed_print(const quantize *q, FILE *to)
{
    const qdq_ptq_speed *s = q->r->speed;

    if (s == NULL)
        return;
    if (!s->measured) {
        fprintf(to, "\nspeed not measured: %s\n", s->why_not);
        return;
    }
    const qdq_bench_model *r = &s->after;
    fprintf(
        to,
        "\nspeed: %.2f times as fast as %s (95 %% interval %.2f to %.2f), %.3g ms, was %.3g ms; %d "
        "thread%s, shapes %s",
        r->speedup, other_name(q), r->ci_low, r->ci_high, r->median_ms, ms_before(r), s->threads,
        cli_plural((size_t)s->threads), qdq_model_is_open(q->quantized) ? "open" : "fixed");
    r = &s->fixed_after;
    if (s->fixed_too)
        fprintf(to, "; with shapes fixed %.2f times (%.2f to %.2f), %.3g ms, was %.3g ms",
                r->speedup, r->ci_low, r->ci_high, r->median_ms, ms_before(r));
    r = &s->optimized_after;
    if (s->optimized_too && r->ci_low <= 1)
        fprintf(
            to,
            "; %.2f times (%.2f to %.2f) as fast as with the same optimizations and without Q/DQ",
            r->speedup, r->ci_low, r->ci_high);
    fputc('\n', to);
}

static void put_times(qdq_json_out o, const qdq_bench_model *before, const qdq_bench_model *after)
{
    qdq_json_put_short(o, "speedup", after->speedup);
    qdq_json_put_short(o, "ci_low", after->ci_low);
    qdq_json_put_short(o, "ci_high", after->ci_high);
    qdq_json_put_short(o, "before_ms", before->median_ms);
    qdq_json_put_short(o, "after_ms", after->median_ms);
}

static void put_more_times(qdq_json_out o, const char *key, bool there,
                           const qdq_bench_model *before, const qdq_bench_model *after)
{
    if (there)
        put_times(qdq_json_put_object(o, key), before, after);
    else
        qdq_json_put_null(o, key);
}

void cmd_quantize_speed_json(const quantize *q, qdq_json_out root)
{
    const qdq_ptq_speed *s = q->r->speed;

    if (s == NULL) {
        qdq_json_put_null(root, "speed");
        return;
    }
    qdq_json_out o = qdq_json_put_object(root, "speed");
    qdq_json_put_text(o, "not_measured", s->measured ? NULL : s->why_not);
    if (!s->measured)
        return;
    put_times(o, &s->before, &s->after);
    qdq_json_put_int(o, "threads", s->threads);
    qdq_json_put_text(o, "shapes", qdq_model_is_open(q->quantized) ? "open" : "fixed");
    put_more_times(o, "fixed", s->fixed_too, &s->fixed_before, &s->fixed_after);
    put_more_times(o, "optimized", s->optimized_too, &s->optimized_before, &s->optimized_after);
}
