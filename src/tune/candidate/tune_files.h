/* tune_files.h - the files that a run writes into its folder. */
#ifndef QDQ_TUNE_FILES_H
#define QDQ_TUNE_FILES_H

#include "quant/report/plan_picture.h"
#include "tune/state/tune_state.h"

/* DIR/NAME in the arena; NULL: out of memory. */
const char *qdq_tune_path(qdq_tune_state *t, const char *name);

/* Writes the baseline of comparisons: the input, or the input converted to the final precision. */
qdq_status qdq_tune_write_baseline(qdq_tune_state *t, const char *name, qdq_error *err);
/* Writes model.onnx and plan.json of a plan, the best so far. NULL: the baseline. */
qdq_status qdq_tune_write_best(qdq_tune_state *t, const qdq_plan *p, qdq_error *err);
/* Writes a model that no plan made: the bytes of `file` if it is not NULL and no side file is
 * needed, else the model. */
qdq_status qdq_tune_write_file(qdq_tune_state *t, const qdq_model *m, const qdq_mapping *file,
                               const char *path, qdq_error *err);
/* The same as model.onnx, with plan.json. */
qdq_status qdq_tune_write_model(qdq_tune_state *t, const qdq_model *m, const qdq_mapping *file,
                                const qdq_plan *p, qdq_error *err);
/* Writes a plan and its model under these names. */
qdq_status qdq_tune_write_plan(qdq_tune_state *t, const qdq_plan *p, const char *model,
                               const char *plan, qdq_error *err);
/* Writes model.onnx of the plan again, with the drawing's facts in the metadata of its nodes. */
qdq_status qdq_tune_write_annotated(qdq_tune_state *t, const qdq_plan *p, const qdq_picture *x,
                                    qdq_error *err);
/* Writes model_raw.onnx: a strategy's proposal before any rejection; without Q/DQ the baseline.
 * Once in a run. */
qdq_status qdq_tune_write_raw(qdq_tune_state *t, const qdq_assign *a, qdq_error *err);

/* Writes model.onnx and plan.json of an assignment. */
qdq_status qdq_tune_write_assignment(qdq_tune_state *t, const qdq_assign *a, qdq_error *err);

#endif /* QDQ_TUNE_FILES_H */
