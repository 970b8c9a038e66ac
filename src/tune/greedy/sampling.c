/* sampling.c - samples of schemes, each beside its group without Q/DQ: many groups and schemes in
 * one model where the engine times layers; else a group and one scheme at a time. What an engine
 * does not survive is divided until the one to blame is alone. */
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "base/json_write.h"
#include "target/target.h"
#include "tune/candidate/tune_plans.h"
#include "tune/greedy/greedy.h"
#include "tune/isolate/bench_model.h"
#include "tune/isolate/group_plan.h"
#include "tune/isolate/part_context.h"
#include "tune/space/space_partial.h"
#include "tune/state/tune_budget.h"
#include "tune/state/tune_refused.h"
#include "tune/state/tune_values.h"
#include "tune/trial/tune_engines.h"

/* One sitting: samples of schemes, taken together. */
typedef struct sitting {
    qdq_tune_state *t;
    qdq_tune_kinds *kinds;
    unsigned amount;
    const char *label;
    qdq_error *err;
} sitting;

static qdq_status blame(const sitting *s, const qdq_tune_entry *e, const qdq_remote_fate *fate)
{
    const bool died = fate->end != QDQ_REMOTE_REFUSED;

    s->t->run.apart_died += died;
    s->t->run.apart_tried += died && e->scheme->samples.n == 0;
    e->scheme->failed =
        qdq_arena_printf(&s->t->arena, "%s: %.300s", qdq_remote_end_name(fate->end), fate->text);
    return e->scheme->failed != NULL ? QDQ_OK : qdq_nomem(s->err);
}

static void leave_out(const qdq_tune_entry *e, size_t n)
{
    for (size_t i = 0; i < n; i++)
        e[i].scheme->failed = "no time was left for it";
}

/* --- samples in the store: by content, so that other models have them, too -------------------- */

/* Whole times and times of layers have nothing to do with each other. */
static const char *key_of(const sitting *s, const qdq_tune_entry *e)
{
    return qdq_arena_printf(&s->t->arena, "apart, %s, %s %u, %s: %s",
                            s->kinds->by_layers ? "layers" : "whole", s->label, s->amount,
                            qdq_scheme_kind_names[e->scheme->what->kind], e->kind->name);
}

/* For autotune_cache.json. */
static qdq_status note(const sitting *s, const char *key, const qdq_tune_apart *a, size_t n)
{
    qdq_cached_samples known = {.key = key, .n = 3 * n};
    double *us = qdq_arena_array(&s->t->arena, known.n + 1, sizeof *us);

    if (us == NULL)
        return qdq_nomem(s->err);
    for (size_t i = 0; i < n; i++) {
        us[3 * i] = a[i].none_us;
        us[3 * i + 1] = a[i].scheme_us;
        us[3 * i + 2] = a[i].border_us;
    }
    known.us = us;
    return QDQ_PUSH(&s->t->arena, &s->kinds->samples, known) ? QDQ_OK : qdq_nomem(s->err);
}

static json_t *write_samples(const qdq_tune_apart *a, size_t n)
{
    qdq_json_doc d = {0};
    qdq_json_out list = qdq_json_list(&d), one;

    for (size_t i = 0; i < n; i++) {
        one = qdq_json_put_list(list, NULL);
        qdq_json_put_real(one, NULL, a[i].none_us);
        qdq_json_put_real(one, NULL, a[i].scheme_us);
        qdq_json_put_real(one, NULL, a[i].border_us);
    }
    return qdq_json_take(&d);
}

static bool read_sample(const json_t *one, qdq_tune_apart *out)
{
    *out = (qdq_tune_apart){json_number_value(json_array_get(one, 0)),
                            json_number_value(json_array_get(one, 1)),
                            json_number_value(json_array_get(one, 2))};
    return out->none_us > 0 && out->scheme_us > 0 && out->border_us >= 0;
}

