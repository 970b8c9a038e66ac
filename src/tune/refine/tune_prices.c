/* tune_prices.c - the common part of the steps after the search: which tensors are of one kind,
 * what kinds cost by two profiles, and the trials of those that pay. */
#include "tune/refine/tune_prices.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "tune/candidate/tune_names.h"
#include "tune/candidate/tune_profile.h"
#include "tune/space/space_edges.h"
#include "tune/state/tune_budget.h"
#include "tune/state/tune_presets.h"

/* --- kinds ------------------------------------------------------------------------------------ */

/* By tensor of t->parts.hyperedges; "": none of its edges has a part in it. */
static qdq_status describe_all(const qdq_refining *x, qdq_buf *text, qdq_error *err)
{
    const qdq_tune_state *t = x->t;
    const qdq_space *s = t->task.space;
    qdq_buf one = QDQ_BUF_INIT(1 << 20);
    bool failed = false;

    for (size_t i = 0; i < s->n_edges && !failed; i++) {
        const uint32_t hyperedge = t->parts.hyperedges.of[s->edge[i].value->id];
        const qdq_node *from = qdq_space_source(s, s->edge[i].value);
        one.size = 0;
        if (hyperedge == QDQ_NO_HYPEREDGE || !x->describe(x, i, &one))
            continue;
        if (text[hyperedge].size == 0)
            qdq_buf_printf(&text[hyperedge], "%.0f %s",
                           t->parts.hyperedges.graph.hyperedge[hyperedge].bytes,
                           from != NULL ? from->type : "");
        qdq_buf_append(&text[hyperedge], one.data, one.size);
        failed = one.failed || text[hyperedge].failed;
    }
    qdq_buf_free(&one);
    return failed ? qdq_nomem(err) : QDQ_OK;
}

/* The class of these properties, which is new where none has them. */
static qdq_status find_class(qdq_refining *x, const qdq_buf *text, qdq_map *classes, uint32_t *out,
                             qdq_error *err)
{
    /* maps borrow their keys */
    const char *key = text->failed ? NULL : qdq_arena_strdup(&x->arena, text->data);
    bool is_new;
    qdq_map_value *v = key != NULL ? qdq_map_put(classes, key, &is_new) : NULL;

    QDQ_NEED(v != NULL, err);
    if (is_new) {
        v->num = x->gain.n;
        QDQ_NEED(QDQ_PUSH(&x->arena, &x->gain, (double){0}) &&
                     QDQ_PUSH(&x->arena, &x->pays, (bool){false}),
                 err);
    }
    *out = (uint32_t)v->num;
    return QDQ_OK;
}

qdq_status qdq_refine_find_kinds(qdq_refining *x, qdq_error *err)
{
    const size_t n_hyperedges = x->t->parts.hyperedges.graph.n_hyperedges;
    qdq_buf *text = qdq_arena_array(&x->arena, n_hyperedges + 1, sizeof *text);
    qdq_map classes = QDQ_MAP_INIT;

    x->kind_of = qdq_arena_array(&x->arena, n_hyperedges + 1, sizeof *x->kind_of);
    x->gain.n = x->pays.n = 0;
    QDQ_NEED(text != NULL && x->kind_of != NULL, err);
    for (size_t i = 0; i < n_hyperedges; i++)
        text[i] = (qdq_buf)QDQ_BUF_INIT(1 << 20);
    qdq_status st = describe_all(x, text, err);
    for (size_t i = 0; i < n_hyperedges; i++) {
        x->kind_of[i] = QDQ_TUNE_NO_KIND;
        if (st == QDQ_OK && text[i].size > 0)
            st = find_class(x, &text[i], &classes, &x->kind_of[i], err);
        qdq_buf_free(&text[i]);
    }
    qdq_map_free(&classes);
    return st;
}

/* --- whose time it is ------------------------------------------------------------------------- */

/* Adds time to the kind of a tensor. */
static void add_time(const qdq_refining *k, double *time, uint32_t hyperedge, double us)
{
    if (hyperedge != QDQ_NO_HYPEREDGE && k->kind_of[hyperedge] != QDQ_TUNE_NO_KIND)
        time[k->kind_of[hyperedge]] += us;
}

