/* readers.h - the slot groups that read tensors. Shared by boundaries.c and choices_scheme.c. */
#ifndef QDQ_READERS_H
#define QDQ_READERS_H

#include "base/vec.h"
#include "tune/space/space.h"

/* Each group once. */
typedef struct qdq_readers_set {
    const qdq_space *s;
    QDQ_VEC(uint32_t) group;
    uint32_t *stamp; /* by group: number of the last set that has it */
    uint32_t n_sets;
} qdq_readers_set;

/* For sets of groups of `s`; memory comes from `scratch`. False: out of memory. */
bool qdq_readers_open(qdq_readers_set *r, const qdq_space *s, qdq_arena *scratch);

/* Begins another set, which is empty. The groups of the last one stay in the arena that they were
 * added to. */
void qdq_readers_begin(qdq_readers_set *r);

/* Adds all groups of the main graph that read `v`. False: out of memory. */
bool qdq_readers_add(qdq_readers_set *r, const qdq_value *v, qdq_arena *arena);

#endif /* QDQ_READERS_H */
