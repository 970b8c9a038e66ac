/* store_agree.c - whether two hosts of one kind measured the same: medians of trials that both
 * have, against the noise of their A/A tests. */
#include "tune/store/store_merge.h"

#include <math.h>

#include "base/fail.h"
#include "engine/sample_stats.h"

enum { LEAST_PAIRS = 3 };

/* Times of a model on one host: as the tuner's limit of latency drift. Gains: as the noise of a
 * machine with neighbours. */
static const double least_drift = 0.1, least_gain = 0.01;

/* One trial in one store. */
typedef struct trial_times {
    size_t n;
    /* medians */
    double incumbent_ns, candidate_ns, gain;
    /* 1.4826 times the median absolute deviation */
    double gain_sd;
} trial_times;

typedef QDQ_VEC(double) numbers;

static double median(numbers *x)
{
    if (x->n == 0)
        return 0;
    qdq_stats_sort(x->at, x->n);
    return (x->at[(x->n - 1) / 2] + x->at[x->n / 2]) / 2;
}

static double deviation(numbers *x, double middle)
{
    for (size_t i = 0; i < x->n; i++)
        x->at[i] = fabs(x->at[i] - middle);
    return 1.4826 * median(x);
}

static qdq_status read_times(qdq_tune_store *s, int64_t trial, qdq_arena *scratch, trial_times *out,
                             qdq_error *err)
{
    qdq_sql st =
        qdq_sql_prepare(s, "samples", "SELECT incumbent_ns, candidate_ns FROM pair WHERE trial = ?",
                        QDQ_SQL_WITH(QDQ_SQL_INT(trial)));
    numbers a = {0}, b = {0}, gains = {0};
    qdq_status status = QDQ_OK;

    while (qdq_sql_next(&st, &status, err)) {
        const double x = sqlite3_column_double(st.at, 0), y = sqlite3_column_double(st.at, 1);

        status = qdq_allocated(QDQ_PUSH(scratch, &a, x) && QDQ_PUSH(scratch, &b, y) &&
                                   QDQ_PUSH(scratch, &gains, x > 0 ? 1 - y / x : 0),
                               err);
    }
    qdq_sql_end(&st);
    *out = (trial_times){.n = a.n, .incumbent_ns = median(&a), .candidate_ns = median(&b)};
    out->gain = median(&gains);
    out->gain_sd = deviation(&gains, out->gain);
    return status;
}

/* The largest noise of the A/A tests of a context; 0: it has none. */
static qdq_status read_noise(qdq_tune_store *s, int64_t context, int64_t since, qdq_arena *scratch,
                             double *noise, qdq_error *err)
{
    qdq_sql st = qdq_sql_prepare(
        s, "trials",
        "SELECT id FROM trial WHERE context = ? AND since = ? AND incumbent = candidate",
        QDQ_SQL_WITH(QDQ_SQL_INT(context), QDQ_SQL_INT(since)));
    qdq_status status = QDQ_OK;

    while (qdq_sql_next(&st, &status, err)) {
        trial_times t;

        status = read_times(s, sqlite3_column_int64(st.at, 0), scratch, &t, err);
        if (status == QDQ_OK && t.n >= LEAST_PAIRS)
            *noise = fmax(*noise, t.gain_sd);
    }
    qdq_sql_end(&st);
    return status;
}

/* By how much of the smaller one two times differ. */
static double difference(double a, double b)
{
    return a > 0 && b > 0 ? fmax(a, b) / fmin(a, b) - 1 : 0;
}

