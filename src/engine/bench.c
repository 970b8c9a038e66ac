/* bench.c - interleaved timing: a round times every session once, in an order that rotates, and
 * only times of one round are compared with each other. Machines drift by more than what is to be
 * measured; what slows one round slows all of its samples. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/fail.h"
#include "base/opts.h"
#include "engine/bench_unit.h"
#include "engine/engine_ops.h"
#include "engine/sample_stats.h"
#include "engine/session_inputs.h"

enum { DEFAULT_WARMUP = 3, MIN_ROUNDS = 20, MAX_ROUNDS = 1000, INTERVAL_ROUNDS = 6 };
static const double default_sample_ms = 5, default_budget_ns = 2e9;

typedef struct bench {
    /* NULL: units */
    qdq_session *const *session;
    /* NULL: runs of sessions */
    const qdq_bench_unit *unit;
    size_t n;
    qdq_bench_opts opts;
    /* by session; or units */
    unsigned *runs_per_sample;
    /* by session; NULL where the caller's inputs are used */
    qdq_named_array **random;
    /* sample[i * MAX + round]: ns of one run of session i */
    double *sample;
    double *scratch;
    unsigned max_rounds, rounds;
    /* by the clock of qdq_clock_seconds(); 0: no limit */
    double ends;
} bench;

/* Half of the time is enough for who has the least number of rounds by then. */
static bool is_over(const bench *b)
{
    double early = b->rounds >= MIN_ROUNDS ? b->opts.max_ms * 1e-3 / 2 : 0;

    return b->ends > 0 && qdq_clock_seconds() >= b->ends - early;
}

/* --- set-up ----------------------------------------------------------------------------------- */

static qdq_status bind_inputs(bench *b, size_t i, qdq_error *err)
{
    qdq_session *s = b->session[i];
    const qdq_named_array *in = b->opts.inputs;
    size_t n_in = b->opts.n_inputs;
    const qdq_array **ordered;

    if ((s->engine->info.capabilities & QDQ_CAN_TIME) == 0)
        return qdq_fail(err, QDQ_E_UNSUPPORTED, "engine '%s' measures no time",
                        s->engine->info.name);
    if (in == NULL) {
        QDQ_TRY(qdq_random_inputs(s, b->opts.seed, &b->random[i], &n_in, err));
        in = b->random[i];
    }
    QDQ_TRY(qdq_session_order_inputs(s, in, n_in, &ordered, err));
    qdq_status st = s->engine->ops->bind(s, ordered, err);
    free(ordered);
    return st;
}

/* How long a sample is. Limited time is kept for the rounds that are asked for. */
static double sample_ns(const bench *b)
{
    double ns = (b->opts.min_sample_ms > 0 ? b->opts.min_sample_ms : default_sample_ms) * 1e6;
    double share = b->opts.max_ms * 1e6 / 2 / ((double)b->n * (MIN_ROUNDS + DEFAULT_WARMUP));

    return b->ends > 0 && share < ns ? share : ns;
}

static qdq_status time_runs(const bench *b, size_t i, unsigned n, uint64_t *ns, qdq_error *err)
{
    if (b->unit == NULL)
        return b->session[i]->engine->ops->time_runs(b->session[i], n, ns, err);
    *ns = 0;
    for (unsigned k = 0; k < n; k++) {
        uint64_t one;

        QDQ_TRY(b->unit->time(b->unit->ctx, i, &one, err));
        *ns += one;
    }
    return QDQ_OK;
}

/* Runs until warm, and takes the fastest of these runs as an estimate of how many make a sample. */
static qdq_status warm_up(bench *b, size_t i, qdq_error *err)
{
    unsigned warmup = b->opts.warmup > 0 ? b->opts.warmup : b->unit == NULL ? DEFAULT_WARMUP : 1;
    uint64_t best = UINT64_MAX;
    const double began = qdq_clock_seconds(), most = b->opts.max_ms * 1e-3 / (8 * (double)b->n);

    for (unsigned k = 0; k < warmup; k++) {
        if (k > 0 && b->ends > 0 && qdq_clock_seconds() - began > most)
            break;
        uint64_t ns;
        QDQ_TRY(qdq_job_poll(b->opts.job, err));
        QDQ_TRY(time_runs(b, i, 1, &ns, err));
        if (ns < best)
            best = ns;
    }
    b->runs_per_sample[i] = qdq_stats_sample_runs(sample_ns(b), best, 1);
    return QDQ_OK;
}

/* --- rounds ----------------------------------------------------------------------------------- */

static double runs_of_sample(const bench *b, size_t i)
{
    return (double)b->runs_per_sample[i] * (b->unit != NULL ? b->unit->runs : 1);
}

static qdq_status run_round(bench *b, double *total_ns, qdq_error *err)
{
    for (size_t k = 0; k < b->n; k++) {
        size_t i = (k + b->rounds) % b->n;
        uint64_t ns;
        QDQ_TRY(qdq_job_poll(b->opts.job, err));
        QDQ_TRY(time_runs(b, i, b->runs_per_sample[i], &ns, err));
        b->sample[i * b->max_rounds + b->rounds] = (double)(ns > 0 ? ns : 1) / runs_of_sample(b, i);
        *total_ns += (double)ns;
    }
    b->rounds++;
    return QDQ_OK;
}

