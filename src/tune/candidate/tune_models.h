/* tune_models.h - models of candidates in the worker. */
#ifndef QDQ_TUNE_MODELS_H
#define QDQ_TUNE_MODELS_H

#include "tune/state/tune_state.h"

/* Counts the tried candidates, isolated schemes included, and those that crashed the engine. */
void qdq_tune_count_deaths(const qdq_tune_state *t, unsigned *died, unsigned *tried);

/* Closes the session of a candidate, except of t->run.base and t->run.raw. */
void qdq_tune_drop(qdq_tune_state *t, qdq_tune_candidate *c);
void qdq_tune_drop_idle(qdq_tune_state *t);

/* Writes its model into the folder of candidates. */
qdq_status qdq_tune_model_file(qdq_tune_state *t, qdq_tune_candidate *c, const char **path,
                               qdq_error *err);

/* Builds a model and checks its outputs; on failure c->failed is set. `path` NULL: writes the model
 * of its plan first. */
qdq_status qdq_tune_build(qdq_tune_state *t, qdq_tune_candidate *c, const char *path,
                          qdq_error *err);

/* Builds model.onnx or another file of the folder, under a name. */
qdq_status qdq_tune_build_written(qdq_tune_state *t, const char *name, const char *file,
                                  qdq_tune_candidate **out, qdq_error *err);

/* Builds the baseline of comparisons: the input, or the input converted. It may have failed. */
qdq_status qdq_tune_build_input(qdq_tune_state *t, qdq_tune_candidate **input, qdq_error *err);

/* Marks a candidate as failed, with the step and the reason. */
void qdq_tune_give_up(qdq_tune_candidate *c, const char *what, const char *why);
void qdq_tune_give_up_by_outcome(qdq_tune_candidate *c, const qdq_remote_outcome *outcome);

#endif /* QDQ_TUNE_MODELS_H */
