/* smooth.c - smooths the channels of activations before products: which activations, and how
 * strongly. Samples take turns: s and the range of one half are tried on rows of the other one,
 * which clips as new samples do. */
#include "quant/weights/smooth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "quant/calib/sweep.h"
#include "quant/weights/awq_state.h"
#include "quant/weights/float_channels.h"
#include "quant/weights/product_data.h"
#include "quant/weights/scaling.h"
#include "quant/weights/smooth_fold.h"

static const double strengths[] = {0.25, 0.375, 0.5, 0.625, 0.75, 0.875};

/* An activation is smoothed only if that takes more than a tenth of the error of its products
 * away. */
#define WORTH 0.9

/* Numbers outside of these leave floats little room. */
#define LEAST_SCALE 1e-4
#define MOST_SCALE  1e4

/* Columns of a weight that errors are computed of, about. */
enum { COLUMNS = 256 };

/* An activation that can be smoothed. */
typedef struct candidate {
    const qdq_value *x;
    size_t k;
    qdq_qscheme scheme;
    /* the largest magnitude of each row of all weights */
    float *most_w;
    /* channels that are left as they are; NULL: none */
    bool *left_out;
    /* room: s, and rows that are quantized */
    float *s, *back;
    void *codes;
} candidate;

typedef struct smoother {
    qdq_awq_state a;
    qdq_product_finder f;
    QDQ_VEC(candidate) candidates;
    qdq_plan *out;
    qdq_smooth_notes *notes;
    qdq_error *err;
} smoother;

static qdq_status note(smoother *s, const qdq_value *x, bool is_smoothed, const char *text)
{
    const qdq_smooth_note n = {x, is_smoothed, text};

    QDQ_NEED(text != NULL && QDQ_PUSH(&s->notes->arena, &s->notes->list, n), s->err);
    qdq_job_log(s->a.q->opts->job, QDQ_LOG_DEBUG, "tensor '%s' is %s: %s", x->name,
                is_smoothed ? "smoothed" : "not smoothed", text);
    return QDQ_OK;
}

/* --- candidates ------------------------------------------------------------------------------- */

static qdq_qscheme scheme_of(const smoother *s, qdq_elem type)
{
    const qdq_format *f = &s->a.q->target->format;
    qdq_qscheme scheme = f->activation;

    scheme.type = type;
    return scheme;
}

static void add_most(const qdq_weight_columns *w, float *most)
{
    for (size_t k = 0; k < w->k; k++)
        for (size_t j = 0; j < w->n; j++)
            most[k] = fmaxf(most[k], fabsf(w->w[k * w->step_k + j * w->step_n]));
}

/* Some columns stand for all of them. */
static void thin_columns(qdq_weight_columns *w)
{
    const size_t step = (w->n + COLUMNS - 1) / COLUMNS;

    w->n = (w->n + step - 1) / step;
    w->step_n *= step;
}

/* The weights of the products in 8 bits. *reason: one of them cannot be searched. */
static qdq_status add_weights(smoother *s, candidate *c, qdq_awq_group *g, const char **reason)
{
    for (const qdq_use *u = c->x->first; u != NULL; u = u->next) {
        qdq_plan_weight *entry = qdq_find_product_weight(&s->f, u->node);
        qdq_weight_columns w;

        if (entry == NULL) /* it stays float */
            continue;
        if (qdq_weight_activation(&s->f.labels, entry, qdq_node_const(u->node, 1)) != c->x) {
            *reason = "a weight has no scale for each column";
            return QDQ_OK;
        }
        QDQ_TRY(qdq_weight_columns_of(entry, qdq_node_const(u->node, 1), &w, s->err));
        QDQ_TRY(qdq_weight_columns_load(&w, &s->a.scratch, s->err));
        add_most(&w, c->most_w);
        thin_columns(&w);
        QDQ_NEED(QDQ_PUSH(&s->a.scratch, &g->weights, w), s->err);
    }
    return QDQ_OK;
}

