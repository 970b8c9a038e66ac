/* tune_state.h - what a run of the tuner knows; shared by the tune*.c files, greedy/, accuracy/ and
 * baseline/ only. */
#ifndef QDQ_TUNE_STATE_H
#define QDQ_TUNE_STATE_H

#include <sys/stat.h>

#include "base/cancel.h"
#include "base/file.h"
#include "base/map.h"
#include "base/vec.h"
#include "quant/calib/scales.h"
#include "quant/compare/kept.h"
#include "quant/quantize_steps.h"
#include "quant/report/plan_picture.h"
#include "qdq/tune.h"
#include "tune/cut/costs.h"
#include "tune/extract/shape_range.h"
#include "tune/group/keys.h"
#include "tune/lab/lab.h"
#include "tune/region/pattern.h"
#include "tune/scheme/pattern_cache.h"
#include "tune/scheme/scheme.h"
#include "tune/search/search.h"
#include "tune/space/candidates.h"
#include "tune/space/nets.h"
#include "tune/space/space.h"
#include "tune/store/store.h"
#include "tune/tune_folder.h"

/* Where the time of a model goes, by ids of the clean model's nodes. */
typedef struct qdq_tune_times {
    double *own, *rows; /* us of the node's kernel, and layers that were it */
    double *border;     /* of conversions beside it; one between two nodes counts for both */
    /* us and layers of conversions of a value, by its id; of one without a name: of what the kernel
     * before it gives */
    double *converted, *conversions;
    double n_rows; /* layers */
    double sum, known;
    double told;   /* of `known`: whose names say nothing, but whose nodes the engine tells */
    bool is_known; /* does the profile say of most of the time where it goes? */
} qdq_tune_times;

/* How near a model comes to the given one, on all samples that judge. */
typedef struct qdq_tune_heard {
    /* of the slice that has least; NAN: an output is zero everywhere */
    double sqnr_db;
    double accuracy, given_accuracy; /* NAN without labels */
    qdq_tune_accuracy more;
} qdq_tune_heard;

/* Shapes of inputs that the engine fixes; n 0: open dims stay open. */
typedef struct qdq_tune_shapes {
    const qdq_input_shape *at;
    size_t n;
} qdq_tune_shapes;

/* What an assignment means on the engine: equal plans have equal names, and are built and measured
 * once. */
typedef struct qdq_tune_candidate {
    char name[33];
    qdq_assign assign;
    int handle;   /* in the lab; -1: not built in this process */
    bool counted; /* among the builds, while it is open; also of the process that was cut off */
    bool checked; /* its outputs were compared with the float model's */
    bool failed;
    bool misses; /* then: it runs, and misses the goal */
    bool wrong;  /* then: the engine computes it wrongly */
    bool died;   /* then: the engine crashed, or was ended, or had no memory */
    bool tried;  /* in a trial, against another one */
    char why[400];
    double sqnr_db;
    bool judged; /* `heard` is what was found */
    qdq_tune_heard heard;
    const qdq_tune_times *times;   /* NULL: not profiled */
    const qdq_tune_shapes *shapes; /* built with these; NULL: with those of the search */
    /* its model, which no plan makes; NULL: the plan of `assign` does */
    const char *file;
} qdq_tune_candidate;

/* What is known of Q/DQ on a single edge. */
typedef struct qdq_tune_edge {
    double
        /* that codes there save, by two profiles: its part of what all like it save; NAN: not
         * known */
        saved_us;
    unsigned alike;         /* edges that were turned with it, itself included */
    bool tried, kept;       /* in a trial, */
    unsigned turned;        /* edges in that trial */
    qdq_test_result result; /* then */
} qdq_tune_edge;

/* What is known of another type of a tensor's codes. */
typedef struct qdq_tune_type {
    size_t type;            /* which one, as in space_types.h; 0: none was looked at */
    double saved_us;        /* by two profiles: its part of what all like it save; NAN: not known */
    unsigned alike;         /* tensors of that kind, itself included */
    bool tried, kept;       /* in a trial, */
    unsigned turned;        /* tensors in that trial */
    size_t trial;           /* its number in the report */
    qdq_test_result result; /* then */
} qdq_tune_type;

