/* insert.h - Q/DQ into a graph, as a plan says. Deterministic: the same model and plan give the same bytes. */
#ifndef QDQ_INSERT_H
#define QDQ_INSERT_H

#include "ir/edit.h"
#include "quant/plan/plan.h"

/* Edits `m`, a cleaned private copy. Tensors, nodes and edges that the model does not have are QDQ_E_FORMAT,
 * and the first few are listed; m is then to be thrown away. */
qdq_status qdq_insert(qdq_model *m, const qdq_plan *plan, qdq_error *err);

#endif /* QDQ_INSERT_H */
