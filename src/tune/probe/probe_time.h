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
    /* of every worker client */
    qdq_worker_client_opts opts;
    qdq_worker_client *worker_client;
    /* that this worker client has taken */
    unsigned samples;
    /* of the worker clients before */
    unsigned builds;
    /* an interval nearer to 1 decides nothing */
    double margin;
    /* number of the next sample */
    uint64_t trial;
    /* no sample ends later: qdq_clock_seconds() */
    double until;
} qdq_probe_timer;

/* What a comparison has seen so far. */
typedef struct qdq_probe_samples {
    /* of each build: time of `with` / time of `without` */
    double ratio[QDQ_PROBE_MOST];
    unsigned n;
    unsigned pairs;
    /* of the longest one */
    double seconds;
} qdq_probe_samples;

/* All but the options is 0 before. qdq_worker_client_close() afterwards, whatever happened.
 */
qdq_status qdq_probe_open_worker_client(qdq_probe_timer *t, qdq_error *err);

typedef struct qdq_probe_time {
    qdq_rule_verdict verdict;
    /* time of `with` / time of `without`, and its 95 % interval */
    double factor, low, high;
    /* more builds would tell nothing new */
    bool closed;
    /* how the engine ended; "": it did not */
    char failed[300];
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
