/* probe_time.c - samples of two model files, and what they show. */
#include "tune/probe/probe_time.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/fail.h"
#include "engine/sample_stats.h"
#include "tune/measure/measure.h"

/* Pairs of one sample; samples of the control; samples that one process takes. */
enum { PAIRS = 8, CONTROL = 16, PER_WORKER = 2 };

/* No interval nearer to 1 than this decides: a rule that changes less gains nothing. */
static const double least_margin = 0.005;
/* A machine whose equal models differ by more is busy. */
static const double widest_aa_interval = 0.03;

typedef struct comparing {
    qdq_probe_timer *t;
    /* without, with */
    const char *const *path;
    /* -1: not built */
    int handle[2];
    qdq_remote_outcome outcome;
} comparing;

static void drop_both(comparing *c)
{
    for (int i = 0; i < 2; i++) {
        if (c->handle[i] >= 0)
            qdq_worker_client_drop(c->t->worker_client, c->handle[i]);
        c->handle[i] = -1;
    }
}

/* --- processes -------------------------------------------------------------------------------- */

qdq_status qdq_probe_open_worker_client(qdq_probe_timer *t, qdq_error *err)
{
    t->samples = 0;
    return qdq_worker_client_open(&t->opts, &t->worker_client, err);
}

/* A new process has another layout of its memory. The old one stays if there is none. */
static qdq_status renew_worker_client(qdq_probe_timer *t, qdq_error *err)
{
    qdq_worker_client *old = t->worker_client;
    const qdq_status st = qdq_probe_open_worker_client(t, err);

    if (st != QDQ_OK) {
        t->worker_client = old;
        return st;
    }
    t->builds += qdq_worker_client_builds(old);
    qdq_worker_client_close(old);
    return QDQ_OK;
}

/* --- one sample ------------------------------------------------------------------------------- */

/* Who is built first alternates, too. */
static qdq_status build_both(comparing *c, unsigned first, qdq_error *err)
{
    for (unsigned i = 0; i < 2 && c->outcome.end == QDQ_REMOTE_FINE; i++) {
        const unsigned side = (i + first) % 2;

        QDQ_TRY(qdq_worker_client_build(c->t->worker_client, c->path[side], &c->handle[side],
                                        &c->outcome, err));
        if (c->outcome.end != QDQ_REMOTE_FINE)
            c->handle[side] = -1;
    }
    return QDQ_OK;
}

static qdq_status time_pairs(comparing *c, double *ratio, qdq_error *err)
{
    double all[PAIRS], without_ns, with_ns;

    for (unsigned i = 0; i < PAIRS && c->outcome.end == QDQ_REMOTE_FINE; i++) {
        QDQ_TRY(qdq_job_poll(c->t->opts.job, err));
        QDQ_TRY(qdq_worker_client_pair(c->t->worker_client, c->handle[0], c->handle[1], i % 2 == 1,
                                       (c->t->trial << 12) + i, &without_ns, &with_ns, &c->outcome,
                                       err));
        all[i] = with_ns / without_ns;
    }
    if (c->outcome.end != QDQ_REMOTE_FINE)
        return QDQ_OK;
    qdq_stats_sort(all, PAIRS);
    *ratio = qdq_stats_quantile(all, PAIRS, 0.5);
    return QDQ_OK;
}

static qdq_status take_sample(comparing *c, qdq_probe_samples *s, qdq_error *err)
{
    const double start = qdq_clock_seconds();

    QDQ_TRY(qdq_job_poll(c->t->opts.job, err));
    if (c->t->samples >= PER_WORKER)
        QDQ_TRY(renew_worker_client(c->t, err));
    c->t->samples++;
    c->t->trial++;
    qdq_status st = build_both(c, s->n % 2, err);
    if (st == QDQ_OK && c->outcome.end == QDQ_REMOTE_FINE)
        st = time_pairs(c, &s->ratio[s->n], err);
    drop_both(c);
    QDQ_TRY(st);
    if (c->outcome.end != QDQ_REMOTE_FINE)
        return qdq_fail(err, QDQ_E_ENGINE, "%s: %s", qdq_remote_end_name(c->outcome.end),
                        c->outcome.text);
    s->n++;
    s->pairs += PAIRS;
    s->seconds = fmax(s->seconds, qdq_clock_seconds() - start);
    return QDQ_OK;
}