/* A trial of the search, for the report. */
typedef struct qdq_tune_step {
    qdq_search_phase phase;
    size_t unit; /* SIZE_MAX: of the whole */
    const char *move;
    const char *candidate;
    qdq_test_result result;
    const char *failed; /* why; NULL: it was measured */
    bool kept;
    double saved; /* with it, if it was kept */
} qdq_tune_step;

/* Executed layers: qdq_free(). */
typedef struct qdq_tune_layers {
    qdq_group *at;
    size_t n;
} qdq_tune_layers;

typedef struct qdq_tuning {
    const qdq_model *m;
    const qdq_target *asked, *target; /* as it was given; with the precision that the model has */
    qdq_data *data;
    const qdq_tune_opts *opts;
    qdq_quantize_opts quantize;
    bool correct; /* biases, once it is known what is shipped */
    const char *dir;
    const qdq_job *job;
    qdq_job timed; /* `job` for what judges: it is ended when its time is up */
    qdq_cancel *stop;
    qdq_arena arena;
    double started;
    double budget_from; /* when the budget of time began: after the calibration */
    bool guarded;       /* the guard has begun: what is left is its own */
    bool cut;           /* the budget ended before all was measured afresh */
    bool slower;        /* with the other dims: what the guard asked last */
    double after_s;     /* of the guard: what comes after the pairs at hand takes so long */
    double judge_s,
        /* what it took to judge a placement, and to verify one that ships; 0: none was */
        verify_s;
    struct stat *stamps; /* of the model's mapped files, when the run began */

    qdq_engine *engine;    /* of calibration, in this process */
    qdq_engine *reference; /* ort, for the engine check; NULL: not needed, or not there */
    bool sought_reference;
    qdq_plan *head;    /* empty: what all plans of the clean model begin with */
    qdq_plan *nothing; /* the plan without Q/DQ, in the precision that ships */
    char nothing_name[33];
    bool converted; /* to that precision: the baseline is not the model as it was given */
    qdq_model *clean;
    qdq_scales scales;
    qdq_plan *rules; /* the plan of the target's rules */
    char rules_name[33];
    qdq_space *space;

    qdq_regions *regions; /* of region mode */
    qdq_fusions *fusions; /* of subgraph mode, like the next two */
    qdq_fusion_keys *keys;
    qdq_tune_layers layers,
        /* of the model without Q/DQ, and with all, as the engine told them; may be none */
        full_layers;
    const qdq_tune_times *full_times; /* of the latter; NULL: not known */
    /* what the engine printed when it was asked for the layers of the former; NULL: it was
     * silent */
    const char *base_log;
    char layers_name[33];   /* of the file that users handed in; "" */
    qdq_patterns *patterns; /* of regions, or of fusion groups */
    QDQ_VEC(const char *)
    filter; /* wildcards on names of nodes: a region must have one that fits; none: any will do */
    qdq_choices *choices;           /* by pattern */
    struct qdq_baseline *baselines; /* models with Q/DQ that were given: baseline/baseline.h */
    size_t n_baselines;
    qdq_pattern_cache known;  /* all of the files that users gave, */
    qdq_pattern_cache thin;   /* and what is tried of it */
    qdq_pattern_cache learnt; /* what this run measured so far */
    qdq_pattern_cache before; /* patterns.yaml of the process that a resumed run goes on after */
    char (*canon)[33];        /* digits of the canonical form of each pattern, */
    char whole[33];           /* and of the model with all that there is to decide */
    const char *effort;       /* what the length of the search depends on, as text */
    /* What another run found out about this model here, to its end; NULL: nothing. While it is not
     * NULL, nothing is explored. */
    const qdq_pattern_schemes *settled;

    qdq_tune_folder *folder;
    qdq_tempdir *work; /* the folder's */
    qdq_candidates *files;
    qdq_lab *lab;
    qdq_tune_store *store;
    qdq_tune_store_context context;    /* what all that it holds was measured of and on */
    const char *search_text;           /* qdq_tune_search_text() */
    char fingerprint[33];              /* of the context and of that text: equal ones are one run */
    struct qdq_autotune_cache *cached; /* that the run began with; NULL: none */
    bool cached_is_mine;               /* it has this fingerprint */
    qdq_tune_store_run run;
    /* options that the engine's program refuses, with spaces between; NULL: none is known */
    const char *refused;
    QDQ_VEC(qdq_tune_candidate *) candidates;
    qdq_map by_name;   /* name -> candidate */
    qdq_map by_assign; /* hash of an assignment -> candidate */
    qdq_tune_candidate *base;

    qdq_test_opts test;
    qdq_search_opts search_opts;
    qdq_search_problem problem;
    qdq_search_result found;
    /* profiles: names of layers say too little, the engine is asked for their nodes, too */
    bool by_nodes;
    bool cuts;    /* by minimum cuts */
    bool bounded; /* and under a goal: each candidate is judged before it is built */
    /* the shape of an output depends on data: what decides it is judged, of each candidate */
    bool follows;
    double shipped_db;    /* SQNR of what the guard judged last; NAN: it judged nothing */
    const double *harm;   /* by decision: noise over signal at the outputs; NULL: not known */
    unsigned evaluations; /* of candidates on all samples that judge */
    qdq_data *random;     /* these, where no others were given */
    qdq_kept kept;        /* what the given model gives on them */
    char judges[33];      /* which ones they are, in a few digits; "": not asked yet */
    /* of minimum cuts: tensors between decisions, and what all cost in the end */
    qdq_nets nets;
    qdq_cut_costs costs;
    bool has_costs;
    bool warns;         /* of a result below the default goal: the model came with Q/DQ */
    qdq_assign reached; /* a start that holds the goal, where the rules' plan misses it */
    bool has_reached;
    bool in_front;                  /* what misses the goal is built, too */
    double final_db, rules_db;      /* SQNR beside the front; NAN: not known, or float */
    double least_noisy_db;          /* SQNR of the best that was judged; NAN: none was */
    struct qdq_tune_greedy *greedy; /* by schemes apart; NULL: not so */
    unsigned apart_tried,
        /* schemes apart that were measured in this process, and those that ended the engine's */
        apart_died;
    /* What model_raw.onnx has, once that is there: its session stays open for the guard. NULL:
     * nothing yet. */
    qdq_tune_candidate *raw;
    /* lost the last trial of the search: its session goes before the next one */
    qdq_tune_candidate *idle;
    qdq_epoch epoch;
    const qdq_tune_candidate *marked; /* whose time epoch.base_ns is */
    unsigned epochs, calm_trials;
    bool noisy; /* a control said so, be it long ago */
    unsigned builds, pairs;
    bool measured;  /* something, in this process: before, a run that goes on hears what it knew */
    bool unwritten; /* the incumbent is not in model.onnx */
    QDQ_VEC(qdq_tune_step) steps;
    /* by edge of the space, as tune_edges.c found them; NULL: it was not asked */
    qdq_tune_edge *edges;
    qdq_tune_type *types; /* by number of a typed tensor (space_types.h); NULL: it was not asked */
    /* Names of the tensors of t->out->typed, and which of these each is one of. */
    QDQ_VEC(const char *) typed_name;
    QDQ_VEC(size_t) typed_of;
    const char *phase, *unit;
    size_t unit_number;
    double saved;
    double
        /* what the baseline that is in model.onnx saves, as a share: what saves less is not written
           there; 0: none is */
        lead;
    qdq_tune_result *out;
} qdq_tuning;

