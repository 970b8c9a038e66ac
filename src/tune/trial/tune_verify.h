/* tune_verify.h - does the engine compute what a candidate says? */
#ifndef QDQ_TUNE_VERIFY_H
#define QDQ_TUNE_VERIFY_H

#include "tune/state/tune_state.h"

/* Fails the candidate of an assignment if the engine computes it wrongly (qdq/check.h): asked once
 * for this engine and processor. */
qdq_status qdq_tune_verify(qdq_tune_state *t, qdq_tune_candidate *c, qdq_error *err);

/* The same if that is known already: such a candidate is not built again. */
qdq_status qdq_tune_recall_wrong(qdq_tune_state *t, qdq_tune_candidate *c, qdq_error *err);

/* The same of what is to be shipped: the model of a plan; NULL: model.onnx, the search's best.
 * Where it is right, the answer is in t->outcome.computed. */
qdq_status qdq_tune_verify_shipped(qdq_tune_state *t, const qdq_plan *p, bool *right,
                                   qdq_error *err);

/* And of the model without Q/DQ, which ships in any case: only told. */
qdq_status qdq_tune_verify_float(qdq_tune_state *t, qdq_error *err);

/* The same of any model, under a name that belongs to its content. *cut: there was no time for an
 * answer. */
qdq_status qdq_tune_verify_model(qdq_tune_state *t, const qdq_model *m, const char *name,
                                 qdq_verify_result *r, bool *cut, qdq_error *err);

#endif /* QDQ_TUNE_VERIFY_H */
