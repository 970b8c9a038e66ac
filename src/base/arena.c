/* arena.c - blocks from calloc, chained from the newest to the oldest. Knows nothing of what is
 * stored in it. */
#include "base/arena.h"

#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = alignof(max_align_t), BLOCK_MIN = 4096 - 64, BLOCK_MAX = 256 * 1024 - 64 };

struct qdq_arena_block {
    qdq_arena_block *prev;
    size_t cap, used;
    alignas(ALIGN) unsigned char data[];
};

/* Blocks grow with the arena, so that a small model stays small and a large one needs few calls. */
static size_t block_size(const qdq_arena *a, size_t size)
{
#ifdef QDQ_ARENA_MALLOC
    (void)a;
    return size;
#else
    size_t cap = a->total < BLOCK_MIN ? BLOCK_MIN : a->total > BLOCK_MAX ? BLOCK_MAX : a->total;
    return size > cap ? size : cap;
#endif
}

static qdq_arena_block *add_block(qdq_arena *a, size_t size)
{
    size_t cap = block_size(a, size);
    qdq_arena_block *b = calloc(1, sizeof *b + cap);

    if (b == NULL)
        return NULL;
    b->prev = a->last;
    b->cap = cap;
    a->last = b;
    a->total += sizeof *b + cap;
    return b;
}

static bool has_room(const qdq_arena_block *b, size_t size)
{
#ifdef QDQ_ARENA_MALLOC
    (void)b;
    (void)size;
    return false;
#else
    return b != NULL && b->cap - b->used >= size;
#endif
}

void *qdq_arena_alloc(qdq_arena *a, size_t size)
{
    qdq_arena_block *b = a->last;

    if (size > SIZE_MAX / 2)
        return NULL;
    if (size == 0) /* every object has an address of its own */
        size = 1;
#ifndef QDQ_ARENA_MALLOC /* there the size stays exact: the sanitizer sees one byte too many */
    size = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
#endif
    if (!has_room(b, size))
        b = add_block(a, size);
    if (b == NULL)
        return NULL;
    void *p = b->data + b->used;
    b->used += size;
    return p;
}

void *qdq_arena_array(qdq_arena *a, size_t n, size_t elem_size)
{
    if (elem_size != 0 && n > SIZE_MAX / elem_size)
        return NULL;
    return qdq_arena_alloc(a, n * elem_size);
}

void *qdq_arena_copy(qdq_arena *a, const void *from, size_t n, size_t elem_size)
{
    void *to = qdq_arena_array(a, n > 0 ? n : 1, elem_size);

    if (to != NULL && n > 0)
        memcpy(to, from, n * elem_size);
    return to;
}

char *qdq_arena_strndup(qdq_arena *a, const char *s, size_t n)
{
    char *copy = n == SIZE_MAX ? NULL : qdq_arena_alloc(a, n + 1);

    if (copy != NULL && n != 0)
        memcpy(copy, s, n); /* the NUL is there: memory comes zeroed */
    return copy;
}

char *qdq_arena_strdup(qdq_arena *a, const char *s)
{
    return qdq_arena_strndup(a, s, strlen(s));
}

char *qdq_arena_printf(qdq_arena *a, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    char *text = qdq_arena_vprintf(a, fmt, ap);
    va_end(ap);
    return text;
}

char *qdq_arena_vprintf(qdq_arena *a, const char *fmt, va_list args)
{
    va_list measure;

    va_copy(measure, args);
    int n = vsnprintf(NULL, 0, fmt, measure);
    va_end(measure);
    char *text = n < 0 ? NULL : qdq_arena_alloc(a, (size_t)n + 1);
    if (text != NULL)
        vsnprintf(text, (size_t)n + 1, fmt, args);
    return text;
}

qdq_arena_mark qdq_arena_get_mark(const qdq_arena *a)
{
    return (qdq_arena_mark){a->last, a->last == NULL ? 0 : a->last->used};
}

qdq_arena_mark qdq_arena_get_loop_mark(qdq_arena *a)
{
    if (!has_room(a->last, BLOCK_MIN / 2))
        add_block(a, 0); /* out of memory: the first allocation of the loop will tell */
    return qdq_arena_get_mark(a);
}

void qdq_arena_reset(qdq_arena *a, qdq_arena_mark mark)
{
    while (a->last != mark.last) {
        qdq_arena_block *b = a->last;
        a->last = b->prev;
        a->total -= sizeof *b + b->cap;
        free(b);
    }
    if (a->last != NULL) {
        memset(a->last->data + mark.used, 0, a->last->used - mark.used); /* memory comes zeroed */
        a->last->used = mark.used;
    }
}

void qdq_arena_free(qdq_arena *a)
{
    qdq_arena_reset(a, (qdq_arena_mark){NULL, 0});
}
