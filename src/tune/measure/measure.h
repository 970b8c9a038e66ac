/* measure.h - decides whether the candidate is faster than the incumbent: a sequential test over
 * interleaved pairs. It ends as soon as the answer is clear, and reports its minimum detectable
 * effect. It is pure: the caller provides the pairs, and equal pairs give equal verdicts, so that a
 * search can be replayed from its samples.
 *
 * Wald's sequential probability ratio test on the relative gain of pairs (A. Wald, Sequential
 * Analysis, 1947). */
#ifndef QDQ_MEASURE_H
#define QDQ_MEASURE_H

#include "qdq/status.h"

typedef struct qdq_test_opts {
    /* gain to distinguish from 0, as a fraction of the incumbent's time: 0.006 */
    double gain;
    /* least estimated gain of an accepted candidate: 0.003 */
    double enter;
    /* error rates: accepting no gain, rejecting a gain of `gain` */
    double alpha, beta;
    /* pairs before the first decision, which estimate the noise */
    unsigned pilot;
    /* Most pairs; the verdict is then undecided, and the incumbent stays. Three times as many if a
     * gain is likelier than none; a gain whose interval is above `enter` is then accepted. */
    unsigned max_pairs;
    /* an accepted candidate is measured until its time is known to this fraction, or to max_pairs;
     * 0: no further pairs */
    double precision;
    /* Both limits grow, up to ten times max_pairs, while all pairs together take less than this
     * time. */
    double patience_ns;
    /* Least time before a gain or loss below 20 % counts, because noise comes in phases; 0:
     * none. */
    double least_ns;
    /* least assumed noise: that of the last A/A test */
    double floor_sd;
    /* no early end: max_pairs pairs, and the interval of the gain must be above `enter` */
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

/* The name of a verdict: "undecided", "keep", "reject". */
const char *qdq_verdict_name(qdq_verdict v);

typedef struct qdq_test_result {
    qdq_verdict verdict;
    /* 1 - candidate / incumbent: Hodges-Lehmann estimate of the pairs */
    double gain;
    /* its 95 % interval */
    double ci_low, ci_high;
    /* standard deviation of one pair's gain: 1.4826 times the median absolute deviation; at least
     * floor_sd */
    double sd;
    /* the same without floor_sd */
    double seen_sd;
    /* minimum detectable effect of this number of pairs: (z_alpha + z_beta) sd / sqrt(n) */
    double mde;
    unsigned pairs;
    /* median times */
    double incumbent_ns, candidate_ns;
} qdq_test_result;

/* Measures pair number `pair`, from 0: times of one run of the incumbent and of the candidate. The
 * caller alternates which one runs first. Any status but QDQ_OK ends the test, which returns it. */
typedef qdq_status (*qdq_pair_fn)(void *ctx, unsigned pair, double *incumbent_ns,
                                  double *candidate_ns, qdq_error *err);

qdq_status qdq_test_run(const qdq_test_opts *opts, qdq_pair_fn take, void *ctx,
                        qdq_test_result *out, qdq_error *err);

/* --- A/A test: is the machine quiet enough? --------------------------------------------------- */

typedef struct qdq_aa_test {
    /* noise of pairs of a model with itself: floor_sd of the following tests */
    double aa_sd;
    /* should be 0 */
    double aa_gain;
    /* median time of the model at the test, the reference for latency drift */
    double base_ns;
    /* the test found a gain where there is none */
    bool noisy;
} qdq_aa_test;

/* Runs an A/A test: `take` measures the incumbent against itself. */
qdq_status qdq_aa_test_begin(const qdq_test_opts *opts, qdq_pair_fn take, void *ctx,
                             qdq_aa_test *out, qdq_error *err);

/* Whether the incumbent's time now differs by more than `limit` (0.1) from that at the A/A test, so
 * that a new test is needed. */
bool qdq_aa_test_drifted(const qdq_aa_test *e, double incumbent_ns, double limit);

#endif /* QDQ_MEASURE_H */
