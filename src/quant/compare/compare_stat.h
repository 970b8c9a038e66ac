/* compare_stat.h - running sums over pairs of arrays: how far two outputs are apart. Knows no
 * models. */
#ifndef QDQ_COMPARE_STAT_H
#define QDQ_COMPARE_STAT_H

#include "qdq/compare.h"

typedef struct qdq_compare_stat {
    double aa, bb, ab, dd; /* sums of a a, b b, a b, (a - b) (a - b) */
    double max_abs;
    double low, high; /* of a, and 0 */
    uint64_t elements, unequal;
    uint64_t same_half; /* both above 0.5, or neither */
    bool a_not_finite;  /* an element of a */
    qdq_elem elem;      /* of a */
} qdq_compare_stat;

/* Element i of an array of any type with numbers. */
double qdq_array_number(const qdq_array *a, int64_t i);

/* Both arrays have the same number of elements, of any types with numbers. Pairs that are equal but
 * not finite (masks of minus infinity) count as equal and add nothing to the sums; a pair of which
 * one is not finite makes the difference infinite. */
void qdq_compare_stat_add(qdq_compare_stat *s, const qdq_array *a, const qdq_array *b);

/* Fills all of *t but the name; the whole is its worst slice, without a bound, and it has no
 * rows. */
void qdq_compare_stat_result(const qdq_compare_stat *s, qdq_compare_tensor *t);

/* Rows along the last axis: which element is the largest? And are they scores of classes? The
 * numbers of the first array say so: qdq_top1_is_choice(). */
typedef struct qdq_top1 {
    uint64_t rows, same;                 /* of both */
    uint64_t labelled, right_a, right_b; /* rows that had a label */
    bool has_begun, has_numbers;         /* a row without NaN was there */
    bool is_share, is_log_share;         /* every row adds up to 1; its exponentials do */
    bool is_flat;                        /* float, of rank 1 or 2 */
    bool has_negative, has_positive;
    int64_t columns; /* least number of them */
} qdq_top1;

/* Rows of an array: 0 where the last axis is no choice (shorter than two) or the type has no
 * order. */
int64_t qdq_top1_rows(const qdq_array *a);

/* Arrays of one shape; `labels` is NULL or has a label per row. Of equal elements the first wins; a
 * row with NaN agrees with nothing. */
void qdq_top1_add(qdq_top1 *t, const qdq_array *a, const qdq_array *b, const int64_t *labels);

/* Does the largest element of a row mean something? It does with labels; where all rows are shares
 * of 1 (what Softmax gives) or their logarithms; and, for what comes before a Softmax, with
 * QDQ_LOGITS_LEAST columns or more of both signs in an array of rank 1 or 2. Boxes, points and
 * opinion scores are none of these; embeddings cannot be told from logits. */
enum { QDQ_LOGITS_LEAST = 10 };
bool qdq_top1_is_choice(const qdq_top1 *t);

/* The samples that the options ask for: [*first, *end). QDQ_E_USAGE if the data have fewer.
 * (compare.c) */
qdq_status qdq_compare_range(const qdq_data *d, const qdq_compare_opts *opts, size_t *first,
                             size_t *end, qdq_error *err);

#endif /* QDQ_COMPARE_STAT_H */
