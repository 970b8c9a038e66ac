/* session_model.h - the model as an engine shall get it: input shapes fixed, intermediate tensors
 * exposed. */
#ifndef QDQ_SESSION_MODEL_H
#define QDQ_SESSION_MODEL_H

#include "qdq/engine.h"

/* *out: a clone of m with opts' shapes, expose and only_exposed built in, without node names that
 * several nodes share and, with `no_functions`, without functions; NULL if m can be used as it
 * is. */
qdq_status qdq_session_model(const qdq_model *m, const qdq_session_opts *opts, bool no_functions,
                             qdq_model **out, qdq_error *err);

#endif /* QDQ_SESSION_MODEL_H */