/* DIR/NAME; NULL: out of memory. */
const char *qdq_tune_path(qdq_tuning *t, const char *name);

/* Some of the data as a file; NULL: there are none, or none that a file can hold. */
qdq_status qdq_tune_samples(qdq_tuning *t, const char **path, qdq_error *err);

/* The shapes of the first sample that judges, of all inputs; in the arena. */
qdq_status qdq_tune_sample_shapes(qdq_tuning *t, const qdq_input_shape **out, size_t *n_out,
                                  qdq_error *err);

/* Options of an engine in this run, with the job t->timed. */
void qdq_tune_engine_opts(qdq_tuning *t, qdq_engine_opts *out);

/* Tells who watches. */
void qdq_tune_show(qdq_tuning *t, const char *phase);

/* Tells why what is fastest does not ship: now, and in the report. */
void qdq_tune_tell_miss(qdq_tuning *t, const char *fmt, ...) QDQ_PRINTF(2, 3);

/* A phase of the search, as people call it in this mode. */
const char *qdq_tune_phase_name(const qdq_tuning *t, qdq_search_phase phase);

/* Tells who wants to know more how a trial ended. */
void qdq_tune_tell(const qdq_tuning *t, const qdq_tune_step *s);

/* The engine in a worker: for the whole model on samples, or (parts) for models whose inputs have
 * fixed shapes and other names, on random numbers. */
