/* tune_apart.c - samples of schemes, each beside its group without Q/DQ: many groups and schemes in one model where the engine
 * times layers; else a group and one scheme at a time. What an engine does not survive is divided until the one to blame
 * is alone. */
#include "tune/tune_kinds.h"

#include <string.h>

#include "base/fail.h"
#include "base/json.h"
#include "tune/isolate/bench_model.h"
#include "tune/isolate/group_plan.h"
#include "tune/isolate/part_context.h"
#include "tune/space/space_halves.h"

enum { RUNS = 8, PROFILE_PAIRS = 4 };

typedef struct sitting {
    qdq_tuning *t;
    qdq_tune_kinds *kinds;
    unsigned amount;
    const char *label;
    qdq_error *err;
} sitting;

/* --- the store ---------------------------------------------------------------------------------------------------------- */

/* Whole times and times of layers have nothing to do with each other. */
static const char *key_of(const sitting *s, const qdq_tune_entry *e)
{
    return qdq_arena_printf(&s->t->arena, "apart, %s, %s %u, %s: %s",
                            s->kinds->by_layers ? "layers" : "whole", s->label, s->amount,
                            qdq_scheme_kind_names[e->scheme->what->kind], e->kind->name);
}

static json_t *write_samples(const qdq_tune_apart *a, size_t n)
{
    json_t *list = json_array();
    bool ok = list != NULL;

    for (size_t i = 0; i < n && ok; i++)
        ok = json_array_append_new(list,
                                   json_pack("[f, f, f]", a[i].none_us, a[i].scheme_us, a[i].border_us)) == 0;
    if (ok)
        return list;
    json_decref(list);
    return NULL;
}

static bool read_sample(const json_t *one, qdq_tune_apart *out)
{
    *out =
        (qdq_tune_apart){json_number_value(json_array_get(one, 0)), json_number_value(json_array_get(one, 1)),
                         json_number_value(json_array_get(one, 2))};
    return out->none_us > 0 && out->scheme_us > 0 && out->border_us >= 0;
}

/* *known: the store had it. */
static qdq_status recall(sitting *s, const qdq_tune_entry *e, bool *known)
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
        if (st == QDQ_OK && read_sample(one, &sample) && !QDQ_PUSH(&s->t->arena, &e->scheme->samples, sample))
            st = qdq_nomem(s->err);
    }
    *known = e->scheme->samples.n > before;
    json_decref(list);
    return st;
}

/* Stored first: then it counts in a run that is cut off right after. */
static qdq_status take(sitting *s, const qdq_tune_entry *e, const qdq_tune_apart *a, size_t n)
{
    const char *key = key_of(s, e);

    if (key == NULL)
        return qdq_nomem(s->err);
    QDQ_TRY(qdq_tune_remember_content(s->t, key, write_samples(a, n), s->err));
    for (size_t i = 0; i < n; i++)
        if (!QDQ_PUSH(&s->t->arena, &e->scheme->samples, a[i]))
            return qdq_nomem(s->err);
    return QDQ_OK;
}

/* --- models ------------------------------------------------------------------------------------------------------------- */

/* With all its neighbours in 8 bits, as they will be where it matters: some operators have Q/DQ only beside others that do. What is
 * not the group's is left out of its model. */
static qdq_status plan_of(sitting *s, const qdq_tune_kind *k, qdq_tune_scheme *scheme)
{
    const qdq_tuning *t = s->t;
    const qdq_choices *c = &t->choices[k->unit];
    qdq_assign a;

    if (scheme->plan != NULL)
        return QDQ_OK;
    if (!qdq_assign_new(&a, qdq_space_scheme_bits(t->space), &s->t->arena))
        return qdq_nomem(s->err);
    for (size_t i = 0; i < t->space->n_groups; i++)
        qdq_assign_set(&a, i, t->problem.allowed == NULL || qdq_assign_get(t->problem.allowed, i));
    for (size_t i = 0; i < c->n; i++) {
        const uint32_t group = c->choice[i].group[k->at[0]];
        if (group != QDQ_NO_GROUP)
            qdq_space_set_part(t->space, &a, group, qdq_space_get_part(t->space, &scheme->what->bits, group));
    }
    return qdq_tune_plan_of(s->t, &a, &scheme->plan, s->err);
}

/* Parts of the model that is measured, and their models. */
typedef struct parts_list {
    QDQ_VEC(qdq_part) part;
    QDQ_VEC(qdq_model *) model;
    qdq_arena scratch;
} parts_list;

