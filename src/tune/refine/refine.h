/* refine.h - the steps after the search: single edges, other types of activations, weights alone,
 * and data quantized at run time. */
#ifndef QDQ_TUNE_REFINE_H
#define QDQ_TUNE_REFINE_H

#include "tune/state/tune_state.h"

/* Tries changes of single edges against t->run.found.best, which then may have a bit for each edge
 * (space_edges.h): changes of the best placement, and of the one with all decisions in 8 bits if
 * the best leaves some float. Takes builds that are left, two or three for each round, and none on
 * an engine without profiles. Fills t->outcome.edges. */
qdq_status qdq_tune_try_edges(qdq_tune_state *t, qdq_error *err);

/* Tries other types of activations against t->run.found.best, which then may have a bit for each
 * edge: those for this processor, or those that are listed for other ones (`elsewhere`). Takes two
 * builds, three if the best has no profile, and one more if builds are left. Fills
 * t->outcome.types. */
qdq_status qdq_tune_try_types(qdq_tune_state *t, bool elsewhere, qdq_error *err);

/* Tries to quantize only the weights of linear operators that are float in t->run.found.best, if
 * the target has kernels for it (`weights_alone`). Takes two builds that are left, three if the
 * best has no profile, and none on an engine without profiles. Fills t->outcome.weights. */
qdq_status qdq_tune_try_weights(qdq_tune_state *t, qdq_error *err);

/* Whether operators of the model may have their data quantized at run time: the target's engine
 * measures, and neither the target nor the user chose formats of operators. */
bool qdq_tune_offers_dynamic(const qdq_tune_state *t);

/* Tries operators whose data is quantized at run time (space_dynamic.h) against t->run.found.best:
 * those that are float in it, then those that are quantized; as many as the goal allows. Takes
 * builds that are left, two or three for each of both. Fills t->outcome.dynamic. */
qdq_status qdq_tune_try_dynamic(qdq_tune_state *t, qdq_error *err);

/* Sets t->out->typed from plan.json, after the verdict, and t->outcome.typed_of. */
qdq_status qdq_tune_find_typed(qdq_tune_state *t, qdq_error *err);

#endif /* QDQ_TUNE_REFINE_H */
