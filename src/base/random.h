/* random.h - seeded random numbers: the same on every machine, for random inputs and for tests.
 *
 * SplitMix64 (Steele, Lea, Flood 2014): the state is a counter, so a stream is known by its seed
 * alone. */
#ifndef QDQ_RANDOM_H
#define QDQ_RANDOM_H

#include <stdint.h>

#include "qdq/tensor.h"

typedef struct qdq_random {
    uint64_t counter;
    /* normals are made in pairs */
    double spare;
    bool has_spare;
} qdq_random;

/* A stream of its own for every pair of seed and name; name NULL is "". */
qdq_random qdq_random_new(uint64_t seed, const char *name);

/* Another seed, for the i-th of many streams. The 0-th is `seed` itself. */
uint64_t qdq_random_nth_seed(uint64_t seed, uint64_t i);

uint64_t qdq_random_u64(qdq_random *r);
double qdq_random_uniform(qdq_random *r); /* in [0, 1), 53 bits */
float qdq_random_normal(qdq_random *r);   /* mean 0, deviation 1 */

/* Fills a->data, a->bytes long, by the rule for random inputs: floating point types normal(0,1),
 * integers and bool 0 or 1. False for types without such numbers: strings, complex, float8,
 * float4. */
bool qdq_random_fill(qdq_array *a, uint64_t seed, const char *name);

#endif /* QDQ_RANDOM_H */
