/* layer_file.h - layers of an engine in a file of our own, so that a later run need not build to
 * know them:
 *
 *   {"qdq_layers": 1, "engine", "engine_version", "device", "fingerprint",
 *    "layers": [{"layer", "kernel", "in", "out", "us", "conversion", "by", "nodes": [...],
 * "tensor"}]}
 *
 * `inspect --groups --json` prints one, too; other keys are passed over. */
#ifndef QDQ_LAYER_FILE_H
#define QDQ_LAYER_FILE_H

#include "qdq/engine.h"

/* Whether it is one of these, rather than what trtexec exports. */
bool qdq_layer_file_is(const char *text, size_t size);

/* `name` is for messages. *out is freed with qdq_free(). */
qdq_status qdq_layer_file_parse(const char *text, size_t size, const char *name, qdq_layer **out,
                                size_t *n, qdq_error *err);

/* qdq_layers_write() with a fingerprint of all that the layers depend on; NULL: null. */
qdq_status qdq_layer_file_write(const char *path, const qdq_layer *g, size_t n,
                                const qdq_engine_info *info, const char *fingerprint,
                                qdq_error *err);

/* Did the last one to write this file say that fingerprint? No, too, where there is none, or
 * nothing that can be read. */
qdq_status qdq_layer_file_is_of(const char *path, const char *fingerprint, bool *is,
                                qdq_error *err);

#endif /* QDQ_LAYER_FILE_H */
