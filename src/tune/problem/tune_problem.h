/* tune_problem.h - makes the search problem of a model. */
#ifndef QDQ_TUNE_PROBLEM_H
#define QDQ_TUNE_PROBLEM_H

#include "tune/extract/shape_range.h"
#include "tune/state/tune_state.h"

/* Reads the user's files, so that errors appear before any measurement. */
qdq_status qdq_tune_read(qdq_tune_state *t, qdq_error *err);

/* Makes choices, units and starts, after the groups have their costs. Sets t->run.found to the
 * all-float plan. */
qdq_status qdq_tune_build_problem(qdq_tune_state *t, qdq_error *err);

/* Sets the costs of groups, after the baseline was timed. */
qdq_status qdq_tune_weigh(qdq_tune_state *t, qdq_error *err);

/* Adds the placements of the other built-in targets' rules to the problem, if they differ from its
 * starts and from each other. */
qdq_status qdq_tune_find_others(qdq_tune_state *t, qdq_error *err);

/* After a strategy that does not try them itself: measures each of these placements that may be as
 * fast as t->run.found.best by t->parts.costs, within two standard deviations, while builds are
 * left. If there are no costs, it fits them to existing profiles, without a build; without profiles
 * it tries all. */
qdq_status qdq_tune_try_others(qdq_tune_state *t, qdq_error *err);

/* After the search: measures these placements edge by edge, where edges differ from what decisions
 * can say. Their decisions alone predict their time, as above. Leaves two builds to single
 * edges. None after greedy, which keeps to what it measured in isolation. */
qdq_status qdq_tune_try_others_by_edges(qdq_tune_state *t, qdq_error *err);

/* Finds regions and their patterns. */
qdq_status qdq_tune_read_regions(qdq_tune_state *t, qdq_error *err);

/* Reads the file of layers from the user, if any, and finds its groups. */
qdq_status qdq_tune_read_layers(qdq_tune_state *t, qdq_error *err);

/* Finds groups, keys and patterns, after the baseline was built. */
qdq_status qdq_tune_find_fusions(qdq_tune_state *t, qdq_error *err);

/* Shapes of all values in timed runs. *out is freed with qdq_shape_range_close(). */
qdq_status qdq_tune_open_range(qdq_tune_state *t, qdq_shape_range **out, qdq_error *err);

/* Writes each group as a model, if the options keep models. */
qdq_status qdq_tune_write_subgraphs(qdq_tune_state *t, qdq_error *err);

/* An empty cache with the limits of the options; `whole`: no limits. */
qdq_pattern_cache qdq_tune_new_cache(const qdq_tune_state *t, bool whole);
/* These return text in the arena; NULL: out of memory. All that decisions depend on: runs with
 * equal texts are the same run. */
const char *qdq_tune_search_text(qdq_tune_state *t, const char *data);
/* All that the length of a search depends on. */
const char *qdq_tune_effort_text(qdq_tune_state *t);
/* All that times depend on. */
const char *qdq_tune_options_text(qdq_tune_state *t);
/* The quantization that times of isolated groups depend on. */
const char *qdq_tune_quant_text(qdq_tune_state *t);

#endif /* QDQ_TUNE_PROBLEM_H */