static qdq_status recall_samples(sitting *s, const qdq_tune_entry *e, bool *known)
{
    const char *key = key_of(s, e);
    qdq_status st = QDQ_OK;
    qdq_tune_apart sample;
    json_t *list, *one;
    size_t i;

    if (key == NULL)
        return qdq_nomem(s->err);
    QDQ_TRY(qdq_tune_recall_content(s->t, key, &list, s->err));
    const size_t before = e->scheme->samples.n;
    json_array_foreach(list, i, one)
    {
        if (st == QDQ_OK && read_sample(one, &sample) &&
            !QDQ_PUSH(&s->t->arena, &e->scheme->samples, sample))
            st = qdq_nomem(s->err);
    }
    *known = e->scheme->samples.n > before;
    json_decref(list);
    if (st == QDQ_OK && *known)
        st = note(s, key, &e->scheme->samples.at[before], e->scheme->samples.n - before);
    return st;
}

/* Stored first: then they count in a run that is cut off right after. */
static qdq_status take_samples(sitting *s, const qdq_tune_entry *e, const qdq_tune_apart *a,
                               size_t n)
{
    const char *key = key_of(s, e);

    s->t->run.apart_tried += e->scheme->samples.n == 0;
    if (key == NULL)
        return qdq_nomem(s->err);
    QDQ_TRY(qdq_tune_remember_content(s->t, key, write_samples(a, n), s->err));
    for (size_t i = 0; i < n; i++)
        if (!QDQ_PUSH(&s->t->arena, &e->scheme->samples, a[i]))
            return qdq_nomem(s->err);
    return note(s, key, a, n);
}

/* --- groups with schemes as parts of a model -------------------------------------------------- */

/* Parts of the model that is measured, and their models. */
typedef struct part_list {
    QDQ_VEC(qdq_part) part;
    QDQ_VEC(qdq_model *) model;
    qdq_arena scratch;
} part_list;

/* With all its neighbours in 8 bits, as they will be where it matters: some operators have Q/DQ
 * only beside others that do. What is not the group's is left out of its model. */
static qdq_status plan_scheme(sitting *s, const qdq_tune_kind *k, qdq_tune_scheme *scheme)
{
    const qdq_tune_state *t = s->t;
    const qdq_choices *c = &t->parts.choices[k->unit];
    qdq_assign a;

    if (scheme->plan != NULL)
        return QDQ_OK;
    if (!qdq_assign_new(&a, qdq_space_scheme_bits(t->task.space), &s->t->arena))
        return qdq_nomem(s->err);
    for (size_t i = 0; i < t->task.space->n_groups; i++)
        qdq_assign_set(
            &a, i, t->parts.problem.allowed == NULL || qdq_assign_get(t->parts.problem.allowed, i));
    for (size_t i = 0; i < c->n; i++) {
        const uint32_t group = c->choice[i].group[k->at[0]];
        if (group != QDQ_NO_GROUP)
            qdq_space_set_part(t->task.space, &a, group,
                               qdq_space_get_part(t->task.space, &scheme->what->bits, group));
    }
    return qdq_tune_plan_of(s->t, &a, &scheme->plan, s->err);
}

static qdq_status add_part(sitting *s, part_list *l, const qdq_tune_kind *k, const qdq_plan *plan)
{
    qdq_model *m = NULL;

    QDQ_TRY(qdq_group_plan_apply(s->t->parts.fusions, k->model, plan,
                                 qdq_candidates_cache(s->t->tools.files), &m, s->err));
    if (!QDQ_PUSH(&l->scratch, &l->model, m)) {
        qdq_model_free(m);
        return qdq_nomem(s->err);
    }
    return QDQ_PUSH(&l->scratch, &l->part,
                    ((qdq_part){.group = k->group, .in = k->model, .model = m}))
               ? QDQ_OK
               : qdq_nomem(s->err);
}

/* One model, for the usual shapes: that is what is timed. `st`: how filling the list ended, which
 * is over then. */
static qdq_status join_parts(sitting *s, part_list *l, qdq_status st, qdq_parts **out)
{
    if (st == QDQ_OK)
        st = qdq_parts_make(s->t->parts.fusions, l->part.at, l->part.n, out, s->err);
    if (st == QDQ_OK)
        st = qdq_model_set_shapes((*out)->model, (*out)->shape, (*out)->n_shapes, s->err);
    for (size_t i = 0; i < l->model.n; i++)
        qdq_model_free(l->model.at[i]);
    qdq_arena_free(&l->scratch);
    return st;
}

/* "group_3_scheme_1_2-group_5_scheme_2.onnx": what is measured together; scheme 0 is without Q/DQ.
 * NULL: no memory. */
