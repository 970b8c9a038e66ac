/* tune_problem.h - from a model to the search's problem. */
#ifndef QDQ_TUNE_PROBLEM_H
#define QDQ_TUNE_PROBLEM_H

#include "tune/extract/shape_range.h"
#include "tune/state/tune_state.h"

/* What users hand in beside the model, and what its units read: mistakes show before anything is
 * measured. */
qdq_status qdq_tune_read(qdq_tune_state *t, qdq_error *err);

/* Choices, units and starts: the search's problem, once groups are weighed. */
qdq_status qdq_tune_build_problem(qdq_tune_state *t, qdq_error *err);

/* Fills in what groups are worth, once the time of the baseline is known. */
qdq_status qdq_tune_weigh(qdq_tune_state *t, qdq_error *err);

/* Adds to the problem, which has its starts, what the rules of the other built-in targets place:
 * what differs from these starts and from one another. */
qdq_status qdq_tune_find_others(qdq_tune_state *t, qdq_error *err);

/* After a strategy that does not try them itself: measures each against t->run.found.best that by
 * t->parts.costs may be as fast, within two standard deviations, while builds are left. Where there
 * are no costs, they are fitted to the profiles that were taken, with no further build; without
 * those nothing rules a placement out. */
qdq_status qdq_tune_try_others(qdq_tune_state *t, qdq_error *err);

/* Regions, and their patterns. */
qdq_status qdq_tune_read_regions(qdq_tune_state *t, qdq_error *err);

/* The groups of a file that users handed in, if they did. */
qdq_status qdq_tune_read_layers(qdq_tune_state *t, qdq_error *err);

/* Groups, keys and patterns, once there is a baseline. */
qdq_status qdq_tune_find_fusions(qdq_tune_state *t, qdq_error *err);

/* Shapes of all values as they are timed: qdq_shape_range_close(). */
qdq_status qdq_tune_open_range(qdq_tune_state *t, qdq_shape_range **out, qdq_error *err);

/* The groups as models of their own, if models are kept. */
qdq_status qdq_tune_write_subgraphs(qdq_tune_state *t, qdq_error *err);

/* An empty one with the limits that users want; `whole`: all schemes that differ at all. */
qdq_pattern_cache qdq_tune_new_cache(const qdq_tune_state *t, bool whole);
/* As text, in the arena (NULL: out of memory): all that decisions depend on: two runs with equal
 * texts are one run; */
const char *qdq_tune_search_text(qdq_tune_state *t, const char *data);
/* all that the length of a search depends on; */
const char *qdq_tune_effort_text(qdq_tune_state *t);
/* all that times depend on; */
const char *qdq_tune_options_text(qdq_tune_state *t);
/* what Q/DQ are, for times of groups in isolation. */
const char *qdq_tune_quant_text(qdq_tune_state *t);

#endif /* QDQ_TUNE_PROBLEM_H */