/* *why stays NULL where they agree. */
static qdq_status evaluate(const trial_times *a, const trial_times *b, const char *const names[2],
                           double noise, qdq_arena *memory, const char **why, qdq_error *err)
{
    const double drift = fmax(least_drift, 3 * noise), gain = fmax(least_gain, 3 * noise);
    const double times[2][2] = {{a->incumbent_ns, b->incumbent_ns},
                                {a->candidate_ns, b->candidate_ns}};

    for (int i = 0; i < 2; i++) {
        if (difference(times[i][0], times[i][1]) <= drift)
            continue;
        *why = qdq_arena_printf(memory,
                                "'%s' takes %.4g ms, %.4g ms before: more than %.0f %% apart "
                                "(A/A noise %.2f %%)",
                                names[i], times[i][0] * 1e-6, times[i][1] * 1e-6, drift * 100,
                                noise * 100);
        return qdq_allocated(*why != NULL, err);
    }
    if (fabs(a->gain - b->gain) <= gain)
        return QDQ_OK;
    *why =
        qdq_arena_printf(memory,
                         "'%s' against '%s' gains %.2f %%, %.2f %% before: more than %.2f %% "
                         "apart (A/A noise %.2f %%)",
                         names[1], names[0], a->gain * 100, b->gain * 100, gain * 100, noise * 100);
    return qdq_allocated(*why != NULL, err);
}

typedef struct comparing {
    qdq_tune_store *from, *into;
    const qdq_merge_context *c;
    qdq_arena *memory;
    qdq_arena scratch;
    double noise;
} comparing;

/* The row of a trial in `from`: id, names, nth. */
static qdq_status compare_trial(comparing *k, const qdq_sql *row, const char **why, qdq_error *err)
{
    const char *names[2] = {(const char *)sqlite3_column_text(row->at, 1),
                            (const char *)sqlite3_column_text(row->at, 2)};
    trial_times a, b;
    int64_t other;

    QDQ_NEED(names[0] != NULL && names[1] != NULL, err);
    QDQ_TRY(qdq_sql_get_int(k->into, "trials",
                            "SELECT id FROM trial WHERE context = ? AND since = ? AND incumbent = "
                            "? AND candidate = ? AND nth = ?",
                            QDQ_SQL_WITH(QDQ_SQL_INT(k->c->into), QDQ_SQL_INT(k->c->into_since),
                                         QDQ_SQL_TEXT(names[0]), QDQ_SQL_TEXT(names[1]),
                                         QDQ_SQL_INT(sqlite3_column_int64(row->at, 3))),
                            &other, err));
    if (other == 0)
        return QDQ_OK;
    QDQ_TRY(read_times(k->from, sqlite3_column_int64(row->at, 0), &k->scratch, &a, err));
    QDQ_TRY(read_times(k->into, other, &k->scratch, &b, err));
    return a.n >= LEAST_PAIRS && b.n >= LEAST_PAIRS
               ? evaluate(&a, &b, names, k->noise, k->memory, why, err)
               : QDQ_OK;
}

static qdq_status compare_trials(comparing *k, const char **why, qdq_error *err)
{
    qdq_sql st = qdq_sql_prepare(
        k->from, "trials",
        "SELECT id, incumbent, candidate, nth FROM trial WHERE context = ? AND since = ? ORDER BY "
        "id",
        QDQ_SQL_WITH(QDQ_SQL_INT(k->c->from), QDQ_SQL_INT(k->c->from_since)));
    qdq_status status = QDQ_OK;

    while (*why == NULL && qdq_sql_next(&st, &status, err)) {
        const qdq_arena_mark mark = qdq_arena_get_mark(&k->scratch);

        status = compare_trial(k, &st, why, err);
        qdq_arena_reset(&k->scratch, mark);
    }
    qdq_sql_end(&st);
    return status;
}

qdq_status qdq_merge_compare(qdq_tune_store *from, qdq_tune_store *into, const qdq_merge_context *c,
                             qdq_arena *memory, const char **why, qdq_error *err)
{
    comparing k = {.from = from, .into = into, .c = c, .memory = memory};

    *why = NULL;
    if (c->into == 0)
        return QDQ_OK;
    qdq_status st = read_noise(from, c->from, c->from_since, &k.scratch, &k.noise, err);
    if (st == QDQ_OK)
        st = read_noise(into, c->into, c->into_since, &k.scratch, &k.noise, err);
    if (st == QDQ_OK)
        st = compare_trials(&k, why, err);
    qdq_arena_free(&k.scratch);
    return st;
}