static const char *apart_name(sitting *s, const qdq_tune_entry *e, size_t n)
{
    enum { NAME_MAX_BYTES = 90 }; /* logs are named alike */
    char text[NAME_MAX_BYTES + 60] = "";
    size_t used = 0, i = 0;

    for (; i < n && used < NAME_MAX_BYTES; i++) {
        const size_t number = (size_t)(e[i].scheme - e[i].kind->scheme);
        const bool same = i > 0 && e[i].kind == e[i - 1].kind;
        used += (size_t)(same ? snprintf(text + used, sizeof text - used, "_%zu", number)
                              : snprintf(text + used, sizeof text - used, "%sgroup_%u_scheme_%zu",
                                         i > 0 ? "-" : "", e[i].kind->group, number));
    }
    if (i < n)
        return qdq_arena_printf(&s->t->arena, "%s-and_%zu_more.onnx", text, n - i);
    return qdq_arena_printf(&s->t->arena, "%s.onnx", text);
}

/* Into the folder of candidates. */
static qdq_status write_parts(sitting *s, const qdq_parts *p, const char *name, const char **path)
{
    *path = qdq_arena_printf(&s->t->arena, "%s/%s", qdq_tempdir_path(s->t->tools.work), name);
    return *path != NULL ? qdq_candidate_write_part(s->t->tools.files, p->model, name, s->err)
                         : qdq_nomem(s->err);
}

/* --- by the layers of an engine: many groups and schemes in one model ------------------------- */

enum { RUNS = 8, PROFILE_PAIRS = 4 };

/* Layers of the model, and how long a run of it takes without a profile. */
typedef struct seen {
    qdq_group *layer;
    size_t n;
    double us;
} seen;

static qdq_status look(sitting *s, qdq_worker_client *lab, const char *path, seen *out,
                       qdq_remote_fate *fate)
{
    int handle = -1;
    double a, b, sum = 0;

    QDQ_TRY(
        qdq_worker_client_groups(lab, path, RUNS * s->amount, &out->layer, &out->n, fate, s->err));
    if (fate->end == QDQ_REMOTE_FINE)
        QDQ_TRY(qdq_worker_client_build(lab, path, &handle, fate, s->err));
    for (unsigned i = 0; i < PROFILE_PAIRS && fate->end == QDQ_REMOTE_FINE; i++) {
        QDQ_TRY(qdq_worker_client_pair(lab, handle, handle, false, i, &a, &b, fate, s->err));
        sum += (a + b) / 2;
    }
    out->us = sum / PROFILE_PAIRS * 1e-3;
    return QDQ_OK;
}

static qdq_status measure_parts(sitting *s, const qdq_parts *p, const char *name, seen *out,
                                qdq_remote_fate *fate)
{
    const char *path;
    qdq_worker_client *lab = NULL;

    if (name == NULL)
        return qdq_nomem(s->err);
    QDQ_TRY(write_parts(s, p, name, &path));
    QDQ_TRY(qdq_tune_open_lab(s->t, true, &lab, s->err));
    s->kinds->builds += 2;
    qdq_status st = look(s, lab, path, out, fate);
    if (st == QDQ_OK)
        st = qdq_tune_note_refused(s->t, lab, s->err);
    qdq_worker_client_close(lab);
    return st;
}

/* Scores of all parts, and of those without Q/DQ and with all of it, whether their kernels are
 * those of the whole model. */
typedef struct scores {
    qdq_part_score *of, *plain, *full;
} scores;

/* What the group's kernels take in the whole model, without Q/DQ and with all. */
static bool in_whole_model(const qdq_tune_state *t, const qdq_tune_kind *k, qdq_tune_apart *out)
{
    const qdq_fusion *f = &t->parts.fusions->at[k->group];
    const qdq_tune_times *plain = t->run.base->times, *full = t->parts.full_times;

    out->none_us = out->scheme_us = out->border_us = 0;
    if (plain == NULL || !plain->is_known || full == NULL || !full->is_known)
        return false;
    for (uint32_t i = 0; i < f->n; i++) {
        out->none_us += plain->own[f->node[i]->id];
        out->scheme_us += full->own[f->node[i]->id];
    }
    return out->none_us > 0 && out->scheme_us > 0;
}

