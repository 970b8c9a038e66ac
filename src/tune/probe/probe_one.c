/* probe_one.c - one probe: its sides are timed, at one size or at those that bisection asks for, and the rule is changed by what
 * the times say. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fail.h"
#include "tune/probe/probe_run.h"
#include "tune/probe/probe_target.h"

/* No comparison takes longer, however much time is left. */
static const double longest_s = 6;

typedef struct one {
    qdq_probe_run *r;
    const qdq_probe *p;
    const char *key;
    qdq_measured *figures; /* of the sizes that were measured */
    size_t n_figures;
    qdq_probe_outcome out;
    qdq_measured near; /* figures of the size next to the threshold */
} one;

static double seconds_for_one(const qdq_probe_run *r)
{
    const double left = r->until - qdq_clock_seconds();

    return fmin(longest_s, left / (double)(r->left > 0 ? r->left : 1));
}

static qdq_status explain(one *o, const char *why, qdq_error *err)
{
    o->out.why = qdq_arena_strdup(&o->r->arena, why);
    return o->out.why != NULL ? QDQ_OK : qdq_nomem(err);
}

static int64_t value_at(const one *o, size_t i)
{
    const qdq_probe_size *s = &o->p->size[i];

    for (size_t k = 0; o->p->threshold != NULL && k < s->n; k++)
        if (strcmp(s->value[k].name, o->p->threshold) == 0)
            return s->value[k].value;
    return 0;
}

static void add_figures(one *o, const qdq_probe_time *t, int64_t at)
{
    const qdq_engine_info *e = qdq_lab_engine(o->r->timer.lab);

    o->near = (qdq_measured){.verdict = t->verdict,
                             .factor = t->factor,
                             .low = t->low,
                             .high = t->high,
                             .engine = e->name,
                             .version = e->version,
                             .processor = o->r->processor,
                             .key = o->key,
                             .at = at,
                             .probe = o->p->name};
    o->figures[o->n_figures++] = o->near;
    o->out.pairs += t->pairs;
}

/* Times both sides at size i. o->out.why is set if that was not possible. */
static qdq_status measure_at(one *o, size_t i, qdq_rule_verdict *verdict, qdq_error *err)
{
    const double start = qdq_clock_seconds(), seconds = seconds_for_one(o->r);
    const char *path[2] = {NULL, NULL};
    qdq_probe_time t = {0};
    bool equal = false;

    *verdict = QDQ_RULE_UNDECIDED;
    if (seconds <= 0)
        return explain(o, "no time was left", err);
    QDQ_TRY(qdq_probe_write_sides(o->r, o->p, &o->p->size[i], path, &equal, err));
    if (equal)
        return explain(o, "the probe is the same model with the rule and without it", err);
    const double took = qdq_clock_seconds() - start;
    qdq_status st = qdq_probe_compare(&o->r->timer, path[0], path[1], fmax(seconds - took, 0), &t, err);
    unlink(path[0]);
    unlink(path[1]);
    o->r->left -= o->r->left > 0;
    if (st == QDQ_OK && t.failed[0] != '\0')
        return explain(o, t.failed, err);
    if (st == QDQ_OK)
        add_figures(o, &t, value_at(o, i));
    *verdict = t.verdict;
    return st;
}

/* --- thresholds ------------------------------------------------------------------------------------------------------- */

static bool pays_at(const one *o, size_t i, qdq_rule_verdict v)
{
    return v == QDQ_RULE_PAYS ||
           (v == QDQ_RULE_UNDECIDED && qdq_probe_holds_now(o->r->root, o->p, value_at(o, i)));
}

/* How many of the sizes the rule pays for, from the smallest on. */
static qdq_status bisect(one *o, size_t *n_paying, qdq_error *err)
{
    size_t low = 0, high = o->p->n_sizes;

    while (low < high && o->out.why[0] == '\0') {
        const size_t middle = low + (high - low) / 2;
        qdq_rule_verdict v;

        QDQ_TRY(measure_at(o, middle, &v, err));
        if (pays_at(o, middle, v))
            low = middle + 1;
        else
            high = middle;
    }
    *n_paying = low;
    return QDQ_OK;
}

