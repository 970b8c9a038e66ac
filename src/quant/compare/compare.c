/* compare.c - runs two models on the same samples and adds up how far their outputs are apart.
 * Where outputs of the first model are kept for later comparisons it runs first, over all samples;
 * else one sample's outputs are held at a time. What is inside is compare_layers.c. */
#include "qdq/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/opts.h"
#include "base/pack.h"
#include "ir/ir.h"
#include "quant/compare/compare_feed.h"
#include "quant/compare/compare_state.h"
#include "quant/data/data_source.h"

static const char *const model_name[2] = {"first model", "second model"};

/* --- outputs of a run ------------------------------------------------------------------------- */

static qdq_compared *find_value(const qdq_comparing *c, const char *name)
{
    qdq_compared *v = qdq_map_get_ptr(&c->by_name, name);

    return v != NULL && !v->left_out ? v : NULL;
}

static bool has_numbers(const qdq_array *a)
{
    return qdq_elem_is_float(a->elem) || qdq_elem_is_int(a->elem);
}

/* Keeps a copy of the first model's output. */
static qdq_status copy_output(void *ctx, const char *name, const qdq_array *a, qdq_error *err)
{
    qdq_comparing *c = ctx;
    qdq_compared *v = find_value(c, name);

    if (v == NULL)
        return QDQ_OK;
    if (!has_numbers(a)) {
        const char *elem = qdq_elem_name(a->elem);

        v->left_out = true;
        qdq_job_log(c->opts.job, QDQ_LOG_WARNING, "'%s' is %s and cannot be compared: left out",
                    name, elem != NULL ? elem : "?");
        return QDQ_OK;
    }
    return qdq_hold(&v->held, a, err);
}

/* Labels are for rows of the first output. */
static bool has_labels(const qdq_comparing *c, const qdq_compared *v)
{
    return c->labels != NULL && v == c->outputs.at && v->held.is_held &&
           qdq_top1_rows(&v->held.array) > 0;
}

/* Compares the second model's output with what was held. */
static qdq_status match_output(void *ctx, const char *name, const qdq_array *b, qdq_error *err)
{
    qdq_comparing *c = ctx;
    qdq_compared *v = find_value(c, name);
    char text[2][200];

    if (v == NULL || !v->held.is_held)
        return QDQ_OK;
    if (!has_numbers(b))
        return qdq_fail(err, QDQ_E_FORMAT,
                        "'%s' has numbers in the first model and none in the second", name);
    v->is_done = true;
    if ((v->follows || v->is_inner) && !qdq_array_same_shape(&v->held.array, b)) {
        v->other_shape = true;
        return QDQ_OK;
    }
    if (v->follows && c->expose.n > 0)
        return QDQ_OK;
    if (!qdq_array_same_shape(&v->held.array, b))
        return qdq_fail(err, QDQ_E_UNSUPPORTED,
                        "output '%s' is [%s] in the first model, [%s] in the second", name,
                        qdq_array_shape_text(&v->held.array, text[0], sizeof text[0]),
                        qdq_array_shape_text(b, text[1], sizeof text[1]));
    return qdq_compare_output_add(&v->sums, c->sample, c->batch, &v->held.array, b,
                                  has_labels(c, v) ? c->labels : NULL, err);
}

/* --- over the data ---------------------------------------------------------------------------- */

static qdq_status open_session(qdq_comparing *c, int k, qdq_error *err)
{
    qdq_safe_session *s = &c->session[k];

    *s = qdq_compare_session(c->engine, c->model[k], &c->opts, model_name[k]);
    s->opts.expose = c->expose.n > 0 ? c->expose.at : NULL;
    s->opts.level = c->level[k];
    return qdq_safe_open(s, err);
}

static qdq_status at_run(const qdq_comparing *c, int k, qdq_status st, qdq_error *err)
{
    if (qdq_data_steps(c->data) == 1)
        return qdq_within(err, st, "%s, sample %zu", model_name[k], c->sample);
    return qdq_within(err, st, "%s, sample %zu, step %zu", model_name[k], c->sample, c->step);
}

