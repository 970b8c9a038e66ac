/* qdq/probe.h - measures whether the rules of a target hold on this machine.
 *
 * Each rule of speed has probes in the target's description: small models in which it decides
 * (docs/targets.md, "Measured rules"). Both sides of a probe are quantized and timed in interleaved
 * pairs. A rule pays if the 95 % interval of (time with it / time without it) lies below 1, harms
 * if it lies above 1, and is undecided otherwise. */
#ifndef QDQ_PROBE_H
#define QDQ_PROBE_H

#include "engine.h"
#include "quant.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct qdq_probe_opts {
    size_t size;
    /* spec of the engine; NULL: the target's */
    const char *engine;
    /* options of the engine; NULL: defaults */
    const qdq_engine_opts *engine_opts;
    /* threads of the engine; 0: 1 */
    int threads;
    /* time limit for all probes, in seconds; 0: 180 */
    double time_s;
    /* seed of weights and inputs */
    uint64_t seed;
    /* progress counts probes; its cancel flag ends the run */
    const qdq_job *job;
} qdq_probe_opts;

#define QDQ_PROBE_OPTS_INIT                                                                        \
    {                                                                                              \
        .size = sizeof(qdq_probe_opts)                                                             \
    }

/* The result of one probe. */
typedef struct qdq_probe_outcome {
    /* operator, rule, and name of the probe ("" if it has none) */
    const char *op, *rule, *probe;
    /* what the probe decides: "off", or another key of the rule */
    const char *key;
    /* "pays", "harms", "undecided"; "": not measured, `why` has the reason */
    const char *verdict;
    /* time with the rule / time without it, and its 95 % interval; of a threshold: at size `at` */
    double factor, low, high;
    /* size next to the threshold; 0: no threshold */
    int64_t at;
    /* value of the key before and after: "on", "off", "32", "any", ... */
    const char *before, *after;
    /* number of pairs, of all sizes */
    unsigned pairs;
    /* reason why it was not measured; "": it was */
    const char *why;
} qdq_probe_outcome;

typedef struct qdq_probe_report {
    const qdq_probe_outcome *outcomes;
    size_t n;
    /* numbers of outcomes by verdict */
    size_t n_pays, n_harms, n_undecided, n_not_measured;
    /* number of outcomes whose value changed */
    size_t n_changed;
    const char *engine, *version, *processor;
    /* noise of the machine: 95 % interval of a model's time / its own time */
    double aa_low, aa_high;
    double seconds;
    /* number of sessions */
    unsigned builds;
} qdq_probe_report;

/* Measures the probes of `t`. *out is a copy of t with rules as they apply on this machine, each
 * with its figures, and with the key `measured_on`; freed with qdq_target_free(). Undecided rules
 * stay unchanged. *report is freed with qdq_free() (one block).
 *
 * QDQ_E_INTERRUPTED: the job was cancelled; *out and *report have the probes measured before (NULL:
 * none). QDQ_E_USAGE: the engine does not run this target (sim runs every target).
 * QDQ_E_UNSUPPORTED: t has no probes. QDQ_E_ENGINE: the engine is unavailable, or the machine is
 * busy: times of equal models differ by more than 3 %. */
QDQ_API QDQ_MUST_USE qdq_status qdq_target_measure(const qdq_target *t, const qdq_probe_opts *opts,
                                                   qdq_target **out, qdq_probe_report **report,
                                                   qdq_error *err);

#ifdef __cplusplus
}
#endif
#endif /* QDQ_PROBE_H */
