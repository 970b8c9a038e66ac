/* tune_report.c - report.html: one page that needs nothing else. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "report/page.h"
#include "tune/accuracy/accuracy.h"
#include "tune/baseline/baseline.h"
#include "tune/candidate/tune_files.h"
#include "tune/candidate/tune_names.h"
#include "tune/greedy/greedy.h"
#include "tune/worker_client/tune_fault.h"
#include "tune/outcome/outcome.h"
#include "tune/state/strategy.h"
#include "tune/state/units.h"

enum { PAGE_BYTES = 64 << 20, TEXT = 200, MORE = 400 };

/* --- result ----------------------------------------------------------------------------------- */

/* Empty where no goal was asked of what was written. */
static void accuracy_text(const qdq_tune_state *t, char *text, size_t size)
{
    const qdq_tune_accuracy *a = &t->out->written;
    size_t n = (size_t)snprintf(text, size, "%s", a->worst), timed;
    const size_t steps = qdq_tune_steps(t, &timed);

    if (n > 0 && n < size && a->samples > 0) /* of an older run it is not known */
        n += (size_t)snprintf(text + n, size - n, "; on %zu sample%s", a->samples,
                              a->samples == 1 ? "" : "s");
    if (n > 0 && n < size && a->samples > 0 && steps > 0)
        n += (size_t)snprintf(text + n, size - n, " of %zu steps", steps);
    if (n > 0 && n < size && !isnan(a->bound_db))
        n += (size_t)snprintf(text + n, size - n, "; lower bound %.1f dB", a->bound_db);
    if (n > 0 && n < size && !isnan(a->top1))
        n += (size_t)snprintf(text + n, size - n, "; top-1 agreement %.4f", a->top1);
    if (n > 0 && n < size && !isnan(a->half_agreement))
        snprintf(text + n, size - n, "; agreement at 0.5 %.4f", a->half_agreement);
}

/* Of times, those that were measured. */
static void times_text(const qdq_tune_result *r, char *text, size_t size)
{
    snprintf(text, size, "input %.3g ms", r->baseline_ms);
    if (isfinite(r->rules_ms))
        qdq_text_add(text, size, ", rules %.3g ms", r->rules_ms);
    if (isfinite(r->predicted_ms))
        qdq_text_add(text, size, ", predicted %.3g ms", r->predicted_ms);
}

/* Those of the table of trials. */
static unsigned pairs_of_trials(const qdq_tune_state *t)
{
    unsigned n = 0;

    for (size_t i = 0; i < t->run.steps.n; i++)
        n += t->run.steps.at[i].failed == NULL ? t->run.steps.at[i].result.pairs : 0;
    return n;
}

static void show_figures(const qdq_tune_state *t, qdq_buf *b)
{
    const qdq_tune_result *r = t->out;
    char speed[TEXT], interval[TEXT], final[TEXT], base[TEXT], builds[TEXT], timings[TEXT],
        sqnr[TEXT], slice[MORE];
    size_t n = 0;
    qdq_page_figure f[4];

    snprintf(speed, sizeof speed, "%.2f", r->speedup);
    snprintf(interval, sizeof interval, "95 %%: %.2f to %.2f", r->ci_low, r->ci_high);
    f[n++] = (qdq_page_figure){speed, "\xc3\x97", "as fast as the input model", interval,
                               r->ci_low > 1 ? QDQ_TONE_GOOD : QDQ_TONE_PLAIN};
    snprintf(final, sizeof final, "%.3g", r->final_ms);
    times_text(r, base, sizeof base);
    f[n++] = (qdq_page_figure){final, "ms", "of one run", base, QDQ_TONE_PLAIN};
    snprintf(builds, sizeof builds, "%u", r->builds);
    const unsigned tried = pairs_of_trials(t);
    snprintf(timings, sizeof timings,
             "%u pairs in %.0f s: %u of trials, %u at the end and for noise; profiles ruled out %u "
             "candidates",
             r->timings, r->seconds, tried, r->timings > tried ? r->timings - tried : 0,
             r->ruled_out);
    f[n++] = (qdq_page_figure){builds, NULL, "builds", timings, QDQ_TONE_PLAIN};
    if (!isnan(r->sqnr_db)) {
        snprintf(sqnr, sizeof sqnr, "%.1f", r->sqnr_db);
        accuracy_text(t, slice, sizeof slice);
        const size_t end = strlen(slice);
        if (!isnan(t->outcome.shipped_metric))
            snprintf(slice + end, sizeof slice - end, "; %s %.6g, of the input %.6g",
                     qdq_metric_name(t->opts->goal->metric), t->outcome.shipped_metric,
                     t->tools.input_metric);
        f[n++] = (qdq_page_figure){
            sqnr, "dB", "SQNR of the worst slice",
            r->placement_only ? "placement only: the scales come from random input" : slice,
            r->placement_only ? QDQ_TONE_BAD : QDQ_TONE_PLAIN};
    }
    qdq_page_figures(b, f, n);
}

