/* worker_client_inner.h - what the files of this room share. */
#ifndef QDQ_WORKER_CLIENT_INNER_H
#define QDQ_WORKER_CLIENT_INNER_H

#include "base/vec.h"
#include "engine/remote/remote_client.h"
#include "tune/worker_client/worker_client.h"
#include "tune/worker_client/worker_client_log.h"

typedef struct qdq_worker_client_model {
    const char *path;
    const char *log;               /* of its newest session; NULL: none */
    const qdq_tune_shapes *shapes; /* of its own; NULL: as the options have them */
    unsigned open_in;              /* the worker that has a session of it, by number; 0: none */
    unsigned warm_in;              /* and that has run it until it was warm */
    bool dropped;
} qdq_worker_client_model;

struct qdq_worker_client {
    qdq_arena arena;
    /* with the defaults put in; of the texts only those of the logs may be used */
    qdq_worker_client_opts opts;
    qdq_remote_client client;
    QDQ_VEC(qdq_worker_client_model) models; /* by handle */
    qdq_worker_client_logs logs;
    unsigned builds;
    double until;           /* for what runs */
    double build_s, pair_s; /* the longest so far */
};

/* Of a call that runs a model: `usual`, or what is left. */
double qdq_worker_client_run_deadline(const qdq_worker_client *lab, double usual);
double qdq_worker_client_build_deadline(const qdq_worker_client *lab);

/* Both models have sessions afterwards (they may be the same), and are warm if that is wanted. If
 * memory runs out while others are open, these two are tried without them: a model is not to blame
 * for its neighbours. */
qdq_status qdq_worker_client_ready(qdq_worker_client *lab, int a, int b, bool warm,
                                   qdq_remote_outcome *outcome, qdq_error *err);

/* QDQ_E_USAGE for a handle that is none. */
qdq_status qdq_worker_client_check_handle(const qdq_worker_client *lab, int handle, qdq_error *err);

/* Into a log: how the call ended that built a session, as st, fate and err say. */
void qdq_worker_client_note_build(qdq_worker_client *lab, const char *log, qdq_status st,
                                  const qdq_remote_outcome *outcome, const qdq_error *err,
                                  double seconds);

/* Into the log of a model: how something ended that was no build; nothing is said of what went well
 * in silence. */
void qdq_worker_client_note(qdq_worker_client *lab, int handle, const char *what,
                            const qdq_remote_outcome *outcome, double seconds);

#endif /* QDQ_WORKER_CLIENT_INNER_H */
