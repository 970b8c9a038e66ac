/* remote.h - any engine, in another process (`qdq-worker`): what it does to that process is an
 * error of one call, and the next call starts another one. Sessions are opened again when they are
 * used again. */
#ifndef QDQ_REMOTE_H
#define QDQ_REMOTE_H

#include "engine/engine_ops.h"

/* `arg` of open() is the whole spec. Texts of its errors name the engine. */
extern const qdq_engine_ops qdq_engine_remote_ops;

/* Of the machine that its process runs on; as long as the engine. */
const char *qdq_remote_processor(const qdq_engine *e);

/* How often a process of this engine has died. */
unsigned qdq_remote_crashes(const qdq_engine *e);

#endif /* QDQ_REMOTE_H */