static qdq_rule_verdict verdict_of_all(const one *o, bool pays)
{
    bool any = false;

    for (size_t i = 0; i < o->n_figures; i++)
        any |= o->figures[i].verdict != QDQ_RULE_UNDECIDED;
    return !any ? QDQ_RULE_UNDECIDED : pays ? QDQ_RULE_PAYS : QDQ_RULE_HARMS;
}

/* The largest size that pays, or else the smallest that does not. */
static void pick_nearest(one *o, int64_t value)
{
    for (size_t i = 0; i < o->n_figures; i++) {
        const qdq_measured *f = &o->figures[i];

        if (f->at == value || (o->near.at != value && (value == 0 ? f->at < o->near.at : f->at <= value)))
            o->near = *f;
    }
}

static qdq_status apply_threshold(one *o, size_t n_paying, qdq_rule_verdict *verdict, qdq_error *err)
{
    const int64_t value = n_paying > 0 ? value_at(o, n_paying - 1) : 0;
    const bool all = n_paying == o->p->n_sizes;

    *verdict = verdict_of_all(o, value > 0);
    pick_nearest(o, value);
    if (*verdict == QDQ_RULE_UNDECIDED)
        return QDQ_OK;
    if (value == 0)
        return qdq_probe_apply(o->r->root, o->p, false, err);
    /* Between two sizes, and beyond the largest, nothing was measured: a threshold that lies there stays. */
    if (qdq_probe_holds_now(o->r->root, o->p, value) &&
        (all || !qdq_probe_holds_now(o->r->root, o->p, value_at(o, n_paying))))
        return qdq_probe_apply(o->r->root, o->p, true, err);
    return qdq_probe_apply_threshold(o->r->root, o->p, value, err);
}

/* --- one probe -------------------------------------------------------------------------------------------------------- */

static qdq_status measure(one *o, qdq_rule_verdict *verdict, qdq_error *err)
{
    size_t n_paying = 0;

    if (o->p->threshold != NULL) {
        QDQ_TRY(bisect(o, &n_paying, err));
        return o->out.why[0] == '\0' ? apply_threshold(o, n_paying, verdict, err) : QDQ_OK;
    }
    QDQ_TRY(measure_at(o, 0, verdict, err));
    return *verdict != QDQ_RULE_UNDECIDED ? qdq_probe_apply(o->r->root, o->p, *verdict == QDQ_RULE_PAYS, err)
                                          : QDQ_OK;
}

static qdq_status finish(one *o, qdq_rule_verdict verdict, qdq_error *err)
{
    qdq_probe_run *r = o->r;

    if (o->out.why[0] == '\0') {
        o->out.verdict = qdq_rule_verdict_name(verdict);
        o->out.factor = o->near.factor;
        o->out.low = o->near.low;
        o->out.high = o->near.high;
        o->out.at = o->near.at;
        QDQ_TRY(qdq_probe_put_figures(r->root, o->p, o->figures, o->n_figures, err));
    }
    o->out.after = qdq_probe_value_now(r->root, o->p, o->key, &r->arena);
    return o->out.after != NULL && QDQ_PUSH(&r->arena, &r->outcomes, o->out) ? QDQ_OK : qdq_nomem(err);
}

qdq_status qdq_probe_measure_one(qdq_probe_run *r, const qdq_probe *p, qdq_error *err)
{
    qdq_rule_verdict verdict = QDQ_RULE_UNDECIDED;
    one o = {.r = r, .p = p, .key = qdq_probe_key(r->root, p, &r->arena)};

    o.figures = qdq_arena_array(&r->arena, p->n_sizes + 1, sizeof *o.figures);
    if (o.key == NULL || o.figures == NULL)
        return qdq_nomem(err);
    o.out = (qdq_probe_outcome){.op = p->op,
                                .rule = p->rule,
                                .probe = p->name,
                                .key = o.key,
                                .verdict = "",
                                .why = "",
                                .before = qdq_probe_value_now(r->root, p, o.key, &r->arena)};
    if (o.out.before == NULL)
        return qdq_nomem(err);
    QDQ_TRY(measure(&o, &verdict, err));
    return finish(&o, verdict, err);
}
