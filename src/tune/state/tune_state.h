/* tune_state.h - what a run of the tuner knows: for the rooms from state/ on. */
#ifndef QDQ_TUNE_STATE_H
#define QDQ_TUNE_STATE_H

#include <sys/stat.h>

#include "base/cancel.h"
#include "base/file.h"
#include "base/map.h"
#include "base/vec.h"
#include "qdq/tune.h"
#include "quant/calib/scales.h"
#include "quant/compare/kept.h"
#include "quant/quantize_steps.h"
#include "quant/report/plan_picture.h"
#include "tune/cut/costs.h"
#include "tune/cut/nets.h"
#include "tune/extract/shape_range.h"
#include "tune/group/keys.h"
#include "tune/lab/lab.h"
#include "tune/measure/layer_times.h"
#include "tune/region/pattern.h"
#include "tune/scheme/pattern_cache.h"
#include "tune/scheme/scheme.h"
#include "tune/search/search.h"
#include "tune/space/candidates.h"
#include "tune/space/space.h"
#include "tune/store/store.h"
#include "tune/store/tune_folder.h"

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

typedef struct qdq_tune_units qdq_tune_units; /* units.h */
typedef struct qdq_strategy qdq_strategy;     /* strategy.h */

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
    const qdq_tune_units *units;
    const qdq_strategy *strategy;
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
    /* what greedy proposed before anything of it was rejected; NULL, or without words: nothing */
    const qdq_assign *proposed;
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

#endif /* QDQ_TUNE_STATE_H */
