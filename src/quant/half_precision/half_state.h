/* half_state.h - the state of the conversion to 16-bit floats; shared by files of this folder only.
 */
#ifndef QDQ_HALF_STATE_H
#define QDQ_HALF_STATE_H

#include "ir/function.h"
#include "onnx/float_types.h"
#include "quant/half_precision/half_precision.h"

typedef enum qdq_half_mode {
    /* stays float32 */
    QDQ_HALF_FLOAT,
    /* computes in 16 bits, in the slots that may have them */
    QDQ_HALF_LOW,
    /* reads one float input of either type, and produces no float: Shape, ArgMax, Cast to int64 */
    QDQ_HALF_READS,
    /* a Cast to float from a type other than float32 */
    QDQ_HALF_CASTS,
    /* a Q: has the type of its input */
    QDQ_HALF_QUANTIZE,
    /* a DQ: produces the type that consumers need */
    QDQ_HALF_DEQUANTIZE,
} qdq_half_mode;

/* The type that a consumer needs for a float value. */
typedef enum qdq_half_want { QDQ_WANT_ANY, QDQ_WANT_FLOAT, QDQ_WANT_LOW } qdq_half_want;

typedef struct qdq_half_graph {
    /* larger ids are nodes that the conversion made */
    uint32_t n_node;
    size_t n_value;
    /* qdq_half_mode by node id */
    uint8_t *mode;
    /* by value id: its producer produces 16 bits */
    bool *low;
    /* by value id: the value in the other type; NULL: not made yet */
    qdq_value **other;
    /* by node id: slots that may have 16 bits */
    qdq_float_slots *may;
} qdq_half_graph;

typedef struct qdq_half_state {
    qdq_model *m;
    const qdq_plan_half *half;
    const qdq_map *float32_nodes;
    const qdq_job *job;
    qdq_arena scratch;
    qdq_functions functions;
    /* by graph index */
    qdq_half_graph *graph;
    qdq_error *err;
} qdq_half_state;

/* The type of a value; QDQ_UNDEFINED: unknown, or not a tensor. */
static inline qdq_elem qdq_half_elem(const qdq_value *v)
{
    if (v->init != NULL)
        return v->init->elem;
    return qdq_value_elem(v);
}

static inline bool qdq_is_float_tensor(const qdq_value *v)
{
    return v != NULL && qdq_half_elem(v) == QDQ_FLOAT;
}

static inline qdq_half_mode qdq_half_mode_of(const qdq_half_state *s, const qdq_node *n)
{
    return (qdq_half_mode)s->graph[n->graph->index].mode[n->id];
}

/* Whether an original value has 16 bits. */
static inline bool qdq_half_is_low(const qdq_half_state *s, const qdq_value *v)
{
    return s->graph[v->graph->index].low[v->id];
}

/* Whether outputs of this graph keep their type. */
static inline bool qdq_half_keeps_outputs(const qdq_half_state *s, const qdq_graph *g)
{
    return g != s->m->graph || !s->half->direct_io;
}

/* --- half_decide.c: decides, changes nothing -------------------------------------------------- */

/* Fills s->graph: the mode of every node, and which values have 16 bits. */
qdq_status qdq_half_decide(qdq_half_state *s);

/* The type that slot `input` of n needs for its float value. Call it after qdq_half_decide(). */
qdq_half_want qdq_half_want_of(const qdq_half_state *s, const qdq_node *n, uint32_t input);

/* If v is the output of a Cast to float, and the Cast's input has the 16-bit type: that input. Else
 * NULL. */
const qdq_value *qdq_half_known_low(const qdq_half_state *s, const qdq_value *v);

/* Why node n of the model stays float32 in any plan; NULL: it can have 16 bits. */
const char *qdq_half_refusal(const qdq_half_state *s, const qdq_node *n);

/* --- half_tensor.c ---------------------------------------------------------------------------- */

/* A float tensor in `elem`: clamped to its range, with a warning; values other than 0 do not become
 * 0. NULL: out of memory, or (with *status set) unreadable. */
qdq_tensor *qdq_half_tensor(qdq_model *m, const qdq_tensor *t, qdq_elem elem, const qdq_job *job,
                            qdq_status *status, qdq_error *err);

#endif /* QDQ_HALF_STATE_H */