/* A part with other kernels than the whole model has says nothing of it: then the whole model's own
 * times count, where there are any. */
static const char *read_scores(const sitting *s, const qdq_tune_entry *e, const scores *all,
                               uint32_t with, uint32_t without, qdq_tune_apart *out)
{
    const qdq_part_score *a = &all->of[without], *b = &all->of[with];
    const bool is_full = e->scheme->what->kind == QDQ_SCHEME_FULL;
    /* in one of them a neighbour is in the same layer */
    const bool differs = a->shared != b->shared;

    if (!a->known || !b->known)
        return "the engine does not tell how long its layers take";
    if (all->plain[without].context_mismatch || (is_full && all->full[with].context_mismatch)) {
        if (!is_full || !in_whole_model(s->t, e->kind, out))
            return "apart, other kernels compute it than in the whole model";
        out->scheme_us += b->boundary_qdq_us;
        out->border_us = b->boundary_qdq_us;
        return NULL;
    }
    *out = (qdq_tune_apart){qdq_part_cold_us(a) + (differs ? a->halo_us : 0),
                            qdq_part_cold_us(b) + (differs ? b->halo_us : 0), b->boundary_qdq_us};
    return out->none_us > 0 && out->scheme_us > 0 ? NULL : "no time was seen to pass in it";
}

static qdq_status score_all(sitting *s, const qdq_parts *p, const seen *by, qdq_arena *scratch,
                            scores *out)
{
    const qdq_tune_state *t = s->t;
    const size_t size = (p->n + 1) * sizeof *out->of;

    out->of = qdq_arena_alloc(scratch, size);
    out->plain = qdq_arena_alloc(scratch, size);
    out->full = qdq_arena_alloc(scratch, size);
    if (out->of == NULL || out->plain == NULL || out->full == NULL)
        return qdq_nomem(s->err);
    memset(out->of, 0, size);
    QDQ_TRY(qdq_parts_score(p, by->layer, by->n, by->us, out->of, s->err));
    memcpy(out->plain, out->of, size);
    memcpy(out->full, out->of, size);
    if (t->parts.layers.n > 0)
        QDQ_TRY(qdq_parts_compare(t->parts.fusions, p, t->parts.layers.at, t->parts.layers.n,
                                  out->plain, s->err));
    return t->parts.full_layers.n > 0
               ? qdq_parts_compare(t->parts.fusions, p, t->parts.full_layers.at,
                                   t->parts.full_layers.n, out->full, s->err)
               : QDQ_OK;
}

static qdq_status take_scores(sitting *s, const qdq_tune_entry *e, size_t n, const scores *all,
                              const uint32_t *part_of, const uint32_t *none_of)
{
    for (size_t i = 0; i < n; i++) {
        qdq_tune_apart sample;
        e[i].scheme->failed = read_scores(s, &e[i], all, part_of[i], none_of[i], &sample);
        if (e[i].scheme->failed == NULL)
            QDQ_TRY(take_samples(s, &e[i], &sample, 1));
    }
    return QDQ_OK;
}

static qdq_status score_parts(sitting *s, const qdq_tune_entry *e, size_t n, const qdq_parts *p,
                              const seen *by, const uint32_t *part_of, const uint32_t *none_of)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    scores all;
    qdq_status st = score_all(s, p, by, &scratch, &all);

    if (st == QDQ_OK)
        st = take_scores(s, e, n, &all, part_of, none_of);
    qdq_arena_free(&scratch);
    return st;
}

/* Entries of one kind stand beside each other; each kind begins without Q/DQ. part_of[i]: of entry
 * i; none_of[i]: of its kind. */
static qdq_status fill_parts(sitting *s, part_list *l, const qdq_tune_entry *e, size_t n,
                             uint32_t *part_of, uint32_t *none_of)
{
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || e[i].kind != e[i - 1].kind) {
            none_of[i] = (uint32_t)l->part.n;
            QDQ_TRY(add_part(s, l, e[i].kind, s->t->task.nothing));
        } else
            none_of[i] = none_of[i - 1];
        part_of[i] = (uint32_t)l->part.n;
        QDQ_TRY(plan_scheme(s, e[i].kind, e[i].scheme));
        QDQ_TRY(add_part(s, l, e[i].kind, e[i].scheme->plan));
    }
    return QDQ_OK;
}