void qdq_refine_describe_dims(qdq_buf *text, const qdq_value *v)
{
    for (int i = 0; v != NULL && v->type != NULL && i < v->type->rank; i++)
        qdq_buf_printf(text, " %lld", (long long)v->type->dim[i].value);
    qdq_buf_puts(text, ";");
}

qdq_status qdq_refine_find_classes(qdq_refining *x, qdq_refine_describe *describe, qdq_error *err)
{
    qdq_map classes = QDQ_MAP_INIT;
    qdq_status st = QDQ_OK;

    memset(x->kind, 0xff, x->n * sizeof *x->kind);
    x->gain.n = x->pays.n = 0;
    for (size_t i = 0; i < x->n && st == QDQ_OK; i++) {
        qdq_buf text = QDQ_BUF_INIT(1 << 16);
        if (describe(x, i, &text))
            st = find_class(x, &text, &classes, &x->kind[i], err);
        qdq_buf_free(&text);
    }
    qdq_map_free(&classes);
    return st;
}

qdq_status qdq_refine_count_items(qdq_refining *x, unsigned **out, qdq_error *err)
{
    unsigned *n = *out = qdq_arena_array(&x->arena, x->gain.n + 1, sizeof *n);

    QDQ_NEED(n != NULL, err);
    for (size_t i = 0; i < x->n; i++)
        if (x->kind[i] != QDQ_TUNE_NO_KIND)
            n[x->kind[i]]++;
    return QDQ_OK;
}

uint32_t qdq_refine_kind_of(const qdq_refining *x, const qdq_value *v)
{
    const uint32_t hyperedge = x->t->parts.hyperedges.of[v->id];

    return hyperedge != QDQ_NO_HYPEREDGE ? x->kind_of[hyperedge] : QDQ_TUNE_NO_KIND;
}

static bool is_priced(const qdq_refining *k, const qdq_value *v)
{
    return v != NULL && qdq_refine_kind_of(k, v) != QDQ_TUNE_NO_KIND;
}

/* How many of what a kernel gives count. */
static uint32_t given(const qdq_refining *k, const qdq_node *n)
{
    return k->by_reader ? 0 : n->n_out;
}

/* How many of these tensors are beside a kernel. */
static size_t count_priced(const qdq_refining *k, const qdq_node *n)
{
    size_t beside = 0;

    for (uint32_t i = 0; i < n->n_in; i++)
        beside += is_priced(k, qdq_node_in(n, i));
    for (uint32_t i = 0; i < given(k, n); i++)
        beside += is_priced(k, n->out[i]);
    return beside;
}

/* A kernel between several of these tensors takes part in each; and what is converted behind it may
 * be done by it instead. */
static void add_kernel(const qdq_refining *k, double *time, const qdq_node *n,
                       const qdq_tune_times *times)
{
    const size_t beside = count_priced(k, n);
    double us = times->own[n->id];

    for (uint32_t i = 0; i < n->n_out; i++)
        if (n->out[i] != NULL && !is_priced(k, n->out[i]))
            us += times->converted[n->out[i]->id];
    for (uint32_t i = 0; i < n->n_in && beside > 0; i++)
        if (is_priced(k, qdq_node_in(n, i)))
            add_time(k, time, k->t->parts.hyperedges.of[qdq_node_in(n, i)->id],
                     us / (double)beside);
    for (uint32_t i = 0; i < given(k, n) && beside > 0; i++)
        if (is_priced(k, n->out[i]))
            add_time(k, time, k->t->parts.hyperedges.of[n->out[i]->id], us / (double)beside);
}

/* An epilogue that quantizes, a DQ that is read with the rest. Returns the time of the other
 * kernels. */
static double price_tensors(const qdq_refining *k, const qdq_tune_times *times, double *time)
{
    const qdq_hyperedge_map *hyperedges = &k->t->parts.hyperedges;
    const qdq_graph *g = k->t->task.clean->graph;
    double rest = 0;

    for (size_t i = 0; i < g->values.n; i++)
        add_time(k, time, hyperedges->of[i], times->converted[i]);
    QDQ_FOR_NODES (n, g) {
        if (hyperedges->within[n->id] != QDQ_NO_HYPEREDGE)
            add_time(k, time, hyperedges->within[n->id], times->own[n->id]);
        else if (count_priced(k, n) > 0)
            add_kernel(k, time, n, times);
        else
            rest += times->own[n->id];
    }
    return rest;
}