static qdq_status add_candidate(smoother *s, const qdq_value *x, qdq_elem type, int64_t channels)
{
    candidate c = {.x = x, .k = (size_t)channels, .scheme = scheme_of(s, type)};
    qdq_awq_group g = {.x = x, .k = c.k};
    const char *reason = NULL;

    c.most_w = qdq_arena_array(&s->a.scratch, c.k + 1, sizeof *c.most_w);
    QDQ_NEED(c.most_w != NULL, s->err);
    QDQ_TRY(add_weights(s, &c, &g, &reason));
    if (reason != NULL)
        return note(s, x, false, reason);
    qdq_map_value *at = qdq_map_put(&s->a.by_value, x->name, NULL);
    QDQ_NEED(at != NULL && QDQ_PUSH(&s->a.scratch, &s->candidates, c), s->err);
    at->num = s->a.groups.n;
    for (size_t i = 0; i < s->a.n_turns; i++)
        QDQ_NEED(QDQ_PUSH(&s->a.scratch, &s->a.groups, g), s->err);
    return QDQ_OK;
}

/* Does any product with a constant matrix consume x? */
static bool is_data(const qdq_value *x)
{
    for (const qdq_use *u = x->first; u != NULL; u = u->next) {
        const qdq_tensor *t = u->index == 0 ? qdq_node_const(u->node, 1) : NULL;

        if (t != NULL && t->rank == 2 &&
            (qdq_scaling_reader(u->node, t->dim[0]) || qdq_scaling_reader(u->node, t->dim[1])))
            return true;
    }
    return false;
}

static qdq_status look_at(smoother *s, const qdq_plan_tensor *t)
{
    const qdq_value *x = qdq_graph_find(s->a.q->m->graph, t->tensor);
    qdq_smooth_fold fold;
    int64_t channels;

    if (x == NULL || qdq_value_const(x) != NULL || !is_data(x) ||
        qdq_map_get(&s->a.by_value, x->name) != NULL)
        return QDQ_OK;
    if (qdq_find_product_data(&s->f, t, &channels) == NULL)
        return note(s, x, false,
                    "not all that consumes it in 8 bits is a product with a constant matrix of its "
                    "own");
    if (qdq_smooth_find_fold(x, channels, &fold))
        return add_candidate(s, x, qdq_plan_asked(t), channels);
    if (fold.node == NULL)
        return note(s, x, false, fold.reason);
    const char *label = qdq_node_label(fold.node, &s->a.scratch);
    return note(s, x, false,
                qdq_arena_printf(&s->notes->arena, "node '%s': %s", label, fold.reason));
}

/* --- the search ------------------------------------------------------------------------------- */

static double most_of(const qdq_awq_group *g, size_t n, size_t k)
{
    double most = 0;

    for (size_t i = 0; i < n; i++)
        most = fmax(most, fmax(-(double)g[i].low[k], (double)g[i].high[k]));
    return most;
}

/* c->s by the statistics of n groups, their mean at 1; 1 for channels that hold nothing. */
static void find_scales(candidate *c, const qdq_awq_group *g, size_t n, double strength)
{
    double sum = 0;
    size_t n_live = 0;

    for (size_t k = 0; k < c->k; k++) {
        const double x = most_of(g, n, k), w = (double)c->most_w[k];
        const bool live = x > 0 && w > 0 && (c->left_out == NULL || !c->left_out[k]);

        c->s[k] = live ? (float)(strength * log(x) - (1 - strength) * log(w)) : NAN;
        sum += live ? (double)c->s[k] : 0;
        n_live += live;
    }
    const double middle = n_live > 0 ? sum / (double)n_live : 0;
    for (size_t k = 0; k < c->k; k++)
        c->s[k] = isnan(c->s[k])
                      ? 1
                      : (float)fmin(MOST_SCALE, fmax(LEAST_SCALE, exp((double)c->s[k] - middle)));
}

/* The quantization of x / s (s NULL: of x), by the statistics of g. */
static bool find_range(const candidate *c, const qdq_awq_group *g, const float *s, qdq_qparam *out)
{
    double low = 0, high = 0;

    for (size_t k = 0; k < c->k; k++) {
        const double by = s != NULL ? (double)s[k] : 1;

        if (c->left_out != NULL && c->left_out[k])
            continue;
        low = fmin(low, (double)g->low[k] / by);
        high = fmax(high, (double)g->high[k] / by);
    }
    return qdq_qparam_from_range(&c->scheme, low, high, out);
}

