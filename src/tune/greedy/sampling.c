/* sampling.c - samples of schemes, each beside its group without Q/DQ: many groups and schemes in
 * one model where the engine times layers; else a group and one scheme at a time. What an engine
 * does not survive is divided until the one to blame is alone. */
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/json.h"
#include "tune/candidate/tune_plans.h"
#include "tune/candidate/tune_profile.h"
#include "tune/greedy/greedy.h"
#include "tune/isolate/part_times.h"
#include "tune/problem/tune_cache_read.h"
#include "tune/space/space_partial.h"
#include "tune/state/tune_budget.h"
#include "tune/state/tune_refused.h"
#include "tune/state/tune_values.h"
#include "tune/trial/tune_engines.h"

/* The noise of a kernel's time from session to session, as a share of it: three samples may agree
 * by chance. */
static const double least_noise = 0.01;

/* One sampling round: samples of schemes, taken together. */
typedef struct sampling_round {
    qdq_tune_state *t;
    qdq_tune_kinds *kinds;
    const qdq_tune_look *look;
    qdq_worker_client *worker_client;
    /* the model that was written last */
    qdq_parts *parts;
    qdq_arena scratch;
    qdq_error *err;
} sampling_round;

static qdq_status record_scheme_failure(const sampling_round *s, const qdq_tune_entry *e,
                                        const qdq_remote_outcome *outcome)
{
    const bool died = outcome->end != QDQ_REMOTE_REFUSED;

    s->t->run.isolated_died += died;
    s->t->run.isolated_tried += died && e->scheme->samples.n == 0;
    e->scheme->failed = qdq_arena_printf(&s->t->arena, "%s: %.300s",
                                         qdq_remote_end_name(outcome->end), outcome->text);
    return qdq_allocated(e->scheme->failed != NULL, s->err);
}

/* --- samples in the store: by content, so that other models have them, too -------------------- */

/* Whole times and times of layers have nothing to do with each other, nor have layers that were
 * attributed in another way. */
static const char *key_of(const sampling_round *s, const qdq_tune_entry *e)
{
    return qdq_arena_printf(&s->t->arena, "apart, %s, %s %u, %s: %s",
                            s->kinds->by_layers ? QDQ_PARTS_ATTRIBUTION : "whole", s->look->label,
                            s->look->amount, qdq_scheme_kind_names[e->scheme->what->kind],
                            e->kind->name);
}

static qdq_status sum_up(const sampling_round *s, qdq_tune_scheme *x)
{
    const double n = (double)x->samples.n;
    double *saved = qdq_arena_array(&s->t->arena, x->samples.n + 1, sizeof *saved);

    QDQ_NEED(saved != NULL, s->err);
    x->none_us = x->boundary_us = 0;
    for (size_t i = 0; i < x->samples.n; i++) {
        const qdq_tune_isolated *a = &x->samples.at[i];
        saved[i] = a->none_us - (a->scheme_us - a->boundary_us);
        x->none_us += a->none_us / n;
        x->boundary_us += a->boundary_us / n;
    }
    qdq_saving_of(saved, x->samples.n, least_noise * x->none_us, &x->saved);
    return QDQ_OK;
}

_Static_assert(sizeof(qdq_tune_isolated) == 3 * sizeof(double), "a sample is three numbers");

/* For the scheme, and for autotune_cache.json; they are in the arena. */
static qdq_status note_samples(const sampling_round *s, const qdq_tune_entry *e, const char *key,
                               const qdq_tune_isolated *a, size_t n)
{
    const qdq_cached_samples known = {.key = key, .us = &a->none_us, .n = 3 * n};
    qdq_tune_kind *k = e->kind;

    QDQ_NEED(QDQ_PUSH(&s->t->arena, &s->kinds->samples, known), s->err);
    for (size_t i = 0; i < n; i++)
        QDQ_NEED(QDQ_PUSH(&s->t->arena, &e->scheme->samples, a[i]), s->err);
    QDQ_TRY(sum_up(s, e->scheme));
    if (e->scheme->saved.mean_us > (k->best != 0 ? k->scheme[k->best].saved.mean_us : 0))
        k->best = (size_t)(e->scheme - k->scheme);
    return QDQ_OK;
}

