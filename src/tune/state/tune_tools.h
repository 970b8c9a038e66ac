/* tune_tools.h - what a run measures with: engines, the folder and the store. */
#ifndef QDQ_TUNE_TOOLS_H
#define QDQ_TUNE_TOOLS_H

#include <sys/stat.h>

#include "base/cancel.h"
#include "base/file.h"
#include "quant/compare/reference_outputs.h"
#include "tune/worker_client/worker_client.h"
#include "tune/space/candidates.h"
#include "tune/store/store.h"
#include "tune/store/tune_folder.h"

/* All are opened once, and closed with the run. */
typedef struct qdq_tune_tools {
    const char *dir;
    qdq_job timed; /* the run's job for evaluation: it is ended when its time is up */
    qdq_cancel *stop;
    struct stat *stamps;   /* of the model's mapped files, when the run began */
    qdq_engine *engine;    /* of calibration, in this process */
    qdq_engine *reference; /* ort, for the engine check; NULL: not needed, or not there */
    bool sought_reference;
    qdq_tune_folder *folder;
    qdq_tempdir *work; /* the folder's */
    qdq_candidates *files;
    qdq_worker_client *lab;
    qdq_tune_store *store;
    qdq_tune_store_context context; /* what all that it holds was measured of and on */
    const char *search_text;        /* qdq_tune_search_text() */
    char fingerprint[33];           /* of the context and of that text: equal ones are one run */
    qdq_tune_store_run run;
    /* options that the engine's program refuses, with spaces between; NULL: none is known */
    const char *refused;
    /* outputs of the given model on the evaluation samples */
    qdq_kept kept;
    /* which samples evaluate, in a few digits; "": not asked yet */
    char samples_name[33];
    double input_metric; /* where the goal has a metric */
    bool metric_failed;  /* with an error of the caller's */
} qdq_tune_tools;

#endif /* QDQ_TUNE_TOOLS_H */