/* A session is opened when it is needed, and closed after its last sample: with one sample, as
 * quantize holds back, the weights of the two models are never in memory at the same time. */
static qdq_status run_model(qdq_comparing *c, int k, bool is_last, const qdq_named_array *in,
                            size_t n, qdq_error *err)
{
    qdq_status st = c->session[k].session == NULL ? open_session(c, k, err) : QDQ_OK;

    if (st != QDQ_OK)
        return qdq_within(err, st, "%s", model_name[k]);
    qdq_arena_mark mark = qdq_arena_get_mark(&c->arena);
    st = qdq_feedback_put(&c->states[k], c->step, &in, n, &c->arena, err);
    if (st == QDQ_OK)
        st = qdq_compare_feed(c->session[k].model, c->model[0], &in, n, &c->arena, err);
    if (st == QDQ_OK)
        st = qdq_safe_run(&c->session[k], in, n, qdq_feedback_take, &c->states[k], err);
    qdq_arena_reset(&c->arena, mark);
    if (st != QDQ_OK)
        return at_run(c, k, st, err);
    if (is_last)
        qdq_safe_close(&c->session[k]);
    return QDQ_OK;
}

/* After the first model has run: the second one is not to blame. */
static qdq_status check_labels(const qdq_comparing *c, qdq_error *err)
{
    const qdq_compared *v = c->outputs.at;

    if (v == NULL || !has_labels(c, v))
        return QDQ_OK;
    const qdq_array *a = &v->held.array;
    if (c->n_labels != (size_t)qdq_top1_rows(a))
        return qdq_fail(err, QDQ_E_FORMAT, "output '%s': %lld rows in a sample, but %zu labels",
                        v->name, (long long)qdq_top1_rows(a), c->n_labels);
    return qdq_data_check_classes(c->labels, c->n_labels, c->sample, v->name, a->dim[a->rank - 1],
                                  err);
}

/* Outputs of the first model are those, and it does not run. */
static bool has_kept(const qdq_comparing *c)
{
    return c->reference_outputs != NULL && c->reference_outputs->is_complete;
}

/* Where outputs of the run at hand are kept. */
static size_t kept_place(const qdq_comparing *c)
{
    return ((c->sample - c->first) * qdq_data_steps(c->data) + c->step) * c->outputs.n;
}

/* Copies that a comparison before this one made: borrowed, never freed here. */
static void take_kept(qdq_comparing *c)
{
    for (size_t k = 0; k < c->outputs.n; k++) {
        qdq_compared *v = &c->outputs.at[k];

        v->held = c->reference_outputs->at[kept_place(c) + k];
        v->left_out = !v->held.is_held;
    }
}

static qdq_status keep_outputs(qdq_comparing *c, qdq_error *err)
{
    const size_t at = kept_place(c);

    for (size_t k = 0; k < c->outputs.n && !c->reference_outputs->is_over; k++)
        if (c->outputs.at[k].held.is_held)
            QDQ_TRY(qdq_keep(c->reference_outputs, at + k, &c->outputs.at[k].held.array, err));
    return QDQ_OK;
}

static qdq_status run_first(qdq_comparing *c, const qdq_named_array *in, size_t n, qdq_error *err)
{
    if (has_kept(c)) {
        take_kept(c);
        return QDQ_OK;
    }
    const bool is_last =
        c->n_run + 1 == c->end - c->first && c->step + 1 == qdq_data_steps(c->data);
    return run_model(c, 0, is_last, in, n, err);
}

static void forget_held(qdq_comparing *c)
{
    for (size_t k = 0; k < c->outputs.n; k++)
        c->outputs.at[k].held.is_held = c->outputs.at[k].is_done = false;
}

/* The step at hand, with its labels; *in: its inputs. */
static qdq_status get_step(qdq_comparing *c, const qdq_named_array **in, size_t *n, qdq_error *err)
{
    QDQ_TRY(qdq_job_poll(c->opts.job, err));
    forget_held(c);
    c->labels = qdq_data_labels(c->data, c->sample, &c->n_labels);
    c->n_labels /= qdq_data_steps(c->data);
    c->labels += c->labels != NULL ? c->step * c->n_labels : 0;
    return qdq_data_get_step(c->data, c->sample, c->step, in, n, err);
}