/* How the times were taken, and what the result takes when it is run in the other way. */
static void dims_text(const qdq_tune_state *t, char *text, size_t size)
{
    const qdq_tune_result *r = t->out;
    const qdq_tune_other_dims *o = &r->other_dims;
    const char *other = qdq_tune_dims_name(o->dims);
    size_t n = (size_t)snprintf(text, size, " Shapes %s.", qdq_tune_dims_name(r->dims)), timed;
    const size_t steps = qdq_tune_steps(t, &timed);

    if (steps > 0)
        n += (size_t)snprintf(text + n, size - n, " Times of step %zu of %zu.", timed + 1, steps);

    if (o->measured)
        snprintf(text + n, size - n,
                 " With shapes %s %.3g ms, was %.3g ms: %.2f times as fast (%.2f to %.2f).", other,
                 o->final_ms, o->baseline_ms, o->speedup, o->ci_low, o->ci_high);
    else if (o->why[0] != '\0')
        snprintf(text + n, size - n, " Not measured with shapes %s: %s.", other, o->why);
}

static const char *const verdict_text[] = {
    "The search found the fastest of the three: the input model, the plan of the target's "
    "rules, and its own.",
    "Nothing that the search found was faster than the plan of the target's rules, which is what "
    "was written.",
    "No Q/DQ made this model faster on this engine: the input model was written again.",
    "Nothing was faster than a baseline with Q/DQ, which was written as it is."};

static void show_latency(const qdq_tune_state *t, qdq_buf *b)
{
    const qdq_tune_result *r = t->out;
    char text[1500], dims[420];
    size_t n = 0;
    qdq_page_bar bars[3];

    char why[300] = "", mde[100] = "";
    if (r->why != NULL)
        snprintf(why, sizeof why, " The reason: %s.", r->why);
    if (r->crashed > 0)
        qdq_text_add(why, sizeof why,
                     " The engine crashed, hung or ran out of memory in %u of %u candidates.",
                     r->crashed, r->tried);
    if (isfinite(r->mde))
        snprintf(mde, sizeof mde,
                 " A gain below %.2f %% could not have been seen in this many pairs.",
                 r->mde * 100);
    bars[n++] =
        (qdq_page_bar){"input", r->baseline_ms, r->baseline_ms, r->baseline_ms, QDQ_TONE_PLAIN};
    if (isfinite(r->rules_ms))
        bars[n++] = (qdq_page_bar){"rules", r->rules_ms, r->rules_ms, r->rules_ms, QDQ_TONE_PLAIN};
    bars[n++] = (qdq_page_bar){"written", r->final_ms, r->baseline_ms / r->ci_high,
                               r->baseline_ms / r->ci_low, QDQ_TONE_GOOD};
    dims_text(t, dims, sizeof dims);
    snprintf(text, sizeof text, "%s%s Measured afresh at the end, in pairs.%s%s%s%s%s",
             verdict_text[r->verdict], why, dims, mde,
             r->ended_early ? " The budget ended the search before it was through." : "",
             r->rules_why[0] != '\0' ? " The rules' plan was not timed: " : "", r->rules_why);
    qdq_page_section(b, "latency", "Result", text);
    qdq_page_bars(b, bars, n, "ms");
}

