/* text_numbers.h - two graphs compute the same numbers, where our evaluator can tell. */
#ifndef QDQ_TEST_TEXT_NUMBERS_H
#define QDQ_TEST_TEXT_NUMBERS_H

#include "ir/ir.h"

/* Both are computed with the same random inputs, symbols of shapes taken for 2. NULL: the outputs
 * are the same, to 1e-5 of their range (2e-3 in half precision), or they cannot be computed: an
 * operator that the evaluator does not know, subgraphs, inputs without a rank. *computed counts
 * those that were. Else the name of the first output that differs. */
const char *text_other_numbers(const qdq_model *before, const qdq_model *after, int *computed);

#endif /* QDQ_TEST_TEXT_NUMBERS_H */
