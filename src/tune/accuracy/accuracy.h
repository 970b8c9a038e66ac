/* accuracy.h - goals in accuracy: what candidates do to the outputs, on the evaluation samples;
 * and what each decision does. */
#ifndef QDQ_TUNE_ACCURACY_H
#define QDQ_TUNE_ACCURACY_H

#include "tune/state/tune_state.h"

/* The evaluation samples, random ones where no others were given, and which of them. */
qdq_status qdq_tune_evaluation_data(qdq_tune_state *t, qdq_data **out, qdq_compare_opts *o,
                                    qdq_error *err);

/* Could a sample not be read, or did the metric fail? Then that is no verdict on a model or an
 * engine. */
bool qdq_tune_caller_failed(const qdq_tune_state *t);

/* Runs a plan's model and the given one on them; where there are folds, one model for each. */
qdq_status qdq_tune_compare_plan(qdq_tune_state *t, qdq_plan *p, qdq_tune_evaluation *out,
                                 qdq_error *err);

/* The same of a model. */
qdq_status qdq_tune_compare_model(qdq_tune_state *t, const qdq_model *m, qdq_tune_evaluation *out,
                                  qdq_error *err);

/* Do the outputs have what the goal asks, SQNR and by default agreement? */
bool qdq_tune_outputs_hold(const qdq_goal_opts *g, const qdq_tune_evaluation *h);

/* Does it hold, with this? */
bool qdq_tune_holds(const qdq_tune_state *t, const qdq_tune_evaluation *h);

/* Why it does not, in words that begin with `outputs` or `accuracy`. */
void qdq_tune_miss_text(const qdq_tune_state *t, const qdq_tune_evaluation *h, const char *outputs,
                        const char *accuracy, char *text, size_t size);

/* Harm that was found, over what the goal in SQNR allows; NAN: there is none. */
double qdq_tune_excess(const qdq_tune_state *t, const qdq_tune_evaluation *h);

/* The candidate with all decisions on. */
qdq_status qdq_tune_everything(qdq_tune_state *t, qdq_tune_candidate **out, qdq_error *err);

/* Can accuracy be evaluated, if it is to be? Asked before anything that takes time. */
qdq_status qdq_tune_check_goal(qdq_tune_state *t, qdq_error *err);

/* Is the accuracy of a plan (NULL: of model.onnx) as near to the input model's as the goal wants?
 * Yes without such a goal. */
qdq_status qdq_tune_keeps_accuracy(qdq_tune_state *t, qdq_plan *p, bool *keeps, qdq_error *err);

/* --- evaluate.c ------------------------------------------------------------------------------- */

/* Fills in c->evaluation, for the candidate of an assignment: each is run on all samples once, also
 * of a run that goes on. *known: false if as many were as the user allows. */
qdq_status qdq_tune_evaluate_candidate(qdq_tune_state *t, qdq_tune_candidate *c, bool *known,
                                       qdq_error *err);

/* The same for a step after the search, which may have used up its evaluations: only a limit of the
 * user counts. */
qdq_status qdq_tune_evaluate_after_search(qdq_tune_state *t, qdq_tune_candidate *c, bool *known,
                                          qdq_error *err);

/* Sets t->run.follows. */
qdq_status qdq_tune_find_followers(qdq_tune_state *t, qdq_error *err);

/* The samples of this run, calibration and evaluation, as words of digits: other samples have
 * others. In the arena. */
qdq_status qdq_tune_name_data(qdq_tune_state *t, const char **out, qdq_error *err);

/* The same of a plan. *known: false where no time was left; then the SQNR is NAN. */
qdq_status qdq_tune_evaluate_plan(qdq_tune_state *t, qdq_plan *p, qdq_tune_evaluation *out,
                                  bool *known, qdq_error *err);

/* And of any model, under a name that belongs to its content. */
qdq_status qdq_tune_evaluate_model(qdq_tune_state *t, const qdq_model *m, const char *name,
                                   qdq_tune_evaluation *out, bool *known, qdq_error *err);

/* With a goal: c->failed, if it misses it. */
qdq_status qdq_tune_require_goal(qdq_tune_state *t, qdq_tune_candidate *c, qdq_error *err);

/* Why it is refused, if it is: c->failed and c->misses. `known`: it was evaluated. */
void qdq_tune_compare_with_goal(qdq_tune_state *t, qdq_tune_candidate *c, bool known);

/* --- tune_metric.c ---------------------------------------------------------------------------- */

/* Of a goal with a metric: t->tools.input_metric. */
qdq_status qdq_tune_measure_input(qdq_tune_state *t, qdq_error *err);

/* h->metric of a model, unless there is no metric or the model misses the SQNR. */
qdq_status qdq_tune_measure_metric(qdq_tune_state *t, const qdq_model *m, qdq_tune_evaluation *h,
                                   qdq_error *err);
/* Was it measured, or need it not be? */
bool qdq_tune_knows_metric(const qdq_tune_state *t, const qdq_tune_evaluation *h);

/* Yes without a metric; else `why` gets what was found and expected. */
bool qdq_tune_metric_holds(const qdq_tune_state *t, const qdq_tune_evaluation *h, char *why,
                           size_t size);

/* As qdq_tune_require_goal(), of what won a trial, and only where there is a metric. */
qdq_status qdq_tune_require_metric(qdq_tune_state *t, qdq_tune_candidate *c, qdq_error *err);

/* For the texts that tell runs apart: "" without a metric. In the arena; NULL: out of memory. */
const char *qdq_tune_metric_text(qdq_tune_state *t);

/* --- default_goal.c --------------------------------------------------------------------------- */

/* Fills *goal with the goal of the run: what the options ask for, or the default one. */
void qdq_tune_set_goal(qdq_tune_state *t, qdq_goal_opts *goal);

/* After the final measurement: warns of a result below the default goal where the model's own Q/DQ
 * keep that from being one. */
qdq_status qdq_tune_warn_of_accuracy(qdq_tune_state *t, qdq_error *err);

/* If the rules' assignment misses a goal in SQNR: *out is what is left of it when layers go back to
 * float until the goal holds. *found: false if the goal holds anyway, or nothing reaches it. */
qdq_status qdq_tune_find_goal_start(qdq_tune_state *t, const qdq_assign *rules, qdq_assign *out,
                                    bool *found, qdq_error *err);

/* --- sensitivity.c ---------------------------------------------------------------------------- */

/* Fills in t->parts.harm: what each decision introduces when all are on, by its influence; together
 * as much as was found at the outputs. NULL as before, where that cannot be measured: the engine
 * did not survive it, or an output is zero everywhere. */
qdq_status qdq_tune_find_sensitivities(qdq_tune_state *t, qdq_error *err);

/* --- tune_samples.c --------------------------------------------------------------------------- */

/* Some of the data as a file, all of one shape; NULL: there are none, or none that a file can hold.
 * *n: how many. */
qdq_status qdq_tune_samples(qdq_tune_state *t, const char **path, size_t *n, qdq_error *err);

/* Steps of the sequences that evaluate, and *timed, from 0: the one that is timed. 0: samples are
 * single runs. */
size_t qdq_tune_steps(const qdq_tune_state *t, size_t *timed);

/* The shapes of the first evaluation sample, of all inputs; in the arena. *n_out 0: they grow from
 * step to step of a sequence, so that no engine can fix them. */
qdq_status qdq_tune_sample_shapes(qdq_tune_state *t, const qdq_input_shape **out, size_t *n_out,
                                  qdq_error *err);

#endif /* QDQ_TUNE_ACCURACY_H */
