/* probe_one.c - one probe: its sides are timed, at one size or at those that bisection asks for,
 * and the rule is changed by what the times say. */
#include <string.h>

#include "base/clock.h"
#include "base/fail.h"
#include "tune/probe/probe_run.h"
#include "tune/probe/probe_target.h"

qdq_status qdq_probe_begin(qdq_probe_run *r, const qdq_probe *p, qdq_probe_one *out, qdq_error *err)
{
    *out = (qdq_probe_one){.p = p, .why = "", .key = qdq_probe_key(r->root, p, &r->arena)};
    out->at = qdq_arena_array(&r->arena, p->n_sizes, sizeof *out->at);
    return out->key != NULL && out->at != NULL ? QDQ_OK : qdq_nomem(err);
}

/* --- one size --------------------------------------------------------------------------------- */

static qdq_status set_reason(qdq_probe_run *r, qdq_probe_one *o, const char *why, qdq_error *err)
{
    o->why = qdq_arena_strdup(&r->arena, why);
    return o->why != NULL ? QDQ_OK : qdq_nomem(err);
}

static int64_t value_at(const qdq_probe_one *o, size_t i)
{
    const qdq_probe_size *s = &o->p->size[i];

    for (size_t k = 0; o->p->threshold != NULL && k < s->n; k++)
        if (strcmp(s->value[k].name, o->p->threshold) == 0)
            return s->value[k].value;
    return 0;
}

static bool is_measured(const qdq_probe_one *o, size_t i)
{
    return o->at[i].samples.n >= QDQ_PROBE_LEAST;
}

static bool any_is_measured(const qdq_probe_one *o)
{
    for (size_t i = 0; i < o->p->n_sizes; i++)
        if (is_measured(o, i))
            return true;
    return false;
}

/* Times both sides at size i. o->why is set if that was not possible. */
static qdq_status measure_at(qdq_probe_run *r, qdq_probe_one *o, size_t i, unsigned builds,
                             qdq_error *err)
{
    qdq_probe_at *a = &o->at[i];
    bool equal = false;

    if (a->time.closed)
        return QDQ_OK;
    if (a->path[0] == NULL && qdq_clock_seconds() < r->timer.until)
        QDQ_TRY(qdq_probe_write_sides(r, o->p, &o->p->size[i], a->path, &equal, err));
    if (equal)
        return set_reason(r, o, "the probe is the same model with the rule and without it", err);
    if (a->path[0] != NULL)
        QDQ_TRY(qdq_probe_compare(&r->timer, a->path, builds, &a->samples, &a->time, err));
    if (a->time.failed[0] != '\0')
        return set_reason(r, o, a->time.failed, err);
    o->open |= !a->time.closed;
    return any_is_measured(o) ? QDQ_OK : set_reason(r, o, "no time was left", err);
}

/* --- thresholds ------------------------------------------------------------------------------- */

static bool pays_at(const qdq_probe_run *r, const qdq_probe_one *o, size_t i)
{
    const qdq_rule_verdict v = o->at[i].time.verdict;

    return v == QDQ_RULE_PAYS ||
           (v == QDQ_RULE_UNDECIDED && qdq_probe_holds_now(r->root, o->p, value_at(o, i)));
}

qdq_status qdq_probe_look(qdq_probe_run *r, qdq_probe_one *o, unsigned builds, qdq_error *err)
{
    size_t low = 0, high = o->p->n_sizes;

    o->open = false;
    while (low < high && o->why[0] == '\0') {
        const size_t middle = low + (high - low) / 2;

        QDQ_TRY(measure_at(r, o, middle, builds, err));
        if (pays_at(r, o, middle))
            low = middle + 1;
        else
            high = middle;
    }
    o->n_paying = low;
    return QDQ_OK;
}

/* --- what came of it -------------------------------------------------------------------------- */

static qdq_measured figures_at(const qdq_probe_run *r, const qdq_probe_one *o, size_t i)
{
    const qdq_engine_info *e = qdq_worker_client_engine(r->timer.worker_client);
    const qdq_probe_time *t = &o->at[i].time;

    return (qdq_measured){.verdict = t->verdict,
                          .factor = t->factor,
                          .low = t->low,
                          .high = t->high,
                          .engine = e->name,
                          .version = e->version,
                          .processor = r->processor,
                          .key = o->key,
                          .at = value_at(o, i),
                          .probe = o->p->name};
}