/* The first model over all samples, before the second one has a session: the weights of both are
 * never in memory at the same time. Outputs beyond the limit: none is kept, and both run in
 * turns. */
static qdq_status keep_first(qdq_comparing *c, qdq_error *err)
{
    const size_t steps = qdq_data_steps(c->data);
    const qdq_named_array *in;
    size_t n;

    for (c->sample = c->first; c->sample < c->end && !c->reference_outputs->is_over; c->sample++) {
        for (c->step = 0; c->step < steps && !c->reference_outputs->is_over; c->step++) {
            QDQ_TRY(get_step(c, &in, &n, err));
            QDQ_TRY(run_model(c, 0, false, in, n, err));
            QDQ_TRY(check_labels(c, err));
            QDQ_TRY(keep_outputs(c, err));
        }
        qdq_job_progress(c->opts.job, "reference", c->sample - c->first + 1, c->end - c->first);
        if (c->sample == c->first)
            qdq_reference_outputs_expect(c->reference_outputs, c->end - c->first);
    }
    if (c->reference_outputs->is_over)
        return QDQ_OK;
    qdq_safe_close(&c->session[0]);
    for (size_t k = 0; k < c->outputs.n; k++)
        qdq_held_free(&c->outputs.at[k].held);
    c->reference_outputs->is_complete = true;
    return QDQ_OK;
}

static qdq_status run_step(qdq_comparing *c, bool is_last, qdq_error *err)
{
    const qdq_named_array *in;
    size_t n;

    QDQ_TRY(get_step(c, &in, &n, err));
    c->batch = qdq_slices_batch(in, n);
    QDQ_TRY(run_first(c, in, n, err));
    QDQ_TRY(check_labels(c, err));
    QDQ_TRY(run_model(c, 1, is_last, in, n, err));
    for (size_t k = 0; k < c->outputs.n; k++)
        if (c->outputs.at[k].held.is_held && !c->outputs.at[k].is_done)
            return qdq_fail(err, QDQ_E_ENGINE, "second model, sample %zu: the engine gave no '%s'",
                            c->sample, c->outputs.at[k].name);
    return QDQ_OK;
}

/* A sequence is one sample: the sums of its steps are added up. */
static qdq_status run_sample(qdq_comparing *c, size_t i, bool is_last, qdq_error *err)
{
    const size_t steps = qdq_data_steps(c->data);

    c->sample = i;
    for (c->step = 0; c->step < steps; c->step++)
        QDQ_TRY(run_step(c, is_last && c->step + 1 == steps, err));
    c->has_run[i - c->first] = true;
    c->n_run++;
    qdq_job_progress(c->opts.job, "compare", c->n_run, c->end - c->first);
    return QDQ_OK;
}

/* --- the interface ---------------------------------------------------------------------------- */

/* One that is zero everywhere counts as the worst: it has no SQNR. */
static void find_worst(qdq_compare_result *r)
{
    r->worst_db = INFINITY;
    r->bound_db = NAN;
    for (size_t i = 0; i < r->n_outputs; i++) {
        const qdq_compare_tensor *t = &r->outputs[i];

        r->bound_db = fmin(r->bound_db, t->bound_db);
        if (isnan(r->worst_db) || !(t->worst_db < r->worst_db || isnan(t->worst_db)))
            continue;
        r->worst_db = t->worst_db;
        r->worst = i;
    }
}

/* An output that follows an inner value counts where it got another shape. */
static bool is_result(const qdq_comparing *c, const qdq_compared *v)
{
    return !v->left_out && !(v->follows && c->expose.n > 0 && !v->other_shape);
}