static bool read_sample(const json_t *one, qdq_tune_isolated *out)
{
    *out = (qdq_tune_isolated){json_number_value(json_array_get(one, 0)),
                               json_number_value(json_array_get(one, 1)),
                               json_number_value(json_array_get(one, 2))};
    return out->none_us > 0 && out->scheme_us > 0 && out->boundary_us >= 0;
}

static qdq_status recall_samples(sampling_round *s, const qdq_tune_entry *e, bool *known)
{
    const char *key = key_of(s, e);
    qdq_tune_isolated *found;
    size_t i, n = 0;
    json_t *list, *one;

    QDQ_NEED(key != NULL, s->err);
    QDQ_TRY(qdq_tune_recall_content(s->t, key, &list, s->err));
    found = qdq_arena_array(&s->t->arena, json_array_size(list) + 1, sizeof *found);
    json_array_foreach(list, i, one)
    {
        n += found != NULL && read_sample(one, &found[n]);
    }
    json_decref(list);
    QDQ_NEED(found != NULL, s->err);
    *known = n > 0;
    return *known ? note_samples(s, e, key, found, n) : QDQ_OK;
}

/* Stored at once: then they count in a run that is cut off right after. */
static qdq_status take_samples(sampling_round *s, const qdq_tune_entry *e,
                               const qdq_tune_isolated *a, size_t n)
{
    const char *key = key_of(s, e);
    const qdq_tune_isolated *kept = qdq_arena_copy(&s->t->arena, a, n, sizeof *a);

    s->t->run.isolated_tried += e->scheme->samples.n == 0;
    QDQ_NEED(key != NULL && kept != NULL, s->err);
    QDQ_TRY(note_samples(s, e, key, kept, n));
    return qdq_tune_remember_samples(s->t, &s->kinds->samples.at[s->kinds->samples.n - 1], s->err);
}

/* --- groups with schemes as parts of a model -------------------------------------------------- */

/* With all its neighbours in 8 bits, as they will be where it matters: some operators have Q/DQ
 * only beside others that do. What is not the group's is left out of its model. The first scheme is
 * without Q/DQ. */
static qdq_status plan_scheme(sampling_round *s, const qdq_tune_entry *e)
{
    const qdq_tune_state *t = s->t;
    qdq_assign a;

    if (e->scheme->plan != NULL || e->scheme == e->kind->scheme)
        return QDQ_OK;
    QDQ_NEED(qdq_assign_new(&a, qdq_space_scheme_bits(t->task.space), &s->t->arena), s->err);
    for (size_t i = 0; i < t->task.space->n_groups; i++)
        qdq_assign_set(
            &a, i, t->parts.problem.allowed == NULL || qdq_assign_get(t->parts.problem.allowed, i));
    qdq_tune_apply_scheme(t, e->kind, (size_t)(e->scheme - e->kind->scheme), e->kind->at[0], &a);
    return qdq_tune_plan_of(s->t, &a, &e->scheme->plan, s->err);
}

static qdq_status add_part(sampling_round *s, qdq_tune_entry e)
{
    QDQ_TRY(plan_scheme(s, &e));
    return qdq_parts_join(s->parts, e.kind->group, e.kind->model,
                          e.scheme->plan != NULL ? e.scheme->plan : s->t->task.nothing,
                          qdq_candidates_cache(s->t->tools.files), s->err);
}

/* "group_3_scheme_1_2-group_5_scheme_2.onnx": what is measured together; scheme 0 is without Q/DQ.
 * NULL: no memory. */
static const char *isolated_name(sampling_round *s, const qdq_tune_entry *e, size_t n)
{
    enum { NAME_MAX_BYTES = 90 }; /* logs are named alike */
    char text[NAME_MAX_BYTES + 60] = "";
    size_t i = 0;

    for (; i < n && strlen(text) < NAME_MAX_BYTES; i++) {
        const size_t number = (size_t)(e[i].scheme - e[i].kind->scheme);
        if (i > 0 && e[i].kind == e[i - 1].kind)
            qdq_text_add(text, sizeof text, "_%zu", number);
        else
            qdq_text_add(text, sizeof text, "%sgroup_%u_scheme_%zu", i > 0 ? "-" : "",
                         e[i].kind->group, number);
    }
    if (i < n)
        return qdq_arena_printf(&s->t->arena, "%s-and_%zu_more.onnx", text, n - i);
    return qdq_arena_printf(&s->t->arena, "%s.onnx", text);
}