qdq_status qdq_tune_open_lab(qdq_tuning *t, bool parts, qdq_lab **out, qdq_error *err);

/* --- tune_refused.c --------------------------------------------------------------------------- */

/* What the store knows of options that the engine's program refuses; the run's lab is told. */
qdq_status qdq_tune_recall_refused(qdq_tuning *t, qdq_error *err);
/* Tells another lab. */
qdq_status qdq_tune_tell_refused(const qdq_tuning *t, qdq_lab *lab, qdq_error *err);
/* After a lab was asked something: what its engine has refused since is kept in the store, and told
 * users once. */
qdq_status qdq_tune_note_refused(qdq_tuning *t, const qdq_lab *lab, qdq_error *err);

/* --- tune_plans.c ----------------------------------------------------------------------------- */

/* The clean model, and the precision that ships. */
qdq_status qdq_tune_prepare(qdq_tuning *t, qdq_error *err);

/* The space, all scales, and the rules' plan. */
qdq_status qdq_tune_calibrate(qdq_tuning *t, qdq_error *err);

/* From now on plans have corrected biases, if users want them; so has the rules' plan. */
qdq_status qdq_tune_correct(qdq_tuning *t, qdq_error *err);

/* The plan of an assignment: qdq_plan_free(). */
qdq_status qdq_tune_plan_of(qdq_tuning *t, const qdq_assign *a, qdq_plan **out, qdq_error *err);

/* --- tune_presets.c --------------------------------------------------------------------------- */

/* What no program should ask for, and what cannot be measured. */
qdq_status qdq_tune_check(const qdq_tune_opts *o, const qdq_target *t, qdq_error *err);

/* Is greedy what users want, whatever the engine tells? */
bool qdq_tune_wants_greedy(const qdq_tune_opts *o);

/* Fills test and search_opts from the preset, what users set besides, and what the lab's engine
 * is. */
void qdq_tune_settings(qdq_tuning *t);
/* Builds of a search: of one by minimum cuts, or by trying. */
unsigned qdq_tune_max_builds(const qdq_tuning *t, bool cuts);
/* With those of single edges after it, */
unsigned qdq_tune_max_builds_with_edges(const qdq_tuning *t, bool cuts);
/* and with those of other types of activations after these. */
unsigned qdq_tune_max_builds_with_types(const qdq_tuning *t, bool cuts);
/* Are time and builds left for these, of `most` in all? 0: builds have no limit. */
bool qdq_tune_has_builds(const qdq_tuning *t, unsigned builds, unsigned most);
/* An empty one with the limits that users want; `whole`: all schemes that differ at all. */
qdq_pattern_cache qdq_tune_new_cache(const qdq_tuning *t, bool whole);
/* All that decisions depend on, as text: two runs with equal texts are one run. In the arena; NULL:
 * out of memory. */
const char *qdq_tune_search_text(qdq_tuning *t, const char *data);
const char *qdq_tune_effort_text(qdq_tuning *t);  /* all that the length of a search depends on */
const char *qdq_tune_options_text(qdq_tuning *t); /* all that times depend on */
const char *qdq_tune_quant_text(qdq_tuning *t);   /* what Q/DQ are, for times of groups apart */

/* --- tune_problem.c --------------------------------------------------------------------------- */

/* What users hand in beside the model, and in region mode regions and patterns: mistakes show
 * before anything is measured. */
qdq_status qdq_tune_read(qdq_tuning *t, qdq_error *err);

/* Choices, units and starts: the search's problem, once groups are weighed. */
qdq_status qdq_tune_pose(qdq_tuning *t, qdq_error *err);

/* --- tune_patterns.c -------------------------------------------------------------------------- */

/* Names patterns and the model for pattern caches, once the engine is open; fills t->settled. */
qdq_status qdq_tune_name_patterns(qdq_tuning *t, qdq_error *err);

/* What the run learnt from a trial, into patterns.yaml; before the first one (NULL) that of the
 * model without Q/DQ. */
