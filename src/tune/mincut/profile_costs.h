/* profile_costs.h - a profile told to decisions and to the tensors between them. */
#ifndef QDQ_TUNE_PROFILE_COSTS_H
#define QDQ_TUNE_PROFILE_COSTS_H

#include "tune/mincut/costs.h"
#include "tune/mincut/hyperedges.h"
#include "tune/measure/layer_times.h"
#include "tune/space/space.h"

/* A profile as costs, each of its rows once: of a decision, of a tensor between decisions, or of
 * the rest. */
void qdq_tune_tell_costs(const qdq_space *s, const qdq_nets *nets, const qdq_tune_times *times,
                         qdq_mincut_profile *out);

#endif /* QDQ_TUNE_PROFILE_COSTS_H */
