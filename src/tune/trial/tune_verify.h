/* tune_verify.h - verifies that the engine computes what a candidate's graph says. */
#ifndef QDQ_TUNE_VERIFY_H
#define QDQ_TUNE_VERIFY_H

#include "tune/state/tune_state.h"

/* Fails the candidate of an assignment if the engine computes it wrongly (qdq/check.h). Verified
 * once for this engine and processor. */
qdq_status qdq_tune_verify(qdq_tune_state *t, qdq_tune_candidate *c, qdq_error *err);

/* Fails the candidate if a stored verification says so, without a build. */
qdq_status qdq_tune_recall_wrong(qdq_tune_state *t, qdq_tune_candidate *c, qdq_error *err);

/* Verifies the model to write: that of plan p; NULL: model.onnx, the search's best. If it is right,
 * t->outcome.computed has the result. */
qdq_status qdq_tune_verify_shipped(qdq_tune_state *t, const qdq_plan *p, bool *right,
                                   qdq_error *err);

/* Verifies the model without Q/DQ, which may be written in any case: it only reports the result. */
qdq_status qdq_tune_verify_float(qdq_tune_state *t, qdq_error *err);

/* Verifies any model; `name` identifies its content. *cut: the time ended before a result. */
qdq_status qdq_tune_verify_model(qdq_tune_state *t, const qdq_model *m, const char *name,
                                 qdq_verify_result *r, bool *cut, qdq_error *err);

#endif /* QDQ_TUNE_VERIFY_H */
