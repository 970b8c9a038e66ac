/* tune_presets.h - presets, and the settings that depend on them. */
#ifndef QDQ_TUNE_PRESETS_H
#define QDQ_TUNE_PRESETS_H

#include "tune/state/tune_state.h"

/* Rejects options that are out of range, that contradict each other, or that cannot be measured. */
qdq_status qdq_tune_check(const qdq_tune_opts *o, const qdq_target *t, qdq_error *err);

/* Whether the options select greedy, whatever the engine reports. */
bool qdq_tune_wants_greedy(const qdq_tune_opts *o);

const char *qdq_tune_preset_name(qdq_tune_preset p);

/* Number of runs that one sample times together. */
unsigned qdq_tune_sample_runs(const qdq_tune_opts *o);

/* Fills t->run.test and t->run.search_opts from the preset, the user's options, and the engine. */
void qdq_tune_settings(qdq_tune_state *t);
/* Most builds of a search; `cuts`: of one by costs. */
unsigned qdq_tune_max_builds(const qdq_tune_state *t, bool cuts);

/* The steps of a run that build candidates, in their order: t->strategy, single edges, other types
 * of activations and weights alone, other formats of operators. */
typedef enum qdq_tune_stage {
    QDQ_STAGE_SEARCH,
    QDQ_STAGE_EDGES,
    QDQ_STAGE_TYPES,
    QDQ_STAGE_FORMS
} qdq_tune_stage;

/* Most builds of a step and of those before it; 0: no limit. */
unsigned qdq_tune_max_builds_until(const qdq_tune_state *t, qdq_tune_stage stage);

/* Whether builds that are left over go to what was measured to lose on this processor: the user
 * gave their number, or the preset has no limit. */
bool qdq_tune_tries_unlikely(const qdq_tune_state *t);

/* Whether there is a goal and the engine can evaluate it. */
bool qdq_tune_has_goal(const qdq_tune_state *t);

#endif /* QDQ_TUNE_PRESETS_H */
