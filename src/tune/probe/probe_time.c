/* probe_time.c - see the header. */
#include "tune/probe/probe_time.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/fail.h"
#include "tune/measure/measure.h"

/* Pairs of the first look, and of the test behind it where that is not plain. */
enum { FIRST_PAIRS = 16, LEAST_PAIRS = 24, MOST_PAIRS = 240, BUILDS = 4 };

/* No interval nearer to 1 than this decides; the control may ask for more. */
static const double least_margin = 0.005;
/* A machine whose equal models differ by more is busy. */
static const double widest_control = 0.03;
/* A first look is plain if the gain or loss is at least so large. */
static const double plain_gain = 0.1;

typedef struct comparing {
    qdq_probe_timer *t;
    const char *path[2]; /* without, with */
    int handle[2];       /* -1: not built */
    unsigned part;       /* so many pairs are measured with the same sessions */
    qdq_remote_fate fate;
} comparing;

static void drop_both(comparing *c)
{
    for (int i = 0; i < 2; i++) {
        if (c->handle[i] >= 0)
            qdq_lab_drop(c->t->lab, c->handle[i]);
        c->handle[i] = -1;
    }
}

static qdq_status build_both(comparing *c, qdq_error *err)
{
    for (int i = 0; i < 2 && c->fate.end == QDQ_REMOTE_FINE; i++)
        if (c->handle[i] < 0)
            QDQ_TRY(qdq_lab_build(c->t->lab, c->path[i], &c->handle[i], &c->fate, err));
    return QDQ_OK;
}

static qdq_status take(void *ctx, unsigned pair, double *without_ns, double *with_ns, qdq_error *err)
{
    comparing *c = ctx;

    QDQ_TRY(qdq_job_poll(c->t->job, err));
    if (pair % c->part == 0)
        drop_both(c);
    QDQ_TRY(build_both(c, err));
    if (c->fate.end == QDQ_REMOTE_FINE)
        QDQ_TRY(qdq_lab_pair(c->t->lab, c->handle[0], c->handle[1], pair % 2 == 1, (c->t->trial << 12) + pair,
                             without_ns, with_ns, &c->fate, err));
    if (c->fate.end == QDQ_REMOTE_FINE)
        return QDQ_OK;
    return qdq_fail(err, QDQ_E_ENGINE, "%s: %s", qdq_remote_end_name(c->fate.end), c->fate.text);
}

static qdq_status test(comparing *c, unsigned pairs, qdq_probe_time *out, qdq_error *err)
{
    qdq_test_opts o = QDQ_TEST_OPTS_INIT;
    qdq_test_result r;

    o.strict = true;
    o.max_pairs = pairs;
    o.pilot = pairs;
    c->part = pairs / BUILDS;
    c->t->trial++;
    qdq_status st = qdq_test_run(&o, take, c, &r, err);
    drop_both(c);
    out->pairs += r.pairs;
    out->factor = 1 - r.gain;
    out->low = 1 - r.ci_high;
    out->high = 1 - r.ci_low;
    out->verdict = out->high < 1 - c->t->margin  ? QDQ_RULE_PAYS
                   : out->low > 1 + c->t->margin ? QDQ_RULE_HARMS
                                                 : QDQ_RULE_UNDECIDED;
    return st;
}

/* So large, and so far from 1, that more pairs would tell nothing new. */
static bool is_plain(const qdq_probe_time *t)
{
    const double away = fmax(1 - t->high, t->low - 1);

    return t->verdict != QDQ_RULE_UNDECIDED && fabs(1 - t->factor) >= plain_gain && away >= t->high - t->low;
}

/* What the engine did to these models is told beside them; all else ends the run. */
static qdq_status note_failure(const comparing *c, qdq_status st, qdq_probe_time *out, const qdq_error *err)
{
    if (st != QDQ_E_ENGINE || c->fate.end == QDQ_REMOTE_FINE)
        return st;
    *out = (qdq_probe_time){.verdict = QDQ_RULE_UNDECIDED};
    snprintf(out->failed, sizeof out->failed, "%.*s", (int)sizeof out->failed - 1, err->text);
    return QDQ_OK;
}

qdq_status qdq_probe_compare(qdq_probe_timer *t, const char *without, const char *with, double seconds,
                             qdq_probe_time *out, qdq_error *err)
{
    comparing c = {.t = t, .path = {without, with}, .handle = {-1, -1}};
    const double start = qdq_clock_seconds();

    *out = (qdq_probe_time){0};
    qdq_status st = test(&c, FIRST_PAIRS, out, err);
    if (st == QDQ_OK && !is_plain(out)) {
        const double took = qdq_clock_seconds() - start;
        const double pairs = FIRST_PAIRS * (seconds - took) / fmax(took, 1e-3);

        st = test(&c, (unsigned)fmin(fmax(pairs, LEAST_PAIRS), MOST_PAIRS), out, err);
    }
    return note_failure(&c, st, out, err);
}

qdq_status qdq_probe_control(qdq_probe_timer *t, const char *file, double seconds, qdq_probe_time *out,
                             qdq_error *err)
{
    t->margin = least_margin;
    QDQ_TRY(qdq_probe_compare(t, file, file, seconds, out, err));
    if (out->failed[0] != '\0')
        return qdq_fail(err, QDQ_E_ENGINE, "%s", out->failed);
    if (out->high - out->low > widest_control)
        return qdq_fail(
            err, QDQ_E_ENGINE,
            "the machine is busy: the 95 %% interval of a model's time over its own time is %.3f to "
            "%.3f; expected at most 3 %% wide",
            out->low, out->high);
    t->margin = fmax(least_margin, fmax(fabs(1 - out->low), fabs(out->high - 1)));
    return QDQ_OK;
}
