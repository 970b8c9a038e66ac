/* rest_state.h - what the conversion to 16-bit floats knows while it works; shared by the rest*.c
 * files only. */
#ifndef QDQ_REST_STATE_H
#define QDQ_REST_STATE_H

#include "ir/function.h"
#include "onnx/float_types.h"
#include "quant/half_precision/rest.h"

typedef enum qdq_rest_mode {
    QDQ_REST_FLOAT, /* stays float32 */
    QDQ_REST_LOW,   /* computes in 16 bits, in the slots that may */
    /* one float input of either type, and no float output: Shape, ArgMax, Cast to int64 */
    QDQ_REST_READS,
    QDQ_REST_CASTS,      /* a Cast to float of what is no float32 */
    QDQ_REST_QUANTIZE,   /* a Q: takes the type of what it reads */
    QDQ_REST_DEQUANTIZE, /* a DQ: gives the type that is wanted */
} qdq_rest_mode;

/* What a reader wants a float value to be. */
typedef enum qdq_rest_want { QDQ_WANT_ANY, QDQ_WANT_FLOAT, QDQ_WANT_LOW } qdq_rest_want;

typedef struct qdq_rest_graph {
    uint32_t n_node; /* ids from here on are nodes that the conversion made */
    size_t n_value;
    uint8_t *mode;        /* qdq_rest_mode by node id */
    bool *low;            /* by value id: what defines the value gives 16 bits */
    qdq_value **other;    /* by value id: the value in the other type, once there is one */
    qdq_float_slots *may; /* by node id: slots that may have 16 bits */
} qdq_rest_graph;

typedef struct qdq_rest_state {
    qdq_model *m;
    const qdq_plan_rest *rest;
    const qdq_map *kept;
    const qdq_job *job;
    qdq_arena scratch;
    qdq_functions functions;
    qdq_rest_graph *graph; /* by graph index */
    qdq_error *err;
} qdq_rest_state;

/* QDQ_UNDEFINED: not known, or no tensor. Initializers need no type. */
static inline qdq_elem qdq_rest_elem(const qdq_value *v)
{
    if (v->init != NULL)
        return v->init->elem;
    return qdq_value_elem(v);
}

static inline bool qdq_is_float_tensor(const qdq_value *v)
{
    return v != NULL && qdq_rest_elem(v) == QDQ_FLOAT;
}

static inline qdq_rest_mode qdq_rest_mode_of(const qdq_rest_state *s, const qdq_node *n)
{
    return (qdq_rest_mode)s->graph[n->graph->index].mode[n->id];
}

/* Of a value that was there before the conversion. */
static inline bool qdq_rest_is_low(const qdq_rest_state *s, const qdq_value *v)
{
    return s->graph[v->graph->index].low[v->id];
}

/* Do outputs of this graph keep their type? */
static inline bool qdq_rest_keeps_outputs(const qdq_rest_state *s, const qdq_graph *g)
{
    return g != s->m->graph || !s->rest->direct_io;
}

/* --- rest_decide.c: decides, changes nothing -------------------------------------------------- */

/* Fills s->graph: the mode of every node, and which values have 16 bits. */
qdq_status qdq_rest_decide(qdq_rest_state *s);

/* What slot `input` of n, which reads the float value v, wants. Asked when all has been judged. */
qdq_rest_want qdq_rest_want_of(const qdq_rest_state *s, const qdq_node *n, uint32_t input);

/* What a Cast to float, whose output v is, was made of, if that has the 16-bit type: v in the other
 * type. Else NULL. */
const qdq_value *qdq_rest_known_low(const qdq_rest_state *s, const qdq_value *v);

/* Why node n of the model stays float32 whatever the plan says; NULL: it can have 16 bits. */
const char *qdq_rest_refusal(const qdq_rest_state *s, const qdq_node *n);

/* --- rest_tensor.c ---------------------------------------------------------------------------- */

/* A float tensor in `elem`: beyond its range clamped, with a warning; what is not 0 does not become
 * 0. NULL: out of memory, or (with *status set) unreadable. */
qdq_tensor *qdq_rest_tensor(qdq_model *m, const qdq_tensor *t, qdq_elem elem, const qdq_job *job,
                            qdq_status *status, qdq_error *err);

#endif /* QDQ_REST_STATE_H */
