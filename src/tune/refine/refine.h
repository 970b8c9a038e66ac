/* refine.h - the steps after the search: single edges, other types of activations, weights alone,
 * and other formats of operators. */
#ifndef QDQ_TUNE_REFINE_H
#define QDQ_TUNE_REFINE_H

#include "tune/state/tune_state.h"

/* Tries changes of single edges against t->run.found.best, which then may have a bit for each edge
 * (space_edges.h): changes of the best placement, and of the one with all decisions in 8 bits if
 * the best leaves some float. Takes builds that are left, two or three for each round and two
 * after them, and none on an engine without profiles. Fills t->outcome.edges. */
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

/* Whether operators of the model may have other formats than the target's: the target's engine
 * measures, neither the target nor the user chose formats of operators, and where weights may lose
 * more than the target's, a goal evaluates them. */
bool qdq_tune_offers_forms(const qdq_tune_state *t);

/* Tries operators in other formats (space_forms.h) against t->run.found.best: data quantized at run
 * time of those that are float in it, then of those that are quantized; or other weights of all; as
 * many as the goal allows. Takes builds that are left: one for each format at most, and for trials;
 * without profiles up to two for each. Fills t->outcome.forms. */
qdq_status qdq_tune_try_forms(qdq_tune_state *t, qdq_error *err);

/* Sets t->out->typed from plan.json, after the verdict, and t->outcome.typed_of. */
qdq_status qdq_tune_find_typed(qdq_tune_state *t, qdq_error *err);

#endif /* QDQ_TUNE_REFINE_H */
