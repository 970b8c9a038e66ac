/* gptq.c - rounds weights one input channel after the other (GPTQ): which weights read which
 * activation, what of them fits into memory at once, and what the plan says of the outcome. */
#include "quant/weights/gptq.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "quant/calib/sweep.h"
#include "quant/weights/gptq_state.h"

typedef struct gptq {
    const qdq_quantizing *q;
    qdq_arena scratch;
    QDQ_VEC(qdq_gptq_group) groups;
    /* name of an activation -> index of its group */
    qdq_map by_value;
    size_t n_samples;
    /* weights */
    size_t done, total;
    qdq_error *err;
} gptq;

/* --- groups ----------------------------------------------------------------------------------- */

static qdq_status add_weight(gptq *a, qdq_plan_weight *w, const qdq_value *x, const qdq_tensor *t)
{
    qdq_weight_columns weight;
    bool is_new;

    QDQ_TRY(qdq_weight_columns_of(w, t, &weight, a->err));
    qdq_map_value *at = qdq_map_put(&a->by_value, x->name, &is_new);
    const qdq_gptq_group g = {.x = x, .k = weight.k};
    QDQ_NEED(at != NULL && (!is_new || QDQ_PUSH(&a->scratch, &a->groups, g)), a->err);
    if (is_new)
        at->num = a->groups.n - 1;
    a->total++;
    return qdq_allocated(QDQ_PUSH(&a->scratch, &a->groups.at[at->num].weights, weight), a->err);
}

static qdq_status tell(gptq *a, const qdq_plan_weight *w, double gain_db, const char *why)
{
    qdq_plan *p = a->q->plan;
    const qdq_plan_rounding r = {.weight = w->tensor,
                                 .accepted = why == NULL,
                                 .gain_db = gain_db,
                                 .reason = why != NULL ? why : ""};

    return qdq_allocated(QDQ_PUSH(&p->arena, &p->rounded, r), a->err);
}

static bool is_asked(const qdq_plan_weight *w)
{
    return qdq_weight_method_is_gptq(w->method) && !w->is_rounded && w->scales == NULL &&
           w->clip == NULL;
}

static qdq_status find_groups(gptq *a)
{
    qdq_map nodes = QDQ_MAP_INIT;
    qdq_status st =
        qdq_allocated(qdq_graph_map_labels(a->q->m->graph, &a->scratch, &nodes), a->err);

    for (size_t i = 0; i < a->q->plan->weights.n && st == QDQ_OK; i++) {
        qdq_plan_weight *w = &a->q->plan->weights.at[i];
        const qdq_tensor *t = qdq_value_const(qdq_graph_find(a->q->m->graph, w->tensor));

        if (!is_asked(w))
            continue;
        const qdq_value *x = qdq_weight_activation(&nodes, w, t);
        st = x != NULL
                 ? add_weight(a, w, x, t)
                 : tell(a, w, 0,
                        "no matrix with scales per column or in blocks behind one activation");
    }
    qdq_map_free(&nodes);
    return st;
}

/* --- one pass over the samples ---------------------------------------------------------------- */

/* Every fifth sample is held out, of fewer the last one; of a single one the last fifth of its
 * rows. */
static void split_rows(const gptq *a, qdq_gptq_group *g, size_t sample, const float *x, size_t n)
{
    enum { PARTS = 5 };
    const size_t last = a->n_samples < PARTS ? a->n_samples - 1 : PARTS - 1;
    size_t fit = sample % PARTS == last ? 0 : n;

    if (a->n_samples == 1)
        fit = n - (n + PARTS - 1) / PARTS;
    if (fit > 0)
        qdq_gptq_add_rows(g, QDQ_GPTQ_FIT, x, fit);
    if (fit < n)
        qdq_gptq_add_rows(g, QDQ_GPTQ_HELD, x + fit * g->k, n - fit);
}

static qdq_status observe_rows(void *ctx, size_t sample, const char *name, const qdq_array *x,
                               qdq_error *err)
{
    gptq *a = ctx;
    const qdq_map_value *at = qdq_map_get(&a->by_value, name);
    qdq_gptq_group *g = at != NULL ? &a->groups.at[at->num] : NULL;

    if (g == NULL || g->h == NULL)
        return QDQ_OK;
    if (x->elem != QDQ_FLOAT || x->rank < 1 || (size_t)x->dim[x->rank - 1] != g->k)
        return qdq_fail(err, QDQ_E_FORMAT, "tensor '%s': its rows do not have %zu floats", name,
                        g->k);
    split_rows(a, g, sample, x->data, (size_t)qdq_array_count(x) / g->k);
    return QDQ_OK;
}

