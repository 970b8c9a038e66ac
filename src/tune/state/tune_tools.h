/* tune_tools.h - the tools of a run: engines, the folder and the store. */
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

/* Each is opened once, and closed with the run. */
typedef struct qdq_tune_tools {
    const char *dir;
    /* the run's job for evaluation, which ends with its time */
    qdq_job timed;
    qdq_cancel *stop;
    /* state of the model's mapped files at the beginning */
    struct stat *stamps;
    /* engine of calibration, in this process */
    qdq_engine *engine;
    /* ort, to verify the engine; NULL: not needed, or unavailable */
    qdq_engine *reference;
    bool sought_reference;
    qdq_tune_folder *folder;
    /* owned by the folder */
    qdq_tempdir *work;
    qdq_candidates *files;
    qdq_worker_client *worker_client;
    qdq_tune_store *store;
    /* identifies the model, engine and machine of the measurements */
    qdq_tune_store_context context;
    /* qdq_tune_search_text() */
    const char *search_text;
    /* hash of the context and of search_text: equal ones are the same run */
    char fingerprint[33];
    qdq_tune_store_run run;
    /* options that the engine's program rejects, separated by spaces; NULL: none known */
    const char *refused;
    /* outputs of the input model on the samples that evaluate */
    qdq_reference_outputs reference_outputs;
    /* hash of the samples that evaluate; "": not yet computed */
    char samples_name[33];
    /* metric of the input model, if the goal has a metric */
    double input_metric;
    /* the metric failed with an error of the caller */
    bool metric_failed;
} qdq_tune_tools;

#endif /* QDQ_TUNE_TOOLS_H */
