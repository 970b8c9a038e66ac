/* insert_nbits.h - weights inside operators that ONNX Runtime has for them: MatMulNBits and
 * GatherBlockQuantized. */
#ifndef QDQ_INSERT_NBITS_H
#define QDQ_INSERT_NBITS_H

#include "quant/insert/insert_state.h"

/* Entry i of plan->weights, whose scales are there: its readers become such operators. */
qdq_status qdq_insert_nbits(qdq_inserter *in, size_t i);

#endif /* QDQ_INSERT_NBITS_H */
