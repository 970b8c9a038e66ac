/* report.c - the page from its head to its foot. Each section is a file of its own. */
#include "qdq/report.h"

#include <string.h>
#include <math.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/file.h"
#include "base/opts.h"
#include "quant/goal/node_cost.h"
#include "quant/report/plan_picture.h"
#include "quant/report/report_state.h"
#include "report/page.h"

enum { MOST_FIGURES = 5, PAGE_BYTES = 64 << 20 };

/* --- figures ---------------------------------------------------------------------------------- */

typedef struct figures {
    qdq_page_figure at[MOST_FIGURES];
    char text[MOST_FIGURES][3][160];
    size_t n;
} figures;

static void add_figure(figures *f, qdq_page_tone tone, const char *unit, const char *label)
{
    f->at[f->n] = (qdq_page_figure){f->text[f->n][0], unit, label, f->text[f->n][1], tone};
    f->n++;
}

static void speed_figure(const qdq_reporting *r, figures *f)
{
    const qdq_bench_model *q = &r->time[1];

    if (!r->has_time)
        return;
    snprintf(f->text[f->n][0], sizeof f->text[0][0], "%.2f", q->speedup);
    snprintf(f->text[f->n][1], sizeof f->text[0][1], "95 %%: %.2f to %.2f, %d thread%s", q->ci_low,
             q->ci_high, r->opts.threads > 0 ? r->opts.threads : 1, r->opts.threads > 1 ? "s" : "");
    add_figure(f,
               q->ci_low > 1    ? QDQ_TONE_GOOD
               : q->ci_high < 1 ? QDQ_TONE_BAD
                                : QDQ_TONE_PLAIN,
               "\xc3\x97", "as fast as float");
}

static void sqnr_figure(const qdq_reporting *r, figures *f)
{
    const qdq_compare_result *c = r->opts.compared;

    if (c == NULL)
        return;
    const qdq_compare_tensor *least = &c->outputs[c->worst];
    char place[80];

    if (isfinite(least->worst_db))
        snprintf(f->text[f->n][0], sizeof f->text[0][0], "%.1f", least->worst_db);
    else
        snprintf(f->text[f->n][0], sizeof f->text[0][0], "%s",
                 isnan(least->worst_db) ? "zero"
                 : least->worst_db > 0  ? "equal"
                                        : "not finite");
    snprintf(f->text[f->n][1], sizeof f->text[0][1], "output %.60s%s, %zu sample%s", least->name,
             qdq_compare_place(least, place, sizeof place), c->samples, c->samples == 1 ? "" : "s");
    add_figure(f, QDQ_TONE_PLAIN, isfinite(least->worst_db) ? "dB" : NULL,
               "SQNR of the worst slice");
}

static bool measures_metric(const qdq_reporting *r)
{
    const qdq_goal_result *g = r->opts.goal;

    return g != NULL && g->metric_name != NULL && g->metric_name[0] != '\0';
}

static void accuracy_figure(const qdq_reporting *r, figures *f)
{
    const qdq_compare_result *c = r->opts.compared;

    if (measures_metric(r)) {
        snprintf(f->text[f->n][0], sizeof f->text[0][0], "%.6g", r->opts.goal->metric);
        snprintf(f->text[f->n][1], sizeof f->text[0][1], "of the input %.6g; %.100s",
                 r->opts.goal->float_metric, r->opts.goal->metric_name);
        add_figure(f, QDQ_TONE_PLAIN, NULL, "metric");
        return;
    }
    if (c == NULL)
        return;
    if (!isnan(c->accuracy_a)) {
        snprintf(f->text[f->n][0], sizeof f->text[0][0], "%.2f", c->accuracy_b * 100);
        snprintf(f->text[f->n][1], sizeof f->text[0][1], "input %.2f %%, %+.2f points",
                 c->accuracy_a * 100, (c->accuracy_b - c->accuracy_a) * 100);
        add_figure(f, c->accuracy_b < c->accuracy_a - 0.01 ? QDQ_TONE_BAD : QDQ_TONE_PLAIN, "%",
                   "accuracy");
    } else if (!isnan(c->outputs[0].top1)) {
        snprintf(f->text[f->n][0], sizeof f->text[0][0], "%.2f", c->outputs[0].top1 * 100);
        snprintf(f->text[f->n][1], sizeof f->text[0][1], "the same class in %zu sample%s",
                 c->samples, c->samples == 1 ? "" : "s");
        add_figure(f, QDQ_TONE_PLAIN, "%", "top-1 agreement");
    }
}

