/* worker_place.h - puts files that came from another machine where a question needs them, and their
 * paths into the question. Knows no links. */
#ifndef QDQ_WORKER_PLACE_H
#define QDQ_WORKER_PLACE_H

#include "base/file.h"
#include "base/json_read.h"
#include "worker/worker_blobs.h"

typedef struct qdq_worker_places {
    const qdq_worker_blobs *blobs;
    /* private folder of the connection, in which each model has one of its own */
    const char *dir;
    unsigned n;
} qdq_worker_places;

/* Puts files in place for the members that the list `place` names, and sets these in `question`.
 * *fd: memory that goes with it, or -1. *made: folder of what only this question needs, for
 * qdq_tempdir_remove() after its answer, in the arena; NULL: none. QDQ_E_FORMAT: the list is
 * malformed, or names what a question has not. */
qdq_status qdq_worker_place(qdq_worker_places *w, const qdq_json_place *ask, json_t *question,
                            int *fd, const char **made, qdq_error *err);

#endif /* QDQ_WORKER_PLACE_H */