/* Does the part of entry i come behind one of its group without Q/DQ? One that is without, too, is
 * alone. */
static bool begins_kind(const qdq_tune_entry *e, size_t i)
{
    return e[i].scheme != e[i].kind->scheme && (i == 0 || e[i].kind != e[i - 1].kind);
}

/* One model of all parts, for the usual shapes: that is what is timed. Into the folder of
 * candidates. Entries of one kind stand beside each other. */
static qdq_status write_bench(sampling_round *s, const qdq_tune_entry *e, size_t n,
                              const char **path)
{
    const char *name = isolated_name(s, e, n);

    *path = qdq_arena_printf(&s->t->arena, "%s/%s", qdq_tempdir_path(s->t->tools.work),
                             name != NULL ? name : "");
    QDQ_NEED(name != NULL && *path != NULL, s->err);
    qdq_parts_free(s->parts);
    QDQ_TRY(qdq_parts_new(s->t->parts.fusions, &s->parts, s->err));
    for (size_t i = 0; i < n; i++) {
        if (s->kinds->by_layers && begins_kind(e, i))
            QDQ_TRY(add_part(s, (qdq_tune_entry){e[i].kind, e[i].kind->scheme}));
        QDQ_TRY(add_part(s, e[i]));
    }
    QDQ_TRY(qdq_model_set_shapes(s->parts->model, s->parts->shape.at, s->parts->shape.n, s->err));
    return qdq_candidate_write_part(s->t->tools.files, s->parts->model, name, s->err);
}

/* --- by the layers of an engine: many groups and schemes in one model ------------------------- */

/* Of all parts of the model that was written last. */
static qdq_status time_parts(sampling_round *s, const char *path, qdq_group_time *out,
                             qdq_remote_outcome *outcome)
{
    enum { RUNS = 8, PAIRS = 4 };
    qdq_tune_layers layers = {0};
    double a = 0, b = 0, us = 0;
    int handle = -1;

    s->kinds->builds += 2;
    qdq_status st = qdq_tune_ask_layers(s->t, s->worker_client, path, RUNS * s->look->amount,
                                        &layers, outcome, s->err);
    if (st == QDQ_OK && outcome->end == QDQ_REMOTE_FINE)
        st = qdq_worker_client_build(s->worker_client, path, &handle, outcome, s->err);
    for (unsigned i = 0; i < PAIRS && st == QDQ_OK && outcome->end == QDQ_REMOTE_FINE; i++) {
        st = qdq_worker_client_pair(s->worker_client, handle, handle, false, i, &a, &b, outcome,
                                    s->err);
        us += (a + b) / 2 / PAIRS * 1e-3;
    }
    if (st == QDQ_OK && outcome->end == QDQ_REMOTE_FINE)
        st = qdq_parts_time(s->parts, layers.at, layers.n, us, out, s->err);
    qdq_free(layers.at);
    return st;
}

/* What the group takes in the whole model; NAN where no profile tells it. */
static qdq_group_time time_in_whole(const sampling_round *s, uint32_t group,
                                    const qdq_tune_times *times)
{
    qdq_group_time whole = {.own = NAN};

    if (times != NULL && times->is_known)
        whole = qdq_group_time_of(s->t->parts.fusions, group, times);
    if (!(whole.rows > 0))
        whole.rows = NAN;
    return whole;
}

/* A part with other kernels than the whole model has says nothing of it: then the whole model's own
 * times count, where there are any. Where the scheme changes what is fused with neighbours, these
 * count, too. NULL: *out is a sample; else the reason why not. */
