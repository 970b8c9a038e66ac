/* goal_times.h - the time that each layer saves in 8 bits: from the engine's profile, or from a
 * plan that recorded one. */
#ifndef QDQ_GOAL_TIMES_H
#define QDQ_GOAL_TIMES_H

#include "base/map.h"
#include "quant/goal/goal_state.h"

/* Sets saved_fraction of each layer, eight_share, and is_profiled. Where the engine has no profile,
 * or is not that of the target, estimates from shapes stay. `quantized`: the first plan, applied;
 * by_label: nodes of the clean model. */
qdq_status qdq_goal_take_times(qdq_goal_run *g, const qdq_model *quantized, const qdq_map *by_label,
                               qdq_error *err);

/* Profiles a plan in which layers have the format k of the run (`form`), where layers have been
 * profiled in the first plan, and sets other_saved[k]: 0 for other layers. */
qdq_status qdq_goal_time_form(qdq_goal_run *g, size_t k, const unsigned char *form,
                              const qdq_plan *p, qdq_error *err);

/* Times a plan that was tried, whole runs of it beside the float model: what layers save by
 * themselves does not add up where kernels meet. `trial`: its index in g->tried, whose
 * time_fraction is set. Where recorded times are used and do not have the trial, it stays what it
 * is. */
qdq_status qdq_goal_time_plan(qdq_goal_run *g, size_t trial, const qdq_model *quantized,
                              qdq_error *err);

/* Refuses times that were measured for another target. */
qdq_status qdq_goal_check_times(const qdq_goal_run *g, qdq_error *err);

/* Records in the plan what a clock had a part in, if anything. */
qdq_status qdq_goal_record_times(const qdq_goal_run *g, unsigned trials, qdq_plan *p,
                                 qdq_error *err);

#endif /* QDQ_GOAL_TIMES_H */
