/* qdq/report.h - reports a quantized model as one HTML page: its gains, losses and their places. */
#ifndef QDQ_REPORT_H
#define QDQ_REPORT_H

#include "check.h"
#include "compare.h"
#include "goal.h"
#include "quant.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct qdq_report_opts {
    size_t size;
    /* of the model, as its heading; NULL: "model" */
    const char *name;
    /* what is measured on; NULL: only what the plan says is shown */
    qdq_data *data;
    /* of its samples; a few of them are enough for layers and histograms */
    size_t first, count;
    /* outputs, measured before; or NULL */
    const qdq_compare_result *compared;
    /* how a goal was reached; or NULL */
    const qdq_goal_result *goal;
    int threads;
    const qdq_input_shape *shapes;
    size_t n_shapes;
    const qdq_job *job;
    /* what `compared` rests on: "24 samples, cross-validated"; or NULL */
    const char *evaluated_on;
    /* does the engine compute what the graph says? NULL: not asked */
    const qdq_verify_result *computed;
    /* that m was given before it was quantized: they are named */
    const qdq_input_shape *set_shapes;
    size_t n_set_shapes;
    /* file of node data for Model Explorer; NULL: none */
    const char *overlay;
    /* qdq_plan_annotate() has named all nodes: the overlay uses these names */
    bool named;
    /* that placed: figures of its measured rules are shown; or NULL */
    const qdq_target *target;
    /* of m and of `quantized`, measured before, in ms: nothing is timed for the page. `runs` 0:
     * they come from pairs, and p10_ms and p90_ms are their 95 % interval. NULL: measured here */
    const qdq_bench_model *times;
    /* why there are no times, and none are to be measured; NULL: see `times` */
    const char *no_times;
} qdq_report_opts;

#define QDQ_REPORT_OPTS_INIT                                                                       \
    {                                                                                              \
        .size = sizeof(qdq_report_opts)                                                            \
    }

/* Writes the page to `path` (NULL: none) and opts->overlay, for the plan `p` of the model m, which
 * made `quantized` of it. Latency of both is measured in turn for some two seconds, unless
 * opts->times or opts->no_times is given, and every layer's error, where the engine can (`e` may be
 * NULL); the page reports what it cannot. */
QDQ_API QDQ_MUST_USE qdq_status qdq_report_write(const qdq_model *m, const qdq_model *quantized,
                                                 const qdq_plan *p, qdq_engine *e,
                                                 const qdq_report_opts *opts, const char *path,
                                                 bool allow_overwrite, qdq_error *err);

/* Notes in the metadata of the nodes of `quantized`, which the plan `p` made of m, what was
 * decided: "qdq.format", "qdq.weight" and "qdq.why" (a rule, or a reason to stay float). Viewers
 * such as Netron show it. Nodes without a name get one, and the IR version becomes 10 at least.
 * No measured times: the same plan gives the same bytes. */
QDQ_API QDQ_MUST_USE qdq_status qdq_plan_annotate(const qdq_plan *p, const qdq_model *m,
                                                  const qdq_job *job, qdq_model *quantized,
                                                  qdq_error *err);

#ifdef __cplusplus
}
#endif
#endif /* QDQ_REPORT_H */
