/* subgraph_data.h - what reaches the bodies of If, Loop and Scan while samples run: engines show no
 * tensor inside a body, so each body becomes a model of its own, and the rest of the model is run
 * to see what it is given. */
#ifndef QDQ_SUBGRAPH_DATA_H
#define QDQ_SUBGRAPH_DATA_H

#include "quant/calib/quantizing.h"

typedef struct qdq_body {
    const qdq_graph *graph;
    /* with inferred shapes; inputs: the body's, then what it captures */
    qdq_model *model;
    /* what the inputs were, once for each time that the body ran */
    qdq_data *data;
    /* it cannot be run, or never was: then there are no data */
    const char *why;
    /* of the control nodes in it; NULL: not kept */
    struct qdq_recorded *inside;
} qdq_body;

typedef QDQ_VEC(qdq_body) qdq_body_list;

/* The bodies of `control`, a node of q->m's main graph, with what q->data gives them. An If gives
 * samples to the branch that it takes; Loop and Scan to their body, once for each iteration, up to
 * a bound. Lists and reasons are in `memory`; models and data are to be freed with
 * qdq_control_flow_free(), also on failure. */
qdq_status qdq_control_flow_record(const qdq_quantizing *q, const qdq_node *control,
                                   qdq_arena *memory, qdq_body_list *out, qdq_error *err);
void qdq_control_flow_free(qdq_body_list *list);

/* --- subgraph_recorded.c: from plan to plan --------------------------------------------------- */

/* The bodies of one control node. */
typedef struct qdq_recorded_control {
    uint32_t node_id;
    qdq_body_list bodies;
} qdq_recorded_control;

/* What was recorded for the control nodes of one model, for its next plan on the same samples. */
typedef struct qdq_recorded {
    qdq_arena arena;
    QDQ_VEC(qdq_recorded_control) controls;
    /* of the model around it all, which counts the bytes; NULL: this one */
    struct qdq_recorded *root;
    size_t bytes;
} qdq_recorded;

/* qdq_control_flow_record(), once for all plans that have q->basis.recorded, as far as the memory
 * of a sweep goes. `own` is for what is not kept, and to be freed with qdq_control_flow_free(),
 * also on failure. */
qdq_status qdq_recorded_get(const qdq_quantizing *q, const qdq_node *control, qdq_body_list *own,
                            const qdq_body_list **out, qdq_error *err);
void qdq_recorded_free(qdq_recorded *r);

/* --- subgraph_store.c: samples in memory ------------------------------------------------------ */

/* An empty source for the inputs of m. */
qdq_status qdq_store_open(const qdq_model *m, qdq_data **out, qdq_error *err);

/* A copy of `a` that lives as long as the source. */
qdq_status qdq_store_keep(qdq_data *d, const qdq_array *a, qdq_array *out, qdq_error *err);

/* One more sample: an array for each input, which the source keeps already. */
qdq_status qdq_store_add(qdq_data *d, const qdq_array *arrays, qdq_error *err);

/* Bytes that are kept. */
size_t qdq_store_bytes(const qdq_data *d);

#endif /* QDQ_SUBGRAPH_DATA_H */
