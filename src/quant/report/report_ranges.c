/* report_ranges.c - what the worst layers read, as histograms with the range that codes span. The
 * values are those of the float model on a few samples. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "quant/calib/feedback.h"
#include "quant/calib/histogram.h"
#include "quant/report/report_state.h"
#include "report/page.h"

enum { SHOWN = 9, SAMPLES = 8, BINS = 96 };

typedef struct observed {
    const qdq_plan_tensor *tensor;
    /* of the worst layer that reads it */
    double error;
    qdq_histogram *histogram;
} observed;

typedef struct watching {
    qdq_reporting *r;
    observed at[SHOWN];
    size_t n;
} watching;

/* --- which ------------------------------------------------------------------------------------ */

static bool is_chosen(const watching *w, const qdq_plan_tensor *t)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->at[i].tensor == t)
            return true;
    return false;
}

/* Layers come with the largest error first; each has what it reads as codes. */
static void choose_tensors(watching *w)
{
    const qdq_reporting *r = w->r;

    for (size_t i = 0; r->layers != NULL && i < r->layers->n_layers && w->n < SHOWN; i++) {
        const qdq_compare_layer *l = &r->layers->layers[i];
        const qdq_value *y = qdq_graph_find(r->clean->graph, l->name_in_a);
        const qdq_node *n = y != NULL ? y->producer : NULL;

        for (uint32_t k = 0; l->error > 0 && n != NULL && k < n->n_in && w->n < SHOWN; k++) {
            const qdq_value *v = n->in[k].value;
            const qdq_plan_tensor *t = v != NULL ? qdq_report_tensor(r, v->name) : NULL;

            if (t != NULL && v->graph == r->clean->graph && qdq_value_const(v) == NULL &&
                !is_chosen(w, t))
                w->at[w->n++] = (observed){.tensor = t, .error = l->error};
        }
    }
}

/* --- watching --------------------------------------------------------------------------------- */

static qdq_status watch_array(void *ctx, const char *name, const qdq_array *a, qdq_error *err)
{
    watching *w = ctx;

    (void)err;
    for (size_t i = 0; i < w->n; i++)
        if (a->elem == QDQ_FLOAT && strcmp(w->at[i].tensor->tensor, name) == 0)
            qdq_histogram_add(w->at[i].histogram, a->data, (size_t)qdq_array_count(a));
    return QDQ_OK;
}

static qdq_status run_step(watching *w, qdq_session *s, size_t sample, size_t step,
                           qdq_feedback *states, qdq_error *err)
{
    const qdq_report_opts *o = &w->r->opts;
    const qdq_named_array *in;
    size_t n_in;

    QDQ_TRY(qdq_job_poll(o->job, err));
    QDQ_TRY(qdq_data_get_step(o->data, sample, step, &in, &n_in, err));
    QDQ_TRY(qdq_feedback_put(states, step, &in, n_in, &w->r->arena, err));
    for (size_t k = 0; k < n_in; k++)
        QDQ_TRY(watch_array(w, in[k].name, &in[k].array, err));
    return s != NULL ? qdq_session_run(s, in, n_in, qdq_feedback_take, states, err) : QDQ_OK;
}

static qdq_status run_samples(watching *w, qdq_session *s, qdq_feedback *states, qdq_error *err)
{
    const qdq_report_opts *o = &w->r->opts;
    size_t n = qdq_data_count(o->data) - o->first;

    n = o->count > 0 && o->count < n ? o->count : n;
    for (size_t i = 0; i < n && i < SAMPLES; i++)
        for (size_t step = 0; step < qdq_data_steps(o->data); step++) {
            const qdq_arena_mark mark = qdq_arena_get_mark(&w->r->arena);

            QDQ_TRY(run_step(w, s, o->first + i, step, states, err));
            qdq_arena_reset(&w->r->arena, mark);
        }
    return QDQ_OK;
}

static qdq_status observe_tensors(watching *w, qdq_feedback *states, qdq_error *err)
{
    qdq_session_opts so = QDQ_SESSION_OPTS_INIT;
    const char *names[SHOWN + 1] = {NULL};
    qdq_session *s = NULL;
    size_t n = 0;

    for (size_t i = 0; i < w->n; i++) {
        const qdq_value *v = qdq_graph_find(w->r->clean->graph, w->at[i].tensor->tensor);

        w->at[i].histogram = qdq_arena_alloc(&w->r->arena, sizeof *w->at[i].histogram);
        QDQ_NEED(w->at[i].histogram != NULL, err);
        qdq_histogram_init(w->at[i].histogram);
        if (v != NULL && v->producer != NULL)
            names[n++] = v->name;
    }
    /* as in calibration, and some optimizations refuse Q/DQ that the model had */
    so.level = QDQ_LEVEL_NONE;
    so.threads = w->r->opts.threads;
    so.shapes = w->r->opts.shapes;
    so.n_shapes = w->r->opts.n_shapes;
    QDQ_TRY(qdq_feedback_expose(states, names, &w->r->arena, &so.expose, err));
    so.only_exposed = true;
    if (so.expose[0] != NULL)
        QDQ_TRY(qdq_session_open(w->r->engine, w->r->clean, &so, &s, err));
    qdq_status st = run_samples(w, s, states, err);
    qdq_session_close(s);
    return st;
}

