/* quantizing.h - one model on its way to a plan: what placement, calibration, searches and
 * precision ask for. All of it is borrowed from the caller; steps that want something else copy the
 * struct. */
#ifndef QDQ_QUANTIZING_H
#define QDQ_QUANTIZING_H

#include "base/map.h"
#include "ir/ir.h"
#include "qdq/statistics.h"
#include "quant/plan/plan.h"
#include "target/target.h"

/* What a plan builds on where many are made for one clean model. Zero: on nothing. */
typedef struct qdq_plan_basis {
    /* its scales are taken, and new ones added (scales.h) */
    struct qdq_scales *known;
    /* the same for what the scales of groups come from (calib_seen.h) */
    struct qdq_seen *seen;
    /* the same for what reaches the bodies of If, Loop and Scan (subgraph_data.h) */
    struct qdq_recorded *recorded;
    /* as in qdq_place_opts */
    qdq_map *finite;
    const uint32_t *stay;
    /* by node id of the main graph: its format, before those of the target; entries and list may be
     * NULL */
    const qdq_format *const *formats;
    /* for the bodies of If, Loop and Scan, if it is another one */
    const qdq_target *bodies;
    /* 2 or more: scales for cross-validation, too (qdq_plan_tensor.fold), of the main graph */
    unsigned folds;
    /* as in qdq_place_opts */
    const qdq_plan *islands_of;
    /* gather those that corrections of biases need, for a later plan */
    bool means;
    /* that of another plan, complete: it does not depend on where Q/DQ are */
    const qdq_plan_half *half;
} qdq_plan_basis;

typedef struct qdq_quantizing {
    /* clean, with inferred shapes */
    const qdq_model *m;
    const qdq_target *target;
    /* may be NULL where nothing is observed */
    qdq_engine *engine;
    /* NULL: random input */
    qdq_data *data;
    const qdq_quantize_opts *opts;
    qdq_plan_basis basis;
    /* which is filled */
    qdq_plan *plan;
    /* statistics that take the place of samples in calibration (calib_statistics.h); NULL: none */
    const qdq_statistics *statistics;
    /* of the samples only number `first` and each `stride`-th after it run; 0: all */
    size_t first, stride;
} qdq_quantizing;

#endif /* QDQ_QUANTIZING_H */