qdq_status qdq_tune_learn(qdq_tuning *t, const qdq_search_event *e, qdq_error *err);

/* patterns.yaml when all is over. */
qdq_status qdq_tune_write_patterns(qdq_tuning *t, qdq_error *err);

/* --- tune_known.c ----------------------------------------------------------------------------- */

/* Schemes that caches have for a pattern as bits over its choices, those that are measured on this
 * engine and device first; each once, as many as users want to be tried. In the arena. */
qdq_status qdq_tune_find_seeds(qdq_tuning *t, size_t pattern, qdq_assign **out, size_t *n,
                               qdq_error *err);

/* The entry of a pattern whose schemes are tried first; NULL: caches do not have it. */
const qdq_pattern_schemes *qdq_tune_best_entry(const qdq_tuning *t, size_t pattern);

/* An assignment in digits, by which caches know it; in the arena. NULL: out of memory. */
const char *qdq_tune_placement_text(const qdq_tuning *t, const qdq_assign *a, qdq_arena *arena);

/* The time of a measured candidate as a share of the baseline's. */
double qdq_tune_share_of(const qdq_search_event *e);

/* The fastest placement that caches have for this very model, whatever it was measured on: *found
 * is false where there is none. */
qdq_status qdq_tune_find_placement(qdq_tuning *t, qdq_assign *out, bool *found, qdq_error *err);

/* Tries what t->settled says is best. If that is as fast as it says, and no start that nobody
 * measured is faster, *done is true, and t->found is what a search would have found; else
 * t->settled is NULL from now on. */
qdq_status qdq_tune_follow_known(qdq_tuning *t, bool *done, qdq_error *err);

/* The time of a placement as a share of the baseline's, if another run with this store, or
 * t->settled, knows it; NAN. */
qdq_status qdq_tune_known_share(qdq_tuning *t, const qdq_assign *a, double *out, qdq_error *err);

/* Puts what a trial found into the store, for other runs. */
qdq_status qdq_tune_remember_share(qdq_tuning *t, const qdq_search_event *e, qdq_error *err);

/* --- tune_others.c ---------------------------------------------------------------------------- */

/* Adds to the problem, which has its starts, what the rules of the other built-in targets place:
 * what differs from these starts and from one another. */
qdq_status qdq_tune_find_others(qdq_tuning *t, qdq_error *err);

/* After a strategy that does not try them itself: measures each against t->found.best that by
 * t->costs may be as fast, within two standard deviations, while builds are left. Where there are
 * no costs, they are fitted to the profiles that were taken, with no further build; without those
 * nothing rules a placement out. */
qdq_status qdq_tune_try_others(qdq_tuning *t, qdq_error *err);

/* --- tune_profile.c --------------------------------------------------------------------------- */

/* Times of a graph's nodes from a list of layers in order of execution: [{"name", "op", "us"},
 * ...]; NULL: nobody knows anything. Arrays in the arena. */
qdq_status qdq_tune_attribute(const qdq_graph *g, const json_t *list, qdq_arena *arena,
                              qdq_tune_times *out, qdq_error *err);

/* Fills in c->times, where nobody has. */
qdq_status qdq_tune_profile(qdq_tuning *t, qdq_tune_candidate *c, qdq_error *err);

/* The same from layers that were asked for their nodes, if they have times. */
qdq_status qdq_tune_profile_from(qdq_tuning *t, qdq_tune_candidate *c, const qdq_group *g, size_t n,
                                 qdq_error *err);

/* JSON that the store has under a key: json_decref(). *out NULL: nothing, or nothing that can be
 * read. */
qdq_status qdq_tune_recall(qdq_tuning *t, const char *key, json_t **out, qdq_error *err);

/* Puts it there, and takes it; NULL: there was no memory for it. */
qdq_status qdq_tune_remember(qdq_tuning *t, const char *key, json_t *j, qdq_error *err);

/* The same by content: also for other models. */
qdq_status qdq_tune_recall_content(qdq_tuning *t, const char *key, json_t **out, qdq_error *err);
qdq_status qdq_tune_remember_content(qdq_tuning *t, const char *key, json_t *j, qdq_error *err);

/* The same by bits, as the search wants it. *known: false where the engine cannot, or says too
 * little. */
