/* tune_files.h - what a run writes into its folder on its way. */
#ifndef QDQ_TUNE_FILES_H
#define QDQ_TUNE_FILES_H

#include "quant/report/plan_picture.h"
#include "tune/state/tune_state.h"

/* DIR/NAME; NULL: out of memory. */
const char *qdq_tune_path(qdq_tune_state *t, const char *name);

/* What the result is compared with: the model as it was given, or converted to the precision that
 * ships. */
qdq_status qdq_tune_write_baseline(qdq_tune_state *t, const char *name, qdq_error *err);
/* model.onnx and plan.json of an assignment: the best so far. NULL: the baseline. */
qdq_status qdq_tune_write_best(qdq_tune_state *t, const qdq_plan *p, qdq_error *err);
/* A model that no plan made: the bytes of `file` where it is not NULL and no side file is wanted,
 * else the model. */
qdq_status qdq_tune_write_file(qdq_tune_state *t, const qdq_model *m, const qdq_mapping *file,
                               const char *path, qdq_error *err);
/* The same as model.onnx, with plan.json. */
qdq_status qdq_tune_write_model(qdq_tune_state *t, const qdq_model *m, const qdq_mapping *file,
                                const qdq_plan *p, qdq_error *err);
/* A plan and its model under these names in the folder. */
qdq_status qdq_tune_write_plan(qdq_tune_state *t, const qdq_plan *p, const char *model,
                               const char *plan, qdq_error *err);
/* model.onnx once more, as the plan makes it, with what the picture says in the metadata of its
 * nodes. */
qdq_status qdq_tune_write_annotated(qdq_tune_state *t, const qdq_plan *p, const qdq_picture *x,
                                    qdq_error *err);
/* model_raw.onnx: what a strategy proposed before anything of it was refused; without Q/DQ the
 * baseline. Once in a run. */
qdq_status qdq_tune_write_raw(qdq_tune_state *t, const qdq_assign *a, qdq_error *err);

/* model.onnx and plan.json of an assignment. */
qdq_status qdq_tune_write_assignment(qdq_tune_state *t, const qdq_assign *a, qdq_error *err);

#endif /* QDQ_TUNE_FILES_H */