/* The kept rows of g as 8 bits give them back, with s (NULL: 1). */
static void quantize_rows(candidate *c, qdq_awq_group *g, const qdq_qparam *p, const float *s)
{
    for (size_t r = 0; r < g->n_kept; r++) {
        float *back = c->back + r * c->k;

        for (size_t k = 0; k < c->k; k++)
            back[k] = s != NULL ? g->row[r * c->k + k] / s[k] : g->row[r * c->k + k];
        qdq_quantize_floats(p, back, c->k, c->codes);
        qdq_dequantize_floats(p, c->codes, c->k, back);
        for (size_t k = 0; k < c->k && s != NULL; k++)
            back[k] *= s[k];
    }
    g->row_back = c->back;
}

/* The squared error of all products, each half by the scales of the other one; below 0: out of
 * memory. INFINITY: there is no scale. */
static double error_of(const smoother *s, candidate *c, qdq_awq_group *g, double strength)
{
    const size_t n = s->a.n_turns;
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        const qdq_awq_group *seen = &g[(i + 1) % n];
        const float *by = strength > 0 ? c->s : NULL;
        qdq_qparam p;

        if (by != NULL)
            find_scales(c, seen, 1, strength);
        if (!find_range(c, seen, by, &p))
            return (double)INFINITY;
        quantize_rows(c, &g[i], &p, by);
        for (size_t k = 0; k < g->weights.n; k++) {
            const double error = qdq_awq_error(&g[i], &g->weights.at[k], by);

            if (error < 0)
                return -1;
            sum += error;
        }
    }
    return sum;
}

/* Channels that will be in float are nothing to smooth for. */
static qdq_status leave_out(smoother *s, candidate *c, qdq_awq_group *g)
{
    float *most = qdq_arena_array(&s->a.scratch, 2 * c->k + 1, sizeof *most);
    int64_t *channels = qdq_arena_array(&s->a.scratch, c->k + 1, sizeof *channels);

    QDQ_NEED(most != NULL && channels != NULL, s->err);
    for (size_t k = 0; k < c->k; k++)
        most[k] = (float)most_of(g, s->a.n_turns, k);
    const size_t n = qdq_outliers_of(most, c->k, most + c->k, channels);
    if (n == 0)
        return QDQ_OK;
    c->left_out = qdq_arena_array(&s->a.scratch, c->k + 1, sizeof *c->left_out);
    QDQ_NEED(c->left_out != NULL, s->err);
    for (size_t i = 0; i < n; i++)
        c->left_out[channels[i]] = true;
    for (size_t i = 0; i < s->a.n_turns; i++)
        for (size_t r = 0; r < g[i].n_kept; r++)
            for (size_t k = 0; k < n; k++)
                g[i].row[r * c->k + (size_t)channels[k]] = 0;
    return QDQ_OK;
}

static qdq_status make_room(smoother *s, candidate *c)
{
    c->s = qdq_arena_array(&s->a.scratch, c->k + 1, sizeof *c->s);
    c->back = qdq_arena_array(&s->a.scratch, QDQ_AWQ_ROWS * c->k + 1, sizeof *c->back);
    c->codes = qdq_arena_array(&s->a.scratch, c->k + 1, qdq_code_size(c->scheme.type));
    return qdq_allocated(c->s != NULL && c->back != NULL && c->codes != NULL, s->err);
}

static qdq_status write_entry(smoother *s, candidate *c, const qdq_awq_group *g, double strength,
                              double fraction)
{
    qdq_plan_smoothing entry = {.n_scales = c->k};

    find_scales(c, g, s->a.n_turns, strength);
    const char *name = qdq_smooth_name(c->x, &s->out->arena);

    entry.tensor = qdq_arena_strdup(&s->out->arena, c->x->name);
    entry.smoothed = name != NULL ? qdq_arena_strdup(&s->out->arena, name) : NULL;
    entry.scales = qdq_arena_copy(&s->out->arena, c->s, c->k, sizeof *c->s);
    QDQ_NEED(entry.tensor != NULL && entry.smoothed != NULL && entry.scales != NULL &&
                 QDQ_PUSH(&s->out->arena, &s->out->smoothings, entry),
             s->err);
    return note(s, c->x, true,
                qdq_arena_printf(&s->notes->arena,
                                 "strength %g, error of its products on held-out samples %.3g of "
                                 "that without",
                                 strength, fraction));
}