static qdq_status make_parts(sitting *s, const qdq_tune_entry *e, size_t n, uint32_t *part_of,
                             uint32_t *none_of, qdq_parts **out)
{
    part_list l = {.scratch = QDQ_ARENA_INIT};

    return join_parts(s, &l, fill_parts(s, &l, e, n, part_of, none_of), out);
}

/* Samples of all entries, by the layers of one model; or the fate that the engine met with it, and
 * none. */
static qdq_status sit_by_layers(sitting *s, const qdq_tune_entry *e, size_t n,
                                qdq_remote_fate *fate)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    uint32_t *part_of = qdq_arena_array(&scratch, n + 1, sizeof *part_of),
             *none_of = qdq_arena_array(&scratch, n + 1, sizeof *none_of);
    qdq_parts *p = NULL;
    seen by = {0};
    qdq_status st = part_of != NULL && none_of != NULL ? make_parts(s, e, n, part_of, none_of, &p)
                                                       : qdq_nomem(s->err);

    if (st == QDQ_OK)
        st = measure_parts(s, p, apart_name(s, e, n), &by, fate);
    if (st == QDQ_OK && fate->end == QDQ_REMOTE_FINE)
        st = score_parts(s, e, n, p, &by, part_of, none_of);
    qdq_free(by.layer);
    qdq_parts_free(p);
    qdq_arena_free(&scratch);
    return st;
}

/* --- by whole times --------------------------------------------------------------------------- */

typedef struct pairing {
    sitting *s;
    qdq_worker_client *lab;
    int none; /* handle of the group without Q/DQ */
    qdq_tune_apart *sample;
} pairing;

/* A model of the group alone, open in the lab. */
static qdq_status open_alone(const pairing *p, const qdq_tune_kind *k, const qdq_plan *plan,
                             const char *name, int *handle, qdq_remote_fate *fate)
{
    part_list l = {.scratch = QDQ_ARENA_INIT};
    qdq_parts *parts = NULL;
    const char *path;
    qdq_status st = join_parts(p->s, &l, add_part(p->s, &l, k, plan), &parts);

    if (st == QDQ_OK)
        st = write_parts(p->s, parts, name, &path);
    qdq_parts_free(parts);
    QDQ_TRY(st);
    p->s->kinds->builds++;
    return qdq_worker_client_build(p->lab, path, handle, fate, p->s->err);
}

static qdq_status take_pairs(const pairing *p, int with, qdq_remote_fate *fate)
{
    double none_ns, with_ns;

    for (unsigned i = 0; i < p->s->amount && fate->end == QDQ_REMOTE_FINE; i++) {
        QDQ_TRY(qdq_worker_client_pair(p->lab, p->none, with, i % 2 == 1, i, &none_ns, &with_ns,
                                       fate, p->s->err));
        p->sample[i] = (qdq_tune_apart){none_ns * 1e-3, with_ns * 1e-3, 0};
    }
    return QDQ_OK;
}

static qdq_status measure_scheme(const pairing *p, const qdq_tune_entry *e)
{
    qdq_remote_fate fate = {0};
    int with = -1;
    const char *name = apart_name(p->s, e, 1);

    if (name == NULL)
        return qdq_nomem(p->s->err);
    QDQ_TRY(plan_scheme(p->s, e->kind, e->scheme));
    QDQ_TRY(open_alone(p, e->kind, e->scheme->plan, name, &with, &fate));
    if (fate.end == QDQ_REMOTE_FINE) {
        QDQ_TRY(take_pairs(p, with, &fate));
        qdq_worker_client_drop(p->lab, with);
    }
    return fate.end == QDQ_REMOTE_FINE ? take_samples(p->s, e, p->sample, p->s->amount)
                                       : blame(p->s, e, &fate);
}

