/* tune_presets.h - presets, and what of the options depends on them. */
#ifndef QDQ_TUNE_PRESETS_H
#define QDQ_TUNE_PRESETS_H

#include "tune/state/tune_state.h"

/* What no program should ask for, and what cannot be measured. */
qdq_status qdq_tune_check(const qdq_tune_opts *o, const qdq_target *t, qdq_error *err);

/* Is greedy what users want, whatever the engine tells? */
bool qdq_tune_wants_greedy(const qdq_tune_opts *o);

const char *qdq_tune_preset_name(qdq_tune_preset p);

/* Runs that are timed as one. */
unsigned qdq_tune_sample_runs(const qdq_tune_opts *o);

/* Fills test and search_opts from the preset, what users set besides, and what the lab's engine
 * is. */
void qdq_tune_settings(qdq_tune_state *t);
/* Builds of a search: of one by costs, or by trying. */
unsigned qdq_tune_max_builds(const qdq_tune_state *t, bool cuts);
/* Of that of t->strategy, with those of single edges after it, */
unsigned qdq_tune_max_builds_with_edges(const qdq_tune_state *t);
/* and with those of other types of activations after these. */
unsigned qdq_tune_max_builds_with_types(const qdq_tune_state *t);

/* Is there a goal that can be evaluated? */
bool qdq_tune_has_goal(const qdq_tune_state *t);

#endif /* QDQ_TUNE_PRESETS_H */