static qdq_status search(smoother *s, candidate *c, qdq_awq_group *g)
{
    double best = 0, least, whole;

    for (size_t i = 0; i < s->a.n_turns; i++)
        if (g[i].n_kept == 0)
            return note(s, c->x, false, "too few samples have rows of it");
    for (size_t i = 1; i < s->a.n_turns; i++)
        g[i].weights = g->weights;
    QDQ_TRY(make_room(s, c));
    if (s->a.q->opts->float_channels == QDQ_FLOAT_CHANNELS_ON)
        QDQ_TRY(leave_out(s, c, g));
    whole = error_of(s, c, g, 0);
    QDQ_NEED(whole >= 0, s->err);
    least = WORTH * whole;
    for (size_t i = 0; i < sizeof strengths / sizeof *strengths; i++) {
        const double error = error_of(s, c, g, strengths[i]);

        QDQ_NEED(error >= 0, s->err);
        if (error < least) {
            least = error;
            best = strengths[i];
        }
    }
    if (best > 0)
        return write_entry(s, c, g, best, least / whole);
    return note(s, c->x, false, "the error of its products on held-out samples hardly falls");
}

/* --- all of it -------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const qdq_plan_smoothing *)a)->tensor, ((const qdq_plan_smoothing *)b)->tensor);
}

/* Notes why_not for all candidates, if there is one. */
static qdq_status ask_caller(smoother *s, const qdq_smooth_ask *ask, const char **why_not)
{
    const size_t n = s->candidates.n;
    const qdq_value **x = qdq_arena_array(&s->a.scratch, n, sizeof *x);

    QDQ_NEED(x != NULL, s->err);
    for (size_t i = 0; i < n; i++)
        x[i] = s->candidates.at[i].x;
    QDQ_TRY(ask->fn(ask->ctx, x, n, why_not, s->err));
    for (size_t i = 0; i < n && *why_not != NULL; i++)
        QDQ_TRY(note(s, x[i], false, qdq_arena_strdup(&s->notes->arena, *why_not)));
    return QDQ_OK;
}

static qdq_status search_all(smoother *s, const qdq_smooth_ask *ask)
{
    const qdq_job *job = s->a.q->opts->job;
    const char *why_not = NULL;

    if (s->candidates.n == 0)
        return QDQ_OK;
    if (ask != NULL)
        QDQ_TRY(ask_caller(s, ask, &why_not));
    if (why_not != NULL)
        return QDQ_OK;
    QDQ_TRY(qdq_awq_collect(&s->a));
    for (size_t i = 0; i < s->candidates.n; i++) {
        const qdq_arena_mark mark = qdq_arena_get_mark(&s->a.scratch);

        QDQ_TRY(qdq_job_poll(job, s->err));
        QDQ_TRY(search(s, &s->candidates.at[i], &s->a.groups.at[i * s->a.n_turns]));
        qdq_arena_reset(&s->a.scratch, mark);
        qdq_job_progress(job, "smoothing", i + 1, s->candidates.n);
    }
    if (s->out->smoothings.n > 1)
        qsort(s->out->smoothings.at, s->out->smoothings.n, sizeof *s->out->smoothings.at, by_name);
    return QDQ_OK;
}

qdq_status qdq_smooth_search(const qdq_quantizing *q, const qdq_smooth_ask *ask, qdq_plan *out,
                             qdq_smooth_notes *notes, qdq_error *err)
{
    smoother s = {.a = {.q = q, .n_turns = qdq_sweep_count(q) > 1 ? 2 : 1, .err = err},
                  .f = {.q = q, .with_gptq = true, .err = err},
                  .out = out,
                  .notes = notes,
                  .err = err};
    qdq_status st = qdq_product_finder_begin(&s.f);

    for (size_t i = 0; i < q->plan->tensors.n && st == QDQ_OK; i++)
        st = look_at(&s, &q->plan->tensors.at[i]);
    if (st == QDQ_OK)
        st = search_all(&s, ask);
    qdq_product_finder_free(&s.f);
    qdq_map_free(&s.a.by_value);
    qdq_arena_free(&s.a.scratch);
    return st;
}