qdq_status qdq_tune_profile_bits(qdq_tuning *t, const qdq_assign *a, qdq_search_cost *cost,
                                 bool *known, qdq_error *err);

/* --- tune_fusions.c --------------------------------------------------------------------------- */

/* The groups of a file that users handed in, if they did. */
qdq_status qdq_tune_read_layers(qdq_tuning *t, qdq_error *err);

/* Groups, keys and patterns, once there is a baseline. */
qdq_status qdq_tune_find_fusions(qdq_tuning *t, qdq_error *err);

/* --- tune_subgraphs.c ------------------------------------------------------------------------- */

/* Shapes of all values as they are timed: qdq_shape_range_close(). */
qdq_status qdq_tune_open_range(qdq_tuning *t, qdq_shape_range **out, qdq_error *err);

/* The groups as models of their own, if models are kept. */
qdq_status qdq_tune_write_subgraphs(qdq_tuning *t, qdq_error *err);

/* --- tune_cut.c ------------------------------------------------------------------------------- */

/* May minimum cuts be searched for? Not where the baseline's profile is missing, or says too
 * little; then t->cuts is false, the preset's bounds are those of region mode, and the user is
 * told, unless greedy was asked for. QDQ_E_UNSUPPORTED: mincut was. */
qdq_status qdq_tune_choose_strategy(qdq_tuning *t, qdq_error *err);

/* A profile as costs, each of its rows once: of a decision, of a tensor between decisions, or of
 * the rest. */
void qdq_tune_tell_costs(const qdq_space *s, const qdq_nets *nets, const qdq_tune_times *times,
                         qdq_cut_profile *out);

/* Searches by minimum cuts: what qdq_search_run() does, into t->found. */
qdq_status qdq_tune_cut(qdq_tuning *t, qdq_error *err);

/* --- tune_edges.c ----------------------------------------------------------------------------- */

/* Looks for what single edges bring beyond t->found.best, which may have a bit for each edge then
 * (space_edges.h). At most four builds; none without an engine that profiles. Fills t->edges. */
qdq_status qdq_tune_try_edges(qdq_tuning *t, qdq_error *err);

/* --- tune_types.c ----------------------------------------------------------------------------- */

/* Looks for what other types of activations bring beyond t->found.best, which may have a bit for
 * each edge then. Two builds, three where the best has no profile, and where builds are left one
 * more. Fills t->types. */
qdq_status qdq_tune_try_types(qdq_tuning *t, qdq_error *err);

/* Fills t->out->typed from plan.json, once the verdict is known, and t->typed_of. */
qdq_status qdq_tune_find_typed(qdq_tuning *t, qdq_error *err);

/* --- tune_cache.c ----------------------------------------------------------------------------- */

#define QDQ_AUTOTUNE_CACHE "autotune_cache.json"

/* It as things stand. */
qdq_status qdq_tune_write_cache(qdq_tuning *t, const qdq_assign *incumbent, bool completed,
                                qdq_error *err);

/* --- tune_cache_read.c ------------------------------------------------------------------------ */

/* In subgraph mode, before anything is measured: reads the file that is in the folder, into
 * t->cached, and sets it aside if it is not this run's. A run that goes on sees what it saw when it
 * began. qdq_tune_close_cache() in any case. */
qdq_status qdq_tune_open_cache(qdq_tuning *t, qdq_error *err);
void qdq_tune_close_cache(qdq_tuning *t);

/* What that file places: groups by their schemes, without those that it rejected. False: it has no
 * group of this model with Q/DQ. */
bool qdq_tune_cached_start(const qdq_tuning *t, qdq_assign *a);

/* --- tune_weigh.c ----------------------------------------------------------------------------- */

/* Fills in what groups are worth, once the time of the baseline is known. */
qdq_status qdq_tune_weigh(qdq_tuning *t, qdq_error *err);

/* --- tune_names.c ----------------------------------------------------------------------------- */

/* The candidate of an assignment. */
qdq_status qdq_tune_candidate_of(qdq_tuning *t, const qdq_assign *a, qdq_tune_candidate **out,
                                 qdq_error *err);

/* 32 digits of a plan's text. */
qdq_status qdq_tune_name_plan(const qdq_plan *p, char name[33], qdq_error *err);

