/* half_numbers.h - float32 numbers in float16 and bfloat16. Infinity stays infinity; finite numbers
 * stay finite, and numbers that are not 0 do not become 0: a mask of -3e38 and an epsilon of 1e-12
 * keep their meaning. */
#ifndef QDQ_HALF_NUMBERS_H
#define QDQ_HALF_NUMBERS_H

#include "qdq/tensor.h"

/* The bits of x in `elem`, one of the two types. *clamped becomes true if x is beyond its range. */
uint16_t qdq_half_bits(float x, qdq_elem elem, bool *clamped);

/* The float as the type holds it. Other types change nothing, here and below. */
float qdq_half_round(float x, qdq_elem elem);

/* Can the type hold these scales well enough? What it cannot hold keeps its Q or DQ in float32. */
bool qdq_half_fits(const float *scale, size_t n, qdq_elem elem);

/* The smallest number of the type that is not below x: of a positive x inside its range. */
float qdq_half_round_up(float x, qdq_elem elem);

#endif /* QDQ_HALF_NUMBERS_H */
