/* shared.h - memory that two processes see: a file without a name, whose descriptor one hands to
 * the other. */
#ifndef QDQ_SHARED_H
#define QDQ_SHARED_H

#include <stddef.h>

#include "base/arena.h"
#include "qdq/status.h"

typedef struct qdq_shared_map {
    struct qdq_shared_map *older;
    unsigned char *data;
    size_t size;
} qdq_shared_map;

typedef struct qdq_shared {
    /* -1: none */
    int fd;
    /* the newest mapping; older ones stay, because arrays in them may be in use */
    qdq_shared_map *map;
} qdq_shared;

#define QDQ_SHARED_INIT                                                                            \
    {                                                                                              \
        -1, NULL                                                                                   \
    }

/* An empty one. QDQ_E_IO: the system has none. */
qdq_status qdq_shared_new(qdq_shared *s, qdq_error *err);

/* Maps at least `size` bytes. The memory grows if it is smaller; a growth by a half leaves room for
 * the next one. */
qdq_status qdq_shared_need(qdq_shared *s, size_t size, qdq_error *err);

/* Maps `size` bytes that the other process has made. QDQ_E_FORMAT: the memory has fewer. */
qdq_status qdq_shared_see(qdq_shared *s, size_t size, qdq_error *err);

unsigned char *qdq_shared_data(const qdq_shared *s); /* NULL: nothing is mapped */

/* Unmaps and closes. */
void qdq_shared_free(qdq_shared *s);

#endif /* QDQ_SHARED_H */
