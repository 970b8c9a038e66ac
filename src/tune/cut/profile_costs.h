/* profile_costs.h - a profile told to decisions and to the tensors between them. */
#ifndef QDQ_TUNE_PROFILE_COSTS_H
#define QDQ_TUNE_PROFILE_COSTS_H

#include "tune/cut/costs.h"
#include "tune/cut/nets.h"
#include "tune/measure/layer_times.h"
#include "tune/space/space.h"

/* A profile as costs, each of its rows once: of a decision, of a tensor between decisions, or of
 * the rest. */
void qdq_tune_tell_costs(const qdq_space *s, const qdq_nets *nets, const qdq_tune_times *times,
                         qdq_cut_profile *out);

#endif /* QDQ_TUNE_PROFILE_COSTS_H */