/* The same where items have times of their own. */
static double price_items(const qdq_refining *k, const qdq_tune_times *times, double *time)
{
    double rest = times->sum;

    for (size_t i = 0; i < k->n; i++) {
        const double us = k->kind[i] != QDQ_TUNE_NO_KIND ? k->time_of(k, i, times) : 0;
        if (k->kind[i] != QDQ_TUNE_NO_KIND)
            time[k->kind[i]] += us;
        rest -= us;
    }
    return rest;
}

/* --- gains ------------------------------------------------------------------------------------ */

static qdq_status price_placement(qdq_refining *x, const qdq_assign *a, qdq_tune_prices *out,
                                  qdq_error *err)
{
    const qdq_tune_times *times;

    *out = (qdq_tune_prices){.time = qdq_arena_array(&x->arena, x->gain.n + 1, sizeof *out->time)};
    QDQ_NEED(out->time != NULL, err);
    QDQ_TRY(qdq_tune_times_of(x->t, a, &times, err));
    out->known = times != NULL;
    if (!out->known)
        return QDQ_OK;
    out->sum = times->sum;
    out->unclassed =
        x->time_of != NULL ? price_items(x, times, out->time) : price_tensors(x, times, out->time);
    return QDQ_OK;
}

double qdq_refine_pace(const qdq_tune_prices *before, const qdq_tune_prices *after)
{
    const double enough = 0.05;

    return before->unclassed > enough * before->sum && after->unclassed > enough * after->sum
               ? before->unclassed / after->unclassed
               : 1;
}

/* Each item of a kind has its part of what all of them save. */
static qdq_status note_prices(qdq_refining *x, qdq_error *err)
{
    unsigned *n_equal;

    QDQ_TRY(qdq_refine_count_items(x, &n_equal, err));
    for (size_t i = 0; i < x->n; i++) {
        const uint32_t k = x->kind[i];
        if (k == QDQ_TUNE_NO_KIND || x->out[i].tried) /* of that trial it has its price */
            continue;
        const double gain = x->gain.at[k] / n_equal[k];
        x->out[i].saved_us = x->is_off != NULL && x->is_off[i] ? -gain : gain;
        x->out[i].n_equal = n_equal[k];
    }
    return QDQ_OK;
}

/* A gain below this share of what the kind takes, or of the model's time, is noise. */
static const double least_of_kind = 0.02, least_of_model = 0.0005;

qdq_status qdq_refine_find_gains(qdq_refining *x, const qdq_assign *c, qdq_tune_prices *before,
                                 bool *known, qdq_error *err)
{
    qdq_tune_prices after = {.known = false};

    QDQ_TRY(price_placement(x, &x->base, before, err));
    if (before->known && qdq_tune_has_builds(x->t, x->stage, x->builds))
        QDQ_TRY(price_placement(x, c, &after, err));
    *known = after.known;
    if (!after.known)
        return QDQ_OK;
    const double pace = qdq_refine_pace(before, &after);
    for (size_t k = 0; k < x->gain.n; k++) {
        x->gain.at[k] = before->time[k] - pace * after.time[k];
        x->pays.at[k] =
            x->gain.at[k] > fmax(least_of_kind * before->time[k], least_of_model * before->sum);
    }
    return note_prices(x, err);
}

uint32_t qdq_refine_best_kind(const qdq_refining *x, size_t *n)
{
    uint32_t best = QDQ_TUNE_NO_KIND;

    *n = 0;
    for (uint32_t k = 0; k < x->gain.n; k++) {
        *n += x->pays.at[k];
        if (x->pays.at[k] && (best == QDQ_TUNE_NO_KIND || x->gain.at[k] > x->gain.at[best]))
            best = k;
    }
    return best;
}