static const char *compare_parts(const sampling_round *s, const qdq_tune_entry *e,
                                 const qdq_group_time *none, const qdq_group_time *with,
                                 qdq_tune_isolated *out)
{
    const qdq_group_time plain = time_in_whole(s, e->kind->group, s->t->run.base->times),
                         full = time_in_whole(s, e->kind->group, s->t->parts.full_times);
    const bool is_full = e->scheme->what->kind == QDQ_SCHEME_FULL,
               is_fused = qdq_group_time_differs(none, with);
    const double border_us = fmax(0, with->border - none->border);

    if (!(none->own + none->halo > 0) || !(with->own + with->halo > 0))
        return "the engine reports no times of layers";
    *out = (qdq_tune_isolated){.none_us = none->own + none->inside + (is_fused ? none->halo : 0),
                               .scheme_us = with->own + with->inside + (is_fused ? with->halo : 0) +
                                            border_us,
                               .boundary_us = border_us};
    if (qdq_group_time_differs(none, &plain) || (is_full && qdq_group_time_differs(with, &full))) {
        if (!is_full || !(plain.own > 0) || !(full.own > 0))
            return "in isolation, other kernels compute it than in the whole model";
        out->none_us = plain.own;
        out->scheme_us = full.own + border_us;
    }
    return out->none_us > 0 && out->scheme_us > 0 ? NULL : "no time was seen to pass in it";
}

/* Samples of all entries, by the layers of one model; or the outcome of the engine with it, and
 * none. */
static qdq_status sample_by_layers(sampling_round *s, const qdq_tune_entry *e, size_t n,
                                   qdq_remote_outcome *outcome)
{
    const char *path;

    QDQ_TRY(write_bench(s, e, n, &path));
    qdq_group_time *time = qdq_arena_array(&s->scratch, s->parts->n + 1, sizeof *time);
    const qdq_group_time *none = time;
    QDQ_NEED(time != NULL, s->err);
    QDQ_TRY(time_parts(s, path, time, outcome));
    for (size_t i = 0; i < n && outcome->end == QDQ_REMOTE_FINE; i++) {
        qdq_tune_isolated sample;
        none = begins_kind(e, i) ? time++ : none;
        e[i].scheme->failed = compare_parts(s, &e[i], none, time++, &sample);
        if (e[i].scheme->failed == NULL)
            QDQ_TRY(take_samples(s, &e[i], &sample, 1));
    }
    return QDQ_OK;
}

/* --- by whole times --------------------------------------------------------------------------- */

/* A model of the group alone, open in the worker client. */
static qdq_status open_alone(sampling_round *s, qdq_tune_entry e, int *handle,
                             qdq_remote_outcome *outcome)
{
    const char *path;

    QDQ_TRY(write_bench(s, &e, 1, &path));
    s->kinds->builds++;
    return qdq_worker_client_build(s->worker_client, path, handle, outcome, s->err);
}

/* `none`: handle of the group without Q/DQ. */
static qdq_status measure_scheme(sampling_round *s, int none, const qdq_tune_entry *e)
{
    const unsigned n = s->look->amount;
    qdq_tune_isolated *sample = qdq_arena_array(&s->scratch, n + 1, sizeof *sample);
    qdq_remote_outcome outcome = {0};
    double none_ns, with_ns;
    int with = -1;

    QDQ_NEED(sample != NULL, s->err);
    QDQ_TRY(open_alone(s, *e, &with, &outcome));
    for (unsigned i = 0; i < n && outcome.end == QDQ_REMOTE_FINE; i++) {
        QDQ_TRY(qdq_worker_client_pair(s->worker_client, none, with, i % 2 == 1, i, &none_ns,
                                       &with_ns, &outcome, s->err));
        sample[i] = (qdq_tune_isolated){none_ns * 1e-3, with_ns * 1e-3, 0};
    }
    if (with >= 0)
        qdq_worker_client_drop(s->worker_client, with);
    return outcome.end == QDQ_REMOTE_FINE ? take_samples(s, e, sample, n)
                                          : record_scheme_failure(s, e, &outcome);
}

