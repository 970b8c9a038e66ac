/* worker_blobs.h - the folder of files that other machines have sent: named by their SHA-256, whole
 * or not there. Within a limit of bytes, the least recently used are removed first. */
#ifndef QDQ_WORKER_BLOBS_H
#define QDQ_WORKER_BLOBS_H

#include "base/arena.h"

typedef struct qdq_worker_blobs {
    qdq_arena arena;
    const char *dir;
    /* open folders of files, and of parts of files that have not arrived whole */
    int whole, parts;
    uint64_t limit;
} qdq_worker_blobs;

/* Makes the folders. QDQ_E_IO: they cannot be made. */
qdq_status qdq_worker_blobs_open(qdq_worker_blobs *b, const char *dir, uint64_t limit,
                                 qdq_error *err);
void qdq_worker_blobs_close(qdq_worker_blobs *b);

/* How much of a blob is there; -1: all. It counts as used. */
int64_t qdq_worker_blobs_size(const qdq_worker_blobs *b, const char *hash);

typedef struct qdq_worker_piece {
    const char *hash;
    /* of the whole blob; where the piece begins */
    uint64_t size, at;
    const void *data;
    size_t bytes;
} qdq_worker_piece;

/* Adds a piece; *have: what is there then, less than the piece's end if what comes before it is
 * missing. Content with another hash is QDQ_E_FORMAT, and is removed. QDQ_E_IO: the disk is full,
 * or has no room for it within the limit. */
qdq_status qdq_worker_blobs_put(const qdq_worker_blobs *b, const qdq_worker_piece *piece,
                                uint64_t *have, qdq_error *err);

/* A descriptor to read it. -1: it is not there; *err says so. */
int qdq_worker_blobs_read(const qdq_worker_blobs *b, const char *hash, qdq_error *err);

/* Gives it another name in the open folder `dir`; it stays as long as that one. */
qdq_status qdq_worker_blobs_link(const qdq_worker_blobs *b, const char *hash, int dir,
                                 const char *name, qdq_error *err);

#endif /* QDQ_WORKER_BLOBS_H */