static qdq_status observe(watching *w, qdq_error *err)
{
    qdq_feedback states;

    QDQ_TRY(qdq_feedback_begin(&states, w->r->opts.data, err));
    states.fn = watch_array;
    states.ctx = w;
    const qdq_status st = observe_tensors(w, &states, err);
    qdq_feedback_free(&states);
    return st;
}

/* --- drawing ---------------------------------------------------------------------------------- */

static void code_range(const qdq_qparam *p, double *low, double *high)
{
    int32_t least, most;

    if (qdq_elem_code_limits(p->type, &least, &most)) {
        *low = ((double)least - p->zero_point) * (double)p->scale;
        *high = ((double)most - p->zero_point) * (double)p->scale;
    } else {
        *low = -QDQ_FLOAT8_MAX * (double)p->scale;
        *high = QDQ_FLOAT8_MAX * (double)p->scale;
    }
}

/* Counts on the axis of the plot; *cut is how many lie outside the range. */
static void spread_counts(const qdq_histogram *h, qdq_page_histogram *plot, double *count,
                          double *cut)
{
    double width = qdq_histogram_width(h);

    *cut = 0;
    for (int i = 0; i < QDQ_HISTOGRAM_BINS; i++) {
        double x = ((double)(i - QDQ_HISTOGRAM_SIDE) + 0.5) * width;
        double bin = (x - plot->low) / (plot->high - plot->low) * BINS;

        if (h->bin[i] == 0)
            continue;
        count[bin < 0 ? 0 : bin >= BINS ? BINS - 1 : (int)bin] += (double)h->bin[i];
        if (x < plot->range_low - width || x > plot->range_high + width)
            *cut += (double)h->bin[i];
    }
    double zero = (0 - plot->low) / (plot->high - plot->low) * BINS;
    if (zero >= 0 && zero < BINS)
        count[(int)zero] += (double)qdq_histogram_zeros(h);
}

static void draw_histogram(watching *w, const observed *o)
{
    const qdq_histogram *h = o->histogram;
    qdq_page_histogram plot = {.title = o->tensor->tensor, .n = BINS};
    double count[BINS] = {0}, cut;
    char caption[300];

    if (h->count == 0)
        return;
    code_range(&o->tensor->qparam, &plot.range_low, &plot.range_high);
    plot.low = fmin(plot.range_low, (double)h->low);
    plot.high = fmax(plot.range_high, (double)h->high);
    if (!(plot.high > plot.low))
        return;
    plot.count = count;
    spread_counts(h, &plot, count, &cut);
    snprintf(
        caption, sizeof caption,
        "%s, scale %.4g, zero point %d. Values %.4g to %.4g, %.2g %% of them cut off. Its reader "
        "introduces %.1f dB.",
        qdq_elem_name(o->tensor->qparam.type), (double)o->tensor->qparam.scale,
        o->tensor->qparam.zero_point, (double)h->low, (double)h->high, cut / (double)h->count * 100,
        -10 * log10(o->error));
    plot.caption = caption;
    qdq_page_histogram_plot(&w->r->page, &plot);
}

/* A failure of the engine leaves the section out: its reason stands with the layers, which it
 * failed for, too. */
qdq_status qdq_report_histograms(qdq_reporting *r, qdq_error *err)
{
    qdq_error found = QDQ_ERROR_INIT;
    watching w = {.r = r};

    choose_tensors(&w);
    if (w.n == 0)
        return QDQ_OK;
    qdq_status st = observe(&w, &found);
    if (st == QDQ_E_NOMEM || st == QDQ_E_INTERRUPTED)
        return qdq_fail(err, st, "%s", found.text);
    if (st != QDQ_OK) {
        qdq_job_log(r->opts.job, QDQ_LOG_WARNING, "report: no histograms: %s", found.text);
        return QDQ_OK;
    }
    qdq_page_section(&r->page, "ranges", "Ranges of what the worst layers read",
                     "Counts on a logarithmic scale, of the float model's values on a few samples. "
                     "The shaded part is what codes can hold; what is red is cut off at its end.");
    qdq_page_grid_begin(&r->page);
    for (size_t i = 0; i < w.n; i++)
        draw_histogram(&w, &w.at[i]);
    qdq_page_grid_end(&r->page);
    return QDQ_OK;
}