/* --- what samples show ------------------------------------------------------------------------ */

static qdq_status give_sample(void *ctx, unsigned pair, double *without, double *with,
                              qdq_error *err)
{
    const qdq_probe_samples *s = ctx;

    (void)err;
    *without = 1;
    *with = s->ratio[pair];
    return QDQ_OK;
}

/* Decided, and so far from the margin that more builds would tell nothing new; or so near to 1 that
 * they would not either. */
static bool is_closed(const qdq_probe_timer *t, const qdq_probe_time *r)
{
    const double away = fmax(1 - r->high, r->low - 1) - t->margin;

    return away >= (r->high - r->low) / 2 || (r->low > 1 - t->margin && r->high < 1 + t->margin);
}

static qdq_status evaluate_samples(const qdq_probe_timer *t, qdq_probe_samples *s,
                                   qdq_probe_time *out, qdq_error *err)
{
    qdq_test_opts o = QDQ_TEST_OPTS_INIT;
    qdq_test_result r;

    *out = (qdq_probe_time){0};
    if (s->n < QDQ_PROBE_LEAST)
        return QDQ_OK;
    o.strict = true;
    o.max_pairs = s->n;
    o.pilot = s->n;
    QDQ_TRY(qdq_test_run(&o, give_sample, s, &r, err));
    out->factor = 1 - r.gain;
    out->low = 1 - r.ci_high;
    out->high = 1 - r.ci_low;
    out->verdict = out->high < 1 - t->margin  ? QDQ_RULE_PAYS
                   : out->low > 1 + t->margin ? QDQ_RULE_HARMS
                                              : QDQ_RULE_UNDECIDED;
    out->closed = s->n >= QDQ_PROBE_MOST || is_closed(t, out);
    return QDQ_OK;
}

qdq_status qdq_probe_compare(qdq_probe_timer *t, const char *const path[2], unsigned builds,
                             qdq_probe_samples *s, qdq_probe_time *out, qdq_error *err)
{
    comparing c = {.t = t, .path = path, .handle = {-1, -1}};
    const unsigned most = builds < QDQ_PROBE_MOST ? builds : QDQ_PROBE_MOST;
    qdq_status st = QDQ_OK;

    *out = (qdq_probe_time){0};
    while (s->n < most && st == QDQ_OK && qdq_clock_seconds() + s->seconds < t->until)
        st = take_sample(&c, s, err);
    if (st == QDQ_E_ENGINE &&
        c.outcome.end != QDQ_REMOTE_FINE) { /* told beside the models; all else ends the run */
        snprintf(out->failed, sizeof out->failed, "%.*s", (int)sizeof out->failed - 1, err->text);
        return QDQ_OK;
    }
    return st == QDQ_OK ? evaluate_samples(t, s, out, err) : st;
}

qdq_status qdq_probe_aa_test(qdq_probe_timer *t, const char *file, qdq_probe_time *out,
                             qdq_error *err)
{
    qdq_probe_samples *s = calloc(1, sizeof *s);

    QDQ_NEED(s != NULL, err);
    const char *const both[2] = {file, file};
    const double until = t->until;
    t->margin = least_margin;
    t->until = INFINITY;
    qdq_status st = qdq_probe_compare(t, both, CONTROL, s, out, err);
    t->until = until;
    free(s);
    QDQ_TRY(st);
    if (out->failed[0] != '\0')
        return qdq_fail(err, QDQ_E_ENGINE, "%s", out->failed);
    if (out->high - out->low > widest_aa_interval)
        return qdq_fail(err, QDQ_E_ENGINE,
                        "the machine is busy: the 95 %% interval of a model's time over its own "
                        "time is %.3f to %.3f; expected at most 3 %% wide",
                        out->low, out->high);
    t->margin = fmax(least_margin, fabs(out->factor - 1));
    return QDQ_OK;
}
