/* hidden.h - error that saturation hides. If the input of a Softmax or Sigmoid is far from 0, its
 * error hardly changes the result. Samples with certain decisions only have a high SQNR, and the
 * first uncertain one shows the error. Knows no models.
 *
 * For an output that the float model computes in [0, 1], the error d of the input follows from the
 * result: it is the difference of log(p / (1 - p)), where p is the largest element of a row that
 * adds up to 1, or else each element. If the decision were uncertain (p = 1/2), an element would
 * have the power 1/4 and the squared error tanh(d / 4)^2; a row has two such elements.
 *
 * If N decisions are all certain, a fraction of all decisions may still be uncertain. Its upper 90
 * % limit is 1 - 0.1^(1/N): C. J. Clopper, E. S. Pearson, The use of confidence or fiducial limits
 * illustrated in the case of the binomial, Biometrika 26 (1934), for no event among N. A cautious
 * estimate counts that fraction of the samples as uncertain. */
#ifndef QDQ_HIDDEN_H
#define QDQ_HIDDEN_H

#include "qdq/engine.h"

/* With more decisions, the limit is below 0.01 and ignored. */
enum { QDQ_HIDDEN_BLOCKS = 64, QDQ_HIDDEN_MOST = 256 };

/* Sums over elements; a is the float model's. */
typedef struct qdq_power_sums {
    /* sums of a a and of (a - b) (a - b) */
    double aa, dd;
} qdq_power_sums;

/* Empty if zero. Samples share sums if their indices are equal modulo QDQ_HIDDEN_BLOCKS. */
typedef struct qdq_hidden {
    /* sums of the samples as if all decisions were uncertain */
    qdq_power_sums sums[QDQ_HIDDEN_BLOCKS];
    /* number of rows, or of elements */
    int64_t decisions;
    bool has_begun, is_rows;
    /* not applicable: an element is outside of [0, 1], samples are of both kinds, or there are too
     * many decisions */
    bool is_out;
} qdq_hidden;

/* Adds a sample; both arrays have one shape. */
void qdq_hidden_add(qdq_hidden *h, size_t sample, const qdq_array *a, const qdq_array *b);

/* Upper limit of the fraction of uncertain decisions; 0: nothing is hidden. */
double qdq_hidden_share(const qdq_hidden *h);

#endif /* QDQ_HIDDEN_H */