/* Of edges and scales, what is not 0. */
static void unsaid_text(const qdq_tune_not_expressed *u, char *text, size_t size)
{
    const struct {
        unsigned n;
        const char *what;
    } kind[] = {{u->edges, "edges"},
                {u->types, "types"},
                {u->scales, "shared scales"},
                {u->weights, "scales of weights"},
                {u->removed, "edges of nodes that cleaning removes"},
                {u->other, "other Q/DQ"}};

    text[0] = '\0';
    for (size_t i = 0; i < QDQ_COUNT(kind); i++)
        if (kind[i].n > 0)
            qdq_text_add(text, size, "%s%u %s", text[0] != '\0' ? ", " : "", kind[i].n,
                         kind[i].what);
}

static void show_baselines(const qdq_tune_state *t, qdq_buf *b)
{
    static const qdq_page_column columns[] = {
        {.head = "File", .is_code = true},
        {.head = "Result"},
        {.head = "ms", .is_number = true, .hint = "measured in pairs with the input model"},
        {.head = "Speed-up", .is_number = true},
        {.head = "from", .is_number = true, .hint = "95 % interval"},
        {.head = "to", .is_number = true},
        {.head = "SQNR, dB",
         .is_number = true,
         .hint = "of the worst output, on all evaluation samples"},
        {.head = "Accuracy", .is_number = true, .hint = "on labels"},
        {.head = "Not in our space",
         .hint = "of its placement, what this target's placements cannot say"},
        {.head = "Why"}};
    static const qdq_page_table table = {"baselines", columns, QDQ_COUNT(columns), false};
    char not_expressed[TEXT];

    if (t->out->n_baselines == 0)
        return;
    qdq_page_section(b, "baselines", "Baselines with Q/DQ",
                     "Each was measured as it is, and its placement was a start of the search.");
    qdq_page_table_begin(b, &table);
    for (size_t i = 0; i < t->out->n_baselines; i++) {
        const qdq_tune_baseline *g = &t->out->baselines[i];
        qdq_page_row_begin(b, g->outcome == QDQ_BASELINE_SHIPPED  ? QDQ_TONE_GOOD
                              : g->outcome == QDQ_BASELINE_BEATEN ? QDQ_TONE_PLAIN
                                                                  : QDQ_TONE_BAD);
        unsaid_text(&g->not_expressed, not_expressed, sizeof not_expressed);
        qdq_page_cell(b, &table, 0, g->name);
        qdq_page_cell(b, &table, 1, qdq_baseline_outcome_name(g->outcome));
        qdq_page_number(b, g->ms, "%.4g");
        qdq_page_number(b, g->speedup, "%.3f");
        qdq_page_number(b, g->ci_low, "%.3f");
        qdq_page_number(b, g->ci_high, "%.3f");
        qdq_page_number(b, g->sqnr_db, "%.2f");
        qdq_page_number(b, g->accuracy, "%.4f");
        qdq_page_cell(b, &table, 8, not_expressed);
        qdq_page_cell(b, &table, 9, g->why);
        qdq_page_row_end(b);
    }
    qdq_page_table_end(b);
}

/* Nothing where no engine was asked. */
static void show_computed(const qdq_tune_state *t, qdq_buf *b)
{
    const qdq_tune_result *r = t->out;
    char text[4000];

    if (r->computed->verdict == QDQ_VERIFY_UNKNOWN && r->computed->why[0] == '\0')
        return;
    qdq_verify_text(r->computed, r->engine, NULL, text, sizeof text);
    if (r->n_wrong > 0)
        qdq_text_add(text, sizeof text, ". Refused for that: %u placement%s, the first because %s",
                     r->n_wrong, r->n_wrong == 1 ? "" : "s", r->wrong);
    qdq_text_add(text, sizeof text, ".");
    qdq_page_section(b, "engine", "Engine check", text);
}

