/* pack.h - results in one block, which one free() frees: either texts one behind the other in a
 * block that was measured before, or all that a struct points to. */
#ifndef QDQ_PACK_H
#define QDQ_PACK_H

#include <string.h>

/* A copy of a struct and of all that it points to. `fill` hands each pointer to the functions below
 * and takes what they return in its place. It runs twice: first on the struct itself, where they
 * count and return what they were given, then on the copy. */
typedef struct qdq_pack {
    /* NULL: counts */
    char *at;
    size_t used;
} qdq_pack;

void *qdq_pack_array(qdq_pack *p, void *from, size_t n, size_t size); /* NULL stays NULL */
const char *qdq_pack_string(qdq_pack *p, const char *text);           /* NULL stays NULL */

/* The copy, for free(); NULL: out of memory. Of a list, `fill` gets each of its n elements. */
void *qdq_pack_struct(void *from, size_t size, void (*fill)(qdq_pack *p, void *to));
void *qdq_pack_list(void *from, size_t n, size_t size, void (*fill)(qdq_pack *p, void *to));

/* Copies `s` with its NUL to *place, moves *place behind it, and returns the copy. */
static inline char *qdq_pack_text(char **place, const char *s)
{
    size_t size = strlen(s) + 1;
    char *copy = *place;

    memcpy(copy, s, size);
    *place += size;
    return copy;
}

#endif /* QDQ_PACK_H */
