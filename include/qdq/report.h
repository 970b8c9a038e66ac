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
    /* name of the model, the page's heading; NULL: "model" */
    const char *name;
    /* samples to measure on; NULL: the page shows only what the plan contains */
    qdq_data *data;
    /* range of samples: the first one, and how many; count 0: to the end. Layers and histograms use
     * only a few */
    size_t first, count;
    /* outputs that were compared before; NULL: compared here */
    const qdq_compare_result *compared;
    /* how the search reached its goal; or NULL */
    const qdq_goal_result *goal;
    int threads;
    const qdq_input_shape *shapes;
    size_t n_shapes;
    const qdq_job *job;
    /* what `compared` is based on: "24 samples, cross-validated"; or NULL */
    const char *evaluated_on;
    /* verification of the engine's results; NULL: not verified */
    const qdq_verify_result *computed;
    /* n_set_shapes shapes that were fixed in m before it was quantized */
    const qdq_input_shape *set_shapes;
    size_t n_set_shapes;
    /* file of node data for Model Explorer to write; NULL: none */
    const char *overlay;
    /* qdq_plan_annotate() has named all nodes, and the overlay uses these names */
    bool named;
    /* target of the plan, whose measured rules are shown; or NULL */
    const qdq_target *target;
    /* times of m and of `quantized` that were measured before, in ms: then nothing is timed for the
     * page. times[].runs 0: the times come from pairs, and p10_ms and p90_ms are their 95 %
     * interval. NULL: timed here */
    const qdq_bench_model *times;
    /* reason why there are no times, and nothing is to be timed; NULL: see `times` */
    const char *no_times;
} qdq_report_opts;

#define QDQ_REPORT_OPTS_INIT                                                                       \
    {                                                                                              \
        .size = sizeof(qdq_report_opts)                                                            \
    }

/* Writes the page for the plan `p`, which made `quantized` from m, to `path` (NULL: no page), and
 * the node data to opts->overlay. It measures the latency of both models in turn for about two
 * seconds, unless opts->times or opts->no_times is set, and the error of every layer, if the engine
 * supports it. `e` may be NULL. The page lists what could not be measured. QDQ_E_IO: a file exists,
 * unless allow_overwrite. */
QDQ_API QDQ_MUST_USE qdq_status qdq_report_write(const qdq_model *m, const qdq_model *quantized,
                                                 const qdq_plan *p, qdq_engine *e,
                                                 const qdq_report_opts *opts, const char *path,
                                                 bool allow_overwrite, qdq_error *err);

/* Writes the decisions of the plan `p`, which made `quantized` from m, into the metadata of its
 * nodes: "qdq.format", "qdq.weight" and "qdq.why" (a rule, or a reason to stay float). Viewers such
 * as Netron show them. Nodes without a name get one, and the IR version becomes at least 10. Times
 * are left out: the same plan gives the same bytes. */
QDQ_API QDQ_MUST_USE qdq_status qdq_plan_annotate(const qdq_plan *p, const qdq_model *m,
                                                  const qdq_job *job, qdq_model *quantized,
                                                  qdq_error *err);

#ifdef __cplusplus
}
#endif
#endif /* QDQ_REPORT_H */
