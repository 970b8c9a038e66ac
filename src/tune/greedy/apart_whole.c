/* apart_whole.c - samples by whole times, where an engine does not say how long its layers take: a
 * group without Q/DQ, which stays open, and one scheme after the other beside it. */
#include "base/fail.h"
#include "tune/greedy/apart.h"
#include "tune/state/tune_budget.h"
#include "tune/state/tune_refused.h"
#include "tune/trial/tune_engines.h"

typedef struct pairing {
    qdq_tune_sitting *s;
    qdq_lab *lab;
    int none; /* handle of the group without Q/DQ */
    qdq_tune_apart *sample;
} pairing;

/* A model of the group alone, open in the lab. */
static qdq_status open_alone(const pairing *p, const qdq_tune_kind *k, const qdq_plan *plan,
                             const char *name, int *handle, qdq_remote_fate *fate)
{
    qdq_tune_part_list l = {.scratch = QDQ_ARENA_INIT};
    qdq_parts *parts = NULL;
    const char *path;
    qdq_status st = qdq_tune_join_parts(p->s, &l, qdq_tune_add_part(p->s, &l, k, plan), &parts);

    if (st == QDQ_OK)
        st = qdq_tune_write_parts(p->s, parts, name, &path);
    qdq_parts_free(parts);
    QDQ_TRY(st);
    p->s->kinds->builds++;
    return qdq_lab_build(p->lab, path, handle, fate, p->s->err);
}

static qdq_status take_pairs(const pairing *p, int with, qdq_remote_fate *fate)
{
    double none_ns, with_ns;

    for (unsigned i = 0; i < p->s->amount && fate->end == QDQ_REMOTE_FINE; i++) {
        QDQ_TRY(qdq_lab_pair(p->lab, p->none, with, i % 2 == 1, i, &none_ns, &with_ns, fate,
                             p->s->err));
        p->sample[i] = (qdq_tune_apart){none_ns * 1e-3, with_ns * 1e-3, 0};
    }
    return QDQ_OK;
}

static qdq_status measure_scheme(const pairing *p, const qdq_tune_entry *e)
{
    qdq_remote_fate fate = {0};
    int with = -1;
    const char *name = qdq_tune_apart_name(p->s, e, 1);

    if (name == NULL)
        return qdq_nomem(p->s->err);
    QDQ_TRY(qdq_tune_plan_scheme(p->s, e->kind, e->scheme));
    QDQ_TRY(open_alone(p, e->kind, e->scheme->plan, name, &with, &fate));
    if (fate.end == QDQ_REMOTE_FINE) {
        QDQ_TRY(take_pairs(p, with, &fate));
        qdq_lab_drop(p->lab, with);
    }
    return fate.end == QDQ_REMOTE_FINE ? qdq_tune_take_samples(p->s, e, p->sample, p->s->amount)
                                       : qdq_tune_blame(p->s, e, &fate);
}

static qdq_status measure_schemes(pairing *p, const qdq_tune_entry *e, size_t n)
{
    qdq_remote_fate fate = {0};
    const qdq_tune_entry none = {.kind = e->kind, .scheme = e->kind->scheme};
    const char *name = qdq_tune_apart_name(p->s, &none, 1);

    if (name == NULL)
        return qdq_nomem(p->s->err);
    QDQ_TRY(open_alone(p, e->kind, p->s->t->nothing, name, &p->none, &fate));
    for (size_t i = 0; i < n && fate.end != QDQ_REMOTE_FINE; i++)
        QDQ_TRY(qdq_tune_blame(p->s, &e[i], &fate));
    for (size_t i = 0; i < n && fate.end == QDQ_REMOTE_FINE; i++) {
        QDQ_TRY(qdq_job_poll(p->s->t->job, p->s->err));
        if (qdq_tune_time_is_up(p->s->t))
            qdq_tune_leave_out(&e[i], 1);
        else
            QDQ_TRY(measure_scheme(p, &e[i]));
    }
    return QDQ_OK;
}

qdq_status qdq_tune_sit_by_whole_times(qdq_tune_sitting *s, const qdq_tune_entry *e, size_t n)
{
    pairing p = {.s = s, .sample = qdq_arena_array(&s->t->arena, s->amount + 1, sizeof *p.sample)};

    if (p.sample == NULL)
        return qdq_nomem(s->err);
    QDQ_TRY(qdq_tune_open_lab(s->t, true, &p.lab, s->err));
    qdq_status st = measure_schemes(&p, e, n);
    if (st == QDQ_OK)
        st = qdq_tune_note_refused(s->t, p.lab, s->err);
    qdq_lab_close(p.lab);
    return st;
}
