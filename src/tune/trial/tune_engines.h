/* tune_engines.h - opens the engine in a worker. */
#ifndef QDQ_TUNE_ENGINES_H
#define QDQ_TUNE_ENGINES_H

#include "tune/state/tune_state.h"

/* Options of an engine in this run, with the job t->tools.timed. */
void qdq_tune_engine_opts(qdq_tune_state *t, qdq_engine_opts *out);

/* Opens the engine in a worker: for the whole model on samples; or (parts) for models with fixed
 * shapes and other inputs, on random numbers. */
qdq_status qdq_tune_open_worker_client(qdq_tune_state *t, bool parts, qdq_worker_client **out,
                                       qdq_error *err);

#endif /* QDQ_TUNE_ENGINES_H */
