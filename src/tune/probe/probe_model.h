/* probe_model.h - the model of a probe at one size, made in memory from its text. */
#ifndef QDQ_PROBE_MODEL_H
#define QDQ_PROBE_MODEL_H

#include "ir/ir.h"
#include "target/target_rule.h"

/* Weights are the values with a type and without data that no node gives: normal numbers, divided
 * by the root of how many are added up (all but the first dim), from `seed` and their names.
 * QDQ_E_FORMAT with the place in the graph: an error in its text, a parameter without a value, a
 * weight that is not float or has open dims, a model that the verifier refuses. */
qdq_status qdq_probe_make_model(const qdq_probe *p, const qdq_probe_size *size, uint64_t seed,
                                qdq_model **out, qdq_error *err);

#endif /* QDQ_PROBE_MODEL_H */
