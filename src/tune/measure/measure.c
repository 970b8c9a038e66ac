/* measure.c - the sequential test over pairs, and the A/A test. */
#include "tune/measure/measure.h"

#include <math.h>
#include <stdlib.h>

#include "base/fail.h"
#include "engine/sample_stats.h"

/* A test that goes on takes up to LONGER or LONGEST times as many pairs, and looks when a PART more
 * are there. */
enum { AA_PAIRS = 12, MAX_PAIRS = 4096, LONGER = 3, LONGEST = 10, PART = 4 };

/* 1.4826 times the median absolute deviation estimates the deviation of normal numbers. */
static const double mad_to_sd = 1.4826;
/* An outlier says that something else ran, not how much: beyond this many deviations it counts no
 * more. */
static const double clip_sd = 3;
/* Times in nanoseconds of real runs differ by more than this; virtual times need not. */
static const double least_sd = 1e-6;

const char *qdq_verdict_name(qdq_verdict v)
{
    static const char *const names[] = {"undecided", "keep", "reject"};

    return names[v];
}

/* --- numbers of pairs ------------------------------------------------------------------------- */

typedef struct pairs {
    double *incumbent, *candidate, *gain;
    /* of walsh(n) */
    double *scratch;
    size_t n, capacity;
} pairs;

static size_t walsh(size_t n)
{
    return n * (n + 1) / 2;
}

static double median_of(double *scratch, const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        scratch[i] = x[i];
    qdq_stats_sort(scratch, n);
    return qdq_stats_quantile(scratch, n, 0.5);
}

static double spread_of(pairs *p, double middle)
{
    for (size_t i = 0; i < p->n; i++)
        p->scratch[i] = fabs(p->gain[i] - middle);
    qdq_stats_sort(p->scratch, p->n);
    return mad_to_sd * qdq_stats_quantile(p->scratch, p->n, 0.5);
}

/* The Hodges-Lehmann estimate, the median of the means of all pairs of gains, and the interval that
 * belongs to it (Wilcoxon's signed ranks, normal approximation). Of few gains no interval of theirs
 * covers 95 %: the extremes. None leave 0. */
static void locate_gain(pairs *p, qdq_test_result *out)
{
    const size_t n = p->n, m = walsh(n);
    double *mean = p->scratch;
    size_t k = 0;

    if (n == 0)
        return;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n; j++)
            mean[k++] = (p->gain[i] + p->gain[j]) / 2;
    const double lower = qdq_stats_select(mean, m, (m - 1) / 2),
                 upper = qdq_stats_select(mean, m, m / 2);
    out->gain = lower + (upper - lower) / 2;

    double rank = (double)m / 2 - 1.96 * sqrt((double)m * (2 * (double)n + 1) / 12);
    size_t low = rank > 0 ? (size_t)rank : 0;
    out->ci_low = qdq_stats_select(mean, m, low);
    out->ci_high = qdq_stats_select(mean, m, m - 1 - low);
}

