/* place_partitions.h - what placement by partitions knows while it works; shared by the
 * place_partitions*.c files only.
 *
 * A partition is a kernel that the engine fuses over several nodes: a linear operator with what
 * follows it, or pointwise operators. Inside of it no Q/DQ may stand; at its edges they decide in
 * which type it runs. */
#ifndef QDQ_PLACE_PARTITIONS_H
#define QDQ_PLACE_PARTITIONS_H

#include "quant/place/place_state.h"

/* Classes of operators, as the target lists them. */
enum {
    QDQ_PART_LINEAR = 1,
    QDQ_PART_COPY = 2, /* moves data only */
    QDQ_PART_POINTWISE = 4,
    QDQ_PART_POOLING = 8,
    QDQ_PART_CONVOLUTION = 16,
    QDQ_PART_BEHIND_CONVOLUTION = 32,
    QDQ_PART_RESIZE = 64,
    QDQ_PART_SOURCE = 128,
    QDQ_PART_KEPT_OUTPUT = 256,
    QDQ_PART_QUANTIZABLE = 512, /* is in `operators`, and no copy operator */
    QDQ_PART_QDQ = 1024         /* QuantizeLinear and DequantizeLinear of the model */
};

/* Beside its operator, the kind of a node that paths name. */
typedef enum qdq_part_kind {
    QDQ_PART_PLAIN,
    QDQ_PART_BIAS_ADD,
    QDQ_PART_NON_BIAS_ADD,
    QDQ_PART_CONST_MUL
} qdq_part_kind;

enum { QDQ_PART_NO_INPUT = 0xff };

/* Of a node; the base state (place_state.h) has its rule in the target, and why it is out or stays
 * float. */
typedef struct qdq_part_node {
    uint32_t rank;   /* in topological order */
    uint32_t depth;  /* the longest way from any start of the graph, in edges */
    uint32_t part;   /* the partition that it is in, 0: none */
    uint32_t inside; /* of `stamp`: how many of its inputs come from there */
    uint32_t stamp;  /* the partition that was grown last beside it */
    uint32_t raw;    /* inputs, bit by bit, that stay float although the node is selected */
    /* copy operators between it and a linear partition; UINT32_MAX: does not follow one */
    uint32_t copies;
    const qdq_node *backbone; /* the convolution that gives what it computes, or NULL */
    const char *rule;         /* of a selected node */
    qdq_part_kind kind;
    uint8_t main_input; /* of a residual Add: its convolution has the Add in its epilogue */
    bool frozen;        /* in no partition */
    bool pointwise;     /* `part` has no linear operator */
    bool head;          /* the first node of its partition */
    bool selected;      /* its data inputs get Q/DQ */
    bool partial;       /* some of them come from inside of its partition, and stay float */
    bool leads;         /* a copy operator: what it gives is quantized further on */
} qdq_part_node;

/* Of a value. */
typedef struct qdq_part_value {
    bool known;      /* at compile time, be it behind a DQ */
    bool through_dq; /* comes from a DQ of the model, copy operators aside */
    bool paired;     /* some edge out of it has Q/DQ */
} qdq_part_value;

typedef struct qdq_partition_state {
    qdq_placing *p;
    const qdq_partitions *rules;
    unsigned classes[QDQ_OP_COUNT];
    const qdq_target_op *rule_of[QDQ_OP_COUNT];
    bool present[QDQ_OP_COUNT]; /* the graph has such nodes */
    qdq_part_node *node;        /* by node id */
    qdq_part_value *value;      /* by value id */
    uint32_t n_parts;
    bool listed; /* the user names operators: rules of neighbours do not count */
} qdq_partition_state;

static inline qdq_part_node *qdq_part_of(const qdq_partition_state *t, const qdq_node *n)
{
    return &t->node[n->id];
}

static inline bool qdq_part_is(const qdq_partition_state *t, const qdq_node *n, unsigned classes)
{
    return (t->classes[n->op] & classes) != 0;
}

/* A node of the graph that is placed: captures of subgraphs are no epilogue. */
static inline bool qdq_part_here(const qdq_partition_state *t, const qdq_node *n)
{
    return n != NULL && n->graph == t->p->model->graph;
}

/* The node of this graph that v comes from, or NULL. */
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

/* The node is kept out by the user, a filter, or its own inputs. */
static inline bool qdq_part_out(const qdq_partition_state *t, const qdq_node *n)
{
    return qdq_state_of(t->p, n)->reason != NULL;
}

/* Input i is data of n, which the target would quantize. */
static inline bool qdq_part_is_data(const qdq_partition_state *t, const qdq_node *n, uint32_t i)
{
    const qdq_target_op *rule = t->rule_of[n->op];

    if (rule == NULL)
        return false;
    if (rule->kind == QDQ_KIND_LINEAR)
        return i == rule->data || i == rule->weight;
    return rule->inputs == QDQ_INPUTS_ALL || (i < 32 && (rule->inputs >> i & 1) != 0);
}

/* Says of n what a rule finds, to whom asks (--why). */
#define QDQ_PART_SAY(t, n, ...) qdq_why_say(qdq_place_listener((t)->p), (n), __VA_ARGS__)

/* --- place_partitions_match.c ----------------------------------------------------------------- */

/* A path that is looked for; its results are in scratch memory. */
typedef struct qdq_part_search {
    const qdq_path *path;
    bool forward;     /* to readers; else to what a node reads */
    unsigned through; /* operators of these classes may stand between, as those that it names */
    uint32_t *ok;     /* of qdq_part_match(), by node id */
    uint32_t *bits;   /* of qdq_part_trace(), by node id */
} qdq_part_search;

/* Fills ok: bit k is set if the words of the path from k on are there, from the node on.
 * QDQ_PART_STARTS is set where the path is there, and the node is its first word. */
#define QDQ_PART_STARTS ((uint32_t)1 << 31)
qdq_status qdq_part_match(const qdq_partition_state *t, qdq_part_search *s, qdq_error *err);

/* Fills bits, from nodes of `start` (by id) on: bit k is set if the node is word k of a path that
 * is there. */
qdq_status qdq_part_trace(const qdq_partition_state *t, qdq_part_search *s, const bool *start,
                          qdq_error *err);

/* --- place_partitions_filter.c ---------------------------------------------------------------- */

/* Why linear nodes stay float: fills the reason of the base state. */
qdq_status qdq_part_filter(const qdq_partition_state *t, qdq_error *err);

/* --- place_partitions_attention.c ------------------------------------------------------------- */

/* The products of attentions that the engine has no 8-bit kernel for. */
qdq_status qdq_part_filter_attention(const qdq_partition_state *t, qdq_error *err);

/* The nodes of composites, in no partition. */
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

/* Does input i of n, which is selected, get Q/DQ? */
bool qdq_part_wants(const qdq_partition_state *t, const qdq_node *n, uint32_t i);

/* --- place_partitions_emit.c ------------------------------------------------------------------ */

qdq_status qdq_part_emit(qdq_partition_state *t, qdq_plan *plan, qdq_error *err);

#endif /* QDQ_PLACE_PARTITIONS_H */
