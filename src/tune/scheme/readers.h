/* readers.h - the decisions whose nodes read a tensor. Shared by boundaries.c and
 * choices_scheme.c. */
#ifndef QDQ_READERS_H
#define QDQ_READERS_H

#include "base/vec.h"
#include "tune/space/space.h"

/* A set of groups; each is in it once. */
typedef struct qdq_readers_set {
    const qdq_space *s;
    QDQ_VEC(uint32_t) group;
    /* by group: number of the last set that has it */
    uint32_t *stamp;
    uint32_t n_sets;
} qdq_readers_set;

/* Makes sets of groups of `s`; memory comes from `scratch`. False: out of memory. */
bool qdq_readers_open(qdq_readers_set *r, const qdq_space *s, qdq_arena *scratch);

/* Begins another, empty set. The groups of the last one stay in their arena. */
void qdq_readers_begin(qdq_readers_set *r);

/* Adds all groups of the main graph that read `v`. False: out of memory. */
bool qdq_readers_add(qdq_readers_set *r, const qdq_value *v, qdq_arena *arena);

#endif /* QDQ_READERS_H */
