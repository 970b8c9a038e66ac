/* apart.c - samples of schemes, each beside its group without Q/DQ: many groups and schemes in one
 * model where the engine times layers; else a group and one scheme at a time. What an engine does
 * not survive is divided until the one to blame is alone. */
#include "tune/greedy/apart.h"

#include "base/fail.h"
#include "target/target.h"
#include "tune/greedy/greedy.h"
#include "tune/state/tune_budget.h"

qdq_status qdq_tune_blame(const qdq_tune_sitting *s, const qdq_tune_entry *e,
                          const qdq_remote_fate *fate)
{
    const bool died = fate->end != QDQ_REMOTE_REFUSED;

    s->t->apart_died += died;
    s->t->apart_tried += died && e->scheme->samples.n == 0;
    e->scheme->failed =
        qdq_arena_printf(&s->t->arena, "%s: %.300s", qdq_remote_end_name(fate->end), fate->text);
    return e->scheme->failed != NULL ? QDQ_OK : qdq_nomem(s->err);
}

void qdq_tune_leave_out(const qdq_tune_entry *e, size_t n)
{
    for (size_t i = 0; i < n; i++)
        e[i].scheme->failed = "no time was left for it";
}

/* After each group, or after each model that has several of them. */
static qdq_status write_down(const qdq_tune_sitting *s)
{
    return qdq_tune_write_cache(s->t, &s->t->base->assign, false, s->err);
}

/* Where the kinds of e part, near the middle; within one kind, its schemes. */
static size_t middle_of(const qdq_tune_entry *e, size_t n)
{
    size_t middle = n / 2;

    while (middle > 0 && e[middle].kind == e[middle - 1].kind)
        middle--;
    return middle > 0 ? middle : n / 2;
}

static qdq_status by_layers(qdq_tune_sitting *s, const qdq_tune_entry *e, size_t n)
{
    qdq_remote_fate fate = {0};

    QDQ_TRY(qdq_job_poll(s->t->job, s->err));
    const bool over = qdq_tune_time_is_up(s->t);
    if (over)
        qdq_tune_leave_out(e, n);
    if (over || n == 0)
        return QDQ_OK;
    QDQ_TRY(qdq_tune_sit_by_layers(s, e, n, &fate));
    if (fate.end == QDQ_REMOTE_FINE)
        return write_down(s);
    if (n == 1) {
        QDQ_TRY(qdq_tune_blame(s, e, &fate));
        return write_down(s);
    }
    const size_t middle = middle_of(e, n);
    QDQ_TRY(by_layers(s, e, middle));
    return by_layers(s, e + middle, n - middle);
}

static qdq_status by_whole_times(qdq_tune_sitting *s, const qdq_tune_entry *e, size_t n)
{
    size_t end;

    for (size_t i = 0; i < n; i = end) {
        for (end = i; end < n && e[end].kind == e[i].kind;)
            end++;
        QDQ_TRY(qdq_job_poll(s->t->job, s->err));
        if (qdq_tune_time_is_up(s->t))
            qdq_tune_leave_out(e + i, end - i);
        else {
            QDQ_TRY(qdq_tune_sit_by_whole_times(s, e + i, end - i));
            QDQ_TRY(write_down(s));
        }
    }
    return QDQ_OK;
}

qdq_status qdq_tune_sit(qdq_tuning *t, qdq_tune_kinds *k, const qdq_tune_entry *e, size_t n,
                        unsigned amount, const char *label, qdq_error *err)
{
    qdq_tune_sitting s = {.t = t, .kinds = k, .amount = amount, .label = label, .err = err};
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_tune_entry *left = qdq_arena_array(&scratch, n + 1, sizeof *left);
    size_t n_left = 0;
    qdq_status st = left != NULL ? QDQ_OK : qdq_nomem(err);

    for (size_t i = 0; i < n && st == QDQ_OK; i++) {
        bool known = e[i].scheme->failed != NULL;
        if (!known)
            st = qdq_tune_recall_samples(&s, &e[i], &known);
        if (!known)
            left[n_left++] = e[i];
    }
    if (st == QDQ_OK)
        st = k->by_layers ? by_layers(&s, left, n_left) : by_whole_times(&s, left, n_left);
    qdq_arena_free(&scratch);
    return st;
}