static void show_overruled(const qdq_tune_state *t, qdq_buf *b)
{
    static const qdq_page_column columns[] = {{.head = "Rule", .is_code = true},
                                              {.head = "Operator", .is_code = true},
                                              {.head = "Now"},
                                              {.head = "Nodes", .is_number = true}};
    static const qdq_page_table table = {"overruled", columns, QDQ_COUNT(columns), false};

    if (t->out->n_overruled == 0)
        return;
    qdq_page_section(b, "overruled", "Rules that measurements overruled",
                     "By its rules the target decides otherwise about these nodes.");
    qdq_page_table_begin(b, &table);
    for (size_t i = 0; i < t->out->n_overruled; i++) {
        const qdq_tune_overruled *o = &t->out->overruled[i];
        qdq_page_row_begin(b, QDQ_TONE_PLAIN);
        qdq_page_cell(b, &table, 0, o->rule);
        qdq_page_cell(b, &table, 1, o->op);
        qdq_page_cell(b, &table, 2, o->quantized ? "8 bits" : "float");
        qdq_page_number(b, o->nodes, "%.0f");
        qdq_page_row_end(b);
    }
    qdq_page_table_end(b);
}

static void show_typed(const qdq_tune_state *t, qdq_buf *b)
{
    static const qdq_page_column columns[] = {{.head = "Tensor", .is_code = true},
                                              {.head = "Type"},
                                              {.head = "Instead of"},
                                              {.head = "Trial", .is_number = true},
                                              {.head = "Gain of the trial, %", .is_number = true}};
    static const qdq_page_table table = {"types", columns, QDQ_COUNT(columns), false};

    if (t->out->n_typed == 0)
        return;
    qdq_page_section(b, "types", "Tensors with another type",
                     "A measurement chose this type of quantized values instead of the target's.");
    qdq_page_table_begin(b, &table);
    for (size_t i = 0; i < t->outcome.typed_name.n; i++) {
        const qdq_tune_typed *o = &t->out->typed[t->outcome.typed_of.at[i]];
        qdq_page_row_begin(b, QDQ_TONE_PLAIN);
        qdq_page_cell(b, &table, 0, t->outcome.typed_name.at[i]);
        qdq_page_cell(b, &table, 1, o->type);
        qdq_page_cell(b, &table, 2, o->instead_of);
        qdq_page_number(b, o->trial, "%.0f");
        qdq_page_number(b, o->gain * 100, "%.2f");
        qdq_page_row_end(b);
    }
    qdq_page_table_end(b);
}

/* --- how the search went ---------------------------------------------------------------------- */

static void show_progress(const qdq_tune_state *t, qdq_buf *b)
{
    double *ms = calloc(t->run.steps.n + 1, sizeof *ms);
    bool *kept = calloc(t->run.steps.n + 1, sizeof *kept);

    if (ms == NULL || kept == NULL)
        b->failed = true;
    for (size_t i = 0; i < t->run.steps.n && !b->failed; i++) {
        ms[i] = t->parts.problem.base_ns * (1 - t->run.steps.at[i].saved) * 1e-6;
        kept[i] = t->run.steps.at[i].accepted;
    }
    if (!b->failed)
        qdq_page_steps(b, "Time of the best so far, trial by trial; a dot where one was kept", ms,
                       kept, t->run.steps.n, "ms");
    free(ms);
    free(kept);
}

/* "2: Conv-Relu-Conv x5": the number of the pattern, its operators and instances. A kind of group
 * has a short name already. */