/* Of the largest size that pays, up to `value`; or else of the smallest that harms. */
static const qdq_measured *deciding(const qdq_measured *f, size_t n, int64_t value)
{
    const qdq_measured *best = &f[0];

    for (size_t i = 1; i < n; i++)
        if ((f[i].verdict == QDQ_RULE_PAYS && f[i].at <= value) ||
            (f[i].verdict == QDQ_RULE_HARMS && best->verdict == QDQ_RULE_UNDECIDED))
            best = &f[i];
    return best;
}

static qdq_status apply_threshold(qdq_probe_run *r, const qdq_probe_one *o, qdq_error *err)
{
    const int64_t value = o->n_paying > 0 ? value_at(o, o->n_paying - 1) : 0;
    const bool all = o->n_paying == o->p->n_sizes;

    if (value == 0)
        return qdq_probe_apply(r->root, o->p, false, err);
    /* Between two sizes, and beyond the largest, nothing was measured: a threshold that lies there
     * stays. */
    if (qdq_probe_holds_now(r->root, o->p, value) &&
        (all || !qdq_probe_holds_now(r->root, o->p, value_at(o, o->n_paying))))
        return qdq_probe_apply(r->root, o->p, true, err);
    return qdq_probe_apply_threshold(r->root, o->p, value, err);
}

static qdq_status apply_verdict(qdq_probe_run *r, const qdq_probe_one *o, qdq_rule_verdict verdict,
                                qdq_error *err)
{
    if (verdict == QDQ_RULE_UNDECIDED || (verdict == QDQ_RULE_HARMS && o->p->for_accuracy))
        return QDQ_OK;
    return o->p->threshold != NULL ? apply_threshold(r, o, err)
                                   : qdq_probe_apply(r->root, o->p, verdict == QDQ_RULE_PAYS, err);
}

/* Figures of the sizes that were measured, smallest first. NULL: out of memory. */
static qdq_measured *gather(qdq_probe_run *r, const qdq_probe_one *o, qdq_probe_outcome *out,
                            size_t *n)
{
    qdq_measured *f = qdq_arena_array(&r->arena, o->p->n_sizes, sizeof *f);

    *n = 0;
    for (size_t i = 0; f != NULL && i < o->p->n_sizes; i++) {
        if (!is_measured(o, i))
            continue;
        f[(*n)++] = figures_at(r, o, i);
        out->pairs += o->at[i].samples.pairs;
    }
    return f;
}

static qdq_status conclude_measured(qdq_probe_run *r, const qdq_probe_one *o,
                                    qdq_probe_outcome *out, qdq_error *err)
{
    size_t n = 0;
    const qdq_measured *f = gather(r, o, out, &n);

    QDQ_NEED(f != NULL, err);
    const qdq_measured *by = deciding(f, n, o->n_paying > 0 ? value_at(o, o->n_paying - 1) : 0);
    out->verdict = qdq_rule_verdict_name(by->verdict);
    out->factor = by->factor;
    out->low = by->low;
    out->high = by->high;
    out->at = by->at;
    QDQ_TRY(apply_verdict(r, o, by->verdict, err));
    return qdq_probe_put_figures(r->root, o->p, f, n, err);
}

qdq_status qdq_probe_conclude(qdq_probe_run *r, qdq_probe_one *o, qdq_error *err)
{
    qdq_probe_outcome out = {.op = o->p->op,
                             .rule = o->p->rule,
                             .probe = o->p->name,
                             .key = o->key,
                             .verdict = "",
                             .why = o->why,
                             .before = qdq_probe_value_now(r->root, o->p, o->key, &r->arena)};

    QDQ_NEED(out.before != NULL, err);
    if (o->why[0] == '\0')
        QDQ_TRY(conclude_measured(r, o, &out, err));
    out.after = qdq_probe_value_now(r->root, o->p, o->key, &r->arena);
    return out.after != NULL && QDQ_PUSH(&r->arena, &r->outcomes, out) ? QDQ_OK : qdq_nomem(err);
}
