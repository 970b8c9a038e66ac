/* weights_file.h - a file that only grows, and where pieces of data lie in it. What was mapped of
 * it stays as it was. */
#ifndef QDQ_WEIGHTS_FILE_H
#define QDQ_WEIGHTS_FILE_H

#include "base/file.h"
#include "base/span.h"

typedef struct qdq_weights_file {
    char *path; /* the caller's, as long as the file */
    int fd;     /* -1: not open */
    uint64_t size;
} qdq_weights_file;

/* An empty file at `path`; what a run that was cut off left there is gone. */
qdq_status qdq_weights_file_open(qdq_weights_file *f, char *path, qdq_error *err);
void qdq_weights_file_close(qdq_weights_file *f);

/* Appends the pieces, each aligned, piece i at offset[i]; *map is a reference of the file as it is
 * then. On failure the file is as before. */
qdq_status qdq_weights_file_append(qdq_weights_file *f, const qdq_span *piece, size_t n,
                                   qdq_mapping **map, size_t *offset, qdq_error *err);

/* A new file with this data, not synced: what is measured and thrown away need not survive. `path`
 * gets it whole or not at all. */
qdq_status qdq_write_scratch_file(const char *path, const void *data, size_t size, qdq_error *err);

#endif /* QDQ_WEIGHTS_FILE_H */