/* Quantiles of the normal distribution (Abramowitz and Stegun 26.2.23, error below 4.5e-4). */
static double z_of(double tail)
{
    double t = sqrt(-2 * log(tail));

    return t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                   (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
}

static double detectable(const qdq_test_opts *o, double sd, size_t n)
{
    return (z_of(o->alpha) + z_of(o->beta)) * sd / sqrt((double)n);
}

static void summarize_pairs(pairs *p, const qdq_test_opts *o, qdq_test_result *out)
{
    locate_gain(p, out);
    out->seen_sd = fmax(spread_of(p, out->gain), least_sd);
    out->sd = fmax(out->seen_sd, o->floor_sd);
    out->pairs = (unsigned)p->n;
    out->mde = p->n > 0 ? detectable(o, out->sd, p->n) : INFINITY;
    out->incumbent_ns = median_of(p->scratch, p->incumbent, p->n);
    out->candidate_ns = median_of(p->scratch, p->candidate, p->n);
}

/* --- memory ----------------------------------------------------------------------------------- */

static void pairs_free(pairs *p)
{
    free(p->incumbent);
    free(p->candidate);
    free(p->gain);
    free(p->scratch);
}

/* pairs_free() in any case. */
static qdq_status pairs_new(pairs *p, size_t room, qdq_error *err)
{
    *p = (pairs){.capacity = room};
    if (room > MAX_PAIRS)
        return qdq_fail(err, QDQ_E_USAGE, "a test of %zu pairs: expected at most %d", room,
                        MAX_PAIRS);
    p->incumbent = calloc(room + 1, sizeof *p->incumbent);
    p->candidate = calloc(room + 1, sizeof *p->candidate);
    p->gain = calloc(room + 1, sizeof *p->gain);
    p->scratch = calloc(walsh(room) + 1, sizeof *p->scratch);
    return p->incumbent != NULL && p->candidate != NULL && p->gain != NULL && p->scratch != NULL
               ? QDQ_OK
               : qdq_nomem(err);
}

static qdq_status add_pair(pairs *p, double incumbent_ns, double candidate_ns, qdq_error *err)
{
    if (!(incumbent_ns > 0) || !(candidate_ns > 0) || !isfinite(incumbent_ns) ||
        !isfinite(candidate_ns))
        return qdq_fail(err, QDQ_E_ENGINE, "pair %zu: times of %g and %g ns: expected more than 0",
                        p->n, incumbent_ns, candidate_ns);
    p->incumbent[p->n] = incumbent_ns;
    p->candidate[p->n] = candidate_ns;
    p->gain[p->n++] = 1 - candidate_ns / incumbent_ns;
    return QDQ_OK;
}

static qdq_status take_one(pairs *p, qdq_pair_fn take, void *ctx, qdq_error *err)
{
    double incumbent_ns = 0, candidate_ns = 0;

    QDQ_TRY(take(ctx, (unsigned)p->n, &incumbent_ns, &candidate_ns, err));
    return add_pair(p, incumbent_ns, candidate_ns, err);
}

/* --- the test --------------------------------------------------------------------------------- */

/* The logarithm of how much likelier the gains are if the true one is `gain` than if it is 0. The
 * noise is what all pairs so far show, so it is computed again each time. */
static double log_ratio(const pairs *p, const qdq_test_opts *o, const qdq_test_result *now)
{
    double sum = 0;

    for (size_t i = 0; i < p->n; i++) {
        double x =
            fmin(fmax(p->gain[i], now->gain - clip_sd * now->sd), now->gain + clip_sd * now->sd);
        sum += o->gain * x - o->gain * o->gain / 2;
    }
    /* A deviation of n numbers is known to one part in sqrt(2n), no better. */
    double sd = now->sd * (1 + 1 / sqrt(2 * (double)p->n));
    return sum / (sd * sd);
}

/* The ratio is made for small gains: where noise is large, it is slow to believe a large one, and
 * to refuse a large loss. Keeping asks for more than refusing, because it is what cannot be taken
 * back. */
static bool plainly_better(const qdq_test_opts *o, const qdq_test_result *now)
{
    const double deviations = 4;

    return now->gain >= o->enter && now->gain * sqrt(now->pairs) >= deviations * now->sd;
}

static bool plainly_no_better(const qdq_test_opts *o, const qdq_test_result *now)
{
    const double deviations = 3;

    return (o->enter - now->gain) * sqrt(now->pairs) >= deviations * now->sd;
}

static double took_ns(const qdq_test_result *now)
{
    return now->pairs * (now->incumbent_ns + now->candidate_ns);
}

/* Neighbours of a virtual machine come and go, and do not slow down all models alike: pairs of one
 * moment agree with each other, and not with those of the next. */
static bool is_hasty(const qdq_test_opts *o, const qdq_test_result *now)
{
    const double large = 0.2;

    return fabs(now->gain) < large && took_ns(now) < o->least_ns;
}

static qdq_verdict decide_verdict(const pairs *p, const qdq_test_opts *o,
                                  const qdq_test_result *now)
{
    if (o->strict) {
        if (p->n < o->max_pairs)
            return QDQ_VERDICT_UNDECIDED;
        return now->ci_low > o->enter    ? QDQ_VERDICT_KEEP
               : now->ci_high < o->enter ? QDQ_VERDICT_REJECT
                                         : QDQ_VERDICT_UNDECIDED;
    }
    if (p->n < o->pilot || (p->n < p->capacity && is_hasty(o, now)))
        return QDQ_VERDICT_UNDECIDED;
    if (plainly_better(o, now))
        return QDQ_VERDICT_KEEP;
    if (plainly_no_better(o, now))
        return QDQ_VERDICT_REJECT;
    double ratio = log_ratio(p, o, now);
    if (ratio >= log((1 - o->beta) / o->alpha))
        return now->gain >= o->enter && now->ci_low > 0 ? QDQ_VERDICT_KEEP : QDQ_VERDICT_UNDECIDED;
    return ratio <= log(o->beta / (1 - o->alpha)) ? QDQ_VERDICT_REJECT : QDQ_VERDICT_UNDECIDED;
}

static qdq_status check_opts(const qdq_test_opts *o, qdq_error *err)
{
    if (!(o->gain > 0) || !(o->alpha > 0 && o->alpha < 0.5) || !(o->beta > 0 && o->beta < 0.5) ||
        o->max_pairs == 0 || o->pilot > o->max_pairs)
        return qdq_fail(
            err, QDQ_E_USAGE,
            "a test for a gain of %g with errors %g and %g in %u to %u pairs: expected a gain "
            "above 0, errors between 0 and 0.5, and a pilot no longer than the test",
            o->gain, o->alpha, o->beta, o->pilot, o->max_pairs);
    return QDQ_OK;
}

/* --- how long it goes on ---------------------------------------------------------------------- */

/* Does the last look lean towards a gain? Then more pairs are worth their time: on a noisy machine
 * it is found, or seen to be none. */
static bool is_promising(const qdq_test_opts *o, const qdq_test_result *now)
{
    const double deviations = 0.5;

    return now->gain >= o->enter && now->gain * sqrt(now->pairs) >= deviations * now->sd;
}

/* Is the time of what is kept known well enough? All later gains build upon it. */
static bool is_precise(const qdq_test_opts *o, const qdq_test_result *now)
{
    return o->precision <= 0 || now->sd <= o->precision * (1 - now->gain) * sqrt(now->pairs);
}

/* Are `n` pairs few, or as short as those so far? */
static bool is_patient(const qdq_test_opts *o, const qdq_test_result *now, size_t n)
{
    return now->pairs < n || took_ns(now) < o->patience_ns;
}

static bool goes_on(const pairs *p, const qdq_test_opts *o, const qdq_test_result *now)
{
    if (p->n >= p->capacity)
        return false;
    if (now->verdict == QDQ_VERDICT_KEEP)
        return !is_precise(o, now) && is_patient(o, now, o->max_pairs);
    if (now->verdict == QDQ_VERDICT_REJECT || p->n < o->max_pairs)
        return now->verdict == QDQ_VERDICT_UNDECIDED;
    return is_hasty(o, now) ||
           (is_promising(o, now) && is_patient(o, now, (size_t)o->max_pairs * LONGER));
}

static size_t longest(const qdq_test_opts *o)
{
    const size_t most =
        (size_t)o->max_pairs * (o->patience_ns > 0 || o->least_ns > 0 ? LONGEST : LONGER);

    return most < MAX_PAIRS || o->max_pairs > MAX_PAIRS ? most : MAX_PAIRS;
}

/* Pairs up to the next look: one by one at first. */
static size_t pairs_to_take(const pairs *p, const qdq_test_opts *o)
{
    const size_t later = p->n / PART, left = p->capacity - p->n;

    return p->n < o->max_pairs || later < 1 ? 1 : later < left ? later : left;
}

/* --- the end ---------------------------------------------------------------------------------- */

/* Pairs that were to tell its time better may tell another story than those that decided. A gain
 * too large for the ratio, and in too much noise to be plain, shows in the interval: looked at
 * once, when all is measured, so that it errs no more often than it says. */
static qdq_verdict conclude_verdict(const pairs *p, const qdq_test_opts *o,
                                    const qdq_test_result *now)
{
    if (o->strict)
        return now->verdict;
    if (now->verdict == QDQ_VERDICT_KEEP && now->gain < o->enter)
        return QDQ_VERDICT_UNDECIDED;
    if (now->verdict == QDQ_VERDICT_UNDECIDED && p->n > o->max_pairs && now->ci_low > o->enter)
        return QDQ_VERDICT_KEEP;
    return now->verdict;
}

qdq_status qdq_test_run(const qdq_test_opts *opts, qdq_pair_fn take, void *ctx,
                        qdq_test_result *out, qdq_error *err)
{
    pairs p;

    *out = (qdq_test_result){0};
    QDQ_TRY(check_opts(opts, err));
    qdq_status st = pairs_new(&p, opts->strict ? opts->max_pairs : longest(opts), err);
    while (st == QDQ_OK && goes_on(&p, opts, out)) {
        for (size_t n = pairs_to_take(&p, opts); n > 0 && st == QDQ_OK; n--)
            st = take_one(&p, take, ctx, err);
        if (st != QDQ_OK)
            break;
        summarize_pairs(&p, opts, out);
        if (out->verdict == QDQ_VERDICT_UNDECIDED)
            out->verdict = decide_verdict(&p, opts, out);
    }
    if (st == QDQ_OK)
        out->verdict = conclude_verdict(&p, opts, out);
    pairs_free(&p);
    return st;
}

/* --- A/A tests -------------------------------------------------------------------------------- */

qdq_status qdq_aa_test_begin(const qdq_test_opts *opts, qdq_pair_fn take, void *ctx,
                             qdq_aa_test *out, qdq_error *err)
{
    qdq_test_opts o = *opts;
    qdq_test_result r = {0};
    pairs p;

    *out = (qdq_aa_test){0};
    o.floor_sd = 0;
    qdq_status st = pairs_new(&p, AA_PAIRS, err);
    while (st == QDQ_OK && p.n < AA_PAIRS)
        st = take_one(&p, take, ctx, err);
    if (st == QDQ_OK) {
        summarize_pairs(&p, &o, &r);
        /* It must be wrong by what the tests are to tell apart: a bias that small is no one's
         * gain. */
        bool differs = r.ci_low > o.enter || r.ci_high < -o.enter;
        *out = (qdq_aa_test){
            .aa_sd = r.sd, .aa_gain = r.gain, .base_ns = r.incumbent_ns, .noisy = differs};
    }
    pairs_free(&p);
    return st;
}

bool qdq_aa_test_drifted(const qdq_aa_test *e, double incumbent_ns, double limit)
{
    return e->base_ns > 0 && fabs(incumbent_ns / e->base_ns - 1) > limit;
}
