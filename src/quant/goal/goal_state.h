/* goal_state.h - what quantization under a goal knows while it runs: goal.c has the policy,
 * goal_trial.c makes and evaluates plans, goal_layers.c ranks layers. */
#ifndef QDQ_GOAL_STATE_H
#define QDQ_GOAL_STATE_H

#include "base/vec.h"
#include "qdq/goal.h"
#include "quant/calib/calib_seen.h"
#include "quant/calib/scales.h"
#include "quant/compare/compare_run.h"
#include "quant/control_flow/subgraph_data.h"
#include "quant/goal/goal_hook.h"
#include "quant/goal/metric.h"
#include "quant/goal/goal_search.h"
#include "quant/plan/plan.h"
#include "quant/quantize_steps.h"

/* The result and its memory, so that the caller frees one thing. */
typedef struct qdq_goal_room {
    /* the first member */
    qdq_goal_result head;
    qdq_arena arena;
    QDQ_VEC(qdq_goal_step) steps;
    /* of `head` */
    char why[300];
} qdq_goal_room;

/* The format of a layer; from QDQ_FORM_OTHER on: forms.form[form - QDQ_FORM_OTHER] of the run. */
enum { QDQ_FORM_TARGET, QDQ_FORM_FLOAT, QDQ_FORM_OTHER };

/* A plan that was tried. */
typedef struct qdq_goal_tried {
    /* by layer; NULL: all have the target's */
    const unsigned char *form;
    /* layers in float */
    size_t n_gone;
    /* on all samples; false: it missed by the first ones */
    bool is_evaluated;
    bool holds;
    /* nothing is left in 8 bits: what stays is in 8 bits beside others alone */
    bool is_float;
    double sqnr_db, time_fraction;
    /* what the first samples have; every 0: there are too few to look at them */
    qdq_compare_looks early;
    /* it missed */
    const char *why;
    /* NAN: not measured, or none */
    double metric;
    /* NULL: its outputs cannot be compared */
    qdq_compare_result *compared;
} qdq_goal_tried;

/* Times: what the search may take, and what models and layers take. Seconds of the clock. */
typedef struct qdq_goal_clock {
    /* when it began; no new trial after that */
    double begun, until;
    double longest_trial;
    /* about what a run takes */
    double run_s;
    char processor[300];
    /* as measured; in the arena */
    qdq_plan_times times;
    /* a profile's time of a node times that is its time in microseconds */
    double profile_factor;
    /* time of the first plan as a share of the float model's, if they are profiled */
    double eight_share;
} qdq_goal_clock;

/* Formats that layers may have besides float and the target's. */
typedef struct qdq_goal_forms {
    /* in the order in which they are tried, and what users call them */
    qdq_format form[QDQ_MOST_FORMS];
    const char *name[QDQ_MOST_FORMS];
    size_t n;
    /* by node id of the clean model: formats of the plan that is made next, and of all plans; NULL
     * entries: the target's */
    const qdq_format **by_node, **base;
    /* by layer, of the trial that is made */
    unsigned char *tried;
    /* number of trials with layers in these formats */
    unsigned trials;
    /* what a layer saves in each, as saved_fraction; NULL: not measured */
    double *saved[QDQ_MOST_FORMS];
} qdq_goal_forms;

typedef struct qdq_goal_run {
    const qdq_model *m;
    /* the caller's, and that fitted to model and processor */
    const qdq_target *requested, *target;
    qdq_engine *engine;
    qdq_data *data;
    qdq_quantize_opts opts;
    qdq_goal_opts goal;
    qdq_goal_hook hook;
    qdq_goal_room *block;
    qdq_arena arena;
    qdq_model *clean;
    /* of opts.cache, if that has them; NULL: none */
    qdq_statistics *statistics;
    /* with everything in 8 bits that the rules allow */
    qdq_plan *first;
    /* of all plans so far */
    qdq_scales scales;
    qdq_seen seen;
    qdq_recorded recorded;
    /* quantized weights of the clean model */
    qdq_insert_cache codes;
    /* outputs of the float model, from the first trial on */
    qdq_reference_outputs reference_outputs;
    qdq_goal_layer *layers;
    qdq_goal_item *items;
    /* by layer; NULL: in a subgraph */
    const qdq_node **nodes;
    size_t n_layers;
    /* the plan that they were listed for, with their errors; NULL: none */
    const qdq_plan *measured;
    /* the caller's, and room for the layers */
    const char **exclude;
    size_t n_exclude;
    /* what the first plan reported is not reported again */
    qdq_job quiet;
    QDQ_VEC(qdq_goal_tried) tried;
    qdq_goal_trial first_trial;
    /* of the first plan: that with the most noise, where it has folds */
    unsigned worst_fold;
    /* g->first is a variant that has to come nearer to the goal than the plan of tried.at[0] */
    bool is_rival;
    /* what goal.metric points to */
    qdq_metric metric;
    qdq_goal_clock clock;
    qdq_goal_forms forms;
} qdq_goal_run;

/* --- goal_trial.c ----------------------------------------------------------------------------- */

/* Are there samples for variants of the whole plan? A cache takes the place of the runs that would
 * show channels. */
