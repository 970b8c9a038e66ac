/* sampling.c - samples of schemes, each beside its group without Q/DQ: many groups and schemes in
 * one model where the engine times layers; else a group and one scheme at a time. What an engine
 * does not survive is divided until the one to blame is alone. */
#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/json.h"
#include "tune/candidate/tune_plans.h"
#include "tune/greedy/greedy.h"
#include "tune/isolate/bench_model.h"
#include "tune/isolate/group_plan.h"
#include "tune/isolate/score.h"
#include "tune/problem/tune_cache_read.h"
#include "tune/space/space_partial.h"
#include "tune/state/tune_budget.h"
#include "tune/state/tune_refused.h"
#include "tune/state/tune_values.h"
#include "tune/trial/tune_engines.h"

/* One sampling round: samples of schemes, taken together. */
typedef struct sampling_round {
    qdq_tune_state *t;
    qdq_tune_kinds *kinds;
    unsigned amount;
    const char *label;
    qdq_worker_client *worker_client;
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

static void leave_out(const qdq_tune_entry *e, size_t n)
{
    for (size_t i = 0; i < n; i++)
        e[i].scheme->failed = "no time was left for it";
}

/* --- samples in the store: by content, so that other models have them, too -------------------- */

/* Whole times and times of layers have nothing to do with each other. */
static const char *key_of(const sampling_round *s, const qdq_tune_entry *e)
{
    return qdq_arena_printf(&s->t->arena, "apart, %s, %s %u, %s: %s",
                            s->kinds->by_layers ? "layers" : "whole", s->label, s->amount,
                            qdq_scheme_kind_names[e->scheme->what->kind], e->kind->name);
}

_Static_assert(sizeof(qdq_tune_isolated) == 3 * sizeof(double), "a sample is three numbers");

/* For the scheme, and for autotune_cache.json. */
static qdq_status note_samples(const sampling_round *s, const qdq_tune_entry *e, const char *key,
                               const qdq_tune_isolated *a, size_t n)
{
    double *us = qdq_arena_array(&s->t->arena, 3 * n + 1, sizeof *us);
    const qdq_cached_samples known = {.key = key, .us = us, .n = 3 * n};

    QDQ_NEED(us != NULL && QDQ_PUSH(&s->t->arena, &s->kinds->samples, known), s->err);
    memcpy(us, a, n * sizeof *a);
    for (size_t i = 0; i < n; i++)
        QDQ_NEED(QDQ_PUSH(&s->t->arena, &e->scheme->samples, a[i]), s->err);
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
    QDQ_VEC(qdq_tune_isolated) found = {0};
    qdq_status st = QDQ_OK;
    qdq_tune_isolated sample;
    json_t *list, *one;
    size_t i;

    QDQ_NEED(key != NULL, s->err);
    QDQ_TRY(qdq_tune_recall_content(s->t, key, &list, s->err));
    json_array_foreach(list, i, one)
    {
        if (st == QDQ_OK && read_sample(one, &sample) && !QDQ_PUSH(&s->t->arena, &found, sample))
            st = qdq_nomem(s->err);
    }
    json_decref(list);
    *known = found.n > 0;
    return st == QDQ_OK && *known ? note_samples(s, e, key, found.at, found.n) : st;
}

/* Stored at once: then they count in a run that is cut off right after. */
static qdq_status take_samples(sampling_round *s, const qdq_tune_entry *e,
                               const qdq_tune_isolated *a, size_t n)
{
    const char *key = key_of(s, e);

    s->t->run.isolated_tried += e->scheme->samples.n == 0;
    QDQ_NEED(key != NULL, s->err);
    QDQ_TRY(note_samples(s, e, key, a, n));
    return qdq_tune_remember_samples(s->t, &s->kinds->samples.at[s->kinds->samples.n - 1], s->err);
}

/* --- groups with schemes as parts of a model -------------------------------------------------- */

/* The model that is measured. */
typedef struct bench {
    QDQ_VEC(qdq_part) part;
    qdq_parts *parts;
    /* of its file */
    const char *path;
    qdq_arena scratch;
} bench;

static void free_bench(bench *b)
{
    for (size_t i = 0; i < b->part.n; i++)
        qdq_model_free((qdq_model *)(uintptr_t)b->part.at[i].model);
    qdq_parts_free(b->parts);
    qdq_arena_free(&b->scratch);
}

/* With all its neighbours in 8 bits, as they will be where it matters: some operators have Q/DQ
 * only beside others that do. What is not the group's is left out of its model. */
static qdq_status plan_scheme(sampling_round *s, const qdq_tune_entry *e)
{
    const qdq_tune_state *t = s->t;
    qdq_assign a;

    if (e->scheme->plan != NULL)
        return QDQ_OK;
    QDQ_NEED(qdq_assign_new(&a, qdq_space_scheme_bits(t->task.space), &s->t->arena), s->err);
    for (size_t i = 0; i < t->task.space->n_groups; i++)
        qdq_assign_set(
            &a, i, t->parts.problem.allowed == NULL || qdq_assign_get(t->parts.problem.allowed, i));
    qdq_tune_apply_scheme(t, e->kind, (size_t)(e->scheme - e->kind->scheme), e->kind->at[0], &a);
    return qdq_tune_plan_of(s->t, &a, &e->scheme->plan, s->err);
}

/* The first scheme is without Q/DQ. */
static qdq_status add_part(sampling_round *s, bench *b, qdq_tune_entry e)
{
    const bool is_none = e.scheme == e.kind->scheme;
    qdq_model *m = NULL;

    if (!is_none)
        QDQ_TRY(plan_scheme(s, &e));
    QDQ_TRY(qdq_group_plan_apply(s->t->parts.fusions, e.kind->model,
                                 is_none ? s->t->task.nothing : e.scheme->plan,
                                 qdq_candidates_cache(s->t->tools.files), &m, s->err));
    if (QDQ_PUSH(&b->scratch, &b->part,
                 ((qdq_part){.group = e.kind->group, .in = e.kind->model, .model = m})))
        return QDQ_OK;
    qdq_model_free(m);
    return qdq_nomem(s->err);
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

/* One model of all parts, for the usual shapes: that is what is timed. Into the folder of
 * candidates. */
static qdq_status write_bench(sampling_round *s, bench *b, const qdq_tune_entry *e, size_t n)
{
    const char *name = isolated_name(s, e, n);

    b->path = qdq_arena_printf(&s->t->arena, "%s/%s", qdq_tempdir_path(s->t->tools.work),
                               name != NULL ? name : "");
    QDQ_NEED(name != NULL && b->path != NULL, s->err);
    QDQ_TRY(qdq_parts_make(s->t->parts.fusions, b->part.at, b->part.n, &b->parts, s->err));
    QDQ_TRY(qdq_model_set_shapes(b->parts->model, b->parts->shape, b->parts->n_shapes, s->err));
    return qdq_candidate_write_part(s->t->tools.files, b->parts->model, name, s->err);
}

/* --- by the layers of an engine: many groups and schemes in one model ------------------------- */

enum { RUNS = 8, PROFILE_PAIRS = 4 };

typedef struct layered {
    bench b;
    /* by entry: its part of the model, */
    uint32_t *part_of;
    /* and that of its kind without Q/DQ */
    uint32_t *none_of;
    /* of the model */
    qdq_layer *layer;
    size_t n_layers;
    /* of a run of it without a profile */
    double us;
    /* by part: its score; whether its kernels are those of the whole model without Q/DQ and with
     * all of it */
    qdq_part_score *of, *plain, *full;
} layered;

static qdq_status time_layers(sampling_round *s, layered *x, qdq_remote_outcome *outcome)
{
    int handle = -1;
    double a, b, sum = 0;

    s->kinds->builds += 2;
    QDQ_TRY(qdq_worker_client_groups(s->worker_client, x->b.path, RUNS * s->amount, &x->layer,
                                     &x->n_layers, outcome, s->err));
    if (outcome->end == QDQ_REMOTE_FINE)
        QDQ_TRY(qdq_worker_client_build(s->worker_client, x->b.path, &handle, outcome, s->err));
    for (unsigned i = 0; i < PROFILE_PAIRS && outcome->end == QDQ_REMOTE_FINE; i++) {
        QDQ_TRY(qdq_worker_client_pair(s->worker_client, handle, handle, false, i, &a, &b, outcome,
                                       s->err));
        sum += (a + b) / 2;
    }
    x->us = sum / PROFILE_PAIRS * 1e-3;
    return QDQ_OK;
}

/* What the group's kernels take in the whole model, without Q/DQ and with all. */
static bool in_whole_model(const qdq_tune_state *t, const qdq_tune_kind *k, qdq_tune_isolated *out)
{
    const qdq_fusion *f = &t->parts.fusions->at[k->group];

    *out = (qdq_tune_isolated){qdq_tune_kernels_us(t->run.base->times, f->node, f->n),
                               qdq_tune_kernels_us(t->parts.full_times, f->node, f->n), 0};
    return out->none_us > 0 && out->scheme_us > 0;
}

/* A part with other kernels than the whole model has says nothing of it: then the whole model's own
 * times count, where there are any. */
static const char *read_scores(const sampling_round *s, const qdq_tune_entry *e, const layered *x,
                               uint32_t with, uint32_t without, qdq_tune_isolated *out)
{
    const qdq_part_score *a = &x->of[without], *b = &x->of[with];
    const bool is_full = e->scheme->what->kind == QDQ_SCHEME_FULL;
    /* in one of them a neighbour is in the same layer */
    const bool differs = a->shared != b->shared;

    if (!a->known || !b->known)
        return "the engine reports no times of layers";
    if (x->plain[without].context_mismatch || (is_full && x->full[with].context_mismatch)) {
        if (!is_full || !in_whole_model(s->t, e->kind, out))
            return "in isolation, other kernels compute it than in the whole model";
        out->scheme_us += b->boundary_qdq_us;
        out->boundary_us = b->boundary_qdq_us;
        return NULL;
    }
    *out =
        (qdq_tune_isolated){qdq_part_cold_us(a) + (differs ? a->halo_us : 0),
                            qdq_part_cold_us(b) + (differs ? b->halo_us : 0), b->boundary_qdq_us};
    return out->none_us > 0 && out->scheme_us > 0 ? NULL : "no time was seen to pass in it";
}

static qdq_status score_layers(sampling_round *s, layered *x)
{
    const qdq_tune_parts *whole = &s->t->parts;
    const size_t size = (x->b.parts->n + 1) * sizeof *x->of;

    x->of = qdq_arena_alloc(&x->b.scratch, size);
    x->plain = qdq_arena_alloc(&x->b.scratch, size);
    x->full = qdq_arena_alloc(&x->b.scratch, size);
    QDQ_NEED(x->of != NULL && x->plain != NULL && x->full != NULL, s->err);
    memset(x->of, 0, size);
    QDQ_TRY(qdq_parts_score(x->b.parts, x->layer, x->n_layers, x->us, x->of, s->err));
    memcpy(x->plain, x->of, size);
    memcpy(x->full, x->of, size);
    if (whole->layers.n > 0)
        QDQ_TRY(qdq_parts_compare(whole->fusions, x->b.parts, whole->layers.at, whole->layers.n,
                                  x->plain, s->err));
    return whole->full_layers.n > 0
               ? qdq_parts_compare(whole->fusions, x->b.parts, whole->full_layers.at,
                                   whole->full_layers.n, x->full, s->err)
               : QDQ_OK;
}

static qdq_status take_scores(sampling_round *s, layered *x, const qdq_tune_entry *e, size_t n)
{
    QDQ_TRY(score_layers(s, x));
    for (size_t i = 0; i < n; i++) {
        qdq_tune_isolated sample;
        e[i].scheme->failed = read_scores(s, &e[i], x, x->part_of[i], x->none_of[i], &sample);
        if (e[i].scheme->failed == NULL)
            QDQ_TRY(take_samples(s, &e[i], &sample, 1));
    }
    return QDQ_OK;
}

/* Entries of one kind stand beside each other; each kind begins without Q/DQ. */
static qdq_status fill_bench(sampling_round *s, layered *x, const qdq_tune_entry *e, size_t n)
{
    x->part_of = qdq_arena_array(&x->b.scratch, n + 1, sizeof *x->part_of);
    x->none_of = qdq_arena_array(&x->b.scratch, n + 1, sizeof *x->none_of);
    QDQ_NEED(x->part_of != NULL && x->none_of != NULL, s->err);
    for (size_t i = 0; i < n; i++) {
        const bool is_first = i == 0 || e[i].kind != e[i - 1].kind;
        x->none_of[i] = is_first ? (uint32_t)x->b.part.n : x->none_of[i - 1];
        if (is_first)
            QDQ_TRY(add_part(s, &x->b, (qdq_tune_entry){e[i].kind, e[i].kind->scheme}));
        x->part_of[i] = (uint32_t)x->b.part.n;
        QDQ_TRY(add_part(s, &x->b, e[i]));
    }
    return write_bench(s, &x->b, e, n);
}

/* Samples of all entries, by the layers of one model; or the outcome of the engine with it, and
 * none. */
static qdq_status sample_by_layers(sampling_round *s, const qdq_tune_entry *e, size_t n,
                                   qdq_remote_outcome *outcome)
{
    layered x = {.n_layers = 0};
    qdq_status st = fill_bench(s, &x, e, n);

    if (st == QDQ_OK)
        st = time_layers(s, &x, outcome);
    if (st == QDQ_OK && outcome->end == QDQ_REMOTE_FINE)
        st = take_scores(s, &x, e, n);
    qdq_free(x.layer);
    free_bench(&x.b);
    return st;
}

/* --- by whole times --------------------------------------------------------------------------- */

/* A model of the group alone, open in the worker client. */
static qdq_status open_alone(sampling_round *s, qdq_tune_entry e, int *handle,
                             qdq_remote_outcome *outcome)
{
    bench b = {.path = NULL};
    qdq_status st = add_part(s, &b, e);

    if (st == QDQ_OK)
        st = write_bench(s, &b, &e, 1);
    free_bench(&b);
    QDQ_TRY(st);
    s->kinds->builds++;
    return qdq_worker_client_build(s->worker_client, b.path, handle, outcome, s->err);
}

/* `none`: handle of the group without Q/DQ. */
static qdq_status measure_scheme(sampling_round *s, int none, const qdq_tune_entry *e)
{
    qdq_tune_isolated *sample = qdq_arena_array(&s->t->arena, s->amount + 1, sizeof *sample);
    qdq_remote_outcome outcome = {0};
    double none_ns, with_ns;
    int with = -1;

    QDQ_NEED(sample != NULL, s->err);
    QDQ_TRY(open_alone(s, *e, &with, &outcome));
    for (unsigned i = 0; i < s->amount && outcome.end == QDQ_REMOTE_FINE; i++) {
        QDQ_TRY(qdq_worker_client_pair(s->worker_client, none, with, i % 2 == 1, i, &none_ns,
                                       &with_ns, &outcome, s->err));
        sample[i] = (qdq_tune_isolated){none_ns * 1e-3, with_ns * 1e-3, 0};
    }
    if (with >= 0)
        qdq_worker_client_drop(s->worker_client, with);
    return outcome.end == QDQ_REMOTE_FINE ? take_samples(s, e, sample, s->amount)
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
            leave_out(&e[i], 1);
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
    qdq_remote_outcome outcome = {0};

    QDQ_TRY(qdq_job_poll(s->t->job, s->err));
    if (n == 0)
        return QDQ_OK;
    if (qdq_tune_time_is_up(s->t)) {
        leave_out(e, n);
        return QDQ_OK;
    }
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

qdq_status qdq_tune_sample(qdq_tune_state *t, qdq_tune_kinds *k, const qdq_tune_entry *e, size_t n,
                           unsigned amount, const char *label, qdq_error *err)
{
    sampling_round s = {.t = t, .kinds = k, .amount = amount, .label = label, .err = err};
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_tune_entry *left = qdq_arena_array(&scratch, n + 1, sizeof *left);
    size_t n_left = 0;
    qdq_status st = qdq_allocated(left != NULL, err);

    for (size_t i = 0; i < n && st == QDQ_OK; i++) {
        bool known = e[i].scheme->failed != NULL;
        if (!known)
            st = recall_samples(&s, &e[i], &known);
        if (!known)
            left[n_left++] = e[i];
    }
    if (st == QDQ_OK)
        st = sample_or_divide(&s, left, n_left);
    qdq_arena_free(&scratch);
    return st;
}