static qdq_status run_rounds(bench *b, qdq_error *err)
{
    bool fixed = b->opts.rounds > 0;
    double total_ns =
        0; /* of the samples, not of the clock: an engine's time may be a virtual one */

    while (b->rounds < b->max_rounds &&
           (fixed || b->rounds < MIN_ROUNDS || total_ns < default_budget_ns)) {
        if (is_over(b))
            return b->rounds >= INTERVAL_ROUNDS
                       ? QDQ_OK
                       : qdq_fail(err, QDQ_E_UNSUPPORTED,
                                  "%.0f ms were over after %u rounds: expected enough for %d",
                                  b->opts.max_ms, b->rounds, INTERVAL_ROUNDS);
        QDQ_TRY(run_round(b, &total_ns, err));
        qdq_job_progress(b->opts.job, "bench", b->rounds, fixed ? b->max_rounds : 0);
    }
    return QDQ_OK;
}

static void summarize(bench *b, size_t i, qdq_bench_model *out)
{
    const double *first = b->sample, *mine = b->sample + i * b->max_rounds;
    size_t n = b->rounds;

    for (size_t r = 0; r < n; r++)
        b->scratch[r] = mine[r];
    qdq_stats_sort(b->scratch, n);
    out->median_ms = qdq_stats_quantile(b->scratch, n, 0.5) * 1e-6;
    out->p10_ms = qdq_stats_quantile(b->scratch, n, 0.1) * 1e-6;
    out->p90_ms = qdq_stats_quantile(b->scratch, n, 0.9) * 1e-6;
    double runs = (double)b->rounds * runs_of_sample(b, i);
    out->runs = runs < 4e9 ? (unsigned)runs : 4000000000u;

    for (size_t r = 0; r < n; r++)
        b->scratch[r] = first[r] / mine[r];
    qdq_stats_sort(b->scratch, n);
    out->speedup = qdq_stats_quantile(b->scratch, n, 0.5);
    qdq_stats_median_interval(b->scratch, n, &out->ci_low, &out->ci_high);
}

/* --- all of it -------------------------------------------------------------------------------- */

static qdq_status allocate(bench *b, qdq_error *err)
{
    b->max_rounds = b->opts.rounds > 0 ? b->opts.rounds : MAX_ROUNDS;
    b->runs_per_sample = calloc(b->n, sizeof *b->runs_per_sample);
    b->random = calloc(b->n, sizeof *b->random);
    b->scratch = calloc(b->max_rounds, sizeof *b->scratch);
    if (b->n <= SIZE_MAX / sizeof(double) / b->max_rounds)
        b->sample = calloc(b->n * b->max_rounds, sizeof *b->sample);
    QDQ_NEED(b->runs_per_sample != NULL && b->random != NULL && b->scratch != NULL &&
                 b->sample != NULL,
             err);
    return QDQ_OK;
}

static qdq_status measure(bench *b, qdq_bench_model *out, qdq_error *err)
{
    QDQ_TRY(allocate(b, err));
    if (b->opts.max_ms > 0)
        b->ends = qdq_clock_seconds() + b->opts.max_ms * 1e-3;
    for (size_t i = 0; i < b->n; i++) {
        qdq_status st = b->unit == NULL ? bind_inputs(b, i, err) : QDQ_OK;
        if (st == QDQ_OK)
            st = warm_up(b, i, err);
        if (st != QDQ_OK)
            return b->n > 1 && st != QDQ_E_INTERRUPTED ? qdq_within(err, st, "model %zu", i + 1)
                                                       : st;
    }
    QDQ_TRY(run_rounds(b, err));
    for (size_t i = 0; i < b->n; i++)
        summarize(b, i, &out[i]);
    return QDQ_OK;
}

static qdq_status bench_all(bench *b, const qdq_bench_opts *opts, qdq_bench_model *out,
                            qdq_error *err)
{
    b->opts = (qdq_bench_opts)QDQ_BENCH_OPTS_INIT;
    for (size_t i = 0; i < b->n; i++)
        out[i] = (qdq_bench_model){0};
    QDQ_TRY(qdq_opts_read("qdq_bench_opts", &b->opts, sizeof b->opts, opts, err));
    if (b->n == 0)
        return qdq_fail(err, QDQ_E_USAGE, "bench of no models: expected at least one");
    qdq_status st = measure(b, out, err);
    for (size_t i = 0; b->random != NULL && i < b->n; i++)
        qdq_free(b->random[i]);
    free(b->runs_per_sample);
    free(b->random);
    free(b->sample);
    free(b->scratch);
    return st;
}

qdq_status qdq_bench(qdq_session *const *sessions, size_t n, const qdq_bench_opts *opts,
                     qdq_bench_model *out, qdq_error *err)
{
    return bench_all(&(bench){.session = sessions, .n = n}, opts, out, err);
}

qdq_status qdq_bench_units(const qdq_bench_unit *unit, size_t n, const qdq_bench_opts *opts,
                           qdq_bench_model *out, qdq_error *err)
{
    return bench_all(&(bench){.unit = unit, .n = n}, opts, out, err);
}