static qdq_status measure_schemes(pairing *p, const qdq_tune_entry *e, size_t n)
{
    qdq_remote_fate fate = {0};
    const qdq_tune_entry none = {.kind = e->kind, .scheme = e->kind->scheme};
    const char *name = apart_name(p->s, &none, 1);

    if (name == NULL)
        return qdq_nomem(p->s->err);
    QDQ_TRY(open_alone(p, e->kind, p->s->t->task.nothing, name, &p->none, &fate));
    for (size_t i = 0; i < n && fate.end != QDQ_REMOTE_FINE; i++)
        QDQ_TRY(blame(p->s, &e[i], &fate));
    for (size_t i = 0; i < n && fate.end == QDQ_REMOTE_FINE; i++) {
        QDQ_TRY(qdq_job_poll(p->s->t->job, p->s->err));
        if (qdq_tune_time_is_up(p->s->t))
            leave_out(&e[i], 1);
        else
            QDQ_TRY(measure_scheme(p, &e[i]));
    }
    return QDQ_OK;
}

static qdq_status sit_by_whole_times(sitting *s, const qdq_tune_entry *e, size_t n)
{
    pairing p = {.s = s, .sample = qdq_arena_array(&s->t->arena, s->amount + 1, sizeof *p.sample)};

    if (p.sample == NULL)
        return qdq_nomem(s->err);
    QDQ_TRY(qdq_tune_open_lab(s->t, true, &p.lab, s->err));
    qdq_status st = measure_schemes(&p, e, n);
    if (st == QDQ_OK)
        st = qdq_tune_note_refused(s->t, p.lab, s->err);
    qdq_worker_client_close(p.lab);
    return st;
}

/* --- all of a sitting ------------------------------------------------------------------------- */

/* After each group, or after each model that has several of them. */
static qdq_status write_down(const sitting *s)
{
    return qdq_tune_write_cache(s->t, &s->t->run.base->assign, false, s->err);
}

/* Where the kinds of e part, near the middle; within one kind, its schemes. */
static size_t middle_of(const qdq_tune_entry *e, size_t n)
{
    size_t middle = n / 2;

    while (middle > 0 && e[middle].kind == e[middle - 1].kind)
        middle--;
    return middle > 0 ? middle : n / 2;
}

static qdq_status by_layers(sitting *s, const qdq_tune_entry *e, size_t n)
{
    qdq_remote_fate fate = {0};

    QDQ_TRY(qdq_job_poll(s->t->job, s->err));
    const bool over = qdq_tune_time_is_up(s->t);
    if (over)
        leave_out(e, n);
    if (over || n == 0)
        return QDQ_OK;
    QDQ_TRY(sit_by_layers(s, e, n, &fate));
    if (fate.end == QDQ_REMOTE_FINE)
        return write_down(s);
    if (n == 1) {
        QDQ_TRY(blame(s, e, &fate));
        return write_down(s);
    }
    const size_t middle = middle_of(e, n);
    QDQ_TRY(by_layers(s, e, middle));
    return by_layers(s, e + middle, n - middle);
}

static qdq_status by_whole_times(sitting *s, const qdq_tune_entry *e, size_t n)
{
    size_t end;

    for (size_t i = 0; i < n; i = end) {
        for (end = i; end < n && e[end].kind == e[i].kind;)
            end++;
        QDQ_TRY(qdq_job_poll(s->t->job, s->err));
        if (qdq_tune_time_is_up(s->t))
            leave_out(e + i, end - i);
        else {
            QDQ_TRY(sit_by_whole_times(s, e + i, end - i));
            QDQ_TRY(write_down(s));
        }
    }
    return QDQ_OK;
}

qdq_status qdq_tune_sit(qdq_tune_state *t, qdq_tune_kinds *k, const qdq_tune_entry *e, size_t n,
                        unsigned amount, const char *label, qdq_error *err)
{
    sitting s = {.t = t, .kinds = k, .amount = amount, .label = label, .err = err};
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_tune_entry *left = qdq_arena_array(&scratch, n + 1, sizeof *left);
    size_t n_left = 0;
    qdq_status st = left != NULL ? QDQ_OK : qdq_nomem(err);

    for (size_t i = 0; i < n && st == QDQ_OK; i++) {
        bool known = e[i].scheme->failed != NULL;
        if (!known)
            st = recall_samples(&s, &e[i], &known);
        if (!known)
            left[n_left++] = e[i];
    }
    if (st == QDQ_OK)
        st = k->by_layers ? by_layers(&s, left, n_left) : by_whole_times(&s, left, n_left);
    qdq_arena_free(&scratch);
    return st;
}