/* A candidate that is no assignment of the space: a model file under a name. */
qdq_status qdq_tune_candidate_named(qdq_tuning *t, const char *name, qdq_tune_candidate **out,
                                    qdq_error *err);

/* --- tune_fault.c ----------------------------------------------------------------------------- */

/* Begins the words of a failure of files or memory that the engine reported. */
#define QDQ_TUNE_SYSTEM "system"

/* Do these words of a failed candidate (its `why`) tell that the engine crashed, hung or ran out of
 * memory? */
bool qdq_tune_tells_death(const char *why);

/* Who was at fault by these words: "model", which fails again, or "machine", on which it may work
 * another time. */
const char *qdq_tune_fault_name(const char *why);

/* --- tune_trials.c ---------------------------------------------------------------------------- */

/* Has the search no time left? What the guard and the writing take is kept for them, from the first
 * measured build on. */
bool qdq_tune_time_is_up(const qdq_tuning *t);

/* Seconds of the budget that are left, below 0 after its end; INFINITY: there is none. */
double qdq_tune_left_s(const qdq_tuning *t);

/* How long the guard takes, once pairs have shown that something is faster: to judge, to verify,
 * and with other dims. */
double qdq_tune_after_pairs_s(const qdq_tuning *t);

/* Did a candidate fail only because its time was up? Then it may be tried again. */
bool qdq_tune_was_cut(const qdq_tuning *t, qdq_tune_candidate *c);

/* From now on the lab lets nothing run longer than there is time: that of the search, or in the
 * guard the whole budget. */
void qdq_tune_set_deadline(const qdq_tuning *t, qdq_lab *lab);

/* What is done between the two with the job t->timed ends with QDQ_E_INTERRUPTED when its time is
 * up: that of the search, or in the guard the whole budget. qdq_tune_end_timed() then sets *cut,
 * and returns QDQ_OK. */
void qdq_tune_begin_timed(qdq_tuning *t);
qdq_status qdq_tune_end_timed(qdq_tuning *t, qdq_status st, bool *cut);

/* How many of the candidates that were tried ended the engine's process, of how many; schemes apart
 * are among them. */
void qdq_tune_count_deaths(const qdq_tuning *t, unsigned *died, unsigned *tried);

/* It is not run any more: its session goes. Those of t->base and t->raw stay. */
void qdq_tune_drop(qdq_tuning *t, qdq_tune_candidate *c);
void qdq_tune_drop_idle(qdq_tuning *t);

/* Writes its model into the folder of candidates. */
qdq_status qdq_tune_model_file(qdq_tuning *t, qdq_tune_candidate *c, const char **path,
                               qdq_error *err);

/* Is its model built, and are its outputs right? `path` NULL: written from its plan. Not so:
 * c->failed. */
qdq_status qdq_tune_build(qdq_tuning *t, qdq_tune_candidate *c, const char *path, qdq_error *err);

/* A test between two; the `nth` of them. Samples that the store has are taken from there. *failed:
 * a leg died. */
qdq_status qdq_tune_compare(qdq_tuning *t, qdq_tune_candidate *a, qdq_tune_candidate *b,
                            unsigned nth, const qdq_test_opts *test, qdq_test_result *out,
                            bool *failed, qdq_error *err);

/* The A/A control of a new epoch. */
qdq_status qdq_tune_control(qdq_tuning *t, qdq_tune_candidate *c, qdq_error *err);

/* model.onnx and plan.json of an assignment. */
qdq_status qdq_tune_write_assignment(qdq_tuning *t, const qdq_assign *a, qdq_error *err);

/* The search's eyes. */
qdq_search_ops qdq_tune_search_ops(qdq_tuning *t);

typedef struct qdq_tune_tried {
    qdq_test_result result;
    bool failed, kept; /* kept: it is faster by the test */
} qdq_tune_tried;

/* One trial of a phase behind the search: measures `candidate` beside `incumbent`, counts and
 * reports it. t->found.predicted_ns follows what is kept, t->found.best is the caller's. Where the
 * budget is used up: failed, and t->found.ended_early. */
qdq_status qdq_tune_try(qdq_tuning *t, qdq_search_phase phase, const char *move,
                        const qdq_assign *incumbent, const qdq_assign *candidate,
                        qdq_tune_tried *out, qdq_error *err);

