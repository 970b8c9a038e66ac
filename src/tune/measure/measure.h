/* measure.h - is the candidate faster than the incumbent? A sequential test over interleaved pairs,
 * which ends as soon as the answer is clear and says what it could not have seen. Pure: the caller
 * takes the pairs, wherever they come from; equal pairs give equal verdicts, so that a search can
 * be replayed from its samples.
 *
 * Wald's sequential probability ratio test on the relative gain of pairs (A. Wald, Sequential
 * Analysis, 1947). */
#ifndef QDQ_MEASURE_H
#define QDQ_MEASURE_H

#include "qdq/status.h"

typedef struct qdq_test_opts {
    /* that is to be told from none, as a share of the incumbent's time: 0.006 */
    double gain;
    double enter;       /* a candidate is kept only if its estimated gain is at least this: 0.003 */
    double alpha, beta; /* errors: keeping what brings nothing, refusing what brings `gain` */
    unsigned pilot;     /* pairs before the first look, from which the noise is estimated */
    /* Then the verdict is undecided, which keeps the incumbent; three times as many where a gain is
     * likelier than none: then a gain whose interval lies above `enter` is kept. */
    unsigned max_pairs;
    /* what is kept is measured until its time is known to this share, or to max_pairs; 0: it is
     * not */
    double precision;
    /* Both ends are further away, up to ten times max_pairs, as long as pairs take less than this
     * altogether. */
    double patience_ns;
    /* Nor is a gain or loss below 20 % believed before they took so long: noise comes in phases. 0
     * where there is none. */
    double least_ns;
    double floor_sd; /* the noise is taken for at least this; of the A/A control of the epoch */
    /* no early end: max_pairs, and the interval of the gain must lie above `enter` */
    bool strict;
} qdq_test_opts;

#define QDQ_TEST_OPTS_INIT                                                                         \
    {                                                                                              \
        0.006, 0.003, 0.02, 0.1, 5, 20, 0.01, 0, 0, 0, false                                       \
    }

typedef enum qdq_verdict {
    QDQ_VERDICT_UNDECIDED,
    QDQ_VERDICT_KEEP,
    QDQ_VERDICT_REJECT
} qdq_verdict;

/* "undecided", "keep", "reject" */
const char *qdq_verdict_name(qdq_verdict v);

typedef struct qdq_test_result {
    qdq_verdict verdict;
    double gain;            /* 1 - candidate / incumbent: Hodges-Lehmann estimate of the pairs */
    double ci_low, ci_high; /* 95 % interval of it */
    /* of one pair's gain: 1.4826 times the median absolute deviation; at least floor_sd */
    double sd;
    double seen_sd; /* the same without floor_sd */
    /* the least gain that this many pairs would have shown: (z_alpha + z_beta) sd / sqrt(n) */
    double mde;
    unsigned pairs;
    double incumbent_ns, candidate_ns; /* medians */
} qdq_test_result;

/* Takes pair number `pair`, from 0: the incumbent's and the candidate's time of one run. Whoever
 * stands first alternates in the caller's hands. Anything but QDQ_OK ends the test and is its
 * result. */
typedef qdq_status (*qdq_pair_fn)(void *ctx, unsigned pair, double *incumbent_ns,
                                  double *candidate_ns, qdq_error *err);

qdq_status qdq_test_run(const qdq_test_opts *opts, qdq_pair_fn take, void *ctx,
                        qdq_test_result *out, qdq_error *err);

/* --- an epoch: is the machine fit to measure on? ---------------------------------------------- */

typedef struct qdq_aa_test {
    double aa_sd;   /* of the pairs of a model with itself: floor_sd of the tests that follow */
    double aa_gain; /* should be 0 */
    double base_ns; /* median time of the model when the epoch began: the drift monitor's mark */
    bool noisy;     /* the control saw a gain where there is none */
} qdq_aa_test;

/* The A/A control: `take` measures the incumbent against itself. */
qdq_status qdq_aa_test_begin(const qdq_test_opts *opts, qdq_pair_fn take, void *ctx,
                             qdq_aa_test *out, qdq_error *err);

/* The incumbent took so long just now: has the machine drifted by more than `limit` (0.1) from the
 * mark, so that a new epoch must begin? */
bool qdq_aa_test_drifted(const qdq_aa_test *e, double incumbent_ns, double limit);

#endif /* QDQ_MEASURE_H */
