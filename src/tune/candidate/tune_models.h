/* tune_models.h - models of candidates in the lab. */
#ifndef QDQ_TUNE_MODELS_H
#define QDQ_TUNE_MODELS_H

#include "tune/state/tune_state.h"

/* How many of the candidates that were tried ended the engine's process, of how many; schemes apart
 * are among them. */
void qdq_tune_count_deaths(const qdq_tune_state *t, unsigned *died, unsigned *tried);

/* It is not run any more: its session goes. Those of t->run.base and t->run.raw stay. */
void qdq_tune_drop(qdq_tune_state *t, qdq_tune_candidate *c);
void qdq_tune_drop_idle(qdq_tune_state *t);

/* Writes its model into the folder of candidates. */
qdq_status qdq_tune_model_file(qdq_tune_state *t, qdq_tune_candidate *c, const char **path,
                               qdq_error *err);

/* Is its model built, and are its outputs right? `path` NULL: written from its plan. Not so:
 * c->failed. */
qdq_status qdq_tune_build(qdq_tune_state *t, qdq_tune_candidate *c, const char *path,
                          qdq_error *err);

/* model.onnx or another file of the folder, under a name. */
qdq_status qdq_tune_build_written(qdq_tune_state *t, const char *name, const char *file,
                                  qdq_tune_candidate **out, qdq_error *err);

/* What was given, or converted: what results are compared with. It may have failed. */
qdq_status qdq_tune_build_input(qdq_tune_state *t, qdq_tune_candidate **input, qdq_error *err);

/* It is failed from now on: by what, and in which words. */
void qdq_tune_give_up(qdq_tune_candidate *c, const char *what, const char *why);
void qdq_tune_give_up_by_outcome(qdq_tune_candidate *c, const qdq_remote_outcome *outcome);

#endif /* QDQ_TUNE_MODELS_H */
