/* place_partitions.h - the state of placement by partitions; shared by the place_partitions*.c
 * files only.
 *
 * A partition is a kernel that the engine fuses from several nodes: a linear operator with its
 * followers, or pointwise operators. No Q/DQ may be inside it; Q/DQ at its edges decide the type in
 * which it runs. */
#ifndef QDQ_PLACE_PARTITIONS_H
#define QDQ_PLACE_PARTITIONS_H

#include "quant/place/place_state.h"

/* Classes of operators, as the target lists them. */
enum {
    QDQ_PART_LINEAR = 1,
    /* moves data only */
    QDQ_PART_COPY = 2,
    QDQ_PART_POINTWISE = 4,
    QDQ_PART_POOLING = 8,
    QDQ_PART_CONVOLUTION = 16,
    QDQ_PART_BEHIND_CONVOLUTION = 32,
    QDQ_PART_RESIZE = 64,
    QDQ_PART_SOURCE = 128,
    QDQ_PART_KEPT_OUTPUT = 256,
    /* is in `operators`, and is not a copy operator */
    QDQ_PART_QUANTIZABLE = 512,
    /* existing QuantizeLinear and DequantizeLinear */
    QDQ_PART_QDQ = 1024
};

/* The kind of a node that paths can name, in addition to its operator. */
typedef enum qdq_part_kind {
    QDQ_PART_PLAIN,
    QDQ_PART_BIAS_ADD,
    QDQ_PART_NON_BIAS_ADD,
    QDQ_PART_CONST_MUL
} qdq_part_kind;

enum { QDQ_PART_NO_INPUT = 0xff };

/* State of a node. The base state (place_state.h) has its rule in the target, and why it is
 * excluded or stays float. */
typedef struct qdq_part_node {
    /* topological index */
    uint32_t rank;
    /* longest path from any start of the graph, in edges */
    uint32_t depth;
    /* its partition; 0: none */
    uint32_t part;
    /* number of its inputs that come from the partition `stamp` */
    uint32_t inside;
    /* the last partition that was grown next to it */
    uint32_t stamp;
    /* inputs of a selected node that stay float, bit by bit */
    uint32_t raw;
    /* number of copy operators between it and a linear partition; UINT32_MAX: it does not follow
     * one */
    uint32_t copies;
    /* convolution whose result it processes, or NULL */
    const qdq_node *backbone;
    /* rule of a selected node */
    const char *rule;
    qdq_part_kind kind;
    /* of a residual Add: the input whose convolution has the Add in its epilogue */
    uint8_t main_input;
    /* it is in no partition */
    bool frozen;
    /* its partition has no linear operator */
    bool pointwise;
    /* first node of its partition */
    bool head;
    /* its data inputs get Q/DQ */
    bool selected;
    /* some data inputs come from its own partition, and stay float */
    bool partial;
    /* a copy operator whose result is quantized later */
    bool leads;
} qdq_part_node;

/* State of a value. */
typedef struct qdq_part_value {
    /* constant at compile time, directly or through a DQ */
    bool known;
    /* comes from an existing DQ, directly or through copy operators */
    bool through_dq;
    /* an edge from it has Q/DQ */
    bool paired;
} qdq_part_value;

typedef struct qdq_partition_state {
    qdq_placing *p;
    const qdq_partitions *rules;
    unsigned classes[QDQ_OP_COUNT];
    const qdq_target_op *rule_of[QDQ_OP_COUNT];
    /* the graph has such nodes */
    bool present[QDQ_OP_COUNT];
    /* by node id */
    qdq_part_node *node;
    /* by value id */
    qdq_part_value *value;
    uint32_t n_parts;
    /* the options select operators, so that rules about neighbours do not apply */
    bool listed;
} qdq_partition_state;

static inline qdq_part_node *qdq_part_of(const qdq_partition_state *t, const qdq_node *n)
{
    return &t->node[n->id];
}

static inline bool qdq_part_is(const qdq_partition_state *t, const qdq_node *n, unsigned classes)
{
    return (t->classes[n->op] & classes) != 0;
}

/* Whether the node is in the placed graph: captures of subgraphs are not part of an epilogue. */
static inline bool qdq_part_here(const qdq_partition_state *t, const qdq_node *n)
{
    return n != NULL && n->graph == t->p->model->graph;
}

