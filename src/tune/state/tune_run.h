/* tune_run.h - the measurements of a run, and its best candidate. */
#ifndef QDQ_TUNE_RUN_H
#define QDQ_TUNE_RUN_H

#include "base/map.h"
#include "base/vec.h"
#include "quant/goal/metric.h"
#include "tune/measure/layer_times.h"
#include "tune/search/search.h"
#include "tune/worker_client/worker_client.h"
#include "qdq/tune.h"

/* The difference between a model and the input, on all samples that evaluate. */
typedef struct qdq_tune_evaluation {
    /* SQNR of the worst slice: the value compared with the goal, and as measured. As in
     * qdq_goal_outputs. */
    double goal_db, sqnr_db;
    /* first output whose rows of scores disagree with the input's, and the fraction of rows that
     * agree; "": all agree */
    const char *disagreeing;
    double agreement;
    /* NAN without labels */
    double accuracy, given_accuracy;
    qdq_tune_accuracy more;
    /* neither value nor words: not measured */
    qdq_metric_value metric;
} qdq_tune_evaluation;

/* An assignment on the engine. Equal plans have equal names, and are built and measured once. */
typedef struct qdq_tune_candidate {
    char name[33];
    qdq_assign assign;
    /* session of the worker client; -1: not built in this process */
    int handle;
    /* it counts as one build while it is open; also a build of an interrupted process */
    bool counted;
    /* its outputs were compared with the float model's */
    bool checked;
    bool failed;
    /* reason of `failed`: it runs, and misses the goal */
    bool misses;
    /* reason of `failed`: the engine computes it wrongly */
    bool wrong;
    /* reason of `failed`: the engine crashed, was ended, or ran out of memory */
    bool died;
    /* it was timed against another candidate */
    bool tried;
    char why[400];
    double sqnr_db;
    /* `evaluation` is set */
    bool evaluated;
    qdq_tune_evaluation evaluation;
    /* NULL: not profiled */
    const qdq_tune_times *times;
    /* shapes that it was built with; NULL: those of the search */
    const qdq_tune_shapes *shapes;
    /* file of its model, if no plan makes it; NULL: the plan of `assign` does */
    const char *file;
} qdq_tune_candidate;

/* A trial of the search, for the report. */
typedef struct qdq_tune_step {
    qdq_search_phase phase;
    /* SIZE_MAX: the whole model */
    size_t unit;
    const char *move;
    const char *candidate;
    qdq_test_result result;
    /* reason; NULL: it was measured */
    const char *failed;
    bool accepted;
    /* saving with this step, if it was accepted */
    double saved;
} qdq_tune_step;

/* The state of a run, from the first candidate to the last pair. */
typedef struct qdq_tune_run {
    double started;
    /* start of the time limit: after calibration */
    double budget_from;
    /* the final validation has begun, and may use all the time that is left */
    bool guarded;
    /* other formats of operators are still to be tried: time is reserved for it */
    bool forms_due;
    /* the time ended before the final validation had measured everything */
    bool cut;
    /* duration of the final validation's steps after its current pairs */
    double after_s;
    /* duration of evaluating a placement, and of verifying one; 0: none yet */
    double evaluation_s, verify_s;
    QDQ_VEC(qdq_tune_candidate *) candidates;
    /* name to candidate */
    qdq_map by_name;
    /* hash of an assignment to candidate */
    qdq_map by_assign;
    qdq_tune_candidate *base;
    qdq_test_opts test;
    qdq_search_opts search_opts;
    qdq_search_result found;
    /* profiles: names of layers are not enough, so that the engine also lists their nodes */
    bool by_nodes;
    /* search by costs with a goal: each candidate is evaluated before it is built */
    bool bounded;
    /* the shape of an output depends on data, so that the values that decide it are evaluated */
    bool follows;
    /* number of candidates evaluated on all samples */
    unsigned evaluations;
    /* warn of a result below the default goal, because the model came with Q/DQ */
    bool warns;
    /* candidates that miss the goal are built too */
    bool in_front;
    /* SQNR of the best candidate evaluated; NAN: none */
    double least_noisy_db;
    /* state of greedy; NULL: another strategy */
    struct qdq_tune_greedy *greedy;
    /* greedy's proposal before any rejection; NULL or empty: none */
    const qdq_assign *proposed;
    /* schemes in isolation that this process measured, and those that crashed the engine */
    unsigned isolated_tried, isolated_died;
    /* The candidate of model_raw.onnx, whose session stays open for the final validation. NULL:
     * none yet. */
    qdq_tune_candidate *raw;
    /* loser of the last trial; its session is closed before the next one */
    qdq_tune_candidate *idle;
    qdq_aa_test aa_test;
    /* the candidate whose time is aa_test.base_ns */
    const qdq_tune_candidate *marked;
    unsigned aa_tests, calm_trials;
    /* an A/A test has shown noise */
    bool noisy;
    unsigned builds, pairs;
    /* this process has measured something; false: a resumed run still replays stored results */
    bool measured;
    /* the incumbent is not in model.onnx */
    bool unwritten;
    QDQ_VEC(qdq_tune_step) steps;
    const char *phase, *unit;
    size_t unit_number;
    double saved;
    /* saving of the baseline in model.onnx, as a fraction: candidates that save less are not
     * written there; 0: none */
    double lead;
} qdq_tune_run;

#endif /* QDQ_TUNE_RUN_H */