/* Nodes of floats that the plan names nowhere: the kernel of a node that it names computes them. */
static size_t count_fused(const qdq_reporting *r)
{
    size_t fused = 0;

    for (size_t i = 0; i < r->picture.n_nodes; i++) {
        const qdq_picture_node *n = &r->picture.node[i];
        const qdq_op op = qdq_op_find("", n->op);

        fused += n->why == NULL && n->input == QDQ_FLOAT && op != QDQ_OP_CAST &&
                 op != QDQ_OP_DEQUANTIZELINEAR &&
                 (qdq_op_get_info(op)->flags & QDQ_OP_CONTROL) == 0;
    }
    return fused;
}

static void coverage_figure(const qdq_reporting *r, figures *f)
{
    const qdq_plan *p = r->plan;
    double eight = 0, all = 0;

    for (size_t i = 0; i < p->quantized.n; i++) {
        const qdq_node *n = qdq_report_node(r, p->quantized.at[i].node);
        eight += n != NULL ? qdq_node_macs(n) : 0;
    }
    QDQ_FOR_NODES (n, r->clean->graph)
        all += qdq_node_macs(n);
    snprintf(f->text[f->n][0], sizeof f->text[0][0], "%.0f", all > 0 ? eight / all * 100 : 0);
    const size_t fused = count_fused(r);
    char with[40] = "";
    if (fused > 0)
        snprintf(with, sizeof with, "%zu fused with them, ", fused);
    snprintf(f->text[f->n][1], sizeof f->text[0][1], "%zu nodes quantized, %s%zu left float",
             p->quantized.n, with, p->left_float.n);
    add_figure(f, QDQ_TONE_PLAIN, "%", "of the multiplications quantized");
}

static void show_figures(qdq_reporting *r)
{
    figures f = {.n = 0};

    speed_figure(r, &f);
    sqnr_figure(r, &f);
    accuracy_figure(r, &f);
    coverage_figure(r, &f);
    qdq_page_figures(&r->page, f.at, f.n);
}

/* --- sections --------------------------------------------------------------------------------- */

static void show_latency(qdq_reporting *r)
{
    char text[700];

    if (!r->has_time) {
        snprintf(text, sizeof text, "Not measured: %.600s.", r->no_time);
        qdq_page_section(&r->page, "latency", "Latency", text);
        return;
    }
    const qdq_bench_model *a = &r->time[0], *b = &r->time[1];
    const qdq_page_bar bars[] = {{"input", a->median_ms, a->p10_ms, a->p90_ms, QDQ_TONE_PLAIN},
                                 {"quantized", b->median_ms, b->p10_ms, b->p90_ms, QDQ_TONE_GOOD}};
    if (b->runs > 0)
        snprintf(text, sizeof text,
                 "Median of %u runs of each, in turn; the line is from the 10th to the 90th "
                 "percentile. One short "
                 "measurement on this machine: qdq bench takes longer and is surer.",
                 b->runs);
    else
        snprintf(text, sizeof text,
                 "Measured in pairs, at the end of the run; the line is the 95 %% interval.");
    qdq_page_section(&r->page, "latency", "Latency", text);
    qdq_page_bars(&r->page, bars, 2, "ms");
}

