/* sim_fail.h - failures of the `sim` engine: what a real engine may do to its caller, on demand
 * (docs/sim.md). */
#ifndef QDQ_SIM_FAIL_H
#define QDQ_SIM_FAIL_H

#include <stdatomic.h>

#include "base/json_read.h"

typedef enum qdq_sim_fault {
    /* a status */
    QDQ_SIM_ERROR,
    /* the process dies of a signal */
    QDQ_SIM_CRASH,
    /* nothing happens for a while */
    QDQ_SIM_HANG,
    /* memory is taken, until the session is closed */
    QDQ_SIM_MEMORY,
    /* they are not what they should be */
    QDQ_SIM_OUTPUTS,
    /* from then on all takes longer */
    QDQ_SIM_SLOW
} qdq_sim_fault;

typedef enum qdq_sim_spoil {
    QDQ_SIM_SOUND,
    QDQ_SIM_NAN,
    QDQ_SIM_INF,
    /* everywhere */
    QDQ_SIM_ZERO,
    /* numbers, but others */
    QDQ_SIM_WRONG
} qdq_sim_spoil;

/* What becomes of the call at hand. */
typedef struct qdq_sim_effect {
    qdq_sim_spoil spoil;
    /* times as long */
    double slow;
} qdq_sim_effect;

typedef struct qdq_sim_failure {
    /* "open", "run" or "time" */
    const char *at;
    /* the n-th time that it could happen; 0: every time */
    uint64_t nth;
    /* only where this node runs in 8 bits; NULL: anywhere */
    const char *node;
    const char *message;
    qdq_sim_fault fault;
    int signal;
    double seconds;
    uint64_t bytes;
    qdq_sim_spoil spoil;
    double slow;
    atomic_uint_fast64_t seen;
} qdq_sim_failure;

/* Reads one from its object; errors go to the reader. */
void qdq_sim_failure_read(const qdq_json_place *p, qdq_sim_failure *f);

/* Is this the time at which it is to happen? Counts. */
bool qdq_sim_failure_is_due(qdq_sim_failure *f);

/* Lets it happen. `arena` is as long as the session. */
qdq_status qdq_sim_failure_happen(const qdq_sim_failure *f, qdq_arena *arena,
                                  qdq_sim_effect *effect, qdq_error *err);

/* Does to the floats of an output what was asked for. */
void qdq_sim_spoil_floats(qdq_sim_spoil spoil, float *x, int64_t n);

#endif /* QDQ_SIM_FAIL_H */