/* The groups first .. end - 1. */
static qdq_status collect(gptq *a, size_t first, size_t end)
{
    const qdq_value **values = qdq_arena_array(&a->scratch, end - first + 1, sizeof *values);
    size_t n = 0;

    QDQ_NEED(values != NULL, a->err);
    for (size_t i = first; i < end; i++) {
        qdq_gptq_group *g = &a->groups.at[i];

        if (g->is_left)
            continue;
        QDQ_NEED(qdq_gptq_begin_group(g), a->err);
        if (g->x->producer != NULL)
            values[n++] = g->x;
    }
    QDQ_TRY(qdq_sweep(a->q, "weights", values, observe_rows, a, a->err));
    for (size_t i = first; i < end; i++)
        if (!a->groups.at[i].is_left)
            qdq_gptq_flush(&a->groups.at[i]);
    return QDQ_OK;
}

/* --- into the plan ---------------------------------------------------------------------------- */

/* On disk: they are not needed before the plan is applied. */
static qdq_status write_codes(gptq *a, const qdq_weight_columns *c, const qdq_gptq_result *r)
{
    const size_t n = c->n * c->n_block, count = c->n * c->k;
    qdq_plan_weight *entry = c->entry;
    bool any = false;
    size_t size;

    QDQ_NEED(qdq_elem_bytes(entry->type, (int64_t)count, &size), a->err);
    qdq_mapping *numbers =
        qdq_mapping_new_on_disk(n * (sizeof *r->scales + sizeof *r->zeros) + size);
    QDQ_NEED(numbers != NULL && qdq_plan_take_numbers(a->q->plan, numbers), a->err);
    float *scales = (float *)(void *)qdq_mapping_own_data(numbers);
    int32_t *zeros = (int32_t *)(void *)(scales + n);
    for (size_t i = 0; i < n; i++)
        any |= r->zeros[i] != 0;
    memcpy(scales, r->scales, n * sizeof *scales);
    memcpy(zeros, r->zeros, n * sizeof *zeros);
    qdq_pack_codes(entry->type, r->codes, count, (unsigned char *)(zeros + n));
    entry->numbers = numbers;
    entry->scales = scales;
    entry->zero_points = any ? zeros : NULL;
    entry->n_scales = n;
    entry->codes = zeros + n;
    entry->codes_size = size;
    qdq_mapping_rest(numbers);
    return QDQ_OK;
}

static qdq_status accept(gptq *a, const qdq_weight_columns *w, const qdq_gptq_result *r)
{
    const double gain = qdq_gptq_gain(r->nearest, r->error);
    const bool good = gain >= QDQ_GPTQ_LEAST_GAIN_DB;

    if (good)
        QDQ_TRY(write_codes(a, w, r));
    return tell(a, w->entry, gain, good ? NULL : "its nearest codes lose no more on held-out rows");
}

static qdq_status round_weight(gptq *a, const qdq_gptq_group *g, qdq_gptq_factor *f,
                               qdq_weight_columns *w)
{
    const qdq_job *job = a->q->opts->job;
    qdq_arena floats = QDQ_ARENA_INIT;
    qdq_gptq_result r = {0};

    w->scheme.storage = a->q->target->half.type;
    qdq_status st = qdq_weight_columns_load(w, &floats, a->err);
    if (st == QDQ_OK)
        st = qdq_gptq_round(g, f, w, job, &r, a->err);
    if (st == QDQ_OK && w->entry->method == QDQ_WEIGHT_GPTQ_REFINE) {
        if (!f->is_mirrored)
            qdq_gptq_mirror(g, f);
        st = qdq_gptq_refine(g, f, w, job, &r, a->err);
    }
    if (st == QDQ_OK)
        st = accept(a, w, &r);
    qdq_gptq_result_free(&r);
    qdq_weight_columns_unload(w, &floats);
    return st == QDQ_OK ? st : qdq_within(a->err, st, "weight '%s'", w->entry->tensor);
}

/* A factor serves all weights that ask for the same one. */
static qdq_status round_group(gptq *a, qdq_gptq_group *g)
{
    const qdq_gptq_opts *made = NULL;
    const char *why = NULL;
    qdq_gptq_factor f = {0};
    qdq_status st = QDQ_OK;

    for (size_t i = 0; i < g->weights.n && st == QDQ_OK; i++) {
        qdq_weight_columns *w = &g->weights.at[i];
        const qdq_gptq_opts *asked = &w->entry->gptq;

        st = qdq_job_poll(a->q->opts->job, a->err);
        if (st == QDQ_OK && (g->rows[QDQ_GPTQ_FIT] == 0 || g->rows[QDQ_GPTQ_HELD] == 0)) {
            st = tell(a, w->entry, 0, "too few rows to hold some out");
            continue;
        }
        if (st == QDQ_OK && (made == NULL || made->damping != asked->damping ||
                             made->act_order != asked->act_order)) {
            qdq_gptq_factor_free(&f);
            st = qdq_allocated(qdq_gptq_factorize(g, asked, &f, &why), a->err);
            made = asked;
        }
        if (st == QDQ_OK)
            st = why != NULL ? tell(a, w->entry, 0, why) : round_weight(a, g, &f, w);
        qdq_job_progress(a->q->opts->job, "rounding", ++a->done, a->total);
    }
    qdq_gptq_factor_free(&f);
    return st;
}

