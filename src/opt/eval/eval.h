/* eval.h - computes one node whose inputs are all known: the evaluator behind constant folding.
 * Knows no graph edits, no limits but the one it is given, and nothing of Q/DQ: QuantizeLinear,
 * DequantizeLinear and DynamicQuantizeLinear are not in it, so that no option can fold them.
 *
 * Arithmetic. Integers are exact, and wrap as the type wraps. float and double: IEEE, every
 * operation rounded to the type to nearest even, no contraction, no reassociation; transcendental
 * functions and sums of many (Reduce*, MatMul, Gemm, Softmax) are computed in double, in row-major
 * order, and rounded once. float16 and bfloat16 are computed in float and rounded once per
 * operator. So a result does not depend on compiler flags or the number of threads. */
#ifndef QDQ_EVAL_H
#define QDQ_EVAL_H

#include "ir/ir.h"

/* A known tensor: row-major, aligned for its type; 4 and 2 bit types packed as ONNX packs them. No
 * strings. */
typedef struct qdq_const {
    qdq_elem elem;
    int rank;
    /* never NULL */
    const int64_t *dim;
    int64_t count;
    const void *data;
    size_t bytes;
} qdq_const;

enum { QDQ_EVAL_INPUTS = 64, QDQ_EVAL_OUTPUTS = 64 }; /* nodes with more are not computed */

/* The operators that are computed; the rest of the answer (types, attributes) comes from trying. */
bool qdq_eval_knows(qdq_op op);

/* Computes `n` from in[0..n->n_in) (NULL: left out) into out[0..n->n_out) (outputs that the node
 * leaves out have data NULL). Results lie in `memory`, or are the data of an input where that is
 * possible. QDQ_OK and *why NULL: done. QDQ_OK and *why a reason: this is not computed (an
 * operator, type or attribute that is not supported, inputs that do not fit, a result with NaN that
 * its inputs do not have, integer division by zero, an index out of range, outputs above
 * `max_bytes` in sum, which are refused before they are allocated); what was taken from `memory`
 * stays until the caller resets it. `opset` is that of the default domain where the node stands.
 * Attributes that refer to a function's are a reason, too. */
qdq_status qdq_eval_node(const qdq_node *n, int64_t opset, const qdq_const *const *in,
                         uint64_t max_bytes, qdq_arena *memory, qdq_const *out, const char **why,
                         qdq_error *err);

/* A tensor as a known one: its bytes where they are aligned, else a copy in `memory`. *why as above
 * (strings). */
qdq_status qdq_const_of_tensor(const qdq_tensor *t, qdq_arena *memory, qdq_const *out,
                               const char **why, qdq_error *err);

/* The inverse: a new tensor of the model with a copy of the data; NULL: out of memory. */
qdq_tensor *qdq_const_to_tensor(qdq_model *m, const qdq_const *c);

#endif /* QDQ_EVAL_H */
