/* union_find.h - which numbers belong together, each part under its lowest number. `part` has the
 * number itself for each number before any are joined. */
#ifndef QDQ_UNION_FIND_H
#define QDQ_UNION_FIND_H

#include <stdint.h>

/* The number under which the part of i goes. */
static inline uint32_t qdq_part_of(uint32_t *part, uint32_t i)
{
    while (part[i] != i)
        i = part[i] = part[part[i]];
    return i;
}

static inline void qdq_part_join(uint32_t *part, uint32_t a, uint32_t b)
{
    a = qdq_part_of(part, a);
    b = qdq_part_of(part, b);
    part[a < b ? b : a] = a < b ? a : b;
}

#endif /* QDQ_UNION_FIND_H */
