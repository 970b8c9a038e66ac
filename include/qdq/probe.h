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
    /* spec, as for qdq_engine_open(); NULL: the target's own */
    const char *engine;
    /* NULL: the defaults */
    const qdq_engine_opts *engine_opts;
    /* of the engine; 0: 1 */
    int threads;
    /* limit for all probes; 0: 180 */
    double time_s;
    /* of weights and inputs */
    uint64_t seed;
    /* progress counts probes; its cancel flag ends the run */
    const qdq_job *job;
} qdq_probe_opts;

#define QDQ_PROBE_OPTS_INIT                                                                        \
    {                                                                                              \
        .size = sizeof(qdq_probe_opts)                                                             \
    }

/* What came of one probe. */
typedef struct qdq_probe_outcome {
    /* operator and rule; name of the probe, "" if it has none */
    const char *op, *rule, *probe;
    /* what it decides: "off", or another key of the rule */
    const char *key;
    /* "pays", "harms", "undecided"; "": not measured, `why` has the reason */
    const char *verdict;
    /* time with / time without, and its 95 % interval; of a threshold: at `at` */
    double factor, low, high;
    /* size next to the threshold; 0: there is no threshold */
    int64_t at;
    /* value of the key: "on", "off", "32", "any", ... */
    const char *before, *after;
    /* of all sizes */
    unsigned pairs;
    /* "" if it was measured */
    const char *why;
} qdq_probe_outcome;

typedef struct qdq_probe_report {
    const qdq_probe_outcome *outcomes;
    size_t n;
    /* outcomes by verdict */
    size_t n_pays, n_harms, n_undecided, n_not_measured;
    /* with another value after than before */
    size_t n_changed;
    const char *engine, *version, *processor;
    /* 95 % interval of a model's time / its own time: the noise of the machine */
    double aa_low, aa_high;
    double seconds;
    /* sessions */
    unsigned builds;
} qdq_probe_report;

/* Measures the probes of `t`. *out is t with rules as they hold on this machine, each with its
 * figures, and with the key `measured_on`; freed with qdq_target_free(). Undecided rules stay as
 * they were. *report is freed with qdq_free() (one block). QDQ_E_INTERRUPTED, and the probes that
 * were measured before in *out and *report (NULL: there were none): the job was cancelled.
 * QDQ_E_USAGE: the engine does not run this target (sim runs every one). QDQ_E_UNSUPPORTED: t has
 * no probes. QDQ_E_ENGINE: the engine is unavailable, or the machine is busy: times of equal models
 * differ by more than 3 %. */
QDQ_API QDQ_MUST_USE qdq_status qdq_target_measure(const qdq_target *t, const qdq_probe_opts *opts,
                                                   qdq_target **out, qdq_probe_report **report,
                                                   qdq_error *err);

#ifdef __cplusplus
}
#endif
#endif /* QDQ_PROBE_H */