static qdq_status fill_result(const qdq_comparing *c, qdq_compare_result *r, qdq_error *err)
{
    const qdq_top1 *t = &c->outputs.at[0].sums.top1;

    for (size_t i = 0; i < c->outputs.n; i++) {
        const qdq_compared *v = &c->outputs.at[i];
        qdq_compare_tensor *to = &r->outputs[r->n_outputs];

        if (!is_result(c, v))
            continue;
        QDQ_TRY(qdq_compare_output_get(&v->sums, to, err));
        if (v->other_shape)
            qdq_compare_tensor_reshaped(to);
        to->name = v->name;
        r->n_outputs++;
    }
    find_worst(r);
    r->top1_agreement = qdq_top1_is_choice(t) ? (double)t->same / (double)t->rows : NAN;
    r->accuracy_a = t->labelled > 0 ? (double)t->right_a / (double)t->labelled : NAN;
    r->accuracy_b = t->labelled > 0 ? (double)t->right_b / (double)t->labelled : NAN;
    r->samples = c->n_run;
    return QDQ_OK;
}

static void pack_outputs(qdq_pack *p, void *to)
{
    qdq_compare_result *r = to;

    r->outputs = qdq_pack_array(p, r->outputs, r->n_outputs, sizeof *r->outputs);
    for (size_t i = 0; i < r->n_outputs; i++)
        r->outputs[i].name = qdq_pack_string(p, r->outputs[i].name);
}

qdq_status qdq_comparing_get(const qdq_comparing *c, qdq_compare_result **out, qdq_error *err)
{
    qdq_compare_result r = {.outputs = NULL};
    size_t n = 0;

    *out = NULL;
    for (size_t i = 0; i < c->outputs.n; i++)
        n += is_result(c, &c->outputs.at[i]);
    if (n == 0)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "no output of the two models can be compared");
    r.outputs = calloc(n, sizeof *r.outputs);
    QDQ_NEED(r.outputs != NULL, err);
    qdq_status st = fill_result(c, &r, err);
    if (st == QDQ_OK) {
        *out = qdq_pack_struct(&r, sizeof r, pack_outputs);
        st = qdq_allocated(*out != NULL, err);
    }
    free(r.outputs);
    return st;
}

qdq_status qdq_comparing_begin(const qdq_comparison *of, qdq_comparing **out, qdq_error *err)
{
    qdq_compare_opts own = QDQ_COMPARE_OPTS_INIT;

    *out = NULL;
    QDQ_TRY(qdq_opts_read("qdq_compare_opts", &own, sizeof own, of->opts, err));
    qdq_comparing *c = calloc(1, sizeof *c);
    QDQ_NEED(c != NULL, err);
    *c = (qdq_comparing){.engine = of->engine,
                         .model = {of->a, NULL},
                         .data = of->data,
                         .opts = own,
                         .reference_outputs = of->reference_outputs};
    qdq_status st = qdq_compare_range(of->data, &c->opts, &c->first, &c->end, err);
    if (st == QDQ_OK)
        st = qdq_data_warn_of_sameness(of->data, c->opts.job, err);
    if (st == QDQ_OK)
        st = qdq_data_check_labels(of->data, of->a, err);
    if (st == QDQ_OK) {
        c->has_run = qdq_arena_array(&c->arena, c->end - c->first, sizeof *c->has_run);
        st = qdq_allocated(c->has_run != NULL, err);
    }
    for (int k = 0; k < 2 && st == QDQ_OK; k++) {
        st = qdq_feedback_begin(&c->states[k], of->data, err);
        c->states[k].fn = k == 0 ? copy_output : match_output;
        c->states[k].ctx = c;
    }
    return QDQ_HAND_OVER(c, st, out, qdq_comparing_free);
}

void qdq_comparing_look(qdq_comparing *c, qdq_compare_looks *looks)
{
    looks->n = 0;
    looks->has_ended = false;
    c->looks = looks;
}

double qdq_compare_whole_db(const qdq_compare_result *r)
{
    double least = INFINITY;

    for (size_t i = 0; i < r->n_outputs; i++)
        if (!isnan(r->outputs[i].sqnr_db))
            least = fmin(least, r->outputs[i].sqnr_db);
    return least;
}

