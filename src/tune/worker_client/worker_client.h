/* worker_client.h - builds, runs and times models with an engine in another process (`qdq-worker`),
 * so that an engine that crashes, hangs or runs out of memory costs one trial.
 *
 * The worker lives on between calls and keeps models open. If it ends, the next call starts another
 * one, which opens models again when they are used. While it times a model, nothing else of qdq
 * runs. */
#ifndef QDQ_WORKER_CLIENT_H
#define QDQ_WORKER_CLIENT_H

#include "engine/remote/remote_process.h"
#include "qdq/engine.h"

typedef struct qdq_worker_client qdq_worker_client;

typedef struct qdq_worker_client_opts {
    /* spec, as for qdq_engine_open() */
    const char *engine;
    /* options of the engine, without folders, program and job; NULL: defaults */
    const qdq_engine_opts *engine_opts;
    /* program; NULL: "qdq-worker" next to the running program, else in PATH */
    const char *worker;
    /* folder of the run's temporary files; the worker makes its own in it, which is removed with
     * the client; NULL: none */
    const char *work;
    /* folder for one log for each build, named after the model: the request, the outcome, the
     * output; NULL: none */
    const char *logs;
    /* threads of the engine; 0: 1 */
    int threads;
    const qdq_input_shape *shapes;
    size_t n_shapes;
    /* in seconds; 0: 600 */
    double build_deadline_s;
    /* for one sample or run, in seconds; 0: 60 */
    double run_deadline_s;
    /* limit of the worker's address space, in bytes; 0: none */
    uint64_t max_memory;
    /* runs before the first sample of a model; 0: 2 */
    unsigned warmup;
    /* least runs of a sample; 0: 1 */
    unsigned sample_runs;
    /* least duration of a sample, which repeats runs; 0: 5 */
    double sample_ms;
    /* of random inputs */
    uint64_t seed;
    /* .npz with inputs: the first sample for timing, all for comparisons; NULL: random */
    const char *samples;
    /* how many are in it, each with equally many entries along the first axis; 0: these are cut as
     * arrays of data are */
    size_t n_samples;
    const qdq_job *job;
} qdq_worker_client_opts;

/* Starts a worker. QDQ_E_ENGINE: the program or the engine is unavailable; the message says which.
 * *out is freed with qdq_worker_client_close(). */
qdq_status qdq_worker_client_open(const qdq_worker_client_opts *opts, qdq_worker_client **out,
                                  qdq_error *err);
/* NULL is allowed. */
void qdq_worker_client_close(qdq_worker_client *worker_client);

/* Limits later calls: runs of models end at `until` (qdq_clock_seconds(); INFINITY: only the
 * options limit them), but have at least a second; a build has at most the duration of the longest
 * one so far, and one second, beyond that. */
void qdq_worker_client_set_until(qdq_worker_client *worker_client, double until);

/* Duration of the longest build and of the longest pair so far, in seconds; 0: none. */
double qdq_worker_client_build_s(const qdq_worker_client *worker_client);
double qdq_worker_client_pair_s(const qdq_worker_client *worker_client);

/* Name, version, device and capabilities of the engine in the worker. Borrowed as long as the
 * client. */
const qdq_engine_info *qdq_worker_client_engine(const qdq_worker_client *worker_client);

/* The processor of the machine on which the worker runs. Borrowed as long as the client. */
const char *qdq_worker_client_processor(const qdq_worker_client *worker_client);

/* The output of the worker and its engine during the last call. Borrowed until the next call. */
const char *qdq_worker_client_output(const qdq_worker_client *worker_client, size_t *size);

/* Options that the engine's program has rejected, separated by spaces; "": none. Borrowed as long
 * as the client. */
const char *qdq_worker_client_refused(const qdq_worker_client *worker_client);
/* Adds options that are known to be rejected; they are not tried. */
qdq_status qdq_worker_client_refuse(qdq_worker_client *worker_client, const char *options,
                                    qdq_error *err);

/* Number of sessions built, including A/A tests and the final validation. */
unsigned qdq_worker_client_builds(const qdq_worker_client *worker_client);

/* Builds a session for a model file. *handle is only valid if the outcome is fine. */
qdq_status qdq_worker_client_build(qdq_worker_client *worker_client, const char *path, int *handle,
                                   qdq_remote_outcome *outcome, qdq_error *err);
/* Shapes that the engine fixes for inputs; n 0: open dims stay open. */
typedef struct qdq_tune_shapes {
    const qdq_input_shape *at;
    size_t n;
} qdq_tune_shapes;

/* The same with other shapes than those of the options (NULL: with those), which must outlive the
 * client. */
qdq_status qdq_worker_client_build_shaped(qdq_worker_client *worker_client, const char *path,
                                          const qdq_tune_shapes *shapes, int *handle,
                                          qdq_remote_outcome *outcome, qdq_error *err);
void qdq_worker_client_drop(qdq_worker_client *worker_client, int handle);

/* Times one sample of a, then one of b (`b_first`: in reverse order): mean time of a run in each.
 * `number` is the index of the pair in its trial: engines with virtual time (sim) compute their
 * noise from it, so that a replayed trial has the same times. */
qdq_status qdq_worker_client_pair(qdq_worker_client *worker_client, int a, int b, bool b_first,
                                  uint64_t number, double *a_ns, double *b_ns,
                                  qdq_remote_outcome *outcome, qdq_error *err);

typedef struct qdq_worker_client_accuracy {
    /* no output has NaN or infinity where the other model has a finite value */
    bool finite;
    /* SQNR of the worst slice; INFINITY: equal; NAN: an output of a is zero everywhere; -INFINITY:
     * not finite, or an output whose shape depends on data has another shape */
    double sqnr_db;
} qdq_worker_client_accuracy;

/* Runs both models on the samples, and compares b's outputs with a's. */
qdq_status qdq_worker_client_compare(qdq_worker_client *worker_client, int a, int b,
                                     qdq_worker_client_accuracy *out, qdq_remote_outcome *outcome,
                                     qdq_error *err);

/* Times executed layers, in a session of its own. *out is freed with qdq_free(). */
qdq_status qdq_worker_client_profile(qdq_worker_client *worker_client, const char *path,
                                     unsigned runs, qdq_layer **out, size_t *n,
                                     qdq_remote_outcome *outcome, qdq_error *err);

/* Lists executed layers with their nodes, in a session of its own: see qdq_session_layers(). All
 * nodes of the file must have names. *out is freed with qdq_free(). */
qdq_status qdq_worker_client_groups(qdq_worker_client *worker_client, const char *path,
                                    unsigned runs, qdq_layer **out, size_t *n,
                                    qdq_remote_outcome *outcome, qdq_error *err);

#endif /* QDQ_WORKER_CLIENT_H */
