/* float_types.h - which inputs and outputs of a node may be 16-bit floats where they may be float
 * (float_types.def). */
#ifndef QDQ_FLOAT_TYPES_H
#define QDQ_FLOAT_TYPES_H

#include "ir/ir.h"

/* Bit i is slot i; those beyond 31 are as slot 31. */
typedef struct qdq_float_slots {
    uint32_t in, out;
} qdq_float_slots;

/* Of an operator of the default domain, in the opset of the node's graph; none for any other.
 * `type` is QDQ_FLOAT16 or QDQ_BFLOAT16. */
qdq_float_slots qdq_float_slots_of(const qdq_node *n, qdq_elem type);

static inline bool qdq_float_slot(uint32_t slots, uint32_t i)
{
    return (slots >> (i < 31 ? i : 31) & 1) != 0;
}

#endif /* QDQ_FLOAT_TYPES_H */