static void show_outputs(qdq_reporting *r)
{
    enum { NAME, SQNR, WORST, PLACE, BOUND, COSINE, LARGEST, TOP1, HALF, N_COLUMNS };
    static const qdq_page_column columns[N_COLUMNS] = {
        {.head = "Output", .is_code = true},
        {.head = "SQNR dB", .is_number = true},
        {.head = "Worst slice dB",
         .hint = "least of the whole and its slices along one axis",
         .is_number = true},
        {.head = "Axis, index"},
        {.head = "Bound dB",
         .hint = "90 % lower bound on as many other samples, jackknife",
         .is_number = true},
        {.head = "Cosine", .is_number = true},
        {.head = "Largest error", .is_number = true},
        {.head = "Top-1", .hint = "rows with the same largest score", .is_number = true},
        {.head = "At 0.5", .hint = "elements on the same side of 0.5", .is_number = true}};
    static const qdq_page_table table = {"outputs", columns, N_COLUMNS, true};
    const qdq_compare_result *c = r->opts.compared;
    char place[80], text[300];

    if (c == NULL)
        return;
    snprintf(text, sizeof text, "Against the input model on %.200s.",
             r->opts.evaluated_on != NULL ? r->opts.evaluated_on : "the held-out samples");
    qdq_page_section(&r->page, "accuracy", "Outputs", text);
    qdq_page_table_begin(&r->page, &table);
    for (size_t i = 0; i < c->n_outputs; i++) {
        const qdq_compare_tensor *t = &c->outputs[i];

        snprintf(place, sizeof place, "%d, %zu", t->axis, t->index);
        qdq_page_row_begin(&r->page, QDQ_TONE_PLAIN);
        qdq_page_cell(&r->page, &table, NAME, t->name);
        qdq_page_number(&r->page, t->sqnr_db, "%.2f");
        qdq_page_number(&r->page, t->worst_db, "%.2f");
        qdq_page_cell(&r->page, &table, PLACE, t->axis >= 0 ? place : "");
        qdq_page_number(&r->page, t->bound_db, "%.2f");
        qdq_page_number(&r->page, t->cosine, "%.6f");
        qdq_page_number(&r->page, t->max_abs, "%.4g");
        qdq_page_number(&r->page, t->top1, "%.4f");
        qdq_page_number(&r->page, t->half_agreement, "%.4f");
        qdq_page_row_end(&r->page);
    }
    qdq_page_table_end(&r->page);
}

static void show_computed(qdq_reporting *r)
{
    char text[2500], engine[120];

    if (r->opts.computed == NULL || r->engine == NULL)
        return;
    const qdq_engine_info *info = qdq_engine_get_info(r->engine);
    snprintf(engine, sizeof engine, "%.40s %.60s", info->name, info->version);
    qdq_page_section(&r->page, "engine", "Engine check",
                     qdq_verify_text(r->opts.computed, engine, NULL, text, sizeof text));
}

static void show_goal(qdq_reporting *r)
{
    const qdq_goal_result *g = r->opts.goal;
    const bool has_metric = measures_metric(r);
    const qdq_page_column columns[] = {
        {.head = "Trial", .is_number = true},
        {.head = "Back to float", .is_number = true},
        {.head = "SQNR dB", .is_number = true},
        {.head = has_metric ? "Metric" : "Accuracy", .is_number = true},
        {.head = "Time", .is_number = true, .bar = true},
        {.head = "Goal"}};
    const qdq_page_table table = {"trials", columns, 6, true};
    char text[900] = "";

    if (g == NULL ||
        (g->n_steps < 2 && !g->is_corrected && !g->has_float_channels && !g->is_smoothed))
        return;
    if (g->has_float_channels)
        qdq_text_add(text, sizeof text,
                     "Few channels are in float: with every layer in 8 bits the SQNR of the "
                     "worst output is %.2f dB, without %.2f dB. ",
                     g->float_channels_db, g->all_channels_db);
    if (g->is_smoothed)
        qdq_text_add(text, sizeof text,
                     "Activations are smoothed: with every layer in 8 bits the SQNR of the worst "
                     "output is %.2f dB, without %.2f dB. ",
                     g->smoothed_db, g->unsmoothed_db);
    if (g->is_corrected)
        qdq_text_add(text, sizeof text,
                     "Biases are corrected: with every layer in 8 bits the SQNR of the worst "
                     "output is %.2f dB, without %.2f dB. ",
                     g->corrected_db, g->uncorrected_db);
    qdq_text_add(text, sizeof text,
                 "Layers go back to float, those first that lose most for the time they save; then "
                 "groups of them come back. Time is a share of the float model's, %s.%s",
                 g->is_profiled ? "from its profile" : "estimated from shapes",
                 g->is_timed_out ? " The search stopped at its time limit." : "");
    qdq_page_section(&r->page, "goal", "The way to the goal", text);
    qdq_page_table_begin(&r->page, &table);
    for (size_t i = 0; i < g->n_steps; i++) {
        qdq_page_row_begin(&r->page, g->steps[i].holds ? QDQ_TONE_GOOD : QDQ_TONE_PLAIN);
        qdq_page_number(&r->page, (double)i + 1, "%.0f");
        qdq_page_number(&r->page, (double)g->steps[i].n_float, "%.0f");
        qdq_page_number(&r->page, g->steps[i].sqnr_db, "%.2f");
        qdq_page_number(&r->page, has_metric ? g->steps[i].metric : g->steps[i].accuracy,
                        has_metric ? "%.6g" : "%.4f");
        qdq_page_share(&r->page, &table, 4, g->steps[i].time_fraction);
        qdq_page_cell(&r->page, &table, 5, g->steps[i].holds ? "holds" : "missed");
        qdq_page_row_end(&r->page);
    }
    qdq_page_table_end(&r->page);
}

