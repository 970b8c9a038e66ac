/* safe_session.h - runs a model to look at its results, also where the engine's optimizations get
 * it wrong or the engine has no kernels for its 16-bit floats. What was done differently is logged,
 * with the reason. */
#ifndef QDQ_SAFE_SESSION_H
#define QDQ_SAFE_SESSION_H

#include "ir/ir.h"
#include "qdq/engine.h"

typedef struct qdq_safe_session {
    qdq_engine *engine;     /* these are the caller's, */
    const qdq_model *model; /* opening may make this one the copy, */
    qdq_session_opts opts;
    const char *which;  /* a name for messages: "second model" */
    const qdq_job *job; /* hears of what the engine refused; NULL: none */
    qdq_session *session;
    /* and this one, of a model that was widened: freed by qdq_safe_close() unless it is taken
     * away */
    qdq_model *copy;
} qdq_safe_session;

/* Opens s->model; if the engine refuses it and it has Q/DQ, without the engine's optimizations; if
 * it has 16-bit floats, a copy widened to float32, which is then s->model and s->copy. */
qdq_status qdq_safe_open(qdq_safe_session *s, qdq_error *err);

/* As qdq_session_run(); where the engine fails in the run, and the model has Q/DQ, once more
 * without optimizations. */
qdq_status qdq_safe_run(qdq_safe_session *s, const qdq_named_array *in, size_t n, qdq_output_fn fn,
                        void *ctx, qdq_error *err);

/* Nothing to do where it was never opened. */
void qdq_safe_close(qdq_safe_session *s);

#endif /* QDQ_SAFE_SESSION_H */
