/* probe_time.h - which of two model files is faster? In the worker client, in interleaved pairs,
 * with the tuner's test. Both files are built again for each sample, in a new process every few of
 * them: where a session lies in memory decides, too, and its pairs agree with each other more than
 * with those of the next one. So the interval is that of builds, not of pairs. */
#ifndef QDQ_PROBE_TIME_H
#define QDQ_PROBE_TIME_H

#include "target/target_rule.h"
#include "tune/worker_client/worker_client.h"

/* Builds of the first look, of a look that tells anything, and of the longest one. */
enum { QDQ_PROBE_FIRST = 6, QDQ_PROBE_LEAST = 5, QDQ_PROBE_MOST = 96 };

typedef struct qdq_probe_timer {
    qdq_worker_client_opts opts; /* of every worker client */
    qdq_worker_client *worker_client;
    unsigned samples; /* that this worker client has taken */
    unsigned builds;  /* of the worker clients before */
    double margin;    /* an interval nearer to 1 decides nothing */
    uint64_t trial;   /* number of the next sample */
    double until;     /* no sample ends later: qdq_clock_seconds() */
} qdq_probe_timer;

/* What a comparison has seen so far. */
typedef struct qdq_probe_samples {
    double ratio[QDQ_PROBE_MOST]; /* of each build: time of `with` / time of `without` */
    unsigned n;
    unsigned pairs;
    double seconds; /* of the longest one */
} qdq_probe_samples;

/* All but the options is 0 before. qdq_worker_client_close(t->lab) afterwards, whatever happened.
 */
qdq_status qdq_probe_open_worker_client(qdq_probe_timer *t, qdq_error *err);

typedef struct qdq_probe_time {
    qdq_rule_verdict verdict;
    double factor, low, high; /* time of `with` / time of `without`, and its 95 % interval */
    bool closed;              /* more builds would tell nothing new */
    char failed[300];         /* how the engine ended; "": it did not */
} qdq_probe_time;

/* `path`: without, with. Adds samples until there are `builds` of them, or the next one would end
 * behind t->until, and says what all of them show: nothing where there are less than
 * QDQ_PROBE_LEAST. QDQ_E_INTERRUPTED: the job was cancelled. */
qdq_status qdq_probe_compare(qdq_probe_timer *t, const char *const path[2], unsigned builds,
                             qdq_probe_samples *s, qdq_probe_time *out, qdq_error *err);

/* The A/A test: the file against itself. Sets the margin. QDQ_E_ENGINE: the interval is wider
 * than 3 %, or the engine failed. */
qdq_status qdq_probe_aa_test(qdq_probe_timer *t, const char *file, qdq_probe_time *out,
                             qdq_error *err);

#endif /* QDQ_PROBE_TIME_H */
