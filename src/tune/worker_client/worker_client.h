/* worker_client.h - where models are built, run and timed: an engine in a worker process
 * (`qdq-worker`, exec'd), so that an engine that crashes, traps, hangs or eats memory costs one
 * trial.
 *
 * The worker lives on between calls and keeps models open. When it dies, the next call starts
 * another one; models that were open are opened again when they are used. Times are taken with
 * nothing else of ours running. */
#ifndef QDQ_WORKER_CLIENT_H
#define QDQ_WORKER_CLIENT_H

#include "engine/remote/remote_process.h"
#include "qdq/engine.h"

typedef struct qdq_worker_client qdq_worker_client;

typedef struct qdq_worker_client_opts {
    const char *engine; /* spec, as for qdq_engine_open() */
    /* of its folders, program and job nothing is used; NULL: the defaults */
    const qdq_engine_opts *engine_opts;
    const char *worker; /* program; NULL: "qdq-worker" beside the running program, then in PATH */
    /* folder of the run's temporary files: the worker puts its own into it, and removes it when the
     * lab dies; NULL: none */
    const char *work;
    /* folder for one file per build, named after the model's: what was asked, how it ended, output;
     * NULL: none */
    const char *logs;
    int threads; /* of the engine; 0: 1 */
    const qdq_input_shape *shapes;
    size_t n_shapes;
    double build_deadline_s; /* 0: 600 */
    double run_deadline_s;   /* of one leg or run; 0: 60 */
    uint64_t max_memory;     /* address space of the worker; 0: no limit */
    unsigned warmup;         /* runs before the first timed leg of a model; 0: 2 */
    unsigned sample_runs;    /* runs of a leg at least; 0: 1 */
    double sample_ms;        /* a leg is repeated until it is so long; 0: 5 */
    uint64_t seed;           /* of random inputs */
    /* .npz with the inputs to time with (the first sample) and to compare on; NULL: random */
    const char *samples;
    const qdq_job *job;
} qdq_worker_client_opts;

/* QDQ_E_ENGINE where there is no worker program or no engine: the text says which. */
qdq_status qdq_worker_client_open(const qdq_worker_client_opts *opts, qdq_worker_client **out,
                                  qdq_error *err);
void qdq_worker_client_close(qdq_worker_client *lab); /* NULL is allowed */

/* From now on nothing that runs a model takes longer than until `until` (qdq_clock_seconds();
 * INFINITY: as the options say), but a second at least, and no build later than the longest one so
 * far and one second after it. */
void qdq_worker_client_set_until(qdq_worker_client *lab, double until);

/* Seconds that the longest build so far and the longest pair of legs took: 0: there was none. */
double qdq_worker_client_build_s(const qdq_worker_client *lab);
double qdq_worker_client_pair_s(const qdq_worker_client *lab);

/* Name, version, device and capabilities of the engine in the worker: borrowed, as long as the lab.
 */
const qdq_engine_info *qdq_worker_client_engine(const qdq_worker_client *lab);

/* The output of the worker and its engine during the last call: borrowed until the next one. */
const char *qdq_worker_client_output(const qdq_worker_client *lab, size_t *size);

/* Options that the engine's program turned out to refuse, with spaces between: borrowed, as long as
 * the lab; "": none. */
const char *qdq_worker_client_refused(const qdq_worker_client *lab);
/* They are known from before: none of them is tried. */
qdq_status qdq_worker_client_refuse(qdq_worker_client *lab, const char *options, qdq_error *err);

/* How many sessions were built, A/A and guard included. */
unsigned qdq_worker_client_builds(const qdq_worker_client *lab);

/* Builds a session for a model file. *handle is only valid if the fate is fine. */
qdq_status qdq_worker_client_build(qdq_worker_client *lab, const char *path, int *handle,
                                   qdq_remote_outcome *outcome, qdq_error *err);
/* Shapes of inputs that the engine fixes; n 0: open dims stay open. */
typedef struct qdq_tune_shapes {
    const qdq_input_shape *at;
    size_t n;
} qdq_tune_shapes;

/* The same with other shapes than those of the options (NULL: with those). They must live as long
 * as the lab. */
qdq_status qdq_worker_client_build_shaped(qdq_worker_client *lab, const char *path,
                                          const qdq_tune_shapes *shapes, int *handle,
                                          qdq_remote_outcome *outcome, qdq_error *err);
void qdq_worker_client_drop(qdq_worker_client *lab, int handle);

/* One leg of a, then one of b (`b_first`: the other way round): mean time of a run in each.
 * `number` is that of the pair in its trial: engines with virtual time (sim) make their noise of
 * it, so that a replayed trial sees the same. */
qdq_status qdq_worker_client_pair(qdq_worker_client *lab, int a, int b, bool b_first,
                                  uint64_t number, double *a_ns, double *b_ns,
                                  qdq_remote_outcome *outcome, qdq_error *err);

typedef struct qdq_worker_client_accuracy {
    /* no NaN, no infinity in any output that the other model does not have in the same place */
    bool finite;
    /* of the slice that has least; INFINITY: equal; NAN: an output of a is zero everywhere;
     * -INFINITY: not finite, or finite and an output whose shape depends on data has another one */
    double sqnr_db;
} qdq_worker_client_accuracy;

/* Runs both on the samples, and compares b's outputs with a's. */
qdq_status qdq_worker_client_compare(qdq_worker_client *lab, int a, int b,
                                     qdq_worker_client_accuracy *out, qdq_remote_outcome *outcome,
                                     qdq_error *err);

/* Time per executed layer, from a session of its own. *out goes to qdq_free(). */
qdq_status qdq_worker_client_profile(qdq_worker_client *lab, const char *path, unsigned runs,
                                     qdq_layer **out, size_t *n, qdq_remote_outcome *outcome,
                                     qdq_error *err);

/* Executed layers with their nodes, from a session of its own: qdq_session_layers(). Their nodes
 * are those of the file, whose names all nodes must have. *out goes to qdq_free(). */
qdq_status qdq_worker_client_groups(qdq_worker_client *lab, const char *path, unsigned runs,
                                    qdq_layer **out, size_t *n, qdq_remote_outcome *outcome,
                                    qdq_error *err);

#endif /* QDQ_WORKER_CLIENT_H */
