/* remote_files.h - files and memory that a question refers to, on their way to another machine:
 * each is named by its SHA-256 there, and travels once. Knows no questions. */
#ifndef QDQ_REMOTE_FILES_H
#define QDQ_REMOTE_FILES_H

#include "base/file.h"
#include "base/map.h"
#include "base/vec.h"
#include "engine/remote/remote_link.h"
#include "qdq/model.h"

/* Hashes of what was read before, by file, place in it and time of change. A file that has only
 * grown since keeps those of its places, as the files of weights do that the tuner adds to. */
typedef struct qdq_remote_hashes {
    qdq_map known;
    qdq_arena arena;
} qdq_remote_hashes;

void qdq_remote_hashes_free(qdq_remote_hashes *h);

typedef struct qdq_remote_blob {
    char hash[65];
    const void *data;
    size_t size;
} qdq_remote_blob;

/* What goes along with one question; zero is an empty one. */
typedef struct qdq_remote_parcel {
    qdq_arena arena;
    qdq_remote_hashes *hashes;
    QDQ_VEC(qdq_remote_blob) blobs;
    /* where the data lies, which stays mapped until the end */
    QDQ_VEC(qdq_mapping *) maps;
    QDQ_VEC(qdq_model *) models;
    QDQ_VEC(char *) graphs;
    /* the key `place` of the question */
    qdq_json_doc place;
} qdq_remote_parcel;

void qdq_remote_parcel_begin(qdq_remote_parcel *p, qdq_remote_hashes *hashes);
void qdq_remote_parcel_free(qdq_remote_parcel *p);

/* Which file is meant: one that has been replaced since is QDQ_E_IO. */
typedef struct qdq_remote_stamp {
    int64_t dev, ino, size;
} qdq_remote_stamp;

/* Adds a file, whose path there becomes the member `to` with `prefix` ("": none) in front; `index`
 * is that in the list `files`. `stamp` NULL: whatever is there. */
qdq_status qdq_remote_parcel_file(qdq_remote_parcel *p, const char *to, size_t index,
                                  const char *prefix, const char *path,
                                  const qdq_remote_stamp *stamp, qdq_error *err);

/* Adds a model file: its larger weights travel apart, so that models which share them do not bring
 * them again. */
qdq_status qdq_remote_parcel_model(qdq_remote_parcel *p, const char *to, const char *path,
                                   qdq_error *err);

/* Adds memory that goes with the question as a descriptor. */
qdq_status qdq_remote_parcel_memory(qdq_remote_parcel *p, int fd, qdq_error *err);

/* Sends what is not there yet, from where an earlier transfer was interrupted. */
qdq_status qdq_remote_parcel_send(qdq_remote_parcel *p, qdq_remote_link *l,
                                  const qdq_cancel *cancel, qdq_error *err);

#endif /* QDQ_REMOTE_FILES_H */