/* Schemes of one kind. Crashes of the engine are reported here: *outcome stays fine. */
static qdq_status sample_by_latency(sampling_round *s, const qdq_tune_entry *e, size_t n,
                                    qdq_remote_outcome *outcome)
{
    qdq_remote_outcome of_none = {0};
    int none = -1;

    (void)outcome;
    QDQ_TRY(open_alone(s, (qdq_tune_entry){e->kind, e->kind->scheme}, &none, &of_none));
    for (size_t i = 0; i < n; i++) {
        QDQ_TRY(qdq_job_poll(s->t->job, s->err));
        if (of_none.end != QDQ_REMOTE_FINE)
            QDQ_TRY(record_scheme_failure(s, &e[i], &of_none));
        else if (qdq_tune_time_is_up(s->t))
            e[i].scheme->failed = "no time was left for it";
        else
            QDQ_TRY(measure_scheme(s, none, &e[i]));
    }
    return QDQ_OK;
}

/* --- all of a sampling round ------------------------------------------------------------------ */

/* In a process of its own, which goes with its sessions. */
static qdq_status sample_in_process(sampling_round *s, const qdq_tune_entry *e, size_t n,
                                    qdq_remote_outcome *outcome)
{
    QDQ_TRY(qdq_tune_open_worker_client(s->t, true, &s->worker_client, s->err));
    qdq_status st = (s->kinds->by_layers ? sample_by_layers : sample_by_latency)(s, e, n, outcome);
    if (st == QDQ_OK)
        st = qdq_tune_note_refused(s->t, s->worker_client, s->err);
    qdq_worker_client_close(s->worker_client);
    return st;
}

/* Where the kinds of e part, near the middle; within one kind, its schemes. */
static size_t middle_of(const qdq_tune_entry *e, size_t n)
{
    size_t middle = n / 2;

    while (middle > 0 && e[middle].kind == e[middle - 1].kind)
        middle--;
    return middle > 0 ? middle : n / 2;
}

/* By whole times kind by kind; else all at once. What the engine does not survive is divided. What
 * is known is written down after each. */
static qdq_status sample_or_divide(sampling_round *s, const qdq_tune_entry *e, size_t n)
{
    const bool fits = n > 0 && (s->kinds->by_layers || e[0].kind == e[n - 1].kind);
    const bool late = qdq_tune_time_is_up(s->t);
    qdq_remote_outcome outcome = {0};

    QDQ_TRY(qdq_job_poll(s->t->job, s->err));
    for (size_t i = 0; i < n && late; i++)
        e[i].scheme->failed = "no time was left for it";
    if (n == 0 || late)
        return QDQ_OK;
    if (fits)
        QDQ_TRY(sample_in_process(s, e, n, &outcome));
    if (n == 1 && outcome.end != QDQ_REMOTE_FINE)
        QDQ_TRY(record_scheme_failure(s, e, &outcome));
    if (n == 1 || (fits && outcome.end == QDQ_REMOTE_FINE))
        return qdq_tune_write_cache(s->t, &s->t->run.base->assign, false, s->err);
    const size_t middle = middle_of(e, n);
    QDQ_TRY(sample_or_divide(s, e, middle));
    return sample_or_divide(s, e + middle, n - middle);
}

/* What is known is not measured again. */
static qdq_status sample_unknown(sampling_round *s, const qdq_tune_entry *e, size_t n)
{
    qdq_tune_entry *left = qdq_arena_array(&s->scratch, n + 1, sizeof *left);
    size_t n_left = 0;

    QDQ_NEED(left != NULL, s->err);
    for (size_t i = 0; i < n; i++) {
        bool known = e[i].scheme->failed != NULL;
        if (!known)
            QDQ_TRY(recall_samples(s, &e[i], &known));
        if (!known)
            left[n_left++] = e[i];
    }
    return sample_or_divide(s, left, n_left);
}

qdq_status qdq_tune_sample(qdq_tune_state *t, qdq_tune_kinds *k, const qdq_tune_entry *e, size_t n,
                           const qdq_tune_look *look, qdq_error *err)
{
    sampling_round s = {.t = t, .kinds = k, .look = look, .scratch = QDQ_ARENA_INIT, .err = err};
    qdq_status st = sample_unknown(&s, e, n);

    qdq_parts_free(s.parts);
    qdq_arena_free(&s.scratch);
    return st;
}