qdq_status qdq_refine_has_builds(const qdq_refining *x, bool *out, qdq_error *err)
{
    qdq_tune_candidate *base;

    QDQ_TRY(qdq_tune_candidate_of(x->t, &x->base, &base, err));
    *out =
        qdq_tune_has_builds(x->t, x->stage, base->times != NULL && base->times->is_known ? 2 : 3);
    return QDQ_OK;
}

/* --- trials ----------------------------------------------------------------------------------- */

/* An item that was changed by a trial that was kept has that trial, whatever is refused later. */
static void note_trial(const qdq_refining *x, const qdq_assign *c, const qdq_tune_tried *r)
{
    unsigned turned = 0;

    for (size_t i = 0; i < x->n; i++)
        turned += x->differs(x, i, c);
    for (size_t i = 0; i < x->n; i++) {
        if (!x->differs(x, i, c) || (x->out[i].accepted && !r->accepted))
            continue;
        x->out[i].tried = true;
        x->out[i].accepted = r->accepted;
        x->out[i].turned = turned;
        x->out[i].trial = x->t->run.steps.n;
        x->out[i].result = r->result;
    }
}

qdq_status qdq_refine_try(qdq_refining *x, const char *move, const qdq_assign *c, bool *kept,
                          qdq_error *err)
{
    qdq_tune_tried r;

    QDQ_TRY(qdq_tune_try(x->t, QDQ_PHASE_EXCEPTIONS, move,
                         x->against != NULL ? x->against : &x->base, c, &r, err));
    *kept = r.accepted;
    if (!r.failed)
        note_trial(x, c, &r);
    if (r.accepted) {
        qdq_assign_take(&x->base, c);
        x->is_better = true;
        x->against = NULL;
    }
    return QDQ_OK;
}

qdq_status qdq_refine_change_kinds(qdq_refining *x, uint32_t only, qdq_assign *out, qdq_error *err)
{
    QDQ_NEED(qdq_assign_copy(out, &x->base, &x->arena), err);
    for (size_t i = 0; i < x->n; i++)
        if (x->kind[i] != QDQ_TUNE_NO_KIND && x->pays.at[x->kind[i]] &&
            (only == QDQ_TUNE_NO_KIND || only == x->kind[i]))
            x->change(x, i, out);
    return QDQ_OK;
}

qdq_status qdq_refine_try_kind(qdq_refining *x, const char *move, uint32_t only, bool *kept,
                               qdq_error *err)
{
    qdq_assign c;

    QDQ_TRY(qdq_refine_change_kinds(x, only, &c, err));
    return qdq_refine_try(x, move, &c, kept, err);
}

/* --- begin and end ---------------------------------------------------------------------------- */

bool qdq_tune_is_settled(const qdq_tune_state *t)
{
    return t->parts.filter.n > 0 || t->parts.settled != NULL;
}

bool qdq_tune_may_refine(const qdq_tune_state *t)
{
    return !qdq_tune_is_settled(t) && qdq_assign_count(&t->run.found.best) > 0;
}

qdq_status qdq_refine_begin(qdq_refining *x, size_t n, qdq_error *err)
{
    qdq_tune_state *t = x->t;

    x->n = n;
    x->kind = qdq_arena_array(&x->arena, n + 1, sizeof *x->kind);
    x->out = qdq_arena_array(&t->arena, n + 1, sizeof *x->out);
    QDQ_NEED(x->kind != NULL && x->out != NULL &&
                 qdq_assign_new(&x->base, qdq_space_edge_bits(t->task.space), &x->arena),
             err);
    for (size_t i = 0; i < n; i++)
        x->out[i].saved_us = NAN;
    for (size_t i = 0; i < t->run.found.best.n; i++)
        qdq_assign_set(&x->base, i, qdq_assign_get(&t->run.found.best, i));
    return t->parts.hyperedges.of == NULL
               ? qdq_hyperedges_find(t->task.space, &t->arena, &t->parts.hyperedges, err)
               : QDQ_OK;
}

qdq_status qdq_refine_end(qdq_refining *x, qdq_status st, qdq_error *err)
{
    if (st == QDQ_OK && x->is_better &&
        !qdq_assign_copy(&x->t->run.found.best, &x->base, &x->t->arena))
        st = qdq_nomem(err);
    qdq_arena_free(&x->arena);
    return st;
}