static void unit_text(const qdq_tune_state *t, size_t unit, char *text, size_t size)
{
    enum { SHOWN = 6 };
    const qdq_pattern *p = &t->parts.patterns->pattern[unit];
    const size_t n_nodes = p->instance[0].region != NULL ? p->instance[0].region->n_total : 0;

    if (t->opts->mode != QDQ_TUNE_REGION || n_nodes == 0) {
        snprintf(text, size, "%s", t->parts.problem.unit[unit].name);
        return;
    }
    snprintf(text, size, "%zu: ", unit + 1);
    for (size_t i = 0; i < n_nodes && i < SHOWN; i++)
        qdq_text_add(text, size, "%s%.40s", i > 0 ? "-" : "", p->instance[0].inner[i]->type);
    if (n_nodes > SHOWN)
        qdq_text_add(text, size, "-... (%zu nodes)", n_nodes);
    if (p->n_instances > 1)
        qdq_text_add(text, size, " x%zu", p->n_instances);
}

static void show_verdict(qdq_buf *b, const qdq_page_table *table, const qdq_tune_step *s)
{
    char text[500];

    if (s->failed == NULL)
        snprintf(text, sizeof text, "%s", qdq_verdict_name(s->result.verdict));
    else
        snprintf(text, sizeof text, "%s (fault of the %s)", s->failed,
                 qdq_tune_fault_name(s->failed));
    qdq_page_cell(b, table, 6, text);
}

static void show_trials(const qdq_tune_state *t, qdq_buf *b)
{
    static const qdq_page_column columns[] = {
        {.head = "Trial", .is_number = true},
        {.head = "What was tried", .is_code = true},
        {.head = "Gain", .is_number = true, .hint = "over the best so far"},
        {.head = "from", .is_number = true, .hint = "95 % interval"},
        {.head = "to", .is_number = true},
        {.head = "Pairs", .is_number = true, .hint = "of runs: the candidate and the best so far"},
        {.head = "Verdict"}};
    static const qdq_page_table table = {"trials", columns, QDQ_COUNT(columns), false};

    char what[MORE];

    qdq_page_section(b, "search", "How the search went",
                     "Each candidate ran in pairs with the best so far, until it was clear which "
                     "is faster or that unclear.");
    show_progress(t, b);
    qdq_page_table_begin(b, &table);
    for (size_t i = 0; i < t->run.steps.n; i++) {
        const qdq_tune_step *s = &t->run.steps.at[i];
        bool measured = s->failed == NULL;
        qdq_page_row_begin(b, s->accepted ? QDQ_TONE_GOOD
                              : measured  ? QDQ_TONE_PLAIN
                                          : QDQ_TONE_BAD);
        qdq_page_number(b, (double)i + 1, "%.0f");
        if (s->unit != SIZE_MAX)
            unit_text(t, s->unit, what, sizeof what);
        qdq_page_cell(b, &table, 1, s->unit != SIZE_MAX ? what : s->move);
        qdq_page_share(b, &table, 2, measured ? s->result.gain : NAN);
        qdq_page_share(b, &table, 3, measured ? s->result.ci_low : NAN);
        qdq_page_share(b, &table, 4, measured ? s->result.ci_high : NAN);
        qdq_page_number(b, s->result.pairs, "%.0f");
        show_verdict(b, &table, s);
        qdq_page_row_end(b);
    }
    qdq_page_table_end(b);
}

/* --- what won where --------------------------------------------------------------------------- */

/* What the kernels of a pattern take in a model that takes so long; NAN: no profile says it. */
static double kernels_ms(const qdq_pattern *p, const qdq_tune_times *times, double model_ns)
{
    double ms = 0;

    for (size_t i = 0; i < p->n_instances; i++)
        ms += qdq_tune_kernels_ms(times, p->instance[i].node, p->n_nodes, model_ns);
    return ms;
}

