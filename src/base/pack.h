/* pack.h - results in one block, which one free() frees: a struct or a list, and all that it points
 * to. */
#ifndef QDQ_PACK_H
#define QDQ_PACK_H

#include <stddef.h>

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
/* An array of n strings, and the strings. */
const char **qdq_pack_strings(qdq_pack *p, const char *const *text, size_t n);

/* The copy, for free(); NULL: out of memory. Of a list, `fill` gets each of its n elements. */
void *qdq_pack_struct(void *from, size_t size, void (*fill)(qdq_pack *p, void *to));
void *qdq_pack_list(void *from, size_t n, size_t size, void (*fill)(qdq_pack *p, void *to));

#endif /* QDQ_PACK_H */
