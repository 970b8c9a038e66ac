/* remote_model.h - a model on its way between two processes. Weights that lie in files go as names
 * of files, which the other process maps; all else lies in shared memory, which it maps, too. */
#ifndef QDQ_REMOTE_MODEL_H
#define QDQ_REMOTE_MODEL_H

#include "engine/remote/remote_message.h"
#include "qdq/model.h"

/* Adds a model to a question: `name`, `offset` and `size` of the graph in the shared memory, and
 * `files`: [{path, dev, ino, size}, ...]. *fd is the memory's descriptor, which the caller closes;
 * -1 on failure. */
qdq_status qdq_remote_model_put(const qdq_model *m, qdq_json_out question, int *fd, qdq_error *err);

/* The model of a question. Takes the descriptor. QDQ_E_IO: a file is another one than it was. */
qdq_status qdq_remote_model_get(const qdq_json_place *question, int fd, qdq_model **out,
                                qdq_error *err);

#endif /* QDQ_REMOTE_MODEL_H */
