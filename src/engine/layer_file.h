/* layer_file.h - layers of an engine in a file of our own, so that a later run need not build to know them:
 *
 *   {"qdq_layers": 1, "engine", "engine_version", "device",
 *    "layers": [{"layer", "kernel", "in", "out", "us", "conversion", "by", "nodes": [...]}]}
 *
 * `inspect --groups --json` prints one, too; other keys are passed over. */
#ifndef QDQ_LAYER_FILE_H
#define QDQ_LAYER_FILE_H

#include "qdq/engine.h"

/* Whether it is one of these, rather than what trtexec exports. */
bool qdq_layer_file_is(const char *text, size_t size);

/* `name` is for messages. *out is freed with qdq_free(). */
qdq_status qdq_layer_file_parse(const char *text, size_t size, const char *name, qdq_group **out, size_t *n,
                                qdq_error *err);

#endif /* QDQ_LAYER_FILE_H */
