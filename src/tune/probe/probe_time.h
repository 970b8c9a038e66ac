/* probe_time.h - which of two model files is faster? In the lab, in interleaved pairs, with the tuner's test. Both files are built
 * several times, so that where a session happens to lie in memory does not decide. */
#ifndef QDQ_PROBE_TIME_H
#define QDQ_PROBE_TIME_H

#include "target/target_rule.h"
#include "tune/lab/lab.h"

typedef struct qdq_probe_timer {
    qdq_lab *lab;
    const qdq_job *job;
    double margin;  /* an interval nearer to 1 decides nothing */
    uint64_t trial; /* number of the next comparison */
} qdq_probe_timer;

typedef struct qdq_probe_time {
    qdq_rule_verdict verdict;
    double factor, low, high; /* time of `with` / time of `without`, and its 95 % interval */
    unsigned pairs;
    char failed[300]; /* how the engine ended; "": it did not */
} qdq_probe_time;

/* Takes about `seconds`, less where the answer is plain. QDQ_E_INTERRUPTED: the job was cancelled. */
qdq_status qdq_probe_compare(qdq_probe_timer *t, const char *without, const char *with, double seconds,
                             qdq_probe_time *out, qdq_error *err);

/* The A/A control: the file against itself. Sets the margin. QDQ_E_ENGINE: the interval is wider than 3 %, or the engine failed. */
qdq_status qdq_probe_control(qdq_probe_timer *t, const char *file, double seconds, qdq_probe_time *out,
                             qdq_error *err);

#endif /* QDQ_PROBE_TIME_H */