static bool is_look_due(const qdq_comparing *c)
{
    return c->looks != NULL && c->looks->every > 0 && c->n_run % c->looks->every == 0 &&
           c->n_run < c->end - c->first && c->looks->n < QDQ_MOST_LOOKS;
}

static qdq_status look_so_far(const qdq_comparing *c, qdq_error *err)
{
    qdq_compare_look *found = &c->looks->found[c->looks->n];
    const qdq_compare_look *limit = &c->looks->limit[c->looks->n];
    qdq_compare_result *r = NULL;

    QDQ_TRY(qdq_comparing_get(c, &r, err));
    *found = (qdq_compare_look){r->worst_db, qdq_compare_whole_db(r)};
    qdq_free(r);
    c->looks->has_ended = found->worst_db < limit->worst_db && !(found->whole_db > limit->whole_db);
    c->looks->n++;
    return QDQ_OK;
}

static qdq_status run_samples(qdq_comparing *c, size_t first, size_t end, qdq_error *err)
{
    for (size_t i = first; i < end && !(c->looks != NULL && c->looks->has_ended); i++) {
        if (i < c->first || i >= c->end || c->has_run[i - c->first])
            return qdq_fail(err, QDQ_E_BUG, "sample %zu is not one that this comparison waits for",
                            i);
        QDQ_TRY(run_sample(c, i, i + 1 == end, err));
        if (is_look_due(c))
            QDQ_TRY(look_so_far(c, err));
    }
    return QDQ_OK;
}

qdq_status qdq_comparing_add(qdq_comparing *c, const qdq_model *b, size_t first, size_t count,
                             qdq_error *err)
{
    const bool is_first = c->model[1] == NULL;

    c->model[1] = b;
    QDQ_TRY(is_first ? qdq_comparing_find_outputs(c, err) : qdq_comparing_need_outputs(c, b, err));
    QDQ_TRY(qdq_comparing_need_states(c, b, err));
    if (c->reference_outputs != NULL && !c->reference_outputs->is_complete &&
        !c->reference_outputs->is_over)
        QDQ_TRY(keep_first(c, err));
    qdq_status st =
        run_samples(c, count > 0 ? first : c->first, count > 0 ? first + count : c->end, err);
    qdq_safe_close(&c->session[1]);
    return st;
}

const qdq_data *qdq_comparing_data(const qdq_comparing *c)
{
    return c->data;
}

void qdq_comparing_free(qdq_comparing *c)
{
    if (c == NULL)
        return;
    for (int k = 0; k < 2; k++) {
        qdq_safe_close(&c->session[k]);
        qdq_feedback_free(&c->states[k]);
    }
    for (size_t k = 0; k < c->outputs.n; k++) {
        qdq_compare_output_free(&c->outputs.at[k].sums);
        if (!has_kept(c))
            qdq_held_free(&c->outputs.at[k].held);
    }
    qdq_map_free(&c->by_name);
    qdq_arena_free(&c->arena);
    free(c);
}

void qdq_comparing_set_level(qdq_comparing *c, int model, qdq_opt_level level)
{
    c->level[model] = level;
}

qdq_status qdq_compare_keeping(const qdq_comparison *of, const qdq_model *b,
                               qdq_compare_result **out, qdq_error *err)
{
    qdq_comparing *c = NULL;

    *out = NULL;
    qdq_status st = qdq_comparing_begin(of, &c, err);
    if (st == QDQ_OK)
        st = qdq_comparing_add(c, b, 0, 0, err);
    if (st == QDQ_OK)
        st = qdq_comparing_get(c, out, err);
    qdq_comparing_free(c);
    return st;
}

qdq_status qdq_compare(qdq_engine *e, const qdq_model *a, const qdq_model *b, qdq_data *d,
                       const qdq_compare_opts *opts, qdq_compare_result **out, qdq_error *err)
{
    return qdq_compare_keeping(&(qdq_comparison){e, a, d, opts, NULL}, b, out, err);
}
