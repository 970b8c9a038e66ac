/* weights_file.h - a file that only grows, with the offsets of its data. Mappings of it stay
 * valid. */
#ifndef QDQ_WEIGHTS_FILE_H
#define QDQ_WEIGHTS_FILE_H

#include "base/file.h"
#include "base/span.h"

typedef struct qdq_weights_file {
    /* borrowed from the caller as long as the file is open */
    char *path;
    /* -1: not open */
    int fd;
    uint64_t size;
} qdq_weights_file;

/* Opens an empty file at `path`; the file of an interrupted run is replaced. */
qdq_status qdq_weights_file_open(qdq_weights_file *f, char *path, qdq_error *err);
void qdq_weights_file_close(qdq_weights_file *f);

/* Appends n pieces, each aligned, and sets offset[i] for piece i. *map is a new reference to the
 * file as it is now. On failure the file is unchanged. */
qdq_status qdq_weights_file_append(qdq_weights_file *f, const qdq_span *piece, size_t n,
                                   qdq_mapping **map, size_t *offset, qdq_error *err);

/* Writes a new file with this data, whole or not at all. It is not synced, because measured files
 * need not survive a crash of the system. */
qdq_status qdq_write_scratch_file(const char *path, const void *data, size_t size, qdq_error *err);

#endif /* QDQ_WEIGHTS_FILE_H */