void qdq_tune_show_patterns(const qdq_tune_state *t, const qdq_tune_candidate *best, qdq_buf *b)
{
    static const qdq_page_column columns[] = {
        {.head = "Pattern",
         .is_code = true,
         .hint = "its number, its operators, and how often it occurs"},
        {.head = "Instances", .is_number = true, .hint = "equal regions, decided together"},
        {.head = "Quantized", .hint = "decisions that are on, of all"},
        {.head = "Input, ms",
         .is_number = true,
         .hint = "its kernels in the input model, by a profile"},
        {.head = "Found, ms", .is_number = true, .hint = "its kernels in the best that was found"},
        {.head = "Tried", .is_number = true},
        {.head = "Gain", .is_number = true, .hint = "of the input model's time"},
        {.head = "Note"}};
    static const qdq_page_table table = {"patterns", columns, QDQ_COUNT(columns), false};
    char text[MORE];

    qdq_page_section(b, "patterns", "What won where",
                     "Regions of one pattern are decided together. Times are those of its kernels, "
                     "without conversions around them; gains are those of trials of this pattern "
                     "alone, after whole placements were tried.");
    qdq_page_table_begin(b, &table);
    for (size_t u = 0; u < t->parts.problem.n_units; u++) {
        const qdq_search_unit *unit = &t->parts.problem.unit[u];
        const qdq_search_unit_result *r = &t->run.found.unit[u];
        const qdq_pattern *p = &t->parts.patterns->pattern[u];
        if (unit->n_choices == 0)
            continue;
        qdq_page_row_begin(b, r->gain > 0 ? QDQ_TONE_GOOD : QDQ_TONE_PLAIN);
        unit_text(t, u, text, sizeof text);
        qdq_page_cell(b, &table, 0, text);
        qdq_page_number(b, (double)unit->n_instances, "%.0f");
        snprintf(text, sizeof text, "%zu of %zu", qdq_assign_count(&r->best), unit->n_choices);
        qdq_page_cell(b, &table, 2, text);
        qdq_page_number(b, kernels_ms(p, t->run.base->times, t->parts.problem.base_ns), "%.3g");
        qdq_page_number(b, kernels_ms(p, best->times, t->run.found.predicted_ns), "%.3g");
        qdq_page_number(b, r->tried, "%.0f");
        qdq_page_share(b, &table, 6, r->gain);
        qdq_page_cell(b, &table, 7,
                      t->parts.settled != NULL ? "known from a cache"
                      : r->skipped
                          ? "not tried: profiles bound its saving below what can be measured"
                          : "");
        qdq_page_row_end(b);
    }
    qdq_page_table_end(b);
}

/* Decisions of a kind in all of its groups, and those of them that are on. */
static void count_decisions(const qdq_choices *c, const qdq_pattern *p, const qdq_assign *a,
                            size_t *all, size_t *on)
{
    *all = *on = 0;
    for (size_t i = 0; i < c->n; i++)
        for (size_t k = 0; k < p->n_instances; k++)
            if (c->choice[i].group[k] != QDQ_NO_GROUP) {
                (*all)++;
                *on += qdq_assign_get(a, c->choice[i].group[k]);
            }
}

