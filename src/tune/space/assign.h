/* assign.h - an assignment: one bit for each decision, on if it is quantized. Its hash identifies a
 * measurement. */
#ifndef QDQ_ASSIGN_H
#define QDQ_ASSIGN_H

#include "base/arena.h"
#include "base/buf.h"

typedef struct qdq_assign {
    /* in the arena of qdq_assign_new() */
    uint64_t *word;
    /* number of bits; the unused bits of the last word are 0 */
    size_t n;
} qdq_assign;

typedef struct qdq_assign_hash {
    /* XXH3, 128 bits, of n and the words */
    uint64_t low, high;
} qdq_assign_hash;

/* All bits are off. False: out of memory. */
bool qdq_assign_new(qdq_assign *a, size_t n, qdq_arena *arena);
bool qdq_assign_copy(qdq_assign *a, const qdq_assign *from, qdq_arena *arena);
/* Copies the bits of another assignment of the same size. */
void qdq_assign_take(qdq_assign *a, const qdq_assign *from);

static inline bool qdq_assign_get(const qdq_assign *a, size_t i)
{
    return (a->word[i / 64] >> (i % 64) & 1) != 0;
}

void qdq_assign_set(qdq_assign *a, size_t i, bool on);
/* Number of bits that are on. */
size_t qdq_assign_count(const qdq_assign *a);
/* Sum of `of` over the bits that are on. */
double qdq_assign_sum(const qdq_assign *a, const double *of);
bool qdq_assign_equal(const qdq_assign *a, const qdq_assign *b);
qdq_assign_hash qdq_assign_get_hash(const qdq_assign *a);

/* A 64-bit key, which is enough for maps of some hundreds of assignments. */
static inline uint64_t qdq_assign_hash_key(qdq_assign_hash h)
{
    return h.low ^ (h.high * 0x9e3779b97f4a7c15u);
}

/* Writes 32 hexadecimal digits and a NUL. */
void qdq_assign_hash_text(qdq_assign_hash h, char text[33]);

/* The same for any bytes (XXH3). */
void qdq_digits_of(const void *data, size_t size, char text[33]);
/* The same for a buffer, which is freed. False: the buffer had failed. */
bool qdq_digits_take(qdq_buf *b, char text[33]);

#endif /* QDQ_ASSIGN_H */
