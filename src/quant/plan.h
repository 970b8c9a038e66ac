/* plan.h - the plan in memory: which edges carry Q/DQ, with which scale, and why. Data only: knows neither
 * graphs nor engines. Its JSON form is documented in docs/plan.md.
 *
 * Edges are named by tensor, consumer and input index; a consumer by its label (qdq_node_label). */
#ifndef QDQ_PLAN_H
#define QDQ_PLAN_H

#include "base/arena.h"
#include "base/vec.h"
#include "qdq/quant.h"
#include "target/qparam.h"

#define QDQ_PLAN_VERSION 1

typedef struct qdq_edge {
    const char *node;
    uint32_t input;
} qdq_edge;

typedef QDQ_VEC(qdq_edge) qdq_edges;

/* An activation: one Q, and a DQ for its readers. */
typedef struct qdq_plan_tensor {
    const char *tensor;
    bool all;            /* every reader, the graph output included, gets the dequantized value */
    qdq_edges consumers; /* if not all */
    qdq_qparam qparam;
    const char *like; /* while a plan is made: the tensor whose range decides, if it is another one */
    const char
        *group; /* likewise: tensors of one group share one range, pooled from all of them; NULL: none */
    bool known; /* likewise: the scale is there already, found in the model */
    const char *rule, *origin;
} qdq_plan_tensor;

/* A constant weight, stored in 8 bits behind a DQ. */
typedef struct qdq_plan_weight {
    const char *tensor;
    qdq_edges consumers; /* the edges that read the 8-bit form */
    int axis;            /* -1: one scale */
    qdq_elem type;
    const float *scales; /* NULL: absmax / highest code, per channel */
    size_t n_scales;
    const char *rule, *origin;
} qdq_plan_weight;

/* A constant bias, stored as int32 with the scale of activation times weight. */
typedef struct qdq_plan_bias {
    const char *tensor;
    qdq_edge consumer;
    const char *activation, *weight; /* tensors of this plan */
    const char *rule, *origin;
} qdq_plan_bias;

typedef struct qdq_plan_float {
    const char *node, *op, *reason;
} qdq_plan_float;

/* What is not quantized, if it is not float32 (rest.h). */
typedef struct qdq_plan_rest {
    qdq_elem type;                /* QDQ_FLOAT16, QDQ_BFLOAT16, or QDQ_FLOAT and QDQ_UNDEFINED: as it is */
    bool direct_io;               /* graph inputs and outputs, too */
    QDQ_VEC(qdq_plan_float) keep; /* nodes that stay float32 */
} qdq_plan_rest;

typedef struct qdq_plan_node {
    const char *node, *op;
    bool kept; /* the model had it in 8 bits before */
} qdq_plan_node;

struct qdq_plan {
    qdq_arena arena;
    const char *model; /* fingerprint, hexadecimal */
    const char *target, *created_by;
    const char *clean; /* pipeline that was run before, and is replayed */
    int opset;         /* the model is raised to this; 0: left as it is */
    bool placement_only;
    QDQ_VEC(qdq_plan_tensor) tensors;
    QDQ_VEC(qdq_plan_weight) weights;
    QDQ_VEC(qdq_plan_bias) biases;
    QDQ_VEC(qdq_plan_node) quantized; /* nodes that run in 8 bits */
    QDQ_VEC(qdq_plan_float) left_float;
    qdq_plan_rest rest;
    qdq_plan_summary summary; /* of a finished plan: qdq_plan_finish */
};

qdq_plan *qdq_plan_new(void); /* NULL: out of memory */

/* Sorts all entries by name and edge, so that equal plans are equal text, and makes the summary. False: out
 * of memory. */
bool qdq_plan_finish(qdq_plan *p);

/* Is what is not quantized in 16 bits? */
static inline bool qdq_plan_has_rest(const qdq_plan *p)
{
    return p->rest.type == QDQ_FLOAT16 || p->rest.type == QDQ_BFLOAT16;
}

bool qdq_plan_add_edge(qdq_plan *p, qdq_edges *edges, const char *node, uint32_t input);
bool qdq_edges_have(const qdq_edges *e, const char *node, uint32_t input);

#endif /* QDQ_PLAN_H */