void qdq_tune_show_groups(const qdq_tune_state *t, const qdq_tune_candidate *best, qdq_buf *b)
{
    static const qdq_page_column columns[] = {
        {.head = "Kind of group",
         .is_code = true,
         .hint = "operators, and the first digits of its key"},
        {.head = "Groups", .is_number = true},
        {.head = "Quantized", .hint = "decisions that are on, of all, in all groups of the kind"},
        {.head = "Input, ms",
         .is_number = true,
         .hint = "its kernels in the input model, by a profile"},
        {.head = "Found, ms", .is_number = true, .hint = "its kernels in the best that was found"}};
    static const qdq_page_table table = {"groups", columns, QDQ_COUNT(columns), false};
    char text[TEXT];
    size_t all, on;

    qdq_page_section(
        b, "groups", "What won where",
        "A group is what the engine computes in one layer, with and without Q/DQ; groups of one "
        "kind are the same computation. Times are those of kernels, without conversions around "
        "them. Kinds in which nothing can run in 8 bits are left out.");
    qdq_page_table_begin(b, &table);
    for (size_t u = 0; u < t->parts.patterns->n; u++) {
        const qdq_pattern *p = &t->parts.patterns->pattern[u];
        count_decisions(&t->parts.choices[u], p, &t->run.found.best, &all, &on);
        if (all == 0)
            continue;
        qdq_page_row_begin(b, on > 0 ? QDQ_TONE_GOOD : QDQ_TONE_PLAIN);
        qdq_page_cell(b, &table, 0, p->signature);
        qdq_page_number(b, (double)p->n_instances, "%.0f");
        snprintf(text, sizeof text, "%zu of %zu", on, all);
        qdq_page_cell(b, &table, 2, text);
        qdq_page_number(b, kernels_ms(p, t->run.base->times, t->parts.problem.base_ns), "%.3g");
        qdq_page_number(b, kernels_ms(p, best->times, t->run.found.predicted_ns), "%.3g");
        qdq_page_row_end(b);
    }
    qdq_page_table_end(b);
}

/* --- the page --------------------------------------------------------------------------------- */

static qdq_status write_page(qdq_tune_state *t, const qdq_picture *picture, qdq_error *err)
{
    const char *path = qdq_tune_path(t, "report.html");
    qdq_buf b = QDQ_BUF_INIT(PAGE_BYTES);
    qdq_tune_candidate *best;
    char subtitle[MORE + TEXT], shapes[MORE];

    QDQ_NEED(path != NULL, err);
    QDQ_TRY(qdq_tune_candidate_of(t, &t->run.found.best, &best, err));
    snprintf(subtitle, sizeof subtitle, "Target %s, engine %s, %zu %s of %zu %s.%s",
             t->task.target->name, t->out->engine, t->out->regions + t->out->groups,
             t->units->units, t->out->patterns + t->out->keys, t->units->kinds,
             qdq_page_shapes_text(t->details->set_shapes, t->details->n_set_shapes, shapes,
                                  sizeof shapes));
    qdq_page_begin(&b, "Tuned placement", "qdq autotune", subtitle);
    show_figures(t, &b);
    show_latency(t, &b);
    show_computed(t, &b);
    show_baselines(t, &b);
    show_overruled(t, &b);
    show_typed(t, &b);
    qdq_tune_show_front(t, &b);
    qdq_page_picture(&b, picture);
    show_trials(t, &b);
    t->units->show(t, best, &b);
    if (t->strategy->show != NULL)
        t->strategy->show(t, &b);
    qdq_page_end(&b, "Written by qdq " QDQ_VERSION);
    qdq_status st = b.failed ? qdq_nomem(err) : qdq_write_file(path, true, b.data, b.size, err);
    qdq_buf_free(&b);
    return st;
}

qdq_status qdq_tune_write_page(qdq_tune_state *t, qdq_error *err)
{
    const char *path = qdq_tune_path(t, "plan.json");
    qdq_plan_picture x;
    qdq_plan *p = NULL;

    QDQ_NEED(path != NULL, err);
    QDQ_TRY(qdq_plan_load(path, &p, err));
    qdq_status st = qdq_tune_draw(t, p, &x, err);
    const bool annotated = t->details->metadata && t->out->verdict != QDQ_TUNED_FLOAT;
    if (st == QDQ_OK && annotated)
        qdq_plan_picture_name(&x);
    if (st == QDQ_OK)
        st = write_page(t, &x.picture, err);
    if (st == QDQ_OK && t->details->overlay != NULL)
        st = qdq_report_overlay(&x.picture, t->details->overlay, true, err);
    if (st == QDQ_OK && annotated)
        st = qdq_tune_write_annotated(t, p, &x.picture, err);
    qdq_plan_free(p);
    return st;
}
