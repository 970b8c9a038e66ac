/* apart_layers.c - samples by the layers of an engine: many groups and schemes in one model. */
#include <string.h>

#include "base/fail.h"
#include "tune/greedy/apart.h"
#include "tune/isolate/part_context.h"
#include "tune/state/tune_refused.h"
#include "tune/trial/tune_engines.h"

enum { RUNS = 8, PROFILE_PAIRS = 4 };

/* Layers of the model, and how long a run of it takes without a profile. */
typedef struct seen {
    qdq_group *layer;
    size_t n;
    double us;
} seen;

static qdq_status look(qdq_tune_sitting *s, qdq_lab *lab, const char *path, seen *out,
                       qdq_remote_fate *fate)
{
    int handle = -1;
    double a, b, sum = 0;

    QDQ_TRY(qdq_lab_groups(lab, path, RUNS * s->amount, &out->layer, &out->n, fate, s->err));
    if (fate->end == QDQ_REMOTE_FINE)
        QDQ_TRY(qdq_lab_build(lab, path, &handle, fate, s->err));
    for (unsigned i = 0; i < PROFILE_PAIRS && fate->end == QDQ_REMOTE_FINE; i++) {
        QDQ_TRY(qdq_lab_pair(lab, handle, handle, false, i, &a, &b, fate, s->err));
        sum += (a + b) / 2;
    }
    out->us = sum / PROFILE_PAIRS * 1e-3;
    return QDQ_OK;
}

static qdq_status measure_parts(qdq_tune_sitting *s, const qdq_parts *p, const char *name,
                                seen *out, qdq_remote_fate *fate)
{
    const char *path;
    qdq_lab *lab = NULL;

    if (name == NULL)
        return qdq_nomem(s->err);
    QDQ_TRY(qdq_tune_write_parts(s, p, name, &path));
    QDQ_TRY(qdq_tune_open_lab(s->t, true, &lab, s->err));
    s->kinds->builds += 2;
    qdq_status st = look(s, lab, path, out, fate);
    if (st == QDQ_OK)
        st = qdq_tune_note_refused(s->t, lab, s->err);
    qdq_lab_close(lab);
    return st;
}

/* Scores of all parts, and of those without Q/DQ and with all of it, whether their kernels are
 * those of the whole model. */
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

/* A part with other kernels than the whole model has says nothing of it: then the whole model's own
 * times count, where there are any. */
static const char *read_scores(const qdq_tune_sitting *s, const qdq_tune_entry *e,
                               const scores *all, uint32_t with, uint32_t without,
                               qdq_tune_apart *out)
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

static qdq_status score_all(qdq_tune_sitting *s, const qdq_parts *p, const seen *by,
                            qdq_arena *scratch, scores *out)
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
    return t->full_layers.n > 0 ? qdq_parts_compare(t->fusions, p, t->full_layers.at,
                                                    t->full_layers.n, out->full, s->err)
                                : QDQ_OK;
}

static qdq_status take_scores(qdq_tune_sitting *s, const qdq_tune_entry *e, size_t n,
                              const scores *all, const uint32_t *part_of, const uint32_t *none_of)
{
    for (size_t i = 0; i < n; i++) {
        qdq_tune_apart sample;
        e[i].scheme->failed = read_scores(s, &e[i], all, part_of[i], none_of[i], &sample);
        if (e[i].scheme->failed == NULL)
            QDQ_TRY(qdq_tune_take_samples(s, &e[i], &sample, 1));
    }
    return QDQ_OK;
}

static qdq_status score_parts(qdq_tune_sitting *s, const qdq_tune_entry *e, size_t n,
                              const qdq_parts *p, const seen *by, const uint32_t *part_of,
                              const uint32_t *none_of)
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
static qdq_status fill_parts(qdq_tune_sitting *s, qdq_tune_part_list *l, const qdq_tune_entry *e,
                             size_t n, uint32_t *part_of, uint32_t *none_of)
{
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || e[i].kind != e[i - 1].kind) {
            none_of[i] = (uint32_t)l->part.n;
            QDQ_TRY(qdq_tune_add_part(s, l, e[i].kind, s->t->nothing));
        } else
            none_of[i] = none_of[i - 1];
        part_of[i] = (uint32_t)l->part.n;
        QDQ_TRY(qdq_tune_plan_scheme(s, e[i].kind, e[i].scheme));
        QDQ_TRY(qdq_tune_add_part(s, l, e[i].kind, e[i].scheme->plan));
    }
    return QDQ_OK;
}

static qdq_status make_parts(qdq_tune_sitting *s, const qdq_tune_entry *e, size_t n,
                             uint32_t *part_of, uint32_t *none_of, qdq_parts **out)
{
    qdq_tune_part_list l = {.scratch = QDQ_ARENA_INIT};

    return qdq_tune_join_parts(s, &l, fill_parts(s, &l, e, n, part_of, none_of), out);
}

qdq_status qdq_tune_sit_by_layers(qdq_tune_sitting *s, const qdq_tune_entry *e, size_t n,
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
        st = measure_parts(s, p, qdq_tune_apart_name(s, e, n), &by, fate);
    if (st == QDQ_OK && fate->end == QDQ_REMOTE_FINE)
        st = score_parts(s, e, n, p, &by, part_of, none_of);
    qdq_free(by.layer);
    qdq_parts_free(p);
    qdq_arena_free(&scratch);
    return st;
}