static qdq_status compose_page(qdq_reporting *r, qdq_error *err)
{
    const qdq_engine_info *info = r->engine != NULL ? qdq_engine_get_info(r->engine) : NULL;
    const qdq_plan *p = r->plan;
    char text[1400], shapes[600];

    snprintf(text, sizeof text,
             "Target %.80s%s%.40s%s%.40s. Quantized tensors: %zu, weights: %zu, biases: %zu.%s%s%s",
             p->target, info != NULL ? ", engine " : "", info != NULL ? info->name : "",
             info != NULL ? " " : "", info != NULL ? info->version : "", p->tensors.n, p->weights.n,
             p->biases.n,
             p->placement_only
                 ? " Scales come from random data: this shows placement, not accuracy."
                 : "",
             p->cpu != NULL && strcmp(p->cpu, qdq_cpu_name(QDQ_CPU_VNNI)) != 0
                 ? " Made for a processor without VNNI, or for ARM: the rules of speed were not "
                   "measured there."
                 : "",
             qdq_page_shapes_text(r->opts.set_shapes, r->opts.n_set_shapes, shapes, sizeof shapes));
    qdq_page_begin(&r->page, r->opts.name != NULL ? r->opts.name : "model", "Quantization report",
                   text);
    show_figures(r);
    show_latency(r);
    show_outputs(r);
    show_computed(r);
    show_goal(r);
    qdq_page_picture(&r->page, &r->picture);
    qdq_report_layer_table(r);
    QDQ_TRY(qdq_report_histograms(r, err));
    qdq_report_borders(r);
    snprintf(text, sizeof text, "qdq %s. Plan for the model with fingerprint %.32s.", qdq_version(),
             p->model);
    qdq_page_end(&r->page, text);
    return r->page.failed ? qdq_nomem(err) : QDQ_OK;
}

qdq_status qdq_report_write(const qdq_model *m, const qdq_model *quantized, const qdq_plan *p,
                            qdq_engine *e, const qdq_report_opts *opts, const char *path,
                            bool allow_overwrite, qdq_error *err)
{
    qdq_reporting r = {
        .m = m, .quantized = quantized, .plan = p, .engine = e, .opts = QDQ_REPORT_OPTS_INIT};

    QDQ_TRY(qdq_opts_read("qdq_report_opts", &r.opts, sizeof r.opts, opts, err));
    r.page = (qdq_buf)QDQ_BUF_INIT(PAGE_BYTES);
    qdq_status st = qdq_report_measure(&r, path != NULL, err);
    if (st == QDQ_OK && path != NULL)
        st = compose_page(&r, err);
    if (st == QDQ_OK && path != NULL)
        st = qdq_write_file(path, allow_overwrite, r.page.data, r.page.size, err);
    if (st == QDQ_OK && r.opts.overlay != NULL)
        st = qdq_report_overlay(&r.picture, r.opts.overlay, allow_overwrite, err);
    qdq_buf_free(&r.page);
    qdq_free(r.layers);
    qdq_map_free(&r.layer);
    qdq_map_free(&r.node);
    qdq_map_free(&r.tensor);
    qdq_model_free(r.clean);
    qdq_arena_free(&r.arena);
    return st;
}
