/* hidden.h - error that saturation hides. A Softmax or Sigmoid whose input is far from 0 gives
 * nearly the same whatever error that input has: samples that are all decided show a huge SQNR, and
 * the first one that is not shows the error. Knows no models.
 *
 * For an output that float gives in [0, 1] the error d of the input is known from the result: the
 * difference of log(p / (1 - p)), where p is the largest share of a row that adds up to 1, or else
 * each element. If it were undecided (p = 1/2), an element would have the power 1/4 and the squared
 * error tanh(d / 4)^2; a row has two such elements.
 *
 * Of N decisions that were seen, others may hold a share of undecided ones that none of the N
 * shows. Its upper 90 % limit is 1 - 0.1^(1/N): C. J. Clopper, E. S. Pearson, The use of confidence
 * or fiducial limits illustrated in the case of the binomial, Biometrika 26 (1934), for no event
 * among N. A cautious estimate counts that share of the samples as undecided. */
#ifndef QDQ_HIDDEN_H
#define QDQ_HIDDEN_H

#include "qdq/engine.h"

/* Beyond that many decisions the limit is below 0.01, and nothing is counted. */
enum { QDQ_HIDDEN_BLOCKS = 64, QDQ_HIDDEN_MOST = 256 };

/* Sums over elements, of which a are float's. */
typedef struct qdq_power_sums {
    double aa, dd; /* of a a and of (a - b) (a - b) */
} qdq_power_sums;

/* Zero is an empty one. Samples share sums where their indexes are equal modulo
 * QDQ_HIDDEN_BLOCKS. */
typedef struct qdq_hidden {
    qdq_power_sums sums[QDQ_HIDDEN_BLOCKS]; /* of the samples, were all their decisions undecided */
    int64_t decisions;                      /* rows, or elements */
    bool has_begun, is_rows;
    bool is_out; /* an element outside [0, 1], samples of both kinds, or too many decisions */
} qdq_hidden;

/* Adds a sample; both arrays have one shape. */
void qdq_hidden_add(qdq_hidden *h, size_t sample, const qdq_array *a, const qdq_array *b);

/* The upper limit of the share of undecided ones, 0 where nothing is hidden. */
double qdq_hidden_share(const qdq_hidden *h);

#endif /* QDQ_HIDDEN_H */
