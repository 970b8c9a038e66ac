/* passes.h - what a pass is: it edits one graph, and the manager judges whether something changed. */
#ifndef QDQ_PASSES_H
#define QDQ_PASSES_H

#include "ir/edit.h"
#include "qdq/pass.h"

typedef qdq_status (*qdq_pass_fn)(qdq_graph *g, qdq_error *err);

#define PASS(name, function, help) qdq_status function(qdq_graph *g, qdq_error *err);
#include "opt/passes.def"
#undef PASS

#endif /* QDQ_PASSES_H */
