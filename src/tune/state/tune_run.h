/* tune_run.h - what was measured so far, and what is best. */
#ifndef QDQ_TUNE_RUN_H
#define QDQ_TUNE_RUN_H

#include "base/map.h"
#include "base/vec.h"
#include "quant/goal/metric.h"
#include "tune/measure/layer_times.h"
#include "tune/search/search.h"
#include "tune/worker_client/worker_client.h"
#include "qdq/tune.h"

/* How near a model comes to the given one, on all evaluation samples. */
typedef struct qdq_tune_evaluation {
    /* Of the worst slice: what the goal is asked of, and as measured. As in qdq_goal_outputs. */
    double goal_db, sqnr_db;
    /* an output whose rows of scores disagree with those of the given model, and the share that
     * agrees; "": there is none */
    const char *disagreeing;
    double agreement;
    double accuracy, given_accuracy; /* NAN without labels */
    qdq_tune_accuracy more;
    qdq_metric_value metric; /* neither value nor words: not measured */
} qdq_tune_evaluation;

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
    bool evaluated; /* `evaluation` is what was found */
    qdq_tune_evaluation evaluation;
    const qdq_tune_times *times;   /* NULL: not profiled */
    const qdq_tune_shapes *shapes; /* built with these; NULL: with those of the search */
    /* its model, which no plan makes; NULL: the plan of `assign` does */
    const char *file;
} qdq_tune_candidate;

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

/* From the first candidate to the last pair. */
typedef struct qdq_tune_run {
    double started;
    double budget_from; /* when the budget of time began: after the calibration */
    bool guarded;       /* the guard has begun: what is left is its own */
    bool cut;           /* the budget ended before all was measured afresh */
    double after_s;     /* of the guard: what comes after the pairs at hand takes so long */
    /* what it took to evaluate a placement, and to verify one that ships; 0: none was */
    double evaluation_s, verify_s;
    QDQ_VEC(qdq_tune_candidate *) candidates;
    qdq_map by_name;   /* name -> candidate */
    qdq_map by_assign; /* hash of an assignment -> candidate */
    qdq_tune_candidate *base;
    qdq_test_opts test;
    qdq_search_opts search_opts;
    qdq_search_result found;
    /* profiles: names of layers say too little, the engine is asked for their nodes, too */
    bool by_nodes;
    /* by costs under a goal: each candidate is evaluated before it is built */
    bool bounded;
    /* the shape of an output depends on data: what decides it is evaluated, of each candidate */
    bool follows;
    unsigned evaluations;  /* of candidates on all evaluation samples */
    bool warns;            /* of a result below the default goal: the model came with Q/DQ */
    bool in_front;         /* what misses the goal is built, too */
    double least_noisy_db; /* SQNR of the best that was evaluated; NAN: none was */
    struct qdq_tune_greedy *greedy; /* by schemes apart; NULL: not so */
    /* what greedy proposed before anything of it was rejected; NULL, or without words: nothing */
    const qdq_assign *proposed;
    /* schemes apart that were measured in this process, and those that ended the engine's */
    unsigned isolated_tried, isolated_died;
    /* What model_raw.onnx has, once that is there: its session stays open for the guard. NULL:
     * nothing yet. */
    qdq_tune_candidate *raw;
    /* lost the last trial of the search: its session goes before the next one */
    qdq_tune_candidate *idle;
    qdq_aa_test epoch;
    const qdq_tune_candidate *marked; /* whose time epoch.base_ns is */
    unsigned epochs, calm_trials;
    bool noisy; /* a control said so, be it long ago */
    unsigned builds, pairs;
    bool measured;  /* something, in this process: before, a run that goes on hears what it knew */
    bool unwritten; /* the incumbent is not in model.onnx */
    QDQ_VEC(qdq_tune_step) steps;
    const char *phase, *unit;
    size_t unit_number;
    double saved;
    /* what the baseline that is in model.onnx saves, as a share: what saves less is not written
     * there; 0: none is */
    double lead;
} qdq_tune_run;

#endif /* QDQ_TUNE_RUN_H */
