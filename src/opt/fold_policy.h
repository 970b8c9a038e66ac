/* fold_policy.h - whether a node that could be computed is: limits, lists, the caller's word. */
#ifndef QDQ_FOLD_POLICY_H
#define QDQ_FOLD_POLICY_H

#include "opt/opt.h"

/* What a node that could be computed weighs. */
typedef struct qdq_fold_cost {
    const qdq_node *node;
    uint64_t in_bytes, largest_input;
    /* every input above the limit is read by this node alone */
    bool inputs_are_its_own;
    /* of inputs that nothing else reads */
    uint64_t freed_bytes;
    /* UINT64_MAX: not known before */
    uint64_t out_bytes;
} qdq_fold_cost;

typedef struct qdq_fold_policy {
    qdq_opt *o;
    /* limits */
    uint64_t input_bytes, output_bytes;
    /* 0: the file does not grow */
    uint64_t growth_bytes;
    /* operators that no_fold or fold_only exclude */
    bool never[QDQ_OP_COUNT];
    /* bytes of constants, of all that was computed so far */
    int64_t grown;
} qdq_fold_policy;

/* Operators on codes are not computed, whatever the arguments say. */
bool qdq_fold_never(qdq_op op);
/* True for an argument of the pass: "no=Op", "only=Op" (repeatable), "input=N", "output=N",
 * "growth=N" (bytes). */
bool qdq_fold_knows_arg(const char *text, size_t size);

/* The options of the caller, overruled by the arguments of the pass. */
void qdq_fold_policy_open(qdq_fold_policy *p, qdq_opt *o);

/* NULL: go ahead, with outputs of at most *max_bytes. Else why not. */
const char *qdq_fold_decide(qdq_fold_policy *p, const qdq_fold_cost *c, uint64_t *max_bytes);

/* Cast or CastLike of `count` stored integers whose readers only move them (Transpose, Reshape and
 * their like), subtract a zero point, multiply by a scale or divide by one is how some exporters
 * write DequantizeLinear: it stays, as that would, if the result is larger or the integers have at
 * most 16 bits. So does a Cast to wider integers that become float behind such operators. */
bool qdq_is_spelled_dequantize(const qdq_node *n, qdq_elem from, qdq_elem to, int64_t count);

#endif /* QDQ_FOLD_POLICY_H */
