/* assign.c - bits of an assignment, and digits that name them. */
#include "tune/space/assign.h"

#include <stdio.h>
#include <string.h>

#include <xxhash.h>

static size_t words(size_t n)
{
    return (n + 63) / 64;
}

bool qdq_assign_new(qdq_assign *a, size_t n, qdq_arena *arena)
{
    a->n = n;
    a->word = qdq_arena_array(arena, words(n) > 0 ? words(n) : 1, sizeof *a->word);
    return a->word != NULL;
}

bool qdq_assign_copy(qdq_assign *a, const qdq_assign *from, qdq_arena *arena)
{
    if (!qdq_assign_new(a, from->n, arena))
        return false;
    qdq_assign_take(a, from);
    return true;
}

void qdq_assign_take(qdq_assign *a, const qdq_assign *from)
{
    memcpy(a->word, from->word, words(from->n) * sizeof *a->word);
}

void qdq_assign_set(qdq_assign *a, size_t i, bool on)
{
    const uint64_t bit = (uint64_t)1 << (i % 64);

    a->word[i / 64] = on ? a->word[i / 64] | bit : a->word[i / 64] & ~bit;
}

static unsigned ones(uint64_t x)
{
    unsigned n = 0;

    for (; x != 0; x &= x - 1)
        n++;
    return n;
}

size_t qdq_assign_count(const qdq_assign *a)
{
    size_t n = 0;

    for (size_t i = 0; i < words(a->n); i++)
        n += ones(a->word[i]);
    return n;
}

double qdq_assign_sum(const qdq_assign *a, const double *of)
{
    double sum = 0;

    for (size_t i = 0; i < a->n; i++)
        sum += qdq_assign_get(a, i) ? of[i] : 0;
    return sum;
}

bool qdq_assign_equal(const qdq_assign *a, const qdq_assign *b)
{
    return a->n == b->n && memcmp(a->word, b->word, words(a->n) * sizeof *a->word) == 0;
}

qdq_assign_hash qdq_assign_get_hash(const qdq_assign *a)
{
    XXH128_hash_t h = XXH3_128bits_withSeed(a->word, words(a->n) * sizeof *a->word, a->n);

    return (qdq_assign_hash){h.low64, h.high64};
}

void qdq_assign_hash_text(qdq_assign_hash h, char text[33])
{
    snprintf(text, 33, "%016llx%016llx", (unsigned long long)h.high, (unsigned long long)h.low);
}

void qdq_digits_of(const void *data, size_t size, char text[33])
{
    const XXH128_hash_t h = XXH3_128bits(data, size);

    qdq_assign_hash_text((qdq_assign_hash){h.low64, h.high64}, text);
}

bool qdq_digits_take(qdq_buf *b, char text[33])
{
    const bool ok = !b->failed;

    qdq_digits_of(ok ? b->data : "", ok ? b->size : 0, text);
    qdq_buf_free(b);
    return ok;
}
