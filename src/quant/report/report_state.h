/* report_state.h - what a report knows of a quantized model; shared by the report*.c files only. */
#ifndef QDQ_REPORT_STATE_H
#define QDQ_REPORT_STATE_H

#include "base/buf.h"
#include "base/map.h"
#include "ir/ir.h"
#include "qdq/report.h"
#include "quant/plan/plan.h"
#include "report/picture.h"

typedef struct qdq_reporting {
    const qdq_model *m, *quantized;
    const qdq_plan *plan;
    qdq_engine *engine;
    qdq_report_opts opts;
    qdq_arena arena;
    /* what the plan speaks of, with shapes */
    qdq_model *clean;
    /* label -> const qdq_node * of clean */
    qdq_map node;
    /* name -> its first entry in plan->tensors */
    qdq_map tensor;
    /* NULL: not measured */
    qdq_compare_layers_result *layers;
    /* tensor -> const qdq_compare_layer * */
    qdq_map layer;
    /* why not */
    const char *no_layers;
    /* of float and quantized */
    qdq_bench_model time[2];
    bool has_time;
    const char *no_time;
    /* of the model, filled by qdq_report_draw() */
    qdq_picture picture;
    qdq_buf page;
} qdq_reporting;

/* --- report_measure.c ------------------------------------------------------------------------- */

/* Fills all of the above; without `layers`, which the drawing does not need, no errors of layers.
 * What an engine refuses is a reason, not a failure. */
qdq_status qdq_report_measure(qdq_reporting *r, bool layers, qdq_error *err);

/* A failure that is part of the result: its text in *why. Lack of memory and Ctrl-C stay
 * failures. */
qdq_status qdq_report_note(qdq_reporting *r, qdq_status st, const qdq_error *found,
                           const char **why, qdq_error *err);

/* report_picture.c: r->picture. An engine without profiles gives estimates from shapes. */
qdq_status qdq_report_draw(qdq_reporting *r, qdq_error *err);

/* --- questions -------------------------------------------------------------------------------- */

/* NULL: not in the main graph */
const qdq_node *qdq_report_node(const qdq_reporting *r, const char *label);
const qdq_plan_tensor *qdq_report_tensor(const qdq_reporting *r, const char *name);
const qdq_compare_layer *qdq_report_layer(const qdq_reporting *r, const char *label);

/* What node n reads as codes: the entry of its first quantized input; or NULL. */
const qdq_plan_tensor *qdq_report_input_of(const qdq_reporting *r, const qdq_node *n,
                                           const char *label);

/* --- parts of the page ------------------------------------------------------------------------ */

void qdq_report_layer_table(qdq_reporting *r);                      /* report_layers.c */
qdq_status qdq_report_histograms(qdq_reporting *r, qdq_error *err); /* report_ranges.c */
void qdq_report_borders(qdq_reporting *r);                          /* report_borders.c */

#endif /* QDQ_REPORT_STATE_H */
