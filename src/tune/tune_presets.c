/* tune_presets.c - presets as a table, and the settings of a run as text, by which an unfinished run is found again. */
#include "tune/tune_state.h"

#include "base/buf.h"
#include "target/target.h"

typedef struct preset {
    const char *name;
    unsigned schemes, exhaustive, stale, max_pairs, max_builds;
} preset;

/* docs/autotune.md shows this table. By qdq_tune_preset. */
static const preset presets[] = {
    {"default", 8, 2, 3, 20, 40},
    {"quick", 4, 1, 2, 12, 16},
    {"extensive", 32, 5, 6, 40, 0},
};

void qdq_tune_settings(qdq_tuning *t)
{
    const qdq_tune_opts *o = t->opts;
    const preset *p = &presets[o->preset];

    t->test = (qdq_test_opts)QDQ_TEST_OPTS_INIT;
    t->test.max_pairs = p->max_pairs;
    t->test.strict = o->strict;
    if (o->min_gain > 0) {
        t->test.enter = o->min_gain;
        t->test.gain = 2 * o->min_gain;
    }
    t->search_opts =
        (qdq_search_opts){.test = t->test,
                          .schemes_per_unit = o->schemes_per_region > 0 ? o->schemes_per_region : p->schemes,
                          .exhaustive = p->exhaustive,
                          .mutations = 3,
                          .stale = p->stale,
                          .max_trials = o->trials,
                          .max_builds = o->max_builds > 0 ? o->max_builds : p->max_builds,
                          .seed = o->seed};
}

const char *qdq_tune_search_text(qdq_tuning *t)
{
    const qdq_search_opts *o = &t->search_opts;

    return qdq_arena_printf(
        &t->arena,
        "mode=region preset=%s schemes=%u exhaustive=%u stale=%u pairs=%u strict=%d enter=%.17g seed=%llu "
        "builder=%d "
        "size=%u/%u min_sqnr=%.17g target=%s plan=%s",
        presets[t->opts->preset].name, o->schemes_per_unit, o->exhaustive, o->stale, o->test.max_pairs,
        o->test.strict, o->test.enter, (unsigned long long)o->seed, (int)t->opts->regions.builder,
        t->opts->regions.max_region_size, t->opts->regions.min_refine_size,
        t->opts->goal != NULL ? t->opts->goal->min_sqnr : 0.0, t->target->name, t->rules_name);
}

static void put_shape(qdq_buf *b, const qdq_input_shape *s)
{
    qdq_buf_printf(b, " %s=", s->name);
    for (int d = 0; d < s->rank; d++)
        qdq_buf_printf(b, "%s%lld", d > 0 ? "x" : "", (long long)s->dim[d]);
}

const char *qdq_tune_options_text(qdq_tuning *t)
{
    const qdq_tune_opts *o = t->opts;
    qdq_buf b = QDQ_BUF_INIT(1 << 20);

    qdq_buf_printf(&b, "threads=%d warmup=%u runs=%u", o->threads > 0 ? o->threads : 1,
                   o->warmup_runs > 0 ? o->warmup_runs : 2, o->timing_runs > 0 ? o->timing_runs : 1);
    for (size_t i = 0; i < t->quantize.n_shapes; i++)
        put_shape(&b, &t->quantize.shapes[i]);
    const char *text = b.failed ? NULL : qdq_arena_strdup(&t->arena, b.data);
    qdq_buf_free(&b);
    return text;
}
