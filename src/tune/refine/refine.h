/* refine.h - what is tried behind the search. */
#ifndef QDQ_TUNE_REFINE_H
#define QDQ_TUNE_REFINE_H

#include "tune/state/tune_state.h"

/* Looks for what single edges bring beyond t->run.found.best, which may have a bit for each edge
 * then (space_edges.h). At most four builds; none without an engine that profiles. Fills
 * t->outcome.edges. */
qdq_status qdq_tune_try_edges(qdq_tune_state *t, qdq_error *err);

/* Looks for what other types of activations bring beyond t->run.found.best, which may have a bit
 * for each edge then. Two builds, three where the best has no profile, and where builds are left
 * one more. Fills t->outcome.types. */
qdq_status qdq_tune_try_types(qdq_tune_state *t, qdq_error *err);

/* Fills t->out->typed from plan.json, once the verdict is known, and t->outcome.typed_of. */
qdq_status qdq_tune_find_typed(qdq_tune_state *t, qdq_error *err);

#endif /* QDQ_TUNE_REFINE_H */