static qdq_status add_part(sitting *s, parts_list *l, const qdq_tune_kind *k, const qdq_plan *plan)
{
    qdq_model *m = NULL;

    QDQ_TRY(
        qdq_group_plan_apply(s->t->fusions, k->model, plan, qdq_candidates_cache(s->t->files), &m, s->err));
    if (!QDQ_PUSH(&l->scratch, &l->model, m)) {
        qdq_model_free(m);
        return qdq_nomem(s->err);
    }
    return QDQ_PUSH(&l->scratch, &l->part, ((qdq_part){.group = k->group, .in = k->model, .model = m}))
               ? QDQ_OK
               : qdq_nomem(s->err);
}

/* Entries of one kind stand beside each other; each kind begins without Q/DQ. part_of[i]: of entry i; none_of[i]: of its kind. */
static qdq_status fill_parts(sitting *s, parts_list *l, const qdq_tune_entry *e, size_t n, uint32_t *part_of,
                             uint32_t *none_of)
{
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || e[i].kind != e[i - 1].kind) {
            none_of[i] = (uint32_t)l->part.n;
            QDQ_TRY(add_part(s, l, e[i].kind, s->t->nothing));
        } else
            none_of[i] = none_of[i - 1];
        part_of[i] = (uint32_t)l->part.n;
        QDQ_TRY(plan_of(s, e[i].kind, e[i].scheme));
        QDQ_TRY(add_part(s, l, e[i].kind, e[i].scheme->plan));
    }
    return QDQ_OK;
}

/* One model, for the usual shapes: that is what is timed. `st`: how filling the list ended, which is over then. */
static qdq_status join(sitting *s, parts_list *l, qdq_status st, qdq_parts **out)
{
    if (st == QDQ_OK)
        st = qdq_parts_make(s->t->fusions, l->part.at, l->part.n, out, s->err);
    if (st == QDQ_OK)
        st = qdq_model_set_shapes((*out)->model, (*out)->shape, (*out)->n_shapes, s->err);
    for (size_t i = 0; i < l->model.n; i++)
        qdq_model_free(l->model.at[i]);
    qdq_arena_free(&l->scratch);
    return st;
}

static qdq_status make_parts(sitting *s, const qdq_tune_entry *e, size_t n, uint32_t *part_of,
                             uint32_t *none_of, qdq_parts **out)
{
    parts_list l = {.scratch = QDQ_ARENA_INIT};

    return join(s, &l, fill_parts(s, &l, e, n, part_of, none_of), out);
}

static qdq_status write_parts(sitting *s, const qdq_parts *p, const char *name, const char **path)
{
    *path = qdq_arena_printf(&s->t->arena, "%s/%s", qdq_tempdir_path(s->t->work), name);
    return *path != NULL ? qdq_candidate_write_part(s->t->files, p->model, name, s->err) : qdq_nomem(s->err);
}

/* --- by layers ---------------------------------------------------------------------------------------------------------- */

/* Layers of the model, and how long a run of it takes without a profile. */
typedef struct seen {
    qdq_group *layer;
    size_t n;
    double us;
} seen;

static qdq_status look(sitting *s, qdq_lab *lab, const char *path, seen *out, qdq_lab_fate *fate)
{
    int handle = -1;
    double a, b, sum = 0;

    QDQ_TRY(qdq_lab_groups(lab, path, RUNS * s->amount, &out->layer, &out->n, fate, s->err));
    if (fate->end == QDQ_LAB_FINE)
        QDQ_TRY(qdq_lab_build(lab, path, &handle, fate, s->err));
    for (unsigned i = 0; i < PROFILE_PAIRS && fate->end == QDQ_LAB_FINE; i++) {
        QDQ_TRY(qdq_lab_pair(lab, handle, handle, false, i, &a, &b, fate, s->err));
        sum += (a + b) / 2;
    }
    out->us = sum / PROFILE_PAIRS * 1e-3;
    return QDQ_OK;
}

static qdq_status measure_parts(sitting *s, const qdq_parts *p, seen *out, qdq_lab_fate *fate)
{
    const char *path;
    qdq_lab *lab = NULL;

    QDQ_TRY(write_parts(s, p, "apart.onnx", &path));
    QDQ_TRY(qdq_tune_open_lab(s->t, true, &lab, s->err));
    s->kinds->builds += 2;
    qdq_status st = look(s, lab, path, out, fate);
    qdq_lab_close(lab);
    return st;
}

