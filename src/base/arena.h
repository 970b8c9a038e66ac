/* arena.h - memory with one lifetime: many small allocations, freed at once.
 *
 * Blocks never move. Memory comes zeroed and aligned for any type. With -DQDQ_ARENA_MALLOC every
 * allocation gets a block of its own, so that sanitizers see overruns. Tests make the n-th
 * allocation fail by wrapping malloc, calloc and realloc at link time (tests/support/alloc_fail.c):
 * the library needs no hook for it. */
#ifndef QDQ_ARENA_H
#define QDQ_ARENA_H

#include <stdarg.h>
#include <stddef.h>

#include "qdq/status.h"

typedef struct qdq_arena_block qdq_arena_block;

typedef struct qdq_arena {
    qdq_arena_block *last;
    /* bytes held from the system */
    size_t total;
} qdq_arena;

typedef struct qdq_arena_mark {
    qdq_arena_block *last;
    size_t used;
} qdq_arena_mark;

#define QDQ_ARENA_INIT                                                                             \
    {                                                                                              \
        NULL, 0                                                                                    \
    }

void *qdq_arena_alloc(qdq_arena *a, size_t size);                /* NULL: out of memory */
void *qdq_arena_array(qdq_arena *a, size_t n, size_t elem_size); /* checks n * elem_size */
/* A copy of n elements. NULL: out of memory. */
void *qdq_arena_copy(qdq_arena *a, const void *from, size_t n, size_t elem_size);
char *qdq_arena_strndup(qdq_arena *a, const char *s, size_t n); /* adds the NUL */
char *qdq_arena_strdup(qdq_arena *a, const char *s);
char *qdq_arena_printf(qdq_arena *a, const char *fmt, ...) QDQ_PRINTF(2, 3);
char *qdq_arena_vprintf(qdq_arena *a, const char *fmt, va_list args) QDQ_PRINTF(2, 0);

/* Everything allocated since the mark is freed. */
qdq_arena_mark qdq_arena_get_mark(const qdq_arena *a);
/* For a loop that resets after every round: there is room behind the mark, so rounds share one
 * block. */
qdq_arena_mark qdq_arena_get_loop_mark(qdq_arena *a);
void qdq_arena_reset(qdq_arena *a, qdq_arena_mark mark);
void qdq_arena_free(qdq_arena *a); /* leaves it empty and usable */

#endif /* QDQ_ARENA_H */