bool qdq_goal_may_vary(const qdq_goal_run *g);

/* What a plan of this run is made from. */
qdq_quantizing qdq_goal_quantizing(qdq_goal_run *g, const qdq_quantize_opts *opts, qdq_plan *p);

/* The plan with these formats of layers; NULL: all have the target's. */
qdq_status qdq_goal_make_plan(qdq_goal_run *g, const unsigned char *form, qdq_plan **out,
                              qdq_error *err);

/* The plan without any layer in 8 bits. */
qdq_status qdq_goal_make_float(qdq_goal_run *g, qdq_plan **out, qdq_error *err);

qdq_status qdq_goal_apply(qdq_goal_run *g, const qdq_plan *p, qdq_model **out, qdq_error *err);

/* What every comparison of this run has: threads, shapes, job. */
qdq_compare_opts qdq_goal_compare_opts(const qdq_goal_run *g);

/* The evaluation data. */
qdq_data *qdq_goal_data(const qdq_goal_run *g);

/* Evaluates a plan with these formats; the result is appended to g->tried. */
qdq_status qdq_goal_evaluate(qdq_goal_run *g, qdq_plan *p, const unsigned char *form,
                             qdq_goal_trial *out, qdq_error *err);

/* Makes and evaluates the plan with these formats, unless it was tried before. */
qdq_status qdq_goal_try_forms(qdq_goal_run *g, const unsigned char *form, qdq_goal_trial *out,
                              qdq_error *err);

/* The last trial of these formats; NULL: none. */
qdq_goal_tried *qdq_goal_find_tried(const qdq_goal_run *g, const unsigned char *form);

/* Is the time of the search over? Not before something holds or some trials were made. */
bool qdq_goal_is_over(const qdq_goal_run *g);

/* Layers that are float. */
size_t qdq_goal_count_float(const qdq_goal_run *g, const unsigned char *form);

/* The first sample of a fold of the first plan; of the number of folds: behind the last. */
size_t qdq_goal_fold_first(const qdq_goal_run *g, unsigned k);

/* Evaluates a trial that missed on its first samples on all of them. */
qdq_status qdq_goal_complete(qdq_goal_run *g, size_t trial, qdq_error *err);

/* Of what is shipped without a trial: a comparison alone. Of a float plan, which differs from the
 * model by roundings, on the first samples, as far as these show any difference. */
qdq_status qdq_goal_compare(qdq_goal_run *g, qdq_plan *p, qdq_compare_result **out, qdq_error *err);

/* Measures the input model, where there is a metric. */
qdq_status qdq_goal_measure_input(qdq_goal_run *g, qdq_error *err);
/* The input model misses min_metric itself: no layer that goes back changes that. */
bool qdq_goal_is_beyond_reach(const qdq_goal_run *g);

/* --- goal_best.c ------------------------------------------------------------------------------ */

/* *out: of the plans with a layer in 8 bits that take at most the share `most` of float's time,
 * that which is nearest to the goal; of those within `within_db` of it, that with the fewest layers
 * in 8 bits. NULL: there is none. */
qdq_status qdq_goal_find_best(qdq_goal_run *g, double most, double within_db, qdq_goal_tried **out,
                              qdq_error *err);

/* Of those with a layer in 8 bits, that with the highest metric; of equal ones the first. NULL:
 * none was measured. */
qdq_goal_tried *qdq_goal_find_best_measured(const qdq_goal_run *g);

/* --- goal_variants.c -------------------------------------------------------------------------- */

/* The first plan misses: tries it with float channels and with corrected biases, as the options
 * allow, and keeps what comes nearer. */
qdq_status qdq_goal_try_variants(qdq_goal_run *g, qdq_error *err);

/* Recurrent layers that stay float in the first plan: tries it with their data quantized at run
 * time, and keeps that unless a goal that held is missed then. */
qdq_status qdq_goal_try_recurrent(qdq_goal_run *g, qdq_error *err);

/* --- goal_forms.c ----------------------------------------------------------------------------- */

/* Lists the formats that the target has besides its own, after the clean model is made. */
qdq_status qdq_goal_list_forms(qdq_goal_run *g, qdq_error *err);

/* Gives other formats to layers that are float in `form`, as far as the goal allows; *reached: it
 * holds with `form`, before and after. */
qdq_status qdq_goal_try_other_forms(qdq_goal_run *g, unsigned char *form, bool *reached,
                                    qdq_error *err);

/* --- goal_layers.c ---------------------------------------------------------------------------- */

/* Lists the layers that can go, with what each loses, once for each first plan. */
qdq_status qdq_goal_measure_errors(qdq_goal_run *g, qdq_error *err);

/* The same with what each saves. */
qdq_status qdq_goal_rank(qdq_goal_run *g, qdq_error *err);

/* For the caller: the worst first. */
void qdq_goal_sort_layers(qdq_goal_run *g);

/* Time of a plan as a share of the float model's. */
qdq_status qdq_goal_time_share(const qdq_goal_run *g, const qdq_plan *p, const unsigned char *form,
                               double *share, qdq_error *err);

#endif /* QDQ_GOAL_STATE_H */
