/* pipeline.h - pipelines as text: what was asked for becomes a list of passes with their
 * arguments. */
#ifndef QDQ_PIPELINE_H
#define QDQ_PIPELINE_H

#include "opt/opt.h"

enum { QDQ_MAX_STEPS = 128 };

typedef enum qdq_pass_when {
    QDQ_WHEN_DEFAULT,
    QDQ_WHEN_OPTIMIZE,
    QDQ_WHEN_QUANTIZE,
    QDQ_WHEN_NAMED
} qdq_pass_when;

/* One line of passes.def: one of the four is set. */
typedef struct qdq_pass_info {
    const char *name;
    qdq_pass_when when;
    qdq_graph_pass_fn graph;
    qdq_node_pass_fn node;
    qdq_model_pass_fn model;
    const struct qdq_rule *rule;
    const char *help;
} qdq_pass_info;

typedef struct qdq_step {
    const qdq_pass_info *pass;
    /* "" without */
    const char *arg;
} qdq_step;

typedef struct qdq_pipeline {
    qdq_step step[QDQ_MAX_STEPS];
    size_t n;
} qdq_pipeline;

/* The texts lie in `memory`. */
qdq_status qdq_pipeline_parse(const char *text, const qdq_target *t, qdq_arena *memory,
                              qdq_pipeline *out, qdq_error *err);

#endif /* QDQ_PIPELINE_H */