/* The node of this graph that produces v, or NULL. */
static inline const qdq_node *qdq_part_producer(const qdq_partition_state *t, const qdq_value *v)
{
    return v != NULL && qdq_part_here(t, v->producer) ? v->producer : NULL;
}

static inline bool qdq_part_known(const qdq_partition_state *t, const qdq_value *v)
{
    return v->graph == t->p->model->graph && t->value[v->id].known;
}

static inline bool qdq_part_through_dq(const qdq_partition_state *t, const qdq_value *v)
{
    return v->graph == t->p->model->graph && t->value[v->id].through_dq;
}

/* Whether the node is excluded by the options, a filter, or its own inputs. */
static inline bool qdq_part_out(const qdq_partition_state *t, const qdq_node *n)
{
    return qdq_state_of(t->p, n)->reason != NULL;
}

/* Whether input i of n is data that the target quantizes. */
static inline bool qdq_part_is_data(const qdq_partition_state *t, const qdq_node *n, uint32_t i)
{
    const qdq_target_op *rule = t->rule_of[n->op];

    if (rule == NULL)
        return false;
    if (rule->kind == QDQ_KIND_LINEAR)
        return i == rule->data || i == rule->weight;
    return rule->inputs == QDQ_INPUTS_ALL || (i < 32 && (rule->inputs >> i & 1) != 0);
}

/* Records what a rule found for n (--why). */
#define QDQ_PART_SAY(t, n, ...) qdq_why_say(qdq_place_listener((t)->p), (n), __VA_ARGS__)

/* --- place_partitions_match.c ----------------------------------------------------------------- */

/* A search for a path; results are in scratch memory. */
typedef struct qdq_part_search {
    const qdq_path *path;
    /* to consumers; false: to producers */
    bool forward;
    /* classes of operators that may lie between the named ones */
    unsigned through;
    /* result of qdq_part_match(), by node id */
    uint32_t *ok;
    /* result of qdq_part_trace(), by node id */
    uint32_t *bits;
} qdq_part_search;

/* Fills ok: bit k is set if the path from its word k matches from this node. QDQ_PART_STARTS is set
 * if the whole path matches from this node. */
#define QDQ_PART_STARTS ((uint32_t)1 << 31)
qdq_status qdq_part_match(const qdq_partition_state *t, qdq_part_search *s, qdq_error *err);

/* Fills bits, starting at the nodes of `start` (by id): bit k is set if the node is word k of a
 * matching path. */
qdq_status qdq_part_trace(const qdq_partition_state *t, qdq_part_search *s, const bool *start,
                          qdq_error *err);

/* --- place_partitions_filter.c ---------------------------------------------------------------- */

/* Fills the reason of linear nodes that stay float. */
qdq_status qdq_part_filter(const qdq_partition_state *t, qdq_error *err);

/* --- place_partitions_attention.c ------------------------------------------------------------- */

/* Excludes the products of attentions that have no 8-bit kernel. */
qdq_status qdq_part_filter_attention(const qdq_partition_state *t, qdq_error *err);

/* Excludes the nodes of composites from partitions. */
qdq_status qdq_part_freeze(const qdq_partition_state *t, qdq_error *err);

/* --- place_partitions_residual.c -------------------------------------------------------------- */

/* Fills backbone, depth and main_input. */
qdq_status qdq_part_residual(const qdq_partition_state *t, qdq_error *err);

/* --- place_partitions_grow.c ------------------------------------------------------------------ */

/* Fills part, pointwise, head and copies. */
qdq_status qdq_part_grow(qdq_partition_state *t, qdq_error *err);

/* --- place_partitions_select.c ---------------------------------------------------------------- */

/* Fills selected, partial, raw and rule. */
qdq_status qdq_part_select(qdq_partition_state *t, qdq_error *err);

/* Whether input i of n, which is selected, gets Q/DQ. */
bool qdq_part_wants(const qdq_partition_state *t, const qdq_node *n, uint32_t i);

/* --- place_partitions_emit.c ------------------------------------------------------------------ */

qdq_status qdq_part_emit(qdq_partition_state *t, qdq_plan *plan, qdq_error *err);

#endif /* QDQ_PLACE_PARTITIONS_H */