/* Scores of all parts, and of those without Q/DQ and with all of it, whether their kernels are those of the whole model. */
typedef struct scores {
    qdq_part_score *of, *plain, *full;
} scores;

/* What the group's kernels take in the whole model, without Q/DQ and with all. */
static bool in_whole_model(const qdq_tuning *t, const qdq_tune_kind *k, qdq_tune_apart *out)
{
    const qdq_fusion *f = &t->fusions->at[k->group];
    const qdq_tune_times *plain = t->base->times, *full = t->full_times;

    out->none_us = out->scheme_us = out->border_us = 0;
    if (plain == NULL || !plain->is_known || full == NULL || !full->is_known)
        return false;
    for (uint32_t i = 0; i < f->n; i++) {
        out->none_us += plain->own[f->node[i]->id];
        out->scheme_us += full->own[f->node[i]->id];
    }
    return out->none_us > 0 && out->scheme_us > 0;
}

/* A part with other kernels than the whole model has says nothing of it: then the whole model's own times count, where there are
 * any. */
static const char *read_scores(const sitting *s, const qdq_tune_entry *e, const scores *all, uint32_t with,
                               uint32_t without, qdq_tune_apart *out)
{
    const qdq_part_score *a = &all->of[without], *b = &all->of[with];
    const bool is_full = e->scheme->what->kind == QDQ_SCHEME_FULL;
    const bool differs = a->shared != b->shared; /* in one of them a neighbour is in the same layer */

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

static qdq_status score_all(sitting *s, const qdq_parts *p, const seen *by, qdq_arena *scratch, scores *out)
{
    const qdq_tuning *t = s->t;
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
    if (t->layers.n > 0)
        QDQ_TRY(qdq_parts_compare(t->fusions, p, t->layers.at, t->layers.n, out->plain, s->err));
    return t->full_layers.n > 0
               ? qdq_parts_compare(t->fusions, p, t->full_layers.at, t->full_layers.n, out->full, s->err)
               : QDQ_OK;
}

static qdq_status take_scores(sitting *s, const qdq_tune_entry *e, size_t n, const scores *all,
                              const uint32_t *part_of, const uint32_t *none_of)
{
    for (size_t i = 0; i < n; i++) {
        qdq_tune_apart sample;
        e[i].scheme->failed = read_scores(s, &e[i], all, part_of[i], none_of[i], &sample);
        if (e[i].scheme->failed == NULL)
            QDQ_TRY(take(s, &e[i], &sample, 1));
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

static qdq_status by_layers(sitting *s, const qdq_tune_entry *e, size_t n, qdq_lab_fate *fate)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    uint32_t *part_of = qdq_arena_array(&scratch, n + 1, sizeof *part_of),
             *none_of = qdq_arena_array(&scratch, n + 1, sizeof *none_of);
    qdq_parts *p = NULL;
    seen by = {0};
    qdq_status st =
        part_of != NULL && none_of != NULL ? make_parts(s, e, n, part_of, none_of, &p) : qdq_nomem(s->err);

    if (st == QDQ_OK)
        st = measure_parts(s, p, &by, fate);
    if (st == QDQ_OK && fate->end == QDQ_LAB_FINE)
        st = score_parts(s, e, n, p, &by, part_of, none_of);
    qdq_free(by.layer);
    qdq_parts_free(p);
    qdq_arena_free(&scratch);
    return st;
}

/* --- by whole times ----------------------------------------------------------------------------------------------------- */

static qdq_status write_alone(sitting *s, const qdq_tune_kind *k, const qdq_plan *plan, const char *name,
                              const char **path, qdq_parts **out)
{
    parts_list l = {.scratch = QDQ_ARENA_INIT};

    QDQ_TRY(join(s, &l, add_part(s, &l, k, plan), out));
    return write_parts(s, *out, name, path);
}

static qdq_status time_both(sitting *s, qdq_lab *lab, const char *none, const char *with, qdq_tune_apart *out,
                            qdq_lab_fate *fate)
{
    int a = -1, b = -1;
    double a_ns, b_ns;

    s->kinds->builds += 2;
    QDQ_TRY(qdq_lab_build(lab, none, &a, fate, s->err));
    if (fate->end == QDQ_LAB_FINE)
        QDQ_TRY(qdq_lab_build(lab, with, &b, fate, s->err));
    for (unsigned i = 0; i < s->amount && fate->end == QDQ_LAB_FINE; i++) {
        QDQ_TRY(qdq_lab_pair(lab, a, b, i % 2 == 1, i, &a_ns, &b_ns, fate, s->err));
        out[i] = (qdq_tune_apart){a_ns * 1e-3, b_ns * 1e-3, 0};
    }
    return QDQ_OK;
}

static qdq_status by_whole_times(sitting *s, const qdq_tune_entry *e, qdq_lab_fate *fate)
{
    qdq_tune_apart *sample = qdq_arena_array(&s->t->arena, s->amount + 1, sizeof *sample);
    const char *none, *with;
    qdq_parts *float_part = NULL, *scheme_part = NULL;
    qdq_lab *lab = NULL;
    qdq_status st = sample != NULL ? plan_of(s, e->kind, e->scheme) : qdq_nomem(s->err);

    if (st == QDQ_OK)
        st = write_alone(s, e->kind, s->t->nothing, "apart-float.onnx", &none, &float_part);
    if (st == QDQ_OK)
        st = write_alone(s, e->kind, e->scheme->plan, "apart.onnx", &with, &scheme_part);
    if (st == QDQ_OK)
        st = qdq_tune_open_lab(s->t, true, &lab, s->err);
    if (st == QDQ_OK)
        st = time_both(s, lab, none, with, sample, fate);
    qdq_lab_close(lab);
    qdq_parts_free(float_part);
    qdq_parts_free(scheme_part);
    return st == QDQ_OK && fate->end == QDQ_LAB_FINE ? take(s, e, sample, s->amount) : st;
}

/* --- all of them -------------------------------------------------------------------------------------------------------- */

/* Where the kinds of e part, near the middle; within one kind, its schemes. */
static size_t middle_of(const qdq_tune_entry *e, size_t n)
{
    size_t middle = n / 2;

    while (middle > 0 && e[middle].kind == e[middle - 1].kind)
        middle--;
    return middle > 0 ? middle : n / 2;
}

static qdq_status blame(const sitting *s, const qdq_tune_entry *e, const qdq_lab_fate *fate)
{
    e->scheme->failed = qdq_arena_printf(&s->t->arena, "%s: %.300s", qdq_lab_end_name(fate->end), fate->text);
    return e->scheme->failed != NULL ? QDQ_OK : qdq_nomem(s->err);
}

static void leave_out(const qdq_tune_entry *e, size_t n)
{
    for (size_t i = 0; i < n; i++)
        e[i].scheme->failed = "no time was left for it";
}

static qdq_status measure(sitting *s, const qdq_tune_entry *e, size_t n)
{
    qdq_lab_fate fate = {0};

    QDQ_TRY(qdq_job_poll(s->t->job, s->err));
    const bool over = qdq_tune_time_is_up(s->t);
    if (over)
        leave_out(e, n);
    if (over || n == 0)
        return QDQ_OK;
    if (s->kinds->by_layers || n == 1) {
        QDQ_TRY(s->kinds->by_layers ? by_layers(s, e, n, &fate) : by_whole_times(s, e, &fate));
        if (fate.end == QDQ_LAB_FINE)
            return QDQ_OK;
        if (n == 1)
            return blame(s, e, &fate);
    }
    const size_t middle = middle_of(e, n);
    QDQ_TRY(measure(s, e, middle));
    return measure(s, e + middle, n - middle);
}

qdq_status qdq_tune_sit(qdq_tuning *t, qdq_tune_kinds *k, const qdq_tune_entry *e, size_t n, unsigned amount,
                        const char *label, qdq_error *err)
{
    sitting s = {.t = t, .kinds = k, .amount = amount, .label = label, .err = err};
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_tune_entry *left = qdq_arena_array(&scratch, n + 1, sizeof *left);
    size_t n_left = 0;
    qdq_status st = left != NULL ? QDQ_OK : qdq_nomem(err);

    for (size_t i = 0; i < n && st == QDQ_OK; i++) {
        bool known = e[i].scheme->failed != NULL;
        if (!known)
            st = recall(&s, &e[i], &known);
        if (!known)
            left[n_left++] = e[i];
    }
    if (st == QDQ_OK)
        st = measure(&s, left, n_left);
    qdq_arena_free(&scratch);
    return st;
}