static qdq_status run_pass(gptq *a, size_t first, size_t end)
{
    qdq_status st = collect(a, first, end);

    for (size_t i = first; i < end; i++) {
        qdq_gptq_group *g = &a->groups.at[i];

        if (st == QDQ_OK && !g->is_left)
            st = round_group(a, g);
        qdq_gptq_end_group(g);
    }
    return st;
}

/* --- passes ----------------------------------------------------------------------------------- */

static qdq_status leave_group(gptq *a, const qdq_gptq_group *g, uint64_t bytes)
{
    qdq_job_log(a->q->opts->job, QDQ_LOG_WARNING,
                "weights of %zu input channels keep the nearest codes: gptq needs %" PRIu64
                " MB for them, more than the memory that it may use (--memory)",
                g->k, (bytes >> 20) + 1);
    for (size_t i = 0; i < g->weights.n; i++) {
        a->done++;
        QDQ_TRY(tell(a, g->weights.at[i].entry, 0, "its Hessian needs too much memory"));
    }
    return QDQ_OK;
}

/* Groups that do not fit beside their factor are in no pass. */
static qdq_status leave_large(gptq *a, uint64_t limit)
{
    for (size_t i = 0; i < a->groups.n; i++) {
        qdq_gptq_group *g = &a->groups.at[i];
        const uint64_t own = qdq_gptq_group_bytes(g->k), factor = qdq_gptq_factor_bytes(g->k);

        g->is_left = own > limit || factor > limit - own;
        if (g->is_left)
            QDQ_TRY(leave_group(a, g, own == UINT64_MAX ? own : own + factor));
    }
    return QDQ_OK;
}

/* The end of the pass that begins with group `first`: as many groups at once as fit beside one
 * factor, in the order of the plan. */
static size_t end_of_pass(const gptq *a, size_t first, uint64_t limit)
{
    uint64_t used = 0, largest = 0;

    for (size_t i = first; i < a->groups.n; i++) {
        const qdq_gptq_group *g = &a->groups.at[i];

        if (g->is_left)
            continue;
        const uint64_t own = qdq_gptq_group_bytes(g->k), factor = qdq_gptq_factor_bytes(g->k);
        largest = factor > largest ? factor : largest;
        if (used > 0 && used + own + largest > limit)
            return i;
        used += own;
    }
    return a->groups.n;
}

static size_t count_passes(const gptq *a, uint64_t limit)
{
    size_t n = 0;

    for (size_t first = 0; first < a->groups.n; first = end_of_pass(a, first, limit))
        n++;
    return n;
}

/* The smallest limit that needs no more passes: passes of equal size take less memory than full
 * ones and a small last one, beside a session that has most weights in the last one. */
static uint64_t even_limit(const gptq *a, uint64_t limit)
{
    const size_t n = count_passes(a, limit);
    uint64_t low = 0;

    while (limit - low > ((uint64_t)1 << 16)) {
        const uint64_t middle = low + (limit - low) / 2;

        if (count_passes(a, middle) > n)
            low = middle;
        else
            limit = middle;
    }
    return limit;
}

static qdq_status run_passes(gptq *a)
{
    uint64_t limit = qdq_sweep_memory(a->q);

    QDQ_TRY(leave_large(a, limit));
    if (a->done == a->total)
        return QDQ_OK;
    limit = even_limit(a, limit);
    for (size_t first = 0, end; first < a->groups.n; first = end) {
        end = end_of_pass(a, first, limit);
        QDQ_TRY(run_pass(a, first, end));
    }
    return QDQ_OK;
}

static bool is_wanted(const qdq_plan *p)
{
    for (size_t i = 0; i < p->weights.n; i++)
        if (is_asked(&p->weights.at[i]))
            return true;
    return false;
}

qdq_status qdq_gptq(const qdq_quantizing *q, qdq_error *err)
{
    gptq a = {.q = q, .err = err};

    if (!is_wanted(q->plan))
        return QDQ_OK;
    if (!qdq_has_real_samples(q, "weights have their nearest codes: gptq"))
        return QDQ_OK;
    a.n_samples = qdq_sweep_count(q);
    qdq_status st = find_groups(&a);
    if (st == QDQ_OK)
        st = run_passes(&a);
    qdq_map_free(&a.by_value);
    qdq_arena_free(&a.scratch);
    return st;
}
