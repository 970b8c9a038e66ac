/* vec.h - typed growing arrays in an arena.
 *
 *     typedef QDQ_VEC(qdq_node *) node_vec;
 *     node_vec v = {0};
 *     if (!QDQ_PUSH(arena, &v, node)) return qdq_nomem(err);
 *     for (size_t i = 0; i < v.n; i++) use(v.at[i]);
 *
 * Growing doubles and leaves the old array to the arena: at most as much again as is in use. */
#ifndef QDQ_VEC_H
#define QDQ_VEC_H

#include <string.h>

#include "arena.h"

#define QDQ_VEC(type)                                                                              \
    struct {                                                                                       \
        type *at;                                                                                  \
        size_t n, cap;                                                                             \
    }

/* Makes room for one more element; false when out of memory. */
#define QDQ_RESERVE(arena, v)                                                                      \
    ((v)->n < (v)->cap ||                                                                          \
     qdq_vec_grow((arena), (void **)&(v)->at, &(v)->cap, (v)->n, sizeof *(v)->at))

#define QDQ_PUSH(arena, v, x) (QDQ_RESERVE(arena, v) && ((v)->at[(v)->n++] = (x), true))

#define QDQ_REMOVE_AT(v, i)                                                                        \
    ((v)->n--, memmove(&(v)->at[i], &(v)->at[(i) + 1], ((v)->n - (i)) * sizeof *(v)->at))

bool qdq_vec_grow(qdq_arena *a, void **at, size_t *cap, size_t n, size_t elem_size);

#endif /* QDQ_VEC_H */
