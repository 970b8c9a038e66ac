/* worker.h - the program qdq-worker: an engine and sessions on it, for another process that asks
 * (engine/remote/remote_message.h): the engine `remote`, or the worker client of the tuner.
 * Whatever the engine does to this process costs the other one a call. */
#ifndef QDQ_WORKER_H
#define QDQ_WORKER_H

#include <stdatomic.h>

#include "base/shared.h"
#include "base/vec.h"
#include "engine/engine_ops.h"
#include "qdq/data.h"
#include "engine/remote/remote_message.h"

typedef struct qdq_worker_model {
    int64_t handle;
    /* its weights must stay mapped */
    qdq_model *model;
    qdq_session *session;
    /* what is bound */
    qdq_arena inputs;
    /* of a sample; 0: not warm yet */
    unsigned runs;
} qdq_worker_model;

/* Outputs of the model that others are compared with, from the last comparison: it is nearly always
 * the same one. */
typedef struct qdq_worker_reference {
    /* -1: nothing is kept */
    int64_t handle;
    /* of all that is kept */
    qdq_arena memory;
    QDQ_VEC(qdq_named_array *)
    /* each a list of outputs that ends with a NULL name; NULL: not kept */
    samples;
    size_t bytes;
} qdq_worker_reference;

typedef struct qdq_compare_sums qdq_compare_sums;

/* What the thread that waits for the worker client's end must know. */
typedef struct qdq_worker_watch {
    int fd;
    /* from when on `work` may be read */
    atomic_bool has_work;
    /* the run's folder: removed where the worker client died, which would have done it */
    char work[4096];
} qdq_worker_watch;

typedef struct qdq_worker {
    qdq_worker_watch *watch;
    /* as long as the process */
    qdq_arena arena;
    qdq_engine *engine;
    qdq_engine_opts engine_opts;
    qdq_job job;
    const qdq_input_shape *shapes;
    size_t n_shapes;
    int threads;
    unsigned warmup, sample_runs;
    double sample_ms;
    uint64_t seed;
    /* NULL: random */
    const char *samples;
    /* how many it has; 0: as many as readers find */
    size_t n_samples;
    /* NULL: not opened yet */
    qdq_data *data;
    /* the model that they are samples of: a copy, for it may be dropped */
    qdq_model *data_for;
    QDQ_VEC(qdq_worker_model *) models;
    qdq_worker_reference reference;
    /* of the comparison at hand */
    qdq_compare_sums *sums;
    /* the descriptor that came with the question at hand, if nothing has taken it; -1 */
    int received;
    /* arrays on their way; none for a worker client */
    qdq_shared exchange;
    /* what the engine has logged since the last answer; NULL: that is printed */
    json_t *log;
} qdq_worker;

/* An answer that is not the last one to its question: sends it, takes it, and answers what is asked
 * before the other side says "next". QDQ_E_INTERRUPTED: it says "stop", or is gone. */
qdq_status qdq_worker_say(qdq_worker *w, qdq_json_doc *answer, qdq_error *err);

/* Answers until the worker client says goodbye: 0. What is no question, and a worker client that is
 * gone, end it: 2. */
int qdq_worker_serve(qdq_worker_watch *watch);

/* Uses AMX, if the environment does not forbid it to OpenVINO: 0, or the signal that this process
 * dies of. */
int qdq_worker_probe_amx(void);

/* A question, and the answer that is made. What is missing in the question is known to its
 * reader. */
typedef qdq_status (*qdq_worker_answer_fn)(qdq_worker *w, const qdq_json_place *q,
                                           qdq_json_out answer, qdq_error *err);

/* --- worker_session.c: sessions of the engine `remote` ---------------------------------------- */

qdq_status qdq_worker_open_session(qdq_worker *w, const qdq_json_place *q, qdq_json_out answer,
                                   qdq_error *err);
qdq_status qdq_worker_run_session(qdq_worker *w, const qdq_json_place *q, qdq_json_out answer,
                                  qdq_error *err);
qdq_status qdq_worker_bind_session(qdq_worker *w, const qdq_json_place *q, qdq_json_out answer,
                                   qdq_error *err);
qdq_status qdq_worker_time_session(qdq_worker *w, const qdq_json_place *q, qdq_json_out answer,
                                   qdq_error *err);
qdq_status qdq_worker_profile_session(qdq_worker *w, const qdq_json_place *q, qdq_json_out answer,
                                      qdq_error *err);
qdq_status qdq_worker_group_session(qdq_worker *w, const qdq_json_place *q, qdq_json_out answer,
                                    qdq_error *err);

/* --- worker_models.c -------------------------------------------------------------------------- */

/* Sample i in the types that m reads. *in is borrowed until the next call, or lies in `memory` as
 * far as it had to be converted. *count: samples there are. */
qdq_status qdq_worker_sample(qdq_worker *w, const qdq_model *m, size_t i, qdq_arena *memory,
                             const qdq_named_array **in, size_t *n, size_t *count, qdq_error *err);

/* What a session is for: what slows runs down is asked for only where it is needed. */
typedef enum qdq_worker_purpose {
    QDQ_WORKER_PLAIN,
    QDQ_WORKER_PROFILE,
    QDQ_WORKER_GROUPS
} qdq_worker_purpose;

qdq_status qdq_worker_open(qdq_worker *w, const char *path, const qdq_input_shape *shapes,
                           size_t n_shapes, qdq_worker_purpose purpose, qdq_worker_model **out,
                           qdq_error *err);
void qdq_worker_close(qdq_worker_model *m); /* NULL is allowed */

/* NULL: *err says that there is none. */
qdq_worker_model *qdq_worker_find(const qdq_worker *w, int64_t handle, qdq_error *err);

qdq_status qdq_worker_warm_up(qdq_worker *w, qdq_worker_model *m, qdq_error *err);
qdq_status qdq_worker_time(qdq_worker_model *m, uint64_t number, double *ns, qdq_error *err);

/* --- worker_compare.c ------------------------------------------------------------------------- */

typedef struct qdq_worker_verdict {
    size_t samples;
    bool finite;
    /* as in qdq_worker_client_accuracy */
    double sqnr_db;
} qdq_worker_verdict;

/* Runs both on a sample. Sample 0 begins a comparison, the others go on with it. */
qdq_status qdq_worker_compare(qdq_worker *w, qdq_worker_model *a, qdq_worker_model *b,
                              size_t sample, qdq_worker_verdict *out, qdq_error *err);
/* A handle is used no more. */
void qdq_worker_forget(qdq_worker *w, int64_t handle);
void qdq_worker_compare_free(qdq_worker *w);

#endif /* QDQ_WORKER_H */
