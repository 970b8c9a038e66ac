/* insert_nbits.h - weights inside operators that ONNX Runtime has for them: MatMulNBits and
 * GatherBlockQuantized. */
#ifndef QDQ_INSERT_NBITS_H
#define QDQ_INSERT_NBITS_H

#include "quant/insert/insert_state.h"

/* Can the operator take the place of node n, whose input `input` is the constant w in codes of
 * `type`? */
bool qdq_nbits_takes(const qdq_node *n, uint32_t input, const qdq_tensor *w, qdq_elem type);

/* Entry i of plan->weights, whose scales are there: its readers become such operators. */
qdq_status qdq_insert_nbits(qdq_inserter *in, size_t i);

#endif /* QDQ_INSERT_NBITS_H */
