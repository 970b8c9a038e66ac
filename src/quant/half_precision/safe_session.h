/* safe_session.h - runs a model to inspect its results, even if the engine's optimizations are
 * wrong, or the engine lacks kernels for 16-bit floats. Each deviation is logged with its
 * reason. */
#ifndef QDQ_SAFE_SESSION_H
#define QDQ_SAFE_SESSION_H

#include "ir/ir.h"
#include "qdq/engine.h"

typedef struct qdq_safe_session {
    /* engine and model are the caller's; qdq_safe_open() may replace the model by `copy` */
    qdq_engine *engine;
    const qdq_model *model;
    qdq_session_opts opts;
    /* name in messages: "second model" */
    const char *which;
    /* logs what the engine rejected; NULL: none */
    const qdq_job *job;
    qdq_session *session;
    /* widened model, freed by qdq_safe_close() unless the caller takes it and sets NULL */
    qdq_model *copy;
} qdq_safe_session;

/* Opens s->model. If the engine rejects a model with Q/DQ, opens it without the engine's
 * optimizations; if it has 16-bit floats, opens a copy widened to float32, which becomes s->model
 * and s->copy. */
qdq_status qdq_safe_open(qdq_safe_session *s, qdq_error *err);

/* As qdq_session_run(). If the engine fails during the run, and the model has Q/DQ, runs it again
 * without optimizations. */
qdq_status qdq_safe_run(qdq_safe_session *s, const qdq_named_array *in, size_t n, qdq_output_fn fn,
                        void *ctx, qdq_error *err);

/* Does nothing for a session that was not opened. */
void qdq_safe_close(qdq_safe_session *s);

#endif /* QDQ_SAFE_SESSION_H */
