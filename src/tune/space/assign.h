/* assign.h - an assignment: one bit for each slot group, on if it is quantized. Its hash names a
 * measurement. */
#ifndef QDQ_ASSIGN_H
#define QDQ_ASSIGN_H

#include "base/arena.h"
#include "base/buf.h"

typedef struct qdq_assign {
    uint64_t *word; /* in the arena it was made in */
    size_t n;       /* bits; those beyond are 0 */
} qdq_assign;

typedef struct qdq_assign_hash {
    uint64_t low, high; /* XXH3, 128 bits, over n and the words */
} qdq_assign_hash;

bool qdq_assign_new(qdq_assign *a, size_t n, qdq_arena *arena); /* all off; false: out of memory */
bool qdq_assign_copy(qdq_assign *a, const qdq_assign *from, qdq_arena *arena);
/* the bits of another one of the same size */
void qdq_assign_take(qdq_assign *a, const qdq_assign *from);

static inline bool qdq_assign_get(const qdq_assign *a, size_t i)
{
    return (a->word[i / 64] >> (i % 64) & 1) != 0;
}

void qdq_assign_set(qdq_assign *a, size_t i, bool on);
size_t qdq_assign_count(const qdq_assign *a);                 /* bits that are on */
double qdq_assign_sum(const qdq_assign *a, const double *of); /* over the bits that are on */
bool qdq_assign_equal(const qdq_assign *a, const qdq_assign *b);
qdq_assign_hash qdq_assign_get_hash(const qdq_assign *a);

/* For maps of some hundreds of assignments, where 64 bits are enough. */
static inline uint64_t qdq_assign_hash_key(qdq_assign_hash h)
{
    return h.low ^ (h.high * 0x9e3779b97f4a7c15u);
}

/* 32 hexadecimal digits and a NUL. */
void qdq_assign_hash_text(qdq_assign_hash h, char text[33]);

/* The same of any bytes (XXH3). */
void qdq_digits_of(const void *data, size_t size, char text[33]);
/* Of a buffer, which is freed. False: it had failed. */
bool qdq_digits_take(qdq_buf *b, char text[33]);

#endif /* QDQ_ASSIGN_H */
