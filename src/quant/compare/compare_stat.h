/* compare_stat.h - sums over pairs of arrays: the difference of two outputs. Knows no models. */
#ifndef QDQ_COMPARE_STAT_H
#define QDQ_COMPARE_STAT_H

#include "qdq/compare.h"

typedef struct qdq_compare_stat {
    /* sums of a a, b b, a b, (a - b) (a - b) */
    double aa, bb, ab, dd;
    double max_abs;
    /* range of a and 0 */
    double low, high;
    uint64_t elements, unequal;
    /* elements with both values above 0.5, or neither */
    uint64_t same_half;
    /* a has an element that is not finite */
    bool a_not_finite;
    /* type of a */
    qdq_elem elem;
} qdq_compare_stat;

/* Element i of an array of any numeric type. */
double qdq_array_number(const qdq_array *a, int64_t i);

/* Adds arrays with the same number of elements, of any numeric types. Pairs that are equal and not
 * finite (masks of minus infinity) count as equal, and add nothing to the sums. A pair with one
 * finite element makes the difference infinite. */
void qdq_compare_stat_add(qdq_compare_stat *s, const qdq_array *a, const qdq_array *b);

/* Fills all of *t except the name. The worst slice is the whole; there is no bound, and there are
 * no rows. */
void qdq_compare_stat_result(const qdq_compare_stat *s, qdq_compare_tensor *t);

/* Rows along the last axis: the largest element of each, and whether the values of the first array
 * are scores of classes: qdq_top1_is_choice(). */
typedef struct qdq_top1 {
    /* number of rows, of rows with the same largest element in both arrays, and of others whose
     * two largest elements hardly differ in the first (qdq_compare_tensor.top1_close) */
    uint64_t rows, same, close;
    /* number of rows with a label, and of correct ones */
    uint64_t labelled, right_a, right_b;
    /* a row without NaN was added */
    bool has_begun, has_numbers;
    /* each row adds up to 1; or its exponentials do */
    bool is_share, is_log_share;
    /* float of rank 1 or 2 */
    bool is_flat;
    bool has_negative, has_positive;
    /* least number of columns */
    int64_t columns;
    /* rows are scores, whatever their numbers; set before the first array */
    bool is_asked;
} qdq_top1;

/* Number of rows of an array; 0 if the last axis is shorter than two, or the type has no order. */
int64_t qdq_top1_rows(const qdq_array *a);

/* Adds arrays of one shape; `labels` has one for each row, or is NULL. Of equal elements, the first
 * one counts; a row with NaN never agrees. */
void qdq_top1_add(qdq_top1 *t, const qdq_array *a, const qdq_array *b, const int64_t *labels);

/* Whether the largest element of a row is a choice. It is if that is asked; if there are labels; if
 * all rows are fractions of 1 (the output of Softmax) or their logarithms; and, for the input of a
 * Softmax, if arrays of rank 1 or 2 have QDQ_LOGITS_LEAST or more columns with both signs. Boxes,
 * points and opinion scores are no choices; embeddings cannot be distinguished from logits. */
enum { QDQ_LOGITS_LEAST = 10 };
bool qdq_top1_is_choice(const qdq_top1 *t);

#endif /* QDQ_COMPARE_STAT_H */
