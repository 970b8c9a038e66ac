/* qdq/pass.h - named passes that clean a model without changing what it computes. */
#ifndef QDQ_PASS_H
#define QDQ_PASS_H

#include "model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The list of passes: name and one line of help; NULL past the end. */
QDQ_API const char *qdq_pass_name(size_t i, const char **help);

/* The pipeline that quantization runs before placement, as text. */
QDQ_API const char *qdq_pass_default_pipeline(void);

/* Runs a pipeline, "lift-constants,drop-identity,...", until nothing changes (at most 20 rounds). An unknown
 * name is QDQ_E_USAGE, a model that is not sound QDQ_E_FORMAT. On later failure the model may be half changed,
 * but is sound. */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_run_passes(qdq_model *m, const char *pipeline, qdq_error *err);

#ifdef __cplusplus
}
#endif
#endif /* QDQ_PASS_H */
