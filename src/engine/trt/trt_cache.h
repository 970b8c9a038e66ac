/* trt_cache.h - the timing cache of builds, which trtexec reads at the beginning of a build and
 * writes over at its end, in place and without a lock: two builds at once would lose what one of
 * them timed, and one that dies leaves half a file. So each build works on a copy, one build at a
 * time holds the file, and the copy takes its place at once. */
#ifndef QDQ_TRT_CACHE_H
#define QDQ_TRT_CACHE_H

#include "qdq/status.h"

typedef struct qdq_trt_cache {
    const char *path, *copy;
    /* of the file that is locked; -1: none */
    int fd;
} qdq_trt_cache;

/* Waits until no other process builds with `path`, and copies it to `copy`, which trtexec gets;
 * both names must outlive it. A file that cannot be made or read is a warning: the build does
 * without. QDQ_E_INTERRUPTED while it waits. */
qdq_status qdq_trt_cache_take(qdq_trt_cache *c, const char *path, const char *copy,
                              const qdq_job *job, qdq_error *err);

/* Ends the lock. `built`: the copy takes the place of the file, unless it is empty. */
void qdq_trt_cache_give(qdq_trt_cache *c, bool built, const qdq_job *job);

#endif /* QDQ_TRT_CACHE_H */
