/* worker_client_inner.h - the state that the files of this folder share. */
#ifndef QDQ_WORKER_CLIENT_INNER_H
#define QDQ_WORKER_CLIENT_INNER_H

#include "base/vec.h"
#include "engine/remote/remote_client.h"
#include "tune/worker_client/worker_client.h"
#include "tune/worker_client/worker_client_log.h"

typedef struct qdq_worker_client_model {
    const char *path;
    /* log of its newest session; NULL: none */
    const char *log;
    /* shapes of its own; NULL: those of the options */
    const qdq_tune_shapes *shapes;
    /* number of the worker with a session of it; 0: none */
    unsigned open_in;
    /* number of the worker that has run it until it was warm */
    unsigned warm_in;
    bool dropped;
} qdq_worker_client_model;

struct qdq_worker_client {
    qdq_arena arena;
    /* with defaults filled in; only the texts of logs stay valid */
    qdq_worker_client_opts opts;
    qdq_remote_client client;
    /* by handle */
    QDQ_VEC(qdq_worker_client_model) models;
    qdq_worker_client_logs logs;
    unsigned builds;
    /* end of runs */
    double until;
    /* longest ones so far */
    double build_s, pair_s;
};

/* Time limit of a call that runs a model: `usual`, or the time that is left. */
double qdq_worker_client_run_deadline(const qdq_worker_client *worker_client, double usual);
double qdq_worker_client_build_deadline(const qdq_worker_client *worker_client);

/* Opens sessions of both models (which may be the same), and warms them up if `warm`. If memory
 * runs out while others are open, it closes these and tries again, because a model must not fail
 * for its neighbours. */
qdq_status qdq_worker_client_ready(qdq_worker_client *worker_client, int a, int b, bool warm,
                                   qdq_remote_outcome *outcome, qdq_error *err);

/* QDQ_E_USAGE: the handle is invalid. */
qdq_status qdq_worker_client_check_handle(const qdq_worker_client *worker_client, int handle,
                                          qdq_error *err);

/* Writes the outcome of a call that built a session to a log, by st, outcome and err. */
void qdq_worker_client_note_build(qdq_worker_client *worker_client, const char *log, qdq_status st,
                                  const qdq_remote_outcome *outcome, const qdq_error *err,
                                  double seconds);

/* Writes the outcome of another call to a model's log; nothing for a success without output. */
void qdq_worker_client_note(qdq_worker_client *worker_client, int handle, const char *what,
                            const qdq_remote_outcome *outcome, double seconds);

#endif /* QDQ_WORKER_CLIENT_INNER_H */