/* --- tune_verify.c ---------------------------------------------------------------------------- */

/* Fails the candidate of an assignment if the engine computes it wrongly (qdq/check.h): asked once
 * for this engine and processor. */
qdq_status qdq_tune_verify(qdq_tuning *t, qdq_tune_candidate *c, qdq_error *err);

/* The same if that is known already: such a candidate is not built again. */
qdq_status qdq_tune_recall_wrong(qdq_tuning *t, qdq_tune_candidate *c, qdq_error *err);

/* The same of what is to be shipped: the model of a plan; NULL: model.onnx, the search's best.
 * Where it is right, the answer is in t->out->computed. */
qdq_status qdq_tune_verify_shipped(qdq_tuning *t, const qdq_plan *p, bool *right, qdq_error *err);

/* And of the model without Q/DQ, which ships in any case: only told. */
qdq_status qdq_tune_verify_float(qdq_tuning *t, qdq_error *err);

/* The same of any model, under a name that belongs to its content. *cut: there was no time for an
 * answer. */
qdq_status qdq_tune_verify_model(qdq_tuning *t, const qdq_model *m, const char *name,
                                 qdq_verify_result *r, bool *cut, qdq_error *err);

/* --- tune_guard.c ----------------------------------------------------------------------------- */

/* Fresh pairs of what was written against the input and against the rules' plan: the best becomes
 * model.onnx. */
qdq_status qdq_tune_guard(qdq_tuning *t, qdq_error *err);

/* What was given, or converted: what the guard compares with. */
qdq_status qdq_tune_build_input(qdq_tuning *t, qdq_tune_candidate **input, qdq_error *err);

/* --- tune_write.c ----------------------------------------------------------------------------- */

/* What the result is compared with: the model as it was given, or converted to the precision that
 * ships. */
qdq_status qdq_tune_write_baseline(qdq_tuning *t, const char *name, qdq_error *err);
/* model.onnx and plan.json of an assignment: the best so far. NULL: the baseline. */
qdq_status qdq_tune_write_best(qdq_tuning *t, const qdq_plan *p, qdq_error *err);
/* A model that no plan made: the bytes of `file` where it is not NULL and no side file is wanted,
 * else the model. */
qdq_status qdq_tune_write_file(qdq_tuning *t, const qdq_model *m, const qdq_mapping *file,
                               const char *path, qdq_error *err);
/* The same as model.onnx, with plan.json. */
qdq_status qdq_tune_write_model(qdq_tuning *t, const qdq_model *m, const qdq_mapping *file,
                                const qdq_plan *p, qdq_error *err);
/* A plan and its model under these names in the folder. */
qdq_status qdq_tune_write_plan(qdq_tuning *t, const qdq_plan *p, const char *model,
                               const char *plan, qdq_error *err);
/* model.onnx once more, as the plan makes it, with what the picture says in the metadata of its
 * nodes. */
qdq_status qdq_tune_write_annotated(qdq_tuning *t, const qdq_plan *p, const qdq_picture *x,
                                    qdq_error *err);
/* model_raw.onnx: what a strategy proposed before anything of it was refused; without Q/DQ the
 * baseline. Once in a run. */
qdq_status qdq_tune_write_raw(qdq_tuning *t, const qdq_assign *a, qdq_error *err);
/* report.json, patterns.yaml, report.html */
qdq_status qdq_tune_write_results(qdq_tuning *t, qdq_error *err);

/* --- tune_overruled.c ------------------------------------------------------------------------- */

/* Fills t->out->overruled from plan.json, once the verdict is known. */
qdq_status qdq_tune_find_overruled(qdq_tuning *t, qdq_error *err);

/* --- tune_picture.c --------------------------------------------------------------------------- */

/* The drawing of what was written, which is `p`: it refers to p and to t. */
qdq_status qdq_tune_draw(qdq_tuning *t, const qdq_plan *p, qdq_plan_picture *out, qdq_error *err);

/* --- tune_report.c ---------------------------------------------------------------------------- */

/* report.html: what came out, how the search went, what won where. */
qdq_status qdq_tune_write_page(qdq_tuning *t, qdq_error *err);

#endif /* QDQ_TUNE_STATE_H */
